"""The variables of a report: what the fitted model knows about each column or category."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nablasso.data.table import absolute_correlations
from nablasso.errors import InvalidParameterError
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.report.content import Alternative, Variable
from nablasso.types import Array

RELATED = 0.5  # correlation from which another column is worth naming
SHOWN = 3  # correlated columns per variable


@dataclass(frozen=True)
class Columns:
    """Names of the variables, and which columns of ``X`` each of them is."""

    names: tuple[str, ...]
    parts: tuple[tuple[int, ...], ...]
    labels: tuple[str, ...]  # of the columns
    categories: frozenset[str]

    @property
    def owner(self) -> dict[int, int]:
        """Variable of each column of ``X``."""
        return {a: k for k, parts in enumerate(self.parts) for a in parts}

    def is_category(self, k: int) -> bool:
        """Whether a variable's columns encode a category."""
        return self.names[k] in self.categories


def columns_of(names: Sequence[str], categories: Mapping[str, Sequence[str]] | None) -> Columns:
    """Variables in the order of their first columns."""
    owner = {column: name for name, own in (categories or {}).items() for column in own}
    unknown = [column for column in owner if column not in set(names)]
    if unknown:
        raise InvalidParameterError(
            f"categories names columns that are not there: {', '.join(unknown[:10])}. The columns "
            f"are {', '.join(list(names)[:10])} ..."
        )
    parts: dict[str, list[int]] = {}
    for a, name in enumerate(names):
        parts.setdefault(owner.get(name, name), []).append(a)
    listed = tuple(tuple(own) for own in parts.values())
    return Columns(tuple(parts), listed, tuple(names), frozenset(categories or {}))


def variables_of(model: Any, X: Array, weights: Array, columns: Columns) -> tuple[Variable, ...]:
    """All variables, the selected first, then by strength, then in the order of the table."""
    strength = np.asarray(getattr(model, "feature_importances_", model.support_), dtype=float)
    related = _related(model, X, weights, columns)
    found = []
    for k, (name, parts) in enumerate(zip(columns.names, columns.parts, strict=True)):
        own = list(parts)
        found.append(
            Variable(
                name=name,
                kind="category" if columns.is_category(k) else _kind(model, own),
                selected=bool(model.support_[own].any()),
                strength=_size(strength[own]),
                bounds=_bounds(model, own),
                certified=_all(model, "support_certified_", own),
                evidence=_evidence(model, own),
                p_value=_least(model, "p_values_", own),
                alternatives=related[k],
            )
        )
    return tuple(sorted(found, key=lambda variable: (not variable.selected, -variable.strength)))


def _kind(model: Any, own: list[int]) -> str:
    kinds = getattr(model, "feature_kinds_", None)
    return "" if kinds is None else str(kinds[own[0]])


def _size(values: Iterable[float]) -> float:
    """One number as it is; those of several columns by the norm that the penalty gives a group."""
    numbers = [float(value) for value in values]
    return numbers[0] if len(numbers) == 1 else math.hypot(*numbers)


def _bounds(model: Any, own: list[int]) -> tuple[float, float] | None:
    bounds = getattr(model, "importance_bounds_", None)
    return None if bounds is None else (_size(bounds[own, 0]), _size(bounds[own, 1]))


def _all(model: Any, attribute: str, own: list[int]) -> bool | None:
    values = getattr(model, attribute, None)
    return None if values is None else bool(values[own].all())


def _least(model: Any, attribute: str, own: list[int]) -> float | None:
    values = getattr(model, attribute, None)
    return None if values is None else float(min(values[own]))


def _evidence(model: Any, own: list[int]) -> float | None:
    """What leaving the variable out of an automatic answer would cost, in nats."""
    return float(max(model.evidence_[own])) if isinstance(model, AutomaticSelector) else None


def _related(
    model: Any, X: Array, weights: Array, columns: Columns
) -> list[tuple[Alternative, ...]]:
    """For each variable the others worth naming: alternatives first, then correlated ones.

    A selected variable names any other; one that was left out names selected ones.
    """
    owner, n = columns.owner, len(columns.names)
    chosen = np.flatnonzero(model.support_)
    sizes: dict[tuple[int, int], float] = {}
    correlation = absolute_correlations(X, weights / weights.sum(), chosen)
    for row, a in enumerate(chosen):
        for b in np.flatnonzero(correlation[row] >= RELATED):
            one, other = owner[int(a)], owner[int(b)]
            if one != other:
                size = max(sizes.get((one, other), 0.0), float(correlation[row, b]))
                sizes[one, other] = sizes[other, one] = min(size, 1.0)
    equals = {
        (owner[a], owner[b])
        for name in ("alternatives_", "twins_")
        for a, b in getattr(model, name, [])
        if owner[a] != owner[b]
    }
    related: list[list[tuple[bool, float, int]]] = [[] for _ in range(n)]
    for one, other in set(sizes) | equals:
        as_well = (one, other) in equals
        related[one].append((not as_well, -sizes.get((one, other), 0.0), other))
    return [
        tuple(
            Alternative(columns.names[other], -size if size else None, not after)
            for after, size, other in sorted(own)[: max(SHOWN, sum(not x[0] for x in own))]
        )
        for own in related
    ]
