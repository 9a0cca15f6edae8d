"""The charts of a report, each 400 units wide: for a phone, or side by side on a desk."""

from __future__ import annotations

from html import escape

import numpy as np

from nablasso.report.content import Curve, HeldOut, InteractionMap, Pair, PathLines
from nablasso.report.palette import STRONGEST_CELL
from nablasso.report.svg import (
    Frame,
    drawing,
    padded,
    px,
    shorten,
    text,
    tick_text,
    ticks,
)
from nablasso.report.words import number, value_of

WIDTH = 400.0
SERIES = 8  # colours
MOST_POINTS = 1500


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
    values = padded(curve.low, curve.high, curve.mean)
    across = (curve.grid[0], curve.grid[-1])
    is_discrete = curve.kind == "discrete"
    if is_discrete:
        across = padded(curve.grid)
    above = Frame(48, 24, 340, 150, across, values)
    parts = [above.y_axis(curve.output)]
    if is_discrete:
        parts += _levels(above, curve.grid, curve.mean, curve.low, curve.high, "1")
    else:
        parts.append(above.band(curve.grid, curve.low, curve.high, "band"))
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
    frame = Frame(130, 10, 258, height, padded(curve.low, curve.high, curve.mean), (0, 1))
    parts = [frame.x_axis(curve.output)]
    for row, k in enumerate(order):
        y = 10 + 24 * row + 12
        x, low, high = (frame.x(v) for v in (curve.mean[k], curve.low[k], curve.high[k]))
        name = curve.labels[k]
        parts.append(f'<path class="grid" d="M130 {px(y)}h258"/>')
        parts.append(f'<path class="spread c1" d="M{px(low)} {px(y)}H{px(high)}"/>')
        parts.append(f'<path class="dot c1" d="M{px(x)} {px(y)}h0"/>')
        parts.append(text(124, y + 4, shorten(name, 120), "t", anchor="end", full=name))
    return drawing(WIDTH, height + 58, parts, label)


def interaction_chart(found: InteractionMap) -> str:
    """A cell for each pair, the darker the stronger, with its number; names along the diagonal."""
    n = len(found.names)
    cell = min(46.0, (WIDTH - 118.0) / n)
    top = max((strength for *_, strength in found.strengths), default=0.0) or 1.0
    parts = []
    for i, j, strength in found.strengths:
        x, y = 4 + cell * i, 4 + cell * j
        share = STRONGEST_CELL * strength / top
        pair = f"{found.names[i]} and {found.names[j]}: {strength:.2f}"
        parts.append(
            f'<rect class="cell" x="{px(x + 1)}" y="{px(y + 1)}" width="{px(cell - 2)}" '
            f'height="{px(cell - 2)}" fill-opacity="{share:.3f}">'
            f"<title>{escape(pair)}</title></rect>"
        )
        shown = f"{strength:.2f}" if cell > 34 else f"{strength:.1f}".removeprefix("0")
        kind = "t small" if cell > 27 else "t tiny"
        parts.append(text(x + cell / 2, y + cell / 2 + 4, shown, kind, anchor="middle"))
    for k, name in enumerate(found.names):
        room = WIDTH - 8 - cell * k - 6
        x, y = 4 + cell * k + 4, 4 + cell * k + cell / 2 + 4
        parts.append(text(x, y, shorten(name, room, 7.2), "t", full=name))
    strongest = found.strengths[0] if found.strengths else None
    label = f"Map of the interactions of {n} variables."
    if strongest is not None:
        i, j, strength = strongest
        label += f" Strongest: {found.names[i]} and {found.names[j]}, {strength:.2f}."
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


def scatter_chart(found: HeldOut, target: str) -> str:
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
    words = f"Predicted against observed {target}, {len(observed)} left-out rows, R2 {found.r2:.2f}"
    return drawing(WIDTH, 370, parts, words)


def numbers_of(curve: Curve, most: int = 9) -> tuple[list[str], list[list[str]]]:
    """The curve as a small table: header and rows."""
    header = ["Value", "Mean", "80% of rows"]
    is_smooth = curve.kind == "continuous"
    if is_smooth:
        header += ["Slope", "80% of slopes"]
    step = 1 if curve.labels else max(1, -(-len(curve.grid) // most))
    rows = []
    for k in range(0, len(curve.grid), step):
        value = curve.labels[k] if curve.labels else tick_text(float(f"{curve.grid[k]:.4g}"))
        low, mean, high = (
            value_of(curve.output, v[k]) for v in (curve.low, curve.mean, curve.high)
        )
        row = [value, mean, f"{low} to {high}"]
        if is_smooth:
            slopes = _between(curve.slope_low[k], curve.slope_high[k])
            row += [number(curve.slope_mean[k]), slopes]
        rows.append(row)
    return header, rows


def _between(low: float, high: float) -> str:
    return f"{number(low)} to {number(high)}"
