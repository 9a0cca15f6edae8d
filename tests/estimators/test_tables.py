"""Tables straight into fit: every kind of column, roles by name, all problems at once."""

from __future__ import annotations

import datetime
import inspect
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Lasso

import nablasso
from nablasso import (
    DerivativeLasso,
    DerivativeLassoClassifier,
    HeldOutScreening,
    HierarchicalKernelClassifier,
    HierarchicalKernelRegressor,
    NablassoClassifier,
    NablassoRegressor,
    PSDDensity,
    PSDRegressor,
    SparseGradientRegressor,
    StabilitySelection,
)
from nablasso.errors import InvalidDataError, TableProblems, UnseenValuesWarning
from nablasso.estimators.display import shapes_of
from nablasso.estimators.validation import behind, check_new_data, players
from nablasso.inspection import sobol_indices

RELEVANT = {"size", "species", "grade", "when"}
SPECIES = ["Adelie", "Chinstrap", "Gentoo"]


def every_kind(n=240, seed=0, share=0.1):
    """A table with every kind of column, a share of its cells missing, and its target."""
    rng = np.random.default_rng(seed)
    hours = pd.to_timedelta(rng.integers(0, 3 * 365 * 24, n), unit="h")
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "noise": rng.normal(size=n),
            "species": rng.choice(SPECIES, n),
            "grade": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True
            ),
            "flag": rng.random(n) < 0.5,
            "count": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "when": pd.Timestamp("2021-01-01") + hours,
            "id": [f"p{i}" for i in range(n)],
            "constant": "same",
        }
    )
    y = (
        2 * frame["size"]
        + 3.0 * (frame["species"] == "Gentoo")
        + 1.5 * frame["grade"].cat.codes
        + 2 * np.sin(2 * np.pi * frame["when"].dt.hour / 24)
        + 0.2 * rng.normal(size=n)
    )
    for name in frame.columns[:7]:
        frame[name] = frame[name].mask(rng.random(n) < share)
    return frame, y.rename("price")


@pytest.fixture(scope="module")
def fitted():
    X, y = every_kind()
    return NablassoRegressor().fit(X.assign(price=y), "price"), X, y


def test_every_kind_of_column_is_one_column_of_the_answer(fitted):
    model, X, y = fitted
    assert model.feature_names_in_.tolist() == list(X)
    assert model.n_features_in_ == X.shape[1]
    assert set(model.get_feature_names_out()) == RELEVANT
    for name in ("feature_importances_", "evidence_", "support_certified_", "screened_"):
        assert getattr(model, name).shape == (X.shape[1],)
    assert model.importance_bounds_.shape == (X.shape[1], 2)
    assert model.feature_kinds_.tolist() == [
        *("continuous", "continuous", "category", "ordered", "discrete", "discrete", "date"),
        *("identifier", "constant"),
    ]
    assert "Gentoo" not in model.summary()
    assert all(place < X.shape[1] for pair in model.twins_ for place in pair)
    assert model.loo_r2_ > 0.7
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.9


def test_what_was_made_of_columns_is_said(fitted):
    notes = fitted[0].table_notes_
    assert any("when was read as a date" in note and "year, week, day" in note for note in notes)
    assert any("id was left out" in note for note in notes)


def test_selected_columns_come_out_as_a_table(fitted):
    model, X, _ = fitted
    pd.testing.assert_frame_equal(model.transform(X), X[model.get_feature_names_out()])


def test_columns_may_come_in_any_order_and_unneeded_ones_not_at_all(fitted):
    model, X, _ = fitted
    expected = model.predict(X)
    np.testing.assert_array_equal(model.predict(X[X.columns[::-1]].assign(more=1)), expected)
    np.testing.assert_array_equal(model.predict(X[sorted(RELEVANT)]), expected)
    with pytest.raises(TableProblems, match="1 of the 9 columns are absent: species"):
        model.predict(X.drop(columns="species"))


