"""Drawing in SVG: a frame with axes, and marks in the units of the data.

Colours are classes, so that the page's style sheet gives them for light and dark. Texts from the
table are escaped here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

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
