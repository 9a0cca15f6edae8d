r"""Blocks: one function inside a problem, as the dual sees it.

With features ``Phi`` (n, r) and weighted slopes ``s`` (n,) the dual asks for
``Omega*(-Phi' Diag(s) Phi - sum_c c W_c)`` and where it is attained:

* PSD: ``||[M]_+||_F^2 / (2 l2)`` with ``M = -Phi' Diag(s) Phi - sum_c c W_c - l1 I``, attained at
  ``A = [M]_+ / l2``: one eigendecomposition, O(n r^2 + r^3);
* linear: ``|Phi' s|^2 / (2 l2)``, attained at ``w = -Phi' s / l2``, O(n r).

Parameters are an array: ``F`` (r, q) with ``A = F F'``, or ``w`` (r,).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from nablasso.nonnegative.factor import Factor
from nablasso.nonnegative.tangents import LinearTangent, PSDTangent, Tangent
from nablasso.types import Array

CHUNK = 8192  # rows of a temporary
FEASIBLE = 1e-7  # of the largest value a functional could have: rounding


@dataclass(frozen=True)
class Block(ABC):
    """A function on features ``Phi`` (n, r), penalised, with linear constraints."""

    Phi: Array
    factor: Factor
    l1: float
    l2: float
    functionals: tuple[Array, ...] = ()  # each (r, r), in the coordinates of the features
    targets: tuple[float, ...] = ()

    @abstractmethod
    def conjugate(self, slopes: Array, multipliers: Array) -> tuple[float, Array, Any]:
        """Conjugate of the penalty, the parameters at which it is attained, and the spectrum."""

    @abstractmethod
    def tangent(self, spectrum: Any) -> Tangent:
        """Derivative of values and functionals in slopes and multipliers."""

    @abstractmethod
    def bend(self, slopes: Array) -> Array:
        """A bound of the Hessian of the conjugate in the slopes, times ``slopes``, shape (n,)."""

    @abstractmethod
    def values(self, parameters: Array) -> Array:
        """Function at the rows, shape (n,)."""

    @abstractmethod
    def penalty(self, parameters: Array) -> float:
        """``Omega``."""

    @abstractmethod
    def excess(self, parameters: Array) -> Array:
        """Functionals minus their targets."""

    @abstractmethod
    def feasible(self, parameters: Array) -> Array | None:
        """Parameters near these that meet the constraints exactly; None if there are none near."""

    @abstractmethod
    def function(self, parameters: Array) -> Any:
        """The function of the block's scaled inputs."""


class LinearBlock(Block):
    """A function of any sign; no constraints."""

    def conjugate(self, slopes: Array, multipliers: Array) -> tuple[float, Array, Any]:  # noqa: ARG002
        """``|Phi' s|^2 / (2 l2)``."""
        w = -(slopes @ self.Phi) / self.l2
        return 0.5 * self.l2 * float(w @ w), w, None

    def tangent(self, spectrum: Any) -> Tangent:  # noqa: ARG002
        """``-Phi Phi' / l2``."""
        return LinearTangent(self.Phi, self.l2)

    def bend(self, slopes: Array) -> Array:
        """``Phi Phi' s / l2``."""
        return np.asarray(self.Phi @ (slopes @ self.Phi)) / self.l2

    def values(self, parameters: Array) -> Array:
        """``Phi w``."""
        return np.asarray(self.Phi @ parameters)

    def penalty(self, parameters: Array) -> float:
        """``l2 / 2 |w|^2``."""
        return 0.5 * self.l2 * float(parameters @ parameters)

    def excess(self, parameters: Array) -> Array:  # noqa: ARG002
        """None."""
        return np.zeros(0)

    def feasible(self, parameters: Array) -> Array:
        """As they are."""
        return parameters

    def function(self, parameters: Array) -> Any:
        """A linear model on the anchors."""
        return self.factor.linear_model(parameters)


