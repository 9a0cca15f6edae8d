"""Ridge regression in feature space against the kernel's."""

import numpy as np
import pytest

from nablasso.hierarchy.thin_ridge import ThinRidge
from nablasso.spaces import RidgeInverse
from tests.hierarchy.small import data


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_thin_ridge_is_kernel_ridge(fit_intercept):
    X, y = data()
    p = np.random.default_rng(0).random(len(y))
    p /= p.sum()
    thin = ThinRidge(X, y + 1, p, fit_intercept=fit_intercept)
    inverse = RidgeInverse(X @ X.T, p, fit_intercept=fit_intercept)
    assert thin.ridge == pytest.approx(inverse.best_ridge(y + 1), rel=1e-6)
    expected = inverse.loo_residuals(y + 1, thin.ridge)
    np.testing.assert_allclose(thin.left_out(thin.ridge), expected, rtol=1e-6)
    coef, b = thin.coefficients()
    np.testing.assert_allclose(coef, X.T @ inverse.coefficients(y + 1, thin.ridge), rtol=1e-6)
    residual = y + 1 - X @ coef - b
    assert not fit_intercept or p @ residual == pytest.approx(0, abs=1e-12)
