"""The page: escaped, whole, alone."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from nablasso.errors import InvalidParameterError, MissingExtraError
from nablasso.report import render_report, write_report
from nablasso.report.content import Curve, Variable
from nablasso.report.page import confidence_rank, confidence_text

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
        assert root.get("role") == "img"
        assert root.get("aria-label")
        assert "nan" not in chart


def test_names_are_escaped_wherever_they_stand(report):
    names = {variable.name: f"{EVIL}{k}" for k, variable in enumerate(report.variables)}
    evil = replace(
        report,
        target=EVIL,
        source=EVIL,
        answer=EVIL,
        cautions=(EVIL,),
        warnings=(EVIL,),
        call=EVIL,
        variables=tuple(replace(v, name=names[v.name]) for v in report.variables),
        effects=tuple(
            replace(
                effect,
                variable=names[effect.variable],
                curves=(*effect.curves, _category((EVIL, "b"))),
            )
            for effect in report.effects
        ),
        path=replace(report.path, names=tuple(EVIL for _ in report.path.names)),
        interactions=replace(
            report.interactions,
            names=tuple(EVIL for _ in report.interactions.names),
            pairs=tuple(replace(p, names=(EVIL, EVIL)) for p in report.interactions.pairs),
        ),
    )
    page = render_report(evil)
    assert page.count("<script>") == 1  # our own
    assert page.count("</style>") == 1
    assert "{{ 7*7 }}" in page  # not run
    reader = Reader()
    reader.feed(page)
    assert reader.open == []


def _category(labels):
    two = (1.0, 2.0)
    return Curve(EVIL, "category", (0.0, 1.0), labels, two, two, two, (), (), (), (), (), EVIL)


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
        replace(report.variables[k % 5], name=f"a_rather_long_name_of_a_column_{k}")
        for k in range(1000)
    )
    assert len(render_report(replace(report, variables=many)).encode()) < 5e6


def test_without_jinja_the_extra_is_named(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"nablasso\[report\]"):
        render_report(report)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"p_value": 0.01}, "p = 0.01"),
        ({"evidence": 9.04}, "9.0 nats"),
        ({"evidence": 0.0}, ""),
        ({"certified": True}, "certified"),
        ({"certified": False}, "not certified"),
        ({}, ""),
    ],
)
def test_confidence_in_words(facts, words):
    assert (
        confidence_text(
            Variable(**{"name": "a", "kind": "", "selected": True, "strength": 1.0, **facts})
        )
        == words
    )


def test_small_p_values_and_many_nats_rank_high():
    def variable(**facts):
        return Variable("a", "", selected=True, strength=1.0, **facts)

    assert confidence_rank(variable(p_value=0.01)) > confidence_rank(variable(p_value=0.2))
    assert confidence_rank(variable(evidence=9.0)) > confidence_rank(variable(evidence=2.0))
