"""What all displays share: axes to draw on, and looks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from nablasso.errors import optional
from nablasso.estimators.display import ACCENT, shorten

BLUE, ORANGE, GREEN, GREY = ACCENT, "#c2571a", "#2f7d4f", "#8a8f98"
# Told apart by colour-blind eyes too, and dark enough for lines on white.
COLOURS = (BLUE, ORANGE, GREEN, "#8b3f8f", "#a8741a", "#1c7f8c", "#b03a5b", "#5a5f6b")
SEQUENTIAL = "Blues"


class Display(ABC):
    """A drawing of numbers: :meth:`plot` opens axes and lets the display draw on them.

    Displays are dataclasses of the numbers they draw. Their method ``of`` computes these from a
    fitted model, :meth:`from_estimator` computes and plots.
    """

    of: Any  # a class method: from a fitted model to the display, not drawn yet

    size: ClassVar[tuple[float, float]] = (7.0, 4.5)  # of a new figure, in inches
    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *arguments: Any, ax: Any = None, **options: Any
    ) -> Self:
        """Compute and draw, on ``ax`` or a new figure: :meth:`plot` of :meth:`of`."""
        display: Self = cls.of(estimator, *arguments, **options)
        return display.plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones; keep them as ``ax_`` and ``figure_``."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> Any:
        """Draw in the place of ``ax``; return the axes that matter most."""

    def _open(self, ax: Any, size: tuple[float, float] | None = None) -> Any:
        """The given axes, or new ones."""
        if ax is not None:
            return ax
        optional("matplotlib", f"{type(self).__name__} needs matplotlib", "plot")
        from matplotlib import pyplot

        return pyplot.figure(figsize=size or self.size, layout="constrained").add_subplot()

    def _split(self, ax: Any, shape: tuple[int, int], **ratios: tuple[float, ...]) -> list[Any]:
        """Several axes in the place of one, whose own frame is taken away."""
        ax = self._open(ax)
        ax.set_axis_off()
        grid = ax.get_subplotspec().subgridspec(*shape, hspace=0.12, wspace=0.3, **ratios)
        return [ax.figure.add_subplot(cell) for cell in grid]


def tidy(ax: Any) -> None:
    """Two spines and a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(visible=True, color="0.92", linewidth=0.8)
    ax.set_axisbelow(True)


def dots(ax: Any, x: Any, y: Any, colour: str = BLUE, **looks: Any) -> None:
    """Rows as points without edges."""
    defaults = {"marker": "o", "linestyle": "", "markersize": 4, "alpha": 0.6}
    ax.plot(x, y, color=colour, markeredgewidth=0, **defaults | looks)


def legend(ax: Any) -> None:
    """Names of lines, to the right of them."""
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)


def rows_down(ax: Any, names: Sequence[str], most: int = 24) -> None:
    """Names on the vertical axis, the first one at the top."""
    ax.set_yticks(range(len(names)), [shorten(name, most) for name in names])
    ax.invert_yaxis()
