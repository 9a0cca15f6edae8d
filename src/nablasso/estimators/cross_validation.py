"""Along alpha: paths, and candidates judged on folds, what all ``...CV`` estimators share.

An estimator says what is to be tried, and for the training rows of a fold it walks along its path
and yields what would predict (``_candidates``). Here folds are drawn, in the canonical order of
the rows; every candidate is scored on the rows left out; and one is chosen: the best mean score, or
("1se") among those within one standard error of it the one with the fewest variables. Folds run in
parallel and report progress; an interrupt keeps those that are done. Folds that gave no number for
any candidate are not counted.

The one call predicts left-out rows without a model of them: :func:`fold_score` puts these
predictions behind the face of a fitted model for a scorer of scikit-learn's.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils import check_random_state

from nablasso.data.table import MIN_ROWS, Table
from nablasso.errors import InvalidDataError, InvalidParameterError, warn
from nablasso.estimators.base import Data, Selector, gaps_of
from nablasso.estimators.parameters import KW_ONLY, estimator, parameter
from nablasso.estimators.validation import as_floats, check_count
from nablasso.paths import alpha_grid
from nablasso.progress import run_jobs
from nablasso.regression.models import FewRows
from nablasso.types import Array, Index, Mask

Fold = tuple[Index, Index]
Item = TypeVar("Item")


class Cell(NamedTuple):
    """One path of a grid: alphas from the largest down, at fixed other parameters.

    With ``null_first`` the first alpha is ``alpha_max`` on all rows and selects nothing there. A
    fold has another ``alpha_max``, so the null model stands for this candidate in every fold.
    """

    alphas: Array
    fixed: Mapping[str, float] = {}
    null_first: bool = False


def grid_points(cells: Iterable[Cell]) -> list[dict[str, float]]:
    """The parameters of every candidate, path by path."""
    return [{"alpha": float(alpha), **cell.fixed} for cell in cells for alpha in cell.alphas]


class Candidate(NamedTuple):
    """What would predict at one point of a grid, fitted on the training rows of a fold.

    ``model`` is the estimator as it would be (``_as_fitted``) or None, ``size`` the number of
    variables, and ``more`` are further columns of ``cv_results_``.
    """

    model: Any
    size: float = np.nan
    more: Mapping[str, float] = {}


@estimator
class CrossValidated(BaseEstimator):
    """An estimator that chooses by cross-validation, then fits on all rows.

    Attributes
    ----------
    cv_results_ : dict
        Scores with the keys of :class:`~sklearn.model_selection.GridSearchCV`, but no times.
    best_params_ : dict
        The parameters of the refit.
    best_score_, best_index_
        Score of the refit's parameters and their place in ``cv_results_``.
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"groups": None}

    _: KW_ONLY
    cv: Any = parameter(
        5,
        "Folds. A number draws them in a canonical order of the rows; a splitter of scikit-learn's "
        "or an iterable of (train, test) is used as it is.",
        kind="int, splitter or iterable",
    )
    scoring: Any = parameter(
        None,
        "A scorer of scikit-learn's; by default the negative mean loss, for classifiers the "
        "negative log loss.",
        kind="str or callable",
    )
    selection_rule: str = parameter(
        "1se",
        "Take the candidate that selects the fewest variables among those whose score is within "
        "one standard error of the best, or the best itself.",
        kind='{"1se", "min"}',
    )
    n_jobs: int | None = parameter(
        None, "Folds fitted in parallel; each uses one thread of linear algebra."
    )

    def _candidates(self, train: Data, held_out: Data, grid: Any) -> Iterable[Candidate]:
        """What the points of the grid give on the rows of ``train``, in their order."""
        raise NotImplementedError

    def _as_fitted(self, *fitted: Any) -> Any:
        """The estimator as it would be after ``_keep(*fitted)`` on the training rows of a fold."""
        model: Any = copy(self)
        vars(model).pop("feature_names_in_", None)  # folds are arrays without names
        model._keep(*fitted)
        return model

    def _folds(self, data: Data, table: Table, groups: Any) -> list[Fold]:
        """Rows to train on and rows to judge by."""
        rows = (data.X, data.y, groups, table, self.random_state)
        return draw_folds(self.cv, *rows, stratify=hasattr(self, "classes_"))

    def _judged(self, data: Data, table: Table, groups: Any, grid: Any) -> dict[str, Array]:
        """What the folds say of every candidate, each (n_folds, n_candidates)."""
        name, folds = type(self).__name__, self._folds(data, table, groups)
        jobs = [(self, data, grid, fold) for fold in folds]
        options: Any = {"n_jobs": self.n_jobs, "verbose": self.verbose}
        judged = run_jobs(judge_fold, jobs, label=f"{name} folds", **options)
        said = f"of {len(folds)} folds; its parameters are chosen by these alone."
        done = until_interrupt(judged, f"{name} was", said)
        return {key: np.array([[one[key] for one in fold] for fold in done]) for key in done[0][0]}

    def _choose(
        self,
        params: list[dict[str, float]],
        outcomes: dict[str, Array],
        *,
        allowed: Mask | None = None,
        ties: Array | None = None,
    ) -> dict[str, float]:
        """Choose among candidates; sets what scikit-learn's searches set.

        ``outcomes`` has ``score``, and ``size`` where variables are counted; whatever else it has
        is kept. Only ``allowed`` candidates are chosen, unless there are none. Among equals the one
        of smallest ``ties`` is taken.
        """
        scores = outcomes["score"]
        usable = ~np.isnan(scores).all(axis=1)
        if not usable.any():
            raise InvalidParameterError(
                f"scoring={self.scoring!r} gave no number on any candidate; folds of one row have "
                "no R2, for example. Use larger folds or another score."
            )
        with np.errstate(invalid="ignore"):  # minus infinity minus itself
            mean, std = scores[usable].mean(axis=0), scores[usable].std(axis=0)
        mean = np.where(np.isnan(mean), -np.inf, mean)
        able = mean if allowed is None or not allowed.any() else np.where(allowed, mean, -np.inf)
        best = int(np.argmax(able))
        if self.selection_rule == "1se":
            within = able >= mean[best] - std[best] / np.sqrt(usable.sum())
            fewest = np.where(within, outcomes["size"].mean(axis=0), np.inf)
            last = np.arange(len(mean)) if ties is None else ties
            best = int(np.lexsort((last, -mean, fewest))[0])
        rank = np.argsort(np.argsort(-mean, kind="stable"), kind="stable") + 1
        more = {"n_selected" if k == "size" else k: v for k, v in outcomes.items() if k != "score"}
        self.cv_results_ = {
            "params": params,
            **{f"param_{key}": np.array([point[key] for point in params]) for key in params[0]},
            **{f"split{i}_test_score": row for i, row in enumerate(scores)},
            "mean_test_score": mean,
            "std_test_score": std,
            "rank_test_score": rank.astype(np.int32),
            **{f"mean_{key}": values.mean(axis=0) for key, values in more.items()},
        }
        self.best_index_, self.best_params_ = best, params[best]
        self.best_score_ = float(mean[best])
        return self.best_params_


