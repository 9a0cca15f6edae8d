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

a well-conditioned symmetric system: dense Cholesky up to ``n (d + 1) = 6000`` unknowns, conjugate
gradients with warm start beyond. ``kappa`` follows the rule of Boyd et al. (2010), section 3.4.1.
``(x)_+`` in the paper's Proposition 4 is ``max(0, x)``, not ``min``.

Two choices of the paper's own implementation are options. *Inexact*: S1 by steepest descent from
the last ``x``, one step more in every iteration (``descent_steps`` in the first). *Footnote 1*: the
quadratic of the elastic net, ``q_a |Z_a w|^2`` with ``q = alpha w (1 - mu)``, goes into S1
(``quadratic_in_linear_step``), which completes the square: ``kappa + 2 q_a`` in place of ``kappa``
and ``kappa r_a / (kappa + 2 q_a)`` in place of ``r_a``; S2 is then that of the lasso with the
weights ``mu w``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import LinearOperator, cg

from nablasso.penalties import ElasticNet, GroupLasso, Penalty
from nablasso.problems import Coefficients, SquaredProblem
from nablasso.solvers.base import Callback, Solution, Solver, Status, certify
from nablasso.types import Array

MAX_DENSE = 6000
LOOK_EVERY = 100  # iterations after which the gap is looked at in any case
ADAPT_STEPS = 100  # kappa must settle, or convergence is not guaranteed


