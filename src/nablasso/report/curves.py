"""Dependences, drawn pairs and the path of a fitted model, as plain data."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from nablasso.answer import Answer, curve_sentence, output_words
from nablasso.errors import InvalidParameterError
from nablasso.estimators.nablasso import AutomaticSelector
from nablasso.estimators.outcome import Columns
from nablasso.inspection import (
    Dependence,
    category_dependence,
    pair_dependence,
    partial_dependence,
    path_of,
)
from nablasso.inspection.dependence import MOST_LEVELS
from nablasso.progress import track
from nablasso.report.content import Curve, Effect, Numbers, Pair, PathLines
from nablasso.types import Array

MAX_EFFECTS = 20  # columns with curves, the strongest
MAX_HURRIED = 3  # after an interrupt
MAX_CLASSES = 6  # classes with a curve each
MAX_PAIRS = 3  # pairs drawn
MAX_LINES = 12  # of a path
N_ALPHAS, FEWEST_ALPHAS = 25, 8  # of a path, shared by the functions of several classes


def effects_of(
    model: Any, X: Array, weights: Array, columns: Columns, answer: Answer
) -> tuple[Effect, ...]:
    """Curves of the strongest selected columns, for each class where there are several."""
    if not hasattr(model, "predict"):
        return ()
    place = {name: k for k, name in enumerate(columns.names)}
    most = MAX_HURRIED if answer.interrupted else MAX_EFFECTS
    chosen = [place[column.name] for column in answer.selected][:most]
    found = []
    for k in track(chosen, len(chosen), "Partial dependences"):
        curves = [
            _curve(dependence, answer.target)
            for label in _outputs(model)
            for dependence in _dependences(model, X, weights, columns, k, label)
        ]
        found.append(Effect(columns.names[k], tuple(curves)))
    return tuple(found)


def _outputs(model: Any) -> list[Any]:
    """None for a number or two classes, else the first few labels."""
    if not is_classifier(model) or len(model.classes_) == 2:
        return [None]
    return list(model.classes_.tolist()[:MAX_CLASSES])


def _dependences(
    model: Any, X: Array, weights: Array, columns: Columns, k: int, label: Any
) -> list[Dependence]:
    own, name = list(columns.parts[k]), columns.names[k]
    options: dict[str, Any] = {"target": label, "sample_weight": weights, "max_rows": 200}
    if columns.is_category(k) and len(np.unique(X[weights > 0][:, own], axis=0)) <= MOST_LEVELS:
        labels = [columns.labels[a] for a in own]
        return [category_dependence(model, X, own, name=name, labels=labels, **options)]
    return [partial_dependence(model, X, a, grid_size=31, **options) for a in own]


def _curve(found: Dependence, target: str) -> Curve:
    numbers = {
        name: _rounded(getattr(found, name))
        for name in Curve.__annotations__
        if isinstance(getattr(found, name, None), np.ndarray)
    }
    return Curve(
        output=output_words(found.unit, target),
        kind=found.kind,
        labels=found.labels,
        words=curve_sentence(found, target),
        **numbers,
    )


def _rounded(values: Array) -> Numbers:
    """Six digits: more cannot be seen."""
    return tuple(float(f"{value:.6g}") for value in values)


def pairs_of(
    model: Any, X: Array, weights: Array, columns: Columns, answer: Answer
) -> tuple[Pair, ...]:
    """The strongest interactions, drawn."""
    if not hasattr(model, "predict"):
        return ()
    found = []
    for one in answer.strongest_interactions()[:MAX_PAIRS]:
        parts = [columns.parts[columns.names.index(name)] for name in one.columns]
        if len(parts) == 2:
            first = (parts[0][0], parts[1][0])
            size = answer.interaction_size(one)
            found.append(_pair(model, X, weights, columns, first, size, answer.target))
    return tuple(found)


def _pair(
    model: Any,
    X: Array,
    weights: Array,
    columns: Columns,
    pair: tuple[int, int],
    size: str,
    target: str,
) -> Pair:
    """The smoother column along the axis, the other at a low, a middle and a high value."""
    a, b = sorted(pair, key=lambda c: -len(np.unique(X[:, c])))
    label = None if len(_outputs(model)) == 1 else _outputs(model)[0]
    found = pair_dependence(
        model, X, (a, b), grid_size=21, sample_weight=weights, target=label, max_rows=60
    )
    levels = np.quantile(X[weights > 0, b], (0.1, 0.5, 0.9))
    nearest = [int(np.argmin(np.abs(found.grid_b - level))) for level in levels]
    lines = tuple(_rounded(found.mean[:, k]) for k in nearest)
    at = _rounded(found.grid_b[nearest])
    return Pair(
        names=(columns.labels[a], columns.labels[b]),
        size=size,
        output=output_words(found.unit, target),
        grid=_rounded(found.grid_a),
        at=(at[0], at[1], at[2]),
        lines=(lines[0], lines[1], lines[2]),
    )


def path_lines(
    model: Any, X: Any, y: Any, sample_weight: Any, names: tuple[str, ...]
) -> PathLines | None:
    """The regularisation path; None for models without one."""
    n_alphas = max(FEWEST_ALPHAS, N_ALPHAS // len(_outputs(model)))
    try:
        path = path_of(model, X, y, sample_weight, n_alphas=n_alphas)
    except InvalidParameterError:  # nothing selected, several functions, or no path at all
        return None
    entered = path.entered
    size = entered if path.importances is None else path.importances.max(axis=0)
    order = np.argsort(-size, kind="stable")
    order = order[size[order] > 0][:MAX_LINES]
    about = "Every column competes."
    if isinstance(model, AutomaticSelector):
        about = (
            "The derivative lasso of the certificate, on the selected columns, in the metric "
            "that was learned."
        )
    return PathLines(
        alphas=_rounded(path.alphas),
        chosen=path.chosen,
        names=tuple(names[a] for a in order),
        lines=None
        if path.importances is None
        else tuple(_rounded(path.importances[:, a]) for a in order),
        entered=_rounded(entered[order]),
        about=about,
    )
