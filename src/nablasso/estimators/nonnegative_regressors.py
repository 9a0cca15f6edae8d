r"""Regression with functions that stay in their range: means, noise levels, quantiles, cones.

Each class states its task (:mod:`nablasso.nonnegative.task`), what it predicts, and how held-out
rows score it; each exists with given parameters and, as ``...CV``, with tuned ones.

**Quantiles.** With levels ``tau_1 < ... < tau_p`` and c the one nearest to one half,

.. math:: z_c = f, \quad z_{k+1} = z_k + g_k \;(k \ge c), \quad z_{k-1} = z_k - g_{k-1} \;(k \le c)

with ``f`` free and ``g >= 0``. The middle is the smoothest of the quantiles, and where it is free
the problem of ``-y`` is that of ``y`` turned round. Spread is a smaller effect than location, so
``f`` has a lighter weight than ``g``, a hundredth of it unless said otherwise.

``metric`` says which columns the functions see, and in which scales: all alike; those that the
search of the one call finds; or every column and its rank, in the scales of largest evidence: how
fast the targets change along each.

**Ranks.** A skewed column is uneven ground for one length scale. Its rank, the share of the rows
below a value, is even, and a kernel that sees both follows whichever the target does.

**Evidence.** With ``y ~ N(0, s K(theta) + v Diag(1 / (n p)))`` for centred targets in units of
their deviation, ``K`` the Gaussian kernel with a scale ``e^theta_g`` for every group of columns and
for the ranks of each, and weights p that add up to one, the scales minimise

.. math:: \tfrac12 y^\top A^{-1} y + \tfrac12 \log \det A
          + \tfrac{1}{2 \rho^2} \sum_g (\theta_g - \theta^0)^2
          + \tfrac{1}{2 \rho_s^2} \log^2 s

(the first two terms once for each of several targets) from the isotropic start ``theta0``, half the
inverse median distance. The last terms are priors: with few rows most columns should stay where
they were, and nothing is dropped. Kernel and derivatives are those of
:class:`~nablasso.regression.evidence.Covariance`; its evidence, which selects, has no prior and a
signal at its best value. L-BFGS; an evaluation costs O(n^3 + n^2 m) for m columns and at most
``EVIDENCE_ROWS`` rows, fewer when there are many groups.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky
from scipy.optimize import OptimizeResult, minimize
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.validation import check_is_fitted

from nablasso.data.cells import listed
from nablasso.data.table import Table, check_weights
from nablasso.errors import InvalidDataError, InvalidParameterError, warn
from nablasso.estimators.base import CLEAR_GAIN, Data
from nablasso.estimators.nonnegative import (
    FOLD_TOL,
    NonnegativeEstimator,
    TunedPenalty,
    WidthAndWeights,
    weight_of_any_sign,
    width_of,
)
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.validation import (
    check_count,
    check_new_data,
    check_positive,
    check_training_data,
    feature_names,
    group_labels,
    groups_of,
)
from nablasso.kernels import Gaussian
from nablasso.kernels.base import width_by_rule
from nablasso.nonnegative import (
    FittedTask,
    GaussianLoss,
    PinballLoss,
    PoissonLoss,
    RowLoss,
    SquaredLoss,
    Task,
)
from nablasso.nonnegative.task import cone_matrix, decompose
from nablasso.regression.evidence import FAILED, Covariance
from nablasso.regression.paired import saving
from nablasso.search.decide import search
from nablasso.search.families import GAUSSIAN
from nablasso.search.few import FewRows
from nablasso.types import Array, Index

LIGHTER = 0.01  # linear_weight over weight where the mean or middle is free and the spread is not
SEARCH_ROWS = 500  # rows that say which columns matter
EVIDENCE_ROWS = 500
WORK = 2e7  # squared rows times groups, at most
STEPS = 60
SPREAD, SIGNAL_SPREAD = 2.0, 3.0  # prior deviations of the logs of scales and signal
NOISE = 0.1  # to start from, in variances of the target
BOUNDS = ((-8.0, 5.0), (-6.0, 8.0), (float(np.log(1e-6)), 2.0))  # logs: scales, signal, noise
SMALLEST = 1e-6  # squared residuals below, in units of their mean, are as good as zero


@estimator
class NonnegativeRegressor(RegressorMixin, NonnegativeEstimator):
    """What the regressors share: a class says what its loss is, and how outputs are made.

    Attributes
    ----------
    support_ : array of bool, shape (n_features,)
        Columns that the functions depend on: all that vary, or those that
        ``metric="adaptive"`` found.
    scales_ : array, shape (n_features,)
        Multiplier of each standardised column inside the kernel, zero outside the support; with
        ``metric="evidence"`` the root of the sum of squares of those of a column and its rank.
    """

    _: KW_ONLY
    fit_intercept: bool = parameter(
        True,
        "bool",
        "Let every function have a constant part, penalised like the rest: the kernel is "
        "``k + 1``.",
    )
    metric: str | None = parameter(
        None,
        '{"adaptive", "evidence"}',
        '``"adaptive"`` first finds out which columns matter and how much '
        "(:mod:`nablasso.search.decide`), and the kernel sees them in that metric. "
        '``"evidence"`` drops no column: it gives each, and its rank, the scale of largest '
        "evidence of a Gaussian process.",
    )
    feature_groups: Any = parameter(
        None,
        "lists of columns, mapping or labels",
        "With a metric: columns that are selected, or scaled, together.",
    )
    always_keep: Any = parameter(
        None, "columns", 'With ``metric="adaptive"``: columns that stay in.'
    )

    _flat = True  # whether predictions have the shape (n_samples,)

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
        check_is_fitted(self)
        Z = self._outputs(self._values(check_new_data(self, X)))
        return Z[:, 0] if self._flat else Z

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Data:
        X, y = check_training_data(self, X, y)
        return Data(X, y, check_weights(sample_weight, len(X)))

    def _task(self, table: Table, penalty: WidthAndWeights) -> Task:
        Y, X = self._targets_of(table), self._inputs_of(table).seen(table.X)
        made = {"centre": 0.0, "unit": 1.0, **self._made_of(Y, table)}
        return self._made(
            table,
            penalty,
            X=X,
            loss=self._row_loss((Y - made["centre"]) / made["unit"]),
            scales=self._scales_of(X, table, penalty.width, len(made["nonnegative"])),
            constant=float(self.fit_intercept),
            **made,
        )

    def _unpack(self, task: Task, fitted: FittedTask, table: Table) -> None:
        self._inputs, self._centre, self._unit = self._inputs_of(table), task.centre, task.unit
        self._offset, self._mixing = task.offset, task.mixing
        self.functions_ = fitted.functions
        self.scales_ = np.zeros(int(self.n_features_in_))
        if table.columns.size:
            largest = task.scales.max(axis=0).reshape(-1, table.columns.size)
            self.scales_[table.columns] = np.sqrt(np.sum(largest**2, axis=0))

    def _held_out(self, data: Data) -> float:
        loss = self._row_loss(np.reshape(data.y, (len(data.y), -1)))
        losses = loss.value(self._outputs(self._values(data.X)))
        return -float(np.average(losses, weights=data.weights))

    def _judge(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Negative mean loss of any rows."""
        check_is_fitted(self)
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

    def _inputs_of(self, table: Table) -> Inputs:
        return Inputs(table, ranked=self.metric == "evidence")

    def _look_at(self, data: Data) -> Table:
        """Relative scale of every column of the input for each function, zero when dropped."""
        table = super()._look_at(data)
        d, learned = int(self.n_features_in_), np.ones((1, len(table.columns)))
        if self.metric == "evidence":
            learned = self._by_evidence(table)
        elif self.metric == "adaptive" and table.X.shape[1]:
            scales, gain = self._learned(table)
            learned = scales / table.deviations
            found = "clear" if gain >= CLEAR_GAIN else "too few rows"
            self.selection_status_ = found if scales.any() else "none found"
        shape = (len(learned), 2 if self.metric == "evidence" else 1)  # columns and their ranks
        self._relative = np.zeros((*shape, d))
        self._relative[:, :, table.columns] = learned.reshape(*shape, len(table.columns))
        self._keep_support(self._relative.any(axis=1))
        return table

    def _keep_support(self, used: Any) -> None:
        """Columns that each function uses, shape (m, d)."""
        self.support_ = np.asarray(used.any(axis=0))

    def _by_evidence(self, table: Table) -> Array:
        """Scales of the columns and of their ranks, one row for all functions."""
        if not table.X.shape[1]:
            return np.ones((1, 0))
        labels = group_labels(self, self.feature_groups)[table.columns]
        doubled = np.concatenate([labels, labels + 1 + labels.max(initial=0)])
        units = np.concatenate([table.deviations, np.ones(len(labels))])
        X, targets = self._inputs_of(table).seen(table.X), self._targets_of(table)
        return np.asarray(evidence_scales(X / units, targets, table.weights, doubled) / units)[None]

    def _targets_of(self, table: Table) -> Array:
        """Targets (n, q) that say how fast functions change along the columns."""
        return table.y[:, None]

    def _learned(self, table: Table) -> tuple[Array, float]:
        """Scales of the table's columns, one row per function or one for all, and their gain."""
        found = [learn(self, table, y) for y in self._targets_of(table).T]
        return np.max([one.scales for one in found], axis=0)[None], max(one.gain for one in found)

    def _words(self) -> list[str]:
        """Which columns matter, where that was asked for."""
        if self.metric != "adaptive":
            return []
        return [f"It depends on {named(self, self.support_)}."]

    def _scales_of(self, X: Array, table: Table, width: float, n_blocks: int) -> Array:
        """Multipliers of what kernels see of a table for each function, shape (m, d)."""
        if not table.X.shape[1]:
            return np.ones((n_blocks, 1))
        relative = self._relative[:, :, table.columns].reshape(len(self._relative), -1)
        made = [
            scales / (width * width_of(X * scales, table.weights, self.length_scale))
            for scales in relative
        ]
        return np.array([made[min(b, len(made) - 1)] for b in range(n_blocks)])


