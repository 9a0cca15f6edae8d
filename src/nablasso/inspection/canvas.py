"""Axes to draw on, and the looks that all displays share."""

from __future__ import annotations

from typing import Any

from nablasso.errors import MissingExtraError

BLUE, ORANGE, GREEN, GREY = "#2563a8", "#c2571a", "#2f7d4f", "#8a8f98"
# Told apart by colour-blind eyes too, and dark enough for lines on white.
COLOURS = (BLUE, ORANGE, GREEN, "#8b3f8f", "#a8741a", "#1c7f8c", "#b03a5b", "#5a5f6b")
DIVERGING = "RdBu_r"
SEQUENTIAL = "Blues"


def pyplot_for(who: str) -> Any:
    """matplotlib's pyplot, or an error that says how to install it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError(
            f'{who} needs matplotlib; install it with pip install "nablasso[plot]".'
        ) from error
    return pyplot


def open_axes(ax: Any, who: str, size: tuple[float, float] = (7.0, 4.5)) -> Any:
    """The given axes, or new ones."""
    pyplot = pyplot_for(who)
    if ax is not None:
        return ax
    return pyplot.figure(figsize=size, layout="constrained").add_subplot()


def split_axes(
    ax: Any,
    who: str,
    size: tuple[float, float],
    shape: tuple[int, int],
    *,
    heights: tuple[float, ...] | None = None,
    widths: tuple[float, ...] | None = None,
) -> list[Any]:
    """Several axes in the place of one, whose own frame is taken away."""
    ax = open_axes(ax, who, size)
    ax.set_axis_off()
    grid = ax.get_subplotspec().subgridspec(
        *shape, height_ratios=heights, width_ratios=widths, hspace=0.12, wspace=0.3
    )
    figure = ax.figure
    return [
        figure.add_subplot(grid[k // shape[1], k % shape[1]])
        for k in range(grid.nrows * grid.ncols)
    ]


def tidy(ax: Any) -> None:
    """Two spines and a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)


def shorten(name: str, most: int = 24) -> str:
    """A name that fits beside a plot, its dollar signs taken literally."""
    text = name if len(name) <= most else name[: most - 1] + "…"
    return text.replace("$", r"\$")


def end_labels(ax: Any, labels: list[tuple[float, str, str]]) -> None:
    """Names at the right ends of lines, ``(height, name, colour)``, moved apart where they meet."""
    low, high = ax.get_ylim()
    gap = 0.055 * (high - low)
    ordered = sorted(labels)
    heights = [height for height, _, _ in ordered]
    for k in range(1, len(heights)):
        heights[k] = max(heights[k], heights[k - 1] + gap)
    over = max(0.0, heights[-1] - high) if heights else 0.0
    for height, (_, name, colour) in zip(heights, ordered, strict=True):
        ax.annotate(
            shorten(name),
            (1.0, height - over),
            xycoords=("axes fraction", "data"),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=9,
        )
