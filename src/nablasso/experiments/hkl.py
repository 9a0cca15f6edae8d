r"""Bach (2009), section 6: hierarchical kernel learning against what selects from the same kernels.

Affordable form of the paper's protocol: one loop of five folds for alpha and beta instead of two
loops of ten. Rows come one by one, draws outermost, so that an interrupted run has seen every
setting; rows whose key is in ``done`` are not computed again.

An error is ``mean (prediction - y)^2 / var(y)`` on test rows. In figure 8 the noiseless f is
known: ``relative_error`` is ``mean (prediction - f)^2 / var(f)``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nablasso.datasets import load_pumadyn, make_pairwise
from nablasso.estimators import (
    HierarchicalKernelRegressorCV,
    MultipleKernelRegressorCV,
    NablassoRegressor,
)
from nablasso.experiments.hkl_rivals import (
    Fitted,
    Levels,
    boosting,
    gaussian_process,
    generalised_lasso,
    greedy,
    single_kernel,
    tree,
)
from nablasso.hierarchy import as_decomposition
from nablasso.progress import track

Array = NDArray[np.float64]
Row = dict[str, Any]
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
AUTOMATIC = "NablassoRegressor"

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # counted: the row says if certified
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the status is kept
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
        AUTOMATIC: automatic,
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
        AUTOMATIC: automatic,
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