def until_interrupt(items: Iterable[Item], who: str, said: str) -> list[Item]:
    """All items; an interrupt keeps those that are done, and a warning says so."""
    done: list[Item] = []
    try:
        for item in items:
            done.append(item)
    except KeyboardInterrupt:
        if not done:
            raise
        warn(f"{who} interrupted after {len(done)} {said}", ConvergenceWarning)
    return done


def judge_fold(model: Any, data: Data, grid: Any, fold: Fold) -> list[dict[str, float]]:
    """Score and size of every candidate on one fold."""
    train, test = fold
    held_out = data.at(test[data.weights[test] > 0])
    return [
        {"score": _score(one.model, held_out), "size": one.size, **one.more}
        for one in model._candidates(data.at(train), held_out, grid)
    ]


def _score(model: Any, held_out: Data) -> float:
    """The score of a candidate by its own measure, or by its ``scoring``."""
    if model is None:
        return np.nan
    if model.scoring is None:
        return float(model._held_out(held_out))
    X, y, weights, _ = held_out
    scorer = get_scorer(model.scoring)
    # weights that are all the same are not passed on: a user's scorer may not take them
    weighted = {} if np.ptp(weights) == 0 else {"sample_weight": weights}
    try:
        return float(scorer(model, X, model._target.labels(y), **weighted))
    except TypeError as error:
        if weighted and "sample_weight" in str(error):
            raise InvalidParameterError(
                f"scoring must take sample_weight when weights are given; {scorer!r} does "
                "not. Choose another scorer, or leave the weights out."
            ) from error
        raise


