"""The active set against CVXPY, gaps as true bounds, alpha_max as the exact threshold.

Algorithm 1 iterate by iterate as printed, and in the end the optimum of the active set.
"""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.linalg import sqrtm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from nablasso import SparseGradientClassifier, SparseGradientRegressor
from nablasso.datasets import make_rings, make_turlach
from nablasso.errors import InvalidParameterError
from nablasso.gradients.problem import GradientPoint
from nablasso.gradients.solvers import ActiveSet, ForwardBackward, null_point, step_size
from nablasso.kernels import Polynomial
from nablasso.losses import Squared
from nablasso.solvers import Status
from tests.gradients.problems import as_dense, pair_weight
from tests.gradients.test_problem import CASES, OTHERS, make, random_point

ALL = {**CASES, **OTHERS}
TIGHT = ActiveSet(1e-9)
CLOSE = 1e-4  # of the objective at zero
SLOW = {"classes, neighbours"}  # plain steps in f0 take tens of thousands of iterations


def oracle(ours, problem):
    """Minimum by an interior point method, pair by pair."""
    X, phi, penalty = problem.X, problem.phi, problem.penalty
    p = X.shape[1]
    m = as_dense(problem.pairs)
    first, second = np.nonzero(m)
    w = m[first, second]
    B, c = cp.Variable((p, phi.shape[1])), cp.Variable(phi.shape[1])
    delta = X[second] - X[first]
    z = cp.sum(cp.multiply(delta @ B, phi[first]), axis=1)
    y = ours.table.y
    if problem.has_offset:
        z = z + phi[first] @ c
        loss = cp.sum(cp.multiply(w, cp.logistic(-cp.multiply(y[second], z))))
        loss += problem.offset_ridge * cp.sum_squares(c)
    else:
        loss = cp.sum(cp.multiply(w, cp.square(z - (y[second] - y[first]))))
    sizes = []
    for g, weight in enumerate(penalty.weights):
        block = B[np.flatnonzero(penalty.labels == g), :]
        if penalty.kept[g]:
            loss += penalty.bends[g] * cp.sum_squares(block)
        else:
            sizes.append(weight * cp.norm(cp.vec(block, order="C")))
    loss += penalty.alpha * sum(sizes)
    return cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)


def alpha_for(problem):
    return problem.with_alpha(0.2 * null_point(problem)[1])


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_objective_agrees_with_cvxpy(case):
    ours, _, problem = make(case)
    problem = alpha_for(problem)
    solution = TIGHT.solve(problem)
    expected = oracle(ours, problem)
    assert solution.primal == pytest.approx(expected, rel=1e-6, abs=1e-7)
    assert solution.gap <= 1e-9 * problem.reference


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_the_gap_bounds_the_suboptimality_everywhere(case):
    *_, problem = make(case)
    problem = alpha_for(problem)
    best = TIGHT.solve(problem)
    floor = best.primal - best.gap
    at = best.point
    for seed, size in enumerate((1.0, 0.1, 1e-3, 0.0)):
        noise = random_point(problem, at.columns, seed)
        point = GradientPoint(at.columns, at.B + size * noise.B, at.c + size * noise.c)
        certificate = problem.certificate(point)
        assert certificate.dual <= best.primal + 1e-12
        assert certificate.gap >= certificate.primal - best.primal - 1e-12
        assert certificate.primal >= floor - 1e-12
    zero = problem.certificate(problem.zero())
    assert zero.gap >= zero.primal - best.primal


@pytest.mark.parametrize("case", [*CASES.values(), OTHERS["kept"], OTHERS["groups"]])
def test_alpha_max_is_exact(case):
    *_, problem = make(case)
    null, top = null_point(problem)
    kept = len(null.columns)
    above = TIGHT.solve(problem.with_alpha(top * (1 + 1e-6)))
    assert len(above.point.columns) == kept
    below = TIGHT.solve(problem.with_alpha(top * (1 - 1e-4)), null)
    assert len(below.point.columns) > kept


def test_the_active_set_finds_what_the_full_set_does():
    *_, problem = make({"n": 14, "p": 60})
    problem = alpha_for(problem)
    cold = TIGHT.solve(problem)
    assert 0 < len(cold.point.columns) < 60
    columns = np.arange(60)
    full = GradientPoint(
        columns, np.zeros((60, problem.phi.shape[1])), np.zeros(problem.phi.shape[1])
    )
    assert TIGHT.solve(problem, full).primal == pytest.approx(cold.primal, rel=1e-8)
    warm = TIGHT.solve(problem, cold.point)
    assert warm.n_iter == 0


def test_rotated_variables_give_the_ridge_solution():
    *_, problem = make({"n": 14, "p": 40, "form": "ridge"})
    problem = problem.with_alpha(0.01)
    turned, rotation = problem.rotated()
    assert turned.X.shape == (14, 13)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(13), atol=1e-12)
    solution = TIGHT.solve(problem)
    assert solution.gap <= 2e-9 * problem.reference  # over the original variables
    plain = replace(problem, penalty=replace(problem.penalty, weights=np.zeros(40), form="lasso"))
    plain = replace(plain, penalty=replace(plain.penalty, ridge=0.01))
    assert TIGHT.solve(plain).primal == pytest.approx(solution.primal, rel=1e-7)


def test_a_limit_of_iterations_is_kept_and_reported():
    *_, problem = make({})
    solution = ActiveSet(1e-14, 3).solve(problem.with_alpha(1e-5))
    assert solution.n_iter == 3
    assert solution.status.value == "max_iter"
    assert solution.gap > 0


