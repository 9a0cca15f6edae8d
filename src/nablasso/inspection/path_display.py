"""The regularisation path as a plot: which variables enter first, and how strongly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from nablasso.estimators.alpha_path import Path
from nablasso.inspection.canvas import BLUE, COLOURS, GREY, end_labels, open_axes, shorten, tidy
from nablasso.inspection.paths import path_of

SHOWN = 8  # variables with a colour and a name
ROWS = 20  # variables with a bar, where a path has no importances


@dataclass
class PathDisplay:
    """A regularisation path: importance of each variable against alpha, largest alpha left.

    Paths without importances (hierarchical kernels) are drawn as bars over the alphas at which a
    variable is selected.

    Parameters
    ----------
    path : Path
        Alphas, support, importances and names.

    Attributes
    ----------
    ax_, figure_
        Set by :meth:`plot`.

    Examples
    --------
    >>> from nablasso import DerivativeLasso, path
    >>> from nablasso.datasets import make_product
    >>> from nablasso.inspection import PathDisplay
    >>> data = make_product(40, 3, random_state=0)
    >>> along = path(DerivativeLasso(), data.X, data.y, n_alphas=5)
    >>> display = PathDisplay.from_path(along)  # doctest: +SKIP
    """

    path: Path
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        n_alphas: int = 30,
        ax: Any = None,
    ) -> Self:
        """Compute and draw the path that a fitted selector lies on.

        Parameters
        ----------
        estimator : fitted selector
            A derivative, sparse gradient, hierarchical or automatic one, with or without CV.
        X : array-like, shape (n_samples, n_features)
            The rows of the fit.
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
        n_alphas : int, default=30
        ax : matplotlib Axes, optional

        Returns
        -------
        PathDisplay
        """
        return cls(path_of(estimator, X, y, sample_weight, n_alphas=n_alphas)).plot(ax)

    @classmethod
    def from_path(
        cls,
        path: Any,
        *,
        names: Sequence[str] | None = None,
        chosen: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw a path that was computed before.

        Parameters
        ----------
        path : Path
        names : list of str, optional
            Of the columns; by default those of the path.
        chosen : float, optional
            An alpha to mark.
        ax : matplotlib Axes, optional

        Returns
        -------
        PathDisplay
        """
        listed = path.names if names is None else [str(name) for name in names]
        return cls(
            replace(path, names=listed, chosen=path.chosen if chosen is None else chosen)
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        ax = open_axes(ax, type(self).__name__)
        if self.path.importances is None:
            self._bars(ax)
        else:
            self._lines(ax, self.path.importances)
        ax.set_xscale("log")
        alphas = self.path.alphas
        if len(alphas) > 1:
            ax.set_xlim(alphas[0] * 1.02, alphas[-1])
        ax.set_xlabel("alpha  (fewer variables ← → more variables)")
        if self.path.chosen is not None and alphas[-1] <= self.path.chosen <= alphas[0]:
            ax.axvline(self.path.chosen, color="0.25", linestyle="--", linewidth=1)
            ax.annotate(
                "chosen",
                (self.path.chosen, 1.0),
                xycoords=("data", "axes fraction"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=9,
                color="0.25",
            )
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _lines(self, ax: Any, importances: Any) -> None:
        alphas, names = self.path.alphas, self.path.names
        order = np.argsort(-importances.max(axis=0), kind="stable")
        order = order[importances.max(axis=0)[order] > 0]
        for a in order[SHOWN:]:
            ax.plot(alphas, importances[:, a], color="0.8", linewidth=1)
        labels = []
        for colour, a in zip(COLOURS, order[:SHOWN], strict=False):
            ax.plot(alphas, importances[:, a], color=colour, linewidth=2, label=shorten(names[a]))
            labels.append((float(importances[-1, a]), names[a], colour))
        tidy(ax)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("importance")
        end_labels(ax, labels)
        if len(order) > SHOWN:
            ax.set_title(f"grey: {len(order) - SHOWN} weaker variables", fontsize=9, loc="left")

    def _bars(self, ax: Any) -> None:
        path = self.path
        entered = path.entered
        order = np.argsort(-entered, kind="stable")
        order = order[entered[order] > 0][:ROWS]
        ratio = path.alphas[1] / path.alphas[0] if len(path.alphas) > 1 else 0.5
        for place, a in enumerate(order):
            inside = path.alphas[path.support[:, a]]
            lefts, widths = inside * ratio**0.5, inside * (ratio**-0.5 - ratio**0.5)
            colour = BLUE if path.chosen is None or entered[a] >= path.chosen else GREY
            ax.barh(np.full(len(inside), place), widths, left=lefts, height=0.6, color=colour)
        tidy(ax)
        ax.grid(visible=False, axis="y")
        ax.set_yticks(range(len(order)), [shorten(path.names[a]) for a in order])
        ax.invert_yaxis()
        if (entered > 0).sum() > ROWS:
            ax.set_title(f"the first {ROWS} of {int((entered > 0).sum())}", fontsize=9, loc="left")
