r"""Hinge losses for labels ``y`` of -1 and 1, with the margin ``m = 1 - y z``.

* squared: ``l = max(0, m)^2``, conjugate ``a + a^2 / 4`` for ``a = s y <= 0``;
* smoothed with width ``h``: ``m^2 / 2h`` for margins between 0 and ``h``, then ``m - h / 2``;
  conjugate ``a + h a^2 / 2`` for ``a = s y`` in [-1, 0]. The quadratic in the conjugate is what a
  ridge added to the kernel would be; the smoothed loss is below the hinge by at most ``h / 2``.
"""

from __future__ import annotations

import numpy as np

from nablasso.errors import InvalidDataError
from nablasso.losses.base import Loss
from nablasso.losses.unit import positive
from nablasso.types import Array

ROUNDING = 1e-12  # a dual variable may exceed its bound by rounding


class _MarginLoss(Loss):
    """A loss of labels -1 and 1."""

    translates = False

    def check_target(self, y: Array) -> None:
        """Labels are -1 and 1, both present."""
        if not np.array_equal(np.unique(y), [-1.0, 1.0]):
            raise InvalidDataError(
                f"A hinge loss needs labels -1 and 1, both present; got "
                f"{np.unique(y)[:10].tolist()}. Use a classifier, which takes any labels."
            )


class SquaredHinge(_MarginLoss):
    """``max(0, 1 - y z)^2``: the 2-norm support vector machine."""

    def value(self, y: Array, z: Array) -> Array:
        """``max(0, m)^2``."""
        return np.asarray(np.maximum(1 - y * z, 0.0) ** 2)

    def gradient(self, y: Array, z: Array) -> Array:
        """``-2 y max(0, m)``."""
        return np.asarray(-2 * y * np.maximum(1 - y * z, 0.0))

    def curvature(self, y: Array, z: Array) -> Array:
        """``2`` inside the margin, ``0`` outside."""
        return np.where(y * z < 1, 2.0, 0.0)

    def conjugate(self, y: Array, s: Array) -> Array:
        """``a + a^2 / 4`` with ``a = s y``, infinite for positive ``a``."""
        a = s * y
        return np.where(a <= ROUNDING, a + a**2 / 4, np.inf)

    def prox(self, y: Array, z: Array, step: Array | float) -> Array:
        """The margin is divided by ``1 + 2 step``."""
        margin = np.maximum(1 - y * z, 0.0)
        return np.asarray(z + y * margin * (2 * step / (1 + 2 * step)))


class SmoothedHinge(_MarginLoss):
    """The hinge loss ``max(0, 1 - y z)``, its corner rounded: the 1-norm support vector machine.

    Parameters
    ----------
    width : float, default=0.1
        ``h``: margins up to it count quadratically.
    """

    def __init__(self, width: float = 0.1) -> None:
        self.width = width

    def value(self, y: Array, z: Array) -> Array:
        """``m^2 / 2h``, then ``m - h / 2``."""
        margin = np.maximum(1 - y * z, 0.0)
        near = np.minimum(margin, self.width)
        return np.asarray(near * (margin - near / 2) / self.width)

    def gradient(self, y: Array, z: Array) -> Array:
        """``-y min(1, m / h)`` for positive margins."""
        return np.asarray(-y * np.clip((1 - y * z) / self.width, 0.0, 1.0))

    def curvature(self, y: Array, z: Array) -> Array:
        """``1 / h`` where the corner is rounded."""
        margin = 1 - y * z
        return np.where((margin > 0) & (margin < self.width), 1 / self.width, 0.0)

    def conjugate(self, y: Array, s: Array) -> Array:
        """``a + h a^2 / 2`` with ``a = s y`` in [-1, 0], else infinite."""
        a = s * y
        inside = (a <= ROUNDING) & (a >= -1 - ROUNDING)
        return np.where(inside, a + self.width * a**2 / 2, np.inf)

    def prox(self, y: Array, z: Array, step: Array | float) -> Array:
        """The margin is divided by ``1 + step / h``, or reduced by ``step`` if that is less."""
        margin = np.maximum(1 - y * z, 0.0)
        share = step / self.width
        return np.asarray(z + y * np.minimum(margin * share / (1 + share), step))

    def fitted(self, y: Array, weights: Array) -> SmoothedHinge:  # noqa: ARG002
        """The loss itself; its width is checked."""
        return type(self)(positive(self.width, "width"))
