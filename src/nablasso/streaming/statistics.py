r"""Sufficient statistics: one pass over the rows, and the problem is small for good.

For ``f = b + w . phi`` in a frozen space the squared loss and the norms of all derivatives depend
on the rows through

.. math:: \sum p,\quad \sum p\, y,\quad \sum p\, y^2,\quad \sum p\, \varphi,\quad
          \sum p\, \varphi y,\quad \sum p\, \varphi \varphi^\top

alone (weights ``p``; :mod:`nablasso.spaces.features`). Sums over chunks add up, so chunks may come
one after the other, from files larger than memory or from many machines. They are kept by fold, and
the fold of a row is a hash of its content: cross-validation needs no second pass, and folds do not
depend on the order in which rows come. Features and products have the precision of the input, sums
are in float64.

A pass costs O(n m (d + m / 2)) time and O(K m^2) memory for K folds, whatever n is. Other losses
than the squared one have no such sums: they need the rows again in every step.

**Files** of statistics are numpy's ``.npz`` (a zip archive of arrays with checksums), read without
pickle. A header in JSON holds the number of the format, the fingerprint of the space, the space
itself as plain data and notes. A file is written beside its place, through to the disk, and moved
there in one step.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.errors import (
    DriftWarning,
    InvalidDataError,
    InvalidParameterError,
    StatisticsFileError,
)
from nablasso.persistence import atomic_write, from_plain, to_plain
from nablasso.spaces.features import Moments
from nablasso.spaces.fourier import FourierFeatures
from nablasso.streaming.frozen import CheckedRows, FrozenSpace, checked_rows
from nablasso.streaming.reading import listed
from nablasso.streaming.sums import (
    Products,
    Slab,
    Sums,
    block_products,
    block_slices,
    in_one_thread_each,
    slabs,
)

MEAN_DRIFT = 0.25  # in deviations of the subsample: moves the data against the features' width
DEVIATION_DRIFT = 0.5  # of the deviation, up or down
CHANCE = 10.0  # deviations of a subsample's own moments that are no drift, heavy tails included
KIND = "nablasso statistics"
FORMAT = 3  # raised whenever the meaning of the sums changes, or the place of a class
HEADER = "header"
PREFIX = "sum_"

Block = tuple[int, Slab, slice]


class SufficientStatistics:
    """Fold-wise sums over rows in one frozen space.

    Parameters
    ----------
    space : FrozenSpace
        Scaling, features and seed, learned on a subsample.
    n_folds : int
        Folds of a later cross-validation; 1 for none.

    Attributes
    ----------
    sums : Sums
        What was added up.
    """

    def __init__(self, space: FrozenSpace, n_folds: int = 5) -> None:
        if isinstance(n_folds, bool) or not isinstance(n_folds, int) or n_folds < 1:
            raise InvalidParameterError(
                f"n_folds must be a whole number of at least 1; got {n_folds!r}."
            )
        self.space = space
        self.n_folds = n_folds
        self.sums = Sums.zeros(n_folds, space.n_components, len(space.columns))
        self._torn = False

    @property
    def n_samples(self) -> int:
        """Rows of positive weight seen so far."""
        return int(self.sums.count.sum())

    @property
    def weight(self) -> float:
        """Sum of their weights."""
        return float(self.sums.weight.sum())

    @property
    def is_whole(self) -> bool:
        """Whether no chunk is in by half, as after an interruption."""
        return not self._torn

    def partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        origin: str = "",
        first_row: int = 0,
        n_threads: int | None = None,
    ) -> SufficientStatistics:
        """Add rows.

        Parameters
        ----------
        X : array or DataFrame, shape (n, d)
            All columns of the space, those left out included; float32 is computed in float32.
        y : array, shape (n,)
        sample_weight : array, shape (n,), optional
        origin : str
            What the rows are part of, a file for example; errors name it.
        first_row : int
            Number of the first row there.
        n_threads : int, optional
            As many as the linear algebra would use by default; the sums are the same for any.

        Returns
        -------
        SufficientStatistics
            This object.

        Raises
        ------
        InvalidDataError
            If columns differ from those of the space or a value is not finite. Nothing is added.
        """
        self._require_whole()
        rows = checked_rows(self.space, X, y, sample_weight, origin=origin, first_row=first_row)
        self._torn = True
        for fold, products in in_one_thread_each(self._job, self._blocks(rows), n_threads):
            self.sums.add_products(fold, products)
        self._torn = False
        return self

    def __add__(self, other: SufficientStatistics) -> SufficientStatistics:
        if not isinstance(other, SufficientStatistics):
            return NotImplemented
        self._check_addable(other)
        result = SufficientStatistics(self.space, self.n_folds)
        result.sums += self.sums
        result.sums += other.sums
        return result

    def __iadd__(self, other: SufficientStatistics) -> SufficientStatistics:
        if not isinstance(other, SufficientStatistics):
            return NotImplemented
        self._check_addable(other)
        self.sums += other.sums
        return self

    def total(self) -> Moments:
        """Moments of all rows."""
        return self._moments(list(range(self.n_folds)), "No rows were added yet")

    def fold(self, k: int) -> Moments:
        """Moments of the rows of fold ``k``."""
        self._check_fold(k)
        return self._moments([k], f"Fold {k} has no rows")

    def without(self, k: int) -> Moments:
        """Moments of the rows of all other folds."""
        self._check_fold(k)
        others = [fold for fold in range(self.n_folds) if fold != k]
        return self._moments(others, f"There are no rows outside fold {k}")

    def drifted_columns(self) -> list[str]:
        """Columns whose mean or deviation is not that of the subsample."""
        self._require_whole()
        if not self.weight > 0:
            return []
        mean, square = self.sums.columns / self.weight
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

    def save(self, path: str | os.PathLike[str], *, notes: dict[str, Any] | None = None) -> None:
        """Write the sums and the space to a file, whole or not at all.

        Parameters
        ----------
        path : path-like
            ``.npz`` is the usual suffix.
        notes : dict, optional
            Anything that JSON can hold.
        """
        self._require_whole()
        _write(path, self.space, self.sums.arrays(), notes or {})

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], space: FrozenSpace | None = None
    ) -> SufficientStatistics:
        """Read what :meth:`save` has written.

        Parameters
        ----------
        path : path-like
        space : FrozenSpace, optional
            The space that the statistics must belong to; that in the file by default.

        Raises
        ------
        StatisticsFileError
            If the file is damaged, of another version, or of another space.
        """
        return cls.load_with_notes(path, space)[0]

    @classmethod
    def load_with_notes(
        cls, path: str | os.PathLike[str], space: FrozenSpace | None = None
    ) -> tuple[SufficientStatistics, dict[str, Any]]:
        """As :meth:`load`, and the notes given to :meth:`save`."""
        found, arrays, notes = _read(path, space)
        statistics = cls(found, len(arrays["count"]))
        statistics.sums = Sums(**arrays)
        return statistics, notes

    def _blocks(self, rows: CheckedRows) -> Iterator[Block]:
        for slab in slabs(self.space, rows.X, rows.y, rows.weights, self.n_folds):
            self.sums.add_scalars(slab, self.space.usual_mean)
            for fold, (start, end) in enumerate(pairwise(slab.ends)):
                for piece in block_slices(start, end):
                    yield fold, slab, piece

    def _job(self, block: Block) -> tuple[int, Products]:
        fold, slab, rows = block
        weights = None if slab.weights is None else slab.weights[rows]
        return fold, block_products(self.space, slab.Z[rows], slab.y[rows], weights)

    def _check_addable(self, other: SufficientStatistics) -> None:
        self._require_whole()
        other._require_whole()
        if other.n_folds != self.n_folds:
            raise InvalidParameterError(
                f"Statistics add up fold by fold; these have {self.n_folds} and {other.n_folds} "
                "folds. Make both with the same n_folds."
            )
        if other.space is not self.space and other.space.fingerprint() != self.space.fingerprint():
            raise InvalidParameterError(
                "Statistics add up only in one space; these two differ in scaling, features, names "
                "or seed. Freeze one space and use it for all chunks."
            )

    def _moments(self, folds: list[int], empty: str) -> Moments:
        self._require_whole()
        if not self.sums.weight[folds].sum() > 0:
            raise InvalidDataError(f"{empty}. Add rows with partial_fit, or use fewer folds.")
        slopes = isinstance(self.space.features, FourierFeatures)
        return self.sums.moments(folds, self.space, slopes=slopes)

    def _check_fold(self, k: int) -> None:
        if not 0 <= k < self.n_folds:
            raise InvalidParameterError(f"Folds are 0 to {self.n_folds - 1}; got {k!r}.")

    def _require_whole(self) -> None:
        if self._torn:
            raise InvalidDataError(
                "These statistics were interrupted in the middle of a chunk and hold a part of it. "
                "Load the last checkpoint, or begin again."
            )


# --- files ---


def _write(
    path: str | os.PathLike[str],
    space: FrozenSpace,
    sums: Mapping[str, NDArray[Any]],
    notes: dict[str, Any],
) -> None:
    """Write ``sums`` by name, with their space."""
    arrays: dict[str, NDArray[Any]] = {}
    header = {
        "kind": KIND,
        "format": FORMAT,
        "nablasso": _version(),
        "fingerprint": space.fingerprint(),
        "space": to_plain(space, arrays),
        "notes": notes,
    }
    arrays |= {PREFIX + name: array for name, array in sums.items()}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with atomic_write(path) as place, place.open("wb") as file:
        np.savez(file, **{HEADER: text}, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())


def _read(
    path: str | os.PathLike[str], space: FrozenSpace | None
) -> tuple[FrozenSpace, dict[str, NDArray[Any]], dict[str, Any]]:
    """The space, the sums by name and the notes; refuses files of another version or space."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(bytes(file[HEADER]))
            _check_header(header, path)
            arrays = {name: file[name] for name in file.files if name != HEADER}
    except FileNotFoundError as error:
        raise StatisticsFileError(
            f"{path} does not exist. Give the path of a file of statistics."
        ) from error
    except (KeyError, ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, StatisticsFileError):
            raise
        raise StatisticsFileError(
            f"{path} is not a file of statistics, or was cut off or damaged ({error}). Take an "
            "older copy, or delete it and repeat the pass."
        ) from error
    _check_space(header, space, path)
    if space is None:
        space = from_plain(header["space"], arrays)
        if space.fingerprint() != header["fingerprint"]:
            raise StatisticsFileError(
                f"{path} holds a space that nablasso {_version()} builds differently than "
                f"{header['nablasso']}, which wrote it. Read it with that version."
            )
    sums = {name.removeprefix(PREFIX): a for name, a in arrays.items() if name.startswith(PREFIX)}
    return space, sums, header["notes"]


def _check_header(header: Any, path: str | os.PathLike[str]) -> None:
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise StatisticsFileError(
            f"{path} is not a file of statistics. Give a file that SufficientStatistics.save wrote."
        )
    if header["format"] != FORMAT:
        raise StatisticsFileError(
            f"{path} has format {header['format']}, written by nablasso {header['nablasso']}; "
            f"nablasso {_version()} reads format {FORMAT} only. Repeat the pass, or read the file "
            "with that version."
        )


def _check_space(
    header: dict[str, Any], space: FrozenSpace | None, path: str | os.PathLike[str]
) -> None:
    if space is not None and space.fingerprint() != header["fingerprint"]:
        raise StatisticsFileError(
            f"{path} belongs to another space: its scaling, features, names or seed differ from "
            "those given. Load it without a space to use its own, or repeat the pass."
        )


def _version() -> str:
    from nablasso import __version__  # the package imports this module before it has a version

    return __version__
