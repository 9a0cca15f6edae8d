"""Marteau-Ferey, Bach and Rudi (2020): functions that are not negative, and three other models.

PSD is the paper's model; GLM (exponential), NCM (coefficients that are not negative) and PNM
(values at the rows that are not negative) are those of its appendix D. All are tuned alike, by
5-fold cross-validation over the weight and, where the paper does so, the width.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

from nablasso.estimators import PSDDensityCV, PSDRegressor, PSDRegressorCV
from nablasso.progress import track

Array = NDArray[np.float64]
Row = dict[str, Any]

MODELS = ("psd", "pnm", "glm", "ncm")
KERNELS = {"printed": np.sqrt(0.5), "wide": np.sqrt(3.0)}  # length scales of figure 2
VARIANCE = 1 / np.sqrt(2 * np.pi)  # of each component of the mixture
BASE = (0.0, 5.0)  # mean and variance of the base measure, in every variable
GRIDS = {  # widths and weights in several variables and in one; picked on draws 500 and 501
    False: ((0.6, 0.85, 1.2), (1e-1, 1.0, 10.0, 100.0)),
    True: ((1.0,), tuple(10.0 ** np.arange(-4.5, 1.5, 0.5))),
}
FOLDS = 5
BUMPS = 200  # anchors of the non-negative coefficients, at most


def bell(x: Array) -> Array:
    """``exp(-x^2 / 2)``: a mixture of narrower Gaussians, but not of wider ones."""
    return np.exp(-(x**2) / 2)


def make_two_bumps(n_samples: int, d: int, rng: np.random.Generator) -> Array:
    """Draws of the mixture of N(-2 e1, v I) and N(2 e1, v I), ``v = 1 / sqrt(2 pi)``."""
    X = np.sqrt(VARIANCE) * rng.standard_normal((n_samples, d))
    X[:, 0] += np.where(rng.random(n_samples) < 0.5, -2.0, 2.0)
    return np.asarray(X)


def two_bumps_log_density(X: Array, variance: float = VARIANCE) -> Array:
    """Its log density, or that of a mixture with the same centres and another variance."""
    parts = []
    for centre in (-2.0, 2.0):
        Z = X.copy()
        Z[:, 0] -= centre
        parts.append(-0.5 * (Z**2 / variance + np.log(2 * np.pi * variance)).sum(axis=1))
    return np.asarray(logsumexp(parts, axis=0) - np.log(2))


def figure_2(
    n_train: Sequence[int] = (100, 1000, 10_000),
    models: Sequence[str] = ("ncm", "psd"),
    repeats: int = 3,
    seed: int = 0,
) -> Iterator[Row]:
    """Figure 2: best approximation of exp(-x^2/2) by bumps of two widths.

    Points uniform on [-5, 5], squared loss, no noise, weight by folds or 0.1 / n. The kernel is the
    printed one, exp(-(x - x')^2), whose bumps are narrower than the target: that one is a mixture
    of them, so NCM approximates it after all. Or it is wider, exp(-(x - x')^2 / 6): then no NCM
    does. Errors are on a grid of 1001 points: root mean square and largest.
    """
    grid = np.linspace(-5, 5, 1001)[:, None]
    draws = range(seed, seed + repeats)
    plan = [
        (kernel, n, draw, model, tuning)
        for kernel in KERNELS
        for n in n_train
        for draw in draws
        for model in models
        for tuning in ("folds", "0.1 / n")
    ]
    for kernel, n, draw, model, tuning in track(plan, len(plan), "figure 2"):
        X = np.random.default_rng(draw).uniform(-5, 5, (n, 1))
        settings = _bell_settings(model, kernel, n, draw)
        if tuning == "folds":
            folds = KFold(FOLDS, shuffle=True, random_state=draw)
            weights = (1e-2, 1e-4, 1e-6)
            estimator = PSDRegressorCV(**settings, widths=(1.0,), weights=weights, cv=folds)
        else:
            estimator = PSDRegressor(**settings, weight=0.1 / n)
        error = estimator.fit(X, bell(X[:, 0])).predict(grid) - bell(grid[:, 0])
        yield {
            "kernel": kernel,
            "n": n,
            "draw": draw,
            "model": model,
            "tuning": tuning,
            "weight": getattr(estimator, "best_params_", {"weight": 0.1 / n})["weight"],
            "rmse": float(np.sqrt(np.mean(error**2))),
            "largest": float(np.abs(error).max()),
        }


def _bell_settings(model: str, kernel: str, n: int, seed: int) -> Row:
    return {
        "model": model,
        "length_scale": float(KERNELS[kernel]),
        "standardize": False,
        "rank": min(n, BUMPS) if model == "ncm" else None,
        "tol": 1e-8,
        "random_state": seed,
    }


def figure_2_curves(
    n_train: Sequence[int] = (100, 1000, 10_000), seed: int = 0, weight: float = 1e-5
) -> Iterator[Row]:
    """The functions of figure 2 on a grid, one row per point, kernel, model and n."""
    grid = np.linspace(-5, 5, 101)
    plan = [(k, n, m) for k in KERNELS for n in n_train for m in ("ncm", "psd")]
    for kernel, n, model in track(plan, len(plan), "figure 2"):
        X = np.random.default_rng(seed).uniform(-5, 5, (n, 1))
        estimator = PSDRegressor(weight=weight, **_bell_settings(model, kernel, n, seed))
        values = estimator.fit(X, bell(X[:, 0])).predict(grid[:, None])
        yield from (
            {"kernel": kernel, "n": n, "model": model, "x": x, "value": v, "truth": t}
            for x, v, t in zip(grid, values, bell(grid), strict=True)
        )


def densities(
    d: int = 1,
    n_samples: int = 50,
    repeats: int = 10,
    seed: int = 0,
    models: Sequence[str] = MODELS,
    n_test: int = 10_000,
) -> Iterator[Row]:
    """Held-out log-likelihood of the four models, a kernel density and a mixture, all tuned.

    The mixture of two Gaussians of the appendix, base measure N(0, 5 I); in one variable the width
    is fixed at one, in more it is tuned too. ``negative`` is the share of test points and of points
    of the box [-5, 5]^d at which the function is below zero; such points count with the smallest
    positive number. ``mass`` is the integral of |f|, by draws: over one for a function that is no
    density. ``proper`` is the log-likelihood after division by it.
    """
    for draw in track(range(seed, seed + repeats), repeats, f"densities in {d}"):
        rng = np.random.default_rng([draw, d])
        X, test = make_two_bumps(n_samples, d, rng), make_two_bumps(n_test, d, rng)
        box = rng.uniform(-5, 5, (n_test, d))
        truth = float(two_bumps_log_density(test).mean())
        folds = KFold(FOLDS, shuffle=True, random_state=draw)
        for name, make in density_estimators(d, draw, folds, models).items():
            start = time.perf_counter()
            estimator = make().fit(X)
            row = {"d": d, "n": n_samples, "draw": draw, "model": name}
            row |= _judged(estimator, test, box, rng)
            row |= {"truth": truth, "chosen": str(estimator.best_params_)}
            yield row | {"seconds": round(time.perf_counter() - start, 2)}


def density_ranks(
    d: int = 10,
    n_samples: int = 1000,
    repeats: int = 5,
    seed: int = 0,
    ranks: Sequence[int] = (200, 400),
    n_test: int = 10_000,
) -> Iterator[Row]:
    """Held-out log-likelihood of the PSD model with few and with more anchors, tuned alike."""
    plan = [(draw, rank) for draw in range(seed, seed + repeats) for rank in ranks]
    for draw, rank in track(plan, len(plan), "ranks"):
        rng = np.random.default_rng([draw, d])
        X, test = make_two_bumps(n_samples, d, rng), make_two_bumps(n_test, d, rng)
        folds = KFold(FOLDS, shuffle=True, random_state=draw)
        start = time.perf_counter()
        estimator = density_estimators(d, draw, folds, ("psd",))["psd"]().set_params(rank=rank)
        held_out = float(estimator.fit(X).score_samples(test).mean())
        row: Row = {"d": d, "n": n_samples, "draw": draw, "rank": rank, "held_out": held_out}
        row["chosen"] = str(estimator.best_params_)
        yield row | {"seconds": round(time.perf_counter() - start, 2)}


def density_estimators(
    d: int, seed: int, folds: KFold, models: Sequence[str] = MODELS
) -> dict[str, Callable[[], Any]]:
    """Makers of unfitted estimators by name, each with its tuning by the same folds.

    Twelve candidates each, or about as many. A cone of bumps needs more anchors than a span.
    """
    widths, weights = GRIDS[d == 1]

    def ours(model: str) -> Callable[[], Any]:
        return lambda: PSDDensityCV(
            model=model,
            length_scale=1.0,
            standardize=False,
            base_measure=BASE,
            widths=widths,
            weights=weights,
            rank=400 if model == "ncm" else 200,
            max_iter=50 if model == "glm" else None,  # it diverges in many variables
            cv=folds,
            random_state=seed,
        )

    found = {model: ours(model) for model in models}
    found["kernel density"] = lambda: GridSearchCV(
        KernelDensity(), {"bandwidth": np.geomspace(0.1, 2.0, 12)}, cv=folds
    )
    found["gaussian mixture"] = lambda: GridSearchCV(
        GaussianMixture(random_state=seed, n_init=3),
        {"n_components": [1, 2, 3], "covariance_type": ["full", "tied", "diag", "spherical"]},
        cv=folds,
    )
    return found


def _judged(estimator: Any, test: Array, box: Array, rng: np.random.Generator) -> Row:
    """Held-out figures of a fitted density."""
    logs = np.maximum(estimator.score_samples(test), np.log(np.finfo(float).tiny))
    row = {"held_out": float(logs.mean()), "negative": 0.0, "negative_box": 0.0, "mass": 1.0}
    if hasattr(estimator, "density"):
        row["negative"] = float((estimator.density(test) < 0).mean())
        row["negative_box"] = float((estimator.density(box) < 0).mean())
        row["mass"] = absolute_mass(estimator.density, test.shape[1], rng)
    return row | {"proper": row["held_out"] - float(np.log(row["mass"]))}


def absolute_mass(
    density: Callable[[Array], Array], d: int, rng: np.random.Generator, n_draws: int = 200_000
) -> float:
    """Integral of |f| by draws of the mixture, as it is and three times wider or more."""
    variances = np.array([VARIANCE, 1.0, 2.0, BASE[1]])
    chosen = rng.integers(len(variances), size=n_draws)
    Z = np.sqrt(variances[chosen])[:, None] * rng.standard_normal((n_draws, d))
    Z[:, 0] += np.where(rng.random(n_draws) < 0.5, -2.0, 2.0)
    logs = logsumexp([two_bumps_log_density(Z, v) for v in variances], axis=0)
    return float(np.mean(np.abs(density(Z)) * np.exp(np.log(len(variances)) - logs)))


def figure_3_points(
    n_samples: int = 1000, d: int = 10, seed: int = 0, n_points: int = 200
) -> Iterator[Row]:
    """Figure 3's view: values of the learned densities against the first coordinate.

    Points of three kinds: uniform in a box of width 5, drawn from the truth, and on the line
    through both centres.
    """
    rng = np.random.default_rng([seed, d])
    X = make_two_bumps(n_samples, d, rng)
    line = np.zeros((n_points, d))
    line[:, 0] = np.linspace(-4, 4, n_points)
    kinds = {
        "box": rng.uniform(-2.5, 2.5, (n_points, d)),
        "truth": make_two_bumps(n_points, d, rng),
        "line": line,
    }
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    makers = density_estimators(d, seed, folds)
    for model in track(MODELS, len(MODELS), "figure 3"):
        estimator = makers[model]().fit(X)
        for kind, Z in kinds.items():
            values, truth = estimator.density(Z), np.exp(two_bumps_log_density(Z))
            yield from (
                {"model": model, "kind": kind, "x1": x, "density": v, "truth": t}
                for x, v, t in zip(Z[:, 0], values, truth, strict=True)
            )
