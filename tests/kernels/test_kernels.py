"""What every kernel promises; a new one joins ``OURS``, its formula ``tests/dense_reference``."""

from functools import cache

import numpy as np
import pytest
from sklearn.base import clone

from nablasso import kernels
from nablasso.errors import InvalidParameterError, NotTwiceDifferentiableError
from nablasso.kernels import (
    KERNELS,
    AdditivePower,
    Anova,
    DotProductKernel,
    Gaussian,
    Linear,
    Matern52,
    Polynomial,
    RadialKernel,
    RationalQuadratic,
    Rough,
    Scaled,
    Stated,
    Sum,
    as_kernel,
)
from nablasso.kernels.base import row_blocks
from nablasso.spaces import RepresenterSpace
from tests.dense_reference import dense, plain


class Cauchy(RadialKernel):
    """A user's own radial kernel, ``1 / (1 + r)``."""

    def profile(self, r):
        return 1 / (1 + r), -1 / (1 + r) ** 2, 2 / (1 + r) ** 3


class Exponential(DotProductKernel):
    """A user's own dot-product kernel, ``exp(z . x / 4)``."""

    def profile(self, t):
        k = np.exp(t / 4)
        return k, k / 4, k / 16


def cauchy(s, r):
    return 1 / (1 + np.sum((s - r) ** 2, axis=-1) / 2)


def exponential(s, r):
    return np.exp(np.sum(s * r, axis=-1) / 4)


OURS = (
    Gaussian(),
    Gaussian(0.7),
    Matern52(1.3),
    RationalQuadratic(0.9, 1.7),
    Rough(1.2, 0.4),
    Linear(),
    Polynomial(1, 0.5),
    Polynomial(2),
    Polynomial(3, 0.0),
    Polynomial(6, 0.5),
    Anova(1),
    Anova(2),
    Anova(3),
    Anova(1, RationalQuadratic(0.8)),
    Anova(2, Matern52(1.2)),
    Anova(3, RationalQuadratic(1.1, 0.6)),
    AdditivePower(),
    AdditivePower(1, 0.0),
    AdditivePower(2, 0.3, 5),
    AdditivePower(3, 0.5, 7),
    AdditivePower(2, 0.3, 3, np.linspace(-1, 1, 12).reshape(4, 3), np.array([0.5, 0.0, 1.0, 2.0])),
    Stated(Gaussian(1.3), np.array([0.7, 0.0, 1.1, 0.0])),
    Gaussian(1.5) + Linear(),
    0.3 * Polynomial(2),
    Sum(Scaled(Gaussian(0.5), 2.0), Anova(2) * 0.5),
    AdditivePower(2) * 0.5 + Gaussian(),
)
ALL_KERNELS = (
    *((kernel, plain(kernel)) for kernel in OURS),
    (Cauchy(), cauchy),
    (Exponential(), exponential),
)
each_kernel = pytest.mark.parametrize(
    ("kernel", "function"), ALL_KERNELS, ids=[repr(kernel) for kernel, _ in ALL_KERNELS]
)
RADIAL = [kernel for kernel, _ in ALL_KERNELS if isinstance(kernel, RadialKernel)]


