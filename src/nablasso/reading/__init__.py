"""Reading a fitted function: what matters, what acts together, what could be otherwise."""

from nablasso.reading.alternatives import Alternative, alternatives
from nablasso.reading.differences import discrete_columns
from nablasso.reading.honesty import all_relevant, sign_only, support_gap
from nablasso.reading.importance import importances
from nablasso.reading.interactions import Interaction, interactions
from nablasso.reading.intervals import LocalScale, interval_half_width, local_scale
from nablasso.reading.left_out import Evidence

__all__ = [
    "Alternative",
    "Evidence",
    "Interaction",
    "LocalScale",
    "all_relevant",
    "alternatives",
    "discrete_columns",
    "importances",
    "interactions",
    "interval_half_width",
    "local_scale",
    "sign_only",
    "support_gap",
]
