r"""Lasso, group lasso and elastic net on partial derivatives.

All three solve, on standardised ``X`` and, where the loss allows it, centred ``y``,

.. math::
    \min_{f, b} \sum_i p_i\, l(y_i, b + f(x_i)) + \alpha\,\Omega(\|\partial_1 f\|_n, \dots,
    \|\partial_d f\|_n) + \lambda \|f\|^2

exactly, in the representer space of the kernel (:mod:`nablasso.problems`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from nablasso.estimators.base import DerivativeEstimator
from nablasso.estimators.docs import document
from nablasso.estimators.forms import ElasticNetForm, GroupLassoForm, LassoForm
from nablasso.estimators.from_statistics import StatisticsRegressor
from nablasso.estimators.validation import check_non_negative
from nablasso.paths import StatisticsFamily
from nablasso.spaces import SufficientStatistics


@dataclass(eq=False, repr=False)
class SingleFit(DerivativeEstimator):
    """Fit at one ``alpha`` and ``ridge``."""

    alpha: float | None = None
    ridge: float | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, X_unlabeled: Any = None) -> Self:
        """Select variables and fit the function.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row.
        X_unlabeled : array-like, shape (n_unlabeled, n_features), optional
            Rows without a target at which derivatives are penalised too.

        Returns
        -------
        self
        """
        X, y, weights = self._validate(X, y, sample_weight)
        table = self._prepare(X, y, weights)
        points = self._points(table, weights, self._check_unlabeled(X_unlabeled))
        return self._fit_table(X, table, self.alpha, self.ridge, 1.0, points)


@dataclass(eq=False, repr=False)
class _SingleRegressor(SingleFit, StatisticsRegressor):
    """A regressor at one ``alpha`` and ``ridge``."""

    def fit_statistics(self, statistics: SufficientStatistics) -> Self:
        """Select variables and fit the function from sums over rows.

        Parameters
        ----------
        statistics : SufficientStatistics
            Of a space that :meth:`freeze` made. ``ridge=None`` chooses by their folds.

        Returns
        -------
        self
        """
        family = StatisticsFamily(statistics, self._from(statistics))
        check_non_negative(self.alpha, "alpha")
        return self._fit_family(family, self.alpha, self.ridge)


@document
@dataclass(eq=False, repr=False)
class DerivativeLasso(LassoForm, _SingleRegressor):
    r"""Lasso on partial derivatives: :math:`\Omega = \sum_a \|\partial_a f\|_n`.

    With ``feature_groups`` whole groups are selected, each weighted by its size.

    Parameters
    ----------
    {single}
    {loss}
    {common}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from nablasso import DerivativeLasso
    >>> from nablasso.datasets import make_product
    >>> data = make_product(80, 5, random_state=0)
    >>> model = DerivativeLasso(kernel="polynomial", alpha=0.1).fit(data.X, data.y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1']
    """


@document
@dataclass(eq=False, repr=False)
class DerivativeGroupLasso(GroupLassoForm, _SingleRegressor):
    r"""Group lasso on partial derivatives: :math:`\Omega = \sum_g w_g \|\partial_g f\|_n`.

    :math:`\|\partial_g f\|_n^2` is the sum over the variables of the group. Without
    ``feature_groups`` every variable is a group of its own.

    Parameters
    ----------
    {single}
    {loss}
    group_weights : {"size", "sqrt"} or array-like, default="size"
        ``w_g``: the group's size, its square root, or one number per group in the order of
        ``feature_groups``.
    {common}

    Attributes
    ----------
    {attributes}
    """


@document
@dataclass(eq=False, repr=False)
class DerivativeElasticNet(ElasticNetForm, _SingleRegressor):
    r"""Elastic net on partial derivatives.

    .. math:: \Omega = \mu \sum_a \|\partial_a f\|_n + (1 - \mu) \sum_a \|\partial_a f\|_n^2

    with :math:`\mu` = ``l1_ratio``. It keeps correlated variables together more often than the
    lasso.

    Parameters
    ----------
    {single}
    {loss}
    l1_ratio : float, default=0.5
        Strictly between 0 and 1.
    {common}

    Attributes
    ----------
    {attributes}
    """
