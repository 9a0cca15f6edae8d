"""(P) with other losses in a space of features: CVXPY on the rows is the judge."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

from nablasso.kernels import Anova, Gaussian
from nablasso.penalties import GroupLasso, Partition
from nablasso.problems import SmoothProblem
from nablasso.solvers import DualSolver, Newton, Status
from nablasso.spaces import (
    FeatureRows,
    FeatureSpace,
    draw_fourier,
    row_moments,
    slope_map,
)
from tests.dense_reference import LOSSES as PLAIN
from tests.dense_reference import library_loss, target

MAPS = {"sparse": (Anova(1), 24), "dense": (Gaussian(2.0), 20)}
LOSSES = ("logistic", "huber", "epsilon", "poisson")
each_loss = pytest.mark.parametrize("loss", LOSSES)


class Rows:
    """A small problem on rows, written out; nothing of the library but the features."""

    def __init__(self, loss, name, fit_intercept=True, n=40, d=3):
        rng = np.random.default_rng(7)
        self.X, self.loss, self.fit_intercept = rng.normal(size=(n, d)), loss, fit_intercept
        signal = np.sin(2 * self.X[:, 0]) + 0.5 * self.X[:, 1] ** 2
        self.y = target(loss, signal, rng)
        weights = rng.uniform(0.5, 2.0, size=n)
        self.weights = weights / weights.sum()
        self.features = draw_fourier(MAPS[name][0], np.full(d, 0.7), MAPS[name][1])
        self.phi, psi = self.features.features_and_slopes(self.X)
        omega = np.tile(self.features.frequencies, (2, 1))
        self.slopes = [np.sqrt(self.weights)[:, None] * psi * omega[:, a] for a in range(d)]

    def problem(self, alpha, ridge, **options):
        moments = row_moments(self.features, self.X, self.y, self.weights)
        rows = FeatureRows(self.features, self.X, **options)
        space = FeatureSpace(rows, slope_map(self.features, moments.S))
        d = self.X.shape[1]
        return SmoothProblem(
            loss=library_loss(self.loss),
            penalty=GroupLasso(Partition(np.arange(d)), np.ones(d)),
            space=space,
            y=self.y,
            weights=self.weights,
            alpha=alpha,
            ridge=ridge,
            fit_intercept=self.fit_intercept,
            penalty_weights=np.ones(len(space.points)),
        )

    def optimum(self, alpha, ridge):
        w, b = cp.Variable(self.phi.shape[1]), cp.Variable() if self.fit_intercept else 0.0
        objective = PLAIN[self.loss].weighted_sum(self.weights, self.y, b + self.phi @ w)
        objective += alpha * sum(cp.norm(slope @ w) for slope in self.slopes)
        tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-10)
        found = cp.Problem(cp.Minimize(objective + ridge * cp.sum_squares(w)))
        with warnings.catch_warnings():  # it may stop just short of that, which is as good
            warnings.simplefilter("ignore", UserWarning)
            found.solve(solver=cp.CLARABEL, **tight)
        return found.value, [float(np.linalg.norm(slope @ w.value)) for slope in self.slopes]


@each_loss
@pytest.mark.parametrize(("name", "intercept"), [("sparse", True), ("dense", False)])
def test_the_gap_certifies_the_optimum_of_an_interior_point_method(loss, name, intercept):
    rows = Rows(loss, name, intercept)
    problem = rows.problem(0.05, 0.02)
    solution = Newton(tol=1e-9).solve(problem)
    optimum, norms = rows.optimum(0.05, 0.02)
    assert solution.status is Status.CONVERGED
    assert 0 <= solution.gap + 1e-12 <= 1e-9 * problem.reference + 2e-12
    assert solution.primal == pytest.approx(optimum, rel=1e-6, abs=1e-7)
    assert solution.dual <= optimum + 1e-8
    assert problem.primal(solution.coef) == pytest.approx(solution.primal, rel=1e-9)
    ours = np.sqrt(np.sum(solution.point.g**2, axis=0))
    np.testing.assert_allclose(ours, norms, atol=2e-3)
    lower, upper = problem.derivative_bounds(solution.point)
    assert np.all(lower <= np.array(norms) + 1e-4)
    assert np.all(upper >= np.array(norms) - 1e-4)


@each_loss
def test_every_dual_value_is_below_the_optimum_and_points_are_their_functions(loss):
    rows = Rows(loss, "sparse")
    problem = rows.problem(0.05, 0.02)
    best = Newton(tol=1e-9).solve(problem)
    rng = np.random.default_rng(0)
    for size in (0.01, 0.1):
        point = problem.feasible_point(size * rng.normal(size=problem.space.points.shape))
        primal, dual = problem.primal_dual(point)
        assert dual <= best.primal + 1e-10
        assert primal >= best.dual - 1e-10
        model = problem.model(point)
        there = model.lift(DualSolver(tol=1e-3).solve(model.problem).point)
        for each in (point, there, problem.certificate(there)):
            values, gradients = problem.space.products(each.u, problem.coefficient(each.s))
            np.testing.assert_allclose(each.values, values, atol=1e-8)
            np.testing.assert_allclose(each.g, gradients, atol=1e-8)
        assert np.isfinite(problem.primal_dual(problem.certificate(there))[1])


@each_loss
def test_from_alpha_max_on_nothing_is_selected(loss):
    rows = Rows(loss, "sparse")
    free = rows.problem(0.0, 0.05)
    top = free.alpha_max()
    above, below = (
        Newton(tol=1e-8).solve(rows.problem(factor * top, 0.05)) for factor in (1.01, 0.5)
    )
    assert np.linalg.norm(above.point.g) < 1e-3 * np.linalg.norm(below.point.g)


def test_features_computed_anew_are_those_kept():
    problem = Rows("huber", "dense").problem(0.05, 0.02)
    again = Rows("huber", "dense").problem(0.05, 0.02, keep=False, chunk_bytes=8 * 20 * 7)
    first, second = (Newton(tol=1e-8).solve(each) for each in (problem, again))
    np.testing.assert_allclose(first.point.values, second.point.values, atol=1e-7)
    u, v = np.ones(40), np.ones(again.space.points.shape)
    D, L = again.space.dense()
    Dv, carry = again.space.push(v)
    np.testing.assert_allclose(Dv, D.T @ v.ravel(), atol=1e-9)
    pulled = again.space.pull(u, v, carry).ravel()
    np.testing.assert_allclose(pulled, D @ u + L @ v.ravel(), atol=1e-9)
    np.testing.assert_allclose(again.space.values(u, v), again.space.gram @ u + Dv, atol=1e-9)
    diagonal = again.space.derivative_diagonal().ravel()
    np.testing.assert_allclose(diagonal, np.diag(L), atol=1e-9)
