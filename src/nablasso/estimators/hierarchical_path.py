"""The regularisation path of hierarchical kernel learning."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from nablasso.errors import InvalidParameterError
from nablasso.estimators.alpha_path import Path
from nablasso.estimators.cross_validation import positive_list
from nablasso.estimators.hierarchical_reading import node_names, renamed
from nablasso.estimators.validation import feature_names
from nablasso.hierarchy import Found, largest_alpha, walk
from nablasso.paths import alpha_grid
from nablasso.progress import track
from nablasso.types import Array


def walk_down(
    selector: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    n_alphas: int = 30,
    eps: float = 1e-5,
    alphas: Any = None,
) -> Path:
    """Search along ``alpha``, with warm starts and a certificate at every alpha."""
    X, y, weights = selector._validate(X, y, sample_weight)
    table = selector._prepare(X, y, weights)
    search, *others = selector._searches(table)
    if others:
        raise InvalidParameterError(
            f"A path belongs to one function; {selector!r} fits {1 + len(others)} on these "
            "classes. Give the labels of one class against the rest."
        )
    hierarchy = search.hierarchy
    top = largest_alpha(search)
    grid = _alphas(top, n_alphas, eps) if alphas is None else positive_list(alphas, "alphas")
    grid = np.sort(grid)[::-1]
    names = node_names(hierarchy, table)
    kept = selector._kept_nodes(hierarchy, table)
    steps = track(walk(search, grid, kept), len(grid), "path", verbose=selector.verbose)
    finds: list[Found] = []
    try:
        finds.extend(steps)
    except KeyboardInterrupt:
        if not finds:
            raise
        warnings.warn(
            f"The path was interrupted after {len(finds)} of {len(grid)} alphas.",
            ConvergenceWarning,
            stacklevel=2,
        )
    grid, d = grid[: len(finds)], X.shape[1]
    return Path(
        grid,
        np.array([selector._support(table, hierarchy, found, d) for found in finds]),
        None,
        feature_names(selector),
        top,
        hulls=[[renamed(node, names) for node in found.hull] for found in finds],
        dual_gaps=np.array([found.gap for found in finds]),
        certified=np.array([found.certified for found in finds]),
        objectives=np.array([found.primal for found in finds]),
        rules=[found.rule for found in finds],
        reasons=[found.reason for found in finds],
    )


def _alphas(top: float, n_alphas: Any, eps: Any) -> Array:
    """A grid from ``alpha_max`` down."""
    whole = isinstance(n_alphas, Integral) and not isinstance(n_alphas, bool)
    if not whole or n_alphas < 1:
        raise InvalidParameterError(
            f"n_alphas must be a whole number of at least 1; got {n_alphas!r}."
        )
    if not isinstance(eps, Real) or not 0 < float(eps) < 1:
        raise InvalidParameterError(f"eps must lie between 0 and 1; got {eps!r}.")
    return alpha_grid(top, int(n_alphas), float(eps))
