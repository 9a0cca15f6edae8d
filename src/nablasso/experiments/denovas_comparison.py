"""Rosasco et al. (2013), section 6.3: next to other methods, on functions and on real tables.

Figures 2 and 9: 100 training, 100 validation and 1000 test rows, x uniform on [-2, 2]^d, SNR 15, y
in units of the noise. Figures 10 and 11: 150 training and 150 validation rows (60 of breast
cancer), all others for the test; columns with the training rows' means and deviations; Gaussian
width the mean distance to the 20th neighbour. The real targets: the time of breast cancer, and for
image segmentation the number of the class in alphabetical order (the paper does not say how it
coded seven classes). Columns with missing values are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from nablasso.datasets import (
    KnownSupport,
    RealTable,
    load_table,
    make_additive,
    make_radial,
    make_three_way,
    make_two_way,
)
from nablasso.experiments.denovas import DEFAULT, Done, Method, Row, divided, judged
from nablasso.experiments.denovas_rivals import (
    default,
    hierarchical_kernels,
    lasso_on_monomials,
    multiple_kernels,
)
from nablasso.experiments.two_steps import Chosen, Rows, denovas, plain_ridge, width_of
from nablasso.kernels import Gaussian, Kernel, Polynomial
from nablasso.progress import track

TRAIN, TEST = 100, 1000
TABLES = (
    "boston",
    "house_16H",
    "delta_ailerons",
    "stock",
    "segment",
    "pole",
    "wpbc_time",
)
FEW = {"wpbc_time": 60}  # training rows, and as many for validation
REAL_TRAIN, REAL_TEST = 150, 5000
KEY_9 = ("problem", "draw", "method")
KEY_10 = ("data", "split", "method")
KERNELS_11 = ("p = 1", "p = 2", "p = 3", "p = 4", "Gaussian")


class Posed(NamedTuple):
    """A function of figure 9 with the kernel of the paper's method and the others' degrees."""

    make: Callable[..., KnownSupport]
    d: int
    kernel: Kernel
    width: float
    degree: int  # of MKL and HKL
    lasso_degree: int


PROBLEMS = {
    "additive": Posed(make_additive, 40, Polynomial(2), 1.0, 2, 2),
    "2-way": Posed(make_two_way, 40, Polynomial(2), 1.0, 2, 2),
    "3-way": Posed(make_three_way, 40, Polynomial(6), 1.0, 6, 3),
    "radial": Posed(make_radial, 20, Gaussian(), 2.0, 4, 4),
}


def methods_9(posed: Posed) -> dict[str, Method]:
    """The paper's method, those it compares with, and the default."""
    return {
        "paper": lambda rows, _: denovas(rows, posed.kernel, posed.width),
        "MKL": lambda rows, _: multiple_kernels(rows, posed.degree),
        "lasso on monomials": lambda rows, _: lasso_on_monomials(rows, posed.lasso_degree),
        "HKL": lambda rows, _: hierarchical_kernels(rows, posed.degree),
        "RLS": lambda rows, _: plain_ridge(rows, posed.kernel, posed.width),
        DEFAULT: default,
    }


def figure_9(
    repeats: int = 20,
    seed: int = 0,
    problems: Sequence[str] = tuple(PROBLEMS),
    only: Sequence[str] = (),
    done: Done = (),
) -> Iterator[Row]:
    """Figures 2 and 9: four functions; one row per function, repeat and method."""
    plan = [
        (name, draw, method)
        for draw in range(seed, seed + repeats)
        for name in problems
        for method in only or methods_9(PROBLEMS[name])
    ]
    todo = [task for task in plan if tuple(map(str, task)) not in done]
    for name, draw, method in track(todo, len(todo), "figure 9"):
        posed = PROBLEMS[name]
        data = posed.make(2 * TRAIN + TEST, posed.d, random_state=draw)
        row: Row = dict(zip(KEY_9, (name, draw, method), strict=True))
        yield row | judged(data, TRAIN, methods_9(posed)[method], draw)


def figure_2(seed: int = 0, only: Sequence[str] = ()) -> Iterator[Row]:
    """Figure 2: predictions of the radial function at 500 test rows of one draw."""
    posed = PROBLEMS["radial"]
    data = posed.make(2 * TRAIN + 500, posed.d, random_state=seed)
    rows = divided(data, TRAIN)
    truth = data.noise_free[2 * TRAIN :] / data.noise_sd
    methods = methods_9(posed)
    values = {"truth": truth, "rows": rows.y_test}
    for name in only or tuple(methods):
        values[name] = methods[name](rows, seed).predict(rows.X_test)
    for name, column in values.items():
        for x, value in zip(rows.X_test, column, strict=True):
            yield {
                "method": name,
                "x1": round(float(x[0]), 4),
                "x2": round(float(x[1]), 4),
                "value": round(float(value), 4),
            }


