"""Walks: their steps against dense derivatives, and the rankings they end in."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso.kernels import Gaussian, Linear, Matern52, Polynomial
from nablasso.regression import evidence as walks
from nablasso.regression.evidence import Covariance, Evidence, walk, without_columns

N, D = 40, 6


def evidence_of(kernel, *, labels=None, weights=None, noise=0.1, targets=1):
    """``x0 + x1 x2``, a second target ``x1^2``, idle columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    Y = np.column_stack([X[:, 0] + X[:, 1] * X[:, 2], X[:, 1] ** 2])[:, :targets]
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0) + noise * rng.normal(size=Y.shape)
    labels = np.arange(D) if labels is None else np.asarray(labels)
    shape = np.ones(N) if weights is None else 1 / weights
    covariance = Covariance(kernel, X, labels, int(labels.max()) + 1)
    return Evidence(covariance, Y, shape, nothing=without_columns(Y, shape).value)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=repr)
def test_a_step_of_products_multiplies_by_the_two_parts_of_the_derivative(kernel):
    labels = [0, 1, 1, 2, 3, 3]
    evidence = evidence_of(kernel, labels=labels, weights=np.linspace(0.5, 1.5, N), targets=2)
    v, r, h = np.array([0.4, 0.2, 0.1, 0.3]), 0.2, 1e-6
    solved = evidence.solve(v, r)
    share, new = walks._product_step(evidence, v, solved)
    for g in range(4):
        up, down = v.copy(), v.copy()
        up[g], down[g] = v[g] + h, v[g] - h
        dK = (evidence.covariance.gram(up)[0] - evidence.covariance.gram(down)[0]) / (2 * h)
        explained = sum(u @ dK @ u / c for u, c in zip(solved.U.T, solved.units, strict=True))
        spent = 2 * np.sum(solved.P * dK)
        assert share[g] == pytest.approx(v[g] * explained, rel=1e-5)
        assert new[g] == pytest.approx(v[g] * np.clip(explained / spent, 1e-3, 10), rel=1e-5)


def test_where_the_steps_stand_still_the_evidence_is_stationary():
    evidence = evidence_of(Polynomial(2), noise=0.5).part(np.array([0, 1, 2]))
    v, r = np.full(3, 0.3), 0.3
    for _ in range(400):
        solved, r = walks._settle_noise(evidence, v, r, 1)
        _, v = walks._product_step(evidence, v, solved)
    slope = evidence.value_and_gradient(np.log(np.append(v, r)))[1]
    np.testing.assert_allclose(slope, 0.0, atol=0.05)
    start = evidence.value_and_gradient(np.log([0.3, 0.3, 0.3, 0.3]))[1]
    assert np.abs(slope).max() < 1e-2 * np.abs(start).max()


@pytest.mark.parametrize("kernel", [Gaussian(), Matern52()], ids=repr)
def test_a_radial_step_follows_the_derivative_norms(kernel):
    evidence = evidence_of(kernel, labels=[0, 1, 1, 2, 3, 4])
    covariance, v, h = evidence.covariance, np.array([0.3, 0.2, 0.1, 0.05, 0.1]), 1e-5
    solved = evidence.solve(v, 0.1)
    norms, new = walks._radial_step(evidence, v, solved)
    root = np.sqrt(v)[covariance.labels]

    def function(Z):
        return kernel(Z * root, covariance.F * root) @ solved.U[:, 0]

    squares = np.array(
        [
            np.mean(((function(covariance.F + e) - function(covariance.F - e)) / (2 * h)) ** 2)
            for e in h * np.eye(D)
        ]
    )
    expected = np.array([squares[covariance.labels == g].mean() for g in range(5)])
    np.testing.assert_allclose(norms, expected / solved.units[0], rtol=1e-4)
    np.testing.assert_allclose(new / new.max(), expected / expected.max(), rtol=1e-4)
    Z = covariance.F * np.sqrt(new)[covariance.labels]
    distances = [np.sum((Z[i] - Z[j]) ** 2) for i in range(N) for j in range(i)]
    assert np.median(distances) == pytest.approx(1.0)


@pytest.mark.parametrize("kernel", [Polynomial(2), Gaussian(), Matern52()], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_what_matters_is_ranked_first(kernel, weighted):
    weights = np.linspace(0.5, 1.5, N) if weighted else None
    evidence = evidence_of(kernel, weights=weights)
    order, variances, noise = walk(evidence)
    assert set(order[:3]) == {0, 1, 2}
    assert len(order) == len(variances) == len(set(order))
    assert 0 < noise < 1
    value = evidence.part(order).value(variances, noise)
    start = np.full(D, evidence.covariance.start())
    assert value < evidence.value(start, 0.1)
    assert value < 0  # better than nothing


def test_what_fades_leaves():
    order, variances, _ = walk(evidence_of(Polynomial(2)))
    assert len(order) < D
    assert variances[:3].min() > variances[3:].max(initial=0.0)


def test_groups_are_ranked_as_groups_whatever_their_size():
    order, _, _ = walk(evidence_of(Polynomial(2), labels=[0, 1, 1, 2, 2, 2]))
    assert set(order[:2]) == {0, 1}


def test_the_columns_in_another_order_are_ranked_alike():
    evidence = evidence_of(Polynomial(2))
    columns = np.array([4, 2, 0, 5, 1, 3])
    moved = replace(
        evidence, covariance=replace(evidence.covariance, F=evidence.covariance.F[:, columns])
    )
    np.testing.assert_array_equal(columns[walk(moved)[0]][:3], walk(evidence)[0][:3])


def test_without_a_factor_there_is_no_ranking():
    evidence = evidence_of(Linear())
    assert walk(replace(evidence, noise=np.full(N, -1e4))) is None
