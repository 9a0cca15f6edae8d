"""The path as a function: the same solutions as single fits, from the largest alpha down."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import nablasso
from nablasso import (
    DerivativeLasso,
    DerivativeLassoCV,
)
from nablasso.datasets import make_additive
from nablasso.errors import InvalidParameterError
from nablasso.progress import reporting

SETTINGS = {"kernel": "polynomial", "ridge": 0.05, "tol": 1e-7}
ESTIMATORS = [
    DerivativeLasso(**SETTINGS),
    DerivativeLasso(**{**SETTINGS, "kernel": "gaussian"}),
    DerivativeLasso(**{**SETTINGS, "kernel": "linear"}),
    DerivativeLasso(feature_groups=[[0, 2], [1], [3]], group_weights="sqrt", **SETTINGS),
    DerivativeLasso(l1_ratio=0.4, **SETTINGS),
    DerivativeLasso(l1_ratio=0.5, **{**SETTINGS, "kernel": "linear"}),
    DerivativeLasso(always_keep=[3], **SETTINGS),
]
each_estimator = pytest.mark.parametrize(
    "estimator", ESTIMATORS, ids=lambda e: f"{e.l1_ratio}-{e.kernel}"
)


def draw(n=20, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 10, 0.1, 1] + 3
    Z = (X - 3) / [1, 10, 0.1, 1]
    return X, 2 * Z[:, 0] + Z[:, 1] ** 2 + 0.1 * rng.normal(size=n)


@each_estimator
def test_it_equals_single_fits(estimator):
    X, y = draw()
    weights = np.random.default_rng(1).integers(1, 4, size=len(y))
    path = nablasso.path(estimator, X, y, weights, n_alphas=4, eps=0.05)
    assert path.ridge == 0.05
    for row in range(1, 4):  # the first is alpha_max itself, where the support is a tie
        single = clone(estimator).set_params(alpha=path.alphas[row]).fit(X, y, weights)
        np.testing.assert_array_equal(path.support[row], single.support_)
        np.testing.assert_allclose(path.importances[row], single.feature_importances_, atol=1e-3)
        assert path.dual_gaps[row] <= 1e-7 * y.var() * 3
        assert path.n_iter[row] >= 0
    np.testing.assert_array_equal(path.importances[~path.support], 0.0)


@each_estimator
@pytest.mark.parametrize("seed", range(3))
def test_it_starts_with_nothing(estimator, seed):
    X, y = draw(seed=seed)
    path = nablasso.path(estimator, X, y, n_alphas=3, eps=0.1)
    kept = np.isin(np.arange(4), estimator.always_keep or [])
    np.testing.assert_array_equal(path.support[0], kept)
    assert path.support[-1].sum() > kept.sum()


@each_estimator
def test_the_grid(estimator):
    path = nablasso.path(estimator, *draw(), n_alphas=5, eps=0.01)
    assert path.alphas[0] == pytest.approx(path.alpha_max)
    assert path.alphas[-1] == pytest.approx(0.01 * path.alpha_max)
    ratios = path.alphas[1:] / path.alphas[:-1]
    np.testing.assert_allclose(ratios, ratios[0])
    assert ratios[0] < 1
    assert path.importances.shape == path.support.shape == (5, 4)
    assert path.dual_gaps.shape == path.n_iter.shape == (5,)


@each_estimator
def test_gaps_are_below_the_tolerance(estimator):
    X, y = draw()
    path = nablasso.path(estimator, X, y, n_alphas=4)
    assert np.all(path.dual_gaps <= 1e-7 * np.var(y))
    assert np.all(path.dual_gaps >= -1e-12)


def test_explicit_alphas_are_sorted():
    X, y = draw()
    estimator = ESTIMATORS[0]
    path = nablasso.path(estimator, X, y, alphas=[0.1, 2.0, 0.5])
    np.testing.assert_array_equal(path.alphas, [2.0, 0.5, 0.1])
    for row, alpha in enumerate(path.alphas):
        single = clone(estimator).set_params(alpha=alpha).fit(X, y)
        np.testing.assert_array_equal(path.support[row], single.support_)
    assert path.alpha_max > 0
    zero = nablasso.path(estimator, X, y, alphas=[0.0])
    assert zero.support.all()


@pytest.mark.parametrize("alphas", [[], [-1.0], [np.nan], [[1.0]], [np.inf, 1.0]])
def test_alphas_that_are_refused(alphas):
    with pytest.raises(InvalidParameterError, match="alphas must be a list of numbers >= 0"):
        nablasso.path(ESTIMATORS[0], *draw(), alphas=alphas)


@pytest.mark.parametrize("estimator", [DerivativeLassoCV(), "lasso", DerivativeLasso])
def test_other_estimators_are_refused(estimator):
    with pytest.raises(InvalidParameterError, match="with one alpha"):
        nablasso.path(estimator, *draw())


def test_the_default_is_the_lasso_with_its_default_ridge():
    X, y = draw()
    path = nablasso.path(DerivativeLasso(), X, y, n_alphas=2, eps=0.1)
    single = DerivativeLasso(alpha=path.alphas[1]).fit(X, y)
    assert path.ridge == single.ridge_
    np.testing.assert_allclose(path.importances[1], single.feature_importances_, atol=1e-3)


def test_the_estimator_stays_unfitted_and_its_alpha_is_not_used():
    estimator = DerivativeLasso(alpha=1e9, **SETTINGS)
    path = nablasso.path(estimator, *draw(), n_alphas=2)
    assert path.support[-1].any()
    assert not hasattr(estimator, "support_")


def test_order_and_constants():
    X, y = draw()
    with_constant = np.column_stack([X, np.full(len(y), 2.0)])
    columns = [4, 2, 0, 3, 1]
    path = nablasso.path(ESTIMATORS[0], X, y, n_alphas=3)
    other = nablasso.path(
        ESTIMATORS[0], pd.DataFrame(with_constant[:, columns], columns=list("abcde")), y, n_alphas=3
    )
    np.testing.assert_array_equal(other.support[:, 0], False)
    np.testing.assert_allclose(
        other.importances[1:, 1:], path.importances[1:][:, [2, 0, 3, 1]], atol=1e-4
    )


def test_progress_is_reported():
    seen = []
    with reporting(seen.append):
        nablasso.path(ESTIMATORS[0], *draw(), n_alphas=3)
    assert [(p.label, p.done, p.total) for p in seen] == [("path", k, 3) for k in (1, 2, 3)]


def test_a_loose_tolerance_loses_no_variable():
    # a warm start can meet a loose tolerance at once, strictly inside the balls of all groups
    data = make_additive(80, 10, random_state=0)
    path = nablasso.path(DerivativeLasso("polynomial", tol=1e-3), data.X, data.y)
    assert not path.support[0].any()
    assert path.support[5:, data.support].all()


def test_rows_without_a_target_are_for_derivatives():
    data = make_additive(30, 4, random_state=0)
    with pytest.raises(InvalidParameterError, match=r"X_unlabeled is for .* Leave them out"):
        nablasso.path(nablasso.SparseGradientRegressor(), data.X, data.y, X_unlabeled=data.X)
