r"""DENOVAS: Algorithm 1 of Rosasco et al. (2013).

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
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.problems import Coefficients, SquaredProblem, top_eigenvalue
from nablasso.solvers.base import Callback, Solution, Solver, Status, certify
from nablasso.types import Array, Mask

OUTER_TOL = 1e-2  # of the outer rule, at first
MAX_INNER = 10_000  # iterations per outer one
DECAY = 1.6  # exponent l > 3/2 of the inner accuracy
POWER_STEPS, SAFE = 50, 1.02  # power iteration approaches the norms from below


class Denovas(Solver[SquaredProblem]):
    """The two nested loops of Algorithm 1.

    Parameters
    ----------
    tol : float
        Gap relative to the primal at ``f = 0``. The paper's outer rule
        ``||f_t - f_{t-1}|| <= OUTER_TOL ||f_t||`` says when to look at the gap; where the gap is
        still too large the rule is tightened by half.
    max_iter : int
        Outer iterations.
    """

    def __init__(self, tol: float = 1e-6, max_iter: int = 5000) -> None:
        self.tol = tol
        self.max_iter = max_iter

    def solve(
        self, problem: SquaredProblem, start: Array | None = None, callback: Callback | None = None
    ) -> Solution:
        """Run Algorithm 1; ``start`` (a dual variable) gives the first function."""
        maps = _Maps(problem)
        target, outer_tol = self.tol * problem.reference, OUTER_TOL
        f = before = maps.function(start)
        v, momentum = -f.b * (problem.ridge / maps.sigma), 1.0  # their relation at the solution
        shrink = 1 - problem.ridge / maps.sigma
        coef = maps.unpack(f)
        for t in range(1, self.max_iter + 1):
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            weight, momentum = (momentum - 1) / following, following
            ahead = f.plus(f.plus(before, -1.0), weight)  # equations (12) to (16)
            residual = maps.centred_values(ahead) - maps.y
            w = _Function(shrink * ahead.a - residual / maps.sigma, shrink * ahead.b)
            v = self._inner(maps, w, v, t)
            f, before = _Function(w.a, w.b - v), f
            coef = maps.unpack(f)
            if callback is not None:
                callback(t, coef)
            if maps.norm(f.plus(before, -1.0)) <= outer_tol * maps.norm(f):
                solution = certify(problem, coef, t, Status.CONVERGED)
                if solution.gap <= target:
                    return solution
                outer_tol /= 2
        return certify(problem, coef, self.max_iter, Status.MAX_ITER)

    def _inner(self, maps: _Maps, w: _Function, v: Array, t: int) -> Array:
        """Equation (15) until condition (28) holds."""
        penalty, c = maps.problem.penalty, maps.problem.alpha / (2 * maps.sigma)
        gradient_w = maps.gradient(w)
        accuracy = maps.norm(w) ** 2 * float(t) ** (-2 * DECAY)
        for _ in range(MAX_INNER):
            gradient_f = gradient_w - maps.normal(v)
            primal = c * penalty.value(penalty.partition.norms(gradient_f))
            dual = penalty.conjugate(penalty.partition.norms(v), c)
            if 2 * (primal + dual - float(np.sum(v * gradient_f))) <= accuracy:
                break
            v = penalty.prox_conjugate(v + gradient_f / maps.eta, 1 / maps.eta, c)
        return v


class _Function(NamedTuple):
    """``f = S* a + nabla* b``; both are linear, so functions add up by their coefficients."""

    a: Array  # (n,)
    b: Array  # (n, d)

    def plus(self, other: _Function, factor: float) -> _Function:
        return _Function(self.a + factor * other.a, self.b + factor * other.b)


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
        return float(np.sqrt(max(float(u @ values + np.sum(v * gradients)), 0.0)))

    def unpack(self, f: _Function) -> Coefficients:
        return self.problem.with_intercept(*self.coefficients(f))

    def _centre(self, a: Array) -> Array:
        return a - self.s * (self.s @ a) if self.problem.fit_intercept else a


def irrelevant(problem: SquaredProblem, solution: Solution) -> Mask:
    r"""Variables that the paper's rule (32) calls irrelevant, from a solution that is not exact.

    For a dual point :math:`s` (the paper's :math:`\bar v` is :math:`s / 2\sigma`) of gap :math:`e`
    the Fenchel inequalities add up to :math:`e`, so at the minimiser :math:`\hat f`

    .. math:: \|\hat D_g \hat f\|_n \, (\alpha w_g - \|s_g\|) \le e .

    If :math:`\|s_g\| < \alpha w_g - e / m`, with :math:`m` the smallest norm that is not zero, then
    the norm is under :math:`m`, hence zero. This is (32), whose printed inequality is turned round,
    with the gap in the place of the bound (37), whose constant nobody knows. Here :math:`m` is the
    smallest norm whose lower bound by the gap is positive; without any nothing is irrelevant.
    """
    lower, _ = problem.derivative_bounds(solution.point)
    partition = problem.penalty.partition
    proven = np.sqrt(np.bincount(partition.labels, lower**2, minlength=partition.n_groups))
    if not np.any(proven > 0):
        return np.zeros(len(lower), dtype=bool)
    room = problem.penalty.radius(problem.alpha) - partition.norms(solution.point.s)
    enough = room > max(solution.gap, 0.0) / float(proven[proven > 0].min())
    return np.asarray(partition.spread(enough), dtype=bool)


def consistent_tau(
    n_samples: int, goal: str = "safe filter", *, scale: float = 1.0, exponent: float | None = None
) -> float:
    r"""A ``tau`` that goes to zero with n as the theorems of Rosasco et al. (2013) ask for.

    In the paper's problem ``alpha = 2 tau`` and ``ridge = tau nu`` with ``nu`` fixed. Here
    :math:`\tau_n = c\, n^{-q}`, with c the ``scale``, which theory does not give, and q the
    ``exponent``, by default the middle of what the ``goal`` allows:

    * "prediction" (Theorem 8): the risk goes to the smallest in the space for ``0 < q < 1/2``;
    * "function" (Theorem 9): so does the distance to the function of smallest norm that has it, for
      ``0 < q < 1/4``;
    * "safe filter" (Theorem 11): for these q every relevant variable is selected with probability
      going to one. That no other is selected is not claimed.
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
