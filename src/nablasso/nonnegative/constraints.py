r"""Linear constraints on a density: ``Tr(B W) = value`` with ``W`` in closed form.

Any linear functional of ``f`` is ``Tr(B W)`` with ``W[i, j]`` its value on the product of two
kernel functions. Here: moments and probabilities of boxes, in the units of the input, and
whatever a function of the bumps can say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.nonnegative.gaussians import Bumps, pair_integrals, pair_moments
from nablasso.nonnegative.model import check_box
from nablasso.nonnegative.task import Base, Functional
from nablasso.types import Array


class DensityConstraint(ABC):
    """A linear functional of the density and the number it must equal."""

    value: float

    @abstractmethod
    def matrix(self, bumps: Bumps) -> Array:
        """``W[i, j]``, the functional of ``g_i g_j``; bumps in the units of the input."""


@dataclass(frozen=True)
class Moment(DensityConstraint):
    """``E[x_1^{k_1} ... x_d^{k_d}] = value``; powers are 0, 1 or 2."""

    powers: Sequence[int]
    value: float

    def matrix(self, bumps: Bumps) -> Array:
        """Moments of products of bumps."""
        powers, d = np.asarray(self.powers), bumps.centres.shape[1]
        if powers.shape != (d,):
            raise InvalidParameterError(
                f"A moment has one power per column, {d} in all; got {self.powers!r}."
            )
        return pair_moments(bumps, powers)


@dataclass(frozen=True)
class BoxProbability(DensityConstraint):
    """``P(x in box) = value``, the box given by lower and upper ends (d, 2)."""

    box: Any
    value: float

    def matrix(self, bumps: Bumps) -> Array:
        """Integrals of products of bumps over the box."""
        return pair_integrals(bumps, check_box(self.box, bumps.centres.shape[1]))


@dataclass(frozen=True)
class LinearConstraint(DensityConstraint):
    """Any other functional: ``function(bumps)`` gives ``W`` (m, m)."""

    function: Callable[[Bumps], Array]
    value: float

    def matrix(self, bumps: Bumps) -> Array:
        """What the function says, made symmetric."""
        W = np.asarray(self.function(bumps), dtype=float)
        return np.asarray(0.5 * (W + W.T))


def as_functionals(
    constraints: Any, table: Table, scales: Array, base: Base | None
) -> tuple[Functional, ...]:
    """Constraints on the density as constraints on the fitted function."""
    try:
        given = tuple(constraints)
    except TypeError:
        given = (constraints,)
    for constraint in given:
        if not isinstance(constraint, DensityConstraint):
            raise InvalidParameterError(
                "constraints must be Moment, BoxProbability or LinearConstraint objects; got "
                f"{constraint!r}."
            )
    columns = table.columns
    centre, scale = table.scaler.centre[columns], table.scaler.scale[columns]

    def in_units(constraint: DensityConstraint) -> Callable[[Bumps], Array]:
        def matrix(bumps: Bumps) -> Array:
            roots = np.full(len(bumps), np.sqrt(np.prod(scales / scale)))
            if base is not None:
                root = Bumps(base.mean[None, :], 0.5 / base.variance[None, :])
                bumps, logs = bumps.times(root)
                height = np.prod(2 * np.pi * base.variance * scale**2) ** -0.25
                roots = np.exp(logs) * height
            outside = bumps.composed(1 / scale, -centre / scale).spread(columns, len(columns))
            return np.asarray(roots[:, None] * constraint.matrix(outside) * roots)

        return matrix

    return tuple(Functional(in_units(c), float(c.value)) for c in given)
