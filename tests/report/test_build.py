"""Reports say what the models know."""

import re
from dataclasses import replace

import numpy as np
import pytest

from nablasso import (
    DerivativeLassoCV,
    HierarchicalKernelRegressor,
    NablassoClassifier,
    NablassoRegressor,
    SparseGradientRegressor,
    StabilitySelection,
)
from nablasso.answer import number, percent
from nablasso.errors import InvalidParameterError
from nablasso.inspection import partial_dependence
from nablasso.report import build_report, render_report

RNG = np.random.default_rng(4)
X = RNG.normal(size=(40, 4))
y = X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=40)


def test_the_answer_comes_first_and_names_the_variables(report, model):
    chosen = [column.name for column in report.answer.selected]
    assert set(chosen) == set(model.get_feature_names_out())
    assert report.answer == replace(model.answer_, target="price")
    assert report.answer.headline().startswith(f"{len(chosen)} of 5 columns matter for price (60 ")
    sizes = [column.size for column in report.answer.selected]
    assert sizes == sorted(sizes, reverse=True)
    for column in report.answer.selected:
        place = list(model.feature_names_in_).index(column.name)
        assert column.share == model.feature_importances_[place]
        assert column.evidence == model.evidence_[place] > 0


def test_left_out_predictions_are_those_of_the_fit(report, model, table):
    found = report.held_out
    assert report.answer.accuracy.r2 == pytest.approx(model.loo_r2_, abs=1e-4)
    assert sorted(found.observed) == pytest.approx(sorted(table[1]), rel=1e-4)
    assert report.answer.accuracy.how == "each of 60 rows predicted from the others"
    error = np.sqrt(np.mean((np.array(found.observed) - found.predicted) ** 2))
    assert report.answer.accuracy.rmse == pytest.approx(error, rel=1e-4)


def test_errors_of_left_out_rows_stand_beside_their_predictions(report):
    half = np.quantile(np.abs(report.held_out.observed - report.held_out.predicted), 0.9)
    page = render_report(report)
    assert f"Errors of left-out rows; 90% are under {number(half)} in size" in page
    assert page.index("observed minus predicted price") > page.index("Predicted against observed")


def test_parts_of_rows_add_up_to_their_predictions(report, model, table):
    assert list(report.parts) == [column.name for column in report.answer.selected]
    constant = model.contributions(table[0])["bias"]
    whole = constant + np.sum(list(report.parts.values()), axis=0)
    np.testing.assert_allclose(whole, model.predict(table[0]), atol=1e-6 * np.ptp(table[1]))
    chart = re.search(r'<section id="rows".*?</section>', render_report(report), re.DOTALL)[0]
    assert "added to predicted price" in chart
    names = report.parts
    assert chart.count("<use") > 60 * len(names) > 0  # a dot each, and ticks


