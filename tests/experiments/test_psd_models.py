"""The other models of appendix D: derivatives, integrals, signs, and the problems they solve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize, nnls
from sklearn.exceptions import ConvergenceWarning

from experiments.psd_barrier import (
    Barrier,
    Block,
    Objective,
    _projected,
    expansion,
    minimise,
    smooth_pinball,
)
from experiments.psd_models import BumpMixture, Exponential, OtherModel, by_model, draws_of
from nablasso import HeteroscedasticRegressor, PSDDensity, PSDRegressor
from nablasso.datasets import make_wavy_noise
from nablasso.errors import InvalidParameterError
from nablasso.nonnegative import Base, Bumps, Task
from nablasso.nonnegative.losses import (
    GaussianLoss,
    PinballLoss,
    PoissonLoss,
    SquaredLoss,
    density_loss,
)
from tests.nonnegative.test_oracle import TASKS, check

MODELS = ("pnm", "glm", "ncm")
CLOSE = 1e-4  # what the paper's algorithm is held to
N = 30


def table(seed: int = 0, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, n)
    return x[:, None], np.maximum(np.sin(2 * x), 0) + 0.1 * rng.random(n)


def make(loss, signs=(True,), *, X=None, l2=1e-3, width=0.7, **settings) -> Task:
    X = table()[0] if X is None else X
    m, n = len(signs), len(X)
    return Task(
        **{
            "X": X,
            "weights": np.full(n, 1 / n),
            "loss": loss,
            "mixing": np.eye(m),
            "offset": np.zeros(m),
            "nonnegative": signs,
            "l1": np.zeros(m),
            "l2": np.full(m, l2),
            "scales": np.full(X.shape[1], 1 / width),
            "null": np.ones(m),
            "rank": None,
        }
        | settings
    )


def fit(task, model, *, tol, solver="auto"):
    return OtherModel(model, solver).fit(task, tol=tol)


def in_lebesgue(task, f):
    """A task's fitted density with respect to Lebesgue measure."""
    if task.base is not None:
        f = f.times_gaussian(task.base.mean, task.base.variance)
    d = task.X.shape[1]
    height = float(np.log(task.scales).sum()) if task.base is None else 0.0
    return f.normalised(height, np.ones(d), np.zeros(d), np.arange(d))


def density(X, base=None, **settings) -> Task:
    return make(density_loss(len(X)), X=X, normalise=True, base=base, **settings)


def quantiles(y, levels=(0.1, 0.5, 0.9), **settings) -> Task:
    m = len(levels)
    signs = (False, *(True,) * (m - 1))
    mixing = np.tril(np.ones((m, m)))
    return make(PinballLoss(y, np.array(levels)), signs, mixing=mixing, constant=1.0, **settings)


Y = table()[1]
LOSSES = {
    "log": (density_loss(N), np.array([0.7]), 0.0),
    "squared": (SquaredLoss(Y[:, None]), np.array([0.7]), 0.0),
    "poisson": (PoissonLoss(np.round(3 * Y)), np.array([0.7]), 0.0),
    "gaussian": (GaussianLoss(Y), np.array([0.7, 0.4]), 0.0),
    "pinball": (PinballLoss(Y, np.array([0.2, 0.8])), np.array([0.3, 0.6]), 0.05),
}


@pytest.mark.parametrize("name", LOSSES)
def test_expansion_against_finite_differences(name):
    loss, at, t = LOSSES[name]
    Z = at + 0.1 * np.random.default_rng(0).random((N, len(at)))
    _, slope, bend = expansion(loss, Z, t)
    for s in range(len(at)):
        step = np.zeros(len(at))
        step[s] = 1e-6
        up, down = expansion(loss, Z + step, t), expansion(loss, Z - step, t)
        assert np.allclose((up[0] - down[0]) / 2e-6, slope[:, s], atol=1e-7)
        assert np.allclose((up[1] - down[1]) / 2e-6, bend[:, :, s], atol=1e-6)


