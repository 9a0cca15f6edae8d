"""Log-odds by Laplace's approximation: against scikit-learn's, a dense one, and copies of rows."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from nablasso.kernels import Gaussian, Polynomial
from nablasso.regression.evidence import Covariance, Evidence
from nablasso.regression.laplace import LogOdds, left_out_odds

N, D = 30, 3
V, R = np.array([0.8, 0.3, 0.1]), 0.2


def labels(seed=0, n=N):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.normal(size=n) > 0.8, 1.0, -1.0)


def odds_of(X, y, kernel=None, w=None):
    kernel = Gaussian() if kernel is None else kernel
    covariance = Covariance(kernel, X, np.arange(D), D)
    return LogOdds(covariance, y, np.ones(len(y)) if w is None else w)


def test_an_independent_laplace_approximation():
    """scikit-learn's; a constant of a large variance stands for the flat prior of the mean."""
    X, y = labels()
    far = ConstantKernel(1e5)

    def theirs(kernel):
        model = GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=500)
        return model.fit(X, y).log_marginal_likelihood_value_

    with_columns = theirs(ConstantKernel(1 / R) * RBF(1 / np.sqrt(V)) + far)
    assert odds_of(X, y).mode(V, R).value == pytest.approx(theirs(far) - with_columns, abs=1e-3)


@pytest.mark.parametrize("kernel", [Gaussian(), Polynomial(2)], ids=repr)
def test_the_mode_and_the_value_written_out(kernel):
    """``psi`` minimised over ``f`` and ``b``, and the determinants of its dense Hessian."""
    X, y = labels()
    w = np.linspace(0.5, 1.5, N)
    K = kernel(X * np.sqrt(V), X * np.sqrt(V)) / R + 1e-8 * np.eye(N)
    inverse = np.linalg.inv(K)

    def psi(x):
        f, b = x[:-1], x[-1]
        margin = y * (b + f)
        slope = -w * y / (1 + np.exp(margin))
        value = w @ np.logaddexp(0, -margin) + 0.5 * f @ inverse @ f
        return value, np.append(slope + inverse @ f, slope.sum())

    # started at the mode to be tested: a better point would be found
    mode = odds_of(X, y, kernel, w).mode(V, R)
    start = np.append(mode.eta - mode.intercept, mode.intercept)
    found = minimize(psi, start, jac=True, method="BFGS")
    assert psi(start)[0] == pytest.approx(found.fun, abs=1e-4)
    p = 1 / (1 + np.exp(-mode.eta))
    W = w * p * (1 - p)
    hessian = np.block([[inverse + np.diag(W), W[:, None]], [W[None], W.sum()]])
    share = w @ (y > 0) / w.sum()
    nothing = w @ np.logaddexp(0, -y * np.log(share / (1 - share)))
    nothing += 0.5 * np.log(w.sum() * share * (1 - share))
    volume = np.linalg.slogdet(K)[1] + np.linalg.slogdet(hessian)[1]
    assert mode.value == pytest.approx(psi(start)[0] + 0.5 * volume - nothing, abs=0.02)


def test_the_function_is_that_of_its_coefficients():
    X, y = labels()
    mode = odds_of(X, y).mode(V, R)
    K = Gaussian()(X * np.sqrt(V), X * np.sqrt(V))
    np.testing.assert_allclose(mode.intercept + K @ mode.u, mode.eta, atol=1e-5)
    assert np.mean(np.sign(mode.eta) == y) > 0.8
    assert mode.u.sum() == pytest.approx(0.0, abs=1e-9)  # the mean is free


def test_weights_are_copies():
    X, y = labels()
    w = np.where(np.arange(N) < 10, 3.0, 1.0)
    rows = np.repeat(np.arange(N), w.astype(int))
    weighted, copied = odds_of(X, y, w=w).mode(V, R), odds_of(X[rows], y[rows]).mode(V, R)
    assert weighted.value == pytest.approx(copied.value, abs=1e-4)
    np.testing.assert_allclose(weighted.eta[rows], copied.eta, atol=1e-3)