def printed(ours, y, alpha, delta, n_iter, ridge=None):
    """(54) or, with a ridge of f0, (63): p x n matrices, loops over all pairs, roots of K."""
    X, p = ours.table.X, ours.table.weights
    n = len(X)
    K = ours.kernel(X / ours.width, X / ours.width)
    root = np.real(sqrtm(K))
    C, a = np.zeros((X.shape[1], n)), np.zeros(n)
    for _ in range(n_iter):
        D, move = np.zeros_like(C), np.zeros(n)
        for i in range(n):
            for j in range(n):
                w = p[i] * p[j] * pair_weight(ours, i, j)
                value = (X[j] - X[i]) @ C @ root[i]
                if ridge is None:
                    slope = 2 * w * (y[i] - y[j] + value)
                else:
                    slope = -w * y[j] / (1 + np.exp(y[j] * (a @ K[i] + value)))
                    move += slope * K[i]
                D += slope * np.outer(X[j] - X[i], root[i])
        if ridge is not None:
            a = a - delta * (move + 2 * ridge * K @ a)
        D = C - delta * D
        sizes = np.linalg.norm(D, axis=1, keepdims=True)
        C = np.maximum(1 - alpha * delta / sizes, 0) * D
    return C @ root, K @ a  # gradients (p, n) and f0 at the rows


@pytest.mark.parametrize("name", ["dense", "weights", "classes"])
@pytest.mark.parametrize("n_iter", [1, 2, 7])
def test_iterates_are_those_of_the_paper(name, n_iter):
    ours, y, problem = make({**CASES, **OTHERS}[name])
    problem = alpha_for(problem)
    found = ForwardBackward(0.0, n_iter).solve(problem)
    assert found.n_iter == n_iter
    gradients, f0 = printed(
        ours, y, problem.penalty.alpha, step_size(problem), n_iter, problem.offset_ridge
    )
    B = np.zeros((problem.X.shape[1], problem.phi.shape[1]))
    B[found.point.columns] = found.point.B
    np.testing.assert_allclose(B @ problem.phi.T, gradients, atol=1e-8)
    np.testing.assert_allclose(problem.phi @ found.point.c, f0, atol=1e-8)


@pytest.mark.parametrize("name", [name for name in ALL if name not in SLOW])
def test_it_ends_at_the_optimum_of_the_default(name):
    _, _, problem = make(ALL[name])
    problem = alpha_for(problem)
    best = ActiveSet(1e-9).solve(problem)
    found = ForwardBackward(CLOSE / 2).solve(problem)
    assert found.status is Status.CONVERGED
    excess = found.primal - best.primal
    assert -1e-8 <= excess / problem.reference <= CLOSE
    assert excess <= found.gap + 1e-8


@pytest.mark.parametrize("name", ["dense", "classes", "kept"])
def test_the_step_is_short_enough_and_the_objective_never_rises(name):
    _, _, problem = make(ALL[name])
    problem = alpha_for(problem)
    points = [ForwardBackward(0.0, n_iter).solve(problem) for n_iter in range(12)]
    objectives = [found.primal for found in points]
    assert np.all(np.diff(objectives) <= 1e-12)
    assert objectives[0] == pytest.approx(problem.reference)


def test_a_start_is_used():
    _, _, problem = make(ALL["dense"])
    problem = alpha_for(problem)
    done = ForwardBackward(1e-7).solve(problem)
    again = ForwardBackward(1e-6).solve(problem, done.point)
    assert again.n_iter == 0
    other = GradientPoint(np.array([1]), np.ones((1, problem.phi.shape[1])), done.point.c)
    moved = ForwardBackward(CLOSE).solve(problem, other)
    assert moved.primal == pytest.approx(done.primal, rel=1e-3)


class InterruptedOnce(Squared):
    """The squared loss; the user gives up when its fifth gradient is asked for."""

    calls = 0

    def gradient(self, y, z):
        self.calls += 1
        if self.calls == 5:
            raise KeyboardInterrupt
        return super().gradient(y, z)


def test_an_interrupt_returns_the_iterate():
    _, _, problem = make(ALL["dense"])
    found = ForwardBackward().solve(replace(alpha_for(problem), loss=InterruptedOnce()))
    assert found.status is Status.INTERRUPTED
    assert found.n_iter == 1  # the last one that was judged
    assert len(found.point.columns)
    assert found.gap > 0


def test_the_regressor_agrees():
    data = make_turlach(60, 8, random_state=0)
    settings = {"alpha": 0.002, "kernel": Polynomial(1), "n_neighbors": 10}
    default = SparseGradientRegressor(**settings).fit(data.X, data.y)
    model = SparseGradientRegressor(**settings, solver="forward_backward", tol=CLOSE / 2)
    model.fit(data.X, data.y)
    scale = default.objective_  # smaller than the objective at zero: the stricter unit
    assert model.objective_ == pytest.approx(default.objective_, abs=CLOSE * scale)


def test_the_classifier_agrees_and_early_iterates_select_more():
    data = make_rings(30, 60, spread=1.0, random_state=0)
    settings = {"ridge": 0.02, "standardize": False}
    default = SparseGradientClassifier(**settings).fit(data.X, data.y)
    model = SparseGradientClassifier(**settings, solver="forward_backward", tol=1e-3)
    model.fit(data.X, data.y)
    assert model.solver_status_ == "converged"
    assert model.objective_ == pytest.approx(default.objective_, rel=CLOSE)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        early = clone(model).set_params(max_iter=5).fit(data.X, data.y)
    assert early.support_.sum() > model.support_.sum()


def test_an_unknown_solver_is_refused():
    data = make_turlach(20, 6, random_state=0)
    with pytest.raises(InvalidParameterError, match="solver must be one of active_set"):
        SparseGradientRegressor(solver="newton").fit(data.X, data.y)
