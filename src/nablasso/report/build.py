"""From a fitted model and its rows to a report.

Rows are predicted that the predictor did not see. Automatic estimators: leave-one-out in closed
form, with the variables and the kernel that all rows chose. The others: five folds, the variables
selected anew in each at the chosen alpha.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.utils.validation import check_is_fitted

from nablasso import __version__
from nablasso.data.table import absolute_correlations, check_weights, prepare
from nablasso.errors import InvalidParameterError
from nablasso.estimators.hierarchical_base import KernelSelector
from nablasso.estimators.nablasso import AutomaticSelector
from nablasso.estimators.validation import check_new_data, feature_names
from nablasso.inspection.response import without_names
from nablasso.inspection.structure_displays import single_fit
from nablasso.losses import Logistic
from nablasso.regression.machine import refit
from nablasso.report.content import (
    Certificate,
    Columns,
    HeldOutClasses,
    HeldOutNumbers,
    RelatedColumn,
    Report,
    Trials,
    Variable,
    citations_of,
    columns_of,
)
from nablasso.report.curves import effects_of, interactions_of, path_lines
from nablasso.report.words import STATUS, answer_of, confidence_words, number, strength_words
from nablasso.types import Array, Index

TRIED = 10  # candidates listed
N_FOLDS = 5
MAX_ROWS = 1000  # of leave-one-out by Newton steps
LEAVE_ONE_OUT = (
    "Leave-one-out: each row is predicted from all the others, with the variables and the kernel "
    "that all rows together chose."
)
FOLDS = (
    f"{N_FOLDS} folds: each row is predicted by a model fitted without its fold, the variables "
    "selected anew at the chosen alpha."
)
RELATED = 0.5  # correlation from which another column is worth naming
SHOWN = 3  # correlated columns per variable


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
    answer: str | None = None,
    warnings: Sequence[str] = (),
    seconds: float | None = None,
    created: str | None = None,
) -> Report:
    """Everything that a report on a fitted selector says.

    Parameters
    ----------
    model : estimator
        A fitted selector: automatic, derivative, sparse gradient or hierarchical.
    X : array-like, shape (n_samples, n_features)
        The rows of the fit.
    y : array-like, shape (n_samples,)
    names : list of str, optional
        Of the columns; by default those seen in ``fit``.
    target : str, default="y"
        What the target is called.
    source : str, default=""
        Where the table came from.
    sample_weight : array-like, shape (n_samples,), optional
    categories : dict of str to list of str, optional
        Columns, by name, that encode one category together: ``{"colour": ["colour=red", ...]}``.
    answer : str, optional
        The answer in a sentence, instead of ours.
    warnings : list of str
        What the fit warned of.
    seconds : float, optional
        Time of the fit.
    created : str, optional
        Date of the report; today by default.

    Returns
    -------
    Report
        Sections that the model has no data for are None or empty.
    """
    check_is_fitted(model)
    if not hasattr(model, "support_"):
        raise InvalidParameterError(
            f"A report is about a fitted selector, which has support_; got {model!r}."
        )
    listed = tuple(feature_names(model) if names is None else [str(name) for name in names])
    if len(listed) != model.n_features_in_:
        raise InvalidParameterError(
            f"names must have one name per column, {model.n_features_in_}; got {len(listed)}."
        )
    array, weights = check_new_data(model, X), check_weights(sample_weight, len(X))
    columns = columns_of(listed, categories)
    variables = variables_of(model, array, weights, columns)
    left_out = held_out(model, X, y, sample_weight)
    status = str(getattr(model, "selection_status_", "clear"))
    plain = without_names(model)
    return Report(
        target=target,
        source=source,
        task="classification" if is_classifier(model) else "regression",
        method=type(model).__name__,
        answer=answer or answer_of(target, variables, status, left_out),
        status=status,
        status_words=STATUS.get(status, status),
        n_rows=len(array),
        variables=variables,
        strength_words=strength_words(model, target),
        confidence_words=confidence_words(model),
        quality=_quality(model, left_out),
        cautions=tuple(getattr(model, "cautions_", ())),
        warnings=tuple(text for text in warnings if text not in getattr(model, "cautions_", ())),
        path=path_lines(model, X, y, sample_weight, listed),
        effects=effects_of(plain, array, weights, columns, variables, target),
        interactions=interactions_of(plain, array, weights, columns, variables, y, target),
        held_out=left_out,
        trials=_trials(model),
        certificate=_certificate(model),
        citations=citations_of(model),
        call=repr(model),
        version=__version__,
        created=date.today().isoformat() if created is None else created,
        seconds=seconds,
    )


def _quality(
    model: Any, left_out: HeldOutNumbers | HeldOutClasses | None
) -> tuple[tuple[str, str], ...]:
    """Labelled numbers under the answer."""
    found = []
    if isinstance(left_out, HeldOutNumbers):
        how = "leave-one-out" if isinstance(model, AutomaticSelector) else "out of fold"
        found.append((f"R² {how}", f"{left_out.r2:.2f}"))
        found.append((f"Typical error (RMSE) {how}", number(left_out.rmse)))
    if isinstance(left_out, HeldOutClasses):
        found.append(("Left-out rows classified right", f"{left_out.accuracy:.0%}"))
        found.append(("Guessing the commonest class", f"{left_out.largest_share:.0%}"))
    return tuple(found)


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
    return Trials(about, ("", *keys, "Mean score", "Variables"), rows)


def _certificate(model: Any) -> Certificate | None:
    """What the duality gap proves."""
    gap = getattr(model, "dual_gap_", None)
    if gap is None or (isinstance(model, AutomaticSelector) and model.kernel_ is None):
        return None
    facts = [("duality gap", f"{gap:.1e}")]
    facts.append(("gap over the objective at zero", f"{model.relative_gap_:.1e}"))
    for label, attribute in (
        ("alpha", "alpha_"),
        ("ridge", "ridge_"),
        ("length scale", "length_scale_"),
    ):
        if hasattr(model, attribute):
            facts.append((label, number(float(getattr(model, attribute)))))
    if hasattr(model, "kernel_"):
        facts.append(("kernel", repr(model.kernel_)))
    if hasattr(model, "n_iter_") and not isinstance(model, AutomaticSelector):
        facts.append(("iterations", str(model.n_iter_)))
    return Certificate(_certificate_words(model), tuple(facts))


def _certificate_words(model: Any) -> str:
    if isinstance(model, AutomaticSelector):
        n, total = int(model.support_certified_[model.support_].sum()), int(model.support_.sum())
        return (
            "The derivative lasso on the selected variables, in the metric that was learned, was "
            "solved: the gap bounds how far its objective is from the optimum. It proves that "
            f"{n} of the {total} selected columns are in its exact solution. That the other "
            "columns do not matter is a statistical decision, by evidence and left-out rows: no "
            "gap can prove it."
        )
    if isinstance(model, KernelSelector):
        state = "is certified" if model.certified_ else f"is not certified ({model.search_status_})"
        return f"The gap is over all kernels of the hierarchy; the solution {state}."
    proven = getattr(model, "support_certified_", None)
    words = "The gap bounds how far the objective is from the optimum."
    if proven is not None:
        words += f" It decides {int(np.sum(proven))} of {len(proven)} columns."
    return words


def variables_of(model: Any, X: Array, weights: Array, columns: Columns) -> tuple[Variable, ...]:
    """All variables, the selected first, then by strength, then in the order of the table."""
    strength = np.asarray(getattr(model, "feature_importances_", model.support_), dtype=float)
    related = _related(model, X, weights, columns)
    found = []
    for k, (name, parts) in enumerate(zip(columns.names, columns.parts, strict=True)):
        own = list(parts)
        found.append(
            Variable(
                name=name,
                kind="category" if columns.is_category(k) else _kind(model, own),
                selected=bool(model.support_[own].any()),
                strength=_size(strength[own]),
                bounds=_bounds(model, own),
                certified=_all(model, "support_certified_", own),
                evidence=_evidence(model, own),
                p_value=_least(model, "p_values_", own),
                alternatives=related[k],
            )
        )
    return tuple(sorted(found, key=lambda variable: (not variable.selected, -variable.strength)))


def _kind(model: Any, own: list[int]) -> str:
    kinds = getattr(model, "feature_kinds_", None)
    return "" if kinds is None else str(kinds[own[0]])


def _size(values: Iterable[float]) -> float:
    """One number as it is; those of several columns by the norm that the penalty gives a group."""
    numbers = [float(value) for value in values]
    return numbers[0] if len(numbers) == 1 else math.hypot(*numbers)


def _bounds(model: Any, own: list[int]) -> tuple[float, float] | None:
    bounds = getattr(model, "importance_bounds_", None)
    return None if bounds is None else (_size(bounds[own, 0]), _size(bounds[own, 1]))


def _all(model: Any, attribute: str, own: list[int]) -> bool | None:
    values = getattr(model, attribute, None)
    return None if values is None else bool(values[own].all())


def _least(model: Any, attribute: str, own: list[int]) -> float | None:
    values = getattr(model, attribute, None)
    return None if values is None else float(min(values[own]))


def _evidence(model: Any, own: list[int]) -> float | None:
    """What leaving the variable out of an automatic answer would cost, in nats."""
    return float(max(model.evidence_[own])) if isinstance(model, AutomaticSelector) else None


def _related(
    model: Any, X: Array, weights: Array, columns: Columns
) -> list[tuple[RelatedColumn, ...]]:
    """For each variable the others worth naming: alternatives first, then correlated ones.

    A selected variable names any other; one that was left out names selected ones.
    """
    owner, n = columns.owner, len(columns.names)
    chosen = np.flatnonzero(model.support_)
    sizes: dict[tuple[int, int], float] = {}
    correlation = absolute_correlations(X, weights / weights.sum(), chosen)
    for row, a in enumerate(chosen):
        for b in np.flatnonzero(correlation[row] >= RELATED):
            one, other = owner[int(a)], owner[int(b)]
            if one != other:
                size = max(sizes.get((one, other), 0.0), float(correlation[row, b]))
                sizes[one, other] = sizes[other, one] = min(size, 1.0)
    equals = {
        (owner[a], owner[b])
        for name in ("alternatives_", "twins_")
        for a, b in getattr(model, name, [])
        if owner[a] != owner[b]
    }
    related: list[list[tuple[bool, float, int]]] = [[] for _ in range(n)]
    for one, other in set(sizes) | equals:
        as_well = (one, other) in equals
        related[one].append((not as_well, -sizes.get((one, other), 0.0), other))
    return [
        tuple(
            RelatedColumn(columns.names[other], -size if size else None, not after)
            for after, size, other in sorted(own)[: max(SHOWN, sum(not x[0] for x in own))]
        )
        for own in related
    ]


def held_out(
    model: Any, X: Any, y: Any, sample_weight: Any = None
) -> HeldOutNumbers | HeldOutClasses | None:
    """Observed and predicted targets of left-out rows; None where the model does not predict."""
    if not hasattr(model, "predict"):
        return None
    X = check_new_data(model, X)
    y, weights = np.asarray(y), check_weights(sample_weight, len(X))
    if isinstance(model, AutomaticSelector):
        if is_classifier(model):
            return _class_leave_one_out(model, X, y, weights)
        return _leave_one_out(model)
    return _folds(model, X, y, weights)


def _leave_one_out(model: Any) -> HeldOutNumbers:
    """The left-out predictions that the fit kept."""
    predictor, mean = model._predictor, model._y_mean
    return _numbers(
        predictor.observed + mean, predictor.left_out + mean, predictor.weights, LEAVE_ONE_OUT
    )


def _class_leave_one_out(model: Any, X: Array, y: Any, weights: Array) -> HeldOutClasses:
    """Kernel logistic regression in the metric of the fit, each row left out."""
    codes = np.searchsorted(model.classes_, y)
    factors = model._target.class_factors(codes, weights)
    table = prepare(
        X, codes.astype(float), weights * factors[codes], standardize=True, centre_y=False
    )
    rows = slice(0, MAX_ROWS)
    shares = table.weights[rows] / table.weights[rows].sum()
    chosen = np.flatnonzero(model.support_[table.columns])
    columns = table.columns[chosen]
    odds = []
    for target in model._target.functions(table.y[rows]).T:
        machine = refit(
            Logistic(),
            model.kernel_,
            table.X[rows][:, chosen],
            target,
            shares,
            columns,
            scales=model.scales_[columns],
            fit_intercept=True,
        )
        odds.append(target - machine.loo_residuals)
    scores = np.column_stack(odds)
    predicted = (scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)
    observed = table.y[rows].astype(int)
    counts = shares / factors[observed]
    counts *= min(len(X), MAX_ROWS) / counts.sum()
    return _classes(model.classes_, observed, predicted, counts, LEAVE_ONE_OUT)


def _folds(model: Any, X: Array, y: Any, weights: Array) -> HeldOutNumbers | HeldOutClasses | None:
    kept = weights > 0
    X, y, weights = X[kept], y[kept], weights[kept]
    classes = is_classifier(model)
    if len(y) < 2 * N_FOLDS or (classes and np.unique(y, return_counts=True)[1].min() < N_FOLDS):
        return None
    folds = (StratifiedKFold if classes else KFold)(N_FOLDS, shuffle=True, random_state=0)
    predicted = cross_val_predict(
        single_fit(model), X, y, cv=folds, params={"sample_weight": weights}
    )
    if not classes:
        return _numbers(np.asarray(y, float), predicted, weights / weights.sum(), FOLDS)
    observed, found = (np.searchsorted(model.classes_, labels) for labels in (y, predicted))
    return _classes(model.classes_, observed, found, weights, FOLDS)


def _numbers(observed: Array, predicted: Array, weights: Array, how: str) -> HeldOutNumbers:
    p = weights / weights.sum()
    error = float(p @ (observed - predicted) ** 2)
    spread = float(p @ (observed - p @ observed) ** 2)
    r2 = 1 - error / spread if spread > 0 else 0.0
    pairs = (tuple(float(f"{value:.6g}") for value in values) for values in (observed, predicted))
    seen, found = pairs
    return HeldOutNumbers(seen, found, how, r2, float(np.sqrt(error)))


def _classes(
    labels: NDArray[Any],
    observed: Index,
    predicted: Index,
    weights: Array,
    how: str,
) -> HeldOutClasses:
    counts = np.zeros((len(labels), len(labels)))
    np.add.at(counts, (observed, predicted), weights)
    total = counts.sum()
    return HeldOutClasses(
        labels=tuple(map(str, labels.tolist())),
        counts=tuple(tuple(map(float, row)) for row in counts),
        how=how,
        accuracy=float(np.trace(counts) / total),
        largest_share=float(counts.sum(axis=1).max() / total),
    )
