"""Models on an n x n factor: price, tuning, functions, copies of rows."""

from dataclasses import replace
from math import comb, log

import numpy as np
import pytest

from nablasso import NablassoRegressor
from nablasso.data.table import counted
from nablasso.kernels import Matern52
from nablasso.regression.models import (
    ADDITIVE,
    FAMILIES,
    GAUSSIAN,
    LINEAR,
    QUADRATIC,
    SPREAD,
    Family,
    Model,
)
from nablasso.regression.noise import Assumption, Warp
from nablasso.search.few import backward, proposals
from tests.regression.dense_process import best_log_evidence, noise_matrix
from tests.search.rows import draw, few_rows, gram_of, index

N, D = 60, 5


@pytest.mark.parametrize("family", [QUADRATIC, ADDITIVE, GAUSSIAN], ids=lambda f: f.name)
def test_the_price_by_hand(family):
    rows = draw(weights=np.linspace(0.5, 1.5, N))
    model = rows.tune(family, index(2, 0))
    K, _ = gram_of(rows, model)
    noise = np.diag(1 / rows.weights)
    A = K + np.exp(model.noise) * noise
    evidence = best_log_evidence(A, rows.Y[:, 0]) - best_log_evidence(noise, rows.Y[:, 0])
    centre = log(rows.evidence(family).covariance.part(model.groups).start())
    prior = 0.5 * np.sum(((model.logs - centre) / SPREAD) ** 2)
    assert model.value == pytest.approx(prior - evidence, rel=1e-5)
    assert model.price == pytest.approx(model.value + log(N) + log(comb(D, 2)) + log(3))


def test_nothing_selected_is_zero():
    rows = draw()
    for family in FAMILIES:
        model = rows.tune(family, rows.kept)
        assert (model.value, model.price) == (0.0, 0.0)
        assert not len(model.groups)
    assert rows.cost(0) == 0.0


def test_what_groups_cost():
    rows = draw()
    assert rows.cost(3) == pytest.approx(1.5 * log(N) + log(comb(5, 3)) + log(4))
    kept = replace(rows, kept=index(1, 4))  # paid for by their variances alone
    assert kept.cost(2) == pytest.approx(log(N))
    assert kept.cost(3) == pytest.approx(1.5 * log(N) + log(comb(3, 1)) + log(2))
    picked = replace(rows, looked=1000)
    assert picked.cost(2) == pytest.approx(log(N) + log(comb(1000, 2)) + log(3))


def objective(rows, family, x):
    """Minus the log evidence of the first three groups, and the prior of its variances."""
    part = rows.evidence(family).part(index(0, 1, 2))
    away = (x[:-1] - log(part.covariance.start())) / SPREAD
    return part.value(np.exp(x[:-1]), float(np.exp(x[-1]))) + 0.5 * float(away @ away)


def test_tuning_finds_a_stationary_point():
    rows = draw(noise=0.3)
    for family in (QUADRATIC, GAUSSIAN):
        model = rows.tune(family, index(0, 1, 2), steps=200, tolerance=1e-12)
        for i in range(4):
            for step in (-0.3, 0.3):
                x = model.x
                x[i] += step
                assert objective(rows, family, x) > model.value
        assert objective(rows, family, model.x) == pytest.approx(model.value)


def test_a_plateau_of_no_noise_is_left():
    """Started from almost no noise, the noise of the data is found."""
    rows = draw(noise=1.0)
    start = np.append(np.zeros(3), -17.0)
    model = rows.tune(QUADRATIC, index(0, 1, 2), start, steps=30)
    fresh = rows.tune(QUADRATIC, index(0, 1, 2), steps=30)
    assert model.value == pytest.approx(fresh.value, abs=0.1)


def test_targets_add_up():
    rows = draw()
    twice = few_rows(rows.X, np.column_stack([rows.Y, 3 - rows.Y]), standardise=False)
    one, two = (
        few.evidence(QUADRATIC).part(index(0, 1)).value(np.ones(2), 0.2) for few in (rows, twice)
    )
    assert two == pytest.approx(2 * one)


def posterior_mean(rows, model, Z):
    """``b + k(z, X) A^{-1} (y - b)``, ``b`` by generalised least squares, all dense."""
    K, (kernel, columns, scales) = gram_of(rows, model)
    A = K + np.exp(model.noise) * noise_matrix(rows.shape, len(K))
    y, inverse = rows.Y[:, 0], np.linalg.inv(A)
    b = np.sum(inverse @ y) / np.sum(inverse)
    across = kernel(Z[:, columns] * scales, rows.X[:, columns] * scales)
    return b + across @ inverse @ (y - b)


ASSUMPTIONS = {
    "plain": Assumption(),
    "level": Assumption(level=np.linspace(-1, 1, N)),
    "tails": Assumption(nu=2.0, weights=np.linspace(0.2, 1.4, N)),
    "serial": Assumption(serial=(0.8, 0.7)),
}


