r"""Functions that must stay non-negative: what their estimators share, and densities.

Validate, make a :class:`~nablasso.nonnegative.Task`, fit it, unpack. A class says what its task is
and what it predicts, at given width and weights; as ``...CV`` it is tuned (:class:`TunedPenalty`).
Tuning compares held-out log-likelihoods, or negative losses: in each fold and for each width
features are made once; the weights are a path from heavy to light, each fit starting from the one
before.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import replace
from itertools import groupby
from numbers import Integral
from operator import itemgetter
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table, check_weights, prepare
from nablasso.errors import InvalidDataError, InvalidParameterError, warn
from nablasso.estimators.base import Data, InKernel, SolvedEstimator
from nablasso.estimators.cross_validation import Candidate, CrossValidated, Fold, positive_list
from nablasso.estimators.parameters import KW_ONLY, estimator, fixed, parameter
from nablasso.estimators.validation import (
    Check,
    as_floats,
    check_count,
    check_new_data,
    check_positive,
    check_rows,
    check_share,
    column_indices,
    feature_names,
)
from nablasso.kernels import Gaussian, length_scale
from nablasso.nonnegative import Base, FittedTask, PSDModel, Task
from nablasso.nonnegative.fitting import fit_path
from nablasso.nonnegative.losses import density_loss
from nablasso.nonnegative.task import natural_height
from nablasso.progress import track
from nablasso.solvers import Status
from nablasso.types import Array

FOLD_TOL = 1e-3  # nats: a fold's fit need not be more exact than its score
FOLD_ITER = 300
TUNING_ROWS = 5000  # first rows of the table that candidates are judged on
MANY_FEATURES = 30
WIDTH = 0.5  # of the length scale, by default: products of kernels are narrower than the kernel
BASE_SPREAD = 2.0  # variance of the default base measure, in variances of the data


@estimator
class NonnegativeEstimator(InKernel, SolvedEstimator):
    """Parameters that densities and regressors share; each declares its own task.

    Attributes
    ----------
    objective_ : float
        Objective reached, in units of the scaled target.
    solver_status_ : str
        How the solver ended.
    length_scale_ : float
        Width of the kernel on standardised inputs.
    """

    _: KW_ONLY
    width: float = parameter(1.0, "Multiplier of ``length_scale``.", check_positive)
    weight: float = parameter(
        0.01, "Weight of the penalty of functions that are not negative.", check_positive
    )
    l1_ratio: float = parameter(
        0.1,
        "Share of the trace in the penalty: larger gives matrices of lower rank. Less than 1.",
        Check(lambda v: v == 0 or (check_share.allows(v) and v < 1), "at least 0 and less than 1"),
    )
    rank: int | None = parameter(
        200,
        "Largest number of anchor points of a non-negative function, chosen by randomly pivoted "
        "Cholesky; functions of any sign have up to twice as many. None for as many as the kernel "
        "matrix has rank.",
        check_count,
        kind="int or None",
    )
    solver: str = parameter(
        "auto",
        '``"auto"``: Newton\'s method on the dual, an interior point method for quantiles. '
        '``"fista"``: the paper\'s own algorithm, for reference.',
        kind='{"auto", "fista"}',
    )
    tol: float = parameter(1e-5, "Duality gap to reach.", check_positive)

    linear_share: ClassVar[float | None] = None  # linear_weight over weight, where there is one

    @abstractmethod
    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """Inputs, targets and weights."""

    @abstractmethod
    def _parts(self, table: Table, width: float) -> dict[str, Any]:
        """Parts of a task on a table: loss, signs and scales, and what else is not as usual."""

    @abstractmethod
    def _unpack(self, task: Task, fitted: FittedTask, table: Table) -> None:
        """Remember what predicts."""

    @abstractmethod
    def _held_out(self, data: Data) -> float:
        """Score of rows not seen in fit: mean log-likelihood, or a negative mean loss."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the functions.

        Parameters
        ----------
        y : array-like, shape (n_samples,); ignored by densities, of a cone (n_samples, n_outputs)
        """
        data = self._read(X, y, sample_weight)
        table = self._look_at(data)
        task = self._task(table, **self._weights(data, table, groups))
        path = self._path([task], tol=self.tol, max_iter=self.max_iter)
        (fitted,) = track(path, 1, type(self).__name__, verbose=self.verbose)
        self._unpack(task, fitted, table)
        self.objective_, self.dual_gap_ = fitted.primal, fitted.gap
        self.n_iter_, self.solver_status_ = max(1, fitted.n_iter), fitted.status.value
        largest = float(task.scales.max())
        self.length_scale_ = 1 / largest if largest > 0 else np.inf  # no column matters
        cure = "Raise max_iter, loosen tol, or raise weight."
        self._warn_unless_converged(fitted, self.tol, cure)
        return self

    def _weights(self, data: Data, table: Table, groups: Any) -> dict[str, Any]:
        """Multiplier of the length scale and weights of the penalties, given or chosen."""
        given = ("width", "weight", "linear_weight")
        return {name: getattr(self, name, None) for name in given}

    def summary(self) -> str:
        """The result in words."""
        check_is_fitted(self)
        return (
            f"{type(self).__name__} of {self.n_features_in_} columns: objective "
            f"{self.objective_:.4g}, within {self.dual_gap_:.1e} of the optimum "
            f"({self.solver_status_}, {self.n_iter_} steps), length scale {self.length_scale_:.3g}."
        )

    def _prepare(self, data: Data) -> Table:
        X, y, weights, _ = data
        table = prepare(X, y, weights, standardize=self.standardize, centre_y=False)
        if np.ptp(table.y) == 0:  # where y is constant a table holds zeros
            kept = float(y[weights > 0].mean())
            return replace(table, y=np.full(len(table.y), kept))
        return table

    def _look_at(self, data: Data) -> Table:
        """The table, and what is done once, before the first fit."""
        return self._prepare(data)

    def _path(self, tasks: list[Task], **how: Any) -> Iterable[FittedTask]:
        """Fits of tasks that differ in their weights alone, from heavy to light."""
        return fit_path(tasks, self.solver, **how)

    def _task(
        self, table: Table, *, width: float, weight: float, linear_weight: float | None = None
    ) -> Task:
        """What is to be fitted; usually outputs are the functions, of the table's columns."""
        if linear_weight is None:
            linear_weight = (self.linear_share or 1.0) * weight
        parts, state = self._parts(table, width), self.random_state
        signs, m = np.array(parts["nonnegative"]), len(parts["nonnegative"])
        return Task(
            weights=table.weights,
            l1=np.where(signs, weight * self.l1_ratio, 0.0),
            l2=np.where(signs, weight * (1 - self.l1_ratio), linear_weight),
            rank=self.rank,
            random_state=0 if state is None else check_random_state(state).randint(2**31 - 1),
            **{"X": table.X, "mixing": np.eye(m), "offset": np.zeros(m), **parts},
        )


