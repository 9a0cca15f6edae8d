"""What a fit found, under the names of the table's columns, and how it is read from the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nablasso import __version__
from nablasso.cli.models import N_FOLDS, KernelChoice, Settings
from nablasso.data.encoding import Groups, listed
from nablasso.data.roles import EncodedTable
from nablasso.estimators.answer import WEAK

PROVISIONAL = "interrupted"  # a status


@dataclass(frozen=True)
class Variable:
    """One column of the table; None is what the method does not tell."""

    name: str
    group: str | None
    selected: bool
    strength: float
    bounds: tuple[float, float] | None  # of a slope
    certified: bool
    constant: bool
    evidence: float | None = None  # nats that leaving it out would cost
    p_value: float | None = None
    alternatives: tuple[str, ...] = ()  # columns that predict as well in its place
    levels: tuple[str, ...] | None = None  # of a category


@dataclass(frozen=True)
class Validation:
    """How well left-out rows are predicted; None is what the method does not measure."""

    n_folds: int | None  # None: each row by itself
    r2: float | None = None
    rmse: float | None = None
    log_loss: float | None = None


@dataclass(frozen=True)
class Certificate:
    """The derivative lasso that was solved, and how exactly."""

    kernel: str
    alpha: float
    ridge: float
    dual_gap: float
    relative_gap: float
    length_scale: float | None = None


@dataclass(frozen=True)
class Result:
    """The answer, its certificate and its validation error."""

    source: str
    data: EncodedTable
    settings: Settings
    variables: tuple[Variable, ...]  # the strongest first
    status: str
    twins: tuple[tuple[str, str], ...]
    interactions: tuple[tuple[str, str, float], ...]  # the strongest first
    cautions: tuple[str, ...]
    assumptions: tuple[str, ...]  # about noise and target, that were taken into account
    certificate: Certificate | None
    validation: Validation | None
    loo_r2: float
    seconds: float
    warnings: tuple[str, ...] = ()

    @property
    def selected(self) -> list[Variable]:
        """Selected variables, the strongest first."""
        return [variable for variable in self.variables if variable.selected]

    @property
    def left_out(self) -> list[Variable]:
        """Variables that could have been selected and were not."""
        return [v for v in self.variables if not v.selected and not v.constant]

    @property
    def constant(self) -> list[str]:
        """Columns with the same value in all rows."""
        return [variable.name for variable in self.variables if variable.constant]

    @property
    def task(self) -> str:
        """What was chosen for this target."""
        return "classification" if self.data.has_classes else "regression"

    @property
    def is_interrupted(self) -> bool:
        """Whether the work was cut short, so that the answer rests on a part of it."""
        return self.status == PROVISIONAL

    @property
    def rmse_fraction(self) -> float | None:
        """Validation error in standard deviations of the target; 1 is as bad as the mean."""
        if self.validation is None or self.validation.rmse is None:
            return None
        spread = float(self.data.y.std(ddof=0))
        return self.validation.rmse / spread if spread > 0 else 1.0  # squares may underflow

    def answer(self) -> str:
        """The result in one sentence."""
        chosen, target = [variable.name for variable in self.selected], self.data.target
        before = "Interrupted, so this is provisional: " if self.is_interrupted else ""
        if not chosen:
            return f"{before}No column was found that helps to predict {target}."
        share = f"{before}{len(chosen)} of {len(self.variables)} columns"
        if self.status != "too few rows":
            verb = "matters" if len(chosen) == 1 else "matter"
            weak = [v.name for v in self.selected if 0 < (v.evidence or 0.0) < WEAK]
            doubt = f" Weakly supported: {listed(weak)}." if weak else ""
            return f"{share} {verb} for {target}: {listed(chosen)}.{doubt}"
        verb = "was" if len(chosen) == 1 else "were"
        return f"No reliable answer: {share} {verb} selected ({listed(chosen)}), but {self._doubt}."

    @property
    def _doubt(self) -> str:
        if self.settings.is_automatic:
            them = "it" if len(self.selected) == 1 else "them"
            return f"the rows are too few to be sure of {them}"
        guess = "the shares of its classes do" if self.data.has_classes else "its mean does"
        they = "it predicts" if len(self.selected) == 1 else "they predict"
        return f"{they} {self.data.target} in left-out rows no better than {guess}"

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings, lists and dictionaries."""
        validation, certificate = self.validation, self.certificate
        return {
            "nablasso_version": __version__,
            "source": self.source,
            "target": self.data.target,
            "task": self.task,
            "classes": self.data.classes,
            "answer": self.answer(),
            "selection_status": self.status,
            "cautions": list(self.cautions),
            "assumptions": list(self.assumptions),
            "selected": [_describe(variable) for variable in self.selected],
            "left_out": [_describe(variable) for variable in self.left_out],
            "constant": self.constant,
            "ignored": list(self.data.ignored),
            "always_kept": list(self.data.kept),
            "twins": [list(pair) for pair in self.twins],
            "interactions": [
                {"columns": [a, b], "share": _finite(share)} for a, b, share in self.interactions
            ],
            "rows": list(self.data.remarks),
            "n_rows": self.data.n_rows,
            "n_columns": len(self.variables),
            "method": str(self.settings.method),
            "fdr": self.settings.fdr,
            "max_features": self.settings.max_features,
            "n_folds": validation and validation.n_folds,
            "validation_r2": validation and _finite(validation.r2),
            "validation_rmse": validation and _finite(validation.rmse),
            "validation_rmse_over_sd": _finite(self.rmse_fraction),
            "validation_log_loss": validation and _finite(validation.log_loss),
            "loo_r2": _finite(self.loo_r2),
            "kernel": certificate and certificate.kernel,
            "length_scale": certificate and _finite(certificate.length_scale),
            "alpha": certificate and _finite(certificate.alpha),
            "ridge": certificate and _finite(certificate.ridge),
            "dual_gap": certificate and _finite(certificate.dual_gap),
            "relative_gap": certificate and _finite(certificate.relative_gap),
            "seconds": self.seconds,
            "warnings": list(self.warnings),
        }


