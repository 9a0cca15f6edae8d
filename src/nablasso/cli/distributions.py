"""``nablasso density`` and ``nablasso quantiles``: what values are likely, and how likely."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nablasso import MultiQuantileRegressorCV, PSDDensityCV
from nablasso.cli.drawing import draw
from nablasso.data.roles import Data
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.inspection import DensityDisplay, QuantileDisplay

SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
MANY_ROWS = 1000  # more take minutes: --sample is recommended
DEFAULT_LEVELS = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Distribution:
    """A sentence, a table, and what to draw."""

    sentence: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    content: dict[str, Any]
    model: Any
    data: Data
    plot: dict[str, Any] = field(default_factory=dict)  # arguments of the display

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings and lists."""
        remarks = {"rows": list(self.data.remarks), "n_rows": len(self.data.X)}
        return {"sentence": self.sentence, **self.content, **remarks}

    def draw(self, path: Path) -> None:
        """Write the plot."""
        if isinstance(self.model, PSDDensityCV):
            draw(lambda: DensityDisplay.from_estimator(self.model, self.data.X), path)
        else:
            X, y = self.data.X, self.data.y
            draw(lambda: QuantileDisplay.from_estimator(self.model, X, y, **self.plot), path)


def density_model(data: Data, *, n_folds: int | None, seed: int | None, n_jobs: int | None) -> Any:
    """The estimator of a density, not fitted yet."""
    if data.encoding.groups or any(c.levels for c in data.encoding.columns):
        named = next(c.name for c in data.encoding.columns if c.levels)
        raise InvalidDataError(
            f"A density is one of numbers; {named!r} is a category. Name other columns."
        )
    constant = [str(name) for name in data.X if data.X[name].nunique() == 1]
    if constant:
        raise InvalidDataError(f"{constant[0]!r} has one value in all rows. Name other columns.")
    return PSDDensityCV(cv=n_folds or 5, random_state=seed, n_jobs=n_jobs)


def read_density(model: Any, data: Data) -> Distribution:
    """What a fitted density says: how well it predicts left-out rows, and where the values are."""
    names = data.variables
    held_out, normal = float(model.best_score_), _normal_score(data.X)
    gain = held_out - normal
    than = "better than" if gain > 0.005 else "no better than"
    of = " and ".join(names)
    sentence = (
        f"The density of {of} predicts left-out rows {than} a normal distribution (log-likelihood "
        f"per row {held_out:.3f} against {normal:.3f})."
    )
    content: dict[str, Any] = {
        "columns": names,
        "held_out_log_likelihood": held_out,
        "normal_log_likelihood": normal,
        "chosen": {key: float(value) for key, value in model.best_params_.items()},
    }
    if len(names) > 1:
        return Distribution(sentence, (), [], content, model, data)
    points = _quantiles(model, data.X)
    rows = [(f"{share:.0%}", f"{x:.4g}", f"{d:.3g}") for share, x, d in points]
    content["quantiles"] = {f"{share:g}": x for share, x, _ in points}
    return Distribution(sentence, ("Share below", names[0], "Density"), rows, content, model, data)


def _normal_score(X: pd.DataFrame) -> float:
    """Leave-one-out log-likelihood per row of the normal distribution with mean and covariance.

    With Mahalanobis distance ``q`` of a row, leaving it out multiplies the covariance by rank one:
    the update formula gives the new determinant and distance without a second fit.
    """
    Z = X.to_numpy(dtype=float)
    n, d = Z.shape
    Z = Z - Z.mean(axis=0)
    cov = Z.T @ Z / n
    q = np.einsum("ij,ij->i", Z @ np.linalg.pinv(cov), Z)
    log_det = float(np.linalg.slogdet(cov)[1])
    # without row i: mean moves by z / (n - 1), scatter loses n / (n - 1) z z'
    left = np.maximum(1 - q / (n - 1), 1e-12)
    scaled = log_det + d * math.log(n / (n - 1)) + np.log(left)
    distance = q * (n / (n - 1)) ** 2 * ((n - 1) / n) / left
    return float(np.mean(-0.5 * (d * math.log(2 * math.pi) + scaled + distance)))


