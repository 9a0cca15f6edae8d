"""What a fit found, under the names of the table's columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nablasso import __version__
from nablasso.cli.model import Settings
from nablasso.data.encoding import listed
from nablasso.data.roles import Data
from nablasso.estimators.outcome import WEAK

PROVISIONAL = "interrupted"  # a status


@dataclass(frozen=True)
class Variable:
    """One column of the table; None is what the method does not tell."""

    name: str
    group: str | None
    selected: bool
    strength: float
    bounds: tuple[float, float]
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
    data: Data
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
                {"columns": [a, b], "strength": _finite(strength)}
                for a, b, strength in self.interactions
            ],
            "rows": list(self.data.remarks),
            "n_rows": len(self.data.y),
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
        "strength_bounds": [_finite(bound) for bound in variable.bounds],
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
