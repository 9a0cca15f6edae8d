r"""The papers' own algorithms for (P) with the squared loss, on the operators of this library.

**DENOVAS**, Algorithm 1 of Rosasco et al. (2013). With
:math:`\hat S f = \sqrt{p_i}(f(x_i) - \bar f)` and
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

The errata of ``docs/mathematics.md`` correct the printed text.

**ADMM** of Gregorova et al. (2018), section 4. With ``N = [[K, D'], [D, L]]`` and ``w = (u, v)``,
values are the first rows of ``N w``, gradients the others. Split
``Z w = phi`` (``Z`` the weighted gradients) with scaled multiplier ``lam`` and step ``kappa``:

* S1  ``min_w |T1 (F w - y)|^2 / 2 + ridge w'N w + kappa/2 |Z w - phi + lam|^2``
* S2  ``phi = prox_{alpha Omega / kappa}(Z w + lam)``
* S3  ``lam += Z w - phi``

S1 in closed form. Let ``T = diag(sqrt(2) Q S, sqrt(kappa) S)`` act on (values, gradients), ``S =
diag(sqrt p)`` (``diag(sqrt pi)`` for gradients), ``Q`` the centring. The normal equations are
``N (2 ridge + T'T N) w = N T'T r`` with ``r`` the targets ``y`` and ``phi - lam``: ``w = T' x``,

.. math:: (2 \lambda I + T N T^\top)\, x = T r ,

a well-conditioned symmetric system, by a Cholesky factorisation of order ``n (d + 1)``: it is for
small problems, and :class:`~nablasso.solvers.DualSolver` takes it where it wanders. ``kappa``
begins with ``alpha`` over the mean derivative norm of ridge regression and follows the rule of Boyd
et al. (2010), section 3.4.1.
"""

from __future__ import annotations

from itertools import count

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from nablasso.errors import InvalidParameterError
from nablasso.penalties import Penalty
from nablasso.problems import SquaredProblem, top_eigenvalue
from nablasso.solvers.base import Solution, Solver, Steps, certify
from nablasso.types import Array, Mask

OUTER_TOL = 1e-2  # of the outer rule, at first
MAX_INNER = 10_000  # iterations per outer one
DECAY = 1.6  # exponent l > 3/2 of the inner accuracy
POWER_STEPS, SAFE = 50, 1.02  # power iteration approaches the norms from below

MAX_DENSE = 10_000
LOOK_EVERY = 100  # iterations after which the gap is looked at in any case
ADAPT_STEPS = 100  # kappa must settle, or convergence is not guaranteed
RESIDUAL_TOL = 1e-2  # relative: smaller residuals call for a look at the gap; then half of it


class PaperSolver(Solver[SquaredProblem]):
    """A primal method: its own rule says when to look at a gap, and is halved where that is large.

    ``max_iter`` counts iterations, of the outer loop if there are two.
    """

    def __init__(self, tol: float = 1e-6, max_iter: int = 5000) -> None:
        self.tol = tol
        self.max_iter = max_iter


class Denovas(PaperSolver):
    """The two nested loops of Algorithm 1; the rule: ``||f_t - f_{t-1}|| <= OUTER_TOL ||f_t||``."""

    def steps(self, problem: SquaredProblem, start: Array | None) -> Steps:
        """The outer loop."""
        maps, outer_tol, small = _Maps(problem), OUTER_TOL, False
        f = before = maps.function(start)
        n, shrink = len(problem.y), 1 - problem.ridge / maps.sigma
        v = -f[n:].reshape(maps.shape) * (problem.ridge / maps.sigma)  # as at the solution
        momentum = 1.0
        for t in count(1):
            coef = problem.with_intercept(*maps.coefficients(f))
            yield certify(problem, coef, t - 1) if small or t > self.max_iter else coef
            outer_tol /= 2 if small else 1
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            weight, momentum = (momentum - 1) / following, following
            ahead = f + weight * (f - before)  # equations (12) to (16)
            Sf = maps.centred(maps.s * problem.space.values(*maps.coefficients(ahead)))
            w = shrink * ahead
            w[:n] -= (Sf - maps.y) / maps.sigma
            v = self._inner(maps, w, v, t)
            f, before = w - np.concatenate([np.zeros(n), v.ravel()]), f
            small = maps.norm(f - before) <= outer_tol * maps.norm(f)

    def _inner(self, maps: _Maps, w: Array, v: Array, t: int) -> Array:
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


class Rooted:
    """A problem with the roots of the weights of its rows and penalty points."""

    def __init__(self, problem: SquaredProblem) -> None:
        self.problem, self.root, self.s = problem, problem.root, np.sqrt(problem.weights)

    def centred(self, a: Array) -> Array:
        """``Q a``: rooted values less their mean, where there is an intercept."""
        return a - self.s * (self.s @ a) if self.problem.fit_intercept else a