def _quantiles(model: Any, X: pd.DataFrame) -> list[tuple[float, float, float]]:
    """Share below, point, density; by bisection on the distribution function."""
    values = X.to_numpy()[:, 0]
    width = float(np.ptp(values)) or 1.0
    found = []
    for share in SHARES:
        low, high = float(values.min()) - 3 * width, float(values.max()) + 3 * width
        for _ in range(60):
            middle = (low + high) / 2
            below = model.integrate([[-np.inf, middle]])
            low, high = (middle, high) if below < share else (low, middle)
        found.append((share, middle))
    places = pd.DataFrame([middle for _, middle in found], columns=X.columns)
    heights = model.density(places)
    return [(share, x, float(height)) for (share, x), height in zip(found, heights, strict=True)]


def parse_levels(text: str | None) -> tuple[float, ...]:
    """Levels of quantiles from ``0.1,0.5,0.9``."""
    if text is None:
        return DEFAULT_LEVELS
    try:
        levels = tuple(float(part) for part in text.split(","))
    except ValueError:
        levels = ()
    if not levels or not all(0 < level < 1 for level in levels) or sorted(set(levels)) != [*levels]:
        raise InvalidParameterError(
            f"--levels are increasing numbers between 0 and 1, such as 0.1,0.5,0.9; got {text!r}."
        )
    return levels


def quantile_model(
    data: Data,
    levels: Sequence[float],
    *,
    n_folds: int | None,
    seed: int | None,
    n_jobs: int | None,
) -> Any:
    """The estimator of several quantiles, not fitted yet."""
    if data.has_classes:
        raise InvalidDataError(
            f"Quantiles are of numbers; {data.target!r} holds classes. Choose another target."
        )
    return MultiQuantileRegressorCV(
        tuple(levels), cv=n_folds or 5, random_state=seed, n_jobs=n_jobs
    )


def read_quantiles(model: Any, data: Data, along: str | None) -> Distribution:
    """What fitted quantiles say: shares of the rows below, and values along a column."""
    y = data.y.to_numpy(dtype=float)
    Z = np.asarray(model.predict(data.X))
    levels = [float(level) for level in model.levels_]
    loss = -float(model.best_score_)
    flat = _pinball(y, np.quantile(y, levels), levels)
    sentence = (
        f"{len(levels)} quantiles of {data.target}, never crossing: their loss on left-out rows is "
        f"{loss / flat:.2f} of that of the same quantiles for all rows."
    )
    rows = [
        (
            f"{level:g}",
            f"{np.mean(y <= z):.0%}",
            f"{z.min():.4g}",
            f"{np.median(z):.4g}",
            f"{z.max():.4g}",
        )
        for level, z in zip(levels, Z.T, strict=True)
    ]
    headers = ("Level", "Rows below", "Lowest", "Median", "Highest")
    content = {
        "target": data.target,
        "levels": levels,
        "rows_below": [float(np.mean(y <= z)) for z in Z.T],
        "held_out_pinball_loss": loss,
        "flat_pinball_loss": flat,
        "chosen": {key: float(value) for key, value in model.best_params_.items()},
    }
    feature = along or data.variables[0]
    places = data.encoding.expand([feature])
    if not places:
        raise InvalidParameterError(
            f"--along {feature!r} is not one of the variables: {', '.join(data.variables[:12])}."
        )
    return Distribution(sentence, headers, rows, content, model, data, {"feature": places[0]})


def _pinball(y: Any, quantiles: Any, levels: Sequence[float]) -> float:
    """Mean loss of constant quantiles."""
    losses = [
        float(np.mean(np.maximum(level * (y - q), (level - 1) * (y - q))))
        for q, level in zip(quantiles, levels, strict=True)
    ]
    return float(np.mean(losses)) or 1.0
