"""The automatic regressor: what it promises, on cheap problems."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nablasso import NablassoRegressor
from nablasso.data.table import prepare
from nablasso.errors import InvalidParameterError
from nablasso.estimators import automatic, outcome
from nablasso.kernels import Gaussian, Polynomial
from nablasso.regression.models import FAMILIES
from nablasso.rules import Rules
from tests.dense_reference import DenseProblem, cvxpy_optimum

N, D = 50, 6


def problem(seed=0, n=N, d=D):
    """``x0 x1 + x2``: a quadratic of three columns, in units that are not standardised."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = 3.0 + 2 * (X[:, 0] * X[:, 1] + X[:, 2]) + 0.1 * rng.normal(size=n)
    return X * np.linspace(0.5, 4.0, d) + 1.0, y


def regressor(kernel="polynomial", **options):
    return NablassoRegressor(kernel, **options)


@cache
def fitted():
    return regressor().fit(*problem())


# -------------------------------------------------------------------------- selection


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kernel", ["polynomial", Polynomial(2, 0.3)], ids=str)
def test_the_support_of_an_easy_problem(kernel, seed):
    X, y = problem(seed)
    model = regressor(kernel).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0, 1, 2])
    assert model.selection_status_ == "clear"
    np.testing.assert_array_equal(model.transform(X), X[:, :3])
    X_new, y_new = problem(seed + 50)
    assert model.score(X_new, y_new) > 0.95
    assert model.loo_r2_ > 0.9


def test_the_support_is_found_with_all_families():
    model = NablassoRegressor().fit(*problem())
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0, 1, 2])
    assert {one["family"] for one in model.tried_} == {family.name for family in FAMILIES}
    prices = [one["price"] for one in model.tried_]
    assert prices == sorted(prices)
    assert model.family_ == model.tried_[0]["family"] == "quadratic"
    assert model.tried_[0]["columns"] == [0, 1, 2]


def test_what_the_answer_rests_on():
    model = fitted()
    assert (model.evidence_[:3] > 30).all()  # nats: noise of a twentieth of the signal
    assert (model.clear_by_[:3] > Rules().clearly).all()
    np.testing.assert_array_equal(model.evidence_[3:], 0.0)
    assert np.isnan(model.clear_by_[3:]).all()
    assert model.assumptions_ == []
    assert model.n_rows_searched_ == N
    text = model.summary()
    assert f"x2 ({model.feature_importances_[2]:.0%}, {model.evidence_[2]:.0f} nats)" in text
    assert f"R2 {model.answer_.accuracy.r2:.3f}" in text
    assert model.answer_.accuracy.r2 == pytest.approx(model.loo_r2_, abs=1e-3)
    assert f"each of {N} rows predicted from the others" in text


def test_the_best_other_set_is_told():
    model = NablassoRegressor().fit(*problem())
    columns, lost = model.runner_up_
    assert columns != [0, 1, 2]
    prices = {
        own: min(one["price"] for one in model.tried_ if (one["columns"] == [0, 1, 2]) is own)
        for own in (True, False)
    }
    least = model.evidence_[:3].min()  # without the one that is worth least
    assert lost == pytest.approx(min(prices[False] - prices[True], least))
    assert "Nearly as good" not in model.summary()
    model.runner_up_ = ([2], 1.25)
    assert f"Nearly as good on {N} rows: x2 (behind by 1.2 nats)." in model.summary()
    model.runner_up_ = ([], 1.25)
    assert f"Nearly as good on {N} rows: no column at all" in model.summary()


@pytest.mark.parametrize("seed", range(4))
def test_pure_noise_selects_nothing(seed):
    X, _ = problem(seed)
    y = np.random.default_rng(1000 + seed).normal(size=N)
    model = regressor().fit(X, y)
    assert not model.support_.any()
    assert model.selection_status_ == "none found"
    np.testing.assert_allclose(model.predict(X), y.mean())


@pytest.mark.slow
def test_pure_noise_selects_nothing_with_all_families():
    found = []
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(60, 10))
        y = np.random.default_rng(1000 + seed).normal(size=60)
        found.append(NablassoRegressor().fit(X, y).support_.any())
    assert np.mean(found) <= 0.2


