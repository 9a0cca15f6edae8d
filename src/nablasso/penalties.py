r"""Penalties on the derivative norms of groups of variables.

Let ``g`` (n, d) be the weighted partial derivatives ``sqrt(p_i) d_a f(x_i)`` and ``t_g`` the
Euclidean norm of group ``g`` of its columns, so that ``t_g = ||d_g f||_n``. A penalty is

.. math:: \Omega(g) = \sum_g \omega_g(t_g)

with each :math:`\omega_g` convex and increasing, zero at zero. Its conjugate depends on the group
norms of its argument too, and Moreau's identity gives the proximal operator of the conjugate of
``F = alpha * Omega`` from that of ``Omega``:

.. math:: \mathrm{prox}_{\sigma F^*}(x) = x - \sigma\,\mathrm{prox}_{F/\sigma}(x/\sigma).

A group of weight zero is never penalised: its dual variable is zero. With ``0 < mu <= 1``

.. math:: \Omega = \sum_g w_g (\mu t_g + (1 - \mu) t_g^2), \qquad
          F^*(s) = \sum_g \frac{(s_g - \alpha w_g \mu)_+^2}{4 \alpha w_g (1 - \mu)}

is the **elastic net**; at ``mu = 1`` the **group lasso**, whose conjugate is zero where every dual
norm is at most ``alpha w_g`` and infinite elsewhere: with groups of one variable, the lasso.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.errors import InvalidParameterError
from nablasso.types import Array, Index

__all__ = ["Partition", "Penalty"]

ROUNDING = 1e-9  # a projected norm may exceed its radius by rounding


class Partition:
    """Every variable belongs to exactly one group; ``labels`` (d,) are any integers."""

    def __init__(self, labels: Index) -> None:
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        order = np.argsort(first)  # groups are numbered as they appear among the columns
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        self.labels = rank[inverse]
        self.first = first[order]  # the first column of each group
        self.n_groups = len(order)
        self.sizes = np.bincount(self.labels, minlength=self.n_groups)

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


class Penalty:
    """``Omega = sum_g w_g (mu t_g + (1 - mu) t_g^2)``: the group lasso, or an elastic net.

    Another penalty is a class derived from it with its own functions of the norms.

    Parameters
    ----------
    partition : Partition
        Groups of the d variables.
    weights : array, shape (n_groups,)
        Non-negative weight of each group; zero keeps a group unpenalised.
    l1_ratio : float
        ``mu``, above 0 and at most 1.
    """

    def __init__(self, partition: Partition, weights: Array, l1_ratio: float = 1.0) -> None:
        self.partition, self.l1_ratio = partition, float(l1_ratio)
        self.weights = np.asarray(weights, dtype=float)
        if self.weights.shape != (partition.n_groups,) or not (self.weights >= 0).all():
            raise InvalidParameterError(
                f"A penalty needs {partition.n_groups} weights of at least zero, one per group; "
                f"got {weights!r}."
            )
        if not 0 < l1_ratio <= 1:
            raise InvalidParameterError(
                f"l1_ratio must be above 0 and at most 1; got {l1_ratio!r}. For 1 it is the lasso; "
                "with 0 nothing is ever selected out."
            )

    def value(self, norms: Array) -> float:
        """``Omega`` as a function of the group norms."""
        return float(self.weights @ (self.l1_ratio * norms + (1 - self.l1_ratio) * norms**2))

    def shrink(self, norms: Array, step: float) -> Array:
        """Norms of ``prox_{step Omega}``: ``(t_g - step w_g mu)_+ / (1 + 2 step w_g (1 - mu))``."""
        scaled = step * self.weights
        kept = np.maximum(norms - scaled * self.l1_ratio, 0.0)
        return np.asarray(kept / (1 + 2 * scaled * (1 - self.l1_ratio)))

    def conjugate(self, norms: Array, alpha: float) -> float:
        """``(alpha Omega)*`` as a function of the group norms of its argument.

        A quadratic outside the balls; infinite there where a group has none.
        """
        radius = self.radius(alpha)
        outside = norms > radius * (1 + ROUNDING)
        if not outside.any():
            return 0.0
        bend = alpha * self.weights[outside] * (1 - self.l1_ratio)
        if not bend.all():
            return float("inf")
        return float(np.sum((norms - radius)[outside] ** 2 / (4 * bend)))

    def radius(self, alpha: float) -> Array:
        """Dual norm up to which a group is at rest: ``alpha w_g mu``."""
        return alpha * self.l1_ratio * self.weights

    def project_dual(self, norms: Array, alpha: float) -> Array:
        """Group norms of a point where ``(alpha Omega)*`` is finite, near the given ones.

        Every norm is allowed but those of groups without a quadratic.
        """
        inside = np.minimum(norms, self.radius(alpha))
        return inside if self.l1_ratio == 1 else np.where(alpha * self.weights > 0, norms, inside)

    def prox(self, g: Array, step: float) -> Array:
        """``argmin_x step Omega(x) + |x - g|^2 / 2`` for ``g`` (n, d)."""
        norms = self.partition.norms(g)
        return self.partition.rescale(g, norms, self.shrink(norms, step))

    def prox_conjugate(self, s: Array, step: float, alpha: float) -> Array:
        """``argmin_x step (alpha Omega)*(x) + |x - s|^2 / 2`` for ``s`` (n, d)."""
        norms = self.partition.norms(s)
        new = norms - step * self.shrink(norms / step, alpha / step)
        return self.partition.rescale(s, norms, self.project_dual(np.maximum(new, 0.0), alpha))
