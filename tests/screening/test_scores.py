"""Held-out scores against refits without each row."""

import numpy as np
import pytest

from nablasso import screening
from nablasso.screening import (
    DEGREE,
    REACH,
    RIDGES,
    clipped,
    column_scores,
    curves,
    product_scores,
)


def ridge_without_row(A, Y, weights, i, penalty):
    """Weighted ridge regression without row ``i``, predicting it; features centred by all rows."""
    rest = np.arange(len(A)) != i
    p = weights[rest]
    B = np.column_stack([np.ones(rest.sum()), A[rest]])
    P = np.diag([0.0, *np.full(A.shape[1], penalty)])
    coef = np.linalg.solve(B.T @ (p[:, None] * B) + P, B.T @ (p[:, None] * Y[rest]))
    return np.concatenate([[1.0], A[i]]) @ coef


def brute_score(A, Y, weights):
    A = A - weights @ A
    trace = float(np.trace(A.T @ (weights[:, None] * A)))
    errors = []
    for ridge in RIDGES:
        left_out = np.array(
            [ridge_without_row(A, Y, weights, i, ridge * trace) for i in range(len(A))]
        )
        errors.append(np.sum(weights @ (Y - left_out) ** 2))
    mean = np.array(
        [
            np.average(np.delete(Y, i, 0), axis=0, weights=np.delete(weights, i))
            for i in range(len(Y))
        ]
    )
    return 1 - min(errors) / np.sum(weights @ (Y - mean) ** 2)


@pytest.mark.parametrize("targets", [1, 2])
def test_scores_are_those_of_refits_without_each_row(targets, monkeypatch):
    monkeypatch.setattr(screening, "SCORED_AT_ONCE", 40)  # a column at a time
    rng = np.random.default_rng(3)
    X, weights = rng.normal(size=(15, 4)), rng.uniform(0.5, 2, size=15)
    weights /= weights.sum()
    Y = np.column_stack([X[:, 0] ** 2, X[:, 1]])[:, :targets] + 0.3 * rng.normal(size=(15, targets))
    scores = column_scores(X, Y, weights, np.array([2, 0]))
    expected = [brute_score(curves(X[:, [a]], weights)[0], Y, weights) for a in (2, 0)]
    np.testing.assert_allclose(scores, expected, rtol=1e-8)
    pairs = np.array([[0, 1], [2, 3]])
    Z = clipped(X, weights)
    expected = [brute_score(Z[:, [a]] * Z[:, [b]], Y, weights) for a, b in pairs]
    np.testing.assert_allclose(product_scores(X, Y, weights, pairs), expected, rtol=1e-8)


def test_curves_are_polynomials_of_the_clipped_column():
    x = np.linspace(-1, 1, 9)
    X = np.append(x, 100.0)[:, None]
    weights = np.full(10, 0.1)
    z = clipped(X, weights)[:, 0] / REACH
    assert z.max() <= 1
    T = np.polynomial.chebyshev.chebvander(z, DEGREE)[:, 1:]
    np.testing.assert_allclose(curves(X, weights)[0], T / np.arange(1, DEGREE + 1))


def test_a_constant_column_or_target_tells_nothing():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(12), rng.normal(size=12)])
    weights = np.full(12, 1 / 12)
    columns = np.arange(2)
    assert column_scores(X, X[:, 1:], weights, columns)[0] == 0
    np.testing.assert_array_equal(column_scores(X, np.ones((12, 1)), weights, columns), 0)
    assert len(column_scores(X, X[:, 1:], weights, columns[:0])) == 0
