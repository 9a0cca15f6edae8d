"""Roles of columns, and cells that are no numbers."""

import datetime

import numpy as np
import pandas as pd
import pytest

from nablasso.data.encoding import MISSING, OTHER, Encoding
from nablasso.data.files import read_table
from nablasso.data.roles import Roles
from nablasso.data.roles import choose_columns as choose
from nablasso.errors import InvalidDataError, InvalidParameterError, NablassoError


def choose_columns(table, target, ignored=(), kept=(), *, categories=(), classify=False, **rows):
    return choose(table, Roles(target, ignored, kept, categories, classify), **rows)


def refusal(table, *args, **kwargs) -> str:
    with pytest.raises(NablassoError) as caught:
        choose_columns(table, *args, **kwargs)
    return str(caught.value)


def test_the_table_is_cut_into_variables_and_target(table):
    data = choose_columns(table, "y", ["idle"], ["other"])
    assert data.variables == ["curved", "straight", "other"]
    assert (data.target, data.ignored, data.kept) == ("y", ("idle",), ("other",))
    pd.testing.assert_frame_equal(data.X, table[data.variables])
    pd.testing.assert_series_equal(data.y, table["y"])


def test_whole_numbers_and_truth_values_become_numbers(write):
    rows = "".join(f"{i},{i % 2 == 0},{i * 0.5}\n" for i in range(6))
    data = choose_columns(read_table(write("count,even,y\n" + rows)), "y")
    np.testing.assert_array_equal(data.X["even"], [1, 0, 1, 0, 1, 0])
    assert set(data.X.dtypes) == {np.dtype(float)}


def test_underscores_make_a_word(write):
    rows = "".join(f"{1 + i % 3}_2,{i}\n" for i in range(6))
    data = choose_columns(read_table(write("site,y\n" + rows)), "y")
    assert data.X["site"].cat.categories.tolist() == ["1_2", "2_2", "3_2"]


def test_blanks_around_a_class_do_not_make_another(write):
    rows = "".join(f"{i},{' yes ' if i % 2 else 'no'}{' ' * (i % 3)}\n" for i in range(6))
    assert choose_columns(read_table(write("a,y\n" + rows)), "y").classes == {"no": 3, "yes": 3}


def test_numbers_are_read_to_the_last_bit(write):
    numbers = np.random.default_rng(0).normal(size=(200, 2))
    rows = "".join(f"{a!r},{b!r}\n" for a, b in numbers.tolist())
    data = choose_columns(read_table(write("a,y\n" + rows)), "y")
    np.testing.assert_array_equal(np.column_stack([data.X, data.y]), numbers)


def test_an_unknown_target_suggests_the_nearest_and_lists_all(table):
    text = refusal(table, "Curvd")
    assert text == (
        "--target 'Curvd' is not a column. Did you mean 'curved'? "
        "The columns are: curved, straight, idle, other, y."
    )


def test_many_columns_are_not_all_listed():
    table = pd.DataFrame(np.zeros((5, 30)), columns=[f"c{i}" for i in range(30)])
    assert refusal(table, "zzz").endswith("c10, c11 and 18 more.")


def test_a_first_line_of_numbers_is_suspected(write):
    table = read_table(write("1.5,2.5\n" + "1,2\n" * 5))
    assert "The first line seems to hold numbers; put a line with column names" in refusal(
        table, "price"
    )


@pytest.mark.parametrize(
    ("option", "role"), [("--ignore", {"ignored": ["idel"]}), ("--keep", {"kept": ["idel"]})]
)
def test_unknown_ignored_or_kept_columns_suggest_the_nearest(table, option, role):
    text = refusal(table, "y", **role)
    assert text.startswith(f"{option} 'idel' is not a column. Did you mean 'idle'?")


@pytest.mark.parametrize(
    ("roles", "options", "name"),
    [
        ({"ignored": ["y"]}, "--target and --ignore", "y"),
        ({"kept": ["y"]}, "--target and --keep", "y"),
        ({"ignored": ["idle"], "kept": ["idle"]}, "--ignore and --keep", "idle"),
    ],
)
def test_a_column_has_one_role(table, roles, options, name):
    text = refusal(table, "y", **roles)
    assert f"{name!r} was given to both {options}. Take it out of one of them." in text


def test_nothing_left_to_select(table):
    text = refusal(table, "y", ["curved", "straight", "idle", "other"])
    assert "At least one column besides the target 'y' is needed; --ignore leaves none" in text


def test_numbers_and_text_in_a_column_need_a_decision(table):
    table["full name"] = ["?"] * 3 + ["1"] * 37
    text = refusal(table, "y")
    assert 'numbers and words in one column: full name (3 of 40 cells, such as "?")' in text
    assert "leave the column out (X.drop(columns=...), or --ignore), or make it a" in text
    assert text.endswith('category (.astype("category"), or --category).')
    data = choose_columns(table, "y", categories=["full name"])
    assert data.X["full name"].cat.categories.tolist() == ["1", "?"]


