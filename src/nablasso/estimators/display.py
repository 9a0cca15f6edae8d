"""Looking at an answer: in words, in a notebook, as one figure; curves as all drawings take them.

All of it prints :mod:`nablasso.answer`; nothing is computed here but where ink goes. The page of a
notebook needs no script, no network and no theme of its own: text has the colour of its
surroundings, bars and bands have one that is seen on light and dark grounds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nablasso.answer import Answer, Column, Interaction
from nablasso.errors import InvalidParameterError, optional
from nablasso.estimators.explained import (
    ONE_WAY,
    answer_of,
    curves_of,
    player_names,
    table_columns,
)
from nablasso.types import Array

ACCENT = "#3b86c8"
WIDTH, HEIGHT = 100, 26  # of a drawing in a cell
RUG = 60  # ticks
SHAPES = 6  # drawn, at most
LISTED_POINTS = 11  # of a curve in a table
SURE = 0.9  # level of the band of the function
LEVELS = (0.1, 0.9)  # quantiles over the rows that the bands of the rows lie between
ROWS_INSIDE = f"{LEVELS[1] - LEVELS[0]:.0%}"
NUMBER = re.compile(r"-?[\d.]+(e[+-]?\d+)?")
FIRST = ("Status", "Accuracy", "Weak", "Interactions", "Replaceable", "Rival", "Noticed")
STYLE = f"""
.nablasso {{ font: 14px/1.5 system-ui, sans-serif; max-width: 60rem; color: inherit; }}
.nablasso p {{ margin: .3rem 0; }}
.nablasso .head {{ font-size: 1.15em; font-weight: 600; }}
.nablasso table {{ border-collapse: collapse; margin: .5rem 0; display: block; overflow-x: auto; }}
.nablasso th, .nablasso td {{ text-align: left; padding: .2rem .8rem .2rem 0; border: 0;
  border-bottom: 1px solid rgba(127,127,127,.35); vertical-align: middle; background: none;
  color: inherit; white-space: nowrap; }}