def points():
    """Centres, and evaluation points of which the first is a centre; read-only."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(6, 4))
    Z = np.vstack([X[2], rng.normal(size=(4, 4))])
    u, v = rng.normal(size=6), rng.normal(size=(6, 4))
    for array in (X, Z, u, v):
        array.setflags(write=False)
    return Z, X, u, v


@cache
def reference(function):
    Z, X, _, _ = points()
    return dense(function, Z, X)


def close(actual, expected, tolerance=1e-9):
    """Equal relative to the largest entry: derivatives of the reference are numerical."""
    assert actual.shape == expected.shape
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@each_kernel
def test_gram_is_the_function_of_two_points(kernel, function):
    Z, X, _, _ = points()
    expected = np.array([[function(z, x) for x in X] for z in Z])
    close(kernel.between(Z, X).gram(), expected, 1e-13)
    close(kernel(Z, X), expected, 1e-13)
    close(kernel(Z.tolist(), X.tolist()), expected, 1e-13)
    close(kernel.against(X)(Z), expected, 1e-13)


@each_kernel
def test_derivatives_are_those_of_the_function(kernel, function):
    Z, X, _, _ = points()
    D, L = kernel.between(Z, X).dense()
    close(D, reference(function).D)
    close(L, reference(function).L)


@each_kernel
def test_the_diagonal_of_second_derivatives(kernel, function):
    _, X, _, _ = points()
    L = dense(function, X, X).L
    close(kernel.derivative_diagonal(X), np.einsum("iaia->ia", L))


@each_kernel
def test_values_derivatives_and_norms_form_one_positive_matrix(kernel, function):
    _, X, _, _ = points()
    n, d = X.shape
    operator = kernel.between(X, X)
    K = operator.gram()
    D, L = operator.dense()
    D, L = D.reshape(n * d, n), L.reshape(n * d, n * d)
    A = np.block([[K, D.T], [D, L]])
    np.testing.assert_allclose(A, A.T, rtol=0, atol=1e-13 * np.abs(A).max())
    eigenvalues = np.linalg.eigvalsh((A + A.T) / 2)
    assert eigenvalues[0] >= -1e-12 * eigenvalues[-1]
    assert eigenvalues[-1] > 0


def check_products(kernel, function):
    Z, X, u, v = points()
    K, D, C, L = reference(function)
    Dv = np.einsum("ija,ja->i", C, v)
    Du, Lv = np.einsum("iaj,j->ia", D, u), np.einsum("iajb,jb->ia", L, v)
    operator = kernel.between(Z, X)
    pushed, carry = operator.push(v)
    close(pushed, Dv)
    close(operator.pull(u, v, carry), Du + Lv)
    close(operator.pull(u, v, carry), Du + Lv)  # the carry is as it was
    close(operator.pull(0 * u, v, carry), Lv)
    close(operator.gram() @ u + operator.push(v)[0], K @ u + Dv)
    close(operator.gradients(u, v), Du + Lv)
    close(operator.gradients(u, 0 * v), Du)
    close(operator.slopes(u), Du)
    close(operator.gram(), K, 1e-13)


@each_kernel
def test_products_are_those_of_the_dense_matrices(kernel, function):
    check_products(kernel, function)


@each_kernel
def test_products_in_several_blocks_of_rows(kernel, function, monkeypatch):
    Z, X, _, _ = points()
    monkeypatch.setattr(kernels.base, "BLOCK_ELEMENTS", 2 * len(X))
    assert [len(Z[rows]) for rows in row_blocks(len(Z), len(X))] == [2, 2, 1]
    check_products(kernel, function)
    monkeypatch.setattr(kernels.base, "BLOCK_ELEMENTS", 2 * X.size)  # the blocks of ANOVA kernels
    check_products(kernel, function)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("block", [1, 50, 1000])
def test_anova_with_nothing_kept(order, block, monkeypatch):
    monkeypatch.setattr(kernels.radial, "KEEP_BYTES", 0)
    monkeypatch.setattr(kernels.base, "BLOCK_ELEMENTS", block)
    kernel = Anova(order, Matern52(0.9))
    calls = []
    profile = Matern52.profile
    monkeypatch.setattr(Matern52, "profile", lambda self, r: calls.append(1) or profile(self, r))
    Z, X, u, v = points()
    operator = kernel.between(Z, X)
    before = len(calls)
    operator.gradients(u, v)
    assert len(calls) > before  # recomputed, not kept
    check_products(kernel, plain(kernel))


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_anova_of_fewer_variables_than_its_order(order, d):
    Z, X, u, v = points()
    Z, X, v = Z[:, :d], X[:, :d], v[:, :d]
    kernel = Anova(order)
    expected = dense(plain(kernel), Z, X)
    operator = kernel.between(Z, X)
    close(operator.gram(), expected.K)
    gradients = np.einsum("iaj,j->ia", expected.D, u) + np.einsum("iajb,jb->ia", expected.L, v)
    close(operator.gradients(u, v), gradients)


@pytest.mark.parametrize("length_scale", [0.7, 2.0])
def test_gaussian_diagonal_of_L_is_not_as_printed(length_scale):
    """Rosasco et al. 2013, Example 1, divides the squared difference by s^2 instead of s^4."""
    Z, X, _, _ = points()
    K = Gaussian(length_scale)(Z, X)
    L = Gaussian(length_scale).between(Z, X).dense()[1]
    finite = dense(plain(Gaussian(length_scale)), Z, X).L
    s2 = length_scale**2
    for a in range(X.shape[1]):
        square = (Z[:, [a]] - X[:, a]) ** 2
        right = -K * (square / s2**2 - 1 / s2)
        printed = -K * (square / s2 - 1 / s2)
        close(L[:, a, :, a], right, 1e-12)
        close(L[:, a, :, a], finite[:, a, :, a])
        assert np.abs(L[:, a, :, a] - printed).max() > 0.01


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_radial_products_do_not_feel_a_shift(kernel):
    Z, X, u, v = points()
    here, there = kernel.between(Z, X), kernel.between(Z + 100.0, X + 100.0)
    values = [one.gram() @ u + one.push(v)[0] for one in (there, here)]
    close(*values, 1e-10)
    close(there.gradients(u, v), here.gradients(u, v), 1e-9)
    close(there.slopes(u), here.slopes(u), 1e-9)


@each_kernel
def test_a_scale_of_zero_removes_a_variable(kernel, function):
    """Values and slopes are those of a function that knows nothing of the variable."""
    Z, X, u, _ = points()
    scales = np.array([1.3, 0.0, 0.4, 1.0])
    moved = Z + np.array([0.0, 5.0, 0.0, 0.0])
    np.testing.assert_array_equal(kernel(moved * scales, X), kernel(Z * scales, X))
    space = RepresenterSpace(kernel, X, scales)
    slopes = np.einsum("iaj,j->ia", dense(function, X * scales, X * scales).D, u) * scales
    close(space.slopes(u), slopes)
    assert not space.slopes(u)[:, 1].any()


@each_kernel
def test_parameters_make_the_round_trip(kernel, function):
    copy = clone(kernel)
    assert copy is not kernel
    assert repr(copy) == repr(kernel)
    assert type(kernel)(**kernel.get_params(deep=False)).get_params().keys() == (
        kernel.get_params().keys()
    )
    _, X, _, _ = points()
    np.testing.assert_array_equal(copy(X, X), kernel(X, X))
    assert kernel.set_params(**kernel.get_params(deep=False)) is kernel


def test_set_params_reaches_the_inner_kernel():
    _, X, _, _ = points()
    kernel = (2.0 * Gaussian(1.0)) + Linear()
    kernel.set_params(first__factor=3.0, first__kernel__length_scale=0.5)
    expected = 3 * plain(Gaussian(0.5))(X[:, None], X[None]) + X @ X.T
    close(kernel(X, X), expected, 1e-13)


def test_operators_build_sums_and_multiples():
    assert isinstance(Gaussian() + Linear(), Sum)
    assert isinstance(2 * Gaussian(), Scaled)
    assert isinstance(Gaussian() * 2, Scaled)


NAN, INFINITY = float("nan"), float("inf")
INVALID = [
    (Gaussian(0.0), "length_scale must be a positive number; got 0.0"),
    (Gaussian(-1.0), "length_scale must be a positive number; got -1.0"),
    (Gaussian(NAN), "length_scale must be a positive number; got nan"),
    (Gaussian("median"), "length_scale must be a positive number; got 'median'"),
    (Gaussian(None), "length_scale must be a positive number; got None"),
    (Matern52(INFINITY), "length_scale must be a positive number; got inf"),
    (RationalQuadratic(-2.0), "length_scale must be a positive number; got -2.0"),
    (RationalQuadratic(1.0, 0.0), "mixture must be a positive number; got 0.0"),
    (Polynomial(0), "degree must be an integer of at least 1; got 0"),
    (Polynomial(-2), "degree must be an integer of at least 1; got -2"),
    (Polynomial(2.5), "degree must be an integer of at least 1; got 2.5"),
    (Polynomial(NAN), "degree must be an integer of at least 1; got nan"),
    (Polynomial(INFINITY), "degree must be an integer of at least 1; got inf"),
    (Polynomial(2, -0.1), "offset must be zero or positive.*; got -0.1"),
    (Polynomial(2, NAN), "offset must be zero or positive.*; got nan"),
    (Anova(0), "order must be 1, 2 or 3; got 0"),
    (Anova(4), "order must be 1, 2 or 3; got 4"),
    (Anova(1.5), "order must be 1, 2 or 3; got 1.5"),
    (Anova(2, Gaussian(-1.0)), "length_scale must be a positive number; got -1.0"),
    (Anova(2, Linear()), "base must be .*got Linear"),
    (Anova(2, "gaussian"), "base must be .*got 'gaussian'"),
    (-1.0 * Gaussian(), "the factor of a kernel must be a positive number; got -1.0"),
    (Gaussian() * 0, "the factor of a kernel must be a positive number; got 0"),
    (Gaussian() * NAN, "the factor of a kernel must be a positive number; got nan"),
]


@pytest.mark.parametrize(
    ("kernel", "message"), INVALID, ids=[repr(kernel) for kernel, _ in INVALID]
)
def test_an_invalid_parameter_is_named_with_what_is_expected(kernel, message):
    _, X, _, _ = points()
    for use in (kernel.derivative_diagonal, lambda X: kernel.between(X, X)):
        with pytest.raises(InvalidParameterError, match=message):
            use(X)


def test_a_product_of_kernels_is_refused_with_a_reason():
    _, X, _, _ = points()
    with pytest.raises(InvalidParameterError, match="must be a positive number"):
        (Gaussian() * Linear())(X, X)


EXPECTED_NAMES = {
    "gaussian": Gaussian,
    "matern": Matern52,
    "rational_quadratic": RationalQuadratic,
    "rough": Rough,
    "linear": Linear,
    "polynomial": Polynomial,
    "anova": Anova,
    "additive_power": AdditivePower,
}


@pytest.mark.parametrize(("name", "kind"), EXPECTED_NAMES.items())
def test_a_name_means_the_object_with_defaults(name, kind):
    kernel = as_kernel(name)
    assert type(kernel) is kind
    assert kernel.get_params() == kind().get_params()
    assert as_kernel(name) is not kernel


def test_every_name_is_listed():
    assert set(KERNELS) >= set(EXPECTED_NAMES)


def test_an_object_stands_for_itself():
    kernel = Cauchy()
    assert as_kernel(kernel) is kernel


@pytest.mark.parametrize("wrong", ["rbf2", "", None, 3, Gaussian])
def test_an_unknown_kernel_lists_the_known_ones(wrong):
    with pytest.raises(
        InvalidParameterError, match=r"gaussian, matern.*Kernel object; got"
    ) as info:
        as_kernel(wrong)
    assert not isinstance(info.value, NotTwiceDifferentiableError)
    assert repr(wrong) in str(info.value)


@pytest.mark.parametrize("name", ["laplacian", "Laplacian", "exponential", "matern32", "matern12"])
def test_a_rough_kernel_is_refused_by_name(name):
    with pytest.raises(NotTwiceDifferentiableError, match=r'twice differentiable.*Use "matern"'):
        as_kernel(name)


class Laplacian(RadialKernel):
    """``exp(-|z - x|)``: no first derivative at zero."""

    def profile(self, r):
        q = np.sqrt(2 * r)
        return np.exp(-q), -np.exp(-q) / q, np.exp(-q) * (1 / q**2 + 1 / q**3)


class Matern32(RadialKernel):
    """``(1 + q) exp(-q)``: a finite first derivative of the profile, no second."""

    def profile(self, r):
        q = np.sqrt(6 * r)
        return (1 + q) * np.exp(-q), -3 * np.exp(-q), 9 * np.exp(-q) / q


@pytest.mark.parametrize("rough", [Laplacian(), Matern32()], ids=repr)
@pytest.mark.parametrize(
    "wrap", [lambda k: k, lambda k: Anova(2, k), lambda k: Linear() + k, lambda k: 2 * k]
)
@pytest.mark.filterwarnings("error")
def test_a_rough_profile_is_refused(rough, wrap):
    Z, X, _, _ = points()
    kernel = wrap(rough)
    for use in (kernel.derivative_diagonal, lambda X: kernel.between(Z, X)):
        with pytest.raises(
            NotTwiceDifferentiableError, match=r"twice differentiable.*Use Gaussian"
        ):
            use(X)


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Matern52(4.0), Linear(), Polynomial(3, 0.5)])
@pytest.mark.parametrize("n_points", [5, 8])
def test_products_with_more_columns_than_rows(kernel, n_points, monkeypatch):
    """They go through other arrays: same numbers."""
    monkeypatch.setattr(kernels.base, "BLOCK_ELEMENTS", 20)  # several blocks of columns
    rng = np.random.default_rng(0)
    n, d = 5, 17
    Z, X = rng.normal(size=(n_points, d)), rng.normal(size=(n, d))
    u, v = rng.normal(size=n), rng.normal(size=(n, d))
    operator = kernel.between(Z, X)
    assert operator.wide
    D, L = operator.dense()
    Dv, carry = operator.push(v)
    gradients = np.einsum("iaj,j->ia", D, u) + np.einsum("iajb,jb->ia", L, v)
    np.testing.assert_allclose(operator.pull(u, v, carry), gradients, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        operator.slopes(u), np.einsum("iaj,j->ia", D, u), rtol=1e-10, atol=1e-12
    )
    assert carry.shape == (n_points, n)
    # D'v by differences of values along v, centre by centre
    h = 1e-6
    moved = sum(
        (kernel(Z, X + h * _only(v, j)) - kernel(Z, X - h * _only(v, j)))[:, j] for j in range(n)
    )
    np.testing.assert_allclose(Dv, moved / (2 * h), rtol=1e-6, atol=1e-8)


def _only(v, j):
    return np.where(np.arange(len(v))[:, None] == j, v, 0.0)