def test_smooth_pinball_is_the_minimum_and_tends_to_the_pinball_loss():
    r, tau, t = np.linspace(-2, 2, 41), 0.3, 0.1
    u = np.maximum(r, 0)[:, None] + np.geomspace(1e-3, 5, 20_001)
    v = u - r[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        brute = np.nanmin(tau * u + (1 - tau) * v - t * np.log(u) - t * np.log(v), axis=1)
    assert np.allclose(smooth_pinball(r, np.array(tau), t)[0], brute, atol=1e-5)
    exact = np.maximum(tau * r, (tau - 1) * r)
    assert np.allclose(smooth_pinball(r, np.array(tau), 1e-7)[0], exact, atol=1e-5)


def test_barrier_derivatives_against_finite_differences():
    rng = np.random.default_rng(1)
    objective = Objective(
        GaussianLoss(Y), np.full(N, 1 / N), np.array([[1.0, 0.3], [0.2, 1.0]]), np.array([0.1, 0])
    )
    features = [rng.random((N, 4)), rng.standard_normal((N, 3))]
    blocks = [Block(features[0], np.eye(4), "coefficients"), Block(features[1], np.eye(3), None)]
    for first in (blocks[0], replace(blocks[0], kept="values")):
        problem = Barrier(objective, [first, blocks[1]])
        theta = np.concatenate([0.5 + rng.random(4), 0.1 * rng.standard_normal(3)])
        gradient, hessian = problem.derivatives(theta, 0.2)
        for k, step in enumerate(1e-6 * np.eye(7)):
            up, down = theta + step, theta - step
            slope = (problem.value(up, 0.2) - problem.value(down, 0.2)) / 2e-6
            bend = (problem.derivatives(up, 0.2)[0] - problem.derivatives(down, 0.2)[0]) / 2e-6
            assert np.isclose(slope, gradient[k], atol=1e-6)
            assert np.allclose(bend, hessian[k], atol=1e-5)


def test_barrier_gap_bounds_the_distance_to_nonnegative_least_squares():
    rng = np.random.default_rng(2)
    A, b = rng.random((N, 8)), rng.standard_normal(N)
    best = nnls(A, b)[1] ** 2 / N
    objective = Objective(SquaredLoss(b[:, None]), np.full(N, 1 / N), np.eye(1), np.zeros(1))
    block = Block(A, 1e-12 * np.eye(8), "coefficients")
    for tol in (1e-2, 1e-4, 1e-7):
        result = minimise(objective, [block], [np.ones(8)], tol=tol)
        assert result.converged
        assert 0 <= result.objective - best <= result.gap <= tol


@pytest.mark.parametrize("base", [None, Base(np.array([0.3]), np.array([0.8]))])
@pytest.mark.parametrize("model", MODELS)
def test_densities_integrate_to_one(model, base):
    X = table(3)[0]
    task = density(X, base, l2=1e-2)
    found = fit(task, model, tol=1e-7)
    f = in_lebesgue(task, found.functions[0])

    def mass(x: float) -> float:
        return float(f.values(np.array([[x]]))[0])

    total = quad(mass, -15, 15, limit=400)[0]
    # the integral of an exponential is a mean over 10000 draws
    assert abs(total - 1) < (0.05 if model == "glm" else 1e-7)
    assert found.gap <= 1e-7
    if model != "glm":
        assert np.isclose(f.integral(), 1)
        part = quad(mass, -0.5, 1.0, limit=400)[0]
        assert np.isclose(f.integral(np.array([[-0.5, 1.0]])), part)


def test_integrals_in_two_variables_against_draws():
    rng = np.random.default_rng(4)
    bumps = Bumps(rng.standard_normal((5, 2)), rng.uniform(0.5, 2, (5, 2)))
    base = Base(np.array([0.2, -0.1]), np.array([1.0, 0.5]))
    mixture = BumpMixture(bumps, rng.random(5))
    draws, f = draws_of(base, 400_000, rng), mixture.times_gaussian(base.mean, base.variance)
    inside = ((draws > -0.5) & (draws < [1.0, 0.7])).all(axis=1)
    values = mixture.values(draws)
    assert np.isclose(f.integral(), values.mean(), rtol=0.01)
    box = np.array([[-0.5, 1.0], [-0.5, 0.7]])
    assert np.isclose(f.integral(box), (values * inside).mean(), rtol=0.02)


@pytest.mark.parametrize("base", [None, Base(np.array([0.3]), np.array([0.8]))])
@pytest.mark.parametrize("model", ["ncm", "glm"])
def test_draws_have_the_moments_of_the_density(model, base):
    X = table(5)[0]
    task = density(X, base, l2=1e-2)
    f = in_lebesgue(task, fit(task, model, tol=1e-6).functions[0])
    grid = np.linspace(-12, 12, 20_001)[:, None]
    p = f.values(grid)
    p /= p.sum()
    draws = f.sample(40_000, np.random.default_rng(0))[:, 0]
    mean = float(p @ grid[:, 0])
    assert abs(draws.mean() - mean) < 0.05
    assert abs(draws.std() - np.sqrt(p @ (grid[:, 0] - mean) ** 2)) < 0.05


def test_partially_nonnegative_models_are_negative_between_rows_and_refuse_to_be_drawn():
    X = np.concatenate([np.linspace(-2, -1, 10), np.linspace(1, 2, 10)])[:, None]
    found = fit(density(X, l2=1e-4, width=0.5), "pnm", tol=1e-8)
    f = found.functions[0]
    assert (f.values(X) > 0).all()
    assert f.values(np.linspace(-6, 6, 201)[:, None]).min() < 0
    with pytest.raises(InvalidParameterError, match="negative"):
        f.sample(3, np.random.default_rng(0))


@pytest.mark.parametrize("model", MODELS)
def test_signs_are_kept_at_the_rows_and_by_cone_and_exponential_everywhere(model):
    X, y = table(6)
    grid = np.linspace(-4, 4, 401)[:, None]
    tasks = [
        make(SquaredLoss((y - 0.3)[:, None]), X=X),
        make(PoissonLoss(np.round(3 * y)), X=X, constant=0.5),
        quantiles(y, X=X),
        make(GaussianLoss(y), (True, False), X=X, offset=np.array([0.2, 0.0])),
    ]
    for task in tasks:
        found = fit(task, model, tol=1e-4)
        for f, sign in zip(found.functions, task.nonnegative, strict=True):
            if sign:
                assert f.values(X).min() >= 0
                assert model == "pnm" or f.values(grid).min() >= 0


@pytest.mark.parametrize("model", MODELS)
def test_fitted_functions_have_the_objective_that_is_reported(model):
    X, y = table(7)
    task = make(PoissonLoss(np.round(3 * y) + 2), X=X, l2=1e-2, constant=0.5, height=1.3)
    found = fit(task, model, tol=1e-7)
    (f,) = found.functions
    g = f.linear if model == "glm" else f
    bumps, flat = np.split(g.coefficients, [-1])  # the constant is the last bump
    Z = g.bumps.centres[:-1] / 0.7
    norm = bumps @ np.exp(-0.5 * (Z - Z.T) ** 2) @ bumps / 1.3**2 + flat[0] ** 2 / (0.5 * 1.3**2)
    loss = task.weights @ task.loss.value(f.values(X)[:, None])
    assert np.isclose(loss + 0.5e-2 * norm, found.primal, atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_gradients_against_finite_differences(model):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((25, 2))
    task = density(X, None, width=1.0, l2=1e-2)
    f = fit(task, model, tol=1e-5).functions[0]
    at, step = rng.standard_normal((6, 2)), 1e-6 * np.eye(2)
    slopes = [(f.values(at + h) - f.values(at - h)) / 2e-6 for h in step]
    assert np.allclose(f.gradients(at), np.column_stack(slopes), atol=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_scales_are_units(model):
    X, y = table(9)
    task = make(SquaredLoss(y[:, None]), X=X)
    other = replace(task, X=10 * X, scales=task.scales / 10)
    first, second = fit(task, model, tol=1e-7), fit(other, model, tol=1e-7)
    grid = np.linspace(-2, 2, 50)[:, None]
    assert np.allclose(
        first.functions[0].values(grid), second.functions[0].values(10 * grid), atol=1e-4
    )


def test_exponential_density_beats_its_neighbours():
    X = table(10)[0]
    task = density(X, Base(np.zeros(1), np.ones(1)), l2=1e-2)
    found = fit(task, "glm", tol=1e-9)
    f = found.functions[0]
    assert isinstance(f, Exponential)
    grid = np.linspace(-8, 8, 4001)[:, None]
    p = np.exp(-(grid[:, 0] ** 2) / 2) / np.sqrt(2 * np.pi) * (grid[1, 0] - grid[0, 0])
    K = np.exp(-0.5 * ((f.linear.bumps.centres - f.linear.bumps.centres.T) / 0.7) ** 2)

    def objective(scale: float) -> float:
        g, c = scale * f.linear.values(X), scale * f.linear.coefficients
        total = np.log(p @ np.exp(scale * f.linear.values(grid)))
        return float(total - g.mean() + 0.5e-2 * c @ K @ c)

    # the mean over draws that stands for the integral is good to about 0.01
    assert abs(objective(1.0) - found.primal) < 0.02
    assert objective(1.0) < min(objective(0.8), objective(1.2))


def test_an_integral_that_rests_on_few_draws_is_told():
    X = np.random.default_rng(12).standard_normal((20, 8)) / 4
    base = Base(np.zeros(8), np.full(8, 4.0))
    with pytest.warns(UserWarning, match="of 10000 draws"):
        fit(density(X, base, l2=1e-4, width=0.7), "glm", tol=1e-3)


def test_models_without_a_meaning_are_refused():
    X = table(11)[0]
    with pytest.raises(InvalidParameterError, match="The other models are"):
        fit(density(X), "kde", tol=1e-3)
    with pytest.raises(InvalidParameterError, match="The other models are"):
        fit(density(X), "glm", tol=1e-3, solver="projected_gradient")
    far = np.vstack([X, [[1e3]]])
    with pytest.raises(InvalidParameterError, match="too far"):
        fit(density(far, rank=3, random_state=1), "ncm", tol=1e-3)
    glm = fit(density(X), "glm", tol=1e-3).functions[0]
    with pytest.raises(InvalidParameterError, match="closed-form"):
        glm.integral()


# ---------------------------------------------------------------------- against CVXPY's optimum


@pytest.mark.parametrize("name", ["density", "gaussian base", "squared", "poisson"])
def test_projected_gradient_reaches_the_optimum(name):
    check(name, "ncm", seed=1, constant=0.0, solver="projected_gradient")


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("model", ["pnm", "ncm"])
def test_convex_models_reach_the_optimum(name, model):
    check(name, model, seed=1, constant=0.0)


def test_the_projection_is_the_nearest_point():
    rng = np.random.default_rng(0)
    v, c = rng.normal(size=6), rng.uniform(0.5, 2.0, size=6)
    np.testing.assert_array_equal(_projected(v, None), np.maximum(v, 0))
    found = minimize(
        lambda x: np.sum((x - v) ** 2),
        np.full(6, 1 / c.sum()),
        bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda x: c @ x - 1},
        tol=1e-12,
    )
    np.testing.assert_allclose(_projected(v, c), found.x, atol=1e-5)


# -------------------------------------------------------------------------- in the estimators


def test_projected_gradient_needs_one_smooth_function():
    data = make_wavy_noise(20, random_state=0)
    model = by_model(HeteroscedasticRegressor(), "ncm", "projected_gradient")
    with pytest.raises(InvalidParameterError, match="for one function"):
        model.fit(data.X, data.y)


def two_bumps(n):
    rng = np.random.default_rng(0)
    return 3 * (rng.normal(size=(n, 1)) + np.where(rng.random((n, 1)) < 0.5, -2, 2)) + 10


@pytest.mark.parametrize("model", ["ncm", "glm"])
def test_log_density_is_finite_far_from_the_data(model):
    density = by_model(PSDDensity(), model).fit(two_bumps(60))
    logs = density.score_samples([[10.0], [1e3], [1e4]])
    assert np.isfinite(logs).all()
    assert (np.diff(logs) < 0).all()
    assert np.exp(logs[0]) == pytest.approx(density.density([[10.0]])[0], rel=1e-8)


@pytest.mark.parametrize("base_measure", [None, (10.0, 60.0)])
@pytest.mark.parametrize("model", ["pnm", "ncm"])
def test_densities_are_in_the_units_of_the_input(model, base_measure):
    density = by_model(PSDDensity(base_measure=base_measure), model).fit(two_bumps(60))
    total = quad(lambda x: density.density([[x]])[0], -60, 80, limit=400)[0]
    assert total == pytest.approx(1.0, abs=1e-5)
    assert density.integrate() == pytest.approx(1.0, abs=1e-5)
    part = quad(lambda x: density.density([[x]])[0], 8, 12)[0]
    assert density.integrate([[8, 12]]) == pytest.approx(part, abs=1e-6)


def test_a_model_without_a_gap_does_not_speak_of_one():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(40, 1)), rng.uniform(size=40)
    with pytest.warns(ConvergenceWarning, match="Nothing bounds the error"):
        by_model(PSDRegressor(max_iter=1), "glm").fit(X, y)
