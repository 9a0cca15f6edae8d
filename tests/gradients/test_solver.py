"""The solver against CVXPY; gaps as true bounds; alpha_max as the exact threshold."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from nablasso.gradients import ActiveSet, Point, null_point
from tests.gradients.test_problem import CASES, OTHERS, make, random_point

ALL = {**CASES, **OTHERS}
TIGHT = ActiveSet(1e-9)


def oracle(ours, problem):
    """Minimum by an interior point method, pair by pair."""
    X, phi, penalty = problem.X, problem.phi, problem.penalty
    n, p = X.shape
    m = np.zeros((n, n))
    if problem.pairs.weights.ndim == 1:
        m[problem.pairs.first, problem.pairs.second] = problem.pairs.weights
    else:
        m = problem.pairs.weights
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
    if problem.smooth is not None:
        root = np.linalg.cholesky(problem.smooth + 1e-12 * np.eye(len(problem.smooth)))
        loss += cp.sum_squares(B @ root)
    sizes = []
    for g, weight in enumerate(penalty.weights):
        block = B[np.flatnonzero(penalty.labels == g), :]
        if penalty.kept[g]:
            loss += penalty.ridges[g] * cp.sum_squares(block)
        else:
            sizes.append(weight * cp.norm(cp.vec(block, order="C")))
    total = sum(sizes) if sizes else 0.0
    loss += penalty.alpha * (cp.square(total) if penalty.form == "squared" else total)
    return cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)


def alpha_for(problem):
    return problem.with_alpha(0.2 * null_point(problem)[1])


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_objective_agrees_with_cvxpy(case):
    ours, _, problem = make(case)
    problem = alpha_for(problem)
    solution = TIGHT.solve(problem)
    expected = oracle(ours, problem)
    assert solution.certificate.primal == pytest.approx(expected, rel=1e-6, abs=1e-7)
    assert solution.gap <= 1e-9 * problem.reference


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_the_gap_bounds_the_suboptimality_everywhere(case):
    *_, problem = make(case)
    problem = alpha_for(problem)
    best = TIGHT.solve(problem)
    floor = best.certificate.primal - best.gap
    at = best.point
    for seed, size in enumerate((1.0, 0.1, 1e-3, 0.0)):
        noise = random_point(problem, at.columns, seed)
        point = Point(at.columns, at.B + size * noise.B, at.c + size * noise.c)
        certificate = problem.certificate(point)
        assert certificate.dual <= best.certificate.primal + 1e-12
        assert certificate.gap >= certificate.primal - best.certificate.primal - 1e-12
        assert certificate.primal >= floor - 1e-12
    zero = problem.certificate(problem.zero())
    assert zero.gap >= zero.primal - best.certificate.primal


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
    full = Point(columns, np.zeros((60, problem.phi.shape[1])), np.zeros(problem.phi.shape[1]))
    assert TIGHT.solve(problem, full).certificate.primal == pytest.approx(
        cold.certificate.primal, rel=1e-8
    )
    warm = TIGHT.solve(problem, cold.point)
    assert warm.n_iter == 0


def test_rotated_variables_give_the_ridge_solution():
    *_, problem = make({"n": 14, "p": 40, "form": "ridge"})
    problem = problem.with_alpha(0.01)
    reduced, rotation = problem.reduced()
    assert reduced.X.shape == (14, 13)
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(13), atol=1e-12)
    solution = TIGHT.solve(problem)
    assert solution.gap <= 2e-9 * problem.reference  # over the original variables
    plain = replace(problem, penalty=replace(problem.penalty, weights=np.zeros(40), form="lasso"))
    plain = replace(plain, penalty=replace(plain.penalty, ridge=0.01))
    assert TIGHT.solve(plain).certificate.primal == pytest.approx(
        solution.certificate.primal, rel=1e-7
    )


def test_a_limit_of_iterations_is_kept_and_reported():
    *_, problem = make({})
    solution = ActiveSet(1e-14, 3).solve(problem.with_alpha(1e-5))
    assert solution.n_iter == 3
    assert solution.status.value == "max_iter"
    assert solution.gap > 0
