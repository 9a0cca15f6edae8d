r"""Multiple kernel learning: the sparse additive model, hierarchical kernel learning without edges.

.. math:: \Omega(f) = \mu \sum_v \|f_v\| + (1 - \mu) \Big(\sum_v \|f_v\|^2\Big)^{1/2}

with one kernel per variable, or one per level of each variable, and ``mu`` = ``l1_ratio``.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.estimators.docs import document
from nablasso.estimators.hierarchical import (
    KernelClassifierBase,
    KernelRegressorBase,
    SingleAlpha,
    check_rank,
)
from nablasso.estimators.hierarchical_base import KernelSelector
from nablasso.estimators.hierarchical_cv import CrossValidatedAlpha
from nablasso.hierarchy import Flat, Grid, Hierarchy, as_decomposition


@dataclass(eq=False, repr=False)
class FlatForm(KernelSelector):
    """Kernels of single variables."""

    _: KW_ONLY
    per_variable: str = "one"
    l1_ratio: float = 1.0

    def _hierarchy(self, table: Table, beta: float | None = None) -> Hierarchy:
        if self.per_variable not in ("one", "levels"):
            raise InvalidParameterError(
                f'per_variable must be "one" or "levels"; got {self.per_variable!r}.'
            )
        if not isinstance(self.l1_ratio, Real) or not 0 < float(self.l1_ratio) <= 1:
            raise InvalidParameterError(f"l1_ratio must lie in (0, 1]; got {self.l1_ratio!r}.")
        decomposition = as_decomposition(self.decomposition, self.degree)
        rank = check_rank(self.rank)
        grid = Grid(table.X, table.weights, decomposition, self._labels(table), rank=rank)
        return Flat(grid, join=self.per_variable == "one", l1_ratio=float(self.l1_ratio))


@document
@dataclass(eq=False, repr=False)
class MultipleKernelRegressor(SingleAlpha, FlatForm, KernelRegressorBase):
    r"""Sparse additive model by multiple kernel learning.

    Parameters
    ----------
    {hierarchical_alpha}
    {flat}
    {hierarchical_loss}
    {kernel_selection}

    Attributes
    ----------
    {hierarchical_attributes}
    """

    _: KW_ONLY
    decomposition: Any = "spline"


@document
@dataclass(eq=False, repr=False)
class MultipleKernelClassifier(SingleAlpha, FlatForm, KernelClassifierBase):
    """:class:`MultipleKernelRegressor` for classes, one against the rest.

    Parameters
    ----------
    {hierarchical_alpha}
    {flat}
    {hierarchical_class_loss}
    {class_weight}
    {kernel_selection}

    Attributes
    ----------
    {classes}
    {hierarchical_attributes}
    """

    _: KW_ONLY
    decomposition: Any = "spline"


@document
@dataclass(eq=False, repr=False)
class MultipleKernelRegressorCV(CrossValidatedAlpha, FlatForm, KernelRegressorBase):
    """:class:`MultipleKernelRegressor` with ``alpha`` by cross-validation.

    Parameters
    ----------
    {hierarchical_cv}
    {flat}
    {hierarchical_loss}
    {kernel_selection}

    Attributes
    ----------
    {cv_attributes}
    {hierarchical_attributes}
    """

    _: KW_ONLY
    decomposition: Any = "spline"


@document
@dataclass(eq=False, repr=False)
class MultipleKernelClassifierCV(CrossValidatedAlpha, FlatForm, KernelClassifierBase):
    """:class:`MultipleKernelClassifier` with ``alpha`` by cross-validation.

    Parameters
    ----------
    {hierarchical_cv}
    {flat}
    {hierarchical_class_loss}
    {class_weight}
    {kernel_selection}

    Attributes
    ----------
    {cv_attributes}
    {classes}
    {hierarchical_attributes}
    """

    _: KW_ONLY
    decomposition: Any = "spline"
