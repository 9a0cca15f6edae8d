"""Features reproduce a kernel, directions are eigenvectors; older methods are special cases."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from nablasso import SparseGradientRegressor
from nablasso.gradients.learner import KernelFactor, find_directions
from nablasso.kernels import DotProductKernel, Gaussian, Kernel, Linear, Polynomial

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(20, 4)), RNG.normal(size=(7, 4))
COLUMNS = np.array([1, 4])
B = np.array([[3.0, 0.0, 1.0], [1.0, 2.0, 0.0]])


class Constant(DotProductKernel):
    """``1``: the space of the constant functions."""

    def profile(self, t):
        return np.ones_like(t), np.zeros_like(t), np.zeros_like(t)


class Delta(Kernel):
    """One where two points are equal, zero elsewhere; it has values and no derivatives."""

    has_width = False

    def __call__(self, Z, X):
        return np.asarray((Z[:, None] == X).all(axis=2), dtype=float)

    def between(self, Z, X):
        raise NotImplementedError

    diagonal = derivative_diagonal = between


@pytest.mark.parametrize(
    ("kernel", "rank"),
    [(Gaussian(), 20), (Linear(), 4), (Polynomial(1), 5), (Constant(), 1), (Delta(), 20)],
    ids=repr,
)
def test_features_give_the_kernel_and_its_rank(kernel, rank):
    factor = KernelFactor(kernel, X, 1.3)
    assert factor.phi.shape[1] == rank
    np.testing.assert_allclose(factor.phi @ factor.phi.T, kernel(X / 1.3, X / 1.3), atol=1e-10)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear()], ids=repr)
def test_functions_are_kernel_expansions_of_the_same_norm(kernel):
    factor = KernelFactor(kernel, X, 1.3)
    B = np.random.default_rng(1).normal(size=(3, factor.phi.shape[1]))
    K = kernel(X / 1.3, X / 1.3)
    C = B @ np.linalg.pinv(factor.phi)
    np.testing.assert_allclose(np.diag(C @ K @ C.T), np.sum(B**2, axis=1), rtol=1e-8)
    np.testing.assert_allclose(C @ K, B @ factor.phi.T, atol=1e-8)
    expected = kernel(Z / 1.3, X / 1.3) @ C.T
    np.testing.assert_allclose(factor.evaluate(Z, B), expected, atol=1e-8)


def test_covariance_spectrum_and_directions():
    components, spectrum, covariance = find_directions([(COLUMNS, B)], 6, 2)
    dense = np.zeros((6, 6))
    dense[np.ix_(COLUMNS, COLUMNS)] = B @ B.T
    np.testing.assert_allclose(covariance.toarray(), dense)
    np.testing.assert_allclose(spectrum, np.linalg.eigvalsh(B @ B.T)[::-1])
    assert np.all(components[:, [0, 2, 3, 5]] == 0)
    for value, direction in zip(spectrum, components, strict=True):
        np.testing.assert_allclose(dense @ direction, value * direction, atol=1e-12)
        assert direction[np.argmax(np.abs(direction))] > 0


@pytest.mark.parametrize(("second", "expected"), [(0.2, 1), (0.3, 2)])
def test_as_many_as_explain_95_percent(second, expected):
    components, *_ = find_directions([(COLUMNS, np.diag([1.0, second]))], 6, None)
    assert len(components) == expected


def test_several_functions_add_up():
    other = (np.array([0]), np.array([[2.0]]))
    *_, covariance = find_directions([(COLUMNS, B), other], 6, None)
    assert covariance.toarray()[0, 0] == 4.0
    assert covariance.toarray()[1, 1] == 10.0


def test_no_gradients_give_one_direction_of_zeros():
    nothing = (np.array([], dtype=int), np.zeros((0, 3)))
    components, spectrum, _ = find_directions([nothing], 4, None)
    assert components.tolist() == [[0, 0, 0, 0]]
    assert spectrum.size == 0


def test_remark_2_with_constant_gradients_and_equal_weights_it_is_the_lasso():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * [1, 2, 1, 1, 3, 1]
    y = X[:, 0] - 0.5 * X[:, 1] + 0.1 * rng.normal(size=40)
    model = SparseGradientRegressor(0.2, kernel=Constant(), bandwidth=1e6, tol=1e-10).fit(X, y)
    # sum_ij (.)^2 / n^2 is twice the variance of the residuals, scikit-learn's loss half of it
    lasso = Lasso(0.2 / 4, tol=1e-12).fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert 0 < np.sum(lasso.coef_ != 0) < 6
    np.testing.assert_allclose(model.predict_gradient(X)[7] * X.std(axis=0), lasso.coef_, atol=1e-6)
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
    np.testing.assert_allclose(model.predict_gradient(X), local, atol=1e-5)
    outer = np.linalg.eigh(np.transpose(local) @ local)[1]
    np.testing.assert_allclose(abs(model.components_[0] @ outer[:, -1]), 1.0, atol=1e-8)
