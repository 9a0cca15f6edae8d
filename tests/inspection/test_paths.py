"""Paths of fitted models go through the fitted models."""

import numpy as np
import pytest

import nablasso
from nablasso import (
    DerivativeLasso,
    DerivativeLassoCV,
    HierarchicalKernelRegressorCV,
    NablassoClassifier,
    NablassoRegressor,
    PSDRegressor,
    SparseGradientRegressorCV,
)
from nablasso.errors import InvalidParameterError
from nablasso.inspection import path_of
from nablasso.inspection.structure_displays import single_fit

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 4))
y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.1 * RNG.normal(size=40)


@pytest.mark.parametrize("kind", [NablassoRegressor, NablassoClassifier])
def test_the_path_of_a_certificate_goes_through_it(kind):
    target = y if kind is NablassoRegressor else np.where(y > 0, "b", "a")
    model = kind("polynomial", cv=3).fit(X, target)
    path = path_of(model, X, target, n_alphas=6)
    assert path.importances.shape == (6, 4)
    assert path.alphas[0] > path.chosen > path.alphas[-1]
    assert not path.importances[:, ~model.support_].any()
    here = path_of(model, X, target, alphas=[model.alpha_], tol=1e-6)
    np.testing.assert_allclose(here.importances[0], model.slopes_, atol=1e-3)
    np.testing.assert_array_equal(here.support[0], model.support_)


def test_three_classes_have_a_path_and_weights_count():
    classes = np.digitize(X[:, 0] + X[:, 2], (-0.5, 0.5))
    model = NablassoClassifier("linear", cv=3, always_keep=[2]).fit(X, classes)
    assert model.support_[[0, 2]].all()
    assert path_of(model, X, classes, n_alphas=3).support[-1].any()
    model = NablassoRegressor("linear", cv=3, always_keep=[2]).fit(X, X[:, 2])
    assert np.flatnonzero(model.support_).tolist() == [2]
    with pytest.raises(InvalidParameterError, match="always_keep"):
        path_of(model, X, X[:, 2])
    weights = np.r_[np.full(10, 2.0), np.ones(30)]
    copies = np.r_[np.arange(10), np.arange(40)]
    model = NablassoRegressor("polynomial", cv=3).fit(X, y, weights)
    one = path_of(model, X, y, weights, n_alphas=3)
    two = path_of(model, X[copies], y[copies], n_alphas=3)
    np.testing.assert_allclose(one.importances, two.importances, atol=1e-8)


def test_a_cross_validated_model_lies_on_its_path():
    model = DerivativeLassoCV("linear", alphas=3, ridges=(1e-2,), cv=2, tol=1e-4).fit(X, y)
    single = single_fit(model)
    assert isinstance(single, DerivativeLasso)
    refitted = single.fit(X, y)
    np.testing.assert_allclose(refitted.feature_importances_, model.feature_importances_, rtol=1e-2)
    path = path_of(model, X, y, n_alphas=3)
    direct = nablasso.path(single, X, y, n_alphas=3)
    np.testing.assert_allclose(path.importances, direct.importances, atol=1e-8)
    assert path.chosen == model.alpha_
    assert path.names == ["x0", "x1", "x2", "x3"]


def test_entered_is_the_largest_alpha_with_the_variable():
    path = path_of(DerivativeLasso("linear", ridge=1e-2, tol=1e-3).fit(X, y), X, y, n_alphas=5)
    for a in range(4):
        inside = path.alphas[path.support[:, a]]
        assert path.entered[a] == (inside.max() if inside.size else 0.0)


def test_the_other_families_have_paths_too():
    gradients = SparseGradientRegressorCV(alphas=3, cv=2).fit(X, y)
    assert path_of(gradients, X, y, n_alphas=4).importances.shape == (4, 4)
    hull = HierarchicalKernelRegressorCV(alphas=3, betas=(2.5,), cv=2).fit(X, y)
    path = path_of(hull, X, y, n_alphas=4)
    assert path.importances is None
    assert path.support.shape == (4, 4)
    assert single_fit(hull).beta == 2.5


def test_models_without_a_path_say_so():
    with pytest.raises(InvalidParameterError, match="A path belongs to a fitted"):
        path_of(PSDRegressor(weight=0.01, rank=10).fit(X, y**2), X, y)
    noise = np.random.default_rng(1).normal(size=40)
    model = NablassoRegressor("linear", cv=3).fit(X, noise)
    assert not model.support_.any()
    with pytest.raises(InvalidParameterError, match="Nothing was selected"):
        path_of(model, X, noise)
