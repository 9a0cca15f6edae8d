r"""Error control for any selector: stability, randomisation p-values, knockoffs.

Functions of arrays; the scikit-learn classes are in :mod:`nablasso.estimators`.

**P-values of variables by conditional randomisation.** For folds k = 1..K let f_k be a predictor
fitted without the rows of fold k, and

.. math:: T(X) = \sum_k \sum_{i \in k} w_i \,\ell(y_i, f_k(x_i)).

Hypothesis of variable (or group) j: given the other columns, x_j tells nothing about y. Then x_j on
the held-out rows may as well be drawn again from its conditional distribution; with B such copies

.. math:: p_j = \frac{1 + \#\{b : T(X^{(b)}) \le T(X)\}}{1 + B}

is a p-value: no assumption on y or on f (Candes et al. 2018; Tansey et al. 2018). What is assumed
is the conditional of x_j. The fits are not repeated; a variable that no f_k uses has p = 1.

*Conditional.* m_i, the mean of row i given its other columns, is a ridge regression's leave-one-out
prediction. Around it, continuous columns have the leave-one-out residuals, exchanged between the
rows, whole rows for a group (drawn in proportion to unequal weights). Discrete ones (at most 10
values in each column) keep the observed values, or combinations of values for a group such as the
indicators of one factor, with :math:`\pi_i(v) \propto \exp(a_v + b_v^\top m_i)`, a multinomial
logistic regression on m_i alone (for a group, on the predicted indicators of its combinations): it
reproduces the share of each value and its covariance with m_i.

*Sum over folds.* For one fold the p-value is exact. In the sum x_j of one fold has also taught the
predictors of the other folds, which the copies ignore. For a linear fit of a null variable the sum
is, in units of the copies' spread, exactly standard normal for K = 2 and |Z| - 1/|Z|, Z normal, for
large K: smaller tails, so p-values that are valid or conservative.

*Sequential draws* (Besag and Clifford 1991): stop at the h-th copy that is as good as the data;
after l draws p = h / l, otherwise B draws give the formula above. Valid for every h and B, and null
variables cost few draws. To let one variable pass Benjamini-Hochberg among m at rate q, B must be
at least m / q - 1. Cost: K predictions of n / K rows per copy, in batches.

**Gaussian knockoffs** of second order and their filter (Candes et al. 2018; Barber, Candes 2015).
Knockoffs ``X~`` of standardised columns with correlation Sigma have, for a diagonal S,
:math:`\mathrm{Cov}(\tilde X) = \Sigma` and :math:`\mathrm{Cov}(X, \tilde X) = \Sigma - S`, so that
swapping a column with its knockoff changes no first or second moment. They are drawn as

.. math:: \tilde X = X (I - \Sigma^{-1} S) + U (2 S - S \Sigma^{-1} S)^{1/2}, \quad U \sim N(0, I),

with the symmetric root, so that the order of the columns does not matter. S has maximum entropy: it
maximises :math:`\log\det(2 \Sigma - S) + \sum_j \log s_j`, concave. With the other entries fixed,
:math:`s_j = 1 / (2 a_j)`, where a_j is entry (j, j) of the inverse of
:math:`2 \Sigma - S + s_j e_j e_j^\top`: coordinate ascent by updates of rank one, O(d^3) per sweep.
With W_j = importance of column j minus that of its knockoff, the filter selects W_j >= t at

.. math:: t = \min\{t > 0 : (1 + \#\{W_j \le -t\}) / \#\{W_j \ge t\} \le q\}.

The false discovery rate is at most q; fewer than 1/q selections are impossible.

**Stability selection with complementary pairs** (Shah and Samworth 2013). Split the rows at random
into two halves of floor(n / 2) rows, B times, and let the selector choose on each half: 2B fits.
Variables that at least the share tau of the 2B halves choose are selected.

**Bounds** on the expected number V of false selections. Let p be the number of variables, q the
expected number selected on one half, theta = q / p. *False* means a variable of low selection
probability, at most theta on one half: no better than a blind pick.

``"worst-case"``: :math:`V \le q^2 / ((2\tau - 1) p)`, no assumption. Meinshausen and Buehlmann
(2010) have the same number for plain half-samples under exchangeability.

``"r-concave"``: the share of the B pairs in which *both* halves select the variable is
-1/2-concave and the share of the 2B halves is -1/4-concave. Then
:math:`V \le p \min\{D(\theta^2, 2\tau - 1, B, -1/2),\, D(\theta, \tau, 2B, -1/4)\}`, where
``D(eta, t, B, r)`` is the largest probability of ``[t, 1]`` under an r-concave distribution on
``{0, 1/B, ..., 1}`` of mean at most eta: ``f^r`` is convex where ``f > 0``. The extreme ones are
proportional to ``(a + i)^(1/r)`` on ``0..k``, with any smaller mass at ``k + 1``; the mean decides
what k is, so D is the largest tail over one number a, looked for on finer and finer grids.

Every bound is cut at q / tau, Markov's bound, and where its condition fails.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh, inv
from scipy.stats import false_discovery_control
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from nablasso.errors import InvalidParameterError
from nablasso.progress import run_jobs
from nablasso.regression.ridge import LeaveOutRidge
from nablasso.types import Array, Index, Mask

Losses = Callable[[Array, Index], Array]  # rows of X, numbers of those they stand for -> losses
Draw = Callable[[np.random.Generator, int], Array]  # size -> copies (size, n, number of columns)
Conditional = Callable[[Index], Draw]  # learns how to redraw these columns given the others
Sampler = Callable[[Array, Index, np.random.Generator], Array]

MAX_LEVELS = 10
MIN_EIGENVALUE = 1e-6  # of the shrunk correlation
MAX_SWEEPS = 100
SWEEP_TOL = 1e-10
N_EXCEED = 10
FIRST_BATCH = 20
MAX_CELLS = 2_000_000  # numbers in one batch of copies
MIN_DRAWS = 199
TIE = 1e-10  # relative: batches of other sizes, or q k / m and m p / k, may round differently
FLATTEST = np.log(1e8)  # largest log a, in steps of the lattice
STEEPEST = -40.0  # log f(1) / f(0) at the smallest a
N_SCALES, ZOOMS = 1000, 4  # values of a, and how often the best of them is looked at more closely


# ------------------------------------------------------------------ redrawn columns


def users_draws(sampler: Sampler, X: Array, columns: Index) -> Draw:
    """Copies by a user's ``sampler(X, columns, rng)``."""

    def draw_one(rng: np.random.Generator) -> Array:
        drawn = np.asarray(sampler(X, columns, rng), dtype=float)
        n, g = len(X), len(columns)
        if g == 1 and drawn.shape == (n,):
            drawn = drawn[:, None]
        if drawn.shape != (n, g) or not np.isfinite(drawn).all():
            raise InvalidParameterError(
                f"sampler(X, columns, rng) must return finite columns of shape ({n}, {g}); got "
                f"shape {drawn.shape}."
            )
        return drawn

    return lambda rng, size: np.array([draw_one(rng) for _ in range(size)])


