"""A report as one HTML file that needs nothing else: no network, no other file.

Charts are those of the plots, in SVG, each 400 units wide: for a phone, or side by side on a desk.
Their colours become those of the page's style sheet, which has them for light and dark; a test
computes the contrast (WCAG 2, level AA).
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from html import escape
from importlib.resources import files
from io import StringIO
from typing import Any
from zlib import crc32

import numpy as np

from nablasso.answer import Answer, curve_sentence, number, output_words, percent
from nablasso.errors import optional
from nablasso.estimators.display import (
    ACCENT,
    Dependence,
    bar_svg,
    draw_curve,
    draw_pair,
    largest_size,
    name_axes,
    shape_svg,
    shorten,
)
from nablasso.inspection import InteractionDisplay, PairDependence
from nablasso.inspection.canvas import dots, rows_down
from nablasso.persistence import atomic_write
from nablasso.report.build import HeldOut, Report
from nablasso.types import Array

TEMPLATES = files("nablasso.report") / "templates"
WIDTH = 400.0
MOST_POINTS = 500
MAX_MAP = 12  # columns on the map of pairs
COVERED = 0.9  # of the left-out rows, in the band of the errors
SPREAD, GOLDEN = 0.6, 0.618  # of the dots of a column, and where the next one lies
LOOKS = {
    "svg.fonttype": "none",  # words stay words
    "svg.hashsalt": "nablasso",  # the same page for the same report
    "axes.spines.top": False,
    "axes.spines.right": False,
}
OWN = re.compile("<style.*?</style>|<metadata>.*?</metadata>", re.DOTALL)  # the page has others
FONTS = re.compile(r"'[^']*', ")
GREY = re.compile(r"#([0-9a-f]{2})\1\1\b")


def drawing(label: str, draw: Callable[[Any], Any], height: float = 220.0) -> str:
    """What is drawn on axes, as a part of the page; ``label`` is what a screen reader says."""
    matplotlib = optional("matplotlib", "A report needs matplotlib", "report")
    from matplotlib.figure import Figure

    file = StringIO()
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that its fonts lack, those of the browser have
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(LOOKS)
        figure = Figure(figsize=(WIDTH / 72, height / 72), layout="constrained")
        draw(figure.add_subplot())
        for artist in figure.findobj():
            artist.set_clip_on(False)
        figure.savefig(file, format="svg", transparent=True)
    _, _, inside = OWN.sub("", file.getvalue()).partition('version="1.1">')
    name = f"c{crc32(inside.encode()):x}-"

    def of_the_page(tag: re.Match[str]) -> str:
        """Names of its own, and the page's fonts and colours; words are not touched."""
        text = FONTS.sub("", GREY.sub(_grey, tag[0])).replace(ACCENT, "var(--accent)")
        return re.sub('( id="|href="#)', rf"\1{name}", text.replace("xlink:", ""))

    start = f'<svg viewBox="0 0 {WIDTH:g} {height:g}" role="img" aria-label="{escape(label)}"'
    return f'{start} class="chart">{re.sub("<[^>]*>", of_the_page, inside)}'


def _grey(found: re.Match[str]) -> str:
    """The colour of the page that a grey stands for."""
    level = int(found[1], 16) / 255
    return f"var(--{'ink' if level < 0.3 else 'muted' if level < 0.5 else 'line'})"


def curve_chart(curve: Dependence, target: str) -> str:
    """A line in its band, or levels as dots with bars; categories one below the other."""
    named = replace(curve, unit=output_words(curve.unit, target))
    label = f"{named.unit} against {curve.name}. {curve_sentence(curve, target)}"
    height = 75.0 + 24 * len(curve.labels) if curve.labels else 220.0
    return drawing(label, lambda ax: draw_curve(ax, named), height)


def interaction_chart(answer: Answer) -> str:
    """The map of pairs that act together."""
    inside = {name for one in answer.interactions for name in one.columns}
    names = [column.name for column in answer.selected if column.name in inside][:MAX_MAP]
    shown = [
        (names.index(one.columns[0]), names.index(one.columns[1]), one.share)
        for one in answer.interactions
        if set(one.columns) <= set(names)
    ]
    display = InteractionDisplay(shown, list(range(len(names))), names)
    label = f"Map of the interactions of {len(names)} columns. {answer.interaction_sentence()}"
    return drawing(label, display.plot, 320.0)


