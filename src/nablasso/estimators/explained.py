"""What a fitted selector says: tables in the units of the input, and the one Answer.

The numbers are those of :mod:`nablasso.reading.explanation`; here they get names, units and places
among all columns of the input. Tables are data frames where pandas is installed, else dictionaries
of arrays. From the fitted attributes of any selector :func:`answer_of` makes the
:class:`~nablasso.answer.Answer`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.utils.validation import check_is_fitted

from nablasso import answer as words
from nablasso.answer import Accuracy, Answer, Certificate, Column, Interaction, Replacement, Rival
from nablasso.data.cells import listed
from nablasso.data.table import Scaler, discrete_columns
from nablasso.estimators.base import class_shares
from nablasso.estimators.validation import (
    behind,
    column_indices,
    feature_names,
    players,
    standardised,
)
from nablasso.prediction.predictor import Predictor
from nablasso.reading.explanation import Explanation
from nablasso.reading.shares import players_of, quotients
from nablasso.types import Array, Index, Mask

ONE_WAY = 0.9  # of the mean absolute slope that the mean slope must be, to rise or to fall
SLOPE_ROWS = 300  # rows that slopes are averaged over
OTHERS = "(others)"  # what faint columns add
SHOWN = {
    "alpha": "alpha_",
    "ridge": "ridge_",
    "length scale": "length_scale_",
    "bandwidth": "bandwidth_",
}

# ------------------------------------------------------------------ how much, and how


def table_columns(selector: Any) -> list[Index]:
    """The columns of the table that each player stands for."""
    explanation: Explanation = selector._explanation
    encoding = getattr(selector, "_encoding", None)
    origin = np.arange(explanation.n_columns) if encoding is None else encoding.origin
    return [np.unique(origin[explanation.chosen[player]]) for player in explanation.players]


def facts_of_players(selector: Any) -> dict[str, Array]:
    """What is said of how much each player carries, with the ends of 90 % intervals."""
    slope, direction = slopes_of(selector)
    found = with_ends(selector._explanation.intervals(0.9))
    found["of_y"] = found["share"] * max(float(selector.loo_r2_), 0.0)
    return {**found, "slope": slope, "direction": np.array(direction, dtype=object)}


def with_ends(intervals: Mapping[str, Array]) -> dict[str, Array]:
    """Statistics with the ends of their intervals, (p, 3) each, as columns of a table."""
    found: dict[str, Array] = {}
    for name, values in intervals.items():
        before = "" if name == "share" else f"{name}_"
        found |= zip((name, f"{before}low", f"{before}high"), values.T, strict=True)
    return found


def facts_of_columns(selector: Any) -> dict[int, dict[str, Any]]:
    """The same by column of the table; several of one player have equal parts of its share."""
    facts, found = facts_of_players(selector), dict[int, dict[str, Any]]()
    for a, columns in enumerate(table_columns(selector)):
        own = {key: float(facts[key][a]) for key in ("share", "low", "high", "first_order")}
        own |= {key: own[key] / len(columns) for key in ("share", "low", "high")}
        slope = None if np.isnan(facts["slope"][a]) else float(facts["slope"][a])
        told = {**own, "slope": slope, "direction": str(facts["direction"][a])}
        found |= {int(column): told for column in columns}
    return found


def slopes_of(selector: Any) -> tuple[Array, list[str]]:
    """Root mean squared slope in the units of the table, and the way each column goes.

    Of a number with gaps where it is observed; of several columns and of several classes there is
    no one slope.
    """
    explanation: Explanation = selector._explanation
    scale = selector._scaler.scale[explanation.chosen]
    Z = explanation.Z[:SLOPE_ROWS]
    p = explanation.weights[: len(Z)] / explanation.weights[: len(Z)].sum()
    slope, words = np.full(len(explanation.players), np.nan), []
    for a, player in enumerate(explanation.players):
        column, seen = _number(selector, explanation, player)
        if column is None or len(explanation.functions) > 1 or not seen[: len(Z)].any():
            words.append("differs")
            continue
        rows, q = Z[seen[: len(Z)]], p[seen[: len(Z)]] / p[seen[: len(Z)]].sum()
        few = bool(discrete_columns(explanation.Z[seen])[column])
        found, part = quotients(explanation.values, rows, column, discrete=few)
        steps = found[:, :, 0, 0]
        slope[a] = np.sqrt(q @ np.sum(part * steps**2, axis=0)) / scale[column]
        mean, size = (q @ np.sum(part * g, axis=0) for g in (steps, np.abs(steps)))
        way = mean / size if size > 0 else 0.0
        words.append("rises" if way > ONE_WAY else "falls" if way < -ONE_WAY else "bends")
    return slope, words


def _number(selector: Any, explanation: Explanation, player: Index) -> tuple[int | None, Mask]:
    """The column of a player that is a number, and the rows where it is observed."""
    seen = np.ones(len(explanation.Z), dtype=bool)
    if len(player) == 1:
        return int(player[0]), seen
    names = encoded_names(selector)
    own = [names[a] for a in explanation.chosen[player]]
    if len(own) == 2 and own[1] == f"{own[0]}: missing":
        return int(player[0]), explanation.Z[:, player[1]] < explanation.Z[:, player[1]].mean()
    return None, seen


def encoded_names(selector: Any) -> list[str]:
    """Names of the numbers that the columns of a table became."""
    encoding = getattr(selector, "_encoding", None)
    return feature_names(selector) if encoding is None else [str(name) for name in encoding.names]


def groups_by_name(selector: Any) -> dict[int, str]:
    """Groups that were given by name, by the places of their columns."""
    groups = getattr(selector, "feature_groups", None)
    return {
        int(a): str(name)
        for name, own in (groups.items() if isinstance(groups, Mapping) else ())
        for a in column_indices(selector, [own] if isinstance(own, str) else own, "feature_groups")
    }


def player_names(selector: Any) -> list[str]:
    """A column's name, or that of its group: given, or its columns joined."""
    names, given = feature_names(selector), groups_by_name(selector)
    return [
        given.get(int(columns[0]), " + ".join(names[a] for a in columns))
        for columns in table_columns(selector)
    ]