def test_a_constant_target():
    X, _ = problem()
    model = regressor().fit(X, np.full(N, 0.1))
    assert model.selection_status_ == "constant target"
    np.testing.assert_allclose(model.predict(X), 0.1, rtol=1e-12)
    np.testing.assert_array_equal(model.predict_gradient(X), 0.0)
    assert "nothing to explain" in model.summary()
    assert model.relative_gap_ == 0.0
    for options in ({"always_keep": [1]}, {"cv": 3}, {"fdr": 0.1}):
        model = regressor(**options).fit(X, np.full(N, 0.1))
        np.testing.assert_allclose(model.predict(X), 0.1, rtol=1e-12)


@pytest.mark.parametrize("y", [np.ones(900), np.eye(900)[5]], ids=["constant", "one row differs"])
def test_what_is_kept_of_many_rows_explains_nothing_of_a_constant_target(y):
    X = np.random.default_rng(0).normal(size=(900, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = NablassoRegressor(always_keep=[0]).fit(X, y)
    assert model.support_.tolist() == [True, False, False]
    np.testing.assert_allclose(model.predict(X[:3]), np.median(y), atol=0.01)


def test_constant_columns_are_never_selected():
    X, y = problem()
    X[:, 4] = 7.0
    model = regressor(always_keep=[4, 5]).fit(X, y)
    assert not model.support_[4]
    assert model.support_[5]
    assert model.feature_kinds_[4] == "constant"
    assert model.feature_kinds_[0] == "continuous"
    nothing = regressor().fit(np.ones((N, 3)), y)
    assert nothing.selection_status_ == "none found"
    np.testing.assert_allclose(nothing.predict(np.zeros((2, 3))), y.mean())


@pytest.mark.parametrize("form", ["lists", "labels", "mapping"])
def test_groups_are_selected_together(form):
    X, y = problem()
    groups = {
        "lists": [[0, 5], [1], [2], [3, 4]],
        "labels": ["a", "b", "c", "d", "d", "a"],
        "mapping": {"a": ["x0", "x5"], "b": "x1", "c": ["x2"], "d": ["x3", "x4"]},
    }[form]
    model = regressor(feature_groups=groups).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0, 1, 2, 5])
    assert model.evidence_[0] == model.evidence_[5] > 10


def test_columns_to_keep_stay():
    X, y = problem()
    model = regressor(always_keep=[4]).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0, 1, 2, 4])
    everything = regressor(always_keep=list(range(D))).fit(X, y)
    assert everything.support_.all()
    np.testing.assert_array_equal(everything.evidence_, 0.0)  # nothing was to be decided
    with pytest.raises(InvalidParameterError, match=r"always_keep names column 9"):
        regressor(always_keep=[9]).fit(X, y)


def test_at_most_so_many():
    X, y = problem()
    assert regressor(max_features=2).fit(X, y).support_.sum() <= 2
    y = X @ [3.0, 2.0, 1.0, 0.0, 0.0, 0.0]
    model = regressor("linear", max_features=2).fit(X, y)
    assert model.support_.sum() == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_features": 0}, r"max_features must be a whole number of at least 1.*got 0"),
        ({"max_features": 1.5}, r"max_features must be a whole number of at least 1.*got 1.5"),
        ({"fdr": 0.0}, r"fdr must be a number strictly between 0 and 1.*or None; got 0.0"),
        ({"fdr": 1.5}, r"fdr must be a number strictly between 0 and 1.*or None; got 1.5"),
        ({"cv": 1}, r"cv must be between 2 and the number of distinct rows, 50; got 1"),
        ({"cv": 51}, r"cv must be between 2 and the number of distinct rows, 50; got 51"),
        ({"kernel": "cubic"}, r"kernel must be one of"),
        ({"rules": 3}, r"rules must be a .*Rules, or None; got 3"),
    ],
)
def test_parameters_are_checked(options, message):
    with pytest.raises(InvalidParameterError, match=message):
        regressor(**options).fit(*problem())


# -------------------------------------------------------------------------- rows and columns


