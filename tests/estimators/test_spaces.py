"""Derivative estimators in spaces other than the exact one, and from sums over rows."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import nablasso
from nablasso import (
    DerivativeLasso,
    DerivativeLassoClassifier,
    DerivativeLassoCV,
)
from nablasso.errors import (
    InvalidParameterError,
    MissingInteractionsWarning,
    NoSelectionWarning,
)
from nablasso.kernels import Anova
from nablasso.spaces import exact
from nablasso.streaming import SufficientStatistics


def draw(n=150, d=5, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.array([1.0, 5.0, 1.0, 0.2, 1.0])[:d]
    y = 4.0 + np.sin(2 * X[:, 0]) + (X[:, 1] / 5) ** 2 + 0.2 * rng.normal(size=n)
    return X, y


def additive(**parameters):
    settings = {"n_components": 120, "alpha": 0.4, "ridge": 0.01, "space": "fourier"}
    return DerivativeLasso(Anova(1), **{**settings, **parameters})


def statistics(model, X, y, weights=None, **settings):
    collected = SufficientStatistics(model.freeze(X, y), **settings)
    for rows in np.array_split(np.arange(len(X)), 3):
        part = None if weights is None else weights[rows]
        collected.partial_fit(X[rows], y[rows], part)
    return collected


# -------------------------------------------------------------------------- fourier


def test_the_feature_space_answers_as_the_exact_space_does():
    X, y = draw()
    exact = additive(space="exact").fit(X, y)
    ours = additive(n_components=600).fit(X, y)
    assert ours.space_ == "fourier"
    assert ours.space_reason_ == "asked for"
    for model in (ours, exact):  # beside what the gap proves, rounding may put in a flat column
        np.testing.assert_array_equal(np.flatnonzero(model.importance_bounds_[:, 0] > 0), [0, 1])
    np.testing.assert_allclose(ours.feature_importances_, exact.feature_importances_, atol=0.02)
    assert ours.objective_ == pytest.approx(exact.objective_, rel=0.01)
    new, _ = draw(seed=4)
    assert np.sqrt(np.mean((ours.predict(new) - exact.predict(new)) ** 2)) < 0.1
    assert ours.relative_gap_ < 1e-6
    assert 0 < ours.approximation_error_ < 0.05
    assert exact.approximation_error_ == 0.0


@pytest.mark.parametrize("debias", [True, False])
def test_gradients_are_derivatives_of_predictions(debias):
    X, y = draw()
    model = additive(debias=debias).fit(X, y)
    step, gradients = 1e-5, model.predict_gradient(X[:10])
    for a in range(5):
        shift = step * np.eye(5)[a]
        moved = model.predict(X[:10] + shift) - model.predict(X[:10] - shift)
        np.testing.assert_allclose(moved / (2 * step), gradients[:, a], atol=1e-5)
    assert np.all(gradients[:, ~model.support_] == 0) or not debias


def test_permuting_rows_and_columns_permutes_the_result():
    X, y = draw()
    model = additive().fit(X, y)
    rows, columns = np.random.default_rng(0).permutation(150), np.array([3, 0, 4, 1, 2])
    other = additive().fit(X[rows][:, columns], y[rows])
    np.testing.assert_array_equal(other.support_, model.support_[columns])
    np.testing.assert_allclose(other.predict(X[:, columns]), model.predict(X), rtol=1e-8)


def test_weights_are_copies():
    X, y = draw(80)
    weights = np.random.default_rng(1).integers(0, 4, size=80)
    weighted = additive().fit(X, y, sample_weight=weights)
    copied = additive().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict(X), copied.predict(X), rtol=1e-7)
    assert weighted.objective_ == pytest.approx(copied.objective_, rel=1e-9)


def test_other_penalties_groups_points_and_paths():
    X, y = draw()
    shared = {"space": "fourier", "n_components": 80, "ridge": 0.01}
    grouped = DerivativeLasso(
        Anova(1), alpha=0.3, feature_groups=[[0, 2], [1], [3, 4]], always_keep=[4], **shared
    ).fit(X, y)
    assert grouped.support_[4]
    assert grouped.support_[0] == grouped.support_[2]
    assert DerivativeLasso(Anova(1), alpha=0.5, l1_ratio=0.5, **shared).fit(X, y).support_[:2].all()
    further = additive().fit(X, y, X_unlabeled=X[:20] + 0.1)
    assert further.support_[:2].all()
    path = nablasso.path(DerivativeLasso(Anova(1), **shared), X, y, n_alphas=4)
    assert not path.support[0].any()
    assert path.support[-1][:2].all()


def test_no_intercept_and_nothing_selected():
    X, y = draw()
    plain = additive(fit_intercept=False).fit(X, y)
    assert np.isfinite(plain.predict(X)).all()
    null = additive(alpha=3.0, tol=1e-4).fit(X, y)
    assert not null.support_.any()
    np.testing.assert_allclose(null.predict(X), y.mean())


def test_dense_features_say_that_they_do_not_select():
    X, y = draw()
    dense = DerivativeLasso("gaussian", space="fourier", n_components=60, alpha=0.1, ridge=0.01)
    with pytest.warns(NoSelectionWarning, match=r'Gaussian\(\).*kernel="anova"'):
        dense.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoSelectionWarning)
        clone(dense).set_params(n_passes=4).fit(X, y)


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive_squared", "poisson"])
def test_other_losses_answer_as_in_the_exact_space(loss):
    X, y = draw(70)
    y = np.round(np.exp(0.3 * y)) if loss == "poisson" else y
    alpha = 1.0 if loss == "poisson" else 0.2
    ours, exact = (
        additive(loss=loss, space=space, alpha=alpha, tol=1e-5).fit(X, y)
        for space in ("fourier", "exact")
    )
    assert ours.space_ == "fourier"
    np.testing.assert_array_equal(ours.support_, exact.support_)
    assert ours.objective_ == pytest.approx(exact.objective_, rel=1e-4)
    np.testing.assert_allclose(ours.predict(X), exact.predict(X), rtol=1e-3, atol=1e-3)
    assert ours.loo_r2_ == pytest.approx(exact.loo_r2_, abs=1e-3)
    assert ours.approximation_error_ < 1e-3
    assert np.isfinite(ours.predict_gradient(X)).all()


def test_classes_answer_as_in_the_exact_space():
    X, y = draw(70)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [4.5, 5.5])]
    settings = {"alpha": 0.05, "ridge": 0.01, "n_components": 120, "tol": 1e-4}
    ours, exact = (
        DerivativeLassoClassifier(Anova(1), space=space, **settings).fit(X, labels)
        for space in ("fourier", "exact")
    )
    np.testing.assert_array_equal(ours.support_, exact.support_)
    np.testing.assert_allclose(ours.predict_proba(X), exact.predict_proba(X), atol=2e-3)
    weights = np.random.default_rng(1).integers(0, 3, size=70)
    weighted = clone(ours).fit(X, labels, sample_weight=weights)
    copied = clone(ours).fit(np.repeat(X, weights, axis=0), np.repeat(labels, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-5)


def test_ridge_and_alpha_are_chosen_for_other_losses_too():
    X, y = draw(60)
    model = DerivativeLasso(Anova(1), space="fourier", loss="huber", n_components=40, tol=1e-4)
    model.fit(X, y)
    assert model.support_[:2].all()
    assert model.ridge_ > 0


def test_a_space_too_small_for_all_pairs_says_so():
    X, y = np.random.default_rng(0).normal(size=(60, 12)), np.arange(60.0)
    small = DerivativeLasso(Anova(2), space="fourier", n_components=60, alpha=1.0, ridge=1.0)
    with pytest.warns(MissingInteractionsWarning, match=r"66 sets of 2 variables.*n_components"):
        small.fit(X, y)


# -------------------------------------------------------------------------- landmarks


def test_landmarks_solve_a_sample_and_refit_all_rows():
    X, y = draw(200)
    model = DerivativeLasso(
        "polynomial", space="nystrom", n_components=60, alpha=0.3, ridge=0.01
    ).fit(X, y)
    assert model.space_ == "nystrom"
    exact = DerivativeLasso("polynomial", space="exact", alpha=0.3, ridge=0.01).fit(X, y)
    assert model.support_.tolist() == exact.support_.tolist() == [True, True, False, False, False]
    # ten features span all quadratics of the selected columns: the refits can be the same
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-3)
    assert model.approximation_error_ < 1e-6


def test_classifiers_and_other_losses_work_on_landmarks():
    X, y = draw(120)
    labels = np.where(y > np.median(y), "high", "low")
    settings = {"space": "nystrom", "n_components": 40, "alpha": 0.05, "ridge": 0.01}
    model = DerivativeLassoClassifier("polynomial", **settings).fit(X, labels)
    assert model.score(X, labels) > 0.7
    robust = DerivativeLasso("polynomial", loss="huber", **settings).fit(X, y)
    assert np.isfinite(robust.predict(X)).all()


# -------------------------------------------------------------------------- auto


def test_auto_is_recorded_and_the_folds_follow_it(monkeypatch):
    X, y = draw(90)
    model = additive(space="auto", n_components=100).fit(X, y)
    assert (model.space_, model.space_reason_) == ("exact", "90 rows are few")
    monkeypatch.setattr(exact, "OPERATIONS", 0.0)
    chosen = DerivativeLassoCV(Anova(1), n_components=80, alphas=3, ridges=(0.01,), cv=2)
    chosen.fit(X, y)
    assert chosen.space_ == "fourier"
    assert "operations for 90 rows" in chosen.space_reason_
    assert chosen.best_score_ < 0


# -------------------------------------------------------------------------- statistics


def test_statistics_give_what_the_rows_give():
    X, y = draw(200)
    model = additive(debias=False, n_components=100)
    from_rows = clone(model).fit(X, y)
    from_sums = clone(model).fit_statistics(statistics(model, X, y))
    apart = abs(from_sums.objective_ - from_rows.objective_)
    assert apart <= max(from_sums.dual_gap_, from_rows.dual_gap_)
    np.testing.assert_array_equal(from_sums.support_, from_rows.support_)
    np.testing.assert_allclose(from_sums.predict(X), from_rows.predict(X), atol=1e-2)
    np.testing.assert_allclose(
        from_sums.feature_importances_, from_rows.feature_importances_, atol=1e-3
    )
    assert from_sums.space_ == "fourier"
    assert np.isnan(from_sums.approximation_error_)
    assert "columns matter" in from_sums.summary()


def test_the_refit_of_statistics_uses_the_features_of_the_support():
    X, y = draw(200)
    model = additive()
    collected = statistics(model, X, y)
    model.fit_statistics(collected)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0, 1])
    assert np.all(model.predict_gradient(X)[:, 2:] == 0)
    phi = collected.space.features.features(collected.space.standardise(X))
    used = np.flatnonzero(model._functions[0].u)
    best = LinearRegression().fit(phi[:, used], y).score(phi[:, used], y)
    assert best - 0.05 < model.score(X, y) <= best
    assert model.loo_r2_ == pytest.approx(model.score(X, y), abs=0.05)
    assert model.selection_status_ == "clear"


def test_ridge_and_alpha_by_the_folds_of_statistics():
    X, y = draw(300)
    weights = np.random.default_rng(2).integers(1, 3, size=300).astype(float)
    model = DerivativeLassoCV(Anova(1), n_components=80, alphas=6, space="fourier")
    model.fit_statistics(statistics(model, X, y, weights))
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0, 1])
    assert len(model.cv_results_["params"]) == 18
    assert -0.1 < model.best_score_ < 0
    single = DerivativeLasso(Anova(1), n_components=80)
    single.fit_statistics(statistics(single, X, y))
    assert single.ridge_ > 0
    assert single.support_[:2].all()


def test_names_are_kept_and_bad_requests_refused():
    pandas = pytest.importorskip("pandas")
    X, y = draw(80)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    model = additive()
    collected = SufficientStatistics(model.freeze(frame, y)).partial_fit(frame, y)
    model.fit_statistics(collected)
    assert model.get_feature_names_out().tolist() == ["a", "b"]
    with pytest.raises(InvalidParameterError, match="squared loss alone"):
        additive(loss="huber").fit_statistics(collected)
    with pytest.raises(InvalidParameterError, match="one width"):
        DerivativeLassoCV(Anova(1), widths=(1.0, 2.0)).fit_statistics(collected)
    one = SufficientStatistics(model.freeze(frame, y), n_folds=1).partial_fit(frame, y)
    with pytest.raises(InvalidParameterError, match="n_folds of at least 2"):
        additive(ridge=None).fit_statistics(one)