class Learned(NamedTuple):
    """Relative scale of each column of the table, zero when dropped, and held-out residuals.

    ``gain`` is what they save over the mean, in standard errors.
    """

    scales: Array
    residuals: Array
    gain: float = 0.0


def learn(selector: Any, table: Table, targets: Array) -> Learned:
    """Columns that the mean of ``targets`` depends on, and how much, decided out of sample.

    By the search of the one call.
    """
    n = min(len(table.X), SEARCH_ROWS)
    rows = FewRows.of(table, targets[:, None], groups_of(selector, table), n)
    if np.ptp(rows.targets) == 0 or not rows.X.shape[1]:
        kept = np.isin(rows.labels, rows.kept).astype(float)
        return Learned(kept, rows.targets[:, 0] - rows.unit[0])
    found = search(rows.first(rows.rules.walked_rows))
    residuals = found.few.residuals(found.model, rows)[:, 0]
    scales = np.zeros(len(rows.labels))
    if len(found.model.groups):
        gaussian = rows.tune(GAUSSIAN, found.model.groups)
        learned = np.zeros(rows.n_groups)
        learned[gaussian.groups] = np.sqrt(gaussian.variances)
        floor = 0.05 * float(learned.max()) or 1.0  # what was chosen stays
        learned[gaussian.groups] = np.maximum(learned[gaussian.groups], floor)
        scales = learned[rows.labels] / float(learned.max())
    centred = rows.standardised(found.few)[:, 0]
    gain = saving(centred**2, residuals**2, rows.weights)[1]
    return Learned(scales, residuals * float(found.few.unit[1][0]), gain)


