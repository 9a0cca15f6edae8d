r"""Copies of columns that know nothing of y: p-values by redrawn ones, a filter by knockoffs.

**P-values of variables by conditional randomisation** with held-out fits.

For folds k = 1..K let f_k be a predictor fitted without the rows of fold k, and

.. math:: T(X) = \sum_k \sum_{i \in k} w_i \,\ell(y_i, f_k(x_i)).

Hypothesis of variable (or group) j: given the other columns, x_j tells nothing about y. Then x_j on
the held-out rows may as well be drawn again from its conditional distribution; with B such copies

.. math:: p_j = \frac{1 + \#\{b : T(X^{(b)}) \le T(X)\}}{1 + B}

is a p-value: no assumption on y or on f (Candes et al. 2018; Tansey et al. 2018). What is assumed
is the conditional of x_j. The fits are not repeated.

**Conditional.** The model is linear: m_i, the mean of row i given its other columns, is a ridge
regression's leave-one-out prediction (:class:`nablasso.regression.ridge.LeaveOutRidge`). Around it:

- *Continuous*: the leave-one-out residuals, exchanged between the rows, whole rows for a group of
  columns. With unequal weights they are drawn in proportion to them.
- *Discrete* (at most 10 values in each column): the observed values, or combinations of values
  for a group such as the indicators of one factor, so that a redrawn row is a real one. The
  probability of value v in row i is

  .. math:: \pi_i(v) \propto \exp(a_v + b_v^\top m_i),

  a multinomial logistic regression on m_i alone (for a group, on the predicted indicators of its
  combinations). Its likelihood equations reproduce the share of each value and its covariance with
  m_i, which a clipped linear probability does not.

**Sum over folds.** For one fold the p-value is exact. In the sum x_j of one fold has also taught
the predictors of the other folds, which the copies ignore. For a linear fit of a null variable the
sum is, in units of the copies' spread, exactly standard normal for K = 2 and |Z| - 1/|Z|, Z normal,
for large K: smaller tails, so p-values that are valid or conservative.

**Variables that no f_k uses** have T(copy) = T for every copy, so p = 1 and nothing is drawn.

**Sequential draws** (Besag and Clifford 1991): stop at the h-th copy that is as good as the data;
after l draws p = h / l, otherwise B draws give the formula above. Valid for every h and B, and null
variables cost few draws. To let one variable pass Benjamini-Hochberg among m at rate q, B must be
at least m / q - 1 (:func:`enough_draws`).

Cost: K predictions of n / K rows per copy; copies are predicted in batches.

**Many tests at once**: the procedure of Benjamini and Hochberg (1995). With m p-values in
increasing order, reject the k smallest, where k is the largest number with

.. math:: p_{(k)} \le q k / m.

The expected proportion of false rejections is then at most q, for independent p-values and for
positively dependent ones. The adjusted p-value of a test is the smallest q that rejects it,

.. math:: \tilde p_{(i)} = \min_{k \ge i} \; \min(1, m p_{(k)} / k).

**Gaussian knockoffs** of second order and their filter (Candes et al. 2018; Barber, Candes 2015).
Knockoffs ``X~`` of standardised columns with correlation Sigma have, for a diagonal S,

.. math:: \mathrm{Cov}(X, \tilde X) =
    \begin{pmatrix} \Sigma & \Sigma - S \\ \Sigma - S & \Sigma \end{pmatrix},

so that swapping a column with its knockoff changes no first or second moment. They are drawn as

.. math:: \tilde X = X (I - \Sigma^{-1} S) + U (2 S - S \Sigma^{-1} S)^{1/2}, \quad U \sim N(0, I),

with the symmetric root, so that the order of the columns does not matter.

**S of maximum entropy**: maximise :math:`\log\det(2 \Sigma - S) + \sum_j \log s_j`, concave, so
that columns and knockoffs are as unlike as the joint covariance allows. With the other entries
fixed, :math:`s_j = 1 / (2 a_j)`, where a_j is entry (j, j) of the inverse of
:math:`2 \Sigma - S + s_j e_j e_j^\top`: coordinate ascent by updates of rank one, O(d^3) per sweep.

**Sigma** is the sample correlation shrunk towards the identity by Ledoit and Wolf's rule, with
weights p_i adding up to one: positive definite for d >= n too.

**Filter**: with W_j = importance of column j minus that of its knockoff, select W_j >= t at

.. math:: t = \min\{t > 0 : (c + \#\{W_j \le -t\}) / \#\{W_j \ge t\} \le q\}.

With c = 1 the false discovery rate is at most q; fewer than 1/q selections are then impossible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, inv
from sklearn.linear_model import LogisticRegression

from nablasso.errors import InvalidParameterError
from nablasso.progress import run_jobs
from nablasso.regression.ridge import LeaveOutRidge
from nablasso.types import Array, Index, Mask

Predict = Callable[[Array], Array]
RowLoss = Callable[[NDArray[np.generic], Array], Array]  # targets, outputs -> one loss per row
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
TIE = 1e-10  # relative: batches of other sizes may round differently


# ------------------------------------------------------------------ redrawn columns


@dataclass(frozen=True)
class ExchangedResiduals:
    """``mean + residuals`` of rows chosen at random; a permutation where weights are equal."""

    mean: Array  # (n, g)
    residuals: Array
    weights: Array

    def __call__(self, rng: np.random.Generator, size: int) -> Array:
        """``size`` copies."""
        n = len(self.mean)
        if np.ptp(self.weights) == 0:
            rows = np.array([rng.permutation(n) for _ in range(size)])
        else:
            rows = rng.choice(n, size=(size, n), p=self.weights / self.weights.sum())
        return np.asarray(self.mean + self.residuals[rows])


@dataclass(frozen=True)
class DrawnLevels:
    """Levels drawn from each row's own probabilities."""

    levels: Array  # (n_levels, g)
    cumulative: Array  # (n, n_levels)

    def __call__(self, rng: np.random.Generator, size: int) -> Array:
        """``size`` copies."""
        u = rng.random((size, len(self.cumulative)))
        drawn = np.sum(u[:, :, None] >= self.cumulative[:, :-1], axis=2)
        return np.asarray(self.levels[drawn])