def linear_draws(X: Array, weights: Array, ridge: LeaveOutRidge, columns: Index) -> Draw:
    """Copies by the linear model of these columns given the others."""
    n, values = len(X), X[:, columns]
    levels, code = np.unique(values, axis=0, return_inverse=True)
    code = code.ravel()
    few = all(len(np.unique(column)) <= MAX_LEVELS for column in values.T)
    if few and len(levels) == 1:
        return lambda _, size: np.repeat(values[None], size, axis=0)
    if few and len(levels) <= MAX_LEVELS * len(columns):
        targets = values if len(columns) == 1 else np.eye(len(levels))[code]
        scores = ridge.predict(columns, targets)
        ends = np.cumsum(level_probabilities(scores, code, weights), axis=1)[:, :-1]
        return lambda rng, size: np.asarray(
            levels[np.sum(rng.random((size, n, 1)) >= ends, axis=2)]
        )
    mean = ridge.predict(columns, values)

    def exchanged(rng: np.random.Generator, size: int) -> Array:
        equal, p = np.ptp(weights) == 0, weights / weights.sum()
        rows = [rng.permutation(n) if equal else rng.choice(n, n, p=p) for _ in range(size)]
        return np.asarray(mean + (values - mean)[np.array(rows)])

    return exchanged


