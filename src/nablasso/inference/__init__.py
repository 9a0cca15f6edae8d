"""Error control for any selector: stability, randomisation p-values, knockoffs.

Functions of a fit callable, arrays in and arrays out; the scikit-learn classes are in
:mod:`nablasso.estimators`.
"""

from nablasso.inference.conditionals import LinearConditional, as_conditional
from nablasso.inference.knockoffs import (
    gaussian_knockoffs,
    knockoff_threshold,
    maximum_entropy_diagonal,
    shrunk_correlation,
)
from nablasso.inference.randomization import (
    HeldOut,
    PredictionLoss,
    adjusted_p_values,
    benjamini_hochberg,
    enough_draws,
    log_loss,
    randomization_p_values,
    squared_loss,
)
from nablasso.inference.stability import (
    ASSUMPTIONS,
    complementary_pairs,
    false_selection_bound,
    half_sample_selections,
    smallest_threshold,
)

__all__ = [
    "ASSUMPTIONS",
    "HeldOut",
    "LinearConditional",
    "PredictionLoss",
    "adjusted_p_values",
    "as_conditional",
    "benjamini_hochberg",
    "complementary_pairs",
    "enough_draws",
    "false_selection_bound",
    "gaussian_knockoffs",
    "half_sample_selections",
    "knockoff_threshold",
    "log_loss",
    "maximum_entropy_diagonal",
    "randomization_p_values",
    "shrunk_correlation",
    "smallest_threshold",
    "squared_loss",
]
