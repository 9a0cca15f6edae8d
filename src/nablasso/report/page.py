"""A report as one HTML file that needs nothing else: no network, no other file.

Charts are drawn in SVG, each 400 units wide: for a phone, or side by side on a desk. Colours are
classes, and the page's style sheet gives them for light and dark; a test computes their
contrast (WCAG 2, level AA). Texts from the table are escaped in :func:`text` and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from nablasso.answer import Answer, curve_sentence, number, output_words, percent
from nablasso.errors import optional
from nablasso.estimators.display import Dependence, bar_svg, largest_size, shape_svg
from nablasso.inspection import PairDependence
from nablasso.inspection.canvas import moved_apart
from nablasso.persistence import atomic_write
from nablasso.report.build import HeldOut, Report
from nablasso.types import Array

# Share of the accent in the darkest cell of the map of pairs: numbers stay readable on it.
STRONGEST_CELL = 0.5
TEMPLATES = files("nablasso.report") / "templates"
WIDTH = 400.0
MOST_POINTS = 1500
MAX_MAP = 12  # columns on the map of pairs
COVERED = 0.9  # of the left-out rows, in the band of the errors
THREE = (0.1, 0.5, 0.9)  # where on its grid the second column of a pair is looked at
Numbers = Sequence[float] | Array
GLYPH = 6.3  # width of a character, at the size of small print


def px(value: float) -> str:
    """A coordinate with one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def shorten(name: str, width: float, glyph: float = GLYPH) -> str:
    """A name cut to the width that it has."""
    most = max(3, int(width / glyph))
    return name if len(name) <= most else name[: most - 1] + "…"


def text(
    x: float, y: float, words: str, kind: str = "m", *, anchor: str = "", full: str = ""
) -> str:
    """Words at a place; ``full`` is told on hovering where the words were cut."""
    title = f"<title>{escape(full)}</title>" if full and full != words else ""
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text x="{px(x)}" y="{px(y)}" class="{kind}"{where}>{title}{escape(words)}</text>'


def drawing(width: float, height: float, parts: Iterable[str], label: str) -> str:
    """The whole picture; ``label`` is what a screen reader says."""
    return (
        f'<svg viewBox="0 0 {px(width)} {px(height)}" role="img" aria-label="{escape(label)}" '
        f'class="chart">{"".join(parts)}</svg>'
    )


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two others, about ``most`` of them."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * (1 - 1e-9))
    first = np.ceil(low / step - 1e-9)
    count = int(np.floor(high / step + 1e-9) - first) + 1
    return [float(f"{(first + k) * step:.12g}") for k in range(max(count, 0))]


def tick_text(value: float) -> str:
    """A tick's number, as short as it can be."""
    if value != 0 and (abs(value) >= 1e5 or abs(value) < 1e-3):
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:.6g}".replace("-", "\u2212")


@dataclass(frozen=True)
class Frame:
    """A rectangle of the picture and the ranges of the data that it shows."""

    left: float
    top: float
    width: float
    height: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        """Place across."""
        low, high = self.x_range
        return self.left + self.width * (value - low) / ((high - low) or 1.0)

    def y(self, value: float) -> float:
        """Place down."""
        low, high = self.y_range
        return self.top + self.height * (1 - (value - low) / ((high - low) or 1.0))

    def y_axis(self, label: str, most: int = 5) -> str:
        """Grid lines with numbers, and a label on top."""
        short = shorten(label, self.width + self.left - 10)
        parts = [text(6, self.top - 9, short, "m", full=label)] if label else []
        for value in ticks(*self.y_range, most):
            y = self.y(value)
            parts.append(f'<path class="grid" d="M{px(self.left)} {px(y)}h{px(self.width)}"/>')
            parts.append(text(self.left - 6, y + 4, tick_text(value), anchor="end"))
        return "".join(parts)

    def x_axis(self, label: str, values: Numbers | None = None) -> str:
        """The base line with numbers under it, and a label under these."""
        bottom = self.top + self.height
        parts = [f'<path class="axis" d="M{px(self.left)} {px(bottom)}h{px(self.width)}"/>']
        for value in ticks(*self.x_range) if values is None else values:
            x = self.x(value)
            parts.append(f'<path class="axis" d="M{px(x)} {px(bottom)}v4"/>')
            parts.append(text(x, bottom + 17, tick_text(value), anchor="middle"))
        if label:
            middle = self.left + self.width / 2
            short = shorten(label, self.width, 6.8)
            parts.append(text(middle, bottom + 36, short, "t", anchor="middle", full=label))
        return "".join(parts)

    def line(self, xs: Numbers, ys: Numbers, kind: str) -> str:
        """A line through points."""
        return f'<path class="{kind}" d="M{self._way(xs, ys)}"/>'

    def band(self, xs: Numbers, low: Numbers, high: Numbers, kind: str) -> str:
        """The area between two lines."""
        back = self._way(tuple(xs)[::-1], tuple(low)[::-1])
        return f'<path class="{kind}" d="M{self._way(xs, high)} {back}z"/>'

    def points(self, xs: Numbers, ys: Numbers, kind: str) -> str:
        """Round marks: lines of no length with round ends, all in one element."""
        marks = "".join(f"M{px(self.x(x))} {px(self.y(y))}h0" for x, y in zip(xs, ys, strict=True))
        return f'<path class="{kind}" d="{marks}"/>'

    def _way(self, xs: Numbers, ys: Numbers) -> str:
        return " ".join(f"{px(self.x(x))} {px(self.y(y))}" for x, y in zip(xs, ys, strict=True))


