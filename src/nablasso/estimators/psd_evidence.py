r"""How fast targets change along each column and its rank: evidence of a Gaussian process.

With ``y ~ N(0, s K(theta) + v Diag(1 / (n p)))`` for centred targets in units of their deviation,
``K`` the Gaussian kernel with a scale ``e^theta_g`` for every group of columns and for the ranks of
each, and weights p that add up to one, the scales minimise

.. math:: \tfrac12 y^\top A^{-1} y + \tfrac12 \log \det A
          + \tfrac{1}{2 \rho^2} \sum_g (\theta_g - \theta^0)^2
          + \tfrac{1}{2 \rho_s^2} \log^2 s

(the first two terms once for each of several targets) from the isotropic start ``theta0``, half the
inverse median distance. The last terms are priors: with few rows most columns should stay where
they were. Nothing is dropped. L-BFGS; an evaluation costs O(n^3 + n^2 g) for at most ``ROWS`` rows,
fewer when there are many groups.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.optimize import OptimizeResult, minimize

from nablasso.kernels import Gaussian, length_scale
from nablasso.types import Array, Index

ROWS = 500
NUMBERS = 2e7  # of squared differences that are held, 160 MB
STEPS = 60
SPREAD, SIGNAL_SPREAD = 2.0, 3.0  # prior deviations of the logs of scales and signal
NOISE = 0.1  # to start from, in variances of the target
BOUNDS = ((-8.0, 5.0), (-6.0, 8.0), (float(np.log(1e-6)), 2.0))  # logs: scales, signal, noise
FAILED = 1e10


def evidence_scales(X: Array, Y: Array, weights: Array, labels: Index) -> Array:
    """Relative scale of every column of ``X``, whose groups are ``labels``; the largest is one.

    The first rows are as good as random: tables are in canonical order.
    """
    labels = np.unique(labels, return_inverse=True)[1].ravel()
    n = min(ROWS, int(np.sqrt(NUMBERS / (labels.max() + 1))))
    X, Y, weights = X[:n], Y[:n], weights[:n]
    varies = np.ptp(Y, axis=0) > 0
    if not varies.any():
        return np.ones(X.shape[1])
    evidence = Evidence(X, Y[:, varies], weights / weights.sum(), labels)
    found: OptimizeResult = minimize(
        evidence,
        evidence.start,
        jac=True,
        method="L-BFGS-B",
        bounds=evidence.bounds,
        options={"maxiter": STEPS},
    )
    return np.asarray(np.exp(found.x[:-2] - found.x[:-2].max())[labels])


class Evidence:
    """The objective and its gradient at logs of scales, signal and noise."""

    def __init__(self, X: Array, Y: Array, weights: Array, labels: Index) -> None:
        centred = Y - weights @ Y
        self.Y = centred / np.sqrt(weights @ centred**2)
        self.noise = 1 / (len(Y) * weights)
        width = length_scale(Gaussian(), X, weights, "median", 2.0)
        groups = int(labels.max()) + 1
        self.start = np.concatenate([np.full(groups, -np.log(width)), [0.0, np.log(NOISE)]])
        self.bounds = [BOUNDS[0]] * groups + list(BOUNDS[1:])
        self.squares = np.zeros((groups, len(Y), len(Y)))
        for column, group in zip(X.T, labels, strict=True):
            self.squares[group] += np.subtract.outer(column, column) ** 2

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Value and gradient."""
        rates, signal, noise = np.exp(2 * x[:-2]), np.exp(x[-2]), np.exp(x[-1])
        K = signal * np.exp(-0.5 * np.tensordot(rates, self.squares, 1))
        A = K.copy()
        A.flat[:: len(A) + 1] += noise * self.noise
        try:
            L = cholesky(A, lower=True, check_finite=False)
        except LinAlgError:
            return FAILED, np.zeros_like(x)
        q = self.Y.shape[1]
        inverse = cho_solve((L, True), np.eye(len(A)), check_finite=False)
        U = inverse @ self.Y
        value = 0.5 * float(np.sum(self.Y * U)) + q * float(np.log(np.diag(L)).sum())
        G = 0.5 * (q * inverse - U @ U.T)
        GK = G * K
        gradient = np.empty_like(x)
        gradient[:-2] = -rates * np.tensordot(self.squares, GK, 2)
        gradient[-2] = GK.sum()
        gradient[-1] = noise * float(np.diag(G) @ self.noise)
        spread = np.array([SPREAD] * (len(x) - 2) + [SIGNAL_SPREAD])
        away = (x - self.start)[:-1] / spread
        gradient[:-1] += away / spread
        return value + 0.5 * float(away @ away), gradient