def test_text_is_read_as_what_it_was_in_the_fit(fitted):
    model, X, _ = fitted
    text = X.astype(object).map(str, na_action="ignore")
    np.testing.assert_allclose(model.predict(text), model.predict(X), rtol=1e-9)


def test_an_unseen_category_is_predicted_as_other_and_named(fitted):
    model, X, _ = fitted
    new = X.iloc[:20].assign(species="Emperor")
    with pytest.warns(UnseenValuesWarning, match="species is Emperor in 20 rows"):
        other = model.predict(new)
    known = [model.predict(new.assign(species=s)) for s in SPECIES]
    assert (other >= np.min(known, axis=0) - 0.5).all()
    assert (other <= np.max(known, axis=0) + 0.5).all()


def test_a_cell_that_was_never_missing_before(fitted):
    X, y = every_kind(share=0.0)
    model = NablassoRegressor("linear").fit(X, y)
    with pytest.warns(UnseenValuesWarning, match="size is missing in 3 rows"):
        assert np.isfinite(model.predict(X.assign(size=X["size"].mask(X.index < 3)))).all()


def test_missing_can_be_the_answer():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=150), "income": rng.normal(size=150)})
    gone = rng.random(150) < 0.3
    y = X["a"] + 3.0 * gone + 0.1 * rng.normal(size=150)
    model = NablassoRegressor().fit(X.assign(income=X["income"].mask(gone)), y)
    assert model.support_.tolist() == [True, True]
    assert model.loo_r2_ > 0.9


def test_permuted_rows_and_columns_and_renamed_levels_change_nothing(fitted):
    _, X, y = fitted
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    names = dict(zip(SPECIES, ["z", "b", "q"], strict=True))
    other = X.iloc[rows, columns].assign(species=lambda t: t["species"].map(names))
    again = NablassoRegressor(time=False).fit(other, y.iloc[rows])
    plain = NablassoRegressor(time=False).fit(X, y)
    assert set(again.get_feature_names_out()) == set(plain.get_feature_names_out())
    np.testing.assert_allclose(again.predict(other), plain.predict(X)[rows], rtol=1e-6, atol=1e-6)


def test_a_polars_frame_gives_the_same_answer(fitted):
    X, y = every_kind(100)
    frame = pl.DataFrame(
        {
            name: pl.Series(name, [None if pd.isna(v) else v for v in X[name].astype(object)])
            for name in X
        }
    ).with_columns(pl.col("grade").cast(pl.Enum(["low", "mid", "high"])))
    ours = NablassoRegressor("linear").fit(X, y)
    theirs = NablassoRegressor("linear").fit(frame, pl.Series("y", y.to_list()))
    np.testing.assert_array_equal(theirs.predict(frame), ours.predict(X))
    named = NablassoRegressor("linear").fit(
        frame.with_columns(price=pl.Series(y.to_list())), "price"
    )
    np.testing.assert_array_equal(named.support_, ours.support_)
    assert theirs.transform(frame).columns == ours.get_feature_names_out().tolist()


def test_roles_are_given_by_name():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    y = X["a"] + 0.1 * rng.normal(size=60)
    patient, weight = np.repeat(np.arange(12), 5), rng.integers(1, 3, size=60)
    date = pd.date_range("2024-01-01", periods=60)[rng.permutation(60)]
    table = X.assign(price=y, patient=patient, w=weight, date=date)
    model = NablassoRegressor("linear").fit(
        table, y="price", groups="patient", sample_weight="w", time="date"
    )
    order = np.argsort(date)
    same = NablassoRegressor("linear").fit(
        X.iloc[order], y.iloc[order], weight[order], groups=patient[order]
    )
    assert model.feature_names_in_.tolist() == list("abc")
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    np.testing.assert_array_equal(model.evidence_, same.evidence_)
    given = NablassoRegressor("linear").fit(X, y, weight, groups=patient, time=date)
    np.testing.assert_array_equal(model.predict(X), given.predict(X))


