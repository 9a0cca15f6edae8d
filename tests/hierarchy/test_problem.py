"""The problem on a hull: derivatives, gaps, its norm, and its solvers."""

import numpy as np
import pytest

from nablasso.hierarchy.problem import (
    HullProblem,
    alternating,
    descendant_norms,
    dual_bound,
    solve,
    weights_of,
)
from nablasso.losses import Logistic, LossSample, Squared

NODES = [(), (0,), (1,), (2,), (0, 1), (0, 2)]


ANCESTORS = np.array([[set(v) <= set(w) for w in NODES] for v in NODES])


D = np.array([2.0 ** len(v) for v in NODES])


def make(loss, rank=1, n=40, alpha=0.05, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    features = [
        np.prod(X[:, list(v)], axis=1, keepdims=True) * rng.normal(1, 0.3, size=(n, rank))
        for v in NODES
    ]
    y = X[:, 0] + X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    if not loss.translates:
        y = np.where(y > 0, 1.0, -1.0)
    weights = rng.random(n) + 0.5
    sample = LossSample(y, weights / weights.sum(), loss)
    return HullProblem(sample, alpha, NODES, features, ANCESTORS, D)


LOSSES = [Squared(), Logistic()]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("rank", [1, 3, 9, 25], ids=["inverse", "features", "products", "kernels"])
def test_gradient_and_hessian_by_differences(loss, rank):
    problem = make(loss, rank)
    assert problem.in_features == (rank < 9)
    assert (problem._kernels is None) == (rank < 25)
    rng = np.random.default_rng(3)
    x = rng.random(len(NODES)) + 0.1
    t, H = problem.hessian(problem.evaluate(x))
    direction, e = rng.normal(size=len(x)), 1e-3

    def J(step):
        return problem.evaluate(x * (1 + step * direction)).value

    slope = (J(e) - J(-e)) / (2 * e)
    bend = (J(e) - 2 * J(0) + J(-e)) / e**2
    assert slope == pytest.approx(-problem.alpha / 2 * t @ direction, rel=1e-4)
    assert bend == pytest.approx(direction @ H @ direction, rel=1e-3)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_features_and_kernels_give_the_same(loss):
    problem = make(loss, rank=3)
    other = make(loss, rank=3)
    other.in_features = False
    x = np.full(len(NODES), 1 / len(NODES))
    one, two = problem.evaluate(x), other.evaluate(x)
    assert one.value == pytest.approx(two.value, rel=1e-9)
    np.testing.assert_allclose(one.predictions, two.predictions, atol=1e-5)


def test_the_gap_of_any_point_bounds_its_suboptimality():
    problem = make(Squared())
    best = problem.primal(solve(problem, np.full(6, 1 / 6), 1e-11).point)
    rng = np.random.default_rng(0)
    for _ in range(20):
        point = problem.evaluate(rng.dirichlet(np.full(6, 0.5)) + 1e-6)
        assert problem.primal(point) - best <= problem.gap(point) + 1e-12


def test_the_norm_is_the_smallest_of_its_variational_forms():
    rng = np.random.default_rng(2)
    norms2 = rng.random(6) * (rng.random(6) > 0.3)
    value = (D @ descendant_norms(norms2, ANCESTORS)) ** 2
    shares = D * descendant_norms(norms2, ANCESTORS)
    x = np.maximum(shares / shares.sum(), 1e-14)
    assert norms2 @ (1 / weights_of(x, ANCESTORS, D).zeta) == pytest.approx(value, rel=1e-6)
    for _ in range(50):
        other = rng.dirichlet(np.ones(6))
        assert norms2 @ (1 / weights_of(other, ANCESTORS, D).zeta) >= value - 1e-12


def test_kappa_bounds_the_dual_norm():
    rng = np.random.default_rng(4)
    sizes = rng.random(6)
    values = [
        dual_bound(weights_of(rng.dirichlet(np.ones(6)), ANCESTORS, D), sizes) for _ in range(200)
    ]
    assert max(value for _, value, _ in values) <= min(bound for bound, _, _ in values)


EQUAL = np.full(len(NODES), 1 / 6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_newton_closes_the_gap(loss):
    problem = make(loss)
    solved = solve(problem, EQUAL, 1e-9)
    assert solved.converged
    assert 0 <= problem.gap(solved.point) <= 1e-7
    assert solved.point.dual.sum() == pytest.approx(0, abs=1e-9)


def test_the_alternating_scheme_is_slow_and_goes_on_where_newton_stalls(monkeypatch):
    problem = make(Squared())
    fast, slow = solve(problem, EQUAL, 1e-10), alternating(problem, EQUAL, 1e-7, 5000)
    exact = problem.primal(fast.point)
    assert slow.n_iter > fast.n_iter
    assert problem.primal(slow.point) == pytest.approx(exact, abs=1e-6)
    monkeypatch.setattr("nablasso.hierarchy.problem.NEWTON_HALVINGS", 0)
    stalled = solve(problem, EQUAL, 1e-3)  # no step is ever short enough
    assert stalled.converged
    assert problem.primal(stalled.point) <= exact + 1e-3
    assert solve(problem, EQUAL, 0.0).stalled


def test_a_factor_that_rounding_ends_gives_no_numbers():
    problem = make(Squared())
    k = problem.Phi.shape[1]
    problem.__dict__["_moments"] = -1e9 * np.eye(k), np.ones(k)  # what rounding may leave
    assert np.isnan(problem.evaluate(EQUAL).value)  # no step is taken there