def as_conditional(sampler: Any, X: Array, weights: Array) -> Conditional:
    """``"auto"`` is the linear model, anything callable a user's sampler."""
    if callable(sampler):
        return partial(users_draws, sampler, X)
    if isinstance(sampler, str) and sampler == "auto":
        return partial(linear_draws, X, weights, LeaveOutRidge(X, weights))
    raise InvalidParameterError(
        'sampler must be "auto" or a function sampler(X, columns, rng) that returns the redrawn '
        f"columns; got {sampler!r}."
    )


def level_probabilities(scores: Array, code: Index, weights: Array) -> Array:
    """Probabilities (n, n_levels) of the levels, from scores that predict them."""
    Z = StandardScaler().fit(scores, sample_weight=weights).transform(scores)
    model = LogisticRegression(C=10.0, max_iter=1000)  # finite where the levels are separated
    model.fit(Z, code, sample_weight=weights * (len(weights) / weights.sum()))
    return np.asarray(model.predict_proba(Z))


# ------------------------------------------------------------------ p-values


@dataclass(frozen=True)
class HeldOutFold:
    """Rows that a predictor has not seen, columns that it may depend on, its weighted losses."""

    rows: Index
    used: Mask
    losses: Losses

    def loss(self, copies: Array) -> Array:
        """Total losses (size,) of copies (size, number of rows, d) of the rows."""
        size, n, d = copies.shape
        losses = self.losses(copies.reshape(size * n, d), np.tile(self.rows, size))
        return np.asarray(losses.reshape(size, n).sum(axis=1))


def enough_draws(n_tests: int, fdr: float) -> int:
    """Draws with which a single discovery among ``n_tests`` is possible."""
    return max(MIN_DRAWS, int(np.ceil(n_tests / fdr)))


