r"""What rows cannot tell: columns that could stand in, and what derivatives cannot see.

**Left-out rows judge between two sets of columns**: kernel ridge regression on each, at the best
ridge of its grid, by the paired difference of squared left-out residuals. Cost: one
eigendecomposition per set, at no more than 500 rows: the first ones, which in the canonical order
of :mod:`nablasso.data.table` are a fair sample.

**Alternatives**: "x3 could be replaced by x7". For a selected ``a`` and an unselected ``b`` that
goes with it (correlation of values or of ranks at least 0.5 in size), ``b`` takes the place of
``a``. If the left-out error does not rise by more than its paired standard error, the rows cannot
tell the two apart and ``b`` is an alternative; unless leaving out ``a`` without a replacement does
no more harm. At most 20 swaps are tried.

**Told by others together** (:func:`told_by_others`). A column may be a function of several others,
none of which goes with it alone: parts of a mixture add up. For a selected group with columns
``x_g`` the others enter a least-squares regression of ``x_g`` one by one, the one first that
explains most of what is left, as lines, and if that does not do with squares and cubes. With
``h_i`` the leverage of row i and ``e_i`` its residual the share told in left-out rows is

.. math:: R^2 = 1 - \sum_i p_i \Big\| \frac{e_i}{1 - h_i} \Big\|^2
          \Big/ \sum_i p_i \|x_{g,i} - \bar x_g\|^2 .

From 0.8 on, where the variance of a coefficient is inflated fivefold, what is said of the column is
as well said of the others. Cost: O(n d) per step, at most 6 steps per group.

**A support in parts** (:func:`support_gap`). If a column's values lie in two separate parts, a
function that is constant on each has derivative zero everywhere and depends on the column all the
same. Of n uniform values the largest spacing exceeds a fraction g of the range with probability
at most ``n (1 - g)^(n - 1)``; a spacing for which that is under 1e-3 over the number of columns,
with a tenth of the weight on either side, is a gap. The left-out residuals of the fit must then
differ between the sides: Welch's test, at 0.01 over the number of gaps.

**A step** (:func:`sign_only`). Let ``P`` be the matrix of kernel ridge regression on the selected
columns. If f is a Gaussian process with that kernel, y has covariance proportional to the
pseudo-inverse of ``P``, and for the indicator s of ``x_a <= t``

.. math:: F = \frac{(n - 2)\, z}{y^\top P y - z}, \qquad z = \frac{(s^\top P y)^2}{s^\top P s}

has the F distribution with 1 and n - 2 degrees of freedom when there is no step. All t of a column
cost O(n^2) by cumulative sums; for selected columns s is also multiplied by each other one, since
a step may be in their effect. The best step must pass at 0.01 over the number of steps tried. Put
in the place of its column it must then predict left-out rows better, by two standard errors, than
the column itself and than the fit without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import fdtrc
from scipy.stats import rankdata, ttest_ind_from_stats

from nablasso.data.table import absolute_correlations, discrete_columns
from nablasso.kernels import Gaussian, Kernel, length_scale
from nablasso.regression.ridge import Ridge, paired
from nablasso.spaces import RepresenterSpace
from nablasso.types import Array, Index, Mask

MAX_ROWS = 500


@dataclass(frozen=True, eq=False)
class LeftOutFit:
    """What a fit on some columns rests on.

    ``X`` (n, d) are all columns, the ``selected`` (s,) and the others, ``y`` (n,) or (n, q),
    ``weights`` (n,) add up to one, ``scales`` (s,) multiply the selected columns inside the kernel;
    of ``classes`` ``y`` are two values each, the larger one for the rows of a class. At most
    ``MAX_ROWS`` rows are kept, the first ones.
    """

    kernel: Kernel
    X: Array
    y: Array
    weights: Array
    selected: Index
    scales: Array
    classes: bool = False

    def __post_init__(self) -> None:
        if len(self.y) > MAX_ROWS:
            weights = self.weights[:MAX_ROWS]
            first = {"X": self.X[:MAX_ROWS], "y": self.y[:MAX_ROWS]}
            vars(self).update(first, weights=weights / weights.sum())

    @cached_property
    def inverse(self) -> Ridge:
        """Ridge regression on the selected columns."""
        return self._inverse_on(self.X[:, self.selected], self.scales)

    @cached_property
    def residuals(self) -> Array:
        """Left-out residuals on the selected columns."""
        return self.inverse.loo_residuals(self.y, self.inverse.best_ridge(self.y))

    def left_out(self, inputs: Array, scales: Array) -> Array:
        """Left-out residuals on other inputs of the same rows; around the mean without any."""
        inverse = self._inverse_on(inputs, scales)
        return inverse.loo_residuals(self.y, inverse.best_ridge(self.y))

    def _inverse_on(self, inputs: Array, scales: Array) -> Ridge:
        n = len(self.y)
        gram = RepresenterSpace(self.kernel, inputs, scales).gram if scales.size else np.ones(())
        return Ridge(np.broadcast_to(gram, (n, n)), self.weights)

    def score(self, residuals: Array) -> float:
        """R2 of left-out residuals; of classes the share of rows that they put right."""
        Y, E = self.y.reshape(len(self.y), -1), residuals.reshape(len(self.y), -1)
        if not self.classes:
            spread = float(self.weights @ squares(Y - self.weights @ Y))
            return 1 - float(self.weights @ squares(E)) / spread if spread > 0 else 0.0
        low, high = Y.min(axis=0), Y.max(axis=0)
        odds = (Y - E - (low + high) / 2) / np.where(high > low, high - low, 1.0)
        if Y.shape[1] == 1:
            right = (odds[:, 0] > 0) == (Y[:, 0] == high[0])
        else:
            right = odds.argmax(axis=1) == (high == Y).argmax(axis=1)
        return float(self.weights @ right)


def squares(residuals: Array) -> Array:
    """Squared residuals of each row, (n,), added up over targets."""
    return np.asarray(residuals**2 if residuals.ndim == 1 else np.sum(residuals**2, axis=1))


def compare(before: Array, after: Array, weights: Array) -> tuple[float, float]:
    """By how much squared left-out residuals of the same rows grow, and the standard error."""
    return paired(squares(after) - squares(before), weights)


DEPENDENCE = 0.5  # correlation, of values or of ranks, under which b is no candidate
PER_COLUMN = 3
SWAPS = 20


class Alternative(NamedTuple):
    """``b`` could replace ``a``: scores of left-out rows with ``a`` and with ``b``."""

    a: int
    b: int
    ours: float
    theirs: float


def alternatives(evidence: LeftOutFit) -> list[Alternative]:
    """Unselected columns that could replace selected ones, in the order of these, best first."""
    deviations = np.sqrt(evidence.weights @ _centred(evidence.X, evidence.weights) ** 2)
    dropped: dict[int, float] = {}  # left-out error without the column
    found = []
    for place, b in _candidates(evidence):
        a = evidence.selected[place]
        inputs, scales = evidence.X[:, evidence.selected], evidence.scales.copy()
        inputs[:, place] = evidence.X[:, b]
        scales[place] *= deviations[a] / deviations[b]
        after = evidence.left_out(inputs, scales)
        worse, error = compare(evidence.residuals, after, evidence.weights)
        if worse > error:
            continue
        if place not in dropped:
            rest = evidence.left_out(np.delete(inputs, place, 1), np.delete(scales, place))
            dropped[place] = float(evidence.weights @ squares(rest))
        if evidence.weights @ squares(after) < dropped[place]:
            scores = evidence.score(evidence.residuals), evidence.score(after)
            found.append((place, worse, Alternative(int(a), b, *scores)))
    return [pair for *_, pair in sorted(found, key=lambda item: item[:2])]


def _candidates(evidence: LeftOutFit) -> list[tuple[int, int]]:
    """Pairs (place in ``selected``, unselected column), the most dependent first."""
    X, p, selected = evidence.X, evidence.weights, evidence.selected
    both = [absolute_correlations(V, p, selected) for V in (X, rankdata(X, axis=0))]
    size = np.max(both, axis=0)
    size[:, selected] = 0.0
    size[evidence.scales == 0] = 0.0
    closest = np.argsort(-size, axis=1, kind="stable")[:, :PER_COLUMN]
    pairs = [
        (-size[place, b], place, int(b))
        for place, row in enumerate(closest)
        for b in row
        if size[place, b] >= DEPENDENCE
    ]
    return [(place, b) for _, place, b in sorted(pairs)[:SWAPS]]


def _centred(X: Array, weights: Array) -> Array:
    return np.asarray(X - weights @ X)


TOLD = 0.8  # share of a column that others tell from which on it is replaceable
MOST_TELLING = 6  # columns that tell one
LEAST_TELLING = 0.01  # of the column, that one more must tell
ROWS_EACH = 10  # rows for each number of the regression
BENT_UP_TO = 300  # columns up to which squares and cubes are looked at
TELLING_ROWS = 2000


def told_by_others(
    X: Array, weights: Array, labels: Index, chosen: Index
) -> list[tuple[int, Index, float]]:
    """First columns of selected groups that others tell, these, and the share that they tell.

    In the order of the ``chosen`` columns; ``X`` (n, d) are standardised, ``labels`` (d,) groups.
    """
    X, p = X[:TELLING_ROWS], weights[:TELLING_ROWS] / weights[:TELLING_ROWS].sum()
    root = np.sqrt(p)[:, None]
    found = []
    for group in dict.fromkeys(labels[chosen].tolist()):
        own, others = np.flatnonzero(labels == group), np.flatnonzero(labels != group)
        target = root * _centred(X[:, own], p)
        for powers in (1, 3) if len(others) <= BENT_UP_TO else (1,):
            features = np.stack([_centred(X[:, others] ** k, p) for k in range(1, powers + 1)])
            by, r2 = _telling(target, root * features, root)
            # a share R is worth -n/2 log(1 - R) nats, the choice costs log d for each column: with
            # 50 rows and 20 000 columns any column is told by five
            if 1 - (1 - r2) * len(others) ** (2 * len(by) / len(X)) >= TOLD:
                found.append((int(own[0]), others[by], r2))
                break
    return found


def _telling(target: Array, features: Array, root: Array) -> tuple[list[int], float]:
    """Columns that tell the target best, one by one, and the share they tell of left-out rows.

    ``features`` (powers, n, d) and ``target`` (n, q) are centred and times ``root``, the roots of
    the weights.
    """
    powers, n, d = features.shape
    total = float(np.sum(target**2))
    rest, basis, left = target, root, features
    by: list[int] = []
    best = 0.0
    while len(by) < min(MOST_TELLING, d, n // (ROWS_EACH * powers)) and total > 0:
        size = np.sqrt(np.einsum("knj,knj->kj", left, left))
        unit = np.where(size > 1e-6, 1 / np.maximum(size, 1e-300), 0.0)
        gain = np.einsum("kjq->j", (np.einsum("knj,nq->kjq", left, rest) * unit[..., None]) ** 2)
        gain[by] = -1.0
        b = int(np.argmax(gain))
        Q = np.linalg.qr(left[:, :, b].T)[0][:, np.linalg.norm(left[:, :, b], axis=1) > 1e-6]
        basis = np.hstack([basis, Q])
        rest = rest - Q @ (Q.T @ rest)
        leverage = np.sum(basis**2, axis=1)[:, None]
        share = 1 - float(np.sum((rest / np.maximum(1 - leverage, 1e-6)) ** 2)) / total
        if share < best + LEAST_TELLING:
            break
        best = share
        by.append(b)
        left = left - np.einsum("nm,kmj->knj", Q, np.einsum("nm,knj->kmj", Q, left))
    return by, best


SIGNIFICANCE = 0.01
UNLIKELY_GAP = 1e-3
LEAST_PART = 0.1  # of the weight, on either side of a gap or step
LEAST_ROWS = 5
CLEARLY_BETTER = 2.0  # standard errors
NEARLY_ALL = 0.8  # of the columns
CLEAR_DROP = 3.0  # ratio of consecutive importances
LEAST_COLUMNS = 4


def support_gap(evidence: LeftOutFit) -> list[int]:
    """Unselected columns in parts between which residuals of one target differ, clearest first."""
    unselected = np.setdiff1d(_continuous(evidence.X), evidence.selected)
    gaps = [
        (a, threshold)
        for a in unselected
        for threshold in _gaps(evidence.X[:, a], evidence.weights, UNLIKELY_GAP / len(unselected))
    ]
    found = {}
    for a, threshold in gaps:
        below = evidence.X[:, a] <= threshold
        p = _difference(evidence.residuals, evidence.weights, below)
        if p <= SIGNIFICANCE / len(gaps):
            found[int(a)] = p
    return sorted(found, key=lambda a: (found[a], a))


def sign_only(evidence: LeftOutFit) -> tuple[int, float] | None:
    """The column of which the target sees only on which side of a threshold it lies.

    With it the relative change of the left-out error of the smooth fit. One target.
    """
    probability, a, threshold = _best_step(evidence)
    if probability > SIGNIFICANCE:
        return None
    side = (evidence.X[:, a] > threshold).astype(float)
    share = evidence.weights @ side
    references = _references(evidence, a)
    smooth = references[0]
    inputs = smooth.X[:, smooth.selected]
    inputs[:, -1] = (side - share) / np.sqrt(share * (1 - share))
    after = smooth.left_out(inputs, smooth.scales)
    changes = [compare(e.residuals, after, e.weights) for e in references]
    if any(worse >= -CLEARLY_BETTER * error for worse, error in changes):
        return None
    return a, changes[0][0] / float(smooth.weights @ squares(smooth.residuals))


def all_relevant(importances: Array, support: Mask) -> bool:
    """Whether nearly all of the columns are selected, and none stands out."""
    d, n_selected = len(support), int(np.sum(support))
    if d < LEAST_COLUMNS or n_selected < NEARLY_ALL * d:
        return False
    sizes = np.sort(importances[support])
    return bool(sizes[0] > 0 and np.max(sizes[1:] / sizes[:-1]) < CLEAR_DROP)


def _references(evidence: LeftOutFit, a: int) -> tuple[LeftOutFit, LeftOutFit, LeftOutFit]:
    """What a step in column ``a`` has to beat.

    The smooth fit with ``a`` as the last of the selected columns; the same with a Gaussian kernel,
    lest the step make up for a kernel that does not suit; the fit without ``a``.
    A column that was not selected gets the largest scale of the others.
    """
    others = evidence.selected != a
    selected, scales = evidence.selected[others], evidence.scales[others]
    scale = evidence.scales.max(initial=0.0) if others.all() else float(evidence.scales[~others][0])
    if scale == 0:
        scale = 1 / length_scale(evidence.kernel, evidence.X[:, [a]], evidence.weights, "median")
    without = replace(evidence, selected=selected, scales=scales)
    selected, scales = np.append(selected, a), np.append(scales, scale)
    smooth = replace(evidence, selected=selected, scales=scales)
    width = length_scale(Gaussian(), evidence.X[:, selected] * scales, evidence.weights, "median")
    return smooth, replace(smooth, kernel=Gaussian(), scales=scales / width), without


def _continuous(X: Array) -> Index:
    return np.flatnonzero(~discrete_columns(X))


def _interior(parts: Array) -> Mask:
    """Which splits of the sorted rows leave enough on either side, from cumulative weights."""
    count = np.arange(1, len(parts) + 1)
    rows = (count >= LEAST_ROWS) & (count <= len(parts) - LEAST_ROWS)
    return np.asarray(rows & (parts >= LEAST_PART) & (parts <= 1 - LEAST_PART))


def _gaps(values: Array, weights: Array, probability: float) -> list[float]:
    """Midpoints of the spacings too wide for a connected density."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    n = len(values)
    fraction = 1 - (probability / n) ** (1 / (n - 1))
    wide = np.diff(ordered) > fraction * (ordered[-1] - ordered[0])
    wide &= _interior(np.cumsum(weights[order]))[:-1]
    return [float(ordered[k] + ordered[k + 1]) / 2 for k in np.flatnonzero(wide)]


