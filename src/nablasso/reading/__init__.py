"""Reading a fitted function: what matters, what acts together, what could be otherwise."""

from nablasso.reading.doubts import (
    Alternative,
    Evidence,
    all_relevant,
    alternatives,
    sign_only,
    support_gap,
)
from nablasso.reading.function import (
    LocalScale,
    discrete_columns,
    importances,
    interval_half_width,
    local_scale,
)

__all__ = [
    "Alternative",
    "Evidence",
    "LocalScale",
    "all_relevant",
    "alternatives",
    "discrete_columns",
    "importances",
    "interval_half_width",
    "local_scale",
    "sign_only",
    "support_gap",
]
