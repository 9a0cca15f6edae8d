r"""Hierarchical kernel learning: validate, build the graph, search, unpack.

On standardised ``X`` and, where the loss allows it, centred ``y`` all estimators solve

.. math::
    \min_{f, b} \sum_i p_i\, l\big(y_i, b + \textstyle\sum_v f_v(x_i)\big)
    + \frac{\alpha}{2} \Big(\sum_v d_v \|f_{D(v)}\|\Big)^2

over all kernels of a hierarchy (:mod:`nablasso.hierarchy`). Without interactions this is multiple
kernel learning, the sparse additive model: one kernel per variable, and with ``mu`` = ``l1_ratio``
the norm ``mu sum_v ||f_v|| + (1 - mu) (sum_v ||f_v||^2)^{1/2}``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError, warn
from nablasso.estimators.hierarchical_reading import (
    importances_of,
    in_order,
    interactions_of,
    is_product,
    renamed,
    table_node,
    variables,
)
from nablasso.estimators.outcome import Answers, feature_kinds, selection_status
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.tables import Selects
from nablasso.estimators.target import Data
from nablasso.estimators.validation import (
    check_new_data,
    check_non_negative,
    column_indices,
    feature_names,
    group_labels,
)
from nablasso.hierarchy import (
    Budget,
    DagHierarchy,
    Decomposition,
    Flat,
    Found,
    Grid,
    Hierarchy,
    HullLearner,
    HullSolver,
    KernelDag,
    LossSample,
    Node,
    Pruner,
    Refitter,
    Search,
    as_decomposition,
    largest_alpha,
    sinks_of,
)
from nablasso.losses import Loss
from nablasso.paths import DEFAULT_FRACTION
from nablasso.progress import track
from nablasso.regression.paired import saving
from nablasso.types import Array, Index, Mask

STEP = 3.0  # ratio of the alphas on the way down to the one asked for
CURES = {
    "max_kernels": "{spent} max_kernels.",
    "max_memory": "{spent} max_memory (bytes).",
    "max_work": "{spent} max_work (multiplications).",
    "max_iter": "The solver of the reduced problem stopped early. Raise max_iter or loosen tol.",
    "stalled": "Rounding ends the solver of the reduced problem: some kernels are too large, as "
    "products of heavy-tailed columns are. Transform those columns (ranks, logarithms), lower "
    "degree, or loosen tol.",
    "violators": "Kernels that violate the optimality conditions remain. {raise_}, or loosen tol.",
    "bound": "No kernel is known to be missing, but the bound on those not looked at is not sharp "
    "enough. {raise_}, or loosen tol.",
}


@estimator
class KernelSelector(Answers, Selects, BaseEstimator, ABC):
    """Shared by all estimators over a hierarchy of kernels.

    Attributes
    ----------
    support_ : array of bool, shape (n_features,)
        Columns that some selected node depends on; after pruning, some node that was left.
    feature_importances_ : array, shape (n_features,)
        Deviation over the data of the part of the penalised function on the selected nodes
        that involves the column, in deviations of ``y`` (log-odds for classifiers).
    active_set_ : dict of node to float
        Selected nodes and the weights ``zeta`` of their kernels. A node is the sorted tuple of
        its (column, level) pairs, ``()`` the constant; of a group the first column stands.
    hull_, sinks_ : list of nodes
        The same nodes (they contain all their ancestors), and those without selected children.
    penalised_hull_ : list of nodes
        What the penalty alone selects: ``hull_`` and what pruning took away. The certificate
        (``dual_gap_`` to ``search_status_``) and ``objective_`` belong to it.
    interactions_ : list of str
        Products of two or more variables, strongest first: ``"x3 * x7 (order 2)"``; a group of
        columns is listed in brackets.
    n_kernels_ : int
        Number of selected kernels; a root without a kernel does not count.
    dual_gap_, relative_gap_ : float
        Bound on the suboptimality over all kernels, absolute and relative to the objective at
        ``f = 0``.
    gap_parts_ : (float, float)
        Its two parts: of the kernel machine, and of the weights of the kernels. Their sum can
        exceed ``dual_gap_``, which also uses the best multiple of the dual variable.
    certified_ : bool
        Whether the gap is within ``tol``: then no kernel of the whole hierarchy was missed.
    certificate_, search_status_ : str
        Which bound was used (``"largest"``, ``"sum"``, ``"exact"``), and how the search ended
        (``"certified"``, ``"max_kernels"``, ``"max_memory"``, ``"max_work"``, ``"max_iter"``,
        ``"stalled"``, ``"bound"`` or ``"violators"``).
    alpha_, alpha_max_ : float
        What was used, and the value above which one source alone is selected.
    objective_, n_iter_, loss_, refit_kind_, loo_r2_, feature_kinds_, twins_
        As in the other selectors.
    selection_status_ : str
        ``"clear"``, ``"replaceable"``, ``"too few rows"`` or ``"none found"``.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    _: KW_ONLY
    root_weight: float = parameter(1.0, "float", "Weight of the root, in (0, 1].")
    decomposition: Any = parameter(
        None,
        "str or Decomposition",
        '``"hermite"`` (the default), ``"spline"`` (the default without interactions), '
        '``"polynomial"``, ``"gauss_hermite"``, ``"gaussian"``, ``"pca"``, or an object of '
        ":mod:`nablasso.hierarchy`.",
    )
    degree: int = parameter(
        3, "int", 'Highest level ``q`` of a variable; splines have two and ``"gaussian"`` one.'
    )
    whiten: bool = parameter(
        False, "bool", "Project every node's features on the complement of its ancestors'."
    )
    dag: Any = parameter(
        None,
        "KernelDag",
        "A graph of kernels of your own in place of products of a decomposition.",
    )
    interactions: bool = parameter(
        True,
        "bool",
        "Without them one kernel per variable, all levels but the constant: multiple kernel "
        "learning, the sparse additive model. There is no ``beta`` then.",
    )
    l1_ratio: float = parameter(
        1.0, "float", "Without interactions, below one, the elastic-net form."
    )
    max_kernels: int | None = parameter(
        None,
        "int",
        "Nodes that a search may look into; by default as many as the next two allow.",
    )
    max_memory: float = parameter(
        1e9, "float", "Bytes that the features and matrices of a search may take."
    )
    max_work: float = parameter(
        1e12,
        "float",
        "Multiplications of the problems solved along one path of alphas (one to two minutes of "
        "one processor): a budget that ends at the same place on every machine. A fiftieth of the "
        "work may go to kernels that only the certificate asks for. Where it ends a search while "
        "kernels are known to be missing there is a warning, and ``search_status_`` names the "
        "parameter. A cross-validation leaves out the alphas that some path could not solve.",
    )
    rank: int | None = parameter(
        None,
        "int",
        "Largest rank of a node's kernel: bounds memory and time. By default as many as the "
        "kernel needs for ten digits.",
    )
    prune: bool | None = parameter(
        None,
        "bool",
        "Take sinks from the hull that the penalty selects while the extended Bayes information "
        "criterion of a fit without penalty falls (:mod:`nablasso.hierarchy.refit`): the penalty "
        "takes in noise before the last true node. What is selected and what predicts then belong "
        "to the pruned hull, the certificate to the penalised problem. A cross-validation prunes "
        "in every fold. Needs a likelihood: the squared, logistic or Poisson loss. The sum of the "
        "sample weights counts as the number of rows. By default cross-validation prunes where it "
        "can, and a fit at one ``alpha`` does not.",
    )
    debias: bool = parameter(
        True,
        "bool",
        "Predict by a kernel machine with the same loss on what was selected: with the sum of the "
        "selected kernels, or with a Gaussian kernel on the selected columns, whichever has the "
        "smaller leave-one-out loss (``refit_kind_``). The Gaussian kernel is not offered where "
        "the decomposition treats rows outside the range of the data apart "
        '(``Spline(outside="clip")`` and ``"error"``). Without it predict by the penalised '
        "function; where the hull was pruned, by the one on what is left, at the same ``alpha``.",
    )
    solver: str = parameter(
        "newton",
        '{"newton", "alternating", "projected_gradient"}',
        "Of the problem on the selected nodes.",
    )
    standardize: bool = parameter(
        True, "bool", "Centre the columns and divide them by their standard deviation."
    )
    fit_intercept: bool = parameter(True, "bool")
    feature_groups: Any = parameter(
        None,
        "list of lists, mapping or labels",
        "Groups of columns that are one variable: the kernel of a group at a level is the mean of "
        "its columns' kernels.",
    )
    always_keep: Any = parameter(
        None,
        "list",
        "Columns that are in ``support_`` and in the refit whatever the search finds. With a "
        "``dag`` they are in the refit where it is the Gaussian one.",
    )
    tol: float = parameter(
        1e-3,
        "float",
        "Duality gap over all kernels to reach, relative to the objective at ``f = 0``.",
    )
    max_iter: int | None = parameter(None, "int", "Steps of the solver; by default its own limit.")
    random_state: Any = parameter(
        None, "int or RandomState", "Shuffles folds; nothing else is random."
    )
    verbose: int = parameter(0, "int", "Log progress on the ``nablasso`` logger.")

    @abstractmethod
    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """Checked arrays; sets ``_target``."""

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss, thresholds in units of a robust deviation of the target."""

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
        if self._names is not None and not is_product(node):
            shown = ", ".join(map(str, self.hull_[:3]))
            raise InvalidParameterError(
                "node must be a tuple of (column, level) pairs of whole numbers, as in "
                f"active_set_ ({shown}); got {node!r}."
            )
        inner = table_node(node, self._names)
        parts = [function.part(inner, Z) for function in self._penalised]
        return parts[0] if len(parts) == 1 else np.column_stack(parts)

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def _table(self, data: Data) -> Table:
        table: Table = self._target.table(data, standardize=self.standardize)
        return table

    def _prunes(self) -> bool:
        return bool(self.prune)

    def _hierarchy(self, table: Table, beta: float | None) -> Hierarchy:
        """The kernels on the table's rows; no ``beta`` without interactions."""
        check_rank(self.rank)
        if self.interactions:
            return self._products(table, beta)
        if not isinstance(self.l1_ratio, Real) or not 0 < float(self.l1_ratio) <= 1:
            raise InvalidParameterError(f"l1_ratio must lie in (0, 1]; got {self.l1_ratio!r}.")
        if self.dag is not None or self.whiten:
            raise InvalidParameterError(
                "interactions=False has one kernel per variable and no graph to whiten or to "
                f"give; got dag={self.dag!r}, whiten={self.whiten!r}. Leave these out."
            )
        decomposition = self._decomposition()
        grid = Grid(table.X, table.weights, decomposition, self._labels(table), rank=self.rank)
        return Flat(grid, l1_ratio=float(self.l1_ratio))

    def _products(self, table: Table, beta: float | None) -> Hierarchy:
        """All products of kernels of single variables, or a DAG of the user's own."""
        if not isinstance(beta, Real) or not 0 < float(beta) < np.inf:
            raise InvalidParameterError(f"beta must be a positive number; got {beta!r}.")
        if not isinstance(self.root_weight, Real) or not 0 < float(self.root_weight) <= 1:
            raise InvalidParameterError(
                f"root_weight must lie in (0, 1]; got {self.root_weight!r}."
            )
        if self.l1_ratio != 1:
            raise InvalidParameterError(
                f"l1_ratio belongs to interactions=False; got {self.l1_ratio!r}. Leave it at 1."
            )
        shared: dict[str, Any] = {
            "beta": float(beta),
            "root_weight": float(self.root_weight),
            "rank": self.rank,
            "whiten": bool(self.whiten),
        }
        if self.dag is None:
            decomposition = self._decomposition()
            return Grid(table.X, table.weights, decomposition, self._labels(table), **shared)
        if not isinstance(self.dag, KernelDag):
            raise InvalidParameterError(
                "dag must be a nablasso.hierarchy.ExplicitDag or another KernelDag; got "
                f"{self.dag!r}."
            )
        X = np.zeros((len(table.X), self.n_features_in_))
        X[:, table.columns] = table.X
        return DagHierarchy(self.dag, X, table.weights, **shared)

    def _learner(
        self,
        table: Table,
        beta: float | None,
        *,
        certify: bool = True,
        pruners: list[Pruner] | None = None,
    ) -> HullLearner:
        """All functions on the table's rows; ``pruners`` of another beta may be used again."""
        if not 0 < float(self.tol) < np.inf:
            raise InvalidParameterError(f"tol must be positive; got {self.tol!r}.")
        hierarchy, solver = self._hierarchy(table, beta), HullSolver(self.solver, self.max_iter)
        budget, tol, p = self._budget(), float(self.tol), table.weights
        samples = [
            LossSample(target, p, self._loss().fitted(target, p), self.fit_intercept)
            for target in self._target.functions(table.y).T
        ]
        kept = self._kept_nodes(hierarchy, table)
        origin = table.columns if self.dag is None else np.arange(self.n_features_in_)
        if pruners is None and self._prunes():
            pruners = [Pruner(hierarchy, sample, table.total, kept) for sample in samples]
        free = self.dag is not None or not self._decomposition().is_limited()
        return HullLearner(
            hierarchy,
            kept,
            origin,
            [Search(hierarchy, sample, solver, tol, budget, certify) for sample in samples],
            pruners,
            [Refitter(hierarchy, sample, origin, kept, gaussian=free) for sample in samples],
        )

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

    def _decomposition(self) -> Decomposition:
        default = "hermite" if self.interactions else "spline"
        chosen = default if self.decomposition is None else self.decomposition
        return as_decomposition(chosen, self.degree)

    def _labels(self, table: Table) -> Index:
        """Group of each table column, numbered as they appear."""
        labels = group_labels(self, self.feature_groups)[table.columns]
        _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
        return np.asarray(np.argsort(np.argsort(first))[inverse], dtype=np.intp)

    def _kept_nodes(self, hierarchy: Hierarchy, table: Table) -> list[Node]:
        """Nodes of the columns in ``always_keep``, in the search from the start."""
        kept = column_indices(self, self.always_keep, "always_keep")
        if not len(kept) or hierarchy.members is None:
            return []
        wanted = np.isin(table.columns, kept)
        return [
            ((g, 1),) for g, columns in enumerate(hierarchy.members) if wanted[list(columns)].any()
        ]

    def _support(self, table: Table, learner: HullLearner, found: Found) -> Mask:
        """Selected columns of the input, and those always kept with their group."""
        support = np.zeros(self.n_features_in_, dtype=bool)
        for node in found.hull:
            support[learner.columns[list(learner.hierarchy.columns(node))]] = True
        kept = column_indices(self, self.always_keep, "always_keep")
        labels = group_labels(self, self.feature_groups)
        varies = np.isin(np.arange(len(support)), table.columns)
        return np.asarray(support | (np.isin(labels, labels[kept]) & varies))

    def _predictors(self, learner: HullLearner, finds: list[Found], supports: list[Mask]) -> Any:
        """What predicts: the refits, or the penalised functions themselves."""
        return learner.refits(finds, supports) if self.debias else learner.penalised(finds)

    def _keep(self, functions: list[Any], table: Table) -> None:
        """Remember what predicts."""
        self._functions, self._scaler, self._y_mean = functions, table.scaler, table.y_mean

    def _fit_table(
        self,
        data: Data,
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
        learner = self._learner(table, beta)
        self.alpha_max_ = max(map(largest_alpha, learner.searches))
        alpha = DEFAULT_FRACTION * self.alpha_max_ if alpha is None else float(alpha)
        count = int(np.ceil(np.log(max(self.alpha_max_ / alpha, 1.0)) / np.log(STEP)))
        steps = alpha * STEP ** np.arange(count, -1, -1.0) if way is None else way
        finds = [
            self._descend(search, steps, learner.kept, solved=way is not None)
            for search in learner.searches
        ]
        for found in finds:
            self._warn_unless_solved(found, alpha)
        self._unpack(data, table, learner, learner.pruned(finds))
        self._unpack_certificate(learner, finds)
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

    def _unpack(self, data: Data, table: Table, learner: HullLearner, finds: list[Found]) -> None:
        """Set what belongs to the selected nodes."""
        hierarchy, origin = learner.hierarchy, learner.columns
        supports = [self._support(table, learner, found) for found in finds]
        self._penalised = [made.function for made in learner.penalised(finds)]
        refits = self._predictors(learner, finds, supports)
        self._keep([made.function for made in refits], table)
        self.loss_ = learner.searches[0].sample.loss
        self.refit_kind_ = refits[0].kind
        self.support_ = np.any(supports, axis=0)
        parts = [importances_of(hierarchy, found, origin, len(self.support_)) for found in finds]
        self.feature_importances_ = np.max(parts, axis=0)
        self._class_importances = np.array(parts)
        names = self._names = variables(hierarchy, table)
        inside = {node for found in finds for node in found.hull}
        zeta: dict[Hashable, float] = {}
        strength: dict[Hashable, float] = {}
        for found in finds:
            sizes = np.sqrt(found.problem.per_node(found.point.coef**2)).tolist()
            for node, size in zip(found.hull, sizes, strict=True):
                name = renamed(node, names)
                zeta[name] = max(zeta.get(name, 0.0), found.zeta[node])
                strength[name] = max(strength.get(name, 0.0), size)
        self._depths = in_order(hierarchy, inside, names)
        self.active_set_ = {name: zeta[name] for name in self._depths}
        self.hull_ = list(self.active_set_)
        self._parents = {
            renamed(v, names): [renamed(above, names) for above in hierarchy.parents(v)]
            for v in inside
        }
        self.sinks_ = sorted((renamed(v, names) for v in sinks_of(hierarchy, inside)), key=str)
        self.interactions_ = interactions_of(feature_names(self), hierarchy, table, strength)
        self.n_kernels_ = sum(hierarchy.block(v).train.shape[1] > 0 for v in inside)
        self.feature_kinds_ = feature_kinds(data.X[table.rows >= 0])
        self.loo_r2_, self._loo_gain = _left_out_gain(learner.searches, refits)
        self._n_rows = len(data.X)
        self.selection_status_, self.twins_ = selection_status(self, table)

    def _unpack_certificate(self, learner: HullLearner, finds: list[Found]) -> None:
        """Set what belongs to the problem over all kernels, whatever was pruned after it."""
        nodes = {node for found in finds for node in found.hull}
        self.penalised_hull_ = list(in_order(learner.hierarchy, nodes, self._names))
        self.alpha_ = finds[0].alpha
        self.dual_gap_ = sum(found.gap for found in finds)
        self.gap_parts_ = tuple(float(sum(found.parts[k] for found in finds)) for k in (0, 1))
        self.relative_gap_ = max(found.gap / found.problem.sample.reference for found in finds)
        self.certified_ = all(found.certified for found in finds)
        self.certificate_ = finds[int(np.argmax([found.gap for found in finds]))].rule
        self.search_status_ = next((f.reason for f in finds if not f.certified), "certified")
        self.objective_ = sum(found.primal for found in finds)
        self.n_iter_ = max(1, *(found.n_iter for found in finds))

    def _warn_unless_solved(self, found: Found, alpha: float) -> None:
        name = type(self).__name__
        if found.alpha > alpha:
            warn(
                f"The budget (max_kernels, max_memory, max_work) ended the path of {name} above "
                f"alpha={alpha:.3g}, which was chosen: the fit is that at alpha={found.alpha:.3g}, "
                "the smallest that was solved. Raise the budget.",
                ConvergenceWarning,
            )
        if found.certified:
            return
        raise_ = "Raise alpha or beta" if self.interactions else "Raise alpha"
        spent = f"{len(found.nodes)} kernels were reached, and kernels are missing. {raise_}, or"
        gap = found.gap / found.problem.sample.reference
        warn(
            f"{name} stopped with duality gap {found.gap:.1e} over all kernels ({gap:.1e} of the "
            f"objective at zero) at alpha={found.alpha:.3g}. "
            f"{CURES[found.reason].format(spent=spent, raise_=raise_)}",
            ConvergenceWarning,
        )

    def _warn_of_beta(self, beta: Any) -> None:
        if self.interactions and isinstance(beta, Real) and 0 < float(beta) <= 1:
            warn(
                f"beta={beta:g} gives deep kernels no more weight in the norm than shallow ones: "
                "the hierarchy hardly orders the search, sums over descendants do not shrink, and "
                "a certificate is unlikely. Values from 1.5 to 4 are usual."
            )


def check_rank(rank: Any) -> None:
    """Refuse anything but a whole number of at least 1, or None."""
    if rank is not None and (not isinstance(rank, int | np.integer) or rank < 1):
        raise InvalidParameterError(
            f"rank must be None or a whole number of at least 1; got {rank!r}."
        )


def _left_out_gain(searches: list[Search], refits: list[Any]) -> tuple[float, float]:
    """Share of the null model's loss that the refits save on left-out rows, and its z-score."""
    null, ours = np.zeros((2, len(searches[0].sample.y)))
    for search, made in zip(searches, refits, strict=True):
        sample = search.sample
        null += sample.loss.value(sample.y, sample.null)
        ours += sample.loss.value(sample.y, made.left_out)
    return saving(null, ours, searches[0].sample.weights)
