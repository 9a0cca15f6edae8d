"""Paths of fitted models go through the fitted models."""

import numpy as np
import pytest

import nablasso
from nablasso import (
    DerivativeLasso,
    DerivativeLassoCV,
    HierarchicalKernelRegressorCV,
    NablassoRegressor,
    PSDRegressor,
    SparseGradientRegressorCV,
)
from nablasso.errors import InvalidParameterError
from nablasso.inspection import PathDisplay
from nablasso.inspection.structure_displays import single_fit

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 4))
y = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.1 * RNG.normal(size=40)


def test_a_cross_validated_model_lies_on_its_path():
    model = DerivativeLassoCV("linear", alphas=3, ridges=(1e-2,), cv=2, tol=1e-4).fit(X, y)
    single = single_fit(model)
    assert isinstance(single, DerivativeLasso)
    refitted = single.fit(X, y)
    np.testing.assert_allclose(refitted.feature_importances_, model.feature_importances_, rtol=1e-2)
    path = PathDisplay.of(model, X, y, n_alphas=3).path
    direct = nablasso.path(single, X, y, n_alphas=3)
    np.testing.assert_allclose(path.importances, direct.importances, atol=1e-8)
    assert path.chosen == model.alpha_
    assert path.names == ["x0", "x1", "x2", "x3"]


def test_entered_is_the_largest_alpha_with_the_variable():
    path = PathDisplay.of(
        DerivativeLasso("linear", ridge=1e-2, tol=1e-3).fit(X, y), X, y, n_alphas=5
    ).path
    for a in range(4):
        inside = path.alphas[path.support[:, a]]
        assert path.entered[a] == (inside.max() if inside.size else 0.0)


def test_the_other_families_have_paths_too():
    gradients = SparseGradientRegressorCV(alphas=3, cv=2).fit(X, y)
    assert PathDisplay.of(gradients, X, y, n_alphas=4).path.importances.shape == (4, 4)
    hull = HierarchicalKernelRegressorCV(alphas=3, betas=(2.5,), cv=2).fit(X, y)
    path = PathDisplay.of(hull, X, y, n_alphas=4).path
    assert path.importances is None
    assert path.support.shape == (4, 4)
    assert single_fit(hull).beta == 2.5


def test_models_without_a_path_say_so():
    with pytest.raises(InvalidParameterError, match="A path belongs to a fitted"):
        PathDisplay.of(PSDRegressor(weight=0.01, rank=10).fit(X, y**2), X, y)
    with pytest.raises(InvalidParameterError, match="A path belongs to a fitted"):
        PathDisplay.of(NablassoRegressor("linear", cv=3).fit(X, y), X, y)
