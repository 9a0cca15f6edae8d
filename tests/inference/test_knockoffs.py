"""Knockoffs: second moments, the best diagonal, and the filter by its definition."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.covariance import ledoit_wolf

from nablasso.inference import (
    gaussian_knockoffs,
    knockoff_threshold,
    maximum_entropy_diagonal,
    shrunk_correlation,
)


def ar_correlation(d, rho):
    return rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))


def standardised(X, weights):
    X = X - weights @ X
    return X / np.sqrt(weights @ X**2)


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_the_diagonal_maximises_the_entropy(rho):
    S = ar_correlation(5, rho)
    s = maximum_entropy_diagonal(S)

    def loss(log_s):
        sign, value = np.linalg.slogdet(2 * S - np.diag(np.exp(log_s)))
        return np.inf if sign <= 0 else -value - log_s.sum()

    start = np.log(np.full(5, np.linalg.eigvalsh(S)[0]))
    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 20_000}
    best = minimize(loss, start, method="Nelder-Mead", options=options)
    assert loss(np.log(s)) <= best.fun + 1e-8
    np.testing.assert_allclose(np.linalg.inv(2 * S - np.diag(s)).diagonal(), 1 / s, rtol=1e-6)


def test_independent_columns_get_independent_knockoffs():
    np.testing.assert_allclose(maximum_entropy_diagonal(np.eye(3)), 1.0)


def test_second_moments_are_those_of_the_theory():
    d, n = 4, 40_000
    S = ar_correlation(d, 0.6)
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, d)) @ np.linalg.cholesky(S).T
    joint = np.hstack([Z, gaussian_knockoffs(Z, S, rng, np.arange(Z.shape[1]))])
    off = S - np.diag(maximum_entropy_diagonal(S))
    expected = np.block([[S, off], [off, S]])
    np.testing.assert_allclose(joint.T @ joint / n, expected, atol=0.03)


def test_permuting_columns_permutes_the_knockoffs():
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(30, 5))
    Z = standardised(Z, np.full(30, 1 / 30))
    S = shrunk_correlation(Z, np.full(30, 1 / 30))
    order = np.array([3, 0, 4, 1, 2])
    plain = gaussian_knockoffs(Z, S, np.random.default_rng(5), np.arange(5))
    permuted = gaussian_knockoffs(
        Z[:, order], S[np.ix_(order, order)], np.random.default_rng(5), np.argsort(order)
    )
    np.testing.assert_allclose(permuted, plain[:, order], atol=1e-7)


@pytest.mark.parametrize(("n", "d"), [(200, 5), (40, 10), (12, 30)])
def test_shrinkage_is_ledoit_and_wolfs(n, d):
    rng = np.random.default_rng(2)
    weights = np.full(n, 1 / n)
    Z = standardised(rng.normal(size=(n, d)) @ ar_correlation(d, 0.7), weights)
    expected = ledoit_wolf(Z, assume_centered=True)[0]
    np.testing.assert_allclose(shrunk_correlation(Z, weights), expected, atol=1e-12)


def test_weights_are_copies_in_the_correlation_before_shrinkage():
    rng = np.random.default_rng(3)
    X, counts = rng.normal(size=(50, 3)) @ ar_correlation(3, 0.6), rng.integers(1, 4, size=50)
    weights = counts / counts.sum()
    S = shrunk_correlation(standardised(X, weights), weights)
    copies = np.corrcoef(np.repeat(X, counts, axis=0).T)
    ratio = (S / copies)[np.triu_indices(3, 1)]
    np.testing.assert_allclose(ratio, ratio[0])  # one factor for all
    assert 0 < ratio[0] < 1


def test_copied_columns_leave_a_usable_correlation():
    x = np.random.default_rng(4).normal(size=(500, 1))
    Z = standardised(np.hstack([x, x, x]), np.full(500, 1 / 500))
    S = shrunk_correlation(Z, np.full(500, 1 / 500))
    assert np.linalg.eigvalsh(S)[0] >= 9e-7
    assert np.isfinite(
        gaussian_knockoffs(Z, S, np.random.default_rng(0), np.arange(Z.shape[1]))
    ).all()


def threshold_by_definition(W, fdr):
    candidates = sorted({abs(w) for w in W if w != 0})
    for t in candidates:
        false, found = sum(w <= -t for w in W), sum(w >= t for w in W)
        if (1 + false) / max(1, found) <= fdr + 1e-12:
            return t
    return np.inf


def test_the_threshold_follows_its_definition():
    rng = np.random.default_rng(5)
    for _ in range(50):
        W = np.round(rng.normal(size=20) + rng.integers(0, 3), 1)
        assert knockoff_threshold(W, 0.2) == threshold_by_definition(W, 0.2)


def test_fewer_than_one_over_q_selections_are_impossible():
    assert knockoff_threshold(np.ones(9), 0.1) == np.inf
    assert knockoff_threshold(np.ones(10), 0.1) == 1.0
