"""(P) on pseudo-rows against (P) on the rows: dense algebra, and CVXPY as the judge."""

import cvxpy as cp
import numpy as np
import pytest

from nablasso.errors import InvalidParameterError
from nablasso.kernels import Anova, Gaussian
from nablasso.losses import Squared
from nablasso.penalties import ElasticNet, GroupLasso, Partition
from nablasso.problems import Coefficients, SquaredProblem, on_pseudo_rows
from nablasso.solvers import Admm, DualSolver
from nablasso.spaces import (
    FeatureRows,
    FeatureSpace,
    PseudoRows,
    draw_fourier,
    draw_nystrom,
    slope_map,
)

MAPS = {"sparse": (Anova(2), 60), "dense": (Gaussian(2.0), 40)}
each = pytest.mark.parametrize("name", MAPS)
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


class Rows:
    """A small problem on rows, written out; nothing of the library but the features."""

    def __init__(self, name, fit_intercept=True, n=150, d=4):
        rng = np.random.default_rng(4)
        self.X = rng.normal(size=(n, d))
        noise = 0.2 * rng.normal(size=n)
        self.y = 3.0 + np.sin(2 * self.X[:, 0]) + self.X[:, 0] * self.X[:, 1] + noise
        weights = rng.uniform(0.5, 2.0, size=n)
        self.weights = weights / weights.sum()
        self.features = draw_fourier(MAPS[name][0], np.full(d, 0.7), MAPS[name][1])
        self.phi = self.features.features(self.X)
        self.psi = self.features.slopes(self.phi)
        self.omega = np.tile(self.features.frequencies, (2, 1))
        self.fit_intercept = fit_intercept
        self.moments = FeatureRows(self.features, self.X).moments(self.y, self.weights)
        self.pseudo = PseudoRows(self.moments, fit_intercept=fit_intercept)
        self.space = FeatureSpace(self.pseudo, slope_map(self.features, self.moments.S))

    def norms(self, w):
        slopes = [(self.psi * self.omega[:, a]) @ w for a in range(self.X.shape[1])]
        return np.sqrt(self.weights @ np.array(slopes).T ** 2)

    def objective(self, w, b, alpha, ridge):
        loss = self.weights @ (self.y - b - self.phi @ w) ** 2
        return loss + alpha * self.norms(w).sum() + ridge * w @ w

    def problem(self, alpha, ridge, penalty=None):
        d = self.X.shape[1]
        return SquaredProblem(
            loss=Squared(),
            penalty=penalty or GroupLasso(Partition(np.arange(d)), np.ones(d)),
            alpha=alpha,
            ridge=ridge,
            **on_pseudo_rows(self.space, ridge),
        )

    def optimum(self, alpha, ridge, l1_ratio=1.0):
        """By CVXPY on the rows."""
        w, b = cp.Variable(len(self.omega)), cp.Variable() if self.fit_intercept else 0.0
        root = np.sqrt(self.weights)
        loss = cp.sum_squares(cp.multiply(root, self.y - b - self.phi @ w))
        slopes = [(root[:, None] * self.psi * self.omega[:, a]) @ w for a in range(self.X.shape[1])]
        omega = l1_ratio * sum(cp.norm(slope) for slope in slopes)
        omega += (1 - l1_ratio) * sum(cp.sum_squares(slope) for slope in slopes)
        problem = cp.Problem(cp.Minimize(loss + alpha * omega + ridge * cp.sum_squares(w)))
        problem.solve(solver="CLARABEL")
        return problem.value


@each
def test_moments_are_those_of_the_rows(name):
    rows = Rows(name)
    centred = rows.phi - rows.weights @ rows.phi
    C = (centred * rows.weights[:, None]).T @ centred
    np.testing.assert_allclose(rows.moments.C, C, atol=1e-13)
    c = (centred * rows.weights[:, None]).T @ rows.y
    np.testing.assert_allclose(rows.moments.c, c, atol=1e-13)
    S = (rows.psi * rows.weights[:, None]).T @ rows.psi
    np.testing.assert_allclose(rows.moments.S, S, atol=1e-13)
    w = np.random.default_rng(0).normal(size=len(C))
    expected = rows.weights @ (rows.y - 1.5 - rows.phi @ w) ** 2
    assert rows.moments.mean_squared_error(w, 1.5) == pytest.approx(expected, rel=1e-10)


@each
@intercepts
def test_the_objective_on_pseudo_rows_is_that_on_the_rows(name, fit_intercept):
    rows = Rows(name, fit_intercept)
    problem, space = rows.problem(0.3, 0.01), rows.space
    rng = np.random.default_rng(1)
    for _ in range(5):
        u, v = rng.normal(size=space.n_samples), rng.normal(size=space.points.shape)
        w = space.coefficients(u, v)
        u[-1] = 0.0  # the last pseudo-row has no features: its u is no function
        expected = rows.objective(w, space.rows.intercept(w), 0.3, 0.01)
        found = problem.primal(Coefficients(u, v, 0.0))
        assert found == pytest.approx(expected, rel=1e-10)
    at_zero = rows.objective(np.zeros(len(w)), space.rows.intercept(0 * w), 0.3, 0.01)
    assert problem.reference == pytest.approx(at_zero, rel=1e-10)


