"""From a fitted model and its rows to a report: everything that its page shows.

The answer, its interactions and the left-out predictions are those of the fit; what is computed
here are curves of models that keep none, the strongest pairs, and parts of predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import islice
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import confusion_matrix
from sklearn.utils.validation import check_is_fitted

from nablasso import __version__
from nablasso.answer import Answer, Interaction
from nablasso.errors import InvalidParameterError
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.estimators.derivative import DerivativeEstimator
from nablasso.estimators.display import Dependence, PairDependence, pairs_of, shapes_by_class
from nablasso.estimators.explained import answer_of
from nablasso.estimators.hierarchical import KernelSelector
from nablasso.estimators.sparse_gradient import SparseGradientEstimator
from nablasso.inspection import partial_dependence
from nablasso.progress import track
from nablasso.types import Array

BINS = 10  # of a calibration
MAX_EFFECTS = 20  # columns with curves, the strongest
MAX_CLASSES = 6  # classes with a curve each
MAX_PAIRS = 3  # pairs drawn
MAX_ROWS, MAX_PARTS = 300, 12  # rows and columns whose contributions are drawn
WORKS = {  # what to cite; the page has the words
    AutomaticSelector: ("rosasco", "gregorova"),
    DerivativeEstimator: ("rosasco", "gregorova"),
    SparseGradientEstimator: ("ye",),
    KernelSelector: ("bach",),
}


@dataclass(frozen=True)
class HeldOut:
    """Targets of rows that the predictor did not see, and what it predicts: numbers, or codes.

    ``labels`` are those of the codes, ``counts`` rows by observed and predicted class;
    ``calibration`` has probabilities told, in bins: their mean, and the share that came true.
    """

    observed: Any  # (n,)
    predicted: Any  # (n,)
    labels: tuple[str, ...] = ()
    counts: Any = None  # (k, k)
    calibration: tuple[Array, ...] = ()


@dataclass(frozen=True)
class Report:
    """Everything that a report page shows; a section without data is left out of it."""

    answer: Answer
    source: str = ""
    warnings: tuple[str, ...] = ()
    effects: dict[str, list[Dependence]] = field(default_factory=dict)  # one for each class
    pairs: tuple[tuple[Interaction, PairDependence], ...] = ()
    held_out: HeldOut | None = None
    parts: dict[str, Array] = field(default_factory=dict)  # of the predictions of some rows
    works: tuple[str, ...] = ()  # to cite
    call: str = ""
    version: str = __version__
    created: str = ""
    seconds: float | None = None

    @property
    def in_parts(self) -> bool:
        """Whether curves are what a column adds to the prediction, not the prediction itself."""
        curves = [curve for own in self.effects.values() for curve in own]
        return any(curve.unit.startswith("part in") for curve in curves)


def build_report(
    model: Any,
    X: Any,
    *,
    target: str = "y",
    source: str = "",
    warnings: Sequence[str] = (),
    seconds: float | None = None,
    created: str | None = None,
) -> Report:
    """Everything that is worth telling about a fitted selector and the rows ``X`` of its fit.

    ``target`` and ``source`` are names, of the target and of the table; ``warnings`` those of the
    fit, ``seconds`` its time; ``created`` a date, today by default. Automatic, derivative,
    hierarchical and sparse gradient estimators tell most.
    """
    check_is_fitted(model)
    if not hasattr(model, "support_"):
        raise InvalidParameterError(
            "A report needs a fitted selector, such as NablassoRegressor; got "
            f"{type(model).__name__}."
        )
    answer = answer_of(model, getattr(model, "_n_rows", len(X)), target=target)
    return Report(
        answer=answer,
        source=source,
        warnings=tuple(text for text in warnings if text not in answer.cautions),
        effects=_effects(model, X, answer) if hasattr(model, "predict") else {},
        pairs=tuple((one, pair) for one, pair, _ in islice(pairs_of(model, answer), MAX_PAIRS)),
        held_out=_held_out(model) if isinstance(model, AutomaticSelector) else None,
        parts=_parts(model, X, answer) if hasattr(model, "contributions") else {},
        works=next((works for kind, works in WORKS.items() if isinstance(model, kind)), ()),
        call=repr(model),
        created=date.today().isoformat() if created is None else created,
        seconds=seconds,
    )


def _effects(model: Any, X: Any, answer: Answer) -> dict[str, list[Dependence]]:
    """Curves of the strongest selected columns, for each class where there are several.

    Those that the model keeps, with the band that holds the function; else partial
    dependences, with the spread of the rows.
    """
    chosen = [column.name for column in answer.selected][:MAX_EFFECTS]
    kept = list(shapes_by_class(model, answer.target).values())
    labels: list[Any] = [None]  # a number, or the second of two classes
    if is_classifier(model) and len(model.classes_) > 2:
        labels = model.classes_.tolist()[:MAX_CLASSES]
    found: dict[str, list[Dependence]] = {}
    for name in track(chosen, len(chosen), "Shapes"):
        if kept and all(name in shapes for shapes in kept):
            found[name] = [shapes[name] for shapes in kept[:MAX_CLASSES]]
        else:
            found[name] = [
                partial_dependence(model, X, name, target=label, max_rows=200, grid_size=31)
                for label in labels
            ]
    return found


def _held_out(model: Any) -> HeldOut:
    """Observed and predicted targets of rows that were left out in the fit."""
    codes, shares, p = model._left_out
    if not is_classifier(model):
        return HeldOut(codes, shares)
    labels = tuple(map(str, model.classes_.tolist()))
    told, true = shares.ravel(), (codes[:, None] == np.arange(len(labels))).ravel()
    weights = np.repeat(p, len(labels))
    if len(labels) == 2:  # the second class says it all
        told, true, weights = shares[:, 1], codes == 1, p
    place = np.unique(np.minimum((told * BINS).astype(int), BINS - 1), return_inverse=True)[1]
    each = [np.bincount(place, weights * values) for values in (told, true)]
    predicted, size = shares.argmax(axis=1), np.bincount(place, weights)
    options: Any = {"labels": range(len(labels)), "sample_weight": p * len(codes)}
    counts = confusion_matrix(codes, predicted, **options)
    return HeldOut(codes, predicted, labels, counts, tuple(sums / size for sums in each))


def _parts(model: Any, X: Any, answer: Answer) -> dict[str, Array]:
    """What the largest columns add to the predictions of some rows; none of several classes."""
    step = max(-(-len(X) // MAX_ROWS), 1)  # not the first ones: tables may be sorted
    table = model.contributions(X[::step]) if answer.selected else {}
    if "bias" not in table:  # one table for each class
        return {}
    names = model.importances_["column"][:MAX_PARTS]
    return {str(name): np.asarray(table[name], dtype=float) for name in names}
