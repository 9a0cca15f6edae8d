r"""The papers' own algorithms for the derivative lasso, on the operators of the library.

**DENOVAS**: Algorithm 1 of Rosasco et al. (2013).

With :math:`\hat S f = \sqrt{p_i}(f(x_i) - \bar f)` and
:math:`\hat\nabla f = \sqrt{p_i}\,\partial_a f(x_i)` (the mean is taken off when there is an
intercept) the problem is

.. math:: \min_f \|\hat S f - \tilde y\|^2 + \alpha\,\Omega(\hat\nabla f) + \lambda \|f\|^2 ,

:math:`\alpha = 2\tau`, :math:`\lambda = \tau\nu` in the paper. Outer loop: accelerated
forward-backward splitting with step :math:`\sigma = \|\hat S\hat S^*\| + \lambda`,

.. math::
    w = (1 - \lambda/\sigma) \tilde f - \tfrac1\sigma \hat S^*(\hat S\tilde f - \tilde y),
    \qquad f = w - \hat\nabla^* \bar v .

Inner loop: :math:`\bar v` minimises :math:`\tfrac12\|w - \hat\nabla^* v\|^2 + (c\,\Omega)^*(v)`
with :math:`c = \alpha/(2\sigma)` by projected gradient with step :math:`1/\eta`,
:math:`\eta = \|\hat\nabla\hat\nabla^*\|`, warm-started, until the prox is accurate to
:math:`\epsilon_t \sim t^{-l}`, condition (28) of the paper.

Two corrections of the printed text: the matrix ``Z`` of (14) and (15) is the transpose of (9), and
in our code it is the pair ``push``/``pull``; the balls (11) use the norm divided by ``n``, which is
here the factor :math:`\sqrt{p_i}`.

**ADMM** of Gregorova et al. (2018) as its authors implement it (:class:`PaperAdmm`), besides the
closed form of :mod:`nablasso.solvers.admm`. *Inexact*: S1 by steepest descent from the last ``x``,
one step more in every iteration (``descent_steps`` in the first); without it by conjugate gradients
where the matrix would be too large. *Footnote 1*: the quadratic of the elastic net,
``q_a |Z_a w|^2`` with ``q = alpha w (1 - mu)``, goes into S1 (``quadratic_in_linear_step``), which
completes the square: ``kappa + 2 q_a`` in place of ``kappa`` and ``kappa r_a / (kappa + 2 q_a)`` in
place of ``r_a``; S2 is then that of the lasso with the weights ``mu w``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from nablasso.errors import InvalidParameterError
from nablasso.penalties import ElasticNet, GroupLasso
from nablasso.problems import Coefficients, SquaredProblem, top_eigenvalue
from nablasso.solvers import Admm, Solution, Solver, Status
from nablasso.solvers.admm import AdmmState, LinearStep
from nablasso.solvers.base import Callback, certify
from nablasso.types import Array, Mask

CHOLESKY = 6000  # unknowns up to which S1 is solved by a factorisation
POWER_STEPS, SAFE = 50, 1.02  # power iteration approaches the norms from below


class _Function(NamedTuple):
    """``f = S* a + nabla* b``; both are linear, so functions add up by their coefficients."""

    a: Array  # (n,)
    b: Array  # (n, d)

    def combine(self, other: _Function, here: float, there: float) -> _Function:
        return _Function(here * self.a + there * other.a, here * self.b + there * other.b)


class Denovas(Solver[SquaredProblem]):
    """The two nested loops of Algorithm 1.

    Parameters
    ----------
    tol : float
        Gap relative to the primal at ``f = 0``. The paper's outer rule
        ``||f_t - f_{t-1}|| <= outer_tol ||f_t||`` says when to look at the gap; where the gap is
        still too large the rule is tightened by half.
    max_iter : int
        Outer iterations.
    max_inner : int
        Inner iterations per outer one.
    decay : float
        Exponent ``l > 3/2`` of the inner accuracy.
    outer_tol : float
        First tolerance of the outer rule.
    """

    def __init__(
        self,
        tol: float = 1e-6,
        max_iter: int = 5000,
        max_inner: int = 10000,
        decay: float = 1.6,
        outer_tol: float = 1e-2,
    ) -> None:
        self.tol = tol
        self.max_iter = max_iter
        self.max_inner = max_inner
        self.decay = decay
        self.outer_tol = outer_tol

    def solve(
        self, problem: SquaredProblem, start: Array | None = None, callback: Callback | None = None
    ) -> Solution:
        """Run Algorithm 1; ``start`` (a dual variable) gives the first function."""
        maps = _Maps(problem)
        target, outer_tol = self.tol * problem.reference, self.outer_tol
        f = before = maps.function(start)
        v, momentum = -f.b * (problem.ridge / maps.sigma), 1.0  # their relation at the solution
        coef = maps.unpack(f)
        for t in range(1, self.max_iter + 1):
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            weight = (momentum - 1) / following
            f, before, v, momentum = *self._outer(maps, f, before, weight, v, t), following
            coef = maps.unpack(f)
            if callback is not None:
                callback(t, coef)
            if maps.norm(f.combine(before, 1.0, -1.0)) <= outer_tol * maps.norm(f):
                solution = certify(problem, coef, t, Status.CONVERGED)
                if solution.gap <= target:
                    return solution
                outer_tol /= 2
        return certify(problem, coef, self.max_iter, Status.MAX_ITER)

    def _outer(
        self, maps: _Maps, f: _Function, before: _Function, weight: float, v: Array, t: int
    ) -> tuple[_Function, _Function, Array]:
        """Equations (12) to (16): extrapolate, gradient step, inner loop."""
        ahead = f.combine(before, 1 + weight, -weight)
        shrink = 1 - maps.problem.ridge / maps.sigma
        residual = maps.centred_values(ahead) - maps.y
        w = _Function(shrink * ahead.a - residual / maps.sigma, shrink * ahead.b)
        v = self._inner(maps, w, v, t)
        return _Function(w.a, w.b - v), f, v

    def _inner(self, maps: _Maps, w: _Function, v: Array, t: int) -> Array:
        """Equation (15) until condition (28) holds."""
        penalty, c = maps.problem.penalty, maps.problem.alpha / (2 * maps.sigma)
        gradient_w = maps.gradient(w)
        accuracy = maps.norm(w) ** 2 * float(t) ** (-2 * self.decay)
        for _ in range(self.max_inner):
            gradient_f = gradient_w - maps.normal(v)
            primal = c * penalty.value(penalty.partition.norms(gradient_f))
            dual = penalty.conjugate(penalty.partition.norms(v), c)
            if 2 * (primal + dual - float(np.sum(v * gradient_f))) <= accuracy:
                break
            v = penalty.prox_conjugate(v + gradient_f / maps.eta, 1 / maps.eta, c)
        return v


def irrelevant(problem: SquaredProblem, solution: Solution) -> Mask:
    r"""Variables that the paper's rule (32) calls irrelevant, from a solution that is not exact.

    For a dual point :math:`s` (the paper's :math:`\bar v` is :math:`s / 2\sigma`) whose gap is
    :math:`e`, the Fenchel inequalities add up to :math:`e`, so at the minimiser :math:`\hat f`

    .. math:: \|\hat D_g \hat f\|_n \, (\alpha w_g - \|s_g\|) \le e .

    If :math:`\|s_g\| < \alpha w_g - e / m`, with :math:`m` the smallest norm that is not zero, then
    the norm is under :math:`m`, hence zero. This is (32) with :math:`\tilde\epsilon_t^2 = e /
    \sigma`: the paper bounds that quantity by (37), whose constant :math:`C` nobody knows; the gap
    is computed. (The printed (32) has its inequality turned round.) Neither does anybody know
    :math:`m`: here it is the smallest norm whose lower bound by the gap is positive, and without
    any nothing is called irrelevant.
    """
    lower, _ = problem.derivative_bounds(solution.point)
    partition = problem.penalty.partition
    proven = np.sqrt(np.bincount(partition.labels, lower**2, minlength=partition.n_groups))
    if not np.any(proven > 0):
        return np.zeros(len(lower), dtype=bool)
    room = problem.penalty.radius(problem.alpha) - partition.norms(solution.point.s)
    enough = room > max(solution.gap, 0.0) / float(proven[proven > 0].min())
    return np.asarray(partition.spread(enough), dtype=bool)


class _Maps:
    """The sampling and gradient operators of the paper and their norms."""

    def __init__(self, problem: SquaredProblem) -> None:
        self.problem = problem
        self.root = problem.root
        self.s = np.sqrt(problem.weights)
        self.y = self._centre(self.s * problem.y)
        gram = problem.space.gram * self.s[:, None] * self.s
        rng = np.random.default_rng(0)
        v, a = rng.standard_normal(problem.space.points.shape), rng.standard_normal(self.s.shape)
        self.eta = SAFE * top_eigenvalue(self.normal, v, POWER_STEPS)
        sampling = top_eigenvalue(lambda a: self._centre(gram @ self._centre(a)), a, POWER_STEPS)
        self.sigma = SAFE * sampling + problem.ridge

    def function(self, s: Array | None) -> _Function:
        """The function of a dual variable; zero without one."""
        if s is None:
            return _Function(np.zeros_like(self.s), np.zeros(self.problem.space.points.shape))
        return _Function(self.problem.dual_point(s).u / self.s, s / (2 * self.problem.ridge))

    def coefficients(self, f: _Function) -> tuple[Array, Array]:
        """``u`` and ``v`` of ``S* a + nabla* b``."""
        return self.s * self._centre(f.a), self.root * f.b

    def centred_values(self, f: _Function) -> Array:
        """``S f``."""
        return self._centre(self.s * self.problem.space.values(*self.coefficients(f)))

    def gradient(self, f: _Function) -> Array:
        """``nabla f``."""
        return self.root * self.problem.space.gradients(*self.coefficients(f))

    def normal(self, v: Array) -> Array:
        """``nabla nabla* v``: the matrix ``L`` of the paper."""
        return self.root * self.problem.space.gradients(np.zeros_like(self.s), self.root * v)

    def norm(self, f: _Function) -> float:
        """Norm of ``f`` in the space."""
        u, v = self.coefficients(f)
        values, gradients = self.problem.space.products(u, v)
        square = float(u @ values) + float(np.sum(v * gradients))
        return float(np.sqrt(max(square, 0.0)))

    def unpack(self, f: _Function) -> Coefficients:
        return self.problem.with_intercept(*self.coefficients(f))

    def _centre(self, a: Array) -> Array:
        return a - self.s * (self.s @ a) if self.problem.fit_intercept else a


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

    def first(self, problem: SquaredProblem, start: Array | None) -> AdmmState:
        """The quadratic where it is asked for, and the step."""
        penalty, quadratic = problem.penalty, np.zeros(problem.space.n_features)
        if self.quadratic_in_linear_step and isinstance(penalty, ElasticNet):
            share, weights = penalty.l1_ratio, penalty.weights
            quadratic = penalty.partition.spread(problem.alpha * (1 - share) * weights)
            penalty = GroupLasso(penalty.partition, share * weights)
        unknowns = problem.space.n_samples + problem.space.points.size
        if self.descent_steps is None and not quadratic.any() and unknowns <= CHOLESKY:
            return super().first(problem, start)
        step: LinearStep = (
            ConjugateGradientStep(problem, quadratic)
            if self.descent_steps is None
            else DescentStep(problem, quadratic, self.descent_steps)
        )
        return AdmmState.first(problem, penalty, step, start)


class IterativeStep(LinearStep):
    """S1 by products, from the last ``x``; ``quadratic`` (d,) is that of footnote 1."""

    def __init__(self, problem: SquaredProblem, quadratic: Array) -> None:
        super().__init__(problem)
        self.quadratic = quadratic
        self.x = np.zeros(self.n + problem.space.points.size)

    def prepare(self) -> None:
        """No matrix."""

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

    def solve_system(self, rhs: Array, kappa: float) -> Array:
        """``x``."""
        shape = (len(rhs), len(rhs))
        A = LinearOperator(shape, matvec=lambda x: self.product(x, kappa), dtype=float)
        before = self.x
        self.x, _ = cg(A, rhs, x0=self.x, rtol=self.accuracy)
        moved = float(np.linalg.norm(self.x - before)) / max(float(np.linalg.norm(self.x)), 1e-300)
        self.accuracy = min(self.accuracy, max(0.1 * moved, 1e-10))
        return np.asarray(self.x)


class DescentStep(IterativeStep):
    """S1 inexactly: steepest descent, a step more in every iteration."""

    def __init__(self, problem: SquaredProblem, quadratic: Array, steps: int) -> None:
        super().__init__(problem, quadratic)
        self.steps = steps

    def solve_system(self, rhs: Array, kappa: float) -> Array:
        """``x``, and what is left of the equation."""
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
        self.x, self.residual, self.steps = x, residual, self.steps + 1
        return x

    def image(self, x: Array, rhs: Array) -> Array:
        """``T N T' x``, whatever is left of the equation."""
        return super().image(x, rhs - self.residual)


def consistent_tau(
    n_samples: int, goal: str = "safe filter", *, scale: float = 1.0, exponent: float | None = None
) -> float:
    r"""A ``tau`` that goes to zero with n as the theorems of Rosasco et al. (2013) ask for.

    In the paper's problem ``alpha = 2 tau`` and ``ridge = tau nu`` with ``nu`` fixed. With
    :math:`\tau_n = c\, n^{-q}`

    * "prediction" (Theorem 8): the risk goes to the smallest in the space if :math:`\tau_n \to 0`
      and :math:`\sqrt n\, \tau_n \to \infty`, so for ``0 < q < 1/2``;
    * "function" (Theorem 9): so does the distance to the function of smallest norm that has it, if
      :math:`\sqrt n\, \tau_n^2 \to \infty`, so for ``0 < q < 1/4``;
    * "safe filter" (Theorem 11): under the same condition every relevant variable is selected with
      probability going to one. That no other is selected is not claimed.

    Parameters
    ----------
    n_samples : int
    goal : {"prediction", "function", "safe filter"}
    scale : float
        The constant c, in the units of y times those of the columns; theory does not give it.
    exponent : float, optional
        q; by default the middle of what the goal allows, 1/4 or 1/8.

    Returns
    -------
    float
    """
    largest = {"prediction": 0.5, "function": 0.25, "safe filter": 0.25}
    if goal not in largest:
        raise InvalidParameterError(
            f"goal must be one of {', '.join(map(repr, largest))}; got {goal!r}."
        )
    q = largest[goal] / 2 if exponent is None else exponent
    if not 0 < q < largest[goal]:
        raise InvalidParameterError(
            f"exponent must lie between 0 and {largest[goal]} for the goal {goal!r}; got {q!r}. "
            "Faster decay leaves the noise in, none keeps the bias."
        )
    return float(scale * n_samples**-q)