@dataclass(frozen=True)
class UserDraws:
    """Copies by a user's ``sampler(X, columns, rng)``."""

    sampler: Sampler
    X: Array
    columns: Index

    def __call__(self, rng: np.random.Generator, size: int) -> Array:
        """``size`` copies."""
        return np.array([self._one(rng) for _ in range(size)])

    def _one(self, rng: np.random.Generator) -> Array:
        drawn = np.asarray(self.sampler(self.X, self.columns, rng), dtype=float)
        n, g = len(self.X), len(self.columns)
        if g == 1 and drawn.shape == (n,):
            drawn = drawn[:, None]
        if drawn.shape != (n, g) or not np.isfinite(drawn).all():
            raise InvalidParameterError(
                f"sampler(X, columns, rng) must return finite columns of shape ({n}, {g}); got "
                f"shape {drawn.shape}."
            )
        return drawn


class LinearConditional:
    """The linear model, for any columns of one table ``X`` (n, d) with weights (n,)."""

    def __init__(self, X: Array, weights: Array) -> None:
        self.X, self.weights = X, weights
        self.ridge = LeaveOutRidge(X, weights)

    def __call__(self, columns: Index) -> Draw:
        """Learn how to redraw these columns."""
        values = self.X[:, columns]
        levels, code = np.unique(values, axis=0, return_inverse=True)
        code = code.ravel()
        few = all(len(np.unique(column)) <= MAX_LEVELS for column in values.T)
        if not few or len(levels) > MAX_LEVELS * len(columns):
            mean = self.ridge.predict(columns, values)
            return ExchangedResiduals(mean, values - mean, self.weights)
        if len(levels) == 1:
            return DrawnLevels(levels, np.ones((len(values), 1)))
        targets = values if len(columns) == 1 else np.eye(len(levels))[code]
        scores = self.ridge.predict(columns, targets)
        probabilities = level_probabilities(scores, code, self.weights)
        return DrawnLevels(levels, np.cumsum(probabilities, axis=1))


def as_conditional(sampler: Any, X: Array, weights: Array) -> Conditional:
    """``"auto"`` is the linear model, anything callable a user's sampler."""
    if callable(sampler):
        return partial(UserDraws, sampler, X)
    if isinstance(sampler, str) and sampler == "auto":
        return LinearConditional(X, weights)
    raise InvalidParameterError(
        'sampler must be "auto" or a function sampler(X, columns, rng) that returns the redrawn '
        f"columns; got {sampler!r}."
    )


def level_probabilities(scores: Array, code: Index, weights: Array) -> Array:
    """Probabilities (n, n_levels) of the levels, from scores that predict them."""
    centred = scores - np.average(scores, axis=0, weights=weights)
    size = np.sqrt(np.average(centred**2, axis=0, weights=weights))
    Z = centred / np.where(size > 0, size, 1.0)
    model = LogisticRegression(C=10.0, max_iter=1000)  # finite where the levels are separated
    model.fit(Z, code, sample_weight=weights * (len(weights) / weights.sum()))
    return np.asarray(model.predict_proba(Z))


# ------------------------------------------------------------------ p-values


@dataclass(frozen=True)
class HeldOut:
    """A predictor's loss on rows that it has not seen.

    ``loss`` takes copies of these rows, shape (size, number of rows, d), and returns their total
    losses, shape (size,). ``used`` marks the columns that the predictor may depend on.
    """

    rows: Index
    loss: Callable[[Array], Array]
    used: Mask


@dataclass(frozen=True)
class PredictionLoss:
    """Weighted sum of a loss per row, from all copies' predictions at once."""

    predict: Predict
    y: NDArray[np.generic]  # of the held-out rows
    weights: Array
    row_loss: RowLoss

    def __call__(self, copies: Array) -> Array:
        """Loss of each copy."""
        size, n, d = copies.shape
        outputs = np.asarray(self.predict(copies.reshape(size * n, d)))
        losses = self.row_loss(np.tile(self.y, size), outputs)
        return np.asarray(losses.reshape(size, n) @ self.weights)


