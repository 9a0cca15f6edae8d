"""What the adaptive metric is taught with, from an estimator's parameters and its table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.estimators.validation import column_indices, group_labels
from nablasso.metric import Sample
from nablasso.preparation import Table


def sample_of(selector: Any, table: Table, targets: NDArray[np.float64]) -> Sample:
    """Rows in deviations of each column; groups and what is kept as the parameters say."""
    labels = group_labels(selector, selector.feature_groups)
    kept = column_indices(selector, selector.always_keep, "always_keep")
    inside, numbers = np.unique(labels[table.columns], return_inverse=True)
    return Sample(
        X=table.X if (table.deviations == 1).all() else table.X / table.deviations,
        Y=targets,
        weights=table.weights,
        labels=numbers.astype(np.intp),
        kept=np.isin(inside, labels[kept]),
    )
