r"""The families of functions that compete: kernels of columns, or of smooth features of columns.

A family is a kernel and what it sees of a column: the column itself, or (``smooth``) ``RANK`` fixed
features of it, centred and of mean square one, so that powers of their sum,
``(1 + sum_g v_g phi(z_g) . phi(x_g))^m``, are smooth functions of at most ``m`` columns at a time
and linear in ``v`` for ``m = 1``. Both families are needed: radial kernels alone find .70 of what
all find together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nablasso.kernels import AdditivePower, Gaussian, Kernel, Linear, Matern52, Polynomial, Rough
from nablasso.regression.evidence import Covariance
from nablasso.types import Array, Index

RANK = 8  # features of a column


@dataclass(frozen=True)
class Family:
    """A kernel of columns or of their smooth features; ``walks`` if it may propose columns."""

    name: str
    kernel: Kernel
    smooth: bool = False
    walks: bool = True

    def covariance(self, X: Array, labels: Index, weights: Array) -> Covariance:
        """The kernel on all groups of the columns of ``X``."""
        n_groups = int(labels.max(initial=-1)) + 1
        if not self.smooth:
            return Covariance(self.kernel, X, labels, n_groups)
        Phi, _ = self._additive(X, weights).features(X)
        return Covariance(self.kernel, Phi, np.repeat(labels, RANK), n_groups)

    def fitted(self, X: Array, weights: Array, variances: Array) -> tuple[Kernel, Array]:
        """A kernel of the columns of ``X`` and their multipliers, for the variance of each."""
        if self.smooth:
            return self._additive(X, weights, np.sqrt(variances)), np.ones(X.shape[1])
        return self.kernel, np.sqrt(variances)

    def _additive(self, X: Array, weights: Array, scale: Array | float = 1.0) -> AdditivePower:
        """The kernel of columns that is this one of their features."""
        p = weights / weights.sum()
        raw = AdditivePower(1, rank=RANK, centre=np.zeros((X.shape[1], RANK)))
        B = raw.features(X)[0].reshape(len(X), X.shape[1], RANK)
        centre = np.einsum("i,iak->ak", p, B)
        size = np.sqrt(np.maximum(np.einsum("i,iak->a", p, (B - centre) ** 2), 1e-12))
        order, offset = 1, 0.0
        if isinstance(self.kernel, Polynomial):
            order, offset = self.kernel.degree, self.kernel.offset
        return AdditivePower(order, offset, RANK, centre=centre, scale=scale / size)


LINEAR = Family("linear", Linear())
QUADRATIC = Family("quadratic", Polynomial(2))
ADDITIVE = Family("additive", Linear(), smooth=True)
SMOOTH_PAIRS = Family("smooth pairs", Polynomial(2), smooth=True)
GAUSSIAN = Family("Gaussian", Gaussian())
ROUGH = Family("rough", Rough(), walks=False)
BENT_PAIRS = Family("bent pairs", AdditivePower(2), walks=False)
FAMILIES = (
    LINEAR,
    QUADRATIC,
    Family("cubic", Polynomial(3)),
    ADDITIVE,
    SMOOTH_PAIRS,
    Family("smooth triples", Polynomial(3), smooth=True),
    GAUSSIAN,
    Family("Matern", Matern52()),
    ROUGH,
    Family("quartic", Polynomial(4), walks=False),
    Family("sextic", Polynomial(6), walks=False),
    BENT_PAIRS,
    Family("bent triples", AdditivePower(3), walks=False),
)