def test_nothing_selected_is_zero():
    X, y = labels()
    assert odds_of(X, y, Polynomial(1, 0.0)).mode(np.zeros(D), 1.0).value == pytest.approx(
        0.0, abs=1e-5
    )


@pytest.mark.parametrize("kernel", [Gaussian(), Polynomial(2)], ids=repr)
def test_tuning_gains(kernel):
    X, y = labels(n=60)
    odds = odds_of(X, y, kernel)
    start = np.log(np.full(D, 0.3))
    before = odds.mode(np.exp(start), 0.1)
    tuned = odds.tuned(start, float(np.log(0.1)))
    assert tuned.mode.value < before.value
    again = odds.mode(np.exp(tuned.logs), float(np.exp(tuned.noise)))
    assert again.value == pytest.approx(tuned.mode.value, abs=0.02)
    assert tuned.mode.value < 0  # better than the share of the classes


def test_ties_share_a_variance():
    X, y = labels(n=60)
    ties, odds = np.array([0, 1, 1]), odds_of(X, y)
    z, W = odds.working(np.zeros(60), y, odds.w)
    evidence = Evidence(odds.covariance, z[:, None], 1 / W, known=True)
    x, h = np.log([0.5, 0.2, 0.1]), 1e-5
    value, slope = evidence.value_and_gradient(x, ties)
    assert value == evidence.value_and_gradient(np.log([0.5, 0.2, 0.2, 0.1]))[0]
    for k, e in enumerate(np.eye(3)):
        ends = [evidence.value_and_gradient(x + sign * h * e, ties)[0] for sign in (1, -1)]
        assert slope[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-4)
    tuned = odds.tuned(np.log([0.3, 0.3]), float(np.log(0.1)), ties)
    assert tuned.logs[1] == tuned.logs[2] != tuned.logs[0]


def test_classes_that_a_function_separates_have_finite_odds():
    X, _ = labels()
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    tuned = odds_of(X, y, Polynomial(1)).tuned(np.zeros(D), 0.0)
    assert np.isfinite(tuned.mode.eta).all()
    np.testing.assert_array_equal(np.sign(tuned.mode.eta), y)


def test_left_out_odds_are_nearly_those_of_modes_without_the_row():
    X, y = labels(5)
    w = np.random.default_rng(5).uniform(0.5, 1.5, size=N)
    whole = odds_of(X, y, w=w)
    mode, gram = whole.mode(V, R), whole.covariance.gram(V)[0]
    quick = left_out_odds(gram, mode.u, mode.intercept, y, w)
    exact = np.empty(N)
    for i in range(N):
        rest = np.delete(np.arange(N), i)
        without = odds_of(X[rest], y[rest], w=w[rest]).mode(V, R)
        exact[i] = without.intercept + gram[i, rest] @ without.u
    assert np.corrcoef(quick, exact)[0, 1] > 0.98
    assert np.abs(quick - exact).mean() < 0.3 * np.abs(mode.eta - exact).mean()


def test_one_copy_of_a_row_is_left_out_not_all():
    X, y = labels(2)
    copies = np.random.default_rng(2).integers(1, 4, N).astype(float)
    each = np.repeat(np.arange(N), copies.astype(int))
    merged, whole = odds_of(X, y, w=copies), odds_of(X[each], y[each])
    found = [
        left_out_odds(one.covariance.gram(V)[0], mode.u, mode.intercept, one.y, one.w, c)
        for one, mode, c in ((merged, merged.mode(V, R), copies), (whole, whole.mode(V, R), None))
    ]
    np.testing.assert_allclose(found[0][each], found[1], atol=1e-3)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e15])
def test_labels_explained_without_an_error_have_odds_whatever_the_size_of_the_kernel(size):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, size=(80, 2)).astype(float)
    y = np.where(X[:, 0] == X[:, 1], 1.0, -1.0)
    covariance = Covariance(size * Gaussian(), X, np.arange(2), 2)
    one = LogOdds(covariance, y, np.ones(80))
    tuned = one.tuned(np.zeros(2), np.log(1e-9 * size))
    assert tuned is not None
    assert tuned.mode.value < -20
