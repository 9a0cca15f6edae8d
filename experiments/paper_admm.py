r"""ADMM of Gregorova et al. (2018) as its authors implement it (:class:`PaperAdmm`), besides the
closed form of ``nablasso.solvers.Admm``. *Inexact*: S1 by steepest descent from the last ``x``,
one step more in every iteration (``descent_steps`` in the first); without it by conjugate gradients
where the matrix would be too large. *Footnote 1*: the quadratic of the elastic net,
``q_a |Z_a w|^2`` with ``q = alpha w (1 - mu)``, goes into S1 (``quadratic_in_linear_step``), which
completes the square: ``kappa + 2 q_a`` in place of ``kappa`` and ``kappa r_a / (kappa + 2 q_a)`` in
place of ``r_a``; S2 is then that of the lasso with the weights ``mu w``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from nablasso.penalties import Penalty
from nablasso.problems import SquaredProblem
from nablasso.solvers import Admm
from nablasso.solvers.papers import LinearStep, Rooted
from nablasso.types import Array

CHOLESKY = 6000  # unknowns up to which S1 is solved by a factorisation


class PaperAdmm(Admm):
    """ADMM with S1 by conjugate gradients, or inexactly as the paper's code does.

    Parameters
    ----------
    tol, max_iter
        As in :class:`nablasso.solvers.Admm`.
    descent_steps : int, optional
        Steepest descent in S1: so many steps in the first iteration, one more in each.
    quadratic_in_linear_step : bool
        Footnote 1: for the elastic net, whether its quadratic belongs to S1.
    """

    def __init__(
        self,
        tol: float = 1e-6,
        max_iter: int = 5000,
        descent_steps: int | None = None,
        quadratic_in_linear_step: bool = False,
    ) -> None:
        super().__init__(tol, max_iter)
        self.descent_steps = descent_steps
        self.quadratic_in_linear_step = quadratic_in_linear_step

    def splitting(self, problem: SquaredProblem) -> tuple[Penalty, LinearStep]:
        """The quadratic where it is asked for, and the step."""
        penalty, quadratic = problem.penalty, np.zeros(problem.space.n_features)
        if self.quadratic_in_linear_step and penalty.l1_ratio < 1:
            share, weights = penalty.l1_ratio, penalty.weights
            quadratic = penalty.partition.spread(problem.alpha * (1 - share) * weights)
            penalty = Penalty(penalty.partition, share * weights)
        unknowns = problem.space.n_samples + problem.space.points.size
        if self.descent_steps is None and not quadratic.any() and unknowns <= CHOLESKY:
            return super().splitting(problem)
        step: LinearStep = (
            ConjugateGradientStep(problem, quadratic)
            if self.descent_steps is None
            else DescentStep(problem, quadratic, self.descent_steps)
        )
        return penalty, step


class IterativeStep(LinearStep, ABC):
    """S1 by products, from the last ``x``; ``quadratic`` (d,) is that of footnote 1."""

    def __init__(self, problem: SquaredProblem, quadratic: Array) -> None:
        Rooted.__init__(self, problem)  # no matrix
        self.quadratic, self.n = quadratic, len(self.s)
        self.x = np.zeros(self.n + problem.space.points.size)

    def solve(self, r: Array, kappa: float) -> tuple[tuple[Array, Array], Array]:
        """``w`` and ``Z w`` for the target gradients ``r``."""
        scale = self.scale(kappa)
        x, image = self.solve_system(self.into(self.problem.y, kappa * r / scale**2, kappa), kappa)
        return self.coefficients(x, kappa), image[self.n :].reshape(r.shape) / scale

    @abstractmethod
    def solve_system(self, rhs: Array, kappa: float) -> tuple[Array, Array]:
        """``x`` and ``T N T' x``."""

    def coefficients(self, x: Array, kappa: float) -> tuple[Array, Array]:
        """``u`` and ``v`` of ``w = T' x``."""
        u = np.sqrt(2) * self.s * self.centred(x[: self.n])
        v = self.scale(kappa) * self.root * x[self.n :].reshape(self.problem.space.points.shape)
        return u, v

    def into(self, values: Array, weighted: Array, kappa: float) -> Array:
        """``T`` applied to values and to gradients already times ``sqrt p``."""
        top = np.sqrt(2) * self.centred(self.s * values)
        return np.concatenate([top, (self.scale(kappa) * weighted).ravel()])

    def scale(self, kappa: float) -> Array:
        """``sqrt(kappa + 2 q)`` of each column."""
        return np.asarray(np.sqrt(kappa + 2 * self.quadratic))

    def product(self, x: Array, kappa: float) -> Array:
        """``(2 ridge + T N T') x``."""
        values, gradients = self.problem.space.products(*self.coefficients(x, kappa))
        return self.into(values, gradients * self.root, kappa) + 2 * self.problem.ridge * x


class ConjugateGradientStep(IterativeStep):
    """S1 to an accuracy that follows the iterates."""

    accuracy = 1e-3

    def solve_system(self, rhs: Array, kappa: float) -> tuple[Array, Array]:
        """``x``, for which the equation holds."""
        shape = (len(rhs), len(rhs))
        A = LinearOperator(shape, matvec=lambda x: self.product(x, kappa), dtype=float)
        before = self.x
        self.x, _ = cg(A, rhs, x0=self.x, rtol=self.accuracy)
        moved = float(np.linalg.norm(self.x - before)) / max(float(np.linalg.norm(self.x)), 1e-300)
        self.accuracy = min(self.accuracy, max(0.1 * moved, 1e-10))
        return self.x, rhs - 2 * self.problem.ridge * self.x


class DescentStep(IterativeStep):
    """S1 inexactly: steepest descent, a step more in every iteration."""

    def __init__(self, problem: SquaredProblem, quadratic: Array, steps: int) -> None:
        super().__init__(problem, quadratic)
        self.steps = steps

    def solve_system(self, rhs: Array, kappa: float) -> tuple[Array, Array]:
        """``x``, whatever is left of the equation."""
        x = self.x
        residual = rhs - self.product(x, kappa)
        for _ in range(self.steps):
            size = float(residual @ residual)
            if size == 0:
                break
            moved = self.product(residual, kappa)
            step = size / float(residual @ moved)
            x = x + step * residual
            residual = residual - step * moved
        self.x, self.steps = x, self.steps + 1
        return x, rhs - residual - 2 * self.problem.ridge * x
