r"""Hierarchical kernel learning for numbers and classes, ``alpha`` given or cross-validated.

On standardised ``X`` and centred numbers ``y`` all estimators solve

.. math::
    \min_{f, b} \sum_i p_i\, l\big(y_i, b + \textstyle\sum_v f_v(x_i)\big)
    + \frac{\alpha}{2} \Big(\sum_v d_v \|f_{D(v)}\|\Big)^2

over all kernels of a hierarchy (:mod:`nablasso.hierarchy`). Without interactions this is multiple
kernel learning, the sparse additive model: one kernel per variable, and with ``mu`` = ``l1_ratio``
the norm ``mu sum_v ||f_v|| + (1 - mu) (sum_v ||f_v||^2)^{1/2}``.

**Cross-validation.** Along each fold's path of alphas, with warm starts, what is scored is what
``predict`` would return: the refit on what was selected inside the fold. Candidates with the same
hull share their refit. The folds need no certificate; the final fit on all rows has one. Where the
budget ends a path, smaller alphas are no candidates: what it was cut to is the solution at none of
them. The rule "ebic" draws no folds: it prunes the hulls of all candidates on all rows and takes
the one of smallest criterion (:mod:`nablasso.hierarchy.refit`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError, warn
from nablasso.estimators.base import (
    Data,
    PredictsClasses,
    PredictsNumbers,
    Selector,
    Selects,
    keep_gaps,
)
from nablasso.estimators.cross_validation import (
    Candidate,
    Cell,
    CrossValidated,
    Path,
    certificates_along,
    decreasing,
    grid_points,
    positive_list,
    until_interrupt,
)
from nablasso.estimators.display import Answers
from nablasso.estimators.parameters import KW_ONLY, estimator, fixed, parameter
from nablasso.estimators.validation import (
    at_least,
    check_count,
    check_new_data,
    check_positive,
    check_share,
    column_indices,
    feature_names,
    group_labels,
)
from nablasso.hierarchy import KernelDag
from nablasso.hierarchy.dag import Hierarchy, Node
from nablasso.hierarchy.decompositions import as_decomposition
from nablasso.hierarchy.grid import Flat, Grid
from nablasso.hierarchy.refit import HullLearner, Pruner, Refitter
from nablasso.hierarchy.search import Found, Search, largest_alpha
from nablasso.losses import LossSample
from nablasso.paths import DEFAULT_FRACTION
from nablasso.progress import track
from nablasso.regression.ridge import saving
from nablasso.types import Array, Mask

SMALLEST_FRACTION = 1e-5  # of alpha_max
EQUAL = 1e-9  # criteria of the same hull, found on different paths
DEFAULT_BETAS = (1.2, 2.5, 6.0)  # from hardly any preference for shallow nodes to a strong one
STEP = 3.0  # ratio of the alphas on the way down to the one asked for
BUDGET = "The budget (max_kernels, max_memory, max_work)"
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
class KernelSelector(Answers, Selects, Selector):
    """Shared by all estimators over a hierarchy of kernels.

    Attributes
    ----------
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
    dual_gap_ : float
        Bound on the suboptimality over all kernels.
    certified_ : bool
        Whether the gap is within ``tol``: then no kernel of the whole hierarchy was missed.
    certificate_, search_status_ : str
        Which bound was used (``"largest"``, ``"sum"``, ``"exact"``), and how the search ended
        (``"certified"``, ``"max_kernels"``, ``"max_memory"``, ``"max_work"``, ``"max_iter"``,
        ``"stalled"``, ``"bound"`` or ``"violators"``).
    alpha_, alpha_max_ : float
        What was used, and the value above which one source alone is selected.
    refit_kind_ : str
        Which kernel machine predicts.
    """

    alpha: float | None = parameter(
        None,
        "Weight of half the squared norm; by default a tenth of ``alpha_max_``.",
        check_positive,
    )
    _: KW_ONLY
    beta: float = parameter(
        2.0,
        "Weight of a node relative to its parents', above 1: the larger, the more are shallow "
        "nodes (main effects, low degrees) preferred, and the easier is the certificate.",
        check_positive,
    )
    root_weight: float = parameter(1.0, "Weight of the root, in (0, 1].", check_share)
    decomposition: Any = parameter(
        None,
        '``"hermite"`` (the default), ``"spline"`` (the default without interactions), '
        '``"polynomial"``, ``"gauss_hermite"``, ``"gaussian"``, ``"pca"``, or an object of '
        ":mod:`nablasso.hierarchy`.",
        kind="str or Decomposition",
    )
    degree: int = parameter(
        3, 'Highest level ``q`` of a variable; splines have two and ``"gaussian"`` one.'
    )
    whiten: bool = parameter(
        False, "Project every node's features on the complement of its ancestors'."
    )
    dag: Any = parameter(
        None,
        "A graph of kernels of your own in place of products of a decomposition.",
        kind="KernelDag",
    )
    interactions: bool = parameter(
        True,
        "Without them one kernel per variable, all levels but the constant: multiple kernel "
        "learning, the sparse additive model. There is no ``beta`` then.",
    )
    l1_ratio: float = parameter(
        1.0, "Without interactions, below one, the elastic-net form.", check_share
    )
    max_kernels: int | None = parameter(
        None,
        "Nodes that a search may look into; by default as many as the next two allow.",
        at_least(2),
    )
    max_memory: float = parameter(
        1e9, "Bytes that the features and matrices of a search may take.", check_positive
    )
    max_work: float = parameter(
        1e12,
        "Multiplications of the problems solved along one path of alphas (one to two minutes of "
        "one processor), the same on every machine; a fiftieth may go to kernels that only the "
        "certificate asks for. Where a budget ends a search while kernels are known to be missing "
        "there is a warning, and ``search_status_`` names the parameter. A cross-validation leaves "
        "out the alphas that some path could not solve.",
        check_positive,
    )
    rank: int | None = parameter(
        None,
        "Largest rank of a node's kernel: bounds memory and time. By default as many as the "
        "kernel needs for ten digits.",
        check_count,
    )
    prune: bool | None = parameter(
        None,
        "Take sinks from the hull that the penalty selects while the extended Bayes information "
        "criterion of a fit without penalty falls (:mod:`nablasso.hierarchy.refit`): the penalty "
        "takes in noise before the last true node. What is selected and what predicts then belong "
        "to the pruned hull, the certificate to the penalised problem. By default a "
        "cross-validation prunes, in every fold, and a fit at one ``alpha`` does not.",
    )
    debias: bool = parameter(
        True,
        "Predict by a kernel machine with the same loss on what was selected: with the sum of the "
        "selected kernels, or with a Gaussian kernel on the selected columns, whichever has the "
        "smaller leave-one-out loss (``refit_kind_``). Without it predict by the penalised "
        "function; where the hull was pruned, by the one on what is left, at the same ``alpha``.",
    )
    feature_groups: Any = parameter(
        None,
        "Groups of columns that are one variable: the kernel of a group at a level is the mean of "
        "its columns' kernels.",
        kind="list of lists, mapping or labels",
    )
    tol: float = 1e-3

    along = (30, SMALLEST_FRACTION)

    def _weights(self, *_: Any) -> dict[str, Any]:
        self._warn_of_beta(self.beta)
        return {"alpha": self.alpha, "beta": self.beta}

    def _path(self, data: Data, table: Table, alphas: Any, eps: float) -> Path:
        """Search along ``alpha``, with warm starts and a certificate at every alpha."""
        self._warn_of_beta(self.beta)
        learner = self._learner(table, self.beta)
        top = largest_alpha(self._only(learner.searches))
        grid = decreasing(alphas, top, eps)
        steps = learner.walk(grid, beyond=True)
        tracked = track((found for (found,) in steps), len(grid), "path", verbose=self.verbose)
        finds = until_interrupt(tracked, "The path was", f"of {len(grid)} alphas.")
        return Path(
            grid[: len(finds)],
            np.array([self._support(table, learner, found) for found in finds]),
            None,
            feature_names(self),
            top,
            hulls=[list(_named(learner, f.hull).values()) for f in finds],
            **certificates_along([[_gap(found)] for found in finds]),
            certified=np.array([found.certified for found in finds]),
            rules=[found.rule for found in finds],
        )

    def partial(self, X: Any, node: Any) -> Array:
        """Component function of one node of the penalised function on the selected nodes.

        Parameters
        ----------
        node : tuple of (column, level) pairs
            As in ``active_set_``. Nodes that were not selected give zeros.

        Returns
        -------
        array, shape (n_samples,), or (n_samples, n_classes) with more than two classes
        """
        check_is_fitted(self)
        Z, name = self._scaler.transform(check_new_data(self, X)), node
        if self.dag is None:
            try:
                name = tuple(sorted((int(column), int(level)) for column, level in node))
            except (TypeError, ValueError) as error:
                raise InvalidParameterError(
                    "node must be a tuple of (column, level) pairs of whole numbers, as in "
                    f"active_set_; got {node!r}."
                ) from error
        parts = [function.part(self._inner.get(name), Z) for function in self._penalised]
        return parts[0] if len(parts) == 1 else np.column_stack(parts)

    def _hierarchy(self, table: Table, beta: float | None) -> Hierarchy:
        """The kernels on the table's rows: products, or sums without ``beta``, or a user's own."""
        if not self.interactions and (self.dag is not None or self.whiten):
            raise InvalidParameterError(
                "interactions=False has one kernel per variable and no graph to whiten or to "
                f"give; got dag={self.dag!r}, whiten={self.whiten!r}. Leave these out."
            )
        if self.interactions and self.l1_ratio != 1:
            raise InvalidParameterError(
                f"l1_ratio belongs to interactions=False; got {self.l1_ratio!r}. Leave it at 1."
            )
        options: dict[str, Any] = {"rank": self.rank, "whiten": bool(self.whiten)}
        if self.interactions:
            options |= {"beta": beta, "root_weight": self.root_weight}
        if self.dag is None:
            default = "hermite" if self.interactions else "spline"
            chosen = default if self.decomposition is None else self.decomposition
            parts = as_decomposition(chosen, self.degree)
            labels = group_labels(self, self.feature_groups)[table.columns]
            _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
            labels = np.argsort(np.argsort(first))[inverse]  # numbered as they appear
            grid = Grid(table.X, table.weights, parts, labels.astype(np.intp), **options)
            return grid if self.interactions else Flat(grid, l1_ratio=float(self.l1_ratio))
        if not isinstance(self.dag, KernelDag):
            raise InvalidParameterError(
                "dag must be a nablasso.hierarchy.ExplicitDag or another KernelDag; got "
                f"{self.dag!r}."
            )
        X = np.zeros((len(table.X), self.n_features_in_))
        X[:, table.columns] = table.X
        return self.dag.on(X, table.weights, **options)

    def _learner(
        self,
        table: Table,
        beta: float | None,
        *,
        certify: bool = True,
        pruners: list[Pruner] | None = None,
    ) -> HullLearner:
        """All functions on the table's rows; ``pruners`` of another beta may be used again."""
        hierarchy, p = self._hierarchy(table, beta), table.weights
        kernels = np.inf if self.max_kernels is None else int(self.max_kernels)
        budget = (kernels, float(self.max_memory), float(self.max_work))
        samples = [
            LossSample(target, p, self._target.loss) for target in self._target.functions(table.y).T
        ]
        own = np.isin(table.columns, column_indices(self, self.always_keep, "always_keep"))
        members = enumerate(hierarchy.members or [])
        kept: list[Node] = [((g, 1),) for g, columns in members if own[list(columns)].any()]
        origin = table.columns if self.dag is None else np.arange(self.n_features_in_)
        rule = getattr(self, "selection_rule", None)  # of a cross-validation
        prunes = rule is not None if self.prune is None else self.prune
        if pruners is None and (prunes or rule == "ebic"):
            pruners = [Pruner(hierarchy, sample, table.total, kept) for sample in samples]
        options = (float(self.tol), *budget, certify, self.max_iter)
        return HullLearner(
            hierarchy,
            kept,
            origin,
            [Search(hierarchy, sample, *options) for sample in samples],
            pruners,
            [Refitter(hierarchy, sample, origin, kept) for sample in samples],
        )

    def _support(self, table: Table, learner: HullLearner, found: Found) -> Mask:
        """Selected columns of the input, and those always kept with their group."""
        support = self._groups()[1] & np.isin(np.arange(self.n_features_in_), table.columns)
        for node in found.hull:
            support[learner.columns[list(learner.hierarchy.columns(node))]] = True
        return support

    def _predictors(self, table: Table, learner: HullLearner, finds: list[Found]) -> Any:
        """The support of each function, and what predicts: the refit, or itself."""
        supports = [self._support(table, learner, found) for found in finds]
        made = learner.refits(finds, supports) if self.debias else learner.penalised(finds)
        return np.array(supports), made

    def _fit_at(
        self,
        data: Data,
        table: Table,
        *,
        alpha: float | None,
        beta: float | None,
        way: Array | None = None,
    ) -> None:
        """Search at one ``alpha``, on the ``way`` of the folds; unpack what was found."""
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
        nodes = {node for found in finds for node in found.hull}
        self.penalised_hull_ = list(_named(learner, nodes).values())
        self.alpha_ = finds[0].alpha
        keep_gaps(self, map(_gap, finds), (found.n_iter for found in finds))
        self.certified_ = all(found.certified for found in finds)
        self.certificate_ = finds[int(np.argmax([found.gap for found in finds]))].rule
        self.search_status_ = next((f.reason for f in finds if not f.certified), "certified")

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
        hierarchy = learner.hierarchy
        supports, refits = self._predictors(table, learner, finds)
        self._penalised = [made.function for made in learner.penalised(finds)]
        self._keep([made.function for made in refits], table)
        self.refit_kind_ = refits[0].kind
        self.support_ = supports.any(axis=0)
        d = len(self.support_)
        self._keep_importances(np.array([_importances(learner, found, d) for found in finds]))
        zeta: dict[Node, float] = {}
        strength: dict[Node, float] = {}
        for found in finds:
            sizes = np.sqrt(found.problem.per_node(found.point.coef**2))
            for node, own, size in zip(found.hull, found.point.weights.zeta, sizes, strict=True):
                zeta[node] = max(zeta.get(node, 0.0), float(own))
                strength[node] = max(strength.get(node, 0.0), float(size))
        names = _named(learner, zeta)
        self._inner = {name: node for node, name in names.items()}
        self._depths = {name: hierarchy.depth(node) for node, name in names.items()}
        self._parents = {
            name: [names[v] for v in hierarchy.parents(w)] for w, name in names.items()
        }
        self.active_set_ = {name: zeta[node] for node, name in names.items()}
        self.hull_ = list(self.active_set_)
        self.sinks_ = sorted(set(self.hull_).difference(*self._parents.values()), key=str)
        self.interactions_ = self._interactions(learner, strength)
        self.n_kernels_ = sum(hierarchy.block(v).train.shape[1] > 0 for v in names)
        samples = [search.sample for search in learner.searches]
        losses = [
            (s.loss.value(s.y, s.null), s.loss.value(s.y, made.left_out))
            for s, made in zip(samples, refits, strict=True)
        ]
        self._keep_status(data, table, saving(losses, samples[0].weights))

    def _interactions(self, learner: HullLearner, strength: Mapping[Any, float]) -> list[str]:
        """Sets of variables that the function has products of, strongest first."""
        members = learner.hierarchy.members
        if members is None:
            return []
        names, found = feature_names(self), dict[tuple[tuple[int, ...], ...], float]()
        inputs = [tuple(np.sort(learner.columns[list(columns)])) for columns in members]
        for node, size in strength.items():
            product = tuple(sorted(inputs[g] for g, _ in node))
            if len(product) > 1 and size > 0:
                found[product] = float(np.hypot(found.get(product, 0.0), size))

        def shown(group: tuple[int, ...]) -> str:
            text = ", ".join(names[a] for a in group)
            return text if len(group) == 1 else f"({text})"

        order = sorted(found, key=lambda product: (-found[product], product))
        return [f"{' * '.join(map(shown, each))} (order {len(each)})" for each in order]

    def _warn_unless_solved(self, found: Found, alpha: float) -> None:
        name = type(self).__name__
        if found.alpha > alpha:
            warn(
                f"{BUDGET} ended the path of {name} above alpha={alpha:.3g}, which was chosen: the "
                f"fit is that at alpha={found.alpha:.3g}, the smallest that was solved. Raise the "
                "budget.",
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


def _named(learner: HullLearner, nodes: Iterable[Any]) -> dict[Any, Hashable]:
    """Nodes with their names in the user's columns, shallow ones first.

    Of a group of columns the first one stands; nodes of a DAG have the names they came with.
    """
    hierarchy, names = learner.hierarchy, {node: node for node in nodes}
    if hierarchy.members is not None:
        first = [int(learner.columns[list(columns)].min()) for columns in hierarchy.members]
        names = {v: tuple(sorted((first[g], level) for g, level in v)) for v in names}
    return dict(sorted(names.items(), key=lambda one: (hierarchy.depth(one[0]), str(one[1]))))


def _importances(learner: HullLearner, found: Found, d: int) -> Array:
    """Deviation of the part of f that involves each column, in deviations of the target."""
    problem, sample = found.problem, found.problem.sample
    parts = np.zeros((len(sample.y), d))
    for k, node in enumerate(found.hull):
        mine = problem.owner == k
        columns = learner.columns[list(learner.hierarchy.columns(node))]
        parts[:, columns] += (problem.Phi[:, mine] @ found.point.coef[mine])[:, None]
    p, scale = sample.weights, 1.0
    if sample.loss.translates:
        scale = float(np.sqrt(p @ (sample.y - p @ sample.y) ** 2)) or 1.0
    return np.asarray(np.sqrt(p @ (parts - p @ parts) ** 2) / scale)


def _gap(found: Found) -> tuple[float, float, float]:
    """The gap over all kernels, the objective and that at ``f = 0``."""
    return found.gap, found.primal, found.problem.sample.reference


@estimator
class KernelsByFolds(CrossValidated, KernelSelector):
    """Choose ``alpha`` and ``beta`` by cross-validation, then fit on all rows."""

    _: KW_ONLY
    alphas: Any = parameter(
        30,
        "Values to try; a number asks for that many from ``alpha_max_`` down to 1e-5 of it (the "
        "norm is squared).",
        kind="int or array-like",
    )
    betas: Any = parameter(
        None,
        "Values of ``beta`` to try, the weight of a node relative to its parents'; by default "
        "1.2, 2.5 and 6.",
        kind="array-like",
    )
    selection_rule: str = parameter(
        "1se",
        "As for the other estimators, or without folds: prune the hulls of all candidates on all "
        "rows and take the one of smallest criterion (see ``prune``), which selects better and "
        "costs less. Scores are then minus the criterion.",
        kind='{"1se", "min", "ebic"}',
    )
    alpha: Any = fixed(None)
    beta: Any = fixed(None)

    def _weights(self, data: Data, table: Table, groups: Any) -> dict[str, Any]:
        cells = self._grid(table)
        if self.selection_rule == "ebic":
            self._choose_by_criterion(table, cells)
        else:
            outcomes = self._judged(data, table, groups, cells)
            sizes = outcomes["size"]
            self._warn_of_paths_cut(int(np.isnan(sizes).any(axis=0).sum()), sizes.shape[1])
            self._choose(grid_points(cells), outcomes)
        alpha, beta = self.best_params_["alpha"], self.best_params_.get("beta")
        way = next(cell.alphas for cell in cells if cell.fixed.get("beta") == beta)
        return {"alpha": alpha, "beta": beta, "way": way[way >= alpha]}

    def _grid(self, table: Table) -> list[Cell]:
        """One path of alphas for each ``beta``."""
        betas: Iterable[float | None] = (None,)
        if self.interactions:
            betas = DEFAULT_BETAS if self.betas is None else positive_list(self.betas, "betas")
        cells = []
        for beta in betas:
            self._warn_of_beta(beta)
            top = max(map(largest_alpha, self._learner(table, beta).searches))
            fixed = {} if beta is None else {"beta": float(beta)}
            cells.append(Cell(decreasing(self.alphas, top, SMALLEST_FRACTION), fixed))
        return cells

    def _paths(self, table: Table, cells: Iterable[Cell]) -> Iterator[tuple[HullLearner, Any]]:
        """For each candidate its learner and solutions; None beyond the end of a path."""
        pruners: list[Pruner] | None = None
        for cell in cells:
            beta, count = cell.fixed.get("beta"), 0
            learner = self._learner(table, beta, certify=False, pruners=pruners)
            pruners = learner.pruners
            for finds in learner.walk(cell.alphas):
                count += 1
                yield learner, finds
            yield from ((learner, None) for _ in cell.alphas[count:])

    def _candidates(self, train: Data, held_out: Data, grid: list[Cell]) -> Iterator[Candidate]:
        table = self._table(train)
        for learner, finds in self._paths(table, grid):
            if finds is None:
                yield Candidate(None)
                continue
            chosen = learner.pruned(finds)
            supports, refits = self._predictors(table, learner, chosen)
            model = self._as_fitted([made.function for made in refits], table)
            yield Candidate(model, float(supports.any(axis=0).sum()))

    def _choose_by_criterion(self, table: Table, cells: list[Cell]) -> None:
        """The pruned hull of smallest criterion; among equals the largest beta, then alpha.

        With several functions the criterion is the sum of theirs; it is not a number beyond the
        end of a path. An interrupt keeps what is done.
        """
        name = type(self).__name__
        paths = self._paths(table, track(cells, len(cells), f"{name} paths", verbose=self.verbose))
        found = (np.nan if finds is None else learner.criterion(finds) for learner, finds in paths)
        said = "candidates; it chooses among these."
        values = np.array(until_interrupt(found, f"{name} was", said))
        params = grid_points(cells)[: len(values)]
        self._warn_of_paths_cut(int(np.isnan(values).sum()), len(values))
        equal = values <= np.nanmin(values) + EQUAL * np.nanmin(np.abs(values))
        betas = np.array([each.get("beta", 0.0) for each in params])
        alphas = np.array([each["alpha"] for each in params])
        best = np.lexsort((-alphas, -betas, ~equal))[0]
        self._choose(params, {"score": -values[None]}, allowed=np.arange(len(values)) == best)

    def _warn_of_paths_cut(self, missing: int, candidates: int) -> None:
        if missing:
            warn(
                f"{BUDGET} ended paths of {type(self).__name__}: {missing} of {candidates} "
                "candidates, those of the smallest alphas, were not solved and are not chosen "
                "from. Raise the budget to have them.",
                ConvergenceWarning,
            )


@estimator
class HierarchicalKernelRegressor(PredictsNumbers, KernelSelector):
    r"""Hierarchical kernel learning: variables and their interactions, with a certificate.

    A function that is a sum of products of functions of single variables, over all
    ``(q + 1)^p`` products of levels. A product is selected only after all products of its parts.
    ``interactions=False`` is multiple kernel learning: a sum of functions of single variables.

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import HierarchicalKernelRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> y = X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1]
    >>> model = HierarchicalKernelRegressor(alpha=0.02).fit(X, y)
    >>> model.interactions_
    ['x0 * x1 (order 2)']
    """


@estimator
class HierarchicalKernelClassifier(PredictsClasses, KernelSelector):
    """:class:`HierarchicalKernelRegressor` for classes, one against the rest."""


@estimator
class HierarchicalKernelRegressorCV(PredictsNumbers, KernelsByFolds):
    """:class:`HierarchicalKernelRegressor` with ``alpha`` and ``beta`` by cross-validation.

    The setting of the paper (Bach, 2009) with the weights of its author's demonstrations is
    ``betas=[4], root_weight=0.1, cv=10, selection_rule="min", prune=False, debias=False``: the
    penalised function that predicts best, without pruning or refit.
    """


@estimator
class HierarchicalKernelClassifierCV(PredictsClasses, KernelsByFolds):
    """:class:`HierarchicalKernelClassifier` with ``alpha`` and ``beta`` by cross-validation."""
