"""Reading what a search over kernels found: variables, nodes, interactions, in words."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.estimators.reading import feature_kinds, selection_status
from nablasso.estimators.validation import feature_names
from nablasso.hierarchy import Found, Hierarchy, HullRefit, Search, sinks_of
from nablasso.regression.paired import saving
from nablasso.types import Array, Index, Mask

SHOWN = 8  # interactions listed in a summary


def node_names(hierarchy: Hierarchy, table: Table) -> dict[int, int] | None:
    """Input column that stands for each variable of a grid: its group's first; None for a DAG."""
    members = getattr(hierarchy, "members", None)
    if members is None:
        return None
    return {g: int(table.columns[list(columns)].min()) for g, columns in enumerate(members)}


def renamed(node: Any, names: dict[int, int] | None) -> Hashable:
    """A node in the user's columns."""
    if names is None:
        return node  # type: ignore[no-any-return]
    return tuple(sorted((names[g], level) for g, level in node))


def table_node(selector: Any, node: Any) -> Hashable:
    """The search's own name of a user's node; None where there is none."""
    if selector._names is None:
        return node  # type: ignore[no-any-return]
    if not _is_product(node):
        shown = ", ".join(map(str, selector.hull_[:3]))
        raise InvalidParameterError(
            "node must be a tuple of (column, level) pairs of whole numbers, as in active_set_ "
            f"({shown}); got {node!r}."
        )
    back = {column: g for g, column in selector._names.items()}
    if not all(column in back for column, _ in node):
        return None
    return tuple(sorted((back[column], int(level)) for column, level in node))


def _is_product(node: Any) -> bool:
    return isinstance(node, tuple | list) and all(
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and all(isinstance(number, int | np.integer) for number in pair)
        for pair in node
    )


def read_finds(
    selector: Any,
    X: Array,
    table: Table,
    hierarchy: Hierarchy,
    searches: list[Search],
    finds: list[Found],
    supports: list[Mask],
    refits: list[HullRefit],
) -> None:
    """Set the attributes of what is selected."""
    names = selector._names = node_names(hierarchy, table)
    selector.support_ = np.any(supports, axis=0)
    importances = [
        _importances(hierarchy, s, f, selector._origin(table, X.shape[1]), X.shape[1])
        for s, f in zip(searches, finds, strict=True)
    ]
    selector.feature_importances_ = np.max(importances, axis=0)
    selector._class_importances = np.array(importances)
    zeta: dict[Hashable, float] = {}
    strength: dict[Hashable, float] = {}
    for found in finds:
        sizes = found.problem.per_node(found.point.coef**2)
        for node, size in zip(found.hull, sizes, strict=True):
            name = renamed(node, names)
            zeta[name] = max(zeta.get(name, 0.0), found.zeta[node])
            strength[name] = max(strength.get(name, 0.0), float(np.sqrt(size)))
    inside = {node for found in finds for node in found.hull}
    selector._depths = _in_order(hierarchy, inside, names)
    selector.active_set_ = {name: zeta[name] for name in selector._depths}
    selector.hull_ = list(selector.active_set_)
    selector._parents = {
        renamed(v, names): [renamed(above, names) for above in hierarchy.parents(v)] for v in inside
    }
    selector.sinks_ = sorted(
        (renamed(node, names) for node in sinks_of(hierarchy, inside)), key=str
    )
    selector.interactions_ = []
    if names is not None:
        selector.interactions_ = _interactions(variable_names(selector, hierarchy, table), strength)
    selector.n_kernels_ = sum(hierarchy.block(v).train.shape[1] > 0 for v in inside)
    selector.feature_kinds_ = feature_kinds(X[table.rows >= 0])
    selector.loo_r2_, selector._loo_gain = _left_out_gain(searches, refits)
    selector.selection_status_, selector.twins_ = selection_status(selector, table)


def read_certificate(
    selector: Any, hierarchy: Hierarchy, table: Table, searches: list[Search], finds: list[Found]
) -> None:
    """Set the attributes of the problem over all kernels, whatever was pruned after it."""
    names = node_names(hierarchy, table)
    nodes = {node for found in finds for node in found.hull}
    selector.penalised_hull_ = list(_in_order(hierarchy, nodes, names))
    selector.alpha_ = finds[0].alpha
    selector.dual_gap_ = sum(found.gap for found in finds)
    selector.gap_parts_ = tuple(float(sum(found.parts[k] for found in finds)) for k in (0, 1))
    selector.relative_gap_ = max(
        found.gap / s.sample.reference for s, found in zip(searches, finds, strict=True)
    )
    selector.certified_ = all(found.certified for found in finds)
    selector.certificate_ = finds[int(np.argmax([f.gap for f in finds]))].rule
    selector.search_status_ = next((f.reason for f in finds if not f.certified), "certified")
    selector.objective_ = sum(found.primal for found in finds)
    selector.n_iter_ = max(1, *(found.n_iter for found in finds))


