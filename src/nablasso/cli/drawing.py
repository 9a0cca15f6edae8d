"""Writing a plot to a file, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from nablasso.errors import InvalidParameterError, MissingExtraError
from nablasso.persistence import atomic_write

SUFFIXES = (".png", ".svg", ".pdf")


def check_plot(path: Path | None) -> None:
    """Refuse a file that could not be drawn, before anything is computed."""
    if path is None:
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


def draw(plot: Callable[[], Any], path: Path) -> None:
    """Draw a display and write its figure.

    Parameters
    ----------
    plot : callable
        Returns something with ``figure_``.
    path : Path
        Its suffix is the format.
    """
    check_plot(path)
    from matplotlib import pyplot

    figure = plot().figure_
    try:
        with atomic_write(path) as place:
            figure.savefig(place, dpi=150, format=path.suffix[1:].lower())
    finally:
        pyplot.close(figure)
