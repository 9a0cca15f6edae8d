"""The regularisation path of a derivative estimator, as a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.estimators.derivative import DerivativeLasso, SingleFit
from nablasso.estimators.fitting import Fit, spread
from nablasso.paths import Family, alpha_grid, walk_path
from nablasso.problems import ABOVE
from nablasso.progress import track
from nablasso.solvers import as_solver
from nablasso.types import Array, Index, Mask


@dataclass(frozen=True)
class DerivativePath:
    """A path, from the largest alpha to the smallest.

    ``alphas`` (m,), ``importances`` (m, n_features) as ``feature_importances_``, ``support``
    (m, n_features), ``dual_gaps`` (m,), ``n_iter`` (m,), the computed ``alpha_max`` and the
    ``ridge`` used.
    """

    alphas: Array
    importances: Array
    support: Mask
    dual_gaps: Array
    n_iter: Index
    alpha_max: float
    ridge: float


def derivative_path(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    estimator: SingleFit | None = None,
    X_unlabeled: Any = None,
    n_alphas: int = 50,
    eps: float = 1e-3,
    alphas: Any = None,
) -> DerivativePath:
    """Solve a derivative estimator's problem along ``alpha``, with warm starts.

    Parameters
    ----------
    X : array-like, shape (n_samples, n_features)
    y : array-like, shape (n_samples,)
    sample_weight : array-like, shape (n_samples,), optional
    estimator : DerivativeLasso, DerivativeGroupLasso or DerivativeElasticNet, optional
        Or a classifier of that kind for two classes. Its parameters but ``alpha`` are used;
        ``DerivativeLasso()`` by default.
    X_unlabeled : array-like, shape (n_unlabeled, n_features), optional
    n_alphas : int, default=50
    eps : float, default=1e-3
        The smallest alpha as a fraction of the computed ``alpha_max``.
    alphas : array-like, optional
        The alphas themselves, instead of ``n_alphas`` and ``eps``.

    Returns
    -------
    DerivativePath

    Examples
    --------
    >>> from nablasso import derivative_path
    >>> from nablasso.datasets import make_product
    >>> data = make_product(40, 3, random_state=0)
    >>> path = derivative_path(data.X, data.y, n_alphas=5)
    >>> int(path.support[0].sum())
    0
    """
    selector = DerivativeLasso() if estimator is None else estimator
    if not isinstance(selector, SingleFit):
        raise InvalidParameterError(
            f"estimator must be a derivative estimator without cross-validation; got {selector!r}."
        )
    X, y, weights = selector._validate(X, y, sample_weight)
    family = _family(selector, X, y, weights, X_unlabeled)
    table = family.table
    ridge = family.best_ridge() if selector.ridge is None else float(selector.ridge)
    problem = family.problem(ridge)
    flat = problem.flat_dual()
    top = ABOVE * problem.gauge(flat)
    grid = alpha_grid(top, n_alphas, eps) if alphas is None else _descending(alphas)
    solver = as_solver(selector.solver, selector.tol, selector.max_iter, family.loss)
    steps = track(
        walk_path(problem, grid[::-1], solver, flat), len(grid), "path", verbose=selector.verbose
    )
    shape = (len(grid), X.shape[1])
    importances, support = np.zeros(shape), np.zeros(shape, dtype=bool)
    gaps, n_iter = np.empty(len(grid)), np.empty(len(grid), dtype=np.intp)
    for row, (at_alpha, solution) in zip(range(len(grid) - 1, -1, -1), steps, strict=True):
        fit = Fit(family, at_alpha, solution)
        support[row] = spread(fit.support, table, X.shape[1], fill=False)
        importances[row] = spread(fit.importances, table, X.shape[1])
        gaps[row], n_iter[row] = solution.gap, solution.n_iter
    return DerivativePath(grid, importances, support, gaps, n_iter, top, ridge)


def _family(selector: SingleFit, X: Array, y: Array, weights: Array, X_unlabeled: Any) -> Family:
    """The one family of problems that a path is about."""
    table = selector._prepare(X, y, weights)
    points = selector._points(table, weights, selector._check_unlabeled(X_unlabeled))
    families = selector._families(table, 1.0, points)
    if len(families) > 1:
        raise InvalidParameterError(
            f"A path belongs to one function; {selector!r} fits {len(families)} on these classes. "
            "Give the labels of one class against the rest."
        )
    return families[0]


def _descending(alphas: Any) -> Array:
    grid = np.sort(np.asarray(alphas, dtype=float))[::-1]
    if grid.ndim != 1 or grid.size == 0 or not (np.isfinite(grid) & (grid >= 0)).all():
        raise InvalidParameterError(f"alphas must be a list of numbers >= 0; got {alphas!r}.")
    return grid
