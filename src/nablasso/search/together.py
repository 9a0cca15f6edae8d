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
from nablasso.search.predictor import Part, Predictor, parts_of
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


@dataclass(frozen=True)
class Terms:
    """Terms of raw inputs as a function of standardised ones: of the target, or log-odds."""

    grown: Grown
    centre: Array
    scale: Array
    odds: bool = False

    def values(self, Z: Array) -> Array:
        """Predictions, or log-odds."""
        X = Z * self.scale + self.centre
        return self.grown.predictor(X) if self.odds else self.grown.predict(X)

    def gradients(self, Z: Array) -> Array:
        """Their gradients per standardised unit."""
        X = Z * self.scale + self.centre
        slopes = self.grown.state.slopes(X) if self.odds else self.grown.gradient(X)
        return np.asarray(slopes * self.scale)


def predictor_of_all(
    rules: Rules, terms: Grown | None, sample: Predictor, rows: AllRows, *, full: bool = False
) -> tuple[Predictor, Index]:
    """What predicts from all rows, and the columns that only the sample found and that join.

    ``sample`` predicts from the rows searched alone, as a function of all columns; none of its own
    columns join where the answer is ``full``.
    """
    mean = float(rows.weights @ rows.y / rows.weights.sum())
    base = (
        Function(mean, np.empty(0, dtype=np.intp))
        if terms is None
        else Terms(terms, rows.centre, rows.scale)
    )
    function = sample.kernel
    assert function is not None
    extra = np.setdiff1d(function.columns, () if terms is None else terms.columns)
    fresh, clearly = rows.fresh, rules.clearly
    Z, y, weights = rows.standardised(fresh), rows.y[fresh], rows.weights[fresh]
    plain = base.values(Z)
    other = sample.values(Z) + rows.shift
    joins = terms is None or (
        not (full and len(extra)) and _explains(y - plain, other - plain, weights, clearly)
    )
    landmarks = None
    if len(function.columns) and (joins or not len(extra)):
        tried = _landmarks(function, sample.noise, base, rows, rows.others)
        gain = paired((y - plain) ** 2 - (y - plain - tried.values(Z)) ** 2, weights)
        landmarks = tried if terms is None or gain.mean > clearly * gain.error else None
    left_out = plain if landmarks is None else plain + landmarks.values(Z)
    if landmarks is not None:  # what fresh rows agreed to is fitted on them too
        landmarks = _landmarks(function, sample.noise, base, rows, np.arange(len(rows.y)))
    parts = (base,) if landmarks is None else (base, landmarks)
    made = Predictor(
        parts,
        np.ones(len(parts)),
        left_out,
        y,
        weights / weights.sum(),
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
) -> tuple[Predictor, Index]:
    """Log-odds of labels -1 and 1 from all rows, and the sample's own columns that join."""
    extra = np.setdiff1d(sample.columns, terms.columns)
    Z, y, weights = rows.standardised(rows.fresh), labels[rows.fresh], rows.weights[rows.fresh]
    grown = Terms(terms, rows.centre, rows.scale, odds=True)
    parts: list[list[Part]] = [[grown], [grown, sample], [sample]]
    candidates = [parts_of(some) for some in parts]
    losses = [np.logaddexp(0, -y * one.values(Z)) for one in candidates]
    best = int(np.argmin([float(weights @ loss) for loss in losses]))
    gain = paired(losses[0] - losses[best], weights)
    if len(extra) and (full or not gain.mean > rules.clearly * gain.error):
        best = 0
    return candidates[best], extra if best else extra[:0]


def _explains(e: Array, g: Array, weights: Array, clearly: float) -> bool:
    """Whether a multiple of ``g`` is clearly in ``e``."""
    size = float(weights @ g**2)
    a = float(weights @ (e * g)) / size if size > 0 else 0.0
    gain = paired(e**2 - (e - a * g) ** 2, weights)
    return a > 0 and gain.mean > clearly * gain.error


def _landmarks(
    function: Function, noise: float, base: Part, rows: AllRows, used: Index
) -> Function:
    """The sample's kernel on what the terms leave over at some rows.

    Solved in the features ``K_l. L^{-T}``, ``L L' = K_mm``, in which the norm is that of numbers.
    """
    space, columns = function.space, function.columns
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
        c += features @ (w * (rows.y[part] - base.values(Z)))
    G.flat[: m * (m + 1) : m + 2] += noise
    solution = solve(G, c, assume_a="pos")
    u = solve_triangular(L, solution[:m], lower=True, trans="T")
    return Function(float(solution[m]), columns, centres, u)
