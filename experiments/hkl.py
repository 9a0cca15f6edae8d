r"""Bach (2009), section 6: hierarchical kernel learning against what selects from the same kernels.

Affordable form of the paper's protocol: one loop of five folds for alpha and beta instead of two
loops of ten. Rows come one by one, draws outermost, so that an interrupted run has seen every
setting; rows whose key is in ``done`` are not computed again.

An error is ``mean (prediction - y)^2 / var(y)`` on test rows. In figure 8 the noiseless f is
known: ``relative_error`` is ``mean (prediction - f)^2 / var(f)``.

Rules that choose a hull, on problems that none of them was made for.

Seven problems of known variables, sd(f) / sd(noise) = 2, one of them without any signal. Where the
function is a short sum of products its hull is known too. One row per problem, draw and rule.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.selection.contestants.mars import NativeMars
from experiments.rivals import (
    Fitted,
    Levels,
    boosting,
    gaussian_process,
    generalised_lasso,
    greedy,
    mars,
    single_kernel,
    tree,
)
from experiments.running import DEFAULT, Row
from nablasso.datasets import load_pumadyn, make_pairwise
from nablasso.estimators import (
    HierarchicalKernelRegressorCV,
    MultipleKernelRegressorCV,
    NablassoRegressor,
)
from nablasso.hierarchy import as_decomposition
from nablasso.progress import track

Array = NDArray[np.float64]
Fit = Callable[[Array, Array, int], Fitted]  # standardised rows, outputs, seed

DIMENSIONS = (8, 16, 32, 64, 128)
TEST_ROWS = 1000
SNR = 3.0  # sd(f) / sd(noise); the paper does not say its own
PUMADYN = ("8fh", "8nh", "32fh", "32nh")
PUMADYN_ROWS = 1024
SPLINE_RANK = 20  # of a node at n = 1024, where splines have a knot per row
BETAS = (1.2, 6.0)
BETAS_PRUNED = (1.2, 2.5)
ALPHAS = 12
ALPHAS_PRUNED = 30  # the estimator's default: without folds they are cheap
MOST_KERNELS = 100

KEY_8 = ("n", "p", "draw", "method")
KEY_9 = ("data", "split", "method")


class Table(NamedTuple):
    """Training rows and test rows; f is the noiseless output of the test rows where known."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    f_test: Array | None = None


# ------------------------------------------------------------------------------------- methods


def hierarchical(
    decomposition: str,
    *,
    debias: bool,
    betas: Sequence[float] = BETAS,
    rank: int | None = None,
    rule: str = "min",
    alphas: int = ALPHAS,
) -> Fit:
    """HKL: alpha and beta by five folds, or with the rule "ebic" the best pruned hull of all.

    ``debias`` refits on what was selected.
    """

    def fit(Z: Array, y: Array, seed: int) -> Fitted:
        model = HierarchicalKernelRegressorCV(
            decomposition=decomposition,
            debias=debias,
            betas=betas,
            rank=rank,
            alphas=alphas,
            max_kernels=MOST_KERNELS,
            cv=5,
            selection_rule=rule,
            prune=rule == "ebic",
            random_state=seed,
        )
        return _fitted(model, Z, y)

    return fit


def multiple(decomposition: str, *, debias: bool = False) -> Fit:
    """MKL: nodes of depth one, a sparse additive model."""

    def fit(Z: Array, y: Array, seed: int) -> Fitted:
        model = MultipleKernelRegressorCV(
            decomposition=decomposition,
            debias=debias,
            alphas=ALPHAS,
            max_kernels=MOST_KERNELS,
            cv=5,
            selection_rule="min",
            prune=False,
            random_state=seed,
        )
        return _fitted(model, Z, y)

    return fit


def _fitted(model: Any, Z: Array, y: Array) -> Fitted:
    model.fit(Z, y)
    columns = tuple(int(a) for a in np.flatnonzero(model.support_))
    beta = model.best_params_.get("beta", "")
    detail = (
        f"alpha/max={model.alpha_ / model.alpha_max_:.3g} beta={beta} nodes={model.n_kernels_} "
        f"certified={bool(model.certified_)}"
    )
    return Fitted(model.predict, columns, detail)


