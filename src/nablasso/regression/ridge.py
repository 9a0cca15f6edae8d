r"""Ridge regression: from a Gram matrix or from features, with weights and leave-one-out.

For weights ``p`` (adding up to one), with an unpenalised intercept,

.. math:: \min_{u, b} \sum_i p_i (y_i - b - (K u)_i)^2 + \lambda\, u^\top K u

is solved by ``H u = y - b``, ``1'u = 0`` with ``H = K + lambda diag(1/p)``. Put
``S = diag(sqrt p)``, ``s = sqrt p`` (a unit vector) and ``Q = I - s s'``, or ``Q = I`` without
intercept. With orthonormal ``U`` and ``Q S K S Q = U diag(e) U'``

.. math:: u = P y, \qquad
          P = S \Big[U \,\mathrm{diag}\Big(\frac1{e + \lambda}\Big) U^\top
              + \frac{Q - U U^\top}\lambda\Big] S .

The residual of row ``i`` when it is left out is ``(P y)_i / P_ii``. The ridge of smallest
leave-one-out error is taken, and the largest among ties: flat curves (constant y, pure rounding)
take the smooth end. The same regression in three forms:

* :class:`Ridge`: all ridges from one decomposition in memory, O(n^3) of a Gram matrix, O(n m^2) of
  m features;
* :class:`WeightedRidge`: one ridge and any weights, by one Cholesky factorisation of a kernel;
* :class:`LeaveOutRidge`: without some of the columns, from one decomposition of all.

**Paired comparison** of two predictions of the same rows takes out what rows have in common: their
differences ``e_i`` have

.. math:: \bar e = \sum_i p_i e_i, \qquad \mathrm{se}^2 = \sum_i p_i^2 (e_i - \bar e)^2 .
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh, solve, svd
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotri, dtrtrs

from nablasso.kernels.base import row_blocks
from nablasso.types import Array, Index

# in units of the trace of the weighted centred kernel
SMALLEST_RIDGE = 1e-11  # below it, rounding decides the solution
RIDGE_GRID = np.logspace(-9, 1, 41)
TIE = 1e-10  # relative difference of errors

THIN = 0.5  # features per row up to which the feature-space form is the cheaper one
NEGLIGIBLE = 1e-13  # relative singular values below are rounding
CHUNK = 1 << 21  # numbers of features that are handled at a time
LEAVE_OUT_RIDGES = np.logspace(-4, 2, 19)  # of columns of unit length


def best_of(errors: Array) -> int:
    """Place of the smallest error of increasing ridges: the last among ties."""
    return int(np.flatnonzero(errors <= errors.min() * (1 + TIE))[-1])


class Ridge:
    """The operator ``P`` for any ridge; ``weights`` (n,) are positive and add up to one."""

    smallest: ClassVar[float] = SMALLEST_RIDGE

    def __init__(self, gram: Array, weights: Array, *, fit_intercept: bool = True) -> None:
        self.weights, self.fit_intercept = weights, fit_intercept
        root = np.sqrt(weights)
        A = gram * root[:, None] * root
        rounding = len(A) * np.finfo(float).eps * (float(np.trace(A)) or 1.0)
        if fit_intercept:
            A = _deflate(A, root)
        eigenvalues, U = eigh((A + A.T) / 2, driver="evd", overwrite_a=True, check_finite=False)
        if fit_intercept:  # the top eigenvector is s; make the others exactly orthogonal to it
            eigenvalues, U = eigenvalues[:-1], U[:, :-1]
            U -= np.outer(root, root @ U)
        self.eigenvalues = np.where(eigenvalues > rounding, eigenvalues, 0.0)
        self.vectors = U * root[:, None]  # S U
        self.complete = True  # nothing is left of Q - U U'
        self.features: Array | None = None
        self.right: Array | None = None

    @classmethod
    def of_features(cls, Phi: Array, weights: Array, *, fit_intercept: bool = True) -> Ridge:
        """Of the kernel ``Phi Phi'``; by ``Q S Phi = U diag(sigma) V'`` where that pays."""
        if Phi.shape[1] > THIN * len(Phi):
            made = cls(Phi @ Phi.T, weights, fit_intercept=fit_intercept)
            made.features = Phi
            return made
        made = cls.__new__(cls)
        made.weights, made.fit_intercept = weights, fit_intercept
        root = np.sqrt(weights)
        mean = weights @ Phi if fit_intercept else 0.0
        U, sigma, Vt = svd(root[:, None] * (Phi - mean), full_matrices=False, check_finite=False)
        kept = sigma > NEGLIGIBLE * max(float(np.max(sigma, initial=0.0)), 1e-300)
        made.eigenvalues, made.vectors = sigma[kept] ** 2, U[:, kept] * root[:, None]
        made.complete, made.features = False, Phi
        made.right = sigma[kept, None] * Vt[kept]
        return made

    @property
    def trace(self) -> float:
        """Trace of the weighted centred kernel: the natural unit of ``ridge``."""
        return float(self.eigenvalues.sum())

    def matrix(self, ridge: float) -> Array:
        """``P``, shape (n, n)."""
        P = (self.vectors * self._inside(ridge)) @ self.vectors.T
        return P if self.complete else P + self._outside(np.eye(len(P))) / ridge

    def coefficients(self, y: Array, ridge: float) -> Array:
        """``P y`` for targets ``y`` (n,) or (n, q), without forming ``P``."""
        inside = np.asarray(self.vectors @ (self._inside(ridge) * (self.vectors.T @ y).T).T)
        return inside if self.complete else inside + self._outside(y) / ridge

    def feature_coefficients(self, y: Array, ridge: float) -> tuple[Array, float]:
        """Weights of the features, ``Phi' P y``, and the intercept."""
        assert self.features is not None
        if self.right is None:
            w = self.features.T @ self.coefficients(y, ridge)
        else:
            w = self.right.T @ ((self.vectors.T @ y) / (self.eigenvalues + ridge))
        b = float(self.weights @ (y - self.features @ w)) if self.fit_intercept else 0.0
        return np.asarray(w), b

    def diagonal(self, ridge: float) -> Array:
        """Diagonal of ``P``."""
        inside = np.asarray(self.vectors**2 @ self._inside(ridge))
        reach = self.weights * (1 - self.weights if self.fit_intercept else 1.0)
        return inside if self.complete else inside + reach / ridge

    def loo_residuals(self, y: Array, ridge: float) -> Array:
        """Leave-one-out residuals at one ridge, shaped as ``y``: (n,) or (n, q)."""
        return np.asarray((self.coefficients(y, ridge).T / self.diagonal(ridge)).T)

    def loo_errors(self, y: Array, ridges: Array) -> Array:
        """Weighted mean squared leave-one-out residual at each ridge, added up over targets."""
        return np.array([np.sum(self.weights @ self.loo_residuals(y, r) ** 2) for r in ridges])

    def best_ridge(self, y: Array, floor: float = 0.0) -> float:
        """Ridge of smallest leave-one-out error on the grid, at least ``floor`` of the trace."""
        ridges = (self.trace or 1.0) * RIDGE_GRID[floor <= RIDGE_GRID]
        return float(ridges[best_of(self.loo_errors(y, ridges))])

    def _inside(self, ridge: float) -> Array:
        """What multiplies ``U U'``, one number an eigenvalue."""
        g = 1 / (self.eigenvalues + ridge)
        return np.asarray(g if self.complete else g - 1 / ridge)

    def _outside(self, y: Array) -> Array:
        """``S Q S y``."""
        centred = y - self.weights @ y if self.fit_intercept else y
        return np.asarray((self.weights * centred.T).T)


