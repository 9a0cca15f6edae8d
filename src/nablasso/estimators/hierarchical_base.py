r"""The common face of the estimators that select kernels: validate, build, search, unpack.

All solve, on standardised ``X`` and, where the loss allows it, centred ``y``,

.. math::
    \min_{f, b} \sum_i p_i\, l\big(y_i, b + \textstyle\sum_v f_v(x_i)\big)
    + \frac{\alpha}{2} \Big(\sum_v d_v \|f_{D(v)}\|\Big)^2

over all kernels of a hierarchy (:mod:`nablasso.hierarchy`).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.estimators.hierarchical_reading import (
    read_certificate,
    read_finds,
    summary_of,
    table_node,
)
from nablasso.estimators.validation import (
    check_new_data,
    check_non_negative,
    column_indices,
    group_labels,
)
from nablasso.hierarchy import (
    Budget,
    Found,
    Hierarchy,
    HullSolver,
    LossSample,
    Node,
    Pruner,
    Refitter,
    Search,
    as_decomposition,
    function_of,
    largest_alpha,
    penalised,
)
from nablasso.losses import Loss
from nablasso.paths import DEFAULT_FRACTION
from nablasso.progress import track
from nablasso.types import Array, Index, Mask

STEP = 3.0  # ratio of the alphas on the way down to the one asked for


def selected(search: Search, found: Found, pruner: Pruner | None) -> Found:
    """What a search found, or its function on the pruned hull."""
    return found if pruner is None else search.on(pruner.prune(found.hull).hull, found)


def _steps(top: float, alpha: float) -> Array:
    """Alphas from near the top down to the one asked for."""
    count = int(np.ceil(np.log(max(top / alpha, 1.0)) / np.log(STEP)))
    return np.asarray(alpha * STEP ** np.arange(count, -1, -1.0))


@dataclass(eq=False, repr=False)
class KernelSelector(SelectorMixin, BaseEstimator, ABC):
    """Shared by all estimators over a hierarchy of kernels."""

    _: KW_ONLY
    decomposition: Any = "hermite"
    degree: int = 3
    max_kernels: int | None = None
    max_memory: float = 1e9
    max_work: float = 1e12
    rank: int | None = None
    prune: bool | None = None
    debias: bool = True
    solver: Any = "newton"
    standardize: bool = True
    fit_intercept: bool = True
    feature_groups: Any = None
    always_keep: Any = None
    tol: float = 1e-3
    max_iter: int | None = None
    random_state: Any = None
    verbose: int = 0

    @abstractmethod
    def _hierarchy(self, table: Table, beta: float | None = None) -> Hierarchy:
        """The kernels on the table's rows; ``beta`` overrides the parameter."""

    @abstractmethod
    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        """Inputs, numbers that stand for the target, and weights."""

    @abstractmethod
    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        """The table of validated data."""

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss, thresholds in units of a robust deviation of the target."""

    @abstractmethod
    def _problem_targets(self, table: Table) -> list[Array]:
        """One target per function to be fitted."""

    @abstractmethod
    def _keep(self, functions: list[Any], table: Table) -> None:
        """Remember what predicts."""

    def summary(self) -> str:
        """The result in words."""
        check_is_fitted(self)
        return summary_of(self)

    def partial(self, X: Any, node: Any) -> Array:
        """Component function of one node of the penalised function on the selected nodes.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        node : tuple of (column, level) pairs
            As in ``active_set_``. Nodes that were not selected give zeros.

        Returns
        -------
        array, shape (n_samples,); (n_samples, n_classes) for more than two classes
            The components of all nodes and the intercept add up to the penalised function.
        """
        check_is_fitted(self)
        Z = self._scaler.transform(check_new_data(self, X))
        inner = table_node(self, node)
        parts = [function.part(inner, Z) for function in self._penalised]
        return parts[0] if len(parts) == 1 else np.column_stack(parts)

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def _searches(
        self, table: Table, beta: float | None = None, *, certify: bool = True
    ) -> list[Search]:
        """One search per function to be fitted, on one hierarchy."""
        if not 0 < float(self.tol) < np.inf:
            raise InvalidParameterError(f"tol must be positive; got {self.tol!r}.")
        hierarchy, solver = self._hierarchy(table, beta), HullSolver(self.solver, self.max_iter)
        return [
            Search(
                hierarchy,
                self._sample(table, target),
                solver,
                float(self.tol),
                self._budget(),
                certify,
            )
            for target in self._problem_targets(table)
        ]

    def _budget(self) -> Budget:
        most = self.max_kernels
        if most is not None and (not isinstance(most, int | np.integer) or most < 2):
            raise InvalidParameterError(
                f"max_kernels must be None or a whole number of at least 2; got {most!r}."
            )
        for name in ("max_memory", "max_work"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not float(value) > 0:
                raise InvalidParameterError(f"{name} must be a positive number; got {value!r}.")
        kernels = np.inf if most is None else int(most)
        return Budget(kernels, float(self.max_memory), float(self.max_work))

    def _sample(self, table: Table, target: Array) -> LossSample:
        loss = self._loss().fitted(target, table.weights)
        return LossSample(target, table.weights, loss, self.fit_intercept)

    def _labels(self, table: Table) -> Index:
        """Group of each table column, numbered as they appear."""
        labels = group_labels(self, self.feature_groups)[table.columns]
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.intp)

    def _kept_nodes(self, hierarchy: Hierarchy, table: Table) -> list[Node]:
        """Nodes of the columns in ``always_keep``, in the search from the start."""
        kept = column_indices(self, self.always_keep, "always_keep")
        members = getattr(hierarchy, "members", None)
        if not len(kept) or members is None:
            return []
        wanted = np.isin(table.columns, kept)
        return [((g, 1),) for g, columns in enumerate(members) if wanted[list(columns)].any()]

    def _fit_table(
        self,
        X: Array,
        table: Table,
        alpha: float | None,
        beta: float | None,
        way: Array | None = None,
    ) -> Self:
        """Search at one ``alpha`` and unpack what was found.

        ``way`` are the alphas of a cross-validation down to ``alpha``, walked as in the folds.
        """
        check_non_negative(alpha, "alpha")
        if alpha == 0:
            raise InvalidParameterError(
                "alpha must be positive: without the penalty every kernel is selected. alpha=None "
                "chooses a tenth of alpha_max."
            )
        searches = self._searches(table, beta)
        hierarchy = searches[0].hierarchy
        self.alpha_max_ = max(largest_alpha(search) for search in searches)
        alpha = DEFAULT_FRACTION * self.alpha_max_ if alpha is None else float(alpha)
        kept = self._kept_nodes(hierarchy, table)
        pruners = [self._pruner(table, search) for search in searches]
        steps = _steps(self.alpha_max_, alpha) if way is None else way
        finds = [self._descend(search, steps, kept, solved=way is not None) for search in searches]
        for found in finds:
            self._warn_unless_solved(found, alpha)
        chosen = [
            selected(search, found, pruner)
            for search, found, pruner in zip(searches, finds, pruners, strict=True)
        ]
        self._unpack(X, table, hierarchy, searches, chosen)
        read_certificate(self, hierarchy, table, searches, finds)
        return self

    def _descend(self, search: Search, alphas: Array, kept: list[Node], *, solved: bool) -> Found:
        """Walk down to the last alpha with warm starts, and certify there.

        From a cold start a search near the end of its budget takes in what is large at ``f = 0``.
        ``solved`` goes back to the last alpha at which the budget sufficed, and where there is no
        certificate to be had the hull is that of the candidate that was chosen.
        """
        found: Found | None = None
        for k in track(range(len(alphas)), len(alphas), "alphas", verbose=self.verbose):
            here = search.run(float(alphas[k]), found, kept, certify=False)
            if solved and here.is_cut and found is not None:
                break
            found = here
        assert found is not None
        final = search.run(found.alpha, found, kept)
        if solved and not final.certified:
            return search.run(found.alpha, found, kept, grow=False)
        return final

    def _support(self, table: Table, hierarchy: Hierarchy, found: Found, d: int) -> Mask:
        """Selected columns of the input."""
        support = np.zeros(d, dtype=bool)
        origin = self._origin(table, d)
        for node in found.hull:
            support[origin[list(hierarchy.columns(node))]] = True
        return self._with_kept(support, table)

    def _with_kept(self, support: Mask, table: Table) -> Mask:
        """Columns always kept, with their group, unless they are constant."""
        kept = column_indices(self, self.always_keep, "always_keep")
        labels = group_labels(self, self.feature_groups)
        forced = np.isin(labels, labels[kept]) & np.isin(np.arange(len(support)), table.columns)
        return np.asarray(support | forced)

    def _origin(self, table: Table, d: int) -> Index:
        """Input column of each column that the hierarchy sees."""
        return table.columns

    def _refitter(self, table: Table, search: Search, d: int) -> Refitter:
        hierarchy: Any = search.hierarchy
        kept, origin = self._kept_nodes(hierarchy, table), self._origin(table, d)
        free = not self._is_limited()
        return Refitter(hierarchy, search.sample, hierarchy.X, origin, kept, gaussian=free)

    def _pruner(self, table: Table, search: Search) -> Pruner | None:
        """What prunes hulls on the table's rows; None where they stay as they are."""
        if not self._prunes():
            return None
        kept = self._kept_nodes(search.hierarchy, table)
        return Pruner(search.hierarchy, search.sample, table.total, kept)

    def _prunes(self) -> bool:
        return bool(self.prune)

    def _is_limited(self) -> bool:
        """Whether the decomposition treats rows outside the range of the data apart."""
        return as_decomposition(self.decomposition, self.degree).is_limited()

    def _unpack(
        self,
        X: Array,
        table: Table,
        hierarchy: Hierarchy,
        searches: list[Search],
        finds: list[Found],
    ) -> None:
        d = X.shape[1]
        origin = self._origin(table, d)
        supports = [self._support(table, hierarchy, found, d) for found in finds]
        self._penalised = [function_of(hierarchy, found, origin) for found in finds]
        refits = [
            self._refitter(table, search, d).fit(found.hull, support[origin])
            if self.debias
            else penalised(search.sample, found, function)
            for search, found, support, function in zip(
                searches, finds, supports, self._penalised, strict=True
            )
        ]
        self._scaler = table.scaler
        self._keep([made.function for made in refits], table)
        self.loss_ = searches[0].sample.loss
        self.refit_kind_ = refits[0].kind
        read_finds(self, X, table, hierarchy, searches, finds, supports, refits)

    def _warn_unless_solved(self, found: Found, alpha: float) -> None:
        if found.alpha > alpha:
            warnings.warn(
                f"The budget (max_kernels, max_memory, max_work) ended the path of "
                f"{type(self).__name__} above alpha={alpha:.3g}, which was chosen: the fit is that "
                f"at alpha={found.alpha:.3g}, the smallest that was solved. Raise the budget.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if found.certified:
            return
        grid = "Raise alpha or beta" if hasattr(self, "root_weight") else "Raise alpha"
        spent = f"{len(found.nodes)} kernels were reached, and kernels are missing. {grid}, or"
        cures = {
            "max_kernels": f"{spent} max_kernels.",
            "max_memory": f"{spent} max_memory (bytes).",
            "max_work": f"{spent} max_work (multiplications).",
            "max_iter": "The solver of the reduced problem stopped early. Raise max_iter or "
            "loosen tol.",
            "stalled": "Rounding ends the solver of the reduced problem: some kernels are too "
            "large, as products of heavy-tailed columns are. Transform those columns (ranks, "
            "logarithms), lower degree, or loosen tol.",
            "violators": f"Kernels that violate the optimality conditions remain. {grid}, or "
            "loosen tol.",
            "bound": "No kernel is known to be missing, but the bound on those not looked at is "
            f"not sharp enough. {grid}, or loosen tol.",
        }
        gap = found.gap / found.problem.sample.reference
        warnings.warn(
            f"{type(self).__name__} stopped with duality gap {found.gap:.1e} over all kernels "
            f"({gap:.1e} of the objective at zero) at alpha={found.alpha:.3g}. "
            f"{cures[found.reason]}",
            ConvergenceWarning,
            stacklevel=4,
        )