def automatic(Z: Array, y: Array, seed: int) -> Fitted:
    """The library's one call, which knows nothing of these kernels."""
    model = NablassoRegressor(random_state=seed)
    model.fit(Z, y)
    columns = tuple(int(a) for a in np.flatnonzero(model.support_))
    return Fitted(model.predict, columns, model.selection_status_)


def level_kernels(decomposition: str) -> Levels:
    """The kernels of every level of one variable, as the library decomposes them."""
    parts = as_decomposition(decomposition)

    def levels(_: int, new: Array, old: Array) -> Sequence[Array]:
        return [parts.kernel(new, old, j) for j in range(parts.n_levels())]

    return levels


def _l2(decomposition: str) -> Fit:
    return lambda Z, y, _: single_kernel(level_kernels(decomposition), Z, y)


def _generalised_lasso(decomposition: str) -> Fit:
    return lambda Z, y, seed: generalised_lasso(level_kernels(decomposition), Z, y, seed)


def methods_8() -> dict[str, Fit]:
    """Figure 8: HKL and its rivals on Hermite and spline kernels, then trees and the process."""
    table: dict[str, Fit] = {}
    for kernel in ("hermite", "spline"):
        table |= {
            f"HKL {kernel}": hierarchical(kernel, debias=False),
            f"HKL {kernel} + refit": hierarchical(kernel, debias=True),
            f"HKL {kernel} + pruning": hierarchical(
                kernel, debias=True, betas=BETAS_PRUNED, rule="ebic", alphas=ALPHAS_PRUNED
            ),
            f"MKL {kernel}": multiple(kernel),
            f"L2 {kernel}": _l2(kernel),
            f"generalised lasso {kernel}": _generalised_lasso(kernel),
        }
    return table | {
        "greedy hermite": greedy,
        "CART": tree,
        "boosting": boosting,
        "Gaussian process": gaussian_process,
        DEFAULT: automatic,
    }


def methods_9() -> dict[str, Fit]:
    """Figure 9: HKL with both kernels, what uses the same ones, and what does not."""
    return {
        "HKL hermite": hierarchical("hermite", debias=False),
        "HKL hermite + refit": hierarchical("hermite", debias=True),
        "HKL hermite + pruning": hierarchical("hermite", debias=True, rule="ebic"),
        "HKL spline + refit": hierarchical("spline", debias=True, rank=SPLINE_RANK),
        "MKL hermite": multiple("hermite"),
        "L2 hermite": _l2("hermite"),
        "L2 spline": _l2("spline"),
        "greedy hermite": greedy,
        "boosting": boosting,
        "Gaussian process": gaussian_process,
        **({} if NativeMars().missing() else {"MARS": mars}),
        DEFAULT: automatic,
    }


# ------------------------------------------------------------------------------------- figures


def figure_8(
    repeats: int = 10,
    seed: int = 0,
    dimensions: Sequence[int] = DIMENSIONS,
    n_samples: Sequence[int] = (100,),
    methods: Mapping[str, Fit] | None = None,
    done: Collection[tuple[str, ...]] = (),
) -> Iterator[Row]:
    """Test error against p; f = sum of x_i x_j over i < j <= 4, correlated normal inputs.

    The covariance is drawn anew for every draw. One row per n, p, draw and method.
    """
    fits = methods_8() if methods is None else methods
    plan = [
        (n, p, draw, name)
        for n in n_samples
        for draw in range(seed, seed + repeats)
        for p in dimensions
        for name in fits
    ]
    todo = [task for task in plan if tuple(map(str, task)) not in done]
    for n, p, draw, name in track(todo, len(todo), "figure 8"):
        data = make_pairwise(
            n + TEST_ROWS, p, snr=SNR, design_state=draw, random_state=100_000 + draw
        )
        table = Table(data.X[:n], data.y[:n], data.X[n:], data.y[n:], data.noise_free[n:])
        row: Row = dict(zip(KEY_8, (n, p, draw, name), strict=True))
        yield row | judged(fits[name], table, draw, np.flatnonzero(data.support))