def learn_location_and_spread(selector: Any, table: Table) -> tuple[Learned, Learned]:
    """Columns that the mean of the target depends on, and those of its noise.

    The latter by logs of squared residuals, whose mean is the log of the noise's variance, up to a
    number.
    """
    mean = learn(selector, table, table.y)
    squares, targets = mean.residuals**2, np.zeros(len(table.y))
    size = float(squares.mean()) or 1.0
    targets[: len(squares)] = np.log(np.maximum(squares / size, SMALLEST))
    return mean, learn(selector, table, targets)


def named(fitted: BaseEstimator, mask: Any) -> str:
    """Names of columns in a sentence."""
    names = [name for name, kept in zip(feature_names(fitted), mask, strict=True) if kept]
    return ", ".join(names) or "no column"


# ------------------------------------------------------------------ the metric of largest evidence


class Ranks:
    """Ranks in units of their deviation, linear between the values of training rows."""

    def __init__(self, X: Array, weights: Array) -> None:
        self._knots = [_knots(column, weights) for column in X.T]

    def __call__(self, X: Array) -> Array:
        """Ranks of the rows of ``X``, shape (k, d); those of the ends outside the range."""
        columns = zip(X.T, self._knots, strict=True)
        return np.column_stack([np.interp(x, *knots) for x, knots in columns])

    def slopes(self, X: Array) -> Array:
        """Derivatives of the ranks, shape (k, d); zero outside the range."""
        out = np.zeros_like(X)
        for a, (values, ranks) in enumerate(self._knots):
            at = np.searchsorted(values, X[:, a], side="right")
            steep = np.concatenate([[0.0], np.diff(ranks) / np.diff(values), [0.0]])
            out[:, a] = steep[at]
        return out


