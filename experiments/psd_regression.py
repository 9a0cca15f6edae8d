"""Marteau-Ferey, Bach and Rudi (2020): noise levels and quantiles.

Heteroscedastic regression and several quantiles at once, with each of the four models for what must
not be negative, and against gradient boosting on real tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.model_selection import GridSearchCV, KFold

from experiments.drawn import bow_tie_deviation, make_bow_tie
from experiments.psd import CALL, FOLDS, MODELS, told
from experiments.psd_models import by_model
from experiments.real_tables import load_table
from experiments.running import Row
from nablasso.datasets import KnownSupport, make_wavy_noise
from nablasso.datasets.generators import wavy_deviation, wavy_function
from nablasso.estimators import (
    HeteroscedasticRegressorCV,
    MultiQuantileRegressor,
    MultiQuantileRegressorCV,
)
from nablasso.progress import track
from nablasso.types import Array

LEVELS = (0.25, 0.5, 0.75)
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
    repeats: int = 10,
    seed: int = 0,
    models: Sequence[str] = (*MODELS, CALL),
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
        estimator = _noise_estimator(model, draw).fit(X, y)
        mean, deviation = estimator.predict(Z, return_std=True)
        true_mean, true_deviation = wavy_function(Z), wavy_deviation(Z)
        yield {
            "draw": draw,
            "model": model,
            "held_out": _gaussian_nll(z, mean, deviation),
            "truth": _gaussian_nll(z, true_mean, true_deviation),
            "mean_rmse": float(np.sqrt(np.mean((mean - true_mean) ** 2))),
            "deviation_rmse": float(np.sqrt(np.mean((deviation - true_deviation) ** 2))),
            "chosen": str(estimator.best_params_),
            **told(estimator),
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
    curves = {"truth": (wavy_function(grid[:, None]), wavy_deviation(grid[:, None]))}
    for model in models:
        estimator = _noise_estimator(model, seed).fit(X, y)
        curves[model] = estimator.predict(grid[:, None], return_std=True)
    for name, (mean, deviation) in curves.items():
        yield from (
            {"model": name, "x": a, "mean": b, "deviation": c}
            for a, b, c in zip(grid, mean, deviation, strict=True)
        )


def _noise_estimator(model: str, seed: int) -> Any:
    if model == CALL:
        return HeteroscedasticRegressorCV(random_state=seed)
    estimator = HeteroscedasticRegressorCV(
        widths=(0.7, 1.4), weights=NOISE_WEIGHTS, rank=RANK, cv=_folds(seed), random_state=seed
    )
    return by_model(estimator, model)


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

        fits = {"joint": [joint], "independent": alone}

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
                **told(*fits[name]),
            }


def quantiles(
    n_samples: int = 500,
    repeats: int = 10,
    seed: int = 0,
    models: Sequence[str] = (*MODELS, CALL),
) -> Iterator[Row]:
    """Held-out pinball loss of the four models, tuned, and the share of crossed grid points."""
    grid = np.linspace(-0.1, 1.1, 2001)[:, None]
    plan = [(draw, model) for draw in range(seed, seed + repeats) for model in models]
    for draw, model in track(plan, len(plan), "quantiles"):
        rng = np.random.default_rng(draw)
        X, y = _drawn(make_bow_tie, n_samples, rng)
        Z, z = _drawn(make_bow_tie, 5000, rng)
        settings = {"metric": None, "widths": WIDTHS, "weights": WEIGHTS}
        estimator = (
            MultiQuantileRegressorCV(LEVELS, random_state=draw)
            if model == CALL
            else by_model(_quantile_estimator(LEVELS, draw, **settings), model)
        ).fit(X, y)
        yield {
            "draw": draw,
            "model": model,
            "pinball": pinball(z, estimator.predict(Z), LEVELS),
            "truth": pinball(z, bow_tie_quantiles(Z[:, 0]), LEVELS),
            "crossed": float((np.diff(estimator.predict(grid), axis=1) < 0).any(axis=1).mean()),
            "chosen": str(estimator.best_params_),
            **told(estimator),
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
        estimator = by_model(MultiQuantileRegressor(LEVELS, **CROSSING), model).fit(X, y)
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
                **told(*fitted),
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