def randomization_p_values(
    held_out: Sequence[HeldOutFold],
    X: Array,  # (n, d)
    conditional: Conditional,
    groups: Sequence[Index],
    ranks: Index,
    *,
    seed: int,
    n_draws: int,
    n_exceed: int = N_EXCEED,
    max_cells: int = MAX_CELLS,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Array:
    """P-value of each group of columns.

    ``n_draws`` and ``n_exceed`` are B and h. ``ranks`` number the groups' random streams: give the
    place in an order that does not depend on the order of the columns, and neither will the result.
    ``max_cells`` numbers are drawn at once.
    """
    used = np.any([fold.used for fold in held_out], axis=0)
    tested = [g for g, columns in enumerate(groups) if used[columns].any()]
    largest = max(1, max_cells // X.size)
    arguments = [
        (held_out, X, conditional, groups[g], (seed, int(ranks[g])), n_draws, n_exceed, largest)
        for g in tested
    ]
    p_values = np.ones(len(groups))
    found = run_jobs(_p_value, arguments, label="randomisation", n_jobs=n_jobs, verbose=verbose)
    p_values[tested] = list(found)
    return p_values


def _p_value(
    held_out: Sequence[HeldOutFold],
    X: Array,
    conditional: Conditional,
    columns: Index,
    seed: tuple[int, int],
    n_draws: int,
    n_exceed: int,
    largest: int,
) -> float:
    """One group's p-value, from batches of copies that double up to the ``largest``."""
    relevant = [fold for fold in held_out if fold.used[columns].any()]
    observed = sum(float(fold.loss(X[None, fold.rows])[0]) for fold in relevant)
    limit = observed + TIE * abs(observed)
    draw, rng = conditional(columns), np.random.default_rng(seed)

    def as_good() -> Iterator[Mask]:
        size, left = min(FIRST_BATCH, largest), n_draws
        while left > 0:
            size = min(size, left)
            drawn, total = draw(rng, size), np.zeros(size)
            for fold in relevant:
                copies = np.repeat(X[None, fold.rows], size, axis=0)
                copies[:, :, columns] = drawn[:, fold.rows]
                total += fold.loss(copies)
            yield total <= limit
            left -= size
            size = min(2 * size, largest)

    return sequential_p_value(as_good(), n_draws, n_exceed)


def sequential_p_value(exceeds: Iterator[Mask], n_draws: int, n_exceed: int) -> float:
    """Besag and Clifford's p-value from batches that say which copies are as good as the data."""
    found = done = 0
    for batch in exceeds:
        counts = found + np.cumsum(batch)
        if counts[-1] >= n_exceed:
            return n_exceed / (done + int(np.argmax(counts >= n_exceed)) + 1)
        found, done = int(counts[-1]), done + len(batch)
    return (found + 1) / (n_draws + 1)


def adjusted_p_values(p_values: Array) -> Array:
    r"""Benjamini and Hochberg's (1995): the smallest rate q at which each test is rejected.

    They reject the k smallest of m, k the largest number with :math:`p_{(k)} \le q k / m`. The
    expected proportion of false rejections is then at most q, for independent p-values and for
    positively dependent ones.
    """
    return np.asarray(false_discovery_control(p_values))


# ------------------------------------------------------------------ knockoffs


def shrunk_correlation(Z: Array, weights: Array) -> Array:
    """Correlation of standardised columns, shrunk towards the identity (Ledoit and Wolf 2004).

    ``weights`` add up to one. The squared errors of the products ``z_i z_i'`` over the squared
    distance of their mean from the identity is how far it is shrunk. Constant columns, all zero in
    ``Z``, come out uncorrelated with variance one.
    """
    d = Z.shape[1]
    S = (Z * weights[:, None]).T @ Z
    S[np.diag_indices(d)] = 1.0
    distance = float(np.sum((S - np.eye(d)) ** 2))
    norms = np.einsum("ij,ij->i", Z, Z)
    cross = np.einsum("ij,ij->i", Z @ S, Z)
    error = float(weights**2 @ (norms**2 - 2 * cross + np.sum(S**2)))
    shrinkage = min(1.0, error / distance) if distance > 0 else 1.0
    least = float(eigh(S, eigvals_only=True, subset_by_index=[0, 0])[0])
    if (1 - shrinkage) * least + shrinkage < MIN_EIGENVALUE:
        shrinkage = (MIN_EIGENVALUE - least) / (1 - least)
    return np.asarray((1 - shrinkage) * S + shrinkage * np.eye(d))


def maximum_entropy_diagonal(correlation: Array) -> Array:
    """Diagonal of S."""
    d = len(correlation)
    least = float(eigh(correlation, eigvals_only=True, subset_by_index=[0, 0])[0])
    s = np.full(d, min(1.0, least))
    for _ in range(MAX_SWEEPS):
        inverse = inv(2 * correlation - np.diag(s), check_finite=False)  # afresh: no drift
        before = s.copy()
        for j in range(d):
            b = inverse[j, j]
            new = (1 + s[j] * b) / (2 * b)
            change = s[j] - new  # D grows by this at (j, j)
            column = inverse[:, j].copy()
            inverse -= np.outer(column, column) * (change / (1 + change * b))
            s[j] = new
        if np.max(np.abs(s - before)) <= SWEEP_TOL:
            break
    return s


def gaussian_knockoffs(
    Z: Array, correlation: Array, rng: np.random.Generator, column_order: Index
) -> Array:
    """Knockoffs of standardised columns.

    ``column_order`` lists the columns in the order in which their random numbers are drawn; one
    that does not depend on the order of the columns makes the result independent of it.
    """
    n, d = Z.shape
    s = maximum_entropy_diagonal(correlation)
    inverse_s = inv(correlation, check_finite=False) * s  # Sigma^{-1} S
    values, vectors = eigh(2 * np.diag(s) - s[:, None] * inverse_s)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    U = np.empty((n, d))
    U[:, column_order] = rng.normal(size=(n, d))
    return np.asarray(Z - Z @ inverse_s + U @ root)


def knockoff_threshold(statistics: Array, fdr: float) -> float:
    """Smallest t whose estimated false discovery proportion is at most ``fdr``, or infinity."""
    for t in np.unique(np.abs(statistics[statistics != 0])):
        false = 1 + int(np.sum(statistics <= -t))
        if false <= fdr * max(1, int(np.sum(statistics >= t))) * (1 + 1e-12):
            return float(t)
    return np.inf


# ------------------------------------------------------------------ stability


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


def smallest_threshold(floor: float, largest_bound: float, *known: Any) -> float:
    """Smallest threshold, at least ``floor``, that meets the bound; infinite if none does.

    ``known`` is what :func:`false_selection_bound` has besides: it decreases with the threshold.
    """
    n_halves = 2 * known[2]
    shares = np.arange(lattice_count(floor, known[2]), n_halves + 1) / n_halves
    first = bisect_left(
        shares, True, key=lambda share: false_selection_bound(share, *known) <= largest_bound
    )
    return float(shares[first]) if first < len(shares) else np.inf


def false_selection_bound(
    threshold: float, n_selected: float, n_features: int, n_pairs: int, assumption: str
) -> float:
    """Bound on the expected number of false selections.

    ``threshold`` is a share of the halves, above 1/2 and at most 1; ``n_selected`` the expected
    number of variables selected on one half.
    """
    count = lattice_count(threshold, n_pairs)
    tau, q, p = count / (2 * n_pairs), n_selected, n_features
    markov = min(q / tau, float(p))
    if q == 0 or 2 * tau <= 1:
        return markov
    bounds = [markov, q**2 / ((2 * tau - 1) * p)]
    if assumption == "r-concave":
        theta = q / p
        bounds.append(p * largest_tail(theta**2, count - n_pairs, n_pairs, -1 / 2))
        bounds.append(p * largest_tail(theta, count, 2 * n_pairs, -1 / 4))
    return float(min(bounds))


def lattice_count(threshold: float, n_pairs: int) -> int:
    """Number of halves, of 2B, that reach the threshold."""
    return int(np.ceil(2 * n_pairs * threshold - 1e-9))


def largest_tail(mean: float, start: int, size: int, r: float) -> float:
    """``D``: largest probability of ``start..size`` at mean ``mean * size`` or less.

    The support is ``0..size`` and ``r`` is negative. Returns 1 where the shape says nothing: a
    tail that begins under twice the mean.
    """
    goal, i = mean * size, np.arange(size + 1)
    if start <= np.ceil(2 * goal):  # on 0..k a decreasing mass has mean at most k / 2
        return 1.0
    low, high, largest = STEEPEST * abs(r), FLATTEST, 0.0
    for _ in range(ZOOMS):
        logs = np.linspace(low, high, N_SCALES)
        mass = (1 + i / np.exp(logs)[:, None]) ** (1 / r)  # (a + i)^(1/r) up to a factor
        total, first = np.cumsum(mass, axis=1), np.cumsum(i * mass, axis=1)
        beyond = first > goal * total  # the mean of the mass on 0..k exceeds the goal
        k = np.where(beyond.any(axis=1), beyond.argmax(axis=1) - 1, size)
        within, moment = (sums[np.arange(N_SCALES), k] for sums in (total, first))
        c = np.where(k < size, (k + 1 - goal) / ((k + 1) * within - moment), 1 / within)
        tails = np.where(k + 1 < start, 0.0, 1 - c * total[:, start - 1])  # the rest is at k + 1
        best = int(tails.argmax())
        largest = max(largest, float(tails[best]))
        low, high = logs[max(best - 1, 0)], logs[min(best + 1, N_SCALES - 1)]
    return min(largest, 1.0)
