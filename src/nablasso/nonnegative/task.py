r"""A task: what is to be fitted, before any model of a non-negative function is chosen.

Outputs ``Z = offset + F M'`` of each row are mixtures of ``m`` block functions ``F``. A block is
free (a linear kernel model) or must stay non-negative. The objective is

.. math:: \sum_i p_i\, l_i(z_i) + \sum_b \Omega_b(f_b)

with :math:`\Omega = l_1 \mathrm{Tr} A + \frac{l_2}{2} \|A\|_F^2` for a PSD model and
:math:`\frac{l_2}{2} \|w\|^2` for a linear one. A density has one block, with integral one.

With the mixing matrix outputs live in any polyhedral cone: ``z = M g + N u``, ``g >= 0`` and ``u``
free, where the columns of ``M`` generate the cone and those of ``N`` its lineality space
(:mod:`nablasso.nonnegative.cones`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from nablasso.nonnegative.gaussians import Bumps, pair_integrals
from nablasso.nonnegative.losses import RowLoss
from nablasso.types import Array, Index


@dataclass(frozen=True)
class Base:
    """A Gaussian base measure with independent coordinates, in the units of the task."""

    mean: Array
    variance: Array


@dataclass(frozen=True)
class Functional:
    """``Tr(B W) = value`` for one block.

    ``matrix`` gives ``W[i, j] = functional(g_i g_j)`` for bumps in the units of the task.
    """

    matrix: Callable[[Bumps], Array]
    value: float
    block: int = 0


@dataclass(frozen=True)
class Task:
    """Rows, loss and how outputs are made of functions; see the module.

    ``X`` (n, d); ``weights`` (n,) add up to one; ``mixing`` (p, m); ``offset`` (p,);
    ``nonnegative``, ``l1``, ``l2`` have one entry per block; block b sees
    ``X * scales[b]``, and its kernel there is :meth:`kernel`. ``null`` (p,) are constant
    outputs to start from. ``normalise`` asks for integral one with respect to
    ``base`` (None: Lebesgue measure) in the units of ``X * scales``.
    """

    X: Array
    weights: Array
    loss: RowLoss
    mixing: Array
    offset: Array
    nonnegative: tuple[bool, ...]
    l1: Array
    l2: Array
    scales: Array
    null: Array
    constant: float = 0.0
    height: float = 1.0
    normalise: bool = False
    base: Base | None = None
    functionals: tuple[Functional, ...] = ()
    rank: int | None = 200
    random_state: int = 0

    @property
    def n_blocks(self) -> int:
        """Number of functions."""
        return len(self.nonnegative)

    def kernel(self, Z: Array, X: Array) -> Array:
        """``height^2 (exp(-|z - x|^2 / 2) + constant)`` between points already times scales."""
        return np.asarray(
            self.height**2 * (np.exp(-0.5 * cdist(Z, X, "sqeuclidean")) + self.constant)
        )

    def outputs(self, F: Array) -> Array:
        """Outputs (k, p) of block values (k, m)."""
        return np.asarray(self.offset + F @ self.mixing.T)

    def with_weights(self, l1: Array, l2: Array) -> Task:
        """The same task with other weights of the penalties."""
        return replace(self, l1=np.asarray(l1, dtype=float), l2=np.asarray(l2, dtype=float))

    def rows(self, chosen: Index) -> Task:
        """The task of some rows."""
        part = self.weights[chosen]
        return replace(
            self, X=self.X[chosen], weights=part / part.sum(), loss=self.loss.rows(chosen)
        )

    def all_functionals(self) -> tuple[Functional, ...]:
        """The constraints, that of the integral first."""
        if not self.normalise:
            return self.functionals
        return (Functional(self.integral_matrix, 1.0), *self.functionals)

    def integral_matrix(self, bumps: Bumps) -> Array:
        """Integrals of products of bumps (units of ``X``) with respect to the base measure.

        Lebesgue measure is that of ``X * scales``.
        """
        if self.base is None:
            return pair_integrals(bumps) * float(np.prod(self.scales[0]))
        mean, variance = self.base.mean[None, :], self.base.variance[None, :]
        product, logs = bumps.times(Bumps(mean, 0.5 / variance))
        heights = np.exp(logs - 0.25 * float(np.sum(np.log(2 * np.pi * variance))))
        return np.asarray(heights[:, None] * pair_integrals(product) * heights)


def natural_height(X: Array, scales: Array, base: Base | None) -> float:
    """Kernel height at which the integral of ``k(., x)^2`` is one, on average over the rows.

    Weights of a density's penalties then have no units.
    """
    if base is None:
        return float(np.pi ** (-X.shape[1] / 4))
    precision = 2 * scales**2 + 1 / base.variance  # of k^2 times the base density
    factor = 2 * scales**2 / base.variance / precision
    logs = -0.5 * (X - base.mean) ** 2 @ factor
    logs -= 0.5 * float(np.sum(np.log(base.variance * precision)))
    return float(1 / np.sqrt(np.mean(np.exp(logs))))