class _Maps(Rooted):
    """The paper's operators and their norms; ``S* a + nabla* b`` is the vector ``(a, b)``."""

    def __init__(self, problem: SquaredProblem) -> None:
        super().__init__(problem)
        self.y = self.centred(self.s * problem.y)
        gram = problem.space.gram * self.s[:, None] * self.s
        rng, self.shape = np.random.default_rng(0), problem.space.points.shape
        v, a = rng.standard_normal(self.shape), rng.standard_normal(self.s.shape)
        self.eta = SAFE * top_eigenvalue(self.normal, v, POWER_STEPS)
        sampling = top_eigenvalue(lambda a: self.centred(gram @ self.centred(a)), a, POWER_STEPS)
        self.sigma = SAFE * sampling + problem.ridge

    def function(self, s: Array | None) -> Array:
        """The function of a dual variable; zero without one."""
        if s is None:
            return np.zeros(len(self.s) + self.problem.space.points.size)
        a, b = self.problem.dual_point(s).u / self.s, s / (2 * self.problem.ridge)
        return np.concatenate([a, b.ravel()])

    def coefficients(self, f: Array) -> tuple[Array, Array]:
        """``u`` and ``v`` of ``S* a + nabla* b``."""
        a, b = np.split(f, [len(self.s)])
        return self.s * self.centred(a), self.root * b.reshape(self.shape)

    def gradient(self, f: Array) -> Array:
        """``nabla f``."""
        return self.root * self.problem.space.gradients(*self.coefficients(f))

    def normal(self, v: Array) -> Array:
        """``nabla nabla* v``: the matrix ``L`` of the paper."""
        return self.root * self.problem.space.gradients(np.zeros_like(self.s), self.root * v)

    def norm(self, f: Array) -> float:
        """Norm of ``f`` in the space."""
        u, v = self.coefficients(f)
        values, gradients = self.problem.space.products(u, v)
        return float(np.sqrt(max(float(u @ values + np.sum(v * gradients)), 0.0)))


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


class Admm(PaperSolver):
    """Alternating directions with closed-form steps; the rule is that residuals are small."""

    def steps(self, problem: SquaredProblem, start: Array | None) -> Steps:
        """S1, S2 and S3, from the multiplier of a dual variable ``start``."""
        (penalty, step), zero = self.splitting(problem), np.zeros(problem.space.points.shape)
        g = problem.dual_point(zero if start is None else start).g
        kappa = max(problem.alpha, 1e-12)
        kappa /= max(float(penalty.partition.norms(g).mean()), 1e-12)
        lam = zero if start is None else -start / kappa
        phi = penalty.prox(g + lam, problem.alpha / kappa)
        w, tol, small = (np.zeros_like(problem.y), zero), RESIDUAL_TOL, False
        for n_iter in count():
            coef = problem.with_intercept(*w)
            looked = small or n_iter == self.max_iter or (n_iter and n_iter % LOOK_EVERY == 0)
            yield certify(problem, coef, n_iter) if looked else coef
            tol /= 2 if small else 1
            w, Zw = step.solve(phi - lam, kappa)
            shifted, before = Zw + lam, phi
            phi = penalty.prox(shifted, problem.alpha / kappa)
            lam = shifted - phi
            away, moved, size, multiplier = map(np.linalg.norm, (Zw - phi, phi - before, Zw, lam))
            small = max(away, moved) <= tol * max(size, multiplier)
            if n_iter < ADAPT_STEPS:  # one residual may be ten times the other
                factor = 2.0 if away > 10 * moved else 0.5 if moved > 10 * away else 1.0
                kappa *= factor
                lam = lam / factor

    def splitting(self, problem: SquaredProblem) -> tuple[Penalty, LinearStep]:
        """The penalty of S2, and who solves S1."""
        unknowns = problem.space.n_samples + problem.space.points.size
        if unknowns > MAX_DENSE:
            raise InvalidParameterError(
                f"ADMM factors a matrix of order n (d + 1), at most {MAX_DENSE}; here it is "
                f'{unknowns}. Use solver="dual".'
            )
        return problem.penalty, LinearStep(problem)


class LinearStep(Rooted):
    """S1: dense Cholesky, refactored when ``kappa`` changes."""

    def __init__(self, problem: SquaredProblem) -> None:
        super().__init__(problem)
        self.kappa, n = 0.0, len(self.s)
        D, L = problem.space.dense()
        N = np.block([[problem.space.gram, D.T], [D, L]])
        scale = np.concatenate([np.sqrt(2) * self.s, self._repeated(self.root)])
        N *= scale[:, None]
        N *= scale
        if problem.fit_intercept:
            N[:n] -= np.outer(self.s, self.s @ N[:n])
            N[:, :n] -= np.outer(N[:, :n] @ self.s, self.s)
        self.N = N  # T N T' at kappa = 1

    def solve(self, r: Array, kappa: float) -> tuple[tuple[Array, Array], Array]:
        """``w`` and ``Z w`` for the target gradients ``r``."""
        n, ridge, scale = len(self.s), self.problem.ridge, np.sqrt(kappa)
        if kappa != self.kappa:
            c = np.concatenate([np.ones(n), self._repeated(scale)])
            A = self.N * c[:, None] * c
            # a ridge below rounding would not make A positive definite; the gap judges the result
            rounding = 4 * len(A) * np.finfo(float).eps * float(A.diagonal().max())
            A[np.diag_indices_from(A)] += max(2 * ridge, rounding)
            self.factor = cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
            self.kappa = kappa
        top = np.sqrt(2) * self.centred(self.s * self.problem.y)
        rhs = np.concatenate([top, (scale * r).ravel()])
        x = np.asarray(cho_solve(self.factor, rhs, check_finite=False))
        # (2 ridge + T N T') x = T r, so the gradient rows of T N w = T N T' x are known
        Zw = (rhs - 2 * ridge * x)[n:].reshape(r.shape) / scale
        u = np.sqrt(2) * self.s * self.centred(x[:n])
        return (u, scale * self.root * x[n:].reshape(r.shape)), Zw

    def _repeated(self, scale: Array | float) -> Array:
        """A number of each penalty point for all its derivatives."""
        return np.broadcast_to(scale, self.problem.space.points.shape).ravel()
