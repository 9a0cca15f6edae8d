"""The page, its charts and its colours."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from nablasso.errors import InvalidParameterError, MissingExtraError
from nablasso.inspection.function_displays import STRONGEST_CELL
from nablasso.report import render_report, write_report
from nablasso.report.page import TEMPLATES, drawing

STYLE = (TEMPLATES / "report.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--([\w-]+):(#\w{6});", block))
    for block in re.findall(r"{% set \w+ %}(.*?){% endset %}", STYLE, flags=re.DOTALL)
)
EVIL = "<script>alert(1)</script>\"'&{{ 7*7 }}</style>"


@pytest.fixture(scope="module")
def page(report):
    return render_report(report)


class Reader(HTMLParser):
    """Tags that are open at the end, ids, and addresses."""

    EMPTY = ("meta", "link", "input", "br", "path", "rect")

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.addresses, self.words = [], [], [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.addresses += [found[k] for k in ("href", "src", "action") if k in found]
        self.words += [name for name, _ in attrs if name.startswith("on")]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if tag not in self.EMPTY:
            assert self.open.pop() == tag


def test_tags_are_closed_ids_are_unique_and_nothing_is_fetched(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    for address in reader.addresses:
        assert address == "data:," or address[1:] in reader.ids, address
    assert reader.words == []  # no onclick and the like
    assert "http" not in page.replace("http-equiv", "")
    assert "default-src 'none'" in page
    assert not re.search(r"url\(|@import", page)


def test_charts_are_well_formed_and_have_a_label(page):
    charts = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(charts) >= 5
    for chart in charts:
        root = ElementTree.fromstring(chart)
        if root.get("class") in ("share", "shape"):  # beside its number
            assert root.get("aria-hidden") == "true"
            continue
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert "nan" not in chart


def test_names_are_escaped_wherever_they_stand(report):
    found = report.answer
    names = {column.name: f"{EVIL}{k}" for k, column in enumerate(found.columns)}
    evil = replace(
        report,
        answer=replace(
            found,
            target=EVIL,
            cautions=(EVIL,),
            noticed=(EVIL,),
            columns=tuple(replace(c, name=names[c.name]) for c in found.columns),
            interactions=tuple(
                replace(one, columns=tuple(names[name] for name in one.columns))
                for one in found.interactions
            ),
        ),
        source=EVIL,
        warnings=(EVIL,),
        call=EVIL,
        effects={
            names[name]: [*(evil_curve(curve) for curve in curves), evil_curve(curves[0], EVIL)]
            for name, curves in report.effects.items()
        },
        pairs=tuple((one, replace(pair, names=(EVIL, EVIL))) for one, pair in report.pairs),
        parts={EVIL: np.zeros(3)},
    )
    page = render_report(evil)
    assert page.count("<script>") == 1  # our own
    assert page.count("</style>") == 1
    assert "{{ 7*7 }}" in page  # not run
    reader = Reader()
    reader.feed(page)
    assert reader.open == []


def evil_curve(curve, label=None):
    found = replace(curve, name=EVIL, unit=EVIL)
    labels = (label,) * len(curve.grid)
    return found if label is None else replace(found, kind="category", labels=labels)


def test_a_file_is_whole_or_not_there(report, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    write_report(report, path)
    first = path.read_text(encoding="utf-8")
    assert first.startswith("<!DOCTYPE html>")
    assert first.rstrip().endswith("</html>")
    monkeypatch.setattr("pathlib.Path.write_text", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(report, path)
    monkeypatch.undo()
    assert path.read_text(encoding="utf-8") == first
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InvalidParameterError, match="folder"):
        write_report(report, tmp_path)


def test_a_thousand_columns_stay_under_five_megabytes(report):
    many = tuple(
        replace(report.answer.columns[k % 5], name=f"a_rather_long_name_of_a_column_{k}")
        for k in range(1000)
    )
    wide = replace(report, answer=replace(report.answer, columns=many))
    assert len(render_report(wide).encode()) < 5e6


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_without_its_packages_the_extra_is_named(report, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=r"nablasso\[report\]"):
        render_report(report)


TEXT = ["ink", "muted", "accent", "good"]


def channels(colour):
    return [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_on_known_pairs():
    assert contrast(channels("#000000"), channels("#ffffff")) == pytest.approx(21)
    assert contrast(channels("#767676"), channels("#ffffff")) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(colours):
    for ground in ("page", "panel"):
        for name in TEXT:
            found = contrast(channels(colours[name]), channels(colours[ground]))
            assert found >= 4.5, f"{name} on {ground}: {found:.2f}"
    for name in ("ink", "warn"):
        assert contrast(channels(colours[name]), channels(colours["warn-panel"])) >= 4.5
    assert contrast(channels(colours["on-accent"]), channels(colours["accent"])) >= 4.5


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_controls_can_be_seen_and_numbers_read_on_the_darkest_cell(colours):
    assert contrast(channels(colours["control"]), channels(colours["page"])) >= 3
    page, accent = channels(colours["page"]), channels(colours["accent"])
    cell = [
        (1 - STRONGEST_CELL) * p + STRONGEST_CELL * a for p, a in zip(page, accent, strict=True)
    ]
    assert contrast(channels(colours["ink"]), cell) >= 4.5


def test_both_have_the_same_names():
    assert LIGHT.keys() == DARK.keys()
    assert LIGHT["ink"] == "#1a2027"
    assert set(re.findall(r"var\(--([\w-]+)\)", STYLE)) <= LIGHT.keys()


def test_a_drawing_has_the_colours_of_the_page():
    def draw(ax):
        ax.plot([0, 1], [0, 1], color="0.25")
        ax.set_xlabel("'#111111', xlink:")

    chart = drawing("a & b", draw, 100.0)
    assert "'#111111', xlink:" in chart  # words are not touched
    chart = chart.replace("#111111", "")
    root = ElementTree.fromstring(chart)
    assert root.get("aria-label") == "a & b"
    assert root.get("viewBox") == "0 0 400 100"
    assert "#" not in re.sub('(id="|href="#)[^"]*"', "", chart)
    assert set(re.findall(r"var\(--([\w-]+)\)", chart)) <= LIGHT.keys()