.nablasso td:last-child {{ white-space: normal; min-width: 8rem; }}
.nablasso svg {{ vertical-align: middle; }}
.nablasso .bar {{ fill: {ACCENT}; }} .nablasso .band {{ fill: {ACCENT}; opacity: .3; }}
.nablasso .curve {{ fill: none; stroke: {ACCENT}; stroke-width: 1.6; }}
.nablasso .ends {{ fill: none; stroke: currentColor; stroke-width: 1.2; }}
.nablasso .warn {{ border-left: 3px solid #c98a1b; padding-left: .6rem; }}
.nablasso .note, .nablasso summary {{ opacity: .75; }}
"""


class Answers:
    """What every selector tells: ``answer_``, in words, in a notebook and as a figure."""

    _n_rows: int  # that were given
    _target_name: str = "y"

    @property
    def answer_(self) -> Answer:
        """What was found, how sure, why, what to do next, as plain data."""
        check_is_fitted(self)
        return answer_of(self, self._n_rows, target=self._target_name)

    def summary(self) -> str:
        """The answer in words."""
        return self.answer_.summary()

    def plot(self) -> Any:
        """The answer as one figure.

        Importances with intervals, the largest shapes with their bands and a rug of the rows, and
        the strongest pair of numbers as a map. Models that keep no shapes draw importances alone.

        Returns
        -------
        matplotlib.figure.Figure
        """
        answer = self.answer_
        return draw_answer(answer, shapes_of(self), next(pairs_of(self, answer), None))

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """The answer where a notebook shows a fitted selector; unfitted ones as in scikit-learn."""
        made = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in made:
            made["text/html"] = self._repr_html_inner()
        return made

    def _repr_html_inner(self) -> str:
        if not hasattr(self, "support_"):
            return str(super()._repr_html_inner())  # type: ignore[misc]
        return answer_html(self.answer_, shapes_of(self))


def nothing() -> Array:
    """What is not known of a curve."""
    return np.empty(0)


@dataclass(frozen=True)
class Dependence:
    """Partial dependence of a prediction on one variable, in the units of the table.

    Parameters
    ----------
    name, column, kind
        The variable, its (first) place, and ``"continuous"``, ``"discrete"`` or ``"category"``.
    unit : str
        What the values are: ``"prediction"``, ``"probability of ..."`` or ``"part in ..."``.
    grid, mean, band_low, band_high : arrays, shape (g,)
        Points, partial dependence, and the band of the middle 80 % of the rows' curves.
    slope_grid, slope_mean, slope_low, slope_high : arrays, shape (s,)
        Derivatives at the same points; of a discrete column between its levels.
    quantiles : array
        Where the data are: quantiles of the observed values every five per cent, or some values.
    labels : tuple of str
        Of a category: what each point of the grid stands for.
    low, high : arrays, shape (g,)
        Where the partial dependence itself lies, with 90 % probability; empty where not known.
    """

    name: str
    column: int
    kind: str
    unit: str
    grid: Array
    mean: Array
    band_low: Array = field(default_factory=nothing)
    band_high: Array = field(default_factory=nothing)
    slope_grid: Array = field(default_factory=nothing)
    slope_mean: Array = field(default_factory=nothing)
    slope_low: Array = field(default_factory=nothing)
    slope_high: Array = field(default_factory=nothing)
    quantiles: Array = field(default_factory=nothing)
    labels: tuple[str, ...] = ()
    low: Array = field(default_factory=nothing)
    high: Array = field(default_factory=nothing)

    @property
    def band(self) -> tuple[Array, Array, str]:
        """What is drawn around the mean: where the function lies, else what rows differ by."""
        if len(self.low):
            return self.low, self.high, f"the function lies here ({SURE:.0%} sure)"
        return self.band_low, self.band_high, f"{ROWS_INSIDE} of the rows (no confidence band)"

    @property
    def effect(self) -> float:
        """How far the partial dependence moves, from its lowest to its highest value."""
        return float(np.ptp(self.mean))

    @property
    def direction(self) -> str:
        """The shape in a word: rises, falls, bends, flat or (categories) differs."""
        way = float(np.abs(np.diff(self.mean)).sum())
        if way <= 1e-9 * max(1.0, float(np.abs(self.mean).max())):
            return "flat"
        if self.labels:
            return "differs"
        net = float(self.mean[-1] - self.mean[0]) / way
        return "rises" if net > ONE_WAY else "falls" if net < -ONE_WAY else "bends"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Header and cells of at most 11 points; all levels of a category, highest first."""
        low, high, _ = self.band
        sure = f"{SURE:.0%} sure" if len(self.low) else f"{ROWS_INSIDE} of rows"
        header = [self.name, self.unit.capitalize(), sure]
        if self.labels:
            places = np.argsort(-self.mean, kind="stable")
        else:
            count = min(len(self.grid), LISTED_POINTS)
            places = np.unique(np.linspace(0, len(self.grid) - 1, count).round())
        rows = []
        for k in places.astype(int):
            point = self.labels[k] if self.labels else f"{self.grid[k]:.4g}"
            rows.append([point, f"{self.mean[k]:.4g}", f"{low[k]:.4g} to {high[k]:.4g}"])
            if len(self.slope_grid):
                slope = np.interp(self.grid[k], self.slope_grid, self.slope_mean)
                rows[-1].append(f"{slope:.3g}")
        return ([*header, "Slope"] if len(self.slope_grid) else header), rows

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings and lists."""
        return plain(self)


@dataclass(frozen=True)
class PairDependence:
    """Partial dependence ``mean`` (g, h) on two variables, at the points of two grids.

    ``columns`` are their places, ``unit`` says what the values are.
    """

    names: tuple[str, str]
    columns: tuple[int, int]
    unit: str
    grid_a: Array
    grid_b: Array
    mean: Array

    @property
    def joint(self) -> Array:
        """What the two do together beyond what each does alone, (g, h): doubly centred."""
        rows, columns = self.mean.mean(axis=1, keepdims=True), self.mean.mean(axis=0)
        return np.asarray(self.mean - rows - columns + self.mean.mean())

    @property
    def strength(self) -> float:
        """Share of the variation over the grid that is joint, between 0 and 1."""
        total = float(np.var(self.mean))
        return float(np.var(self.joint)) / total if total > 0 else 0.0

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings and lists."""
        return plain(self) | {"strength": self.strength}


def plain(found: Any) -> dict[str, Any]:
    """A dataclass of arrays as numbers, strings and lists."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in asdict(found).items()
    }


def shapes_of(model: Any) -> dict[str, Dependence]:
    """Curves by column; of several classes those of the last. Empty where the model keeps none."""
    return next(reversed(shapes_by_class(model, model._target_name).values()), {})


def shapes_by_class(model: Any, target: str = "y") -> dict[Any, dict[str, Dependence]]:
    """What columns add to the prediction, by class (None for numbers) and name.

    Empty where the model keeps no curves.
    """
    if not hasattr(model, "_explanation"):
        return {}
    found: dict[Any, dict[str, Dependence]] = {}
    numbers = _numbers(model)
    for label, name, points, curve in curves_of(model):
        x, order = np.asarray(points), np.arange(len(points))
        words = x.dtype == object
        seen = x != "missing" if words else np.ones(len(x), dtype=bool)
        if not seen.all() and all(map(NUMBER.fullmatch, x[seen])):
            # the curve of a number with gaps; what a gap adds stands in the table
            order, words = np.flatnonzero(seen), False
        elif words:  # levels by what they add
            order = np.argsort(curve["value"], kind="stable")
        found.setdefault(label, {})[name] = Dependence(
            name=name,
            column=-1,
            kind="category" if words else "continuous",
            unit=f"part in {target}" if label is None else f"part in the log-odds of {label}",
            grid=np.arange(float(len(x))) if words else x[order].astype(float),
            mean=curve["value"][order],
            quantiles=numbers.get(name, nothing())[:RUG],
            labels=tuple(map(str, x[order])) if words else (),
            low=curve["low"][order],
            high=curve["high"][order],
        )
    return found


def _numbers(model: Any) -> dict[str, Array]:
    """Each selected column of numbers at the rows that are kept."""
    read = model._explanation
    return {
        name: model._scaler.back(read.Z[:, own[0]], read.chosen[own[0]])
        for name, own in zip(player_names(model), read.players, strict=True)
        if len(own) == 1
    }


def pairs_of(model: Any, answer: Answer) -> Iterator[tuple[Interaction, PairDependence, Array]]:
    """The prediction over the strongest pairs of columns of numbers, and the rows behind it.

    Of several classes the log-odds of the last; nothing where the model keeps no rows.
    """
    if not hasattr(model, "_explanation"):
        return
    read, numbers = model._explanation, _numbers(model)
    for one in answer.strongest_interactions():
        names = sorted(one.columns)
        kinds = {answer.column(name).kind for name in names}
        if not set(names) <= set(numbers) or "category" in kinds:
            continue
        places = [player_names(model).index(name) for name in names]
        *grids, mean = read.surface(tuple(places))
        own = [int(read.chosen[read.players[a][0]]) for a in places]
        a, b = map(model._scaler.back, grids, own)
        unit = f"predicted {answer.target}"
        if hasattr(model, "classes_"):
            unit = f"log-odds of {model.classes_[-1]}"
        first, second = (int(table_columns(model)[a][0]) for a in places)
        mean = mean + getattr(model, "_y_mean", 0.0)
        pair = PairDependence((names[0], names[1]), (first, second), unit, a, b, mean)
        yield one, pair, np.column_stack([numbers[name] for name in names])


def answer_html(answer: Answer, shapes: Mapping[str, Dependence] | None = None) -> str:
    """An answer for a notebook, with ``shapes`` by the names of columns."""
    said = [
        (label, f"<p><b>{escape(label)}</b> {escape(sentence)}</p>")
        for label, sentence in answer.facts()
    ]
    parts = [
        f'<div class="nablasso"><style>{STYLE}</style>',
        f'<p class="head">{escape(answer.headline())}</p>',
        _html_table(answer, shapes or {}) if answer.selected else "",
        *(text for label, text in said if label in FIRST),
        *(f'<p class="warn">{escape(caution)}</p>' for caution in answer.cautions),
        "<details><summary>Left out, why, certificate, what next</summary>",
        *(text for label, text in said if label not in FIRST),
        f'<p class="note">{escape(answer.legend())}</p></details></div>',
    ]
    return "".join(parts)


def _html_table(answer: Answer, shapes: Mapping[str, Dependence]) -> str:
    headers, rows = answer.table()
    largest = largest_size(answer)
    lines = [f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in headers)}</tr>"]
    for column, row in zip(answer.selected, rows, strict=True):
        cells = []
        for name, cell in zip(headers, row, strict=True):
            drawn = bar_svg(column, largest) if name in ("Share", "Strength") else ""
            if name == "Shape" and column.name in shapes:
                drawn = shape_svg(shapes[column.name])
            cells.append(f"<td>{drawn} {escape(cell)}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(lines)}</table>"


def largest_size(answer: Answer) -> float:
    """What bars are measured by: the largest end of an interval, or the largest size."""
    ends = [c.size if c.share is None else c.high or c.size for c in answer.selected]
    return max(ends, default=0.0) or 1.0


def bar_svg(column: Column, largest: float) -> str:
    """A bar of a column's size, with the ends of its interval."""
    size = max(WIDTH * column.size / largest, 1.0)
    parts = [f'<rect class="bar" x="0" y="4" width="{size:.1f}" height="8"/>']
    if column.share is not None and column.low is not None and column.high is not None:
        low, high = (WIDTH * min(end / largest, 1.0) for end in (column.low, column.high))
        parts.append(
            f'<path class="ends" d="M{low:.1f} 8H{high:.1f}M{low:.1f} 4v8M{high:.1f} 4v8"/>'
        )
    return (
        f'<svg class="share" width="{WIDTH}" height="16" viewBox="0 0 {WIDTH} 16" '
        f'aria-hidden="true">{"".join(parts)}</svg>'
    )


def shape_svg(shape: Dependence) -> str:
    """A small curve with its band."""
    low, high = float(np.min(shape.low)), float(np.max(shape.high))
    across = WIDTH * (shape.grid - shape.grid.min()) / (float(np.ptp(shape.grid)) or 1.0)

    def way(values: Array, turn: int = 1) -> str:
        down = 1 + (HEIGHT - 2) * (1 - (values - low) / ((high - low) or 1.0))
        points = zip(across[::turn], down[::turn], strict=True)
        return " ".join(f"{a:.1f} {b:.1f}" for a, b in points)

    return (
        f'<svg class="shape" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-hidden="true"><path class="band" d="M{way(shape.high)} {way(shape.low, -1)}z"/>'
        f'<path class="curve" d="M{way(shape.mean)}"/></svg>'
    )


def draw_answer(
    answer: Answer,
    shapes: Mapping[str, Dependence],
    pair: tuple[Interaction, PairDependence, Array] | None = None,
) -> Any:
    """Importances with intervals, the largest shapes with bands, a pair: one figure."""
    plots = optional("matplotlib.figure", "Plots need matplotlib", "plot")
    if not answer.selected:
        raise InvalidParameterError(f"There is nothing to draw. {answer.headline()}")
    drawn = [column.name for column in answer.selected if column.name in shapes][:SHAPES]
    n_cells = 1 + len(drawn) + (pair is not None)
    columns = min(3 if n_cells <= 6 else 4, n_cells)
    rows = -(-n_cells // columns)
    figure = plots.Figure(figsize=(4.2 * columns, 3.1 * rows + 0.7), layout="constrained")
    cells = figure.subplots(rows, columns, squeeze=False).ravel()
    chosen = answer.selected[::-1]
    sizes = np.array([column.size for column in chosen])
    cells[0].barh(range(len(chosen)), sizes, color=ACCENT, height=0.6)
    ends = [(c.low, c.high) for c in chosen if c.share is not None and c.low is not None]
    if len(ends) == len(chosen):
        low, high = np.array(ends, dtype=float).T
        spread = np.maximum([sizes - low, high - sizes], 0.0)
        cells[0].errorbar(
            sizes, range(len(chosen)), xerr=spread, fmt="none", ecolor="0.25", capsize=2
        )
    cells[0].set_yticks(range(len(chosen)), [shorten(c.name) for c in chosen])
    shares = all(column.share is not None for column in chosen)
    cells[0].set_xlabel("share of the variance of the prediction" if shares else "strength")
    for cell, name in zip(cells[1:], drawn, strict=False):
        nothing_added = cell.axvline if shapes[name].kind == "category" else cell.axhline
        nothing_added(0.0, color="0.7", lw=0.8)
        draw_curve(cell, shapes[name])
    if pair is not None:
        draw_pair(cells[n_cells - 1], *pair[1:])
    for cell in cells[n_cells:]:
        cell.set_axis_off()
    figure.suptitle(answer.headline(), wrap=True, fontsize=11)
    return figure


def draw_curve(ax: Any, curve: Dependence, colour: str = ACCENT) -> None:
    """A line in its band, with ticks where the data are; levels as points with bars.

    Those of a category one below the other, the highest first.
    """
    low, high, about = curve.band
    category = curve.kind == "category"
    if category:
        order, places = np.argsort(-curve.mean, kind="stable"), np.arange(len(curve.mean))
        ax.hlines(places, low[order], high[order], color=colour, alpha=0.3, linewidth=6)
        ax.plot(curve.mean[order], places, "o", color=colour, markersize=7)
        ax.set_yticks(places, [shorten(curve.labels[k]) for k in order])
        ax.set_ylim(len(places) - 0.4, -0.8)  # room for what the bars are
    elif curve.kind == "discrete":
        ax.plot(curve.grid, curve.mean, color=colour, linewidth=1, alpha=0.5)
        ax.vlines(curve.grid, low, high, color=colour, alpha=0.3, linewidth=6)
        ax.plot(curve.grid, curve.mean, "o", color=colour, markersize=7)
        ax.set_xticks(curve.grid)
    else:
        ax.fill_between(curve.grid, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.plot(curve.grid, curve.mean, color=colour, linewidth=2)
        inside = curve.quantiles[curve.quantiles >= curve.grid[0]]
        inside = inside[inside <= curve.grid[-1]]
        place: Any = {"transform": ax.get_xaxis_transform(), "clip_on": False}
        ax.plot(inside, np.zeros(len(inside)), "|", color="0.35", markersize=8, **place)
    name_axes(ax, *((curve.unit, curve.name) if category else (curve.name, curve.unit)))
    what = "band" if curve.kind == "continuous" else "bars"
    place = {"xycoords": "axes fraction", "xytext": (4, -4), "textcoords": "offset points"}
    looks: Any = {"va": "top", "fontsize": 8, "color": "0.35"}
    ax.annotate(f"{what}: {about}", (0, 1), **place, **looks)


def draw_pair(ax: Any, pair: PairDependence, points: Array | None = None) -> None:
    """The prediction over two variables as a map with contours, and the rows that it rests on."""
    filled = ax.contourf(pair.grid_a, pair.grid_b, pair.mean.T, levels=14, cmap="viridis")
    lines = ax.contour(filled, levels=filled.levels[::2], colors="white", linewidths=0.7, alpha=0.8)
    ax.clabel(lines, fontsize=8, fmt="%.3g")
    if points is not None:
        ax.plot(*points.T, ".", color="black", markersize=3, alpha=0.35)
    ax.set(xlim=pair.grid_a[[0, -1]], ylim=pair.grid_b[[0, -1]])
    name_axes(ax, *pair.names)
    colour_bar(ax, filled, shorten(pair.unit, 60))
    rows = "" if points is None else "; points: rows"
    subtitle(ax, f"{pair.strength:.0%} of the variation is joint{rows}")


def name_axes(ax: Any, x: str, y: str) -> None:
    """Names of both axes, long ones cut."""
    ax.set(xlabel=shorten(x, 60), ylabel=shorten(y, 60))


def subtitle(ax: Any, text: str) -> None:
    """A small line above the axes that says how to read them."""
    ax.set_title(text, fontsize=9, loc="left", color="0.3")


def colour_bar(ax: Any, drawn: Any, label: str, **options: Any) -> None:
    """The scale of what was drawn, without a frame."""
    bar = ax.figure.colorbar(drawn, ax=ax, **options)
    bar.outline.set_visible(False)
    bar.set_label(label)


def shorten(name: str, most: int = 24) -> str:
    """A name that fits beside a plot, its dollar signs taken literally."""
    text = name if len(name) <= most else name[: most - 1] + "…"
    return text.replace("$", r"\$")
