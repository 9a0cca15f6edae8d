"""Marteau-Ferey, Bach and Rudi (2020): functions that are not negative, and three other models.

PSD is the paper's model; GLM (exponential), NCM (coefficients that are not negative) and PNM
(values at the rows that are not negative) are those of its appendix D. All are tuned alike, by
5-fold cross-validation over the weight and, where the paper does so, the width. The data are those
of the authors' own code (:mod:`nablasso.datasets`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

from experiments.drawn import make_bow_tie
from experiments.psd_models import by_model
from experiments.running import Row, record_of
from nablasso.datasets import KnownDensity, make_bell, make_two_modes, make_wavy_noise
from nablasso.datasets.generators import bell_function, two_modes_log_density
from nablasso.estimators import (
    HeteroscedasticRegressor,
    MultiQuantileRegressor,
    PSDDensity,
    PSDDensityCV,
    PSDRegressor,
    PSDRegressorCV,
)
from nablasso.progress import track
from nablasso.types import Array

MODELS = ("psd", "pnm", "glm", "ncm")
CALL = "default"  # in the column of models: the library's class with nothing set but the draw
FOLDS = 5

# ---------------------------------------------------------------------------------- figure 2

KERNELS = {"authors": 1.41, "printed": float(np.sqrt(0.5))}  # length scales
BELL_WEIGHTS = (1e-2, 1e-4, 1e-6)
BELL_TOL = {"psd": 1e-8, "ncm": 1e-5}  # of the objective, whose floor for NCM is above 1e-3
DENSE = 1000  # points up to which the weight of NCM is tuned, and a barrier method is used


def figure_2(
    n_train: Sequence[int] = (100, 1000, 10_000),
    models: Sequence[str] = ("ncm", "psd"),
    kernels: Sequence[str] = tuple(KERNELS),
    repeats: int = 10,
    seed: int = 0,
) -> Iterator[Row]:
    """Figure 2: best approximation of exp(-x^2/2), every point an anchor.

    Points uniform on [-5, 5], squared loss, no noise, weight by folds or 0.1 / n. The kernel is
    that of the authors' code, of length scale 1.41: its bumps are wider than the target, so no NCM
    approximates it. Or it is the printed one, exp(-(x - x')^2), narrower than the target, which is
    a mixture of such bumps: NCM approximates it after all. Errors are on a grid of 1001 points:
    root mean square and largest. NCM of more than ``DENSE`` points has the second weight only, and
    is solved by the paper's projected gradient.
    """
    grid = np.linspace(-5, 5, 1001)[:, None]
    plan = [
        (kernel, n, draw, model, tuning)
        for n in n_train
        for kernel in kernels
        for draw in range(seed, seed + repeats)
        for model in models
        for tuning in ("folds", "0.1 / n")
        if model == "psd" or n <= DENSE or tuning != "folds"
    ]
    for kernel, n, draw, model, tuning in track(plan, len(plan), "figure 2"):
        data = make_bell(n, random_state=draw)
        settings: Row = {"weight": 0.1 / n}
        if tuning == "folds":
            folds = KFold(FOLDS, shuffle=True, random_state=draw)
            settings = {"widths": (1.0,), "weights": BELL_WEIGHTS, "cv": folds}
        estimator = _bell_estimator(model, kernel, n, draw, **settings)
        error = estimator.fit(data.X, data.y).predict(grid) - bell_function(grid)
        yield {
            "kernel": kernel,
            "n": n,
            "draw": draw,
            "model": model,
            "tuning": tuning,
            "weight": getattr(estimator, "best_params_", {"weight": 0.1 / n})["weight"],
            "rmse": float(np.sqrt(np.mean(error**2))),
            "largest": float(np.abs(error).max()),
            **told(estimator),
        }


def _bell_estimator(model: str, kernel: str, n: int, seed: int, **settings: Any) -> Any:
    kind = PSDRegressorCV if "cv" in settings else PSDRegressor
    estimator = kind(
        length_scale=KERNELS[kernel],
        standardize=False,
        rank=None,
        tol=BELL_TOL[model],
        random_state=seed,
        **settings,
    )
    return by_model(estimator, model, "projected_gradient" if n > DENSE else "auto")


def figure_2_curves(
    n_train: Sequence[int] = (100, 1000, 10_000), seed: int = 0, weight: float = 1e-5
) -> Iterator[Row]:
    """The functions of figure 2 on a grid, one row per point, kernel, model and n."""
    grid = np.linspace(-5, 5, 101)[:, None]
    truth = bell_function(grid)
    plan = [(k, n, m) for n in n_train for k in KERNELS for m in ("ncm", "psd")]
    for kernel, n, model in track(plan, len(plan), "figure 2"):
        data = make_bell(n, random_state=seed)
        estimator = _bell_estimator(model, kernel, n, seed, weight=weight)
        values = estimator.fit(data.X, data.y).predict(grid)
        yield from (
            {"kernel": kernel, "n": n, "model": model, "x": x, "value": v, "truth": t}
            | told(estimator)
            for x, v, t in zip(grid[:, 0], values, truth, strict=True)
        )


# --------------------------------------------------------------------------------- densities

MODES: dict[bool, Row] = {  # of the density in one variable, and in several
    True: {"mode": 1.0, "deviation": 0.3},
    False: {"mode": 2.0, "deviation": float(1 / np.sqrt(2 * np.pi))},
}
BASE = (0.0, 25.0)  # mean and variance of the base measure: a deviation of 5
WEIGHTS_1 = tuple(float(f"{w:.3g}") for w in 10.0 ** np.arange(-6, 1.5, 0.5))
GRIDS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    # widths and weights in several variables, picked on draw 500. Below the
    # weights of the exponential model no draw of the base measure is left in its integral.
    "psd": ((0.35, 0.5, 0.7), (1e-1, 1.0, 10.0, 100.0)),
    "pnm": ((0.25, 0.35, 0.5), (1e-9, 1e-8, 1e-7, 1e-6)),
    "glm": ((2.0, 3.0, 4.0), (1e4, 3e4, 1e5, 1e6)),
    "ncm": ((0.2, 0.25, 0.3, 0.35, 0.5), (1e-3,)),  # its weight made no difference
}


def densities(
    d: int = 1,
    n_samples: int = 80,
    repeats: int = 50,
    seed: int = 0,
    models: Sequence[str] = (*MODELS, CALL),
    n_test: int = 10_000,
) -> Iterator[Row]:
    """Held-out log-likelihood of the four models, a kernel density and a mixture, all tuned.

    Base measure N(0, 5^2 I). In one variable the width is one, as in the paper; in more it is tuned
    too. ``held_out`` is the mean over the test points at which the function is positive,
    ``negative`` the share of the others, ``negative_box`` that of points of the box [-5, 5]^d.
    ``mass`` is the integral of |f|, by draws: over one for a function that is no density.
    ``proper`` is the log-likelihood after division by it, ``train`` that of the training rows.
    """
    for draw in track(range(seed, seed + repeats), repeats, f"densities in {d}"):
        rng = np.random.default_rng([draw, d])
        X, test = drawn(d, n_samples, rng).X, drawn(d, n_test, rng)
        box = rng.uniform(-5, 5, (n_test, d))
        folds = KFold(FOLDS, shuffle=True, random_state=draw)
        for name, make in density_estimators(d, draw, folds, models).items():
            estimator = make().fit(X)
            row = {"d": d, "n": n_samples, "draw": draw, "model": name}
            row |= _judged(estimator, X, test.X, box, np.random.default_rng([draw, d, 1]))
            row |= {"truth": float(test.log_density.mean()), "chosen": str(estimator.best_params_)}
            yield row | told(estimator)


def drawn(d: int, n_samples: int, rng: np.random.Generator) -> KnownDensity:
    """Rows of the paper's density in one or in several variables."""
    return make_two_modes(n_samples, d, random_state=rng, **MODES[d == 1])


def density_estimators(
    d: int, seed: int, folds: KFold, models: Sequence[str]
) -> dict[str, Callable[[], Any]]:
    """Makers of unfitted estimators by name, each with its tuning by the same folds.

    Every row is an anchor of a cone of bumps, which needs more of them than a span.
    """

    def ours(model: str) -> Callable[[], Any]:
        if model == CALL:
            return lambda: PSDDensityCV(random_state=seed)
        widths, weights = ((1.0,), WEIGHTS_1) if d == 1 else GRIDS[model]
        estimator = PSDDensityCV(
            length_scale=1.0,
            standardize=False,
            base_measure=BASE,
            widths=widths,
            weights=weights,
            rank=None if model == "ncm" else 200,
            cv=folds,
            random_state=seed,
        )
        return lambda: by_model(estimator, model)

    found = {model: ours(model) for model in models}
    found["kernel density"] = lambda: GridSearchCV(
        KernelDensity(), {"bandwidth": [float(b) for b in np.geomspace(0.05, 2.0, 14)]}, cv=folds
    )
    found["gaussian mixture"] = lambda: GridSearchCV(
        GaussianMixture(random_state=seed, n_init=3),
        {"n_components": [1, 2, 3], "covariance_type": ["full", "tied", "diag", "spherical"]},
        cv=folds,
    )
    return found


def _judged(estimator: Any, X: Array, test: Array, box: Array, rng: np.random.Generator) -> Row:
    """Figures of a fitted density on test rows and on its own."""
    logs = {name: estimator.score_samples(rows) for name, rows in (("", test), ("train", X))}
    inside = np.isfinite(logs[""])
    row = {
        "held_out": float(logs[""][inside].mean()),
        "train": float(logs["train"].mean()),
        "negative": float(1 - inside.mean()),
        "negative_box": 0.0,
        "mass": 1.0,
    }
    if hasattr(estimator, "density"):
        row["negative_box"] = float((estimator.density(box) < 0).mean())
        row["mass"] = absolute_mass(estimator.density, test.shape[1], rng)
    return row | {"proper": row["held_out"] - float(np.log(row["mass"]))}


def absolute_mass(
    density: Callable[[Array], Array], d: int, rng: np.random.Generator, n_draws: int = 200_000
) -> float:
    """Integral of |f| by draws of the mixture, as it is and wider, and of the base measure."""
    own = MODES[d == 1]
    deviations = own["deviation"] * np.array([1.0, 1.6, 2.5, 5.0])
    chosen = rng.integers(len(deviations) + 1, size=n_draws)
    wide = float(np.sqrt(BASE[1]))
    Z = np.append(deviations, wide)[chosen][:, None] * rng.standard_normal((n_draws, d))
    sides = np.where(rng.random(n_draws) < 0.5, -1.0, 1.0)
    Z[:, 0] += np.where(chosen < len(deviations), own["mode"] * sides, 0.0)
    parts = [two_modes_log_density(Z, mode=own["mode"], deviation=s) for s in deviations]
    parts.append(two_modes_log_density(Z, mode=0.0, deviation=wide))
    weights = np.exp(np.log(len(parts)) - logsumexp(parts, axis=0))
    return float(np.mean(np.abs(density(Z)) * weights))


def figure_3_points(
    n_samples: int = 1000, d: int = 10, seed: int = 0, n_points: int = 500
) -> Iterator[Row]:
    """Figure 3's view: values of the learned densities against the first coordinate.

    Points of three kinds: uniform in a box of width 5, drawn from the truth, and on the line
    through both centres.
    """
    rng = np.random.default_rng([seed, d])
    X = drawn(d, n_samples, rng).X
    line = np.zeros((n_points, d))
    line[:, 0] = np.linspace(-4, 4, n_points)
    kinds = {
        "box": rng.uniform(-2.5, 2.5, (n_points, d)),
        "truth": drawn(d, n_points, rng).X,
        "line": line,
    }
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    makers = density_estimators(d, seed, folds, MODELS)
    for model in track(MODELS, len(MODELS), "figure 3"):
        estimator = makers[model]().fit(X)
        for kind, Z in kinds.items():
            values, truth = estimator.density(Z), np.exp(two_modes_log_density(Z, **MODES[d == 1]))
            yield from (
                {"model": model, "kind": kind, "x1": f"{x:.5g}", "density": f"{v:.5g}"}
                | {"truth": f"{t:.5g}"}
                | told(estimator)
                for x, v, t in zip(Z[:, 0], values, truth, strict=True)
            )


# ----------------------------------------------------------------------------------- solvers

CLOSE = 1e-4  # gap that both solvers are asked for, and by which objectives may differ
TASKS: dict[str, tuple[Any, Any]] = {  # estimators with the weights that folds mostly choose
    "density": (
        PSDDensity(width=1.0, weight=1e-4, length_scale=1.0, standardize=False, base_measure=BASE),
        make_two_modes,
    ),
    "bell": (PSDRegressor(length_scale=1.41, weight=1e-3, standardize=False), make_bell),
    "mean and noise": (HeteroscedasticRegressor(width=0.7, weight=1e-3), make_wavy_noise),
    "quantiles": (
        MultiQuantileRegressor((0.25, 0.5, 0.75), width=0.35, weight=3e-3, rank=100),
        make_bow_tie,
    ),
}
PAPER_SOLVERS = {"psd": "fista", "ncm": "projected_gradient"}


def solvers(
    repeats: int = 10,
    seed: int = 0,
    tasks: Sequence[str] = tuple(TASKS),
    n_samples: int | None = None,
) -> Iterator[Row]:
    """Objective, gap, steps and seconds of the paper's algorithms and of the default.

    FISTA on the dual (10) next to Newton's method (quantiles: interior point); projected gradient
    for NCM next to a barrier method, for the density and the bell. The same problem to the same
    gap; ``optimum`` is the default's objective at a hundredth of it.
    """
    plan = [
        (draw, task, model)
        for draw in range(seed, seed + repeats)
        for task in tasks
        for model in (("psd", "ncm") if task in ("density", "bell") else ("psd",))
    ]
    for draw, task, model in track(plan, len(plan), "solvers"):
        template, make = TASKS[task]
        data = make(**({} if n_samples is None else {"n_samples": n_samples}), random_state=draw)
        y = getattr(data, "y", None)
        exact = clone(template).set_params(tol=CLOSE / 100)
        tight = by_model(exact, model).fit(data.X, y).objective_
        for solver in ("auto", PAPER_SOLVERS[model]):
            own = {"solver": solver} if model == "psd" else {}
            estimator = by_model(clone(template).set_params(tol=CLOSE, **own), model, solver)
            begun = time.process_time()
            estimator.fit(data.X, y)
            row = {"draw": draw, "task": task, "model": model, "method": solver}
            row |= {"objective": estimator.objective_, "optimum": tight}
            row["seconds"] = round(time.process_time() - begun, 3)
            yield row | told(estimator)


def told(*models: Any) -> Row:
    """What the runner asks of fitted estimators; gaps are absolute, in units of the objective."""
    found = record_of(*models)
    gaps = [float(model.dual_gap_) for model in models if hasattr(model, "dual_gap_")]
    return found | ({"gap": f"{max(gaps):.2g}"} if gaps else {})
