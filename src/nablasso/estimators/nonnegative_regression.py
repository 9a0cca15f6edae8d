r"""What the regressors with functions that stay in their range share: inputs, metric, prediction.

``metric`` says which columns the functions see, and in which scales: all alike; those that the
search of the one call finds; or every column and its rank, in the scales of largest evidence
(:mod:`nablasso.nonnegative.scales`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table, check_weights
from nablasso.errors import InvalidParameterError
from nablasso.estimators.answer import CLEAR_GAIN
from nablasso.estimators.nonnegative import NonnegativeEstimator, WidthAndWeights, width_of
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.target import Data
from nablasso.estimators.validation import (
    check_new_data,
    check_training_data,
    feature_names,
    group_labels,
    groups_of,
)
from nablasso.nonnegative import FittedTask, RowLoss, Task
from nablasso.nonnegative.scales import Inputs, evidence_scales
from nablasso.regression.paired import saving
from nablasso.search.decide import search
from nablasso.search.families import GAUSSIAN
from nablasso.search.few import FewRows
from nablasso.types import Array

SEARCH_ROWS = 500  # rows that say which columns matter
SMALLEST = 1e-6  # squared residuals below, in units of their mean, are as good as zero


@estimator
class NonnegativeRegressor(RegressorMixin, NonnegativeEstimator, ABC):
    """What the regressors share: a class says what its loss is, and how outputs are made.

    Attributes
    ----------
    support_ : array of bool, shape (n_features,)
        Columns that the functions depend on: all that vary, or those that
        ``metric="adaptive"`` found.
    scales_ : array, shape (n_features,)
        Multiplier of each standardised column inside the kernel, zero outside the support; with
        ``metric="evidence"`` the root of the sum of squares of those of a column and its rank.
    """

    _: KW_ONLY
    fit_intercept: bool = parameter(
        True,
        "bool",
        "Let every function have a constant part, penalised like the rest: the kernel is "
        "``k + 1``.",
    )
    metric: str | None = parameter(
        None,
        'None, "adaptive" or "evidence"',
        '``"adaptive"`` first finds out which columns matter and how much '
        "(:mod:`nablasso.search.decide`), and the kernel sees them in that metric. "
        '``"evidence"`` drops no column: it gives each, and its rank, the scale of largest '
        "evidence of a Gaussian process.",
    )
    feature_groups: Any = parameter(
        None,
        "lists of columns, mapping or labels",
        "With a metric: columns that are selected, or scaled, together.",
    )
    always_keep: Any = parameter(
        None, "columns", 'With ``metric="adaptive"``: columns that stay in.'
    )

    _flat = True  # whether predictions have the shape (n_samples,)

    @abstractmethod
    def _row_loss(self, Y: Array) -> RowLoss:
        """The loss of targets (n, q), in whichever units."""

    @abstractmethod
    def _made_of(self, Y: Array, table: Table) -> dict[str, Any]:
        """How outputs are made: ``nonnegative``, ``null`` and other parts of a Task.

        Unless said otherwise outputs are the functions, in the units of the targets.
        """

    def predict(self, X: Any) -> Any:
        """Predict the target: what the class says that its outputs are.

        Returns
        -------
        array, shape (n_samples,), or (n_samples, n_outputs) of several outputs
        """
        check_is_fitted(self)
        Z = self._outputs(self._values(check_new_data(self, X)))
        return Z[:, 0] if self._flat else Z

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.metric not in (None, "adaptive", "evidence"):
            raise InvalidParameterError(
                f'metric must be None, "adaptive" or "evidence"; got {self.metric!r}.'
            )

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Data:
        X, y = check_training_data(self, X, y)
        return Data(X, y, check_weights(sample_weight, len(X)))

    def _task(self, table: Table, penalty: WidthAndWeights) -> Task:
        Y, X = self._targets_of(table), self._inputs_of(table).seen(table.X)
        made = {"centre": 0.0, "unit": 1.0, **self._made_of(Y, table)}
        return self._made(
            table,
            penalty,
            X=X,
            loss=self._row_loss((Y - made["centre"]) / made["unit"]),
            scales=self._scales_of(X, table, penalty.width, len(made["nonnegative"])),
            constant=float(self.fit_intercept),
            **made,
        )

    def _unpack(self, task: Task, fitted: FittedTask, table: Table) -> None:
        self._inputs, self._centre, self._unit = self._inputs_of(table), task.centre, task.unit
        self._offset, self._mixing = task.offset, task.mixing
        self.functions_ = fitted.functions
        self.scales_ = np.zeros(int(self.n_features_in_))
        if table.columns.size:
            largest = task.scales.max(axis=0).reshape(-1, table.columns.size)
            self.scales_[table.columns] = np.sqrt(np.sum(largest**2, axis=0))

    def _held_out(self, data: Data) -> float:
        loss = self._row_loss(np.reshape(data.y, (len(data.y), -1)))
        losses = loss.value(self._outputs(self._values(data.X)))
        return -float(np.average(losses, weights=data.weights))

    def _judge(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Negative mean loss of any rows."""
        check_is_fitted(self)
        X, y = check_new_data(self, X), column_or_1d(np.asarray(y, dtype=float))
        check_consistent_length(X, y)
        return self._held_out(Data(X, y, check_weights(sample_weight, len(y))))

    def _values(self, X: Array) -> Array:
        """Values of the functions at rows of the input, shape (k, m)."""
        seen = self._inputs(X)
        return np.column_stack([function.values(seen) for function in self.functions_])

    def _outputs(self, F: Array) -> Array:
        """Outputs in the units of the target from values of the functions, shape (k, p)."""
        return np.asarray(self._centre + self._unit * (self._offset + F @ self._mixing.T))

    def _inputs_of(self, table: Table) -> Inputs:
        return Inputs(table, ranked=self.metric == "evidence")

    def _look_at(self, data: Data) -> Table:
        """Relative scale of every column of the input for each function, zero when dropped."""
        table = super()._look_at(data)
        d, learned = int(self.n_features_in_), np.ones((1, len(table.columns)))
        if self.metric == "evidence":
            learned = self._by_evidence(table)
        elif self.metric == "adaptive" and table.X.shape[1]:
            scales, gain = self._learned(table)
            learned = scales / table.deviations
            found = "clear" if gain >= CLEAR_GAIN else "too few rows"
            self.selection_status_ = found if scales.any() else "none found"
        shape = (len(learned), 2 if self.metric == "evidence" else 1)  # columns and their ranks
        self._relative = np.zeros((*shape, d))
        self._relative[:, :, table.columns] = learned.reshape(*shape, len(table.columns))
        self._keep_support(self._relative.any(axis=1))
        return table

    def _keep_support(self, used: Any) -> None:
        """Columns that each function uses, shape (m, d)."""
        self.support_ = np.asarray(used.any(axis=0))

    def _by_evidence(self, table: Table) -> Array:
        """Scales of the columns and of their ranks, one row for all functions."""
        if not table.X.shape[1]:
            return np.ones((1, 0))
        labels = group_labels(self, self.feature_groups)[table.columns]
        doubled = np.concatenate([labels, labels + 1 + labels.max(initial=0)])
        units = np.concatenate([table.deviations, np.ones(len(labels))])
        X, targets = self._inputs_of(table).seen(table.X), self._targets_of(table)
        return np.asarray(evidence_scales(X / units, targets, table.weights, doubled) / units)[None]

    def _targets_of(self, table: Table) -> Array:
        """Targets (n, q) that say how fast functions change along the columns."""
        return table.y[:, None]

    def _learned(self, table: Table) -> tuple[Array, float]:
        """Scales of the table's columns, one row per function or one for all, and their gain."""
        found = [learn(self, table, y) for y in self._targets_of(table).T]
        return np.max([one.scales for one in found], axis=0)[None], max(one.gain for one in found)

    def _words(self) -> list[str]:
        """Which columns matter, where that was asked for."""
        if self.metric != "adaptive":
            return []
        return [f"It depends on {named(self, self.support_)}."]

    def _scales_of(self, X: Array, table: Table, width: float, n_blocks: int) -> Array:
        """Multipliers of what kernels see of a table for each function, shape (m, d)."""
        if not table.X.shape[1]:
            return np.ones((n_blocks, 1))
        relative = self._relative[:, :, table.columns].reshape(len(self._relative), -1)
        made = [
            scales / (width * width_of(X * scales, table.weights, self.length_scale))
            for scales in relative
        ]
        return np.array([made[min(b, len(made) - 1)] for b in range(n_blocks)])