def _in_order(
    hierarchy: Hierarchy, nodes: Iterable[Any], names: dict[int, int] | None
) -> dict[Hashable, int]:
    """Nodes in the user's columns with their depths, shallow ones first."""
    on_grid = names is not None
    depths = {
        renamed(node, names): sum(j for _, j in node) if on_grid else hierarchy.depth(node)
        for node in nodes
    }
    return {name: depths[name] for name in sorted(depths, key=lambda v: (depths[v], str(v)))}


def _importances(
    hierarchy: Hierarchy, search: Search, found: Found, origin: Index, d: int
) -> Array:
    """Deviation of the part of f that involves each column, in deviations of the target."""
    sample, problem = search.sample, found.problem
    parts: dict[int, Array] = {}
    for k, node in enumerate(found.hull):
        mine = problem.owner == k
        values = problem.Phi[:, mine] @ found.point.coef[mine]
        for column in hierarchy.columns(node):
            parts[column] = parts.get(column, 0.0) + values
    out = np.zeros(d)
    p = sample.weights
    scale = 1.0
    if sample.loss.translates:
        scale = float(np.sqrt(p @ (sample.y - p @ sample.y) ** 2)) or 1.0
    for column, values in parts.items():
        out[origin[column]] = np.sqrt(p @ (values - p @ values) ** 2) / scale
    return out


def variable_names(selector: Any, hierarchy: Any, table: Table) -> dict[int, str]:
    """Names of the variables of a grid by the columns that stand for them; groups in brackets."""
    names, out = feature_names(selector), {}
    for g, column in (node_names(hierarchy, table) or {}).items():
        members = np.sort(table.columns[list(hierarchy.members[g])])
        listed = ", ".join(str(names[a]) for a in members)
        out[column] = listed if len(members) == 1 else f"({listed})"
    return out


def _interactions(names: dict[int, str], strength: dict[Hashable, float]) -> list[str]:
    """Sets of variables that the function has products of, strongest first."""
    found: dict[tuple[int, ...], float] = {}
    for node, size in strength.items():
        columns = tuple(column for column, _ in node)  # type: ignore[attr-defined]
        if len(columns) > 1 and size > 0:
            found[columns] = float(np.hypot(found.get(columns, 0.0), size))
    order = sorted(found, key=lambda columns: (-found[columns], columns))
    return [f"{' * '.join(names[a] for a in columns)} (order {len(columns)})" for columns in order]


def _left_out_gain(searches: list[Search], refits: list[HullRefit]) -> tuple[float, float]:
    """Share of the null model's loss that the refits save on left-out rows, and its z-score."""
    null, ours = np.zeros((2, len(searches[0].sample.y)))
    for search, made in zip(searches, refits, strict=True):
        sample = search.sample
        null += sample.loss.value(sample.y, sample.null)
        ours += sample.loss.value(sample.y, made.left_out)
    return saving(null, ours, searches[0].sample.weights)


def summary_of(selector: Any) -> str:
    """The answer in a sentence first, then the certificate."""
    names = feature_names(selector)
    d = len(names)
    order = np.argsort(-selector.feature_importances_, kind="stable")
    chosen = [a for a in order if selector.support_[a]]
    if chosen:
        listed = ", ".join(f"{names[a]} ({selector.feature_importances_[a]:.2f})" for a in chosen)
        lines = [f"{len(chosen)} of {d} variables matter: {listed}."]
    else:
        lines = [f"None of the {d} variables was selected."]
    if selector.interactions_:
        shown = ", ".join(selector.interactions_[:SHOWN])
        more = len(selector.interactions_) - SHOWN
        lines.append(f"Interactions: {shown}{f' and {more} more' if more > 0 else ''}.")
    kernels = "kernel" if selector.n_kernels_ == 1 else "kernels"
    if len(selector.hull_) < len(selector.penalised_hull_):
        lines.append(
            f"{len(selector.hull_)} of the {len(selector.penalised_hull_)} nodes that the penalty "
            "selects are kept by the extended Bayes information criterion; the duality gap is that "
            "of the penalised problem."
        )
    state = (
        "certified over all kernels"
        if selector.certified_
        else f"not certified ({selector.search_status_})"
    )
    lines.append(
        f"{selector.n_kernels_} {kernels}, duality gap {selector.dual_gap_:.1e} "
        f"({selector.relative_gap_:.1e} of the objective at zero): {state}."
    )
    lines.append(f"alpha {selector.alpha_:.3g} (alpha_max {selector.alpha_max_:.3g}).")
    if chosen:
        lines.append(f"Leave-one-out R2 on the selected variables: {selector.loo_r2_:.3f}.")
    if selector.selection_status_ == "too few rows":
        lines.append(
            "Too few rows: the selected variables predict left-out rows not clearly better than "
            "the mean."
        )
    lines += [f"{names[a]} could be replaced by {names[b]}." for a, b in selector.twins_]
    constant = [
        n for n, kind in zip(names, selector.feature_kinds_, strict=True) if kind == "constant"
    ]
    if constant:
        lines.append(f"Constant, never selectable: {', '.join(constant)}.")
    return "\n".join(lines)
