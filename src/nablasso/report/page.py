"""A report as one HTML file that needs nothing else: no network, no other file.

Charts are drawn in SVG, each 400 units wide: for a phone, or side by side on a desk. Colours are
classes, so that the page's style sheet gives them for light and dark; a test computes their
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

from nablasso.answer import Answer, number
from nablasso.errors import MissingExtraError
from nablasso.estimators.display import bar_svg, largest_size
from nablasso.persistence import atomic_write
from nablasso.report.content import (
    Curve,
    HeldOutClasses,
    HeldOutNumbers,
    Pair,
    PathLines,
    Report,
    Swarm,
)

COLOURS = {  # light, dark
    "page": ("#ffffff", "#10151b"),
    "panel": ("#f5f7f9", "#19212a"),
    "line": ("#d3dae1", "#313c48"),
    "ink": ("#1a2027", "#e8edf2"),
    "muted": ("#56616d", "#a3afbb"),
    "accent": ("#1d5f9e", "#74b4ee"),
    "on-accent": ("#ffffff", "#0d1620"),
    "slope": ("#a8480f", "#f0a36b"),
    "good": ("#1a6e37", "#6fd08c"),
    "warn": ("#7a4d00", "#f0c869"),
    "warn-panel": ("#fff5dc", "#2d2611"),
    "control": ("#76828e", "#7f8d9b"),
    "s1": ("#1d5f9e", "#74b4ee"),
    "s2": ("#a8480f", "#f0a36b"),
    "s3": ("#1f6f43", "#7fd3a0"),
    "s4": ("#7d3a86", "#d29be0"),
    "s5": ("#80590c", "#dcbc5c"),
    "s6": ("#136b78", "#67c7d6"),
    "s7": ("#a02c50", "#f290ad"),
    "s8": ("#4d5560", "#aeb8c4"),
}
LIGHT, DARK = ({name: pair[k] for name, pair in COLOURS.items()} for k in (0, 1))
# Share of the accent in the darkest cell of the interaction map: numbers stay readable on it.
STRONGEST_CELL = 0.5
TEMPLATES = files("nablasso.report") / "templates"
WIDTH = 400.0
SERIES = 8  # colours
MOST_POINTS = 1500
MAX_MAP = 12  # columns on the map of interactions
COVERED = 0.9  # of the left-out rows, between the lines of the errors
GLYPH = 6.3  # width of a character, at the size of small print


def variables(colours: dict[str, str]) -> str:
    """Colours as CSS custom properties."""
    return "".join(f"--{name}:{value};" for name, value in colours.items())


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
    log_x: bool = False

    def x(self, value: float) -> float:
        """Place across."""
        low, high = self.x_range
        if self.log_x:
            value, low, high = np.log(value), np.log(low), np.log(high)
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

    def x_axis(self, label: str, values: Sequence[float] | None = None) -> str:
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

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> str:
        """A line through points."""
        return f'<path class="{kind}" d="M{self._way(xs, ys)}"/>'

    def band(
        self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str
    ) -> str:
        """The area between two lines."""
        back = self._way(tuple(xs)[::-1], tuple(low)[::-1])
        return f'<path class="{kind}" d="M{self._way(xs, high)} {back}z"/>'

    def points(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> str:
        """Round marks: lines of no length with round ends, all in one element."""
        marks = "".join(f"M{px(self.x(x))} {px(self.y(y))}h0" for x, y in zip(xs, ys, strict=True))
        return f'<path class="{kind}" d="{marks}"/>'

    def _way(self, xs: Sequence[float], ys: Sequence[float]) -> str:
        return " ".join(f"{px(self.x(x))} {px(self.y(y))}" for x, y in zip(xs, ys, strict=True))


def padded(*values: Iterable[float], around: float = 0.06) -> tuple[float, float]:
    """A range that holds the values, with some room."""
    every = np.concatenate([np.asarray(list(v), dtype=float) for v in values])
    low, high = float(every.min()), float(every.max())
    room = around * (high - low) or max(abs(high), 1.0) * 0.1
    return low - room, high + room


def path_chart(path: PathLines) -> str:
    """Importance against alpha with a name at each line's end, or bars where there are no lines."""
    label = f"Regularisation path of {len(path.names)} variables"
    if path.lines is None:
        return _path_bars(path, label)
    top = max((max(line) for line in path.lines), default=1.0)
    frame = Frame(
        38, 24, 214, 220, (path.alphas[0], path.alphas[-1]), (0.0, 1.05 * top), log_x=True
    )
    parts = [frame.y_axis("strength"), frame.x_axis("alpha (decreasing)", _decades(path.alphas))]
    parts.append(_chosen(frame, path.chosen, path.alphas))
    ends = []
    for k, (name, line) in enumerate(zip(path.names, path.lines, strict=True)):
        kind = f"c{k + 1}" if k < SERIES else "c8"
        parts.append(frame.line(path.alphas, line, f"line {kind}"))
        ends.append((frame.y(line[-1]), name, kind))
    parts += _end_labels(ends, 258, 14, 250, WIDTH - 258)
    return drawing(WIDTH, 290, parts, label)


