"""Leave-one-out predictions against refits without the row and the columns."""

import numpy as np
import pytest

from nablasso.inference import leave_out_ridge
from nablasso.inference.leave_out_ridge import LeaveOutRidge


def refit_without(Z, T, weights, row, columns, ridge):
    """Predict row ``row`` by weighted ridge regression on the other rows and columns.

    Around the means of all rows.
    """
    keep = np.arange(len(Z)) != row
    others = np.setdiff1d(np.arange(Z.shape[1]), columns)
    A, p = Z[keep][:, others], weights[keep]
    centre, mean = p @ A / p.sum(), p @ T[keep] / p.sum()
    A = A - centre
    gram = (A * p[:, None]).T @ A + ridge * np.eye(len(others))
    coef = np.linalg.solve(gram, (A * p[:, None]).T @ (T[keep] - mean))
    return weights @ T + (Z[row, others] - weights @ Z[:, others]) @ coef


@pytest.mark.parametrize(("n", "d"), [(15, 4), (9, 20)])
@pytest.mark.parametrize("columns", [[1], [0, 2]])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_those_of_refits(monkeypatch, n, d, columns, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3
    T = rng.normal(size=(n, 2)) + X[:, [1, 2]]
    weights = rng.uniform(0.5, 2, size=n) if weighted else np.ones(n)
    ridge = 0.3
    monkeypatch.setattr(leave_out_ridge, "RIDGES", np.array([ridge]))
    found = LeaveOutRidge(X, weights).predict(np.array(columns), T)
    p = weights / weights.sum()
    Z = X - p @ X
    Z /= np.sqrt(p @ Z**2)
    expected = [refit_without(Z, T, p, row, columns, ridge) for row in range(n)]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_the_ridge_of_smallest_error_is_taken(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 12))
    target = X[:, :1] + X[:, 1:2]
    errors = []
    grid = leave_out_ridge.RIDGES
    for ridge in grid:
        monkeypatch.setattr(leave_out_ridge, "RIDGES", np.array([ridge]))
        found = LeaveOutRidge(X, np.ones(30)).predict(np.array([0]), target)
        errors.append(np.mean((found - target) ** 2))
        assert errors[-1] < 1.2 * target.var()
    monkeypatch.setattr(leave_out_ridge, "RIDGES", grid)
    best = LeaveOutRidge(X, np.ones(30)).predict(np.array([0]), target)
    assert np.mean((best - target) ** 2) == pytest.approx(min(errors), rel=0.01)


def test_predictions_know_nothing_of_their_own_target():
    """Unlike plain leave-one-out, in which the mean of the others gives the row away."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    X[:, 0] = rng.random(60) < 0.3
    found = LeaveOutRidge(X, np.ones(60)).predict(np.array([0]), X[:, :1])
    assert abs(np.corrcoef(found[:, 0], X[:, 0])[0, 1]) < 0.35


def test_constant_and_copied_columns_do_no_harm():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 3))
    X = np.column_stack([X, X[:, 0], np.full(20, 1e6)])
    found = LeaveOutRidge(X, np.ones(20)).predict(np.array([0]), X[:, :1])
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, X[:, :1], atol=0.01)  # its copy tells it
