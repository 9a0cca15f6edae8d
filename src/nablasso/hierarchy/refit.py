r"""What is made of a hull without the sparse penalty: which nodes pay, and what predicts.

**Pruning.** Sinks of a hull W are taken away while the extended Bayes information criterion (Chen
and Chen, 2008) of a fit without penalty falls:

.. math:: \mathrm{EBIC}(W) = D(W) + k \log n + 2 R \log p

with k features and R nodes that have any, p the number of nodes that a search can begin with, n the
sum of the sample weights as they were given, and D minus twice the log-likelihood at its maximum:
``n log(mean (y - z)^2)`` for the squared loss, ``2 n sum_i p_i l(y_i, z_i)`` for the logistic one,
with a wide normal prior of the coefficients, since separated classes have no maximum. A node of
large rank stands for its leading principal directions (:func:`leading`).

The sink that is taken is the one whose loss costs least by the quadratic model at the solution:
with the coefficients ``c`` and ``C`` the (curvature-weighted) second moments of the features, a
block B costs ``c_B' ([C^{-1}]_BB)^{-1} c_B``. While there are more than half as many features as
rows steps are made whatever the criterion says, a tenth of the features between two factorisations:
``C^{-1}`` and ``c`` without B follow from those with it in O(k^2).

**Refit**: a machine with the kernel of the hull, ``sum_{w in hull} K_w``, or with a Gaussian kernel
of the selected columns where its leave-one-out loss is smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, svd

from nablasso.hierarchy.dag import Hierarchy, Node, NodeBlock, hull_of, ordered
from nablasso.hierarchy.search import Found, Search
from nablasso.kernels import Gaussian, length_scale
from nablasso.losses import LossSample, Squared
from nablasso.regression.machine import GramRows, Machines, OnFeatures, refit
from nablasso.regression.ridge import Ridge, moments_of
from nablasso.spaces import Function
from nablasso.types import Array, Index, Mask

SHARE = 0.99  # of a node's variance that its leading directions hold
PER_DIRECTION = 10  # rows
AT_ONCE = 0.1  # of too many features, taken between two factorisations
NOTHING = 1e-20  # of the mean square: what is left of a constant
SINGULAR = 1e-10  # added to the moments of features of unit variance
ROUNDING = 1e-14  # of the variance of y: smaller residuals are none
WIDTH = 5.0  # deviation of the coefficients' prior
STEP = 1e-5  # of central differences, in standardised units
MARGIN = 1e-3  # the Gaussian kernel must be better by this share
MOST = 20  # columns beyond which an isotropic kernel sees little


class Pruned(NamedTuple):
    """A hull and its criterion."""

    hull: list[Node]
    criterion: float


class _Fit(NamedTuple):
    """The criterion of a hull, and the quadratic model at the fit of largest likelihood."""

    criterion: float
    coef: Array
    inverse: Array  # of C
    places: dict[Node, slice]  # of each node's features
    unit: float  # the variance left


class Pruner:
    """Prunes hulls on one sample; what was computed for a hull is kept.

    ``rows`` are counted with copies; nodes ``kept`` and their ancestors are never taken away, and
    are in every fit.
    """

    def __init__(
        self,
        hierarchy: Hierarchy,
        sample: LossSample,
        rows: float,
        kept: list[Node] | None = None,
    ) -> None:
        self.hierarchy, self.sample, self.rows = hierarchy, sample, max(float(rows), 2.0)
        self.kept = hull_of(hierarchy, kept or [])
        first = hierarchy.sources()
        self.choices = max(len(first), len(hierarchy.frontier(set(first))), 1)
        self._features: dict[Node, Array] = {}
        self._ends: dict[frozenset[Node], Pruned] = {}

    def prune(self, hull: list[Node]) -> Pruned:
        """Take sinks away while the criterion falls."""
        here = frozenset(hull) | self.kept
        fit, way = self._fit(here), [here]
        while here not in self._ends:
            crowded = self._is_crowded(len(fit.coef))
            smaller = self._smaller(fit, AT_ONCE * len(fit.coef) if crowded else 0.0)
            new = self._fit(smaller) if smaller != here else fit
            if smaller == here or not (new.criterion < fit.criterion or crowded):
                self._ends[here] = Pruned(ordered(set(here)), fit.criterion)
                break
            here, fit = smaller, new
            way.append(here)
        end = self._ends[here]
        self._ends |= dict.fromkeys(way, end)
        inside = set(hull)
        return Pruned([node for node in end.hull if node in inside], end.criterion)

    def _smaller(self, fit: _Fit, most: float) -> frozenset[Node]:
        """The hull without its cheapest sinks: one, or while crowded ``most`` features of them."""
        coef, inverse, unit = fit.coef.copy(), fit.inverse.copy(), fit.unit
        left, hull = len(coef), dict.fromkeys(fit.places, 0)  # children inside
        for node in fit.places:
            for parent in self.hierarchy.parents(node):
                hull[parent] += 1
        while True:
            free = [v for v in hull if not hull[v] and v not in self.kept]
            free = [v for v in free if self.hierarchy.columns(v)]
            if not free:
                break
            lost = {v: _block_loss(coef, inverse, fit.places[v]) for v in free}
            costs = {v: self._rise(lost[v], unit) - self._price(v) for v in free}
            node = min(free, key=lambda v: costs[v])
            mine = fit.places[node]
            part = np.linalg.solve(inverse[mine, mine], inverse[mine])
            coef -= coef[mine] @ part
            inverse -= inverse[:, mine] @ part
            unit, left = unit + lost[node], left - self._of(node).shape[1]
            del hull[node]
            for parent in self.hierarchy.parents(node):
                hull[parent] -= 1
            if len(fit.coef) - left >= most or not self._is_crowded(left):
                break
        return frozenset(hull)

    def _price(self, node: Node) -> float:
        """What the criterion charges for a node: nothing without features."""
        width = int(self._of(node).shape[1])
        return width * float(np.log(self.rows)) + 2 * float(np.log(self.choices)) * (width > 0)

    def _is_crowded(self, features: int) -> bool:
        return 2 * features > len(self.sample.y)

    def _of(self, node: Node) -> Array:
        if node not in self._features:
            F = self.hierarchy.block(node).train
            self._features[node] = leading(F, self.sample.weights)
        return self._features[node]

    def _fit(self, hull: frozenset[Node]) -> _Fit:
        nodes = ordered(set(hull))
        blocks = [self._of(node) for node in nodes]
        Phi = np.column_stack([np.empty((len(self.sample.y), 0)), *blocks])
        squared = isinstance(self.sample.loss, Squared)
        deviance, coef, C, unit = self._least_squares(Phi) if squared else self._machine(Phi)
        inverse = cho_solve(cho_factor(C), np.eye(len(C))) if len(C) else C
        ends = np.cumsum([0, *(block.shape[1] for block in blocks)])
        places = {node: slice(ends[k], ends[k + 1]) for k, node in enumerate(nodes)}
        criterion = deviance + sum(self._price(node) for node in nodes)
        return _Fit(criterion, coef, inverse, places, unit)

    def _rise(self, lost: float, unit: float) -> float:
        """What a loss of fit adds to the deviance; ``unit`` is the variance left."""
        if isinstance(self.sample.loss, Squared):
            return self.rows * float(np.log1p(lost / unit))
        return 2 * self.rows * lost

    def _least_squares(self, Phi: Array) -> tuple[float, Array, Array, float]:
        y, p = self.sample.y, self.sample.weights
        C, target = moments_of(Phi, y, p)
        C[np.diag_indices_from(C)] += SINGULAR
        coef = cho_solve(cho_factor(C), target) if len(target) else target
        rest = y - Phi @ coef
        rest = rest - p @ rest
        floor = max(ROUNDING * self.sample.reference, np.finfo(float).tiny)
        variance = max(float(p @ rest**2), floor)
        return self.rows * float(np.log(variance)), coef, C, variance

    def _machine(self, Phi: Array) -> tuple[float, Array, Array, float]:
        sample = self.sample
        ridge = 1 / (2 * self.rows * WIDTH**2)
        machines = Machines(sample, OnFeatures(Phi))
        coef = machines.at(ridge).coef if Phi.shape[1] else np.empty(0)
        z = Phi @ coef
        z = z + sample.intercept(z)
        C = moments_of(Phi, sample.y, sample.expansion(z).weights)[0]
        C[np.diag_indices_from(C)] += ridge
        value = sample.mean_loss(z) + ridge * float(coef @ coef)
        return 2 * self.rows * value, coef, C, 1.0


def _block_loss(coef: Array, inverse: Array, place: slice) -> float:
    """``c_B' ([C^{-1}]_BB)^{-1} c_B``."""
    c = coef[place]
    if len(c) < 2:
        return float(np.sum(c**2 / np.diag(inverse)[place]))
    return float(c @ np.linalg.solve(inverse[place, place], c))