class Inputs:
    """What kernels see of rows: the standardised columns of a table and, if asked, their ranks."""

    def __init__(self, table: Table, *, ranked: bool) -> None:
        self._scaler, self.columns = table.scaler, table.columns
        self._ranks = Ranks(table.X, table.weights) if ranked and table.columns.size else None

    def seen(self, Z: Array) -> Array:
        """Columns that vary, standardised, as kernels see them; zeros where none varies."""
        if not self.columns.size:
            return np.zeros((len(Z), 1))
        return Z if self._ranks is None else np.hstack([Z, self._ranks(Z)])

    def __call__(self, X: Array) -> Array:
        """Rows in the units of the input, as kernels see them."""
        return self.seen(self._scaler.transform(X)[:, self.columns])

    def gradients(self, function: Any, X: Array) -> Array:
        """Gradients of a function of what kernels see, in the units of ``X``, shape (k, d)."""
        out, r = np.zeros(X.shape), self.columns.size
        if r:
            inside = self(X)
            slopes = function.gradients(inside)
            if self._ranks is not None:
                slopes = slopes[:, :r] + slopes[:, r:] * self._ranks.slopes(inside[:, :r])
            out[:, self.columns] = slopes / self._scaler.scale[self.columns]
        return out


def _knots(column: Array, weights: Array) -> tuple[Array, Array]:
    """Distinct values and their ranks, ties in the middle."""
    values, inverse = np.unique(column, return_inverse=True)
    mass = np.bincount(inverse.ravel(), weights=weights)
    ranks = np.cumsum(mass) - 0.5 * mass
    centred = ranks - mass @ ranks
    return values, centred / (float(np.sqrt(mass @ centred**2)) or 1.0)


def evidence_scales(X: Array, Y: Array, weights: Array, labels: Index) -> Array:
    """Relative scale of every column of ``X``, whose groups are ``labels``; the largest is one.

    The first rows are as good as random: tables are in canonical order.
    """
    labels = np.unique(labels, return_inverse=True)[1].ravel()
    n = min(EVIDENCE_ROWS, int(np.sqrt(WORK / (labels.max() + 1))))
    X, Y, weights = X[:n], Y[:n], weights[:n]
    varies = np.ptp(Y, axis=0) > 0
    if not varies.any():
        return np.ones(X.shape[1])
    evidence = ScaleEvidence(X, Y[:, varies], weights / weights.sum(), labels)
    found: OptimizeResult = minimize(
        evidence,
        evidence.start,
        jac=True,
        method="L-BFGS-B",
        bounds=evidence.bounds,
        options={"maxiter": STEPS},
    )
    return np.asarray(np.exp(found.x[:-2] - found.x[:-2].max())[labels])