def padded(*values: Iterable[float], around: float = 0.06) -> tuple[float, float]:
    """A range that holds the values, with some room."""
    every = np.concatenate([np.asarray(list(v), dtype=float) for v in values])
    low, high = float(every.min()), float(every.max())
    room = around * (high - low) or max(abs(high), 1.0) * 0.1
    return low - room, high + room


def row_name(name: str, y: float) -> str:
    """A name to the left of its row."""
    return text(124, y, shorten(name, 120), "t", anchor="end", full=name)


def curve_chart(curve: Dependence, target: str) -> str:
    """A line in its band, or levels as dots with bars; categories one below the other."""
    output = output_words(curve.unit, target)
    label = f"{output} against {curve.name}. {curve_sentence(curve, target)}"
    if curve.kind == "category":
        return _category_chart(curve, output, label)
    low, high, about = curve.band
    discrete = curve.kind == "discrete"
    across = padded(curve.grid) if discrete else (curve.grid[0], curve.grid[-1])
    frame = Frame(48, 38, 340, 136, across, padded(low, high, curve.mean))
    parts = [frame.y_axis(output), frame.x_axis(curve.name, curve.grid if discrete else None)]
    if discrete:
        bars = "".join(
            f"M{px(frame.x(x))} {px(frame.y(a))}V{px(frame.y(b))}"
            for x, a, b in zip(curve.grid, low, high, strict=True)
        )
        parts.append(f'<path class="spread c1" d="{bars}"/>')
        parts.append(frame.points(curve.grid, curve.mean, "dot c1"))
    else:
        parts.append(frame.band(curve.grid, low, high, "band"))
        parts.append(frame.line(curve.grid, curve.mean, "line c1"))
        parts.append(text(frame.left + frame.width, 12, f"band: {about}", "m", anchor="end"))
        inside = [q for q in curve.quantiles if across[0] <= q <= across[1]]
        bottom = px(frame.top + frame.height - 6)
        marks = "".join(f"M{px(frame.x(q))} {bottom}v6" for q in inside)
        parts.append(f'<path class="rug" d="{marks}"/>')
    return drawing(WIDTH, 220, parts, label)


def _category_chart(curve: Dependence, output: str, label: str) -> str:
    order = np.argsort(-curve.mean, kind="stable")
    height = 24.0 * len(order)
    lows, highs, _ = curve.band
    frame = Frame(130, 10, 258, height, padded(lows, highs, curve.mean), (0, 1))
    parts = [frame.x_axis(output)]
    for row, k in enumerate(order):
        y = 10 + 24 * row + 12
        x, low, high = (frame.x(values[k]) for values in (curve.mean, lows, highs))
        parts.append(f'<path class="grid" d="M130 {px(y)}h258"/>')
        parts.append(f'<path class="spread c1" d="M{px(low)} {px(y)}H{px(high)}"/>')
        parts.append(f'<path class="dot c1" d="M{px(x)} {px(y)}h0"/>')
        parts.append(row_name(curve.labels[k], y + 4))
    return drawing(WIDTH, height + 58, parts, label)


