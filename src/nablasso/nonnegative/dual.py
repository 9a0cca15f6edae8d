r"""The dual of a task with PSD models, its derivatives, and the certificate.

.. math::
    \sup_{a, c} -\sum_i p_i\, l_i^*(a_i) + \sum_i p_i\, a_i \cdot o - c
    - \sum_b \Omega_b^*\big(-\Phi_b^\top \mathrm{Diag}(p\, a M_b) \Phi_b - c\, W_b\big)

with coordinates ``t`` of ``a`` (:mod:`nablasso.nonnegative.losses`) and, for a density, the free
multiplier ``c`` of its integral ``Tr(A W) = 1``; other tasks have none. The gradient is the misfit
of the functions that attain it.

**Blocks**: one function each. With features ``Phi`` (n, r) and weighted slopes ``s`` (n,):

* PSD: ``||[M]_+||_F^2 / (2 l2)`` with ``M = -Phi' Diag(s) Phi - c W - l1 I``, attained at
  ``A = [M]_+ / l2``: one eigendecomposition, O(n r^2 + r^3);
* linear: ``|Phi' s|^2 / (2 l2)``, attained at ``w = -Phi' s / l2``, O(n r).

Parameters are an array: ``F`` (r, q) with ``A = F F'``, or ``w`` (r,).

**Tangents**, the derivatives of values in slopes, as products, O(n r q): with ``M = U Diag(m) U'``

.. math:: dA = \frac{1}{l_2} U\, (\Theta \circ U^\top dM\, U)\, U^\top, \qquad
          \Theta_{ij} = \frac{[m_i]_+ - [m_j]_+}{m_i - m_j}

(Daleckii and Krein); only the q rows of positive eigenvalues are needed.

**Certificate.** ``A(a)``, rescaled to its integral, is a primal point: ``primal - dual`` bounds its
error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from nablasso.nonnegative.losses import RowLoss
from nablasso.types import Array

CHUNK = 8192  # rows of a temporary


class PSDTangent:
    """A map from changes of slopes and multiplier to changes of values and integral."""

    def __init__(
        self, Phi: Array, l2: float, eigenvalues: Array, U: Array, mass: Array | None
    ) -> None:
        first = int(np.searchsorted(eigenvalues, 0.0, side="right"))
        top, rest = eigenvalues[first:], eigenvalues[:first]
        across = top[:, None] / (top[:, None] - rest)
        self._weights = np.hstack([2 * across, np.ones((len(top), len(top)))]) / l2
        self._P = Phi @ U
        self._top = np.ascontiguousarray(self._P[:, first:])
        self._W = None if mass is None else U[:, first:].T @ mass @ U

    def __call__(self, slopes: Array, c: Array) -> tuple[Array, Array]:
        """Changes of values (n,) and integral: two products with ``P`` and its top part."""
        top = self._top
        X = -(top * slopes[:, None]).T @ self._P
        if self._W is not None:
            X -= c[0] * self._W
        X *= self._weights
        values = np.einsum("ij,ij->i", top @ X, self._P)
        return values, np.zeros(0) if self._W is None else np.array([np.sum(self._W * X)])

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
        return np.asarray(np.einsum("ij,ij->i", self._top**2 @ self._weights, self._P**2))

    def mass_diagonal(self) -> Array:
        """Minus the derivative of the integral in its multiplier: ``sum Theta * W^2``."""
        return np.zeros(0) if self._W is None else np.array([np.sum(self._W**2 * self._weights)])


@dataclass(frozen=True)
class LinearBlock:
    """A function of any sign on features ``Phi`` (n, r), penalised."""

    Phi: Array
    l2: float
    mass: None = None

    def conjugate(self, slopes: Array, c: Array) -> tuple[float, Array, Any]:  # noqa: ARG002
        """``|Phi' s|^2 / (2 l2)``, the parameters at which it is attained, and no spectrum."""
        w = -(slopes @ self.Phi) / self.l2
        return 0.5 * self.l2 * float(w @ w), w, None

    def tangent(self, spectrum: Any) -> LinearBlock:  # noqa: ARG002
        """Derivative of the values in the slopes, the same everywhere: the block itself."""
        return self

    def __call__(self, slopes: Array, c: Array) -> tuple[Array, Array]:  # noqa: ARG002
        """One product with ``Phi`` and one with its transpose."""
        return -(self.Phi @ (slopes @ self.Phi)) / self.l2, np.zeros(0)

    def matrix(self) -> Array:
        """``Phi Phi' / l2``."""
        return np.asarray(self.Phi @ self.Phi.T) / self.l2

    def diagonal(self) -> Array:
        """``|phi_i|^2 / l2``."""
        return np.asarray(np.einsum("ij,ij->i", self.Phi, self.Phi) / self.l2)

    def mass_diagonal(self) -> Array:
        """None."""
        return np.zeros(0)

    def bend(self, slopes: Array) -> Array:
        """The Hessian of the conjugate times slopes."""
        return -self(slopes, np.zeros(0))[0]

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
    """A function that is not negative anywhere, penalised; of a density the integral is one."""

    Phi: Array
    l1: float
    l2: float
    mass: Array | None = None  # W (r, r) of the integral ``Tr(A W)``, in the features' coordinates

    def conjugate(self, slopes: Array, c: Array) -> tuple[float, Array, Any]:
        """Conjugate of the penalty, the parameters at which it is attained, and the spectrum."""
        M = -weighted_gram(self.Phi, slopes)
        if self.mass is not None:
            M -= c[0] * self.mass
        M.flat[:: len(M) + 1] -= self.l1
        eigenvalues, U = eigh(M, driver="evd", overwrite_a=True, check_finite=False)
        first = int(np.searchsorted(eigenvalues, 0.0, side="right"))
        top = eigenvalues[first:]
        F = U[:, first:] * np.sqrt(top / self.l2)
        return 0.5 * float(top @ top) / self.l2, F, (eigenvalues, U)

    def tangent(self, spectrum: Any) -> PSDTangent:
        """Derivative of values and integral in slopes and multiplier."""
        eigenvalues, U = spectrum
        return PSDTangent(self.Phi, self.l2, eigenvalues, U, self.mass)

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
        """``Tr(A W) - 1`` of a density."""
        if self.mass is None:
            return np.zeros(0)
        return np.array([float(np.sum(parameters * (self.mass @ parameters))) - 1])

    def feasible(self, parameters: Array) -> Array | None:
        """Parameters rescaled to an integral of one; None where there is nothing to rescale."""
        if self.mass is None:
            return parameters
        mass = float(self.excess(parameters)[0]) + 1
        return np.asarray(parameters / np.sqrt(mass)) if 0 < mass < np.inf else None


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


