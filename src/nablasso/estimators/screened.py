"""Reading what screening did to a wide table: what was searched, and what was lost by the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.metric import Fit, Sample
from nablasso.metric.added_back import added_back
from nablasso.preparation import Table

N_REFITS = 10  # dropped columns that are added to the model to see what they gain
NEGLIGIBLE = 0.01  # of R2


def read_screening(
    table: Table, sample: Sample, fit: Fit, d: int
) -> tuple[NDArray[np.bool_], list[tuple[int, float]]]:
    """Columns that were searched, and dropped ones with what adding them back would gain."""
    searched = np.ones(d, dtype=bool)
    if sample.open is None:
        return searched, []
    dropped = np.flatnonzero(~sample.open[sample.labels])
    searched[table.columns[dropped]] = False
    gains = added_back(sample, fit, dropped, N_REFITS)
    return searched, [(int(table.columns[one.column]), one.gain) for one in gains]


def searched_columns(table: Table, sample: Sample, fit: Fit) -> tuple[Table, Sample, Fit]:
    """The same without the columns that screening has dropped: reading them all takes too long."""
    if sample.open is None:
        return table, sample, fit
    inside = sample.open[sample.labels]
    inside[fit.columns] = True  # twins of selected columns join whatever screening says
    columns = np.flatnonzero(inside)
    groups, labels = np.unique(sample.labels[columns], return_inverse=True)
    narrow = replace(
        sample,
        X=sample.X[:, columns],
        labels=labels.astype(np.intp),
        kept=sample.kept[groups],
        shortlist=None,
        open=None,
    )
    table = replace(
        table,
        X=table.X[:, columns],
        columns=table.columns[columns],
        deviations=table.deviations[columns],
    )
    return table, narrow, replace(fit, columns=np.searchsorted(columns, fit.columns))


def screening_words(selector: Any, names: list[str]) -> list[str]:
    """One sentence, or none where nothing was screened."""
    n_searched = int(selector.screened_.sum())
    if n_searched == len(names):
        return []
    text = f"Screening left {n_searched} of {len(names)} variables to the search"
    if not selector.added_back_:
        return [f"{text}."]
    best, gain = selector.added_back_[0]
    if gain < NEGLIGIBLE:
        return [f"{text}; none of the others would raise R2 on left-out rows by {NEGLIGIBLE}."]
    return [
        f"{text}; of the others {names[best]} would gain most: R2 on left-out rows {gain:+.3f}, "
        "as the best of so many may do by chance."
    ]
