"""Older methods as special cases: Remarks 1 and 2 of Ye and Xie."""

import numpy as np
from sklearn.linear_model import Lasso

from nablasso import SparseGradientRegressor
from nablasso.gradients import Constant, Delta


def test_remark_2_with_constant_gradients_and_equal_weights_it_is_the_lasso():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * [1, 2, 1, 1, 3, 1]
    y = X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.normal(size=40)
    model = SparseGradientRegressor(0.2, kernel=Constant(), bandwidth=1e6, tol=1e-10).fit(X, y)
    # sum_ij (.)^2 / n^2 is twice the variance of the residuals, scikit-learn's loss half of it
    lasso = Lasso(0.2 / 4, tol=1e-12).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert 0 < np.sum(lasso.coef_ != 0) < 6
    np.testing.assert_allclose(model.gradients_[7] * X.std(axis=0), lasso.coef_, atol=1e-6)
    np.testing.assert_array_equal(model.support_, lasso.coef_ != 0)


def test_remark_1_with_separate_gradients_and_no_penalty_it_is_opg():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    y = np.sin(X[:, 0] + X[:, 1])
    model = SparseGradientRegressor(
        1e-9, kernel=Delta(), bandwidth=1.0, standardize=False, tol=1e-11
    ).fit(X, y)
    weights = np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2) / 2)
    local = []
    for i in range(len(X)):
        root = np.sqrt(weights[i])
        local.append(np.linalg.lstsq(root[:, None] * (X - X[i]), root * (y - y[i]), rcond=None)[0])
    np.testing.assert_allclose(model.gradients_, local, atol=1e-5)
    outer = np.linalg.eigh(np.transpose(local) @ local)[1]
    np.testing.assert_allclose(abs(model.components_[0] @ outer[:, -1]), 1.0, atol=1e-8)
