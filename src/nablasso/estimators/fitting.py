r"""Solved problems, read per column of the input: one, several as one answer, a path along alpha.

A regressor solves one problem, a classifier of K > 2 classes K of them ("one against the rest").
The answer is about all of them at once: a variable is in when it is in for one of them, its norm is
the largest of its norms, and the gaps add up. A :class:`Path` has an answer for every alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.data.table import Table, discrete_columns
from nablasso.errors import InvalidParameterError
from nablasso.estimators.validation import check_count
from nablasso.paths import ProblemFamily
from nablasso.problems import Problem
from nablasso.reading.shares import importances
from nablasso.regression.machine import Refit
from nablasso.solvers import Solution, support_of
from nablasso.spaces import Function
from nablasso.types import Array, Index, Mask

NEGLIGIBLE = 0.01  # of the largest derivative norm: below it, being out counts as certified


@dataclass(frozen=True)
class Proof:
    """A problem and its solution; arrays are per column of the table."""

    problem: Problem
    solution: Solution

    @cached_property
    def support(self) -> Mask:
        """Which variables are in."""
        return support_of(self.problem, self.solution)

    @cached_property
    def unit(self) -> Array:
        """What turns derivative norms into importances: here these are the same."""
        return np.ones(self.problem.space.n_features)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Certified bounds of the exact minimiser's norms, in these units."""
        lower, upper = self.problem.derivative_bounds(self.solution.point)
        return lower * self.unit, upper * self.unit

    @cached_property
    def importances(self) -> Array:
        """Derivative norms in these units, zero where a variable is out.

        A discrete column has no slope between its levels: its norm is that of the difference
        quotients of the penalised function between neighbouring levels.
        """
        g, coef, space = self.solution.point.g, self.solution.coef, self.problem.space
        norms = np.sqrt(np.einsum("ia,ia->a", g, g))
        discrete = discrete_columns(space.X) & self.support
        if discrete.any():
            function = Function(coef.intercept, np.arange(len(norms)), space, coef.u, coef.v)
            levels = importances(function, space.X, self.problem.weights, discrete)
            norms = np.where(discrete, levels, norms)
        return np.where(self.support, norms * self.unit, 0.0)


@dataclass(frozen=True)
class Fit(Proof):
    """A solved problem of a family, and what predicts."""

    family: ProblemFamily

    @cached_property
    def unit(self) -> Array:
        """Standard deviations per deviation of y.

        Losses with a link have no deviation of y; their unit is that of the link.
        """
        scale = self.family.table.y_scale if self.family.loss.translates else 1.0
        return np.asarray(self.family.table.deviations / scale)

    @cached_property
    def certified(self) -> Mask:
        """Where the bounds decide."""
        lower, upper = self.problem.derivative_bounds(self.solution.point)
        return np.where(self.support, lower > 0, upper <= NEGLIGIBLE * lower.max(initial=0.0))

    @cached_property
    def refit(self) -> Refit:
        """The kernel machine on the selected columns."""
        return self.family.refit(self.support)

    def function(self, debias: bool) -> Function:
        """What predicts: the refit, or the penalised function."""
        return self.refit.function if debias else self.family.function(self.solution)

    def left_out_losses(self) -> tuple[Array, Array]:
        """Loss of each row under the null model, and under the refit without the row."""
        loss, table = self.family.loss, self.family.table
        fits = self.family.formulation.fit_intercept or loss.translates
        nothing = np.zeros_like(table.y)
        null = loss.best_intercept(table.y, nothing, table.weights) if fits else 0.0
        left_out = table.y - self.refit.loo_residuals
        return loss.value(table.y, nothing + null), loss.value(table.y, left_out)


def all_certified(fits: list[Fit]) -> Mask:
    """In: one problem proves it. Out: every problem does."""
    proven = np.any([fit.support & fit.certified for fit in fits], axis=0)
    outside = np.all([~fit.support & fit.certified for fit in fits], axis=0)
    return np.asarray(proven | outside)


def spread(values: NDArray[Any], table: Table, d: int, fill: Any = 0.0) -> NDArray[Any]:
    """Values per table column as values per input column; constant columns get ``fill``."""
    out = np.full(d, fill, dtype=values.dtype)
    out[table.columns] = values
    return out


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
