r"""What a fitted function says of its columns: quotients, importances; intervals of predictions.

**Quotients.** A *move* takes column ``a`` of every row from ``start`` to ``end``; the quotient of a
function g is

.. math:: (g(x \text{ with } x_a = \text{end}) - g(x \text{ with } x_a = \text{start}))
          / (\text{end} - \text{start}).

* Continuous column: one move, ``x_a - h`` to ``x_a + h`` with ``h`` a thousandth of the column's
  deviation. It is the derivative up to ``h^2 / 6`` of the third one.
* Discrete column (at most 10 values): from the row's own level to the observed levels next to it
  on either side. Derivatives at the levels say nothing about the difference between them.

**Importance.** How steep the function is in each column.

.. math:: I_a = \Big(\sum_i p_i\, (\partial_a f(x_i))^2\Big)^{1/2}

for continuous columns. For discrete ones the derivative is replaced by the difference quotients
between a row's level and the observed levels next to it, their squares averaged over the row: a
function may be flat at 0 and at 1 and differ between them.

Cost: gradients at n points, and values at 4 n points per discrete column.

**Intervals** from left-out residuals, without a split. The residual ``r_i`` of row ``i``, predicted
from all the others, is distributed nearly as the error at a new row. So ``prediction +- q`` covers
a new y with probability about ``level`` when q is the ``ceil(level (n + 1))``-th smallest
``|r_i|``. With weights ``p`` (adding up to one) q is the smallest number with

.. math:: \sum_{|r_i| \le q} p_i \ge \mathrm{level}\,(1 + 1/n), \qquad n = 1 / \sum_i p_i^2

which is the same for equal weights. Where the right side exceeds one no finite q will do.

**Locally scaled.** With an estimate ``s(x) > 0`` of the size of the error,
``prediction +- q s(x)`` with q from the ``|r_i| / s_{-i}(x_i)`` is wide where the data are noisy.
``s`` is kernel ridge regression of ``|r|``, held above a fifth of its mean, ``s_{-i}`` its left-out
prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nablasso.errors import InvalidParameterError, warn
from nablasso.kernels import Kernel
from nablasso.losses import Squared
from nablasso.regression.machine import refit
from nablasso.spaces import Function
from nablasso.types import Array, Index, Mask

DISCRETE_LEVELS = 10
STEP = 1e-3  # of the column's standard deviation


@dataclass(frozen=True)
class Moves:
    """Moves of one column, ``s`` per row.

    ``start`` and ``end`` are of shape (s, n). So is ``share``, a move's part in the row's mean: it
    adds up to one over a row's moves, or to zero where there are none (a constant column).
    """

    column: int
    start: Array
    end: Array
    share: Array


def discrete_columns(X: Array) -> Mask:
    """Mask of the columns with at most 10 distinct values."""
    ordered = np.sort(X, axis=0)
    return np.asarray(1 + np.sum(np.diff(ordered, axis=0) > 0, axis=0) <= DISCRETE_LEVELS)


def moves(Z: Array, column: int, *, discrete: bool) -> Moves:
    """Moves of one column of ``Z`` (n, d)."""
    z = Z[:, column]
    if not discrete:
        step = STEP * (float(z.std()) or 1.0)
        return Moves(column, (z - step)[None], (z + step)[None], np.ones((1, len(z))))
    levels, own = np.unique(z, return_inverse=True)
    own = own.ravel()
    ends = np.stack([levels[np.maximum(own - 1, 0)], levels[np.minimum(own + 1, len(levels) - 1)]])
    start = np.stack([z, z])
    possible = (ends != start).astype(float)
    return Moves(column, start, ends, possible / np.maximum(possible.sum(axis=0), 1.0))


def quotients(g: Callable[[Array], Array], Z: Array, along: Moves) -> Array:
    """Quotients of ``g``, which maps (m, d) to (m, ...), at the rows of ``Z``: (s, n, ...)."""
    s, n = along.start.shape
    points = np.empty((2, s, *Z.shape))
    points[:] = Z
    points[0, :, :, along.column] = along.end
    points[1, :, :, along.column] = along.start
    values = g(points.reshape(-1, Z.shape[1]))
    values = values.reshape(2, s, n, *values.shape[1:])
    length = np.where(along.end != along.start, along.end - along.start, 1.0)
    length = length.reshape(s, n, *[1] * (values.ndim - 3))
    return np.asarray((values[0] - values[1]) / length)


def importances(
    function: Function, Z: Array, weights: Array, discrete: Mask | None = None
) -> Array:
    """Root mean squared derivative, or difference quotient, of each column.

    Parameters
    ----------
    function : Function
    Z : array, shape (n, d)
        Points in the units of the function; the result is per unit of each column.
    weights : array, shape (n,)
        Adding up to one.
    discrete : array of bool, shape (d,), optional
        Which columns are discrete; by default those with at most 10 values in ``Z``.

    Returns
    -------
    array, shape (d,)
    """
    squares = weights @ function.gradients(Z) ** 2
    discrete = discrete_columns(Z) if discrete is None else discrete
    for a in np.intersect1d(np.flatnonzero(discrete), function.columns):
        along = moves(Z, int(a), discrete=True)
        steps = quotients(function.values, Z, along)
        squares[a] = weights @ np.sum(along.share * steps**2, axis=0)
    return np.asarray(np.sqrt(squares))


ROUNDING = 1e-12
LEAST_SCALE = 0.2  # of the mean absolute residual


def interval_half_width(loo_residuals: Array, weights: Array, level: float) -> float:
    """Half the width of the interval around a prediction.

    Parameters
    ----------
    loo_residuals : array, shape (n,)
        Left-out residuals, divided by the local scale where there is one.
    weights : array, shape (n,)
        Adding up to one.
    level : float
        Probability to cover, between 0 and 1.

    Returns
    -------
    float
        Infinite, with a warning, when the rows are too few for the level.
    """
    if not 0 < level < 1:
        raise InvalidParameterError(
            f"The level of an interval is a probability between 0 and 1; got {level!r}."
        )
    n_rows = 1 / float(weights @ weights)
    needed = level * (1 + 1 / n_rows) - ROUNDING
    if needed > 1:
        warn(
            f"An interval at level {level:g} needs at least {_least_rows(level)} rows; "
            f"{n_rows:.0f} give an infinite one. Lower the level or add rows."
        )
        return float(np.inf)
    sizes = np.abs(loo_residuals)
    order = np.argsort(sizes, kind="stable")
    reached = np.searchsorted(np.cumsum(weights[order]), needed)
    return float(sizes[order[min(int(reached), len(order) - 1)]])


def _least_rows(level: float) -> int:
    """The smallest n with ``level (n + 1) <= n``."""
    return int(np.ceil(level / (1 - level) - 1e-9))


class LocalScale(NamedTuple):
    """The size of the error as a function of the inputs, and left out at the rows fitted on."""

    function: Function
    least: float
    left_out: Array

    def at(self, Z: Array) -> Array:
        """The scale at the points ``Z``."""
        return np.asarray(np.maximum(self.function.values(Z), self.least))


def local_scale(
    kernel: Kernel,
    X: Array,  # (n, d) selected columns only
    loo_residuals: Array,
    weights: Array,
    columns: Index,
    *,
    scales: Array,  # (d,)
) -> LocalScale:
    """Fit the size of the left-out residuals by kernel ridge regression."""
    sizes = np.abs(loo_residuals)
    least = LEAST_SCALE * float(weights @ sizes) or 1.0
    data = (Squared(), kernel, X, sizes, weights, columns)
    fit = refit(*data, scales=scales, fit_intercept=True)
    return LocalScale(fit.function, least, np.maximum(sizes - fit.loo_residuals, least))
