r"""All-subsets Gaussian kernels: ``1 + scale exp(-b (x - x')^2)``, two levels.

.. math::
    \prod_i \big(1 + s\, e^{-b (x_i - x'_i)^2}\big) = \sum_{J} s^{|J|} e^{-b \|x_J - x'_J\|^2}

The space of a node contains, in the limit, those of its ancestors; ``whiten=True`` of the
estimators takes that away.
"""

from __future__ import annotations

import numpy as np

from nablasso.hierarchy.decompositions.base import Array, Decomposition
from nablasso.kernels.base import positive


class AllSubsetsGaussian(Decomposition):
    """The constant and a Gaussian kernel: q = 1.

    Parameters
    ----------
    b : float, default=0.5
        Of ``exp(-b (x - x')^2)``.
    scale : float, default=1.0
        Weight of a variable more.
    """

    def __init__(self, b: float = 0.5, scale: float = 1.0) -> None:
        self.b = b
        self.scale = scale

    def n_levels(self) -> int:
        """2."""
        positive(self.b, "b")
        positive(self.scale, "scale")
        return 2

    def features(self, x: Array, level: int) -> Array | None:
        """1; none for the Gaussian kernel."""
        return np.ones((len(x), 1)) if level == 0 else None

    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """The level's kernel."""
        if level == 0:
            return np.ones((len(x), len(z)))
        return np.asarray(float(self.scale) * np.exp(-float(self.b) * (x[:, None] - z) ** 2))
