r"""How well scales explain the targets: the marginal likelihood of a Gaussian process.

For a kernel ``k``, a scale ``e^theta_g`` for every group of columns and weights ``p`` adding up to
one, let

.. math:: y \sim N\big(0,\; c\,A\big), \qquad
          A = K_\theta / \kappa + m\, 1 1^\top + r\, \mathrm{Diag}(1 / (n p))

with ``kappa`` the mean diagonal of the centred kernel at the start, ``m`` a large constant (the
intercept) and the unknown unit ``c`` of ``y`` at its best value. Up to a constant, minus the log
likelihood of ``q`` targets and of a normal prior on ``theta`` is

.. math:: \tfrac{nq}{2} \log \frac{\mathrm{tr}(Y^\top A^{-1} Y)}{n q} + \tfrac q2 \log\det A
          + \tfrac{1}{2\rho^2} \sum_g (\theta_g - \theta^0)^2 .

With ``U = A^{-1} Y``, ``G = (q A^{-1} - U U' nq / tr(Y'U)) / 2`` is its derivative in ``A``. A
scale moves both arguments of the kernel, and both give the same, so

.. math:: \frac{d}{d \theta_g} = \frac{2}{\kappa} \sum_{a \in g} \sum_{ij} z_{ia}
          \, G_{ij}\, \partial_a k(z_i, z_j), \qquad z = e^\theta \circ x

which is one product of the kernel's own (:meth:`~nablasso.kernels.base.KernelOperator.slopes` with
the matrix ``G`` of coefficients): every kernel with derivatives can be tuned.

**Leave-one-out or likelihood?** The leave-one-out error of scales that were fitted by it is too
small, and with 30 rows it picks badly among many kernels; the likelihood pays for what it can
explain, and models with one scale and with many are compared by it with ``log(n) / 2`` for every
scale (Schwarz).

Cost of an evaluation: O(n^3) for a Cholesky factor and an inverse, O(n^2 d) for the products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.optimize import OptimizeResult, minimize

from nablasso.kernels import Kernel
from nablasso.metric.passes import DROP, Walk
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start
from nablasso.spaces import RepresenterSpace

Array = NDArray[np.float64]

SPREAD = 2.0  # prior deviation of the log of a scale
BROAD = 100.0  # variance of the intercept, in units of the kernel's
NOISE = 0.05  # to start from, in the same units
REACH = 6.0  # how far the log of a scale may go
NOISE_BOUNDS = (float(np.log(1e-9)), 3.0)
STEPS = 60
N_PASSES = 4  # of the walk that own scales start from
FAILED = 1e10


@dataclass(frozen=True)
class Tuned:
    """A kernel, its width for scales of one, the log of a scale per group, and ``price``.

    ``price`` is minus the log likelihood of ``n_rows`` rows, plus what the scales cost; ``shared``
    when all groups have the same scale.
    """

    start: Start
    kernel: Kernel
    logs: Array
    noise: float
    price: float
    shared: bool
    n_rows: int

    @property
    def scales(self) -> Array:
        """Multipliers of the inputs, one per group."""
        return np.asarray(np.exp(self.logs))

    def __str__(self) -> str:
        return f"{self.kernel!r}, {'one scale' if self.shared else 'a scale for each variable'}"


class Likelihood:
    """The objective above and its gradient, at the logs of the scales and of the noise."""

    def __init__(self, sample: Sample, start: Start) -> None:
        self.sample, self.given, n = sample, start, len(sample.X)
        self.kernel, width = start.bind(sample.X, sample.weights)
        centre = np.log(width / start.multiplier)
        self.centre = np.full(sample.n_groups, -centre)
        self.start = np.append(np.full(sample.n_groups, -np.log(width)), np.log(NOISE))
        self.noise = 1 / (n * sample.weights)
        gram = self._space(self.start).gram
        rows = gram @ sample.weights
        trace = sample.weights @ (np.diag(gram) - 2 * rows) + sample.weights @ rows
        self.unit = float(trace) if trace > 0 else 1.0

    def _space(self, x: Array) -> RepresenterSpace:
        scales = np.exp(x[:-1])[self.sample.labels]
        return RepresenterSpace(self.kernel, self.sample.X, scales)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Value and gradient."""
        Y, (n, q) = self.sample.Y, self.sample.Y.shape
        space, r = self._space(x), np.exp(x[-1])
        A = space.gram / self.unit + BROAD
        A.flat[:: n + 1] += r * self.noise
        try:
            L = cholesky(A, lower=True, check_finite=False)
        except LinAlgError:
            return FAILED, np.zeros_like(x)
        inverse = cho_solve((L, True), np.eye(n), check_finite=False)
        U = inverse @ Y
        size = float(np.sum(Y * U)) / (n * q)
        if not np.isfinite(size) or size <= 0:
            return FAILED, np.zeros_like(x)
        away = (x[:-1] - self.centre) / SPREAD
        value = 0.5 * n * q * np.log(size) + q * float(np.log(np.diag(L)).sum())
        G = 0.5 * (q * inverse - (U / size) @ U.T)
        moved = np.einsum("ia,ia->a", space.X * space.scales, space.operator.slopes(G))
        per_group = np.bincount(self.sample.labels, moved, minlength=len(away))
        gradient = np.append(
            2 / self.unit * per_group + away / SPREAD, r * (np.diag(G) @ self.noise)
        )
        return float(value + 0.5 * away @ away), gradient

    def shared(self, x: Array) -> tuple[float, Array]:
        """The same for one scale, ``x = (log scale, log noise)``, which pays the prior once."""
        groups = len(self.centre)
        value, gradient = self(np.append(np.full(groups, x[0]), x[1]))
        if value >= FAILED:
            return value, np.zeros(2)
        away = (x[0] - self.centre[0]) / SPREAD
        extra = groups - 1
        slope = float(gradient[:-1].sum()) - extra * away / SPREAD
        return value - 0.5 * extra * away**2, np.array([slope, gradient[-1]])


