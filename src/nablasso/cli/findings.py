"""What a model says besides its selection: a sentence, a table, a plot.

``nablasso explain``: how a saved model's prediction depends on one column, or on two together.
``nablasso density`` and ``nablasso quantiles``: what values are likely, and how likely.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nablasso import MultiQuantileRegressorCV, PSDDensityCV
from nablasso.answer import Answer, shape_sentence
from nablasso.cli.models import Saved
from nablasso.data.cells import check_known, listed
from nablasso.data.roles import ReadTable
from nablasso.errors import InvalidDataError, InvalidParameterError, MissingExtraError
from nablasso.estimators.tables import behind, players
from nablasso.estimators.validation import check_new_data
from nablasso.inspection import (
    DensityDisplay,
    Dependence,
    DerivativeDisplay,
    PairDependence,
    PairDisplay,
    QuantileDisplay,
    pair_dependence,
    partial_dependence,
)
from nablasso.inspection.dependence import SURE
from nablasso.persistence import atomic_write

SUFFIXES, TABLE = (".png", ".svg", ".pdf"), ".csv"
SHOWN_POINTS, SHOWN_PAIR = 11, 5  # of a grid, in the printed table
SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
DEFAULT_LEVELS = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Finding:
    """A sentence, a table, everything for programs, and what to draw."""

    sentence: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    content: dict[str, Any]
    plot: Callable[[], Any]  # gives something with ``figure_``
    table: Callable[[], pd.DataFrame] | None = None  # of a curve

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings and lists."""
        return {"sentence": self.sentence, **self.content}

    def draw(self, path: Path) -> None:
        """Write the plot, or the table, whole or not at all; the suffix is its format."""
        if path.suffix.lower() == TABLE and self.table is not None:
            with atomic_write(path) as place:
                self.table().to_csv(place, index=False)
            return
        check_plot(path)
        from matplotlib import pyplot

        figure = self.plot().figure_
        try:
            with atomic_write(path) as place:
                figure.savefig(place, dpi=150, format=path.suffix[1:].lower())
        finally:
            pyplot.close(figure)


def check_plot(path: Path | None, *, tables: bool = False) -> None:
    """Refuse a file that could not be drawn (or hold a table), before anything is computed."""
    if path is None or (tables and path.suffix.lower() == TABLE):
        return
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidParameterError(
            f"A plot is written as {', '.join(SUFFIXES)}; got {path.name!r}. Give --out one of "
            "these endings."
        )
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "Plots need matplotlib, which is not installed; install it with: pip install "
            '"nablasso[plot]"'
        ) from error
    matplotlib.use("Agg")  # no window


def explain(
    saved: Saved, X: pd.DataFrame, columns: Sequence[str], label: str | None = None
) -> Finding:
    """Dependence on one column or a pair.

    Parameters
    ----------
    saved : Saved
        A model with ``predict``.
    X : DataFrame
        Rows to average over.
    columns : one or two names of the table
    label : str, optional
        The class in question.
    """
    if not hasattr(saved.model, "predict"):
        raise InvalidParameterError(
            "This model is a density; there is no prediction to explain. Use nablasso density."
        )
    if np.ndim(getattr(saved.model, "levels", 0)):
        raise InvalidParameterError(
            "This model predicts several quantiles; nablasso quantiles draws them."
        )
    if len(columns) > 2:
        raise InvalidParameterError(f"explain takes one column or two; got {len(columns)}.")
    check_known("Column", columns, list(saved.names))
    answer = saved.answer
    if answer is not None and len(columns) == 1 and not answer.column(columns[0]).selected:
        return _left_out(answer, columns[0])
    if len(columns) == 1:
        curve = partial_dependence(saved.model, X, columns[0], target=label)
        return (_category if curve.kind == "category" else _curve)(saved, curve)
    return _surface(saved, pair_dependence(saved.model, X, columns, target=label), X)


def _outcome(saved: Saved, unit: str) -> str:
    return saved.target if unit == "prediction" else f"the {unit}"


def _left_out(answer: Answer, name: str) -> Finding:
    """Why a column was left out; there is nothing to draw."""
    column = answer.column(name)

    def plot() -> Any:
        raise InvalidParameterError(f"{name} was left out; there is no shape to draw.")

    return Finding(answer.dropped_sentence(name), (), [], asdict(column), plot)


def _curve(saved: Saved, curve: Dependence) -> Finding:
    low, high = float(curve.mean.min()), float(curve.mean.max())
    outcome = _outcome(saved, curve.unit)
    sentence = shape_sentence(outcome, curve.name, curve.direction, low, high)
    slopes = (
        np.interp(curve.grid, curve.slope_grid, curve.slope_mean)
        if len(curve.slope_grid)
        else np.zeros(len(curve.grid))
    )
    places = _spread(len(curve.grid), SHOWN_POINTS)
    rows = [
        (
            f"{curve.grid[k]:.4g}",
            f"{curve.mean[k]:.4g}",
            _band(curve, k),
            f"{slopes[k]:.3g}",
        )
        for k in places
    ]
    headers = (curve.name, curve.unit.capitalize(), _share(curve), "Slope")
    return _shape(saved, curve, sentence, headers, rows)


