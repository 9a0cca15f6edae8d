"""The answer in a notebook, and as a figure."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import set_config

from nablasso import DerivativeLasso, NablassoRegressor
from nablasso.answer import Answer, Column
from nablasso.errors import InvalidParameterError
from nablasso.estimators.display import Dependence, answer_html, bar_svg, draw_answer

EVIL = "<script>alert(1)</script>\"'&"


def answer(*columns, **more):
    about = {"method": "M", "task": "regression", "n_rows": 9, "n_searched": 9, "status": "clear"}
    return Answer("price", columns=columns, **about | more)


def column(name="a", share=0.25, low=0.2, high=0.4, **more):
    return Column(name, selected=True, share=share, low=low, high=high, evidence=9.0, **more)


def shape(name, x, value, below=0.1, above=0.1, labels=()):
    about = (name, -1, "category" if labels else "continuous", "part in y", x, value)
    return Dependence(*about, low=value - below, high=value + above, labels=labels, quantiles=x)


class Reader(HTMLParser):
    """Tags that are open at the end, and addresses."""

    def __init__(self):
        super().__init__()
        self.open, self.addresses = [], []

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("rect", "path"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_bars_have_the_length_of_the_share_and_the_ends_of_its_interval():
    bar = ElementTree.fromstring(bar_svg(column(), 0.5))
    assert bar.find("rect").get("width") == "50.0"  # of 100
    assert bar.find("path").get("d") == "M40.0 8H80.0M40.0 4v8M80.0 4v8"
    plain = ElementTree.fromstring(bar_svg(Column("a", selected=True, strength=1.0), 2.0))
    assert plain.find("path") is None


def test_the_notebook_shows_the_sentences_of_the_answer_and_nothing_is_fetched():
    x = np.linspace(0, 1, 5)
    found = answer(column(EVIL), column("b", 0.1, direction="rises"), cautions=(EVIL,))
    page = answer_html(found, {"b": shape("b", x, x**2)})
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert reader.addresses == []
    assert "<script" not in page
    assert "http" not in page
    assert page.count('class="curve"') == 1
    text = re.sub(r"<[^>]*>", "", page)
    for _, sentence in found.facts():
        assert sentence.split(":")[0] in text
    assert "25% (20% to 40%)" in text


def test_fitted_selectors_show_their_answer_and_others_their_parameters():
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = DerivativeLasso("linear", alpha=0.1)
    assert "columns matter" not in model._repr_mimebundle_()["text/html"]
    model.fit(X, X[:, 0])
    page = model._repr_mimebundle_()["text/html"]
    assert page == model._repr_html_()
    assert "matters for y (30 rows)" in page
    set_config(display="text")
    try:
        assert "text/html" not in model._repr_mimebundle_()
    finally:
        set_config(display="diagram")


def test_one_figure_has_importances_and_shapes():
    pytest.importorskip("matplotlib")
    x = np.linspace(0, 1, 5)
    shapes = {
        "a": shape("a", x, x, above=0.2),
        "b": shape("b", x[:3], x[:3], labels=("red", "blue", "green")),
    }
    found = answer(column("a"), column("b", 0.1), column("c", 0.05))
    figure = draw_answer(found, shapes)
    first, curve, levels = figure.axes
    assert [patch.get_width() for patch in first.patches] == [0.05, 0.1, 0.25]
    assert curve.get_xlabel() == "a"
    np.testing.assert_allclose(curve.lines[1].get_ydata(), x)
    assert [label.get_text() for label in levels.get_yticklabels()] == ["green", "blue", "red"]
    assert found.headline() in figure.get_suptitle()
    with pytest.raises(InvalidParameterError, match="nothing to draw"):
        draw_answer(answer(), {})


def test_a_fitted_model_draws_itself():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    model = NablassoRegressor("polynomial").fit(X, X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=60))
    figure = model.plot()
    assert figure.axes[0].get_yticklabels()[-1].get_text() == model.answer_.selected[0].name
    if hasattr(model, "shapes"):
        assert {"x0", "x1"} <= {axis.get_xlabel() for axis in figure.axes}
