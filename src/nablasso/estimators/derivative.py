r"""Lasso, group lasso and elastic net on partial derivatives.

All three solve, on standardised ``X`` and centred ``y``,

.. math::
    \min_{f, b} \sum_i p_i (y_i - b - f(x_i))^2 + \alpha\,\Omega(\|\partial_1 f\|_n, \dots,
    \|\partial_d f\|_n) + \lambda \|f\|^2

exactly, in the representer space of the kernel (:mod:`nablasso.problems`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from nablasso.estimators.base import DerivativeSelector
from nablasso.estimators.docs import document
from nablasso.estimators.forms import ElasticNetForm, GroupLassoForm, LassoForm


@dataclass(eq=False, repr=False)
class _SingleFit(DerivativeSelector):
    """Fit at one ``alpha`` and ``ridge``."""

    alpha: float | None = None
    ridge: float | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Select variables and fit the function.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,)
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row.

        Returns
        -------
        self
        """
        X, y, weights = self._validate(X, y, sample_weight)
        return self._fit_table(X, self._prepare(X, y, weights), self.alpha, self.ridge, 1.0)


@document
@dataclass(eq=False, repr=False)
class DerivativeLasso(LassoForm, _SingleFit):
    r"""Lasso on partial derivatives: :math:`\Omega = \sum_a \|\partial_a f\|_n`.

    With ``feature_groups`` whole groups are selected, each weighted by its size.

    Parameters
    ----------
    {single}
    {common}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from nablasso import DerivativeLasso
    >>> from nablasso.datasets import make_product
    >>> data = make_product(80, 5, random_state=0)
    >>> model = DerivativeLasso(kernel="polynomial").fit(data.X, data.y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1']
    """


@document
@dataclass(eq=False, repr=False)
class DerivativeGroupLasso(GroupLassoForm, _SingleFit):
    r"""Group lasso on partial derivatives: :math:`\Omega = \sum_g w_g \|\partial_g f\|_n`.

    :math:`\|\partial_g f\|_n^2` is the sum over the variables of the group. Without
    ``feature_groups`` every variable is a group of its own.

    Parameters
    ----------
    {single}
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
class DerivativeElasticNet(ElasticNetForm, _SingleFit):
    r"""Elastic net on partial derivatives.

    .. math:: \Omega = \mu \sum_a \|\partial_a f\|_n + (1 - \mu) \sum_a \|\partial_a f\|_n^2

    with :math:`\mu` = ``l1_ratio``. It keeps correlated variables together more often than the
    lasso.

    Parameters
    ----------
    {single}
    l1_ratio : float, default=0.5
        Strictly between 0 and 1.
    {common}

    Attributes
    ----------
    {attributes}
    """
