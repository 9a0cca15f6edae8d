r"""Two kernels for which sparse gradient learning is an older method.

* ``Constant``: ``k = 1``. Gradients are the same everywhere; with all weights equal, sparse
  gradient learning is the lasso (Remark 2 of Ye and Xie).
* ``Delta``: ``k(z, x) = 1`` where ``z = x``, else 0. Gradients at the rows have nothing to do with
  each other; without penalty they are those of the outer product of gradients (Remark 1).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from nablasso.errors import NotTwiceDifferentiableError
from nablasso.kernels import DotProductKernel, Kernel, KernelOperator
from nablasso.types import Array


class Constant(DotProductKernel):
    """``1``: the space of the constant functions."""

    def profile(self, t: Array) -> tuple[Array, Array, Array]:
        """``1, 0, 0``."""
        return np.ones_like(t), np.zeros_like(t), np.zeros_like(t)


class Delta(Kernel):
    """One where two points are equal, zero elsewhere; it has values and no derivatives."""

    has_width = False

    def between(self, Z: Array, X: Array) -> KernelOperator:  # noqa: ARG002 one interface
        """No operator: the kernel is not differentiable."""
        raise NotTwiceDifferentiableError(
            f"{self!r} has values but no derivatives; it serves sparse gradient learning only. "
            "Use Gaussian() or another kernel of nablasso.kernels."
        )

    def __call__(self, Z: Array, X: Array) -> Array:
        """One where rows are equal, shape (m, n)."""
        Z, X = np.asarray(Z, dtype=float), np.asarray(X, dtype=float)
        if not X.shape[1]:
            return np.ones((len(Z), len(X)))
        return np.asarray(cdist(Z, X, "chebyshev") == 0, dtype=float)

    def diagonal(self, X: Array) -> Array:
        """Ones."""
        return np.ones(len(X))

    def derivative_diagonal(self, X: Array) -> Array:  # noqa: ARG002 one interface
        """No derivatives."""
        raise NotTwiceDifferentiableError(f"{self!r} has no derivatives.")

    def width(self, X: Array, weights: Array, rule: str) -> float:  # noqa: ARG002 one interface
        """Always 1: there is nothing to scale."""
        return 1.0