def figure_9(
    splits: int = 3,
    seed: int = 0,
    data: Sequence[str] = PUMADYN,
    n_samples: int = PUMADYN_ROWS,
    methods: Mapping[str, Fit] | None = None,
    done: Collection[tuple[str, ...]] = (),
) -> Iterator[Row]:
    """Test error on pumadyn, 1024 training rows, all others for the test.

    One row per table, split and method.
    """
    fits = methods_9() if methods is None else methods
    plan = [
        (name, split, method)
        for split in range(seed, seed + splits)
        for name in data
        for method in fits
    ]
    todo = [task for task in plan if tuple(map(str, task)) not in done]
    for name, split, method in track(todo, len(todo), "figure 9"):
        table = pumadyn(name, split, n_samples)
        row: Row = dict(zip(KEY_9, (name, split, method), strict=True))
        yield row | judged(fits[method], table, split)


def pumadyn(variant: str, split: int, n_samples: int = PUMADYN_ROWS) -> Table:
    """A split by a permutation that depends on its number alone."""
    rows = load_pumadyn(variant)
    order = np.random.default_rng([32, split]).permutation(len(rows.y))
    train, test = order[:n_samples], order[n_samples:]
    return Table(rows.X[train], rows.y[train], rows.X[test], rows.y[test])


def judged(fit: Fit, table: Table, seed: int, relevant: NDArray[np.intp] | None = None) -> Row:
    """Fit on standardised training rows; errors on the test rows, columns used, seconds."""
    centre, scale = table.X.mean(axis=0), table.X.std(axis=0)
    start = time.perf_counter()
    fitted = fit((table.X - centre) / scale, table.y, seed)
    seconds = time.perf_counter() - start
    predicted = fitted.predict((table.X_test - centre) / scale)
    error = np.mean((predicted - table.y_test) ** 2) / np.var(table.y_test)
    row: Row = {"error": f"{error:.6f}"}
    if table.f_test is not None:
        gap = np.mean((predicted - table.f_test) ** 2) / np.var(table.f_test)
        row["relative_error"] = f"{gap:.6f}"
    columns = fitted.columns
    row["n_selected"] = table.X.shape[1] if columns is None else len(columns)
    if relevant is not None:
        row["exact"] = columns is not None and set(columns) == set(relevant.tolist())
    else:
        row["columns"] = "" if columns is None else " ".join(map(str, columns))
    return row | {"seconds": f"{seconds:.3g}", "detail": fitted.detail}


Node = tuple[tuple[int, int], ...]

RULES_TEST = 2000
RULES_SNR = 2.0
KEY_RULES = ("problem", "draw", "rule")
RULES: dict[str, dict[str, Any]] = {
    "ebic": {"selection_rule": "ebic"},
    "1se, pruned": {"selection_rule": "1se", "prune": True},
    "1se": {"selection_rule": "1se", "prune": False},
}


class Posed(NamedTuple):
    """Inputs, noiseless output, relevant columns, and the true hull where there is one."""

    X: Array
    f: Array
    columns: set[int]
    hull: set[Node] | None


def _pair(a: int, b: int) -> set[Node]:
    return {(), ((a, 1),), ((b, 1),), ((a, 1), (b, 1))}


def additive(rng: np.random.Generator, n: int) -> Posed:
    """Six variables, one function each."""
    X = rng.normal(size=(n, 30))
    f = np.sin(2 * X[:, 0]) + X[:, 3] ** 2 / 1.4 + 1.3 * np.abs(X[:, 5]) + X[:, 9]
    f += np.exp(X[:, 12] / 2) + np.tanh(2 * X[:, 20])
    return Posed(X, f, {0, 3, 5, 9, 12, 20}, None)


