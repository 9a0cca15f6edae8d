"""A report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import os
from importlib.resources import files
from typing import Any

from nablasso.errors import MissingExtraError
from nablasso.persistence import atomic_write
from nablasso.report.charts import (
    curve_chart,
    interaction_chart,
    numbers_of,
    pair_chart,
    path_chart,
    scatter_chart,
)
from nablasso.report.content import Report, Variable
from nablasso.report.palette import DARK, LIGHT, variables
from nablasso.report.words import number

TEMPLATES = files("nablasso.report") / "templates"


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Write a report as one HTML file; it is there whole or not at all.

    Parameters
    ----------
    report : Report
    path : path-like
        Where to write it.
    """
    page = render_report(report)
    with atomic_write(path) as place:
        place.write_text(page, encoding="utf-8")


def render_report(report: Report) -> str:
    """The page of a report as a string.

    Parameters
    ----------
    report : Report

    Returns
    -------
    str
        HTML.
    """
    environment = _environment()
    markup = environment.globals["Markup"]

    def drawn(chart: Any) -> Any:
        return lambda *of: markup(chart(*of))

    template = environment.get_template("report.html")
    strongest = max((variable.strength for variable in report.variables), default=0.0)
    return str(
        template.render(
            report=report,
            light=variables(LIGHT),
            dark=variables(DARK),
            script=markup((TEMPLATES / "report.js").read_text(encoding="utf-8")),
            strongest=strongest or 1.0,
            places={effect.variable: k for k, effect in enumerate(report.effects)},
            rank=confidence_rank,
            confidence_of=confidence_text,
            confidence=report.confidence_words,
            number=number,
            numbers_of=numbers_of,
            curve_chart=drawn(curve_chart),
            interaction_chart=drawn(interaction_chart),
            pair_chart=drawn(pair_chart),
            scatter_chart=drawn(scatter_chart),
            path_chart=drawn(path_chart),
        )
    )


def confidence_text(variable: Variable) -> str:
    """How sure a variable's place is, in a few words."""
    if variable.p_value is not None:
        return f"p = {number(variable.p_value)}"
    if variable.evidence is not None:
        return f"{variable.evidence:.1f} nats" if variable.evidence > 0 else ""
    if variable.certified is not None:
        return "certified" if variable.certified else "not certified"
    return ""


def confidence_rank(variable: Variable) -> float:
    """What the column of confidence is sorted by."""
    if variable.p_value is not None:
        return 1 - variable.p_value
    if variable.evidence is not None:
        return variable.evidence
    return float(variable.certified or 0)


def _environment() -> Any:
    try:
        import jinja2
        import markupsafe
    except ImportError as error:
        raise MissingExtraError(
            'A report needs jinja2; install it with pip install "nablasso[report]".'
        ) from error

    def load(name: str) -> str:
        return (TEMPLATES / name).read_text(encoding="utf-8")

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    environment.globals["Markup"] = markupsafe.Markup
    return environment