def test_the_players_are_a_partition_of_the_numbers(fitted):
    model, X, _ = fitted
    D = check_new_data(model, X).shape[1]
    assert sorted(np.concatenate(players(model)).tolist()) == list(range(D))
    assert len(players(model)) == X.shape[1]
    assert behind(model).n_features_in_ == D
    np.testing.assert_array_equal(behind(model).predict(check_new_data(model, X)), model.predict(X))
    plain = NablassoRegressor("linear").fit(np.eye(6), np.arange(6.0))
    assert behind(plain) is plain
    assert [p.tolist() for p in players(plain)] == [[a] for a in range(6)]


def test_groups_of_columns_may_hold_categories_and_leave_columns_out():
    X, y = every_kind(120)
    groups = {"body": ["size", "species"]}
    model = DerivativeLasso("linear", feature_groups=groups, alpha=0.01).fit(X, y)
    assert model.support_[0] == model.support_[2]
    with pytest.raises(ValueError, match="names column 'specie'"):
        DerivativeLasso(feature_groups=[["specie"]]).fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        DerivativeLasso("linear", alpha=0.01),
        HierarchicalKernelRegressor(0.05, decomposition="polynomial", degree=1, tol=0.1),
        SparseGradientRegressor(kernel="linear", max_iter=20),
        PSDRegressor(weight=0.01, rank=20, tol=0.1),
        HeldOutScreening(),
        StabilitySelection(Lasso(0.05), n_pairs=5),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_other_estimators_take_tables_too(model):
    X, y = every_kind(80)
    target = y - y.min() if isinstance(model, PSDRegressor) else y
    fitted = clone(model).fit(X.assign(price=target), "price")
    assert fitted.feature_names_in_.tolist() == list(X)
    if hasattr(fitted, "support_"):
        assert fitted.support_.shape == (X.shape[1],)
    if hasattr(fitted, "predict"):
        expected = fitted.predict(X)
        assert np.isfinite(expected).all()
        np.testing.assert_array_equal(fitted.predict(X[X.columns[::-1]]), expected)


def test_classes_of_a_table():
    X, y = every_kind(200)
    label = pd.Series(np.where(y > y.median(), "dear", "cheap"), name="price")
    for kind in (NablassoClassifier("linear"), DerivativeLassoClassifier("linear", alpha=0.01)):
        model = kind.fit(X, label)
        assert model.score(X, label) > 0.8
        assert model.predict_proba(X).shape == (200, 2)


def test_numbers_in_a_frame_take_the_path_of_arrays():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    frame = pd.DataFrame(X, columns=list("abc"))
    a, b = NablassoRegressor("linear").fit(X, y), NablassoRegressor("linear").fit(frame, y)
    np.testing.assert_array_equal(a.predict(X), b.predict(frame[["c", "a", "b"]]))
    assert behind(b) is b


def test_a_density_is_of_numbers():
    X, _ = every_kind(30)
    with pytest.raises(ValueError, match=r"could not convert|NaN"):
        PSDDensity().fit(X[["size", "species"]])


