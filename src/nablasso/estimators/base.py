r"""What selectors are made of: what ``y`` is, the parameters they share, what predicts.

**Targets.** Numbers need one function, and so do counts, whose loss has a link
(:mod:`nablasso.losses`). Two classes need one function too, the log-odds of the second. K > 2
classes need K functions, each from the problem "this class or not" on the same table; their
probabilities are divided by their sum.

**A fit** reads data, makes a table of them, solves one problem per function at weights that are
given or chosen, and keeps what predicts and how far the selection can be trusted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import log_loss
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from nablasso.answer import CONSTANT
from nablasso.data.roles import many_classes
from nablasso.data.table import Table, check_weights, is_frame, prepare
from nablasso.errors import InvalidDataError, InvalidParameterError, warn_of_gap
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.validation import (
    by_column,
    check_count,
    check_length_scale,
    check_new_data,
    check_positive,
    check_rows,
    check_training_data,
    column_indices,
    correlated_pairs,
    feature_kinds,
    group_labels,
)
from nablasso.losses import Logistic, Loss, Squared, as_loss
from nablasso.solvers import Status
from nablasso.types import Array, Index, Mask

CLEAR_GAIN = 2.0  # standard errors
MANY = 2000  # selected variables whose twins are looked for


# ------------------------------------------------------------------ what y is


class Data(NamedTuple):
    """Validated arrays; ``y`` are numbers, or the codes of classes."""

    X: Array
    y: Array
    weights: Array
    unlabelled: Array | None = None

    def at(self, rows: Index) -> Data:
        """Some of the rows; those without a target stay."""
        return Data(self.X[rows], self.y[rows], self.weights[rows], self.unlabelled)


@dataclass(frozen=True)
class Target:
    """The loss of one function, and the labels where ``y`` holds classes.

    ``centred`` says whether the mean of numbers is taken away before a function is fitted.
    """

    loss: Loss
    classes: NDArray[Any] | None = None
    class_weight: Any = None
    centred: bool = False

    def table(self, data: Data, *, standardize: bool, **options: Any) -> Table:
        """The rows in canonical order; those of a class weighted as ``class_weight`` says."""
        X, y, weights, _ = data
        if self.classes is not None:
            weights = weights * self.class_factors(y, weights)[y.astype(np.intp)]
        return prepare(X, y, weights, standardize=standardize, centre_y=self.centred, **options)

    def functions(self, y: Array) -> Array:
        """What each function is fitted to, (n, q): numbers, or plus and minus one."""
        if self.classes is None:
            return y[:, None]
        ours = [1] if len(self.classes) == 2 else range(len(self.classes))
        return np.column_stack([np.where(y == code, 1.0, -1.0) for code in ours])

    def labels(self, y: Array) -> NDArray[Any]:
        """What scorers expect: the numbers, or the labels of the codes."""
        return y if self.classes is None else np.asarray(self.classes[y.astype(np.intp)])

    def class_factors(self, codes: Array, weights: Array) -> Array:
        """What ``class_weight`` multiplies the weights of each class by."""
        assert self.classes is not None
        k, given = len(self.classes), self.class_weight
        if given is None:
            return np.ones(k)
        if isinstance(given, str) and given == "balanced":
            totals = np.bincount(codes.astype(np.intp), weights=weights, minlength=k)
            share = weights.sum() / k
            return np.asarray(np.divide(share, totals, out=np.zeros(k), where=totals > 0))
        factors = np.full(k, np.nan)
        if hasattr(given, "get"):
            factors = np.array([given.get(label, 1.0) for label in self.classes.tolist()], float)
        if not (np.isfinite(factors) & (factors > 0)).all():
            raise InvalidParameterError(
                f'class_weight must be None, "balanced" or a dict of label to positive number; got '
                f"{given!r}."
            )
        return factors


def read_numbers(
    model: Any, X: Any, y: Any, sample_weight: Any, loss: Loss, *, centred: bool = True
) -> tuple[Data, Target]:
    """Check numbers or counts; they are centred where ``centred`` and the loss allow it."""
    X, y = check_training_data(model, X, y)
    loss.check_target(y)
    weights = check_weights(sample_weight, len(X))
    return Data(X, y, weights), Target(loss, centred=centred and loss.translates)


def read_classes(
    model: Any, X: Any, y: Any, sample_weight: Any, loss: Loss, class_weight: Any
) -> tuple[Data, Target]:
    """Check labels; those of rows of no weight do not count."""
    X, y = check_rows(model, X, y)
    check_classification_targets(y)
    weights = check_weights(sample_weight, len(X))
    counted = weights > 0
    classes = np.unique(y[counted])
    check_classes(classes)
    codes = np.zeros(len(y))
    codes[counted] = np.searchsorted(classes, y[counted])
    return Data(X, codes, weights), Target(loss, classes, class_weight)


def check_classes(classes: NDArray[Any]) -> None:
    """Refuse labels that are none, or fewer than two."""
    check_classification_targets(np.repeat(classes, 3))  # each once, many labels look like numbers
    if question := many_classes(classes):
        raise InvalidDataError(question)
    if len(classes) < 2:
        raise InvalidDataError(
            f"A classifier needs at least two classes; got {len(classes)} class in the rows of "
            "non-zero weight. Add rows of another class."
        )


# ------------------------------------------------------------------ what predicts


@estimator
class PredictsNumbers(RegressorMixin):
    """Predictions from the one of ``_functions`` of standardised inputs, and ``_target``.

    Without ``fit_intercept`` numbers are not centred.
    """

    def _loss(self) -> Loss:
        """The loss, thresholds in units of a robust deviation of the target."""
        return as_loss(getattr(self, "loss", "squared"))

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """Checked arrays; sets ``_target``."""
        centred = getattr(self, "fit_intercept", True)
        data, self._target = read_numbers(self, X, y, sample_weight, self._loss(), centred=centred)
        return data

    def predict(self, X: Any) -> Array:
        """Predict the target."""
        check_is_fitted(self)
        return np.asarray(self._target.loss.mean(self._link(check_new_data(self, X))))

    def predict_gradient(self, X: Any) -> Array:
        """Gradient of the predicted function, in the units of ``X`` and ``y``.

        Returns
        -------
        array, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = check_new_data(self, X)
        gradients = self._functions[0].gradients(self._scaler.transform(X)) / self._scaler.scale
        if not isinstance(self._target.loss, Squared):
            gradients *= self._target.loss.mean_derivative(self._link(X))[:, None]
        return by_column(self, gradients)

    def _link(self, X: Array) -> Array:
        """The fitted function: what the loss compares with the target."""
        return np.asarray(self._y_mean + self._functions[0].values(self._scaler.transform(X)))

    def _held_out(self, data: Data) -> float:
        """Negative mean loss of rows not seen in fit."""
        losses = self._target.loss.value(data.y, self._link(data.X))
        return -float(np.average(losses, weights=data.weights))


