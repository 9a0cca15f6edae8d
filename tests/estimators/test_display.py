"""The answer in a notebook, and as a figure."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn import set_config

from nablasso import DerivativeLasso, NablassoClassifier, NablassoRegressor
from nablasso.answer import Answer, Column, Interaction
from nablasso.errors import InvalidParameterError
from nablasso.estimators.display import (
    Dependence,
    PairDependence,
    answer_html,
    bar_svg,
    draw_answer,
    pairs_of,
)

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


def test_one_figure_has_importances_shapes_and_the_strongest_pair():
    pytest.importorskip("matplotlib")
    x = np.linspace(0, 1, 5)
    shapes = {
        "a": shape("a", x, x, above=0.2),
        "b": shape("b", x[:3], x[:3], labels=("red", "blue", "green")),
    }
    found = answer(column("a"), column("b", 0.1), column("c", 0.05))
    pair = PairDependence(("a", "c"), (0, 2), "predicted price", x, x, np.outer(x, x))
    both = Interaction(pair.names, 0.1)
    figure = draw_answer(found, shapes, (both, pair, np.column_stack([x, x])))
    first, curve, levels, both = figure.axes[:4]
    assert [patch.get_width() for patch in first.patches] == [0.05, 0.1, 0.25]
    assert curve.get_xlabel() == "a"
    np.testing.assert_allclose(curve.lines[1].get_ydata(), x)
    assert [label.get_text() for label in levels.get_yticklabels()] == ["green", "blue", "red"]
    assert (both.get_xlabel(), both.get_ylabel()) == ("a", "c")
    np.testing.assert_allclose(both.lines[0].get_xydata(), np.column_stack([x, x]))
    assert figure.axes[-1].get_ylabel() == "predicted price"  # the scale of its colours
    assert found.headline() in figure.get_suptitle()
    assert len(draw_answer(found, shapes).axes) == 3
    with pytest.raises(InvalidParameterError, match="nothing to draw"):
        draw_answer(answer(), {})


def test_a_fitted_model_draws_itself_with_the_pair_that_acts_together():
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4)) * [1, 10, 1, 1] + [0, 5, 0, 0]
    model = NablassoRegressor("polynomial").fit(X, X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=60))
    figure = model.plot()
    assert figure.axes[0].get_yticklabels()[-1].get_text() == model.answer_.selected[0].name
    assert {"x0", "x1"} <= {axis.get_xlabel() for axis in figure.axes}
    (axes,) = (axis for axis in figure.axes if axis.get_ylabel() == "x1")
    points = axes.lines[0].get_xydata()  # the rows, in the units of the table
    np.testing.assert_allclose(points[np.argsort(points[:, 0])], X[np.argsort(X[:, 0]), :2])
    _, pair, _ = next(pairs_of(model, model.answer_))
    assert (pair.names, pair.columns) == (("x0", "x1"), (0, 1))
    product = np.outer(pair.grid_a, pair.grid_b)  # it predicts nearly this
    np.testing.assert_allclose(pair.mean, product, atol=0.05 * np.ptp(product))


def test_where_effects_add_up_no_pair_is_drawn():
    pytest.importorskip("matplotlib")
    X = np.random.default_rng(2).normal(size=(50, 3))
    model = NablassoRegressor("linear").fit(X, X[:, 0] + X[:, 1])
    assert not list(pairs_of(model, model.answer_))
    assert len(model.plot().axes) == 3


def test_classes_and_words_have_pairs_of_numbers_in_log_odds():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    table = pandas.DataFrame(rng.normal(size=(150, 2)), columns=["u", "v"])
    table.insert(0, "city", np.where(rng.uniform(size=150) < 0.5, "Oslo", "Rome"))
    odds = 4 * table["u"] * table["v"] + 4 * (table["city"] == "Rome") * table["u"]
    model = NablassoClassifier().fit(table, np.where(odds > 0, "yes", "no"))
    _, pair, points = next(pairs_of(model, model.answer_))
    assert (pair.names, pair.columns, pair.unit) == (("u", "v"), (1, 2), "log-odds of yes")
    assert points.shape == (150, 2)
    assert pair.mean[0, 0] > pair.mean[0, -1]
