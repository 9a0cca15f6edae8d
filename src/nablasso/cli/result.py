"""What a fit found, under the names of the table's columns."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nablasso import __version__
from nablasso.cli.columns import Data, listed
from nablasso.cli.groups_file import Groups
from nablasso.cli.model import Model, Settings


@dataclass(frozen=True)
class Variable:
    """One column of the table."""

    name: str
    group: str | None
    selected: bool
    strength: float
    bounds: tuple[float, float]
    certified: bool
    constant: bool


@dataclass(frozen=True)
class Result:
    """The answer, its certificate and its validation error."""

    source: str
    data: Data
    settings: Settings
    variables: tuple[Variable, ...]  # the strongest first
    status: str
    twins: tuple[tuple[str, str], ...]
    dual_gap: float
    relative_gap: float
    rmse: float
    alpha: float
    ridge: float
    length_scale: float
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
    def rmse_fraction(self) -> float:
        """Validation error in standard deviations of the target; 1 is as bad as the mean."""
        return self.rmse / float(self.data.y.std(ddof=0))

    def answer(self) -> str:
        """The result in one sentence."""
        chosen, target = [variable.name for variable in self.selected], self.data.target
        if not chosen:
            return f"No column was found that helps to predict {target}."
        share = f"{len(chosen)} of {len(self.variables)} columns"
        if self.status == "too few rows":
            return (
                f"No reliable answer: {share} were selected ({listed(chosen)}), but they "
                f"predict {target} in left-out rows no better than its mean does."
            )
        verb = "matters" if len(chosen) == 1 else "matter"
        return f"{share} {verb} for {target}: {listed(chosen)}."

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings, lists and dictionaries."""
        return {
            "nablasso_version": __version__,
            "source": self.source,
            "target": self.data.target,
            "answer": self.answer(),
            "selection_status": self.status,
            "selected": [_describe(variable) for variable in self.selected],
            "left_out": [_describe(variable) for variable in self.left_out],
            "constant": self.constant,
            "ignored": list(self.data.ignored),
            "always_kept": list(self.data.kept),
            "twins": [list(pair) for pair in self.twins],
            "n_rows": len(self.data.y),
            "n_columns": len(self.variables),
            "dual_gap": _finite(self.dual_gap),
            "relative_gap": _finite(self.relative_gap),
            "validation_rmse": _finite(self.rmse),
            "validation_rmse_over_sd": _finite(self.rmse_fraction),
            "n_folds": self.settings.n_folds,
            "loo_r2": _finite(self.loo_r2),
            "method": str(self.settings.method),
            "kernel": str(self.settings.kernel),
            "length_scale": _finite(self.length_scale),
            "alpha": _finite(self.alpha),
            "ridge": _finite(self.ridge),
            "seconds": self.seconds,
            "warnings": list(self.warnings),
        }


def read_result(
    model: Model,
    data: Data,
    settings: Settings,
    *,
    source: str,
    groups: Groups | None = None,
    seconds: float = 0.0,
    warnings: tuple[str, ...] = (),
) -> Result:
    """Take from a fitted estimator what the command tells.

    Parameters
    ----------
    model : estimator
        Fitted on ``data``.
    data : Data
        The table.
    settings : Settings
        What the estimator was made from.
    source : str
        Where the table came from.
    groups : dict of lists, optional
        Groups that were selected as a whole.
    seconds : float
        Time of the fit.
    warnings : tuple of str
        What the fit warned of.

    Returns
    -------
    Result
    """
    names = data.variables
    return Result(
        source=source,
        data=data,
        settings=settings,
        variables=_variables(model, names, groups),
        status=model.selection_status_,
        twins=tuple((names[a], names[b]) for a, b in model.twins_),
        dual_gap=float(model.dual_gap_),
        relative_gap=float(model.relative_gap_),
        rmse=math.sqrt(max(-model.best_score_, 0.0)),
        alpha=float(model.alpha_),
        ridge=float(model.ridge_),
        length_scale=float(model.length_scale_),
        loo_r2=float(model.loo_r2_),
        seconds=round(seconds, 3),
        warnings=warnings,
    )


def _variables(model: Model, names: list[str], groups: Groups | None) -> tuple[Variable, ...]:
    owner = {column: group for group, columns in (groups or {}).items() for column in columns}
    variables = [
        Variable(
            name=name,
            group=owner.get(name),
            selected=bool(model.support_[a]),
            strength=float(model.feature_importances_[a]),
            bounds=(float(model.importance_bounds_[a][0]), float(model.importance_bounds_[a][1])),
            certified=bool(model.support_certified_[a]),
            constant=bool(model.feature_kinds_[a] == "constant"),
        )
        for a, name in enumerate(names)
    ]
    return tuple(sorted(variables, key=lambda variable: -variable.strength))


def _describe(variable: Variable) -> dict[str, Any]:
    return {
        "name": variable.name,
        "strength": _finite(variable.strength),
        "strength_bounds": [_finite(bound) for bound in variable.bounds],
        "certified": variable.certified,
        **({} if variable.group is None else {"group": variable.group}),
    }


def _finite(value: float) -> float | None:
    """JSON has no infinity and no NaN."""
    return value if math.isfinite(value) else None
