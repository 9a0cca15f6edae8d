r"""From a path of hulls to one: sinks are taken away while an information criterion falls.

A path of convex problems takes in noise before the last true node is complete, as the lasso does,
and the alpha that predicts best is not the one that selects best. So every hull of the path is
pruned: least squares on the features of its nodes (products of Hermite polynomials), extended BIC

.. math:: n \log(\mathrm{RSS} / n) + k\, (\log n + 2 \log p),

and the sink whose loss raises RSS least, :math:`b_j^2 / [(A^\top A)^{-1}]_{jj}`, goes while the
criterion falls. The best hull of all is kept. One least-squares problem per step.

:func:`pruned_refit` does the same to columns, with kernel ridge regression and its leave-one-out
error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.experiments.hkl_rivals import Fitted, Node, hermite_feature, parents
from nablasso.hierarchy import (
    Grid,
    Hermite,
    Sample,
    Search,
    Settings,
    as_reduced_solver,
    largest_alpha,
    walk,
)
from nablasso.kernels import as_kernel
from nablasso.losses import Squared
from nablasso.paths import alpha_grid
from nablasso.spaces.kernel_ridge import Refit, kernel_ridge, length_scale

Array = NDArray[np.float64]
Hull = frozenset[Node]

ALPHAS = 13
SMALLEST = 1e-3  # of alpha_max
MOST = 60  # nodes; no hull with more than a node per two rows


class Scored(NamedTuple):
    """A hull and its extended BIC."""

    hull: Hull
    score: float


class LeastSquares:
    """On the features of the nodes of a hull; the root's is the constant."""

    def __init__(self, Z: Array, y: Array, hull: Hull) -> None:
        self.nodes = sorted(hull)
        A = self._features(Z)
        inverse = np.linalg.pinv(A)
        self.coef = inverse @ y
        self.n, self.p = Z.shape
        self.rss = float(np.sum((y - A @ self.coef) ** 2))
        rises = self.coef**2 / np.maximum(np.sum(inverse**2, axis=1), np.finfo(float).tiny)
        self.rises = dict(zip(self.nodes, rises.tolist(), strict=True))

    def predict(self, Z: Array) -> Array:
        """Values at new rows."""
        return np.asarray(self._features(Z) @ self.coef)

    def criterion(self, without: Node | None = None) -> float:
        """Extended BIC, of all nodes or of all but one."""
        k = len(self.nodes) - 1 - (without is not None)
        rss = self.rss + (0.0 if without is None else self.rises[without])
        fit = self.n * np.log(max(rss / self.n, np.finfo(float).tiny))
        return float(fit + k * (np.log(self.n) + 2 * np.log(self.p)))

    def _features(self, Z: Array) -> Array:
        return np.column_stack([hermite_feature(Z, node) for node in self.nodes])


def pruned(Z: Array, y: Array, hull: Hull) -> Scored:
    """Take sinks away while the criterion falls, or while there are too many nodes to fit."""
    while True:
        model = LeastSquares(Z, y, hull)
        here = model.criterion()
        needed = {parent for node in hull for parent in parents(node)}
        sinks = [node for node in hull if node and node not in needed]
        if not sinks:
            return Scored(hull, here)
        score, node = min((model.criterion(v), v) for v in sinks)
        if score >= here and len(hull) <= len(y) // 2:
            return Scored(hull, here)
        hull = hull - {node}


def best_hull(Z: Array, y: Array, hulls: Iterable[Hull]) -> Hull:
    """The pruned hull of smallest criterion."""
    return min((pruned(Z, y, hull) for hull in set(hulls)), key=lambda scored: scored.score).hull


def pruned_path(Z: Array, y: Array, seed: int, betas: Sequence[float] = (1.2, 2.5)) -> Fitted:  # noqa: ARG001
    """HKL's path for each beta, its hulls pruned, and least squares on the best."""
    n, p = Z.shape
    weights = np.full(n, 1 / n)
    sample = Sample(y - y.mean(), weights, Squared(), True)
    hulls: list[Hull] = [frozenset({()})]
    for beta in betas:
        settings = Settings(
            as_reduced_solver("newton", None), max_kernels=min(MOST, n // 2), certify=False
        )
        search = Search(Grid(Z, weights, Hermite(3), beta=beta), sample, settings)
        for found in walk(search, alpha_grid(largest_alpha(search), ALPHAS, SMALLEST), []):
            hulls.append(frozenset(found.hull))  # type: ignore[arg-type]
            if found.reason == "max_kernels":
                break
    hull = best_hull(Z, y, hulls)
    used = tuple(sorted({a for node in hull for a, _ in node}))
    return Fitted(LeastSquares(Z, y, hull).predict, used, f"nodes={len(hull)} of p={p}")


# ------------------------------------------------------------------------------- columns


def pruned_refit(Z: Array, y: Array, columns: Sequence[int]) -> Fitted:
    """Kernel ridge regression on the best of the sets that backward elimination visits."""
    here = tuple(columns)
    visited = {here: _ridge(Z, y, here)}
    while len(here) > 1:
        smaller = {
            rest: _ridge(Z, y, rest)
            for rest in (tuple(c for c in here if c != gone) for gone in here)
        }
        here = min(smaller, key=lambda rest: _left_out_error(smaller[rest]))
        visited[here] = smaller[here]
    best = min(visited, key=lambda rest: _left_out_error(visited[rest]))
    mean, function = float(y.mean()), visited[best].function
    return Fitted(lambda new: np.asarray(mean + function.values(new)), best)


def _ridge(Z: Array, y: Array, columns: tuple[int, ...]) -> Refit:
    """Gaussian kernel of median width, ridge by leave-one-out; no columns give the mean."""
    kernel, weights = as_kernel("gaussian"), np.full(len(y), 1 / len(y))
    index = np.array(columns, dtype=np.intp)
    X = Z[:, index]
    width = length_scale(kernel, X, weights, "median") if len(index) else 1.0
    scales = np.full(len(index), 1 / width)
    return kernel_ridge(kernel, X, y - y.mean(), weights, index, scales=scales, fit_intercept=True)


def _left_out_error(refit: Refit) -> float:
    return float(np.mean(refit.loo_residuals**2))
