"""The interior point method: its linear systems, few steps at any weight, interruption."""

import numpy as np
import pytest

from nablasso.nonnegative import PinballLoss, PSDFitter, Task, fit, interior
from nablasso.nonnegative.dual import DualPoint
from nablasso.solvers import Status

LEVELS = np.array([0.1, 0.5, 0.8])
MIXING = np.array([[1.0, -1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 1.0]])


def make_task(n=30, weight=1e-2, linear=1e-3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * (1 + np.abs(X[:, 1])) * rng.normal(size=n)
    weights = rng.uniform(0.5, 1.5, size=n)
    signs = (False, True, True)
    return Task(
        X=X,
        weights=weights / weights.sum(),
        loss=PinballLoss(y, LEVELS),
        mixing=MIXING,
        offset=np.zeros(3),
        nonnegative=signs,
        l1=np.where(signs, 0.1 * weight, 0.0),
        l2=np.where(signs, weight, linear),
        scales=np.ones((3, 2)),
        null=np.quantile(y, LEVELS),
        constant=1.0,
    )


def system(task, seed=1):
    """A problem at an interior point, and a positive diagonal."""
    rng = np.random.default_rng(seed)
    problem = PSDFitter(task)._problem(task.l1, task.l2)
    u = rng.uniform(0.05, 0.95, size=(len(task.X), 3))
    here = problem.evaluate(DualPoint(u, (np.zeros(0),) * 3))
    return problem, here, rng.uniform(0.1, 10, size=u.shape)


def test_the_system_is_the_derivative_of_the_residuals():
    problem, here, D = system(make_task())
    rng = np.random.default_rng(2)
    x, h = rng.normal(size=D.shape), 1e-6
    w = problem.weights[:, None] / 3
    ahead, behind = (
        problem.evaluate(DualPoint(here.point.t + s * h * x, here.point.multipliers)).Z
        for s in (1, -1)
    )
    product = w * (D * x - (ahead - behind) / (2 * h))
    np.testing.assert_allclose(
        interior.normal_solver(problem, here, D)(product), x, rtol=1e-3, atol=1e-4
    )


@pytest.mark.parametrize("linear", [1e-2, 1e-5])
def test_iterated_steps_are_the_factorised_ones(monkeypatch, linear):
    problem, here, D = system(make_task(linear=linear))
    g = np.random.default_rng(3).normal(size=D.shape) / len(D)
    direct = interior.normal_solver(problem, here, D)(g)
    monkeypatch.setattr(interior, "DENSE", 0)
    monkeypatch.setattr(interior, "FORCING", 1e-10)
    monkeypatch.setattr(interior, "PRODUCTS", 1000)
    np.testing.assert_allclose(interior.normal_solver(problem, here, D)(g), direct, rtol=1e-5)


@pytest.mark.parametrize("weight", [1.0, 1e-3, 1e-6])
def test_few_steps_at_any_weight(weight):
    task = make_task(n=60, weight=weight, linear=0.01 * weight)
    fitted = fit(task, tol=1e-6, max_iter=60)
    assert fitted.status is Status.CONVERGED
    assert 0 <= fitted.gap <= 1e-6


def test_both_ways_reach_the_same_optimum(monkeypatch):
    task = make_task()
    direct = fit(task, tol=1e-6)
    monkeypatch.setattr(interior, "DENSE", 0)
    iterated = fit(task, tol=1e-6)
    assert iterated.status is Status.CONVERGED
    assert iterated.primal == pytest.approx(direct.primal, abs=2e-6)


def test_turned_round():
    """Quantiles of -y at 1 - tau are those of y with the signs changed."""
    task = make_task()
    there = fit(task, tol=1e-8)
    turned = Task(
        **{
            **vars(task),
            "loss": PinballLoss(-task.loss.y, 1 - LEVELS[::-1]),
            "mixing": MIXING[::-1, [0, 2, 1]] * [1, -1, -1],
        }
    )
    back = fit(turned, tol=1e-8)
    assert back.primal == pytest.approx(there.primal, abs=2e-8)


def test_interrupt_keeps_the_best_so_far(monkeypatch):
    original, calls = interior._Path.advance, []

    def advance(self):
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(interior._Path, "advance", advance)
    fitted = fit(make_task(), tol=1e-12)
    assert fitted.status is Status.INTERRUPTED
    assert np.isfinite(fitted.gap)


def test_a_free_function_alone_needs_one_product(monkeypatch):
    task = make_task()
    alone = Task(
        **{
            **vars(task),
            "loss": PinballLoss(task.loss.y, LEVELS[1:2]),
            "mixing": np.ones((1, 1)),
            "offset": np.zeros(1),
            "nonnegative": (False,),
            "l1": np.zeros(1),
            "l2": np.array([1e-4]),
            "scales": np.ones((1, 2)),
            "null": np.zeros(1),
        }
    )
    problem = PSDFitter(alone)._problem(alone.l1, alone.l2)
    here = problem.evaluate(DualPoint(np.full((30, 1), 0.4), (np.zeros(0),)))
    rng = np.random.default_rng(4)
    D, g = rng.uniform(0.1, 10, size=(30, 1)), rng.normal(size=(30, 1))
    direct = interior.normal_solver(problem, here, D)(g)
    monkeypatch.setattr(interior, "DENSE", 0)
    monkeypatch.setattr(interior, "PRODUCTS", 1)
    np.testing.assert_allclose(interior.normal_solver(problem, here, D)(g), direct, rtol=1e-6)
