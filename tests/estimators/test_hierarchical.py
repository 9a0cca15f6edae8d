"""Estimators over hierarchies of kernels: what they select, say, refuse and keep invariant."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import nablasso
from nablasso import (
    HierarchicalKernelClassifier,
    HierarchicalKernelClassifierCV,
    HierarchicalKernelRegressor,
    HierarchicalKernelRegressorCV,
)
from nablasso.errors import InvalidParameterError
from nablasso.hierarchy import ExplicitDag
from nablasso.hierarchy.dag import Outside
from nablasso.hierarchy.decompositions import NAMED
from nablasso.hierarchy.grid import Grid
from nablasso.progress import reporting

RNG = np.random.default_rng(9)
X = RNG.normal(size=(90, 6))
SIGNAL = X[:, 0] + X[:, 3] + 1.5 * X[:, 0] * X[:, 3]
y = SIGNAL + 0.2 * RNG.normal(size=90)
LABELS = np.where(SIGNAL > 0, "yes", "no")


@pytest.fixture(scope="module")
def model():
    return HierarchicalKernelRegressor(alpha=0.05).fit(X, y)


def test_it_finds_variables_and_interaction_and_certifies(model):
    assert np.flatnonzero(model.support_).tolist() == [0, 3]
    assert model.interactions_ == ["x0 * x3 (order 2)"]
    assert model.certified_
    assert model.relative_gap_ <= model.tol
    assert model.hull_ == list(model.active_set_) == [(), ((0, 1),), ((3, 1),), ((0, 1), (3, 1))]
    assert model.sinks_ == [((0, 1), (3, 1))]
    assert model.n_kernels_ == 4
    assert model.selection_status_ == "clear"
    assert model.score(X, y) > 0.95
    assert model.transform(X).shape == (90, 2)
    text = model.summary()
    assert "2 of 6 columns matter" in text
    assert "certified over all kernels" in text


def test_the_parts_add_up_to_the_penalised_function():
    plain = HierarchicalKernelRegressor(alpha=0.02, debias=False).fit(X, y)
    new = RNG.normal(size=(5, 6))
    parts = sum(plain.partial(new, node) for node in plain.hull_)
    difference = plain.predict(new) - parts
    np.testing.assert_allclose(difference, difference[0])
    assert not plain.partial(new, ((1, 1),)).any()
    assert plain.refit_kind_ == "none"


@pytest.mark.parametrize("options", [{}, {"debias": False}], ids=str)
def test_gradients_are_slopes_of_what_is_predicted(options):
    fitted = HierarchicalKernelRegressor(alpha=0.02, **options).fit(X, y)
    new, step = RNG.normal(size=(4, 6)), 1e-5
    slopes = fitted.predict_gradient(new)
    for a in range(6):
        ahead, behind = new.copy(), new.copy()
        ahead[:, a] += step
        behind[:, a] -= step
        expected = (fitted.predict(ahead) - fitted.predict(behind)) / (2 * step)
        np.testing.assert_allclose(slopes[:, a], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", NAMED)
def test_every_decomposition_predicts(name):
    alpha = 1e-4 if name == "gauss_hermite" else 0.02
    fitted = HierarchicalKernelRegressor(alpha=alpha, decomposition=name, degree=2).fit(X, y)
    assert {0, 3} <= set(np.flatnonzero(fitted.support_))
    assert fitted.score(X, y) > 0.8


def test_text_labels():
    fitted = HierarchicalKernelClassifier(alpha=0.01, degree=2).fit(X, LABELS)
    assert fitted.score(X, LABELS) > 0.85
    assert set(fitted.predict(X)) == {"yes", "no"}
    assert {0, 3} <= set(np.flatnonzero(fitted.support_))


def test_several_classes_one_against_the_rest():
    codes = np.digitize(SIGNAL, [-1, 1])
    fitted = HierarchicalKernelClassifier(alpha=0.05, interactions=False).fit(X, codes)
    assert fitted.class_importances_.shape == (3, 6)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1)
    assert fitted.partial(X, ((0, 1),)).shape == (90, 3)


def test_weights_are_copies_and_permutations_permute(model):
    counts = RNG.integers(0, 3, size=90)
    weighted = HierarchicalKernelRegressor(alpha=0.05).fit(X, y, counts)
    copies = HierarchicalKernelRegressor(alpha=0.05)
    copies.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighted.predict(X), copies.predict(X))
    rows, columns = RNG.permutation(90), RNG.permutation(6)
    moved = HierarchicalKernelRegressor(alpha=0.05).fit(X[rows][:, columns], y[rows])
    np.testing.assert_array_equal(moved.predict(X[:, columns]), model.predict(X))
    np.testing.assert_array_equal(moved.support_, model.support_[columns])


def test_groups_names_and_columns_always_kept():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    fitted = HierarchicalKernelRegressor(
        alpha=0.05, feature_groups=[["a", "b"], ["c"], ["d"], ["e", "f"]], always_keep=["c"]
    ).fit(frame, y)
    assert fitted.support_[0] == fitted.support_[1]
    assert fitted.support_[[0, 2, 3]].all()
    assert any("(a, b) * d" in text for text in fitted.interactions_)
    assert fitted.get_feature_names_out().tolist()[:2] == ["a", "b"]


def test_constant_columns_are_left_out():
    fitted = HierarchicalKernelRegressor(alpha=0.05).fit(np.column_stack([X, np.ones(90)]), y)
    assert not fitted.support_[6]
    assert "Constant: x6 (never selectable)." in fitted.summary()


def test_a_model_survives_pickling(model):
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_a_dag_of_ones_own():
    def kernel(node, A, B):
        return np.outer(np.prod(A[:, list(node)], axis=1), np.prod(B[:, list(node)], axis=1))

    edges = {(0,): [(0, 3)], (3,): [(0, 3)], (1,): []}
    dag = ExplicitDag(edges, kernel, {node: node for node in [(0,), (3,), (0, 3), (1,)]})
    fitted = HierarchicalKernelRegressor(alpha=0.02, dag=dag).fit(X, y)
    assert set(fitted.hull_) >= {(0,), (3,), (0, 3)}
    assert {0, 3} <= set(np.flatnonzero(fitted.support_)) <= {0, 1, 3}
    with pytest.raises(InvalidParameterError, match="dag must be"):
        HierarchicalKernelRegressor(dag={}).fit(X, y)


def test_whitening_changes_features_not_the_answer():
    fitted = HierarchicalKernelRegressor(alpha=0.02, degree=2, whiten=True).fit(X[:, :4], y)
    assert {0, 3} <= set(np.flatnonzero(fitted.support_))


def test_too_few_kernels_is_said_with_the_gap():
    with pytest.warns(ConvergenceWarning, match=r"(?s)duality gap .* kernels were reached"):
        fitted = HierarchicalKernelRegressor(alpha=1e-3, max_kernels=3).fit(X, y)
    assert not fitted.certified_
    assert fitted.search_status_ == "max_kernels"


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_weights_that_do_not_grow_are_explained(beta):
    with pytest.warns(UserWarning, match="no more weight in the norm"):
        HierarchicalKernelRegressor(alpha=0.1, beta=beta, degree=1).fit(X[:, :3], y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"degree": 0}, "q = 0"),
        ({"beta": 0}, "beta must be"),
        ({"alpha": -1}, "alpha must be"),
        ({"alpha": 0}, "alpha must be a positive number, or None"),
        ({"rank": 0}, "rank must be"),
        ({"tol": 0}, "tol must be"),
        ({"max_kernels": 1}, "max_kernels must be"),
        ({"max_memory": 0}, "max_memory must be a positive number"),
        ({"max_work": "long"}, "max_work must be a positive number"),
        ({"root_weight": 2}, "root_weight must"),
        ({"decomposition": "wavelet"}, "decomposition must be one of"),
    ],
)
def test_parameters_that_make_no_sense(parameters, message):
    with pytest.raises(InvalidParameterError, match=message):
        HierarchicalKernelRegressor(**parameters).fit(X, y)


def test_cross_validation_scores_what_predict_returns():
    fitted = HierarchicalKernelRegressorCV(alphas=5, betas=(2.0, 4.0), cv=3, degree=2).fit(X, y)
    assert len(fitted.cv_results_["params"]) == 10
    assert set(fitted.best_params_) == {"alpha", "beta"}
    assert fitted.best_score_ > -0.2
    assert {0, 3} <= set(np.flatnonzero(fitted.support_))
    assert fitted.certified_


def test_the_sparse_additive_model_and_its_elastic_net():
    additive = np.sin(2 * X[:, 1]) + X[:, 2] ** 2
    fitted = HierarchicalKernelRegressorCV(interactions=False, alphas=5, cv=3).fit(X, additive)
    assert {1, 2} <= set(np.flatnonzero(fitted.support_))
    assert fitted.certified_
    assert fitted.best_params_ == {"alpha": fitted.alpha_}
    assert fitted.interactions_ == []
    mixed = HierarchicalKernelRegressor(alpha=0.02, interactions=False, l1_ratio=0.8)
    mixed.fit(X, additive)
    assert {(), ((1, 1),), ((2, 1),)} <= set(mixed.active_set_)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"interactions": False, "l1_ratio": 0}, "l1_ratio must be above 0"),
        ({"l1_ratio": 0.5}, "l1_ratio belongs to interactions=False"),
        ({"interactions": False, "whiten": True}, "no graph to whiten"),
        ({"interactions": False, "dag": ExplicitDag({0: []}, None)}, "no graph to whiten"),
    ],
    ids=["weight zero", "weight of sums", "whitening", "graph"],
)
def test_options_of_products_and_of_sums_are_told_apart(wrong, match):
    with pytest.raises(InvalidParameterError, match=match):
        HierarchicalKernelRegressor(alpha=0.1, **wrong).fit(X, y)


def test_a_path_has_a_gap_over_all_kernels_at_every_alpha():
    path = nablasso.path(HierarchicalKernelRegressor(), X, y, n_alphas=6, eps=1e-2)
    assert path.support.shape == (6, 6)
    assert (path.dual_gaps >= 0).all()
    assert path.certified.all()
    assert ((0, 1), (3, 1)) in path.hulls[-1]
    assert np.all(np.diff(path.objectives) <= 0)
    with pytest.raises(InvalidParameterError, match="with one alpha"):
        nablasso.path(HierarchicalKernelRegressorCV(), X, y)


def test_a_constant_target_selects_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = HierarchicalKernelRegressor().fit(X, np.ones(90))
    assert not fitted.support_.any()
    assert fitted.selection_status_ == "constant target"
    np.testing.assert_allclose(fitted.predict(X), 1.0)


def test_every_end_without_a_certificate_is_said(monkeypatch):
    heavy = X.copy()
    heavy[0] *= 12
    many = np.column_stack([heavy, heavy[:, ::-1] + RNG.normal(size=(90, 6))])
    with pytest.warns(ConvergenceWarning, match=r"duality gap .* of the objective at zero"):
        fitted = HierarchicalKernelRegressor(max_kernels=3).fit(many, y)
    assert not fitted.certified_
    monkeypatch.setattr(Grid, "outside", lambda *_: Outside(1e6, [], "largest"))
    with pytest.warns(ConvergenceWarning, match="bound on those not looked at"):
        fitted = HierarchicalKernelRegressor(alpha=0.05).fit(X, y)
    assert fitted.search_status_ == "bound"


@pytest.mark.parametrize("interactions", [True, False])
def test_a_column_always_kept_is_in_the_function(interactions):
    fitted = HierarchicalKernelRegressor(
        alpha=0.5, interactions=interactions, decomposition="spline", always_keep=[1]
    ).fit(X, y - 1.5 * X[:, 0] * X[:, 3])
    assert fitted.support_[1]
    assert fitted.refit_kind_ == "hull"
    assert ((1, 1),) not in fitted.hull_
    moved = X.copy()
    moved[:, 1] += 0.5
    assert np.abs(fitted.predict(moved) - fitted.predict(X)).max() > 1e-8


def test_heavy_tails_are_solved():
    heavy = np.random.default_rng(4).standard_t(1.2, size=(80, 4))
    target = np.tanh(heavy[:, 0]) + np.tanh(heavy[:, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = HierarchicalKernelRegressor(alpha=1e-4, degree=4).fit(heavy, target)
    assert fitted.search_status_ not in ("max_iter", "stalled")


def test_cross_validation_has_betas_and_no_beta():
    for kind in (HierarchicalKernelRegressorCV, HierarchicalKernelClassifierCV):
        assert "betas" in kind().get_params()
        assert "beta" not in kind().get_params()
        with pytest.raises(TypeError, match="beta"):
            kind(beta=3.0)
    assert "beta" in HierarchicalKernelRegressor().get_params()


@pytest.mark.parametrize("rule", ["min", "ebic"])
@pytest.mark.parametrize("limit", [{"max_kernels": 6}, {"max_memory": 2.5e4}, {"max_work": 5e4}])
def test_alphas_beyond_the_budget_are_no_candidates(limit, rule):
    grid = np.geomspace(1.0, 1e-4, 8)
    settings = {"alphas": grid, "betas": [1.5], "cv": 3, "selection_rule": rule}
    with pytest.warns(ConvergenceWarning, match="candidates, those of the smallest alphas"):
        fitted = HierarchicalKernelRegressorCV(**settings, **limit).fit(X, y)
    scores = fitted.cv_results_["mean_test_score"]
    solved = np.isfinite(scores)
    assert 0 < solved.sum() < 8
    assert solved[: solved.sum()].all()
    assert fitted.best_params_["alpha"] >= grid[solved.sum() - 1]
    assert fitted.alpha_ >= fitted.best_params_["alpha"]


def test_a_final_fit_beyond_the_budget_goes_back_to_what_was_solved():
    model = HierarchicalKernelRegressorCV(max_kernels=6)
    data = model._read(X, y, None)
    table = model._table(data)
    way = np.geomspace(1.0, 1e-4, 8)
    with pytest.warns(ConvergenceWarning, match="the smallest that was solved"):
        model._fit_at(data, table, alpha=way[-1], beta=1.5, way=way)
    learner = model._learner(table, 1.5, certify=False)
    solved = [not found.is_cut for (found,) in learner.walk(way, beyond=True)]
    assert 0 < sum(solved) < 8
    assert solved == sorted(solved, reverse=True)
    assert model.alpha_ == way[sum(solved) - 1]


@pytest.mark.parametrize(
    "options",
    [{"alphas": ["a"]}, {"n_alphas": 0}, {"n_alphas": True}, {"eps": 2}],
    ids=str,
)
def test_a_path_refuses_what_is_not_a_grid(options):
    with pytest.raises(InvalidParameterError, match=f"{next(iter(options))} must"):
        nablasso.path(HierarchicalKernelRegressor(), X, y, **options)


def test_what_is_not_a_node_or_a_number_of_alphas_is_refused(model):
    for wrong in ("RM", 3, (("RM", 1),), ((0, 1, 2),)):
        with pytest.raises(InvalidParameterError, match="pairs of whole numbers"):
            model.partial(X, wrong)
    with pytest.raises(InvalidParameterError, match="alphas must be"):
        HierarchicalKernelRegressorCV(interactions=False, alphas=True).fit(X, y)


def test_a_root_without_a_kernel_does_not_count():
    fitted = HierarchicalKernelRegressor(alpha=1.0, interactions=False, l1_ratio=0.5).fit(
        X, X[:, 2]
    )
    assert () in fitted.hull_
    assert fitted.n_kernels_ == len(fitted.hull_) - 1
    alone = HierarchicalKernelRegressor(alpha=1.0, interactions=False).fit(X, X[:, 2])
    assert alone.n_kernels_ == 1
    assert "1 kernel," in alone.summary()


def test_the_way_down_reports_progress():
    seen = []
    with reporting(seen.append):
        HierarchicalKernelRegressor(alpha=0.05).fit(X, y)
    assert seen[-1].done == seen[-1].total > 1
