"""Objective, gradient, dual, ``alpha_max`` and penalties, against loops and minimisers."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from nablasso.gradients.problem import GradientPoint, RowPenalty
from nablasso.gradients.solvers import null_point
from tests.gradients.problems import as_dense, data_of, literal_objective

CASES = {
    "dense": {},
    "neighbours": {"n_neighbors": 4},
    "weights": {"weights": np.linspace(1, 3, 14)},
    "classes": {"classes": True},
    "classes, neighbours": {"classes": True, "n_neighbors": 4},
}
OTHERS = {
    "kept": {"kept": (1,)},
    "ridge": {"form": "ridge"},
    "groups": {"labels": [0, 0, 1, 1, 2]},
}


def make(case, alpha=0.01):
    ours, y = data_of(**case)
    offset = 0.02 if ours.classes else None
    return ours, y, ours.problem(y, alpha, offset)


def random_point(problem, columns, seed=0):
    rng = np.random.default_rng(seed)
    r = problem.phi.shape[1]
    c = rng.normal(size=r) if problem.has_offset else np.zeros(r)
    return GradientPoint(np.asarray(columns), rng.normal(size=(len(columns), r)) * 0.1, c)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_objective_is_that_of_the_paper(case):
    ours, y, problem = make(case)
    point = random_point(problem, [0, 3])
    expand = np.linalg.pinv(ours.factor.phi)  # coefficients of the kernels at the rows
    C = np.zeros((problem.X.shape[1], len(y)))
    C[point.columns] = point.B @ expand
    c0 = point.c @ expand if problem.has_offset else None
    expected = literal_objective(ours, y, C, 0.01, c0)
    assert problem.certificate(point).primal == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("case", [*CASES.values(), *OTHERS.values()], ids=[*CASES, *OTHERS])
@pytest.mark.parametrize("columns", [[0, 3], [0, 1, 2, 3, 4]])
def test_gradient_against_finite_differences(case, columns):
    *_, problem = make(case)
    point = random_point(problem, columns)
    XA = problem.X[:, point.columns]

    def value(B, c):
        return problem.smooth_value(problem.predictions(XA, B, c), c)

    gB, gc = problem.gradient(problem.slopes(problem.predictions(XA, point.B, point.c)), XA)
    gc = gc + 2 * (problem.offset_ridge or 0.0) * point.c
    rng = np.random.default_rng(1)
    for _ in range(3):
        dB = rng.normal(size=point.B.shape)
        dc = rng.normal(size=point.c.shape) if problem.has_offset else np.zeros_like(point.c)
        h = 1e-6
        ahead = value(point.B + h * dB, point.c + h * dc)
        behind = value(point.B - h * dB, point.c - h * dc)
        expected = (ahead - behind) / (2 * h)
        assert np.sum(gB * dB) + gc @ dc == pytest.approx(expected, rel=1e-6)


def test_narrow_and_wide_products_agree():
    *_, problem = make({"n": 14, "p": 30, "n_neighbors": 4})
    many = random_point(problem, np.arange(20))  # more rows than features
    few = GradientPoint(many.columns[:5], many.B[:5], many.c)
    XA = problem.X[:, many.columns]
    z = problem.predictions(XA, many.B, many.c)
    parts = problem.predictions(XA[:, :5], few.B, few.c)
    parts = parts + sum(
        problem.predictions(XA[:, a : a + 5], many.B[a : a + 5], many.c) for a in (5, 10, 15)
    )
    np.testing.assert_allclose(z, parts, atol=1e-12)
    theta = problem.slopes(z)
    wide = problem.gradient(theta, XA)[0]
    np.testing.assert_allclose(wide[:5], problem.gradient(theta, XA[:, :5])[0], atol=1e-12)


@pytest.mark.parametrize("n_neighbors", [None, 4])
def test_alpha_max_is_formula_55(n_neighbors):
    _, y, problem = make({"n_neighbors": n_neighbors})
    X, m, phi = problem.X, as_dense(problem.pairs), problem.phi
    norms = [
        2 * np.linalg.norm(((m * (y[:, None] - y) * (x[:, None] - x)).sum(axis=1)) @ phi)
        for x in X.T
    ]
    assert null_point(problem)[1] == pytest.approx(max(norms), rel=1e-12)


LABELS = np.array([0, 1, 1, 2, 3])
WEIGHTS = np.array([1.0, 2.0, 1.0, 0.0])  # the last group is always kept


def penalty(form):
    return RowPenalty(form, LABELS, WEIGHTS, 0.4, 0.7)


@pytest.mark.parametrize("form", ["lasso", "ridge"])
def test_prox_minimises(form):
    ours, B, step = penalty(form), np.random.default_rng(0).normal(size=(5, 2)), 0.6
    A = ours.prox(B, step)

    def objective(x):
        x = x.reshape(B.shape)
        return step * ours.value(x) + np.sum((x - B) ** 2) / 2

    best = min(objective(A + 1e-5 * d) for d in np.random.default_rng(1).normal(size=(200, 5, 2)))
    assert objective(A) <= best
    assert objective(A) <= minimize(objective, B.ravel(), method="Powell").fun + 1e-8


def test_a_group_leaves_as_a_whole_and_a_kept_one_never_does():
    ours = replace(penalty("lasso"), alpha=100.0)
    A = ours.prox(np.ones((5, 2)), 1.0)
    assert np.all(A[:4] == 0)
    np.testing.assert_allclose(A[4], 1 / 2.4)


@pytest.mark.parametrize("form", ["lasso", "ridge"])
def test_conjugate_satisfies_fenchel_and_is_attained(form):
    ours = penalty(form)
    rng = np.random.default_rng(2)
    gaps = []
    for _ in range(300):
        B, G = rng.normal(size=(2, 5, 2))
        norms = ours.norms(G)
        t = ours.dual_scale(norms)
        gaps.append(ours.value(B) + ours.conjugate(t * norms) - t * np.sum(G * B))
    assert min(gaps) >= -1e-12
    # prox: (B - A) / step is a subgradient at A, where the inequality is an equality
    B, step = rng.normal(size=(5, 2)) * 3, 0.6
    A = ours.prox(B, step)
    G = (B - A) / step
    assert ours.dual_scale(ours.norms(G)) == pytest.approx(1.0)
    assert ours.value(A) + ours.conjugate(ours.norms(G)) == pytest.approx(np.sum(G * A), rel=1e-10)


def test_restriction_keeps_whole_groups():
    ours = penalty("lasso").restricted(np.array([1, 2, 4]))
    assert ours.labels.tolist() == [0, 0, 1]
    assert ours.weights.tolist() == [2.0, 0.0]
