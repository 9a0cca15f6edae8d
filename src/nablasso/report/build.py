"""From a fitted model and its rows to a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from nablasso import __version__
from nablasso.data.table import check_weights
from nablasso.errors import InvalidParameterError
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.estimators.hierarchical_base import KernelSelector
from nablasso.estimators.validation import check_new_data, feature_names
from nablasso.inspection.response import without_names
from nablasso.report.citations import citations_of
from nablasso.report.content import (
    Certificate,
    HeldOut,
    HeldOutClasses,
    Report,
    Trials,
)
from nablasso.report.curves import effects_of, interactions_of, path_lines
from nablasso.report.held_out import held_out
from nablasso.report.table import columns_of, variables_of
from nablasso.report.words import STATUS, answer_of, confidence_words, number, strength_words

TRIED = 10  # candidates listed


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


def _quality(model: Any, left_out: HeldOut | HeldOutClasses | None) -> tuple[tuple[str, str], ...]:
    """Labelled numbers under the answer."""
    found = []
    if isinstance(left_out, HeldOut):
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