def squared_loss(y: NDArray[np.generic], outputs: Array) -> Array:
    """``(y - f)^2`` per row."""
    return np.asarray((np.asarray(y, dtype=float) - outputs) ** 2)


def log_loss(y: NDArray[np.generic], outputs: Array) -> Array:
    """``-log P(y)`` per row; ``y`` numbers the columns of the probabilities ``outputs``."""
    chosen = outputs[np.arange(len(y)), np.asarray(y, dtype=np.intp)]
    return np.asarray(-np.log(np.maximum(chosen, np.finfo(float).tiny)))


def enough_draws(n_tests: int, fdr: float) -> int:
    """Draws with which a single discovery among ``n_tests`` is possible."""
    return max(MIN_DRAWS, int(np.ceil(n_tests / fdr)))


def randomization_p_values(
    held_out: Sequence[HeldOut],  # one per fold
    X: Array,  # (n, d)
    conditional: Conditional,
    *,
    groups: Sequence[Index] | None = None,
    ranks: Index | None = None,
    seed: int = 0,
    n_draws: int = 999,
    n_exceed: int = N_EXCEED,
    max_cells: int = MAX_CELLS,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Array:
    """P-value of each group of columns; without ``groups``, of each column.

    ``n_draws`` and ``n_exceed`` are B and h. ``ranks`` number the groups' random streams, by
    default by their places: give the place in an order that does not depend on the order of the
    columns, and neither will the result. ``max_cells`` numbers are drawn at once.
    """
    groups = [np.array([a]) for a in range(X.shape[1])] if groups is None else groups
    ranks = np.arange(len(groups)) if ranks is None else ranks
    used = np.any([fold.used for fold in held_out], axis=0)
    tested = [g for g, columns in enumerate(groups) if used[columns].any()]
    arguments = [
        (held_out, X, conditional, groups[g], (seed, int(ranks[g])), n_draws, n_exceed, max_cells)
        for g in tested
    ]
    p_values = np.ones(len(groups))
    p_values[tested] = run_jobs(
        _p_value, arguments, label="randomisation", n_jobs=n_jobs, verbose=verbose
    )
    return p_values


def _p_value(
    held_out: Sequence[HeldOut],
    X: Array,
    conditional: Conditional,
    columns: Index,
    seed: tuple[int, int],
    n_draws: int,
    n_exceed: int,
    max_cells: int,
) -> float:
    """One group's p-value."""
    draw = conditional(columns)
    relevant = [fold for fold in held_out if fold.used[columns].any()]
    observed = sum(float(fold.loss(X[None, fold.rows])[0]) for fold in relevant)
    limit = observed + TIE * abs(observed)
    rng, largest = np.random.default_rng(seed), max(1, max_cells // X.size)
    batches = _losses_of_copies(relevant, X, draw, columns, rng, n_draws, largest)
    return sequential_p_value((losses <= limit for losses in batches), n_draws, n_exceed)


def _losses_of_copies(
    held_out: Sequence[HeldOut],
    X: Array,
    draw: Draw,
    columns: Index,
    rng: np.random.Generator,
    n_draws: int,
    largest: int,
) -> Iterator[Array]:
    """Losses of ``n_draws`` copies, in batches that double up to the ``largest``."""
    size, left = min(FIRST_BATCH, largest), n_draws
    while left > 0:
        size = min(size, left)
        drawn = draw(rng, size)
        total = np.zeros(size)
        for fold in held_out:
            copies = np.repeat(X[None, fold.rows], size, axis=0)
            copies[:, :, columns] = drawn[:, fold.rows]
            total += fold.loss(copies)
        yield total
        left -= size
        size = min(2 * size, largest)


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
    """Benjamini-Hochberg adjusted p-values, in the order of the input."""
    m = len(p_values)
    order = np.argsort(p_values, kind="stable")[::-1]
    scaled = np.asarray(p_values)[order] * m / np.arange(m, 0, -1)
    adjusted = np.empty(m)
    adjusted[order] = np.minimum.accumulate(np.minimum(scaled, 1.0))
    return adjusted


def benjamini_hochberg(p_values: Array, fdr: float) -> Mask:
    """Which tests are rejected at false discovery rate ``fdr``."""
    # q k / m and m p / k round differently: a tie is a rejection
    return np.asarray(adjusted_p_values(p_values) <= fdr * (1 + 1e-12))


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
    Z: Array, correlation: Array, rng: np.random.Generator, column_order: Index | None = None
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
    U[:, np.arange(d) if column_order is None else column_order] = rng.normal(size=(n, d))
    return np.asarray(Z - Z @ inverse_s + U @ root)


def knockoff_threshold(statistics: Array, fdr: float, offset: int = 1) -> float:
    """Smallest t whose estimated false discovery proportion is at most ``fdr``, or infinity."""
    for t in np.unique(np.abs(statistics[statistics != 0])):
        false = offset + int(np.sum(statistics <= -t))
        if false <= fdr * max(1, int(np.sum(statistics >= t))) * (1 + 1e-12):
            return float(t)
    return np.inf