class PSDBlock(Block):
    """A function that is not negative anywhere."""

    def conjugate(self, slopes: Array, multipliers: Array) -> tuple[float, Array, Any]:
        """One eigendecomposition."""
        M = -weighted_gram(self.Phi, slopes)
        for c, W in zip(multipliers, self.functionals, strict=True):
            M -= c * W
        M.flat[:: len(M) + 1] -= self.l1
        eigenvalues, U = eigh(M, driver="evd", overwrite_a=True, check_finite=False)
        first = int(np.searchsorted(eigenvalues, 0.0, side="right"))
        top = eigenvalues[first:]
        F = U[:, first:] * np.sqrt(top / self.l2)
        return 0.5 * float(top @ top) / self.l2, F, (eigenvalues, U)

    def tangent(self, spectrum: Any) -> Tangent:
        """Daleckii and Krein's formula for the derivative of the positive part."""
        eigenvalues, U = spectrum
        return PSDTangent(self.Phi, self.l2, eigenvalues, U, self.functionals)

    def bend(self, slopes: Array) -> Array:
        """``(Phi Phi')^2 s / l2``, the square taken entry by entry."""
        M = weighted_gram(self.Phi, slopes)
        return np.asarray(np.einsum("ij,ij->i", self.Phi @ M, self.Phi) / self.l2)

    def values(self, parameters: Array) -> Array:
        """``|F' Phi|^2``, in chunks of rows."""
        out = np.empty(len(self.Phi))
        for start in range(0, len(out), CHUNK):
            H = self.Phi[start : start + CHUNK] @ parameters
            out[start : start + CHUNK] = np.einsum("ij,ij->i", H, H)
        return out

    def penalty(self, parameters: Array) -> float:
        """``l1 Tr A + l2 / 2 ||A||_F^2``."""
        G = parameters.T @ parameters
        return self.l1 * float(np.trace(G)) + 0.5 * self.l2 * float(np.sum(G**2))

    def excess(self, parameters: Array) -> Array:
        """``Tr(A W) - value`` for each functional."""
        reached = [float(np.sum(parameters * (W @ parameters))) for W in self.functionals]
        return np.asarray(np.array(reached) - np.array(self.targets))

    def feasible(self, parameters: Array) -> Array | None:
        """Rescaled to one constraint, or ``F (I + sum_c d_c F'W_c F) F'`` with ``d`` for several.

        The latter is positive when the constraints are nearly met.
        """
        if not self.functionals:
            return parameters
        if not parameters.size:
            return None
        excess, target = self.excess(parameters), np.array(self.targets)
        if len(target) == 1:
            ratio = float(target[0] / (excess + target)[0]) if (excess + target)[0] else -1.0
            return np.asarray(parameters * np.sqrt(ratio)) if 0 < ratio < np.inf else None
        H = np.array([parameters.T @ W @ parameters for W in self.functionals])
        gram = np.einsum("cij,dij->cd", H, H)
        step = np.linalg.lstsq(gram, -excess, rcond=None)[0]
        C = np.eye(parameters.shape[1]) + np.einsum("c,cij->ij", step, H)
        eigenvalues, U = eigh(C)
        if eigenvalues[0] < 0:
            return None
        moved = np.asarray(parameters @ (U * np.sqrt(eigenvalues)))
        size = float(np.linalg.norm(moved.T @ moved)) * np.array(
            [np.linalg.norm(W) for W in self.functionals]
        )
        return moved if (np.abs(self.excess(moved)) <= FEASIBLE * size).all() else None

    def function(self, parameters: Array) -> Any:
        """A PSD model on the anchors."""
        return self.factor.psd_model(parameters)


def weighted_gram(Phi: Array, s: Array) -> Array:
    """``Phi' Diag(s) Phi`` by symmetric updates, in chunks of rows."""
    M = np.zeros((Phi.shape[1], Phi.shape[1]))
    for start in range(0, len(Phi), CHUNK):
        part, weights = Phi[start : start + CHUNK], s[start : start + CHUNK]
        for sign in (1.0, -1.0):
            chosen = sign * weights > 0
            if chosen.any():
                rows = part if chosen.all() else part[chosen]
                B = rows * np.sqrt(np.abs(weights[chosen]))[:, None]
                M += sign * (B.T @ B)
    return M
