r"""The function on a hull, and debiasing: a kernel machine without sparsity on what was selected.

Two candidates, the one of smaller leave-one-out loss is taken: the kernel of the hull,
``sum_{w in hull} K_w`` (ridge regression on the selected products where nodes have rank one), and a
Gaussian kernel on the selected columns, for functions that are smooth in a few variables but not
short in the decomposition. The ridge is chosen by leave-one-out in both. Nodes that are always
kept are in the hull's kernel whatever the search found. A decomposition that treats rows outside
the range of the data apart has no Gaussian candidate, which could not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nablasso.hierarchy.dag import Block, Hierarchy, Node, hull_of, ordered
from nablasso.hierarchy.problem import Sample
from nablasso.hierarchy.search import Found
from nablasso.kernels import as_kernel, length_scale
from nablasso.losses import Squared
from nablasso.regression.machine import GramRows, Machines, refit
from nablasso.regression.ridge import Ridge
from nablasso.spaces import Function
from nablasso.types import Array, Index, Mask

STEP = 1e-5  # of central differences, in standardised units
MARGIN = 1e-3  # the Gaussian kernel must be better by this share
MOST = 20  # columns beyond which an isotropic kernel sees little


@dataclass(frozen=True)
class HullFunction:
    """``intercept + sum_w phi_w(z).coef_w``; ``columns`` of the input go to the hierarchy."""

    intercept: float
    columns: Index
    parts: dict[Node, tuple[Block, Array]]
    used: Index  # columns of the input that the function depends on

    def values(self, Z: Array) -> Array:
        """Values at standardised points ``Z`` (m, d)."""
        inner, out = Z[:, self.columns], np.full(len(Z), self.intercept)
        for block, coef in self.parts.values():
            out += block.evaluate(inner) @ coef
        return out

    def part(self, node: Node, Z: Array) -> Array:
        """Component of one node; zero outside the hull."""
        if node not in self.parts:
            return np.zeros(len(Z))
        block, coef = self.parts[node]
        return np.asarray(block.evaluate(Z[:, self.columns]) @ coef)

    def gradients(self, Z: Array) -> Array:
        """Gradients in standardised units by central differences, (m, d)."""
        out = np.zeros(Z.shape)
        for column in self.used:
            above, below = Z.copy(), Z.copy()
            above[:, column] += STEP
            below[:, column] -= STEP
            out[:, column] = (self.values(above) - self.values(below)) / (2 * STEP)
        return out


def function_of(hierarchy: Hierarchy, found: Found, columns: Index) -> HullFunction:
    """The penalised function of a solution."""
    owner, coef = found.problem.owner, found.point.coef
    parts = {node: (hierarchy.block(node), coef[owner == k]) for k, node in enumerate(found.hull)}
    return assemble(hierarchy, parts, found.point.intercept, columns)


def assemble(
    hierarchy: Hierarchy, parts: dict[Node, tuple[Block, Array]], intercept: float, columns: Index
) -> HullFunction:
    """A function that no longer holds the data."""
    used = sorted({a for node in parts for a in hierarchy.columns(node)})
    slim = {node: (block.without_data(), coef) for node, (block, coef) in parts.items()}
    return HullFunction(intercept, columns, slim, columns[np.array(used, dtype=np.intp)])


class HullRefit(NamedTuple):
    """A fitted function, its kind, and its predictions of left-out rows."""

    function: HullFunction | Function
    kind: str
    left_out: Array


def penalised(sample: Sample, found: Found, function: HullFunction) -> HullRefit:
    """The penalised function itself, with its left-out predictions at fixed weights."""
    problem, point = found.problem, found.point
    gram = (problem.Phi * point.weights.zeta[problem.owner]) @ problem.Phi.T
    data = (sample.y, sample.weights, sample.fit_intercept)
    machines = Machines(sample.loss, GramRows(gram), *data)
    return HullRefit(function, "none", machines.left_out(found.alpha / 2, point.predictions))


class Refitter:
    """Refits on one sample; those of the same hull or columns are made once.

    ``X`` are the rows that the hierarchy sees, ``columns`` the input columns of its columns;
    ``kept`` are nodes of every hull, and ``gaussian`` offers the Gaussian kernel.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        sample: Sample,
        X: Array,
        columns: Index,
        kept: list[Node] | None = None,
        *,
        gaussian: bool = True,
    ) -> None:
        self.hierarchy, self.sample = hierarchy, sample
        self.X, self.columns = X, columns
        self.kept, self.gaussian = ordered(hull_of(hierarchy, kept or [])), gaussian
        self._known: dict[object, HullRefit] = {}

    def fit(self, hull: list[Node], support: Mask) -> HullRefit:
        """The better candidate; no selected column gives the null model.

        ``support`` is a mask of the columns of ``X``.
        """
        used = np.flatnonzero(support)
        if not len(used):
            return self._cached("null", lambda: self._gaussian(used))
        hull = [*hull, *(node for node in self.kept if node not in set(hull))]
        ours = self._cached(frozenset(hull), lambda: self._hull(hull))
        if len(used) > MOST or not self.gaussian:
            return ours
        other = self._cached(used.tobytes(), lambda: self._gaussian(used))
        better = self._score(other) < (1 - MARGIN) * self._score(ours)
        return other if better else ours

    def _cached(self, key: object, make: Callable[[], HullRefit]) -> HullRefit:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _score(self, made: HullRefit) -> float:
        sample = self.sample
        return float(sample.weights @ sample.loss.value(sample.y, made.left_out))

    def _gaussian(self, used: Index) -> HullRefit:
        sample, X, kernel = self.sample, self.X[:, used], as_kernel("gaussian")
        width = length_scale(kernel, X, sample.weights, "median") if X.shape[1] else 1.0
        data = (sample.loss, kernel, X, sample.y, sample.weights, self.columns[used])
        scales = np.full(X.shape[1], 1 / width)
        made = refit(*data, scales=scales, fit_intercept=sample.fit_intercept)
        return HullRefit(made.function, "gaussian", sample.y - made.loo_residuals)

    def _hull(self, hull: list[Node]) -> HullRefit:
        blocks = {node: self.hierarchy.block(node) for node in hull}
        Phi = np.column_stack([block.train for block in blocks.values()])
        coef, b, left_out = self._solve(Phi)
        ends = np.cumsum([block.train.shape[1] for block in blocks.values()])[:-1]
        parts = dict(
            zip(blocks, zip(blocks.values(), np.split(coef, ends), strict=True), strict=True)
        )
        function = assemble(self.hierarchy, parts, b, self.columns)
        return HullRefit(function, "hull", left_out)

    def _solve(self, Phi: Array) -> tuple[Array, float, Array]:
        """Coefficients, intercept and predictions of left-out rows."""
        sample, y = self.sample, self.sample.y
        if isinstance(sample.loss, Squared):
            fit = Ridge.of_features(Phi, sample.weights, fit_intercept=sample.fit_intercept)
            ridge = fit.best_ridge(y)
            return *fit.feature_coefficients(y, ridge), y - fit.loo_residuals(y, ridge)
        data = (y, sample.weights, sample.fit_intercept)
        best = Machines(sample.loss, GramRows(Phi @ Phi.T), *data).best()
        return Phi.T @ best.machine.coef, best.machine.intercept, best.left_out