def test_the_order_of_rows_and_columns_does_not_matter():
    X, y = problem()
    rows, columns = np.random.default_rng(5).permutation(N), np.array([3, 0, 5, 1, 4, 2])
    model = regressor().fit(X[rows][:, columns], y[rows])
    shares = fitted().feature_importances_[columns]
    np.testing.assert_allclose(model.feature_importances_, shares, rtol=1e-6)
    for name in ("support_", "slopes_", "scales_", "evidence_", "clear_by_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(fitted(), name)[columns])
    np.testing.assert_array_equal(model.predict(X[:, columns]), fitted().predict(X))


@pytest.mark.parametrize("key", ["target", "column"])
def test_sorted_rows_give_the_answer_of_shuffled_ones(key):
    X, y = problem()
    order = np.argsort(y if key == "target" else X[:, 0])
    model = regressor().fit(X[order], y[order])
    np.testing.assert_array_equal(model.support_, fitted().support_)
    np.testing.assert_array_equal(model.predict(X), fitted().predict(X))
    assert model.assumptions_ == []


def test_rows_in_time_are_noticed_unless_their_order_is_said_to_mean_nothing():
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=(150, 5))
    for i in range(1, 150):
        drawn[i] = 0.9 * drawn[i - 1] + np.sqrt(1 - 0.81) * drawn[i]
    X, noise = drawn[:, :4], drawn[:, 4]
    y = X[:, 0] + noise
    model = regressor("linear").fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == [0]
    assert any("serially correlated" in sentence for sentence in model.assumptions_)
    assert "serially correlated" in model.summary()
    assert regressor("linear", time=False).fit(X, y).assumptions_ == []


def test_rows_of_discrete_columns_count_each():
    """1600 rows, of which hardly more than a dozen differ: too few they are not."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(1600, 3)).astype(float)
    share = 0.3 + 0.4 * X[:, 0] * X[:, 1]
    y = (rng.uniform(size=1600) < share).astype(float)
    model = NablassoRegressor().fit(X, y)
    assert model.support_.tolist() == [True, True, False]
    assert model.selection_status_ == "clear"
    assert model.n_rows_searched_ == 1600
    assert "each of 1600 rows" in model.summary()
    few = NablassoRegressor().fit(X[:24], y[:24])
    assert few.selection_status_ != "clear"


def test_weights_are_copies():
    X, y = problem()
    weights = np.ones(N)
    weights[:15], weights[20:24] = 2.0, 0.0
    weighted = regressor().fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(N), weights.astype(int))
    copied = regressor().fit(X[rows], y[rows])
    np.testing.assert_array_equal(weighted.support_, copied.support_)
    np.testing.assert_array_equal(weighted.predict(X), copied.predict(X))
    assert not np.array_equal(weighted.predict(X), fitted().predict(X))
    all_twice = regressor().fit(X, y, sample_weight=np.full(N, 2.0))
    np.testing.assert_allclose(all_twice.predict(X), fitted().predict(X), rtol=1e-9)


def test_units_of_inputs_and_target_do_not_matter():
    X, y = problem()
    model = regressor().fit(X * 100 - 7, 1e-3 * y + 5)
    np.testing.assert_array_equal(model.support_, fitted().support_)
    expected = 1e-3 * fitted().predict(X) + 5
    np.testing.assert_allclose(model.predict(X * 100 - 7), expected, rtol=1e-6)
    np.testing.assert_allclose(model.feature_importances_, fitted().feature_importances_, rtol=1e-4)


# -------------------------------------------------------------------------- folds and scores


def folds_of(monkeypatch, model, *data, **options):
    """The rows of the table that were left out together."""
    seen = []
    decide = automatic.decide
    monkeypatch.setattr(
        automatic, "decide", lambda rows, **kw: seen.append(rows.folds) or decide(rows, **kw)
    )
    model.fit(*data, **options)
    return seen[0]


@pytest.mark.parametrize("cv", [3, KFold(3), list(KFold(3).split(np.empty((N, 1))))], ids=str)
def test_folds_as_a_number_a_splitter_or_a_list(cv, monkeypatch):
    model = regressor(cv=cv)
    folds = folds_of(monkeypatch, model, *problem())
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0, 1, 2])
    assert len(folds) == 3
    assert sorted(np.concatenate(folds)) == list(range(N))


def test_without_folds_single_rows_are_left_out(monkeypatch):
    assert folds_of(monkeypatch, regressor(), *problem()) is None


@pytest.mark.parametrize("cv", [3, GroupKFold(3)], ids=str)
def test_groups_of_rows_are_not_torn_apart(cv, monkeypatch):
    X, y = problem()
    groups = np.arange(N) % 7
    folds = folds_of(monkeypatch, regressor(cv=cv), X, y, groups=groups)
    assert len(folds) == 3
    rows = prepare(X, y, np.ones(N), standardize=True, centre_y=True).rows
    group_of = groups[np.argsort(rows)]  # of the rows of the table
    seen = [set(group_of[fold]) for fold in folds]
    assert sum(len(fold) for fold in folds) == N
    assert sum(map(len, seen)) == len(set().union(*seen)) == 7


def test_random_state_draws_the_folds(monkeypatch):
    drawn = []
    for state in (None, None, 1, 1, 2):
        with monkeypatch.context() as patch:
            folds = folds_of(patch, regressor(cv=4, random_state=state), *problem())
        drawn.append([fold.tolist() for fold in folds])
    assert drawn[0] == drawn[1]
    assert drawn[2] == drawn[3] != drawn[4]


def test_scorers_decide():
    X, y = problem()
    seen = []

    def scorer(model, X, target):
        seen.append(target)
        return -mean_absolute_error(target, model.predict(X))

    for scoring in ("r2", scorer, make_scorer(mean_absolute_error, greater_is_better=False)):
        model = regressor(scoring=scoring).fit(X, y)
        np.testing.assert_array_equal(np.flatnonzero(model.support_), [0, 1, 2])
    assert set(np.concatenate(seen).round(9)) == set(y.round(9))  # targets in the user's units
    blind = regressor(scoring=lambda model, X, y: 1.0).fit(X, y)  # the fewest are as good
    assert not blind.support_.any()


def test_scores_are_those_of_left_out_predictions():
    """Predictions for a fold are those of a fit to the other rows, in the user's units."""
    X, y = problem()
    seen = []

    def scorer(model, X, target):
        seen.append(np.abs(model.predict(X) - target).max())
        return -mean_absolute_error(target, model.predict(X))

    regressor(scoring=scorer, cv=5).fit(X, y)
    assert 0 < min(seen) < 1.0 < np.ptp(y) / 3


