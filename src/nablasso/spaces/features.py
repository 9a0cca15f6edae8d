r"""Spaces of features: (P) on any number of rows is (P) on m pseudo-rows.

For ``f = b + w . phi`` with m Fourier features and weights ``p`` of the rows let ``mean = E phi``,
``C = E phi phi' - mean mean'``, ``c = E phi y - mean E y`` and ``S = E psi psi'`` of the slopes
(:mod:`nablasso.spaces.maps`). Factor ``C = Q'Q``, ``S = R'R`` and ``Q' ytilde = c``. Then, with the
best intercept ``b = E y - w . mean``,

.. math::
    \mathrm{E}(y - f)^2 = |\tilde y - Q w|^2 + \big(\mathrm{var}\,y - |\tilde y|^2\big),
    \qquad \|\partial_a f\|_n = |g_a|, \quad g_a = -R\,(\omega_a \circ w) .

So (P) is (P) on r + 1 pseudo-rows of weight one, without intercept: row ``i`` has the target
``ytilde_i`` and the features ``Q_i``; the last has no features and what no function explains for a
target, so that the objective at zero is the variance of ``y``. The gradients ``g_a`` stand for
derivatives at pseudo-points. With coefficients ``u`` of values and ``v`` of gradients

.. math:: w(u, v) = \Phi^\top u - \sum_a \omega_a \circ (R^\top v_a), \qquad \|f\| = |w| ,

where ``Phi`` is ``Q`` and a row of zeros: penalties, solvers, ``alpha_max``, gap and bounds work
unchanged. ``Q`` comes from the eigenvectors of ``C``, so that ``K = Q Q'`` is diagonal. A loss that
sums over rows cannot serve sees the true rows in the same space: ``Phi`` are then their features,
and derivatives stay at pseudo-points.

Cost: O(m^3) once, O(d m^2) a product whatever n is, and O(n m) for the values of true rows. Where
frequencies are sparse and ``J_a`` are the features touching ``a``, only ``S[J_a, J_a] = R_a' R_a``
matter: O(sum_a |J_a|^2) a product. Pseudo-points of a variable with a smaller block are zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.blas import dsyrk

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import row_blocks
from nablasso.spaces.exact import Space
from nablasso.spaces.maps import FourierFeatures, NystromFeatures, slope_moments
from nablasso.types import Array, Index

FeatureMap = FourierFeatures | NystromFeatures

CHUNK_BYTES = 16 << 20  # features computed at a time
KEEP_BYTES = 512 << 20  # features kept in memory


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over rows of total ``weight``; ``C`` and ``c`` with the means removed.

    ``slopes`` says that the features are Fourier features, for which ``C`` holds ``S`` too.
    """

    weight: float
    n_samples: int
    mean: Array  # (m,)
    y_mean: float
    y_variance: float
    C: Array  # (m, m)
    c: Array  # (m,)
    slopes: bool = False

    @cached_property
    def S(self) -> Array | None:
        """``E psi psi'`` (m, m), no mean removed; None for maps without slopes."""
        return slope_moments(self.uncentred()[0]) if self.slopes else None

    def on(self, chosen: Index) -> Moments:
        """Of some of the features."""
        C = self.C[np.ix_(chosen, chosen)]
        return replace(self, mean=self.mean[chosen], C=C, c=self.c[chosen], slopes=False)

    def mean_squared_error(self, w: Array, b: Array | float) -> Array:
        """Of ``b + w . phi`` on the rows behind the moments, for each column of ``w``."""
        offset = self.y_mean - b - self.mean @ w
        around = self.y_variance - 2 * self.c @ w + np.sum(w * (self.C @ w), axis=0)
        return np.asarray(offset**2 + np.maximum(around, 0.0))

    def uncentred(self) -> tuple[Array, Array, float]:
        """``E phi phi'``, ``E phi y`` and ``E y^2``."""
        second = self.C + np.outer(self.mean, self.mean)
        return second, self.c + self.y_mean * self.mean, self.y_variance + self.y_mean**2

    def about(self, *, centred: bool) -> tuple[Array, Array, float]:
        """``C``, ``c`` and the variance of ``y``, or the same with no mean removed."""
        return (self.C, self.c, self.y_variance) if centred else self.uncentred()


