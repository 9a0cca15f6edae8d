r"""Regression with a function that is not negative anywhere."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.docs import document
from nablasso.estimators.psd_base import Given, NonnegativeRegressor
from nablasso.nonnegative import Fit, PoissonLoss, RowLoss, SquaredLoss, Task
from nablasso.types import Array

LOSSES = ("squared", "poisson")
SHOWN = 10


@dataclass(eq=False, repr=False)
class NonnegativeMean(NonnegativeRegressor):
    """Shared by the regressor with given and with tuned parameters."""

    _: KW_ONLY
    loss: str = "squared"

    def predict(self, X: Any) -> Array:
        """Mean of the target, never negative.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples,)
        """
        check_is_fitted(self)
        return self._unit * self._block_values(X)[:, 0]

    def predict_gradient(self, X: Any) -> Array:
        """Gradient of the prediction, in the units of ``X`` and ``y``, shape (n, d)."""
        check_is_fitted(self)
        return self._unit * self._block_gradients(X)[:, :, 0]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.loss not in LOSSES:
            raise InvalidParameterError(
                f"loss must be one of {', '.join(LOSSES)}; got {self.loss!r}."
            )

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        X, y, weights = super()._validate(X, y, sample_weight)
        check_not_negative(y)
        return X, y, weights

    def _task(self, table: Table, width: float, weight: float, linear_weight: float) -> Task:
        unit = _unit(table)
        y = table.y / unit
        l1, l2 = self._penalties((True,), weight, linear_weight)
        return Task(
            X=self._inputs(table),
            weights=table.weights,
            loss=self._row_loss(y),
            mixing=np.ones((1, 1)),
            offset=np.zeros(1),
            nonnegative=(True,),
            l1=l1,
            l2=l2,
            scales=self._scales_of(table, width, 1),
            null=np.array([max(float(table.weights @ y), 1e-3)]),
            constant=float(self.fit_intercept),
            rank=self.rank,
            random_state=self._seed(),
        )

    def _row_loss(self, y: Array) -> RowLoss:
        return PoissonLoss(y) if self.loss == "poisson" else SquaredLoss(y[:, None])

    def _unpack(self, task: Task, fitted: Fit, table: Table) -> None:
        self._keep_units(table)
        self._unit, self.functions_ = _unit(table), fitted.functions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags

    def _held_out(self, X: Array, y: Array, weights: Array) -> float:
        values = self._unit * self.functions_[0].values(self._inside(X))
        losses = self._row_loss(y).value(values[:, None])
        return -float(np.average(losses, weights=weights))


@document
@dataclass(eq=False, repr=False)
class PSDRegressor(Given, NonnegativeMean):
    """Regression whose prediction ``v(x)' B v(x)``, ``B`` positive semidefinite, is never negative.

    Minimises the mean loss of ``y``, in units of its mean, plus ``weight * (l1_ratio * Tr A +
    (1 - l1_ratio) / 2 * ||A||_F^2)``. The problem is convex and ``dual_gap_`` bounds what is left.

    Parameters
    ----------
    loss : {"squared", "poisson"}, default="squared"
        Squared error, or half the Poisson deviance with the prediction as the mean itself.
    {psd}
    {psd_width}
    {psd_intercept}
    {psd_metric}

    Attributes
    ----------
    functions_ : list of one function
        The function of standardised inputs, in units of the mean of ``y``.
    {psd_support}
    {psd_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import PSDRegressor
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> y = np.exp(-(X[:, 0] ** 2) / 2)
    >>> model = PSDRegressor(weight=1e-3).fit(X, y)
    >>> bool((model.predict(np.linspace(-9, 9, 500)[:, None]) >= 0).all())
    True
    """


def check_not_negative(y: Array) -> None:
    """Refuse negative targets, naming the rows."""
    bad = np.flatnonzero(y < 0)
    if bad.size:
        shown = ", ".join(str(row) for row in bad[:SHOWN]) + (" ..." if bad.size > SHOWN else "")
        raise InvalidDataError(
            f"Targets of a non-negative function must be at least 0; {bad.size} of {len(y)} rows "
            f"are negative, rows {shown} (smallest value {y.min():g}). Shift y, drop these rows, "
            "or use a regressor of any sign."
        )


def _unit(table: Table) -> float:
    """Weighted mean of the target, 1 when it is zero."""
    mean = float(table.weights @ table.y)
    return mean if mean > 0 else 1.0
