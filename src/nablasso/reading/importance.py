r"""How much each column matters to a fitted function.

.. math:: I_a = \Big(\sum_i p_i\, (\partial_a f(x_i))^2\Big)^{1/2}

for continuous columns. For discrete ones the derivative is replaced by the difference quotients
between a row's level and the observed levels next to it, their squares averaged over the row: a
function may be flat at 0 and at 1 and differ between them.

Cost: gradients at n points, and values at 4 n points per discrete column.
"""

from __future__ import annotations

import numpy as np

from nablasso.reading.differences import discrete_columns, moves, quotients
from nablasso.spaces import Function
from nablasso.types import Array, Mask


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
