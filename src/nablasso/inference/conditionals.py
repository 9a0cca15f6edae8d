r"""Redraw some columns given the others, from a model of their conditional distribution.

The model is linear: m_i, the mean of row i given its other columns, is a ridge regression's
leave-one-out prediction (:class:`nablasso.regression.ridge.LeaveOutRidge`). Around it:

- *Continuous*: the leave-one-out residuals, exchanged between the rows, whole rows for a group of
  columns. With unequal weights they are drawn in proportion to them.
- *Discrete* (at most 10 values in each column): the observed values, or combinations of values
  for a group such as the indicators of one factor, so that a redrawn row is a real one. The
  probability of value v in row i is

  .. math:: \pi_i(v) \propto \exp(a_v + b_v^\top m_i),

  a multinomial logistic regression on m_i alone (for a group, on the predicted indicators of its
  combinations). Its likelihood equations reproduce the share of each value and its covariance with
  m_i, which a clipped linear probability does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.linear_model import LogisticRegression

from nablasso.errors import InvalidParameterError
from nablasso.regression.ridge import LeaveOutRidge
from nablasso.types import Array, Index

Sampler = Callable[[Array, Index, np.random.Generator], Array]

MAX_LEVELS = 10


class Draw(Protocol):
    """Copies of some columns, all rows: ``(size, n, number of columns)``."""

    def __call__(self, rng: np.random.Generator, size: int) -> Array:
        """``size`` copies."""
        ...


class Conditional(Protocol):
    """``conditional(columns)`` learns how to redraw these columns given the others."""

    def __call__(self, columns: Index) -> Draw:
        """Learn how to redraw these columns."""
        ...


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
    """The linear model of this module, for any columns of one table.

    Parameters
    ----------
    X : array, shape (n, d)
    weights : array, shape (n,)
    """

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


class UserConditional:
    """A user's ``sampler(X, columns, rng) -> redrawn columns`` on one table."""

    def __init__(self, sampler: Sampler, X: Array) -> None:
        self.sampler, self.X = sampler, X

    def __call__(self, columns: Index) -> Draw:
        """Copies of these columns."""
        return UserDraws(self.sampler, self.X, columns)


def as_conditional(sampler: Any, X: Array, weights: Array) -> Conditional:
    """``"auto"`` is the linear model, anything callable a user's sampler."""
    if callable(sampler):
        return UserConditional(sampler, X)
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