def curves_of(
    selector: Any, level: float = 0.9
) -> Iterator[tuple[Any, str, Any, dict[str, Array]]]:
    """Class (None for numbers), column, points in its units, and curve, one after the other."""
    explanation: Explanation = selector._explanation
    names, classes = player_names(selector), getattr(selector, "classes_", None)
    for k, player, x, curve in explanation.curves(level):
        label = None if classes is None else classes[k if len(explanation.functions) > 1 else 1]
        columns = explanation.chosen[explanation.players[player]]
        yield label, names[player], _in_units(selector, names[player], columns, x), curve


def _in_units(selector: Any, column: str, columns: Index, x: Array) -> Any:
    """Values in the units of the table; of several numbers in words: a level, or all of them."""
    values, names = selector._scaler.back(x, columns), encoded_names(selector)
    if len(columns) == 1:
        encoding = getattr(selector, "_encoding", None)
        own = None if encoding is None else encoding.columns[encoding.origin[columns[0]]]
        if own is None or own.kind != "category":
            return values[:, 0]
        return own.decode(np.round(values)).fillna("missing").to_numpy(dtype=object)
    own = [names[a] for a in columns]
    words = [_in_words(str(column), own, row) for row in np.round(values, 9)]
    return np.array(words, dtype=object)


def _in_words(column: str, names: list[str], row: Array) -> str:
    """The level that is one, "missing", the number of a column with gaps, or all numbers."""
    cells = dict(zip(names, row, strict=True))
    if cells.pop(f"{column}: missing", 0) == 1:
        return "missing"
    level = [name for name, value in cells.items() if value == 1]
    if len(level) == 1 and level[0].startswith(f"{column}=") and set(row) <= {0.0, 1.0}:
        return level[0].removeprefix(f"{column}=")
    if len(cells) == 1:
        return f"{next(iter(cells.values())):.6g}"
    return " ".join(f"{name}={value:.6g}" for name, value in cells.items())


