r"""(P) with the squared loss: the dual is a quadratic.

The best ``u`` for given ``s`` is ``P (y - D'v)`` (:mod:`nablasso.spaces.ridge`), so ``Phi`` is a
quadratic, everything in a dual point is affine in ``s``, and a dual point costs one product with
``D'``, ``P``, ``D`` and ``L``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from nablasso.problems.base import DualPoint, Problem
from nablasso.types import Array, Index

DAMPING, BLOWN_UP = 1e-4, 3.0  # see SquaredProblem.alpha_max_and_scale
POWER_STEPS = 20
MAX_DIRECT = 2000  # unknowns up to which alpha_max may be computed directly


@dataclass(frozen=True, kw_only=True)
class SquaredProblem(Problem):
    """(P) with ``l(y, z) = (y - z)^2``.

    ``P`` is ``RidgeInverse.matrix(ridge)``: it depends on the space, the weights and the ridge
    but not on ``alpha``, so a path shares it.
    """

    P: Array

    def dual_point(self, s: Array) -> DualPoint:
        """Eliminate ``u`` at ``s``: one product with ``D'``, ``P``, ``D`` and ``L``, O(n^2 d)."""
        v = self.coefficient(s)
        Dv, carry = self.space.push(v)
        u = self.P @ (self.y - Dv)
        g = self.space.pull(u, v, carry)
        g *= self.root
        return DualPoint(s, u, self.space.gram @ u + Dv, g)

    def alpha_max_and_scale(self) -> tuple[float, float]:
        """``alpha_max`` twice, unless directions that the data hardly determine blow it up.

        On clustered or densely sampled inputs a function can be made exactly flat at the data at
        the price of huge dual variables, and ``alpha_max`` is then hundreds of times the alphas
        that matter, and at the mercy of rounding. Where it exceeds three times its damped form,
        with ``M + delta`` for ``M`` and ``delta`` a ten-thousandth of the largest eigenvalue, the
        damped form comes second.
        """
        damped = self.gauge(self.flat_dual(damping=DAMPING, direct=False))
        exact = self.alpha_max()
        return exact, (exact if exact <= BLOWN_UP * damped else damped)

    def flat_dual(
        self,
        tol: float = 1e-8,
        max_iter: int = 1000,
        *,
        damping: float = 0.0,
        direct: bool = True,
        start: Array | None = None,
    ) -> Array:
        """Dual variable whose function is flat on the data: ``M s = -g(0)``.

        ``M`` is the Hessian of ``Phi`` on the penalised variables; ``damping`` times its largest
        eigenvalue is added to its diagonal. Conjugate gradients from ``start`` to a residual of
        ``tol``, one product an iteration; where ``max_iter`` of them do not get there and
        ``direct`` allows it, the least-norm solution up to ``MAX_DIRECT`` unknowns.
        """
        free = self.penalty.partition.spread(self.penalty.weights == 0)
        linear = replace(self, y=np.zeros_like(self.y))  # without y, g is linear in s

        def product(s: Array) -> Array:
            g = linear.dual_point(s).g
            if free.any():
                g[:, free] = 0.0
            return g

        rhs = self.dual_point(np.zeros(self.space.points.shape)).g
        rhs *= np.where(free, 0.0, -1.0)
        delta = damping * top_eigenvalue(product, rhs, POWER_STEPS) if damping else 0.0
        first = None if start is None else np.where(free, 0.0, start)
        solution, converged = conjugate_gradients(product, rhs, delta, first, tol, max_iter)
        if not converged and direct and rhs.size <= MAX_DIRECT:
            return self._least_norm_dual(np.flatnonzero(~free))
        return solution

    def _least_norm_dual(self, columns: Index) -> Array:
        """The least-norm solution of ``M s = -g(0)`` on the given columns of ``s``."""
        s = np.zeros(self.space.points.shape)
        rhs = -self.dual_point(s).g[:, columns].ravel()
        s[:, columns] = _least_norm(self._dense_hessian(columns), rhs).reshape(len(s), -1)
        return s

    def _dense_hessian(self, columns: Index) -> Array:
        """``M = S (L - D P D') S / (2 ridge)`` on the given columns of ``s``."""
        m, d = self.space.points.shape
        D, L = self.space.dense()
        kept = (np.arange(m)[:, None] * d + columns).ravel()
        D, L = D[kept], L[np.ix_(kept, kept)]
        root = np.repeat(self.root.ravel(), len(columns))
        return np.asarray((L - D @ self.P @ D.T) * root[:, None] * root / (2 * self.ridge))


def conjugate_gradients(
    product: Callable[[Array], Array],
    residual: Array,
    delta: float,
    start: Array | None,
    tol: float,
    max_iter: int,
) -> tuple[Array, bool]:
    """Solve ``(M + delta) x = rhs`` and say whether the residual came under ``tol`` of ``rhs``.

    ``residual`` is the right-hand side and is overwritten: three arrays of its size and the one
    that ``product`` makes are all that is held.
    """
    target = (tol * float(np.linalg.norm(residual))) ** 2
    x = np.zeros_like(residual) if start is None else start.copy()
    if start is not None:
        residual -= product(x)
        _add(residual, -delta, x)
    rho = float(np.vdot(residual, residual))
    direction = residual.copy()
    for _ in range(max_iter):
        if rho <= target:
            break
        q = product(direction)
        _add(q, delta, direction)
        step = rho / float(np.vdot(direction, q))
        _add(x, step, direction)
        _add(residual, -step, q)
        del q
        rho, before = float(np.vdot(residual, residual)), rho
        direction *= rho / before
        direction += residual
    return x, rho <= target


def _add(to: Array, factor: float, x: Array) -> None:
    """``to += factor * x``, a row at a time: no temporary of their size."""
    if factor:
        for row, other in zip(to, x, strict=True):
            row += factor * other


def top_eigenvalue(product: Callable[[Array], Array], x: Array, steps: int) -> float:
    """Largest eigenvalue of a positive semidefinite operator, by power iteration from ``x``."""
    for _ in range(steps):
        size = float(np.linalg.norm(x))
        if size == 0.0:
            return 0.0
        x = product(x / size)
    return float(np.linalg.norm(x))


def _least_norm(M: Array, rhs: Array) -> Array:
    """Solution of a positive semidefinite system; the least-norm one up to rounding."""
    w, V = eigh(M, driver="evd", overwrite_a=True, check_finite=False)
    # M is a difference: the size of its negative eigenvalues tells the size of the rounding
    kept = w > max(10 * len(w) * np.finfo(float).eps * w[-1], 2 * max(-w[0], 0.0))
    return np.asarray(V[:, kept] @ ((V[:, kept].T @ rhs) / w[kept]))
