"""Reading a fitted function: what matters, what acts together, what could be otherwise."""

from nablasso.reading.doubts import (
    Alternative,
    Evidence,
    Told,
    all_relevant,
    alternatives,
    sign_only,
    support_gap,
    told_by_others,
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
    "Told",
    "all_relevant",
    "alternatives",
    "discrete_columns",
    "importances",
    "interval_half_width",
    "local_scale",
    "sign_only",
    "support_gap",
    "told_by_others",
]