def positive_list(values: Any, name: str, *, zero: bool = False) -> Array:
    """A non-empty list of positive numbers, or of such that are not negative."""
    array = as_floats(values)
    inside = np.isfinite(array) & (array >= 0 if zero else array > 0)
    if array.ndim != 1 or array.size == 0 or not inside.all():
        kind = "numbers >= 0" if zero else "positive numbers"
        raise InvalidParameterError(f"{name} must be a list of {kind}; got {values!r}.")
    return array


def decreasing(alphas: Any, top: float, smallest: float, *, zero: bool = False) -> Array:
    """Alphas, the largest first: a list, or that many from ``top`` to ``smallest`` of it.

    A number gives equal ratios; only with ``zero`` a list may hold it.
    """
    if not isinstance(alphas, int | np.integer) or isinstance(alphas, bool):
        return np.sort(positive_list(alphas, "alphas", zero=zero))[::-1].copy()
    check_count(alphas, "alphas")
    return alpha_grid(top, int(alphas), smallest)


@dataclass(frozen=True)
class Path:
    """A path, from the largest alpha to the smallest; what a family does not have is None.

    Parameters
    ----------
    alphas, support : array, shape (m,), and of bool, shape (m, n_features)
    importances : array, shape (m, n_features), or None
        As ``feature_importances_``.
    names : list of str
        The columns.
    alpha_max : float
        The smallest alpha that selects nothing, as computed.
    chosen : float or None
        The alpha of the fitted model that the path belongs to.
    ridge : float
        The one that was used.
    objectives, dual_gaps, relative_gaps : arrays, shape (m,)
        The objective reached, and bounds on its distance from the optimum; over all kernels of a
        hierarchy.
    n_iter : array of int, shape (m,)
    hulls : list of lists of nodes
        The selected kernels of a hierarchy.
    certified : array of bool, shape (m,)
        Whether the gap over all its kernels is within ``tol``.
    rules : list of str
        Which bound was used.
    """

    alphas: Array
    support: Mask
    importances: Any  # an array, or None
    names: list[str]
    alpha_max: float
    chosen: float | None = None
    ridge: float | None = None
    objectives: Array | None = None
    dual_gaps: Array | None = None
    relative_gaps: Array | None = None
    n_iter: Index | None = None
    hulls: list[list[Any]] | None = None
    certified: Mask | None = None
    rules: list[str] | None = None

    @property
    def entered(self) -> Array:
        """Largest alpha at which each column is selected; zero where never."""
        return np.asarray(np.max(self.alphas[:, None] * self.support, axis=0))


