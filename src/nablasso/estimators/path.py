"""The regularisation path of a derivative estimator, as a function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.estimators.derivative import DerivativeLasso, _SingleFit
from nablasso.exceptions import InvalidParameterError
from nablasso.paths import Family, alpha_grid, support_of, walk_path
from nablasso.problems import ABOVE
from nablasso.progress import track
from nablasso.solvers import as_solver

Array = NDArray[np.float64]


@dataclass(frozen=True)
class DerivativePath:
    """A path, from the largest alpha to the smallest.

    ``alphas`` (m,), ``importances`` (m, n_features) as ``feature_importances_``, ``support``
    (m, n_features), ``dual_gaps`` (m,), ``n_iter`` (m,), the computed ``alpha_max`` and the
    ``ridge`` used.
    """

    alphas: Array
    importances: Array
    support: NDArray[np.bool_]
    dual_gaps: Array
    n_iter: NDArray[np.intp]
    alpha_max: float
    ridge: float


def derivative_path(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    estimator: _SingleFit | None = None,
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
        Its parameters but ``alpha`` are used; ``DerivativeLasso()`` by default.
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
    if not isinstance(selector, _SingleFit):
        raise InvalidParameterError(
            f"estimator must be a derivative estimator without cross-validation; got {selector!r}."
        )
    X, y, weights = selector._validate(X, y, sample_weight)
    family = Family(selector._prepare(X, y, weights), selector._formulation())
    ridge = family.best_ridge() if selector.ridge is None else float(selector.ridge)
    problem = family.problem(ridge)
    flat = problem.flat_dual()
    top = ABOVE * problem.gauge(flat)
    grid = alpha_grid(top, n_alphas, eps) if alphas is None else _descending(alphas)
    solver = as_solver(selector.solver, selector.tol, selector.max_iter)
    steps = track(
        walk_path(problem, grid[::-1], solver, flat), len(grid), "path", verbose=selector.verbose
    )
    table, shape = family.table, (len(grid), X.shape[1])
    importances, support = np.zeros(shape), np.zeros(shape, dtype=bool)
    gaps, n_iter = np.empty(len(grid)), np.empty(len(grid), dtype=np.intp)
    for row, (at_alpha, solution) in zip(range(len(grid) - 1, -1, -1), steps, strict=True):
        mask = support_of(at_alpha, solution)
        norms = np.sqrt(np.einsum("ia,ia->a", solution.point.g, solution.point.g))
        support[row, table.columns] = mask
        norms *= table.deviations / table.y_scale
        importances[row, table.columns] = np.where(mask, norms, 0.0)
        gaps[row], n_iter[row] = solution.gap, solution.n_iter
    return DerivativePath(grid, importances, support, gaps, n_iter, top, ridge)


def _descending(alphas: Any) -> Array:
    grid = np.sort(np.asarray(alphas, dtype=float))[::-1]
    if grid.ndim != 1 or grid.size == 0 or not (np.isfinite(grid) & (grid >= 0)).all():
        raise InvalidParameterError(f"alphas must be a list of numbers >= 0; got {alphas!r}.")
    return grid
