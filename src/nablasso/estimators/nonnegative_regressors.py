r"""Regression with functions that stay in their range: means, noise levels, quantiles, cones.

Each class states its task (:mod:`nablasso.nonnegative.task`), what it predicts, and how held-out
rows score it; each exists with given parameters and, as ``...CV``, with tuned ones.

**Quantiles.** With levels ``tau_1 < ... < tau_p`` and c the one nearest to one half,

.. math:: z_c = f, \quad z_{k+1} = z_k + g_k \;(k \ge c), \quad z_{k-1} = z_k - g_{k-1} \;(k \le c)

with ``f`` free and ``g >= 0``. The middle is the smoothest of the quantiles, and where it is free
the problem of ``-y`` is that of ``y`` turned round. Spread is a smaller effect than location, so
``f`` has a lighter weight than ``g``, a hundredth of it unless said otherwise.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d

from nablasso.data.cells import listed
from nablasso.data.table import Table, check_weights, weighted_quantiles
from nablasso.errors import InvalidDataError, InvalidParameterError, warn
from nablasso.estimators.base import Data
from nablasso.estimators.nonnegative import FOLD_TOL, NonnegativeEstimator, TunedPenalty
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.validation import (
    as_floats,
    check_count,
    check_new_data,
    check_positive,
    check_training_data,
    group_labels,
)
from nablasso.kernels import Gaussian, length_scale
from nablasso.nonnegative import FittedTask, Task
from nablasso.nonnegative.losses import GaussianLoss, PinballLoss, PoissonLoss, RowLoss, SquaredLoss
from nablasso.nonnegative.task import Ranks, cone_matrix, decompose, evidence_scales
from nablasso.types import Array

PRECISION_FLOOR = 0.01  # of the precision, in units of 1 / var(y)
LIGHTER = 0.01  # linear_weight over weight where the mean or middle is free and the spread is not


@estimator
class NonnegativeRegressor(RegressorMixin, NonnegativeEstimator):
    """What the regressors share: a class says what its loss is, and how outputs are made.

    The kernel of every function is ``k + 1``: it has a constant part, penalised like the rest.
    """

    _flat = True  # whether predictions have the shape (n_samples,)
    _relative = np.empty((2, 0))  # scales of columns and their ranks, (2, n_features) if learned

    @abstractmethod
    def _row_loss(self, Y: Array) -> RowLoss:
        """The loss of targets (n, q), in whichever units."""

    @abstractmethod
    def _made_of(self, Y: Array, table: Table) -> dict[str, Any]:
        """How outputs are made: ``nonnegative``, ``null`` and other parts of a Task.

        Unless said otherwise outputs are the functions, in the units of the targets.
        """

    def predict(self, X: Any) -> Any:
        """Predict the target: what the class says that its outputs are.

        Returns
        -------
        array, shape (n_samples,), or (n_samples, n_outputs) of several outputs
        """
        Z = self._outputs(self._values(check_new_data(self, X)))
        return Z[:, 0] if self._flat else Z

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        X, y = check_training_data(self, X, y)
        return Data(X, y, check_weights(sample_weight, len(X)))

    def _parts(self, table: Table, width: float) -> dict[str, Any]:
        Y, inputs, rule = self._targets_of(table), Inputs(table, self._relative), self.length_scale
        X, scales, relative = inputs.seen(table.X), np.ones(1), inputs.relative
        if table.columns.size:
            measured = length_scale(Gaussian(), X * relative, table.weights, rule)
            scales = relative / (width * measured)
        made = {"centre": 0.0, "unit": 1.0, "constant": 1.0, **self._made_of(Y, table)}
        loss = self._row_loss((Y - made["centre"]) / made["unit"])
        return made | {"X": X, "loss": loss, "scales": scales}

    def _unpack(self, task: Task, fitted: FittedTask, table: Table) -> None:
        self._inputs = Inputs(table, self._relative)
        self._centre, self._unit = task.centre, task.unit
        self._offset, self._mixing = task.offset, task.mixing
        self.functions_ = fitted.functions

    def _held_out(self, data: Data) -> float:
        loss = self._row_loss(np.reshape(data.y, (len(data.y), -1)))
        losses = loss.value(self._outputs(self._values(data.X)))
        return -float(np.average(losses, weights=data.weights))

    def _judge(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Negative mean loss of any rows."""
        X, y = check_new_data(self, X), column_or_1d(np.asarray(y, dtype=float))
        check_consistent_length(X, y)
        return self._held_out(Data(X, y, check_weights(sample_weight, len(y))))

    def _values(self, X: Array) -> Array:
        """Values of the functions at rows of the input, shape (k, m)."""
        seen = self._inputs(X)
        return np.column_stack([function.values(seen) for function in self.functions_])

    def _outputs(self, F: Array) -> Array:
        """Outputs in the units of the target from values of the functions, shape (k, p)."""
        return np.asarray(self._centre + self._unit * (self._offset + F @ self._mixing.T))

    def _targets_of(self, table: Table) -> Array:
        """Targets (n, q)."""
        return table.y[:, None]


