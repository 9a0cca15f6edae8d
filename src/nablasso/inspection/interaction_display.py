"""Which pairs of variables act together, as a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from nablasso.estimators.validation import column_indices, feature_names
from nablasso.inspection.canvas import SEQUENTIAL, open_axes, shorten
from nablasso.inspection.strengths import default_columns, interaction_strengths
from nablasso.reading import Interaction


@dataclass
class InteractionDisplay:
    """Root mean squared cross derivatives of all pairs: dark cells act together.

    Parameters
    ----------
    pairs : list of Interaction
        Tuples ``(a, b, strength)``.
    columns : list of int
        The variables, in the order of the map.
    names : list of str
        Their names.

    Attributes
    ----------
    ax_, figure_, image_
        Set by :meth:`plot`.
    """

    pairs: list[Interaction]
    columns: list[int]
    names: list[str]
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)
    image_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        columns: Sequence[str | int] | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Compute and draw the interactions of a fitted model.

        Parameters
        ----------
        estimator : fitted regressor or classifier
        X : array-like, shape (n_samples, n_features)
            Rows to average over.
        columns : list of names or places, optional
            By default the selected variables, at most 15.
        ax : matplotlib Axes, optional
        **options
            Of :func:`interaction_strengths`: ``target``, ``unit``, ``max_rows``, ...

        Returns
        -------
        InteractionDisplay
        """
        chosen = (
            default_columns(estimator)
            if columns is None
            else column_indices(estimator, columns, "columns")
        )
        pairs = interaction_strengths(estimator, X, list(chosen), **options)
        names = feature_names(estimator)
        listed = [int(a) for a in chosen]
        return cls(pairs, listed, [names[a] for a in listed]).plot(ax)

    @property
    def matrix(self) -> Any:
        """Strengths as a symmetric matrix, (p, p), nan on the diagonal."""
        place = {a: k for k, a in enumerate(self.columns)}
        out = np.full((len(place), len(place)), np.nan)
        for a, b, strength in self.pairs:
            out[place[a], place[b]] = out[place[b], place[a]] = strength
        return out

    def plot(self, ax: Any = None) -> Self:
        """Draw on the given axes, or on new ones."""
        p = len(self.columns)
        side = min(9.0, 2.8 + 0.55 * p)
        ax = open_axes(ax, type(self).__name__, (side + 0.6, side))
        values = self.matrix
        top = float(np.nanmax(values)) if self.pairs else 0.0
        self.image_ = ax.imshow(values, cmap=SEQUENTIAL, vmin=0, vmax=top or 1.0)
        labels = [shorten(name, 20) for name in self.names]
        ax.set_xticks(range(p), labels, rotation=40, ha="right", rotation_mode="anchor")
        ax.set_yticks(range(p), labels)
        ax.spines[:].set_visible(False)
        ax.set_xticks(np.arange(p + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(p + 1) - 0.5, minor=True)
        ax.grid(visible=True, which="minor", color="white", linewidth=2)
        ax.tick_params(which="both", length=0)
        for i, j in zip(*np.nonzero(np.isfinite(values)), strict=True):
            dark = values[i, j] > 0.6 * (top or 1.0)
            ax.text(
                j,
                i,
                f"{values[i, j]:.2f}",
                ha="center",
                va="center",
                color="white" if dark else "0.25",
                fontsize=9 if p <= 8 else 7,
            )
        bar = ax.figure.colorbar(self.image_, ax=ax, shrink=0.7)
        bar.outline.set_visible(False)
        bar.set_label("mean size of the cross derivative")
        self.ax_, self.figure_ = ax, ax.figure
        return self