def test_parts_are_of_rows_from_the_whole_table(model, table):
    import pandas

    long = pandas.concat([table[0]] * 12, ignore_index=True)
    parts = build_report(model, long).parts
    step = -(-len(long) // 300)
    direct = model.contributions(long[::step])
    assert {len(values) for values in parts.values()} == {240}
    for name, values in parts.items():
        np.testing.assert_array_equal(values, direct[name])


def test_curves_are_the_shapes_of_the_model_with_the_band_of_the_function(report, model):
    shapes = model.shapes()
    for name, (curve,) in report.effects.items():
        own = shapes[shapes["column"] == name]
        np.testing.assert_array_equal(curve.grid, own["x"])
        np.testing.assert_array_equal(curve.mean, own["value"])
        np.testing.assert_array_equal(curve.high, own["high"])
        assert curve.unit == "part in price"
        assert "the function lies here (90% sure)" in render_report(report)


def test_models_without_shapes_have_partial_dependences(table):
    model = DerivativeLassoCV("linear", alphas=2, ridges=(1e-2,), cv=2, tol=1e-2).fit(*table)
    report = build_report(model, table[0], target="price")
    assert report.effects
    for name, (curve,) in report.effects.items():
        direct = partial_dependence(model, table[0], name, grid_size=31, max_rows=200)
        np.testing.assert_allclose(curve.mean, direct.mean)
        assert curve.name == name
    page = render_report(report)
    assert "80% of the rows (no confidence band)" in page
    assert "the predicted price" in page


def test_interactions_and_their_pairs_are_under_the_right_names(report, model, table):
    found = report.answer.interactions
    assert set(found[0].columns) == {"a", "big"}
    assert [one.share for one in found] == [size for *_, size in model.interactions_]
    page = render_report(report)
    for one in found:
        assert page.count(f">{percent(one.share)}</text>") >= 2  # once on either side of the map
    one, pair = report.pairs[0]
    assert one == found[0]
    for name, values in zip(pair.names, (pair.grid_a, pair.grid_b), strict=True):
        column = table[0][name]
        assert column.min() <= min(values)
        assert max(values) <= column.max()


def test_the_certificate_is_told_last(report, model):
    page = render_report(report)
    assert f"duality gap {model.dual_gap_:.1e}" in page
    assert page.index("What is proven</h2>") > page.index("Predicted against observed")


def test_classes_get_a_table_of_counts():
    labels = np.where(X[:, 0] > 0, "up", "down")
    fitted = NablassoClassifier("linear", cv=3).fit(X, labels)
    report = build_report(fitted, X, target="move")
    found = report.held_out
    assert found.labels == ("down", "up")
    assert np.sum(found.counts, axis=1) == pytest.approx(
        [np.sum(labels == "down"), np.sum(labels == "up")]
    )
    accuracy = report.answer.accuracy
    assert accuracy.accuracy == pytest.approx(np.trace(found.counts) / 40)
    assert accuracy.accuracy > 0.85
    told, true = found.calibration
    assert (np.diff(told) > 0).all()
    assert ((true >= 0) & (true <= 1)).all()
    page = render_report(report)
    assert f"{accuracy.accuracy:.0%} of left-out rows classified right" in page
    assert "probability told" in page
    assert "added to log-odds" in page
    assert "observed minus predicted" not in page
    assert next(iter(report.effects.values()))[0].unit == "part in the log-odds of up"


def test_several_classes_have_a_curve_each():
    labels = np.digitize(X[:, 0], (-0.5, 0.5))
    fitted = NablassoClassifier("linear", cv=3, always_keep=[0]).fit(X, labels)
    report = build_report(fitted, X)
    units = [curve.unit for curve in next(iter(report.effects.values()))]
    assert units == [f"part in the log-odds of {label}" for label in range(3)]
    assert len(report.held_out.counts) == 3
    assert report.parts == {}  # each class has its own
    assert "predicted" in render_report(report)


def test_a_report_has_the_accuracy_of_the_answer():
    fitted = DerivativeLassoCV("linear", alphas=3, ridges=(1e-2,), cv=2, tol=1e-3)
    report = build_report(fitted.fit(X, X[:, 0]), X)
    assert report.answer == fitted.answer_
    assert report.answer.columns[0].certified is True
    assert report.held_out is None  # such a fit keeps no predictions
    assert "2 folds of 40 rows" in render_report(report)


def test_groups_and_kept_columns_by_name_are_understood(table):
    frame, _ = table
    target = frame["a"] + frame["c"]
    groups = [["a", "like_a"], ["big"], ["c"], ["d"]]
    shared = {"feature_groups": groups, "always_keep": ["d"]}
    derivative = DerivativeLassoCV("linear", alphas=2, ridges=(1e-2,), cv=2, tol=1e-2, **shared)
    for fitted in (derivative, NablassoRegressor("linear", cv=3, **shared)):
        report = build_report(fitted.fit(frame, target), frame)
        assert {"a", "c", "d"} <= set(report.effects)


def test_other_families_leave_out_what_they_do_not_have():
    gradients = SparseGradientRegressor(tol=1e-1).fit(X, y)
    assert "Ye" in render_report(build_report(gradients, X))
    hull = HierarchicalKernelRegressor(alpha=0.05).fit(X, y)
    assert "Bach" in render_report(build_report(hull, X))


def test_selectors_that_do_not_predict_get_a_shorter_report():
    from sklearn.linear_model import Lasso

    fitted = StabilitySelection(Lasso(0.05), n_pairs=3, random_state=0).fit(X, X[:, 0])
    report = build_report(fitted, X)
    assert report.held_out is None
    assert report.effects == {}
    page = render_report(report)
    assert 'id="predictions"' not in page
    assert 'id="columns"' in page


def test_nothing_found_is_an_answer():
    noise = np.random.default_rng(1).normal(size=40)
    fitted = NablassoRegressor("linear", cv=3).fit(X, noise)
    assert not fitted.support_.any()
    report = build_report(fitted, X, target="noise")
    assert report.answer.headline().startswith(
        "None of the 4 columns was found to matter for noise"
    )
    assert report.answer.certificate is None
    assert report.effects == {}
    assert "Nothing found" in render_report(report)


def test_a_model_that_selects_nothing_is_refused():
    from nablasso import PSDDensity

    with pytest.raises(InvalidParameterError, match="fitted selector"):
        build_report(PSDDensity(rank=10, tol=0.1).fit(X), X)


def test_a_report_of_an_encoded_table_speaks_of_its_columns(table):
    frame, _ = table
    rng = np.random.default_rng(0)
    frame = frame.assign(city=rng.choice(["Oslo", "Paris", "Rome"], len(frame)))
    frame.loc[:5, "a"] = np.nan
    target = frame["c"] + 2 * (frame["city"] == "Rome")
    for model in (
        DerivativeLassoCV("linear", alphas=2, ridges=(1e-2,), cv=2, tol=1e-2),
        NablassoRegressor("linear", cv=3),
    ):
        report = build_report(model.fit(frame, target), frame)
        names = {column.name for column in report.answer.columns}
        assert names == set(frame)
        labels = {label for curve in report.effects["city"] for label in curve.labels}
        assert labels == {"Oslo", "Paris", "Rome"}
