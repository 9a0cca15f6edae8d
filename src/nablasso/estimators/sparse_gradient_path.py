"""The regularisation path of sparse gradient learning, as a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.estimators.fitting import spread
from nablasso.estimators.sparse_gradient import SingleGradientFit, SparseGradientRegressor
from nablasso.estimators.sparse_gradient_cv import gradient_grid
from nablasso.estimators.validation import check_new_data
from nablasso.gradients import GradientFit, union_of
from nablasso.progress import track
from nablasso.types import Array, Index, Mask


@dataclass(frozen=True)
class SparseGradientPath:
    """A path, from the largest alpha to the smallest.

    ``alphas`` (m,), ``importances`` (m, n_features) as ``feature_importances_``, ``support``
    (m, n_features), ``objectives``, ``dual_gaps``, ``relative_gaps`` and ``n_iter`` (m,), and the
    computed ``alpha_max``. An interrupted path ends where it was; points that did not reach ``tol``
    give a :class:`~sklearn.exceptions.ConvergenceWarning`.
    """

    alphas: Array
    importances: Array
    support: Mask
    objectives: Array
    dual_gaps: Array
    relative_gaps: Array
    n_iter: Index
    alpha_max: float


def sparse_gradient_path(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    estimator: SingleGradientFit | None = None,
    X_unlabeled: Any = None,
    n_alphas: int = 40,
    eps: float = 1e-2,
    alphas: Any = None,
) -> SparseGradientPath:
    """Sparse gradient learning along ``alpha``, with warm starts.

    Parameters
    ----------
    X : array-like, shape (n_samples, n_features)
    y : array-like, shape (n_samples,)
    sample_weight : array-like, shape (n_samples,), optional
    estimator : SparseGradientRegressor or SparseGradientClassifier, optional
        Its parameters but ``alpha`` are used; ``SparseGradientRegressor()`` by default.
    X_unlabeled : array-like, shape (n_unlabeled, n_features), optional
    n_alphas : int, default=40
    eps : float, default=1e-2
        The smallest alpha as a fraction of the exact ``alpha_max``.
    alphas : array-like, optional
        The alphas themselves, instead of ``n_alphas`` and ``eps``.

    Returns
    -------
    SparseGradientPath

    Examples
    --------
    >>> from nablasso import sparse_gradient_path
    >>> from nablasso.datasets import make_turlach
    >>> data = make_turlach(60, 6, random_state=0)
    >>> path = sparse_gradient_path(data.X, data.y, n_alphas=5)
    >>> int(path.support[0].sum()), bool(path.support[-1].any())
    (0, True)
    """
    selector = SparseGradientRegressor() if estimator is None else estimator
    if not isinstance(selector, SingleGradientFit):
        raise InvalidParameterError(
            "estimator must be a sparse gradient estimator without cross-validation; got "
            f"{selector!r}."
        )
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
    return SparseGradientPath(
        alphas=grid[: len(found)],
        importances=np.array(importances),
        support=np.array(supports),
        objectives=np.array([sum(f.solution.certificate.primal for f in fits) for fits in found]),
        dual_gaps=np.sum(gaps, axis=1),
        relative_gaps=np.max(np.array(gaps) / np.array(references), axis=1),
        n_iter=np.array([max(fit.solution.n_iter for fit in fits) for fits in found]),
        alpha_max=learner.alpha_max,
    )
