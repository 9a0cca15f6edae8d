"""The marginal likelihood against scipy's density, its gradient against differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from nablasso.kernels import (
    AdditivePower,
    Anova,
    Gaussian,
    Kernel,
    Linear,
    Matern52,
    Polynomial,
)
from nablasso.metric.likelihood import (
    BROAD,
    FAILED,
    SPREAD,
    Likelihood,
    tune_each,
    tune_shared,
)
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start

KERNELS = [
    Gaussian(),
    Matern52(),
    Linear(),
    Polynomial(3, 0.5),
    AdditivePower(2, 0.5),
    Anova(order=2),
    Gaussian() + 0.5 * Linear(),
]


def drawn(n: int = 18, q: int = 1, labels: tuple[int, ...] = (0, 1, 1)) -> Sample:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, len(labels)))
    Y = np.column_stack([X[:, 0] ** 2 + X[:, 1] * k for k in range(1, q + 1)])
    Y = Y + 0.1 * rng.standard_normal(Y.shape)
    weights = rng.uniform(0.5, 2.0, n)
    kept = np.ones(max(labels) + 1, dtype=bool)
    return Sample(X, Y - Y.mean(axis=0), weights / weights.sum(), np.array(labels), kept)


def minus_log_density(sample: Sample, kernel: Kernel, x: np.ndarray, unit: float) -> float:
    """The best over the unit ``c`` of minus the log of the normal density, by scipy alone."""
    n = len(sample.X)
    Z = sample.X * np.exp(x[:-1])[sample.labels]
    A = kernel(Z, Z) / unit + BROAD + np.diag(np.exp(x[-1]) / (n * sample.weights))

    def at(log_c: float) -> float:
        normal = multivariate_normal(np.zeros(n), np.exp(log_c) * A, allow_singular=True)
        return -float(np.sum(normal.logpdf(sample.Y.T)))

    return float(minimize_scalar(at, bounds=(-15, 15), options={"xatol": 1e-9}).fun)


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("kernel", [Gaussian(), Polynomial(2, 0.5)])
def test_it_is_the_density_of_a_gaussian_process(kernel: Kernel, q: int) -> None:
    sample = drawn(q=q)
    likelihood = Likelihood(sample, Start(kernel))
    values, references = [], []
    for shift in (np.zeros(3), np.array([0.3, -0.2, 0.5])):
        x = likelihood.start + shift
        prior = 0.5 * np.sum(((x - likelihood.start)[:-1] / SPREAD) ** 2)
        values.append(likelihood(x)[0] - prior)
        references.append(minus_log_density(sample, likelihood.kernel, x, likelihood.unit))
    # equal up to one constant
    assert values[1] - values[0] == pytest.approx(references[1] - references[0], abs=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradient_by_differences(kernel: Kernel) -> None:
    likelihood = Likelihood(drawn(q=2), Start(kernel, 0.7))
    x = likelihood.start + np.array([0.2, -0.3, 0.4])
    _, gradient = likelihood(x)
    step = 1e-5
    for a, e in enumerate(np.eye(3) * step):
        slope = (likelihood(x + e)[0] - likelihood(x - e)[0]) / (2 * step)
        assert gradient[a] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_one_scale_is_the_diagonal_and_pays_the_prior_once() -> None:
    likelihood = Likelihood(drawn(), Start(Gaussian()))
    x = np.array([likelihood.centre[0] + 0.6, np.log(0.2)])
    value, gradient = likelihood.shared(x)
    whole = likelihood(np.array([x[0], x[0], x[1]]))[0]
    assert value == pytest.approx(whole - 0.5 * (0.6 / SPREAD) ** 2)
    step = 1e-5
    for a, e in enumerate(np.eye(2) * step):
        slope = (likelihood.shared(x + e)[0] - likelihood.shared(x - e)[0]) / (2 * step)
        assert gradient[a] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_units_of_the_target_only_shift_it() -> None:
    sample = drawn()
    other = Sample(sample.X, 1e4 * sample.Y, sample.weights, sample.labels, sample.kept)
    one, two = (Likelihood(s, Start(Gaussian())) for s in (sample, other))
    x = one.start + 0.1
    np.testing.assert_allclose(one(x)[1], two(x)[1], rtol=1e-7, atol=1e-8)


def test_a_constant_target_fails_quietly() -> None:
    sample = drawn()
    flat = Sample(sample.X, 0 * sample.Y, sample.weights, sample.labels, sample.kept)
    likelihood = Likelihood(flat, Start(Gaussian()))
    assert likelihood(likelihood.start)[0] == FAILED
    assert np.isfinite(tune_shared(flat, Start(Gaussian())).logs).all()


def test_own_scales_are_bought_only_where_they_explain() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.7, 1.7, (80, 3))
    weights, labels = np.full(80, 1 / 80), np.arange(3)
    prices = {}
    for name, y in (
        ("alike", np.exp(-np.sum(X**2, axis=1))),
        ("unlike", np.sin(4 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * X[:, 2]),
    ):
        y = y + 0.02 * rng.standard_normal(80)
        sample = Sample(X, (y - y.mean())[:, None], weights, labels, np.ones(3, dtype=bool))
        shared = tune_shared(sample, Start(Gaussian()))
        each = tune_each(sample, shared)
        prices[name] = each.price - shared.price
        if name == "unlike":
            assert np.argmax(each.logs) == 0
            assert each.logs[0] - each.logs[2] > 1.0
    assert prices["alike"] > 0 > prices["unlike"]
