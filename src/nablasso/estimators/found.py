"""What an automatic estimator hands on: an answer, and the rows it has not seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.metric import Sample, Selection
from nablasso.metric.overlooked import Product
from nablasso.metric.refit import Refit

Array = NDArray[np.float64]
Index = NDArray[np.intp]


class Found(NamedTuple):
    """What some rows say: the groups chosen, and the predictor on them.

    ``products`` brought some of the groups in at a second look.
    """

    sample: Sample
    selection: Selection | None
    chosen: Index
    refit: Refit
    products: tuple[Product, ...] = ()

    @property
    def interrupted(self) -> bool:
        """Whether the search or the refit was, with an answer."""
        searching = self.selection is not None and self.selection.interrupted
        return searching or self.refit.cut_short


class Rest(NamedTuple):
    """The ``rows`` of ``X`` and ``y`` that are not in the table, as they came.

    ``weights`` of these rows are in the units of the table's.
    """

    X: Array
    y: Array
    rows: Index
    weights: Array
