"""Gregorova et al. (2018): group lasso and elastic net on derivatives.

**E1 to E3** (tables 1 and 2, figure 1): n training rows, 1000 for validation and 1000 for the test,
outputs centred by the training rows (said of the real tables only, whose protocol is "similar"; on
E3 it decides: of uncentred outputs nearly all columns are selected). Methods take the paper's two
steps (:mod:`experiments.two_steps`): "NVSD(L)" and its kin with the paper's grid of 50 tau and one
nu per problem, fixed on draws 7001 to 7003 (``NU``); "light nu" ones of E2 the same with the nu
that serves the elastic net best (``NU_LIGHT``, :func:`fixed_nu`: validation errors of NVSD(EN) on
the same three draws; ``NU`` is so heavy that squares of derivatives count for nothing); "refined"
ones with a grid refined where it jumps and nu by validation. HSIC lasso and SpAM are written anew
(:mod:`experiments.rivals`), not the authors' code. The default call sees the training rows only,
and no groups.

**Real tables** (tables 3 and 4): 100 training rows, up to 1000 for validation and as many for the
test (a half each of what is left), columns normalised and outputs centred by the training rows.
Gaussian kernel of width the median distance to the 20 nearest neighbours; for energy the
polynomial of degree 3. nu by validation as in the refined grid, since the paper's is not known.

What the paper does not say: which 10 columns of boston and 17 of elevators it uses (all 13 and 18
here), and the units of elevators and kinematics (times 1000 and 10 here); energy is the heating
load. Table 4: airfoil, concrete and kinematics with a permuted copy of every column, originals and
copies being the two groups; cpu_act and elevators with groups of columns by how often NVSD(EN)
selects them, on splits that are not reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import nablasso
from experiments.denovas import Method, judged_table, loaded, split_table
from experiments.drawn import make_correlated_pairs, make_noisy_copies
from experiments.paper_admm import PaperAdmm
from experiments.printed import NARROW, OURS, PUBLISHED, ROWS, TABLE_3, TABLE_4, Table
from experiments.rivals import default, hsic_lasso, sparse_additive
from experiments.running import DEFAULT, Done, Row, missing
from experiments.two_steps import (
    DENOVAS_SETTINGS,
    PAPER_SETTINGS,
    REFINED_SETTINGS,
    RIDGE_SETTINGS,
    Chosen,
    MakePenalty,
    Rows,
    Solves,
    denovas,
    elastic_net,
    family_of,
    group_lasso,
    largest_tau,
    lasso,
    nvsd,
    nvsd_refined,
    plain_ridge,
    width_of,
)
from nablasso.datasets import KnownSupport, make_cubic_groups
from nablasso.estimators import DerivativeLasso
from nablasso.kernels import Gaussian, Kernel, Polynomial
from nablasso.problems import SquaredProblem
from nablasso.progress import track
from nablasso.solvers import Denovas, DualSolver, irrelevant, support_of

Labels = NDArray[np.intp]
TwoSteps = Callable[[Rows, Kernel, float], Chosen]

HELD_OUT = 1000  # rows for validation, and as many for the test
REFINED, LIGHT = ", refined", ", light nu"


PROBLEMS = {
    "E1": make_cubic_groups,
    "E2": make_correlated_pairs,
    "E3": make_noisy_copies,
    NARROW: make_noisy_copies,
}
KERNELS: dict[str, tuple[Kernel, float]] = {  # with their widths, inputs as they are
    "E1": (Polynomial(3), 1.0),
    "E2": (Polynomial(3), 1.0),
    "E3": (Gaussian(), 4.0),
    NARROW: (Gaussian(), float(np.sqrt(2))),
}
NU = {"E1": 100.0, "E2": 100.0, "E3": 100.0, NARROW: 100.0}  # over the trace of the kernel
NU_LIGHT = {"E2": 1e-4}  # chosen by fixed_nu among SCAN
SCAN = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 100.0)
SCAN_DRAWS, SCAN_ROWS = 7001, (30, 50)
TRIPLES = np.repeat(np.arange(6), 3)  # the groups that NVSD(GL) is told
RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the elastic net
SHARES_TOLERANCE, UNITS = (1.0, 100.0), ("1e-5 of zero's", "1e-7 of the gain")
KEY = ("problem", "n", "draw", "method")

PAIRS = ((0, 1), (2, 3))  # the relevant ones; columns 4 and 5 are twins that do not matter
FRACTIONS = (0.5, 0.3, 0.1)  # of alpha_max
TWINS: Row = {"kernel": "polynomial", "ridge": 0.01, "tol": 1e-5}


def penalties_of(labels: Labels) -> dict[str, list[MakePenalty]]:
    """Penalties among which validation chooses, by the paper's name; ``labels`` for NVSD(GL)."""
    return {
        "NVSD(L)": [lasso],
        "NVSD(GL)": [group_lasso(labels)],
        "NVSD(EN)": [elastic_net(ratio) for ratio in RATIOS],
    }