def class_shares(odds: Array) -> Array:
    """Probabilities of the classes from log-odds (n,) of the second, or (n, k) of each."""
    if odds.ndim == 1:
        return np.column_stack([expit(-odds), expit(odds)])
    # relative to the largest: all of them may be tiny
    logs = -np.logaddexp(0.0, -odds)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@estimator
class PredictsClasses(ClassifierMixin):
    """Predictions from ``_functions`` of standardised inputs, the log-odds.

    Attributes
    ----------
    classes_ : array, shape (n_classes,)
        The labels.
    """

    _: KW_ONLY
    class_weight: Any = parameter(
        None,
        'Factors of the sample weights by class; ``"balanced"`` gives every class the same total '
        "weight.",
        kind='dict or "balanced"',
    )

    def _loss(self) -> Loss:
        """The loss of one class against the rest."""
        return Logistic()

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Data:
        """Checked arrays; sets ``_target`` and ``classes_``."""
        loss, weight = self._loss(), self.class_weight
        data, self._target = read_classes(self, X, y, sample_weight, loss, weight)
        self.classes_: Any = self._target.classes
        return data

    def decision_function(self, X: Any) -> Array:
        """Log-odds of the second class, or of each class against the rest.

        Returns
        -------
        array, shape (n_samples,) for two classes, (n_samples, n_classes) for more
        """
        check_is_fitted(self)
        Z = self._scaler.transform(check_new_data(self, X))
        odds = np.column_stack([function.values(Z) for function in self._functions])
        return odds[:, 0] if len(self.classes_) == 2 else odds

    def predict_proba(self, X: Any) -> Array:
        """Probability of each class."""
        return class_shares(self.decision_function(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the label."""
        odds = self.decision_function(X)
        codes = (odds > 0).astype(int) if odds.ndim == 1 else odds.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_gradient(self, X: Any) -> Array:
        """Gradient of the decision function, in the units of ``X``.

        Returns
        -------
        array, shape (n_samples, n_features) for two classes, (n_samples, n_classes, n_features)
            for more
        """
        check_is_fitted(self)
        Z = self._scaler.transform(check_new_data(self, X))
        parts = [function.gradients(Z) / self._scaler.scale for function in self._functions]
        return by_column(self, parts[0] if len(parts) == 1 else np.stack(parts, axis=1))

    def _held_out(self, data: Data) -> float:
        """Negative log loss of rows not seen in fit."""
        known, shares = self._target.labels(data.y), self.predict_proba(data.X)
        return -float(log_loss(known, shares, labels=self.classes_, sample_weight=data.weights))


# ------------------------------------------------------------------ what fits


@estimator
class SolvedEstimator(BaseEstimator, ABC):
    """What is solved until a duality gap.

    Attributes
    ----------
    objective_ : float
        Objective of the penalised function.
    dual_gap_ : float
        Bound on its distance from the optimum.
    n_iter_ : int
        Iterations of the solver.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    _: KW_ONLY
    standardize: bool = parameter(
        True, "Centre the columns and divide them by their standard deviation."
    )
    tol: float = parameter(
        1e-6, "Duality gap to reach, relative to the objective at ``f = 0``.", check_positive
    )
    max_iter: int | None = parameter(None, "By default the solver's own.", check_count)
    random_state: Any = parameter(
        None,
        "Draws what is drawn at random and, where folds are drawn for a number ``cv``, shuffles "
        "them; without it everything is fixed by the data.",
        kind="int or RandomState",
    )
    verbose: int = parameter(0, "Log progress on the ``nablasso`` logger.")

    def _warn_unless_converged(self, solved: Any, target: float, cure: str) -> None:
        """Warn of ``solved``, which has ``n_iter``, ``status`` and ``gap``."""
        if solved.status is Status.INTERRUPTED:
            cure = "Fit again for an exact solution."
        elif solved.status is Status.CONVERGED or solved.gap <= target:
            return
        warn_of_gap(type(self).__name__, solved, target, cure)


@estimator
class InKernel(BaseEstimator):
    """What a kernel sees through a length scale."""

    _: KW_ONLY
    length_scale: Any = parameter(
        "median",
        "Inputs are divided by it before the kernel sees them: a number, or a rule measured on the "
        "data (``half_median``: half the median distance between rows). Kernels of the dot product "
        "have no distance; a rule means 1 for them.",
        check_length_scale,
        kind='float or {"median", "half_median", "neighbour20", "median20"}',
    )


@estimator
class Selects(SelectorMixin):
    """Selected columns of arrays as scikit-learn gives them, of encoded tables as a table.

    Attributes
    ----------
    support_ : array of bool, shape (n_features,)
        The selected variables.
    n_features_in_, feature_names_in_
        As in scikit-learn.
    """

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def transform(self, X: Any) -> Any:
        """The selected columns.

        Returns
        -------
        array, or a frame if the estimator was fitted to one that is not all numbers
        """
        encoding = getattr(self, "_encoding", None)
        if encoding is None or encoding.is_plain or not is_frame(X):
            return super().transform(X)
        chosen = self.get_support()
        return X[[c.name for c, inside in zip(encoding.columns, chosen, strict=True) if inside]]


@estimator
class Grouped(BaseEstimator):
    """What chooses between groups of columns, and may be told which to keep."""

    _: KW_ONLY
    feature_groups: Any = parameter(
        None,
        "A partition of the columns, by name or index, or one label per column. Groups, such as "
        "the columns of one category, are selected as a whole.",
        kind="list of lists, mapping or labels",
    )
    always_keep: Any = parameter(
        None,
        "Columns, by name, index or mask, that are always selected (with their group), unless "
        "they are constant.",
        kind="list",
    )


@estimator
class Selector(Grouped, SolvedEstimator):
    """What selects variables by a penalty, with one function or one for each class.

    Attributes
    ----------
    support_ : array of bool, shape (n_features,)
        The selected variables.
    class_importances_ : array, shape (n_classes, n_features)
        Of a classifier: ``feature_importances_`` of each class against the rest; one row, that of
        the second class, where there are two.
    solver_status_ : str
        ``"converged"``, ``"max_iter"``, ``"stalled"`` or, after a keyboard interrupt that kept
        the best fit so far, ``"interrupted"`` (a hierarchy: see ``search_status_``).
    relative_gap_ : float
        ``dual_gap_`` relative to the objective at ``f = 0``.
    loo_r2_ : float
        Leave-one-out R2 of the kernel machine on the selected variables; for losses other than
        the squared one the share of the null model's loss that it saves.
    feature_kinds_ : array of str, shape (n_features,)
        ``"continuous"``, ``"discrete"`` (at most 10 values) or ``"constant"``.
    selection_status_ : str
        ``"constant target"`` or ``"none found"``: nothing was selected; ``"too few rows"``: the
        selected variables predict left-out rows not clearly better than the mean (by less than
        two standard errors); ``"replaceable"``: see ``twins_``; else ``"clear"``.
    twins_ : list of (int, int)
        Selected variables and others correlated 0.95 or more with them.
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": UNUSED}  # only folds ask
    along: ClassVar[tuple[int, float]]  # alphas of a path, and the smallest over the largest

    @abstractmethod
    def _path(self, data: Data, table: Table, alphas: Any, eps: float) -> Any:
        """The path along given alphas, or that many down to ``eps`` of the largest."""

    @abstractmethod
    def _weights(self, data: Data, table: Table, groups: Any) -> dict[str, Any]:
        """The weights of the problem, given or chosen by cross-validation."""

    @abstractmethod
    def _fit_at(self, data: Data, table: Table, *_: Any, **weights: Any) -> None:
        """Solve at these weights, and unpack the solutions into fitted attributes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Select variables and fit the function."""
        return self._fit(self._read(X, y, sample_weight), groups)

    def _fit(self, data: Data, groups: Any) -> Self:
        table = self._table(data)
        self._fit_at(data, table, **self._weights(data, table, groups))
        return self

    def _table(self, data: Data, **options: Any) -> Table:
        table: Table = self._target.table(data, standardize=self.standardize, **options)
        return table

    def _groups(self) -> tuple[Index, Mask]:
        """The group of each column, and whether it is in one that is always kept."""
        labels = group_labels(self, self.feature_groups)
        kept = column_indices(self, self.always_keep, "always_keep")
        return labels, np.isin(labels, labels[kept])

    def _only(self, functions: Sequence[Any]) -> Any:
        """The function of a path."""
        if len(functions) > 1:
            raise InvalidParameterError(
                f"A path belongs to one function; {self!r} fits {len(functions)} on these "
                "classes. Give the labels of one class against the rest."
            )
        return functions[0]

    def _keep(self, functions: list[Any], table: Table) -> None:
        """Remember what predicts."""
        self._functions, self._scaler, self._y_mean = functions, table.scaler, table.y_mean

    def _keep_solved(self, fits: Sequence[Any]) -> None:
        """How exact the solutions are."""
        keep_gaps(self, map(gap_of, fits), (fit.solution.n_iter for fit in fits))
        worst: Status = max((fit.solution.status for fit in fits), key=list(Status).index)
        self.solver_status_ = worst.value

    def _keep_importances(self, rows: Array) -> None:
        """Importances (n_functions, n_features)."""
        self.feature_importances_ = np.max(rows, axis=0)
        if self._target.classes is not None:
            self.class_importances_ = rows

    def _keep_status(self, data: Data, table: Table, gain: tuple[float, float]) -> None:
        """How far the selection can be trusted; ``gain`` are R2 and standard errors of left-outs.

        Twins are looked for of the ``MANY`` most important variables.
        """
        self.loo_r2_, self._n_rows = gain[0], len(data.X)
        self.feature_kinds_ = feature_kinds(data.X[table.rows >= 0])
        chosen = np.flatnonzero(self.support_[table.columns])
        if len(chosen) > MANY:
            sizes = self.feature_importances_[table.columns[chosen]]
            chosen = np.sort(chosen[np.argsort(-sizes, kind="stable")[:MANY]])
        self.twins_ = correlated_pairs(table, chosen)
        self.selection_status_ = "replaceable" if self.twins_ else "clear"
        if not chosen.size:
            self.selection_status_ = nothing_status(table.y)
        elif gain[1] < CLEAR_GAIN:
            self.selection_status_ = "too few rows"


def gap_of(fit: Any) -> tuple[float, float, float]:
    """Of a problem and its solution the gap, the objective and that at ``f = 0``."""
    return fit.solution.gap, fit.solution.primal, fit.problem.reference


def gaps_of(solved: Iterable[tuple[float, float, float]]) -> dict[str, float]:
    """Attributes that tell how exact problems are: gap, objective, objective at ``f = 0``."""
    found = [(max(gap, 0.0), objective, at_zero) for gap, objective, at_zero in solved]
    return {
        "dual_gap_": float(sum(gap for gap, _, _ in found)),
        "objective_": float(sum(objective for _, objective, _ in found)),
        "relative_gap_": float(max((gap / at_zero for gap, _, at_zero in found), default=0.0)),
    }


def keep_gaps(
    model: Any, solved: Iterable[tuple[float, float, float]], n_iter: Iterable[int]
) -> None:
    """Set these attributes, and ``n_iter_``."""
    vars(model).update(gaps_of(solved) | {"n_iter_": max([1, *n_iter])})


def nothing_status(y: Array) -> str:
    """Why nothing was selected."""
    return "none found" if np.ptp(y) > 0 else CONSTANT
