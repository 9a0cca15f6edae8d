"""Pruned hulls and the rule "ebic": what belongs to which function, and what stays invariant."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from nablasso import (
    HierarchicalKernelClassifierCV,
    HierarchicalKernelRegressor,
    HierarchicalKernelRegressorCV,
)
from nablasso.errors import InvalidParameterError
from nablasso.hierarchy.refit import HullLearner

RNG = np.random.default_rng(31)
X = RNG.normal(size=(80, 5))
SIGNAL = X[:, 0] + X[:, 3] + 1.5 * X[:, 0] * X[:, 3]
y = SIGNAL + 0.5 * RNG.normal(size=80)
TRUE = [(), ((0, 1),), ((3, 1),), ((0, 1), (3, 1))]
SMALL = {"alphas": 4, "betas": (2.0, 4.0), "degree": 2, "selection_rule": "ebic"}
ONE = SMALL | {"betas": (2.0,), "alphas": 3}
NOISY = {"alpha": 0.003, "degree": 2}  # the penalty takes in noise there


@pytest.fixture(scope="module")
def model():
    return HierarchicalKernelRegressorCV(**SMALL).fit(X, y)


@pytest.fixture(scope="module")
def plain():
    return HierarchicalKernelRegressor(**NOISY).fit(X, y)


@pytest.fixture(scope="module")
def pruned():
    return HierarchicalKernelRegressor(prune=True, **NOISY).fit(X, y)


def test_the_best_pruned_hull_is_found_without_folds(model):
    assert model.hull_ == TRUE
    assert np.flatnonzero(model.support_).tolist() == [0, 3]
    assert model.interactions_ == ["x0 * x3 (order 2)"]
    assert set(TRUE) <= set(model.penalised_hull_)
    results = model.cv_results_
    scores = results["mean_test_score"]
    assert len(results["params"]) == len(scores) == 8
    assert model.best_score_ == pytest.approx(scores.max())
    assert results["rank_test_score"].min() == 1
    best = scores.max() - 1e-6
    equal = [p for p, score in zip(results["params"], scores, strict=True) if score > best]
    largest = max(p["beta"] for p in equal)
    assert model.best_params_["beta"] == largest
    assert model.alpha_ == max(p["alpha"] for p in equal if p["beta"] == largest)


def test_the_certificate_is_that_of_the_penalised_problem(plain, pruned):
    assert pruned.hull_ == TRUE
    assert len(plain.hull_) > len(TRUE)
    assert pruned.penalised_hull_ == plain.penalised_hull_ == plain.hull_
    for name in ("dual_gap_", "objective_", "certified_", "search_status_", "alpha_"):
        assert getattr(pruned, name) == getattr(plain, name)
    text = pruned.summary()
    assert f"4 of the {len(plain.hull_)} nodes that the penalty selects are kept" in text
    assert "nodes that the penalty selects" not in plain.summary()


def test_without_a_refit_the_penalised_function_on_the_pruned_hull_predicts():
    fitted = HierarchicalKernelRegressor(prune=True, debias=False, **NOISY).fit(X, y)
    parts = sum(fitted.partial(X[:5], node) for node in TRUE)
    difference = fitted.predict(X[:5]) - parts
    np.testing.assert_allclose(difference, difference[0])
    moved = X.copy()
    moved[:, [1, 2, 4]] += 1
    np.testing.assert_array_equal(fitted.predict(moved), fitted.predict(X))


def test_weights_are_copies_and_permutations_permute():
    counts = RNG.integers(0, 3, size=80)
    weighted = HierarchicalKernelRegressorCV(**ONE).fit(X, y, counts)
    rows, columns = RNG.permutation(np.repeat(np.arange(80), counts)), RNG.permutation(5)
    copies = HierarchicalKernelRegressorCV(**ONE).fit(X[rows][:, columns], y[rows])
    np.testing.assert_array_equal(weighted.predict(X), copies.predict(X[:, columns]))
    np.testing.assert_array_equal(weighted.support_[columns], copies.support_)
    assert weighted.best_score_ == copies.best_score_


def test_groups_and_columns_always_kept():
    fitted = HierarchicalKernelRegressorCV(
        **ONE, feature_groups=[[0, 1], [2], [3], [4]], always_keep=[4]
    ).fit(X, y)
    assert np.flatnonzero(fitted.support_).tolist() == [0, 1, 3, 4]
    assert fitted.interactions_ == ["(x0, x1) * x3 (order 2)"]


@pytest.mark.parametrize(
    "selector",
    [
        HierarchicalKernelRegressorCV(**ONE),
        HierarchicalKernelRegressorCV(interactions=False, alphas=3, cv=3),
    ],
    ids=["products", "sums"],
)
def test_noise_gives_nothing(selector):
    fitted = selector.fit(X, np.random.default_rng(7).normal(size=80))
    assert not fitted.support_.any()
    assert fitted.selection_status_ == "none found"
    assert np.ptp(fitted.predict(X)) == pytest.approx(0, abs=1e-12)
    assert "None of the 5 columns was found to matter" in fitted.summary()


def test_classes_by_the_same_rule():
    labels = np.where(SIGNAL > 0, "yes", "no")
    few = ONE | {"alphas": [0.1, 0.02], "decomposition": "polynomial"}
    fitted = HierarchicalKernelClassifierCV(**few).fit(X, labels)
    assert np.flatnonzero(fitted.support_).tolist() == [0, 3]
    assert fitted.score(X, labels) > 0.9
    three = np.digitize(SIGNAL, [-1, 1])
    fitted = HierarchicalKernelClassifierCV(**few).fit(X, three)
    assert {0, 3} <= set(np.flatnonzero(fitted.support_))


def test_folds_score_pruned_hulls():
    fitted = HierarchicalKernelRegressorCV(
        alphas=[0.003], betas=[2.0], degree=2, cv=3, prune=True
    ).fit(X, y)
    assert fitted.hull_ == TRUE
    assert fitted.cv_results_["mean_n_selected"].tolist() == [2.0]


def test_unknown_rules_are_refused():
    with pytest.raises(InvalidParameterError, match="selection_rule must be one of 1se, min, ebic"):
        HierarchicalKernelRegressorCV(selection_rule="bic").fit(X, y)


def test_an_interrupt_keeps_the_paths_that_are_done(monkeypatch):
    whole, calls = HullLearner.walk, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) > 1:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(HullLearner, "walk", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted after 4 candidates"):
        fitted = HierarchicalKernelRegressorCV(**SMALL).fit(X, y)
    assert fitted.best_params_["beta"] == 2.0
    assert {0, 3} <= set(np.flatnonzero(fitted.support_))
