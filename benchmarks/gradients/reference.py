"""Algorithm 1 of Ye and Xie (2012), plainly: forward-backward splitting over all variables.

The singular value decomposition of section 4.4, the residuals r_ij first and then their sum with
the stored matrices G_ij, as printed: O(n^2 p + n^4) per iteration. Everything is a product of
matrices in numpy. In its favour: the step is nine tenths of the largest that converges, the largest
curvature is computed off the clock, every point of a path starts from the one before, and the
duality gap that stops it (as it stops the library) is computed off the clock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist, pdist

from nablasso.types import Array

STEP = 1.8  # of 1 / curvature; 2 is the limit of Theorem 10
LOOK = 10  # iterations between two looks at the gap


@dataclass
class PaperPath:
    """What a path gives: seconds, iterations and relative gap at every alpha."""

    alphas: Array
    seconds: list[float]
    iterations: list[int]
    gaps: list[float]
    sizes: list[int]
    objectives: list[float]


class Algorithm1:
    """The paper's algorithm for regression with the linear kernel x.y and weights (5).

    Parameters
    ----------
    X : array, shape (n, p)
        Prepared rows.
    y : array, shape (n,)
    """

    def __init__(self, X: Array, y: Array) -> None:
        n = len(X)
        s = np.median(pdist(X)) / 2
        self.X, self.d = X, y[:, None] - y
        self.weights = np.exp(-cdist(X, X, "sqeuclidean") / (2 * s**2))
        values, vectors = np.linalg.eigh(X @ X.T)
        self.root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
        start = time.perf_counter()
        U, sizes, V = np.linalg.svd((X - X[-1]).T, full_matrices=False)
        beta = sizes[:, None] * V  # (n, n): its columns are the points
        self.U = U
        ends = beta.T[None, :, :] - beta.T[:, None, :]  # [i, j] = beta_j - beta_i
        G = np.einsum("ij,ijb,ic->ijbc", self.weights, ends, self.root)
        self.G = G.reshape(n * n, n * n)
        self.set_up_seconds = time.perf_counter() - start
        self.curvature = self._largest_curvature()
        self.reference = float(np.sum(self.weights * self.d**2)) / n**2

    def residuals(self, C: Array) -> Array:
        """``r[i, j] = y_i - y_j + (x_j - x_i)' C k_i^{1/2}``."""
        F = C @ self.root
        return np.asarray(self.d + (self.X @ F).T - np.einsum("ia,ai->i", self.X, F)[:, None])

    def gradient(self, r: Array) -> Array:
        """``U g``, g the sum of ``r_ij G_ij``."""
        n = len(r)
        return np.asarray(self.U @ ((2 / n**2) * (r.ravel() @ self.G).reshape(-1, n)))

    def alpha_max(self) -> float:
        """(55)."""
        return float(np.linalg.norm(self.gradient(self.d), axis=1).max())

    def judge(self, C: Array, alpha: float) -> tuple[float, float]:
        """Objective, and duality gap over all variables relative to the objective at zero."""
        r = self.residuals(C)
        q = self.weights / len(r) ** 2
        primal = float(np.sum(q * r**2) + alpha * np.linalg.norm(C, axis=1).sum())
        largest = float(np.linalg.norm(self.gradient(r), axis=1).max())
        rr, rd = float(np.sum(q * r**2)), float(np.sum(q * r * self.d))
        scale = min(rd / rr, alpha / largest)
        return primal, (primal - scale * (2 * rd - scale * rr)) / self.reference

    def path(self, alphas: Array, target: float, most: int, seconds: float = np.inf) -> PaperPath:
        """Solve at decreasing alphas; a point ends at the gap or after ``most`` iterations.

        The walk ends early when it has used up its ``seconds``.
        """
        found = PaperPath(alphas, [], [], [], [], [])
        C = np.zeros((self.X.shape[1], len(self.X)))
        for alpha in alphas:
            used, iteration = 0.0, 0
            objective, gap = self.judge(C, alpha)
            while gap > target and iteration < most and sum(found.seconds) + used < seconds:
                start = time.perf_counter()
                for _ in range(LOOK):
                    C = self._step(C, alpha)
                used += time.perf_counter() - start
                iteration += LOOK
                objective, gap = self.judge(C, alpha)
            found.seconds.append(used)
            found.iterations.append(iteration)
            found.gaps.append(gap)
            found.sizes.append(int(np.count_nonzero(np.any(C, axis=1))))
            found.objectives.append(objective)
            if sum(found.seconds) >= seconds:
                break
        return found

    def _step(self, C: Array, alpha: float) -> Array:
        """(57) and the selection (50)."""
        delta = STEP / self.curvature
        D = C - delta * self.gradient(self.residuals(C))
        norms = np.linalg.norm(D, axis=1)
        return np.asarray(D * np.maximum(0, 1 - alpha * delta / np.maximum(norms, 1e-300))[:, None])

    def _largest_curvature(self) -> float:
        C = np.random.default_rng(0).standard_normal((self.X.shape[1], len(self.X)))
        size = 0.0
        for _ in range(100):
            C = self.gradient(self.residuals(C / np.linalg.norm(C)) - self.d)
            size = float(np.linalg.norm(C))
        return size
