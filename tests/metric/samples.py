"""Small samples, and kernel ridge regression by linear systems alone."""

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

from nablasso.metric import Sample
from tests.dense_reference import plain


def draw_sample(n=24, d=4, *, labels=None, kept=(), targets=1, weighted=False, seed=0, noise=0.1):
    """``sin(2 x0) + x0 x1``, a second target ``x1^2``; the other columns do nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1], X[:, 1] ** 2])
    Y = (Y + noise * rng.normal(size=Y.shape))[:, :targets]
    weights = rng.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    return as_sample(X, Y, weights, labels, kept)


def as_sample(X, Y, weights=None, labels=None, kept=()):
    n, d = X.shape
    labels = np.arange(d) if labels is None else np.asarray(labels)
    weights = np.ones(n) if weights is None else weights
    mask = np.zeros(labels.max() + 1, dtype=bool)
    mask[list(kept)] = True
    Y = np.asarray(Y, dtype=float).reshape(n, -1)
    return Sample(X, Y, weights / weights.sum(), labels, mask)


class PlainFit(NamedTuple):
    """``f(z) = b + sum_j u_j k(z s, x_j s)`` with the coefficients of a bordered system."""

    kernel: object
    X: np.ndarray
    scales: np.ndarray
    u: np.ndarray
    intercept: np.ndarray

    def values(self, Z):
        s, r = (Z * self.scales)[:, None], (self.X * self.scales)[None]
        return self.intercept + self.kernel(s, r) @ self.u

    def gradients(self, Z, h=1e-5):
        """Central differences, (rows, targets, columns)."""
        steps = h * np.eye(Z.shape[1])
        return np.stack(
            [(self.values(Z + e) - self.values(Z - e)) / (2 * h) for e in steps], axis=2
        )


def plain_fit(kernel, X, Y, weights, scales, ridge):
    """Minimise ``sum_i p_i |y_i - b - f(x_i)|^2 + ridge |f|^2``, weights as they are."""
    n, k = len(X), plain(kernel)
    K = k((X * scales)[:, None], (X * scales)[None])
    A = np.ones((n + 1, n + 1))
    A[:n, :n] = K + ridge * np.diag(1 / weights)
    A[n, n] = 0.0
    solution = np.linalg.solve(A, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return PlainFit(k, X, scales, solution[:n], solution[n])


def left_out_residuals(kernel, X, Y, weights, scales, ridge):
    """Each row really left out."""
    out = np.empty_like(Y)
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        fit = plain_fit(kernel, X[rest], Y[rest], weights[rest], scales, ridge)
        out[i] = Y[i] - fit.values(X[i : i + 1])[0]
    return out


def natural_width(start, X, weights):
    """Median distance, root mean square length, or 1 for an additive power."""
    name = type(start.kernel).__name__
    if name == "AdditivePower":
        return 1.0
    if name in ("Linear", "Polynomial"):
        return start.multiplier * np.sqrt(np.average(np.sum(X**2, axis=1), weights=weights))
    assert np.ptp(weights) == 0
    return start.multiplier * np.median(pdist(X))