@each
def test_products_are_adjoint_and_dense(name):
    space = Rows(name).space
    rng = np.random.default_rng(2)
    u, v = rng.normal(size=space.n_samples), rng.normal(size=space.points.shape)
    D, L = space.dense()
    values, gradients = space.products(u, v)
    np.testing.assert_allclose(values, space.gram @ u + D.T @ v.ravel(), atol=1e-10)
    np.testing.assert_allclose(space.kernel_product(u), space.gram @ u, atol=1e-12)
    np.testing.assert_allclose(gradients.ravel(), D @ u + L @ v.ravel(), atol=1e-10)
    pushed, carry = space.push(v)
    np.testing.assert_allclose(pushed, D.T @ v.ravel(), atol=1e-10)
    np.testing.assert_allclose(space.pull(u, v, carry), gradients, atol=1e-10)
    np.testing.assert_allclose(space.values(u, v), values)
    np.testing.assert_allclose(space.gradients(u, v), gradients)
    np.testing.assert_allclose(space.derivative_diagonal().ravel(), np.diag(L), atol=1e-10)


@each
@intercepts
def test_the_minimum_is_that_of_cvxpy_and_the_gap_bounds_the_error(name, fit_intercept):
    rows = Rows(name, fit_intercept)
    problem = rows.problem(0.15, 0.003)
    optimum = rows.optimum(0.15, 0.003)
    gaps = []
    solver = DualSolver(tol=1e-9)

    def look(_, coef):
        gaps.append((problem.primal(coef) - optimum, problem.gap(coef)))

    solution = solver.solve(problem, callback=look)
    assert solution.primal == pytest.approx(optimum, abs=1e-6)
    assert all(gap >= excess - 1e-7 for excess, gap in gaps)
    w = rows.space.coefficients(solution.coef.u, solution.coef.v)
    b = rows.space.rows.intercept(w)
    assert rows.objective(w, b, 0.15, 0.003) == pytest.approx(solution.primal, rel=1e-9)
    lower, upper = problem.derivative_bounds(solution.point)
    assert np.all(lower <= rows.norms(w) + 1e-7)
    assert np.all(rows.norms(w) <= upper + 1e-7)


@each
def test_elastic_net_and_another_solver(name):
    rows = Rows(name)
    problem = rows.problem(0.1, 0.003, ElasticNet(Partition(np.arange(4)), np.ones(4), 0.5))
    assert DualSolver(tol=1e-9).solve(problem).primal == pytest.approx(
        rows.optimum(0.1, 0.003, 0.5), abs=1e-6
    )
    plain = rows.problem(0.15, 0.003)
    assert Admm(tol=1e-8).solve(plain).primal == pytest.approx(
        DualSolver(tol=1e-9).solve(plain).primal, abs=1e-6
    )


def test_nothing_is_selected_from_alpha_max_on():
    rows = Rows("sparse")
    top = rows.problem(0.0, 0.003).alpha_max()
    above, below = (DualSolver().solve(rows.problem(t * top, 0.003)) for t in (1.01, 0.7))
    assert np.all(np.linalg.norm(above.point.g, axis=0) < 1e-4)
    assert np.any(np.linalg.norm(below.point.g, axis=0) > 1e-2)


def test_other_penalty_points_have_their_own_slopes():
    rows = Rows("sparse")
    psi = rows.features.slopes(rows.features.features(rows.X + 0.3))
    space = FeatureSpace(rows.pseudo, slope_map(rows.features, psi.T @ psi / len(psi)))
    u, v = np.zeros(space.n_samples), np.random.default_rng(0).normal(size=space.points.shape)
    w = space.coefficients(u, v)
    expected = np.mean(rows.features.evaluate_gradients(rows.X + 0.3, w) ** 2, axis=0)
    np.testing.assert_allclose(np.sum(space.gradients(u, v) ** 2, axis=0), expected, rtol=1e-8)


def test_moments_without_slopes_are_refused():
    rows = Rows("dense")
    nystrom = draw_nystrom(Gaussian(), np.ones(4), rows.X, rows.weights, 20)
    moments = FeatureRows(nystrom, rows.X).moments(rows.y, rows.weights)
    with pytest.raises(InvalidParameterError, match="needs the moments of slopes"):
        slope_map(rows.features, moments.S)


def test_single_precision_moments_keep_what_they_know():
    rows = Rows("sparse")
    rough = FeatureRows(
        rows.features, rows.X.astype(np.float32).astype(float) * (1 + 1e-7), keep=False
    ).moments(rows.y, rows.weights)
    pseudo = PseudoRows(rough)
    np.testing.assert_allclose(pseudo.Z.T @ pseudo.Z, rough.C, atol=1e-6)
    assert np.isfinite(pseudo.y).all()
