r"""Mean and noise level together, in the natural parameters of a Gaussian."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table, check_weights
from nablasso.estimators.docs import document
from nablasso.estimators.psd_base import (
    LIGHTER,
    GivenLinear,
    NonnegativeRegressor,
    check_count,
    check_positive,
    named,
)
from nablasso.estimators.psd_metric import learn, noise_targets
from nablasso.nonnegative import Fit, GaussianLoss, Task
from nablasso.types import Array


@dataclass(eq=False, repr=False)
class MeanAndNoise(NonnegativeRegressor):
    """Shared by the regressor with given and with tuned parameters."""

    _: KW_ONLY
    precision_floor: float = 0.01

    linear_share: ClassVar[float] = LIGHTER

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the target and, if asked for, its standard deviation.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)
        return_std : bool, default=False

        Returns
        -------
        array, shape (n_samples,), or a pair of such
        """
        check_is_fitted(self)
        mean, deviation = self._moments(self._block_values(X))
        return (mean, deviation) if return_std else mean

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draws of the target at the rows of ``X``, shape (n_rows, n_samples)."""
        mean, deviation = self.predict(X, return_std=True)
        check_count(n_samples, "n_samples")
        noise = check_random_state(random_state).standard_normal((len(mean), int(n_samples)))
        return np.asarray(mean[:, None] + deviation[:, None] * noise)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean log density of targets ``y`` given the rows of ``X``."""
        mean, deviation = self.predict(X, return_std=True)
        y = column_or_1d(np.asarray(y, dtype=float))
        check_consistent_length(mean, y)
        return _log_likelihood(mean, deviation, y, check_weights(sample_weight, len(y)))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive(self.precision_floor, "precision_floor")

    def _task(self, table: Table, width: float, weight: float, linear_weight: float) -> Task:
        mean, unit = _location(table)
        nonnegative = (True, False)
        l1, l2 = self._penalties(nonnegative, weight, linear_weight)
        floor = float(self.precision_floor)
        return Task(
            X=self._inputs(table),
            weights=table.weights,
            loss=GaussianLoss((table.y - mean) / unit),
            mixing=np.eye(2),
            offset=np.array([floor, 0.0]),
            nonnegative=nonnegative,
            l1=l1,
            l2=l2,
            scales=self._scales_of(table, width, 2),
            null=np.array([1.0 + floor, 0.0]),
            constant=float(self.fit_intercept),
            rank=self.rank,
            random_state=self._seed(),
        )

    def _learned(self, table: Table) -> tuple[Array, float]:
        """Scales for the precision, for precision times mean, and for the mean alone.

        The precision has the columns of the noise, precision times mean those of either.
        """
        mean = learn(self, table, table.y)
        targets = np.zeros(len(table.y))
        targets[: len(mean.residuals)] = noise_targets(mean.residuals)
        noise = learn(self, table, targets)
        either = np.maximum(mean.scales, noise.scales)
        return np.array([noise.scales, either, mean.scales]), max(mean.gain, noise.gain)

    def _words(self) -> list[str]:
        if self.metric != "adaptive":
            return []
        return [
            f"The mean depends on {named(self, self.support_mean_)}, "
            f"the noise level on {named(self, self.support_noise_)}."
        ]

    def _keep_support(self, used: Any) -> None:
        super()._keep_support(used)
        self.support_noise_, self.support_mean_ = used[0], used[-1]

    def _unpack(self, task: Task, fitted: Fit, table: Table) -> None:
        self._keep_units(table)
        self._mean, self._unit = _location(table)
        self._floor, self.functions_ = float(self.precision_floor), fitted.functions

    def _moments(self, F: Array) -> tuple[Array, Array]:
        """Mean and deviation of the target from values of the two functions."""
        precision = np.maximum(F[:, 0], 0.0) + self._floor
        mean = self._mean + self._unit * F[:, 1] / precision
        return mean, self._unit / np.sqrt(precision)

    def _held_out(self, X: Array, y: Array, weights: Array) -> float:
        inside = self._inside(X)
        F = np.column_stack([function.values(inside) for function in self.functions_])
        return _log_likelihood(*self._moments(F), y, weights)


@document
@dataclass(eq=False, repr=False)
class HeteroscedasticRegressor(GivenLinear, MeanAndNoise):
    r"""Gaussian regression with a noise level that depends on the inputs.

    The precision ``h = 1 / sigma^2`` is ``precision_floor`` plus a PSD model, ``theta = mean * h``
    a linear kernel model. In these parameters the negative log-likelihood of the standardised
    target is jointly convex; ``dual_gap_`` bounds what is left.

    Parameters
    ----------
    precision_floor : float, default=0.01
        Smallest precision in units of ``1 / var(y)``: the noise level is at most ten deviations of
        ``y``.
    {psd}
    {psd_width}
    linear_weight : float, optional
        Weight of the squared norm of precision times mean; by default ``weight / 100``. It is the
        larger function of the two, so it needs the lighter weight.
    {psd_intercept}
    {psd_metric}

    Attributes
    ----------
    functions_ : list of two functions
        Precision (less its floor) and precision times mean, of standardised inputs and targets.
    support_mean_, support_noise_ : arrays of bool, shape (n_features,)
        Columns that the mean and that the noise level depend on.
    {psd_support}
    {psd_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import HeteroscedasticRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> y = np.sin(6 * X[:, 0]) + (0.1 + X[:, 0]) * rng.normal(size=200)
    >>> model = HeteroscedasticRegressor(weight=1e-2).fit(X, y)
    >>> mean, std = model.predict([[0.1], [0.9]], return_std=True)
    >>> bool(std[1] > 1.5 * std[0])
    True
    """


def _location(table: Table) -> tuple[float, float]:
    """Weighted mean and deviation of the target; the deviation 1, with a note, when constant."""
    mean = float(table.weights @ table.y)
    deviation = float(np.sqrt(table.weights @ (table.y - mean) ** 2))
    if deviation <= 1e-12 * abs(mean):
        warnings.warn(
            "y is constant, so only the penalty keeps the noise level above zero.",
            UserWarning,
            stacklevel=2,
        )
        return float(table.y[0]), 1.0  # exactly, so that nothing is left but zeros
    return mean, deviation


def _log_likelihood(mean: Array, deviation: Array, y: Array, weights: Any) -> float:
    logs = -0.5 * ((y - mean) / deviation) ** 2 - np.log(deviation) - 0.5 * np.log(2 * np.pi)
    return float(np.average(logs, weights=weights))
