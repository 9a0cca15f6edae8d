"""A Gaussian process written down naively: dense covariances, contrasts, rows really left out."""

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from tests.dense_reference import plain


def gram(kernel, Z, X):
    """``k(z, x)`` for all pairs; a kernel of the library by name, or a plain function."""
    k = kernel if not hasattr(kernel, "get_params") else plain(kernel)
    return np.asarray(k(Z[:, None], X[None]))


def noise_matrix(noise, n):
    return np.diag(noise) if noise.ndim == 1 else noise


def log_evidence(A, y, c):
    """Log density of the contrasts of ``y``, that is of what the mean does not move."""
    H = null_space(np.ones((1, len(y))))
    return float(multivariate_normal(np.zeros(len(y) - 1), c * H.T @ A @ H).logpdf(H.T @ y))


def best_log_evidence(A, y):
    """At the unit ``c`` of largest density, found by a search over it."""
    found = minimize_scalar(
        lambda log_c: -log_evidence(A, y, np.exp(log_c)), bracket=(-3.0, 3.0), tol=1e-10
    )
    return -float(found.fun)


def left_out(A, K, y, c, rows):
    """Prediction errors at ``rows`` of a fit to the others, and their covariance.

    ``A`` is the covariance of targets and ``K`` that of the function, over ``c``; the mean is
    estimated from the other rows by generalised least squares.
    """
    rest = np.setdiff1d(np.arange(len(y)), rows)
    inverse = np.linalg.inv(A[np.ix_(rest, rest)])
    ones = np.ones(len(rest))
    s = ones @ inverse @ ones
    mean = ones @ inverse @ y[rest] / s
    # serial noise is shared between rows, so what is predicted is the target, noise included
    across = A[np.ix_(rows, rest)]
    prediction = mean + across @ inverse @ (y[rest] - mean)
    uncertain = 1 - across @ inverse @ ones
    covariance = A[np.ix_(rows, rows)] - across @ inverse @ across.T
    covariance = covariance + np.outer(uncertain, uncertain) / s
    return y[rows] - prediction, c * covariance