def leading(F: Array, weights: Array) -> Array:
    """Principal directions of features that hold most of their variance, each of variance one."""
    size = float(np.einsum("i,ij,ij->", weights, F, F))
    F = F - weights @ F
    root = np.sqrt(weights)[:, None]
    U, sigma, _ = svd(root * F, full_matrices=False, check_finite=False)
    total = np.cumsum(sigma**2)
    if not len(total) or not total[-1] > NOTHING * size:
        return np.empty((len(F), 0))
    count = int(np.searchsorted(total, SHARE * total[-1])) + 1
    count = max(1, min(count, len(F) // PER_DIRECTION))
    return np.asarray(U[:, :count] / root)


@dataclass(frozen=True)
class HullFunction:
    """``intercept + sum_w phi_w(z).coef_w``; ``columns`` of the input go to the hierarchy."""

    intercept: float
    columns: Index
    parts: dict[Node, tuple[NodeBlock, Array]]
    used: Index  # columns of the input that the function depends on

    def values(self, Z: Array) -> Array:
        """Values at standardised points ``Z`` (m, d)."""
        return sum((self.part(node, Z) for node in self.parts), np.full(len(Z), self.intercept))

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


def hull_function(
    hierarchy: Hierarchy, nodes: list[Node], coef: Array, intercept: float, columns: Index
) -> HullFunction:
    """The function of these coefficients, node by node; it no longer holds the data."""
    used = sorted({a for node in nodes for a in hierarchy.columns(node)})
    blocks = [hierarchy.block(node) for node in nodes]
    ends = np.cumsum([block.train.shape[1] for block in blocks])
    own = zip((block.without_data() for block in blocks), np.split(coef, ends)[:-1], strict=True)
    parts = dict(zip(nodes, own, strict=True))
    return HullFunction(intercept, columns, parts, columns[np.array(used, dtype=np.intp)])


class HullRefit(NamedTuple):
    """A fitted function, its kind, and its predictions of left-out rows."""

    function: HullFunction | Function
    kind: str
    left_out: Array


@dataclass(frozen=True)
class Penalised:
    """The penalised function itself."""

    found: Found
    hierarchy: Hierarchy
    columns: Index
    kind: str = "none"

    @cached_property
    def function(self) -> HullFunction:
        """Of the point that was found."""
        point = self.found.point
        given = (self.found.hull, point.coef, point.intercept)
        return hull_function(self.hierarchy, *given, self.columns)

    @property
    def left_out(self) -> Array:
        """Predictions of left-out rows, at fixed weights of the kernels."""
        problem, point, sample = self.found.problem, self.found.point, self.found.problem.sample
        gram = (problem.Phi * point.weights.zeta[problem.owner]) @ problem.Phi.T
        return Machines(sample, GramRows(gram)).left_out(self.found.alpha / 2, point.predictions)


class Refitter:
    """Refits on one sample; those of the same hull or columns are made once.

    ``columns`` are the input columns of the hierarchy's, ``kept`` are nodes of every hull.
    """

    def __init__(
        self, hierarchy: Hierarchy, sample: LossSample, columns: Index, kept: list[Node]
    ) -> None:
        self.hierarchy, self.sample, self.columns = hierarchy, sample, columns
        self.kept = ordered(hull_of(hierarchy, kept))
        self._known: dict[object, HullRefit] = {}

    def fit(self, hull: list[Node], support: Mask) -> HullRefit:
        """The better candidate for a mask of the hierarchy's columns; of none the null model."""
        used = np.flatnonzero(support)
        if not len(used):
            return self._cached("null", lambda: self._gaussian(used))
        hull = [*hull, *(node for node in self.kept if node not in set(hull))]
        ours = self._cached(frozenset(hull), lambda: self._hull(hull))
        if len(used) > MOST:
            return ours
        other = self._cached(used.tobytes(), lambda: self._gaussian(used))
        loss = self.sample.mean_loss
        return other if loss(other.left_out) < (1 - MARGIN) * loss(ours.left_out) else ours

    def _cached(self, key: object, make: Callable[[], HullRefit]) -> HullRefit:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def _gaussian(self, used: Index) -> HullRefit:
        sample, X, kernel = self.sample, self.hierarchy.X[:, used], Gaussian()
        width = length_scale(kernel, X, sample.weights, "median") if X.shape[1] else 1.0
        made = refit(sample, kernel, X, self.columns[used], np.full(X.shape[1], 1 / width))
        return HullRefit(made.function, "gaussian", sample.y - made.loo_residuals)

    def _hull(self, hull: list[Node]) -> HullRefit:
        sample, y = self.sample, self.sample.y
        Phi = np.column_stack([self.hierarchy.block(node).train for node in hull])
        if isinstance(sample.loss, Squared):
            fit = Ridge.of_features(Phi, sample.weights, fit_intercept=True)
            ridge = fit.best_ridge(y)
            coef, b = fit.feature_coefficients(y, ridge)
            left_out = y - fit.loo_residuals(y, ridge)
        else:
            machine, _, left_out = Machines(sample, GramRows(Phi @ Phi.T)).best()
            coef, b = Phi.T @ machine.coef, machine.intercept
        function = hull_function(self.hierarchy, hull, coef, b, self.columns)
        return HullRefit(function, "hull", left_out)


@dataclass(frozen=True)
class HullLearner:
    """What searches, prunes and refits each function of a target, on one hierarchy.

    ``kept`` are nodes that are in every hull, ``columns`` the input columns of the hierarchy's.
    """

    hierarchy: Hierarchy
    kept: list[Node]
    columns: Index
    searches: list[Search]
    pruners: list[Pruner] | None
    refitters: list[Refitter]

    def walk(self, alphas: Iterable[float], *, beyond: bool = False) -> Iterator[list[Found]]:
        """Solutions at decreasing alphas, each from the one before; ``beyond`` the budget too."""
        last: list[Found] | list[None] = [None] * len(self.searches)
        for k, alpha in enumerate(alphas):
            pairs = zip(self.searches, last, strict=True)
            last = [search.run(float(alpha), found, self.kept) for search, found in pairs]
            if k and not beyond and any(found.is_cut for found in last):
                return
            yield last

    def pruned(self, finds: list[Found]) -> list[Found]:
        """The functions on the pruned hulls; as they are where nothing is pruned."""
        if self.pruners is None:
            return finds
        parts = zip(self.searches, self.pruners, finds, strict=True)
        return [search.on(pruner.prune(f.hull).hull, f) for search, pruner, f in parts]

    def criterion(self, finds: list[Found]) -> float:
        """Sum of the criteria of the pruned hulls."""
        pairs = zip(self.pruners or [], finds, strict=True)
        return sum(pruner.prune(found.hull).criterion for pruner, found in pairs)

    def penalised(self, finds: list[Found]) -> list[Penalised]:
        """The penalised functions."""
        return [Penalised(found, self.hierarchy, self.columns) for found in finds]

    def refits(self, finds: list[Found], supports: list[Mask]) -> list[HullRefit]:
        """Kernel machines on the hulls, or on the selected columns of the input."""
        parts = zip(self.refitters, finds, supports, strict=True)
        return [refitter.fit(found.hull, mask[self.columns]) for refitter, found, mask in parts]
