"""The three penalties as parameters of an estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.penalties import ElasticNet, GroupLasso, Partition, Penalty
from nablasso.types import Array, Index


@dataclass(eq=False, repr=False)
class PenaltyForm:
    """How an estimator makes its penalty from groups of columns."""

    def _group_weights(self, labels: Index) -> Array:
        """Weight of each column's group, per column: the size of the group."""
        return np.bincount(labels)[labels].astype(float)

    def _make_penalty(self, partition: Partition, weights: Array) -> Penalty:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class LassoForm(PenaltyForm):
    """Sum of the norms."""

    def _make_penalty(self, partition: Partition, weights: Array) -> Penalty:
        return GroupLasso(partition, weights)


@dataclass(eq=False, repr=False)
class GroupLassoForm(LassoForm):
    """Weighted sum of the norms of groups."""

    _: KW_ONLY
    group_weights: Any = "size"

    def _group_weights(self, labels: Index) -> Array:
        sizes = np.bincount(labels).astype(float)
        if isinstance(self.group_weights, str):
            if self.group_weights not in ("size", "sqrt"):
                raise InvalidParameterError(
                    f'group_weights must be "size", "sqrt" or one number per group; '
                    f"got {self.group_weights!r}."
                )
            per_group = sizes if self.group_weights == "size" else np.sqrt(sizes)
        else:
            per_group = np.asarray(self.group_weights, dtype=float)
            if per_group.shape != sizes.shape or not (per_group > 0).all():
                raise InvalidParameterError(
                    f"group_weights must hold {len(sizes)} positive numbers, one per group; got "
                    f"{self.group_weights!r}. To leave a group unpenalised use always_keep."
                )
        return np.asarray(per_group[labels])


@dataclass(eq=False, repr=False)
class ElasticNetForm(PenaltyForm):
    """Norms and their squares."""

    _: KW_ONLY
    l1_ratio: float = 0.5

    def _make_penalty(self, partition: Partition, weights: Array) -> Penalty:
        return ElasticNet(partition, weights, self.l1_ratio)
