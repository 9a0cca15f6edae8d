r"""A task: what is to be fitted, before any model of a non-negative function is chosen.

Outputs ``Z = offset + F M'`` of each row are mixtures of ``m`` block functions ``F``, free or not
negative. The objective is

.. math:: \sum_i p_i\, l_i(z_i) + \sum_b \Omega_b(f_b)

with :math:`\Omega = l_1 \mathrm{Tr} A + \frac{l_2}{2} \|A\|_F^2` for a PSD model and
:math:`\frac{l_2}{2} \|w\|^2` for a linear one. A density has one block, with integral one.

**Cones.** Every polyhedral cone ``C' y >= 0`` is ``{G g + N u : g >= 0, u free}``: ``N`` spans
``{C' y = 0}``, the columns of ``G`` are extreme rays. Where the columns of ``C`` are independent,
``G = C (C'C)^{-1}``: the operators of Theorem 13 of Marteau-Ferey, Bach and Rudi; otherwise the
rays are enumerated, and the functions are a subset of Theorem 13's.

**Scales by evidence.** A kernel that sees a column and its rank, the share of the rows below a
value, follows whichever the target does. With ``y ~ N(0, s K(theta) + v Diag(1 / (n p)))`` for
centred targets in units of their deviation, ``K`` the Gaussian kernel with a scale ``e^theta_g``
for every group of columns and for the ranks of each, the scales minimise

.. math:: \tfrac12 y^\top A^{-1} y + \tfrac12 \log \det A
          + \tfrac{1}{2 \rho^2} \sum_g (\theta_g - \theta^0)^2
          + \tfrac{1}{2 \rho_s^2} \log^2 s

from the isotropic start ``theta0``, half the inverse median distance; the last terms are priors.
L-BFGS; an evaluation costs O(n^3 + n^2 m) for m columns and at most ``EVIDENCE_ROWS`` rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, null_space
from scipy.optimize import OptimizeResult, minimize

from nablasso.errors import InvalidParameterError
from nablasso.kernels import Gaussian
from nablasso.kernels.base import width_by_rule
from nablasso.nonnegative.losses import RowLoss
from nablasso.nonnegative.model import Bumps, pair_integrals
from nablasso.regression.evidence import FAILED, Covariance
from nablasso.types import Array, Index

CONES = ("nonnegative", "monotone", "convex")
MAX_SUBSETS = 20_000  # of faces that are looked at for a ray
ROUNDING = 1e-9
EVIDENCE_ROWS = 500
WORK = 2e7  # squared rows times groups, at most
STEPS = 60
SPREAD, SIGNAL_SPREAD = 2.0, 3.0  # prior deviations of the logs of scales and signal
NOISE = 0.1  # to start from, in variances of the target
BOUNDS = ((-8.0, 5.0), (-6.0, 8.0), (float(np.log(1e-6)), 2.0))  # logs: scales, signal, noise


class Base(NamedTuple):
    """A Gaussian base measure with independent coordinates, in the units of the task."""

    mean: Array
    variance: Array


@dataclass(frozen=True)
class Task:
    """Rows, loss and how outputs are made of functions; see the module.

    ``X`` (n, d); ``weights`` (n,) add up to one; ``mixing`` (p, m); ``offset`` (p,);
    ``nonnegative``, ``l1``, ``l2`` have one entry per block. The kernel of all of them is
    ``height^2 (exp(-|z - x|^2 / 2) + constant)``, of ``X * scales`` (d,).
    ``null`` (p,) are constant outputs to start from. ``normalise`` asks for integral one with
    respect to ``base`` (None: Lebesgue measure) in the units of ``X * scales``. The target was
    ``centre + unit * output``.
    """

    X: Array
    weights: Array
    loss: RowLoss
    mixing: Array
    offset: Array
    nonnegative: tuple[bool, ...]
    l1: Array
    l2: Array
    scales: Array
    null: Array
    centre: float = 0.0
    unit: float = 1.0
    constant: float = 0.0
    height: float = 1.0
    normalise: bool = False
    base: Base | None = None
    rank: int | None = 200
    random_state: int = 0

    def integral_matrix(self, bumps: Bumps) -> Array:
        """Integrals of products of bumps (units of ``X``) with respect to the base measure.

        Lebesgue measure is that of ``X * scales``.
        """
        if self.base is None:
            return pair_integrals(bumps) * float(np.prod(self.scales))
        product, heights = bumps.times_root(self.base.mean, self.base.variance)
        return np.asarray(heights[:, None] * pair_integrals(product) * heights)


def natural_height(X: Array, scales: Array, base: Base | None) -> float:
    """Kernel height at which the integral of ``k(., x)^2`` is one, on average over the rows.

    Weights of a density's penalties then have no units.
    """
    if base is None:
        return float(np.pi ** (-X.shape[1] / 4))
    precision = 2 * scales**2 + 1 / base.variance  # of k^2 times the base density
    factor = 2 * scales**2 / base.variance / precision
    logs = -0.5 * (X - base.mean) ** 2 @ factor
    logs -= 0.5 * float(np.sum(np.log(base.variance * precision)))
    return float(1 / np.sqrt(np.mean(np.exp(logs))))


def cone_matrix(cone: Any, n_outputs: int) -> Array:
    """``C`` (p, h) of a cone given by name or as a matrix."""
    if isinstance(cone, str):
        if cone not in CONES:
            raise InvalidParameterError(
                f"cone must be a matrix or one of {', '.join(CONES)}; got {cone!r}."
            )
        order = CONES.index(cone)
        if n_outputs <= order:
            raise InvalidParameterError(
                f"The {cone} cone needs at least {order + 1} outputs; got {n_outputs}."
            )
        return np.asarray(np.diff(np.eye(n_outputs), n=order, axis=0).T)
    C = np.asarray(cone, dtype=float)
    if C.ndim != 2 or len(C) != n_outputs or not C.size or not np.isfinite(C).all():
        raise InvalidParameterError(
            f"A cone is a matrix C with one row per output, {n_outputs} here: outputs y have "
            f"C' y >= 0. Got shape {C.shape}."
        )
    if not np.any(C, axis=0).all():
        raise InvalidParameterError("Every column of a cone's matrix needs an entry that is not 0.")
    return C


def decompose(C: Array) -> tuple[Array, Array]:
    """Extreme rays ``G`` (p, g) and a basis ``N`` (p, k) of the lineality space."""
    N = null_space(C.T)
    if np.linalg.matrix_rank(C) == C.shape[1]:
        return np.asarray(np.linalg.pinv(C).T, dtype=float), N
    G = _extreme_rays(C, N)
    if not G.shape[1]:
        raise InvalidParameterError(
            "The cone holds no direction but those of both signs; use a linear model instead."
        )
    return G, N


def _extreme_rays(C: Array, N: Array) -> Array:
    """Unit vectors orthogonal to ``N``, inside the cone, on as many faces as determine them."""
    p, h = C.shape
    size = p - N.shape[1] - 1
    if comb(h, size) > MAX_SUBSETS:
        raise InvalidParameterError(
            f"The cone's {h} inequalities in {p} dimensions have too many extreme rays to list. "
            "Drop inequalities that others imply."
        )
    rays: list[Array] = []
    for faces in combinations(range(h), size):
        line = null_space(np.column_stack([C[:, faces], N]).T, rcond=ROUNDING)
        if line.shape[1] != 1:
            continue
        for ray in (line[:, 0], -line[:, 0]):
            known = any(np.allclose(ray, other, atol=ROUNDING) for other in rays)
            if (C.T @ ray >= -ROUNDING).all() and not known:
                rays.append(ray)
    return np.array(rays).T if rays else np.empty((p, 0))


class Ranks:
    """Ranks in units of their deviation, linear between the values of training rows."""

    def __init__(self, X: Array, weights: Array) -> None:
        self._knots = [_knots(column, weights) for column in X.T]

    def __call__(self, X: Array) -> Array:
        """Ranks of the rows of ``X``, shape (k, d); those of the ends outside the range."""
        columns = zip(X.T, self._knots, strict=True)
        return np.column_stack([np.interp(x, *knots) for x, knots in columns])


def _knots(column: Array, weights: Array) -> tuple[Array, Array]:
    """Distinct values and their ranks, ties in the middle."""
    values, inverse = np.unique(column, return_inverse=True)
    mass = np.bincount(inverse.ravel(), weights=weights)
    ranks = np.cumsum(mass) - 0.5 * mass
    centred = ranks - mass @ ranks
    return values, centred / (float(np.sqrt(mass @ centred**2)) or 1.0)


def evidence_scales(X: Array, y: Array, weights: Array, labels: Index) -> Array:
    """Relative scale of every column of ``X``, whose groups are ``labels``; the largest is one.

    The first rows are as good as random: tables are in canonical order.
    """
    labels = np.unique(labels, return_inverse=True)[1].ravel()
    n = min(EVIDENCE_ROWS, int(np.sqrt(WORK / (labels.max() + 1))))
    X, y, weights = X[:n], y[:n], weights[:n]
    if not np.ptp(y) > 0:
        return np.ones(X.shape[1])
    evidence = ScaleEvidence(X, y, weights / weights.sum(), labels)
    how: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "options": {"maxiter": STEPS}}
    found: OptimizeResult = minimize(evidence, evidence.start, bounds=evidence.bounds, **how)
    return np.asarray(np.exp(found.x[:-2] - found.x[:-2].max())[labels])


class ScaleEvidence:
    """The objective and its gradient at logs of scales, signal and noise."""

    def __init__(self, X: Array, y: Array, weights: Array, labels: Index) -> None:
        centred = y - weights @ y
        self.y = centred / np.sqrt(weights @ centred**2)
        self.noise = 1 / (len(y) * weights)
        groups = int(labels.max()) + 1
        self.covariance = Covariance(Gaussian(), X, labels, groups)
        theta = -np.log(2 * width_by_rule(X, weights, "median"))
        self.start = np.append(np.full(groups, theta), [0.0, np.log(NOISE)])
        self.bounds = [BOUNDS[0]] * groups + list(BOUNDS[1:])
        self.spread = np.append(np.full(groups, SPREAD), SIGNAL_SPREAD)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Value and gradient."""
        v, signal, noise = np.exp(2 * x[:-2]), float(np.exp(x[-2])), float(np.exp(x[-1]))
        K, carry = self.covariance.gram(v)
        A = signal * K
        A.flat[:: len(A) + 1] += noise * self.noise
        try:
            L = cholesky(A, lower=True, check_finite=False)
        except LinAlgError:
            return FAILED, np.zeros_like(x)
        inverse = cho_solve((L, True), np.eye(len(A)), check_finite=False)
        u = inverse @ self.y
        value = 0.5 * float(self.y @ u) + float(np.log(np.diag(L)).sum())
        G = 0.5 * (inverse - np.outer(u, u))
        gradient = np.empty_like(x)
        gradient[:-2] = 2 * v * signal * self.covariance.pull(G, v, carry)
        gradient[-2] = signal * float(np.sum(G * K))
        gradient[-1] = noise * float(np.diag(G) @ self.noise)
        away = (x - self.start)[:-1] / self.spread
        gradient[:-1] += away / self.spread
        return value + 0.5 * float(away @ away), gradient
