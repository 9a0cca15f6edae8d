"""Rows as they are read, and what is checked before anything is computed from them.

A *part* is some neighbouring rows of a table that can be read anywhere: a slice of arrays, a run of
row groups of a Parquet file, a piece of a CSV file, a partition of a Dask collection. It yields
blocks of rows; errors name where they came from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from nablasso.errors import InvalidDataError
from nablasso.types import Array

MOST_LABELS = 10_000
SHOWN = 10  # names listed in a message before it says "..."


class Raw(NamedTuple):
    """Some rows as they were read; ``X`` is None where only the targets were asked for."""

    X: NDArray[Any] | None
    y: NDArray[Any]
    weight: NDArray[Any] | None
    origin: str  # a file, or what stands for it
    first_row: int  # number of the first row there


class Rows(NamedTuple):
    """Some rows of a table: checked, with numbers as targets."""

    X: Array  # (m, d), perhaps in single precision; NaN is missing
    y: Array  # (m,)
    weight: Array  # (m,): how many rows each one stands for
    part: int  # number of the part
    start: int  # number of the first row in the part


class Part(Protocol):
    """Neighbouring rows of a table."""

    @property
    def n_rows(self) -> int | None:
        """How many, where that is known without reading."""

    def blocks(self) -> Iterator[Raw]:
        """The rows, block by block."""

    def targets(self) -> Part:
        """The same rows without X."""


@dataclass(frozen=True)
class Reading:
    """How rows that were read become rows to compute with.

    ``classes`` turn labels into their numbers and ``factors`` multiply the weights of each class;
    ``missing`` says whether NaN may stand in X.
    """

    names: tuple[str, ...]
    missing: bool = False
    classes: NDArray[Any] | None = None
    factors: Array | None = None

    def rows(self, raw: Raw, part: int, start: int) -> Rows:
        """Rows of positive weight, or an error that names file, row and column."""
        assert raw.X is not None
        y = self._targets(raw)
        weight = weights_of(raw)
        if not np.isfinite(y).all():
            raise _bad(raw, y, "the target")
        if not (np.isfinite(raw.X.sum()) or np.isfinite(raw.X).all()):
            for j, name in enumerate(self.names):
                x = raw.X[:, j]
                if np.isinf(x).any() or (not self.missing and np.isnan(x).any()):
                    raise _bad(
                        raw, np.where(np.isnan(x) & self.missing, 0.0, x), f"column {name!r}"
                    )
        if self.factors is not None:
            weight = weight * self.factors[y.astype(np.intp)]
        return Rows(raw.X, y, weight, part, start)

    def _targets(self, raw: Raw) -> Array:
        if self.classes is None:
            return as_targets(raw)
        y = raw.y.astype(self.classes.dtype) if raw.y.dtype.kind == "O" else raw.y
        place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        return np.where(self.classes[place] == y, place, 0).astype(float)


def rows_of(number: int, part: Part, reading: Reading) -> Iterator[Rows]:
    """Checked rows of a part, block by block."""
    start = 0
    for raw in part.blocks():
        if len(raw.y):
            yield reading.rows(raw, number, start)
        start += len(raw.y)


def weights_of(raw: Raw) -> Array:
    """Weights of rows, one by default; refuses negative and infinite ones."""
    if raw.weight is None:
        return np.ones(len(raw.y))
    weight = np.asarray(raw.weight, dtype=float)
    if not (np.isfinite(weight) & (weight >= 0)).all():
        row = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))[0])
        raise InvalidDataError(
            f"{raw.origin}, row {raw.first_row + row} (the first is 0): the weight is "
            f"{weight[row]:g}; expected a finite number that is not negative. Give rows to be left "
            "out weight 0."
        )
    return weight


def as_targets(raw: Raw) -> Array:
    """Targets as numbers."""
    try:
        return np.asarray(raw.y, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"The target in {raw.origin} must be numbers: {error}. Use a classifier for labels, "
            "or repair the file."
        ) from error


# --- labels ---


def labels_of(part: Part) -> dict[Any, float]:
    """Weights of the labels of a part."""
    found: dict[Any, float] = {}
    for raw in part.blocks():
        weight = weights_of(raw)
        missing = [y is None or y != y for y in raw.y] if raw.y.dtype.kind in "Of" else [False]
        if any(missing):
            raise _bad(raw, np.where(missing, np.nan, 0.0), "the target")
        labels, inverse = np.unique(raw.y, return_inverse=True)
        totals = np.bincount(inverse, weights=weight, minlength=len(labels))
        for label, total in zip(labels.tolist(), totals.tolist(), strict=True):
            found[label] = found.get(label, 0.0) + total
    return _few(found)


def added_labels(a: dict[Any, float], b: dict[Any, float]) -> dict[Any, float]:
    """Weights of the labels of both."""
    return _few({label: a.get(label, 0.0) + b.get(label, 0.0) for label in {**a, **b}})


def _few(labels: dict[Any, float]) -> dict[Any, float]:
    if len(labels) > MOST_LABELS:
        raise InvalidDataError(
            f"A classifier expects few labels, each of many rows; the target has more than "
            f"{MOST_LABELS}. Use a regressor for numbers."
        )
    return labels


def sorted_labels(totals: dict[Any, float]) -> dict[str, Any]:
    """Labels of positive weight and their weights, as arrays."""
    kinds = {isinstance(label, str) for label in totals}
    if len(kinds) > 1:
        raise InvalidDataError(
            f"Labels must be all text or all numbers; got {listed(sorted(map(str, totals)))}."
        )
    used = sorted(label for label, total in totals.items() if total > 0)
    return {"labels": np.array(used), "weights": np.array([totals[label] for label in used])}


# --- messages ---


def listed(names: Sequence[str]) -> str:
    """The first names, quoted."""
    more = " ..." if len(names) > SHOWN else ""
    return ", ".join(repr(name) for name in names[:SHOWN]) + more


def _bad(raw: Raw, values: Array, what: str) -> InvalidDataError:
    row = int(np.flatnonzero(~np.isfinite(values))[0])
    kind = "NaN" if np.isnan(values[row]) else "infinity"
    return InvalidDataError(
        f"{raw.origin} contains {kind}: row {raw.first_row + row} (the first is 0), {what}. Drop "
        "such rows, or impute them first."
    )