def methods_by_name(labels: Labels, share: float | None) -> dict[str, TwoSteps]:
    """All methods; with ``share``, a nu over the kernel's trace, also those of the paper's grid."""
    table: dict[str, TwoSteps] = {"KRLS": plain_ridge, "HSIC": hsic_lasso, "SpAM": sparse_additive}
    for name, penalties in penalties_of(labels).items():
        if share is not None:
            table[name] = partial(nvsd, penalties=penalties, share=share)
        table[name + REFINED] = partial(nvsd_refined, penalties=penalties)
    return table | {"Denovas": denovas}


METHOD_SETTINGS: dict[str, Row] = {
    "KRLS": RIDGE_SETTINGS,
    "HSIC": {**RIDGE_SETTINGS, "form": "unit widths, exact path"},
    "Denovas": DENOVAS_SETTINGS,
    **{name: {**PAPER_SETTINGS, "NU": NU, "RATIOS": RATIOS} for name in OURS},
    **{name + REFINED: {**REFINED_SETTINGS, "RATIOS": RATIOS} for name in OURS},
    **{name + LIGHT: {**PAPER_SETTINGS, "NU": NU_LIGHT, "RATIOS": RATIOS} for name in OURS},
}


def names_of(problem: str) -> tuple[str, ...]:
    """What is run on a problem: all that is printed, the refined form of the paper's, ours."""
    printed = tuple(PUBLISHED[problem])
    own = tuple(name for name in printed if name in OURS)
    if problem == NARROW:  # a question about the kernel: for methods that have it
        return ("KRLS", *own)
    cheap = tuple(name for name in reversed(printed) if name not in OURS)
    light = tuple(name + LIGHT for name in own) if problem in NU_LIGHT else ()
    return (*cheap, *own, *light, *(name + REFINED for name in own), DEFAULT)


def protocol(
    repeats: int = 50,
    seed: int = 0,
    problems: Sequence[str] = tuple(PROBLEMS),
    n_train: Sequence[int] = ROWS,
    only: Sequence[str] = (),
    done: Done = (),
) -> Iterator[Row]:
    """Tables 1 and 2: one row per problem, n, repeat and method.

    The error is against y with its noise, as printed.
    """
    names = dict.fromkeys(name for problem in problems for name in names_of(problem))
    plan = {"problem": problems, "n": n_train, "method": only or names}

    def run(row: Row) -> bool:
        return row["method"] in names_of(row["problem"])

    for row in missing(KEY, done, run, draw=range(seed, seed + repeats), **plan):
        name, n, draw, method = row.values()
        data = PROBLEMS[name](n + 2 * HELD_OUT, random_state=draw)
        rows = split_rows(data, n).centred()
        if method == DEFAULT:
            chosen = default_on_training(rows, draw)
        else:
            share = NU_LIGHT[name] if method.endswith(LIGHT) else NU[name]
            fits = methods_by_name(TRIPLES, share)
            chosen = fits[method.removesuffix(LIGHT)](rows, *KERNELS[name])
        yield row | judged_support(chosen, rows, data)


def fixed_nu(
    repeats: int = 3,
    seed: int = SCAN_DRAWS,
    n_train: Sequence[int] = SCAN_ROWS,
    shares: Sequence[float] = SCAN,
    done: Done = (),
) -> Iterator[Row]:
    """Which nu serves NVSD(EN) on E2: its validation error on three draws that no table has.

    One row per n, repeat and nu, in units of the kernel's trace.
    """
    ways = {f"nu {share:g}": share for share in shares}
    draws = range(seed, seed + repeats)
    for row in missing(KEY, done, draw=draws, problem=NU_LIGHT, n=n_train, method=ways):
        name, n, draw, method = row.values()
        data = PROBLEMS[name](n + 2 * HELD_OUT, random_state=draw)
        rows = split_rows(data, n).centred()
        penalties = penalties_of(TRIPLES)["NVSD(EN)"]
        chosen = nvsd(rows, *KERNELS[name], penalties, ways[method])
        error = chosen.predict(rows.X_validation) - rows.y_validation
        validation = {"validation_rmse": round(float(np.sqrt(np.mean(error**2))), 5)}
        yield row | validation | judged_support(chosen, rows, data)


