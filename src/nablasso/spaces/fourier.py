r"""Random Fourier features: a kernel as the inner product of finitely many cosines and sines.

A frequency ``omega_j`` with amplitude ``a_j`` gives two features,

.. math::
    \varphi(z) = \big(a_j \cos(\omega_j \cdot z),\; a_j \sin(\omega_j \cdot z)\big)_{j \le q},
    \qquad \varphi(z) \cdot \varphi(x) = \sum_j a_j^2 \cos(\omega_j \cdot (z - x)) ,

the cosines first, then the sines: m = 2q features. Drawn as :mod:`nablasso.spaces.frequencies`
does, the right-hand side has the kernel as its mean and a deviation of order ``m^{-1/2}`` or less,
or, on a lattice, an error that is smaller than any power of m.

**Slopes.** With ``psi = (a sin, -a cos)`` the derivative of a feature is
``d_a phi_j = -omega_ja psi_j``, so for ``f = w . phi``

.. math:: \|\partial_a f\|_n^2 = (\omega_a \circ w)^\top S\, (\omega_a \circ w), \qquad
          S = \mathrm{E}\,\psi\psi^\top

for all variables from one matrix. ``psi`` is ``phi`` with its halves swapped and one sign changed,
so ``S`` is ``M = E phi phi'`` with its blocks swapped (:func:`slope_moments`): one pass over the
rows, one symmetric product, and both are there.

**Sparse frequencies** touch few variables each. Variable ``a`` is out of ``f`` if and only if all
features touching it have weight zero: these features can select. Where every frequency touches
every variable the space contains no function of fewer variables but the constants, and a penalty
on derivatives shrinks without selecting.

Cost: O(n q d) for the projections of dense frequencies, O(n q s) where each touches ``s``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import Kernel, row_blocks
from nablasso.spaces.frequencies import Frequencies, draw_frequencies
from nablasso.types import Array, Index

CHUNK_BYTES = 64 << 20  # memory that evaluation at new points may take for the features
GATHER = 64  # variables per touched variable from which gathering beats a dense product


@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """``m = 2q`` features of points ``Z`` (n, d), in the precision of ``Z``.

    Parameters
    ----------
    n_columns : int
        ``d``.
    index : array of int, shape (q, s)
        The variables that each frequency touches; a place of value zero touches nothing.
    values : array, shape (q, s)
        The frequencies at these variables, scales of the inputs included.
    amplitudes : array, shape (q,)
    """

    n_columns: int
    index: Index
    values: Array
    amplitudes: Array

    @property
    def n_components(self) -> int:
        """``m``."""
        return 2 * len(self.amplitudes)

    @cached_property
    def frequencies(self) -> Array:
        """``omega``, shape (q, d)."""
        dense = np.zeros((len(self.values), self.n_columns))
        np.add.at(dense, (np.arange(len(dense))[:, None], self.index), self.values)
        return dense

    @cached_property
    def touching(self) -> tuple[Index, ...]:
        """For each variable the features, cosines and sines, that depend on it."""
        q = len(self.values)
        rows, places = np.nonzero(self.values)
        order = np.lexsort((rows, self.index[rows, places]))
        column, row = self.index[rows, places][order], rows[order]
        ends = np.searchsorted(column, np.arange(self.n_columns + 1))
        touched = [row[start:end] for start, end in pairwise(ends)]
        return tuple(np.concatenate([found, found + q]) for found in touched)

    @cached_property
    def selects(self) -> bool:
        """Whether the space has functions that ignore a variable, for each variable in it."""
        moving = 2 * int(np.any(self.values != 0, axis=1).sum())
        sizes = [len(found) for found in self.touching if len(found)]
        return len(sizes) <= 1 or max(sizes) < moving

    def features(self, Z: NDArray[Any]) -> NDArray[Any]:
        """``phi(z)``, shape (n, m)."""
        T = self._projections(Z)
        q = len(self.amplitudes)
        out = np.empty((len(T), 2 * q), dtype=T.dtype)
        np.cos(T, out=out[:, :q])
        np.sin(T, out=out[:, q:])
        out *= np.tile(self.amplitudes, 2).astype(T.dtype)
        return out

    def features_and_slopes(self, Z: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """``phi(z)`` and ``psi(z)``, each (n, m)."""
        phi = self.features(Z)
        return phi, self._slopes(phi)

    def evaluate(self, Z: Array, w: Array) -> Array:
        """``w . phi(z)`` at new points, in chunks of bounded memory."""
        out = np.empty(len(Z))
        for rows in row_blocks(len(Z), self.n_components, CHUNK_BYTES // 8):
            out[rows] = self.features(Z[rows]) @ w
        return out

    def evaluate_gradients(self, Z: Array, w: Array) -> Array:
        """Gradients of ``w . phi`` at new points, shape (k, d)."""
        out = np.empty((len(Z), self.n_columns))
        q = len(self.amplitudes)
        for rows in row_blocks(len(Z), self.n_components, CHUNK_BYTES // 8):
            weighted = self._slopes(self.features(Z[rows])) * -w
            out[rows] = (weighted[:, :q] + weighted[:, q:]) @ self.frequencies
        return out

    def _slopes(self, phi: NDArray[Any]) -> NDArray[Any]:
        q = len(self.amplitudes)
        return np.hstack([phi[:, q:], -phi[:, :q]])

    def _projections(self, Z: NDArray[Any]) -> NDArray[Any]:
        """``Z omega'``, shape (n, q)."""
        Z = Z if Z.dtype == np.float32 else np.asarray(Z, dtype=float)
        width = max(1, self.index.shape[1])
        if self.n_columns <= GATHER * width:
            return np.asarray(Z @ self.frequencies.T.astype(Z.dtype))
        T = np.zeros((len(Z), len(self.values)), dtype=Z.dtype)
        for place in range(self.index.shape[1]):
            T += Z[:, self.index[:, place]] * self.values[:, place].astype(Z.dtype)
        return T


