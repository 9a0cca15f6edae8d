r"""A certificate from the sums: the selected terms are the support of one convex problem.

Over *all* groups (every column, and every product of the model), each in coordinates in which it is
orthonormal over the rows (so that :math:`\|w_g\|` is the size of its function), the adaptive group
lasso is

.. math:: \min_w \tfrac12 \|y - Zw\|^2 + \alpha \sum_g \omega_g \|w_g\| , \qquad
          \omega_g = \sqrt{k_g} / \|\hat w_g\| ,

with the ridge estimate :math:`\hat w` of all groups at once. Plain weights would leak into the
neighbours of correlated columns. With ``C = Z'Z``, ``c = Z'y`` a dual point is the residual times
:math:`s = \min(1, \min_g \alpha \omega_g / \|(c - Cw)_g\|)`, so the dual value is

.. math:: \tfrac12 y'y - \tfrac12 [(1-s)^2 y'y + 2 s (1-s)\, c'w + s^2\, w'Cw]

and the gap needs no row. The first ``alpha`` of a short path at which the support is the selected
one is reported; where there is none the certificate says so. Cost: ``p^2`` a sweep, ``k^3`` for
the step of Newton's on ``k`` weights that are not zero.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nablasso.types import Array, Index

TOLERANCE = 1e-9  # gap over the objective
SWEEPS = 100  # each with a step of Newton's
LEVELS = 2.0 ** np.arange(6, -4, -1)  # of alpha, in units of the noise's variance
SINGULAR = 1e-10  # of the mean diagonal, added to it in a step of Newton's
RANK = 1e-8  # eigenvalue of a group over its largest: a function that others of it contain


@dataclass(frozen=True)
class SumsCertificate:
    """The adaptive group lasso at ``alpha``: its support among all groups, and its gap."""

    alpha: float
    objective: float
    at_zero: float  # objective without any group
    gap: float
    support: tuple[int, ...]  # of the groups
    n_groups: int
    holds: bool  # the support is the selected one, and the gap is closed

    @property
    def closed(self) -> bool:
        """Whether the gap is as small as numbers allow."""
        return self.gap <= 10 * TOLERANCE * max(self.objective, 1e-300)


def certify(
    C: Array,
    c: Array,
    yy: float,
    groups: Sequence[Index],
    selected: Collection[int],
    n: float,
    dispersion: float,
) -> SumsCertificate:
    """Certificate on sums without the intercept (see :func:`centred`).

    ``groups`` are positions in ``C``; ``selected`` says which of them the search chose.
    """
    T, parts, k = np.zeros((len(c), sum(map(len, groups)))), [], 0
    for g in groups:
        e, Q = np.linalg.eigh(C[np.ix_(g, g)])
        real = e > RANK * max(float(e[-1]), 1e-300)
        parts.append(slice(k, k + int(real.sum())))
        T[g, parts[-1]] = Q[:, real] * np.sqrt(n / e[real])
        k = parts[-1].stop
    T = T[:, :k]
    C, c = T.T @ C @ T, T.T @ c
    ridge = np.linalg.solve(C + dispersion * np.eye(k), c)
    weights = np.array(
        [np.sqrt(a.stop - a.start) / max(np.linalg.norm(ridge[a]), 1e-12) for a in parts]
    )
    w, best = np.zeros(k), None
    for level in LEVELS:
        alpha = float(level * dispersion)
        objective, gap = _solve(C, c, yy, parts, alpha * weights, n, w)
        support = tuple(i for i, a in enumerate(parts) if w[a].any())
        exact = set(support) == set(selected)
        best = SumsCertificate(alpha, objective, 0.5 * yy, gap, support, len(parts), False)
        best = replace(best, holds=exact and best.closed)
        if best.holds or len(support) > len(selected):
            break
    assert best is not None
    return best


def centred(C: Array, c: Array, yy: float) -> tuple[Array, Array, float]:
    """Sums without the first column, a one: what is left of the others after their means."""
    mean = C[0, 1:] / C[0, 0]
    return (
        C[1:, 1:] - np.outer(mean, C[0, 1:]),
        c[1:] - mean * c[0],
        float(yy - c[0] ** 2 / C[0, 0]),
    )


def _solve(
    C: Array, c: Array, yy: float, parts: Sequence[slice], penalty: Array, n: float, w: Array
) -> tuple[float, float]:
    """From ``w``, in place: sweeps find the support, Newton's steps its weights; value and gap."""
    objective, gap = np.inf, np.inf
    for _ in range(SWEEPS):
        r = c - C @ w
        for a, limit in zip(parts, penalty, strict=True):
            z = w[a] + r[a] / n
            size = float(np.linalg.norm(z))
            new = z * max(1 - limit / (n * size), 0.0) if size > 0 else 0 * z
            step = new - w[a]
            if step.any():
                r -= C[:, a] @ step
                w[a] = new
        _newton(C, r, parts, penalty, w)
        r = c - C @ w
        cw, wCw = float(c @ w), float(w @ (c - r))
        sizes = np.array([np.linalg.norm(r[a]) for a in parts])
        s = min(1.0, float((penalty / np.maximum(sizes, 1e-300)).min()))
        objective = 0.5 * (yy - 2 * cw + wCw) + _norm(w, parts, penalty)
        dual = 0.5 * yy - 0.5 * ((1 - s) ** 2 * yy + 2 * s * (1 - s) * cw + s**2 * wCw)
        gap = max(objective - dual, 0.0)  # less is rounding
        if gap <= TOLERANCE * objective:
            break
    return objective, gap


def _newton(C: Array, r: Array, parts: Sequence[slice], penalty: Array, w: Array) -> None:
    """A step of Newton's on the groups that are not zero, as long as it makes the value less."""
    inside = [(a, limit) for a, limit in zip(parts, penalty, strict=True) if w[a].any()]
    if not inside:
        return
    at = np.concatenate([np.arange(a.start, a.stop) for a, _ in inside])
    H, g, k = C[np.ix_(at, at)], -r[at], 0
    for a, limit in inside:
        size = float(np.linalg.norm(w[a]))
        unit, m = w[a] / size, a.stop - a.start
        H[k : k + m, k : k + m] += limit / size * (np.eye(m) - np.outer(unit, unit))
        g[k : k + m] += limit * unit
        k += m
    H.flat[:: k + 1] += SINGULAR * float(np.trace(H)) / k  # columns may be copies of one another
    step = np.zeros_like(w)
    step[at] = -np.linalg.solve(H, g)
    bend, slope, before = float(step @ (C @ step)), float(r @ step), _norm(w, parts, penalty)
    for share in (1.0, 0.5, 0.25, 0.125):
        change = 0.5 * share**2 * bend - share * slope
        if change + _norm(w + share * step, parts, penalty) < before:
            w += share * step
            return


def _norm(w: Array, parts: Sequence[slice], penalty: Array) -> float:
    return float(penalty @ [np.linalg.norm(w[a]) for a in parts])
