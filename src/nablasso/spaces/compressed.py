r"""Feature spaces: (P) on any number of rows is (P) on m pseudo-rows.

For ``f = b + w . phi`` with m Fourier features the rows enter (P) with the squared loss only by
their moments ``C``, ``c``, ``var y`` and ``S`` (:mod:`nablasso.spaces.moments`). Factor

.. math:: C = Q^\top Q, \qquad S = R^\top R, \qquad Q^\top \tilde y = c .

Then, with the best intercept ``b = E y - w . mean``,

.. math::
    \mathrm{E}(y - f)^2 = |\tilde y - Q w|^2 + \big(\mathrm{var}\,y - |\tilde y|^2\big),
    \qquad \|\partial_a f\|_n = |g_a|, \quad g_a = -R\,(\omega_a \circ w) .

So (P) is (P) on r + 1 pseudo-rows of weight one, without intercept: row ``i`` has the target
``ytilde_i`` and the features ``Q_i``; the last has no features and what no function explains for a
target, so that the objective at zero is the variance of ``y``. The gradients ``g_a`` stand for
derivatives at pseudo-points. With coefficients ``u`` of values and ``v`` of gradients

.. math:: w(u, v) = Q^\top u - \sum_a \omega_a \circ (R^\top v_a), \qquad \|f\| = |w| ,

and the space answers what problems ask (:mod:`nablasso.spaces.space`): penalties, solvers,
``alpha_max``, gap and bounds work unchanged. ``Q`` comes from the eigenvectors of ``C``, so that
``K = Q Q'`` is diagonal. Directions of ``C`` and ``S`` whose eigenvalues are rounding are dropped.

Cost: O(m^3) once, O(d m^2) a product whatever n is. Where frequencies are sparse and ``J_a`` are
the features touching ``a``, only ``S[J_a, J_a] = R_a' R_a`` matter: O(sum_a |J_a|^2) a product,
about ``(m order)^2 / d``. Pseudo-points of a variable with a smaller block are zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
from scipy.linalg import eigh

from nablasso.errors import InvalidParameterError
from nablasso.spaces.fourier import FourierFeatures
from nablasso.spaces.moments import Moments
from nablasso.types import Array


class FeatureSpace:
    """(P) in a space of Fourier features, from moments alone.

    Parameters
    ----------
    features : FourierFeatures
    moments : Moments
        Of these features.
    fit_intercept : bool
    S : array, shape (m, m), optional
        Moments of the slopes at the penalty points, where these are not the rows.
    slopes : Slopes, optional
        The map that ``S`` would give, where it is known.

    Attributes
    ----------
    y : array, shape (r + 1,)
        Targets of the pseudo-rows.
    eigenvalues : array, shape (r + 1,)
        Diagonal of ``K``; the last one is zero.
    """

    def __init__(
        self,
        features: FourierFeatures,
        moments: Moments,
        *,
        fit_intercept: bool = True,
        S: Array | None = None,
        slopes: Slopes | None = None,
    ) -> None:
        if slopes is None:
            S = moments.S if S is None else S
            if S is None:
                raise InvalidParameterError(
                    "A problem with derivatives needs the moments of slopes, and these moments "
                    "have none: make them from Fourier features."
                )
            slopes = slope_map(features, S)
        self.features, self.moments, self.fit_intercept = features, moments, fit_intercept
        C, c, square = (
            (moments.C, moments.c, moments.y_variance) if fit_intercept else moments.uncentred()
        )
        self.Q = _factor(C)
        kept = np.einsum("ij,ij->i", self.Q, self.Q)
        explained = (self.Q @ c) / kept
        rest = max(square - float(explained @ explained), 0.0)
        self.y = np.append(explained, np.sqrt(rest))
        self.eigenvalues = np.append(kept, 0.0)
        self.slopes = slopes
        # of the pseudo-points only the number means something
        self.points: Array = np.zeros((self.slopes.n_points, features.n_columns))

    @property
    def n_samples(self) -> int:
        """Number of pseudo-rows."""
        return len(self.y)

    @property
    def n_features(self) -> int:
        """Number of variables."""
        return self.features.n_columns

    @cached_property
    def gram(self) -> Array:
        """``K = Q Q'``, diagonal."""
        return np.diag(self.eigenvalues)

    def ridge_inverse(self, ridge: float) -> Array:
        """``P = (K + ridge)^{-1}``, diagonal."""
        return np.diag(1 / (self.eigenvalues + ridge))

    @property
    def trace(self) -> float:
        """Trace of ``C``: the natural unit of ``ridge``."""
        return float(self.eigenvalues.sum())

    def coefficients(self, u: Array, v: Array) -> Array:
        """``w`` of the function, shape (m,)."""
        return np.asarray(self.Q.T @ u[:-1] - self.slopes.adjoint(v))

    def intercept(self, w: Array) -> float:
        """The best intercept for ``w``."""
        if not self.fit_intercept:
            return 0.0
        return self.moments.y_mean - float(w @ self.moments.mean)

    def push(self, v: Array) -> tuple[Array, Array]:
        """``D' v`` at the pseudo-rows, and what ``v`` contributes to ``w``."""
        w = -self.slopes.adjoint(v)
        return np.append(self.Q @ w, 0.0), w

    def pull(self, u: Array, v: Array, carry: Array) -> Array:  # noqa: ARG002 carry says it all
        """``D u + L v`` at the pseudo-points, shape (k, d)."""
        return -self.slopes.apply(self.Q.T @ u[:-1] + carry)

    def products(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Values at the pseudo-rows and gradients at the pseudo-points."""
        w = self.coefficients(u, v)
        return np.append(self.Q @ w, 0.0), -self.slopes.apply(w)

    def values(self, u: Array, v: Array) -> Array:
        """``K u + D' v``."""
        return self.products(u, v)[0]

    def gradients(self, u: Array, v: Array) -> Array:
        """``D u + L v``."""
        return self.products(u, v)[1]

    def derivative_diagonal(self) -> Array:
        """Squared norms of the functionals ``f -> g_ia``, shape (k, d)."""
        return self.slopes.diagonal()

    def dense(self) -> tuple[Array, Array]:
        """``D`` (k d x n) and ``L`` (k d x k d); rows ordered as ``v.ravel()``."""
        G = -self.slopes.dense()
        D = np.hstack([G @ self.Q.T, np.zeros((len(G), 1))])
        return D, G @ G.T


class Slopes(ABC):
    """The map ``w -> (R (omega_a * w))_a`` from (m,) to (k, d), and its adjoint."""

    n_points: int

    @abstractmethod
    def apply(self, w: Array) -> Array:
        """``R_a (omega_a * w)`` for all variables, shape (k, d)."""

    @abstractmethod
    def adjoint(self, v: Array) -> Array:
        """``sum_a omega_a * (R_a' v_a)``, shape (m,)."""

    @abstractmethod
    def diagonal(self) -> Array:
        """Squared norms of the rows of the map, shape (k, d)."""

    @abstractmethod
    def dense(self) -> Array:
        """The map as a matrix (k d, m)."""


class _SharedSlopes(Slopes):
    """One factor for all variables: dense frequencies."""

    def __init__(self, features: FourierFeatures, S: Array) -> None:
        self.R = _factor(S)
        self.omega = np.tile(features.frequencies, (2, 1))  # (m, d)
        self.n_points = max(len(self.R), 1)
        if not len(self.R):
            self.R = np.zeros((1, len(S)))

    def apply(self, w: Array) -> Array:
        return np.asarray(self.R @ (self.omega * w[:, None]))

    def adjoint(self, v: Array) -> Array:
        return np.asarray(np.einsum("ja,ja->j", self.omega, self.R.T @ v))

    def diagonal(self) -> Array:
        return np.asarray(self.R**2 @ self.omega**2)

    def dense(self) -> Array:
        G = self.R[:, None, :] * self.omega.T[None, :, :]
        return G.reshape(-1, G.shape[2])


class _BlockSlopes(Slopes):
    """One factor for each variable, of the features touching it: sparse frequencies."""

    def __init__(self, features: FourierFeatures, S: Array) -> None:
        omega = np.tile(features.frequencies, (2, 1))
        self.touching = features.touching
        self.m = features.n_components
        self.blocks = [_factor(S[np.ix_(J, J)]) * omega[J, a] for a, J in enumerate(self.touching)]
        self.n_points = max(1, *(len(block) for block in self.blocks))

    def apply(self, w: Array) -> Array:
        out = np.zeros((self.n_points, len(self.blocks)))
        for a, (J, block) in enumerate(zip(self.touching, self.blocks, strict=True)):
            out[: len(block), a] = block @ w[J]
        return out

    def adjoint(self, v: Array) -> Array:
        w = np.zeros(self.m)
        for a, (J, block) in enumerate(zip(self.touching, self.blocks, strict=True)):
            w[J] += v[: len(block), a] @ block  # no variable touches a feature twice
        return w

    def diagonal(self) -> Array:
        out = np.zeros((self.n_points, len(self.blocks)))
        for a, block in enumerate(self.blocks):
            out[: len(block), a] = np.einsum("ij,ij->i", block, block)
        return out

    def dense(self) -> Array:
        G = np.zeros((self.n_points, len(self.blocks), self.m))
        for a, (J, block) in enumerate(zip(self.touching, self.blocks, strict=True)):
            G[: len(block), a, J] = block
        return G.reshape(-1, self.m)


def slope_map(features: FourierFeatures, S: Array) -> Slopes:
    """The cheaper of the two forms."""
    blocks = sum(len(J) ** 2 for J in features.touching)
    shared = features.n_columns * features.n_components**2
    return (_BlockSlopes if 2 * blocks <= shared else _SharedSlopes)(features, S)


def _factor(A: Array) -> Array:
    """``F`` with ``F'F = A``: orthogonal rows, those of size rounding dropped."""
    if not len(A):
        return np.zeros((0, 0))
    values, V = eigh((A + A.T) / 2, driver="evd", overwrite_a=True, check_finite=False)
    rounding = len(A) * np.finfo(float).eps * max(float(values[-1]), 0.0)
    # moments of single precision have larger errors: negative eigenvalues show their size
    kept = values > max(rounding, -2 * float(values[0]), np.finfo(float).tiny)
    return np.asarray(np.sqrt(values[kept])[:, None] * V[:, kept].T)
