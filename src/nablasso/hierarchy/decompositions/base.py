r"""What a decomposition is: a kernel of one variable as a sum of kernels of growing complexity.

.. math:: k(x, x') = \sum_{j=0}^{q} k_j(x, x')

Products of such sums over variables are sums over the directed grid ``{0..q}^p`` (section 3.2 of
Bach, 2009). Level 0 must have rank one; for most decompositions it is the constant 1.

A decomposition of your own needs two methods: :meth:`Decomposition.n_levels`, which is ``q + 1``,
and :meth:`Decomposition.kernel`. Levels of finite rank should give :meth:`Decomposition.features`
too: they are then handled exactly and without n x n matrices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from nablasso.exceptions import InvalidParameterError

Array = NDArray[np.float64]


class Decomposition(BaseEstimator, ABC):
    """A kernel of one variable as a sum over levels."""

    @abstractmethod
    def n_levels(self) -> int:
        """Number of levels, ``q + 1``."""

    @abstractmethod
    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """``k_level(x_i, z_j)``, shape (len(x), len(z))."""

    def features(self, x: Array, level: int) -> Array | None:  # noqa: ARG002
        """Features (len(x), rank) whose products are the level's kernel; None: use the kernel."""
        return None

    def is_limited(self) -> bool:
        """Whether new rows outside the range of the data are treated apart."""
        return False

    def fitted(self, x: Array, weights: Array) -> Self:  # noqa: ARG002
        """The decomposition for one column of the data; itself where it does not adapt."""
        return self


def check_degree(degree: object) -> int:
    """Highest level ``q``, a whole number of at least 1."""
    whole = isinstance(degree, Integral) and not isinstance(degree, bool)
    number = int(degree) if isinstance(degree, Integral) else 0
    if not whole or number < 1:
        raise InvalidParameterError(
            f"degree must be a whole number of at least 1; got {degree!r}. With q = 0 every "
            "variable has its constant kernel alone and there is nothing to select."
        )
    return number
