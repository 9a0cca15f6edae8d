"""Stability selection, knockoffs and randomisation tests around other people's estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectFromModel, SelectKBest, f_regression
from sklearn.linear_model import (
    Lasso,
    LassoCV,
    LassoLarsIC,
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDRegressor,
)
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.error_control import (
    KnockoffSelector,
    RandomizationTest,
    StabilitySelection,
    WeightedRows,
    _losses,
    class_probabilities,
)
from nablasso.inference import adjusted_p_values, false_selection_bound
from nablasso.progress import reporting

# --------------------------------------------------------------------------------- stability


def stability_problem(seed=0, n=80, d=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2 * X[:, 1] - 2 * X[:, 4] + 0.5 * rng.normal(size=n)


def stability(estimator=None, **options):
    options = {"n_pairs": 10, "random_state": 0, **options}
    return StabilitySelection(Lasso(0.2) if estimator is None else estimator, **options)


def test_the_relevant_variables_are_found():
    X, y = stability_problem()
    fitted = stability().fit(X, y)
    assert np.flatnonzero(fitted.support_).tolist() == [1, 4]
    assert fitted.selection_probabilities_[[1, 4]].tolist() == [1.0, 1.0]
    assert fitted.average_selected_ == pytest.approx(fitted.selection_probabilities_.sum())
    assert fitted.transform(X).shape == (80, 2)
    assert fitted.threshold_ == 0.6


def test_bounds_are_those_of_the_functions():
    X, y = stability_problem()
    fitted = stability(assumption="worst-case").fit(X, y)
    q = fitted.average_selected_
    bound = false_selection_bound(0.6, q, 12, 10, "worst-case")
    assert fitted.expected_false_selections_ == pytest.approx(bound)


def test_max_expected_false_raises_the_threshold():
    X, y = stability_problem()
    loose = stability().fit(X, y)
    strict = stability(max_expected_false=0.5 * loose.expected_false_selections_).fit(X, y)
    assert strict.threshold_ > loose.threshold_
    assert strict.expected_false_selections_ <= 0.5 * loose.expected_false_selections_
    assert strict.support_[[1, 4]].all()


def test_an_impossible_bound_selects_nothing_and_says_so():
    X, y = stability_problem()
    with pytest.warns(UserWarning, match="selects .* of 12 variables on a half"):
        fitted = stability(Lasso(1e-4), max_expected_false=1e-6).fit(X, y)
    assert not fitted.support_.any()
    assert fitted.expected_false_selections_ == 0.0


@pytest.mark.parametrize(
    "estimator",
    [
        SelectKBest(f_regression, k=2),
        SelectFromModel(RandomForestRegressor(10, random_state=0), max_features=2),
        make_pipeline(StandardScaler(), Lasso(0.1)),
        make_pipeline(SelectKBest(f_regression, k=3), Lasso(0.2)),
        LassoLarsIC("bic"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_estimators_that_say_what_they_choose(estimator):
    X, y = stability_problem()
    fitted = stability(estimator, n_pairs=4, threshold=0.9).fit(X, y)
    assert np.flatnonzero(fitted.support_).tolist() == [1, 4]


@pytest.mark.parametrize(
    "estimator",
    [KNeighborsRegressor(), make_pipeline(PCA(), LinearRegression()), KMeans(2, n_init=1)],
    ids=lambda e: type(e).__name__,
)
def test_estimators_that_do_not_are_refused(estimator):
    X, y = stability_problem()
    with pytest.raises(InvalidParameterError, match="does not say which columns it chooses"):
        stability(estimator).fit(X, y)


def test_what_cannot_be_fitted_is_refused():
    X, y = stability_problem()
    with pytest.raises(InvalidParameterError, match="estimator with a fit method"):
        StabilitySelection("lasso").fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.5}, "above 0.5"),
        ({"threshold": "high"}, "above 0.5"),
        ({"n_pairs": 0}, "n_pairs must be a whole number"),
        ({"max_expected_false": -1}, "max_expected_false must be a positive"),
        ({"assumption": "none"}, "assumption must be one of"),
    ],
)
def test_parameters_are_checked(options, message):
    X, y = stability_problem()
    with pytest.raises(InvalidParameterError, match=message):
        stability(**options).fit(X, y)


def test_classes_by_name_are_divided_evenly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    y = np.where(X[:, 2] > 1.2, "rare", "common")  # one half without "rare" would not fit
    assert 3 <= np.sum(y == "rare") <= 9
    estimator = LinearSVC(C=0.3, penalty="l1", dual=False)
    fitted = stability(estimator, n_pairs=20).fit(X, y)
    assert np.argmax(fitted.selection_probabilities_) == 2


def test_weights_are_copies():
    X, y = stability_problem(n=40)
    counts = np.random.default_rng(1).integers(0, 4, size=40)
    weighted = stability().fit(X, y, sample_weight=counts)
    copied = stability().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(
        weighted.selection_probabilities_, copied.selection_probabilities_
    )
    plain = stability().fit(X, y)
    assert (plain.selection_probabilities_ != weighted.selection_probabilities_).any()


def test_each_half_gets_the_weights_of_its_rows():
    X, y = stability_problem(n=41)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=41)
    weight_of = dict(zip(y, weights, strict=True))
    seen = []

    class Recorder(Lasso):
        def fit(self, X, y, sample_weight=None):
            seen.append((y, sample_weight))
            return super().fit(X, y, sample_weight)

    stability(Recorder(0.2), n_pairs=3).fit(X, y, weights)
    assert len(seen) == 6
    for targets, passed in seen:
        assert len(targets) == 20
        np.testing.assert_array_equal(passed, [weight_of[target] for target in targets])


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y = stability_problem(n=40)
    counts = np.random.default_rng(1).integers(1, 4, size=40)
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), Lasso(0.2))
    found = stability(pipeline).fit(X, y, counts).selection_probabilities_
    np.testing.assert_array_equal(found, stability().fit(X, y, counts).selection_probabilities_)
    assert (found != stability(pipeline).fit(X, y).selection_probabilities_).any()


def test_weights_need_an_estimator_that_takes_them():
    X, y = stability_problem()
    with pytest.raises(InvalidParameterError, match="LassoLarsIC takes no sample_weight"):
        stability(LassoLarsIC()).fit(X, y, np.arange(80))
    twice = np.full(80, 2.0)  # says nothing
    assert stability(LassoLarsIC()).fit(X, y, twice).support_[[1, 4]].all()


def test_order_of_rows_and_columns_does_not_matter():
    X, y = stability_problem()
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(80), rng.permutation(12)
    plain = stability(Lasso(0.05)).fit(X, y).selection_probabilities_
    permuted = stability(Lasso(0.05)).fit(X[rows][:, columns], y[rows]).selection_probabilities_
    np.testing.assert_array_equal(permuted, plain[columns])


def test_seeds_decide_and_workers_do_not():
    X, y = stability_problem()
    forest = SelectFromModel(RandomForestRegressor(3))
    y = y + 4 * np.random.default_rng(0).normal(size=80)
    options = {"n_pairs": 3, "threshold": 0.7}
    one, again, two = (
        stability(forest, random_state=1, n_jobs=n, **options).fit(X, y) for n in (1, None, 2)
    )
    other = stability(forest, random_state=2, **options).fit(X, y)
    for same in (again, two):
        np.testing.assert_array_equal(same.selection_probabilities_, one.selection_probabilities_)
    assert (other.selection_probabilities_ != one.selection_probabilities_).any()


def test_names_and_progress():
    X, y = stability_problem()
    frame = pd.DataFrame(X, columns=[f"c{a}" for a in range(12)])
    seen = []
    with reporting(seen.append):
        fitted = stability().fit(frame, y)
    assert fitted.get_feature_names_out().tolist() == ["c1", "c4"]
    assert seen[-1][:3] == ("half-samples", 20, 20)


# --------------------------------------------------------------------------------- knockoffs


def knockoffs_problem(seed=0, n=120, d=24, relevant=10, rho=0.4):
    rng = np.random.default_rng(seed)
    S = rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    X = rng.normal(size=(n, d)) @ np.linalg.cholesky(S).T
    true = np.zeros(d, dtype=bool)
    true[rng.choice(d, relevant, replace=False)] = True
    return X, X[:, true].sum(axis=1) + rng.normal(size=n), true


def knockoffs(estimator=None, **options):
    estimator = Lasso(0.05) if estimator is None else estimator
    return KnockoffSelector(estimator, **{"random_state": 0, **options})


def test_false_discoveries_and_power():
    proportions, power = [], []
    for seed in range(20):
        X, y, true = knockoffs_problem(seed)
        found = knockoffs(fdr=0.2, random_state=seed).fit(X, y).support_
        proportions.append((found & ~true).sum() / max(1, found.sum()))
        power.append(found[true].mean())
    error = np.std(proportions) / np.sqrt(len(proportions))
    assert np.mean(proportions) <= 0.2 + 2 * error
    assert np.mean(power) >= 0.9


def test_statistics_of_nulls_have_fair_signs():
    signs = []
    for seed in range(15):
        X, y, true = knockoffs_problem(seed)
        W = knockoffs(Lasso(0.01), fdr=0.2, random_state=seed).fit(X, y).knockoff_statistics_
        signs.append(np.sign(W[~true & (W != 0)]))
    signs = np.concatenate(signs)
    assert abs(signs.mean()) <= 3 / np.sqrt(signs.size)


def test_selection_is_by_the_threshold():
    X, y, _ = knockoffs_problem()
    fitted = knockoffs(fdr=0.2).fit(X, y)
    np.testing.assert_array_equal(fitted.support_, fitted.knockoff_statistics_ >= fitted.threshold_)
    assert fitted.transform(X).shape == (120, fitted.support_.sum())
    assert fitted.estimator_.n_features_in_ == 48


def test_too_few_to_select_is_said_with_numbers():
    X, y, _ = knockoffs_problem(relevant=2)
    with pytest.warns(UserWarning, match=r"fewer than 1 / fdr = 10 selections.* of 24 variables"):
        fitted = knockoffs(fdr=0.1).fit(X, y)
    assert not fitted.support_.any()
    assert fitted.threshold_ == np.inf
    with pytest.warns(UserWarning, match="0 of 24 variables are ahead"):
        knockoffs(Lasso(100.0), fdr=0.1).fit(X, y)


def test_more_columns_than_rows_and_constant_ones():
    X, y, true = knockoffs_problem(n=60, d=90, relevant=8)
    X[:, ~true] = np.where(np.arange((~true).sum()) == 0, 7.0, X[:, ~true])
    fitted = knockoffs(LassoCV(alphas=np.geomspace(1.0, 0.01, 10), cv=3), fdr=0.3).fit(X, y)
    assert fitted.support_[true].mean() >= 0.5
    assert fitted.knockoff_statistics_[np.flatnonzero(~true)[0]] == 0.0


@pytest.mark.parametrize(
    "estimator",
    [RandomForestRegressor(60, max_features=0.3), make_pipeline(StandardScaler(), Lasso(0.05))],
    ids=lambda e: type(e).__name__,
)
def test_importances_and_coefficients(estimator):
    X, y, true = knockoffs_problem(n=150, d=12, relevant=5, rho=0.1)
    fitted = knockoffs(estimator, fdr=0.3).fit(X, y)
    assert fitted.support_[true].mean() >= 0.6


def test_classes_by_name():
    X, y, true = knockoffs_problem(n=200, relevant=8)
    y = np.where(y > 0, "yes", "no")
    fitted = knockoffs(LinearSVC(C=0.1, penalty="l1", dual=False), fdr=0.3)
    assert fitted.fit(X, y).support_[true].mean() >= 0.5


def test_weights_are_copies_of_knockoffs():
    X, y, _ = knockoffs_problem(n=60)
    counts = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = knockoffs(fdr=0.2).fit(X, y, sample_weight=counts)
    copied = knockoffs(fdr=0.2).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighted.knockoff_statistics_, copied.knockoff_statistics_)


def test_order_of_rows_and_columns_does_not_matter_of_knockoffs():
    X, y, _ = knockoffs_problem()
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(120), rng.permutation(24)
    tight = Lasso(0.05, tol=1e-12)
    plain = knockoffs(tight, fdr=0.2).fit(X, y).knockoff_statistics_
    permuted = knockoffs(tight, fdr=0.2).fit(X[rows][:, columns], y[rows]).knockoff_statistics_
    np.testing.assert_allclose(permuted, plain[columns], atol=1e-6)


def test_seeds_decide():
    X, y, _ = knockoffs_problem()
    forest = RandomForestRegressor(5)
    one, same, other = (knockoffs(forest, fdr=0.3, random_state=s).fit(X, y) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.knockoff_statistics_, same.knockoff_statistics_)
    assert (one.knockoff_statistics_ != other.knockoff_statistics_).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fdr": 1.0}, "fdr must be a number strictly between 0 and 1"),
        ({"estimator": SelectKBest(f_regression, k=3)}, "has no coef_ or importances"),
    ],
)
def test_parameters_are_checked_of_knockoffs(options, message):
    X, y, _ = knockoffs_problem()
    with pytest.raises(InvalidParameterError, match=message):
        knockoffs(**options).fit(X, y)


def test_names():
    X, y, _ = knockoffs_problem()
    frame = pd.DataFrame(X, columns=[f"c{a}" for a in range(24)])
    fitted = knockoffs(fdr=0.2).fit(frame, y)
    assert set(fitted.get_feature_names_out()) == {f"c{a}" for a in np.flatnonzero(fitted.support_)}


# ----------------------------------------------------------------------------- randomization


def randomization_problem(seed=0, n=80, d=8):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 1] - X[:, d // 2] + 0.5 * rng.normal(size=n)


def randomization(estimator=None, **options):
    estimator = LinearRegression() if estimator is None else estimator
    return RandomizationTest(estimator, **{"random_state": 0, **options})


def test_easy_problems_are_solved():
    for seed in range(3):
        X, y = randomization_problem(seed)
        fitted = randomization(fdr=0.01, n_draws=999).fit(X, y)
        assert np.flatnonzero(fitted.support_).tolist() == [1, 4]
        assert fitted.p_values_[[1, 4]] == pytest.approx([1e-3, 1e-3])


def test_adjusted_p_values_decide():
    X, y = randomization_problem()
    fitted = randomization(fdr=0.2).fit(X, y)
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
        found = randomization(fdr=0.2, n_draws=199, random_state=seed).fit(X, y).support_
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
        found = randomization(random_state=seed).fit(X, y).support_
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
    X, y = randomization_problem(d=4, n=60)
    y = 3 * np.sign(X[:, 1]) + 0.3 * y
    fitted = randomization(estimator, n_draws=39, cv=3).fit(X, y)
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
    fitted = randomization(estimator, n_draws=99, cv=3).fit(X, y)
    assert fitted.p_values_[2] == pytest.approx(0.01)
    assert fitted.p_values_[[0, 1, 3]].min() > 0.01


def test_probabilities_from_what_a_classifier_has():
    X, y = classes()
    two = y != "low"
    proba = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(class_probabilities(proba, X), proba.predict_proba(X))
    for margin in (RidgeClassifier().fit(X[two], y[two]), RidgeClassifier().fit(X, y)):
        found = class_probabilities(margin, X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        best = margin.classes_[np.argmax(found, axis=1)]
        np.testing.assert_array_equal(best, margin.predict(X))


def test_losses_are_weighted_and_an_impossible_class_costs_a_number():
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(5, 2)), np.array([0.0, 1, 1, 0, 1]), rng.random(5)
    rows = WeightedRows(X, y, y, w, np.arange(5), np.arange(2))
    model, some = LinearRegression().fit(X, y), np.array([3, 1])
    expected = w[some] * (y[some] - model.predict(X[some])) ** 2
    np.testing.assert_allclose(_losses(model, rows, False, X[some], some), expected)

    class Sure:
        def predict_proba(self, X):
            return np.tile([1.0, 0.0], (len(X), 1))

    found = _losses(Sure(), rows, True, X[some], some) / w[some]
    assert found[0] == 0.0
    assert 700 < found[1] < np.inf


def test_folds_without_a_class_and_classifiers_that_only_predict_are_refused():
    X, y = classes()
    order = np.argsort(y, kind="stable")
    with pytest.raises(InvalidDataError, match="rows of every class"):
        randomization(LogisticRegression(), cv=KFold(3)).fit(X[order], np.sort(y))

    class OnlyPredicts(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.full(len(X), "low")

    with pytest.raises(InvalidParameterError, match="no predict_proba or decision_function"):
        randomization(OnlyPredicts()).fit(X, y)


def test_groups_share_a_p_value():
    rng = np.random.default_rng(2)
    level = rng.integers(0, 4, size=120)
    X = np.column_stack([np.eye(4)[level], rng.normal(size=(120, 2))])
    y = np.array([0.0, 1.0, 2.0, 0.0])[level] + 0.5 * rng.normal(size=120)
    fitted = randomization(feature_groups=[[0, 1, 2, 3], [4], [5]], fdr=0.02).fit(X, y)
    assert fitted.support_.tolist() == [True] * 4 + [False] * 2
    assert len(np.unique(fitted.p_values_[:4])) == 1
    assert fitted.n_draws_ == 199


def test_a_sampler_of_the_users_is_asked():
    X, y = randomization_problem(d=3)
    asked = []

    def sampler(X, columns, rng):
        asked.append(int(columns[0]))
        return rng.permutation(X[:, columns])

    randomization(sampler=sampler, n_draws=19).fit(X, y - X[:, 1])
    assert set(asked) == {0, 1, 2}


def test_weights_are_copies_of_randomization():
    X, y = randomization_problem(n=40)
    counts = np.random.default_rng(1).integers(0, 4, size=40)
    weighted = randomization(n_draws=99).fit(X, y, sample_weight=counts)
    copied = randomization(n_draws=99).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighted.p_values_, copied.p_values_)


def test_order_of_rows_and_columns_does_not_matter_of_randomization():
    X, y = randomization_problem()
    X[:, 6] = np.round(X[:, 6])
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(80), rng.permutation(8)
    plain = randomization(n_draws=99).fit(X, y).p_values_
    permuted = randomization(n_draws=99).fit(X[rows][:, columns], y[rows]).p_values_
    np.testing.assert_allclose(permuted, plain[columns])


def test_seeds_decide_and_workers_do_not_of_randomization():
    X, y = randomization_problem(n=40, d=4)
    y = y + 2 * np.random.default_rng(0).normal(size=40)
    options = {"estimator": SGDRegressor(max_iter=5, tol=None), "n_draws": 99, "cv": 3}
    one, again, two = (
        randomization(random_state=1, n_jobs=n, **options).fit(X, y) for n in (1, None, 2)
    )
    for same in (again, two):
        np.testing.assert_array_equal(same.p_values_, one.p_values_)
    assert (randomization(random_state=2, **options).fit(X, y).p_values_ != one.p_values_).any()


def test_folds_of_the_users_are_of_the_input_rows():
    X, y = randomization_problem(n=40, d=3)
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
        randomization(Recorder(), cv=cv, n_draws=9).fit(X, y, weights)
        assert seen == [set(y[train[weights[train] > 0]]) for train, _ in folds]
    seen.clear()
    randomization(Recorder(), cv=2, n_draws=9).fit(X, y, groups=np.arange(40) // 20)
    assert {frozenset(s) for s in seen} == {frozenset(y[:20]), frozenset(y[20:])}
    empty = [(np.arange(1, 40), np.array([0]))]  # row 0 has weight 0
    with pytest.raises(InvalidDataError, match="non-zero weight; one has 32 and 0"):
        randomization(cv=empty).fit(X, y, weights)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fdr": 0}, "fdr must be a number strictly between 0 and 1"),
        ({"n_draws": 0}, "n_draws must be a whole number"),
        ({"cv": 1}, "cv must be between 2"),
        ({"sampler": "knockoffs"}, "sampler must be"),
        ({"estimator": SelectKBest()}, "an estimator that predicts"),
        ({"feature_groups": [[0], [99]]}, "feature_groups names column 99"),
    ],
)
def test_parameters_are_checked_of_randomization(options, message):
    X, y = randomization_problem()
    with pytest.raises(InvalidParameterError, match=message):
        randomization(**options).fit(X, y)


def test_names_of_randomization():
    X, y = randomization_problem()
    frame = pd.DataFrame(X, columns=[f"c{a}" for a in range(8)])
    fitted = randomization(fdr=0.02, feature_groups=list("abcdbefg"), n_draws=499).fit(frame, y)
    assert fitted.get_feature_names_out().tolist() == ["c1", "c4"]