def tune_shared(sample: Sample, start: Start) -> Tuned:
    """One scale for all groups."""
    likelihood = Likelihood(sample, start)
    return _tuned(likelihood, [likelihood.start[-2:]], shared=True)


def tune_each(sample: Sample, shared: Tuned) -> Tuned:
    """A scale for each group, from the best shared one and from where derivatives lead.

    Where one scale explains nothing, the first of the two is a valley of pure noise.
    """
    walked = Walk(sample, shared.start).advance(N_PASSES).best
    logs = np.log(np.maximum(walked.scales, DROP) / walked.width)
    starts = [np.append(shared.logs, shared.noise), np.append(logs, np.log(NOISE))]
    return _tuned(Likelihood(sample, shared.start), starts, shared=False)


def tune_again(sample: Sample, tuned: Tuned) -> Tuned:
    """The same kernel on other rows, from the scales that some rows had led to."""
    logs = tuned.logs[:1] if tuned.shared else tuned.logs
    start = np.append(logs, tuned.noise)
    return _tuned(Likelihood(sample, tuned.start), [start], shared=tuned.shared)


def tune_joined(sample: Sample, tuned: Tuned) -> Tuned:
    """The same kernel with a scale for each group, when groups have joined behind the tuned ones.

    Theirs starts at half the typical scale of the others. The likelihood may have a better optimum
    where they do nothing, which is not looked for: they join because they do something.
    """
    n_joined = sample.n_groups - len(tuned.logs)
    new = np.full(n_joined, tuned.logs.mean() - np.log(2.0))
    start = np.concatenate([tuned.logs, new, [tuned.noise]])
    return _tuned(Likelihood(sample, tuned.start), [start], shared=False)


def _tuned(likelihood: Likelihood, starts: Sequence[Array], *, shared: bool) -> Tuned:
    """The best of the runs from some starts."""
    n_scales = 1 if shared else len(likelihood.centre)
    objective = likelihood.shared if shared else likelihood
    runs = [_minimise(objective, x, likelihood.centre[:n_scales]) for x in starts]
    found = min(runs, key=lambda run: float(run.fun))
    return Tuned(
        likelihood.given,
        likelihood.kernel,
        np.array(np.broadcast_to(found.x[:-1], likelihood.centre.shape)),
        float(found.x[-1]),
        float(found.fun) + _schwarz(likelihood.sample, n_scales),
        shared,
        len(likelihood.sample.X),
    )


def _minimise(
    objective: Callable[[Array], tuple[float, Array]], start: Array, centre: Array
) -> OptimizeResult:
    bounds = [(float(c) - REACH, float(c) + REACH) for c in centre] + [NOISE_BOUNDS]
    found: OptimizeResult = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS}
    )
    return found


def _schwarz(sample: Sample, n_scales: int) -> float:
    return 0.5 * n_scales * float(np.log(len(sample.X)))
