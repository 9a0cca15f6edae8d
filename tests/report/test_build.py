"""Reports say what the models know."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold

from nablasso import (
    DerivativeLassoCV,
    HierarchicalKernelRegressor,
    NablassoClassifier,
    NablassoRegressor,
    SparseGradientRegressor,
    StabilitySelection,
)
from nablasso.answer import percent
from nablasso.errors import InvalidParameterError
from nablasso.inspection import partial_dependence
from nablasso.inspection.structure_displays import single_fit
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
    assert found.how == "each of 60 rows predicted from the others"
    error = np.sqrt(np.mean((np.array(found.observed) - found.predicted) ** 2))
    assert report.answer.accuracy.rmse == pytest.approx(error, rel=1e-4)


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
    report = build_report(model, *table, target="price")
    assert report.effects
    for name, (curve,) in report.effects.items():
        direct = partial_dependence(model, table[0], name, grid_size=31, max_rows=200)
        np.testing.assert_allclose(curve.mean, direct.mean)
        np.testing.assert_allclose(curve.slope_high, direct.slope_high)
        assert curve.name == name
    page = render_report(report)
    assert "80% of the rows (no confidence band)" in page
    assert "the predicted price" in page


def test_interactions_and_their_pairs_are_under_the_right_names(report, model, table):
    found = report.answer.interactions
    assert set(found[0].columns) == {"a", "big"}
    assert [one.share for one in found] == [size for *_, size in model.interactions_]
    assert f">{percent(found[0].share)}<" in render_report(report)  # the map shows these numbers
    one, pair = report.pairs[0]
    assert one == found[0]
    for name, values in zip(pair.names, (pair.grid_a, pair.grid_b), strict=True):
        column = table[0][name]
        assert column.min() <= min(values)
        assert max(values) <= column.max()


def test_the_path_and_the_certificate_are_told(report, model):
    assert report.path.chosen == model.alpha_
    assert (report.path.entered > 0).sum() == len(report.answer.selected)
    page = render_report(report)
    assert f"Regularisation path of {len(report.answer.selected)} variables" in page
    assert f"duality gap {model.dual_gap_:.1e}" in page
    assert page.index("Certificate") > page.index("Predicted against observed")  # last
    assert report.trials.rows[0][0] == "chosen"
    assert len(report.trials.rows) == len(model.tried_)


def test_contributions_of_rows_add_up_to_their_predictions(report, model, table):
    swarm = report.swarm
    assert list(swarm.parts) == [column.name for column in report.answer.selected]
    assert {len(parts) for parts in swarm.parts.values()} == {60}
    assert swarm.residue < 1e-6 * np.ptp(table[1])
    direct = model.contributions(table[0])
    for name, parts in swarm.parts.items():
        np.testing.assert_array_equal(parts, direct[name])
    assert 'id="swarm"' in render_report(report)


def test_shapes_and_contributions_go_by_the_names_that_are_told(model, table):
    names = ["A", "B", "C", "D", "E"]
    report = build_report(model, *table, names=names)
    chosen = {column.name for column in report.answer.selected}
    assert chosen <= set(names)
    assert set(report.small_shapes) == set(report.swarm.parts) == set(report.effects) == chosen
    assert all(len(curve.low) for (curve,) in report.effects.values())


def test_columns_of_a_category_are_one_variable():
    code = np.arange(60) % 3
    Z = np.column_stack([np.eye(3)[code], RNG.normal(size=(60, 2))])
    target = 3.0 * (code == 0) + Z[:, 3]
    names = ["colour=red", "colour=blue", "colour=green", "size", "noise"]
    categories = {"colour": names[:3]}
    fitted = NablassoRegressor("linear", cv=3, feature_groups=[[0, 1, 2], [3], [4]])
    report = build_report(fitted.fit(Z, target), Z, target, names=names, categories=categories)
    by_name = {column.name: column for column in report.answer.columns}
    assert set(by_name) == {"colour", "size", "noise"}
    assert by_name["colour"].levels == ("red", "blue", "green")
    expected = fitted.feature_importances_[:3].sum()
    assert by_name["colour"].share == pytest.approx(expected)
    (curve,) = report.effects["colour"]
    assert curve.labels == ("red", "blue", "green")
    assert curve.mean[0] - curve.mean[1] == pytest.approx(3, abs=0.3)
    assert "highest for colour = red" in render_report(report)
    with pytest.raises(InvalidParameterError, match="not there: taste=sweet"):
        build_report(fitted, Z, target, names=names, categories={"taste": ["taste=sweet"]})


def test_classes_get_a_table_of_counts():
    labels = np.where(X[:, 0] > 0, "up", "down")
    fitted = NablassoClassifier("linear", cv=3).fit(X, labels)
    report = build_report(fitted, X, labels, target="move")
    found = report.held_out
    assert found.labels == ("down", "up")
    assert np.sum(found.counts, axis=1) == pytest.approx(
        [np.sum(labels == "down"), np.sum(labels == "up")]
    )
    accuracy = report.answer.accuracy
    assert accuracy.accuracy == pytest.approx(np.trace(found.counts) / 40)
    assert accuracy.accuracy > 0.85
    assert sum(rows for *_, rows in found.calibration) == 40
    page = render_report(report)
    assert f"{accuracy.accuracy:.0%} of left-out rows classified right" in page
    assert "probability told" in page
    assert next(iter(report.effects.values()))[0].unit == "part in the log-odds of up"


def test_several_classes_have_a_curve_each():
    labels = np.digitize(X[:, 0], (-0.5, 0.5))
    fitted = NablassoClassifier("linear", cv=3, always_keep=[0]).fit(X, labels)
    report = build_report(fitted, X, labels)
    units = [curve.unit for curve in next(iter(report.effects.values()))]
    assert units == [f"part in the log-odds of {label}" for label in range(3)]
    assert len(report.held_out.counts) == 3
    assert report.path is None  # what is always kept is not penalised
    assert "predicted" in render_report(report)


def test_cross_validated_models_are_judged_out_of_fold():
    fitted = DerivativeLassoCV("linear", alphas=3, ridges=(1e-2,), cv=2, tol=1e-3)
    report = build_report(fitted.fit(X, X[:, 0]), X, X[:, 0])
    predicted = np.empty(40)
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        predicted[test] = single_fit(fitted).fit(X[train], X[train, 0]).predict(X[test])
    np.testing.assert_allclose(report.held_out.predicted, predicted, rtol=1e-4, atol=1e-5)
    assert "5 folds" in report.held_out.how
    assert report.answer.columns[0].certified is True
    error = np.mean((np.array(report.held_out.observed) - report.held_out.predicted) ** 2)
    assert report.answer.accuracy.rmse == pytest.approx(np.sqrt(error), rel=1e-4, abs=1e-6)
    assert report.trials.header == ("", "alpha", "ridge", "width", "Mean score", "Columns")
    assert [row[0] for row in report.trials.rows].count("chosen") == 1
    assert "certified" in render_report(report)


def test_groups_and_kept_columns_by_name_are_understood(table):
    frame, _ = table
    target = frame["a"] + frame["c"]
    groups = [["a", "like_a"], ["big"], ["c"], ["d"]]
    shared = {"feature_groups": groups, "always_keep": ["d"]}
    derivative = DerivativeLassoCV("linear", alphas=2, ridges=(1e-2,), cv=2, tol=1e-2, **shared)
    for fitted in (derivative, NablassoRegressor("linear", cv=3, **shared)):
        report = build_report(fitted.fit(frame, target), frame, target)
        assert report.answer.accuracy.r2 > 0.5
        assert report.path is not None


def test_other_families_leave_out_what_they_do_not_have():
    gradients = SparseGradientRegressor(tol=1e-1).fit(X, y)
    report = build_report(gradients, X, y)
    assert report.path is not None
    assert report.trials is None
    assert "Ye" in render_report(report)
    hull = HierarchicalKernelRegressor(alpha=0.05).fit(X, y)
    report = build_report(hull, X, y)
    assert report.path.importances is None
    assert "Bach" in render_report(report)


def test_selectors_that_do_not_predict_get_a_shorter_report():
    from sklearn.linear_model import Lasso

    fitted = StabilitySelection(Lasso(0.05), n_pairs=3, random_state=0).fit(X, X[:, 0])
    report = build_report(fitted, X, X[:, 0])
    assert report.held_out is None
    assert report.effects == {}
    assert report.path is None
    page = render_report(report)
    assert 'id="predictions"' not in page
    assert 'id="columns"' in page


def test_nothing_found_is_an_answer():
    noise = np.random.default_rng(1).normal(size=40)
    fitted = NablassoRegressor("linear", cv=3).fit(X, noise)
    assert not fitted.support_.any()
    report = build_report(fitted, X, noise, target="noise")
    assert report.answer.headline().startswith(
        "None of the 4 columns was found to matter for noise"
    )
    assert report.answer.certificate is None
    assert report.effects == {}
    assert "Nothing found" in render_report(report)


def test_mistakes_are_named(model, table):
    with pytest.raises(InvalidParameterError, match="one name per column, 5; got 1"):
        build_report(model, *table, names=["a"])
    from nablasso import PSDDensity

    with pytest.raises(InvalidParameterError, match="fitted selector"):
        build_report(PSDDensity(rank=10, tol=0.1).fit(X), X, y)


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
        report = build_report(model.fit(frame, target), frame, target)
        names = {column.name for column in report.answer.columns}
        assert names == set(frame)
        labels = {label for curve in report.effects["city"] for label in curve.labels}
        assert labels == {"Oslo", "Paris", "Rome"}
