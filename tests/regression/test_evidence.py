"""The restricted evidence against dense Gaussian processes, differences, and left-out rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from nablasso.kernels import (
    AdditivePower,
    Anova,
    Gaussian,
    Linear,
    Matern52,
    Polynomial,
    RadialKernel,
    RationalQuadratic,
)
from nablasso.regression.evidence import FAILED, Covariance, Evidence, without_columns
from nablasso.regression.models import FAMILIES, STATED, come_back
from tests.regression.dense_process import (
    best_log_evidence,
    gram,
    left_out,
    log_evidence,
    noise_matrix,
)


class Cauchy(RadialKernel):
    """A user's own kernel."""

    def profile(self, r):
        return 1 / (1 + r), -1 / (1 + r) ** 2, 2 / (1 + r) ** 3


N, D = 14, 4
LABELS = np.array([0, 1, 1, 2])
V, R = np.array([0.6, 0.2, 0.05]), 0.3
CENTRE, SCALE = np.linspace(-1, 1, 12).reshape(4, 3), np.array([0.5, 0.8, 1.0, 2.0])
KERNELS = (
    Linear(),
    Polynomial(2, 0.5),
    Polynomial(3),
    Gaussian(),
    Gaussian(0.7),
    Matern52(),
    RationalQuadratic(0.9, 1.7),
    Anova(2),
    Anova(2, Matern52(1.2)),
    AdditivePower(2),
    AdditivePower(3, 0.5, 5),
    AdditivePower(2, 0.3, 3, CENTRE, SCALE),
    Gaussian() + Linear(),
    0.3 * Polynomial(2) + Anova(2),
)
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: " ".join(repr(k).split()))


def shape_of(name):
    rng = np.random.default_rng(5)
    if name == "equal":
        return np.ones(N)
    variances = rng.uniform(0.3, 3.0, size=N)
    if name == "weights":
        return variances
    root = np.sqrt(variances)
    time = rng.permutation(N)
    return 0.8 ** np.abs(time[:, None] - time) * root * root[:, None]


NOISES = ("equal", "weights", "serial")


def process(kernel=None, noise="equal", targets=1, *, known=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    Y = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], X[:, 3] ** 2])[:, :targets]
    Y = Y + 0.3 * rng.normal(size=Y.shape) + 4.0
    covariance = Covariance(Gaussian() if kernel is None else kernel, X, LABELS, 3)
    noise = shape_of(noise)
    nothing = without_columns(Y, noise, known=known).value
    return Evidence(covariance, Y, noise, known, nothing)


def dense(evidence, v=V, r=R, function=None):
    """``K`` and ``A`` entry by entry."""
    covariance = evidence.covariance
    Z = covariance.F * np.sqrt(v)[covariance.labels]
    K = gram(covariance.kernel if function is None else function, Z, Z)
    return K, K + r * noise_matrix(evidence.noise, len(Z))


# -------------------------------------------------------------------------- the value


@each_kernel
def test_the_value_is_that_of_a_dense_normal_density(kernel):
    evidence = process(kernel, "weights", targets=2)
    A, N_ = dense(evidence)[1], noise_matrix(evidence.noise, N)
    expected = sum(best_log_evidence(N_, y) - best_log_evidence(A, y) for y in evidence.Y.T)
    assert evidence.value(V, R) == pytest.approx(expected, rel=1e-5)
    assert evidence.solve(V, R).value == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("known", [False, True])
def test_every_shape_of_noise(noise, known):
    evidence = process(noise=noise, targets=2, known=known)
    A, N_ = dense(evidence)[1], noise_matrix(evidence.noise, N)
    if known:  # the noise is N itself
        expected = sum(log_evidence(N_, y, 1.0) - log_evidence(A, y, 1 / R) for y in evidence.Y.T)
    else:
        expected = sum(best_log_evidence(N_, y) - best_log_evidence(A, y) for y in evidence.Y.T)
    assert evidence.value(V, R) == pytest.approx(expected, rel=1e-6)


def test_the_mean_is_integrated_out():
    """By a numerical integral over it; its prior is flat, so the difference to nothing counts."""
    evidence = process(Polynomial(2), "weights", known=True)
    (y,) = evidence.Y.T
    A, N_ = dense(evidence)[1] / R, noise_matrix(evidence.noise, N)

    def log_integral(covariance):
        density = multivariate_normal(np.zeros(N), covariance)
        top = max(density.logpdf(y - b) for b in np.linspace(0, 8, 81))
        total, _ = quad(lambda b: np.exp(density.logpdf(y - b) - top), -30, 40, limit=400)
        return np.log(total) + top

    assert evidence.value(V, R) == pytest.approx(log_integral(N_) - log_integral(A), rel=1e-6)


