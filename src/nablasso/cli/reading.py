"""From a fitted estimator to what the command tells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nablasso.cli.model import N_FOLDS, KernelChoice, Settings
from nablasso.cli.result import PROVISIONAL, Certificate, Result, Validation, Variable
from nablasso.data.encoding import Groups
from nablasso.data.roles import Data


@dataclass(frozen=True)
class Call:
    """What was fitted on what."""

    data: Data
    settings: Settings
    source: str  # where the table came from
    groups: Groups | None = None  # selected as a whole


def read_result(
    model: Any, call: Call, *, seconds: float = 0.0, warnings: tuple[str, ...] = ()
) -> Result:
    """Take from a fitted estimator what the command tells.

    Parameters
    ----------
    model : estimator
        Fitted on ``call.data``.
    call : Call
        The table, and what the estimator was made from.
    seconds : float
        Time of the fit.
    warnings : tuple of str
        What the fit warned of.

    Returns
    -------
    Result
    """
    is_automatic = call.settings.is_automatic
    cautions = tuple(model.cautions_) if is_automatic else ()
    twins = [_origins(call.data, pair) for pair in model.twins_]
    return Result(
        source=call.source,
        data=call.data,
        settings=call.settings,
        variables=_variables(model, call),
        status=_status(model, call.settings),
        twins=tuple(dict.fromkeys((a, b) for a, b in twins if a != b)),
        interactions=_interactions(model.interactions_, call.data) if is_automatic else (),
        cautions=cautions,
        assumptions=tuple(model.assumptions_) if is_automatic else (),
        certificate=_certificate(model, call.settings),
        validation=_validation(model, call),
        loo_r2=float(model.loo_r2_),
        seconds=round(seconds, 3),
        warnings=tuple(warning for warning in warnings if warning not in cautions),
    )


def _origins(data: Data, places: Any) -> tuple[str, ...]:
    """Columns of the table behind columns of numbers."""
    origin = data.encoding.origin
    return tuple(origin[str(data.X.columns[place])] for place in places)


def _interactions(pairs: Any, data: Data) -> tuple[tuple[str, str, float], ...]:
    """Strengths between columns of the table; levels of a category add up by squares."""
    squares: dict[tuple[str, str], float] = {}
    for a, b, strength in pairs:
        one, other = _origins(data, (a, b))
        if one != other:
            pair = (other, one) if (other, one) in squares else (one, other)
            squares[pair] = squares.get(pair, 0.0) + float(strength) ** 2
    found = [(a, b, math.sqrt(square)) for (a, b), square in squares.items()]
    return tuple(sorted(found, key=lambda pair: -pair[2]))


def _status(model: Any, settings: Settings) -> str:
    """How far to trust the answer; an interrupt comes first."""
    if settings.is_automatic:
        return str(model.selection_status_)
    cut_short = _n_folds_done(model) < (settings.n_folds or N_FOLDS)
    if cut_short or model.solver_status_ == "interrupted":
        return PROVISIONAL
    return str(model.selection_status_)


def _n_folds_done(model: Any) -> int:
    return sum(key.startswith("split") for key in model.cv_results_)


def _variables(model: Any, call: Call) -> tuple[Variable, ...]:
    owner = {column: group for group, columns in (call.groups or {}).items() for column in columns}
    places = {str(name): a for a, name in enumerate(call.data.X.columns)}
    variables = []
    for column in call.data.encoding.columns:
        parts = [places[name] for name in column.encoded]
        facts = _automatic_facts(model, parts, call.data) if call.settings.is_automatic else {}
        low, high = (_size(model.importance_bounds_[parts, end]) for end in (0, 1))
        variables.append(
            Variable(
                name=column.name,
                group=owner.get(column.name),
                selected=bool(model.support_[parts].any()),
                strength=_size(model.feature_importances_[parts]),
                bounds=(low, high),
                certified=bool(model.support_certified_[parts].all()),
                constant=all(model.feature_kinds_[a] == "constant" for a in parts),
                levels=column.levels,
                **facts,
            )
        )
    return tuple(sorted(variables, key=lambda variable: -variable.strength))


def _size(values: Any) -> float:
    """One number as it is; those of several levels by the norm that the penalty gives a group."""
    numbers = [float(value) for value in values]
    return numbers[0] if len(numbers) == 1 else math.hypot(*numbers)


def _automatic_facts(model: Any, parts: list[int], data: Data) -> dict[str, Any]:
    """What only the automatic estimators know about a column."""
    p_values = model.p_values_
    evidence = float(max(model.evidence_[parts]))
    (name,) = set(_origins(data, parts))
    others = [_origins(data, (other,))[0] for one, other in model.alternatives_ if one in parts]
    return {
        "evidence": evidence if evidence > 0 else None,
        "p_value": None if p_values is None else float(min(p_values[parts])),
        "alternatives": tuple(dict.fromkeys(other for other in others if other != name)),
    }


def _certificate(model: Any, settings: Settings) -> Certificate | None:
    """The solved problem; none where nothing was selected automatically."""
    if settings.is_automatic and model.kernel_ is None:
        return None
    kernel = settings.kernel or KernelChoice("gaussian")
    return Certificate(
        kernel=repr(model.kernel_) if settings.is_automatic else str(kernel),
        alpha=float(model.alpha_),
        ridge=float(model.ridge_),
        dual_gap=float(model.dual_gap_),
        relative_gap=float(model.relative_gap_),
        length_scale=None if settings.is_automatic else float(model.length_scale_),
    )


def _validation(model: Any, call: Call) -> Validation | None:
    """Errors on left-out rows; none where nothing had to be decided."""
    if call.settings.is_automatic:
        return _automatic_validation(model, call.data)
    n_folds, score = _n_folds_done(model), float(model.best_score_)
    if call.data.has_classes:
        return Validation(n_folds, log_loss=-score)
    return Validation(n_folds, rmse=math.sqrt(max(-score, 0.0)))


def _automatic_validation(model: Any, data: Data) -> Validation:
    r2 = float(model.loo_r2_)
    if data.has_classes:
        return Validation(None, r2=r2)
    return Validation(None, r2=r2, rmse=float(data.y.std(ddof=0)) * math.sqrt(max(1 - r2, 0.0)))
