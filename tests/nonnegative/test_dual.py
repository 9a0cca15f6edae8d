"""The dual: derivatives against differences, the gap as a true bound."""

import numpy as np
import pytest

from nablasso.nonnegative import Task
from nablasso.nonnegative.dual import SlopePoint
from nablasso.nonnegative.fitting import PSDFitter
from nablasso.nonnegative.losses import (
    GaussianLoss,
    PinballLoss,
    PoissonLoss,
    SquaredLoss,
    density_loss,
)
from nablasso.nonnegative.solvers import Coordinates, interior, newton, solve
from nablasso.nonnegative.task import natural_height
from nablasso.solvers import Status


def fit(task, *, tol, max_iter=None, solver="auto"):
    """The one fit of a task at its own weights."""
    fitter = PSDFitter(task, solver=solver)
    (found,) = fitter.path([(task.l1, task.l2)], tol=tol, max_iter=max_iter)
    return found


def make_task(name, n=25, weight=0.05, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    weights = rng.uniform(0.5, 1.5, size=n)
    y = np.abs(X[:, 0]) + 0.3 * rng.normal(size=n)
    scales = np.array([0.8, 1.2])
    loss, mixing, signs, null = {
        "density": (density_loss(n), np.eye(1), (True,), [1.0]),
        "poisson": (PoissonLoss(np.floor(3 * np.abs(y))), np.eye(1), (True,), [2.0]),
        "squared": (SquaredLoss(np.abs(y)[:, None]), np.eye(1), (True,), [1.0]),
        "gaussian": (GaussianLoss(y), np.eye(2), (True, False), [1.0, 0.0]),
        "pinball": (
            PinballLoss(y, np.array([0.2, 0.7])),
            np.tril(np.ones((2, 2))),
            (False, True),
            [0.3, 1.0],
        ),
    }[name]
    m = len(signs)
    density = name == "density"
    return Task(
        X=X,
        weights=weights / weights.sum(),
        loss=loss,
        mixing=mixing,
        offset=np.array([0.05, 0.0]) if name == "gaussian" else np.zeros(len(null)),
        nonnegative=signs,
        l1=np.where(signs, 0.1 * weight, 0.0),
        l2=np.full(m, weight),
        scales=scales,
        null=np.array(null),
        constant=0.0 if density else 1.0,
        height=natural_height(X, scales, None) if density else 1.0,
        normalise=density,
    )


NAMES = ["density", "poisson", "squared", "gaussian", "pinball"]


def random_point(fitter, rng):
    """A point where matrices have eigenvalues of both signs."""
    task = fitter.task
    method, start = interior if task.loss.bounded else newton, fitter.start(task.l1, task.l2)[0]
    problem = fitter.problem(task.l1, task.l2)
    t, c = solve(method, problem, start, tol=1e-2, max_iter=999).point
    t = t + 0.1 * rng.normal(size=t.shape)
    return task, SlopePoint(np.clip(t, 0.01, 0.99) if task.loss.bounded else t, c)


@pytest.mark.parametrize("name", NAMES)
def test_dual_gradient_matches_differences(name):
    rng = np.random.default_rng(1)
    fitter = PSDFitter(make_task(name))
    task, point = random_point(fitter, rng)
    problem = fitter.problem(task.l1, task.l2)
    space = Coordinates(problem, point)
    x, h = space.pack(point), 1e-6
    direction = rng.normal(size=x.shape)
    ahead, behind = (space.evaluate(x + s * h * direction).dual for s in (1, -1))
    slope = space.gradient(space.evaluate(x)) @ direction
    assert slope == pytest.approx((ahead - behind) / (2 * h), rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("name", ["density", "poisson", "squared", "gaussian"])
def test_hessian_matches_differences_of_the_gradient(name):
    rng = np.random.default_rng(2)
    fitter = PSDFitter(make_task(name))
    task, point = random_point(fitter, rng)
    space = Coordinates(fitter.problem(task.l1, task.l2), point)
    x, h = space.pack(point), 1e-6
    product, diagonal = space.hessian(space.evaluate(x))
    direction = rng.normal(size=x.shape)
    ahead, behind = (space.gradient(space.evaluate(x + s * h * direction)) for s in (1, -1))
    difference = -(ahead - behind) / (2 * h)
    np.testing.assert_allclose(product(direction), difference, rtol=1e-4, atol=1e-6)
    columns = [product(e)[i] for i, e in enumerate(np.eye(len(x)))]
    np.testing.assert_allclose(diagonal, columns, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_gap_is_a_true_bound(name):
    """A loose fit is not further from a tight one than its gap says."""
    task = make_task(name)
    tight_tol = 1e-9
    tight, loose = fit(task, tol=tight_tol), fit(task, tol=3e-2)
    assert tight.status is Status.CONVERGED
    assert 0 <= tight.gap <= tight_tol
    assert loose.primal - (tight.primal - tight.gap) >= -1e-9
    assert loose.primal - tight.primal <= loose.gap + 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_objective_is_that_of_the_functions(name):
    """Loss and penalty computed from the returned functions alone."""
    task = make_task(name, n=12)
    fitted = fit(task, tol=1e-6)
    F = np.column_stack([function.values(task.X) for function in fitted.functions])
    loss = task.weights @ task.loss.value(task.offset + F @ task.mixing.T)
    factors = PSDFitter(task).factors
    penalty = 0.0
    for b, (function, factor) in enumerate(zip(fitted.functions, factors, strict=True)):
        G = np.exp(-0.5 * np.sum((factor.Z[:, None] - factor.Z) ** 2, axis=2)) * task.height**2
        if task.nonnegative[b]:  # norms of sum_ij B_ij k_i k_j in terms of the kernel matrix
            r = len(factor.Z)
            C = function.factor / task.height**2
            if task.constant:
                G = np.block(
                    [[G, np.zeros((r, 1))], [np.zeros((1, r)), np.full((1, 1), task.height**2)]]
                )
            S = C.T @ G @ C
            penalty += task.l1[b] * np.trace(S) + 0.5 * task.l2[b] * np.sum(S**2)
        else:
            c = function.coefficients
            top = c[: len(G)] if task.constant else c
            square = top @ G @ top + (c[-1] ** 2 if task.constant else 0.0)
            penalty += 0.5 * task.l2[b] * square
    assert loss + penalty == pytest.approx(fitted.primal, rel=1e-6)