class Learned(NamedTuple):
    """Relative scale of each column of the table, zero when dropped, and held-out residuals.

    ``gain`` is what they save over the mean, in standard errors.
    """

    scales: Array
    residuals: Array
    gain: float = 0.0


def learn(selector: Any, table: Table, targets: Array) -> Learned:
    """Columns that the mean of ``targets`` depends on, and how much, decided out of sample.

    By the search of the one call.
    """
    n = min(len(table.X), SEARCH_ROWS)
    rows = FewRows.of(table, targets[:, None], groups_of(selector, table), n)
    if np.ptp(rows.targets) == 0 or not rows.X.shape[1]:
        kept = np.isin(rows.labels, rows.kept).astype(float)
        return Learned(kept, rows.targets[:, 0] - rows.unit[0])
    found = search(rows, rows.rules.walked_rows)
    residuals = found.few.residuals(found.model, rows)[:, 0]
    scales = np.zeros(len(rows.labels))
    if len(found.model.groups):
        gaussian = rows.tune(GAUSSIAN, found.model.groups)
        learned = np.zeros(rows.n_groups)
        learned[gaussian.groups] = np.sqrt(gaussian.variances)
        floor = 0.05 * float(learned.max()) or 1.0  # what was chosen stays
        learned[gaussian.groups] = np.maximum(learned[gaussian.groups], floor)
        scales = learned[rows.labels] / float(learned.max())
    centred = rows.standardised(found.few)[:, 0]
    gain = saving(centred**2, residuals**2, rows.weights)[1]
    return Learned(scales, residuals * float(found.few.unit[1][0]), gain)


def learn_location_and_spread(selector: Any, table: Table) -> tuple[Learned, Learned]:
    """Columns that the mean of the target depends on, and those of its noise.

    The latter by logs of squared residuals, whose mean is the log of the noise's variance, up to a
    number.
    """
    mean = learn(selector, table, table.y)
    squares, targets = mean.residuals**2, np.zeros(len(table.y))
    size = float(squares.mean()) or 1.0
    targets[: len(squares)] = np.log(np.maximum(squares / size, SMALLEST))
    return mean, learn(selector, table, targets)


def named(fitted: BaseEstimator, mask: Any) -> str:
    """Names of columns in a sentence."""
    names = [name for name, kept in zip(feature_names(fitted), mask, strict=True) if kept]
    return ", ".join(names) or "no column"