# ------------------------------------------------------------------------------------ real tables


def methods_10() -> dict[str, Method]:
    """The paper's method, those it compares with, and the default."""
    return {
        "paper": partial(_gaussian, fit=denovas),
        "MKL": lambda rows, _: multiple_kernels(rows, 3),
        "lasso on monomials": lambda rows, _: lasso_on_monomials(rows, 3),
        "HKL": lambda rows, _: hierarchical_kernels(rows, 3),
        "HKL hermite": lambda rows, _: hierarchical_kernels(rows, 3, "hermite"),
        "RLS": partial(_gaussian, fit=plain_ridge),
        DEFAULT: default,
    }


def methods_11() -> dict[str, Method]:
    """The paper's method with five kernels, and the default."""
    table: dict[str, Method] = {
        f"p = {p}": partial(_with_kernel, kernel=Polynomial(p)) for p in (1, 2, 3, 4)
    }
    return table | {"Gaussian": partial(_gaussian, fit=denovas), DEFAULT: default}


def _with_kernel(rows: Rows, split: int, kernel: Kernel) -> Chosen:  # noqa: ARG001 one signature
    return denovas(rows, kernel)


def _gaussian(rows: Rows, split: int, fit: Callable[..., Chosen]) -> Chosen:  # noqa: ARG001
    kernel = Gaussian()
    return fit(rows, kernel, width_of(rows, kernel, "neighbour20"))


def figure_10(
    splits: int = 10,
    seed: int = 0,
    tables: Sequence[str] = TABLES,
    only: Sequence[str] = (),
    done: Done = (),
) -> Iterator[Row]:
    """Figure 10: real tables; one row per table, split and method."""
    methods = methods_10()
    yield from _on_tables(splits, seed, tables, {m: methods[m] for m in only or methods}, done)


def figure_11(
    splits: int = 10,
    seed: int = 0,
    tables: Sequence[str] = TABLES,
    only: Sequence[str] = (),
    done: Done = (),
) -> Iterator[Row]:
    """Figure 11: kernels of the paper's method on the real tables; the same splits."""
    methods = {name: fit for name, fit in methods_11().items() if name != DEFAULT}
    yield from _on_tables(splits, seed, tables, {m: methods[m] for m in only or methods}, done)


def _on_tables(
    splits: int, seed: int, tables: Sequence[str], methods: dict[str, Method], done: Done
) -> Iterator[Row]:
    plan = [
        (name, split, method)
        for split in range(seed, seed + splits)
        for name in tables
        for method in methods
    ]
    todo = [task for task in plan if tuple(map(str, task)) not in done]
    loaded = {name: load_table(name) for name in dict.fromkeys(task[0] for task in todo)}
    for name, split, method in track(todo, len(todo), "real tables"):
        table = loaded[name]
        n = FEW.get(name, REAL_TRAIN)
        row: Row = dict(zip(KEY_10, (name, split, method), strict=True))
        yield row | judged_table(split_table(table, split, n), methods[method], split)


def split_table(
    table: RealTable, split: int, n: int, n_validation: int | None = None, n_test: int = REAL_TEST
) -> Rows:
    """A split by a permutation that depends on its number and the table's length alone."""
    X = table.X[:, ~np.isnan(table.X).any(axis=0)]
    y = table.y
    if y.dtype.kind not in "fiu":
        y = np.unique(y, return_inverse=True)[1]
    y = y.astype(np.float64)
    m = n + (n if n_validation is None else n_validation)
    order = np.random.default_rng([2013, split]).permutation(len(y))
    a, b, c = order[:n], order[n:m], order[m : m + n_test]
    return Rows(X[a], y[a], X[b], y[b], X[c], y[c]).scaled()


def judged_table(rows: Rows, method: Method, split: int, **more: Any) -> Row:
    """RMSE, that over the deviation of y, columns and seconds."""
    start = time.process_time()
    chosen = method(rows, split)
    seconds = time.process_time() - start
    error = float(np.sqrt(np.mean((chosen.predict(rows.X_test) - rows.y_test) ** 2)))
    d = rows.X.shape[1]
    return {
        **more,
        "rmse": f"{error:.6g}",
        "rmse_over_sd": round(error / float(rows.y_test.std()), 5),
        "n_selected": int(chosen.support.sum()),
        "fraction": round(float(chosen.support.sum()) / d, 4),
        "selected": " ".join(str(a + 1) for a in np.flatnonzero(chosen.support)),
        "seconds": round(seconds, 3),
    }
