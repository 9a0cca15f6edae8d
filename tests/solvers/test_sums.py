"""The certificate from sums, against an independent solver on the rows."""

import cvxpy as cp
import numpy as np
import pytest

from nablasso.search.grown import grow
from nablasso.solvers.sums import centred, certify
from nablasso.streaming.sources import Arrays


def sums(n: int = 200):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, 9)) + 0.5 * rng.normal(size=(n, 1))
    y = 1.0 + Z[:, 0] - 0.7 * Z[:, 4] + 0.5 * rng.normal(size=n)
    A = np.column_stack([np.ones(n), Z])
    groups = [np.arange(i, i + 3) for i in (0, 3, 6)]
    return Z, y, centred(A.T @ A, A.T @ y, float(y @ y)), groups


def test_centred_sums_are_those_of_centred_rows():
    Z, y, (C, c, yy), _ = sums()
    Z, y = Z - Z.mean(axis=0), y - y.mean()
    np.testing.assert_allclose(C, Z.T @ Z, atol=1e-8)
    np.testing.assert_allclose(c, Z.T @ y, atol=1e-8)
    assert yy == pytest.approx(y @ y)


def test_the_objective_is_that_of_another_solver():
    Z, y, (C, c, yy), groups = sums()
    found = certify(C, c, yy, groups, [0, 1], 200, 0.25)
    assert found.holds
    assert found.support == (0, 1)
    Z, y = Z - Z.mean(axis=0), y - y.mean()
    white = []
    for g in groups:
        e, Q = np.linalg.eigh(Z[:, g].T @ Z[:, g])
        white.append(Z[:, g] @ Q * np.sqrt(200 / e))
    W = np.column_stack(white)
    ridge = np.linalg.solve(W.T @ W + 0.25 * np.eye(9), W.T @ y)
    w = cp.Variable(9)
    penalty = sum(np.sqrt(3) / np.linalg.norm(ridge[g]) * cp.norm(w[g]) for g in groups)
    value = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(y - W @ w) + found.alpha * penalty)).solve()
    assert found.objective == pytest.approx(value, rel=1e-6)
    assert 0 <= found.gap <= 1e-8 * value


def test_columns_that_are_copies_have_a_certificate():
    """Groups of one function add no curvature: what Newton's steps solve is singular."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        b, other = rng.integers(0, 2, size=(2, 60)).astype(float)
        Z = np.column_stack([b, b, other])
        y = Z @ [1.0, 1.0, 0.5] + 0.5 * rng.normal(size=60)
        Z, y = (Z - Z.mean(axis=0)) / Z.std(axis=0), y - y.mean()
        groups = [np.array([j]) for j in range(3)]
        found = certify(Z.T @ Z, Z.T @ y, float(y @ y), groups, range(3), 60, 0.25)
        assert found.gap <= 1e-6 * found.objective


def test_a_wrong_selection_is_not_certified():
    _, _, (C, c, yy), groups = sums()
    assert not certify(C, c, yy, groups, [0, 2], 200, 0.25).holds
    assert not certify(C, c, yy, groups, [0], 200, 0.25).holds


def test_a_search_is_certified_over_all_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 10))
    y = np.sin(1.5 * X[:, 1]) + X[:, 4] * X[:, 7] + X[:, 4] + 0.4 * rng.normal(size=800)
    found = grow(Arrays(X, y), certificate=True)
    assert found.columns == (1, 4, 7)
    assert found.certificate is not None
    assert found.certificate.holds
    assert grow(Arrays(X, y)).certificate is None