def path(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    n_alphas: int | None = None,
    eps: float | None = None,
    alphas: Any = None,
    X_unlabeled: Any = None,
) -> Path:
    """Solve the problem of an estimator along ``alpha``, with warm starts.

    Parameters
    ----------
    estimator : estimator
        With one ``alpha``: :class:`~nablasso.DerivativeLasso`,
        :class:`~nablasso.SparseGradientRegressor`,
        :class:`~nablasso.HierarchicalKernelRegressor`, or their forms for classes. Its parameters
        but ``alpha`` are used; it is not fitted.
    X : array-like, shape (n_samples, n_features)
    y : array-like, shape (n_samples,)
        Numbers or labels; derivative and hierarchical paths are of one function: two classes.
    sample_weight : array-like, shape (n_samples,), optional
    n_alphas : int, optional
        By default 50 for derivatives, 40 for gradients, 30 for hierarchies.
    eps : float, optional
        The smallest alpha as a fraction of the computed ``alpha_max``; by default 1e-3, 1e-2, 1e-5.
    alphas : array-like, optional
        The alphas themselves, instead of ``n_alphas`` and ``eps``.
    X_unlabeled : array-like, shape (n_unlabeled, n_features), optional
        Rows without a target, where the estimator's ``fit`` takes them.

    Returns
    -------
    Path

    Examples
    --------
    >>> from nablasso import DerivativeLasso, path
    >>> from nablasso.datasets import make_product
    >>> data = make_product(40, 3, random_state=0)
    >>> along = path(DerivativeLasso(), data.X, data.y, n_alphas=5)
    >>> int(along.support[0].sum())
    0
    """
    if not isinstance(estimator, Selector) or isinstance(estimator, CrossValidated):
        raise InvalidParameterError(
            "A path belongs to an estimator with one alpha, such as DerivativeLasso(), "
            f"SparseGradientRegressor() or HierarchicalKernelRegressor(); got {estimator!r}."
        )
    check_count(n_alphas, "n_alphas", none=True)
    if eps is not None and not (isinstance(eps, Real) and 0 < float(eps) < 1):
        raise InvalidParameterError(f"eps must lie between 0 and 1; got {eps!r}.")
    if X_unlabeled is None:
        data = estimator._read(X, y, sample_weight)
    elif hasattr(estimator, "_data"):
        data = estimator._data(X, y, sample_weight, X_unlabeled)
    else:
        raise InvalidParameterError(
            f"X_unlabeled is for the lasso on derivatives; {type(estimator).__name__} takes no "
            "such rows. Leave them out."
        )
    count, least = estimator.along
    asked = (n_alphas or count) if alphas is None else alphas
    walked: Path = estimator._path(data, estimator._table(data), asked, eps or least)
    return walked


def certificates_along(solved: Iterable[Iterable[tuple[float, float, float]]]) -> dict[str, Any]:
    """Gaps and objectives of a path, from those of each function's problem at every alpha."""
    found = [gaps_of(problems) for problems in solved]
    names = {"objectives": "objective_", "dual_gaps": "dual_gap_", "relative_gaps": "relative_gap_"}
    return {name: np.array([one[own] for one in found]) for name, own in names.items()}


def draw_folds(
    cv: Any, X: Any, y: Any, groups: Any, table: Any, random_state: Any, *, stratify: bool = False
) -> list[Fold]:
    """(train, test) row indices of the input; ``stratify`` spreads classes evenly.

    Of the ``table`` its ``X`` and ``y`` count, codes of classes, and where the ``rows`` went.

    A number draws that many folds over the table's rows, so that copies of a row stay together and
    the order of the input does not matter; rows of weight zero are in no fold. With ``groups`` a
    number means :class:`~sklearn.model_selection.GroupKFold` or its stratified form.
    """
    cv = 5 if cv is None else cv
    number = isinstance(cv, int | np.integer)
    if number and groups is None:
        if not 2 <= cv <= len(table.y):
            raise InvalidParameterError(
                f"cv must be between 2 and the number of distinct rows, {len(table.y)}; got {cv}."
            )
        seed = None if random_state is None else check_random_state(random_state)
        kind = StratifiedKFold if stratify else KFold
        parts = kind(int(cv), shuffle=seed is not None, random_state=seed)
        folds = [
            (np.flatnonzero(np.isin(table.rows, train)), np.flatnonzero(np.isin(table.rows, test)))
            for train, test in parts.split(table.X, table.y)
        ]
    else:
        grouped = StratifiedGroupKFold if stratify else GroupKFold
        folds = list((grouped(int(cv)) if number else check_cv(cv)).split(X, y, groups))
    for train, test in folds:
        trained, tested = (table.rows[part][table.rows[part] >= 0] for part in (train, test))
        if len(trained) < MIN_ROWS or not len(tested):
            raise InvalidDataError(
                f"Every fold needs at least {MIN_ROWS} training rows and one test row of non-zero "
                f"weight; one has {len(trained)} and {len(tested)} (n_samples={len(table.rows)}). "
                "Add rows, or raise cv so that more of them train."
            )
        missing = np.setdiff1d(table.y, table.y[trained]) if stratify else ()
        if len(missing):
            raise InvalidDataError(
                f"Every training fold needs rows of every class; one has none of {len(missing)} "
                "classes. Add rows of the rare classes, or lower cv."
            )
    return folds