def hostile():
    """Tables that cannot be fitted: what each of their problems must say."""
    good = pd.DataFrame({"a": np.arange(12.0), "b": np.tile([1.0, 2.0, 5.0], 4)})
    y = np.arange(12.0)
    gap = np.where(y == 3, np.nan, y)
    mixed, comma = ["?"] + ["1"] * 11, ["1,5"] * 12
    unclear = ["03/04/2024"] * 6 + ["05/06/2024"] * 6
    infinite, nested = np.where(y == 2, np.inf, y), [[1, 2]] * 12
    twice = pd.concat([good, good[["a"]]], axis=1)
    levels = good.set_axis(pd.MultiIndex.from_tuples([("u", "a"), ("u", "b")]), axis=1)
    R, C = NablassoRegressor, NablassoClassifier
    return {
        "mixed": (R, good.assign(m=mixed), y, {}, ["m \\(1 of 12 cells"]),
        "comma": (R, good.assign(m=comma), y, {}, ["decimal comma"]),
        "dates": (R, good.assign(m=unclear), y, {}, ["day and month"]),
        "no such date": (R, good.assign(m=["2024-13-45"] * 12), y, {}, ["do not exist"]),
        "infinite": (R, good.assign(m=infinite), y, {}, ["m \\(1 infinite"]),
        "huge": (R, good.assign(m=y * 1e150), y, {}, ["over 1e\\+100"]),
        "lists": (R, good.assign(m=nested), y, {}, ["neither numbers, words nor dates"]),
        "complex": (R, good.assign(m=y * 1j), y, {}, ["complex"]),
        "bytes": (R, good.assign(m=[b"x"] * 12), y, {}, ["neither numbers"]),
        "twice": (R, twice, y, {}, ["same name: a"]),
        "levels of names": (R, levels, y, {}, ["several levels"]),
        "target gone": (R, good.assign(m=mixed), gap, {}, ["m \\(1", "missing in 1 of 12"]),
        "target of words": (
            R,
            good.assign(m=mixed),
            list("xyz" * 4),
            {},
            ["m \\(1", "holds words"],
        ),
        "target infinite": (R, good.assign(m=comma), infinite, {}, ["comma", "is infinite"]),
        "too long": (R, good.assign(m=mixed), np.arange(13.0), {}, ["m \\(1", "13 values for 12"]),
        "too few": (R, good.iloc[:3].assign(m=["x", "1", "y"]), y[:3], {}, ["m \\(2", "3 rows"]),
        "no such column": (R, good.assign(m=mixed), "prize", {}, ["y='prize' is not", "m \\(1"]),
        "weights": (R, good.assign(m=comma), y, {"sample_weight": -y}, ["sample_weight", "comma"]),
        "groups": (R, good.assign(m=mixed, g=gap), y, {"groups": "g"}, ["g is missing", "m \\(1"]),
        "one role each": (R, good.assign(m=comma), "a", {"groups": "a"}, ["one role", "comma"]),
        "classes gone": (
            C,
            good.assign(m=mixed),
            [None, *"ab" * 5, "a"],
            {},
            ["m \\(1", "missing"],
        ),
        "nothing varies": (R, pd.DataFrame({"a": ["x"] * 12, "b": [None] * 12}), y, {}, ["varies"]),
        "all of it": (
            R,
            twice.assign(m=mixed, n=comma, o=infinite, p=unclear, q=nested),
            gap,
            {"sample_weight": -y},
            ["same name", "m \\(", "n \\(", "o \\(", "p \\(", "q \\(", "12 rows", "sample_weight"],
        ),
    }


@pytest.mark.parametrize("name", hostile())
def test_a_hostile_table_lists_all_its_problems_at_once(name):
    kind, X, y, more, expected = hostile()[name]
    with pytest.raises(TableProblems) as caught:
        kind().fit(X, y, **more)
    for what in expected:
        assert caught.match(what)
    problems = caught.value.problems
    assert len(problems) == len(expected) or name == "all of it"
    assert all(one.remedy for one in problems)
    assert str(caught.value).count("\n- ") == len(problems)


def test_a_name_that_is_nearly_right():
    X = pd.DataFrame({"price": np.arange(9.0), "a": np.arange(9.0)})
    with pytest.raises(TableProblems, match=r"y='prise' is not a column\. Did you mean 'price'"):
        NablassoRegressor().fit(X, "prise")


@pytest.mark.parametrize("kind", [NablassoClassifier, DerivativeLassoClassifier])
def test_many_numbers_as_classes_are_asked_about(kind):
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 94
    with pytest.raises(InvalidDataError, match=r"94 different numbers .* mean a regression"):
        kind().fit(X, y)


def test_many_classes_by_name_are_classes():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 25
    X = np.column_stack([y + 0.01 * rng.normal(size=150), rng.normal(size=150)])
    model = DerivativeLassoClassifier("linear", alpha=0.1, tol=0.1).fit(X, y.astype(str))
    assert len(model.classes_) == 25


PUBLIC = [kind for name in nablasso.__all__ if hasattr(kind := getattr(nablasso, name), "fit")]
NEEDS_NONE = {
    "fit",
    "fit_transform",
    "get_params",
    "set_params",
    "set_output",
}


