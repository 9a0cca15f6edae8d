"""The regularisation path of hierarchical kernel learning, as a function."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from nablasso.errors import InvalidParameterError
from nablasso.estimators.cross_validation import positive_list
from nablasso.estimators.hierarchical import HierarchicalKernelRegressor, SingleAlpha
from nablasso.estimators.hierarchical_reading import node_names, renamed
from nablasso.hierarchy import Found, largest_alpha, walk
from nablasso.paths import alpha_grid
from nablasso.progress import track
from nablasso.types import Array, Mask


@dataclass(frozen=True)
class HierarchicalPath:
    """A path, from the largest alpha to the smallest.

    ``alphas`` (m,); ``hulls`` one list of nodes per alpha; ``support`` (m, n_features);
    ``gaps`` (m,) of the full problem over all kernels; ``certified`` (m,); ``objectives`` (m,);
    ``rules`` and ``reasons``: which bound was used, and how each search ended; ``alpha_max``.
    """

    alphas: Array
    hulls: list[list[Any]]
    support: Mask
    gaps: Array
    certified: Mask
    objectives: Array
    rules: list[str]
    reasons: list[str]
    alpha_max: float

    @property
    def lost_at(self) -> float | None:
        """The largest alpha at which there is no certificate; None where there always is."""
        lost = self.alphas[~self.certified]
        return float(lost.max()) if lost.size else None


def hierarchical_path(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    estimator: SingleAlpha | None = None,
    n_alphas: int = 30,
    eps: float = 1e-5,
    alphas: Any = None,
) -> HierarchicalPath:
    """Search along ``alpha``, with warm starts and a certificate at every alpha.

    Parameters
    ----------
    X : array-like, shape (n_samples, n_features)
    y : array-like, shape (n_samples,)
    sample_weight : array-like, shape (n_samples,), optional
    estimator : HierarchicalKernelRegressor, MultipleKernelRegressor or classifier, optional
        Its parameters but ``alpha`` are used; two classes at most.
    n_alphas : int, default=30
    eps : float, default=1e-5
        The smallest alpha as a fraction of ``alpha_max``.
    alphas : array-like, optional
        The alphas themselves.

    Returns
    -------
    HierarchicalPath

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import hierarchical_path
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> path = hierarchical_path(X, X[:, 0] * X[:, 1], n_alphas=5)
    >>> path.support.shape
    (5, 4)
    """
    selector = HierarchicalKernelRegressor() if estimator is None else estimator
    if not isinstance(selector, SingleAlpha):
        raise InvalidParameterError(
            f"estimator must be one without cross-validation; got {selector!r}."
        )
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
    return HierarchicalPath(
        alphas=grid,
        hulls=[[renamed(node, names) for node in found.hull] for found in finds],
        support=np.array([selector._support(table, hierarchy, found, d) for found in finds]),
        gaps=np.array([found.gap for found in finds]),
        certified=np.array([found.certified for found in finds]),
        objectives=np.array([found.primal for found in finds]),
        rules=[found.rule for found in finds],
        reasons=[found.reason for found in finds],
        alpha_max=top,
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
