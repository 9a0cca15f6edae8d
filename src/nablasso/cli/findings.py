"""What a model says besides its selection: predictions; a sentence, a table, a plot.

A saved model knows how the columns of its table became numbers, so that rows can be given as they
were for the fit; the notes in the stamp of its file hold the target.

``nablasso explain``: how a saved model's prediction depends on one column, or on two together.
``nablasso density`` and ``nablasso quantiles``: what values are likely, and how likely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from sklearn.covariance import EmpiricalCovariance
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import KFold, cross_val_score

from nablasso import MultiQuantileRegressorCV, NablassoRegressor, PSDDensityCV, load
from nablasso.answer import curve_sentence, output_words
from nablasso.data.cells import check_known, listed, read_cells
from nablasso.data.roles import ReadTable
from nablasso.errors import (
    InvalidDataError,
    InvalidParameterError,
    ModelFileError,
    TableProblems,
    optional,
)
from nablasso.estimators.display import Answers
from nablasso.inspection import (
    DensityDisplay,
    Dependence,
    DerivativeDisplay,
    PairDisplay,
    QuantileDisplay,
    partial_dependence,
)
from nablasso.persistence import atomic_write, read_stamp

SUFFIXES, TABLE = (".png", ".svg", ".pdf"), ".csv"
SHOWN_PAIR = 5  # points of a grid, in the printed table
SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
DEFAULT_LEVELS = "0.1,0.5,0.9"
NORMAL_FOLDS = 50  # of the normal distribution that a density is compared with
CLEARLY = 0.005  # gain in log-likelihood per row from which on a density is called better


@dataclass(frozen=True)
class Saved:
    """A model, the names of its columns, and what it predicts."""

    model: Any
    names: tuple[str, ...]
    target: str = "y"

    @classmethod
    def read(cls, path: Path) -> Saved:
        """The model of a file, refused where it is damaged or not safe."""
        notes = read_stamp(path)["notes"]
        model = load(path)
        if not any(hasattr(model, method) for method in ("predict", "score_samples")):
            raise ModelFileError(
                f"{path} holds a {type(model).__name__}, which predicts nothing. Give a model."
            )
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            raise ModelFileError(
                f"{path} holds a model without column names. Fit it on a data frame, or save it "
                "with nablasso select --save."
            )
        told = notes.get("target") if isinstance(notes, dict) else None
        target = told or getattr(model, "_target_name", "y")
        return cls(model, tuple(str(name) for name in names), str(target))

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """The inputs of a table; NaN in rows with missing cells where they mean nothing."""
        if hasattr(self.model, "_encoding"):
            return table
        absent = [name for name in self.names if name not in table]
        if absent:
            raise InvalidDataError(
                f"The table lacks {len(absent)} of the {len(self.names)} columns that the model "
                f"needs: {listed(absent)}. Add them; their order does not matter."
            )
        typed, problems = read_cells(table[list(self.names)])
        if problems:
            raise TableProblems(problems)
        return typed

    def predictions(self, X: pd.DataFrame, interval: float | None = None) -> pd.DataFrame:
        """What the model says about rows, a column each; empty for rows with missing cells.

        Classes come with their probabilities, several quantiles with their levels, densities as
        logs.
        """
        whole = hasattr(self.model, "_encoding")  # it knows what a missing cell is
        usable = np.ones(len(X), dtype=bool) if whole else X.notna().all(axis=1).to_numpy()
        found = self._predicted(X[usable], interval) if usable.any() else {}
        columns = {name: pd.Series(z, index=X.index[usable]) for name, z in found.items()}
        names = list(found) or [f"predicted_{self.target}"]
        return pd.DataFrame(columns, index=X.index, columns=names)

    def _predicted(self, X: pd.DataFrame, interval: float | None) -> dict[str, Any]:
        model, name = self.model, f"predicted_{self.target}"
        if interval is not None:
            if not isinstance(model, NablassoRegressor):
                raise InvalidDataError(
                    "This model has no intervals; those of nablasso select for numbers have. "
                    "Leave --interval out."
                )
            values, ends = model.predict(X, return_interval=interval)
            named = zip(("lower", "upper"), ends.T, strict=True)
            return {name: values} | {f"{end}_{interval:g}": z for end, z in named}
        if not hasattr(model, "predict"):
            return {"log_density": model.score_samples(X)}
        values = np.asarray(model.predict(X))
        if hasattr(model, "classes_"):
            shares = model.predict_proba(X).T if hasattr(model, "predict_proba") else ()
            each = zip(model.classes_, shares, strict=False)
            return {name: values} | {f"probability_{label}": p for label, p in each}
        if values.ndim == 1:
            return {name: values}
        levels = getattr(model, "levels_", range(1, values.shape[1] + 1))
        return {f"quantile_{level:g}": z for level, z in zip(levels, values.T, strict=True)}


@dataclass(frozen=True)
class Finding:
    """A sentence, a table, everything for programs, and what to draw."""

    sentence: str
    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    content: dict[str, Any]
    plot: Callable[[], Any] | None = None  # gives something with ``figure_``
    table: Callable[[], pd.DataFrame] | None = None  # of a curve

    def draw(self, path: Path) -> None:
        """Write the plot, or the table, whole or not at all; the suffix is its format."""
        if path.suffix.lower() == TABLE and self.table is not None:
            with atomic_write(path) as place:
                self.table().to_csv(place, index=False)
            return
        check_plot(path)
        if self.plot is None:
            raise InvalidParameterError("There is nothing to draw: the column was left out.")
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
    optional("matplotlib", "Plots need matplotlib", "plot").use("Agg")  # no window


def explain(
    saved: Saved, X: pd.DataFrame, columns: Sequence[str], label: str | None = None
) -> Finding:
    """Dependence on one column or a pair of the table, of the probability of a class ``label``."""
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
    if len(columns) == 2:
        return _surface(saved, X, columns, label)
    (name,) = columns
    if isinstance(saved.model, Answers):
        answer = replace(saved.model.answer_, target=saved.target)
        if not answer.column(name).selected:
            told = answer.dropped_sentence(name)
            return Finding(told, (), [], asdict(answer.column(name)))
    curve = partial_dependence(saved.model, X, name, target=label)
    sentence, plot = curve_sentence(curve, saved.target), DerivativeDisplay(curve).plot
    return Finding(sentence, *curve.table(), curve.to_json(), plot, lambda: _shape(saved, curve))


def _shape(saved: Saved, curve: Dependence) -> pd.DataFrame:
    """A curve as a table: of the automatic estimators that of ``shapes``."""
    if hasattr(saved.model, "shapes"):
        shapes: pd.DataFrame = saved.model.shapes()
        if len(own := shapes[shapes["column"] == curve.name]):  # else it is one of a group
            return own
    x, (low, high, _) = list(curve.labels) or curve.grid, curve.band
    found = {"column": curve.name, "x": x, "value": curve.mean, "low": low, "high": high}
    return pd.DataFrame(found)


def _surface(saved: Saved, X: pd.DataFrame, columns: Sequence[str], label: str | None) -> Finding:
    display = PairDisplay.of(saved.model, X, columns, target=label)
    pair = display.dependence
    a, b = pair.names
    sentence = (
        f"{pair.strength:.0%} of how the {output_words(pair.unit, saved.target)} varies over {a} "
        f"and {b} is joint: not the sum of what each does alone."
    )
    down, across = (
        np.unique(np.linspace(0, len(grid) - 1, min(len(grid), SHOWN_PAIR)).round()).astype(int)
        for grid in (pair.grid_a, pair.grid_b)
    )
    headers = [f"{a} \\ {b}", *(f"{x:.3g}" for x in pair.grid_b[across])]
    rows = [[f"{pair.grid_a[j]:.3g}", *(f"{z:.3g}" for z in pair.mean[j, across])] for j in down]
    return Finding(sentence, headers, rows, pair.to_json(), display.plot)


def parse_levels(text: str | None) -> tuple[float, ...]:
    """Levels of quantiles from ``0.1,0.5,0.9``."""
    try:
        return tuple(sorted({float(part) for part in (text or DEFAULT_LEVELS).split(",")}))
    except ValueError:
        raise InvalidParameterError(
            f"--levels are numbers between 0 and 1, such as {DEFAULT_LEVELS}; got {text!r}."
        ) from None


def density(data: ReadTable, **options: Any) -> tuple[Any, Finding]:
    """A fitted density: how well it predicts left-out rows, and where the values are."""
    other = [str(name) for name in data.X if data.X[name].dtype.kind != "f"]
    if other:
        raise InvalidDataError(
            f"A density is one of numbers; {listed(other)}: no numbers. Name other columns."
        )
    model = PSDDensityCV(**options).fit(data.X)
    names = data.variables
    folds = KFold(min(NORMAL_FOLDS, len(data.X) // 2), shuffle=True, random_state=0)
    scores = cross_val_score(EmpiricalCovariance(), data.X, cv=folds)
    normal = float(np.average(scores, weights=[len(test) for _, test in folds.split(data.X)]))
    held_out = float(model.best_score_)
    than = "better than" if held_out - normal > CLEARLY else "no better than"
    sentence = (
        f"The density of {' and '.join(names)} predicts left-out rows {than} a normal distribution "
        f"(log-likelihood per row {held_out:.3f} against {normal:.3f})."
    )
    content: dict[str, Any] = {
        "columns": names,
        "held_out_log_likelihood": held_out,
        "normal_log_likelihood": normal,
        **_chosen(model, data),
    }

    def plot() -> Any:  # of one or two columns
        return DensityDisplay.from_estimator(model, data.X)

    if len(names) > 1:
        return model, Finding(sentence, (), [], content, plot)
    places = _quantiles(model, data.X.to_numpy()[:, 0])
    heights = model.density(pd.DataFrame({names[0]: places}))
    rows = [
        [f"{share:.0%}", f"{x:.4g}", f"{height:.3g}"]
        for share, x, height in zip(SHARES, places, heights, strict=True)
    ]
    content["quantiles"] = {f"{share:g}": x for share, x in zip(SHARES, places, strict=True)}
    return model, Finding(sentence, ("Share below", names[0], "Density"), rows, content, plot)


def _chosen(model: Any, data: ReadTable) -> dict[str, Any]:
    """What cross-validation chose, and on which rows."""
    chosen = {key: float(value) for key, value in model.best_params_.items()}
    return {"chosen": chosen, "rows": list(data.remarks), "n_rows": len(data.X)}


def _quantiles(model: Any, values: Any) -> list[float]:
    """Roots of the distribution function minus each of the shares."""
    low, high = float(values.min()), float(values.max())
    width = high - low

    def over(x: float, share: float) -> float:
        return float(model.integrate([[-np.inf, x]])) - share

    ends = low - 3 * width, high + 3 * width
    return [float(brentq(over, *ends, (share,), xtol=1e-12 * width)) for share in SHARES]


def quantiles(
    data: ReadTable, levels: Sequence[float], along: str | None, **options: Any
) -> tuple[Any, Finding]:
    """Fitted quantiles: shares of the rows below, and values along a column."""
    if data.has_classes:
        raise InvalidDataError(
            f"Quantiles are of numbers; {data.target!r} holds classes. Choose another target."
        )
    feature = along or data.variables[0]
    check_known("--along", [feature], data.variables)
    model = MultiQuantileRegressorCV(tuple(levels), **options).fit(data.X, data.y)
    y = data.y.to_numpy(dtype=float)
    Z = np.asarray(model.predict(data.X))
    below = [float(np.mean(y <= z)) for z in Z.T]
    each = zip(np.quantile(y, levels), levels, strict=True)  # the same quantiles for all rows
    losses = [mean_pinball_loss(y, np.full(len(y), q), alpha=level) for q, level in each]
    loss, flat = -float(model.best_score_), float(np.mean(losses)) or 1.0
    sentence = (
        f"{len(levels)} quantiles of {data.target}, never crossing: their loss on left-out rows is "
        f"{loss / flat:.2f} of that of the same quantiles for all rows."
    )
    rows = [
        [f"{level:g}", f"{share:.0%}", *(f"{at(z):.4g}" for at in (np.min, np.median, np.max))]
        for level, share, z in zip(levels, below, Z.T, strict=True)
    ]
    headers = ("Level", "Rows below", "Lowest", "Median", "Highest")
    content = {
        "target": data.target,
        "levels": list(levels),
        "rows_below": below,
        "held_out_pinball_loss": loss,
        "flat_pinball_loss": flat,
        **_chosen(model, data),
    }
    display = QuantileDisplay.of(model, data.X, data.y, feature=feature)
    return model, Finding(sentence, headers, rows, content, display.plot)