def asked(model):
    """What can be asked of a fitted model."""
    for name, method in inspect.getmembers(model, callable):
        known = name.startswith(("_", "fit")) or name in NEEDS_NONE or name.endswith("_request")
        if not known and name not in ("get_metadata_routing", "inverse_transform"):
            yield name, method


@pytest.mark.parametrize("kind", PUBLIC, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("failed", [False, True])
def test_without_a_fit_there_is_no_answer(kind, failed):
    model = kind(Lasso()) if "estimator" in inspect.signature(kind).parameters else kind()
    X = np.ones((6, 2))
    if failed:
        with pytest.raises((ValueError, TypeError)):
            model.fit(pd.DataFrame({"a": [[1]] * 9, "b": 1j}), np.arange(9.0))
    for name, method in asked(model):
        needed = [p for p in inspect.signature(method).parameters.values() if p.default is p.empty]
        values = [X if p.name == "X" else np.ones(6) for p in needed if p.kind is not p.VAR_KEYWORD]
        with pytest.raises(NotFittedError):
            print(name, method(*values))


def test_a_fit_that_fails_forgets_the_one_before():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = NablassoRegressor("linear").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(30, np.nan))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_dates_in_text_by_the_order_of_the_fit():
    days = pd.date_range("2024-01-01", periods=60)
    X = pd.DataFrame({"when": days.strftime("%d/%m/%Y"), "a": np.arange(60.0) % 7})
    model = NablassoRegressor("linear").fit(X, np.arange(60.0))
    new = pd.DataFrame({"when": ["03/02/2024", "03.02.2024"], "a": [1.0, 1.0]})
    days_since = check_new_data(model, new)[:, 0]
    np.testing.assert_array_equal(days_since, [33.0, 33.0])
    clock = [datetime.time(h % 24, 30) for h in range(60)]
    made = check_new_data(
        NablassoRegressor("linear").fit(X.assign(at=clock), np.arange(60.0)), X.assign(at=clock)
    )
    angle = 2 * np.pi * (np.arange(60) % 24 + 0.5) / 24
    np.testing.assert_allclose(made[:, -2:], np.column_stack([np.sin(angle), np.cos(angle)]))


