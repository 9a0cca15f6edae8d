"""RandomizationTest around other people's predictors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDRegressor,
)
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.error_control import RandomizationTest, class_probabilities
from nablasso.inference import adjusted_p_values


def problem(seed=0, n=80, d=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 1] - X[:, d // 2] + 0.5 * rng.normal(size=n)


def selector(estimator=None, **options):
    estimator = LinearRegression() if estimator is None else estimator
    return RandomizationTest(estimator, **{"random_state": 0, **options})


def test_easy_problems_are_solved():
    for seed in range(3):
        X, y = problem(seed)
        fitted = selector(fdr=0.01, n_draws=999).fit(X, y)
        assert np.flatnonzero(fitted.support_).tolist() == [1, 4]
        assert fitted.p_values_[[1, 4]] == pytest.approx([1e-3, 1e-3])


def test_adjusted_p_values_decide():
    X, y = problem()
    fitted = selector(fdr=0.2).fit(X, y)
    np.testing.assert_array_equal(fitted.adjusted_p_values_, adjusted_p_values(fitted.p_values_))
    np.testing.assert_array_equal(fitted.support_, fitted.adjusted_p_values_ <= 0.2)
    assert fitted.n_draws_ == 199
    assert fitted.transform(X).shape == (80, fitted.support_.sum())


def test_false_discoveries_in_a_correlated_design():
    proportions, power = [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        S = 0.6 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
        X = rng.normal(size=(60, 10)) @ np.linalg.cholesky(S).T
        y = X[:, 0] + X[:, 5] + 0.5 * rng.normal(size=60)
        found = selector(fdr=0.2, n_draws=199, random_state=seed).fit(X, y).support_
        proportions.append((found.sum() - found[[0, 5]].sum()) / max(1, found.sum()))
        power.append(found[[0, 5]].mean())
    error = np.std(proportions) / np.sqrt(len(proportions))
    assert np.mean(proportions) <= 0.2 + 2 * error
    assert np.mean(power) == 1.0


@pytest.mark.slow
def test_false_discoveries_over_many_runs():
    proportions = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        S = 0.7 ** np.abs(np.subtract.outer(np.arange(20), np.arange(20)))
        X = rng.normal(size=(80, 20)) @ np.linalg.cholesky(S).T
        y = X[:, [0, 7, 14]].sum(axis=1) + rng.normal(size=80)
        found = selector(random_state=seed).fit(X, y).support_
        proportions.append((found.sum() - found[[0, 7, 14]].sum()) / max(1, found.sum()))
    assert np.mean(proportions) - 2 * np.std(proportions) / np.sqrt(200) <= 0.1


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), KNeighborsRegressor(5)),
        RandomForestRegressor(10),
    ],
    ids=lambda e: type(e).__name__,
)
def test_any_predictor_serves(estimator):
    X, y = problem(d=4, n=60)
    y = 3 * np.sign(X[:, 1]) + 0.3 * y
    fitted = selector(estimator, n_draws=39, cv=3).fit(X, y)
    assert fitted.p_values_[1] == pytest.approx(1 / 40)


def classes(seed=0, n=120):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.array(["low", "middle", "high"])[np.digitize(3 * X[:, 2], [-1.2, 1.2])]


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), RidgeClassifier(), DecisionTreeClassifier(max_depth=3, random_state=0)],
    ids=lambda e: type(e).__name__,
)
def test_classifiers_by_name(estimator):
    X, y = classes()
    fitted = selector(estimator, n_draws=99, cv=3).fit(X, y)
    assert fitted.p_values_[2] == pytest.approx(0.01)
    assert fitted.p_values_[[0, 1, 3]].min() > 0.01


def test_probabilities_from_what_a_classifier_has():
    X, y = classes()
    names = np.unique(y)
    two = y != "low"
    proba = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(class_probabilities(proba, names, X), proba.predict_proba(X))
    margin = RidgeClassifier().fit(X[two], y[two])
    found = class_probabilities(margin, names, X)
    np.testing.assert_array_equal(found[:, list(names).index("low")], 0.0)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    best = names[np.argmax(found, axis=1)]
    np.testing.assert_array_equal(best, margin.predict(X))

    class OnlyPredicts:
        classes_ = names

        def predict(self, X):
            return np.full(len(X), "low")

    found = class_probabilities(OnlyPredicts(), names, X)
    np.testing.assert_allclose(found[0], np.where(names == "low", 0.9, 0.05))


def test_scoring_by_name():
    X, y = problem(n=40, d=4)
    options = {"n_draws": 19, "cv": 2}
    by_loss = selector(**options).fit(X, y)
    by_score = selector(scoring="neg_mean_squared_error", **options).fit(X, y)
    np.testing.assert_allclose(by_score.p_values_, by_loss.p_values_)
    absolute = selector(scoring="neg_mean_absolute_error", **options).fit(X, y)
    assert (absolute.p_values_ != by_loss.p_values_).any()
    X, y = classes()
    knn = selector(KNeighborsClassifier(9), n_draws=9, scoring="accuracy", cv=2).fit(X, y)
    assert knn.p_values_[2] == pytest.approx(0.1)


def test_groups_share_a_p_value():
    rng = np.random.default_rng(2)
    level = rng.integers(0, 4, size=120)
    X = np.column_stack([np.eye(4)[level], rng.normal(size=(120, 2))])
    y = np.array([0.0, 1.0, 2.0, 0.0])[level] + 0.5 * rng.normal(size=120)
    fitted = selector(feature_groups=[[0, 1, 2, 3], [4], [5]], fdr=0.02).fit(X, y)
    assert fitted.support_.tolist() == [True] * 4 + [False] * 2
    assert len(np.unique(fitted.p_values_[:4])) == 1
    assert fitted.n_draws_ == 199


def test_a_sampler_of_the_users_is_asked():
    X, y = problem(d=3)
    asked = []

    def sampler(X, columns, rng):
        asked.append(int(columns[0]))
        return rng.permutation(X[:, columns])

    selector(sampler=sampler, n_draws=19).fit(X, y - X[:, 1])
    assert set(asked) == {0, 1, 2}


def test_weights_are_copies():
    X, y = problem(n=40)
    counts = np.random.default_rng(1).integers(0, 4, size=40)
    weighted = selector(n_draws=99).fit(X, y, sample_weight=counts)
    copied = selector(n_draws=99).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighted.p_values_, copied.p_values_)


def test_order_of_rows_and_columns_does_not_matter():
    X, y = problem()
    X[:, 6] = np.round(X[:, 6])
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(80), rng.permutation(8)
    plain = selector(n_draws=99).fit(X, y).p_values_
    permuted = selector(n_draws=99).fit(X[rows][:, columns], y[rows]).p_values_
    np.testing.assert_allclose(permuted, plain[columns])


def test_seeds_decide_and_workers_do_not():
    X, y = problem(n=40, d=4)
    y = y + 2 * np.random.default_rng(0).normal(size=40)
    options = {"estimator": SGDRegressor(max_iter=5, tol=None), "n_draws": 99, "cv": 3}
    one, again, two = (
        selector(random_state=1, n_jobs=n, **options).fit(X, y) for n in (1, None, 2)
    )
    for same in (again, two):
        np.testing.assert_array_equal(same.p_values_, one.p_values_)
    assert (selector(random_state=2, **options).fit(X, y).p_values_ != one.p_values_).any()


def test_folds_of_the_users_are_of_the_input_rows():
    X, y = problem(n=40, d=3)
    weights = np.ones(40)
    weights[::5] = 0.0
    seen = []

    class Recorder(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            seen.append(set(y))
            return super().fit(X, y, sample_weight)

    folds = list(KFold(2).split(X))
    for cv in (folds, KFold(2)):
        seen.clear()
        selector(Recorder(), cv=cv, n_draws=9).fit(X, y, weights)
        assert seen == [set(y[train[weights[train] > 0]]) for train, _ in folds]
    seen.clear()
    selector(Recorder(), cv=2, n_draws=9).fit(X, y, groups=np.arange(40) // 20)
    assert {frozenset(s) for s in seen} == {frozenset(y[:20]), frozenset(y[20:])}
    empty = [(np.arange(1, 40), np.array([0]))]  # row 0 has weight 0
    with pytest.raises(InvalidDataError, match="non-zero weight; one has none"):
        selector(cv=empty).fit(X, y, weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fdr": 0}, "fdr must be a number strictly between 0 and 1"),
        ({"n_draws": 0}, "n_draws must be a positive"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"sampler": "knockoffs"}, "sampler must be"),
        ({"estimator": SelectKBest()}, "an estimator that predicts"),
        ({"feature_groups": [[0], [99]]}, "feature_groups names column 99"),
    ],
)
def test_parameters_are_checked(options, message):
    X, y = problem()
    with pytest.raises(InvalidParameterError, match=message):
        selector(**options).fit(X, y)


def test_scores_that_are_no_numbers_are_refused():
    X, y = problem(n=10, d=2)
    with (
        pytest.raises(InvalidParameterError, match="gave no number on 1 held-out rows"),
        pytest.warns(UserWarning, match="R\\^2 score is not well-defined"),
    ):
        selector(cv=10, scoring="r2").fit(X, y)


def test_names():
    X, y = problem()
    frame = pd.DataFrame(X, columns=[f"c{a}" for a in range(8)])
    fitted = selector(fdr=0.02, feature_groups=list("abcdbefg"), n_draws=499).fit(frame, y)
    assert fitted.get_feature_names_out().tolist() == ["c1", "c4"]