@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        (Gaussian(), RBF(1 / np.sqrt(V[LABELS]))),
        (Matern52(), Matern(1 / np.sqrt(V[LABELS]), nu=2.5)),
    ],
    ids=["Gaussian", "Matern"],
)
def test_an_independent_gaussian_process(kernel, theirs):
    """scikit-learn's, whose mean is zero: a constant of a large variance stands for ours."""
    evidence, far = process(kernel, known=True), 1e5
    (y,) = evidence.Y.T

    def theirs_log(whole):
        model = GaussianProcessRegressor(whole + ConstantKernel(far), alpha=0.0, optimizer=None)
        return model.fit(evidence.covariance.F, y).log_marginal_likelihood_value_

    with_columns = theirs_log(ConstantKernel(1 / R) * theirs + WhiteKernel(1.0))
    expected = theirs_log(WhiteKernel(1.0)) - with_columns
    assert evidence.value(V, R) == pytest.approx(expected, abs=1e-3)


def test_nothing_selected_is_zero():
    for noise in NOISES:
        for known in (False, True):
            evidence = process(Linear(), noise, 2, known=known)
            r = 1.0 if known else 0.7  # the unit takes up any other noise
            assert evidence.value(np.zeros(3), r) == pytest.approx(0.0, abs=1e-9)


def test_a_constant_and_the_unit_of_the_target_do_not_matter():
    evidence = process(noise="serial")
    moved = replace(evidence, Y=100 * evidence.Y - 7)
    shift = without_columns(moved.Y, moved.noise).value
    assert replace(moved, nothing=shift).value(V, R) == pytest.approx(evidence.value(V, R))


# -------------------------------------------------------------------------- the gradient


def differences(evidence, x, h=1e-4):
    """Central ones."""
    out = np.empty_like(x)
    for i, e in enumerate(h * np.eye(len(x))):
        ends = [evidence.value(np.exp(z[:-1]), float(np.exp(z[-1]))) for z in (x + e, x - e)]
        out[i] = (ends[0] - ends[1]) / (2 * h)
    return out