def test_discoveries_pay_for_their_number(monkeypatch):
    """Three p-values are under 0.2; of six, Benjamini-Hochberg lets one pass."""
    p = np.array([0.01, 0.09, 0.15, 0.8, 0.9, 0.95])
    monkeypatch.setattr(outcome, "randomization_p_values", lambda *args, **kw: p)
    model = regressor(fdr=0.2).fit(*problem())
    np.testing.assert_array_equal(np.sort(model.p_values_), p)
    np.testing.assert_array_equal(model.p_values_[model.support_], [0.01])


def test_discoveries_have_p_values():
    X, y = problem(n=60)
    X[:, 5] = 1.0
    model = regressor(fdr=0.2).fit(X, y)
    p = model.p_values_
    assert p.shape == (D,)
    assert ((p > 0) & (p <= 1)).all()
    assert p[5] == 1.0  # constant
    order = np.sort(p[:5])  # Benjamini-Hochberg by hand
    passed = np.flatnonzero(order <= 0.2 * np.arange(1, 6) / 5)
    cut = order[passed[-1]] if len(passed) else 0.0
    np.testing.assert_array_equal(model.support_, p <= cut)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [0, 1, 2])
    assert "p = " in model.summary()
    assert fitted().p_values_ is None


# -------------------------------------------------------------------------- predictions


def test_intervals():
    X, _ = problem()
    predictions, interval = fitted().predict(X, return_interval=0.9)
    np.testing.assert_array_equal(predictions, fitted().predict(X))
    assert interval.shape == (N, 2)
    half = interval[:, 1] - predictions
    np.testing.assert_allclose(half, predictions - interval[:, 0])
    np.testing.assert_allclose(half, half[0])
    wider = fitted().predict(X, return_interval=0.95)[1]
    assert (wider[:, 1] >= interval[:, 1]).all()
    X_new, y_new = problem(7, n=400)
    low, high = fitted().predict(X_new, return_interval=0.9)[1].T
    assert np.mean((low <= y_new) & (y_new <= high)) > 0.75
    for level in (0.0, 1.0, -0.5, 90):
        with pytest.raises(InvalidParameterError, match="probability between 0 and 1"):
            fitted().predict(X, return_interval=level)


@pytest.mark.parametrize("kernel", ["polynomial", Gaussian(), "additive_power"], ids=str)
def test_gradients_are_those_of_predict(kernel):
    X, y = problem()
    model = regressor(kernel).fit(X, y)
    h = 1e-5
    expected = np.stack(
        [(model.predict(X + e) - model.predict(X - e)) / (2 * h) for e in h * np.eye(D)], axis=1
    )
    size = np.abs(expected).max()
    assert size > 0.1
    np.testing.assert_allclose(model.predict_gradient(X), expected, rtol=0, atol=1e-5 * size)