def _describe(variable: Variable) -> dict[str, Any]:
    return {
        "name": variable.name,
        "strength": _finite(variable.strength),
        "strength_bounds": None
        if variable.bounds is None
        else [_finite(bound) for bound in variable.bounds],
        "certified": variable.certified,
        "evidence_nats": _finite(variable.evidence),
        "p_value": _finite(variable.p_value),
        "alternatives": list(variable.alternatives),
        **({} if variable.group is None else {"group": variable.group}),
        **({} if variable.levels is None else {"levels": list(variable.levels)}),
    }


def _finite(value: float | None) -> float | None:
    """JSON has no infinity and no NaN."""
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True)
class Call:
    """What was fitted on what."""

    data: EncodedTable
    settings: Settings
    source: str  # where the table came from
    groups: Groups | None = None  # selected as a whole
    table: Any = None  # in blocks, where data are a sample of it


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


def _origins(data: EncodedTable, places: Any) -> tuple[str, ...]:
    """Columns of the table behind columns of numbers."""
    origin = data.encoding.origin
    return tuple(origin[str(data.X.columns[place])] for place in places)


def _interactions(pairs: Any, data: EncodedTable) -> tuple[tuple[str, str, float], ...]:
    """Shares of pairs of columns of the table; those of the levels of a category add up."""
    shares: dict[tuple[str, str], float] = {}
    for a, b, share in pairs:
        one, other = _origins(data, (a, b))
        if one != other:
            pair = (other, one) if (other, one) in shares else (one, other)
            shares[pair] = shares.get(pair, 0.0) + float(share)
    found = [(a, b, share) for (a, b), share in shares.items()]
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
        strength, bounds = _strength(model, parts, is_share=call.settings.is_automatic)
        variables.append(
            Variable(
                name=column.name,
                group=owner.get(column.name),
                selected=bool(model.support_[parts].any()),
                strength=strength,
                bounds=bounds,
                certified=bool(model.support_certified_[parts].all()),
                constant=all(model.feature_kinds_[a] == "constant" for a in parts),
                levels=column.levels,
                **facts,
            )
        )
    return tuple(sorted(variables, key=lambda variable: -variable.strength))


def _strength(
    model: Any, parts: list[int], *, is_share: bool
) -> tuple[float, tuple[float, float] | None]:
    """A share; or a slope between the bounds that the gap proves."""
    if is_share:
        return float(model.feature_importances_[parts].sum()), None
    low, high = (_size(model.importance_bounds_[parts, end]) for end in (0, 1))
    return _size(model.feature_importances_[parts]), (low, high)


def _size(values: Any) -> float:
    """One number as it is; those of several levels by the norm that the penalty gives a group."""
    numbers = [float(value) for value in values]
    return numbers[0] if len(numbers) == 1 else math.hypot(*numbers)


def _automatic_facts(model: Any, parts: list[int], data: EncodedTable) -> dict[str, Any]:
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


def _automatic_validation(model: Any, data: EncodedTable) -> Validation:
    r2 = float(model.loo_r2_)
    if data.has_classes:
        return Validation(None, r2=r2)
    return Validation(None, r2=r2, rmse=float(data.y.std(ddof=0)) * math.sqrt(max(1 - r2, 0.0)))
