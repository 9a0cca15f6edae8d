r"""The metric of largest evidence: every column and its rank, each in the scale that it deserves.

**Ranks.** A skewed column is uneven ground for one length scale. Its rank, the share of the rows
below a value, is even, and a kernel that sees both follows whichever the target does.

**Evidence.** With ``y ~ N(0, s K(theta) + v Diag(1 / (n p)))`` for centred targets in units of
their deviation, ``K`` the Gaussian kernel with a scale ``e^theta_g`` for every group of columns and
for the ranks of each, and weights p that add up to one, the scales minimise

.. math:: \tfrac12 y^\top A^{-1} y + \tfrac12 \log \det A
          + \tfrac{1}{2 \rho^2} \sum_g (\theta_g - \theta^0)^2
          + \tfrac{1}{2 \rho_s^2} \log^2 s

from the isotropic start ``theta0``, half the inverse median distance. The last terms are priors:
with few rows most columns should stay where they were, and nothing is dropped. Kernel and
derivatives are those of :class:`~nablasso.regression.evidence.Covariance`; its evidence, which
selects, has no prior and a signal at its best value. L-BFGS; an evaluation costs O(n^3 + n^2 m) for
m columns and at most ``EVIDENCE_ROWS`` rows, fewer when there are many groups.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.optimize import OptimizeResult, minimize

from nablasso.kernels import Gaussian
from nablasso.kernels.base import width_by_rule
from nablasso.regression.evidence import FAILED, Covariance
from nablasso.types import Array, Index

EVIDENCE_ROWS = 500
WORK = 2e7  # squared rows times groups, at most
STEPS = 60
SPREAD, SIGNAL_SPREAD = 2.0, 3.0  # prior deviations of the logs of scales and signal
NOISE = 0.1  # to start from, in variances of the target
BOUNDS = ((-8.0, 5.0), (-6.0, 8.0), (float(np.log(1e-6)), 2.0))  # logs: scales, signal, noise


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
    found: OptimizeResult = minimize(
        evidence,
        evidence.start,
        jac=True,
        method="L-BFGS-B",
        bounds=evidence.bounds,
        options={"maxiter": STEPS},
    )
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
