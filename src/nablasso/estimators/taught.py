"""Groups of the columns of a table, as the parameters say."""

from __future__ import annotations

from typing import Any

import numpy as np

from nablasso.data.table import Table
from nablasso.estimators.validation import column_indices, group_labels
from nablasso.search.few import FewRows
from nablasso.search.rules import Rules
from nablasso.types import Array, Index, Mask


def groups_of(selector: Any, table: Table) -> tuple[Index, Mask]:
    """The group of each column of the table, numbered from 0, and which groups are kept."""
    labels = group_labels(selector, selector.feature_groups)
    kept = column_indices(selector, selector.always_keep, "always_keep")
    inside, numbers = np.unique(labels[table.columns], return_inverse=True)
    return numbers.astype(np.intp), np.isin(inside, labels[kept])


def rows_of(
    selector: Any, table: Table, targets: Array, n: int, rules: Rules | None = None, **options: Any
) -> FewRows:
    """The first ``n`` rows of a table, columns in units of their deviations, for a search."""
    labels, kept = groups_of(selector, table)
    weights = table.weights[:n]
    X = table.X[:n]
    return FewRows(
        X=X if (table.deviations == 1).all() else X / table.deviations,
        targets=targets[:n],
        weights=weights / float(weights.mean()),
        labels=labels,
        kept=np.flatnonzero(kept),
        rules=Rules() if rules is None else rules,
        **options,
    )
