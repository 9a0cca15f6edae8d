r"""The families of functions that compete: kernels of columns, or of smooth features of columns.

A family is a kernel and what it sees of a column: the column itself, or (``smooth``) ``RANK`` fixed
features of it, centred and of mean square one, so that powers of their sum,
``(1 + sum_g v_g phi(z_g) . phi(x_g))^m``, are smooth functions of at most ``m`` columns at a time
and linear in ``v`` for ``m = 1``. Both families are needed: radial kernels alone find .70 of what
all find together.

**Walks**: a kernel of all columns teaches itself which of them it needs. Each pass solves for the
variances at hand and moves them, all at once:

* **kernels of products**, whose ``dK / dv_g`` is positive semidefinite, multiply:
  ``v_g <- v_g (U' dK_g U / c) / tr(P dK_g)``, a fixed point of which is a stationary point of the
  evidence (numerator and denominator are the two parts of its derivative);
* **radial kernels**, whose derivative has no such sign, follow the derivative norms of the fitted
  function, ``v_g ~ ||d_g f||_n^2``, in units of the median distance.

The noise multiplies likewise, ``r <- r (U' N U / c) / tr(P N)``. A variance that fades leaves, so
that passes become cheap. What comes out is a ranking: how much of the fit a group carries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nablasso.kernels import (
    AdditivePower,
    Gaussian,
    Kernel,
    Linear,
    Matern52,
    Polynomial,
    Rough,
)
from nablasso.regression.evidence import Covariance, Evidence, Solved, against, shaped
from nablasso.types import Array, Index

RANK = 8  # features of a column


@dataclass(frozen=True)
class Family:
    """A kernel of columns or of their smooth features; ``walks`` if it may propose columns."""

    name: str
    kernel: Kernel
    smooth: bool = False
    walks: bool = True

    def covariance(self, X: Array, labels: Index, weights: Array) -> Covariance:
        """The kernel on all groups of the columns of ``X``."""
        n_groups = int(labels.max(initial=-1)) + 1
        if not self.smooth:
            return Covariance(self.kernel, X, labels, n_groups)
        Phi, _ = self._additive(X, weights).features(X)
        return Covariance(self.kernel, Phi, np.repeat(labels, RANK), n_groups)

    def fitted(self, X: Array, weights: Array, variances: Array) -> tuple[Kernel, Array]:
        """A kernel of the columns of ``X`` and their multipliers, for the variance of each."""
        if self.smooth:
            return self._additive(X, weights, np.sqrt(variances)), np.ones(X.shape[1])
        return self.kernel, np.sqrt(variances)

    def _additive(self, X: Array, weights: Array, scale: Array | float = 1.0) -> AdditivePower:
        """The kernel of columns that is this one of their features."""
        p = weights / weights.sum()
        raw = AdditivePower(1, rank=RANK, centre=np.zeros((X.shape[1], RANK)))
        B = raw.features(X)[0].reshape(len(X), X.shape[1], RANK)
        centre = np.einsum("i,iak->ak", p, B)
        size = np.sqrt(np.maximum(np.einsum("i,iak->a", p, (B - centre) ** 2), 1e-12))
        order, offset = 1, 0.0
        if isinstance(self.kernel, Polynomial):
            order, offset = self.kernel.degree, self.kernel.offset
        return AdditivePower(order, offset, RANK, centre=centre, scale=scale / size)


LINEAR = Family("linear", Linear())
QUADRATIC = Family("quadratic", Polynomial(2))
ADDITIVE = Family("additive", Linear(), smooth=True)
SMOOTH_PAIRS = Family("smooth pairs", Polynomial(2), smooth=True)
GAUSSIAN = Family("Gaussian", Gaussian())
FAMILIES = (
    LINEAR,
    QUADRATIC,
    Family("cubic", Polynomial(3)),
    ADDITIVE,
    SMOOTH_PAIRS,
    Family("smooth triples", Polynomial(3), smooth=True),
    GAUSSIAN,
    Family("Matern", Matern52()),
    Family("rough", Rough(), walks=False),
    Family("quartic", Polynomial(4), walks=False),
    Family("sextic", Polynomial(6), walks=False),
    Family("bent pairs", AdditivePower(2), walks=False),
    Family("bent triples", AdditivePower(3), walks=False),
)

PRODUCT_PASSES, RADIAL_PASSES = 12, 8
FADED, FLAT = 1e-4, 1e-6  # variances, over the largest, that leave: of products, of radial kernels
SETTLED = 0.01
NOISE_STEPS = 2  # of the noise of a radial kernel before each look at the derivatives


class Walked(NamedTuple):
    """The best pass of a walk: groups by decreasing share in the fit, variances, noise."""

    order: Index
    variances: Array
    noise: float


def walk(evidence: Evidence) -> Walked | None:
    """The ranking of the pass of largest evidence; None when no pass could be solved."""
    radial = evidence.covariance.radial
    n_groups = evidence.covariance.n_groups
    alive = np.arange(n_groups)
    v = np.full(n_groups, evidence.covariance.start())
    r, part, best, least = 0.1 if radial else 0.3, evidence, None, np.inf
    for _ in range(RADIAL_PASSES if radial else PRODUCT_PASSES):
        solved, r = _settle_noise(part, v, r, NOISE_STEPS if radial else 1)
        if solved is None:
            r *= 10
            continue
        share, new = _radial_step(part, v, solved) if radial else _product_step(part, v, solved)
        if solved.value < least:
            order = np.argsort(-share, kind="stable")
            least, best = solved.value, Walked(alive[order], v[order], solved.r)
        moved = float(np.max(np.abs(new - v)) / max(new.max(), 1e-300))
        stays = new >= (FLAT if radial else FADED) * new.max()
        if moved < SETTLED and abs(r / solved.r - 1) < SETTLED:
            break
        v = new[stays]
        if not stays.all():
            alive = alive[stays]
            part = evidence.part(alive)
    return best


def _settle_noise(part: Evidence, v: Array, r: float, steps: int) -> tuple[Solved | None, float]:
    """The last solution, and the noise that it asks for."""
    solved = None
    for _ in range(steps):
        solved = part.solve(v, r)
        if solved is None:
            return None, r
        spread = np.sum(solved.U * shaped(part.noise, solved.U) / solved.units)
        asked = float(spread / (part.n_varying * against(solved.P, part.noise)))
        r = float(np.clip(r * np.clip(asked, 0.1, 10.0), 1e-8, 100.0))
    return solved, r


def _product_step(part: Evidence, v: Array, solved: Solved) -> tuple[Array, Array]:
    """Share of each group in the fit, and its next variance."""
    covariance, carry = part.covariance, solved.carry
    explained = covariance.pull((solved.U / solved.units) @ solved.U.T, v, carry)
    spent = covariance.pull(part.n_varying * solved.P, v, carry)
    ratio = np.clip(explained / np.maximum(spent, 1e-300), 1e-3, 10.0)
    return v * explained, v * ratio


def _radial_step(part: Evidence, v: Array, solved: Solved) -> tuple[Array, Array]:
    """Derivative norm of each group, and variances in their ratio at the median distance."""
    covariance = part.covariance
    squares = np.zeros(covariance.n_groups)
    counts = np.bincount(covariance.labels, minlength=covariance.n_groups)
    for u in solved.U.T / np.sqrt(solved.units)[:, None]:
        slopes = covariance.slopes(u, v, solved.carry)
        squares += np.bincount(covariance.labels, (slopes**2).mean(axis=0), covariance.n_groups)
    squares /= counts
    new = squares / max(float(squares.max()), 1e-300)
    scaled = type(covariance)(
        covariance.kernel,
        covariance.F * np.sqrt(new)[covariance.labels],
        covariance.labels,
        covariance.n_groups,
    )
    return squares, new * scaled.start()
