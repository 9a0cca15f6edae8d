r"""The dual of a task with PSD models, its derivatives, and the certificate.

.. math::
    \sup_{a, c} -\sum_i p_i\, l_i^*(a_i) + \sum_i p_i\, a_i \cdot o - \sum_c c\, r_c
    - \sum_b \Omega_b^*\Big(-\Phi_b^\top \mathrm{Diag}(p\, a M_b) \Phi_b - \sum_c c\, W_c\Big)

with coordinates ``t`` of ``a`` (:mod:`nablasso.nonnegative.losses`) and free multipliers ``c`` of
the constraints ``Tr(A W_c) = r_c``. Its gradient is the misfit of the functions that attain it.

**Blocks**: one function each. With features ``Phi`` (n, r) and weighted slopes ``s`` (n,):

* PSD: ``||[M]_+||_F^2 / (2 l2)`` with ``M = -Phi' Diag(s) Phi - sum_c c W_c - l1 I``, attained at
  ``A = [M]_+ / l2``: one eigendecomposition, O(n r^2 + r^3);
* linear: ``|Phi' s|^2 / (2 l2)``, attained at ``w = -Phi' s / l2``, O(n r).

Parameters are an array: ``F`` (r, q) with ``A = F F'``, or ``w`` (r,).

**Tangents**, the derivatives of values in slopes, as products, O(n r q): with ``M = U Diag(m) U'``

.. math:: dA = \frac{1}{l_2} U\, (\Theta \circ U^\top dM\, U)\, U^\top, \qquad
          \Theta_{ij} = \frac{[m_i]_+ - [m_j]_+}{m_i - m_j}

(Daleckii and Krein); only the q rows of positive eigenvalues are needed.

**Certificate.** ``A(a)`` moved onto the constraints is a primal point: ``primal - dual`` bounds its
error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh

from nablasso.nonnegative.losses import RowLoss
from nablasso.types import Array

CHUNK = 8192  # rows of a temporary
FEASIBLE = 1e-7  # of the largest value a functional could have: rounding


class PSDTangent:
    """A map from changes of slopes and multipliers to changes of values and functionals."""

    def __init__(
        self,
        Phi: Array,
        l2: float,
        eigenvalues: Array,
        U: Array,
        functionals: tuple[Array, ...],
    ) -> None:
        first = int(np.searchsorted(eigenvalues, 0.0, side="right"))
        top, rest = eigenvalues[first:], eigenvalues[:first]
        across = top[:, None] / (top[:, None] - rest)
        self._weights = np.hstack([2 * across, np.ones((len(top), len(top)))]) / l2
        self._P = Phi @ U if len(top) else np.zeros((len(Phi), 0))
        self._first = first
        self._top = np.ascontiguousarray(self._P[:, first:])
        self._W = [U[:, first:].T @ W @ U for W in functionals]

    def __call__(self, slopes: Array, multipliers: Array) -> tuple[Array, Array]:
        """Changes of values (n,) and functionals: two products with ``P`` and its top part."""
        top = self._top
        if not top.shape[1]:
            return np.zeros(len(self._P)), np.zeros(len(self._W))
        X = -(top * slopes[:, None]).T @ self._P
        for c, W in zip(multipliers, self._W, strict=True):
            X -= c * W
        X *= self._weights
        values = np.einsum("ij,ij->i", top @ X, self._P)
        return values, np.array([float(np.sum(W * X)) for W in self._W])

    def matrix(self) -> Array:
        """Minus the derivative of the values in the slopes, (n, n).

        ``sum_j (p_j p_j') * (P Diag(Theta_j) P') / l2`` over positive eigenvalues j.
        """
        Q = np.zeros((len(self._P), len(self._P)))
        for p, weights in zip(self._top.T, self._weights, strict=True):
            Q += np.outer(p, p) * ((self._P * weights) @ self._P.T)
        return Q

    def diagonal(self) -> Array:
        """Its diagonal ``sum_jk Theta_jk P_ij^2 P_ik^2 / l2``, not negative."""
        squares = self._P**2
        top = squares[:, self._first :]
        if not top.shape[1]:
            return np.zeros(len(self._P))
        return np.asarray(np.einsum("ij,ij->i", top @ self._weights, squares))

    def functional_diagonal(self) -> Array:
        """Minus the derivative of each functional in its own multiplier: ``sum Theta * W^2``."""
        return np.array([float(np.sum(W**2 * self._weights)) for W in self._W])


@dataclass(frozen=True)
class LinearBlock:
    """A function of any sign on features ``Phi`` (n, r), penalised; no constraints."""

    Phi: Array
    l2: float
    functionals: tuple[Array, ...] = ()
    targets: tuple[float, ...] = ()

    def conjugate(self, slopes: Array, multipliers: Array) -> tuple[float, Array, Any]:  # noqa: ARG002
        """``|Phi' s|^2 / (2 l2)``, the parameters at which it is attained, and no spectrum."""
        w = -(slopes @ self.Phi) / self.l2
        return 0.5 * self.l2 * float(w @ w), w, None

    def tangent(self, spectrum: Any) -> LinearBlock:  # noqa: ARG002
        """Derivative of the values in the slopes, the same everywhere: the block itself."""
        return self

    def __call__(self, slopes: Array, multipliers: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """One product with ``Phi`` and one with its transpose."""
        return -(self.Phi @ (slopes @ self.Phi)) / self.l2, np.zeros(0)

    def matrix(self) -> Array:
        """``Phi Phi' / l2``."""
        return np.asarray(self.Phi @ self.Phi.T) / self.l2

    def diagonal(self) -> Array:
        """``|phi_i|^2 / l2``."""
        return np.asarray(np.einsum("ij,ij->i", self.Phi, self.Phi) / self.l2)

    def functional_diagonal(self) -> Array:
        """None."""
        return np.zeros(0)

    def bend(self, slopes: Array) -> Array:
        """The Hessian of the conjugate times slopes: ``Phi Phi' s / l2``."""
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


@dataclass(frozen=True)
class PSDBlock:
    """A function that is not negative anywhere, penalised, with linear constraints."""

    Phi: Array
    l1: float
    l2: float
    functionals: tuple[Array, ...] = ()  # each (r, r), in the coordinates of the features
    targets: tuple[float, ...] = ()

    def conjugate(self, slopes: Array, multipliers: Array) -> tuple[float, Array, Any]:
        """Conjugate of the penalty, the parameters at which it is attained, and the spectrum."""
        M = -weighted_gram(self.Phi, slopes)
        for c, W in zip(multipliers, self.functionals, strict=True):
            M -= c * W
        M.flat[:: len(M) + 1] -= self.l1
        eigenvalues, U = eigh(M, driver="evd", overwrite_a=True, check_finite=False)
        first = int(np.searchsorted(eigenvalues, 0.0, side="right"))
        top = eigenvalues[first:]
        F = U[:, first:] * np.sqrt(top / self.l2)
        return 0.5 * float(top @ top) / self.l2, F, (eigenvalues, U)

    def tangent(self, spectrum: Any) -> PSDTangent:
        """Derivative of values and functionals in slopes and multipliers."""
        eigenvalues, U = spectrum
        return PSDTangent(self.Phi, self.l2, eigenvalues, U, self.functionals)

    def bend(self, slopes: Array) -> Array:
        """A bound of the conjugate's Hessian, times slopes: ``(Phi Phi')**2 s / l2``."""
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
        """Parameters near these that meet the constraints exactly; None if there are none near.

        Rescaled to one constraint, or ``F (I + sum_c d_c F'W_c F) F'`` with ``d`` for several,
        which is positive when the constraints are nearly met.
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


Block = LinearBlock | PSDBlock
Tangent = LinearBlock | PSDTangent


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


@dataclass(frozen=True)
class SlopePoint:
    """Coordinates ``t`` (n, c) of the slopes and ``multipliers`` of the constraints, by block."""

    t: Array
    multipliers: tuple[Array, ...]


@dataclass(frozen=True)
class DualProblem:
    """Blocks, how outputs are made of them, a loss and weights."""

    loss: RowLoss
    weights: Array
    blocks: tuple[Block, ...]
    mixing: Array
    offset: Array

    def outputs(self, parameters: list[Array]) -> Array:
        """Outputs (n, p) of the functions with these parameters."""
        F = [block.values(theta) for block, theta in zip(self.blocks, parameters, strict=True)]
        return np.asarray(self.offset + np.column_stack(F) @ self.mixing.T)

    def primal(self, parameters: list[Array], Z: Array) -> float:
        """Objective, given the outputs too."""
        penalty = sum(b.penalty(p) for b, p in zip(self.blocks, parameters, strict=True))
        return float(self.weights @ self.loss.value(Z)) + penalty

    def attained(self, slopes: Array, multipliers: tuple[Array, ...]) -> list[Any]:
        """For each block the conjugate of its penalty, where it is attained, and the spectrum."""
        by_block = (self.weights[:, None] * slopes) @ self.mixing
        return [
            block.conjugate(by_block[:, b], multipliers[b]) for b, block in enumerate(self.blocks)
        ]

    def evaluate(self, point: SlopePoint) -> Evaluation:
        """Dual value, its derivatives, and the functions that belong to the point."""
        slopes = self.loss.slopes(point.t)
        found = self.attained(slopes, point.multipliers)
        penalties = sum(value for value, _, _ in found)
        parameters, spectra = [p for _, p, _ in found], [spectrum for _, _, spectrum in found]
        Z = self.outputs(parameters)
        targets = sum(
            float(c @ np.array(block.targets))
            for c, block in zip(point.multipliers, self.blocks, strict=True)
            if len(c)
        )
        linear = float(self.weights @ (slopes @ self.offset)) - targets - penalties
        dual = float(self.weights @ self.loss.conjugate(point.t)) + linear
        ascent = self.weights[:, None] * self.loss.ascent(point.t, Z)
        excess = tuple(b.excess(p) for b, p in zip(self.blocks, parameters, strict=True))
        return Evaluation(point, dual, ascent, excess, parameters, Z, spectra)


@dataclass(frozen=True)
class Evaluation:
    """What the dual says at a point."""

    point: SlopePoint
    dual: float
    ascent: Array  # in t
    excess: tuple[Array, ...]  # in the multipliers
    parameters: list[Array]
    Z: Array
    spectra: list[Any]
