r"""Gaussian knockoffs of second order and their filter (Candes et al. 2018; Barber, Candes 2015).

Knockoffs ``X~`` of standardised columns with correlation Sigma have, for a diagonal S,

.. math:: \mathrm{Cov}(X, \tilde X) =
    \begin{pmatrix} \Sigma & \Sigma - S \\ \Sigma - S & \Sigma \end{pmatrix},

so that swapping a column with its knockoff changes no first or second moment. They are drawn as

.. math:: \tilde X = X (I - \Sigma^{-1} S) + U (2 S - S \Sigma^{-1} S)^{1/2}, \quad U \sim N(0, I),

with the symmetric root, so that the order of the columns does not matter.

**S of maximum entropy**: maximise :math:`\log\det(2 \Sigma - S) + \sum_j \log s_j`, concave, so
that columns and knockoffs are as unlike as the joint covariance allows. With the other entries
fixed, :math:`s_j = 1 / (2 a_j)`, where a_j is entry (j, j) of the inverse of
:math:`2 \Sigma - S + s_j e_j e_j^\top`: coordinate ascent by updates of rank one, O(d^3) per sweep.

**Sigma** is the sample correlation shrunk towards the identity by Ledoit and Wolf's rule, with
weights p_i adding up to one: positive definite for d >= n too.

**Filter**: with W_j = importance of column j minus that of its knockoff, select W_j >= t at

.. math:: t = \min\{t > 0 : (c + \#\{W_j \le -t\}) / \#\{W_j \ge t\} \le q\}.

With c = 1 the false discovery rate is at most q; fewer than 1/q selections are then impossible.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, inv

from nablasso.types import Array, Index

MIN_EIGENVALUE = 1e-6  # of the shrunk correlation
MAX_SWEEPS = 100
SWEEP_TOL = 1e-10


def shrunk_correlation(Z: Array, weights: Array) -> Array:
    """Correlation of standardised columns, shrunk towards the identity (Ledoit and Wolf 2004).

    ``weights`` add up to one. The squared errors of the products ``z_i z_i'`` over the squared
    distance of their mean from the identity is how far it is shrunk. Constant columns, all zero in
    ``Z``, come out uncorrelated with variance one.
    """
    d = Z.shape[1]
    S = (Z * weights[:, None]).T @ Z
    S[np.diag_indices(d)] = 1.0
    distance = float(np.sum((S - np.eye(d)) ** 2))
    norms = np.einsum("ij,ij->i", Z, Z)
    cross = np.einsum("ij,ij->i", Z @ S, Z)
    error = float(weights**2 @ (norms**2 - 2 * cross + np.sum(S**2)))
    shrinkage = min(1.0, error / distance) if distance > 0 else 1.0
    least = float(eigh(S, eigvals_only=True, subset_by_index=[0, 0])[0])
    if (1 - shrinkage) * least + shrinkage < MIN_EIGENVALUE:
        shrinkage = (MIN_EIGENVALUE - least) / (1 - least)
    return np.asarray((1 - shrinkage) * S + shrinkage * np.eye(d))


def maximum_entropy_diagonal(correlation: Array) -> Array:
    """Diagonal of S."""
    d = len(correlation)
    least = float(eigh(correlation, eigvals_only=True, subset_by_index=[0, 0])[0])
    s = np.full(d, min(1.0, least))
    for _ in range(MAX_SWEEPS):
        inverse = inv(2 * correlation - np.diag(s), check_finite=False)  # afresh: no drift
        before = s.copy()
        for j in range(d):
            b = inverse[j, j]
            new = (1 + s[j] * b) / (2 * b)
            change = s[j] - new  # D grows by this at (j, j)
            column = inverse[:, j].copy()
            inverse -= np.outer(column, column) * (change / (1 + change * b))
            s[j] = new
        if np.max(np.abs(s - before)) <= SWEEP_TOL:
            break
    return s


def gaussian_knockoffs(
    Z: Array, correlation: Array, rng: np.random.Generator, column_order: Index | None = None
) -> Array:
    """Knockoffs of standardised columns.

    ``column_order`` lists the columns in the order in which their random numbers are drawn; one
    that does not depend on the order of the columns makes the result independent of it.
    """
    n, d = Z.shape
    s = maximum_entropy_diagonal(correlation)
    inverse_s = inv(correlation, check_finite=False) * s  # Sigma^{-1} S
    values, vectors = eigh(2 * np.diag(s) - s[:, None] * inverse_s)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    U = np.empty((n, d))
    U[:, np.arange(d) if column_order is None else column_order] = rng.normal(size=(n, d))
    return np.asarray(Z - Z @ inverse_s + U @ root)


def knockoff_threshold(statistics: Array, fdr: float, offset: int = 1) -> float:
    """Smallest t whose estimated false discovery proportion is at most ``fdr``, or infinity."""
    for t in np.unique(np.abs(statistics[statistics != 0])):
        false = offset + int(np.sum(statistics <= -t))
        if false <= fdr * max(1, int(np.sum(statistics >= t))) * (1 + 1e-12):
            return float(t)
    return np.inf
