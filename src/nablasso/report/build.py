"""From a fitted model and its rows to a report.

Rows are predicted that the predictor did not see. Automatic estimators keep such predictions of
their fit. The others: five folds, the columns selected anew in each at the chosen alpha.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from nablasso.estimators.display import rugs_of, shape_svg, shapes_by_class
from nablasso.estimators.nablasso import AutomaticSelector
from nablasso.estimators.outcome import (
    accuracy_of_numbers,
    answer_of,
    columns_of,
    columns_of_table,
    merged_interactions,
)
from nablasso.estimators.tables import behind
from nablasso.estimators.validation import check_new_data, feature_names
from nablasso.inspection import interaction_shares
from nablasso.inspection.response import without_names
from nablasso.inspection.structure_displays import single_fit
from nablasso.report.content import (
    HeldOutClasses,
    HeldOutNumbers,
    Report,
    Trials,
    citations_of,
)
from nablasso.report.curves import effects_of, pairs_of, path_lines, swarm_of
from nablasso.types import Array, Index

TRIED = 10  # candidates listed
N_FOLDS = 5
BINS = 10  # of a calibration
MAX_PAIRED = 12  # columns whose pairs are looked at
MAX_LAW = 200  # columns of a table up to which models that do not keep pairs are read for them
FOLDS = (
    f"{N_FOLDS} folds: each row is predicted by a model fitted without its fold, the columns "
    "selected anew at the chosen alpha"
)


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
    rugs = {told.get(name, name): rug for name, rug in rugs_of(model).items()}
    if hasattr(model, "predict"):
        answer = answer.about(
            accuracy=accuracy or answer.accuracy,
            interactions=answer.interactions or _interactions(plain, answer, columns, array),
        )
    return Report(
        answer=answer,
        source=source,
        warnings=tuple(text for text in warnings if text not in answer.cautions),
        # someone who has pressed Ctrl-C waits: what takes long is left out
        path=None
        if answer.interrupted
        else path_lines(
            numbers, X if numbers is model else array, y, sample_weight, columns.labels
        ),
        effects=effects_of(kept, rugs, plain, array, weights, columns, answer),
        pairs=() if answer.interrupted else pairs_of(plain, array, weights, columns, answer),
        small_shapes={
            name: shape_svg(shape) for name, shape in next(reversed(kept.values()), {}).items()
        },
        held_out=left_out,
        swarm=None if answer.interrupted else swarm_of(model, X, answer, told),
        trials=_trials(model),
        citations=citations_of(model),
        call=repr(model),
        version=__version__,
        created=date.today().isoformat() if created is None else created,
        seconds=seconds,
    )


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
) -> tuple[HeldOutNumbers | HeldOutClasses | None, Accuracy | None]:
    """Observed and predicted targets of left-out rows, and how accurate they are."""
    if not hasattr(model, "predict"):
        return None, None
    if not isinstance(model, AutomaticSelector):
        return _folds(model, X, np.asarray(y), weights)
    accuracy = model._accuracy
    if not is_classifier(model):
        one, mean = model._predictor, model._y_mean
        return _numbers(one.observed + mean, one.left_out + mean, accuracy.how), accuracy
    codes, shares, p = model._left_out
    made = _classes(model.classes_, codes, shares.argmax(axis=1), p * len(codes), accuracy.how)
    return made(_calibration(codes, shares, p)), accuracy


def _folds(
    model: Any, X: Array, y: NDArray[Any], weights: Array
) -> tuple[HeldOutNumbers | HeldOutClasses | None, Accuracy | None]:
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
        numbers = np.asarray(y, float)
        accuracy = accuracy_of_numbers(numbers, predicted, weights, FOLDS)
        return _numbers(numbers, predicted, FOLDS), accuracy
    observed, found = (np.searchsorted(model.classes_, labels) for labels in (y, predicted))
    p = weights / weights.sum()
    accuracy = Accuracy(
        len(y),
        FOLDS,
        accuracy=float(p @ (observed == found)),
        guess=float(np.bincount(observed, p).max()),
    )
    return _classes(model.classes_, observed, found, weights, FOLDS)(()), accuracy


def _numbers(observed: Array, predicted: Array, how: str) -> HeldOutNumbers:
    seen, found = (
        tuple(float(f"{value:.6g}") for value in values) for values in (observed, predicted)
    )
    return HeldOutNumbers(seen, found, how)


def _classes(
    labels: NDArray[Any], observed: Index, predicted: Index, weights: Array, how: str
) -> Any:
    counts = np.zeros((len(labels), len(labels)))
    np.add.at(counts, (observed, predicted), weights)
    rows = tuple(tuple(map(float, row)) for row in counts)
    return lambda calibration: HeldOutClasses(
        tuple(map(str, labels.tolist())), rows, how, calibration
    )


def _calibration(codes: Index, shares: Array, p: Array) -> tuple[tuple[float, ...], ...]:
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
