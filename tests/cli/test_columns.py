"""Roles of columns, and cells that are no numbers."""

import numpy as np
import pandas as pd
import pytest

from nablasso.cli.columns import choose_columns
from nablasso.cli.table_file import read_table
from nablasso.exceptions import InvalidDataError, InvalidParameterError, NablassoError


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


def test_text_columns_are_named_with_a_way_out(table):
    table["city"] = "Paris"
    table["full name"] = ["?"] * 3 + ["1"] * 37
    text = refusal(table, "y")
    assert 'city (40 of 40 cells, such as "Paris"), full name (3 of 40 cells, such as "?")' in text
    assert "--ignore city --ignore 'full name'" in text
    assert "0/1 columns first, for example with pandas.get_dummies" in text


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
    assert "The target must hold numbers or classes; 'y' holds numbers and text: 10 of 40" in text
    assert 'such as "?". Repair these cells, or add --classify if all its values are' in text
    assert list(choose_columns(table, "y", classify=True).classes) == ["1", "2", "?"]


def test_too_many_classes_and_too_few(table):
    text = refusal(table.assign(y=[f"name {i % 25}" for i in range(40)]), "y")
    assert "at most 20 classes; 'y' has 25 distinct values in 40 rows, such as \"name 0\"" in text
    assert "The target must vary; 'y' is good in all 40 rows." in refusal(
        table.assign(y="good"), "y"
    )


def test_faults_beside_a_target_of_classes(table):
    table["kind"] = ["good", "bad"] * 20
    assert "text was found in: city" in refusal(table.assign(city="Paris"), "kind")
    table.loc[3, "kind"] = np.nan
    table.loc[4, "idle"] = np.nan
    assert "are in: idle (1 missing), kind (1 missing)." in refusal(table, "kind")


def test_a_decimal_comma_is_refused_with_advice(write):
    table = read_table(write("a;b;y\n" + "1,5;2;3,25\n" * 5))
    text = refusal(table, "y")
    assert "Numbers need a decimal point; these columns hold commas: a (5 of 5 cells" in text
    assert 'such as "1,5"), y (5 of 5' in text
    assert 'read_csv("old.csv", sep=";", decimal=",")' in text


def test_missing_and_infinite_cells_are_counted(table):
    table.loc[:2, "idle"] = np.nan
    table.loc[3, "idle"] = np.inf
    table.loc[4:5, "other"] = -np.inf
    text = refusal(table, "y")
    assert "are in: idle (3 missing, 1 infinite), other (2 infinite). Fill these cells" in text
    assert text.endswith("or leave columns out with --ignore idle --ignore other.")


def test_a_missing_target_cell_does_not_suggest_to_ignore_the_target(table):
    table.loc[0, "y"] = np.nan
    text = refusal(table, "y")
    assert "y (1 missing)" in text
    assert "--ignore" not in text


@pytest.mark.parametrize("word", ["", "NA", "nan", "inf", "-Infinity"])
def test_words_for_no_number_are_understood(write, word):
    table = read_table(write(f"a,b,y\n{word},1,2\n" + "1,2,3\n" * 5))
    assert "a (1 " in refusal(table, "y")


def test_a_constant_target(table):
    table["y"] = 2.5
    text = refusal(table, "y")
    assert text == ("The target must vary; 'y' is 2.5 in all 40 rows. Choose another target.")


def test_kinds_of_errors(table):
    with pytest.raises(InvalidParameterError):
        choose_columns(table, "absent")
    with pytest.raises(InvalidDataError):
        choose_columns(table.assign(city="Paris"), "y")
