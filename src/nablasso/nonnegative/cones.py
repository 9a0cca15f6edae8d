r"""Polyhedral cones: outputs ``y`` with ``C' y >= 0``, as non-negative and free functions.

Every polyhedral cone is ``{G g + N u : g >= 0, u free}``: the columns of ``N`` span its lineality
space ``{C' y = 0}``, those of ``G`` are its extreme rays, orthogonal to it. With ``g`` PSD models
and ``u`` linear ones the outputs are in the cone everywhere.

Where the columns of ``C`` are linearly independent, ``G = C (C'C)^{-1}`` and ``g = C' y``: these
are the operators with ``sum_s c_s^t A_s >= 0`` of Theorem 13 of Marteau-Ferey, Bach and Rudi,
penalised through ``C' y``. Otherwise the rays are enumerated, and the functions are those whose
operators are sums of rays times positive operators: a subset of Theorem 13's, with the same values
allowed.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import null_space

from nablasso.errors import InvalidParameterError
from nablasso.types import Array

NAMED = ("nonnegative", "monotone", "convex")
MAX_SUBSETS = 20_000
ROUNDING = 1e-9


def cone_matrix(cone: Any, n_outputs: int) -> Array:
    """``C`` (p, h) of a cone given by name or as a matrix."""
    if isinstance(cone, str):
        if cone not in NAMED:
            raise InvalidParameterError(
                f"cone must be a matrix or one of {', '.join(NAMED)}; got {cone!r}."
            )
        order = NAMED.index(cone)
        if n_outputs <= order:
            raise InvalidParameterError(
                f"The {cone} cone needs at least {order + 1} outputs; got {n_outputs}."
            )
        return np.asarray(np.diff(np.eye(n_outputs), n=order, axis=0).T)
    C = np.asarray(cone, dtype=float)
    if C.ndim != 2 or len(C) != n_outputs or not C.size or not np.isfinite(C).all():
        raise InvalidParameterError(
            f"A cone is a matrix C with one row per output, {n_outputs} here: outputs y have "
            f"C' y >= 0. Got shape {C.shape}."
        )
    if not np.any(C, axis=0).all():
        raise InvalidParameterError("Every column of a cone's matrix needs an entry that is not 0.")
    return C


def decompose(C: Array) -> tuple[Array, Array]:
    """Extreme rays ``G`` (p, g) and a basis ``N`` (p, k) of the lineality space."""
    N = null_space(C.T)
    if np.linalg.matrix_rank(C) == C.shape[1]:
        return np.asarray(np.linalg.pinv(C).T, dtype=float), N
    G = _extreme_rays(C, N)
    if not G.shape[1]:
        raise InvalidParameterError(
            "The cone holds no direction but those of both signs; use a linear model instead."
        )
    return G, N


def _extreme_rays(C: Array, N: Array) -> Array:
    """Unit vectors orthogonal to ``N``, inside the cone, on as many faces as determine them."""
    p, h = C.shape
    size = p - N.shape[1] - 1
    if _count(h, size) > MAX_SUBSETS:
        raise InvalidParameterError(
            f"The cone's {h} inequalities in {p} dimensions have too many extreme rays to list. "
            "Drop inequalities that others imply."
        )
    rays: list[Array] = []
    for faces in combinations(range(h), size):
        line = null_space(np.column_stack([C[:, faces], N]).T, rcond=ROUNDING)
        if line.shape[1] != 1:
            continue
        for ray in (line[:, 0], -line[:, 0]):
            known = any(np.allclose(ray, other, atol=ROUNDING) for other in rays)
            if (C.T @ ray >= -ROUNDING).all() and not known:
                rays.append(ray)
    return np.array(rays).T if rays else np.empty((p, 0))


def _count(n: int, k: int) -> float:
    return float(np.prod([(n - i) / (k - i) for i in range(k)]))