def interaction_chart(answer: Answer) -> str:
    """A cell for each pair, the darker the stronger, with its number; names along the diagonal."""
    pairs = [one for one in answer.interactions if len(one.columns) == 2]
    inside = {name for one in pairs for name in one.columns}
    names = [column.name for column in answer.selected if column.name in inside][:MAX_MAP]
    n = len(names)
    cell = min(46.0, (WIDTH - 118.0) / max(n, 1))
    top = max((one.share for one in pairs), default=0.0) or 1.0
    parts = []
    for one in pairs:
        if not set(one.columns) <= set(names):
            continue
        i, j = sorted(names.index(name) for name in one.columns)
        x, y = 4 + cell * i, 4 + cell * j
        size = percent(one.share)
        parts.append(
            f'<rect class="cell" x="{px(x + 1)}" y="{px(y + 1)}" width="{px(cell - 2)}" '
            f'height="{px(cell - 2)}" fill-opacity="{STRONGEST_CELL * one.share / top:.3f}">'
            f"<title>{escape(' and '.join(one.columns))}: {size}</title></rect>"
        )
        kind = "t small" if cell > 34 else "t tiny"
        if cell > 24:
            parts.append(text(x + cell / 2, y + cell / 2 + 4, size, kind, anchor="middle"))
    for k, name in enumerate(names):
        room = WIDTH - 8 - cell * k - 6
        x, y = 4 + cell * k + 4, 4 + cell * k + cell / 2 + 4
        parts.append(text(x, y, shorten(name, room, 7.2), "t", full=name))
    label = f"Map of the interactions of {n} columns. {answer.interaction_sentence()}"
    return drawing(WIDTH, 8 + cell * n, parts, label)


def pair_chart(pair: PairDependence, target: str) -> str:
    """One variable along the axis, a line for each of three values of the other."""
    first, second = pair.names
    output = output_words(pair.unit, target)
    places = np.unique(np.round(np.array(THREE) * (len(pair.grid_b) - 1)).astype(int))
    frame = Frame(48, 24, 250, 180, (pair.grid_a[0], pair.grid_a[-1]), padded(*pair.mean))
    parts = [frame.y_axis(output), frame.x_axis(first)]
    ends = []
    for kind, k in zip(("c1", "c2", "c3"), places, strict=False):
        parts.append(frame.line(pair.grid_a, pair.mean[:, k], f"line {kind}"))
        ends.append((frame.y(pair.mean[-1, k]), number(pair.grid_b[k]), kind))
    parts.append(text(304, 15, f"{shorten(second, 82)} =", "m", full=second))
    ordered = sorted(ends)
    heights = moved_apart([y for y, _, _ in ordered], 14.0, 34, 204)
    for y, (_, name, kind) in zip(heights, ordered, strict=True):
        parts.append(text(304, y + 4, shorten(name, 90, 7.3), f"label {kind}", full=name))
    low, high = ends[0][1], ends[-1][1]
    return drawing(
        WIDTH, 250, parts, f"{output} against {first}, for {second} between {low} and {high}"
    )


def _plane(
    x: str, y: str, across: tuple[float, float], down: tuple[float, float], at: Any = None
) -> tuple[Frame, list[str]]:
    """A large frame and its axes."""
    frame = Frame(52, 24, 336, 300, across, down)
    return frame, [frame.y_axis(y[:60]), frame.x_axis(x, at)]


def scatter_chart(found: HeldOut, target: str) -> str:
    """Predicted against observed; on the line predictions are right."""
    step = 1 + len(found.observed) // MOST_POINTS
    observed, predicted = found.observed[::step], found.predicted[::step]
    both = padded(observed, predicted, around=0.04)
    words = f"observed {target}", f"predicted {target}"
    frame, parts = _plane(*words, both, both, ticks(*both))
    parts += [frame.line(both, both, "mark"), frame.points(observed, predicted, "cloud")]
    label = f"Predicted against observed {target}, {len(observed)} left-out rows"
    return drawing(WIDTH, 370, parts, label)


