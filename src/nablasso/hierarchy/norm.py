r"""The norm of a hierarchy, its variational weights and its dual bounds.

.. math::
    \Omega(f) = \sum_v d_v \|f_{D(v)}\|, \qquad
    \Omega(f)^2 = \min_{\eta \ge 0,\ \sum_v d_v^2 \eta_v \le 1}\ \sum_w \zeta_w^{-1} \|f_w\|^2,
    \qquad \zeta_w^{-1} = \sum_{v \in A(w)} \eta_v^{-1},

the minimum at ``eta_v = ||f_{D(v)}|| / (d_v Omega)``. We work with ``x_v = d_v^2 eta_v``, which add
up to one.

For numbers ``a_w = alpha' K_w alpha`` the dual norm's square is ``max_eta sum_w zeta_w a_w``. Any
``kappa >= 0`` with ``sum_{v in A(w)} kappa_vw = 1`` bounds it from above by

.. math:: \max_v\ d_v^{-2} \sum_{w \in D(v)} \kappa_{vw}^2 a_w .

``kappa_vw = zeta_w / eta_v`` gives ``max_v t_v / x_v`` with ``t = kappa (zeta a)`` and is exact at
the optimum. Everything is a matrix of the size of the hull.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

TINY = 1e-300


class Weights(NamedTuple):
    """``x_v`` with the ``zeta`` and ``kappa`` that belong to it."""

    x: Array
    zeta: Array
    kappa: Array  # [v, w]


def weights_of(x: Array, ancestors: Mask, d: Array) -> Weights:
    """``zeta`` and ``kappa`` of positive ``x``."""
    inverse = d**2 / np.maximum(x, TINY)  # 1 / eta
    zeta = 1 / (inverse @ ancestors)
    return Weights(x, zeta, ancestors * inverse[:, None] * zeta)


def dual_bound(weights: Weights, sizes: Array) -> tuple[float, float, Array]:
    """Upper bound of the dual norm's square, its value at ``x``, and ``t_v / x_v``."""
    t = weights.kappa @ (weights.zeta * sizes)
    ratios = t / np.maximum(weights.x, TINY)
    return float(ratios.max(initial=0.0)), float(weights.zeta @ sizes), ratios


def descendant_norms(norms2: Array, ancestors: Mask) -> Array:
    """``||f_{D(v)}||`` from the squared norms ``||f_w||^2``."""
    return np.sqrt(np.maximum(ancestors @ norms2, 0.0))


def norm(norms2: Array, ancestors: Mask, d: Array) -> float:
    """``Omega(f)`` from the squared norms ``||f_w||^2``."""
    return float(d @ descendant_norms(norms2, ancestors))


def best_x(norms2: Array, ancestors: Mask, d: Array) -> Array:
    """``x`` at which the variational form equals the norm; equal shares for a zero function."""
    parts = d * descendant_norms(norms2, ancestors)
    total = parts.sum()
    return parts / total if total > 0 else np.full(len(d), 1 / len(d))
