r"""Sufficient statistics: one pass over the rows, and the problem is small for good.

For ``f = b + w . phi`` in a frozen space the squared loss and the norms of all derivatives depend
on the rows through

.. math:: \sum p,\quad \sum p\, y,\quad \sum p\, y^2,\quad \sum p\, \varphi,\quad
          \sum p\, \varphi y,\quad \sum p\, \varphi \varphi^\top

alone (weights ``p``; :mod:`nablasso.spaces.features`). Sums over blocks of rows add up, so blocks
may come one after the other, from files larger than memory or from many machines. They are kept by
fold, and the fold of a row is a hash of its content (that of :mod:`nablasso.streaming.sample`, and
a seed): cross-validation needs no second pass, folds depend neither on the order of the rows nor on
their precision, and equal rows share a fold, so weight k is k copies. Features and products have
the precision of the input, sums are in float64.

A pass costs O(n m (d + m / 2)) time and O(K m^2) memory for K folds, whatever n is. Other losses
than the squared one have no such sums: they need the rows again in every step.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.data.table import Scaler, Table, _mix
from nablasso.errors import DriftWarning, InvalidDataError, InvalidParameterError
from nablasso.kernels.base import Kernel, row_blocks
from nablasso.persistence import digest
from nablasso.spaces.features import FeatureMap, Moments
from nablasso.spaces.maps import FourierFeatures
from nablasso.streaming.blocks import Rows, listed
from nablasso.streaming.sample import hashes_of
from nablasso.streaming.sources import Source, default_names, open_table
from nablasso.types import Array, Index

Floats = NDArray[Any]  # float32 or float64, as the input is
Sums = dict[str, Array]  # the first axis of each is the fold

CENTRE_ROWS = 1000  # of the subsample, whose features give the centre
ROUNDING = 1e-9  # means of standardised columns that are zero
FEATURES_AT_ONCE = 1 << 21  # numbers; enough rows that adding m x m numbers costs little
PARTS_AT_ONCE = 128  # of the table, after which a checkpoint is written
MEAN_DRIFT = 0.25  # in deviations of the subsample: moves the data against the features' width
DEVIATION_DRIFT = 0.5  # of the deviation, up or down
CHANCE = 10.0  # deviations of a subsample's own moments that are no drift, heavy tails included
HALF = np.uint64(32)


@dataclass(frozen=True, eq=False)
class FrozenSpace:
    """All that must be fixed before rows are added up, learned on a subsample and then held.

    Parameters
    ----------
    scaler : Scaler
        Of all columns of the input.
    columns : array of int
        Column ``a`` of the standardised points is column ``columns[a]`` of the input.
    features : FeatureMap
        Functions of the standardised columns.
    feature_names : tuple of str, optional
        Names of all columns of the input.
    y_centre : float
        Taken off ``y`` before it is squared: an offset costs no digits.
    feature_centre : array, shape (m,), optional
        Taken off the features before products: where they are nearly constant, as with a wide
        kernel, float32 keeps its digits. Zero by default.
    seed : int
        Of the folds.
    n_rows : int
        Rows of the subsample; zero if there was none.
    usual_mean, usual_deviation : array, optional
        Of the standardised columns in the subsample; zeros and ones by default.
    kernel, length_scale, scales, kinds : optional
        What the features were made from, and the kinds of the columns, for who solves.
    """

    scaler: Scaler
    columns: Index
    features: FeatureMap
    feature_names: tuple[str, ...] | None = None
    y_centre: float = 0.0
    feature_centre: Array | None = None
    seed: int = 0
    n_rows: int = 0
    usual_mean: Array | None = None
    usual_deviation: Array | None = None
    kernel: Kernel | None = None
    length_scale: float | None = None
    scales: Array | None = None
    kinds: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.features.n_columns != len(self.columns):
            raise InvalidParameterError(
                f"The features must be functions of the {len(self.columns)} columns that are "
                f"kept; they take {self.features.n_columns}. Draw them for the same table."
            )

    @classmethod
    def from_table(cls, table: Table, features: FeatureMap, **others: Any) -> FrozenSpace:
        """The space of a prepared subsample; ``others`` are further fields."""
        mean = table.weights @ table.X
        is_centred = np.abs(mean).max(initial=0.0) < ROUNDING
        return cls(
            scaler=table.scaler,
            columns=table.columns,
            features=features,
            y_centre=table.y_mean + float(table.weights @ table.y),
            feature_centre=features.features(table.X[:CENTRE_ROWS]).mean(axis=0),
            n_rows=len(table.X),
            usual_mean=None if is_centred else mean,
            usual_deviation=np.sqrt(table.weights @ (table.X - mean) ** 2),
            **others,
        )

    @property
    def n_columns(self) -> int:
        """Columns of the input, those left out included."""
        return len(self.scaler.centre)

    @property
    def names(self) -> list[str]:
        """Names of all columns of the input, x0, x1, ... where there are none."""
        return list(self.feature_names or default_names(self.n_columns))

    def standardise(self, X: Floats) -> Floats:
        """``Z`` of shape (n, number of kept columns), in single or double precision as ``X``."""
        kept = np.take(X, self.columns, axis=1)
        kept = kept if kept.dtype == np.float32 else kept.astype(np.float64, copy=False)
        kept -= self.scaler.centre[self.columns].astype(kept.dtype)
        kept /= self.scaler.scale[self.columns].astype(kept.dtype)
        return kept

    def fingerprint(self) -> str:
        """Digest of all that sums over rows depend on."""
        centres = self.y_centre, self.feature_centre
        named = self.feature_names, self.seed
        return digest((self.scaler, self.columns, self.features, centres, named))

    def check(self, source: Source) -> None:
        """Refuse a table with other columns than the space, or in another order."""
        found, expected = list(source.names), self.names
        if source.named and self.feature_names is not None and found != expected:
            missing = [name for name in expected if name not in set(found)]
            extra = [name for name in found if name not in set(expected)]
            parts = [f"lacks {listed(missing)}"] if missing else []
            parts += [f"has {listed(extra)} besides"] if extra else []
            raise InvalidDataError(
                f"All rows must have the columns of the space: {listed(expected)}. {source.origin} "
                f"{' and '.join(parts) or 'has them in another order'}. Select these columns, in "
                "this order."
            )
        if len(found) != len(expected):
            raise InvalidDataError(
                f"All rows must have the {len(expected)} columns of the space; {source.origin} has "
                f"{len(found)}. Read the same columns everywhere."
            )


class SufficientStatistics:
    """Fold-wise sums over rows in one frozen space.

    They add up (``+``), and :func:`nablasso.save` and :func:`nablasso.load` keep them.

    Parameters
    ----------
    space : FrozenSpace
        Scaling, features and seed, learned on a subsample.
    n_folds : int
        Folds of a later cross-validation; 1 for none.

    Attributes
    ----------
    sums : dict of arrays
        ``count`` rows of ``weight`` in all, of ``y`` and ``y_square``, each (K,); ``first``
        (K, 2, m) of phi and phi y, ``second`` (K, m, m) of phi phi', and ``columns`` (K, 2, d) of
        the standardised columns and their squares around the usual mean. The space's centres are
        taken off y and phi.
    """

    def __init__(self, space: FrozenSpace, n_folds: int = 5) -> None:
        if isinstance(n_folds, bool) or not isinstance(n_folds, int) or n_folds < 1:
            raise InvalidParameterError(
                f"n_folds must be a whole number of at least 1; got {n_folds!r}."
            )
        self.space, self.n_folds = space, n_folds
        self.sums = _no_sums(space, n_folds)

    @property
    def n_samples(self) -> int:
        """Rows of positive weight seen so far."""
        return int(self.sums["count"].sum())

    @property
    def weight(self) -> float:
        """Sum of their weights."""
        return float(self.sums["weight"].sum())

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        threads: int = 1,
        parts_at_once: int = PARTS_AT_ONCE,
    ) -> SufficientStatistics:
        """Add rows; all or, after an error or an interrupt, none of them.

        Parameters
        ----------
        X, y, sample_weight
            A table as :func:`nablasso.streaming.open_table` takes it, or what it made. It has all
            columns of the space, those left out included; float32 is computed in float32.
        threads : int
            Blocks of arrays worked on at a time; the sums are the same for any number.
        parts_at_once : int
            Parts of the table after which a table with a ``checkpoint`` stores the sums.

        Returns
        -------
        SufficientStatistics
            This object.

        Raises
        ------
        InvalidDataError
            If columns differ from those of the space or a value is not finite; the message names
            file, row and column.
        """
        source = open_table(X, y, sample_weight, threads=threads, block_rows=1 << 15)
        self.space.check(source)
        task = partial(_sums_of, space=self.space, n_folds=self.n_folds)
        total, fingerprint = self.sums, self.space.fingerprint()
        for start in range(0, len(source.parts), parts_at_once):
            some = slice(start, start + parts_at_once)

            def over_parts(some: slice = some) -> Sums:
                found = source.fold(task, _added, "Sums of rows", some)
                return found or _no_sums(self.space, self.n_folds)

            asked = ("statistics", fingerprint, self.n_folds, start, parts_at_once)
            total = _added(total, source.remembered(asked, over_parts))
        self.sums = total
        return self

    def __add__(self, other: SufficientStatistics) -> SufficientStatistics:
        if not isinstance(other, SufficientStatistics):
            return NotImplemented
        if other.n_folds != self.n_folds:
            raise InvalidParameterError(
                f"Statistics add up fold by fold; these have {self.n_folds} and {other.n_folds} "
                "folds. Make both with the same n_folds."
            )
        if other.space is not self.space and other.space.fingerprint() != self.space.fingerprint():
            raise InvalidParameterError(
                "Statistics add up only in one space; these two differ in scaling, features, names "
                "or seed. Freeze one space and use it for all rows."
            )
        result = SufficientStatistics(self.space, self.n_folds)
        result.sums = _added(self.sums, other.sums)
        return result

    def total(self) -> Moments:
        """Moments of all rows."""
        return self._moments(list(range(self.n_folds)), "No rows were added yet")

    def fold(self, k: int) -> Moments:
        """Moments of the rows of fold ``k``."""
        if not 0 <= k < self.n_folds:
            raise InvalidParameterError(f"Folds are 0 to {self.n_folds - 1}; got {k!r}.")
        return self._moments([k], f"Fold {k} has no rows")

    def without(self, k: int) -> Moments:
        """Moments of the rows of all other folds."""
        others = [fold for fold in range(self.n_folds) if fold != k]
        return self._moments(others, f"There are no rows outside fold {k}")

    def _moments(self, folds: list[int], empty: str) -> Moments:
        count, weight, y, square, first, second = (
            self.sums[name][folds].sum(axis=0)
            for name in ("count", "weight", "y", "y_square", "first", "second")
        )
        if not weight > 0:
            raise InvalidDataError(f"{empty}. Add rows with partial_fit, or use fewer folds.")
        mean, cross = first / weight
        second /= weight
        y_mean, centre = float(y / weight), self.space.feature_centre
        return Moments(
            weight=float(weight),
            n_samples=int(count),
            mean=mean if centre is None else mean + centre,
            y_mean=y_mean + self.space.y_centre,
            y_variance=max(float(square / weight) - y_mean**2, 0.0),
            C=second - np.outer(mean, mean),
            c=cross - y_mean * mean,
            slopes=isinstance(self.space.features, FourierFeatures),
        )

    def drifted_columns(self) -> list[str]:
        """Columns whose mean or deviation is not that of the subsample."""
        if not self.weight > 0:
            return []
        mean, square = self.sums["columns"].sum(axis=0) / self.weight
        deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
        usual = self.space.usual_deviation
        usual = np.ones(len(mean)) if usual is None else usual
        slack = CHANCE / np.sqrt(self.space.n_rows) if self.space.n_rows else 0.0
        moved = np.abs(mean) > (MEAN_DRIFT + slack / 2) * usual
        ratio = np.maximum(deviation, usual) / np.maximum(np.minimum(deviation, usual), 1e-300)
        changed = moved | (ratio > 1 + DEVIATION_DRIFT + slack)
        return [self.space.names[a] for a in np.sort(self.space.columns[changed])]

    def warn_of_drift(self) -> None:
        """Warn if all rows look different from the subsample that froze the space."""
        drifted = self.drifted_columns()
        if drifted:
            warnings.warn(
                f"The rows differ in mean or deviation from the subsample that fixed the scaling "
                f"and the features, in {len(drifted)} column(s): {listed(drifted)}. Draw the "
                "subsample from all rows at random, freeze the space again and repeat the pass.",
                DriftWarning,
                stacklevel=3,
            )


def collect_statistics(
    source: Source, space: FrozenSpace, *, n_folds: int = 5
) -> SufficientStatistics:
    """Statistics of all rows of a table.

    Parameters
    ----------
    source : Source
        Of :func:`nablasso.streaming.open_table`. With a client its workers add up their parts; the
        sums are the same to the last bit for any number of them. With a ``checkpoint`` a pass that
        was stopped goes on from what it stored, to the same bits.
    space : FrozenSpace
    n_folds : int
        Folds of a later cross-validation.

    Returns
    -------
    SufficientStatistics
        Solve with ``fit_statistics``.

    Warns
    -----
    DriftWarning
        If means or deviations differ from those of the subsample that froze the space.
    """
    statistics = SufficientStatistics(space, n_folds).partial_fit(source)
    if not statistics.n_samples:
        raise InvalidDataError(f"{source.origin} has no rows of positive weight. Check it.")
    statistics.warn_of_drift()
    return statistics


def _no_sums(space: FrozenSpace, n_folds: int) -> Sums:
    m, d = space.features.n_components, len(space.columns)
    shapes = {"first": (2, m), "second": (m, m), "columns": (2, d)}
    names = ("count", "weight", "y", "y_square", "first", "second", "columns")
    return {name: np.zeros((n_folds, *shapes.get(name, ()))) for name in names}


def _added(a: Sums, b: Sums) -> Sums:
    return {name: a[name] + b[name] for name in a}


def _sums_of(rows: Rows, space: FrozenSpace, n_folds: int) -> Sums:
    """Sums over a block of rows; those of weight zero are left out."""
    sums = _no_sums(space, n_folds)
    X, y, weight = rows.X, rows.y, rows.weight
    folds = fold_numbers(np.take(X, space.columns, axis=1), y, space.seed, n_folds)
    folds[weight == 0] = -1
    m = space.features.n_components
    for k in range(n_folds):
        inside = np.flatnonzero(folds == k)
        for some in row_blocks(len(inside), m, FEATURES_AT_ONCE):
            at = inside[some]
            Z, t, w = space.standardise(X[at]), y[at] - space.y_centre, weight[at]
            phi = space.features.features(Z)
            if space.feature_centre is not None:
                phi -= space.feature_centre.astype(phi.dtype)
            root = np.sqrt(w)
            phi *= root.astype(phi.dtype)[:, None]
            sides = np.stack([root, root * t]).astype(phi.dtype)
            single = w.astype(Z.dtype)
            if space.usual_mean is not None:
                Z = Z - space.usual_mean.astype(Z.dtype)
            found = {
                "count": len(at),
                "weight": w.sum(),
                "y": w @ t,
                "y_square": w @ t**2,
                "first": sides @ phi,
                "second": phi.T @ phi,  # numpy sees the transpose: half the work
                "columns": np.stack([single @ Z, single @ Z**2]),
            }
            for name, value in found.items():
                sums[name][k] += value
    return sums


def fold_numbers(X: Floats, y: Array, seed: int, n_folds: int) -> Index:
    """Fold 0 to ``n_folds - 1`` of each row, by a hash of its content."""
    hashes = _mix(hashes_of(X, y, False), np.array([seed], dtype=np.uint64))
    return np.asarray(((hashes >> HALF) * np.uint64(n_folds)) >> HALF, dtype=np.intp)