@pytest.mark.parametrize("kernel", [*KERNELS, Cauchy()], ids=lambda k: " ".join(repr(k).split()))
def test_the_gradient_is_that_of_the_value(kernel):
    evidence = process(kernel, "weights", targets=2)
    x = np.log(np.append(V, R))
    value, gradient = evidence.value_and_gradient(x)
    assert value == pytest.approx(evidence.value(V, R))
    np.testing.assert_allclose(gradient, differences(evidence, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("noise", NOISES)
def test_the_gradient_under_every_shape_of_noise(noise, known):
    evidence = process(Matern52(), noise, 2, known=known)
    x = np.log(np.append(V, R))
    np.testing.assert_allclose(
        evidence.value_and_gradient(x)[1], differences(evidence, x), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_families_on_their_features(family):
    """Value against the kernel of columns that is the family's, gradient against differences."""
    evidence = process()
    X, weights = evidence.covariance.F, np.linspace(0.5, 1.5, N)
    evidence = replace(evidence, covariance=family.covariance(X, LABELS, weights))
    kernel, scales = family.fitted(X, weights, V[LABELS])
    K = kernel(X * scales, X * scales)
    expected = best_log_evidence(np.eye(N), evidence.Y[:, 0])
    expected -= best_log_evidence(K + R * np.eye(N), evidence.Y[:, 0])
    assert evidence.value(V, R) == pytest.approx(expected, rel=1e-5)
    x = np.log(np.append(V, R))
    np.testing.assert_allclose(
        evidence.value_and_gradient(x)[1], differences(evidence, x), rtol=1e-4, atol=1e-5
    )


def test_sizes_and_states_have_variances_of_their_own():
    """As above; group ``g`` has its states in group ``g`` plus the number of groups."""
    n, own, rng = 2 * N, 3, np.random.default_rng(6)
    X, Y = rng.normal(size=(n, D)), rng.normal(size=(n, 1))
    X[:, 0], X[:, 2] = np.arange(n) % 3, rng.permutation(np.arange(n) % 4)
    assert come_back(X).tolist() == [1, 0, 1, 0]
    covariance = STATED.covariance(X, LABELS, np.ones(n))
    groups = np.array([0, 1, 2, 3, 4])  # columns 0, 1 and 2, 3; states of 0 and of 2
    assert np.unique(covariance.labels).tolist() == groups.tolist()
    v = np.array([0.6, 0.2, 0.05, 0.4, 0.1])
    of_states = np.append(v[own:], 0.0)
    kernel, scales = STATED.fitted(X, np.ones(n), v[LABELS], of_states[LABELS])
    expected = best_log_evidence(np.eye(n), Y[:, 0])
    expected -= best_log_evidence(kernel(X * scales, X * scales) + R * np.eye(n), Y[:, 0])
    part = Evidence(covariance, Y, np.ones(n)).part(groups)
    part = replace(part, nothing=without_columns(Y, np.ones(n)).value)
    assert part.value(v, R) == pytest.approx(expected, rel=1e-5)
    x = np.log(np.append(v, R))
    np.testing.assert_allclose(
        part.value_and_gradient(x)[1], differences(part, x), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2), Gaussian(), Cauchy()], ids=repr)
def test_what_a_column_outside_asks_for(kernel):
    """Twice the slope of the value in its variance at zero, for products over its second part."""
    evidence, inside = process(kernel, targets=2), np.array([2, 0])
    v = V[inside]
    asked = evidence.outside(inside, v, R)
    assert np.isinf(asked[inside]).all()
    h = 1e-6
    start = evidence.part(inside).value(v, R)
    moved = evidence.part(np.array([2, 0, 1])).value(np.append(v, h), R)
    slope = 2 * (moved - start) / h
    if isinstance(kernel, RadialKernel):
        assert asked[1] == pytest.approx(slope, rel=1e-3)
    else:  # relative to tr(P dK), which no variance makes negative
        assert np.sign(asked[1]) == np.sign(slope)
        assert asked[1] <= 1


@pytest.mark.parametrize("kernel", [Anova(2), AdditivePower(2), Gaussian() + Linear()], ids=repr)
def test_a_kernel_that_cannot_be_looked_at_from_zero_is_looked_at_from_nearby(kernel):
    evidence, near = process(kernel), 1e-4 * V[0]
    asked = evidence.outside(np.array([0]), V[:1], R)
    for g in (1, 2):
        part = evidence.part(np.array([0, g]))
        values = [part.value(np.array([V[0], v]), R) for v in (near, 2 * near)]
        assert np.sign(asked[g]) == np.sign(values[1] - values[0])


# -------------------------------------------------------------------------- left-out rows


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kernel", [Polynomial(2), Gaussian(), Anova(2)], ids=repr)
def test_single_rows_are_really_left_out(kernel, noise):
    evidence = process(kernel, noise, targets=2)
    K, A = dense(evidence)
    solved = evidence.solve(V, R)
    residuals, densities = solved.left_out()
    for i in range(N):
        total = 0.0
        for t, c in enumerate(solved.units):
            error, variance = left_out(A, K, evidence.Y[:, t], c, np.array([i]))
            assert residuals[i, t] == pytest.approx(float(error[0]), rel=1e-5, abs=1e-7)
            total += multivariate_normal(0.0, variance[0, 0]).logpdf(error[0])
        # the constant of the normal density is left out
        assert densities[i] == pytest.approx(total + np.log(2 * np.pi), rel=1e-5)


@pytest.mark.parametrize("noise", NOISES)
def test_folds_are_really_left_out(noise):
    evidence = process(Matern52(), noise, targets=2)
    K, A = dense(evidence)
    solved = evidence.solve(V, R)
    folds = [np.array([3, 0, 7]), np.array([1]), np.arange(8, 13)]
    residuals, densities = solved.left_out(folds)
    assert np.isnan(residuals[2]).all()  # in no fold
    for fold, density in zip(folds, densities, strict=True):
        total = 0.0
        for t, c in enumerate(solved.units):
            errors, covariance = left_out(A, K, evidence.Y[:, t], c, fold)
            np.testing.assert_allclose(residuals[fold, t], errors, rtol=1e-5, atol=1e-7)
            total += multivariate_normal(np.zeros(len(fold)), covariance).logpdf(errors)
        assert density == pytest.approx(total + len(fold) * np.log(2 * np.pi), rel=1e-5)


def test_without_columns_a_row_is_left_out_of_the_mean():
    Y = process(targets=2).Y
    residuals, _ = without_columns(Y, np.ones(N)).left_out()
    np.testing.assert_allclose(residuals, (Y - Y.mean(axis=0)) * N / (N - 1))
    weights = np.linspace(0.5, 2, N)
    residuals, _ = without_columns(Y, 1 / weights).left_out()
    rest = np.arange(N) != 3
    expected = Y[3] - np.average(Y[rest], axis=0, weights=weights[rest])
    np.testing.assert_allclose(residuals[3], expected)


# -------------------------------------------------------------------------- covariances


def test_parts_are_renumbered_in_the_order_given():
    covariance = process().covariance
    part = covariance.part(np.array([2, 1]))
    np.testing.assert_array_equal(part.F, covariance.F[:, [1, 2, 3]])
    np.testing.assert_array_equal(part.labels, [1, 1, 0])
    assert part.n_groups == 2
    np.testing.assert_allclose(
        part.gram(V[[2, 1]])[0], covariance.gram(np.array([0.0, V[1], V[2]]))[0], atol=1e-12
    )


def test_the_start_of_a_radial_kernel_is_its_median_distance():
    covariance = process(Gaussian()).covariance
    F = covariance.F
    squares = [np.sum((F[i] - F[j]) ** 2) for i in range(N) for j in range(i)]
    assert covariance.start() == pytest.approx(1 / np.median(squares))
    assert process(Polynomial(2)).covariance.start() == pytest.approx(1 / 3)


def test_the_size_is_the_mean_variance_of_a_row():
    evidence = process(Polynomial(3))
    K = dense(evidence)[0]
    H = np.eye(N) - 1 / N
    assert evidence.covariance.size(V) == pytest.approx(np.trace(H @ K @ H) / N)


def test_a_matrix_without_a_factor_is_no_error():
    evidence = replace(process(), noise=-10 * np.eye(N))
    assert evidence.value(V, 1.0) == FAILED
    assert evidence.solve(V, 1.0) is None
    value, gradient = evidence.value_and_gradient(np.zeros(4))
    assert value == FAILED
    np.testing.assert_array_equal(gradient, 0.0)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        without_columns(evidence.Y, evidence.noise)