def _shape(
    saved: Saved,
    curve: Dependence,
    sentence: str,
    headers: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
) -> Finding:
    """A curve, drawn or as a table: of the automatic estimators that of ``shapes``."""

    def table() -> pd.DataFrame:
        if hasattr(saved.model, "shapes"):
            shapes = saved.model.shapes()
            own = shapes[shapes["column"] == curve.name]
            if len(own):
                return pd.DataFrame(own.assign(column=curve.name))
        x = list(curve.labels) or curve.grid
        low, high, _ = curve.band
        return pd.DataFrame(
            {"column": curve.name, "x": x, "value": curve.mean, "low": low, "high": high}
        )

    plot = DerivativeDisplay(curve).plot
    return Finding(sentence, headers, rows, curve.to_json(), plot, table)


def _surface(saved: Saved, pair: PairDependence, X: pd.DataFrame) -> Finding:
    a, b = pair.names
    share = f"{pair.strength:.0%}"
    sentence = (
        f"{share} of how {_outcome(saved, pair.unit)} varies over {a} and {b} is joint: not the "
        "sum of what each does alone."
    )
    places_a = _spread(len(pair.grid_a), SHOWN_PAIR)
    places_b = _spread(len(pair.grid_b), SHOWN_PAIR)
    headers = (f"{a} \\ {b}", *(f"{pair.grid_b[k]:.3g}" for k in places_b))
    rows = [
        (f"{pair.grid_a[j]:.3g}", *(f"{pair.mean[j, k]:.3g}" for k in places_b)) for j in places_a
    ]
    places = [players(saved.model)[k][0] for k in pair.columns]
    points = check_new_data(saved.model, X)[:, places]
    return Finding(sentence, headers, rows, pair.to_json(), PairDisplay(pair, points).plot)


def _category(saved: Saved, curve: Dependence) -> Finding:
    """Mean prediction if every row had this level."""
    order = [int(k) for k in np.argsort(-curve.mean, kind="stable")]
    first, last = order[0], order[-1]
    low, high = float(curve.mean[last]), float(curve.mean[first])
    levels, outcome = (curve.labels[last], curve.labels[first]), _outcome(saved, curve.unit)
    sentence = shape_sentence(outcome, curve.name, curve.direction, low, high, levels)
    rows = [(curve.labels[k], f"{curve.mean[k]:.4g}", _band(curve, k)) for k in order]
    headers = (curve.name, curve.unit.capitalize(), _share(curve))
    return _shape(saved, curve, sentence, headers, rows)


def _band(curve: Dependence, k: int) -> str:
    low, high, _ = curve.band
    return f"{low[k]:.4g} to {high[k]:.4g}"


def _share(curve: Dependence) -> str:
    if len(curve.low):
        return f"{SURE:.0%} sure"
    return f"{curve.levels[1] - curve.levels[0]:.0%} of rows"


def _spread(size: int, count: int) -> list[int]:
    """At most ``count`` places, evenly over ``size``."""
    return [int(k) for k in np.unique(np.linspace(0, size - 1, min(size, count)).round())]


def density_model(
    data: ReadTable, *, n_folds: int | None, seed: int | None, n_jobs: int | None
) -> Any:
    """The estimator of a density, not fitted yet."""
    other = [str(name) for name in data.X if data.X[name].dtype.kind != "f"]
    if other:
        raise InvalidDataError(
            f"A density is one of numbers; {listed(other)}: no numbers. Name other columns."
        )
    constant = [str(name) for name in data.X if data.X[name].nunique() == 1]
    if constant:
        raise InvalidDataError(f"{constant[0]!r} has one value in all rows. Name other columns.")
    return PSDDensityCV(cv=n_folds or 5, random_state=seed, n_jobs=n_jobs)


def read_density(model: Any, data: ReadTable) -> Finding:
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
        **_rows_used(data),
    }

    def plot() -> Any:
        return DensityDisplay.from_estimator(model, data.X)

    if len(names) > 1:
        return Finding(sentence, (), [], content, plot)
    points = _quantiles(model, data.X)
    rows = [(f"{share:.0%}", f"{x:.4g}", f"{d:.3g}") for share, x, d in points]
    content["quantiles"] = {f"{share:g}": x for share, x, _ in points}
    return Finding(sentence, ("Share below", names[0], "Density"), rows, content, plot)


def _rows_used(data: ReadTable) -> dict[str, Any]:
    return {"rows": list(data.remarks), "n_rows": len(data.X)}


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
    data: ReadTable,
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


def read_quantiles(model: Any, data: ReadTable, along: str | None) -> Finding:
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
        **_rows_used(data),
    }
    feature = along or data.variables[0]
    check_known("--along", [feature], data.variables)
    own = players(model)[data.variables.index(feature)]
    if not len(own):
        raise InvalidParameterError(f"--along {feature!r} does not vary. Name another column.")

    def plot() -> Any:
        X = check_new_data(model, data.X)
        return QuantileDisplay.from_estimator(behind(model), X, data.y, feature=int(own[0]))

    return Finding(sentence, headers, rows, content, plot)


def _pinball(y: Any, quantiles: Any, levels: Sequence[float]) -> float:
    """Mean loss of constant quantiles."""
    losses = [
        float(np.mean(np.maximum(level * (y - q), (level - 1) * (y - q))))
        for q, level in zip(quantiles, levels, strict=True)
    ]
    return float(np.mean(losses)) or 1.0
