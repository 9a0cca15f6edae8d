r"""ADMM of Gregorova et al. (2018), section 4, on the operators of this library.

With ``N = [[K, D'], [D, L]]`` and ``w = (u, v)``, values are the first rows of ``N w``, gradients
the others. Split ``Z w = phi`` (``Z`` the weighted gradients) with scaled multiplier ``lam`` and
step ``kappa``:

* S1  ``min_w |T1 (F w - y)|^2 / 2 + ridge w'N w + kappa/2 |Z w - phi + lam|^2``
* S2  ``phi = prox_{alpha Omega / kappa}(Z w + lam)``
* S3  ``lam += Z w - phi``

S1 in closed form. Let ``T = diag(sqrt(2) Q S, sqrt(kappa) S)`` act on (values, gradients), ``S =
diag(sqrt p)`` (``diag(sqrt pi)`` for gradients), ``Q`` the centring. The normal equations are
``N (2 ridge + T'T N) w = N T'T r``
with ``r`` the targets ``y`` and ``phi - lam``, so ``w = T' x`` with

.. math:: (2 \lambda I + T N T^\top)\, x = T r ,

a well-conditioned symmetric system, by a Cholesky factorisation of order ``n (d + 1)``: it is for
small problems, and :class:`~nablasso.solvers.DualSolver` takes it where it wanders. ``kappa``
begins with ``alpha`` over the mean derivative norm of ridge regression and follows the rule of Boyd
et al. (2010), section 3.4.1. ``(x)_+`` in the paper's Proposition 4 is ``max(0, x)``, not ``min``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from nablasso.errors import InvalidParameterError
from nablasso.penalties import Penalty
from nablasso.problems import SquaredProblem
from nablasso.solvers.base import Callback, Solution, Solver, Status, certify
from nablasso.types import Array

MAX_DENSE = 10_000
LOOK_EVERY = 100  # iterations after which the gap is looked at in any case
ADAPT_STEPS = 100  # kappa must settle, or convergence is not guaranteed
RESIDUAL_TOL = 1e-2  # relative: smaller residuals call for a look at the gap; then half of it


class Admm(Solver[SquaredProblem]):
    """Alternating directions with closed-form steps; the gap is looked at when residuals are small.

    Parameters
    ----------
    tol : float
        Gap relative to the primal at ``f = 0``.
    max_iter : int
    """

    def __init__(self, tol: float = 1e-6, max_iter: int = 5000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def solve(
        self, problem: SquaredProblem, start: Array | None = None, callback: Callback | None = None
    ) -> Solution:
        """Run ADMM; ``start`` (a dual variable) gives the first multiplier."""
        state = self.first(problem, start)
        target, residual_tol = self.tol * problem.reference, RESIDUAL_TOL
        coef = problem.with_intercept(*state.w)
        for n_iter in range(1, self.max_iter + 1):
            primal_residual, dual_residual, scale = state.iterate()
            coef = problem.with_intercept(*state.w)
            if callback is not None:
                callback(n_iter, coef)
            small = max(primal_residual, dual_residual) <= residual_tol * scale
            if small or n_iter % LOOK_EVERY == 0:
                solution = certify(problem, coef, n_iter, Status.CONVERGED)
                if solution.gap <= target:
                    return solution
                residual_tol /= 2 if small else 1
            if n_iter <= ADAPT_STEPS:
                state.adapt(primal_residual, dual_residual)
        return certify(problem, coef, self.max_iter, Status.MAX_ITER)

    def first(self, problem: SquaredProblem, start: Array | None) -> AdmmState:
        """Where to begin, and who solves S1."""
        unknowns = problem.space.n_samples + problem.space.points.size
        if unknowns > MAX_DENSE:
            raise InvalidParameterError(
                f"ADMM factors a matrix of order n (d + 1), at most {MAX_DENSE}; here it is "
                f'{unknowns}. Use solver="dual".'
            )
        return AdmmState.first(problem, problem.penalty, LinearStep(problem), start)


@dataclass
class AdmmState:
    """The iterates; ``penalty`` is that of S2."""

    problem: SquaredProblem
    penalty: Penalty
    step: LinearStep
    kappa: float
    phi: Array
    lam: Array
    w: tuple[Array, Array]

    @classmethod
    def first(
        cls, problem: SquaredProblem, penalty: Penalty, step: LinearStep, start: Array | None
    ) -> AdmmState:
        """From the dual variable ``start``, or from nothing."""
        zero = np.zeros(problem.space.points.shape)
        g = problem.dual_point(zero if start is None else start).g
        norms = penalty.partition.norms(g)
        kappa = max(problem.alpha, 1e-12) / max(float(norms.mean()), 1e-12)
        lam = zero if start is None else -start / kappa
        phi = penalty.prox(g + lam, problem.alpha / kappa)
        return cls(problem, penalty, step, kappa, phi, lam, (np.zeros_like(problem.y), zero))

    def iterate(self) -> tuple[float, float, float]:
        """S1, S2, S3; returns primal residual, dual residual (in units of phi) and scale."""
        self.w, Zw = self.step.solve(self.phi - self.lam, self.kappa)
        shifted, before = Zw + self.lam, self.phi
        self.phi = self.penalty.prox(shifted, self.problem.alpha / self.kappa)
        self.lam = shifted - self.phi
        scale = max(float(np.linalg.norm(Zw)), float(np.linalg.norm(self.lam)))
        moved = float(np.linalg.norm(self.phi - before))
        return float(np.linalg.norm(Zw - self.phi)), moved, scale

    def adapt(self, primal_residual: float, dual_residual: float) -> None:
        """Double or halve ``kappa`` when one residual is ten times the other."""
        up, down = primal_residual > 10 * dual_residual, dual_residual > 10 * primal_residual
        factor = 2.0 if up else 0.5 if down else 1.0
        self.kappa *= factor
        self.lam = self.lam / factor


class LinearStep:
    """S1: dense Cholesky, refactored when ``kappa`` changes."""

    def __init__(self, problem: SquaredProblem) -> None:
        self.problem = problem
        self.root, self.s = problem.root, np.sqrt(problem.weights)
        self.n = len(self.s)
        self.kappa = 0.0
        self.prepare()

    def prepare(self) -> None:
        """``T N T'`` at ``kappa = 1``."""
        D, L = self.problem.space.dense()
        N = np.block([[self.problem.space.gram, D.T], [D, L]])
        repeated = np.repeat(self.root.ravel(), self.problem.space.n_features)
        scale = np.concatenate([np.sqrt(2) * self.s, repeated])
        N *= scale[:, None]
        N *= scale
        if self.problem.fit_intercept:
            N[: self.n] -= np.outer(self.s, self.s @ N[: self.n])
            N[:, : self.n] -= np.outer(N[:, : self.n] @ self.s, self.s)
        self.N = N

    def solve(self, r: Array, kappa: float) -> tuple[tuple[Array, Array], Array]:
        """``w`` and ``Z w`` for the target gradients ``r``."""
        scale = self.scale(kappa)
        rhs = self.into(self.problem.y, kappa * r / scale**2, kappa)
        x = self.solve_system(rhs, kappa)
        # (2 ridge + T N T') x = T r, so the gradient rows of T N w = T N T' x are known
        Zw = self.image(x, rhs)[self.n :].reshape(r.shape) / scale
        return self.coefficients(x, kappa), Zw

    def scale(self, kappa: float) -> Array:
        """What multiplies the gradients of each column: ``sqrt(kappa)``."""
        return np.full(self.problem.space.n_features, np.sqrt(kappa))

    def coefficients(self, x: Array, kappa: float) -> tuple[Array, Array]:
        """``u`` and ``v`` of ``w = T' x``."""
        u = np.sqrt(2) * self.s * self._centre(x[: self.n])
        v = self.scale(kappa) * self.root * x[self.n :].reshape(self.problem.space.points.shape)
        return u, v

    def image(self, x: Array, rhs: Array) -> Array:
        """``T N T' x`` of a solution."""
        return rhs - 2 * self.problem.ridge * x

    def solve_system(self, rhs: Array, kappa: float) -> Array:
        """``x``."""
        if kappa != self.kappa:
            repeated = np.tile(self.scale(kappa), len(self.problem.space.points))
            c = np.concatenate([np.ones(self.n), repeated])
            A = self.N * c[:, None] * c
            # a ridge below rounding would not make A positive definite; the gap judges the result
            rounding = 4 * len(A) * np.finfo(float).eps * float(A.diagonal().max())
            A[np.diag_indices_from(A)] += max(2 * self.problem.ridge, rounding)
            self.factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
            self.kappa = kappa
        return np.asarray(cho_solve(self.factor, rhs, check_finite=False))

    def into(self, values: Array, weighted: Array, kappa: float) -> Array:
        """``T`` applied to values and to gradients already times ``sqrt p``."""
        top = np.sqrt(2) * self._centre(self.s * values)
        return np.concatenate([top, (self.scale(kappa) * weighted).ravel()])

    def _centre(self, a: Array) -> Array:
        return a - self.s * (self.s @ a) if self.problem.fit_intercept else a
