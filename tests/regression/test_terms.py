"""The gain from sums is the evidence of a dense Gaussian process."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso.regression import terms
from nablasso.regression.terms import Noise, Posterior, evidence, orthonormal_gains, price
from nablasso.streaming.passes import Design, degrees_of

TERMS = ((0,), (1,), (0, 1), (2,))


@pytest.fixture(autouse=True)
def without_a_floor(monkeypatch):
    monkeypatch.setattr(terms, "FLOOR", 0.0)


def problem(n: int = 120) -> tuple[np.ndarray, np.ndarray, Design, dict]:
    rng = np.random.default_rng(0)
    design = Design({t: degrees_of([9] * len(t), 4 if len(t) == 1 else 3) for t in TERMS})
    Z = rng.normal(size=(n, design.width))
    Z[:, 0] = 1
    priors = {t: 0.5 ** np.arange(len(design.at[t])) for t in TERMS}
    y = Z[:, 1] - 0.5 * Z[:, design.at[(0, 1)][0]] + rng.normal(size=n)
    return Z, y, design, priors


def dense_evidence(Z, y, design, priors, variance) -> float:
    """Restricted log evidence, noise profiled, up to a constant: n x n matrices."""
    A = np.eye(len(y))
    for term, v in variance.items():
        F = Z[:, design.at[term]]
        A += v * (F * priors[term]) @ F.T
    inverse = np.linalg.inv(A)
    one = np.ones(len(y))
    P = inverse - np.outer(inverse @ one, one @ inverse) / (one @ inverse @ one)
    n = len(y)
    return float(
        -0.5 * (n - 1) * np.log(y @ P @ y)
        - 0.5 * np.linalg.slogdet(A)[1]
        - 0.5 * np.log(one @ inverse @ one)
    )


def posterior(Z, y, design, priors, variance, at=None) -> Posterior:
    at = np.zeros(design.width) if at is None else at
    g = y - Z @ at
    sums = {
        "C": Z.T @ Z,
        "c": Z.T @ g,
        "M": (Z * g[:, None] ** 2).T @ Z,
        "score": np.array(g @ g),
    }
    noise = Noise(len(y), float(np.var(y)), True, len(y))
    return Posterior(sums, design, at, priors, noise, variance)


VARIANCE = {(0,): 0.7, (1,): 0.01, (0, 1): 0.2}


def test_the_gain_of_a_term_outside_is_the_dense_difference():
    Z, y, design, priors = problem()
    model = posterior(Z, y, design, priors, VARIANCE)
    without = dense_evidence(Z, y, design, priors, VARIANCE)
    gain = model.outside((2,))
    with_it = dense_evidence(Z, y, design, priors, {**VARIANCE, (2,): gain.variance})
    assert gain.plain == pytest.approx(with_it - without, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("term", [(0,), (0, 1)])
def test_the_gain_of_a_term_inside_needs_no_refit(term):
    Z, y, design, priors = problem()
    model = posterior(Z, y, design, priors, VARIANCE)
    others = {t: v for t, v in VARIANCE.items() if t != term}
    gain = model.inside(term)
    assert gain.plain == pytest.approx(
        dense_evidence(Z, y, design, priors, {**others, term: gain.variance})
        - dense_evidence(Z, y, design, priors, others),
        rel=1e-9,
    )
    outside = posterior(Z, y, design, priors, others).outside(term)
    assert gain.robust == pytest.approx(outside.robust, rel=1e-8)
    assert gain.factor == pytest.approx(outside.factor, rel=1e-8)
    lost = model.cost_of_leaving([term])
    assert lost == pytest.approx(
        dense_evidence(Z, y, design, priors, VARIANCE)
        - dense_evidence(Z, y, design, priors, others),
        rel=1e-9,
    )


def test_scores_may_be_taken_at_any_coefficients():
    Z, y, design, priors = problem()
    at = np.random.default_rng(1).normal(size=design.width)
    a = posterior(Z, y, design, priors, VARIANCE)
    b = posterior(Z, y, design, priors, VARIANCE, at)
    np.testing.assert_allclose(a.w, b.w, atol=1e-10)
    assert a.q == pytest.approx(b.q)


def test_tuning_raises_the_evidence_and_agrees_with_a_rebuild():
    Z, y, design, priors = problem()
    model = posterior(Z, y, design, priors, VARIANCE)
    before = dense_evidence(Z, y, design, priors, VARIANCE)
    model.tune()
    after = dense_evidence(Z, y, design, priors, model.variance)
    assert after > before + 0.5
    fresh = posterior(Z, y, design, priors, model.variance)
    np.testing.assert_allclose(model.w, fresh.w, atol=1e-9)


def test_the_robust_factor_is_one_on_even_noise_and_grows_with_uneven_noise():
    rng = np.random.default_rng(2)
    Z, _, design, priors = problem(4000)
    even = rng.normal(size=4000)
    uneven = even * np.exp(Z[:, design.at[(2,)][0]])
    for y, size, low, high in ((even, 0.1, 1.0, 1.1), (uneven, 0.5, 2.0, 20.0)):
        signal = size * Z[:, design.at[(2,)][0]]
        gain = posterior(Z, y + signal, design, priors, {}).outside((2,))
        assert low <= gain.factor <= high
        assert gain.robust <= gain.plain


def test_orthonormal_gains_are_the_evidence_of_orthonormal_functions():
    chi, lam = np.array([[9.0, 1.0, 0.0]]), np.array([[1.0, 0.3, 0.0]])
    grid = np.exp(np.linspace(-3, 8, 2000))[:, None]
    noise = Noise(1000.0, 1.0, False, 1000.0)
    exact = evidence(chi * lam * 1000, 1000 * lam, grid / 1000, 1.0, noise).max()
    assert orthonormal_gains(chi, [lam], 1000.0)[0] == pytest.approx(exact, abs=0.1)


def test_the_price_counts_the_looks():
    assert price((3,), set(), 20, 1.0) == pytest.approx(np.log(20 * 3) + 1)
    assert price((3, 4), {3}, 20, 1.0) == pytest.approx(np.log(20 * 3) + 1)
    assert price((3, 4), set(), 20, 1.0) == pytest.approx(np.log(200 * 3) + 1)
    assert price((1, 2, 3), set(), 20, 0.0) == pytest.approx(np.log(8000 / 6 * 3))


@pytest.mark.parametrize("profiled", [True, False])
def test_the_log_evidence_of_a_model_is_the_sum_of_gains(profiled):
    Z, y, design, priors = problem()
    model = posterior(Z, y, design, priors, VARIANCE)
    model.noise = replace(model.noise, profiled=profiled)
    before, gain = model.log_evidence, model.outside((2,))
    model.enter((2,), gain.variance)
    assert model.log_evidence - before == pytest.approx(gain.plain, rel=1e-9)
