r"""What a fitted function says of its columns: quotients, importances.

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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nablasso.data.table import discrete_columns
from nablasso.spaces import Function
from nablasso.types import Array, Mask

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
    """Root mean squared derivative, or difference quotient, per unit of each column of ``Z``.

    ``weights`` add up to one; ``discrete`` are by default the columns with at most 10 values.
    """
    squares = weights @ function.gradients(Z) ** 2
    discrete = discrete_columns(Z) if discrete is None else discrete
    for a in np.intersect1d(np.flatnonzero(discrete), function.columns):
        along = moves(Z, int(a), discrete=True)
        steps = quotients(function.values, Z, along)
        squares[a] = weights @ np.sum(along.share * steps**2, axis=0)
    return np.asarray(np.sqrt(squares))
