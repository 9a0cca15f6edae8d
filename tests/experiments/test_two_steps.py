"""The papers' two steps: the same problems as the estimators', a refit by validation."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import two_steps
from experiments.two_steps import (
    Path,
    Rows,
    Solves,
    denovas,
    denovas_path,
    elastic_net,
    family_of,
    group_lasso,
    lasso,
    nvsd,
    nvsd_refined,
    plain_ridge,
    refit,
    validated,
)
from nablasso import DerivativeLasso
from nablasso.datasets import make_product
from nablasso.kernels import Gaussian, Polynomial


@pytest.fixture(scope="module")
def rows():
    data = make_product(200, 5, random_state=0)
    X, y = data.X, data.y
    return Rows(X[:50], y[:50], X[50:100], y[50:100], X[100:], y[100:])


def test_supports_are_those_of_the_estimator(rows):
    tau, nu = 0.05, 3.0
    family = family_of(rows, Polynomial(2), 1.0, lasso)
    unit = float(family.table.X.std(axis=0).mean())
    path = Path()
    denovas_path(family, [nu], path, np.array([0.3, 1.0, 3.0]) * tau / unit, refined=0)
    for factor, support in zip((0.3, 1.0, 3.0), path.supports, strict=True):
        model = DerivativeLasso(
            alpha=2 * factor * tau,
            ridge=factor * tau * nu,
            kernel=Polynomial(2),
            standardize=False,
            fit_intercept=False,
        ).fit(rows.X, rows.y / rows.y.std())
        np.testing.assert_array_equal(support, model.support_)


def test_the_path_is_refined_where_it_jumps(rows):
    family = family_of(rows, Polynomial(2), 1.0, lasso)
    path = Path()
    denovas_path(family, [30.0], path, np.array([1e-3, 3.0]))
    assert len({s.tobytes() for s in path.supports}) > 2  # all, none, and some between


def test_the_refit_is_kernel_ridge_with_the_best_ridge_of_the_grid(rows):
    support = np.array([True, True, False, False, False])
    error, predict = refit(rows, Gaussian(), 0.7, support)

    def kernel(A, B):
        squares = ((A[:, None, :2] - B[None, :, :2]) ** 2).sum(axis=2)
        return np.exp(-squares / (2 * 0.7**2))

    n = len(rows.y)
    K = kernel(rows.X, rows.X)
    best = np.inf
    for ridge in np.trace(K) / n * two_steps.RIDGES:
        u = np.linalg.lstsq(K + n * ridge * np.eye(n), rows.y, rcond=None)[0]
        here = np.mean((rows.y_validation - kernel(rows.X_validation, rows.X) @ u) ** 2)
        if here < best:
            best, values = here, kernel(rows.X_test, rows.X) @ u
    assert error == pytest.approx(best, rel=1e-4)
    np.testing.assert_allclose(predict(rows.X_test), values, atol=1e-3)


def test_no_column_predicts_the_mean_and_validation_prefers_the_true_ones(rows):
    nothing, true = np.zeros(5, dtype=bool), np.arange(5) < 2
    error, predict = refit(rows, Polynomial(2), 1.0, nothing)
    assert (predict(rows.X_test) == rows.y.mean()).all()
    assert error == pytest.approx(np.mean((rows.y_validation - rows.y.mean()) ** 2))
    chosen = validated(rows, Polynomial(2), 1.0, [nothing, true, ~true])
    np.testing.assert_array_equal(chosen.support, true)


def test_both_papers_find_a_product(rows, monkeypatch):
    monkeypatch.setattr(two_steps, "SHARES", (2.0,))
    kernel = Polynomial(2)
    labels = np.array([0, 0, 1, 1, 2])
    plain = np.mean((plain_ridge(rows, kernel, 1.0).predict(rows.X_test) - rows.y_test) ** 2)
    for chosen in (
        denovas(rows, kernel),
        nvsd(rows, kernel, 1.0, [lasso], 1.0),
        nvsd_refined(rows, kernel, 1.0, [group_lasso(labels)]),
        nvsd(rows, kernel, 1.0, [elastic_net(0.5)], 1.0),
    ):
        assert chosen.record["status"] == "converged"
        assert float(chosen.record["gap"]) <= two_steps.TOL
        assert chosen.record["solves"] > 1
        assert chosen.support[:2].all()
        assert chosen.support.sum() < 5
        assert np.mean((chosen.predict(rows.X_test) - rows.y_test) ** 2) < plain


def test_groups_are_selected_whole(rows):
    labels = np.array([0, 1, 0, 1, 1])
    family = family_of(rows, Polynomial(2), 1.0, group_lasso(labels))
    path = Path()
    two_steps.nvsd_path(family, family.trace, 6, 0, path)
    for support in path.supports:
        assert all(len(set(support[labels == g])) == 1 for g in (0, 1))


def test_scaling_uses_the_training_rows(rows):
    scaled = rows.scaled()
    np.testing.assert_allclose(scaled.X.std(axis=0), 1)
    centre, scale = rows.X.mean(axis=0), rows.X.std(axis=0)
    np.testing.assert_allclose(scaled.X_test * scale + centre, rows.X_test)
    X, y = rows.together()
    assert X.shape == (100, 5)
    assert (y[50:] == rows.y_validation).all()


def test_a_path_ends_where_all_columns_are_in(rows):
    family = family_of(rows, Polynomial(2), 1.0, lasso)
    path = Path()
    two_steps.nvsd_path(family, family.trace, 50, 0, path)
    assert not path.supports[-1].any()  # the largest tau comes last
    assert [bool(support.all()) for support in path.supports[:3]] == [True, True, False]
    assert len(path.supports) == path.solves.count < 50


def test_the_record_is_that_of_the_worst_solve(rows):
    family = family_of(rows, Polynomial(2), 1.0, lasso)
    problem = family.problem(family.trace * 1e-5, 0.3)
    solves = Solves(tol=1e-3)
    solves.note(problem, two_steps.DualSolver(tol=1e-5).solve(problem))
    assert solves.record()["status"] == "converged"
    solves.note(problem, two_steps.DualSolver(tol=1e-9, max_iter=1).solve(problem))
    record = solves.record()
    assert (record["status"], record["solves"], record["solves_capped"]) == ("capped", 2, 1)
    assert float(record["gap"]) > 1e-3


def test_outputs_are_centred_by_the_training_rows(rows):
    centred = rows.centred()
    assert abs(centred.y.mean()) < 1e-12
    np.testing.assert_allclose(centred.y_test - rows.y_test, -rows.y.mean())
