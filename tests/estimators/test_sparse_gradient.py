"""The sparse gradient estimators: results, options and what they improve, contracts, bad input."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import nablasso
from nablasso import (
    SparseGradientClassifier,
    SparseGradientClassifierCV,
    SparseGradientRegressor,
    SparseGradientRegressorCV,
)
from nablasso.datasets import make_rings, make_turlach
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.gradients.solvers import ActiveSet
from nablasso.kernels import Polynomial
from nablasso.solvers import Status

TURLACH = make_turlach(100, 10, random_state=0)
AFFINE = {"kernel": Polynomial(1), "n_neighbors": 10}


def smooth_data(seed, n=40, p=4, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, p))
    return X, X[:, 0] + X[:, 1] ** 2 + noise * rng.normal(size=n)


# --- results


def test_turlach_is_selected_where_the_lasso_cannot_see_x1():
    path = nablasso.path(
        SparseGradientRegressor(tol=1e-4, **AFFINE), TURLACH.X, TURLACH.y, n_alphas=20
    )
    sizes = path.support.sum(axis=1)
    assert sizes[0] == 0
    assert path.alphas[0] == path.alpha_max
    assert np.flatnonzero(path.support[sizes == 5][0]).tolist() == [0, 1, 2, 3, 4]
    assert np.all(path.relative_gaps <= 1e-4)


def test_path_points_are_single_fits():
    path = nablasso.path(
        SparseGradientRegressor(tol=1e-8, **AFFINE), TURLACH.X, TURLACH.y, n_alphas=6
    )
    model = SparseGradientRegressor(path.alphas[4], tol=1e-8, **AFFINE).fit(TURLACH.X, TURLACH.y)
    np.testing.assert_array_equal(model.support_, path.support[4])
    np.testing.assert_allclose(model.feature_importances_, path.importances[4], atol=1e-4)
    assert model.alpha_max_ == pytest.approx(path.alpha_max, rel=1e-12)
    assert model.objective_ == pytest.approx(path.objectives[4], rel=1e-7)


def test_attributes_agree_with_each_other():
    X, y = TURLACH.X, TURLACH.y
    model = SparseGradientRegressor(0.001, **AFFINE).fit(X, y)
    s, Z = model.support_, (X - X.mean(axis=0)) / X.std(axis=0)
    assert 0 < s.sum() < 10
    gradients = model.predict_gradient(X)
    np.testing.assert_array_equal(np.any(gradients != 0, axis=0), s)
    xi = model.gradient_covariance_.toarray()
    C = np.linalg.lstsq(1 + Z @ Z.T, gradients * X.std(axis=0), rcond=1e-10)[0]
    np.testing.assert_allclose(xi, C.T @ (1 + Z @ Z.T) @ C, atol=1e-8)
    np.testing.assert_allclose(model.feature_importances_, np.sqrt(np.diag(xi)) / y.std())
    np.testing.assert_allclose(model.transform(X), Z @ model.components_.T)
    assert model.get_support(indices=True).tolist() == np.flatnonzero(s).tolist()
    assert model.spectrum_[: len(model.components_)].sum() >= 0.95 * np.trace(xi)
    assert f"{s.sum()} of 10 columns matter" in model.summary()
    assert model.selection_status_ == "clear"


def test_prediction_by_directions():
    X, y = TURLACH.X, TURLACH.y
    new = make_turlach(200, 10, random_state=1)
    model = SparseGradientRegressor(0.001, **AFFINE).fit(X, y)
    assert model.score(new.X, new.y) > 0.6
    across = np.eye(10) - np.linalg.pinv(model.components_) @ model.components_
    moved = X + np.random.default_rng(0).normal(size=X.shape) @ across * X.std(axis=0)
    np.testing.assert_allclose(model.predict(moved), model.predict(X), atol=1e-9)


def test_classes_as_text_and_prediction_through_f0():
    data = make_rings(60, 6, spread=0.5, random_state=0)
    y = np.where(data.y > 0, "inner", "outer")
    model = SparseGradientClassifier(standardize=False, tol=1e-3).fit(data.X, y)
    assert model.classes_.tolist() == ["inner", "outer"]
    assert model.support_[:2].all()
    assert model.score(data.X, y) > 0.9
    odds = model.decision_function(data.X)
    np.testing.assert_allclose(model.predict_proba(data.X)[:, 1], 1 / (1 + np.exp(-odds)))
    assert model.predict_gradient(data.X).shape == (60, 6)


def test_three_classes_are_one_against_the_rest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] > 0.4, "a", np.where(X[:, 1] > 0, "b", "c"))
    model = SparseGradientClassifier().fit(X, y)
    gradients = model.predict_gradient(X)
    assert gradients.shape == (60, 3, 4)
    assert model.support_[:2].all()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    one = SparseGradientClassifier(model.alpha_, ridge=model.ridge_).fit(X, y == "b")
    np.testing.assert_allclose(one.predict_gradient(X), gradients[:, 1], atol=1e-3)


# --- options, and what each improves


def test_adaptive_weights_raise_the_relevant_variables_above_the_noise():
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng(40 + seed)
        X = rng.uniform(-1, 1, size=(80, 20))
        y = np.sin(2 * X[:, 0]) + 2 * X[:, 1] ** 2 + 0.1 * rng.normal(size=80)
        models = [
            SparseGradientRegressor(tol=1e-3, adaptive_weights=a).fit(X, y) for a in (False, True)
        ]
        ratios.append(
            [m.feature_importances_[1] / m.feature_importances_[2:].max() for m in models]
        )
    plain, adaptive = np.mean(ratios, axis=0)
    assert adaptive > 1.1 * plain


def test_adaptive_weights_find_the_rings_behind_wide_noise():
    data = make_rings(40, 200, spread=3.0, random_state=0)
    shared = {"kernel": "linear", "standardize": False, "tol": 1e-4}
    top = SparseGradientClassifier(1e3, **shared).fit(data.X, data.y).alpha_max_
    plain, adaptive = (
        SparseGradientClassifier(0.3 * top, adaptive_weights=a, **shared).fit(data.X, data.y)
        for a in (False, True)
    )
    assert plain.support_.sum() > 10
    np.testing.assert_array_equal(adaptive.support_, data.support)
    # the last problem is the one on the selected columns, at the same fraction of its alpha_max
    alone = SparseGradientClassifier(adaptive.alpha_, **shared).fit(data.X[:, :2], data.y)
    assert alone.support_.all()
    assert adaptive.alpha_ / alone.alpha_max_ == pytest.approx(0.3)
    assert adaptive.objective_ == pytest.approx(alone.objective_, abs=1e-6)


def test_the_ridge_form_selects_everything_and_solves_wide_tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 200))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    model = SparseGradientRegressor(penalty="ridge", kernel="linear").fit(X, y)
    assert model.support_.all()
    assert model.relative_gap_ <= 1e-5
    assert np.argmax(model.feature_importances_) == 0


def test_groups_enter_as_a_whole_and_kept_columns_stay():
    X, y = smooth_data(1)
    grouped = SparseGradientRegressor(feature_groups=[[0, 3], [1], [2]]).fit(X, y)
    assert grouped.support_[0] == grouped.support_[3]
    kept = SparseGradientRegressor(alpha=10.0, always_keep=[2]).fit(X, y)
    assert kept.get_support(indices=True).tolist() == [2]
    assert kept.relative_gap_ <= 1e-6


# --- contracts


@pytest.mark.parametrize("kind", [SparseGradientRegressor, SparseGradientClassifier])
def test_weights_are_copies_and_permutations_permute(kind):
    X, y = smooth_data(2, n=25)
    y = (y > np.median(y)).astype(int) if kind is SparseGradientClassifier else y
    weights = np.arange(25) % 3
    settings = {"n_neighbors": 5, "ridge": 0.01, "tol": 1e-4}
    weighted = kind(**settings).fit(X, y, weights)
    copied = kind(**settings).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.feature_importances_, copied.feature_importances_)
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(25), rng.permutation(4)
    moved = kind(**settings).fit(X[rows][:, columns], y[rows], weights[rows])
    np.testing.assert_array_equal(
        moved.feature_importances_, weighted.feature_importances_[columns]
    )
    gradients = weighted.predict_gradient(X)
    expected = moved.predict_gradient(X[rows][:, columns])
    np.testing.assert_allclose(expected, gradients[rows][:, columns], atol=1e-12)


def test_column_names_are_used():
    pd = pytest.importorskip("pandas")
    X, y = smooth_data(3)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = SparseGradientRegressor(always_keep=["d"]).fit(frame, y)
    assert model.support_[3]
    assert model.get_feature_names_out()[0] == "sparsegradientregressor0"


# --- bad input


def test_an_empty_support_transforms_to_zeros_with_a_warning():
    X, y = smooth_data(0)
    model = SparseGradientRegressor(alpha=1e6).fit(X, y)
    with pytest.warns(UserWarning, match="Nothing was selected"):
        projected = model.transform(X)
    assert projected.tolist() == [[0.0]] * 40
    np.testing.assert_allclose(model.predict(X), y.mean())
    assert model.selection_status_ == "none found"
    assert "None of the 4 columns" in model.summary()


def test_one_class_is_refused():
    X, _ = smooth_data(0)
    with pytest.raises(InvalidDataError, match="at least two classes"):
        SparseGradientClassifier().fit(X, np.ones(40))


def test_identical_points_are_no_obstacle():
    X, y = smooth_data(0)
    X[:30] = X[0]  # most distances are zero, so is their median; y differs
    model = SparseGradientRegressor().fit(X, y)
    assert model.bandwidth_ > 0
    assert np.isfinite(model.predict_gradient(X)).all()


def test_a_table_of_constants_selects_nothing():
    model = SparseGradientRegressor().fit(np.ones((10, 3)), np.arange(10.0))
    assert not model.support_.any()
    np.testing.assert_allclose(model.predict(np.ones((2, 3))), 4.5)
    flat = SparseGradientRegressor().fit(smooth_data(0)[0], np.ones(40))
    assert not flat.support_.any()


def test_rows_without_weights_are_named():
    X, y = smooth_data(0)
    X[17] = 1e4
    with pytest.warns(UserWarning, match="Rows 17 are so far"):
        SparseGradientRegressor(standardize=False).fit(X, y)
    with pytest.raises(InvalidDataError, match=r"no gradient can be learned\. Rows 0, 1"):
        SparseGradientRegressor(bandwidth=1e-4).fit(*smooth_data(0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_neighbors": 40}, "n_neighbors must be smaller than the number of distinct rows, 40"),
        ({"n_neighbors": 0}, "n_neighbors must be a whole number of at least 1, or None; got 0"),
        ({"penalty": "l1"}, "penalty must be one of lasso, ridge; got 'l1'"),
        ({"bandwidth": -1}, "bandwidth must be a positive number or one of"),
        ({"length_scale": "wide"}, "length_scale must be a positive number or one of"),
        ({"alpha": 0}, "alpha must be a positive number, or None; got 0"),
        ({"alpha": -1}, "alpha must be a positive number"),
        ({"ridge": 0}, "ridge must be a positive number, or None; got 0"),
        ({"n_components": 1.5}, "n_components must be a whole number"),
    ],
)
def test_bad_parameters_are_named(settings, message):
    with pytest.raises(InvalidParameterError, match=message):
        SparseGradientRegressor(**settings).fit(*smooth_data(0))


def test_an_interrupt_ends_the_adaptation(monkeypatch):
    data = make_rings(40, 30, spread=1.0, random_state=0)
    model = SparseGradientClassifier(kernel="linear", standardize=False, adaptive_weights=True)
    calls = []

    def once(self, problem, start=None):
        calls.append(problem.X.shape[1])
        found = solve(self, problem, start)
        return replace(found, status=Status.INTERRUPTED) if len(calls) == 1 else found

    solve = ActiveSet.solve
    monkeypatch.setattr(ActiveSet, "solve", once)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model.fit(data.X, data.y)
    assert calls == [30]
    assert model.solver_status_ == "interrupted"


def test_a_path_warns_where_it_was_cut_short():
    model = SparseGradientRegressor(**AFFINE, max_iter=3, tol=1e-12)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        path = nablasso.path(model, TURLACH.X, TURLACH.y, n_alphas=3)
    assert path.relative_gaps.max() > 1e-12


# --- cross-validation

SMALL = make_turlach(80, 7, random_state=0)


def test_alpha_is_one_of_the_grid_and_the_fit_that_of_all_rows():
    settings = {"kernel": Polynomial(1), "n_neighbors": 10, "tol": 1e-5}
    model = SparseGradientRegressorCV(alphas=6, cv=3, selection_rule="min", **settings)
    model.fit(SMALL.X, SMALL.y)
    results = model.cv_results_
    assert results["param_alpha"].shape == (6,)
    assert results["param_alpha"][0] == pytest.approx(model.alpha_max_)
    assert model.best_index_ == int(np.argmax(results["mean_test_score"]))
    assert model.best_params_ == {"alpha": model.alpha_}
    assert model.best_score_ == results["mean_test_score"].max()
    assert {"split2_test_score", "rank_test_score", "mean_n_selected"} <= results.keys()
    single = SparseGradientRegressor(model.alpha_, **settings).fit(SMALL.X, SMALL.y)
    np.testing.assert_allclose(model.predict(SMALL.X), single.predict(SMALL.X))
    assert model.support_[:5].all()


def test_one_standard_error_selects_no_more_than_the_best():
    rules = [
        SparseGradientRegressorCV(
            alphas=6, cv=3, selection_rule=rule, kernel=Polynomial(1), tol=1e-3
        ).fit(SMALL.X, SMALL.y)
        for rule in ("1se", "min")
    ]
    assert rules[0].support_.sum() <= rules[1].support_.sum()
    assert rules[0].alpha_ >= rules[1].alpha_


def test_a_score_is_what_the_fold_model_predicts():
    alpha, rows = 0.002, np.arange(80)
    folds = [(rows[rows % 2 == 0], rows[rows % 2 == 1])]
    settings = {"kernel": Polynomial(1), "tol": 1e-4, "adaptive_weights": True}
    model = SparseGradientRegressorCV(alphas=[alpha], cv=folds, **settings).fit(SMALL.X, SMALL.y)
    train, test = folds[0]
    by_hand = SparseGradientRegressor(alpha, **settings).fit(SMALL.X[train], SMALL.y[train])
    error = np.mean((SMALL.y[test] - by_hand.predict(SMALL.X[test])) ** 2)
    assert model.best_score_ == pytest.approx(-error, rel=1e-6)


def test_classes_are_scored_by_log_loss_and_any_scorer():
    y = np.where(SMALL.y > np.median(SMALL.y), "high", "low")
    settings = {"kernel": Polynomial(1), "n_neighbors": 10, "alphas": 3, "cv": 3, "tol": 1e-3}
    model = SparseGradientClassifierCV(**settings).fit(SMALL.X, y)
    assert -np.log(2) < model.best_score_ < 0
    accurate = SparseGradientClassifierCV(scoring="accuracy", **settings).fit(SMALL.X, y)
    assert 0.6 < accurate.best_score_ <= 1


def test_bad_grids_and_rules_are_named():
    with pytest.raises(InvalidParameterError, match="selection_rule"):
        SparseGradientRegressorCV(selection_rule="2se").fit(SMALL.X, SMALL.y)
    with pytest.raises(InvalidParameterError, match="alphas must be a list of positive numbers"):
        SparseGradientRegressorCV(alphas=[0.1, -1]).fit(SMALL.X, SMALL.y)
    with pytest.raises(InvalidParameterError, match="n_alphas must be a whole number"):
        nablasso.path(SparseGradientRegressor(), SMALL.X, SMALL.y, n_alphas=0)


def test_importances_of_classes_are_those_of_each_against_the_rest():
    data = make_rings(40, 4, random_state=0)
    model = SparseGradientClassifier(0.02, standardize=False).fit(data.X, data.y)
    np.testing.assert_array_equal(model.class_importances_, [model.feature_importances_])
    labels = np.where(data.X[:, 2] > np.median(data.X[:, 2]), data.y, "third")
    model.fit(data.X, labels)
    assert model.class_importances_.shape == (3, 4)
    np.testing.assert_array_equal(model.class_importances_.max(axis=0), model.feature_importances_)
