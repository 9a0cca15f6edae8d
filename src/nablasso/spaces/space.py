"""What a problem asks of the space that f lives in.

``u`` (n,) are the coefficients of the values, ``v`` (k, d) those of the derivatives; ``K``, ``D``
and ``L`` are the inner products between them. :class:`~nablasso.spaces.RepresenterSpace` has the
rows of a table behind them, :class:`~nablasso.spaces.FeatureSpace` the pseudo-rows of moments.
"""

from __future__ import annotations

from typing import Any, Protocol

from nablasso.types import Array


class Space(Protocol):
    """Values, gradients and their inner products."""

    @property
    def n_samples(self) -> int:
        """``n``."""

    @property
    def n_features(self) -> int:
        """``d``."""

    @property
    def gram(self) -> Array:
        """``K``, shape (n, n)."""

    points: Array  # where derivatives are penalised, shape (k, d)

    def push(self, v: Array) -> tuple[Array, Any]:
        """``D' v``, shape (n,), and a carry for :meth:`pull`."""

    def pull(self, u: Array, v: Array, carry: Any) -> Array:
        """``D u + L v``, shape (k, d)."""

    def products(self, u: Array, v: Array) -> tuple[Array, Array]:
        """``K u + D' v`` and ``D u + L v``."""

    def values(self, u: Array, v: Array) -> Array:
        """``K u + D' v``."""

    def gradients(self, u: Array, v: Array) -> Array:
        """``D u + L v``."""

    def derivative_diagonal(self) -> Array:
        """Diagonal of ``L``, shape (k, d)."""

    def dense(self) -> tuple[Array, Array]:
        """``D`` (k d x n) and ``L`` (k d x k d)."""