class FeatureRows:
    """``Phi``, the features of rows ``Z`` (n, d), in chunks.

    They are kept up to ``KEEP_BYTES`` where ``keep`` allows it, and computed anew beyond.
    Without ``features`` the rows themselves are the features.
    """

    def __init__(
        self,
        features: FeatureMap | None,
        Z: Array,
        *,
        keep: bool = True,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> None:
        self.features, self.Z, self.keep, self.chunk_bytes = features, Z, keep, chunk_bytes

    @property
    def n_samples(self) -> int:
        """``n``."""
        return len(self.Z)

    @property
    def n_components(self) -> int:
        """``m``."""
        return self.Z.shape[1] if self.features is None else self.features.n_components

    @cached_property
    def _kept(self) -> Array | None:
        if self.features is None:
            return self.Z
        if not self.keep or 8 * len(self.Z) * self.n_components > KEEP_BYTES:
            return None
        return np.asarray(self.features.features(self.Z), dtype=float)

    def chunks(self, n_rows: int | None = None) -> list[slice]:
        """Of all rows, or of the first ones: whose features are handled at a time."""
        n = len(self.Z) if n_rows is None else n_rows
        return list(row_blocks(n, self.n_components, self.chunk_bytes // 8))

    def phi(self, rows: slice) -> Array:
        """Features of some rows."""
        if self._kept is not None:
            return self._kept[rows]
        assert self.features is not None
        return np.asarray(self.features.features(self.Z[rows]), dtype=float)

    def matrix(self) -> Array:
        """``Phi``, shape (n, m): for small tables only."""
        return self.phi(slice(None))

    def at_rows(self, w: Array) -> Array:
        """``Phi w``."""
        parts = [self.phi(rows) @ w for rows in self.chunks()]
        return parts[0] if len(parts) == 1 else np.concatenate([np.empty(0), *parts])

    def adjoint(self, u: Array) -> Array:
        """``Phi' u``."""
        out = np.zeros(self.n_components)
        for rows in self.chunks():
            out += u[rows] @ self.phi(rows)
        return out

    def kernel_product(self, u: Array) -> Array:
        """``Phi Phi' u``."""
        return self.at_rows(self.adjoint(u))

    @cached_property
    def gram(self) -> Array:
        """``K = Phi Phi'``, shape (n, n): for small tables only."""
        phi = self.matrix()
        return phi @ phi.T

    def moments(self, y: Array, weights: Array) -> Moments:
        """Of these rows with a target and positive weights: one pass."""
        m, total = self.n_components, float(weights.sum())
        y_mean = float(weights @ y) / total
        second = np.zeros((m, m), order="F")
        mean, cross = np.zeros(m), np.zeros(m)
        for rows in self.chunks():
            phi = self.phi(rows)
            mean += weights[rows] @ phi
            cross += (weights[rows] * (y[rows] - y_mean)) @ phi
            weighted = phi * np.sqrt(weights[rows])[:, None]
            if m:
                second = dsyrk(1.0, weighted.T, beta=1.0, c=second, lower=1, overwrite_c=1)
        second = (second + np.tril(second, -1).T) / total  # above the diagonal there is nothing
        mean /= total
        variance = float(weights @ (y - y_mean) ** 2) / total
        slopes = isinstance(self.features, FourierFeatures)
        C = second - np.outer(mean, mean)
        return Moments(total, len(self.Z), mean, y_mean, variance, C, cross / total, slopes)


class PseudoRows(FeatureRows):
    """``Q`` and a row of zeros: what moments are worth, as rows with targets ``y`` (r + 1,).

    ``K`` is diagonal, with ``eigenvalues`` (r + 1,), the last one zero.
    """

    def __init__(self, moments: Moments, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept
        self.y_mean, self.mean = moments.y_mean, moments.mean
        C, c, square = moments.about(centred=fit_intercept)
        Q = _factor(C)
        kept = np.einsum("ij,ij->i", Q, Q)
        explained = (Q @ c) / kept
        rest = max(square - float(explained @ explained), 0.0)
        self.y = np.append(explained, np.sqrt(rest))
        self.eigenvalues = np.append(kept, 0.0)
        super().__init__(None, np.vstack([Q, np.zeros((1, Q.shape[1]))]))

    def ridge_inverse(self, ridge: float) -> Array:
        """``P = (K + ridge)^{-1}``, diagonal."""
        return np.diag(1 / (self.eigenvalues + ridge))

    def intercept(self, w: Array) -> float:
        """The best intercept for ``w``."""
        if not self.fit_intercept:
            return 0.0
        return self.y_mean - float(w @ self.mean)

    def kernel_product(self, u: Array) -> Array:
        """``K u``."""
        return self.eigenvalues * u


class FeatureSpace(Space):
    """(P) in a space of Fourier features, on pseudo-rows or on true ones.

    Of the pseudo-points only the number means something.
    """

    def __init__(self, rows: FeatureRows, slopes: Slopes) -> None:
        self.rows, self.slopes = rows, slopes
        self.points: Array = np.zeros((slopes.n_points, slopes.n_columns))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.rows.n_samples

    @property
    def gram(self) -> Array:
        """``K = Phi Phi'``."""
        return self.rows.gram

    def compressed(self, target: Array, weights: Array, *, fit_intercept: bool) -> FeatureSpace:
        """(P) with the squared loss on these rows, weights adding up to one: its pseudo-rows."""
        moments = self.rows.moments(target, weights)
        return FeatureSpace(PseudoRows(moments, fit_intercept=fit_intercept), self.slopes)

    def coefficients(self, u: Array, v: Array) -> Array:
        """``w`` of the function, shape (m,)."""
        return self.rows.adjoint(u) - self.slopes.adjoint(v)

    def kernel_product(self, u: Array) -> Array:
        """``K u``."""
        return self.rows.kernel_product(u)

    def push(self, v: Array) -> tuple[Array, Array]:
        """``D' v`` at the rows, and what ``v`` contributes to ``w``."""
        w = -self.slopes.adjoint(v)
        return self.rows.at_rows(w), w

    def pull(self, u: Array, v: Array, carry: Array) -> Array:  # noqa: ARG002 carry says it all
        """``D u + L v`` at the pseudo-points, shape (k, d)."""
        return -self.slopes.apply(self.rows.adjoint(u) + carry)

    def products(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Values at the rows and gradients at the pseudo-points."""
        w = self.coefficients(u, v)
        return self.rows.at_rows(w), -self.slopes.apply(w)

    def derivative_diagonal(self) -> Array:
        """Squared norms of the functionals ``f -> g_ia``, shape (k, d)."""
        return self.slopes.diagonal()

    def dense(self) -> tuple[Array, Array]:
        """``D`` (k d x n) and ``L`` (k d x k d), rows ordered as ``v.ravel()``."""
        G = -self.slopes.dense()
        return G @ self.rows.matrix().T, G @ G.T


class Slopes:
    """The map ``w -> (R (omega_a * w))_a`` from (m,) to (k, d), and its adjoint.

    One factor for all variables: dense frequencies.
    """

    def __init__(self, features: FourierFeatures, S: Array) -> None:
        self.R = _factor(S)
        self.omega = np.tile(features.frequencies, (2, 1))  # (m, d)
        self.n_points, self.n_columns = max(len(self.R), 1), features.n_columns
        if not len(self.R):
            self.R = np.zeros((1, len(S)))

    def apply(self, w: Array) -> Array:
        """``R_a (omega_a * w)`` for all variables, shape (k, d)."""
        return np.asarray(self.R @ (self.omega * w[:, None]))

    def adjoint(self, v: Array) -> Array:
        """``sum_a omega_a * (R_a' v_a)``, shape (m,)."""
        return np.asarray(np.einsum("ja,ja->j", self.omega, self.R.T @ v))

    def diagonal(self) -> Array:
        """Squared norms of the rows of the map, shape (k, d)."""
        return np.asarray(self.R**2 @ self.omega**2)

    def dense(self) -> Array:
        """The map as a matrix (k d, m)."""
        G = self.R[:, None, :] * self.omega.T[None, :, :]
        return G.reshape(-1, G.shape[2])


class _BlockSlopes(Slopes):
    """One factor for each variable, of the features touching it: sparse frequencies."""

    def __init__(self, features: FourierFeatures, S: Array) -> None:
        omega = np.tile(features.frequencies, (2, 1))
        self.touching = features.touching
        self.m, self.n_columns = features.n_components, features.n_columns
        self.blocks = [_factor(S[np.ix_(J, J)]) * omega[J, a] for a, J in enumerate(self.touching)]
        self.n_points = max(1, *(len(block) for block in self.blocks))

    def apply(self, w: Array) -> Array:
        out = np.zeros((self.n_points, self.n_columns))
        for a, (J, block) in enumerate(zip(self.touching, self.blocks, strict=True)):
            out[: len(block), a] = block @ w[J]
        return out

    def adjoint(self, v: Array) -> Array:
        w = np.zeros(self.m)
        for a, (J, block) in enumerate(zip(self.touching, self.blocks, strict=True)):
            w[J] += v[: len(block), a] @ block  # no variable touches a feature twice
        return w

    def diagonal(self) -> Array:
        out = np.zeros((self.n_points, self.n_columns))
        for a, block in enumerate(self.blocks):
            out[: len(block), a] = np.einsum("ij,ij->i", block, block)
        return out

    def dense(self) -> Array:
        G = np.zeros((self.n_points, self.n_columns, self.m))
        for a, (J, block) in enumerate(zip(self.touching, self.blocks, strict=True)):
            G[: len(block), a, J] = block
        return G.reshape(-1, self.m)


def slope_map(features: FourierFeatures, S: Array | None) -> Slopes:
    """The cheaper of the two forms, from the moments of slopes at the penalty points."""
    if S is None:
        raise InvalidParameterError(
            "A problem with derivatives needs the moments of slopes, and these moments "
            "have none: make them from Fourier features."
        )
    blocks = sum(len(J) ** 2 for J in features.touching)
    shared = features.n_columns * features.n_components**2
    return (_BlockSlopes if 2 * blocks <= shared else Slopes)(features, S)


def _factor(A: Array) -> Array:
    """``F`` with ``F'F = A``: orthogonal rows, those of size rounding dropped."""
    if not len(A):
        return np.zeros((0, 0))
    values, V = eigh((A + A.T) / 2, driver="evd", overwrite_a=True, check_finite=False)
    rounding = len(A) * np.finfo(float).eps * max(float(values[-1]), 0.0)
    # moments of single precision have larger errors: negative eigenvalues show their size
    kept = values > max(rounding, -2 * float(values[0]), np.finfo(float).tiny)
    return np.asarray(np.sqrt(values[kept])[:, None] * V[:, kept].T)