def stratified_folds(Y: Array, n_folds: int, random_state: Any) -> list[Fold]:
    """(train, test) rows for targets ``Y`` (n, q), rows in canonical order.

    Rows are sorted by the targets and dealt out in rounds of ``n_folds``, each round in random
    order. Without ``random_state`` the draw is fixed.
    """
    rng = check_random_state(0 if random_state is None else random_state)
    order = np.lexsort((np.arange(len(Y)), *Y.T))
    fold = np.empty(len(Y), dtype=np.intp)
    for start in range(0, len(Y), n_folds):
        round_ = order[start : start + n_folds]
        fold[round_] = rng.permutation(n_folds)[: len(round_)]
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


class Predicted(BaseEstimator):
    """Predictions already made, behind the face of a model; of classes least-squares outputs."""

    def __init__(self, outputs: Array, classes: NDArray[Any] | None = None) -> None:
        self.outputs, self.classes = outputs, classes
        self.classes_: Any = classes  # fitted, to scikit-learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.classes is None else "classifier"
        return tags

    def decision_function(self, X: Any) -> Array:
        """Outputs, one column for numbers and for two classes."""
        one = self.classes is None or len(self.classes) == 2
        return self.outputs[:, 0] if one else self.outputs

    def predict_proba(self, X: Any) -> Array:
        """Outputs from [-1, 1] as shares."""
        share = np.clip((1 + self.outputs) / 2, 1e-6, 1 - 1e-6)
        share = np.hstack([1 - share, share]) if share.shape[1] == 1 else share
        return np.asarray(share / share.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """The predictions, or the label of the largest share."""
        if self.classes is None:
            return self.outputs[:, 0]
        return np.asarray(self.classes[self.predict_proba(X).argmax(axis=1)])


def fold_score(selector: Any, table: Table, rows: FewRows, residuals: Array, fold: Index) -> float:
    """The score of left-out predictions, given by their residuals in units of ``rows.Y``.

    ``rows`` are the first ones of the table.
    """
    mean, deviation = rows.unit
    outputs = mean + deviation * (rows.Y[fold] - residuals)
    if rows.assumption.warp is not None:
        outputs = rows.assumption.warp.back(outputs)
    classes = getattr(selector, "classes_", None)
    model, y = Predicted(table.y_mean + outputs), table.y_mean + table.y[fold]
    if classes is not None:
        model, y = Predicted(outputs, classes), classes[table.y[fold].astype(np.intp)]
    scorer, columns = get_scorer(selector.scoring), table.columns
    X = np.tile(table.scaler.centre, (len(fold), 1))  # as the user gave it
    X[:, columns] += table.X[fold] * table.scaler.scale[columns]
    takes, weights = inspect.signature(scorer).parameters, rows.weights[fold]
    known = "sample_weight" in takes or any(p.kind is p.VAR_KEYWORD for p in takes.values())
    weighted = {"sample_weight": weights} if known and np.ptp(weights) > 0 else {}
    score = float(scorer(model, X, y, **weighted))
    if not np.isfinite(score):
        raise InvalidDataError(
            f"scoring={selector.scoring!r} gave a score that is not a number on a fold of "
            f"{len(fold)} rows. Use fewer folds (cv) or another score."
        )
    return score