class SlopePoint(NamedTuple):
    """Coordinates ``t`` (n, k) of the slopes; ``c`` (1,) of a density's integral, else (0,)."""

    t: Array
    c: Array


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

    def attained(self, slopes: Array, c: Array) -> list[Any]:
        """For each block the conjugate of its penalty, where it is attained, and the spectrum."""
        by_block = (self.weights[:, None] * slopes) @ self.mixing
        return [block.conjugate(by_block[:, b], c) for b, block in enumerate(self.blocks)]

    def excess(self, parameters: list[Array]) -> Array:
        """What a density's integral exceeds one by, (1,); (0,) of other tasks."""
        each = zip(self.blocks, parameters, strict=True)
        return np.concatenate([block.excess(theta) for block, theta in each])

    def evaluate(self, point: SlopePoint) -> Evaluation:
        """Dual value, its derivatives, and the functions that belong to the point."""
        slopes = self.loss.slopes(point.t)
        penalties, parameters, spectra = map(
            list, zip(*self.attained(slopes, point.c), strict=True)
        )
        Z = self.outputs(parameters)
        linear = (
            float(self.weights @ (slopes @ self.offset)) - float(point.c.sum()) - sum(penalties)
        )
        dual = float(self.weights @ self.loss.conjugate(point.t)) + linear
        ascent = self.weights[:, None] * self.loss.ascent(point.t, Z)
        return Evaluation(point, dual, ascent, self.excess(parameters), parameters, Z, spectra)


@dataclass(frozen=True)
class Evaluation:
    """What the dual says at a point."""

    point: SlopePoint
    dual: float
    ascent: Array  # in t
    excess: Array  # in c
    parameters: list[Array]
    Z: Array
    spectra: list[Any]
