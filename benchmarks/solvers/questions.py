"""The questions, each a function that returns rows."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from benchmarks.memory import peak_gib
from benchmarks.solvers.objective import TARGET, elimination_time, median_of, time_to_gap
from benchmarks.solvers.problems import RIDGE, family, problem
from experiments.paper_admm import PaperAdmm
from nablasso.paths import alpha_grid
from nablasso.solvers import Denovas, DualSolver, walk_path

Row = dict[str, float | int | str]

MOST = 400  # outer iterations of the references

MEMORY_SCRIPT = """
from nablasso import DerivativeLasso
from nablasso.datasets import make_two_way
data = make_two_way({n}, {d}, random_state=0)
model = DerivativeLasso().fit(data.X, data.y)
print(model.n_iter_, model.relative_gap_)
"""


def speed(sizes: list[tuple[int, int]], repeats: int) -> list[Row]:
    """Time to the target gap of the three solvers on the same problem, interleaved."""
    rows: list[Row] = []
    for n, d in sizes:
        for repeat in range(repeats):
            posed = problem(n, d, seed=repeat)
            set_up = elimination_time(posed)
            times = {
                "dual": time_to_gap(posed, DualSolver(tol=TARGET), set_up=set_up),
                "denovas": time_to_gap(posed, Denovas(tol=TARGET, max_iter=MOST)),
                "admm": time_to_gap(posed, PaperAdmm(tol=TARGET, max_iter=MOST)),
            }
            for name, (seconds, iterations) in times.items():
                rows.append(
                    {
                        "n": n,
                        "d": d,
                        "seed": repeat,
                        "solver": name,
                        "seconds": seconds,
                        "iterations": iterations,
                        "ratio_to_dual": seconds / times["dual"][0],
                    }
                )
    return rows


def iteration_cost(n: int, dimensions: list[int], samples: list[int], repeats: int) -> list[Row]:
    """Seconds of one product, over d at fixed n and over n at fixed d."""
    sizes = [(n, d) for d in dimensions] + [(m, dimensions[-2]) for m in samples if m != n]
    rows: list[Row] = []
    for size, d in sizes:
        made = family(size, d)
        posed = made.problem(RIDGE * made.trace)
        s = np.random.default_rng(0).standard_normal((size, d))
        posed.dual_point(s)
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            posed.dual_point(s)
            seconds.append(time.perf_counter() - start)
        rows.append({"n": size, "d": d, "seconds": median_of(seconds)})
    return rows


def exponents(rows: list[Row], n: int, dimensions: list[int]) -> tuple[float, float]:
    """Exponents of d (at fixed n) and of n (at fixed d) in ``seconds ~ n^b d^a``."""
    over_d = [(r["d"], r["seconds"]) for r in rows if r["n"] == n]
    over_n = [(r["n"], r["seconds"]) for r in rows if r["d"] == dimensions[-2]]
    slopes = []
    for pairs in (over_d, over_n):
        x, t = np.log(np.array(pairs, dtype=float)).T
        slopes.append(float(np.polyfit(x, t, 1)[0]))
    return slopes[0], slopes[1]


def linear_fit(rows: list[Row], n: int) -> tuple[float, float, float]:
    """``seconds = a + b d`` at fixed n: a, b and R2."""
    d, t = np.array([(r["d"], r["seconds"]) for r in rows if r["n"] == n], dtype=float).T
    b, a = np.polyfit(d, t, 1)
    return float(a), float(b), float(1 - np.var(t - a - b * d) / np.var(t))


def memory(n: int, d: int) -> Row:
    """Peak resident memory of a whole default fit in a process of its own."""
    peak, (iterations, gap) = peak_gib(MEMORY_SCRIPT.format(n=n, d=d))
    dense = 8 * (n * d) ** 2 / 2**30
    return {
        "n": n,
        "d": d,
        "peak_gib": peak,
        "dense_L_gib": dense,
        "iterations": int(iterations),
        "relative_gap": float(gap),
    }


def path_cost(n: int, d: int, points: int, repeats: int) -> list[Row]:
    """A warm path against its cold fits, same alphas, same tolerance."""
    rows: list[Row] = []
    for repeat in range(repeats):
        made = family(n, d, seed=repeat)
        posed = made.problem(RIDGE * made.trace)
        flat = posed.flat_dual()
        alphas = alpha_grid(posed.gauge(flat), points, 1e-3)[::-1]
        solver = DualSolver()
        cold = []
        for alpha in alphas:
            start = time.perf_counter()
            solver.solve(replace(posed, alpha=float(alpha)))
            cold.append(time.perf_counter() - start)
        start = time.perf_counter()
        steps = list(walk_path(posed, alphas, solver, flat))
        warm = time.perf_counter() - start
        worst = max(solution.gap / posed.reference for _, solution in steps)
        rows.append(
            {
                "n": n,
                "d": d,
                "seed": repeat,
                "points": points,
                "path_seconds": warm,
                "over_cold_fits": warm / sum(cold),
                "over_most_expensive": warm / max(cold),
                "worst_relative_gap": worst,
            }
        )
    return rows