def slope_moments(second: Array) -> Array:
    """``E psi psi'`` from ``E phi phi'``: the blocks of cosines and sines change places."""
    q = len(second) // 2
    out = np.empty_like(second)
    out[:q, :q], out[q:, q:] = second[q:, q:], second[:q, :q]
    out[:q, q:], out[q:, :q] = -second[q:, :q], -second[:q, q:]
    return out


def draw_fourier(
    kernel: Kernel,
    scales: Array,
    n_components: int = 512,
    random_state: Any = 0,
    points: Array | None = None,
    *,
    lattices: bool = True,
) -> FourierFeatures:
    """Draw the features of a kernel.

    Parameters
    ----------
    kernel : Kernel
        Gaussian, Matern, rational quadratic, ANOVA of these, sums and multiples.
    scales : array, shape (d,)
        Multipliers of the columns before the kernel sees them; zero removes a column. Draws follow
        the order of the columns: give them in a canonical order, as a
        :class:`~nablasso.data.table.Table` has them, and permuting the input permutes the result.
    n_components : int
        ``m``; an odd number means the next even one. Fewer come where more would add nothing.
    random_state : int or RandomState
    points : array, shape (k, d), optional
        Rows in the order of a table: they say how far lattices must reach. Without them the
        columns are taken for standardised ones.
    lattices : bool
        Whether frequencies may be on a lattice, which is exact where the kernel has few variables
        that matter; all are drawn without.

    Returns
    -------
    FourierFeatures
    """
    if not isinstance(n_components, int | np.integer) or n_components < 1:
        raise InvalidParameterError(
            f"The number of features must be a whole number of at least 1; got {n_components!r}."
        )
    scales = np.asarray(scales, dtype=float)
    drawn: Frequencies = draw_frequencies(
        kernel, scales, (int(n_components) + 1) // 2, random_state, points, lattices=lattices
    )
    return FourierFeatures(len(scales), *drawn)
