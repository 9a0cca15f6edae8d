"""What a fitted function is, and what a fit of several of them returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from nablasso.solvers import Status
from nablasso.types import Array


class FittedFunction(ABC):
    """A function of ``d`` variables."""

    @abstractmethod
    def values(self, X: Array) -> Array:
        """Values at the rows of ``X``, shape (k,)."""

    @abstractmethod
    def gradients(self, X: Array) -> Array:
        """Gradients at the rows of ``X``, shape (k, d)."""


@dataclass(frozen=True)
class Fit:
    """Block functions in the units of the task, and how good they are.

    ``functions`` has one entry per block. ``primal`` is the objective of these functions, ``gap``
    bounds its distance from the optimum (nan where a model has no such bound). ``point`` is what a
    later fit of the same rows can start from.
    """

    functions: list[Any]
    primal: float
    gap: float
    n_iter: int
    status: Status
    point: Any = field(default=None, repr=False)
