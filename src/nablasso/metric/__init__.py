"""The adaptive metric: kernels that learn which variables matter."""

from nablasso.metric.nested import Fit, mean_fit, ridge_fit
from nablasso.metric.passes import Metric, Walk, next_scales
from nablasso.metric.sample import Sample
from nablasso.metric.search import Trail, search
from nablasso.metric.selection import Selection, select
from nablasso.metric.start import Start, default_starts, starts_of

__all__ = [
    "Fit",
    "Metric",
    "Sample",
    "Selection",
    "Start",
    "Trail",
    "Walk",
    "default_starts",
    "mean_fit",
    "next_scales",
    "ridge_fit",
    "search",
    "select",
    "starts_of",
]
