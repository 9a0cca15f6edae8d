"""Reading a fitted function: what matters, what acts together, what could be otherwise."""

from nablasso.data.table import discrete_columns
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
from nablasso.reading.intervals import interval_half_width
from nablasso.reading.shares import importances

__all__ = [
    "Alternative",
    "Evidence",
    "Told",
    "all_relevant",
    "alternatives",
    "discrete_columns",
    "importances",
    "interval_half_width",
    "sign_only",
    "support_gap",
    "told_by_others",
]
