"""Cross-validation: scores that an independent loop reproduces, choices that data alone decide."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.metrics import make_scorer, mean_absolute_error, mean_squared_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneGroupOut, ShuffleSplit

from nablasso import (
    DerivativeLasso,
    DerivativeLassoCV,
)
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.cross_validation import Cell
from nablasso.progress import reporting

PAIRS = [
    (DerivativeLassoCV, DerivativeLasso, {}),
    (
        DerivativeLassoCV,
        DerivativeLasso,
        {"feature_groups": [[0, 3], [1], [2]], "group_weights": "sqrt"},
    ),
    (DerivativeLassoCV, DerivativeLasso, {"l1_ratio": 0.3}),
]
each_pair = pytest.mark.parametrize(
    ("with_cv", "single", "options"), PAIRS, ids=["lasso", "group lasso", "elastic net"]
)
GRID = {"kernel": "polynomial", "alphas": [1.0, 0.3, 0.05], "ridges": [0.05, 0.5], "cv": 3}


def draw(n=24, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, 2 * X[:, 0] + X[:, 1] ** 2 + 0.2 * rng.normal(size=n)


def make(estimator=DerivativeLassoCV, **changes):
    return estimator(**{**GRID, **changes})


@cache
def shared(**changes):
    return make(**changes).fit(*draw())


# -------------------------------------------------------------------------- cv_results_


@pytest.mark.parametrize("rule", ["1se", "min"])
def test_results_have_the_keys_of_grid_search(rule):
    model = shared(selection_rule=rule)
    results = model.cv_results_
    theirs = GridSearchCV(DerivativeLasso(kernel="linear", ridge=0.1), {"alpha": [0.1]}, cv=3)
    known = {key for key in theirs.fit(*draw()).cv_results_ if not key.endswith("_time")}
    assert known <= set(results)
    assert {"param_alpha", "param_ridge", "param_width"} <= set(results)
    assert {len(value) for value in results.values()} == {6}

    splits = np.array([results[f"split{i}_test_score"] for i in range(3)])
    np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0))
    assert results["rank_test_score"][np.argmax(results["mean_test_score"])] == 1
    assert sorted(results["rank_test_score"]) == list(range(1, 7))
    for i, params in enumerate(results["params"]):
        assert params == {key: results[f"param_{key}"][i] for key in ("alpha", "ridge", "width")}

    assert model.best_params_ == results["params"][model.best_index_]
    assert model.best_score_ == results["mean_test_score"][model.best_index_]
    assert model.alpha_ == model.best_params_["alpha"]
    assert model.ridge_ == model.best_params_["ridge"]


def test_the_grid_is_all_of_what_was_asked_for():
    model = make(alphas=[0.3, 1.0], widths=[1.0, 2.0]).fit(*draw())
    seen = {(p["width"], p["ridge"], p["alpha"]) for p in model.cv_results_["params"]}
    assert seen == {(w, r, a) for w in (1.0, 2.0) for r in (0.05, 0.5) for a in (0.3, 1.0)}


@each_pair
@pytest.mark.parametrize("debias", [True, False])
def test_scores_are_those_of_single_fits(with_cv, single, options, debias):
    """An independent loop over the folds and the grid."""
    X, y = draw()
    folds = list(KFold(3, shuffle=True, random_state=1).split(X))
    model = make(with_cv, cv=folds, tol=1e-8, debias=debias, **options)
    model.fold_tol = 0.0  # or supports could differ by chance
    model.fit(X, y)
    for i, params in enumerate(model.cv_results_["params"]):
        alone = single(
            kernel="polynomial",
            alpha=params["alpha"],
            ridge=params["ridge"],
            debias=debias,
            tol=1e-8,
            **options,
        )
        sizes = []
        for k, (train, test) in enumerate(folds):
            alone.fit(X[train], y[train])
            expected = -mean_squared_error(y[test], alone.predict(X[test]))
            found = model.cv_results_[f"split{k}_test_score"][i]
            assert found == pytest.approx(expected, rel=1e-3, abs=1e-3)
            sizes.append(alone.support_.sum())
        assert model.cv_results_["mean_n_selected"][i] == pytest.approx(np.mean(sizes))


@each_pair
def test_the_refit_is_a_single_fit_with_the_best_parameters(with_cv, single, options):
    X, y = draw()
    model = make(with_cv, **options).fit(X, y)
    alone = single(
        "polynomial",
        alpha=model.best_params_["alpha"],
        ridge=model.best_params_["ridge"],
        **options,
    ).fit(X, y)
    np.testing.assert_array_equal(model.support_, alone.support_)
    np.testing.assert_array_equal(model.feature_importances_, alone.feature_importances_)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert model.answer_.columns == alone.answer_.columns
    assert "3 folds of" in model.summary()


def test_widths_multiply_the_length_scale():
    X, y = draw()
    model = make(kernel="gaussian", widths=[3.0], alphas=[0.1], ridges=[0.1]).fit(X, y)
    alone = DerivativeLasso(alpha=0.1, ridge=0.1).fit(X, y)
    assert model.length_scale_ == pytest.approx(3 * alone.length_scale_)
    assert model.best_params_ == {"alpha": 0.1, "ridge": 0.1, "width": 3.0}


# -------------------------------------------------------------------------- choosing


def choose(rule, scores, sizes, steepness=None):
    """Run the rule on made-up scores: (n_folds, n_candidates)."""
    model = DerivativeLassoCV(selection_rule=rule)
    scores = np.asarray(scores, dtype=float)
    outcomes = {"steepness": np.ones_like(scores)}
    outcomes |= {"score": scores, "size": np.tile(np.asarray(sizes, dtype=float), (len(scores), 1))}
    if steepness is not None:
        outcomes["steepness"] = np.asarray(steepness, dtype=float)
    alphas = np.arange(scores.shape[1], 0, -1.0)
    model._best([Cell(alphas, {"ridge": 0.1, "width": 1.0})], outcomes)
    return model.best_index_


def test_min_takes_the_best_score():
    assert choose("min", [[-3, -1, -2], [-3, -1, -2]], [0, 5, 1]) == 1


def test_1se_takes_the_fewest_variables_within_one_standard_error():
    # the best (index 2) has mean -1 and standard error 0.5 / sqrt(4) = 0.25
    best = [-0.5, -1.5, -0.5, -1.5]
    scores = np.column_stack([[-1.26] * 4, [-1.24] * 4, best, [-1.1] * 4])
    assert choose("1se", scores, [1, 2, 4, 3]) == 1
    assert choose("1se", scores, [1, 4, 2, 3]) == 2
    assert choose("min", scores, [1, 2, 4, 3]) == 2


def test_1se_among_equals_takes_the_better_score_then_the_smaller_alpha():
    best = [-0.5, -1.5, -0.5, -1.5]
    scores = np.column_stack([[-1.2] * 4, [-1.1] * 4, [-1.1] * 4, best])
    assert choose("1se", scores, [2, 2, 2, 4]) == 2


@pytest.mark.parametrize("rule", ["1se", "min"])
def test_steep_candidates_are_not_chosen_unless_all_are(rule):
    scores = np.array([[-1.0, -2.0, -3.0]] * 3)
    steep = np.array([[9.0, 1.0, 1.0]] * 3)
    assert choose(rule, scores, [1, 2, 3], steep) == 1
    assert choose(rule, scores, [1, 2, 3], np.full((3, 3), 9.0)) == 0


def test_1se_selects_no_more_than_min():
    for seed in range(3):
        X, y = draw(seed=seed)
        one, best = (make(selection_rule=rule, alphas=6).fit(X, y) for rule in ("1se", "min"))
        chosen = one.cv_results_["mean_n_selected"]
        assert chosen[one.best_index_] <= chosen[best.best_index_]
        assert best.best_score_ >= one.best_score_


# -------------------------------------------------------------------------- order, copies, jobs


@each_pair
def test_permutations_permute_the_result(with_cv, single, options):
    X, y = draw()
    rng = np.random.default_rng(2)
    weights = rng.integers(1, 3, size=len(y)).astype(float)
    options = {key: value for key, value in options.items() if key == "l1_ratio"}
    model = make(with_cv, alphas=4, ridges=None, **options).fit(X, y, weights)
    rows, columns = rng.permutation(len(y)), rng.permutation(4)
    other = clone(model).fit(X[rows][:, columns], y[rows], weights[rows])
    assert other.best_params_ == model.best_params_
    np.testing.assert_array_equal(other.support_, model.support_[columns])
    np.testing.assert_array_equal(other.feature_importances_, model.feature_importances_[columns])
    for key in ("mean_test_score", "mean_n_selected"):
        np.testing.assert_allclose(other.cv_results_[key], model.cv_results_[key], rtol=1e-9)


def test_shuffled_folds_do_not_depend_on_the_order_either():
    X, y = draw()
    rows = np.random.default_rng(3).permutation(len(y))
    model = make(random_state=5).fit(X, y)
    other = make(random_state=5).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        other.cv_results_["mean_test_score"], model.cv_results_["mean_test_score"], rtol=1e-9
    )


def test_random_state():
    X, y = draw()
    scores = [
        make(random_state=s).fit(X, y).cv_results_["mean_test_score"] for s in (0, 0, 1, None)
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert np.abs(scores[0] - scores[2]).max() > 1e-6
    np.testing.assert_array_equal(scores[3], shared().cv_results_["mean_test_score"])


@pytest.mark.parametrize("scoring", [None, "r2"])
def test_a_weight_equals_copies(scoring):
    X, y = draw()
    counts = np.random.default_rng(4).integers(0, 4, size=len(y))
    weighted = make(scoring=scoring).fit(X, y, counts)
    copied = make(scoring=scoring).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert weighted.best_params_ == copied.best_params_
    for key in ("split0_test_score", "split2_test_score", "mean_n_selected"):
        np.testing.assert_allclose(weighted.cv_results_[key], copied.cv_results_[key], rtol=1e-9)
    np.testing.assert_array_equal(weighted.feature_importances_, copied.feature_importances_)


def test_copies_of_a_row_are_never_in_two_folds():
    """Otherwise noise could be learnt by heart: with copies the scores would be too good."""
    rng = np.random.default_rng(5)
    X, y = np.repeat(rng.normal(size=(15, 4)), 3, axis=0), np.repeat(rng.normal(size=15), 3)
    model = make(kernel="gaussian", alphas=[1e-3], ridges=[1e-3]).fit(X, y)
    assert model.best_score_ < -0.5 * np.var(y)


@pytest.mark.parametrize(
    "backend",
    ["threading", pytest.param("loky", marks=pytest.mark.slow)],  # which imports it all
)
def test_jobs_do_not_change_the_result(backend):
    with parallel_config(backend):
        two = make(n_jobs=2).fit(*draw())
    one = shared(n_jobs=1)
    assert one.best_params_ == two.best_params_
    for key in (key for key in one.cv_results_ if "time" not in key):
        value = one.cv_results_[key]
        np.testing.assert_array_equal(value, two.cv_results_[key])
    np.testing.assert_array_equal(one.feature_importances_, two.feature_importances_)


# -------------------------------------------------------------------------- splitters


def folds_seen(cv, groups=None):
    X, y = draw()
    model = make(cv=cv, alphas=[0.3], ridges=[0.5]).fit(X, y, groups=groups)
    count = sum(key.startswith("split") for key in model.cv_results_)
    return [model.cv_results_[f"split{i}_test_score"][0] for i in range(count)]


def test_splitters_iterables_and_numbers():
    X, _ = draw()
    splitter = ShuffleSplit(2, random_state=0)
    by_object, by_list = folds_seen(splitter), folds_seen(list(splitter.split(X)))
    by_generator = folds_seen(splitter.split(X))
    assert len(by_object) == 2
    assert by_object == by_list == by_generator
    assert len(folds_seen(4)) == 4
    assert len(folds_seen(None)) == 5


def test_groups_go_to_the_splitter():
    X, y = draw()
    groups = np.arange(len(y)) % 4
    by_number = folds_seen(4, groups)
    expected = folds_seen(list(GroupKFold(4).split(X, y, groups)))
    assert by_number == expected
    assert folds_seen(LeaveOneGroupOut(), groups) == folds_seen(
        list(LeaveOneGroupOut().split(X, y, groups))
    )
    assert sorted(by_number) != sorted(folds_seen(4))


def test_all_rows_are_tested_once():
    """With the loss as a scorer that remembers, the folds cover the rows."""
    X, y = draw()
    seen = []

    def scorer(model, X_test, y_test):
        seen.append(y_test)
        return 0.0

    make(cv=5, alphas=[0.3], ridges=[0.5], scoring=scorer).fit(X, y)
    assert len(seen) == 5
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.sort(y))
    assert max(map(len, seen)) - min(map(len, seen)) <= 1


# -------------------------------------------------------------------------- scoring


def test_scoring_by_name_and_callable():
    X, y = draw()
    by_name = make(scoring="neg_mean_absolute_error").fit(X, y)
    scorer = make_scorer(mean_absolute_error, greater_is_better=False)
    by_object = make(scoring=scorer).fit(X, y)
    by_function = make(scoring=lambda m, A, b: -mean_absolute_error(b, m.predict(A))).fit(X, y)
    default = shared()
    key = "mean_test_score"
    np.testing.assert_array_equal(by_name.cv_results_[key], by_object.cv_results_[key])
    np.testing.assert_array_equal(by_name.cv_results_[key], by_function.cv_results_[key])
    assert np.abs(by_name.cv_results_[key] - default.cv_results_[key]).max() > 1e-3
    np.testing.assert_array_equal(
        make(scoring="neg_mean_squared_error").fit(X, y).cv_results_[key], default.cv_results_[key]
    )


def test_weights_reach_the_scorer():
    X, y = draw()
    weights = np.random.default_rng(6).uniform(0.2, 3.0, size=len(y))
    folds = list(KFold(3).split(X))
    model = make(cv=folds, alphas=[0.3], ridges=[0.5], tol=1e-7).fit(X, y, weights)
    alone = DerivativeLasso("polynomial", alpha=0.3, ridge=0.5, tol=1e-7)
    for k, (train, test) in enumerate(folds):
        alone.fit(X[train], y[train], weights[train])
        expected = mean_squared_error(y[test], alone.predict(X[test]), sample_weight=weights[test])
        plain = mean_squared_error(y[test], alone.predict(X[test]))
        found = -model.cv_results_[f"split{k}_test_score"][0]
        assert found == pytest.approx(expected, rel=0.01)
        assert abs(expected - plain) > 0.02 * plain


# -------------------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"selection_rule": "2se"}, "selection_rule must be one of 1se, min; got '2se'"),
        ({"alphas": 0}, "alphas must be a whole number of at least 1; got 0"),
        ({"alphas": []}, r"alphas must be a list of positive numbers; got \[\]"),
        ({"alphas": [0.1, -1.0]}, "alphas must be a list of positive numbers"),
        ({"alphas": [np.nan]}, "alphas must be a list of positive numbers"),
        ({"ridges": [0.0]}, "ridges must be a list of positive numbers"),
        ({"ridges": []}, "ridges must be a list of positive numbers"),
        ({"widths": [-1.0]}, "widths must be a list of positive numbers"),
        ({"cv": 1}, "cv must be between 2 and the number of distinct rows, 24; got 1"),
        ({"cv": 25}, "cv must be between 2 and the number of distinct rows, 24; got 25"),
        ({"kernel": "laplacian"}, "twice differentiable"),
        ({"kernel": "rbf"}, "kernel must be one of"),
        ({"solver": "lbfgs"}, "solver must be one of"),
        ({"feature_groups": [[0, 1], [1]]}, "a column belongs to one group"),
        ({"always_keep": ["nothing"]}, "always_keep names column 'nothing'"),
        ({"length_scale": -1.0}, "length_scale must be a positive number"),
    ],
)
def test_parameters_that_are_refused(changes, message):
    with pytest.raises(InvalidParameterError, match=message):
        make(**changes).fit(*draw())


def test_folds_with_too_few_rows():
    X, y = draw(6)
    with pytest.raises(InvalidDataError, match=r"at least 5 training rows.*Add rows, or raise cv"):
        make(cv=2).fit(X, y)
    with pytest.raises(InvalidDataError, match=r"At least 5 rows"):
        make().fit(X[:4], y[:4])


def test_data_that_are_refused():
    X, y = draw()
    X[0, 2] = np.nan
    with pytest.raises(InvalidDataError, match="columns x2"):
        make().fit(X, y)


# -------------------------------------------------------------------------- the rest


def test_defaults_make_a_grid_of_three_ridges():
    X, y = draw()
    model = DerivativeLassoCV("polynomial", alphas=4, cv=3).fit(X, y)
    ridges = np.unique(model.cv_results_["param_ridge"])
    np.testing.assert_allclose(ridges / ridges[0], [1, 10, 100])
    for ridge in ridges:
        alphas = model.cv_results_["param_alpha"][model.cv_results_["param_ridge"] == ridge]
        np.testing.assert_allclose(alphas / alphas[0], [1, 0.1, 0.01, 0.001])
    np.testing.assert_array_equal(model.cv_results_["param_width"], 1.0)


def test_it_finds_the_variables_and_names_them():
    X, y = draw(40)
    model = make(alphas=6).fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert set("ab") <= set(model.get_feature_names_out())
    assert model.score(X=pd.DataFrame(X, columns=list("abcd")), y=y) > 0.9


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_is_reported(n_jobs):
    seen = []
    with reporting(seen.append):
        make(n_jobs=n_jobs, alphas=[0.3]).fit(*draw())
    label = "DerivativeLassoCV folds"
    assert [(p.label, p.done, p.total) for p in seen] == [(label, k, 3) for k in (1, 2, 3)]


def test_verbose_logs(caplog):
    make(alphas=[0.3], verbose=1).fit(*draw())
    assert sum("DerivativeLassoCV folds" in r.getMessage() for r in caplog.records) == 3