def drawn_predictions(selector: Any, X: Array, count: int, code: int = 0) -> Array:
    """Draws (m, count) of predictions at rows of numbers; of classes, of the probability of one."""
    explanation: Explanation = selector._explanation
    Z = selector._scaler.transform(X)
    drawn = explanation.drawn(count)(Z[:, explanation.chosen]) + explanation.of_others(Z)[..., None]
    if not hasattr(selector, "classes_"):
        return np.asarray(drawn[:, 0] + selector._y_mean)
    odds = np.moveaxis(drawn, 1, 2).reshape(-1, drawn.shape[1])
    shares = class_shares(odds[:, 0] if odds.shape[1] == 1 else odds)
    return np.asarray(shares[:, code].reshape(len(X), count))


def frame(columns: dict[str, Any]) -> Any:
    """A data frame where pandas is installed, else the columns."""
    if find_spec("pandas") is None:
        return columns
    import pandas

    return pandas.DataFrame(columns)


class Explains:
    """How much columns carry, and how: read from what predicts when asked for."""

    _scaler: Scaler
    _seen: tuple[Array, Array]  # rows of the selected columns, those searched first, and weights
    _n_sampled: int  # that were searched
    _functions: list[Any]
    _labels: Index  # the group of each column
    support_: Mask
    faint_: Mask
    n_features_in_: int
    loo_r2_: float
    p_values_: Array | None
    classes_: Any

    @cached_property
    def _explanation(self) -> Explanation:
        """Of what predicts, at the rows that were seen; a fit forgets that of the one before."""
        if (own := behind(self)) is not self:
            explanation: Explanation = own._explanation
            return explanation
        labels = self._labels.copy()
        for numbers in players(self):  # those of one column of a table have one label
            for label in np.unique(labels[numbers])[1:]:
                labels[labels == label] = labels[numbers].min()
        chosen, (Z, weights) = np.flatnonzero(self.support_), self._seen
        together = [np.searchsorted(chosen, player) for player in players_of(labels, chosen)]
        one, left_out = self._functions[0], None
        if isinstance(one, Predictor) and len(one.observed):  # at rows searched, or the next ones
            first = 0 if len(Z) == self._n_sampled else self._n_sampled
            left_out = Z[first : first + len(one.observed)]
        return Explanation(
            functions=tuple(self._functions),
            Z=Z,
            weights=weights,
            chosen=chosen,
            n_columns=len(self.support_),
            players=tuple(together),
            left_out=left_out,
        )

    @property
    def feature_importances_(self) -> Array:
        """Shares of the variance of the prediction, adding up to one."""
        check_is_fitted(self)
        shares = np.zeros(self.n_features_in_)
        for columns, share in zip(table_columns(self), self._explanation.shares, strict=True):
            shares[columns] = share / len(columns)
        return shares

    @property
    def importances_(self) -> Any:
        """How much each selected column matters, with intervals."""
        check_is_fitted(self)
        columns, names = table_columns(self), player_names(self)
        made: dict[str, Any] = {"column": np.array(names, dtype=object), **facts_of_players(self)}
        made["degrees"] = self._explanation.degrees
        if self.p_values_ is not None:
            made["p_value"] = np.array([self.p_values_[own].min() for own in columns])
        order = sorted(range(len(columns)), key=lambda a: (-made["share"][a], names[a]))
        return frame({name: values[order] for name, values in made.items()})

    @property
    def interactions_(self) -> list[tuple[int, int, float]]:
        """Pairs that act together."""
        check_is_fitted(self)
        return self._together(self._explanation.pairs)

    @property
    def triples_(self) -> list[tuple[int, int, int, float]]:
        """Triples that act together."""
        check_is_fitted(self)
        return self._together(self._explanation.triples)

    def _together(self, found: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Pairs or triples of players as columns of the table, with the share they have."""
        first = [int(columns[0]) for columns in table_columns(self)]
        return [(*sorted(first[a] for a in some), share) for *some, share in found]

    def shapes(self, level: float = 0.9) -> Any:
        """How the prediction (for classes: the log-odds) depends on each selected column.

        Parameters
        ----------
        level : float, default=0.9
            Of the bands: ``low`` and ``high`` hold the function at one point with this
            probability, ``low_simultaneous`` and ``high_simultaneous`` at all points at once.

        Returns
        -------
        DataFrame, or dict of arrays without pandas
            ``column``, ``x``, ``value`` (mean zero over the rows) and the bands; for classes
            ``class`` too.
        """
        check_is_fitted(self)
        parts: dict[str, list[Any]] = {}
        for label, name, x, curve in curves_of(self, level):
            named = {"column": name} if label is None else {"class": label, "column": name}
            made = {key: np.full(len(x), value, dtype=object) for key, value in named.items()}
            for key, values in {**made, "x": x, **curve}.items():
                parts.setdefault(key, []).append(np.atleast_1d(values))
        return frame({name: np.concatenate(values) for name, values in parts.items()})

    def contributions(self, X: Any) -> Any:
        """What each selected column adds to each prediction (for classes: to the log-odds).

        Parameters
        ----------
        X : array-like, shape (n_samples, n_features)

        Returns
        -------
        DataFrame, or dict of arrays without pandas
            ``bias`` and one column for each selected one, and "(others)" where faint columns
            predict too; rows add up to the predictions. A dict of them by class where there are
            more than two.
        """
        Z, read = standardised(self, X), self._explanation
        parts = read.contributions(Z[:, read.chosen])
        parts[:, 0] += getattr(self, "_y_mean", 0.0)
        names = ["bias", *player_names(self)]
        if self.faint_.any():
            names.append(OTHERS)
            parts = np.concatenate([parts, read.of_others(Z)[:, None]], axis=1)
        tables = [
            frame(dict(zip(names, parts[:, :, k].T, strict=True))) for k in range(parts.shape[2])
        ]
        if len(tables) == 1:
            return tables[0]
        return dict(zip(self.classes_.tolist(), tables, strict=True))


# ------------------------------------------------------------------ the one Answer


def answer_of(model: Any, n_rows: int, *, target: str = "y") -> Answer:
    """Everything that the fitted attributes of any selector say; ``n_rows`` rows were given."""
    names, groups, stand_ins = feature_names(model), groups_by_name(model), _stand_ins(model)
    facts = facts_of_columns(model) if hasattr(model, "_explanation") else {}
    found = [
        _column(model, a, name, facts.get(a, {}), groups.get(a), tuple(stand_ins.get(a, ())))
        for a, name in enumerate(names)
    ]
    found.sort(key=lambda column: (not column.selected, -column.size))
    n_searched = int(getattr(model, "n_rows_searched_", n_rows))
    runner_up = getattr(model, "runner_up_", None)
    rivals = () if runner_up is None else (Rival(_names(model, runner_up[0]), runner_up[1]),)
    return Answer(
        target=target,
        method=type(model).__name__,
        task="classification" if is_classifier(model) else "regression",
        n_rows=max(n_rows, n_searched),
        n_searched=n_searched,
        columns=tuple(found),
        status=_status_of(model),
        interactions=_interactions(model),
        accuracy=_accuracy(model, n_rows),
        rivals=rivals,
        family=str(getattr(model, "family_", "")),
        noticed=tuple(getattr(model, "assumptions_", ())),
        cautions=tuple(getattr(model, "cautions_", ())),
        notes=tuple(_notes(model)),
        certificate=_certificate(model),
    )


def _status_of(model: Any) -> str:
    """An interrupt comes first."""
    folds, asked = _n_folds(model), getattr(model, "cv", None)
    cut = isinstance(asked, int) and 0 < folds < asked
    if cut or getattr(model, "solver_status_", "") == words.INTERRUPTED:
        return words.INTERRUPTED
    return str(getattr(model, "selection_status_", "clear"))


def _n_folds(model: Any) -> int:
    return sum(key.startswith("split") for key in getattr(model, "cv_results_", ()))


def _column(
    model: Any,
    a: int,
    name: str,
    explained: dict[str, Any],
    group: str | None,
    stand_ins: tuple[Replacement, ...],
) -> Column:
    def of(attribute: str) -> Any:
        values = getattr(model, attribute, None)
        return None if values is None else values[a]

    selected, kind = bool(model.support_[a]), str(of("feature_kinds_") or "")
    strength = of("slopes_" if hasattr(model, "_explanation") else "feature_importances_")
    bounds, certified = of("importance_bounds_"), of("support_certified_")
    adds, costs, scores = getattr(model, "_dropped", {}).get(a, (None, None, None))
    encoding, reason = getattr(model, "_encoding", None), "" if adds is None else "priced"
    if of("screened_") is not None and not of("screened_") and kind != "constant":
        reason = "screened"
    if of("faint_"):
        reason = words.FAINT
    return Column(
        name=name,
        selected=selected,
        kind=kind,
        strength=float(selected if strength is None else strength),
        bounds=None if bounds is None else (_finite(bounds[0]), _finite(bounds[1])),
        **explained if selected else {},
        evidence=_finite(of("evidence_")),
        clear_by=_finite(of("clear_by_")),
        p_value=_finite(of("p_values_")),
        certified=None if certified is None else bool(certified),
        group=group,
        levels=None if encoding is None else encoding.columns[a].levels or None,
        replaceable=stand_ins if selected else (),
        **{} if selected else {"reason": reason, "adds": adds, "costs": costs, "scores": scores},
    )


def _finite(value: float | None) -> float | None:
    """Plain data have no infinity and no NaN."""
    return None if value is None or not math.isfinite(value) else float(value)


def _names(model: Any, places: Iterable[int]) -> tuple[str, ...]:
    names = feature_names(model)
    return tuple(names[int(a)] for a in places)


def _stand_ins(model: Any) -> dict[int, list[Replacement]]:
    """For each column what could stand for it, the closest first."""
    found: dict[int, list[Replacement]] = {}

    def add(a: int, one: Replacement) -> None:
        own = found.setdefault(int(a), [])
        if one.by not in [other.by for other in own]:
            own.append(one)

    for a, b in getattr(model, "twins_", ()):
        add(a, Replacement("twin", _names(model, [b])))
        add(b, Replacement("twin", _names(model, [a])))
    for a, b, ours, theirs in getattr(model, "alternatives_", ()):
        add(a, Replacement("alternative", _names(model, [b]), ours=ours, theirs=theirs))
    for a, by, r2 in getattr(model, "replaceable_", ()):
        add(a, Replacement("together", _names(model, by), r2=r2))
    return found


def _interactions(model: Any) -> tuple[Interaction, ...]:
    """Shares of columns that act together; products by name are among the notes."""
    pairs = [one for one in getattr(model, "interactions_", ()) if not isinstance(one, str)]
    found = [
        Interaction(tuple(sorted(_names(model, pair))), float(share)) for *pair, share in pairs
    ]
    return tuple(sorted(found, key=lambda one: -one.share))


def _accuracy(model: Any, n_rows: int) -> Accuracy | None:
    """What the fit measured on left-out rows."""
    if hasattr(model, "_left_out"):
        of = model._judged_of
        n = len(model._left_out[0]) if of else model.n_rows_searched_
        how = words.said("judged" if of else "left out", n_rows=n, n_all=of)
        accuracy = _accuracy_of_classes if is_classifier(model) else _accuracy_of_numbers
        return accuracy(how, *model._left_out)
    n_folds, r2 = _n_folds(model), _finite(getattr(model, "loo_r2_", None))
    if n_folds and hasattr(model, "best_score_"):
        how, score = f"{n_folds} folds of {words.counted(n_rows, 'row')}", float(model.best_score_)
        if is_classifier(model):
            return Accuracy(n_rows, how, log_loss=_finite(-score))
        return Accuracy(n_rows, how, r2, rmse=math.sqrt(max(-score, 0.0)))
    return None if r2 is None else Accuracy(n_rows, words.said("left out", n_rows=n_rows), r2)


def _accuracy_of_numbers(how: str, observed: Array, predicted: Array, p: Array) -> Accuracy:
    """R2 and error of left-out rows."""
    error = float(p @ (observed - predicted) ** 2)
    spread = float(p @ (observed - p @ observed) ** 2)
    share = error / spread if spread > 0 else 1.0
    return Accuracy(len(observed), how, 1 - share, math.sqrt(error), math.sqrt(share))


def _accuracy_of_classes(how: str, codes: Index, shares: Array, p: Array) -> Accuracy:
    """Accuracy, log-loss and AUC (with more than two classes the mean over pairs of them)."""
    k, auc = shares.shape[1], None
    if len(np.unique(codes)) == k == 2:
        auc = float(roc_auc_score(codes, shares[:, 1], sample_weight=p))
    elif len(np.unique(codes)) == k:
        auc = float(roc_auc_score(codes, shares, multi_class="ovo"))
    return Accuracy(
        len(codes),
        how,
        accuracy=float(p @ (shares.argmax(axis=1) == codes)),
        guess=float(np.bincount(codes, p, minlength=k).max()),
        log_loss=float(log_loss(codes, shares, labels=np.arange(k), sample_weight=p)),
        auc=auc,
    )


def _notes(model: Any) -> Iterable[str]:
    """What only one method has to say."""
    products = getattr(model, "interactions_", ())
    if any(isinstance(product, str) for product in products):
        yield words.said("products", products=listed(products))
    if hasattr(model, "penalised_hull_") and len(model.hull_) < len(model.penalised_hull_):
        yield words.said("pruned", n_kept=len(model.hull_), n_penalised=len(model.penalised_hull_))
    spectrum = getattr(model, "spectrum_", None)
    if spectrum is not None and model.support_.any():
        q, total = len(model.components_), float(spectrum.sum())
        share = float(spectrum[:q].sum()) / total if total else 1.0
        yield words.said("directions", n_some=q, share=share)
    faint = getattr(model, "faint_", None)
    if faint is not None and faint.any():
        names = _names(model, np.flatnonzero(faint))
        yield words.said("faint", n_names=len(names), names=listed(names))
    for kind, those in (("states", "stated_"), ("scales", "scaling_")):
        found = np.flatnonzero(getattr(model, those, False))
        if len(found):
            yield words.said(kind, n_names=len(found), names=listed(_names(model, found)))
    yield from getattr(model, "table_notes_", ())
    screened = getattr(model, "screened_", None)
    if screened is not None and not screened.all():
        yield words.said("screened", n_left=int(screened.sum()), n_columns=len(screened))


def _certificate(model: Any) -> Certificate | None:
    """The problem that was solved; none where nothing was selected automatically."""
    gap = getattr(model, "dual_gap_", None)
    if gap is None or getattr(model, "kernel_", "") is None:
        return None
    parameters: dict[str, float | str] = {
        label: float(getattr(model, name)) for label, name in SHOWN.items() if hasattr(model, name)
    }
    if hasattr(model, "kernel_"):
        parameters["kernel"] = words.short_kernel(repr(model.kernel_))
    proven, of, state = None, None, ""
    certified, support = getattr(model, "support_certified_", None), model.support_
    if hasattr(model, "evidence_"):
        problem = str(model.certificate_)
        proven, of = int(np.sum(model.support_certified_[support])), int(support.sum())
    elif hasattr(model, "certified_"):
        problem = words.counted(model.n_kernels_, "kernel")
        kind = "certified" if model.certified_ else "not certified"
        state = words.said(kind, reason=model.search_status_)
    else:
        problem = words.said("stated")
        if certified is not None:
            proven, of = int(np.sum(certified)), len(certified)
    return Certificate(
        problem, float(gap), float(model.relative_gap_), proven, of, state, parameters
    )