def test_numbers_as_categories_on_demand(table):
    table["code"] = [1.0, 2.0, 3.5, 1.0] * 10
    assert "code" in choose_columns(table, "y").X
    data = choose_columns(table, "y", categories=["code"])
    assert data.X["code"].cat.categories.tolist() == ["1", "2", "3.5"]


@pytest.mark.parametrize(
    "cell",
    [
        *("2024-01-31", "2024/1/31", "31.01.2024", "1/31/24", "2024-01-31 12:30", "12:30"),
        *("2024-01-31T12:30:00Z", "31 Jan 2024", "January 31, 2024", "2024-01-31T12:30:00.5+01:00"),
    ],
)
def test_dates_are_read(table, cell):
    data = choose_columns(table.assign(when=cell), "y")
    if cell == "12:30":
        assert (data.X["when"] == datetime.time(12, 30)).all()
    else:
        assert (data.X["when"].dt.date == datetime.date(2024, 1, 31)).all()


def test_missing_rows_are_dropped_on_demand(table):
    table["city"] = ["Paris", "Rome"] * 20
    table.loc[3, "idle"], table.loc[5, "city"], table.loc[7, "y"] = np.nan, None, np.nan
    data = choose_columns(table, "y", missing="drop")
    assert len(data.y) == len(data.X) == 37
    assert not data.X.isna().to_numpy().any()
    assert data.remarks == ("3 of 40 rows were left out: they have a missing cell.",)
    kept = [i for i in range(40) if i not in (3, 5, 7)]
    np.testing.assert_array_equal(data.X["curved"], table["curved"][kept])


def test_numbers_whose_squares_would_overflow_are_refused(table):
    table.loc[0, "idle"] = -1e200
    assert "idle (1 over 1e+100)" in refusal(table, "y")


def test_a_category_is_zeros_and_ones(table):
    table["city"] = ["Paris", "Rome", "Oslo", "Rome"] * 10
    encoding = Encoding.learn(choose_columns(table, "y").X)
    assert encoding.names[4:] == ["city=Oslo", "city=Paris", "city=Rome"]
    encoded = encoding.encode(table)[:, 4:]
    np.testing.assert_array_equal(encoded[:, 2], [0, 1, 0, 1] * 10)
    np.testing.assert_array_equal(encoded.sum(axis=1), 1)
    assert encoding.players[4].tolist() == [4, 5, 6]
    assert len(set(encoding.labels[4:])) == 1


def test_two_levels_are_one_column(table):
    table["sex"] = ["f", "m"] * 20
    encoding = Encoding.learn(choose_columns(table, "y").X)
    assert encoding.names[-1] == "sex=m"
    np.testing.assert_array_equal(encoding.encode(table)[:, -1], [0, 1] * 20)


def test_missing_and_rare_levels_are_states(table):
    table["city"] = ["Oslo"] * 20 + ["Rome"] * 14 + ["Bonn", "Bern", "Linz"] + [None] * 3
    encoding = Encoding.learn(choose_columns(table, "y").X)
    column = encoding.columns[-1]
    assert column.levels == ("Oslo", "Rome", OTHER, MISSING)
    encoded = encoding.encode(table)[:, -4:]
    np.testing.assert_array_equal(encoded.argmax(axis=1), [0] * 20 + [1] * 14 + [2] * 3 + [3] * 3)
    assert "keeps its 2 most frequent levels" in column.said()


