r"""The PSD model: a non-negative function that is linear in its parameters.

.. math:: f(x) = v(x)^\top B\, v(x) = \|C^\top v(x)\|^2, \qquad B = C C^\top \succeq 0

where ``v(x)`` are Gaussian bumps (:mod:`nablasso.nonnegative.gaussians`): kernel values at anchor
points, and maybe a constant. The factor ``C`` (m, q) is what is stored, so values are sums of
squares and can not be negative, not even by rounding. Linear functionals are
``Tr(B W) = sum(C * (W C))``. The model is closed under sums (bumps side by side), products
(products of bumps), integrating out variables (``B * W``, positive by Schur's theorem), fixing
variables (rows of ``C`` times bumps) and multiplication by a Gaussian (each bump times its root).

Cost of k values: O(k m (d + q)), in chunks of bounded memory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh, qr

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import row_blocks
from nablasso.nonnegative.base import FittedFunction
from nablasso.nonnegative.gaussians import Bumps, pair_integrals, pair_moments, sum_of_logs
from nablasso.types import Array, Index

ROUNDING = float(np.finfo(float).eps)


@dataclass(frozen=True)
class PSDModel(FittedFunction):
    """``f(x) = |C' v(x)|^2`` with ``v`` the values of ``bumps`` (m) and ``factor`` C (m, q)."""

    bumps: Bumps
    factor: Array

    @property
    def n_features(self) -> int:
        """Number of variables."""
        return int(self.bumps.centres.shape[1])

    @property
    def matrix(self) -> Array:
        """``B``, positive semidefinite, shape (m, m)."""
        return np.asarray(self.factor @ self.factor.T)

    def values(self, X: Array) -> Array:
        """``f`` at the rows of ``X``."""
        out = np.empty(len(X))
        for rows in row_blocks(len(X), len(self.bumps)):
            H = self.bumps.values(X[rows]) @ self.factor
            out[rows] = np.einsum("kq,kq->k", H, H)
        return out

    def logs(self, X: Array) -> Array:
        """``log f`` at the rows of ``X``, also where ``f`` is too small for a number."""
        out = np.empty(len(X))
        for rows in row_blocks(len(X), len(self.bumps)):
            values, shift = self.bumps.shifted(X[rows])
            H = values @ self.factor
            with np.errstate(divide="ignore"):
                out[rows] = np.log(np.einsum("kq,kq->k", H, H)) + 2 * shift
        return out

    def gradients(self, X: Array) -> Array:
        """Gradients of ``f`` at the rows of ``X``: ``2 h . dh`` with ``h = C' v``."""
        out = np.empty(X.shape)
        Z, P = self.bumps.centres, self.bumps.precisions
        for rows in row_blocks(len(X), len(self.bumps)):
            g = self.bumps.values(X[rows])
            S = g * ((g @ self.factor) @ self.factor.T)  # S 1 = f
            out[rows] = 2 * (S @ (P * Z) - X[rows] * (S @ P))
        return out

    def functional(self, W: Array) -> float:
        """``Tr(B W)`` for a symmetric ``W`` (m, m)."""
        return float(np.sum(self.factor * (W @ self.factor)))

    def integral(self, box: Array | None = None) -> float:
        """Integral over the space, or over a box of shape (d, 2)."""
        box = None if box is None else check_box(box, self.n_features)
        return self.functional(pair_integrals(self.bumps, box))

    def moment(self, powers: Array) -> float:
        """Integral of ``x_1^{k_1} ... x_d^{k_d} f``; powers are 0, 1 or 2."""
        return self.functional(pair_moments(self.bumps, np.asarray(powers)))

    def __mul__(self, other: float | PSDModel) -> PSDModel:
        """Product with a number that is not negative, or with another model."""
        if isinstance(other, PSDModel):
            bumps, logs = self.bumps.times(other.bumps)
            return PSDModel(bumps, np.exp(logs)[:, None] * np.kron(self.factor, other.factor))
        if not 0 <= other < np.inf:
            raise InvalidParameterError(
                f"A non-negative function can be multiplied by numbers of at least 0; got {other}."
            )
        return PSDModel(self.bumps, self.factor * np.sqrt(other))

    __rmul__ = __mul__

    def __add__(self, other: PSDModel) -> PSDModel:
        """Sum of two functions."""
        bumps = Bumps(
            np.vstack([self.bumps.centres, other.bumps.centres]),
            np.vstack([self.bumps.precisions, other.bumps.precisions]),
        )
        m, q = self.factor.shape
        factor = np.zeros((len(bumps), q + other.factor.shape[1]))
        factor[:m, :q], factor[m:, q:] = self.factor, other.factor
        return PSDModel(bumps, factor)

    def times_gaussian(self, mean: Array, variance: Array) -> PSDModel:
        """``f`` times the density of a Gaussian with independent coordinates.

        Each bump is multiplied by the root of that density.
        """
        d = self.n_features
        root = Bumps(np.reshape(mean, (1, d)), 0.5 / np.reshape(variance, (1, d)))
        bumps, logs = self.bumps.times(root)
        logs = logs - 0.25 * float(np.sum(np.log(2 * np.pi * np.asarray(variance))))
        return PSDModel(bumps, np.exp(logs)[:, None] * self.factor)

    def marginal(self, columns: Index, box: Array | None = None) -> PSDModel:
        """The function of ``columns`` left when all other variables are integrated out.

        With a ``box`` (d, 2) they are integrated over their intervals.
        """
        rest = np.setdiff1d(np.arange(self.n_features), columns)
        W = np.exp(sum_of_logs(self.bumps, rest.tolist(), box))
        return PSDModel(self.bumps.columns(columns), schur_factor(self.factor, W))

    def given(self, columns: Index, values: Array) -> PSDModel:
        """The function of the other variables when ``columns`` are held at ``values``."""
        rest = np.setdiff1d(np.arange(self.n_features), columns)
        heights = self.bumps.columns(columns).values(np.reshape(values, (1, -1)))[0]
        return PSDModel(self.bumps.columns(rest), heights[:, None] * self.factor)

    def composed(self, scale: Array, shift: Array) -> PSDModel:
        """``x -> f(x * scale + shift)``: the function in other units."""
        return PSDModel(self.bumps.composed(scale, shift), self.factor)

    def spread(self, columns: Index, n_features: int) -> PSDModel:
        """The same function of its variables, as columns among ``n_features``."""
        return PSDModel(self.bumps.spread(columns, n_features), self.factor)


