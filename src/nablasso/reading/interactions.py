r"""Which pairs of columns act together: cross derivatives of a fitted function.

.. math:: J_{ab} = \Big(\sum_i p_i\, (\partial_a \partial_b f(x_i))^2\Big)^{1/2}

is zero exactly when f is a sum of a function without ``x_a`` and one without ``x_b`` (where the
points lie). For any kernel ``d_a d_b f`` is the difference quotient along ``a`` of the exact
gradient's component ``b``, averaged with the one of ``a`` and ``b`` exchanged. Discrete columns
take quotients between observed levels: of ``d_b f`` where ``b`` is continuous, of the
quotients along ``b`` where both are discrete; squares are averaged over a row's moves.

Cost: gradients at 2 n points per continuous column and at 4 n points per discrete one, values at
16 n points per pair of discrete columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple, Protocol

import numpy as np

from nablasso.reading.differences import Moves, discrete_columns, moves, quotients
from nablasso.types import Array, Index, Mask


class Smooth(Protocol):
    """A function with gradients, of the columns of a table."""

    def values(self, Z: Array) -> Array:
        """Values at points."""

    def gradients(self, Z: Array) -> Array:
        """Gradients at points."""


class Interaction(NamedTuple):
    """Columns ``a < b`` and the root mean squared cross derivative between them."""

    a: int
    b: int
    strength: float


def interactions(
    function: Smooth,
    Z: Array,
    weights: Array,
    columns: Sequence[int] | Index,
    discrete: Mask | None = None,
) -> list[Interaction]:
    """All pairs of the given columns, the strongest interaction first.

    Parameters
    ----------
    function : object with values and gradients
    Z : array, shape (n, d)
        Points in the units of the function; the result is per unit of both columns.
    weights : array, shape (n,)
        Adding up to one.
    columns : sequence of int
    discrete : array of bool, shape (d,), optional
        Which columns are discrete; by default those with at most 10 values in ``Z``.

    Returns
    -------
    list of Interaction
    """
    discrete = discrete_columns(Z) if discrete is None else discrete
    chosen = sorted({int(a) for a in columns})
    along = {a: moves(Z, a, discrete=bool(discrete[a])) for a in chosen}
    slopes: dict[int, Array] = {}  # along a, of the derivatives in all chosen columns: (s, n, p)
    if not discrete[chosen].all():
        slopes = {
            a: quotients(lambda points: function.gradients(points)[:, chosen], Z, along[a])
            for a in chosen
        }
    place = {a: k for k, a in enumerate(chosen)}
    found = []
    for a, b in combinations(chosen, 2):
        if discrete[a] and discrete[b]:
            cross, share = _second_differences(function, Z, along[a], along[b])
        elif discrete[a] or discrete[b]:
            level, smooth = (a, b) if discrete[a] else (b, a)
            cross, share = slopes[level][:, :, place[smooth]], along[level].share
        else:
            cross = (slopes[a][:, :, place[b]] + slopes[b][:, :, place[a]]) / 2
            share = along[a].share
        square = weights @ np.sum(share * cross**2, axis=0)
        found.append(Interaction(a, b, float(np.sqrt(square))))
    return sorted(found, key=lambda pair: -pair.strength)


def _second_differences(
    function: Smooth, Z: Array, first: Moves, second: Moves
) -> tuple[Array, Array]:
    """Quotients along ``first`` of quotients along ``second``, (s, n), and their shares."""

    def inner(points: Array) -> Array:
        repeated = second.repeated(len(points) // len(Z))
        return quotients(function.values, points, repeated).T

    cross = np.moveaxis(quotients(inner, Z, first), 2, 1)  # (s_first, s_second, n)
    share = first.share[:, None] * second.share[None]
    return cross.reshape(-1, len(Z)), share.reshape(-1, len(Z))
