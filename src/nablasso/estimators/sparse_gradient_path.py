"""The regularisation path of sparse gradient learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.estimators.alpha_path import Path
from nablasso.estimators.cross_validation import positive_list
from nablasso.estimators.fitting import spread
from nablasso.estimators.validation import check_new_data, feature_names
from nablasso.gradients import GradientFit, Learner, union_of
from nablasso.paths import alpha_grid
from nablasso.progress import track
from nablasso.types import Array

SMALLEST_FRACTION = 1e-2  # of alpha_max
WIDER = 10.0  # forms without alpha_max: the grid begins at this many units and is as much longer


def gradient_grid(
    alphas: Any, learner: Learner, form: str, smallest: float = SMALLEST_FRACTION
) -> Array:
    """Decreasing alphas: as given, or a number of them from the top of the learner's problem."""
    if isinstance(alphas, int | np.integer) and not isinstance(alphas, bool):
        if alphas < 1:
            raise InvalidParameterError(
                f"alphas must be a positive number or a list; got {alphas!r}."
            )
        top, wider = learner.alpha_scale or 1.0, 1.0 if form == "lasso" else WIDER
        return alpha_grid(wider * top, int(alphas), smallest / wider)
    return np.sort(positive_list(alphas, "alphas"))[::-1].copy()


def gradient_path(
    selector: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    X_unlabeled: Any = None,
    n_alphas: int = 40,
    eps: float = SMALLEST_FRACTION,
    alphas: Any = None,
) -> Path:
    """Sparse gradient learning along ``alpha``, with warm starts.

    An interrupted path ends where it was; points that did not reach ``tol`` give a
    :class:`~sklearn.exceptions.ConvergenceWarning`.
    """
    X, y, weights = selector._validate(X, y, sample_weight)
    table = selector._prepare(X, y, weights)
    unlabelled = None if X_unlabeled is None else check_new_data(selector, X_unlabeled)
    learner = selector._learner(
        table, selector._points(table, weights, unlabelled), float(selector.tol)
    )
    selector._warn_of_isolated(learner.data)
    grid = gradient_grid(n_alphas if alphas is None else alphas, learner, selector.penalty, eps)
    unit = selector._importance_unit(table)
    supports, importances = [], []
    found: list[list[GradientFit]] = []
    steps = track(selector._walk(learner, grid), len(grid), "path", verbose=selector.verbose)
    for fits in steps:
        support, own = union_of(fits), fits[0].data.table
        norms = np.where(support, np.max([fit.norms for fit in fits], axis=0), 0.0)
        supports.append(spread(support, own, X.shape[1], fill=False))
        importances.append(spread(norms * own.deviations / unit, own, X.shape[1]))
        found.append(fits)
        for fit in fits:
            selector._warn_unless_converged(fit)
    gaps = [[fit.solution.gap for fit in fits] for fits in found]
    references = [[fit.problem.reference for fit in fits] for fits in found]
    return Path(
        grid[: len(found)],
        np.array(supports),
        np.array(importances),
        feature_names(selector),
        learner.alpha_max,
        objectives=np.array([sum(f.solution.certificate.primal for f in fits) for fits in found]),
        dual_gaps=np.sum(gaps, axis=1),
        relative_gaps=np.max(np.array(gaps) / np.array(references), axis=1),
        n_iter=np.array([max(fit.solution.n_iter for fit in fits) for fits in found]),
    )