def _difference(residuals: Array, weights: Array, below: Mask) -> float:
    """Two-sided p-value of Welch's test that both sides have one mean, with weights."""
    sides: list[tuple[Any, ...]] = []
    for side in (below, ~below):
        p = weights[side] / weights[side].sum()
        mean, n = float(p @ residuals[side]), max(1 / float(p @ p), 1 + np.finfo(float).eps)
        deviation = np.sqrt(p @ (residuals[side] - mean) ** 2 * n / (n - 1))
        sides.append((mean, max(deviation, 1e-150), n))
    (a, s, n_a), (b, t, n_b) = sides
    return float(ttest_ind_from_stats(a, s, n_a, b, t, n_b, equal_var=False).pvalue)


def _best_step(evidence: LeftOutFit) -> tuple[float, int, float]:
    """The step that explains most beyond the smooth fit: how probable by chance, column, place."""
    inverse, y = evidence.inverse, evidence.y
    P = inverse.matrix(inverse.best_ridge(y))
    rounding = np.finfo(float).eps * len(y) * float(np.trace(P))
    u = P @ y
    total = float(y @ u)
    freedom = 1 / float(evidence.weights @ evidence.weights) - 2
    best, n_tried = (np.inf, -1, 0.0), 0
    for a in _continuous(evidence.X):
        order = np.argsort(evidence.X[:, a], kind="stable")
        ordered = evidence.X[order, a]
        inner = _interior(np.cumsum(evidence.weights[order]))[:-1] & (np.diff(ordered) > 0)
        others = evidence.selected[evidence.selected != a]
        partners = others if a in evidence.selected else others[:0]  # it may interact with
        for factor in (np.ones(len(y)), *evidence.X[:, partners].T):
            A = P[np.ix_(order, order)] * factor[order, None] * factor[order]
            size = np.cumsum(2 * np.tril(A, -1).sum(axis=1) + np.diag(A))[:-1]
            tried = np.flatnonzero(inner & (size > rounding))
            if not tried.size:
                continue
            n_tried += tried.size
            z = np.cumsum((factor * u)[order])[tried] ** 2 / size[tried]
            k = int(np.argmax(z))
            p = float(fdtrc(1, freedom, freedom * z[k] / max(total - z[k], rounding)))
            if p < best[0]:
                best = p, int(a), float(ordered[tried[k]] + ordered[tried[k] + 1]) / 2
    return best[0] * max(n_tried, 1), *best[1:]