@estimator
class TunedPenalty(CrossValidated, NonnegativeEstimator):
    """Choose width and weights by cross-validation, then fit on all rows."""

    _: KW_ONLY
    widths: Any = parameter(None, "Multipliers of the length scale to try.", kind="array-like")
    weights: Any = parameter(
        None,
        "Weights to try; pairs (weight, linear_weight) where functions of any sign have their own.",
        kind="array-like",
    )
    width: Any = fixed(None)
    weight: Any = fixed(None)
    linear_weight: Any = fixed(None)
    scoring: Any = fixed(None)
    selection_rule: Any = fixed("min")

    default_widths: ClassVar[tuple[float, ...]] = (0.25, 0.5, 1.0)
    default_weights: ClassVar[tuple[float, ...]] = (1e-1, 1e-2, 1e-3, 1e-4)
    fold_tol: ClassVar[float] = 0.0  # losses may be as small as they like: tol itself

    def _weights(self, data: Data, table: Table, groups: Any) -> dict[str, Any]:
        grid = self._grid()
        scores = self._judged(data, table, groups, grid)["score"]
        if np.isnan(scores).all():
            warn(
                f"No fold of {type(self).__name__} can be fitted (a column is constant in each), "
                "so nothing was tuned and the widest kernel with the largest weight is used."
            )
            scores = np.zeros_like(scores)
        return self._choose(grid, {"score": scores})

    def _grid(self) -> list[dict[str, float]]:
        """The grid, weights within widths, heaviest first."""
        given = self.default_widths if self.widths is None else self.widths
        widths = sorted(positive_list(given, "widths").tolist(), reverse=True)
        given = self.default_weights if self.weights is None else self.weights
        own = self.linear_share is not None and as_floats(given).shape[1:] == (2,)
        rows = positive_list(np.ravel(given) if own else given, "weights")[:, None]
        if own:
            rows = rows.reshape(-1, 2)
        elif self.linear_share is not None:
            rows = rows * (1.0, self.linear_share)
        names = ("weight", "linear_weight")[: rows.shape[1]]
        ordered = [
            dict(zip(names, row, strict=True)) for row in np.unique(rows, axis=0)[::-1].tolist()
        ]
        return [{"width": width, **row} for width in widths for row in ordered]

    def _candidates(
        self, train: Data, held_out: Data, grid: list[dict[str, float]]
    ) -> Iterator[Candidate]:
        """Scores of the grid on one fold: features once for each width, then a path of weights."""
        probe = copy(self)
        try:
            table = probe._prepare(train)
        except InvalidDataError:  # a column constant in this fold: no density to judge
            yield from (Candidate(None) for _ in grid)
            return
        limit = FOLD_ITER if self.max_iter is None and self.solver == "auto" else self.max_iter
        for _, path in groupby(grid, key=itemgetter("width")):
            tasks = [probe._task(table, **point) for point in path]
            fits = probe._path(tasks, tol=max(self.tol, self.fold_tol), max_iter=limit)
            for task, fitted in zip(tasks, fits, strict=True):
                if fitted.status is Status.INTERRUPTED:
                    raise KeyboardInterrupt
                probe._unpack(task, fitted, table)
                yield Candidate(probe)

    def _folds(self, data: Data, table: Table, groups: Any) -> list[Fold]:
        """Over as many rows as candidates are judged on, in canonical order: as good as random."""
        if groups is None and (self.cv is None or isinstance(self.cv, Integral)):
            return super()._folds(data, table.first(TUNING_ROWS), groups)
        judged = (table.rows >= 0) & (table.rows < TUNING_ROWS)
        whole = super()._folds(data, table, groups)
        folds = [(train[judged[train]], test[judged[test]]) for train, test in whole]
        return [fold for fold in folds if all(map(len, fold))]


