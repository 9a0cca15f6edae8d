r"""Density estimation with a function that is non-negative and integrates to one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nablasso.data.table import Table, check_weights
from nablasso.errors import InvalidDataError, InvalidParameterError, warn
from nablasso.estimators.nonnegative import (
    FOLD_TOL,
    NonnegativeEstimator,
    TunedPenalty,
    WidthAndWeights,
    width_of,
)
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.target import Data
from nablasso.estimators.validation import (
    check_count,
    check_new_data,
    check_rows,
    column_indices,
    feature_names,
)
from nablasso.nonnegative import Base, FittedTask, PSDModel, Task, density_loss, natural_height
from nablasso.nonnegative.task import as_functionals
from nablasso.types import Array

MANY_FEATURES = 30
WIDTH = 0.5  # of the length scale, by default: products of kernels are narrower than the kernel
BASE_SPREAD = 2.0  # variance of the default base measure, in variances of the data


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
        'None, "gaussian" or (mean, variance)',
        """
        Model the density with respect to Lebesgue measure, or with respect to a Gaussian with
        independent coordinates (by default centred at the data with twice their variances): the
        function then only says where the data differ from it, and tails are the Gaussian's.
        """,
    )
    constraints: Any = parameter(
        (),
        "sequence of Moment, BoxProbability or LinearConstraint",
        "Equalities that the density meets, such as a known mean (:mod:`nablasso.nonnegative`).",
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
        model = self._psd("marginal")
        kept = np.unique(column_indices(self, columns, "columns"))
        if not kept.size:
            raise InvalidParameterError("marginal needs at least one column; got none.")
        return model.marginal(kept)

    def conditional(self, columns: Any, values: Any) -> PSDModel:
        """Density of the other variables given that ``columns`` have these ``values``, one each."""
        model = self._psd("conditional")
        given = column_indices(self, columns, "columns")
        values = np.asarray(values, dtype=float).ravel()
        different = len(np.unique(given)) == len(given)
        if len(values) != len(given) or not (0 < len(given) < self.n_features_in_ and different):
            raise InvalidParameterError(
                f"conditional needs one value per column, different ones, and one left over; got "
                f"{len(given)} columns of {self.n_features_in_} and {len(values)} values."
            )
        model = model.given(given, values)
        mass = model.integral()
        if not mass > 0:
            raise InvalidParameterError(
                f"The density at {values.tolist()} is zero to machine precision, so nothing is "
                "known given these values. Condition on values near the data."
            )
        return model * (1 / mass)

    def _psd(self, wanted: str) -> PSDModel:
        check_is_fitted(self)
        if not isinstance(self.density_, PSDModel):
            raise InvalidParameterError(f'{wanted} needs model="psd"; got model={self.model!r}.')
        return self.density_

    def _validate(self, X: Any, y: Any, sample_weight: Any) -> Data:
        X = check_rows(self, X)
        return Data(X, np.zeros(len(X)), check_weights(sample_weight, len(X)))

    def _prepare(self, data: Data) -> Table:
        table = super()._prepare(data)
        if len(table.columns) < data.X.shape[1]:
            names = np.array(feature_names(self))
            flat = np.delete(names, table.columns)
            raise InvalidDataError(
                f"Columns {', '.join(flat[:10])} are constant, so there is no density in all "
                f"{data.X.shape[1]} columns. Leave them out."
            )
        return table

    def _task(self, table: Table, penalty: WidthAndWeights) -> Task:
        n, d = table.X.shape
        scales = np.full((1, d), 1 / self._width_of(table, penalty.width))
        base = self._base_of(table)
        return self._made(
            table,
            penalty,
            (True,),
            loss=density_loss(n),
            scales=scales,
            null=np.ones(1),
            height=natural_height(table.X, scales[0], base),
            normalise=True,
            base=base,
            functionals=as_functionals(self.constraints, table, scales[0], base),
        )

    def _width_of(self, table: Table, width: float) -> float:
        """A rule measures distances, which grow with the root of the dimension; widths must not."""
        d = table.X.shape[1] if isinstance(self.length_scale, str) else 1
        measured = width_of(table.X, table.weights, self.length_scale)
        return width * measured / float(np.sqrt(d))

    def _base_of(self, table: Table) -> Base | None:
        """The base measure in the units of the task."""
        if self.base_measure is None:
            return None
        d = table.X.shape[1]
        if isinstance(self.base_measure, str):
            if self.base_measure != "gaussian":
                raise InvalidParameterError(
                    'base_measure must be None, "gaussian" or a pair (mean, variance); got '
                    f"{self.base_measure!r}."
                )
            centre = table.weights @ table.X
            return Base(centre, BASE_SPREAD * (table.weights @ (table.X - centre) ** 2))
        try:
            mean, variance = (np.broadcast_to(np.asarray(v, float), d) for v in self.base_measure)
        except (TypeError, ValueError) as error:
            raise InvalidParameterError(
                "base_measure must be a pair (mean, variance) of numbers or of one number per "
                f"column; got {self.base_measure!r}."
            ) from error
        if not (np.isfinite(mean) & np.isfinite(variance) & (variance > 0)).all():
            raise InvalidParameterError("The variances of base_measure must be positive.")
        centre, scale = (v[table.columns] for v in (table.scaler.centre, table.scaler.scale))
        return Base((mean[table.columns] - centre) / scale, variance[table.columns] / scale**2)

    def _unpack(self, task: Task, fitted: FittedTask, table: Table) -> None:
        (function,), columns = fitted.functions, table.columns
        centre, scale = (v[columns] for v in (table.scaler.centre, table.scaler.scale))
        height = -float(np.sum(np.log(scale)))
        if task.base is None:
            height += float(np.sum(np.log(task.scales[0])))
        else:
            function = function.times_gaussian(task.base.mean, task.base.variance)
        self.density_ = function.normalised(height, 1 / scale, -centre / scale, columns)

    def _held_out(self, data: Data) -> float:
        return float(np.average(self.density_.logs(data.X), weights=data.weights))

    def _look_at(self, data: Data) -> Table:
        table = super()._look_at(data)
        d = table.X.shape[1]
        if d > MANY_FEATURES:
            size = effective_size(table, self._width_of(table, self.width or WIDTH))
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
    has_linear = False


def effective_size(table: Table, width: float, rows: int = 500) -> float:
    """Mean number of rows that count at a row: kernel values instead of ones."""
    X = table.X[:rows] / width
    square = np.sum(X**2, axis=1)
    K = np.exp(-0.5 * np.maximum(square[:, None] + square - 2 * X @ X.T, 0.0))
    return float(K.mean()) * len(table.X)
