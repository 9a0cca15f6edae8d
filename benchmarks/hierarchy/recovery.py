"""Is the hull found among 4^256 kernels, with which certificate, in what time and memory?

One path per setting: 16 alphas from alpha_max down to 1 %, Hermite kernels of degree 3. Stored at
every alpha: size of the hull, nodes too many and too few, the gap of the full problem over all
kernels relative to the objective at f = 0, and whether it is a certificate (relative gap below
1e-3). Time is that of the whole path in units of E; memory is the peak of a process of its own.

A path of convex problems takes in noise before the last true node is complete, as the lasso does.
``pruned_*`` is the best of the path's hulls after :mod:`nablasso.hierarchy.refit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

import nablasso
from benchmarks.hierarchy.problem import Node, Problem, problem
from benchmarks.memory import peak_gib
from benchmarks.store import Row
from benchmarks.unit import timed
from nablasso import HierarchicalKernelRegressor, Path
from nablasso.hierarchy import Hermite
from nablasso.hierarchy.grid import Grid
from nablasso.hierarchy.refit import Pruner
from nablasso.losses import LossSample, Squared

ALPHAS = 16
SMALLEST = 1e-2
BUDGET_E = 40.0
BUDGET_GIB = 2.0
KEY = ("p", "n", "design", "product", "beta", "seed", "alpha_share")
COLUMNS = (
    *KEY,
    "hull",
    "too_many",
    "too_few",
    "variables_exact",
    "relative_gap",
    "certified",
    "rule",
    "path_seconds",
    "path_in_E",
    "pruned_too_many",
    "pruned_too_few",
)
MEMORY_KEY = ("p", "n", "design", "product", "beta", "seed")
MEMORY_COLUMNS = (*MEMORY_KEY, "peak_gib")


class Setting(NamedTuple):
    """One path."""

    p: int
    n: int
    design: str
    product: float
    beta: float
    seed: int


def settings(p: int, n: int, seeds: range) -> list[Setting]:
    """Bounded and normal inputs, products as large as the variables or twice, two betas."""
    return [
        Setting(p, n, design, product, beta, seed)
        for seed in seeds
        for product in (1.0, 2.0)
        for design in ("uniform", "normal")
        for beta in (1.2, 2.0)
    ]


def walked(setting: Setting) -> Path:
    """The path of one setting."""
    posed = problem(setting.n, setting.p, setting.seed, setting.design, product=setting.product)
    estimator = HierarchicalKernelRegressor(beta=setting.beta, degree=3, max_kernels=64)
    return nablasso.path(estimator, posed.X, posed.y, n_alphas=ALPHAS, eps=SMALLEST)


def best_pruned(posed: Problem, hulls: Iterable[list[Node]]) -> frozenset[Node]:
    """The pruned hull of smallest criterion."""
    n = len(posed.y)
    Z = (posed.X - posed.X.mean(axis=0)) / posed.X.std(axis=0)
    weights = np.full(n, 1 / n)
    sample = LossSample(posed.y - posed.y.mean(), weights, Squared())
    pruner = Pruner(Grid(Z, weights, Hermite(3)), sample, n)
    pruned = min(map(pruner.prune, hulls), key=lambda each: each.criterion)
    return frozenset(pruned.hull)  # type: ignore[arg-type]


def rows(setting: Setting, size: int) -> Iterator[Row]:
    """One row per alpha."""
    posed = problem(setting.n, setting.p, setting.seed, setting.design, product=setting.product)
    paths: list[Path] = []
    seconds, unit = timed(lambda: paths.append(walked(setting)), size)
    (path,) = paths
    null = float(np.var(posed.y))
    kept = best_pruned(posed, path.hulls)
    for k, alpha in enumerate(path.alphas):
        hull = frozenset(path.hulls[k])
        yield {
            **setting._asdict(),
            "alpha_share": f"{alpha / path.alpha_max:.4g}",
            "hull": len(hull),
            "too_many": len(hull - posed.hull),
            "too_few": len(posed.hull - hull),
            "variables_exact": set(np.flatnonzero(path.support[k]).tolist()) == set(posed.columns),
            "relative_gap": f"{path.dual_gaps[k] / null:.3g}",
            "certified": bool(path.certified[k]),
            "rule": path.rules[k],
            "path_seconds": f"{seconds:.3g}",
            "path_in_E": f"{seconds / unit:.3g}",
            "pruned_too_many": len(kept - posed.hull),
            "pruned_too_few": len(posed.hull - kept),
        }


def memory(setting: Setting) -> Row:
    """Peak of a process that walks the path, interpreter and imports included."""
    script = (
        "from benchmarks.hierarchy.recovery import Setting, walked\n"
        f"walked(Setting(*{tuple(setting)!r}))\n"
    )
    peak, _ = peak_gib(script)
    return {**setting._asdict(), "peak_gib": f"{peak:.3f}"}