@dataclass(frozen=True)
class LinearModel(FittedFunction):
    """``f(x) = c . v(x)``: a function of any sign on the same bumps."""

    bumps: Bumps
    coefficients: Array

    def values(self, X: Array) -> Array:
        """``f`` at the rows of ``X``."""
        out = np.empty(len(X))
        for rows in row_blocks(len(X), len(self.bumps)):
            out[rows] = self.bumps.values(X[rows]) @ self.coefficients
        return out

    def gradients(self, X: Array) -> Array:
        """Gradients at the rows of ``X``."""
        out = np.empty(X.shape)
        Z, P = self.bumps.centres, self.bumps.precisions
        for rows in row_blocks(len(X), len(self.bumps)):
            S = self.bumps.values(X[rows]) * self.coefficients
            out[rows] = S @ (P * Z) - X[rows] * (S @ P)
        return out

    def composed(self, scale: Array, shift: Array) -> LinearModel:
        """``x -> f(x * scale + shift)``: the function in other units."""
        return LinearModel(self.bumps.composed(scale, shift), self.coefficients)

    def spread(self, columns: Index, n_features: int) -> LinearModel:
        """The same function of its variables, as columns among ``n_features``."""
        return LinearModel(self.bumps.spread(columns, n_features), self.coefficients)


def schur_factor(C: Array, W: Array) -> Array:
    """``F`` with ``F F' = (C C') * W`` elementwise, ``W`` positive semidefinite.

    With ``W = R R'`` it is the sum over q, p of squares of ``C[:, q] * R[:, p]``. These columns are
    reduced to m by a QR decomposition: the product itself, whose entries may be huge and cancel, is
    never formed.
    """
    eigenvalues, U = eigh(W)
    kept = eigenvalues > ROUNDING * max(float(eigenvalues[-1]), 0.0)
    R = U[:, kept] * np.sqrt(eigenvalues[kept])
    columns = (C[:, :, None] * R[:, None, :]).reshape(len(C), -1)
    if columns.shape[1] <= len(C):
        return np.asarray(columns)
    return np.asarray(qr(columns.T, mode="r")[0][: len(C)].T)


def check_box(box: Array, n_features: int) -> Array:
    """A box as an array (d, 2) of lower and upper ends."""
    array = np.asarray(box, dtype=float)
    if array.shape == (2,) and n_features == 1:
        array = array[None, :]
    if array.shape != (n_features, 2) or np.isnan(array).any():
        raise InvalidParameterError(
            f"A box has a lower and an upper end for each of the {n_features} variables, shape "
            f"({n_features}, 2); got shape {array.shape}."
        )
    if (array[:, 0] > array[:, 1]).any():
        a = int(np.flatnonzero(array[:, 0] > array[:, 1])[0])
        raise InvalidParameterError(
            f"The lower end of a box must not exceed the upper one; variable {a} has {array[a]}."
        )
    return array
