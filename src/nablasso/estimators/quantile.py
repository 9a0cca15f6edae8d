r"""Several quantiles that never cross: the middle one linear, the steps from it PSD models.

With levels ``tau_1 < ... < tau_p`` and c the one nearest to one half,

.. math:: z_c = f, \quad z_{k+1} = z_k + g_k \;(k \ge c), \quad z_{k-1} = z_k - g_{k-1} \;(k \le c)

with ``f`` free and ``g >= 0``. The middle is the smoothest of the quantiles, and where it is free
the problem of ``-y`` is that of ``y`` turned round. Spread is a smaller effect than location, so
``f`` has a lighter weight than ``g``, a hundredth of it unless said otherwise.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import mean_pinball_loss
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table
from nablasso.errors import InvalidParameterError
from nablasso.estimators.docs import document
from nablasso.estimators.psd_base import LIGHTER, GivenLinear, NonnegativeRegressor
from nablasso.estimators.psd_metric import learn, noise_targets
from nablasso.nonnegative import Fit, PinballLoss, Task
from nablasso.types import Array

TOL = 1e-4  # default duality gap, in deviations of y


@dataclass(eq=False, repr=False)
class Quantiles(NonnegativeRegressor):
    """Shared by the regressor with given and with tuned parameters."""

    levels: Any = (0.1, 0.5, 0.9)

    linear_share: ClassVar[float] = LIGHTER

    def predict(self, X: Any) -> Array:
        """Quantiles of the target, increasing with the level.

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        array, shape (n_samples, n_levels), or (n_samples,) for a scalar level
        """
        check_is_fitted(self)
        Z = self._quantiles(self._block_values(X))
        return Z[:, 0] if np.ndim(self.levels) == 0 else Z

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Negative mean pinball loss over the levels."""
        Z = np.reshape(self.predict(X), (len(X), -1))
        losses = [
            mean_pinball_loss(y, z, sample_weight=sample_weight, alpha=float(level))
            for z, level in zip(Z.T, self.levels_, strict=True)
        ]
        return -float(np.mean(losses))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a pinball loss, not R2
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self.levels_ = check_levels(self.levels)

    def _task(self, table: Table, width: float, weight: float, linear_weight: float) -> Task:
        p = len(self.levels_)
        centre, unit = _location(table)
        y = (table.y - centre) / unit
        marginal = weighted_quantiles(y, table.weights, self.levels_)
        nonnegative = (False,) + (True,) * (p - 1)
        l1, l2 = self._penalties(nonnegative, weight, linear_weight)
        return Task(
            X=self._inputs(table),
            weights=table.weights,
            loss=PinballLoss(y, self.levels_),
            mixing=from_the_middle(np.eye(p), middle_of(self.levels_)),
            offset=np.full(p, marginal[middle_of(self.levels_)]),
            nonnegative=nonnegative,
            l1=l1,
            l2=l2,
            scales=self._scales_of(table, width, p),
            null=marginal,
            constant=float(self.fit_intercept),
            rank=self.rank,
            random_state=self._seed(),
        )

    def _learned(self, table: Table) -> tuple[Array, float]:
        """Columns that the middle or the spread of the target depends on."""
        middle = learn(self, table, table.y)
        targets = np.zeros(len(table.y))
        targets[: len(middle.residuals)] = noise_targets(middle.residuals)
        spread = learn(self, table, targets)
        scales = np.maximum(middle.scales, spread.scales)[None, :]
        return scales, max(middle.gain, spread.gain)

    def _unpack(self, task: Task, fitted: Fit, table: Table) -> None:
        self._keep_units(table)
        self._centre, self._unit = _location(table)
        self._offset = task.offset
        self.functions_ = fitted.functions

    def _quantiles(self, F: Array) -> Array:
        """Quantiles of the target from values of the functions; sums, so the order is exact."""
        if self.model == "psd":  # rounding
            F = np.column_stack([F[:, 0], np.maximum(F[:, 1:], 0.0)])
        Z = from_the_middle(F.T, middle_of(self.levels_)).T
        return np.asarray(self._centre + self._unit * (self._offset + Z))

    def _held_out(self, X: Array, y: Array, weights: Array) -> float:
        inside = self._inside(X)
        F = np.column_stack([function.values(inside) for function in self.functions_])
        losses = PinballLoss(y, self.levels_).value(self._quantiles(F))
        return -float(np.average(losses, weights=weights))