@pytest.mark.parametrize("name", list(ASSUMPTIONS))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_function_is_the_posterior_mean(name, weighted):
    weights = np.linspace(0.5, 1.5, N) if weighted else None
    time = np.random.default_rng(0).permutation(N).astype(float)
    rows = draw(weights=weights, time=time, assumption=ASSUMPTIONS[name])
    model = rows.tune(GAUSSIAN, index(2, 0, 1))
    Z = np.random.default_rng(1).normal(size=(9, D))
    found = rows.function(model).values(Z)
    np.testing.assert_allclose(found, posterior_mean(rows, model, Z), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_the_function_of_every_family_with_groups_and_ties(family):
    rows = draw(labels=[0, 0, 1, 2, 3])
    ties = index(0, 1, 0)
    model = rows.tune(family, index(3, 0, 1), ties=ties, steps=3)
    Z = np.random.default_rng(1).normal(size=(9, D))
    expected = posterior_mean(rows, model, Z)
    np.testing.assert_allclose(rows.function(model).values(Z), expected, rtol=1e-4, atol=1e-4)


def test_the_function_of_nothing_is_the_mean():
    rows = draw(weights=np.linspace(0.5, 1.5, N))
    function = rows.function(rows.tune(LINEAR, rows.kept))
    np.testing.assert_allclose(function.values(rows.X), 0.0, atol=1e-9)  # standardised


def test_some_of_the_rows():
    folds = [np.arange(0, 20), np.arange(20, 25), np.arange(25, 60)]
    rows = draw(
        weights=np.linspace(1, 2, N),
        time=np.arange(N)[::-1].astype(float),
        folds=folds,
        assumption=Assumption(level=np.arange(N, dtype=float)),
    )
    part = rows.only(np.arange(0, 60, 2))
    np.testing.assert_array_equal(part.X, rows.X[::2])
    assert part.weights.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(part.weights / part.weights[0], rows.weights[::2] / rows.weights[0])
    np.testing.assert_array_equal(part.time, rows.time[::2])
    np.testing.assert_array_equal(part.assumption.level, np.arange(0, 60, 2))
    expected = [np.arange(0, 10), np.arange(10, 13), np.arange(13, 30)]
    for fold, rest in zip(part.folds, expected, strict=True):
        np.testing.assert_array_equal(fold, rest)
    assert rows.first(N) is rows
    np.testing.assert_array_equal(rows.first(10).X, rows.X[:10])


def test_the_order_of_rows_and_groups_does_not_matter():
    rows = draw()
    order = np.random.default_rng(4).permutation(N)
    moved = few_rows(rows.X[order], rows.targets[order], standardise=False)
    one, other = rows.tune(QUADRATIC, index(0, 1, 2)), moved.tune(QUADRATIC, index(2, 0, 1))
    assert other.price == pytest.approx(one.price, rel=1e-4)
    np.testing.assert_allclose(other.variances, one.variances[[2, 0, 1]], rtol=0.05)


def test_a_constant_target_is_explained_by_nothing():
    rng = np.random.default_rng(0)
    rows = few_rows(rng.normal(size=(N, D)), np.zeros(N), kept=[1])
    model = rows.tune(QUADRATIC, index(0, 1))
    assert not len(model.groups)
    np.testing.assert_array_equal(rows.function(model).values(rows.X), 0.0)


def test_an_own_kernel_is_a_family():
    rows = draw(families=(Family("mine", Matern52(2.0)),))
    (proposal,) = proposals(rows)
    model = backward(rows, rows.tune(*proposal[1:]))
    assert isinstance(model, Model)
    assert sorted(model.groups) == [0, 1, 2]


def repeated(n=25, seed=3):
    """Rows as copies, and one by one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + rng.normal(size=n)
    w = rng.integers(1, 5, size=n)
    w[0] = 1
    merged = few_rows(X, y, weights=w, counts=True)
    each = np.repeat(np.arange(n), w)
    return merged, few_rows(merged.X[each], y[each], standardise=False), each


def test_equal_rows_are_one_row_of_so_many_copies():
    merged, single, each = repeated()
    x = np.array([-0.3, 0.4, -1.0])
    for family in (LINEAR, GAUSSIAN):
        ours = merged.evidence(family).part(index(0, 1))
        plain = single.evidence(family).part(index(0, 1))
        value, slope = ours.value_and_gradient(x)
        expected, slopes = plain.value_and_gradient(x)
        assert value == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(slope, slopes, rtol=1e-5)
        a, b = ours.solve(np.exp(x[:2]), np.exp(x[2])), plain.solve(np.exp(x[:2]), np.exp(x[2]))
        for one, all_of_them in zip(a.left_out(), b.left_out(), strict=True):
            np.testing.assert_allclose(one[each], all_of_them, rtol=1e-5, atol=1e-7)
    assert merged.cost(2) == single.cost(2)
    warp = Assumption(warp=Warp(1.0, float(merged.targets.min()), 1.0))
    assert merged.under(warp).base - merged.base == pytest.approx(
        single.under(warp).base - single.base, rel=1e-9
    )


def test_whole_weights_count_in_units_of_their_divisor():
    levels = np.array([[0.0], [1.0], [2.0]])
    assert counted(np.array([2.0, 4.0, 2.0]), levels).tolist() == [1, 2, 1]
    assert counted(np.array([0.5, 1.5]), levels[:2]).tolist() == [0.5, 1.5]
    assert counted(np.array([7.0, 7.0]), levels[:2]).tolist() == [1, 1]


def test_a_repeated_measurement_is_no_sign_of_little_noise():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + rng.normal(size=120)
    w = rng.integers(1, 3, size=120)
    assert counted(w.astype(float), X).mean() == pytest.approx(1)
    for rows in (np.repeat(np.arange(120), w), rng.integers(0, 120, 200)):  # a bootstrap too
        assert NablassoRegressor().fit(X[rows], y[rows]).loo_r2_ < 0.7


def test_residuals_at_further_rows_are_prediction_errors():
    rows = draw()
    few = rows.first(40)
    model = few.tune(QUADRATIC, index(0, 1, 2))
    found = few.residuals(model, rows)
    assert found.shape == (N, 1)
    np.testing.assert_allclose(found[:40], few.solved(model).left_out()[0])
    mean, deviation = few.unit
    y = (rows.targets[40:] - mean) / deviation
    np.testing.assert_allclose(found[40:, 0], y[:, 0] - few.function(model).values(rows.X[40:]))
