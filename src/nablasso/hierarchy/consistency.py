r"""When does the norm find the hull? Conditions (22) and (24) of Bach (2009).

With the true function ``f`` of hull ``W`` and covariances ``Sigma`` of the features let

.. math::
    s_w = \Big(\sum_{v \in A(w)} \frac{d_v}{\|f_{D(v)}\|}\Big) f_w, \qquad
    g = \Sigma_{W^c W} \Sigma_{WW}^{-1} s .

For small ``alpha`` the function on ``W`` alone stays the solution of the whole problem where

.. math::
    \Omega^*_{W^c}(g) \le 1 - \eta \quad (22, \text{ sufficient for some } \eta > 0), \qquad
    \Omega^*_{W^c}(g) \le 1 \quad (24, \text{ necessary}) .

The dual norm is ``max_x sum_w zeta_w(x) |g_w|^2`` squared, with ancestors outside ``W`` alone. The
steps of :func:`nablasso.hierarchy.problem.alternating` increase it, and ``kappa`` bounds it from
above: both sides are returned. O(R^2) a step for R nodes outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, solve

from nablasso.errors import InvalidParameterError
from nablasso.hierarchy.dag import Hierarchy, Node, ancestor_matrix, hull_of, shallow_first
from nablasso.hierarchy.problem import descendant_norms, dual_bound, weights_of
from nablasso.types import Array

PRECISION = 1e-9  # of the dual norm's square
STEPS = 100_000
SINGULAR = 1e-10  # of the largest eigenvalue of the correlations
CONSTANT = 1e-12  # of the mean square: a variance that is none
SMALLEST = 1e-30


class HullConsistency(NamedTuple):
    """Bounds of the dual norm in (22) and (24)."""

    lower: float
    upper: float

    def is_sufficient(self, margin: float = 1e-6) -> bool:
        """Condition (22) with ``eta`` = ``margin``: the hull is found, given rows enough."""
        if not 0 < margin < 1:
            raise InvalidParameterError(f"margin must lie between 0 and 1; got {margin!r}.")
        return self.upper <= 1 - margin

    def is_possible(self) -> bool:
        """Condition (24): where it fails no sequence of alphas finds function and hull."""
        return self.lower <= 1


def hull_consistency(
    hierarchy: Hierarchy, function: Mapping[Node, Array], nodes: Iterable[Node]
) -> HullConsistency:
    """Whether the hull of a function can be found from data like these.

    Parameters
    ----------
    hierarchy : Hierarchy
        Kernels on rows that stand for the distribution; covariances are weighted and centred.
    function : mapping of node to array
        Coefficients of the node's features (``hierarchy.block(node)``), not all zero.
    nodes : iterable of nodes
        All nodes of the graph for the conditions themselves. Some of them, with their ancestors,
        give a lower bound of the dual norm, and (24) in a weaker form.

    Returns
    -------
    HullConsistency
    """
    hull = shallow_first(hierarchy, hull_of(hierarchy, function))
    outside = shallow_first(hierarchy, hull_of(hierarchy, nodes) - set(hull))
    p, target = hierarchy.weights, _slopes(hierarchy, hull, function)
    raw = np.column_stack([hierarchy.block(v).train for v in hull])
    Phi = raw - p @ raw
    kept = p @ Phi**2 > CONSTANT * np.maximum(p @ raw**2, SMALLEST)  # the root of a grid is not
    Phi, target = Phi[:, kept], target[kept]
    covariance = (Phi.T * p) @ Phi
    _check_invertible(covariance)
    fitted = p * (Phi @ solve(covariance, target, assume_a="pos"))  # adds up to zero
    sizes = np.array([hierarchy.size(v, fitted) for v in outside])
    if not np.any(sizes > 0):
        return HullConsistency(0.0, 0.0)
    matrix = ancestor_matrix(hierarchy, [*hull, *outside])[len(hull) :, len(hull) :]
    d = np.array([hierarchy.weight(v) for v in outside])
    x = np.full(len(d), 1 / len(d))
    for _ in range(STEPS):
        upper, lower, ratios = dual_bound(weights_of(x, matrix, d), sizes)
        if upper - lower <= PRECISION * upper:
            break
        x = np.maximum(x * np.sqrt(ratios), SMALLEST)
        x /= x.sum()
    return HullConsistency(float(np.sqrt(lower)), float(np.sqrt(upper)))


def _slopes(hierarchy: Hierarchy, hull: list[Node], function: Mapping[Node, Array]) -> Array:
    """``s_w``, one after the other: the gradient of the norm at the function."""
    coefs = {}
    for v in hull:
        width = hierarchy.block(v).train.shape[1]
        coefs[v] = np.asarray(function.get(v, np.zeros(width)), dtype=float)
        if coefs[v].shape != (width,):
            raise InvalidParameterError(
                f"The function needs {width} coefficients at node {v!r}; got an array of shape "
                f"{coefs[v].shape}."
            )
    ancestors = ancestor_matrix(hierarchy, hull)
    norms = descendant_norms(np.array([float(c @ c) for c in coefs.values()]), ancestors)
    if not len(norms) or not norms.min() > 0:
        raise InvalidParameterError(
            "Every node of the function's hull needs a descendant, or itself, with coefficients "
            "that are not zero. Leave the others out of the function."
        )
    d = np.array([hierarchy.weight(v) for v in hull])
    scales = zip((d / norms) @ ancestors, coefs.values(), strict=True)
    return np.concatenate([scale * c for scale, c in scales])


def _check_invertible(covariance: Array) -> None:
    root = np.sqrt(np.diag(covariance))
    values = eigh(covariance / np.outer(root, root), eigvals_only=True)
    if values[0] <= SINGULAR * values[-1]:
        raise InvalidParameterError(
            "The correlations of the relevant features must be invertible, assumption (A3) of the "
            f"paper; the smallest eigenvalue is {values[0]:.1e}. Use more rows than features, or "
            "Whitened kernels where nodes contain their ancestors."
        )