def residual_chart(found: HeldOut, target: str) -> str:
    """Errors against predictions; nine of ten lie between the lines."""
    step = 1 + len(found.observed) // MOST_POINTS
    errors = found.observed - found.predicted
    half = float(np.quantile(np.abs(errors), COVERED))
    across = padded(found.predicted, around=0.04)
    words = f"predicted {target}", f"observed minus predicted {target}"
    frame, parts = _plane(*words, across, padded(errors, (-half, half)))
    parts += [
        frame.band(across, (-half, -half), (half, half), "band"),
        frame.line(across, (0.0, 0.0), "mark"),
        frame.points(found.predicted[::step], errors[::step], "cloud"),
    ]
    label = f"Errors of left-out rows; {COVERED:.0%} are under {number(half)} in size"
    return drawing(WIDTH, 370, parts, label)


def calibration_chart(found: HeldOut) -> str:
    """How often what was told with some probability came true; on the line it is honest."""
    told, true, rows = zip(*found.calibration, strict=True)
    ends, words = (-0.03, 1.03), ("probability told", "share that came true")
    frame, parts = _plane(*words, ends, ends, (0.0, 0.25, 0.5, 0.75, 1.0))
    parts += [
        frame.line((0.0, 1.0), (0.0, 1.0), "mark"),
        frame.line(told, true, "line c1"),
        frame.points(told, true, "dot c1"),
    ]
    label = f"Probabilities told and shares that came true, {sum(rows):.0f} of them"
    return drawing(WIDTH, 370, parts, label)


def parts_chart(contributions: dict[str, Array], answer: Answer) -> str:
    """A dot for each row, a line of dots for each column: beside each other where they meet."""
    output = "log-odds" if answer.task == "classification" else f"predicted {answer.target}"
    step = 30.0
    bottom = 10 + step * len(contributions)
    frame = Frame(130, 10, 258, bottom - 10, padded(*contributions.values(), (0.0,)), (0, 1))
    parts = [frame.x_axis(f"added to {output}")]
    parts.append(f'<path class="mark" d="M{px(frame.x(0.0))} 10V{px(bottom)}"/>')
    for k, (name, values) in enumerate(contributions.items()):
        middle, taken, marks = 10 + step * (k + 0.5), dict[int, int](), []
        for value in values:
            x = frame.x(value)
            n = taken[round(x / 3)] = taken.get(round(x / 3), 0) + 1
            side = (n // 2) * (1 if n % 2 else -1)
            marks.append(f"M{px(x)} {px(middle + max(min(2.4 * side, 13), -13))}h0")
        parts.append(f'<path class="cloud small" d="{"".join(marks)}"/>')
        parts.append(row_name(name, middle + 4))
    label = f"What {len(contributions)} columns add to {output} of {len(values)} rows"
    return drawing(WIDTH, bottom + 50, parts, label)


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Write a report as one HTML file; it is there whole or not at all.

    Parameters
    ----------
    report : Report
    path : path-like
        Where to write it.
    """
    page = render_report(report)
    with atomic_write(path) as place:
        place.write_text(page, encoding="utf-8")


def render_report(report: Report) -> str:
    """The page of a report as a string.

    Parameters
    ----------
    report : Report

    Returns
    -------
    str
        HTML.
    """
    jinja2 = optional("jinja2", "A report needs jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (TEMPLATES / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    markup = optional("markupsafe", "A report needs jinja2", "report").Markup
    environment.globals["Markup"] = markup

    def drawn(chart: Any) -> Any:
        return lambda *of: markup(chart(*of))

    answer = report.answer
    largest = largest_size(answer)
    headers, rows = answer.table()
    charts = (curve_chart, interaction_chart, pair_chart, scatter_chart, residual_chart)
    page = environment.get_template("report.html").render(
        report=report,
        answer=answer,
        headers=headers,
        rows=rows,
        script=markup((TEMPLATES / "report.js").read_text(encoding="utf-8")),
        places={name: k for k, name in enumerate(report.effects)},
        words=curve_sentence,
        percent=percent,
        share_bar=lambda column: markup(bar_svg(column, largest)),
        small_shape=lambda name: markup(shape_svg(report.effects[name][-1])),
        **{c.__name__: drawn(c) for c in (*charts, calibration_chart, parts_chart)},
    )
    return str(page)
