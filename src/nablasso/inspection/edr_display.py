"""The effective directions of sparse gradient learning, as a plot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier

from nablasso.errors import InvalidParameterError
from nablasso.estimators.sparse_gradient_base import SparseGradientEstimator
from nablasso.estimators.validation import feature_names
from nablasso.inspection.canvas import BLUE, COLOURS, shorten, split_axes, tidy
from nablasso.types import Array

SHOWN = 12  # variables with a bar
NEGLIGIBLE = 0.01  # of the largest loading


@dataclass
class EdrDisplay:
    """Loadings of the directions, and the rows projected on them.

    One direction: the target against it. Two or more: the first two against each other, coloured
    by the target.

    Parameters
    ----------
    components : array, shape (q, d)
        The directions, in standardised columns.
    shares : array, shape (q,)
        Share of the gradients' covariance that each explains.
    names : list of str
        The columns.
    projections : array, shape (n, q)
    y : array, shape (n,)
        The target, or labels.

    Attributes
    ----------
    ax_, figure_
        The axes of the projections and their figure, set by :meth:`plot`.
    axes_ : list
        Loadings and projections.
    """

    components: Array
    shares: Array
    names: list[str]
    projections: Array
    y: Any
    is_classes: bool = False
    ax_: Any = field(default=None, init=False, repr=False)
    axes_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the directions of a fitted sparse gradient model.

        Parameters
        ----------
        estimator : fitted SparseGradientRegressor or SparseGradientClassifier, or their CV
        X : array-like, shape (n_samples, n_features)
            Rows to project.
        y : array-like, shape (n_samples,)
        ax : matplotlib Axes, optional
            Its place is divided in two.

        Returns
        -------
        EdrDisplay
        """
        if not isinstance(estimator, SparseGradientEstimator):
            raise InvalidParameterError(
                "EdrDisplay needs a fitted sparse gradient estimator, such as "
                f"SparseGradientRegressor; got {estimator!r}."
            )
        total = float(estimator.spectrum_.sum())
        q = len(estimator.components_)
        shares = estimator.spectrum_[:q] / total if total > 0 else np.zeros(q)
        projections = np.asarray(estimator.transform(X), dtype=float)
        return cls(
            components=estimator.components_,
            shares=np.asarray(shares),
            names=feature_names(estimator),
            projections=projections,
            y=np.asarray(y),
            is_classes=is_classifier(estimator),
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw in the place of the given axes, or in a new figure."""
        left, right = split_axes(ax, type(self).__name__, (9.5, 4.4), (1, 2), widths=(1, 1.25))
        self._loadings(left)
        self._rows(right)
        for axes in (left, right):
            tidy(axes)
        left.grid(visible=False, axis="y")
        self.ax_, self.axes_, self.figure_ = right, [left, right], right.figure
        return self

    def _loadings(self, ax: Any) -> None:
        shown = min(2, len(self.components))
        size = np.abs(self.components[:shown]).max(axis=0)
        order = np.argsort(-size, kind="stable")
        order = order[size[order] > NEGLIGIBLE * size.max()][:SHOWN]
        height = 0.75 / shown
        for k in range(shown):
            share = f" ({self.shares[k]:.0%})" if k < len(self.shares) else ""
            ax.barh(
                np.arange(len(order)) + (k - (shown - 1) / 2) * height,
                self.components[k, order],
                height=height,
                color=COLOURS[k],
                label=f"direction {k + 1}{share}",
            )
        ax.axvline(0, color="0.3", linewidth=1)
        ax.set_yticks(range(len(order)), [shorten(self.names[a], 20) for a in order])
        ax.invert_yaxis()
        ax.set_xlabel("loading, per standard deviation")
        ax.legend(
            frameon=False,
            fontsize=9,
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=shown,
            borderaxespad=0,
            handlelength=1,
        )

    def _rows(self, ax: Any) -> None:
        first = self.projections[:, 0]
        if self.projections.shape[1] == 1:
            second, y_label = self.y, "target"
            if self.is_classes:
                labels, second = np.unique(self.y, return_inverse=True)
                ax.set_yticks(range(len(labels)), [shorten(str(label)) for label in labels])
            ax.plot(first, second, "o", color=BLUE, markersize=4, alpha=0.6, markeredgewidth=0)
        else:
            second, y_label = self.projections[:, 1], "direction 2"
            self._coloured(ax, first, second)
        ax.set_xlabel("direction 1")
        ax.set_ylabel(y_label)

    def _coloured(self, ax: Any, first: Array, second: Array) -> None:
        if not self.is_classes:
            points = ax.scatter(first, second, c=self.y, cmap="viridis", s=18, linewidths=0)
            bar = ax.figure.colorbar(points, ax=ax)
            bar.outline.set_visible(False)
            bar.set_label("target")
            return
        for k, label in enumerate(np.unique(self.y)):
            mine = self.y == label
            ax.plot(
                first[mine],
                second[mine],
                "os^Dv<>p"[k % 8],
                color=COLOURS[k % len(COLOURS)],
                markersize=5,
                alpha=0.7,
                markeredgewidth=0,
                label=shorten(str(label)),
            )
        ax.legend(frameon=False, fontsize=9)
