r"""More rows than an n x n factor holds: terms on all of them, and what a sample's kernel adds.

Terms of one, two or three columns are grown on all rows (:mod:`nablasso.search.grown`), so power
grows with the rows; a kernel on a sample of them (:mod:`nablasso.search.decide`) sees functions of
many columns at once, which terms cannot. Two questions are put to *fresh* rows, on which the
sample's kernel was not tuned:

* **Columns that only the sample found** join if its function explains what the terms leave over:
  with ``e`` the residuals of the terms and ``g`` the difference of the two predictions,
  ``e^2 - (e - a g)^2``, ``a`` at its best and positive, must be clearly positive.
* **Landmarks**: ridge regression of ``e`` over all other rows on the sample's kernel,
  ``(K_ml K_lm + r K_mm) u = K_ml e``, O(n m^2), is added to the terms if fresh rows are clearly
  better predicted with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular

from nablasso.regression.paired import paired
from nablasso.search.grown import Grown
from nablasso.search.predictor import ROOM, Predictor
from nablasso.search.rules import Rules
from nablasso.spaces import Function, RepresenterSpace
from nablasso.types import Array, Index

WORK = 3e10  # products of the landmarks' sums
LANDMARKS = (300, 1000)
BLOCK = 4096
FLOOR = 1e-9  # of the mean diagonal, added to it


@dataclass(frozen=True)
class AllRows:
    """A fair sample of all rows in an order that means nothing: searched ones, fresh ones, others.

    Column ``a`` of ``Z`` is column ``columns[a]`` of ``d``, in units ``(x - centre) / scale``;
    columns that are not there are constant. ``shift`` is added to the targets of the search.
    """

    Z: Array
    y: Array
    weights: Array
    columns: Index
    centre: Array
    scale: Array
    n_searched: int
    n_fresh: int
    shift: float = 0.0

    @property
    def fresh(self) -> Index:
        """Rows that judge."""
        return np.arange(self.n_searched, self.n_searched + self.n_fresh)

    @property
    def others(self) -> Index:
        """All other rows."""
        return np.setdiff1d(np.arange(len(self.y)), self.fresh)

    def standardised(self, rows: Index) -> Array:
        """Inputs of some rows, all columns."""
        Z = np.zeros((len(rows), len(self.centre)))
        Z[:, self.columns] = self.Z[rows]
        return Z

    def raw(self, Z: Array) -> Array:
        """Inputs as they came."""
        return np.asarray(Z * self.scale + self.centre)


@dataclass(frozen=True)
class TermsAndLandmarks:
    """What predicts from many rows: terms of raw inputs plus a function of standardised ones.

    Without terms the mean stands for them. ``residuals`` of fresh rows, ``left_out`` the
    predictions there and ``observed`` their targets; ``low`` and ``high`` bound the targets seen.
    """

    terms: Grown | float
    landmarks: Function | None
    centre: Array
    scale: Array
    residuals: Array
    weights: Array
    left_out: Array
    observed: Array
    low: float
    high: float

    def values(self, Z: Array) -> Array:
        """Predictions at standardised points, within one range of the targets seen."""
        y = _predicted(self.terms, Z * self.scale + self.centre)
        if self.landmarks is not None:
            y = y + self.landmarks.values(Z)
        room = ROOM * (self.high - self.low)
        return np.clip(y, self.low - room, self.high + room)

    def gradients(self, Z: Array) -> Array:
        """Their gradients per standardised unit."""
        slopes = np.zeros(Z.shape)
        if isinstance(self.terms, Grown):
            slopes += self.terms.gradient(Z * self.scale + self.centre) * self.scale
        return slopes if self.landmarks is None else slopes + self.landmarks.gradients(Z)

    def interval(self, Z: Array, half: float) -> Array:
        """Ends (m, 2) of the prediction ``-+ half``."""
        y = self.values(Z)
        return np.column_stack([y - half, y + half])


@dataclass(frozen=True)
class Odds:
    """Log-odds from many rows: those of the terms, of the sample, or their mean."""

    terms: Grown | None
    sample: Function | None
    centre: Array
    scale: Array

    def values(self, Z: Array) -> Array:
        """Log-odds at standardised points."""
        parts = [] if self.sample is None else [self.sample.values(Z)]
        if self.terms is not None:
            parts.append(self.terms.predictor(Z * self.scale + self.centre))
        return np.asarray(np.mean(parts, axis=0))

    def gradients(self, Z: Array) -> Array:
        """Their gradients per standardised unit."""
        parts = [] if self.sample is None else [self.sample.gradients(Z)]
        if self.terms is not None:
            parts.append(self.terms.state.slopes(Z * self.scale + self.centre) * self.scale)
        return np.asarray(np.mean(parts, axis=0))


def predictor_of_all(
    rules: Rules, terms: Grown | None, sample: Predictor, rows: AllRows, *, full: bool = False
) -> tuple[TermsAndLandmarks, Index]:
    """What predicts from all rows, and the columns that only the sample found and that join.

    ``sample`` predicts from the rows searched alone, as a function of all columns; none of its own
    columns join where the answer is ``full``.
    """
    base = float(rows.weights @ rows.y / rows.weights.sum()) if terms is None else terms
    function = sample.function
    extra = np.setdiff1d(function.columns, () if terms is None else terms.columns)
    fresh, clearly = rows.fresh, rules.clearly
    Z, y, weights = rows.standardised(fresh), rows.y[fresh], rows.weights[fresh]
    plain = _predicted(base, rows.raw(Z))
    other = sample.values(Z) + rows.shift
    joins = terms is None or (
        not (full and len(extra)) and _explains(y - plain, other - plain, weights, clearly)
    )
    landmarks = None
    if len(function.columns) and (joins or not len(extra)):
        tried = _landmarks(sample, base, rows, rows.others)
        gain = paired((y - plain) ** 2 - (y - plain - tried.values(Z)) ** 2, weights)
        landmarks = tried if terms is None or gain.mean > clearly * gain.error else None
    left_out = plain if landmarks is None else plain + landmarks.values(Z)
    if landmarks is not None:  # what fresh rows agreed to is fitted on them too
        landmarks = _landmarks(sample, base, rows, np.arange(len(rows.y)))
    p = weights / weights.sum()
    made = TermsAndLandmarks(
        base,
        landmarks,
        rows.centre,
        rows.scale,
        y - left_out,
        p,
        left_out,
        y,
        float(rows.y.min()),
        float(rows.y.max()),
    )
    return made, extra if joins else extra[:0]


def odds_of_all(
    rules: Rules,
    terms: Grown,
    sample: Function,
    rows: AllRows,
    labels: Array,
    *,
    full: bool = False,
) -> tuple[Odds, Index]:
    """Log-odds of labels -1 and 1 from all rows, and the sample's own columns that join."""
    extra = np.setdiff1d(sample.columns, terms.columns)
    Z, y, weights = rows.standardised(rows.fresh), labels[rows.fresh], rows.weights[rows.fresh]
    candidates = [
        Odds(terms, None, rows.centre, rows.scale),
        Odds(terms, sample, rows.centre, rows.scale),
        Odds(None, sample, rows.centre, rows.scale),
    ]
    losses = [np.logaddexp(0, -y * one.values(Z)) for one in candidates]
    best = int(np.argmin([float(weights @ loss) for loss in losses]))
    gain = paired(losses[0] - losses[best], weights)
    if len(extra) and (full or not gain.mean > rules.clearly * gain.error):
        best = 0
    return candidates[best], extra if best else extra[:0]


