"""Dependences, drawn pairs and the path of a fitted model, as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from nablasso.answer import Answer, curve_sentence, output_words, shape_sentence
from nablasso.errors import InvalidParameterError
from nablasso.estimators.display import Shape
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
from nablasso.report.content import Curve, Effect, Numbers, Pair, PathLines, Swarm
from nablasso.types import Array

MAX_EFFECTS = 20  # columns with curves, the strongest
MAX_HURRIED = 3  # after an interrupt
MAX_CLASSES = 6  # classes with a curve each
MAX_PAIRS = 3  # pairs drawn
MAX_SWARM = 300  # rows whose contributions are drawn
MAX_LINES = 12  # of a path
N_ALPHAS, FEWEST_ALPHAS = 25, 8  # of a path, shared by the functions of several classes


def effects_of(
    kept: Mapping[Any, Mapping[str, Shape]],
    rugs: Mapping[str, Array],
    model: Any,
    X: Array,
    weights: Array,
    columns: Columns,
    answer: Answer,
) -> tuple[Effect, ...]:
    """Curves of the strongest selected columns, for each class where there are several.

    Those that the model ``kept``, with the band that holds the function; else partial
    dependences, with the spread of the rows. ``model`` takes arrays.
    """
    if not hasattr(model, "predict"):
        return ()
    most = MAX_HURRIED if answer.interrupted else MAX_EFFECTS
    place = {name: k for k, name in enumerate(columns.names)}
    chosen = [column.name for column in answer.selected][:most]
    found = []
    for name in track(chosen, len(chosen), "Shapes"):
        if all(name in shapes for shapes in kept.values()) and kept:
            curves = list(_kept(name, kept, rugs.get(name), answer))
        else:
            curves = [
                _curve(dependence, answer.target)
                for label in _outputs(model)
                for dependence in _dependences(model, X, weights, columns, place[name], label)
            ]
        found.append(Effect(name, tuple(curves)))
    return tuple(found)


def _kept(name: str, kept: Any, rug: Array | None, answer: Answer) -> Iterator[Curve]:
    """Curves of one column that the model keeps."""
    for label, shapes in list(kept.items())[:MAX_CLASSES]:
        shape, what = shapes[name], f"part in {answer.target}"
        if label is not None:
            what = f"part in the log-odds of {label}"
        kind = "category" if shape.labels else "continuous"
        low, high = (int(place(shape.value)) for place in (np.argmin, np.argmax))
        way = _way(shape.value)
        levels = (shape.labels[low], shape.labels[high]) if shape.labels else ()
        ends = float(shape.value[low]), float(shape.value[high])
        yield Curve(
            output=what,
            kind=kind,
            grid=_rounded(shape.x),
            labels=shape.labels,
            mean=_rounded(shape.value),
            band_low=_rounded(shape.low),
            band_high=_rounded(shape.high),
            slope_grid=(),
            slope_mean=(),
            slope_low=(),
            slope_high=(),
            quantiles=() if rug is None else _rounded(rug),
            words=shape_sentence(f"the {what}", name, way, *ends, levels),
            band="90% band of the function",
        )


def _way(values: Array) -> str:
    """Whether a curve rises, falls, or bends: goes back by a tenth of its way or more."""
    steps = np.diff(values)
    up, down = float(steps[steps > 0].sum()), float(-steps[steps < 0].sum())
    if up == down == 0:
        return "flat"
    return "rises" if down < up / 10 else "falls" if up < down / 10 else "bends"


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
    numbers: dict[str, Any] = {
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


def swarm_of(model: Any, X: Any, answer: Answer, told: Mapping[str, str]) -> Swarm | None:
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
    names = [column.name for column in answer.selected if column.name in parts][:MAX_LINES]
    if not names:
        return None
    if is_classifier(model):
        whole, output = model.decision_function(some), "log-odds"
    else:
        whole, output = model.predict(some), f"predicted {answer.target}"
    residue = float(np.max(np.abs(whole - np.sum(list(parts.values()), axis=0))))
    return Swarm(tuple(names), tuple(_rounded(parts[name]) for name in names), output, residue)


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
