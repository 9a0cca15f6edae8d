"""Predictions of rows that the predictor did not see, and how they were made.

* Automatic estimators: leave-one-out in closed form, with the variables and the kernel that all
  rows chose.
* The others: five folds, the variables selected anew in each at the chosen alpha.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict

from nablasso.data.table import check_weights, prepare
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.estimators.validation import check_new_data
from nablasso.inspection.paths import single_fit
from nablasso.losses import Logistic
from nablasso.regression.machine import refit
from nablasso.report.content import HeldOut, HeldOutClasses
from nablasso.types import Array, Index

N_FOLDS = 5
MAX_ROWS = 1000  # of leave-one-out by Newton steps
LEAVE_ONE_OUT = (
    "Leave-one-out: each row is predicted from all the others, with the variables and the kernel "
    "that all rows together chose."
)
FOLDS = (
    f"{N_FOLDS} folds: each row is predicted by a model fitted without its fold, the variables "
    "selected anew at the chosen alpha."
)


def held_out(
    model: Any, X: Any, y: Any, sample_weight: Any = None
) -> HeldOut | HeldOutClasses | None:
    """Observed and predicted targets of left-out rows; None where the model does not predict."""
    if not hasattr(model, "predict"):
        return None
    X = check_new_data(model, X)
    y, weights = np.asarray(y), check_weights(sample_weight, len(X))
    if isinstance(model, AutomaticSelector):
        if is_classifier(model):
            return _class_leave_one_out(model, X, y, weights)
        return _leave_one_out(model)
    return _folds(model, X, y, weights)


def _leave_one_out(model: Any) -> HeldOut:
    """The left-out predictions that the fit kept."""
    predictor, mean = model._predictor, model._y_mean
    return _numbers(
        predictor.observed + mean, predictor.left_out + mean, predictor.weights, LEAVE_ONE_OUT
    )


def _class_leave_one_out(model: Any, X: Array, y: Any, weights: Array) -> HeldOutClasses:
    """Kernel logistic regression in the metric of the fit, each row left out."""
    codes = np.searchsorted(model.classes_, y)
    factors = model._class_factors(codes, weights)
    table = prepare(
        X, codes.astype(float), weights * factors[codes], standardize=True, centre_y=False
    )
    rows = slice(0, MAX_ROWS)
    shares = table.weights[rows] / table.weights[rows].sum()
    chosen = np.flatnonzero(model.support_[table.columns])
    columns = table.columns[chosen]
    odds = []
    for target in model._signed_targets(table.y[rows]).T:
        machine = refit(
            Logistic(),
            model.kernel_,
            table.X[rows][:, chosen],
            target,
            shares,
            columns,
            scales=model.scales_[columns],
            fit_intercept=True,
        )
        odds.append(target - machine.loo_residuals)
    scores = np.column_stack(odds)
    predicted = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    observed = table.y[rows].astype(int)
    counts = shares / factors[observed]
    counts *= min(len(X), MAX_ROWS) / counts.sum()
    return _classes(model.classes_, observed, predicted, counts, LEAVE_ONE_OUT)


def _folds(model: Any, X: Array, y: Any, weights: Array) -> HeldOut | HeldOutClasses | None:
    kept = weights > 0
    X, y, weights = X[kept], y[kept], weights[kept]
    classes = is_classifier(model)
    if len(y) < 2 * N_FOLDS or (classes and np.unique(y, return_counts=True)[1].min() < N_FOLDS):
        return None
    folds = (StratifiedKFold if classes else KFold)(N_FOLDS, shuffle=True, random_state=0)
    predicted = cross_val_predict(
        single_fit(model), X, y, cv=folds, params={"sample_weight": weights}
    )
    if not classes:
        return _numbers(np.asarray(y, float), predicted, weights / weights.sum(), FOLDS)
    observed, found = (np.searchsorted(model.classes_, labels) for labels in (y, predicted))
    return _classes(model.classes_, observed, found, weights, FOLDS)


def _numbers(observed: Array, predicted: Array, weights: Array, how: str) -> HeldOut:
    p = weights / weights.sum()
    error = float(p @ (observed - predicted) ** 2)
    spread = float(p @ (observed - p @ observed) ** 2)
    r2 = 1 - error / spread if spread > 0 else 0.0
    pairs = (tuple(float(f"{value:.6g}") for value in values) for values in (observed, predicted))
    seen, found = pairs
    return HeldOut(seen, found, how, r2, float(np.sqrt(error)))


def _classes(
    labels: NDArray[Any],
    observed: Index,
    predicted: Index,
    weights: Array,
    how: str,
) -> HeldOutClasses:
    counts = np.zeros((len(labels), len(labels)))
    np.add.at(counts, (observed, predicted), weights)
    total = counts.sum()
    return HeldOutClasses(
        labels=tuple(map(str, labels.tolist())),
        counts=tuple(tuple(map(float, row)) for row in counts),
        how=how,
        accuracy=float(np.trace(counts) / total),
        largest_share=float(counts.sum(axis=1).max() / total),
    )