def _predicted(terms: Grown | float, X: Array) -> Array:
    return terms.predict(X) if isinstance(terms, Grown) else np.full(len(X), terms)


def _explains(e: Array, g: Array, weights: Array, clearly: float) -> bool:
    """Whether a multiple of ``g`` is clearly in ``e``."""
    size = float(weights @ g**2)
    a = float(weights @ (e * g)) / size if size > 0 else 0.0
    gain = paired(e**2 - (e - a * g) ** 2, weights)
    return a > 0 and gain.mean > clearly * gain.error


def _landmarks(sample: Predictor, terms: Grown | float, rows: AllRows, used: Index) -> Function:
    """The sample's kernel on what the terms leave over at some rows.

    Solved in the features ``K_l. L^{-T}``, ``L L' = K_mm``, in which the norm is that of numbers.
    """
    space, columns = sample.function.space, sample.function.columns
    assert isinstance(space, RepresenterSpace)
    wanted = int(np.clip(np.sqrt(WORK / len(used)), *LANDMARKS))
    more = rows.others[rows.n_searched :][: max(wanted - len(space.X), 0)]
    X = np.vstack([space.X, rows.standardised(more)[:, columns]])[:wanted]
    centres = RepresenterSpace(space.kernel, X, space.scales)
    m = len(X)
    gram = centres.gram.copy()
    gram.flat[:: m + 1] += FLOOR * float(np.trace(gram)) / m
    L = cholesky(gram, lower=True)
    G, c = np.zeros((m + 1, m + 1)), np.zeros(m + 1)
    for start in range(0, len(used), BLOCK):
        part = used[start : start + BLOCK]
        Z, w = rows.standardised(part), rows.weights[part]
        K = space.kernel(X * space.scales, Z[:, columns] * space.scales)
        features = np.vstack([solve_triangular(L, K, lower=True), np.ones(len(part))])
        G += (features * w) @ features.T
        c += features @ (w * (rows.y[part] - _predicted(terms, rows.raw(Z))))
    G.flat[: m * (m + 1) : m + 2] += sample.noise
    solution = solve(G, c, assume_a="pos")
    u = solve_triangular(L, solution[:m], lower=True, trans="T")
    return Function(float(solution[m]), columns, centres, u)
