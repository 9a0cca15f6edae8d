r"""The feature space of a node: a matrix at the data, and a way to evaluate it elsewhere.

A node's kernel is ``k_w(x, x') = phi_w(x).phi_w(x')``; ``Block.train`` is ``phi_w`` at the data,
shape (n, r). Products of kernels are row-wise Kronecker products of features. Where those have more
columns than there are rows, or than the rank allowed, the product matrix is decomposed anew
(:mod:`nablasso.spaces.low_rank`), so a node never costs more than n x min(n, rank) numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray

from nablasso.spaces.low_rank import LowRank, low_rank

Array = NDArray[np.float64]


class Block(ABC):
    """Features of a node."""

    train: Array

    def without_data(self) -> Self:
        """A copy that can be evaluated but does not hold the data."""
        slim = copy(self)
        slim.train = np.empty((0, self.train.shape[1]))
        return slim

    @abstractmethod
    def evaluate(self, Z: Array) -> Array:
        """Features of new points, (m, r)."""


class FeatureBlock(Block):
    """Features given by a function of the points."""

    def __init__(self, function: Callable[[Array], Array], X: Array) -> None:
        self.function = function
        self.train = function(X)

    def evaluate(self, Z: Array) -> Array:
        """The function itself."""
        return self.function(Z)


class KernelBlock(Block):
    """Features of a kernel, from its pivot rows."""

    def __init__(
        self, kernel: Callable[[Array, Array], Array], X: Array, rank: int | None = None
    ) -> None:
        self.kernel = kernel
        self.parts: LowRank = low_rank(kernel(X, X), rank)
        self.points = X[self.parts.pivots]
        self.train = self.parts.train

    def without_data(self) -> Self:
        """Without the features at the data."""
        slim = super().without_data()
        slim.parts = self.parts._replace(train=slim.train)
        return slim

    def evaluate(self, Z: Array) -> Array:
        """From the kernel with the pivot rows."""
        return self.parts.features(self.kernel(Z, self.points))


class ProductBlock(Block):
    """Product of blocks, times a common factor of one column."""

    def __init__(self, blocks: list[Block], rank: int | None = None) -> None:
        self.blocks = blocks
        parts = [block.train for block in blocks]
        n, r = len(parts[0]), int(np.prod([part.shape[1] for part in parts]))
        self.parts: LowRank | None = None
        if r > (n if rank is None else min(n, rank)):
            self.parts = low_rank(_gram(parts, parts), rank)
            self.pivot_parts = [part[self.parts.pivots] for part in parts]
            self.train = self.parts.train
        else:
            self.train = kronecker(parts)

    def without_data(self) -> Self:
        """Without the features at the data, its own and its parts'."""
        slim = super().without_data()
        slim.blocks = [block.without_data() for block in self.blocks]
        if self.parts is not None:
            slim.parts = self.parts._replace(train=slim.train)
        return slim

    def evaluate(self, Z: Array) -> Array:
        """Products of the parts' features."""
        parts = [block.evaluate(Z) for block in self.blocks]
        if self.parts is None:
            return kronecker(parts)
        return self.parts.features(_gram(parts, self.pivot_parts))


def kronecker(parts: list[Array]) -> Array:
    """Row-wise Kronecker product of feature matrices."""
    out = parts[0]
    for part in parts[1:]:
        out = (out[:, :, None] * part[:, None, :]).reshape(len(out), -1)
    return out


def _gram(left: list[Array], right: list[Array]) -> Array:
    """Elementwise product of the kernels of matching parts."""
    out = left[0] @ right[0].T
    for a, b in zip(left[1:], right[1:], strict=True):
        out *= a @ b.T
    return np.asarray(out)
