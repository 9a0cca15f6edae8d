r"""Penalties on the rows of ``B``: one row per variable, ``|B_a|`` the norm of its derivative.

With norms ``N_g`` of groups of rows and weights ``w_g`` (the size of the group):

* ``"lasso"``:    ``alpha sum_g w_g N_g``
* ``"squared"``:  ``alpha (sum_g w_g N_g)^2``   (10)
* ``"ridge"``:    ``alpha sum_g N_g^2``         (17)

Groups that are always kept (weight 0) have ``ridge N_g^2`` instead: without any penalty their
derivatives could follow every row.

**Conjugates**, of the gradient's norms ``D_g``: lasso, zero where all ``D_g <= alpha w_g``, else
infinite; squared, ``max_g (D_g / w_g)^2 / 4 alpha``; ridge, ``sum_g D_g^2 / 4 alpha``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from nablasso.types import Array, Index, Mask

FORMS = ("lasso", "squared", "ridge")


@dataclass(frozen=True)
class RowPenalty:
    """A penalty on groups of rows.

    ``labels`` (p,) are group numbers 0, 1, ..., ``weights`` (n_groups,) are zero for groups that
    are always kept.
    """

    form: str
    labels: Index
    weights: Array
    alpha: float
    ridge: float

    @property
    def kept(self) -> Mask:
        """Groups with a ridge instead of a norm."""
        everything = self.form == "ridge"
        return np.asarray((self.weights == 0) | everything)

    @property
    def ridges(self) -> Array:
        """Weight of the squared norm of each kept group."""
        return np.full(len(self.weights), self.alpha if self.form == "ridge" else self.ridge)

    def restricted(self, columns: Index) -> Self:
        """The penalty of some rows, whole groups; groups are renumbered."""
        groups, labels = np.unique(self.labels[columns], return_inverse=True)
        return replace(self, labels=labels, weights=self.weights[groups])

    def group_norms(self, squares: Array) -> Array:
        """Norms of the groups from squared norms of the rows."""
        if len(self.weights) == len(squares):
            out = np.empty(len(squares))
            out[self.labels] = squares
            return np.sqrt(out)
        return np.sqrt(np.bincount(self.labels, weights=squares, minlength=len(self.weights)))

    def norms(self, B: Array) -> Array:
        """Norms of the groups of rows of ``B``."""
        return self.group_norms(np.einsum("ar,ar->a", B, B))

    def value(self, B: Array) -> float:
        """The penalty at ``B``."""
        norms, kept = self.norms(B), self.kept
        ridge = float(np.sum((self.ridges * norms**2)[kept]))
        total = float(self.weights @ norms) if self.form != "ridge" else 0.0
        return ridge + self.alpha * (total**2 if self.form == "squared" else total)

    def prox(self, B: Array, step: float) -> Array:
        """``argmin_A step penalty(A) + |A - B|^2 / 2``."""
        norms, kept = self.norms(B), self.kept
        threshold = step * self.alpha
        if self.form == "squared":
            threshold = self._squared_threshold(norms, step)
        safe = np.where(norms > 0, norms, 1.0)
        factors = np.maximum(1.0 - threshold * self.weights / safe, 0.0)
        factors = np.where(kept, 1.0 / (1.0 + 2.0 * step * self.ridges), factors)
        return np.asarray(B * factors[self.labels, None])

    def _squared_threshold(self, norms: Array, step: float) -> float:
        """``kappa = 2 step alpha sum_g w_g N_g`` of the shrunk norms ``N_g = n_g - kappa w_g``.

        The largest root over the sets of groups in order of ``n_g / w_g``.
        """
        free = ~self.kept
        w, n = self.weights[free], norms[free]
        order = np.argsort(-n / w, kind="stable")
        w, n = w[order], n[order]
        scale = 2 * step * self.alpha
        roots = scale * np.cumsum(w * n) / (1 + scale * np.cumsum(w**2))
        return float(roots.max(initial=0.0))

    def gauge(self, norms: Array) -> float:
        """``max_g D_g / w_g`` over the groups that are not kept."""
        free = ~self.kept
        return float(np.max(norms[free] / self.weights[free], initial=0.0))

    def dual_scale(self, norms: Array) -> float:
        """Largest t in [0, 1] for which ``t`` times gradients of these norms is feasible."""
        top = self.gauge(norms) if self.form == "lasso" else 0.0
        return min(1.0, self.alpha / top) if top > 0 else 1.0

    def conjugate(self, norms: Array) -> float:
        """Conjugate at feasible gradients of these norms."""
        kept = self.kept
        safe = np.where(self.ridges > 0, self.ridges, 1.0)
        value = float(np.sum((norms**2 / (4 * safe))[kept]))
        if self.form == "squared":
            value += self.gauge(norms) ** 2 / (4 * self.alpha)
        return value

    def level(self, B: Array) -> float:
        """``D_g / w_g`` above which a group that is zero at ``B`` should not be."""
        if self.form == "squared":
            return 2 * self.alpha * float(self.weights @ self.norms(B))
        return self.alpha