@document
@dataclass(eq=False, repr=False)
class MultiQuantileRegressor(GivenLinear, Quantiles):
    """Quantiles at any list of levels, ordered everywhere by construction.

    The quantile nearest to the median is a linear kernel model, each step from it up or down a PSD
    model, which is not negative anywhere. Minimises the mean pinball loss over rows and levels, of
    the target in units of its deviation, plus the penalties; ``dual_gap_`` bounds what is left.

    Parameters
    ----------
    levels : float or sequence of floats, default=(0.1, 0.5, 0.9)
        Between 0 and 1. A number gives predictions of shape (n_samples,).
    {psd}
    {psd_width}
    linear_weight : float, optional
        Weight of the squared norm of the middle quantile; by default ``weight / 100``.
    {psd_intercept}
    {psd_metric}

    Attributes
    ----------
    levels_ : array, shape (n_levels,)
        The levels in increasing order: the columns of predictions.
    functions_ : list of functions
        Middle quantile and the steps between neighbours, of standardised inputs and targets.
    {psd_support}
    {psd_attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import MultiQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(100, 1))
    >>> y = X[:, 0] * rng.normal(size=100)
    >>> Z = MultiQuantileRegressor((0.25, 0.75)).fit(X, y).predict(np.linspace(-1, 2, 50)[:, None])
    >>> bool((Z[:, 1] >= Z[:, 0]).all())
    True
    """

    _: KW_ONLY
    tol: float = TOL


def check_levels(levels: Any) -> Array:
    """Distinct levels between 0 and 1 in increasing order."""
    try:
        array = np.atleast_1d(np.asarray(levels, dtype=float))
    except (TypeError, ValueError):
        array = np.empty(0)
    inside = (array > 0) & (array < 1)
    if array.ndim != 1 or not array.size or not inside.all():
        raise InvalidParameterError(
            f"levels must be between 0 and 1, both excluded; got {levels!r}."
        )
    ordered = np.unique(array)
    if len(ordered) < len(array) or not np.array_equal(ordered, array):
        warnings.warn(
            f"levels were sorted and repeated ones taken once; predictions have columns "
            f"{ordered.tolist()}.",
            UserWarning,
            stacklevel=3,
        )
    return ordered


def middle_of(levels: Array) -> int:
    """Number of the level nearest to one half, the first of two."""
    return int(np.argmin(np.round(np.abs(levels - 0.5), 12)))


def from_the_middle(F: Array, middle: int) -> Array:
    """Outputs in the order of their levels from the middle one, first, and the steps (p, k).

    Sums go outwards, so the order is exact in floating point too.
    """
    Z = np.empty_like(F)
    Z[middle] = F[0]
    for k in range(middle, len(F) - 1):
        Z[k + 1] = Z[k] + F[k + 1]
    for k in range(middle, 0, -1):
        Z[k - 1] = Z[k] - F[k]
    return Z


def weighted_quantiles(y: Array, weights: Array, levels: Array) -> Array:
    """Smallest values with at least the level's share of the weight up to them."""
    order = np.argsort(y, kind="stable")
    share = np.cumsum(weights[order])
    index = np.searchsorted(share, levels * share[-1] * (1 - 1e-12))
    return np.asarray(y[order][np.minimum(index, len(y) - 1)])


def _location(table: Table) -> tuple[float, float]:
    """Weighted median and deviation of the target; 1 when it is constant."""
    centre = float(weighted_quantiles(table.y, table.weights, np.array([0.5]))[0])
    return centre, table.y_scale
