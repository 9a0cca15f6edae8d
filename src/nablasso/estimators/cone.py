r"""Several outputs that stay in a polyhedral cone: non-negative, increasing, convex, any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from nablasso.data.table import MIN_ROWS, Table, check_weights
from nablasso.errors import InvalidDataError
from nablasso.estimators.docs import document
from nablasso.estimators.psd_base import GivenLinear, NonnegativeRegressor
from nablasso.estimators.psd_metric import learn
from nablasso.estimators.validation import check_finite_columns
from nablasso.nonnegative import Fit, SquaredLoss, Task
from nablasso.nonnegative.task import cone_matrix, decompose
from nablasso.types import Array


@dataclass(eq=False, repr=False)
class ConeValued(NonnegativeRegressor):
    """Shared by the regressor with given and with tuned parameters."""

    cone: Any = "nonnegative"

    def predict(self, X: Any) -> Array:
        """Outputs inside the cone.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_outputs), or (n_samples,) if ``y`` was
        """
        check_is_fitted(self)
        Z = self._unit * (self._offset + self._block_values(X) @ self._mixing.T)
        return np.asarray(Z[:, 0] if self._flat else Z)

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array, Array]:
        X, y = validate_data(
            self, X, y, y_numeric=True, multi_output=True, dtype=np.float64, ensure_all_finite=False
        )
        check_finite_columns(self, X)
        Y = np.asarray(y, dtype=np.float64)
        if not np.isfinite(Y).all():
            row = int(np.flatnonzero(~np.isfinite(Y.reshape(len(Y), -1)).all(axis=1))[0])
            raise InvalidDataError(f"Input y contains NaN or infinity, the first at row {row}.")
        if len(X) < MIN_ROWS:
            raise InvalidDataError(f"At least {MIN_ROWS} rows are needed; got n_samples={len(X)}.")
        self._flat = Y.ndim == 1
        return X, Y.reshape(len(Y), -1), check_weights(sample_weight, len(X))

    def _prepare(self, X: Array, y: Array, weights: Array) -> Table:
        """A table whose ``y`` numbers the distinct rows of targets, kept aside."""
        self._targets, numbers = np.unique(y, axis=0, return_inverse=True)
        return super()._prepare(X, numbers.ravel().astype(float), weights)

    def _targets_of(self, table: Table) -> Array:
        return np.asarray(self._targets[table.y.astype(np.intp)], dtype=float)

    def _task(self, table: Table, width: float, weight: float, linear_weight: float) -> Task:
        Y = self._targets_of(table)
        G, N = decompose(cone_matrix(self.cone, Y.shape[1]))
        mean = table.weights @ Y
        unit = float(np.sqrt(np.mean(table.weights @ (Y - N @ (N.T @ mean)) ** 2))) or 1.0
        nonnegative = (True,) * G.shape[1] + (False,) * N.shape[1]
        l1, l2 = self._penalties(nonnegative, weight, linear_weight)
        self._next = (unit, N @ (N.T @ mean) / unit)
        return Task(
            X=self._inputs(table),
            weights=table.weights,
            loss=SquaredLoss(Y / unit),
            mixing=np.column_stack([G, N]),
            offset=N @ (N.T @ mean) / unit,
            nonnegative=nonnegative,
            l1=l1,
            l2=l2,
            scales=self._scales_of(table, width, len(nonnegative)),
            null=mean / unit,
            constant=float(self.fit_intercept),
            rank=self.rank,
            random_state=self._seed(),
        )

    def _learned(self, table: Table) -> tuple[Array, float]:
        """Columns that any output depends on."""
        Y = self._targets_of(table)
        found = [learn(self, table, y) for y in Y.T]
        scales = np.max([one.scales for one in found], axis=0)
        return np.asarray(scales)[None, :], max(one.gain for one in found)

    def _unpack(self, task: Task, fitted: Fit, table: Table) -> None:
        self._keep_units(table)
        self._unit, self._offset = self._next
        self._mixing, self.functions_ = task.mixing, fitted.functions

    def _held_out(self, X: Array, y: Array, weights: Array) -> float:
        inside = self._inside(X)
        F = np.column_stack([function.values(inside) for function in self.functions_])
        Z = self._unit * (self._offset + F @ self._mixing.T)
        return -float(np.average(np.mean((y - Z) ** 2, axis=1), weights=weights))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # targets may be outside the cone
        return tags


@document
@dataclass(eq=False, repr=False)
class ConeRegressor(GivenLinear, ConeValued):
    """Least squares with outputs ``y`` that satisfy ``C' y >= 0`` at every input.

    Outputs are ``G g + N u``: the columns of ``G`` are the extreme rays of the cone, ``g`` PSD
    models, the columns of ``N`` span its lineality space, ``u`` linear kernel models. The problem
    is convex and ``dual_gap_`` bounds what is left.

    Parameters
    ----------
    cone : {"nonnegative", "monotone", "convex"} or array (n_outputs, n_inequalities)
        Every output at least 0; outputs increasing with their number; increasing steps; or the
        matrix ``C``.
    {psd}
    {psd_width}
    {psd_linear}
    {psd_intercept}
    {psd_metric}

    Attributes
    ----------
    functions_ : list of functions
        Multipliers of the rays, then coordinates in the lineality space.
    {psd_support}
    {psd_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import ConeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(60, 1))
    >>> Y = np.column_stack([X[:, 0], X[:, 0] + 0.1, 1 - X[:, 0]]) + 0.3 * rng.normal(size=(60, 3))
    >>> Z = ConeRegressor("monotone").fit(X, Y).predict(X)
    >>> bool((np.diff(Z, axis=1) >= -1e-12).all())
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the outputs.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        y : array-like, shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like, shape (n_samples,), optional
            Weight ``k`` equals ``k`` copies of a row.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)