def judged_support(chosen: Chosen, rows: Rows, data: KnownSupport) -> Row:
    """Error on the test rows, and the Tanimoto distance of the columns to the true ones."""
    true, support = data.support, chosen.support
    error = chosen.predict(rows.X_test) - rows.y_test
    return {
        "rmse": round(float(np.sqrt(np.mean(error**2))), 5),
        "tanimoto": round(float(1 - np.sum(support & true) / np.sum(support | true)), 4),
        "n_selected": int(support.sum()),
        **chosen.record,
    }


def tolerance(
    repeats: int = 5, seed: int = 0, n_train: Sequence[int] = (50, 90), done: Done = ()
) -> Iterator[Row]:
    """How far one must solve: NVSD(L) with the paper's grid, two nu and two gaps.

    The gap is 1e-5 of the objective of zero, or 1e-7 of what there is to gain over it. Under a
    heavy nu that is little, so the first leaves the support open, and what validation chooses from
    such a path is not what it chooses from the path of minimisers.
    """
    problems, draws = ("E1", "E2", "E3"), range(seed, seed + repeats)
    ways = [f"nu {share:g}, gap {unit}" for share in SHARES_TOLERANCE for unit in UNITS]
    for row in missing(KEY, done, draw=draws, problem=problems, n=n_train, method=ways):
        name, n, draw, method = row.values()
        share, of_gain = float(method.split()[1].strip(",")), method.endswith(UNITS[1])
        data = PROBLEMS[name](n + 2 * HELD_OUT, random_state=draw)
        rows = split_rows(data, n).centred()
        chosen = nvsd(rows, *KERNELS[name], [lasso], share, of_gain=of_gain)
        yield row | judged_support(chosen, rows, data)


def split_rows(data: KnownSupport, n: int) -> Rows:
    """The first n rows train, the next 1000 validate, the others test."""
    parts = (np.split(part, [n, n + HELD_OUT]) for part in (data.X, data.y))
    return Rows(*(part for pair in zip(*parts, strict=True) for part in pair))


def default_on_training(rows: Rows, draw: int) -> Chosen:
    """The default call on the training rows."""
    return default(replace(rows, X_validation=rows.X[:0], y_validation=rows.y[:0]), draw)


def twins(repeats: int = 20, seed: int = 0) -> list[Row]:
    """How often correlated twins are kept together, by the lasso and by the elastic net.

    Three pairs (a, a'), (b, b'), (c, c') of correlation 0.95, y = a b + a + noise, n = 40,
    polynomial kernel of degree 2. At the same fractions of each estimator's alpha_max: the number
    of the two relevant pairs that are selected whole, and of selected variables. One row per
    repeat, estimator and fraction.
    """
    estimators = {
        "lasso": DerivativeLasso(**TWINS),
        "elastic net": DerivativeLasso(l1_ratio=0.3, **TWINS),
    }
    rows: list[Row] = []
    for draw in track(range(seed, seed + repeats), repeats, "twins"):
        X, y = _twin_table(draw)
        for name, estimator in estimators.items():
            top = nablasso.path(estimator, X, y, n_alphas=1).alpha_max
            alphas = top * np.array(FRACTIONS)
            path = nablasso.path(estimator, X, y, alphas=alphas)
            for fraction, support in zip(FRACTIONS, path.support, strict=True):
                rows.append(
                    {
                        "draw": draw,
                        "estimator": name,
                        "fraction": fraction,
                        "pairs_whole": sum(bool(support[a] and support[b]) for a, b in PAIRS),
                        "n_selected": int(support.sum()),
                    }
                )
    return rows


def _twin_table(seed: int, n_samples: int = 40) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(n_samples, 3))
    second = 0.95 * first + np.sqrt(1 - 0.95**2) * rng.normal(size=(n_samples, 3))
    X = np.stack([first, second], axis=2).reshape(n_samples, 6)
    a, b = X[:, 0], X[:, 2]
    return X, a * b + a + 0.1 * rng.normal(size=n_samples)


TRAIN, MOST = 100, 1000
KEY_REAL = ("data", "split", "method")
CHOSEN_ON = range(1000, 1010)  # splits whose frequencies make the groups of table 4