def _decades(alphas: tuple[float, ...]) -> list[float]:
    low, high = np.log10(min(alphas)), np.log10(max(alphas))
    found = [float(10.0**k) for k in range(int(np.ceil(low)), int(np.floor(high)) + 1)]
    return found[:: 1 + len(found) // 5] if found else [alphas[0], alphas[-1]]


def _chosen(frame: Frame, chosen: float | None, alphas: tuple[float, ...]) -> str:
    if chosen is None or not min(alphas) <= chosen <= max(alphas):
        return ""
    x = frame.x(chosen)
    line = f'<path class="mark" d="M{px(x)} {px(frame.top)}v{px(frame.height)}"/>'
    return line + text(x, frame.top - 8, "chosen", anchor="middle")


def _end_labels(
    ends: list[tuple[float, str, str]], x: float, least: float, most: float, room: float
) -> list[str]:
    """Names beside the ends of lines, moved apart where they meet."""
    gap = 14.0
    ordered = sorted(ends)
    heights: list[float] = []
    for y, _, _ in ordered:
        heights.append(max(y, heights[-1] + gap) if heights else max(y, least))
    over = max(0.0, heights[-1] - most) if heights else 0.0
    for k in range(len(heights) - 1, -1, -1):
        below = heights[k + 1] - gap if k + 1 < len(heights) else heights[k] - over
        heights[k] = min(heights[k], below)
    return [
        text(x, y + 4, shorten(name, room, 7.3), f"label {kind}", full=name)
        for y, (_, name, kind) in zip(heights, ordered, strict=True)
    ]


def _path_bars(path: PathLines, label: str) -> str:
    n = len(path.names)
    height = 18.0 * n
    frame = Frame(130, 24, 258, height, (path.alphas[0], path.alphas[-1]), (0, 1), log_x=True)
    parts = [frame.x_axis("alpha (decreasing)", _decades(path.alphas))]
    parts.append(_chosen(frame, path.chosen, path.alphas))
    for k, (name, entered) in enumerate(zip(path.names, path.entered, strict=True)):
        y, x = 24 + 18 * k, frame.x(entered)
        kind = "bar" if path.chosen is None or entered >= path.chosen else "bar weak"
        parts.append(
            f'<rect class="{kind}" x="{px(x)}" y="{px(y + 3)}" '
            f'width="{px(max(2.0, 388 - x))}" height="12"/>'
        )
        parts.append(text(124, y + 13, shorten(name, 120), "t", anchor="end", full=name))
    return drawing(WIDTH, height + 70, parts, label)


def curve_chart(curve: Curve, variable: str) -> str:
    """Partial dependence above, slopes below; levels as dots; categories one below the other."""
    label = f"{curve.output} against {variable}. {curve.words}"
    if curve.kind == "category":
        return _category_chart(curve, label)
    values = padded(curve.band_low, curve.band_high, curve.mean)
    across = (curve.grid[0], curve.grid[-1])
    is_discrete = curve.kind == "discrete"
    if is_discrete:
        across = padded(curve.grid)
    above = Frame(48, 24, 340, 150, across, values)
    parts = [above.y_axis(curve.output)]
    if is_discrete:
        parts += _levels(above, curve.grid, curve.mean, curve.band_low, curve.band_high, "1")
    else:
        parts.append(above.band(curve.grid, curve.band_low, curve.band_high, "band"))
        parts.append(text(above.left + above.width, 36, curve.band, "m", anchor="end"))
        parts.append(above.line(curve.grid, curve.mean, "line c1"))
        parts.append(_rug(above, curve.quantiles))
    at = curve.grid if is_discrete else None
    if not curve.slope_grid:
        parts.append(above.x_axis(variable, at))
        return drawing(WIDTH, 220, parts, label)
    slopes = padded(curve.slope_low, curve.slope_high, curve.slope_mean, (0.0,))
    below = Frame(48, 212, 340, 88, across, slopes)
    zero = below.y(0.0)
    parts.append(below.y_axis("step between levels, per unit" if is_discrete else "slope", 3))
    parts.append(f'<path class="axis" d="M48 {px(zero)}h340"/>')
    if is_discrete:
        steps = (curve.slope_grid, curve.slope_mean, curve.slope_low, curve.slope_high)
        parts += _levels(below, *steps, "2")
    else:
        parts.append(below.band(curve.slope_grid, curve.slope_low, curve.slope_high, "band slope"))
        parts.append(below.line(curve.slope_grid, curve.slope_mean, "line c2"))
    parts.append(below.x_axis(variable, at))
    return drawing(WIDTH, 345, parts, label)


def _levels(
    frame: Frame,
    at: tuple[float, ...],
    mean: tuple[float, ...],
    low: tuple[float, ...],
    high: tuple[float, ...],
    series: str,
) -> list[str]:
    """Dots with bars."""
    bars = "".join(
        f"M{px(frame.x(x))} {px(frame.y(a))}V{px(frame.y(b))}"
        for x, a, b in zip(at, low, high, strict=True)
    )
    return [
        f'<path class="spread c{series}" d="{bars}"/>',
        frame.points(at, mean, f"dot c{series}"),
    ]


def _rug(frame: Frame, quantiles: tuple[float, ...]) -> str:
    bottom = frame.top + frame.height
    low, high = frame.x_range
    marks = "".join(f"M{px(frame.x(q))} {px(bottom - 6)}v6" for q in quantiles if low <= q <= high)
    return f'<path class="rug" d="{marks}"/>'


def _category_chart(curve: Curve, label: str) -> str:
    order = sorted(range(len(curve.mean)), key=lambda k: -curve.mean[k])
    height = 24.0 * len(order)
    frame = Frame(130, 10, 258, height, padded(curve.band_low, curve.band_high, curve.mean), (0, 1))
    parts = [frame.x_axis(curve.output)]
    for row, k in enumerate(order):
        y = 10 + 24 * row + 12
        x, low, high = (frame.x(v) for v in (curve.mean[k], curve.band_low[k], curve.band_high[k]))
        name = curve.labels[k]
        parts.append(f'<path class="grid" d="M130 {px(y)}h258"/>')
        parts.append(f'<path class="spread c1" d="M{px(low)} {px(y)}H{px(high)}"/>')
        parts.append(f'<path class="dot c1" d="M{px(x)} {px(y)}h0"/>')
        parts.append(text(124, y + 4, shorten(name, 120), "t", anchor="end", full=name))
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
        size = answer.interaction_size(one)
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


def pair_chart(pair: Pair) -> str:
    """One variable along the axis, a line for each of three values of the other."""
    first, second = pair.names
    across = (pair.grid[0], pair.grid[-1])
    frame = Frame(48, 24, 250, 180, across, padded(*pair.lines))
    parts = [frame.y_axis(pair.output), frame.x_axis(first)]
    ends = []
    drawn = list(dict(zip(pair.at, pair.lines, strict=True)).items())  # levels may coincide
    for kind, (at, line) in zip(("c6", "c5", "c7"), drawn, strict=False):
        parts.append(frame.line(pair.grid, line, f"line {kind}"))
        ends.append((frame.y(line[-1]), number(at), kind))
    parts.append(text(304, 15, f"{shorten(second, 82)} =", "m", full=second))
    parts += _end_labels(ends, 304, 34, 204, 90)
    low, high = number(drawn[0][0]), number(drawn[-1][0])
    label = f"{pair.output} against {first}, for {second} between {low} and {high}"
    return drawing(WIDTH, 250, parts, label)


def scatter_chart(found: HeldOutNumbers, target: str) -> str:
    """Predicted against observed; on the line predictions are right."""
    step = 1 + len(found.observed) // MOST_POINTS
    observed, predicted = found.observed[::step], found.predicted[::step]
    both = padded(observed, predicted, around=0.04)
    frame = Frame(52, 24, 336, 300, both, both)
    parts = [
        frame.y_axis(f"predicted {target}"[:60]),
        frame.x_axis(f"observed {target}", ticks(*both)),
        frame.line(both, both, "mark"),
        frame.points(observed, predicted, "cloud"),
    ]
    words = f"Predicted against observed {target}, {len(observed)} left-out rows"
    return drawing(WIDTH, 370, parts, words)


def residual_chart(found: HeldOutNumbers, target: str) -> str:
    """Errors against predictions; nine of ten lie between the lines."""
    step = 1 + len(found.observed) // MOST_POINTS
    predicted = np.array(found.predicted)
    errors = np.array(found.observed) - predicted
    half = float(np.quantile(np.abs(errors), COVERED))
    across = padded(found.predicted, around=0.04)
    frame = Frame(52, 24, 336, 300, across, padded(errors, (-half, half)))
    parts = [
        frame.y_axis(f"observed minus predicted {target}"[:60]),
        frame.x_axis(f"predicted {target}"),
        frame.band(across, (-half, -half), (half, half), "band"),
        frame.line(across, (0.0, 0.0), "mark"),
        frame.points(predicted[::step].tolist(), errors[::step].tolist(), "cloud"),
    ]
    words = f"Errors of left-out rows; {COVERED:.0%} are under {number(half)} in size"
    return drawing(WIDTH, 370, parts, words)


def swarm_chart(swarm: Swarm) -> str:
    """A dot for each row, a line of dots for each column: beside each other where they meet."""
    step = 30.0
    frame = Frame(130, 10, 258, step * len(swarm.names), padded(*swarm.parts, (0.0,)), (0, 1))
    parts = [frame.x_axis(f"added to {swarm.output}")]
    zero, bottom = frame.x(0.0), 10 + step * len(swarm.names)
    parts.append(f'<path class="mark" d="M{px(zero)} 10V{px(bottom)}"/>')
    for k, (name, values) in enumerate(zip(swarm.names, swarm.parts, strict=True)):
        middle, taken, marks = 10 + step * (k + 0.5), dict[int, int](), []
        for value in values:
            x = frame.x(value)
            n = taken[round(x / 3)] = taken.get(round(x / 3), 0) + 1
            side = (n // 2) * (1 if n % 2 else -1)
            marks.append(f"M{px(x)} {px(middle + max(min(2.4 * side, 13), -13))}h0")
        parts.append(f'<path class="cloud small" d="{"".join(marks)}"/>')
        parts.append(text(124, middle + 4, shorten(name, 120), "t", anchor="end", full=name))
    label = f"What {len(swarm.names)} columns add to {swarm.output} of {len(swarm.parts[0])} rows"
    return drawing(WIDTH, bottom + 50, parts, label)


def calibration_chart(found: HeldOutClasses) -> str:
    """How often what was told with some probability came true; on the line it is honest."""
    told, true, rows = zip(*found.calibration, strict=True)
    frame = Frame(52, 24, 336, 300, (-0.03, 1.03), (-0.03, 1.03))
    at = (0.0, 0.25, 0.5, 0.75, 1.0)
    parts = [
        frame.y_axis("share that came true"),
        frame.x_axis("probability told", at),
        frame.line((0.0, 1.0), (0.0, 1.0), "mark"),
        frame.line(told, true, "line c1"),
        frame.points(told, true, "dot c1"),
    ]
    label = f"Probabilities told and shares that came true, {sum(rows):.0f} of them"
    return drawing(WIDTH, 370, parts, label)


def numbers_of(curve: Curve, most: int = 9) -> tuple[list[str], list[list[str]]]:
    """The curve as a small table: header and rows."""
    header = ["Value", "Mean", curve.band]
    is_smooth = bool(curve.slope_grid) and curve.kind == "continuous"
    if is_smooth:
        header += ["Slope", "80% of slopes"]
    step = 1 if curve.labels else max(1, -(-len(curve.grid) // most))
    rows = []
    for k in range(0, len(curve.grid), step):
        value = curve.labels[k] if curve.labels else tick_text(float(f"{curve.grid[k]:.4g}"))
        low, mean, high = (
            value_of(curve.output, v[k]) for v in (curve.band_low, curve.mean, curve.band_high)
        )
        row = [value, mean, f"{low} to {high}"]
        if is_smooth:
            slopes = _between(curve.slope_low[k], curve.slope_high[k])
            row += [number(curve.slope_mean[k]), slopes]
        rows.append(row)
    return header, rows


def value_of(output: str, value: float) -> str:
    """A predicted value: a probability in hundredths, else a number in at most four digits."""
    return f"{value:.2f}" if output.startswith("probability") else number(value)


def _between(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}"


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
    environment = _environment()
    markup = environment.globals["Markup"]

    def drawn(chart: Any) -> Any:
        return lambda *of: markup(chart(*of))

    template = environment.get_template("report.html")
    answer = report.answer
    largest = largest_size(answer)
    headers, rows = answer.table()
    return str(
        template.render(
            report=report,
            answer=answer,
            headers=headers,
            rows=rows,
            light=variables(LIGHT),
            dark=variables(DARK),
            script=markup((TEMPLATES / "report.js").read_text(encoding="utf-8")),
            places={effect.variable: k for k, effect in enumerate(report.effects)},
            numbers_of=numbers_of,
            share_bar=lambda column: markup(bar_svg(column, largest)),
            small_shape=lambda name: markup(report.small_shapes[name]),
            curve_chart=drawn(curve_chart),
            interaction_chart=drawn(interaction_chart),
            pair_chart=drawn(pair_chart),
            scatter_chart=drawn(scatter_chart),
            residual_chart=drawn(residual_chart),
            calibration_chart=drawn(calibration_chart),
            swarm_chart=drawn(swarm_chart),
            path_chart=drawn(path_chart),
        )
    )


def _environment() -> Any:
    try:
        import jinja2
        import markupsafe
    except ImportError as error:
        raise MissingExtraError(
            'A report needs jinja2; install it with pip install "nablasso[report]".'
        ) from error

    def load(name: str) -> str:
        return (TEMPLATES / name).read_text(encoding="utf-8")

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.globals["Markup"] = markupsafe.Markup
    return environment