class ScaleEvidence:
    """The objective and its gradient at logs of scales, signal and noise."""

    def __init__(self, X: Array, Y: Array, weights: Array, labels: Index) -> None:
        centred = Y - weights @ Y
        self.Y = centred / np.sqrt(weights @ centred**2)
        self.noise = 1 / (len(Y) * weights)
        groups = int(labels.max()) + 1
        self.covariance = Covariance(Gaussian(), X, labels, groups)
        theta = -np.log(2 * width_by_rule(X, weights, "median"))
        self.start = np.append(np.full(groups, theta), [0.0, np.log(NOISE)])
        self.bounds = [BOUNDS[0]] * groups + list(BOUNDS[1:])
        self.spread = np.append(np.full(groups, SPREAD), SIGNAL_SPREAD)

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Value and gradient."""
        v, signal, noise = np.exp(2 * x[:-2]), float(np.exp(x[-2])), float(np.exp(x[-1]))
        K, carry = self.covariance.gram(v)
        A = signal * K
        A.flat[:: len(A) + 1] += noise * self.noise
        try:
            L = cholesky(A, lower=True, check_finite=False)
        except LinAlgError:
            return FAILED, np.zeros_like(x)
        q = self.Y.shape[1]
        inverse = cho_solve((L, True), np.eye(len(A)), check_finite=False)
        U = inverse @ self.Y
        value = 0.5 * float(np.sum(self.Y * U)) + q * float(np.log(np.diag(L)).sum())
        G = 0.5 * (q * inverse - U @ U.T)
        gradient = np.empty_like(x)
        gradient[:-2] = 2 * v * signal * self.covariance.pull(G, v, carry)
        gradient[-2] = signal * float(np.sum(G * K))
        gradient[-1] = noise * float(np.diag(G) @ self.noise)
        away = (x - self.start)[:-1] / self.spread
        gradient[:-1] += away / self.spread
        return value + 0.5 * float(away @ away), gradient


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
        '{"squared", "poisson"}',
        "Squared error, or half the Poisson deviance with the prediction as the mean itself.",
    )

    def predict_gradient(self, X: Any) -> Array:
        """Gradient of the prediction, in the units of ``X`` and ``y``, shape (n, d)."""
        check_is_fitted(self)
        return self._unit * self._inputs.gradients(self.functions_[0], check_new_data(self, X))

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Data:
        data = super()._validate(X, y, sample_weight)
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

    has_linear = False


# ----------------------------------------------------------------------- means and noise levels


@estimator
class HeteroscedasticRegressor(NonnegativeRegressor):
    r"""Gaussian regression with a noise level that depends on the inputs.

    The precision ``h = 1 / sigma^2`` is ``precision_floor`` plus a PSD model, ``theta = mean * h``
    a linear kernel model. In these parameters the negative log-likelihood of the standardised
    target is jointly convex; ``dual_gap_`` bounds what is left.

    Attributes
    ----------
    functions_ : list of two functions
        Precision (less its floor) and precision times mean, of standardised inputs and targets.
    support_mean_, support_noise_ : arrays of bool, shape (n_features,)
        Columns that the mean and that the noise level depend on.

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

    _: KW_ONLY
    precision_floor: float = parameter(
        0.01,
        "float",
        "Smallest precision in units of ``1 / var(y)``: the noise level is at most ten deviations "
        "of ``y``.",
        check_positive,
    )
    linear_weight: float | None = weight_of_any_sign()

    linear_share = LIGHTER

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the target and, if asked for, its standard deviation.

        Parameters
        ----------
        return_std : bool, default=False

        Returns
        -------
        array, shape (n_samples,), or a pair of such
        """
        check_is_fitted(self)
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
        floor = np.array([float(self.precision_floor), 0.0])
        outputs = {"offset": floor, "null": floor + np.array([1.0, 0.0])}
        return {"nonnegative": (True, False), "centre": mean, "unit": unit, **outputs}

    def _learned(self, table: Table) -> tuple[Array, float]:
        """Scales for the precision, for precision times mean, and for the mean alone.

        The precision has the columns of the noise, precision times mean those of either.
        """
        mean, noise = learn_location_and_spread(self, table)
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
class MultiQuantileRegressor(NonnegativeRegressor):
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
        "float or sequence of floats",
        "Between 0 and 1. A number gives predictions of shape (n_samples,).",
    )
    _: KW_ONLY
    linear_weight: float | None = weight_of_any_sign()
    tol: float = 1e-4  # in deviations of y

    linear_share = LIGHTER

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Negative mean pinball loss over the levels."""
        return self._judge(X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # a pinball loss, not R2
        return tags

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Data:
        self.levels_, self._flat = check_levels(self.levels), np.ndim(self.levels) == 0
        return super()._validate(X, y, sample_weight)

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

    def _learned(self, table: Table) -> tuple[Array, float]:
        """Columns that the middle or the spread of the target depends on."""
        middle, spread = learn_location_and_spread(self, table)
        return np.maximum(middle.scales, spread.scales)[None], max(middle.gain, spread.gain)

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


def weighted_quantiles(y: Array, weights: Array, levels: Array) -> Array:
    """Smallest values with at least the level's share of the weight up to them."""
    order = np.argsort(y, kind="stable")
    share = np.cumsum(weights[order])
    index = np.searchsorted(share, levels * share[-1] * (1 - 1e-12))
    return np.asarray(y[order][np.minimum(index, len(y) - 1)])


# -------------------------------------------------------------------------------------- cones


@estimator
class ConeRegressor(NonnegativeRegressor):
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
        '{"nonnegative", "monotone", "convex"} or array (n_outputs, n_inequalities)',
        "Every output at least 0; outputs increasing with their number; increasing steps; or the "
        "matrix ``C``.",
    )
    _: KW_ONLY
    linear_weight: float | None = weight_of_any_sign()

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Data:
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
