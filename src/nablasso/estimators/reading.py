"""Reading a fitted selector: kinds of columns, status, and the answer in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.data.table import Table, correlated_columns
from nablasso.estimators.validation import feature_names
from nablasso.reading import discrete_columns
from nablasso.types import Array, Index

TWIN_CORRELATION = 0.95
CLEAR_GAIN = 2.0  # standard errors
MANY = 2000  # selected variables whose twins are looked for


def feature_kinds(X: Array) -> NDArray[np.str_]:
    """``"constant"``, ``"discrete"`` (at most 10 values) or ``"continuous"`` per column."""
    kinds = np.where(discrete_columns(X), "discrete", "continuous")
    return np.where(np.ptp(X, axis=0) == 0, "constant", kinds)


def selection_status(selector: Any, table: Table) -> tuple[str, list[tuple[int, int]]]:
    """How far the selection can be trusted, and the pairs that could stand for each other.

    * ``"none found"``: nothing was selected.
    * ``"too few rows"``: the selected variables predict left-out rows not clearly better than the
      mean (by less than two standard errors).
    * ``"twins"``: a selected variable, of the ``MANY`` most important ones, has another one
      correlated 0.95 or more with it.
    * ``"clear"``: none of these.
    """
    chosen = np.flatnonzero(selector.support_[table.columns])
    if not chosen.size:
        return "none found", []
    if len(chosen) > MANY:
        sizes = selector.feature_importances_[table.columns[chosen]]
        chosen = np.sort(chosen[np.argsort(-sizes, kind="stable")[:MANY]])
    twins = correlated_pairs(table, chosen)
    if selector._loo_gain < CLEAR_GAIN:
        return "too few rows", twins
    return ("twins" if twins else "clear"), twins


def correlated_pairs(table: Table, chosen: Index) -> list[tuple[int, int]]:
    """Pairs (selected, other), as input columns, with correlation of at least 0.95 in size."""
    pairs, inside = [], np.zeros(table.X.shape[1], dtype=bool)
    inside[chosen] = True
    for a, partners in correlated_columns(table.X, table.weights, chosen, TWIN_CORRELATION):
        for b in partners:
            if b != a and not (inside[b] and b < a):
                pairs.append((int(table.columns[a]), int(table.columns[b])))
    return sorted(pairs)


def summary_text(selector: Any) -> str:
    """The answer in a sentence first, then the certificate."""
    names = feature_names(selector)
    order = np.argsort(-selector.feature_importances_, kind="stable")
    chosen = [a for a in order if selector.support_[a]]
    d = len(names)
    if chosen:
        listed = ", ".join(f"{names[a]} ({selector.feature_importances_[a]:.2f})" for a in chosen)
        lines = [f"{len(chosen)} of {d} variables matter: {listed}."]
    else:
        lines = [f"None of the {d} variables was selected."]
    certified = int(np.sum(selector.support_certified_))
    lines.append(
        f"Duality gap {selector.dual_gap_:.1e} ({selector.relative_gap_:.1e} of the objective at "
        f"zero): exact enough to decide {certified} of {d} variables."
    )
    lines.append(
        f"alpha {selector.alpha_:.3g}, ridge {selector.ridge_:.3g}, kernel {selector.kernel_!r}, "
        f"length scale {selector.length_scale_:.3g}."
    )
    if chosen:
        lines.append(f"Leave-one-out R2 on the selected variables: {selector.loo_r2_:.3f}.")
    if selector.selection_status_ == "too few rows":
        lines.append(
            "Too few rows: the selected variables predict left-out rows not clearly better than "
            "the mean."
        )
    lines += [f"{names[a]} could be replaced by {names[b]}." for a, b in selector.twins_]
    constant = [
        n for n, kind in zip(names, selector.feature_kinds_, strict=True) if kind == "constant"
    ]
    if constant:
        lines.append(f"Constant, never selectable: {', '.join(constant)}.")
    return "\n".join(lines)
