r"""Cubic splines: constant, linear, and the kernel of cubic splines with a knot at every row.

.. math::
    k_2(x, x') = \min(|x|, |x'|)^2 (3 \max(|x|, |x'|) - \min(|x|, |x'|)) / 6
    \quad\text{if } x x' \ge 0, \text{ else } 0 .

Beyond the last knot on either side these splines are straight lines, so that predictions outside
the range of the data are linear continuations. ``outside`` asks for something else.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from nablasso.exceptions import InvalidDataError, InvalidParameterError
from nablasso.hierarchy.decompositions.base import Array, Decomposition

SLACK = 1e-9  # of the range: rounding at its ends is not outside


class Spline(Decomposition):
    """Constant, linear and cubic spline: q = 2.

    Parameters
    ----------
    outside : {"linear", "clip", "error"}, default="linear"
        What happens to new rows outside the range seen in ``fit``: the function continues as a
        straight line, keeps its value at the border, or the row is refused. With the last two the
        refit is always on the selected kernels, which know the range.
    """

    def __init__(self, outside: str = "linear") -> None:
        self.outside = outside

    def n_levels(self) -> int:
        """3."""
        if self.outside not in ("linear", "clip", "error"):
            raise InvalidParameterError(
                f'outside must be "linear", "clip" or "error"; got {self.outside!r}.'
            )
        return 3

    def is_limited(self) -> bool:
        """Unless straight lines go on."""
        return self.outside != "linear"

    def fitted(self, x: Array, weights: Array) -> Self:  # noqa: ARG002
        """A copy that knows the range of the column."""
        copy = type(self)(self.outside)
        copy.range_ = (float(x.min()), float(x.max()))
        return copy

    def features(self, x: Array, level: int) -> Array | None:
        """1 and ``x``; none for the cubic spline."""
        return None if level == 2 else self._inside(x)[:, None] ** level

    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """The level's kernel."""
        x, z = self._inside(x), self._inside(z)
        if level < 2:
            return np.asarray((x[:, None] * z) ** level)
        low = np.minimum(np.abs(x)[:, None], np.abs(z))
        high = np.maximum(np.abs(x)[:, None], np.abs(z))
        same = x[:, None] * z >= 0
        return np.where(same, low**2 * (3 * high - low) / 6, 0.0)

    def _inside(self, x: Array) -> Array:
        if self.outside == "linear" or not hasattr(self, "range_"):
            return x
        low, high = self.range_
        if self.outside == "clip":
            return np.clip(x, low, high)
        slack = SLACK * (high - low)
        beyond = (x < low - slack) | (x > high + slack)
        if beyond.any():
            raise InvalidDataError(
                f"{int(beyond.sum())} of {len(x)} rows lie outside the range of the spline, "
                f"{low:.4g} to {high:.4g} in standardised units. Drop them, or choose "
                'Spline(outside="linear") or Spline(outside="clip").'
            )
        return x
