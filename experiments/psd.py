r"""Marteau-Ferey, Bach and Rudi (2020): functions that are not negative, and three other models.

PSD is the paper's model; GLM (exponential), NCM (coefficients that are not negative) and PNM
(values at the rows that are not negative) are those of its appendix D. All are tuned alike, by
5-fold cross-validation over the weight and, where the paper does so, the width.

Marteau-Ferey, Bach and Rudi (2020): noise levels and quantiles.

Heteroscedastic regression and several quantiles at once, with each of the four models for what must
not be negative, and against gradient boosting on real tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtri
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

from experiments.running import Row
from nablasso.datasets import KnownSupport, load_table, make_bow_tie, make_wavy_noise
from nablasso.datasets.uneven_noise import bow_tie_deviation, wavy_deviation, wavy_mean
from nablasso.estimators import (
    HeteroscedasticRegressorCV,
    MultiQuantileRegressor,
    MultiQuantileRegressorCV,
    PSDDensityCV,
    PSDRegressor,
    PSDRegressorCV,
)
from nablasso.progress import track

Array = NDArray[np.float64]

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


LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
WIDTHS = (0.5, 1.0, 2.0)  # of the models' quantiles
WEIGHTS = (3e-4, 1e-3, 3e-3, 1e-2)
NOISE_WEIGHTS = (  # of the precision and of precision times mean; picked on draws 520 to 529
    *((1e-2, 1e-2), (1e-2, 1e-3), (1e-2, 1e-4)),
    *((1e-3, 1e-3), (1e-3, 1e-4), (1e-4, 1e-4)),
)
RANK = 100
CROSSING: Row = {"width": 0.35, "weight": 3e-3, "rank": RANK, "tol": 1e-3}


def heteroscedastic(
    n_samples: int = 80,
    repeats: int = 5,
    seed: int = 0,
    models: Sequence[str] = MODELS,
    n_test: int = 5000,
) -> Iterator[Row]:
    """Mean and noise level from 80 rows: held-out negative log-likelihood and errors of both.

    ``truth`` is the negative log-likelihood of the true mean and deviation on the same test rows.
    """
    plan = [(draw, model) for draw in range(seed, seed + repeats) for model in models]
    for draw, model in track(plan, len(plan), "heteroscedastic"):
        rng = np.random.default_rng(draw)
        X, y = _drawn(make_wavy_noise, n_samples, rng)
        Z, z = _drawn(make_wavy_noise, n_test, rng)
        start = time.perf_counter()
        estimator = _noise_estimator(model, draw).fit(X, y)
        seconds = time.perf_counter() - start
        mean, deviation = estimator.predict(Z, return_std=True)
        true_mean, true_deviation = wavy_mean(Z[:, 0]), wavy_deviation(Z[:, 0])
        yield {
            "draw": draw,
            "model": model,
            "held_out": _gaussian_nll(z, mean, deviation),
            "truth": _gaussian_nll(z, true_mean, true_deviation),
            "mean_rmse": float(np.sqrt(np.mean((mean - true_mean) ** 2))),
            "deviation_rmse": float(np.sqrt(np.mean((deviation - true_deviation) ** 2))),
            "chosen": str(estimator.best_params_),
            "seconds": round(seconds, 2),
        }


def heteroscedastic_curves(
    n_samples: int = 80, seed: int = 0, models: Sequence[str] = MODELS
) -> Iterator[Row]:
    """The figure: mean and deviation on a grid, after the rows they were learned from."""
    X, y = _drawn(make_wavy_noise, n_samples, np.random.default_rng(seed))
    grid = np.linspace(0, 1, 101)
    yield from (
        {"model": "rows", "x": a, "mean": b, "deviation": 0.0}
        for a, b in zip(X[:, 0], y, strict=True)
    )
    curves = {"truth": (wavy_mean(grid), wavy_deviation(grid))}
    for model in models:
        estimator = _noise_estimator(model, seed).fit(X, y)
        curves[model] = estimator.predict(grid[:, None], return_std=True)
    for name, (mean, deviation) in curves.items():
        yield from (
            {"model": name, "x": a, "mean": b, "deviation": c}
            for a, b, c in zip(grid, mean, deviation, strict=True)
        )


def _noise_estimator(model: str, seed: int) -> HeteroscedasticRegressorCV:
    return HeteroscedasticRegressorCV(
        model=model,
        widths=(0.7, 1.4),
        weights=NOISE_WEIGHTS,
        rank=RANK,
        cv=_folds(seed),
        random_state=seed,
    )


def _gaussian_nll(y: Array, mean: Array, deviation: Array) -> float:
    z = (y - mean) / deviation
    return float(np.mean(0.5 * z**2 + np.log(deviation) + 0.5 * np.log(2 * np.pi)))


def _folds(seed: int) -> KFold:
    return KFold(FOLDS, shuffle=True, random_state=seed)


def crossings(
    n_samples: int = 500, repeats: int = 50, seed: int = 0, n_grid: int = 2001
) -> Iterator[Row]:
    """How often quantiles cross on a fine grid, learned together and one by one.

    Both have the same levels, width and weight (``CROSSING``, chosen on another draw). ``crossed``
    is the share of grid points of [-0.1, 1.1] at which some quantile lies above the next,
    ``deepest`` by how much.
    """
    grid = np.linspace(-0.1, 1.1, n_grid)[:, None]
    for draw in track(range(seed, seed + repeats), repeats, "crossings"):
        rng = np.random.default_rng(draw)
        X, y = _drawn(make_bow_tie, n_samples, rng)
        Z, z = _drawn(make_bow_tie, 5000, rng)
        joint = MultiQuantileRegressor(LEVELS, random_state=draw, **CROSSING).fit(X, y)
        alone = [
            MultiQuantileRegressor(tau, random_state=draw, **CROSSING).fit(X, y) for tau in LEVELS
        ]

        def single(points: Array, alone: list[Any] = alone) -> Array:
            return np.column_stack([estimator.predict(points) for estimator in alone])

        for name, predict in (("joint", joint.predict), ("independent", single)):
            steps = np.diff(predict(grid), axis=1)
            yield {
                "draw": draw,
                "fit": name,
                "crossed": float((steps < 0).any(axis=1).mean()),
                "deepest": float(max(0.0, -steps.min())),
                "pinball": pinball(z, predict(Z), LEVELS),
                "truth": pinball(z, bow_tie_quantiles(Z[:, 0]), LEVELS),
            }


def quantiles(
    n_samples: int = 500, repeats: int = 2, seed: int = 0, models: Sequence[str] = MODELS
) -> Iterator[Row]:
    """Held-out pinball loss of the four models, tuned, and the share of crossed grid points."""
    grid = np.linspace(-0.1, 1.1, 2001)[:, None]
    plan = [(draw, model) for draw in range(seed, seed + repeats) for model in models]
    for draw, model in track(plan, len(plan), "quantiles"):
        rng = np.random.default_rng(draw)
        X, y = _drawn(make_bow_tie, n_samples, rng)
        Z, z = _drawn(make_bow_tie, 5000, rng)
        start = time.perf_counter()
        settings = {"model": model, "metric": None, "widths": WIDTHS, "weights": WEIGHTS}
        estimator = _quantile_estimator(LEVELS, draw, **settings).fit(X, y)
        yield {
            "draw": draw,
            "model": model,
            "pinball": pinball(z, estimator.predict(Z), LEVELS),
            "truth": pinball(z, bow_tie_quantiles(Z[:, 0]), LEVELS),
            "crossed": float((np.diff(estimator.predict(grid), axis=1) < 0).any(axis=1).mean()),
            "chosen": str(estimator.best_params_),
            "seconds": round(time.perf_counter() - start, 2),
        }


def quantile_curves(
    n_samples: int = 500, seed: int = 0, models: Sequence[str] = MODELS
) -> Iterator[Row]:
    """The figure: quantiles on a grid, after the rows they were learned from (``CROSSING``)."""
    X, y = _drawn(make_bow_tie, n_samples, np.random.default_rng(seed))
    grid = np.linspace(0, 1, 151)
    yield from (
        {"model": "rows", "level": 0.0, "x": a, "value": b} for a, b in zip(X[:, 0], y, strict=True)
    )
    curves = {"truth": bow_tie_quantiles(grid)}
    for model in models:
        estimator = MultiQuantileRegressor(LEVELS, model=model, **CROSSING).fit(X, y)
        curves[model] = estimator.predict(grid[:, None])
    for name, values in curves.items():
        for tau, column in zip(LEVELS, values.T, strict=True):
            yield from (
                {"model": name, "level": tau, "x": a, "value": b}
                for a, b in zip(grid, column, strict=True)
            )


def bow_tie_quantiles(x: Array) -> Array:
    """True quantiles, one column per level."""
    return np.outer(bow_tie_deviation(x), ndtri(np.array(LEVELS)))


def pinball(y: Array, quantiles: Array, levels: Sequence[float]) -> float:
    """Mean pinball loss over rows and levels."""
    losses = [
        mean_pinball_loss(y, column, alpha=tau)
        for column, tau in zip(quantiles.T, levels, strict=True)
    ]
    return float(np.mean(losses))


def _quantile_estimator(
    levels: Sequence[float], seed: int, **settings: Any
) -> MultiQuantileRegressorCV:
    folds = _folds(seed)
    return MultiQuantileRegressorCV(
        levels=levels, rank=RANK, cv=folds, random_state=seed, **settings
    )


def boosting(
    names: Sequence[str] = ("boston", "airfoil", "concrete", "energy_heating"),
    splits: int = 1,
    seed: int = 0,
    n_train: int = 300,
    levels: Sequence[float] = (0.1, 0.5, 0.9),
    methods: Sequence[str] = ("psd", "boosting"),
) -> Iterator[Row]:
    """Held-out pinball loss on real tables: ours and gradient boosting, tuned alike.

    Both have twelve candidates (ours the default ones) and the same five folds; boosting is tuned
    for each level by that level's pinball loss, ours for all levels at once. A fifth of the rows is
    held out; losses are in units of the standard deviation of the training targets.
    """
    plan = [(name, split) for split in range(seed, seed + splits) for name in names]
    for name, split in track(plan, len(plan), "boosting"):
        table = load_table(name)
        X, y = table.X, table.y
        order = np.random.default_rng([split, len(y)]).permutation(len(y))
        test, train = np.split(order, [len(y) // 5])
        train = train[:n_train]
        unit = float(y[train].std())
        for method in methods:
            start = time.perf_counter()
            fitted = _tuned(method, X[train], y[train], levels, split)
            values = np.column_stack([f.predict(X[test]) for f in fitted])
            yield {
                "data": name,
                "split": split,
                "n": len(train),
                "d": X.shape[1],
                "method": method,
                "pinball": pinball(y[test], values, levels) / unit,
                "crossed": float((np.diff(values, axis=1) < 0).any(axis=1).mean()),
                "chosen": str([f.best_params_ for f in fitted]),
                "seconds": round(time.perf_counter() - start, 2),
            }


def _tuned(method: str, X: Array, y: Array, levels: Sequence[float], seed: int) -> list[Any]:
    """Fitted estimators whose predictions side by side are the quantiles."""
    if method == "psd":
        return [_quantile_estimator(levels, seed).fit(X, y)]
    grid = {"n_estimators": [100, 200], "learning_rate": [0.05, 0.1], "max_depth": [2, 3, 4]}
    found = []
    for tau in levels:
        score = make_scorer(mean_pinball_loss, alpha=tau, greater_is_better=False)
        booster = GradientBoostingRegressor(loss="quantile", alpha=tau, random_state=seed)
        found.append(GridSearchCV(booster, grid, cv=_folds(seed), scoring=score).fit(X, y))
    return found


def _drawn(
    make: Callable[..., KnownSupport], n_samples: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    data = make(n_samples, random_state=rng)
    return data.X, data.y
