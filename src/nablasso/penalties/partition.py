"""Groups of variables: a partition of the columns of an (n, d) array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.errors import InvalidParameterError
from nablasso.types import Array, Index


class Partition:
    """Every variable belongs to exactly one group.

    Parameters
    ----------
    labels : array of int, shape (d,)
        Group of each variable; any integers.
    """

    def __init__(self, labels: Index) -> None:
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        order = np.argsort(first)  # groups are numbered as they appear among the columns
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        self.labels = rank[inverse]
        self.first = first[order]  # the first column of each group
        self.n_groups = len(order)
        self.sizes = np.bincount(self.labels, minlength=self.n_groups)

    @classmethod
    def singletons(cls, n_features: int) -> Partition:
        """Every variable a group of its own."""
        return cls(np.arange(n_features))

    @classmethod
    def from_groups(cls, groups: Iterable[Sequence[int]], n_features: int) -> Partition:
        """Partition from lists of column indices; refuses gaps and overlaps.

        Groups are renumbered by their first column, whatever their order in the list.
        """
        return cls(labels_from_groups(groups, n_features))

    def norms(self, g: Array) -> Array:
        """Euclidean norm of each group of columns of ``g`` (n, d), shape (n_groups,)."""
        squares = np.einsum("ia,ia->a", g, g)
        return np.sqrt(np.bincount(self.labels, weights=squares, minlength=self.n_groups))

    def rescale(self, g: Array, old: Array, new: Array) -> Array:
        """Give each group of columns of ``g``, of norms ``old``, the norms ``new``."""
        factor = np.divide(new, old, out=np.zeros_like(old), where=old > 0)
        return np.asarray(g * factor[self.labels])

    def spread(self, per_group: NDArray[Any]) -> NDArray[Any]:
        """Per-variable array from a per-group one."""
        return np.asarray(per_group[self.labels])


def labels_from_groups(groups: Iterable[Sequence[int]], n_features: int) -> Index:
    """Group number of each column, in the order of ``groups``; refuses gaps and overlaps."""
    labels = np.full(n_features, -1, dtype=np.intp)
    for label, members in enumerate(groups):
        for column in members:
            if not 0 <= column < n_features:
                raise InvalidParameterError(
                    f"feature_groups names column {column}, but the columns are "
                    f"0 to {n_features - 1}."
                )
            if labels[column] >= 0:
                raise InvalidParameterError(
                    "feature_groups must partition the variables; column "
                    f"{column} is in groups {labels[column]} and {label}. "
                    "Leave it in one group."
                )
            labels[column] = label
    missing = np.flatnonzero(labels < 0)
    if missing.size:
        raise InvalidParameterError(
            "feature_groups must partition the variables; in no group: columns "
            f"{missing[:10].tolist()}{' ...' if missing.size > 10 else ''}. "
            "Give each of them a group of its own, for example [3]."
        )
    return labels