def _deflate(A: Array, s: Array) -> Array:
    """``Q A Q`` with the unit vector ``s`` moved to the top of the spectrum.

    Left at eigenvalue zero, ``s`` would mix with the null space of a kernel of low rank, and let
    small ridges look perfect.
    """
    As = A @ s
    centred = A - np.outer(s, As) - np.outer(As, s) + (s @ As) * np.outer(s, s)
    above = 2 * float(np.trace(A)) or 1.0
    return np.asarray(centred + above * np.outer(s, s))


def moments_of(Phi: Array, y: Array, weights: Array, *, centre: bool = True) -> tuple[Array, Array]:
    """``Phi' Q Phi`` and ``Phi' Q y`` of features (n, m): O(n m^2), in chunks.

    ``Q = diag(q) - q q' / sum(q)`` with positive weights ``q``; without ``centre`` the first part.
    """
    (n, m), total = Phi.shape, float(weights.sum())
    y_mean = float(weights @ y) / total if centre else 0.0
    second = np.zeros((m, m), order="F")
    mean, cross = np.zeros(m), np.zeros(m)
    for rows in row_blocks(n, m, CHUNK):
        phi, p = Phi[rows], weights[rows]
        mean += p @ phi
        cross += (p * (y[rows] - y_mean)) @ phi
        if m:
            weighted = phi * np.sqrt(p)[:, None]
            second = dsyrk(1.0, weighted.T, beta=1.0, c=second, lower=1, overwrite_c=1)
    second = mirrored(second)
    return (second - np.outer(mean, mean / total) if centre else second), cross


def mirrored(lower: Array) -> Array:
    """The symmetric matrix of a lower triangle, whatever stands above its diagonal."""
    lower = np.tril(lower)
    return np.asarray(lower + np.tril(lower, -1).T)


