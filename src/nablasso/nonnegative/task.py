r"""A task: what is to be fitted, before any model of a non-negative function is chosen.

Outputs ``Z = offset + F M'`` of each row are mixtures of ``m`` block functions ``F``, free or not
negative. The objective is

.. math:: \sum_i p_i\, l_i(z_i) + \sum_b \Omega_b(f_b)

with :math:`\Omega = l_1 \mathrm{Tr} A + \frac{l_2}{2} \|A\|_F^2` for a PSD model and
:math:`\frac{l_2}{2} \|w\|^2` for a linear one. A density has one block, with integral one.

**Cones.** Every polyhedral cone ``C' y >= 0`` is ``{G g + N u : g >= 0, u free}``: ``N`` spans
``{C' y = 0}``, the columns of ``G`` are extreme rays. Where the columns of ``C`` are independent,
``G = C (C'C)^{-1}``: the operators of Theorem 13 of Marteau-Ferey, Bach and Rudi; otherwise the
rays are enumerated, and the functions are a subset of Theorem 13's.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from scipy.linalg import null_space

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative.losses import RowLoss
from nablasso.nonnegative.model import Bumps, pair_integrals
from nablasso.types import Array

CONES = ("nonnegative", "monotone", "convex")
MAX_SUBSETS = 20_000  # of faces that are looked at for a ray
ROUNDING = 1e-9


@dataclass(frozen=True)
class Base:
    """A Gaussian base measure with independent coordinates, in the units of the task."""

    mean: Array
    variance: Array


@dataclass(frozen=True)
class Task:
    """Rows, loss and how outputs are made of functions; see the module.

    ``X`` (n, d); ``weights`` (n,) add up to one; ``mixing`` (p, m); ``offset`` (p,);
    ``nonnegative``, ``l1``, ``l2`` have one entry per block. The kernel of all of them is
    ``height^2 (exp(-|z - x|^2 / 2) + constant)``, of ``X * scales`` (d,).
    ``null`` (p,) are constant outputs to start from. ``normalise`` asks for integral one with
    respect to ``base`` (None: Lebesgue measure) in the units of ``X * scales``. The target was
    ``centre + unit * output``.
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
    centre: float = 0.0
    unit: float = 1.0
    constant: float = 0.0
    height: float = 1.0
    normalise: bool = False
    base: Base | None = None
    rank: int | None = 200
    random_state: int = 0

    def outputs(self, F: Array) -> Array:
        """Outputs (k, p) of block values (k, m)."""
        return np.asarray(self.offset + F @ self.mixing.T)

    def integral_matrix(self, bumps: Bumps) -> Array:
        """Integrals of products of bumps (units of ``X``) with respect to the base measure.

        Lebesgue measure is that of ``X * scales``.
        """
        if self.base is None:
            return pair_integrals(bumps) * float(np.prod(self.scales))
        product, heights = bumps.times_root(self.base.mean, self.base.variance)
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


def cone_matrix(cone: Any, n_outputs: int) -> Array:
    """``C`` (p, h) of a cone given by name or as a matrix."""
    if isinstance(cone, str):
        if cone not in CONES:
            raise InvalidParameterError(
                f"cone must be a matrix or one of {', '.join(CONES)}; got {cone!r}."
            )
        order = CONES.index(cone)
        if n_outputs <= order:
            raise InvalidParameterError(
                f"The {cone} cone needs at least {order + 1} outputs; got {n_outputs}."
            )
        return np.asarray(np.diff(np.eye(n_outputs), n=order, axis=0).T)
    C = np.asarray(cone, dtype=float)
    if C.ndim != 2 or len(C) != n_outputs or not C.size or not np.isfinite(C).all():
        raise InvalidParameterError(
            f"A cone is a matrix C with one row per output, {n_outputs} here: outputs y have "
            f"C' y >= 0. Got shape {C.shape}."
        )
    if not np.any(C, axis=0).all():
        raise InvalidParameterError("Every column of a cone's matrix needs an entry that is not 0.")
    return C


def decompose(C: Array) -> tuple[Array, Array]:
    """Extreme rays ``G`` (p, g) and a basis ``N`` (p, k) of the lineality space."""
    N = null_space(C.T)
    if np.linalg.matrix_rank(C) == C.shape[1]:
        return np.asarray(np.linalg.pinv(C).T, dtype=float), N
    G = _extreme_rays(C, N)
    if not G.shape[1]:
        raise InvalidParameterError(
            "The cone holds no direction but those of both signs; use a linear model instead."
        )
    return G, N


def _extreme_rays(C: Array, N: Array) -> Array:
    """Unit vectors orthogonal to ``N``, inside the cone, on as many faces as determine them."""
    p, h = C.shape
    size = p - N.shape[1] - 1
    if comb(h, size) > MAX_SUBSETS:
        raise InvalidParameterError(
            f"The cone's {h} inequalities in {p} dimensions have too many extreme rays to list. "
            "Drop inequalities that others imply."
        )
    rays: list[Array] = []
    for faces in combinations(range(h), size):
        line = null_space(np.column_stack([C[:, faces], N]).T, rcond=ROUNDING)
        if line.shape[1] != 1:
            continue
        for ray in (line[:, 0], -line[:, 0]):
            known = any(np.allclose(ray, other, atol=ROUNDING) for other in rays)
            if (C.T @ ray >= -ROUNDING).all() and not known:
                rays.append(ray)
    return np.array(rays).T if rays else np.empty((p, 0))