def test_weights_count_as_copies():
    X, y = every_kind(60)
    weights = np.arange(60) % 3
    model = DerivativeLasso("linear", alpha=0.01, tol=1e-10).fit(X, y, weights)
    rows = np.repeat(np.arange(60), weights)
    copies = DerivativeLasso("linear", alpha=0.01, tol=1e-10).fit(X.iloc[rows], y.iloc[rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(model.predict(X), copies.predict(X), rtol=1e-6, atol=1e-6)


def test_a_shape_names_levels_numbers_and_the_missing_state_as_they_are():
    rng = np.random.default_rng(0)
    level, k = (
        rng.choice(["dose>=5", "dose<=5", "dose=5"], 80),
        rng.integers(0, 4, 80).astype(float),
    )
    sex = rng.choice(["f", "m"], 80)
    y = 3.0 * (level == "dose>=5") + (level == "dose=5") + k + 0.1 * rng.normal(size=80)
    y += 2 * (sex == "m")
    k[::9] = np.nan
    table = pd.DataFrame({"level": level, "k": k, "sex": sex})
    shapes = NablassoRegressor().fit(table, y).shapes()
    assert set(shapes.x[shapes.column == "level"]) == set(level)
    of_sex = shapes[shapes.column == "sex"].set_index("x")["value"]
    assert of_sex["m"] - of_sex["f"] == pytest.approx(2, abs=0.1)
    assert set(shapes.x[shapes.column == "k"]) == {"0", "1", "2", "3", "missing"}
    assert (shapes.low_simultaneous <= shapes.low).all()
    assert (shapes.high_simultaneous >= shapes.high).all()


def test_where_nothing_was_found_there_is_nothing_to_explain():
    X = np.random.default_rng(0).normal(size=(60, 5))
    model = NablassoRegressor().fit(X[:, :4], X[:, 4])
    assert not model.support_.any()
    assert list(model.contributions(X[:2, :4]).columns) == ["bias"]
    assert sobol_indices(model, X[:, :4]).total.tolist() == [0.0] * 4


def test_a_number_with_gaps_has_the_slope_where_it_is_observed():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
    y = 3 * X["a"] + X["b"] + 0.1 * rng.normal(size=120)
    X.loc[rng.random(120) < 0.15, "a"] = np.nan
    table = NablassoRegressor("linear").fit(X, y).importances_.set_index("column")
    assert table.loc["a", "slope"] == pytest.approx(3, abs=0.3)
    assert table.loc["a", "direction"] == "rises"


def test_a_number_with_gaps_is_drawn_as_a_curve():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
    y = 3 * X["a"] + X["b"] + 0.1 * rng.normal(size=120)
    X.loc[rng.random(120) < 0.15, "a"] = np.nan
    model = NablassoRegressor("linear").fit(X, y)
    shapes = model.shapes()
    own = shapes[shapes["column"] == "a"]
    assert len(own) == 32
    assert own["x"].iloc[-1] == "missing"
    shape = shapes_of(model)["a"]
    assert shape.labels == ()
    assert np.polyfit(shape.grid, shape.mean, 1)[0] == pytest.approx(3, abs=0.3)


def test_scores_take_names_of_columns(fitted):
    model, X, y = fitted
    both = X.assign(price=y, w=1.0)
    assert model.score(both, "price") == model.score(X, y)
    assert model.score(both, "price", sample_weight="w") == pytest.approx(model.score(X, y))
    with pytest.raises(TableProblems, match="'prise' is not a column"):
        model.score(both, "prise")


@pytest.mark.parametrize(
    ("kind", "n"), [(NablassoRegressor, 40), (NablassoRegressor, 700), (DerivativeLasso, 40)]
)
def test_a_constant_target_is_told(kind, n):
    X = np.random.default_rng(0).normal(size=(n, 3))
    model = kind().fit(X, np.full(n, 2.0))
    assert model.selection_status_ == "constant target"
    assert model.answer_.headline() == f"y is constant in all {n} rows: nothing to explain."
    assert not any("Add rows" in remedy for remedy in model.answer_.remedies())


def test_gaps_in_the_same_rows_do_not_make_copies():
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["length", "depth", "copy"])
    X["copy"] = X["length"] + 0.01 * X["copy"]
    y = 3 * X["length"] + 2 * X["depth"] + 0.1 * rng.normal(size=120)
    X.loc[:4, ["length", "depth"]] = np.nan
    model = NablassoRegressor("linear").fit(X, y)
    named = {frozenset(X.columns[[a, b]]) for a, b in model.twins_}
    assert named == {frozenset({"length", "copy"})}
    said = " ".join(model.answer_.replacement_sentences())
    assert "depth could be replaced" not in said


def test_importances_of_classes_are_those_of_the_columns_of_the_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"word": rng.choice(["a", "b", "c"], 90), "idle": rng.normal(size=90)})
    model = HierarchicalKernelClassifier(interactions=False).fit(table, table["word"].to_numpy())
    assert model.class_importances_.shape == (3, 2)
    assert (model.class_importances_[:, 0] > model.class_importances_[:, 1]).all()


def test_a_second_fit_forgets_what_the_first_explained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    frame = pd.DataFrame(X, columns=list("abcd")).assign(b=np.where(X[:, 1] > 0, "u", "v"))
    model = NablassoRegressor().fit(X, X[:, 3] + 0.1 * rng.normal(size=80))
    assert np.flatnonzero(model.feature_importances_).tolist() == [3]
    model.fit(frame, X[:, 0] + (X[:, 1] > 0) + 0.1 * rng.normal(size=80))
    assert np.flatnonzero(model.feature_importances_).tolist() == [0, 1]
    assert model.feature_importances_.sum() == pytest.approx(1.0)