PERMUTED = ("AI", "CC", "KN")
FREQUENT = {"CP": 4, "EL": 5}  # groups by frequency; the first of CP has five columns


def _two_steps(rows: Rows, split: int, short: str, fit: TwoSteps) -> Chosen:  # noqa: ARG001
    kernel: Kernel = Polynomial(3) if short == "EN" else Gaussian()
    return fit(rows, kernel, width_of(rows, kernel, "median20"))


def _default(rows: Rows, split: int) -> Chosen:
    few = replace(
        rows, X_validation=rows.X_validation[:TRAIN], y_validation=rows.y_validation[:TRAIN]
    )
    return default(few, split)


def methods(short: str, labels: Labels | None = None) -> dict[str, Method]:
    """The paper's methods, nu by validation, and the default; with groups NVSD(GL) for NVSD(EN)."""
    fits = methods_by_name(np.empty(0, dtype=np.intp) if labels is None else labels, None)
    left_out = ("NVSD(GL)" if labels is None else "NVSD(EN)") + REFINED
    table: dict[str, Method] = {
        name.removesuffix(REFINED): partial(_two_steps, short=short, fit=fit)
        for name, fit in fits.items()
        if name != left_out
    }
    return table | {DEFAULT: _default}


REAL_SETTINGS: dict[str, Row] = {
    **{name: METHOD_SETTINGS[name] for name in ("KRLS", "HSIC", "Denovas")},
    **{name: METHOD_SETTINGS[name + REFINED] for name in OURS},
}


