r"""Row losses for Newton's method: value, gradient and Hessian.

Values and gradients are the losses' own. The pinball loss has a kink; its barrier form, with
``u - v = y - z`` eliminated,

.. math:: \rho_t(r) = \min_{u - v = r} \tau u + (1 - \tau) v - t \log u - t \log v,

is smooth, tends to it with ``t``, and costs a gap of ``2 t``.
"""

from __future__ import annotations

import numpy as np

from nablasso.nonnegative.losses import (
    GaussianLoss,
    LogLoss,
    PinballLoss,
    PoissonLoss,
    RowLoss,
    SquaredLoss,
)
from nablasso.types import Array

Rows = tuple[Array, Array, Array]  # values (n,), gradients (n, p), Hessians (n, p, p)


def barriers(loss: RowLoss) -> float:
    """Gap that the smoothing costs, per unit of ``t``."""
    return 2.0 if isinstance(loss, PinballLoss) else 0.0


def expansion(loss: RowLoss, Z: Array, t: float = 0.0) -> Rows:
    """Value, gradient and Hessian at outputs Z (n, p); values are infinite outside the domain."""
    if isinstance(loss, PinballLoss) and t > 0:
        value, slope, bend = smooth_pinball(loss.y[:, None] - Z, loss.levels, t)
        p = loss.n_outputs
        return value.mean(axis=1), -slope / p, bend[:, :, None] * (np.eye(p) / p)
    with np.errstate(all="ignore"):
        return loss.value(Z), loss.gradient(Z), _hessian(loss, Z)


def _hessian(loss: RowLoss, Z: Array) -> Array:
    n, p = Z.shape
    if isinstance(loss, LogLoss):
        return np.asarray(1 / Z**2)[:, :, None]
    if isinstance(loss, PoissonLoss):
        return np.asarray(loss.y[:, None] / Z**2)[:, :, None]
    if isinstance(loss, SquaredLoss):
        return np.broadcast_to(2 * np.eye(p), (n, p, p))
    if isinstance(loss, GaussianLoss):
        h = Z[:, 0]
        mean = Z[:, 1] / h
        corner = -mean / h
        block = np.array([[0.5 / h**2 + mean**2 / h, corner], [corner, 1 / h]])
        return np.moveaxis(block, 2, 0)
    return np.zeros((n, p, p))  # pinball: piecewise linear


def smooth_pinball(r: Array, levels: Array, t: float) -> Rows:
    """``rho_t``, its first and second derivative.

    Stationarity ``t/u + t/v = 1`` with ``v = u - r`` gives ``2 u = r + 2 t + sqrt(r^2 + 4 t^2)``.
    """
    root = np.hypot(r, 2 * t)
    small = 2 * t**2 / (root + np.abs(r))  # (root - |r|) / 2 without cancellation
    u = t + np.maximum(r, 0.0) + small
    v = t + np.maximum(-r, 0.0) + small
    value = levels * u + (1 - levels) * v - t * np.log(u) - t * np.log(v)
    return value, levels - t / u, t / (u**2 + v**2)