def test_names_in_the_words_and_in_data_frames():
    X, y = problem()
    names = ["alder", "birch", "cedar", "elm", "fir", "oak"]
    frame = pd.DataFrame(X, columns=names)
    model = regressor(always_keep=["fir"]).fit(frame, y)
    assert model.get_feature_names_out().tolist() == ["alder", "birch", "cedar", "fir"]
    text = model.summary()
    first = text.splitlines()[0]
    assert first.startswith(f"4 of 6 columns matter for y ({N} rows)")
    assert all(name in first for name in ("alder", "birch", "cedar", "fir"))
    assert "oak" not in first
    assert "oak was left out" in model.answer_.dropped_sentence("oak")
    assert "alder x birch" in text  # the interaction
    assert "duality gap" in text


def test_the_interaction_is_found():
    (a, b, strength), *others = fitted().interactions_
    assert (a, b) == (0, 1)
    assert all(other[2] < 0.1 * strength for other in others)


def test_pipelines_and_clones():
    X, y = problem()
    model = regressor(always_keep=[1], random_state=3)
    assert clone(model).get_params() == model.get_params()
    selected = make_pipeline(StandardScaler(), regressor(), LinearRegression()).fit(X, y)
    assert selected[:-1].transform(X).shape == (N, 3)
    assert cross_val_score(make_pipeline(StandardScaler(), regressor()), X, y, cv=2).min() > 0.5


def test_the_certificate():
    model = fitted()
    assert model.relative_gap_ <= 1e-5
    assert model.support_certified_.all()
    low, high = model.importance_bounds_.T
    slack = 1e-9 * model.slopes_.max()
    assert (low <= model.slopes_ + slack).all()
    assert (model.slopes_ <= high + slack).all()
    assert (low[:3] > 0).all()
    assert not model.feature_importances_[3:].any()
    assert not model.scales_[3:].any()


def test_the_certificate_is_true_of_an_interior_point_solution():
    """(P) on the selected columns in the learned metric, written out and solved by CVXPY.

    The kernel sees ``x s``, so a norm per unit of ``x`` is ``s`` times that per unit of ``x s``.
    """
    X, y = problem()
    model = fitted()
    Z, scales = StandardScaler().fit_transform(X)[:, :3], model.scales_[:3]
    exact = DenseProblem(
        kernel=model.kernel_,
        X=Z * scales,
        y=(y - y.mean()) / y.std(),
        weights=np.full(N, 1 / N),
        alpha=model.alpha_,
        ridge=model.ridge_,
        groups=((0,), (1,), (2,)),
        group_weights=scales,
    )
    optimum = cvxpy_optimum(exact)
    assert optimum.objective <= model.objective_ + 1e-7
    assert model.objective_ - model.dual_gap_ <= optimum.objective + 1e-7
    norms = exact.derivative_norms(optimum.gradients) * scales
    low, high = model.importance_bounds_[:3].T
    assert (low <= norms + 1e-6).all()
    assert (norms <= high + 1e-6).all()


def test_clear_is_earned_parts_of_a_mixture_are_replaceable():
    """One part is what the others leave: it goes with none of them alone, and with all."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(150, 5))
    X[:, 0] = -X[:, 1] - X[:, 2] - X[:, 3] + 0.3 * rng.normal(size=150)
    y = X[:, 0] ** 2 + X[:, 4] + 0.1 * rng.normal(size=150)
    model = regressor().fit(X, y)
    assert model.support_[[0, 4]].all()
    assert model.twins_ == []
    assert model.selection_status_ == "replaceable"
    column, by, share = model.replaceable_[0]
    assert (column, set(by)) == (0, {1, 2, 3})
    assert share > 0.9
    told = model.answer_.replacement_sentences()[0]
    assert told.startswith("x0 is replaceable: ")
    assert "together tell 9" in told
    assert "(150 rows)" in told


def test_outliers_are_noticed_and_said_with_what_was_done_and_gained():
    X, y = problem()
    y = y.copy()
    y[::12] += 25.0 * np.resize([1, -1], len(y[::12]))
    model = NablassoRegressor("polynomial").fit(X, y)
    told = " ".join(model.answer_.noticed)
    assert "There are outliers" in told
    assert "count less than half" in told
    assert "nats, its price paid" in told
