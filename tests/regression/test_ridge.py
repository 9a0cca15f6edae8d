"""Ridge regression against linear systems and n refits; paired comparison against copies."""

from itertools import product

import numpy as np
import pytest

from nablasso.kernels import Anova, Gaussian, Linear, Polynomial
from nablasso.regression import ridge
from nablasso.regression.ridge import (
    Difference,
    LeaveOutRidge,
    Ridge,
    WeightedRidge,
    paired,
    saving,
)

N = 11
KERNELS = (Gaussian(1.2), Linear(), Polynomial(2, 0.0), Polynomial(2), Anova(1), Anova(2))
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)
each_intercept = pytest.mark.parametrize("fit_intercept", [True, False])
each_weighting = pytest.mark.parametrize("weighted", [True, False])


def data(weighted):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, 3))
    y = 2 + np.sin(X[:, 0]) + 0.3 * rng.normal(size=N)
    weights = rng.uniform(0.2, 3.0, size=N) if weighted else np.ones(N)
    weights = weights / weights.sum()
    for array in (X, y, weights):
        array.setflags(write=False)
    return X, y, weights


def solve(K, y, weights, penalty, fit_intercept):
    """``(K + penalty diag(1/p)) u + b = y`` and ``1'u = 0``, as one bordered system."""
    n = len(y)
    H = K + penalty * np.diag(1 / weights)
    if not fit_intercept:
        return np.linalg.solve(H, y), 0.0
    A = np.block([[H, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(A, np.append(y, 0.0))
    return solution[:n], solution[n]


def minimise(K, y, weights, penalty, fit_intercept):
    """Least squares in the values ``B c`` with ``B B' = K``: another algorithm."""
    eigenvalues, V = np.linalg.eigh(K)
    B = V * np.sqrt(np.maximum(eigenvalues, 0))
    columns = np.column_stack([B, np.ones(len(y))]) if fit_intercept else B
    root = np.sqrt(weights)[:, None]
    ridge_rows = np.sqrt(penalty) * np.eye(B.shape[1], columns.shape[1])
    A = np.vstack([columns * root, ridge_rows])
    target = np.concatenate([y * root[:, 0], np.zeros(B.shape[1])])
    return columns @ np.linalg.lstsq(A, target, rcond=None)[0]


@each_kernel
@each_intercept
@each_weighting
@pytest.mark.parametrize("penalty", [1e-4, 0.03, 10.0])
def test_the_matrix_solves_the_bordered_system(kernel, fit_intercept, weighted, penalty):
    X, y, weights = data(weighted)
    K = kernel(X, X)
    P = Ridge(K, weights, fit_intercept=fit_intercept).matrix(penalty)
    u, b = solve(K, y, weights, penalty, fit_intercept)
    np.testing.assert_allclose(P @ y, u, rtol=0, atol=1e-9 * np.abs(u).max())
    np.testing.assert_allclose(P, P.T, rtol=0, atol=1e-10 * np.abs(P).max())
    values = K @ (P @ y) + b
    np.testing.assert_allclose(values, minimise(K, y, weights, penalty, fit_intercept), atol=1e-6)


@each_kernel
@each_weighting
def test_coefficients_add_up_to_zero_with_an_intercept(kernel, weighted):
    X, y, weights = data(weighted)
    P = Ridge(kernel(X, X), weights).matrix(1e-6)
    scale = np.abs(P).max()
    np.testing.assert_allclose(P.sum(axis=0), 0, atol=1e-10 * scale)
    np.testing.assert_allclose(P @ (y + 1000.0), P @ y, atol=1e-8 * np.abs(P @ y).max())


@pytest.mark.parametrize("factor", [1e-14, 1e-8, 1e8, 1e14])
@each_intercept
def test_the_unit_of_the_kernel_does_not_matter(factor, fit_intercept):
    X, _, weights = data(weighted=True)
    K = Gaussian()(X, X)
    expected = Ridge(K, weights, fit_intercept=fit_intercept)
    scaled = Ridge(factor * K, weights, fit_intercept=fit_intercept)
    assert scaled.trace == pytest.approx(factor * expected.trace, rel=1e-9)
    np.testing.assert_allclose(
        factor * scaled.matrix(0.01 * factor), expected.matrix(0.01), rtol=1e-6, atol=1e-6
    )


@each_kernel
@each_intercept
@each_weighting
@pytest.mark.parametrize("penalty", [1e-3, 0.1])
def test_left_out_residuals_are_those_of_refits(kernel, fit_intercept, weighted, penalty):
    """Each row is really left out; the others keep their weights in the sum."""
    X, y, weights = data(weighted)
    K = kernel(X, X)
    expected = []
    for i in range(N):
        rest = np.arange(N) != i
        u, b = solve(K[np.ix_(rest, rest)], y[rest], weights[rest], penalty, fit_intercept)
        expected.append(y[i] - b - K[i, rest] @ u)
    inverse = Ridge(K, weights, fit_intercept=fit_intercept)
    np.testing.assert_allclose(inverse.loo_residuals(y, penalty), expected, rtol=1e-7, atol=1e-9)


@each_intercept
@each_weighting
def test_left_out_errors_are_weighted_means(fit_intercept, weighted):
    X, y, weights = data(weighted)
    inverse = Ridge(Gaussian()(X, X), weights, fit_intercept=fit_intercept)
    ridges = np.array([1e-4, 1e-2, 1.0])
    expected = [np.sum(weights * inverse.loo_residuals(y, r) ** 2) for r in ridges]
    np.testing.assert_allclose(inverse.loo_errors(y, ridges), expected)


def several_targets(weighted):
    X, y, weights = data(weighted)
    return X, np.column_stack([y, X[:, 1] ** 2, np.cos(y)]), weights


@each_kernel
@each_intercept
@each_weighting
def test_several_targets_are_refitted_without_each_row(kernel, fit_intercept, weighted):
    X, Y, weights = several_targets(weighted)
    K, ridges = kernel(X, X), np.array([1e-3, 0.1, 2.0])
    inverse = Ridge(K, weights, fit_intercept=fit_intercept)
    expected = np.empty((len(ridges), *Y.shape))
    for (r, penalty), (i, t) in product(enumerate(ridges), np.ndindex(Y.shape)):
        rest = np.arange(N) != i
        left = K[np.ix_(rest, rest)], Y[rest, t], weights[rest]
        u, b = solve(*left, penalty, fit_intercept)
        expected[r, i, t] = Y[i, t] - b - K[i, rest] @ u
    for r, penalty in enumerate(ridges):
        np.testing.assert_allclose(
            inverse.loo_residuals(Y, penalty), expected[r], rtol=1e-7, atol=1e-9
        )
    errors = np.einsum("i,rit->rt", weights, expected**2)
    np.testing.assert_allclose(inverse.loo_errors(Y, ridges), errors.sum(axis=1), rtol=1e-7)
    for t in range(Y.shape[1]):
        np.testing.assert_allclose(inverse.loo_errors(Y[:, t], ridges), errors[:, t], rtol=1e-7)


@each_kernel
@each_intercept
@each_weighting
def test_coefficients_of_several_targets_solve_their_systems(kernel, fit_intercept, weighted):
    X, Y, weights = several_targets(weighted)
    K = kernel(X, X)
    inverse = Ridge(K, weights, fit_intercept=fit_intercept)
    expected = np.column_stack([solve(K, y, weights, 0.03, fit_intercept)[0] for y in Y.T])
    tolerance = 1e-9 * np.abs(expected).max()
    np.testing.assert_allclose(inverse.coefficients(Y, 0.03), expected, rtol=0, atol=tolerance)
    for t, y in enumerate(Y.T):
        np.testing.assert_allclose(
            inverse.coefficients(y, 0.03), expected[:, t], rtol=0, atol=tolerance
        )


@each_intercept
def test_one_ridge_serves_all_targets(fit_intercept):
    """The best ridge is that of the summed error, between those of the targets alone."""
    X, Y, weights = several_targets(weighted=True)
    inverse = Ridge(Gaussian()(X, X), weights, fit_intercept=fit_intercept)
    grid = inverse.trace * ridge.RIDGE_GRID
    errors = [sum(np.sum(weights * inverse.loo_residuals(y, r) ** 2) for y in Y.T) for r in grid]
    assert inverse.best_ridge(Y) == pytest.approx(grid[int(np.argmin(errors))])
    assert inverse.best_ridge(Y[:, [1]]) == inverse.best_ridge(Y[:, 1])


@each_kernel
@each_intercept
@each_weighting
def test_best_ridge_has_the_smallest_error_on_the_grid(kernel, fit_intercept, weighted):
    X, y, weights = data(weighted)
    K = kernel(X, X)
    inverse = Ridge(K, weights, fit_intercept=fit_intercept)
    best = inverse.best_ridge(y)
    grid = inverse.trace * ridge.RIDGE_GRID
    assert np.min(np.abs(grid / best - 1)) < 1e-12
    # The smallest ridges of a kernel of low rank lie below what rounding lets a refit resolve.
    errors = inverse.loo_errors(y, grid[grid > 1e-7 * inverse.trace])
    assert inverse.loo_errors(y, np.array([best]))[0] <= errors.min() * (1 + 1e-9)


@each_intercept
@each_weighting
def test_trace_is_that_of_the_weighted_centred_kernel(fit_intercept, weighted):
    X, _, weights = data(weighted)
    K = Gaussian()(X, X)
    centring = np.eye(N) - np.outer(np.ones(N), weights) * fit_intercept
    centred = centring @ K @ centring.T
    inverse = Ridge(K, weights, fit_intercept=fit_intercept)
    assert inverse.trace == pytest.approx(weights @ np.diag(centred), rel=1e-10)


def test_best_ridge_takes_the_smooth_end_for_constant_y():
    X, _, weights = data(weighted=False)
    inverse = Ridge(Gaussian()(X, X), weights)
    assert inverse.best_ridge(np.zeros(N)) == pytest.approx(inverse.trace * ridge.RIDGE_GRID[-1])


def test_best_ridge_is_small_for_a_smooth_function_and_large_for_noise():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(40, 1))
    inverse = Ridge(Gaussian(1.0)(X, X), np.full(40, 1 / 40))
    smooth, noise = inverse.best_ridge(np.sin(2 * X[:, 0])), inverse.best_ridge(rng.normal(size=40))
    assert smooth < 1e-5 * inverse.trace
    assert noise > 1e-3 * inverse.trace


@pytest.mark.parametrize("constant", [0.0, 1.0])
@pytest.mark.filterwarnings("error")
def test_a_constant_kernel_predicts_the_mean(constant):
    """The kernel when every scale is zero: rounding must not be taken for a signal."""
    K, y = np.full((7, 7), constant), np.array([1.0, 2.0, 3.0, 6.0, -1.0, 0.1, 0.3])
    weights = np.arange(1.0, 8.0) / 28
    inverse = Ridge(K, weights)
    best = inverse.best_ridge(y)
    np.testing.assert_allclose(K @ inverse.matrix(best) @ y, 0, atol=1e-6)
    means = [np.average(np.delete(y, i), weights=np.delete(weights, i)) for i in range(7)]
    np.testing.assert_allclose(inverse.loo_residuals(y, best), y - means, rtol=1e-6)


def test_inputs_stay_as_they_are():
    X, y, weights = data(weighted=True)
    K = Gaussian()(X, X)
    K.setflags(write=False)
    before = K.copy()
    Ridge(K, weights).best_ridge(y)
    np.testing.assert_array_equal(K, before)


@each_intercept
@pytest.mark.parametrize("m", [3, 9])  # thin, and by the kernel
def test_features_in_memory_are_their_kernel(fit_intercept, m):
    rng = np.random.default_rng(0)
    Phi, y, p = rng.normal(size=(N, m)), rng.normal(size=N) + 1, rng.random(N)
    p /= p.sum()
    ours = Ridge.of_features(Phi, p, fit_intercept=fit_intercept)
    assert ours.complete == (m == 9)
    theirs = Ridge(Phi @ Phi.T, p, fit_intercept=fit_intercept)
    assert ours.trace == pytest.approx(theirs.trace)
    best = ours.best_ridge(y)
    assert best == pytest.approx(theirs.best_ridge(y), rel=1e-6)
    for penalty in (best, 0.1):
        u = theirs.coefficients(y, penalty)
        np.testing.assert_allclose(ours.coefficients(y, penalty), u, rtol=1e-6)
        np.testing.assert_allclose(ours.matrix(penalty), theirs.matrix(penalty), atol=1e-8)
        diagonal = np.diag(theirs.matrix(penalty))
        np.testing.assert_allclose(ours.diagonal(penalty), diagonal, rtol=1e-6)
        expected = theirs.loo_residuals(y, penalty)
        np.testing.assert_allclose(ours.loo_residuals(y, penalty), expected, rtol=1e-6)
        coef, b = ours.feature_coefficients(y, penalty)
        np.testing.assert_allclose(coef, Phi.T @ u, rtol=1e-6)
        assert not fit_intercept or p @ (y - Phi @ coef - b) == pytest.approx(0, abs=1e-12)


@each_intercept
def test_weighted_ridge_is_the_operator_of_the_eigendecomposition(fit_intercept):
    X, y, weights = data(weighted=True)
    K = Gaussian()(X, X)
    P = Ridge(K, weights, fit_intercept=fit_intercept).matrix(0.01)
    ours = WeightedRidge(K, weights, 0.01, fit_intercept=fit_intercept)
    np.testing.assert_allclose(ours.matrix(), P, atol=1e-9)
    np.testing.assert_allclose(ours.solve(y), P @ y, atol=1e-9)
    np.testing.assert_allclose(ours.quadratic(X), X.T @ P @ X, atol=1e-9)
    np.testing.assert_allclose(ours.diagonal(), np.diagonal(P), atol=1e-9)


@each_intercept
def test_moments_are_weighted_sums_whatever_the_chunks(fit_intercept, monkeypatch):
    rng = np.random.default_rng(9)
    Phi, y, q = rng.normal(size=(60, 4)) + 2, rng.normal(size=60) + 3, rng.uniform(0.5, 2, 60)
    C, c = ridge.moments_of(Phi, y, q, centre=fit_intercept)
    p = q / q.sum()
    centred = Phi - (p @ Phi if fit_intercept else np.zeros(4))
    np.testing.assert_allclose(C, (centred * q[:, None]).T @ centred, rtol=1e-12)
    np.testing.assert_allclose(c, centred.T @ (q * (y - (p @ y if fit_intercept else 0))))
    monkeypatch.setattr(ridge, "CHUNK", 4 * 7)
    again = ridge.moments_of(Phi, y, q, centre=fit_intercept)
    np.testing.assert_allclose(again[0], C, rtol=1e-12)
    np.testing.assert_allclose(again[1], c, rtol=1e-10)


def refit_without(Z, T, weights, row, columns, penalty):
    """Predict row ``row`` by weighted ridge regression on the other rows and columns.

    Around the means of all rows.
    """
    keep = np.arange(len(Z)) != row
    others = np.setdiff1d(np.arange(Z.shape[1]), columns)
    A, p = Z[keep][:, others], weights[keep]
    centre, mean = p @ A / p.sum(), p @ T[keep] / p.sum()
    A = A - centre
    gram = (A * p[:, None]).T @ A + penalty * np.eye(len(others))
    coef = np.linalg.solve(gram, (A * p[:, None]).T @ (T[keep] - mean))
    return weights @ T + (Z[row, others] - weights @ Z[:, others]) @ coef


@pytest.mark.parametrize(("n", "d"), [(15, 4), (9, 20)])
@pytest.mark.parametrize("columns", [[1], [0, 2]])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_those_of_refits(n, d, columns, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3
    T = rng.normal(size=(n, 2)) + X[:, [1, 2]]
    weights = rng.uniform(0.5, 2, size=n) if weighted else np.ones(n)
    penalty = 0.3
    found = LeaveOutRidge(X, weights, np.array([penalty])).predict(np.array(columns), T)
    p = weights / weights.sum()
    Z = X - p @ X
    Z /= np.sqrt(p @ Z**2)
    expected = [refit_without(Z, T, p, row, columns, penalty) for row in range(n)]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_the_ridge_of_smallest_error_is_taken():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 12))
    target = X[:, :1] + X[:, 1:2]
    errors = []
    for penalty in ridge.LEAVE_OUT_RIDGES:
        found = LeaveOutRidge(X, np.ones(30), np.array([penalty])).predict(np.array([0]), target)
        errors.append(np.mean((found - target) ** 2))
        assert errors[-1] < 1.2 * target.var()
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


def test_the_mean_and_its_error_are_those_of_the_textbook():
    e = np.random.default_rng(0).normal(size=40)
    found = paired(e, np.full(40, 3.0))
    assert found.mean == pytest.approx(e.mean())
    assert found.error == pytest.approx(e.std() / np.sqrt(40))
    assert found.in_errors == pytest.approx(found.mean / found.error)
    assert Difference(1.0, 0.0).in_errors == 0.0


def test_weights_move_the_mean_and_only_their_shares_count():
    e, weights = np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0])
    found = paired(e, weights)
    assert found.mean == pytest.approx(11 / 4)
    shares = weights / 4
    assert found.error == pytest.approx(np.sqrt(np.sum(shares**2 * (e - 11 / 4) ** 2)))
    assert paired(e, 10 * weights) == pytest.approx(found)


def test_what_is_saved_is_a_share_of_the_losses():
    rng = np.random.default_rng(1)
    null, ours, weights = rng.random(30) + 1, rng.random(30), rng.random(30)
    share, gain = saving([(null, ours)], weights)
    assert share == pytest.approx(1 - weights @ ours / (weights @ null))
    assert gain == pytest.approx(paired(null - ours, weights).in_errors)
    assert saving([(null, null)], weights) == (0.0, 0.0)
    assert saving(2 * [(null, ours)], weights) == pytest.approx((share, gain))
    assert saving([(np.zeros(3), np.zeros(3))], np.ones(3)) == (0.0, 0.0)