def three_way(rng: np.random.Generator, n: int) -> Posed:
    """Three variables and their product, without products of two."""
    X = rng.normal(size=(n, 12))
    f = X[:, 0] + X[:, 4] + X[:, 7] + X[:, 0] * X[:, 4] * X[:, 7]
    hull = _pair(0, 4) | _pair(0, 7) | _pair(4, 7) | {((0, 1), (4, 1), (7, 1))}
    return Posed(X, f, {0, 4, 7}, hull)


def noise(rng: np.random.Generator, n: int) -> Posed:
    """Nothing to find."""
    return Posed(rng.normal(size=(n, 20)), np.zeros(n), set(), {()})


def correlated(rng: np.random.Generator, n: int) -> Posed:
    """Neighbouring columns have correlation 0.7."""
    X = rng.normal(size=(n, 20))
    for a in range(1, 20):
        X[:, a] = 0.7 * X[:, a - 1] + np.sqrt(1 - 0.49) * X[:, a]
    return Posed(X, X[:, 0] + X[:, 2] + X[:, 0] * X[:, 2], {0, 2}, _pair(0, 2))


def binary(rng: np.random.Generator, n: int) -> Posed:
    """Columns of zeros and ones."""
    X = rng.integers(0, 2, size=(n, 20)).astype(float)
    return Posed(X, X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1], {0, 1}, _pair(0, 1))


def few_rows(rng: np.random.Generator, n: int) -> Posed:
    """Ten bounded columns."""
    X = rng.uniform(-1.7, 1.7, size=(n, 10))
    return Posed(X, X[:, 0] + X[:, 1] + X[:, 0] * X[:, 1], {0, 1}, _pair(0, 1))


def oscillating(rng: np.random.Generator, n: int) -> Posed:
    """Smooth, but not short in products of polynomials."""
    X = rng.uniform(-1.7, 1.7, size=(n, 8))
    return Posed(X, np.sin(3 * X[:, 0] * X[:, 1]) + np.cos(2 * X[:, 2]), {0, 1, 2}, None)


PROBLEMS: dict[str, tuple[Callable[[np.random.Generator, int], Posed], int]] = {
    "additive": (additive, 150),
    "three_way": (three_way, 200),
    "noise": (noise, 100),
    "correlated": (correlated, 150),
    "binary": (binary, 150),
    "few_rows": (few_rows, 60),
    "oscillating": (oscillating, 200),
}


def rules(
    repeats: int = 10,
    seed: int = 5100,
    problems: Sequence[str] = tuple(PROBLEMS),
    n_alphas: int = 10,
    fits: Mapping[str, dict[str, Any]] | None = None,
    done: Collection[tuple[str, ...]] = (),
) -> Iterator[Row]:
    """Variables and hull selected, and the error against the noiseless function."""
    settings = RULES if fits is None else fits
    plan = [(p, d, r) for d in range(seed, seed + repeats) for p in problems for r in settings]
    todo = [task for task in plan if tuple(map(str, task)) not in done]
    for name, draw, rule in track(todo, len(todo), "rules"):
        make, n = PROBLEMS[name]
        rng = np.random.default_rng([77, draw])
        posed = make(rng, n + RULES_TEST)
        spread = float(posed.f.std())
        y = posed.f[:n] + (spread / RULES_SNR or 1.0) * rng.normal(size=n)
        model = HierarchicalKernelRegressorCV(
            alphas=n_alphas, betas=(1.2, 2.5), random_state=draw, **settings[rule]
        )
        model.fit(posed.X[:n], y)
        found = set(np.flatnonzero(model.support_).tolist())
        error = np.mean((model.predict(posed.X[n:]) - posed.f[n:]) ** 2) / (spread**2 or 1.0)
        yield {
            **dict(zip(KEY_RULES, (name, draw, rule), strict=True)),
            "too_many": len(found - posed.columns),
            "too_few": len(posed.columns - found),
            "hull_exact": "" if posed.hull is None else set(model.hull_) == posed.hull,
            "relative_error": f"{error:.6f}",
            "certified": bool(model.certified_),
        }