def pair_chart(pair: PairDependence, target: str) -> str:
    """The prediction over two columns, as a map."""
    named = replace(pair, unit=output_words(pair.unit, target))
    label = f"{named.unit} over {' and '.join(pair.names)}"
    return drawing(label, lambda ax: draw_pair(ax, named), 280.0)


def scatter_chart(found: HeldOut, target: str) -> str:
    """Predicted against observed; on the line predictions are right."""
    label = f"Predicted against observed {target}, {len(found.observed)} left-out rows"

    def draw(ax: Any) -> None:
        ax.axline((found.observed[0],) * 2, slope=1, color="0.2", linestyle="--", linewidth=1)
        _cloud(ax, found.observed, found.predicted)
        name_axes(ax, f"observed {target}", f"predicted {target}")

    return drawing(label, draw, 370.0)


def residual_chart(found: HeldOut, target: str) -> str:
    """Errors against predictions; nine of ten lie in the band."""
    errors = found.observed - found.predicted
    half = float(np.quantile(np.abs(errors), COVERED))
    label = f"Errors of left-out rows; {COVERED:.0%} are under {number(half)} in size"

    def draw(ax: Any) -> None:
        ax.axhspan(-half, half, color=ACCENT, alpha=0.2, linewidth=0)
        ax.axhline(0, color="0.2", linestyle="--", linewidth=1)
        _cloud(ax, found.predicted, errors)
        name_axes(ax, f"predicted {target}", f"observed minus predicted {target}")

    return drawing(label, draw, 370.0)


def _cloud(ax: Any, x: Array, y: Array) -> None:
    """Some of the rows as points."""
    step = 1 + len(x) // MOST_POINTS
    dots(ax, x[::step], y[::step], ACCENT)


def calibration_chart(found: HeldOut) -> str:
    """How often what was told with some probability came true; on the line it is honest."""
    label = f"Probabilities told and shares that came true, {len(found.observed)} left-out rows"

    def draw(ax: Any) -> None:
        ax.plot((0, 1), (0, 1), color="0.2", linestyle="--", linewidth=1)
        ax.plot(*found.calibration, "o-", color=ACCENT, linewidth=2)
        name_axes(ax, "probability told", "share that came true")

    return drawing(label, draw, 370.0)


def parts_chart(contributions: dict[str, Array], answer: Answer) -> str:
    """A dot for each row, a line of dots for each column."""
    output = "log-odds" if answer.task == "classification" else f"predicted {answer.target}"
    n_rows = len(next(iter(contributions.values())))
    label = f"What {len(contributions)} columns add to {output} of {n_rows} rows"
    apart = SPREAD * (np.arange(n_rows) * GOLDEN % 1 - 0.5)  # rows beside one another are seen

    def draw(ax: Any) -> None:
        ax.axvline(0, color="0.2", linestyle="--", linewidth=1)
        for place, values in enumerate(contributions.values()):
            dots(ax, values, place + apart, ACCENT, markersize=3)
        rows_down(ax, list(contributions))
        ax.set_xlabel(shorten(f"added to {output}", 60))

    return drawing(label, draw, 60.0 + 30 * len(contributions))


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Write a report as one HTML file; it is there whole or not at all."""
    page = render_report(report)
    with atomic_write(path) as place:
        place.write_text(page, encoding="utf-8")


def render_report(report: Report) -> str:
    """The page of a report, HTML."""
    jinja2 = optional("jinja2", "A report needs jinja2", "report")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (TEMPLATES / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    markup = optional("markupsafe", "A report needs jinja2", "report").Markup
    environment.globals["Markup"] = markup

    def drawn(chart: Any) -> Any:
        return lambda *of: markup(chart(*of))

    answer = report.answer
    largest = largest_size(answer)
    headers, rows = answer.table()
    charts = (curve_chart, interaction_chart, pair_chart, scatter_chart, residual_chart)
    page = environment.get_template("report.html").render(
        report=report,
        answer=answer,
        headers=headers,
        rows=rows,
        script=markup((TEMPLATES / "report.js").read_text(encoding="utf-8")),
        places={name: k for k, name in enumerate(report.effects)},
        words=curve_sentence,
        percent=percent,
        share_bar=lambda column: markup(bar_svg(column, largest)),
        small_shape=lambda name: markup(shape_svg(report.effects[name][-1])),
        **{c.__name__: drawn(c) for c in (*charts, calibration_chart, parts_chart)},
    )
    return str(page)
