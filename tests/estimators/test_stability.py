"""StabilitySelection around other people's estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectFromModel, SelectKBest, f_regression
from sklearn.linear_model import Lasso, LassoLarsIC, LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nablasso.errors import InvalidParameterError
from nablasso.estimators.error_control import StabilitySelection
from nablasso.inference import false_selection_bound
from nablasso.progress import reporting


def problem(seed=0, n=80, d=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2 * X[:, 1] - 2 * X[:, 4] + 0.5 * rng.normal(size=n)


def selector(estimator=None, **options):
    options = {"n_pairs": 10, "random_state": 0, **options}
    return StabilitySelection(Lasso(0.2) if estimator is None else estimator, **options)


def test_the_relevant_variables_are_found():
    X, y = problem()
    fitted = selector().fit(X, y)
    assert np.flatnonzero(fitted.support_).tolist() == [1, 4]
    assert fitted.selection_probabilities_[[1, 4]].tolist() == [1.0, 1.0]
    assert fitted.average_selected_ == pytest.approx(fitted.selection_probabilities_.sum())
    assert fitted.transform(X).shape == (80, 2)
    assert fitted.threshold_ == 0.6


def test_bounds_are_those_of_the_functions():
    X, y = problem()
    fitted = selector(assumption="unimodal").fit(X, y)
    q = fitted.average_selected_
    for assumption, bound in fitted.false_selection_bounds_.items():
        assert bound == pytest.approx(false_selection_bound(0.6, q, 12, 10, assumption))
    assert fitted.expected_false_selections_ == fitted.false_selection_bounds_["unimodal"]


def test_max_expected_false_raises_the_threshold():
    X, y = problem()
    loose = selector().fit(X, y)
    strict = selector(max_expected_false=0.5 * loose.expected_false_selections_).fit(X, y)
    assert strict.threshold_ > loose.threshold_
    assert strict.expected_false_selections_ <= 0.5 * loose.expected_false_selections_
    assert strict.support_[[1, 4]].all()


def test_an_impossible_bound_selects_nothing_and_says_so():
    X, y = problem()
    with pytest.warns(UserWarning, match="selects .* of 12 variables on a half"):
        fitted = selector(Lasso(1e-4), max_expected_false=1e-6).fit(X, y)
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
    X, y = problem()
    fitted = selector(estimator, n_pairs=4, threshold=0.9).fit(X, y)
    assert np.flatnonzero(fitted.support_).tolist() == [1, 4]


@pytest.mark.parametrize(
    "estimator",
    [KNeighborsRegressor(), make_pipeline(PCA(), LinearRegression()), KMeans(2, n_init=1)],
    ids=lambda e: type(e).__name__,
)
def test_estimators_that_do_not_are_refused(estimator):
    X, y = problem()
    with pytest.raises(InvalidParameterError, match="does not say which columns it chooses"):
        selector(estimator).fit(X, y)


def test_what_cannot_be_fitted_is_refused():
    X, y = problem()
    with pytest.raises(InvalidParameterError, match="estimator with a fit method"):
        StabilitySelection("lasso").fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 0.5}, "above 0.5"),
        ({"threshold": "high"}, "above 0.5"),
        ({"n_pairs": 0}, "n_pairs must be a positive"),
        ({"max_expected_false": -1}, "max_expected_false must be a positive"),
        ({"assumption": "none"}, "assumption must be one of"),
    ],
)
def test_parameters_are_checked(options, message):
    X, y = problem()
    with pytest.raises(InvalidParameterError, match=message):
        selector(**options).fit(X, y)


def test_classes_by_name_are_divided_evenly():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    y = np.where(X[:, 2] > 1.2, "rare", "common")  # one half without "rare" would not fit
    assert 3 <= np.sum(y == "rare") <= 9
    estimator = LogisticRegression(C=1.0, l1_ratio=1.0, solver="liblinear")
    fitted = selector(estimator, n_pairs=20).fit(X, y)
    assert np.argmax(fitted.selection_probabilities_) == 2


def test_weights_are_copies():
    X, y = problem(n=40)
    counts = np.random.default_rng(1).integers(0, 4, size=40)
    weighted = selector().fit(X, y, sample_weight=counts)
    copied = selector().fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(
        weighted.selection_probabilities_, copied.selection_probabilities_
    )
    plain = selector().fit(X, y)
    assert (plain.selection_probabilities_ != weighted.selection_probabilities_).any()


def test_each_half_gets_the_weights_of_its_rows():
    X, y = problem(n=41)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=41)
    weight_of = dict(zip(y, weights, strict=True))
    seen = []

    class Recorder(Lasso):
        def fit(self, X, y, sample_weight=None):
            seen.append((y, sample_weight))
            return super().fit(X, y, sample_weight)

    selector(Recorder(0.2), n_pairs=3).fit(X, y, weights)
    assert len(seen) == 6
    for targets, passed in seen:
        assert len(targets) == 20
        np.testing.assert_array_equal(passed, [weight_of[target] for target in targets])


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y = problem(n=40)
    counts = np.random.default_rng(1).integers(1, 4, size=40)
    pipeline = make_pipeline(StandardScaler(with_mean=False, with_std=False), Lasso(0.2))
    found = selector(pipeline).fit(X, y, counts).selection_probabilities_
    np.testing.assert_array_equal(found, selector().fit(X, y, counts).selection_probabilities_)
    assert (found != selector(pipeline).fit(X, y).selection_probabilities_).any()


def test_weights_need_an_estimator_that_takes_them():
    X, y = problem()
    with pytest.raises(InvalidParameterError, match="LassoLarsIC takes no sample_weight"):
        selector(LassoLarsIC()).fit(X, y, np.arange(80))
    twice = np.full(80, 2.0)  # says nothing
    assert selector(LassoLarsIC()).fit(X, y, twice).support_[[1, 4]].all()


def test_order_of_rows_and_columns_does_not_matter():
    X, y = problem()
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(80), rng.permutation(12)
    plain = selector(Lasso(0.05)).fit(X, y).selection_probabilities_
    permuted = selector(Lasso(0.05)).fit(X[rows][:, columns], y[rows]).selection_probabilities_
    np.testing.assert_array_equal(permuted, plain[columns])


def test_seeds_decide_and_workers_do_not():
    X, y = problem()
    forest = SelectFromModel(RandomForestRegressor(3))
    y = y + 4 * np.random.default_rng(0).normal(size=80)
    options = {"n_pairs": 3, "threshold": 0.7}
    one, again, two = (
        selector(forest, random_state=1, n_jobs=n, **options).fit(X, y) for n in (1, None, 2)
    )
    other = selector(forest, random_state=2, **options).fit(X, y)
    for same in (again, two):
        np.testing.assert_array_equal(same.selection_probabilities_, one.selection_probabilities_)
    assert (other.selection_probabilities_ != one.selection_probabilities_).any()


def test_names_and_progress():
    X, y = problem()
    frame = pd.DataFrame(X, columns=[f"c{a}" for a in range(12)])
    seen = []
    with reporting(seen.append):
        fitted = selector().fit(frame, y)
    assert fitted.get_feature_names_out().tolist() == ["c1", "c4"]
    assert seen[-1][:3] == ("half-samples", 20, 20)
