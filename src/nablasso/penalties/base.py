r"""Penalties on the derivative norms of groups of variables.

Let ``g`` (n, d) be the weighted partial derivatives ``sqrt(p_i) d_a f(x_i)`` and ``t_g`` the
Euclidean norm of group ``g`` of its columns, so that ``t_g = ||d_g f||_n``. A penalty is

.. math:: \Omega(g) = \sum_g \omega_g(t_g)

with each :math:`\omega_g` convex and increasing, zero at zero. Its conjugate depends on the group
norms of its argument too, and Moreau's identity gives the proximal operator of the conjugate of
``F = alpha * Omega`` from that of ``Omega``:

.. math:: \mathrm{prox}_{\sigma F^*}(x) = x - \sigma\,\mathrm{prox}_{F/\sigma}(x/\sigma).

A group of weight zero is never penalised: its dual variable is zero.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.penalties.partition import Partition
from nablasso.types import Array


class Penalty(ABC):
    """A convex function of the derivative norms of groups.

    Parameters
    ----------
    partition : Partition
        Groups of the d variables.
    weights : array, shape (n_groups,)
        Non-negative weight of each group; zero keeps a group unpenalised.
    """

    def __init__(self, partition: Partition, weights: Array) -> None:
        self.partition = partition
        self.weights = np.asarray(weights, dtype=float)
        if self.weights.shape != (partition.n_groups,) or not (self.weights >= 0).all():
            raise InvalidParameterError(
                f"A penalty needs {partition.n_groups} weights of at least zero, one per group; "
                f"got {weights!r}."
            )

    @abstractmethod
    def value(self, norms: Array) -> float:
        """``Omega`` as a function of the group norms."""

    @abstractmethod
    def shrink(self, norms: Array, step: float) -> Array:
        """Group norms of ``prox_{step Omega}``."""

    @abstractmethod
    def conjugate(self, norms: Array, alpha: float) -> float:
        """``(alpha Omega)*`` as a function of the group norms of its argument."""

    @abstractmethod
    def radius(self, alpha: float) -> Array:
        """Dual norm up to which a group is at rest: ``alpha`` times the slope at zero."""

    def project_dual(self, norms: Array, alpha: float) -> Array:
        """Group norms of a point where ``(alpha Omega)*`` is finite, near the given ones."""
        return np.minimum(norms, self.radius(alpha))

    def prox(self, g: Array, step: float) -> Array:
        """``argmin_x step Omega(x) + |x - g|^2 / 2`` for ``g`` (n, d)."""
        norms = self.partition.norms(g)
        return self.partition.rescale(g, norms, self.shrink(norms, step))

    def prox_conjugate(self, s: Array, step: float, alpha: float) -> Array:
        """``argmin_x step (alpha Omega)*(x) + |x - s|^2 / 2`` for ``s`` (n, d)."""
        norms = self.partition.norms(s)
        new = norms - step * self.shrink(norms / step, alpha / step)
        return self.partition.rescale(s, norms, self.project_dual(np.maximum(new, 0.0), alpha))
