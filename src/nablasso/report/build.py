"""From a fitted model and its rows to a report: everything that its page shows.

Rows are predicted that the predictor did not see. Automatic estimators keep such predictions of
their fit. The others: five folds, the columns selected anew in each at the chosen alpha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.utils.validation import check_is_fitted

from nablasso import __version__
from nablasso.answer import Accuracy, Answer, Interaction, number
from nablasso.data.table import check_weights
from nablasso.errors import InvalidParameterError
from nablasso.estimators.alpha_path import Path
from nablasso.estimators.answering import (
    Columns,
    answer_of,
    columns_of,
    columns_of_table,
    merged_interactions,
)
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.estimators.derivative import DerivativeEstimator
from nablasso.estimators.display import Shape, rugs_of, shapes_by_class
from nablasso.estimators.hierarchical import KernelSelector
from nablasso.estimators.outcome import accuracy_of_numbers
from nablasso.estimators.sparse_gradient import SparseGradientEstimator
from nablasso.estimators.tables import behind
from nablasso.estimators.validation import check_new_data, feature_names
from nablasso.inspection import (
    Dependence,
    PairDependence,
    interaction_shares,
    pair_dependence,
    partial_dependence,
    path_of,
)
from nablasso.inspection.dependence import MOST_LEVELS
from nablasso.inspection.response import without_names
from nablasso.inspection.structure_displays import single_fit
from nablasso.progress import track
from nablasso.types import Array, Index

TRIED = 10  # candidates listed
N_FOLDS = 5
BINS = 10  # of a calibration
MAX_PAIRED = 12  # columns whose pairs are looked at
MAX_LAW = 200  # columns of a table up to which models that do not keep pairs are read for them
MAX_EFFECTS = 20  # columns with curves, the strongest
MAX_HURRIED = 3  # after an interrupt
MAX_CLASSES = 6  # classes with a curve each
MAX_PAIRS = 3  # pairs drawn
MAX_SWARM, MAX_PARTS = 300, 12  # rows and columns whose contributions are drawn
N_ALPHAS, FEWEST_ALPHAS = 25, 8  # of a path, shared by the functions of several classes
FOLDS = (
    f"{N_FOLDS} folds: each row is predicted by a model fitted without its fold, the columns "
    "selected anew at the chosen alpha"
)
WORKS = {  # what to cite; the page has the words
    AutomaticSelector: ("rosasco", "gregorova"),
    DerivativeEstimator: ("rosasco", "gregorova"),
    SparseGradientEstimator: ("ye",),
    KernelSelector: ("bach",),
}


@dataclass(frozen=True)
class HeldOut:
    """Targets of rows that the predictor did not see, and what it predicts: numbers, or codes.

    ``labels`` are those of the codes; ``calibration`` has probabilities told, in bins: their mean,
    the share that came true, the number of them.
    """

    observed: Any  # (n,)
    predicted: Any  # (n,)
    how: str
    labels: tuple[str, ...] = ()
    weights: Any = None  # (n,)
    calibration: tuple[tuple[float, float, float], ...] = ()

    @property
    def counts(self) -> Array:
        """Rows by observed and predicted class."""
        counts = np.zeros((len(self.labels), len(self.labels)))
        np.add.at(counts, (self.observed, self.predicted), self.weights)
        return counts


@dataclass(frozen=True)
class Swarm:
    """What each column adds to the prediction of each of some rows."""

    parts: dict[str, Array]
    output: str
    residue: float  # largest difference between a prediction and the sum of its parts


@dataclass(frozen=True)
class Trials:
    """What was tried, as a table of strings, and the rest in a sentence."""

    about: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Report:
    """Everything that a report page shows; a section without data is left out of it."""

    answer: Answer
    source: str = ""
    warnings: tuple[str, ...] = ()
    path: Path | None = None
    effects: dict[str, list[Dependence]] = field(default_factory=dict)  # one for each class
    pairs: tuple[tuple[Interaction, PairDependence], ...] = ()
    small_shapes: dict[str, Shape] = field(default_factory=dict)
    held_out: HeldOut | None = None
    swarm: Swarm | None = None
    trials: Trials | None = None
    works: tuple[str, ...] = ()  # to cite
    call: str = ""
    version: str = __version__
    created: str = ""
    seconds: float | None = None


def build_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    names: Sequence[str] | None = None,
    target: str = "y",
    source: str = "",
    sample_weight: Any = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    warnings: Sequence[str] = (),
    seconds: float | None = None,
    created: str | None = None,
) -> Report:
    """Everything that is worth telling about a fitted selector.

    Parameters
    ----------
    model : estimator
        Fitted; automatic, derivative, hierarchical and sparse gradient estimators tell most.
    X, y : array-like
        The rows it was fitted on.
    names : list of str, optional
        Of the columns; by default those seen in fit.
    target, source : str
        Names of the target and of the table.
    sample_weight : array-like, optional
        As in fit.
    categories : dict of str to list of str, optional
        Names of the columns that encode one category together.
    warnings : list of str, optional
        Of the fit, to be shown.
    seconds : float, optional
        Time of the fit.
    created : str, optional
        Date to write; today by default.

    Returns
    -------
    Report
    """
    check_is_fitted(model)
    if not hasattr(model, "support_"):
        raise InvalidParameterError(
            "A report needs a fitted selector, such as NablassoRegressor; got "
            f"{type(model).__name__}."
        )
    listed = tuple(feature_names(model) if names is None else [str(name) for name in names])
    if len(listed) != model.n_features_in_:
        raise InvalidParameterError(
            f"names must have one name per column, {model.n_features_in_}; got {len(listed)}."
        )
    array, weights = check_new_data(model, X), check_weights(sample_weight, len(X))
    numbers = behind(model)
    if numbers is model:
        columns = columns_of(listed, categories)
        answer = answer_of(model, len(array), columns, target=target)
    else:
        columns = columns_of_table(model)
        answer = answer_of(model, len(array), target=target)
    left_out, accuracy = held_out(numbers, array, y, weights)
    plain, told = without_names(numbers), dict(zip(feature_names(model), listed, strict=True))
    kept = {
        label: {told.get(name, name): shape for name, shape in shapes.items()}
        for label, shapes in shapes_by_class(model).items()
    }
    if hasattr(model, "predict"):
        answer = answer.about(
            accuracy=accuracy or answer.accuracy,
            interactions=answer.interactions or _interactions(plain, answer, columns, array),
        )
    rows = _Rows(plain, array, weights, columns, answer)
    rugs = {told.get(name, name): rug for name, rug in rugs_of(model).items()}
    report = Report(
        answer=answer,
        source=source,
        warnings=tuple(text for text in warnings if text not in answer.cautions),
        effects=rows.effects(kept, rugs),
        small_shapes=next(reversed(kept.values()), {}),
        held_out=left_out,
        trials=_trials(model),
        works=next((works for kind, works in WORKS.items() if isinstance(model, kind)), ()),
        call=repr(model),
        created=date.today().isoformat() if created is None else created,
        seconds=seconds,
    )
    if answer.interrupted:  # someone who has pressed Ctrl-C waits: what takes long is left out
        return report
    table = X if numbers is model else array
    return replace(
        report,
        path=_path(numbers, table, y, sample_weight, columns.labels),
        pairs=rows.pairs(),
        swarm=_swarm(model, X, answer, told),
    )


@dataclass(frozen=True)
class _Rows:
    """Rows of numbers, and what is drawn from them; ``model`` takes arrays."""

    model: Any
    X: Array
    weights: Array
    columns: Columns
    answer: Answer

    @property
    def outputs(self) -> list[Any]:
        """None for a number or two classes, else the first few labels."""
        return _outputs(self.model)

    def effects(
        self, kept: Mapping[Any, Mapping[str, Shape]], rugs: Mapping[str, Array]
    ) -> dict[str, list[Dependence]]:
        """Curves of the strongest selected columns, for each class where there are several.

        Those that the model ``kept``, with the band that holds the function; else partial
        dependences, with the spread of the rows.
        """
        if not hasattr(self.model, "predict"):
            return {}
        most = MAX_HURRIED if self.answer.interrupted else MAX_EFFECTS
        chosen = [column.name for column in self.answer.selected][:most]
        found: dict[str, list[Dependence]] = {}
        for name in track(chosen, len(chosen), "Shapes"):
            if kept and all(name in shapes for shapes in kept.values()):
                found[name] = [
                    _kept(name, shapes[name], rugs.get(name), label, self.answer.target)
                    for label, shapes in list(kept.items())[:MAX_CLASSES]
                ]
            else:
                found[name] = [one for label in self.outputs for one in self._curves(name, label)]
        return found

    def _curves(self, name: str, label: Any) -> list[Dependence]:
        k = self.columns.names.index(name)
        own = list(self.columns.parts[k])
        options: dict[str, Any] = {
            "target": label,
            "sample_weight": self.weights,
            "max_rows": 200,
            "grid_size": 31,
        }
        levels = np.unique(self.X[self.weights > 0][:, own], axis=0)
        if self.columns.is_category(k) and len(levels) <= MOST_LEVELS:
            labels = [self.columns.labels[a].removeprefix(f"{name}=") for a in own]
            curves = [partial_dependence(self.model, self.X, own, labels=labels, **options)]
        else:
            curves = [partial_dependence(self.model, self.X, a, **options) for a in own]
        return [replace(curve, name=name) for curve in curves]

    def pairs(self) -> tuple[tuple[Interaction, PairDependence], ...]:
        """The strongest interactions: the smoother column first."""
        if not hasattr(self.model, "predict"):
            return ()
        label = None if len(self.outputs) == 1 else self.outputs[0]
        found = []
        for one in self.answer.strongest_interactions()[:MAX_PAIRS]:
            if len(one.columns) != 2:
                continue
            first = [self.columns.parts[self.columns.names.index(name)][0] for name in one.columns]
            first.sort(key=lambda a: -len(np.unique(self.X[:, a])))
            options: dict[str, Any] = {"grid_size": 21, "target": label, "max_rows": 60}
            pair = pair_dependence(self.model, self.X, first, sample_weight=self.weights, **options)
            names = (self.columns.labels[first[0]], self.columns.labels[first[1]])
            found.append((one, replace(pair, names=names)))
        return tuple(found)


def _outputs(model: Any) -> list[Any]:
    if not is_classifier(model) or len(model.classes_) == 2:
        return [None]
    return list(model.classes_.tolist()[:MAX_CLASSES])


def _kept(name: str, shape: Shape, rug: Array | None, label: Any, target: str) -> Dependence:
    """A curve that the model keeps."""
    nothing = np.empty(0)
    return Dependence(
        name=name,
        column=-1,
        kind="category" if shape.labels else "continuous",
        unit=f"part in {target}" if label is None else f"part in the log-odds of {label}",
        grid=shape.x,
        mean=shape.value,
        band_low=nothing,
        band_high=nothing,
        slope_grid=nothing,
        slope_mean=nothing,
        slope_low=nothing,
        slope_high=nothing,
        levels=(0.0, 1.0),
        quantiles=nothing if rug is None else rug,
        labels=shape.labels,
        low=shape.low,
        high=shape.high,
    )


def _swarm(model: Any, X: Any, answer: Answer, told: Mapping[str, str]) -> Swarm | None:
    """Contributions to the predictions of some rows, of the columns that have most of them.

    None where the model has none, or several classes have their own. Columns of the fit are
    ``told`` under other names.
    """
    if not hasattr(model, "contributions") or not answer.selected:
        return None
    some = X[:MAX_SWARM] if isinstance(X, np.ndarray) else X.head(MAX_SWARM)
    table = model.contributions(some)
    if "bias" not in table:  # one table for each class
        return None
    parts = {told.get(str(a), str(a)): np.asarray(table[a], dtype=float) for a in table}
    names = [column.name for column in answer.selected if column.name in parts][:MAX_PARTS]
    if not names:
        return None
    if is_classifier(model):
        whole, output = model.decision_function(some), "log-odds"
    else:
        whole, output = model.predict(some), f"predicted {answer.target}"
    residue = float(np.max(np.abs(whole - np.sum(list(parts.values()), axis=0))))
    return Swarm({name: parts[name] for name in names}, output, residue)


def _path(model: Any, X: Any, y: Any, weights: Any, names: tuple[str, ...]) -> Path | None:
    """The regularisation path; None for models without one."""
    n_alphas = max(FEWEST_ALPHAS, N_ALPHAS // len(_outputs(model)))
    try:
        found = path_of(model, X, y, weights, n_alphas=n_alphas)
    except InvalidParameterError:  # nothing selected, several functions, or no path at all
        return None
    return replace(found, names=list(names))


def _interactions(model: Any, answer: Answer, columns: Any, X: Array) -> tuple[Interaction, ...]:
    """Of models that do not keep their own: shares of pairs of the strongest columns."""
    chosen = [columns.names.index(column.name) for column in answer.selected[:MAX_PAIRED]]
    if len(chosen) < 2 or X.shape[1] > MAX_LAW or isinstance(model, AutomaticSelector):
        return ()
    parts = sorted(a for k in chosen for a in columns.parts[k])
    return merged_interactions(interaction_shares(model, X, parts), columns)


def _trials(model: Any) -> Trials | None:
    """Candidates that were compared out of sample."""
    if isinstance(model, AutomaticSelector):
        return _walks(model) if model.tried_ else None
    return _candidates(model) if hasattr(model, "cv_results_") else None


def _walks(model: Any) -> Trials:
    rows = tuple(
        (
            "chosen" if _is_chosen(model, one) else "",
            one["family"],
            f"{one['price'] - model.tried_[0]['price']:.1f}",
            str(len(one["columns"])),
        )
        for one in model.tried_[:TRIED]
    )
    about = (
        f"Families of functions on sets of columns, on {model.n_rows_searched_} rows at most, by "
        "their price: minus the log evidence, plus what the choice of the columns costs. A nat is "
        "a factor of 2.7 in the odds. The columns were then checked on left-out rows."
    )
    return Trials(about, ("", "Functions", "Nats behind", "Columns"), rows)


def _is_chosen(model: Any, one: dict[str, Any]) -> bool:
    support = np.flatnonzero(model.support_).tolist()
    return bool(one["family"] == model.family_ and one["columns"] == support)


def _candidates(model: Any) -> Trials:
    results, best = model.cv_results_, int(model.best_index_)
    keys = list(results["params"][0])
    order = np.argsort(results["rank_test_score"], kind="stable")[:TRIED].tolist()
    if best not in order:
        order = [best, *order[:-1]]
    sizes = results.get("mean_n_selected")
    rows = tuple(
        (
            "chosen" if k == best else "",
            *(number(float(results["params"][k][key])) for key in keys),
            number(float(results["mean_test_score"][k])),
            "" if sizes is None else f"{sizes[k]:.1f}",
        )
        for k in order
    )
    n_folds = sum(key.startswith("split") for key in results)
    about = (
        f"{len(results['params'])} candidates were compared on {n_folds} folds; the best ones are "
        f"listed. Rule: {getattr(model, 'selection_rule', 'min')}."
    )
    return Trials(about, ("", *keys, "Mean score", "Columns"), rows)


def held_out(
    model: Any, X: Array, y: Any, weights: Array
) -> tuple[HeldOut | None, Accuracy | None]:
    """Observed and predicted targets of left-out rows, and how accurate they are."""
    if not hasattr(model, "predict"):
        return None, None
    if not isinstance(model, AutomaticSelector):
        return _folds(model, X, np.asarray(y), weights)
    accuracy = model._accuracy
    if not is_classifier(model):
        one, mean = model._predictor, model._y_mean
        return HeldOut(one.observed + mean, one.left_out + mean, accuracy.how), accuracy
    codes, shares, p = model._left_out
    labels, told = _labels(model), _calibration(codes, shares, p)
    weights = p * len(codes)
    return HeldOut(codes, shares.argmax(axis=1), accuracy.how, labels, weights, told), accuracy


def _labels(model: Any) -> tuple[str, ...]:
    return tuple(map(str, model.classes_.tolist()))


def _folds(
    model: Any, X: Array, y: NDArray[Any], weights: Array
) -> tuple[HeldOut | None, Accuracy | None]:
    kept = weights > 0
    X, y, weights = X[kept], y[kept], weights[kept]
    classes = is_classifier(model)
    if len(y) < 2 * N_FOLDS or (classes and np.unique(y, return_counts=True)[1].min() < N_FOLDS):
        return None, None
    folds = (StratifiedKFold if classes else KFold)(N_FOLDS, shuffle=True, random_state=0)
    predicted = cross_val_predict(
        single_fit(model), X, y, cv=folds, params={"sample_weight": weights}
    )
    if not classes:
        observed = np.asarray(y, float)
        accuracy = accuracy_of_numbers(observed, predicted, weights, FOLDS)
        return HeldOut(observed, predicted, FOLDS), accuracy
    observed, found = (np.searchsorted(model.classes_, labels) for labels in (y, predicted))
    p = weights / weights.sum()
    right, guess = float(p @ (observed == found)), float(np.bincount(observed, p).max())
    accuracy = Accuracy(len(y), FOLDS, accuracy=right, guess=guess)
    return HeldOut(observed, found, FOLDS, _labels(model), weights), accuracy


def _calibration(codes: Index, shares: Array, p: Array) -> tuple[tuple[float, float, float], ...]:
    """Probabilities told, all classes together, in bins: mean, share that came true, rows."""
    told, true = shares.ravel(), (codes[:, None] == np.arange(shares.shape[1])).ravel()
    weights = np.repeat(p, shares.shape[1])
    if shares.shape[1] == 2:  # the second class says it all
        told, true, weights = shares[:, 1], codes == 1, p
    place = np.minimum((told * BINS).astype(int), BINS - 1)
    found = []
    for k in np.unique(place):
        inside = place == k
        w = weights[inside] / weights[inside].sum()
        found.append((float(w @ told[inside]), float(w @ true[inside]), float(inside.sum())))
    return tuple(found)
