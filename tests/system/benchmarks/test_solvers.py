"""The judge of the solver benchmark is right, and the questions return their rows."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.solvers.objective import Stopwatch, time_to_gap
from benchmarks.solvers.problems import problem
from benchmarks.solvers.questions import exponents, path_cost, speed
from nablasso.solvers import DualSolver
from nablasso.solvers.base import certify


def test_the_judge_finds_the_first_iterate_below_the_target():
    posed = problem(20, 4)
    seconds, iteration = time_to_gap(posed, DualSolver(tol=1e-4), 1e-4)
    watch = Stopwatch()
    watch.solve(DualSolver(tol=1e-4), posed)
    relative = [certify(posed, coef, 0).gap / posed.reference for _, coef in watch.snapshots]
    assert relative[iteration - 1] <= 1e-4
    assert all(gap > 1e-4 for gap in relative[: iteration - 1])
    assert 0 < seconds < np.inf


def test_a_target_never_reached_takes_forever():
    assert time_to_gap(problem(20, 4), DualSolver(max_iter=1), 1e-12)[0] == np.inf


def test_the_clock_stands_still_during_snapshots():
    watch = Stopwatch()
    watch.solve(DualSolver(), problem(20, 4))
    times = [seconds for seconds, _ in watch.snapshots]
    assert times == sorted(times)
    assert watch.paused > 0


def test_exponents_are_recovered_from_made_up_rows():
    def row(n, d):
        return {"n": n, "d": d, "seconds": 1e-9 * n**2 * d}

    rows = [row(100, d) for d in (10, 20, 40)] + [row(n, 20) for n in (50, 200)]
    assert exponents(rows, 100, [10, 20, 40]) == pytest.approx((1.0, 2.0))


def test_the_questions_return_one_row_each():
    rows = speed([(20, 4)], repeats=1)
    assert [row["solver"] for row in rows] == ["dual", "denovas", "admm"]
    assert rows[0]["ratio_to_dual"] == 1.0
    (path,) = path_cost(20, 4, points=4, repeats=1)
    assert path["worst_relative_gap"] <= 1e-6
