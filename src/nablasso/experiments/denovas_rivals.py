"""What Rosasco et al. (2013) compare with, and the library's default, each on the same rows.

Lasso on monomials ("l1-features"): supports of a path on the training rows, ridge regression on the
selected monomials, both chosen by the validation rows. Multiple kernel learning (MKL): the same
with additive models and powers. Hierarchical kernel learning (HKL) chooses by the validation rows
and is then fitted to both sets, which is more than the paper gave it; it has no refit. COSSO is no
part of the library and is not run; MKL is the sparse additive model here. The default sees training
and validation rows as one table and divides them as it likes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path
from sklearn.model_selection import PredefinedSplit
from sklearn.preprocessing import PolynomialFeatures

from nablasso.estimators import (
    HierarchicalKernelRegressorCV,
    MultipleKernelRegressor,
    NablassoRegressor,
    hierarchical_path,
)
from nablasso.experiments.two_steps import Chosen, Rows, validated
from nablasso.kernels import Linear

Array = NDArray[np.float64]

LASSO_ALPHAS = np.logspace(0, -3, 30)  # of the largest
MKL_ALPHAS, HKL_ALPHAS = 20, 12
BETAS = (1.2, 6.0)
MOST_KERNELS = 100


class Features:
    """Functions of the columns, with mean zero and deviation one on the training rows."""

    def __init__(self, rows: Rows, raw: Callable[[Array], Array]) -> None:
        self._raw = raw
        F = raw(rows.X)
        self._centre, scale = F.mean(axis=0), F.std(axis=0)
        self._scale = np.where(scale > 0, scale, 1.0)
        F, V = self(rows.X), self(rows.X_validation)
        self.rows = Rows(F, rows.y, V, rows.y_validation, F[:0], rows.y[:0])

    def __call__(self, new: Array) -> Array:
        """At new rows."""
        return np.asarray((self._raw(new) - self._centre) / self._scale)

    def validated(self, masks: Iterable[NDArray[np.bool_]]) -> Chosen:
        """Ridge regression on the best of some sets of features; the support is of features."""
        chosen = validated(self.rows, Linear(), 1.0, masks)
        return Chosen(chosen.support, lambda new: chosen.predict(self(new)))


def lasso_on_monomials(rows: Rows, degree: int) -> Chosen:
    """A variable is selected when one of its monomials is."""
    monomials = PolynomialFeatures(degree, include_bias=False).fit(rows.X)
    features = Features(rows, monomials.transform)
    F, y = features.rows.X, rows.y - rows.y.mean()
    alphas = np.abs(F.T @ y).max() / len(y) * LASSO_ALPHAS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the end of the path: all rows fitted
        _, w, _ = lasso_path(F, y, alphas=alphas, tol=1e-3, max_iter=2000)
    chosen = features.validated(list(w.T != 0))
    return Chosen((monomials.powers_[chosen.support] > 0).any(axis=0), chosen.predict)


def multiple_kernels(rows: Rows, degree: int) -> Chosen:
    """MKL, one polynomial kernel per variable; then ridge regression on the selected powers."""
    model = MultipleKernelRegressor(decomposition="polynomial", degree=degree)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = hierarchical_path(rows.X, rows.y, estimator=model, n_alphas=MKL_ALPHAS, eps=1e-3)
    powers = range(1, degree + 1)
    features = Features(rows, lambda X: np.hstack([X**j for j in powers]))
    chosen = features.validated(list(np.tile(path.support, degree)))
    return Chosen(chosen.support[: rows.X.shape[1]], chosen.predict)


def hierarchical_kernels(rows: Rows, degree: int, decomposition: str = "polynomial") -> Chosen:
    """HKL over all products of polynomials (or of Hermite polynomials) up to a degree."""
    model = HierarchicalKernelRegressorCV(
        decomposition=decomposition,
        degree=degree,
        betas=BETAS,
        alphas=HKL_ALPHAS,
        max_kernels=MOST_KERNELS,
        selection_rule="min",
        prune=False,
        debias=False,
        random_state=0,
    )
    X, y = rows.together()
    fold = np.where(np.arange(len(y)) < len(rows.y), -1, 0)
    return _fitted(model.set_params(cv=PredefinedSplit(fold)), X, y)


def default(rows: Rows, seed: int) -> Chosen:
    """``NablassoRegressor()``."""
    return _fitted(NablassoRegressor(random_state=seed), *rows.together())


def _fitted(model: Any, X: Array, y: Array) -> Chosen:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the row says what came of it
        model.fit(X, y)
    return Chosen(np.asarray(model.support_), model.predict)
