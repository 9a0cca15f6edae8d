r"""Stability selection with complementary pairs (Shah and Samworth 2013).

Split the rows at random into two halves of floor(n / 2) rows, B times, and let the selector choose
on each half. The selection probability of a variable is the share of the 2B halves that choose it;
those of probability at least tau are selected. Cost: 2B fits on n / 2 rows.

Weights go with their rows: a half holds half of the distinct rows, whatever they weigh. So copies
of a row stay together and the two halves of a pair share nothing.

**Bounds** on the number of false selections. Let p be the number of variables, q the expected
number selected on one half, theta = q / p. *False* means a variable of low selection probability,
at most theta on one half: no better than a blind pick. Each bound is on the expected number V of
false selections (Shah and Samworth 2013).

``"worst-case"``: :math:`V \le q^2 / ((2\tau - 1) p)`, no assumption. Meinshausen and Buehlmann
(2010) have the same number for plain half-samples under exchangeability.

``"unimodal"``: the share of the B pairs in which *both* halves select the variable has a unimodal
distribution. For :math:`\theta \le 1/\sqrt 3`, :math:`V \le C q^2 / p` with

.. math::
    C = \frac{1}{2 (2\tau - 1 - 1/2B)} \;(\tau \le 3/4), \qquad
    C = \frac{4 (1 - \tau + 1/2B)}{1 + 1/B} \;(\tau > 3/4).

``"r-concave"``: that share is -1/2-concave and the share of the 2B halves is -1/4-concave. Then
:math:`V \le p \min\{D(\theta^2, 2\tau - 1, B, -1/2),\, D(\theta, \tau, 2B, -1/4)\}`, where
``D(eta, t, B, r)`` is the largest probability of ``[t, 1]`` under an r-concave distribution on
``{0, 1/B, ..., 1}`` of mean at most eta: ``f^r`` is convex where ``f > 0``. The extreme ones are
proportional to ``(a + i)^(1/r)`` on ``0..k``, with any smaller mass at ``k + 1``; so D is a search
over k and, in each k, over one interval of a. Cost: O(B^2) per search step.

Every bound is cut at q / tau, Markov's bound, and where its condition fails.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from nablasso.errors import InvalidParameterError
from nablasso.types import Index

ASSUMPTIONS = ("worst-case", "unimodal", "r-concave")
FLATTEST = np.log(1e8)  # largest log a, in steps of the lattice
STEEPEST = -40.0  # log f(1) / f(0) at the smallest a


def complementary_pairs(
    n_samples: int, n_pairs: int, rng: np.random.Generator, labels: Index | None = None
) -> list[Index]:
    """Rows of the 2B halves; halves 2b and 2b + 1 are a pair.

    With ``labels`` the rows of each label are divided evenly. An odd row is left out.
    """
    halves = []
    for _ in range(n_pairs):
        rows = rng.permutation(n_samples)[: 2 * (n_samples // 2)]
        if labels is not None:
            rows = rows[np.argsort(labels[rows], kind="stable")]
        halves += [np.sort(rows[0::2]), np.sort(rows[1::2])]
    return halves


def smallest_threshold(
    floor: float,
    largest_bound: float,
    n_selected: float,
    n_features: int,
    n_pairs: int,
    assumption: str,
) -> float:
    """Smallest threshold, at least ``floor``, that meets the bound; infinite if none does."""
    counts = np.arange(np.ceil(2 * n_pairs * floor - 1e-9), 2 * n_pairs + 1) / (2 * n_pairs)
    low, high = 0, len(counts)  # the bounds decrease with the threshold
    while low < high:
        middle = (low + high) // 2
        bound = false_selection_bound(counts[middle], n_selected, n_features, n_pairs, assumption)
        low, high = (low, middle) if bound <= largest_bound else (middle + 1, high)
    return float(counts[low]) if low < len(counts) else np.inf


def false_selection_bound(
    threshold: float, n_selected: float, n_features: int, n_pairs: int, assumption: str
) -> float:
    """Bound on the expected number of false selections.

    ``threshold`` is a share of the halves, above 1/2 and at most 1; ``n_selected`` the expected
    number of variables selected on one half.
    """
    if assumption not in ASSUMPTIONS:
        raise InvalidParameterError(
            f"assumption must be one of {', '.join(ASSUMPTIONS)}; got {assumption!r}."
        )
    count = lattice_count(threshold, n_pairs)
    tau, q, p = count / (2 * n_pairs), n_selected, n_features
    markov = min(q / tau, float(p))
    if q == 0 or 2 * tau <= 1:
        return markov
    bounds = [markov, q**2 / ((2 * tau - 1) * p)]
    if assumption == "unimodal":
        bounds.append(_unimodal(tau, q, p, n_pairs))
    if assumption == "r-concave":
        theta = q / p
        bounds.append(p * largest_tail(theta**2, count - n_pairs, n_pairs, -1 / 2))
        bounds.append(p * largest_tail(theta, count, 2 * n_pairs, -1 / 4))
    return float(min(bounds))


def lattice_count(threshold: float, n_pairs: int) -> int:
    """Number of halves, of 2B, that reach the threshold."""
    return int(np.ceil(2 * n_pairs * threshold - 1e-9))


def _unimodal(tau: float, q: float, p: int, B: int) -> float:
    theta = q / p
    smallest = 0.5 + min(theta**2, 1 / (2 * B) + 0.75 * theta**2)
    if theta > 1 / np.sqrt(3) or tau <= smallest or 2 * tau - 1 <= 1 / (2 * B):
        return np.inf
    if tau <= 0.75:
        factor = 1 / (2 * (2 * tau - 1 - 1 / (2 * B)))
    else:
        factor = 4 * (1 - tau + 1 / (2 * B)) / (1 + 1 / B)
    return float(factor * q**2 / p)


def largest_tail(mean: float, start: int, size: int, r: float) -> float:
    """``D``: largest probability of ``start..size`` at mean ``mean * size`` or less.

    The support is ``0..size`` and ``r`` is negative. Returns 1 where the shape says nothing: a
    tail that begins under twice the mean.
    """
    goal = mean * size
    first = int(np.ceil(2 * goal)) + 1  # on 0..k a decreasing mass has mean at most k / 2
    if start < first:
        return 1.0
    scales = [_scale_of_mean(k, goal, 1 / r) for k in range(first, size + 1)]
    best = _tail(scales[-1], size, start, goal, 1 / r)
    for k, upper, lower in zip(range(first, size), scales, scales[1:], strict=False):
        if k + 1 < start:
            continue  # no mass in the tail
        found = minimize_scalar(
            lambda log_a, k=k: -_tail(np.exp(log_a), k, start, goal, 1 / r),
            bounds=(np.log(lower), np.log(upper)),
            method="bounded",
            options={"xatol": 1e-9},
        )
        ends = (_tail(a, k, start, goal, 1 / r) for a in (lower, upper))
        best = max(best, -float(found.fun), *ends)
    return float(np.clip(best, 0.0, 1.0))


def _scale_of_mean(k: int, goal: float, s: float) -> float:
    """The a for which ``(a + i)^s`` on ``0..k`` has the mean ``goal``."""
    i = np.arange(k + 1)

    def excess(log_a: float) -> float:
        mass = (1 + i / np.exp(log_a)) ** s  # (a + i)^s / a^s
        return float(i @ mass / mass.sum()) - goal

    low, high = STEEPEST / abs(s), FLATTEST
    if excess(low) >= 0 or excess(high) <= 0:
        return float(np.exp(low if excess(low) >= 0 else high))
    return float(np.exp(brentq(excess, low, high, xtol=1e-12)))


def _tail(a: float, k: int, start: int, goal: float, s: float) -> float:
    """Mass from ``start`` on: ``c (a + i)^s`` on ``0..k``, the rest at ``k + 1``, of mean goal."""
    i = np.arange(k + 1)
    mass = (1 + i / a) ** s
    c = (k + 1 - goal) / float((k + 1 - i) @ mass)
    return 1 - c * float(mass[:start].sum())
