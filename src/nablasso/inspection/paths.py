"""The regularisation path that belongs to a fitted selector.

* Derivative, sparse gradient and hierarchical estimators, with or without cross-validation: their
  own path, everything but ``alpha`` as it was fitted.
* Automatic estimators: the path of their certificate, (P) on the selected variables in the learned
  metric, at no more than 300 rows, 150 for classes (every term of (P) is a mean over rows, so
  alphas carry over).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import nablasso.estimators as families
from nablasso.data.table import Table, check_weights, prepare
from nablasso.errors import InvalidParameterError
from nablasso.estimators.alpha_path import Path, path
from nablasso.estimators.certificate import PATH_ROWS, PATH_TOL, TOL, Proof, Setting
from nablasso.estimators.derivative_base import DerivativeEstimator
from nablasso.estimators.fitting import spread
from nablasso.estimators.nablasso import AutomaticSelector
from nablasso.estimators.sparse_gradient_base import SparseGradientEstimator
from nablasso.estimators.target import PredictsClasses
from nablasso.estimators.validation import (
    check_new_data,
    column_indices,
    feature_names,
    group_labels,
    groups_of,
)
from nablasso.paths import alpha_grid, walk_path
from nablasso.penalties import GroupLasso, Partition
from nablasso.progress import track
from nablasso.search.few import FewRows
from nablasso.spaces import RepresenterSpace
from nablasso.types import Array

SMALLEST = 1e-3  # last alpha, as a fraction of the first
CLASS_ROWS = 150  # rows of a classifier's certificate: Newton steps at every alpha, for each class
FURTHER = 2.0  # the path of a certificate goes this far beyond the alpha that was chosen


def single_fit(model: Any) -> Any:
    """The estimator without cross-validation that has the parameters of a fitted one."""
    check_is_fitted(model)
    kind = getattr(families, type(model).__name__.removesuffix("CV"), None)
    if kind is None or isinstance(model, AutomaticSelector) or not hasattr(model, "alpha_"):
        raise InvalidParameterError(
            "A path belongs to a fitted derivative, sparse gradient or hierarchical estimator; "
            f"got {model!r}."
        )
    known = model.get_params(deep=False)
    names = kind().get_params(deep=False)
    fitted: dict[str, Any] = {"alpha": float(model.alpha_)}
    if isinstance(model, DerivativeEstimator):
        fitted |= {"ridge": float(model.ridge_), "length_scale": float(model.length_scale_)}
    if known.get("feature_groups") is not None:  # by number, so that arrays will do
        fitted["feature_groups"] = group_labels(model, known["feature_groups"]).tolist()
    if known.get("always_keep") is not None:
        fitted["always_keep"] = column_indices(model, known["always_keep"], "always_keep").tolist()
    if "beta" in getattr(model, "best_params_", {}):
        fitted["beta"] = model.best_params_["beta"]
    return kind(**{name: known[name] for name in names if name in known} | fitted)


def path_of(model: Any, X: Any, y: Any, sample_weight: Any = None, *, n_alphas: int = 30) -> Path:
    """The regularisation path of a fitted selector.

    Parameters
    ----------
    model : estimator
        Fitted on these rows.
    X : array-like, shape (n_samples, n_features)
    y : array-like, shape (n_samples,)
    sample_weight : array-like, shape (n_samples,), optional
    n_alphas : int, default=30

    Returns
    -------
    Path
    """
    if isinstance(model, AutomaticSelector):
        return _metric_path(model, X, y, sample_weight, n_alphas)
    single = single_fit(model)
    chosen = float(model.alpha_)
    eps = 1e-2 if isinstance(model, SparseGradientEstimator) else SMALLEST
    return replace(path(single, X, y, sample_weight, n_alphas=n_alphas, eps=eps), chosen=chosen)


def _metric_path(model: Any, X: Any, y: Any, sample_weight: Any, n_alphas: int) -> Path:
    """(P) of the certificate along alpha."""
    check_is_fitted(model)
    if model.kernel_ is None:
        raise InvalidParameterError(
            "Nothing was selected, so there is no path. Add rows, or look at another model."
        )
    X = check_new_data(model, X)
    d, table = X.shape[1], _selected(model, X, y, sample_weight)
    rows = FewRows.of(table, model._targets(table), groups_of(model, table), len(table.X))
    weights = np.bincount(rows.labels).astype(float)
    weights[rows.kept] = 0.0
    penalty, loss = GroupLasso(Partition(rows.labels), weights), model._loss()
    space = RepresenterSpace(model.kernel_, table.X, model.scales_[table.columns])
    setting = Setting(space, table.weights, penalty, loss, 0.0)
    targets = rows.Y if loss.translates else rows.targets
    problems = setting.problems(list(targets.T), float(model.ridge_))
    top = max(problem.alpha_scale() for problem in problems)
    if not top > 0:
        raise InvalidParameterError(
            "Everything that was selected is in always_keep, which is not penalised, so there is "
            "no path."
        )
    eps = min(0.1, model.alpha_ / top / FURTHER)
    grid = alpha_grid(top, n_alphas, eps)
    solver = setting.solver(TOL if loss.translates else PATH_TOL)
    importances, support = np.zeros((n_alphas, d)), np.zeros((n_alphas, d), dtype=bool)
    walks = zip(*(walk_path(problem, grid[::-1], solver) for problem in problems), strict=True)
    steps = track(walks, n_alphas, "Regularisation path", verbose=model.verbose)
    for row, step in zip(range(n_alphas - 1, -1, -1), steps, strict=True):
        fits = [Proof(*solved) for solved in step]
        support[row] = spread(np.any([f.support for f in fits], axis=0), table, d, fill=False)
        norms = np.max([f.importances for f in fits], axis=0)
        importances[row] = spread(norms, table, d)
    return Path(grid, support, importances, feature_names(model), top, float(model.alpha_))


def _selected(model: Any, X: Array, y: Any, sample_weight: Any) -> Table:
    """Rows and selected columns that the path is about."""
    weights, is_classes = check_weights(sample_weight, len(X)), isinstance(model, PredictsClasses)
    numbers = np.asarray(y)
    if is_classes:
        numbers = np.searchsorted(model.classes_, numbers)
        weights = weights * model._target.class_factors(numbers, weights)[numbers]
    table = prepare(X, numbers.astype(float), weights, standardize=True, centre_y=not is_classes)
    chosen = np.flatnonzero(model.support_[table.columns])
    return table.first(CLASS_ROWS if is_classes else PATH_ROWS).on_columns(chosen)