@estimator
class WithFreeParts(NonnegativeRegressor):
    """Some of the functions may have any sign."""

    _: KW_ONLY
    linear_weight: float | None = parameter(
        None,
        "Weight of the squared norm of functions of any sign; by default ``weight``, a hundredth "
        "of it for means and middle quantiles: the larger function needs the lighter weight.",
        check_positive,
    )

    linear_share = LIGHTER


class Inputs:
    """What kernels see of rows: the standardised columns of a table and, if scaled, their ranks."""

    def __init__(self, table: Table, relative: Array) -> None:
        self.scaler, self.columns, self._ranks = table.scaler, table.columns, None
        self.relative = np.ones(table.columns.size)
        if relative.size and table.columns.size:
            self._ranks = Ranks(table.X, table.weights)
            self.relative = relative[:, table.columns].ravel()

    def seen(self, Z: Array) -> Array:
        """Columns that vary, standardised, as kernels see them; zeros where none varies."""
        if not self.columns.size:
            return np.zeros((len(Z), 1))
        return Z if self._ranks is None else np.hstack([Z, self._ranks(Z)])

    def __call__(self, X: Array) -> Array:
        """Rows in the units of the input, as kernels see them."""
        return self.seen(self.scaler.transform(X)[:, self.columns])


@estimator
class PSDRegressor(NonnegativeRegressor):
    """Regression whose prediction ``v(x)' B v(x)``, ``B`` positive semidefinite, is never negative.

    Minimises the mean loss of ``y``, in units of its mean, plus ``weight * (l1_ratio * Tr A +
    (1 - l1_ratio) / 2 * ||A||_F^2)``. The problem is convex and ``dual_gap_`` bounds what is left.

    Attributes
    ----------
    functions_ : list of one function
        The function of standardised inputs, in units of the mean of ``y``.

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

    _: KW_ONLY
    loss: str = parameter(
        "squared",
        "Squared error, or half the Poisson deviance with the prediction as the mean itself.",
        kind='{"squared", "poisson"}',
    )

    def predict_gradient(self, X: Any) -> Array:
        """Gradient of the prediction, in the units of ``X`` and ``y``, shape (n, d)."""
        X = check_new_data(self, X)
        out, columns, scaler = np.zeros(X.shape), self._inputs.columns, self._inputs.scaler
        if columns.size:
            slopes = self.functions_[0].gradients(self._inputs(X))
            out[:, columns] = self._unit * slopes / scaler.scale[columns]
        return out

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        data = super()._read(X, y, sample_weight)
        y, bad = data.y, np.flatnonzero(data.y < 0)
        if bad.size:
            shown = listed([str(row) for row in bad])
            raise InvalidDataError(
                f"Targets of a non-negative function must be at least 0; {bad.size} of {len(y)} "
                f"rows are negative, rows {shown} (smallest value {y.min():g}). Shift y, drop "
                "these rows, or use a regressor of any sign."
            )
        return data

    def _row_loss(self, Y: Array) -> RowLoss:
        return PoissonLoss(Y[:, 0]) if self.loss == "poisson" else SquaredLoss(Y)

    def _made_of(self, Y: Array, table: Table) -> dict[str, Any]:
        unit = float(table.weights @ Y[:, 0]) or 1.0
        null = np.array([max(float(table.weights @ (Y[:, 0] / unit)), 1e-3)])
        return {"nonnegative": (True,), "null": null, "unit": unit}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@estimator
class PSDRegressorCV(TunedPenalty, PSDRegressor):
    """:class:`PSDRegressor` with width and weight of smallest held-out loss."""


# ----------------------------------------------------------------------- means and noise levels


@estimator
class HeteroscedasticRegressor(WithFreeParts):
    r"""Gaussian regression with a noise level that depends on the inputs.

    The precision ``h = 1 / sigma^2`` is ``1 / (100 var(y))`` plus a PSD model, so that the noise
    level is at most ten deviations of ``y``; ``theta = mean * h`` is a linear kernel model. In
    these parameters the negative log-likelihood of the standardised target is jointly convex;
    ``dual_gap_`` bounds what is left.

    Attributes
    ----------
    functions_ : list of two functions
        Precision (less its floor) and precision times mean, of standardised inputs and targets.

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

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the target and, if asked for, its standard deviation.

        Parameters
        ----------
        return_std : bool, default=False

        Returns
        -------
        array, shape (n_samples,), or a pair of such
        """
        mean, deviation = self._moments(self._values(check_new_data(self, X)))
        return (mean, deviation) if return_std else mean

    def sample(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draws of the target at the rows of ``X``, shape (n_rows, n_samples)."""
        mean, deviation = self.predict(X, return_std=True)
        check_count(n_samples, "n_samples")
        noise = check_random_state(random_state).standard_normal((len(mean), int(n_samples)))
        return np.asarray(mean[:, None] + deviation[:, None] * noise)

    def log_likelihood(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Mean log density of targets ``y`` given the rows of ``X``."""
        return self._judge(X, y, sample_weight)

    def _row_loss(self, Y: Array) -> RowLoss:
        return GaussianLoss(Y[:, 0])

    def _made_of(self, Y: Array, table: Table) -> dict[str, Any]:
        mean = float(table.weights @ table.y)
        unit = float(np.sqrt(table.weights @ (table.y - mean) ** 2))
        if unit <= 1e-12 * abs(mean):
            warn("y is constant, so only the penalty keeps the noise level above zero.")
            mean, unit = float(table.y[0]), 1.0  # exactly, so that nothing is left but zeros
        floor = np.array([PRECISION_FLOOR, 0.0])
        outputs = {"offset": floor, "null": floor + np.array([1.0, 0.0])}
        return {"nonnegative": (True, False), "centre": mean, "unit": unit, **outputs}

    def _moments(self, F: Array) -> tuple[Array, Array]:
        """Mean and deviation of the target from values of the two functions."""
        precision = np.maximum(F[:, 0], 0.0) + self._offset[0]
        mean = self._centre + self._unit * F[:, 1] / precision
        return mean, self._unit / np.sqrt(precision)

    def _outputs(self, F: Array) -> Array:
        mean, deviation = self._moments(F)
        return np.column_stack([np.ones(len(F)), mean]) / deviation[:, None] ** 2


@estimator
class HeteroscedasticRegressorCV(TunedPenalty, HeteroscedasticRegressor):
    """:class:`HeteroscedasticRegressor` with parameters of largest held-out log-likelihood."""

    fold_tol = FOLD_TOL


# ---------------------------------------------------------------------------------- quantiles


@estimator
class MultiQuantileRegressor(WithFreeParts):
    """Quantiles at any list of levels, ordered everywhere by construction.

    The quantile nearest to the median is a linear kernel model, each step from it up or down a PSD
    model, which is not negative anywhere. Minimises the mean pinball loss over rows and levels, of
    the target in units of its deviation, plus the penalties; ``dual_gap_`` bounds what is left.

    Attributes
    ----------
    levels_ : array, shape (n_levels,)
        The levels in increasing order: the columns of predictions.
    functions_ : list of functions
        Middle quantile and the steps between neighbours, of standardised inputs and targets.

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

    levels: Any = parameter(
        (0.1, 0.5, 0.9),
        "Between 0 and 1. A number gives predictions of shape (n_samples,).",
        kind="float or sequence of floats",
    )
    _: KW_ONLY
    metric: str | None = parameter(
        None,
        "Give every column, and its rank, the scale of largest evidence of a Gaussian process "
        "(:mod:`nablasso.nonnegative.task`); without it all columns are alike.",
        kind='{"evidence"}',
    )
    feature_groups: Any = parameter(
        None,
        "With a metric: columns that are scaled together.",
        kind="lists of columns, mapping or labels",
    )
    tol: float = 1e-4  # in deviations of y

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Negative mean pinball loss over the levels."""
        return self._judge(X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a pinball loss, not R2
        return tags

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        self.levels_, self._flat = check_levels(self.levels), np.ndim(self.levels) == 0
        return super()._read(X, y, sample_weight)

    def _row_loss(self, Y: Array) -> RowLoss:
        return PinballLoss(Y[:, 0], self.levels_)

    def _made_of(self, Y: Array, table: Table) -> dict[str, Any]:
        p, middle = len(self.levels_), middle_of(self.levels_)
        centre = float(weighted_quantiles(table.y, table.weights, np.array([0.5]))[0])
        marginal = weighted_quantiles(
            (table.y - centre) / table.y_scale, table.weights, self.levels_
        )
        return {
            "nonnegative": (False,) + (True,) * (p - 1),
            "null": marginal,
            "mixing": from_the_middle(np.eye(p), middle),
            "offset": np.full(p, marginal[middle]),
            "centre": centre,
            "unit": table.y_scale,
        }

    def _look_at(self, data: Data) -> Table:
        """Learn the metric once, on all rows: scales of columns and ranks, (2, n_features)."""
        table = super()._look_at(data)
        self._relative = np.empty((2, 0))
        if self.metric == "evidence":
            self._relative = np.ones((2, data.X.shape[1]))
            labels = group_labels(self, self.feature_groups)[table.columns]
            if len(labels):
                doubled = np.concatenate([labels, labels + 1 + labels.max()])
                units = np.concatenate([table.deviations, np.ones(len(labels))])
                X = Inputs(table, self._relative).seen(table.X) / units
                scales = evidence_scales(X, table.y, table.weights, doubled) / units
                self._relative = table.spread(scales.reshape(2, -1))
        return table

    def _outputs(self, F: Array) -> Array:
        """Quantiles of the target from values of the functions; sums, so the order is exact."""
        Z = from_the_middle(F.T, middle_of(self.levels_)).T
        return np.asarray(self._centre + self._unit * (self._offset + Z))


@estimator
class MultiQuantileRegressorCV(TunedPenalty, MultiQuantileRegressor):
    """:class:`MultiQuantileRegressor` with parameters of smallest held-out pinball loss."""

    _: KW_ONLY
    tol: float = 1e-4
    metric: str | None = "evidence"

    default_widths = (0.5, 1.0, 2.0)
    default_weights = (1e-2, 3e-3, 1e-3, 1e-4)


def check_levels(levels: Any) -> Array:
    """Distinct levels between 0 and 1 in increasing order."""
    array = np.atleast_1d(as_floats(levels))
    inside = (array > 0) & (array < 1)
    if array.ndim != 1 or not array.size or not inside.all():
        raise InvalidParameterError(
            f"levels must be between 0 and 1, both excluded; got {levels!r}."
        )
    ordered = np.unique(array)
    if not np.array_equal(ordered, array):
        warn(
            f"levels were sorted and repeated ones taken once; predictions have columns "
            f"{ordered.tolist()}."
        )
    return ordered


def middle_of(levels: Array) -> int:
    """Number of the level nearest to one half, the first of two."""
    return int(np.argmin(np.round(np.abs(levels - 0.5), 12)))


def from_the_middle(F: Array, middle: int) -> Array:
    """Outputs in the order of their levels from the middle one, first, and the steps (p, k).

    Sums go outwards, so the order is exact in floating point too.
    """
    up = np.cumsum(np.concatenate([F[:1], F[middle + 1 :]]), axis=0)
    down = np.cumsum(np.concatenate([F[:1], -F[middle:0:-1]]), axis=0)
    return np.concatenate([down[:0:-1], up])


# -------------------------------------------------------------------------------------- cones


@estimator
class ConeRegressor(WithFreeParts):
    """Least squares with outputs ``y`` that satisfy ``C' y >= 0`` at every input.

    Outputs are ``G g + N u``: the columns of ``G`` are the extreme rays of the cone, ``g`` PSD
    models, the columns of ``N`` span its lineality space, ``u`` linear kernel models. The problem
    is convex and ``dual_gap_`` bounds what is left.

    Attributes
    ----------
    functions_ : list of functions
        Multipliers of the rays, then coordinates in the lineality space.

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

    cone: Any = parameter(
        "nonnegative",
        "Every output at least 0; outputs increasing with their number; increasing steps; or the "
        "matrix ``C``.",
        kind='{"nonnegative", "monotone", "convex"} or array (n_outputs, n_inequalities)',
    )
    linear_share = 1.0

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        X, Y = check_training_data(self, X, y, multi_output=True)
        self._flat = Y.ndim == 1
        return Data(X, Y.reshape(len(Y), -1), check_weights(sample_weight, len(X)))

    def _prepare(self, data: Data) -> Table:
        """A table whose ``y`` numbers the distinct rows of targets, kept aside."""
        self._targets, numbers = np.unique(data.y, axis=0, return_inverse=True)
        return super()._prepare(data._replace(y=numbers.ravel().astype(float)))

    def _targets_of(self, table: Table) -> Array:
        return np.asarray(self._targets[table.y.astype(np.intp)], dtype=float)

    def _row_loss(self, Y: Array) -> RowLoss:
        return SquaredLoss(Y)

    def _made_of(self, Y: Array, table: Table) -> dict[str, Any]:
        G, N = decompose(cone_matrix(self.cone, Y.shape[1]))
        mean = table.weights @ Y
        along = N @ (N.T @ mean)
        unit = float(np.sqrt(np.mean(table.weights @ (Y - along) ** 2))) or 1.0
        return {
            "nonnegative": (True,) * G.shape[1] + (False,) * N.shape[1],
            "null": mean / unit,
            "mixing": np.column_stack([G, N]),
            "offset": along / unit,
            "unit": unit,
        }

    def _held_out(self, data: Data) -> float:
        return super()._held_out(data) / int(data.y.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # targets may be outside the cone
        return tags


@estimator
class ConeRegressorCV(TunedPenalty, ConeRegressor):
    """:class:`ConeRegressor` with parameters of smallest held-out squared error."""
