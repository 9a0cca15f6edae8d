"""Reading a table: separators, compression, files that are none; groups of its columns."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from nablasso.data.files import read_groups, read_table
from nablasso.errors import InvalidDataError, MissingExtraError, NablassoError

ROWS = "1.5,2\n3,4\n5,6\n7,8\n9,10\n"
PLAIN = "a,b\n" + ROWS
VARIABLES = ["a", "b", "c", "d"]


def refusal(path: Path) -> str:
    with pytest.raises(InvalidDataError) as caught:
        read_table(path)
    return str(caught.value)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["table.csv", "table.tsv", "table.txt"])
def test_the_separator_is_found(write, separator, name):
    table = read_table(write(PLAIN.replace(",", separator), name))
    assert list(table) == ["a", "b"]
    np.testing.assert_array_equal(table.astype(float), [[1.5, 2], [3, 4], [5, 6], [7, 8], [9, 10]])


def test_a_comma_in_a_name_does_not_mislead(write):
    table = read_table(write("a;b, of two;c\n" + "1;2;3\n" * 5))
    assert list(table) == ["a", "b, of two", "c"]


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(PLAIN.encode()),
        b"\xef\xbb\xbf" + PLAIN.encode(),  # the mark that spreadsheet programs put first
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r").encode(),
        PLAIN.replace("\n", "\n\n").encode(),
        PLAIN.replace(",", ", ").encode(),
        PLAIN.replace("a,b", '"a","b"').encode(),
        PLAIN.replace("a,b", 'a, "b"').encode(),
    ],
    ids=["gzip", "BOM", "CRLF", "CR", "blank lines", "spaces", "quotes", "space and quotes"],
)
def test_the_same_table_in_other_clothes(write, content):
    table = read_table(write(content, "table.csv.gz"))
    assert list(table) == ["a", "b"]
    np.testing.assert_array_equal(table.astype(float), [[1.5, 2], [3, 4], [5, 6], [7, 8], [9, 10]])


def test_columns_without_a_name_are_numbered(write):
    assert list(read_table(write(",b,\n" + "1,2,3\n" * 5))) == ["column_1", "b", "column_3"]


def test_more_fields_than_names_never_become_an_index(write):
    assert "must have 2 fields" in refusal(write("a,b\n" + "0,1,2\n" * 5))


def test_no_file(tmp_path):
    text = refusal(tmp_path / "absent.csv")
    assert "absent.csv does not exist. Give the path of a table" in text


def test_no_permission(write, monkeypatch):
    def forbidden(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", forbidden)
    text = refusal(write(PLAIN))
    assert "cannot be read: Permission denied. Give the path of a file that you may read." in text


def test_parquet_gives_the_same_numbers_and_words(write, tmp_path):
    frame = pd.DataFrame(
        {
            "number": [0.1, 2.5, np.nan, 4.0, 1e-300],
            "count": [1, 2, 3, 4, 5],
            "word": ["x", None, "y", "x", "y"],
            "truth": [True, False, True, True, False],
            "day": pd.date_range("2024-01-31", periods=5),
        }
    )
    path = tmp_path / "table.csv"  # content decides, not the name
    frame.to_parquet(path)
    table = read_table(path)
    np.testing.assert_array_equal(table[["number", "count"]], frame[["number", "count"]])
    assert table["word"].fillna("").tolist() == ["x", "", "y", "x", "y"]
    assert table["truth"].tolist() == frame["truth"].tolist()
    assert table["day"].tolist() == frame["day"].tolist()
    frame.head(3).to_parquet(path)
    assert "at least 5 rows below the column names; got 3" in refusal(path)
    frame[["word"]].to_parquet(path)
    assert "at least 2 columns; got 1" in refusal(path)


def test_parquet_with_lists_or_damage_is_refused(write, tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [[1, 2]] * 5, "b": 1.0}).to_parquet(path)
    assert "lists, structures or bytes are in: a. Write a file without them." in refusal(path)
    path.write_bytes(path.read_bytes()[:-20])
    assert "cannot be read as a Parquet file" in refusal(path)


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [1.0] * 5, "b": 1.0}).to_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r'pip install "nablasso\[io\]"'):
        read_table(path)


def test_a_few_rows_of_one_column_on_demand(write):
    table = read_table(write("a\n1\n2\n"), min_rows=1, min_columns=1)
    assert table["a"].tolist() == ["1", "2"]


def test_a_huge_first_line(write):
    text = refusal(write("x" * 200_000 + ",y\n" + "1,2\n" * 5))
    assert "it is far too long" in text
    assert len(text) < 400
    many = ",".join(["a", "b"] * 5000)
    text = refusal(write(many + "\n" + "1,2\n" * 5))
    assert len(text) < 400


def test_a_folder(tmp_path):
    assert "cannot be read: Is a directory. Give the path of a file" in refusal(tmp_path)


@pytest.mark.parametrize("content", ["", "\n\n  \n"])
def test_an_empty_file(write, content):
    text = refusal(write(content))
    assert "is empty. A table needs a first line with column names and at least 5 rows" in text


def test_a_header_without_rows(write):
    text = refusal(write("a,b\n"))
    assert "at least 5 rows below the column names; got column names but no rows" in text


def test_too_few_rows(write):
    text = refusal(write("a,b\n" + "1,2\n" * 4))
    assert "must have at least 5 rows below the column names; got 4. Add rows." in text


@pytest.mark.parametrize(("row", "count"), [("3", 1), ("3,4,5", 3)])
def test_ragged_rows(write, row, count):
    text = refusal(write(PLAIN.replace("3,4", row)))
    assert (
        f"must have 2 fields separated by a comma, as many as the first line; line 3 has {count}."
        in text
    )
    assert "Repair that line" in text


def test_an_open_quote(write):
    text = refusal(write(PLAIN.replace("9,", '"9,')))
    assert "cannot be read as a table: unexpected end of data" in text
    assert "every quote closed. Export the table again." in text


def test_an_open_quote_in_the_first_line(write):
    text = refusal(write('"a,b\n' + ROWS))
    assert "the quotes in the first line do not match" in text


def test_binary_junk(write):
    text = refusal(write(b"PK\x03\x04\x00\x01junk", "table.xlsx"))
    assert "it holds binary data (a zero byte at position 4)" in text
    assert 'Save the table as "CSV UTF-8" in your spreadsheet program.' in text


def test_another_encoding(write):
    text = refusal(write("größe,b\n".encode("latin1") + ROWS.encode()))
    assert "must be text in UTF-8; byte 0xf6 at position 2 is not" in text
    assert "iconv -f LATIN1 -t UTF-8 old.csv > new.csv" in text


def test_half_of_a_gzip_file(write):
    text = refusal(write(gzip.compress(PLAIN.encode())[:-12], "table.csv.gz"))
    assert "cannot be decompressed" in text
    assert "Download or compress it again." in text


def test_one_column(write):
    text = refusal(write("a b c\n" + "1 2 3\n" * 5))
    assert "at least two columns, separated by commas, semicolons or tabs" in text
    assert "its first line is one column: 'a b c'. Save it with one of these" in text


def test_one_long_column_is_shortened(write):
    text = refusal(write("x" * 1000 + "\n" + "1\n" * 5))
    assert "x" * 37 + "...'" in text
    assert len(text) < 400


def test_duplicate_names(write):
    text = refusal(write("a,b,a,c,c,a\n" + "1,2,3,4,5,6\n" * 5))
    assert "used more than once: 'a' (columns 1, 3, 6); 'c' (columns 4, 5)." in text
    assert "Rename or remove them in the first line." in text


def groups_refusal(path, ignored=()) -> str:
    with pytest.raises(NablassoError) as caught:
        read_groups(path, VARIABLES, ignored)
    return str(caught.value)


def test_groups_and_the_rest_one_by_one(write):
    path = write('{"first": ["a", "c"], "second": ["b"]}', "groups.json")
    groups = read_groups(path, VARIABLES, [])
    assert groups == {"first": ["a", "c"], "second": ["b"], "d": ["d"]}


def test_ignored_columns_are_dropped_and_emptied_groups_with_them(write):
    path = write('{"first": ["a", "x"], "gone": ["z"]}')
    assert read_groups(path, ["a", "b"], ["x", "z"]) == {"first": ["a"], "b": ["b"]}


def test_an_unknown_column(write):
    text = groups_refusal(write('{"first": ["a", "B"]}'))
    assert "group 'first': 'B' is not a column. Did you mean 'b'?" in text


def test_a_column_in_two_groups(write):
    text = groups_refusal(write('{"first": ["a"], "second": ["a"]}'))
    assert "'a' is in 'first' and 'second'. Take it out of one of them." in text


def test_a_group_named_like_a_column_outside_it(write):
    text = groups_refusal(write('{"d": ["a", "b"]}'))
    assert "'d' is the name of a group and of a column outside it. Rename the group." in text


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"first": ["a", ', "is not valid JSON"),
        ('{"first": "a"}', "group 'first' must be a list of column names"),
        ('{"first": [1]}', "group 'first' must be a list of column names"),
        ("group,column\nfirst,a\n", "is not valid JSON"),
        ('["a"]', "holds no groups"),
    ],
)
def test_other_content_is_told_the_form(write, content, complaint):
    text = groups_refusal(write(content))
    assert complaint in text
    assert 'expected lists of columns by group: {"climate": ["temperature"' in text


def test_no_file_of_groups(tmp_path):
    assert "does not exist" in groups_refusal(tmp_path / "absent.json")