def test_a_missing_number_is_the_median_and_a_flag(table):
    table.loc[:1, "idle"] = np.nan
    encoding = Encoding.learn(choose_columns(table, "y").X)
    places = encoding.players[2]
    assert [encoding.names[a] for a in places] == ["idle", "idle: missing"]
    encoded = encoding.encode(table)[:, places]
    np.testing.assert_array_equal(encoded[:, 1], [1, 1] + [0] * 38)
    given = np.sort(table["idle"].dropna())
    assert encoded[0, 0] == given[(len(given) - 1) // 2]


def test_a_median_counts_weights_as_copies():
    X = pd.DataFrame({"a": [5.0, 1.0, 2.0, np.nan]})
    weighted = Encoding.learn(X, np.array([3.0, 1.0, 1.0, 1.0]))
    copied = Encoding.learn(X.iloc[[0, 0, 0, 1, 2, 3]])
    assert weighted == copied
    assert weighted.columns[0].fill[0] == 5.0


def test_identifiers_and_empty_columns_are_no_columns_of_numbers(table):
    table["name"] = [f"name {i}" for i in range(40)]
    table["void"] = None
    encoding = Encoding.learn(choose_columns(table, "y").X)
    assert [c.kind for c in encoding.columns[-2:]] == ["identifier", "empty"]
    assert len(encoding.names) == 4


def test_infinite_cells_are_refused_whatever_is_done_about_missing_ones(table):
    table.loc[0, "idle"] = np.inf
    for missing in ("state", "drop"):
        assert "idle (1 infinite)" in refusal(table, "y", missing=missing)


def test_a_sample_is_drawn_by_its_seed(table):
    first, again, other = (
        choose_columns(table, "y", sample=20, seed=seed) for seed in (None, 0, 1)
    )
    pd.testing.assert_frame_equal(first.X, again.X)
    assert not first.X.equals(other.X)
    assert len(first.y) == 20
    assert first.remarks == ("20 of 40 rows were drawn at random (seed 0).",)
    places = [int(np.flatnonzero(table["curved"] == value)[0]) for value in first.X["curved"]]
    assert places == sorted(places)
    assert choose_columns(table, "y", sample=99).remarks == ()


def test_text_in_ignored_columns_is_fine(table):
    table["city"] = "Paris"
    assert "city" not in choose_columns(table, "y", ["city"]).variables


def test_a_target_of_words_holds_classes(table):
    kinds = ["good", "bad"] * 20
    data = choose_columns(table.assign(kind=kinds), "kind")
    assert data.has_classes
    assert data.y.tolist() == kinds
    assert data.classes == {"bad": 20, "good": 20}
    assert "kind" not in data.variables


def test_a_target_of_truth_values_holds_classes(table, write):
    rows = "".join(f"{i},{'TRUE' if i % 3 else 'False'}\n" for i in range(9))
    assert choose_columns(read_table(write("a,y\n" + rows)), "y").classes == {"false": 3, "true": 6}
    assert choose_columns(table.assign(y=table["y"] > 0), "y").has_classes


def test_a_target_of_numbers_holds_classes_on_demand(table):
    table["y"] = [1.0, 2.0, 2.5, 1.0] * 10
    assert not choose_columns(table, "y").has_classes
    assert not choose_columns(table, "y").classes
    assert choose_columns(table, "y", classify=True).classes == {"1": 20, "2": 10, "2.5": 10}


def test_numbers_and_words_in_the_target_need_a_decision(table):
    table["y"] = ["1", "2", "2", "?"] * 10
    text = refusal(table, "y")
    assert 'the target y holds numbers and words: 10 of 40 cells, such as "?"' in text
    assert text.endswith("Repair these cells, or use a classifier (--classify).")
    assert list(choose_columns(table, "y", classify=True).classes) == ["1", "2", "?"]


def test_too_many_classes_and_too_few(table):
    text = refusal(table.assign(y=[f"name {i % 25}" for i in range(40)]), "y")
    assert 'at most 20 classes; y has 25 distinct values in 40 rows, such as "name 0"' in text
    assert "the target must vary; y is good in all 40 rows." in refusal(table.assign(y="good"), "y")


def test_faults_beside_a_target_of_classes(table):
    table["kind"] = ["good", "bad"] * 20
    mixed = table.assign(city=["Paris", "1"] * 20)
    assert "numbers and words in one column: city" in refusal(mixed, "kind")
    mixed.loc[3, "kind"] = np.nan
    text = refusal(mixed, "kind")
    assert "The table has 2 problems:\n- numbers and words in one column: city" in text
    assert "kind is missing in 1 of 40 rows. Leave these rows out (dropna, or --missing" in text


def test_a_decimal_comma_is_refused_with_advice(write):
    table = read_table(write("a;b;y\n" + "1,5;2;3,25\n" * 5))
    text = refusal(table, "y")
    assert "a decimal comma: a (5 of 5 cells" in text
    assert 'read_csv("old.csv", sep=";", decimal=",")' in text
    assert "the target y holds decimal commas: 5 of 5 cells" in text


def test_a_missing_target_cell_does_not_suggest_to_ignore_the_target(table):
    table.loc[0, "y"] = np.nan
    text = refusal(table, "y")
    assert "the target y is missing in 1 of 40 rows" in text
    assert "--ignore" not in text


@pytest.mark.parametrize("word", ["", "NA", "nan", "inf", "-Infinity"])
def test_words_for_no_number_are_understood(write, word):
    table = read_table(write(f"a,b,y\n{word},1,2\n" + "1,2,3\n" * 5))
    if "nf" in word:
        assert "a (1 infinite)" in refusal(table, "y")
    else:
        assert choose_columns(table, "y").X["a"].isna().sum() == 1


def test_a_constant_target(table):
    table["y"] = 2.5
    text = refusal(table, "y")
    assert text.endswith("the target must vary; y is 2.5 in all 40 rows. Choose another target.")


def test_kinds_of_errors(table):
    with pytest.raises(InvalidParameterError):
        choose_columns(table, "absent")
    with pytest.raises(InvalidDataError):
        choose_columns(table.assign(city="2024-31-31"), "y")