def drawn(table: Table, split: int) -> Rows:
    """Normalised rows, the output centred and in the paper's unit."""
    whole = loaded(table.name)
    rest = min(MOST, (len(whole.y) - TRAIN) // 2)
    rows = split_table(whole, split, TRAIN, rest, rest)
    return replace(
        rows,
        y=rows.y * table.unit,
        y_validation=rows.y_validation * table.unit,
        y_test=rows.y_test * table.unit,
    ).centred()


def with_copies(rows: Rows, split: int) -> Rows:
    """Every column followed by a copy in another order of the rows, for each set of rows apart."""
    rng = np.random.default_rng([2018, split])

    def doubled(X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.hstack([X, np.column_stack([rng.permutation(column) for column in X.T])])

    return replace(
        rows,
        X=doubled(rows.X),
        X_validation=doubled(rows.X_validation),
        X_test=doubled(rows.X_test),
    )


@cache
def frequency_groups(short: str) -> tuple[int, ...]:
    """A label per column: columns that NVSD(EN) selects about as often are one group."""
    table = TABLE_4[short]
    fit = methods(short)["NVSD(EN)"]
    counts = np.sum([fit(drawn(table, s), s).support for s in CHOSEN_ON], axis=0)
    order = np.argsort(-counts, kind="stable")
    labels = np.empty(len(counts), dtype=int)
    first = [order[:5], *np.array_split(order[5:], FREQUENT[short] - 1)]
    groups = first if short == "CP" else np.array_split(order, FREQUENT[short])
    for label, columns in enumerate(groups):
        labels[columns] = label
    return tuple(int(label) for label in labels)


def real(
    splits: int = 50,
    seed: int = 0,
    data: Sequence[str] = tuple(TABLE_3),
    only: Sequence[str] = (),
    done: Done = (),
) -> Iterator[Row]:
    """Table 3: one row per table, split and method."""
    numbers = range(seed, seed + splits)
    for row in missing(KEY_REAL, done, split=numbers, data=data, method=only or methods("")):
        short, split, method = row.values()
        rows = drawn(TABLE_3[short], split)
        yield row | judged_table(rows, methods(short)[method], split)


def real_groups(
    splits: int = 50,
    seed: int = 0,
    data: Sequence[str] = tuple(TABLE_4),
    only: Sequence[str] = (),
    done: Done = (),
) -> Iterator[Row]:
    """Table 4: groups given; one row per table, split and method."""
    names = only or tuple(methods("", np.zeros(1, dtype=int)))
    numbers = range(seed, seed + splits)
    for row in missing(KEY_REAL, done, split=numbers, data=data, method=names):
        short, split, method = row.values()
        rows = drawn(TABLE_4[short], split)
        labels = np.zeros(rows.X.shape[1], dtype=np.intp)  # for those who are told no groups
        if short in PERMUTED:
            rows = with_copies(rows, split)
            labels = np.repeat([0, 1], rows.X.shape[1] // 2)
        elif method == "NVSD(GL)":
            labels = np.array(frequency_groups(short))
        yield row | judged_table(rows, methods(short, labels)[method], split)


def figure_1(seed: int = 17, n_train: int = 110, only: Sequence[str] = ()) -> Iterator[Row]:
    """Figure 1: predictions of E3 at the test rows of one draw, by the sum of the first copies."""
    data = make_noisy_copies(n_train + 2 * HELD_OUT, random_state=seed)
    rows, fits = split_rows(data, n_train).centred(), methods_by_name(TRIPLES, NU["E3"])
    mean = data.y[:n_train].mean()
    values: dict[str, Any] = {"truth": data.noise_free[n_train + HELD_OUT :] - mean}
    for name in only or names_of("E3"):
        if name == DEFAULT:
            values[name] = default_on_training(rows, seed).predict(rows.X_test)
        else:
            values[name] = fits[name](rows, *KERNELS["E3"]).predict(rows.X_test)
    z1, z3 = rows.X_test[:, 0:3].mean(axis=1), rows.X_test[:, 6:9].mean(axis=1)
    for name, column in values.items():
        for a, b, value in zip(z1, z3, column, strict=True):
            yield {
                "method": name,
                "x1": round(float(a), 4),
                "x2": round(float(b), 4),
                "value": round(float(value), 4),
            }


# ------------------------------------------------------------------- the papers' own algorithms

KEY_SOLVERS = ("problem", "penalty", "fraction", "n", "draw", "solver")
SOLVER_TOL, SOLVER_FRACTIONS = 1e-6, (0.1, 0.01)
ALGORITHMS: dict[str, Any] = {
    "dual (ours)": DualSolver(tol=SOLVER_TOL),
    "denovas (Algorithm 1)": Denovas(tol=SOLVER_TOL, max_iter=2000),
    "admm (S1 solved)": PaperAdmm(tol=SOLVER_TOL, max_iter=5000),
    "admm (S1 by descent, footnote 1)": PaperAdmm(
        tol=SOLVER_TOL, max_iter=300, descent_steps=1, quadratic_in_linear_step=True
    ),
}
SOLVED = {"E1": ("NVSD(L)", "NVSD(GL)"), "E2": ("NVSD(L)", "NVSD(EN)"), "E3": ("NVSD(L)",)}


def algorithms(
    repeats: int = 10, seed: int = 0, n_train: Sequence[int] = (30, 110), done: Done = ()
) -> Iterator[Row]:
    """The algorithms of both papers and ours, cold, on the same problems of E1 to E3.

    Two fractions of the largest tau at the nu of the tables; the elastic net has ``l1_ratio`` 0.5.
    All ask for a gap of 1e-6 relative to the objective of zero. ``excess`` is the objective over
    the minimum, relative to that at zero; ``irrelevant`` counts the variables that rule (32) leaves
    out, ``selected`` those of the support.
    """
    makers = penalties_of(TRIPLES) | {"NVSD(EN)": [elastic_net(0.5)]}
    plan = {"n": n_train, "problem": SOLVED, "penalty": OURS, "fraction": SOLVER_FRACTIONS}

    def run(row: Row) -> bool:
        return row["penalty"] in SOLVED[row["problem"]]

    draws = range(seed, seed + repeats)
    for row in missing(KEY_SOLVERS, done, run, draw=draws, **plan, solver=ALGORITHMS):
        name, penalty, fraction, n, draw, solver = row.values()
        rows = split_rows(PROBLEMS[name](n + 2 * HELD_OUT, random_state=draw), n).centred()
        family = family_of(rows, *KERNELS[name], makers[penalty][0])
        ridge = NU[name] * family.trace
        problem = family.problem(ridge, fraction * largest_tau(family.problem(ridge)))
        assert isinstance(problem, SquaredProblem)
        start = time.process_time()
        solution = ALGORITHMS[solver].solve(problem)
        seconds = time.process_time() - start
        exact = DualSolver(tol=SOLVER_TOL / 100).solve(problem)
        solves = Solves(solver, tol=SOLVER_TOL, of_gain=False)
        solves.note(problem, solution)
        yield row | {
            "objective": f"{solution.primal:.8g}",
            "excess": f"{(solution.primal - exact.primal) / problem.reference:.2g}",
            "selected": int(support_of(problem, solution).sum()),
            "irrelevant": int(irrelevant(problem, solution).sum()),
            **solves.record(),
            "seconds": round(seconds, 4),
        }
