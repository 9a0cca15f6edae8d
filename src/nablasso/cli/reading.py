"""From a fitted estimator to what the command tells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nablasso.cli.columns import Data
from nablasso.cli.groups_file import Groups
from nablasso.cli.model import N_FOLDS, KernelChoice, Settings
from nablasso.cli.result import PROVISIONAL, Certificate, Result, Validation, Variable


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
    names, is_automatic = call.data.variables, call.settings.is_automatic
    cautions = tuple(model.cautions_) if is_automatic else ()
    pairs = model.interactions_ if is_automatic else []
    return Result(
        source=call.source,
        data=call.data,
        settings=call.settings,
        variables=_variables(model, call),
        status=_status(model, call.settings),
        twins=tuple((names[a], names[b]) for a, b in model.twins_),
        interactions=tuple((names[a], names[b], float(strength)) for a, b, strength in pairs),
        cautions=cautions,
        certificate=_certificate(model, call.settings),
        validation=_validation(model, call),
        loo_r2=float(model.loo_r2_),
        seconds=round(seconds, 3),
        warnings=tuple(warning for warning in warnings if warning not in cautions),
    )


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
    names = call.data.variables
    owner = {column: group for group, columns in (call.groups or {}).items() for column in columns}
    variables = [
        Variable(
            name=name,
            group=owner.get(name),
            selected=bool(model.support_[a]),
            strength=float(model.feature_importances_[a]),
            bounds=(float(model.importance_bounds_[a][0]), float(model.importance_bounds_[a][1])),
            certified=bool(model.support_certified_[a]),
            constant=bool(model.feature_kinds_[a] == "constant"),
            **(_automatic_facts(model, a, names) if call.settings.is_automatic else {}),
        )
        for a, name in enumerate(names)
    ]
    return tuple(sorted(variables, key=lambda variable: -variable.strength))


def _automatic_facts(model: Any, a: int, names: list[str]) -> dict[str, Any]:
    """What only the automatic estimators know about a column."""
    searched = bool(model.tried_)  # otherwise there were no folds
    p_values = model.p_values_ if searched else None
    return {
        "frequency": float(model.selection_frequencies_[a]) if searched else None,
        "p_value": None if p_values is None else float(p_values[a]),
        "alternatives": tuple(names[other] for one, other in model.alternatives_ if one == a),
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
        return _automatic_validation(model, call.data) if model.tried_ else None
    n_folds, score = _n_folds_done(model), float(model.best_score_)
    if call.data.has_classes:
        return Validation(n_folds, log_loss=-score)
    return Validation(n_folds, rmse=math.sqrt(max(-score, 0.0)))


def _automatic_validation(model: Any, data: Data) -> Validation:
    n_folds, r2 = int(model.tried_[0]["n_folds"]), float(model.held_out_r2_)
    if data.has_classes:
        return Validation(n_folds, r2=r2)
    return Validation(n_folds, r2=r2, rmse=float(data.y.std(ddof=0)) * math.sqrt(max(1 - r2, 0.0)))
