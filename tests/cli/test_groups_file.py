"""Groups of columns from a file."""

import pytest

from nablasso.cli.groups_file import read_groups
from nablasso.errors import NablassoError

VARIABLES = ["a", "b", "c", "d"]


def refusal(path, ignored=()) -> str:
    with pytest.raises(NablassoError) as caught:
        read_groups(path, VARIABLES, ignored)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("groups.json", '{"first": ["a", "c"], "second": ["b"]}'),
        ("groups.csv", "group,column\nfirst,a\nsecond,b\nfirst,c\n"),
        ("groups.csv", "group;column\nfirst;a\nfirst;c\nsecond;b\n"),
    ],
)
def test_groups_and_the_rest_one_by_one(write, name, content):
    groups = read_groups(write(content, name), VARIABLES, [])
    assert groups == {"first": ["a", "c"], "second": ["b"], "d": ["d"]}


def test_ignored_columns_are_dropped_and_emptied_groups_with_them(write):
    path = write('{"first": ["a", "x"], "gone": ["z"]}')
    assert read_groups(path, ["a", "b"], ["x", "z"]) == {"first": ["a"], "b": ["b"]}


def test_an_unknown_column(write):
    text = refusal(write('{"first": ["a", "B"]}'))
    assert "group 'first': 'B' is not a column. Did you mean 'b'?" in text


def test_a_column_in_two_groups(write):
    text = refusal(write('{"first": ["a"], "second": ["a"]}'))
    assert "'a' is in 'first' and 'second'. Take it out of one of them." in text


def test_a_group_named_like_a_column_outside_it(write):
    text = refusal(write('{"d": ["a", "b"]}'))
    assert "'d' is the name of a group and of a column outside it. Rename the group." in text


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"first": ["a", ', "is not valid JSON"),
        ('{"first": "a"}', "group 'first' must be a list of column names"),
        ('{"first": [1]}', "group 'first' must be a list of column names"),
        ("a,b\nfirst,a\n", "begins with 'a,b'"),
        ("group,column\nfirst\n", "line 2 is 'first'"),
    ],
)
def test_other_content_is_told_the_form(write, content, complaint):
    text = refusal(write(content))
    assert complaint in text
    assert 'expected JSON such as {"climate": ["temperature", "humidity"]}, or CSV' in text


def test_no_file(tmp_path):
    assert "does not exist" in refusal(tmp_path / "absent.json")
