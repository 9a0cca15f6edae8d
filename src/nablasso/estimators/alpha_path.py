"""The regularisation path of an estimator, as a function."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.estimators.validation import check_count
from nablasso.types import Array, Index, Mask


@dataclass(frozen=True)
class Path:
    """A path, from the largest alpha to the smallest; what a family does not have is None.

    Parameters
    ----------
    alphas : array, shape (m,)
    support : array of bool, shape (m, n_features)
    importances : array, shape (m, n_features), or None
        As ``feature_importances_``.
    names : list of str
        The columns.
    alpha_max : float
        The smallest alpha that selects nothing, as computed.
    chosen : float or None
        The alpha of the fitted model that the path belongs to.
    ridge : float
        The one that was used.
    objectives, dual_gaps, relative_gaps : arrays, shape (m,)
        The objective reached, and bounds on its distance from the optimum; over all kernels of a
        hierarchy.
    n_iter : array of int, shape (m,)
    hulls : list of lists of nodes
        The selected kernels of a hierarchy.
    certified : array of bool, shape (m,)
        Whether the gap over all its kernels is within ``tol``.
    rules, reasons : list of str
        Which bound was used, and how each search ended.
    """

    alphas: Array
    support: Mask
    importances: Any  # an array, or None
    names: list[str]
    alpha_max: float
    chosen: float | None = None
    ridge: float | None = None
    objectives: Array | None = None
    dual_gaps: Array | None = None
    relative_gaps: Array | None = None
    n_iter: Index | None = None
    hulls: list[list[Any]] | None = None
    certified: Mask | None = None
    rules: list[str] | None = None
    reasons: list[str] | None = None

    @property
    def entered(self) -> Array:
        """Largest alpha at which each column is selected; zero where never."""
        return np.asarray(np.max(self.alphas[:, None] * self.support, axis=0))

    @property
    def lost_at(self) -> float | None:
        """The largest alpha without a certificate of a hierarchy; None where there always is."""
        lost = self.alphas[:0] if self.certified is None else self.alphas[~self.certified]
        return float(lost.max()) if lost.size else None


def path(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    n_alphas: int | None = None,
    eps: float | None = None,
    alphas: Any = None,
    X_unlabeled: Any = None,
) -> Path:
    """Solve the problem of an estimator along ``alpha``, with warm starts.

    Parameters
    ----------
    estimator : estimator
        With one ``alpha``: :class:`~nablasso.DerivativeLasso`,
        :class:`~nablasso.SparseGradientRegressor`,
        :class:`~nablasso.HierarchicalKernelRegressor`, or their forms for classes. Its parameters
        but ``alpha`` are used; it is not fitted.
    X : array-like, shape (n_samples, n_features)
    y : array-like, shape (n_samples,)
        Numbers or labels; derivative and hierarchical paths are of one function: two classes.
    sample_weight : array-like, shape (n_samples,), optional
    n_alphas : int, optional
        By default 50 for derivatives, 40 for gradients, 30 for hierarchies.
    eps : float, optional
        The smallest alpha as a fraction of the computed ``alpha_max``; by default 1e-3, 1e-2, 1e-5.
    alphas : array-like, optional
        The alphas themselves, instead of ``n_alphas`` and ``eps``.
    X_unlabeled : array-like, shape (n_unlabeled, n_features), optional
        Rows without a target, where the estimator's ``fit`` takes them.

    Returns
    -------
    Path

    Examples
    --------
    >>> from nablasso import DerivativeLasso, path
    >>> from nablasso.datasets import make_product
    >>> data = make_product(40, 3, random_state=0)
    >>> along = path(DerivativeLasso(), data.X, data.y, n_alphas=5)
    >>> int(along.support[0].sum())
    0
    """
    if isinstance(estimator, type) or not hasattr(estimator, "_path"):
        raise InvalidParameterError(
            "A path belongs to an estimator with one alpha, such as DerivativeLasso(), "
            f"SparseGradientRegressor() or HierarchicalKernelRegressor(); got {estimator!r}."
        )
    check_count(n_alphas, "n_alphas", none=True)
    if eps is not None and not (isinstance(eps, Real) and 0 < float(eps) < 1):
        raise InvalidParameterError(f"eps must lie between 0 and 1; got {eps!r}.")
    asked = {"n_alphas": n_alphas, "eps": eps, "alphas": alphas, "X_unlabeled": X_unlabeled}
    given = {name: value for name, value in asked.items() if value is not None}
    walked: Path = estimator._path(X, y, sample_weight, **given)
    return walked


def descending(alphas: Any) -> Array:
    """A list of numbers, the largest first."""
    grid = np.sort(np.asarray(alphas, dtype=float))[::-1]
    if grid.ndim != 1 or grid.size == 0 or not (np.isfinite(grid) & (grid >= 0)).all():
        raise InvalidParameterError(f"alphas must be a list of numbers >= 0; got {alphas!r}.")
    return grid