@estimator
class PSDDensity(DensityMixin, NonnegativeEstimator):
    r"""Density ``p(x) = v(x)' B v(x)`` with ``B`` positive semidefinite and integral one.

    Minimises, over the PSD model of a Gaussian kernel, the mean of ``-log p`` plus
    ``weight * (l1_ratio * Tr A + (1 - l1_ratio) / 2 * ||A||_F^2)`` where ``A`` is ``B`` in
    orthonormal coordinates and the kernel has height one in the norm of L2. The problem is convex;
    ``dual_gap_`` bounds what is left. The density is never negative, its integral over the space is
    one, and integrals over boxes, marginals and conditionals are closed forms.

    Attributes
    ----------
    density_ : PSDModel
        The density in the units of ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import PSDDensity
    >>> X = np.random.default_rng(0).normal(size=(200, 1))
    >>> density = PSDDensity().fit(X)
    >>> round(density.integrate(), 6), round(density.integrate([[-np.inf, 0]]), 1)
    (1.0, 0.5)
    """

    takes_tables = False  # a density is one of numbers

    _: KW_ONLY
    width: float = WIDTH
    base_measure: Any = parameter(
        None,
        """
        Model the density with respect to Lebesgue measure, or with respect to a Gaussian with
        independent coordinates (by default centred at the data with twice their variances): the
        function then only says where the data differ from it, and tails are the Gaussian's.
        """,
        kind='None, "gaussian" or (mean, variance)',
    )

    def score_samples(self, X: Any) -> Array:
        """Log density with respect to Lebesgue measure at the rows of ``X``, shape (n_samples,)."""
        check_is_fitted(self)
        return np.asarray(self.density_.logs(check_new_data(self, X)))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean log density, the held-out log-likelihood per row."""
        logs = self.score_samples(X)
        return float(np.average(logs, weights=check_weights(sample_weight, len(logs))))

    def density(self, X: Any) -> Array:
        """Density with respect to Lebesgue measure at the rows of ``X``, shape (n_samples,)."""
        check_is_fitted(self)
        return np.asarray(self.density_.values(check_new_data(self, X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Independent draws from the density.

        Coordinates are drawn in turn from their conditional distributions given those before, each
        by inverting its distribution function, which is known in closed form up to rounding.

        Returns
        -------
        array, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        check_count(n_samples, "n_samples")
        source = check_random_state(random_state)
        rng = np.random.default_rng(source.randint(2**31 - 1))
        return np.asarray(self.density_.sample(int(n_samples), rng))

    def integrate(self, box: Any = None) -> float:
        """Probability of a box, in closed form; by default of the whole space.

        Parameters
        ----------
        box : array-like, shape (n_features, 2), optional
            Lower and upper end for each variable, infinite ones too.
        """
        check_is_fitted(self)
        return float(self.density_.integral(box))

    def marginal(self, columns: Any) -> PSDModel:
        """Density of some variables, by names or indices: a function of them in increasing order.

        It has ``values``, ``gradients`` and ``integral``.
        """
        check_is_fitted(self)
        kept = np.unique(column_indices(self, columns, "columns"))
        if not kept.size:
            raise InvalidParameterError("marginal needs at least one column; got none.")
        return self.density_.marginal(kept)

    def conditional(self, columns: Any, values: Any) -> PSDModel:
        """Density of the other variables given that ``columns`` have these ``values``, one each."""
        check_is_fitted(self)
        given = column_indices(self, columns, "columns")
        values = np.asarray(values, dtype=float).ravel()
        different = len(np.unique(given)) == len(given)
        if len(values) != len(given) or not (0 < len(given) < self.n_features_in_ and different):
            raise InvalidParameterError(
                f"conditional needs one value per column, different ones, and one left over; got "
                f"{len(given)} columns of {self.n_features_in_} and {len(values)} values."
            )
        model = self.density_.given(given, values)
        mass = model.integral()
        if not mass > 0:
            raise InvalidParameterError(
                f"The density at {values.tolist()} is zero to machine precision, so nothing is "
                "known given these values. Condition on values near the data."
            )
        return model * (1 / mass)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        X = check_rows(self, X)
        return Data(X, np.zeros(len(X)), check_weights(sample_weight, len(X)))

    def _prepare(self, data: Data) -> Table:
        table = super()._prepare(data)
        if len(table.columns) < data.X.shape[1]:
            flat = np.delete(np.array(feature_names(self)), table.columns)
            raise InvalidDataError(
                f"Columns {', '.join(flat[:10])} are constant, so there is no density in all "
                f"{data.X.shape[1]} columns. Leave them out."
            )
        return table

    def _parts(self, table: Table, width: float) -> dict[str, Any]:
        n, d = table.X.shape
        scales, base = np.full(d, 1 / self._width_of(table, width)), self._base_of(table)
        return {
            "nonnegative": (True,),
            "loss": density_loss(n),
            "scales": scales,
            "null": np.ones(1),
            "height": natural_height(table.X, scales, base),
            "normalise": True,
            "base": base,
        }

    def _width_of(self, table: Table, width: float) -> float:
        """A rule measures distances, which grow with the root of the dimension; widths must not."""
        d = table.X.shape[1] if isinstance(self.length_scale, str) else 1
        measured = length_scale(Gaussian(), table.X, table.weights, self.length_scale)
        return width * measured / float(np.sqrt(d))

    def _base_of(self, table: Table) -> Base | None:
        """The base measure in the units of the task."""
        if self.base_measure is None:
            return None
        d = table.X.shape[1]
        if isinstance(self.base_measure, str) and self.base_measure == "gaussian":
            centre = table.weights @ table.X
            return Base(centre, BASE_SPREAD * (table.weights @ (table.X - centre) ** 2))
        try:
            mean, variance = (np.broadcast_to(np.asarray(v, float), d) for v in self.base_measure)
        except (TypeError, ValueError):
            mean = variance = np.full(d, np.nan)
        if not (np.isfinite(mean) & np.isfinite(variance) & (variance > 0)).all():
            raise InvalidParameterError(
                'base_measure must be None, "gaussian" or a pair (mean, variance) of numbers or of '
                f"one number per column, variances positive; got {self.base_measure!r}."
            )
        centre, scale = (v[table.columns] for v in (table.scaler.centre, table.scaler.scale))
        return Base((mean[table.columns] - centre) / scale, variance[table.columns] / scale**2)

    def _unpack(self, task: Task, fitted: FittedTask, table: Table) -> None:
        (function,), columns = fitted.functions, table.columns
        centre, scale = (v[columns] for v in (table.scaler.centre, table.scaler.scale))
        height = -float(np.sum(np.log(scale)))
        if task.base is None:
            height += float(np.sum(np.log(task.scales)))
        else:
            function = function.times_gaussian(task.base.mean, task.base.variance)
        self.density_: PSDModel = function.normalised(height, 1 / scale, -centre / scale, columns)

    def _held_out(self, data: Data) -> float:
        return float(np.average(self.density_.logs(data.X), weights=data.weights))

    def _look_at(self, data: Data) -> Table:
        table = super()._look_at(data)
        d = table.X.shape[1]
        if d > MANY_FEATURES:
            X = table.X[:500] / self._width_of(table, self.width or WIDTH)
            size = float(Gaussian()(X, X).mean()) * len(table.X)  # rows that count at a row
            warn(
                f"A density in {d} variables is asked for. About {size:.1f} of {len(table.X)} rows "
                "lie within one length scale of a row, so the estimate is mostly its penalty. "
                "Use fewer columns, or a larger width."
            )
        return table


@estimator
class PSDDensityCV(TunedPenalty, PSDDensity):
    """:class:`PSDDensity` with width and weight of largest held-out log-likelihood."""

    default_widths = (0.35, 0.6, 1.0)
    default_weights = (30.0, 3.0, 0.3, 0.03, 0.003)
    fold_tol = FOLD_TOL