class Admm(Solver[SquaredProblem]):
    """Alternating directions with closed-form steps.

    Parameters
    ----------
    tol : float
        Gap relative to the primal at ``f = 0``; looked at when the residuals are small relative
        to ``residual_tol``, which is tightened by half while the gap is too large.
    max_iter : int
    kappa : float, optional
        First step size; by default ``alpha`` over the mean derivative norm of ridge regression.
    residual_tol : float
    descent_steps : int, optional
        Steepest descent in S1: so many steps in the first iteration, one more in each; by default
        S1 is solved.
    quadratic_in_linear_step : bool
        Footnote 1: for the elastic net, whether its quadratic belongs to S1.
    """

    def __init__(
        self,
        tol: float = 1e-6,
        max_iter: int = 5000,
        kappa: float | None = None,
        residual_tol: float = 1e-2,
        descent_steps: int | None = None,
        quadratic_in_linear_step: bool = False,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.kappa = kappa
        self.residual_tol = residual_tol
        self.descent_steps = descent_steps
        self.quadratic_in_linear_step = quadratic_in_linear_step

    def solve(
        self, problem: SquaredProblem, start: Array | None = None, callback: Callback | None = None
    ) -> Solution:
        """Run ADMM; ``start`` (a dual variable) gives the first multiplier."""
        state = _State.first(problem, self, start)
        target, residual_tol = self.tol * problem.reference, self.residual_tol
        coef = state.unpack()
        for n_iter in range(1, self.max_iter + 1):
            primal_residual, dual_residual, scale = state.iterate()
            coef = state.unpack()
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


@dataclass
class _State:
    problem: SquaredProblem
    penalty: Penalty  # of S2
    kappa: float
    phi: Array
    lam: Array

    @classmethod
    def first(cls, problem: SquaredProblem, settings: Admm, start: Array | None) -> _State:
        zero = np.zeros(problem.space.points.shape)
        g = problem.dual_point(zero if start is None else start).g
        penalty, quadratic = problem.penalty, np.zeros(g.shape[1])
        if settings.quadratic_in_linear_step and isinstance(penalty, ElasticNet):
            share, weights = penalty.l1_ratio, penalty.weights
            quadratic = penalty.partition.spread(problem.alpha * (1 - share) * weights)
            penalty = GroupLasso(penalty.partition, share * weights)
        kappa = settings.kappa
        if kappa is None:
            norms = penalty.partition.norms(g)
            kappa = max(problem.alpha, 1e-12) / max(float(norms.mean()), 1e-12)
        lam = zero if start is None else -start / kappa
        phi = penalty.prox(g + lam, problem.alpha / kappa)
        state = cls(problem, penalty, kappa, phi, lam)
        state.step = _LinearStep.choose(problem, quadratic, settings.descent_steps)
        return state

    def __post_init__(self) -> None:
        self.step: _LinearStep
        self.w = (np.zeros_like(self.problem.y), np.zeros_like(self.phi))

    def iterate(self) -> tuple[float, float, float]:
        """S1, S2, S3; returns primal residual, dual residual (in units of phi) and scale."""
        self.w, Zw = self.step.solve(self.phi - self.lam, self.kappa)
        shifted = Zw + self.lam
        before, self.phi = (
            self.phi,
            self.penalty.prox(shifted, self.problem.alpha / self.kappa),
        )
        self.lam = shifted - self.phi
        scale = max(float(np.linalg.norm(Zw)), float(np.linalg.norm(self.lam)))
        return (
            float(np.linalg.norm(Zw - self.phi)),
            float(np.linalg.norm(self.phi - before)),
            scale,
        )

    def adapt(self, primal_residual: float, dual_residual: float) -> None:
        """Double or halve ``kappa`` when one residual is ten times the other."""
        factor = 1.0
        if primal_residual > 10 * dual_residual:
            factor = 2.0
        elif dual_residual > 10 * primal_residual:
            factor = 0.5
        self.kappa *= factor
        self.lam = self.lam / factor

    def unpack(self) -> Coefficients:
        return self.problem.with_intercept(*self.w)


class _LinearStep:
    """S1: dense Cholesky, refactored when ``kappa`` changes."""

    def __init__(self, problem: SquaredProblem, quadratic: Array) -> None:
        self.problem = problem
        self.quadratic = quadratic  # (d,)
        self.root = problem.root
        self.s = np.sqrt(problem.weights)
        self.n = len(self.s)
        self.x = np.zeros(self.n + problem.space.points.size)
        self.kappa = 0.0
        self.prepare()

    @staticmethod
    def choose(problem: SquaredProblem, quadratic: Array, descent_steps: int | None) -> _LinearStep:
        unknowns = problem.space.n_samples + problem.space.points.size
        if descent_steps is not None:
            return _DescentStep(problem, quadratic, descent_steps)
        kind = _LinearStep if unknowns <= MAX_DENSE else _ConjugateGradientStep
        return kind(problem, quadratic)

    def prepare(self) -> None:
        """``T N T'`` at ``kappa = 1``."""
        D, L = self.problem.space.dense()
        N = np.block([[self.problem.space.gram, D.T], [D, L]])
        repeated = np.repeat(self.root.ravel(), self.problem.space.n_features)
        N *= np.concatenate([np.sqrt(2) * self.s, repeated])[:, None]
        N *= np.concatenate([np.sqrt(2) * self.s, repeated])
        if self.problem.fit_intercept:
            N[: self.n] -= np.outer(self.s, self.s @ N[: self.n])
            N[:, : self.n] -= np.outer(N[:, : self.n] @ self.s, self.s)
        self.N = N

    def solve(self, r: Array, kappa: float) -> tuple[tuple[Array, Array], Array]:
        """``w`` and ``Z w`` for the target gradients ``r``."""
        scale = self.scale(kappa)
        rhs = self.into(self.problem.y, kappa * r / scale**2, kappa)
        x = self.solve_system(rhs, kappa)
        u, v = self.coefficients(x, kappa)
        # (2 ridge + T N T') x = T r, so the gradient rows of T N w = T N T' x are known
        Zw = (self.image(x, rhs, kappa))[self.n :].reshape(r.shape) / scale
        return (u, v), Zw

    def scale(self, kappa: float) -> Array:
        """``sqrt(kappa + 2 q)`` of each column."""
        return np.sqrt(kappa + 2 * self.quadratic)

    def coefficients(self, x: Array, kappa: float) -> tuple[Array, Array]:
        """``u`` and ``v`` of ``w = T' x``."""
        u = np.sqrt(2) * self.s * self._centre(x[: self.n])
        v = self.scale(kappa) * self.root * x[self.n :].reshape(self.problem.space.points.shape)
        return u, v

    def image(self, x: Array, rhs: Array, kappa: float) -> Array:  # noqa: ARG002 of the inexact one
        """``T N T' x`` of a solution."""
        return rhs - 2 * self.problem.ridge * x

    def solve_system(self, rhs: Array, kappa: float) -> Array:
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

    def product(self, x: Array, kappa: float) -> Array:
        """``T N T' x`` without the matrix."""
        values, gradients = self.problem.space.products(*self.coefficients(x, kappa))
        return self.into(values, gradients * self.root, kappa)

    def _centre(self, a: Array) -> Array:
        return a - self.s * (self.s @ a) if self.problem.fit_intercept else a


class _ConjugateGradientStep(_LinearStep):
    """S1 without the dense matrix: conjugate gradients from the last solution."""

    def prepare(self) -> None:
        self.accuracy = 1e-3

    def solve_system(self, rhs: Array, kappa: float) -> Array:
        ridge = self.problem.ridge

        def product(x: Array) -> Array:
            return self.product(x, kappa) + 2 * ridge * x

        A = LinearOperator((len(rhs), len(rhs)), matvec=product, dtype=float)
        before = self.x
        self.x, _ = cg(A, rhs, x0=self.x, rtol=self.accuracy)
        moved = float(np.linalg.norm(self.x - before)) / max(float(np.linalg.norm(self.x)), 1e-300)
        self.accuracy = min(self.accuracy, max(0.1 * moved, 1e-10))
        return np.asarray(self.x)


class _DescentStep(_LinearStep):
    """S1 inexactly: steepest descent from the last ``x``, a step more in every iteration."""

    def __init__(self, problem: SquaredProblem, quadratic: Array, steps: int) -> None:
        super().__init__(problem, quadratic)
        self.steps = steps

    def prepare(self) -> None:
        """No matrix."""

    def solve_system(self, rhs: Array, kappa: float) -> Array:
        x, ridge = self.x, self.problem.ridge
        residual = rhs - self.product(x, kappa) - 2 * ridge * x
        for _ in range(self.steps):
            size = float(residual @ residual)
            if size == 0:
                break
            moved = self.product(residual, kappa) + 2 * ridge * residual
            step = size / float(residual @ moved)
            x = x + step * residual
            residual = residual - step * moved
        self.x, self.residual, self.steps = x, residual, self.steps + 1
        return x

    def image(self, x: Array, rhs: Array, kappa: float) -> Array:
        """``T N T' x``, whatever is left of the equation."""
        return super().image(x, rhs - self.residual, kappa)
