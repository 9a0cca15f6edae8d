"""The questions, each a function that returns rows."""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

import nablasso
from benchmarks.gradients.reference import Algorithm1
from benchmarks.memory import peak_gib
from benchmarks.store import Row
from benchmarks.unit import SIZE, timed
from experiments.real_tables import load_table
from experiments.sgl_leukemia import divided
from nablasso import SparseGradientRegressor
from nablasso.errors import NablassoError
from nablasso.types import Array

MOST = 3000  # iterations of the paper's algorithm per point
TARGET = 1e-4  # relative duality gap of both

SCRIPT = """
from threadpoolctl import threadpool_limits
from benchmarks.gradients.questions import WORK, wide_table
from benchmarks.unit import timed
with threadpool_limits(1):
    X, y = wide_table({n}, {p}, 0)
    found = []
    seconds, unit = timed(lambda: found.append(WORK[{work!r}](X, y, {kernel!r}, {k})), {size})
print(seconds, unit, *found[0])
"""
BARE = "from benchmarks.gradients.questions import fit\n"


def wide_table(n: int, p: int, seed: int) -> tuple[Array, Array]:
    """Normal columns; y bends in the first, is linear in the next two, noise of a tenth."""
    rng = np.random.default_rng([5, seed])
    X = rng.standard_normal((n, p))
    return X, X[:, 0] ** 2 + X[:, 1] - X[:, 2] + 0.1 * rng.standard_normal(n)


def leukemia() -> tuple[Array, Array, str]:
    """The 38 training rows of the paper's table 2; made-up ones of that shape without the file."""
    try:
        X, y, _, _ = divided(load_table("leukemia"))
    except NablassoError:
        return *wide_table(38, 7129, 0), "made up"
    return X, y, "leukemia"


def fit(X: Array, y: Array, kernel: str, k: int | None) -> tuple[int, float, int]:
    """A default fit: iterations, relative gap, number of selected variables."""
    model = SparseGradientRegressor(kernel=kernel, n_neighbors=k).fit(X, y)
    return model.n_iter_, model.relative_gap_, int(model.support_.sum())


def solve(X: Array, y: Array, kernel: str, k: int | None) -> tuple[int, float, int]:
    """The gradients alone, without the predictor and its left-out scores: alpha as in a fit."""
    model = SparseGradientRegressor(kernel=kernel, n_neighbors=k)
    top = nablasso.path(model, X, y, n_alphas=1).alpha_max
    path = nablasso.path(model, X, y, alphas=[0.1 * top])
    return int(path.n_iter[0]), float(path.relative_gaps[0]), int(path.support[0].sum())


WORK = {"fit": fit, "gradients": solve}


def path_ratio(
    X: Array, y: Array, source: str, points: int, seconds: float, tol: float = TARGET
) -> Row:
    """A path by the library and by the paper's algorithm, to the same gap, on one thread.

    The paper's algorithm is given ``seconds``; where it does not finish, the ratio is taken on the
    points it did finish, and the rest of the path is left out for both.
    """
    model = SparseGradientRegressor(kernel="linear", tol=tol)
    with threadpool_limits(1):
        start = time.perf_counter()
        ours = nablasso.path(model, X, y, n_alphas=points)
        whole = time.perf_counter() - start
        Z = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        paper = Algorithm1(Z, y)
        theirs = paper.path(ours.alphas, tol, MOST, seconds)
        done = len(theirs.seconds)
        start = time.perf_counter()
        nablasso.path(model, X, y, alphas=ours.alphas[:done])
        part = time.perf_counter() - start
    spent = sum(theirs.seconds) + paper.set_up_seconds
    same = np.abs(np.array(theirs.objectives) - ours.objectives[:done]).max() / paper.reference
    return {
        "data": source,
        "n": len(X),
        "p": X.shape[1],
        "points": points,
        "target": tol,
        "library_seconds": f"{whole:.3f}",
        "library_worst_gap": f"{ours.relative_gaps.max():.1e}",
        "library_iterations": int(ours.n_iter.sum()),
        "paper_points": done,
        "paper_seconds": f"{spent:.3f}",
        "paper_worst_gap": f"{max(theirs.gaps):.1e}",
        "paper_iterations": sum(theirs.iterations),
        "library_seconds_same_points": f"{part:.3f}",
        "ratio_same_points": f"{spent / part:.1f}",
        "ratio_whole_path_at_least": f"{spent / whole:.1f}",
        "largest_difference_of_objectives": f"{same:.1e}",
    }


def budget(work: str, n: int, p: int, kernel: str, k: int | None, size: int = SIZE) -> Row:
    """Time in E and peak memory of one piece of ``WORK``, in a process of its own."""
    base, _ = peak_gib(BARE)
    peak, words = peak_gib(SCRIPT.format(work=work, n=n, p=p, kernel=kernel, k=k, size=size))
    seconds, unit, iterations, gap, selected = map(float, words)
    return {
        "work": work,
        "n": n,
        "p": p,
        "kernel": kernel,
        "neighbours": "all" if k is None else k,
        "seconds": f"{seconds:.2f}",
        "E_seconds": f"{unit:.3f}",
        "in_E": f"{seconds / unit:.2f}",
        "peak_gib": f"{peak:.3f}",
        "imports_gib": f"{base:.3f}",
        "table_gib": f"{8 * n * p / 2**30:.3f}",
        "dense_weights_gib": f"{8 * n * n / 2**30:.3f}",
        "iterations": int(iterations),
        "relative_gap": f"{gap:.1e}",
        "selected": int(selected),
    }


def scaling(n: int, p: int, k: int, repeats: int, size: int = SIZE) -> Row:
    """Time in E of the gradients with k neighbours and the linear kernel, median over seeds."""
    times, iterations = [], []
    with threadpool_limits(1):
        for seed in range(repeats):
            found: list[tuple[int, float, int]] = []
            X, y = wide_table(n, p, seed)
            times.append(timed(lambda: found.append(solve(X, y, "linear", k)), size))  # noqa: B023
            iterations.append(found[0][0])
    seconds, unit = np.median(times, axis=0)
    return {
        "n": n,
        "p": p,
        "neighbours": k,
        "seeds": repeats,
        "seconds": f"{seconds:.4g}",
        "E_seconds": f"{unit:.4g}",
        "in_E": f"{seconds / unit:.4g}",
        "iterations": int(np.median(iterations)),
    }


def exponent(rows: list[Row], over: str) -> float:
    """Slope of log time against log ``over``, by least squares."""
    x = np.log([float(str(row[over])) for row in rows])
    t = np.log([float(str(row["in_E"])) for row in rows])
    return float(np.polyfit(x, t, 1)[0])