class WeightedRidge:
    r"""``P`` for weights ``q`` (any positive numbers) and one ridge, by Cholesky.

    Newton's method for other losses changes its weights at every step. With ``S = diag(sqrt q)``,
    ``e = sqrt q`` and ``B = (S K S + lambda)^{-1}``

    .. math:: P = S \Big(B - \frac{B e e^\top B}{e^\top B e}\Big) S ,

    without the second term where there is no intercept. O(n^3) once, O(n^2) a product.
    """

    def __init__(self, gram: Array, weights: Array, ridge: float, *, fit_intercept: bool) -> None:
        self.root = np.sqrt(weights)
        A = gram * self.root[:, None] * self.root
        A[np.diag_indices_from(A)] += ridge
        self.factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        self.fit_intercept = fit_intercept
        if fit_intercept:
            self.Be = cho_solve(self.factor, self.root, check_finite=False)
            self.eBe = float(self.root @ self.Be)

    def solve(self, target: Array) -> Array:
        """``P target`` for targets (n,) or (n, q)."""
        scaled = (self.root * target.T).T
        x = cho_solve(self.factor, scaled, check_finite=False)
        if self.fit_intercept:
            x -= np.multiply.outer(self.Be, self.Be @ scaled / self.eBe)
        return np.asarray((self.root * x.T).T)

    def quadratic(self, target: Array) -> Array:
        """``target' P target`` for targets (n, q): half the cost of a product with ``P``."""
        scaled = (self.root * target.T).T
        T = dtrtrs(self.factor[0], scaled, lower=1)[0]
        inside = T.T @ T
        if self.fit_intercept:
            mean = self.Be @ scaled
            inside -= np.outer(mean, mean / self.eBe)
        return np.asarray(inside)

    def diagonal(self) -> Array:
        """Diagonal of ``P``."""
        return np.diagonal(self.matrix())

    def matrix(self) -> Array:
        """``P``, shape (n, n)."""
        B = mirrored(dpotri(self.factor[0], lower=1)[0])
        if self.fit_intercept:
            B -= np.outer(self.Be, self.Be / self.eBe)
        return np.asarray(B * self.root[:, None] * self.root)


class LeaveOutRidge:
    r"""Leave-one-out predictions of any targets from all columns but some.

    Columns are centred and standardised. Without the columns ``Z_g``

    .. math:: P_{-g} = P + P Z_g (I - Z_g^\top P Z_g)^{-1} Z_g^\top P ,

    so all follow from one decomposition, and O(n min(n, d) (|g| + number of targets)) per ridge of
    the increasing ``ridges``, for d >= n too.

    The mean of the other rows tells the left-out target exactly (it falls where the target is
    high). So predictions are made around the means of *all* rows, with the slopes of the others,
    into which the row's own target does not enter. That multiplies the residual by 1 - p_i.
    """

    def __init__(self, X: Array, weights: Array, ridges: Array = LEAVE_OUT_RIDGES) -> None:
        self.weights, self.ridges = weights / weights.sum(), ridges
        centred = X - self.weights @ X
        size = np.sqrt(self.weights @ centred**2)
        varies = size > 1e-12 * np.abs(X).max(axis=0, initial=0.0)
        self.Z = np.where(varies, centred / np.where(varies, size, 1.0), 0.0)
        self.ridge = Ridge.of_features(self.Z, self.weights)

    def predict(self, columns: Index, targets: Array) -> Array:
        """Each row's ``targets``, (n, m), from the other rows and the columns not in ``columns``.

        The targets share one ridge, that of the smallest sum of squared leave-one-out errors.
        """
        found = [self._residuals(columns, targets, ridge) for ridge in self.ridges]
        best = best_of(np.array([float(np.sum(self.weights @ left**2)) for left in found]))
        return np.asarray(targets - found[best] * (1 - self.weights)[:, None])

    def _residuals(self, columns: Index, targets: Array, ridge: float) -> Array:
        Zg = self.Z[:, columns]
        PZ, PT = (self.ridge.coefficients(each, ridge) for each in (Zg, targets))
        core = np.eye(len(columns)) - Zg.T @ PZ
        PZC = solve(core, PZ.T, assume_a="pos", check_finite=False).T
        diagonal = self.ridge.diagonal(ridge) + np.sum(PZC * PZ, axis=1)
        return np.asarray((PT + PZC @ (Zg.T @ PT)) / diagonal[:, None])


class Difference(NamedTuple):
    """Weighted mean of a difference between rows, and its standard error."""

    mean: float
    error: float

    @property
    def in_errors(self) -> float:
        """The mean in standard errors; zero where there is none."""
        return self.mean / self.error if self.error > 0 else 0.0


def paired(differences: Array, weights: Array, *, copied: bool = False) -> Difference:
    """Mean and standard error of ``differences`` (n,); ``weights`` need not add up to one.

    ``copied`` if each stands for as many equal rows as its weight says.
    """
    p = weights / weights.sum()
    mean = float(p @ differences)
    each = p / weights.sum() if copied else p**2
    return Difference(mean, float(np.sqrt(each @ (differences - mean) ** 2)))


def saving(
    losses: Sequence[tuple[Array, Array]], weights: Array, *, copied: bool = False
) -> tuple[float, float]:
    """Share of the null model's losses that ours save, and that in units of its standard error.

    ``losses`` are those of each target, under the null model and ours; it is R2 of squared ones.
    """
    null, ours = np.sum(losses, axis=0)
    gain, size = (
        paired(null - ours, weights, copied=copied),
        float(np.average(null, weights=weights)),
    )
    return (gain.mean / size if size > 0 else 0.0), gain.in_errors
