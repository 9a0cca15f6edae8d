"""The prediction benchmark: fair splits, rows that survive, a page from rows alone."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from benchmarks.prediction import run
from benchmarks.prediction.contestants import CONTESTANTS
from benchmarks.prediction.report import report
from benchmarks.selection.contest import Contestant, Question
from nablasso.datasets import RealTable
from nablasso.exceptions import DataUnavailableError


@pytest.fixture
def table(monkeypatch):
    """A linear table of 90 rows whose third column lacks a value; any other is not to be had."""
    X = np.random.default_rng(0).standard_normal((90, 4))
    y = X[:, 0] + 0.01 * X[:, 1]
    X[5, 2] = np.nan

    def load(name):
        if name != "boston":
            raise DataUnavailableError("nowhere")
        return RealTable(X, y, ("a", "b", "c", "d"), name, "", "")

    monkeypatch.setattr(run, "load_table", load)
    return X, y


def stored(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_split_uses_each_row_once_and_depends_on_its_number(table):
    X, y = table
    one, again, other = run.split(X, y, 0), run.split(X, y, 0), run.split(X, y, 1)
    assert len(one.y) == 60
    np.testing.assert_array_equal(np.sort(np.append(one.y, one.y_test)), np.sort(y))
    np.testing.assert_array_equal(one.y, again.y)
    assert not np.array_equal(one.y, other.y)


def test_rows_are_stored_and_a_second_call_measures_nothing(table, tmp_path, capsys):
    words = ["--contestants", "lasso_native", "kernel_ridge", "--tables", "boston", "stock"]
    words += ["--splits", "2", "--out", str(tmp_path / "rows.csv")]
    run.main(words)
    rows = stored(tmp_path / "rows.csv")
    assert len(rows) == 4
    assert {row["d"] for row in rows} == {"3"}
    assert all(float(row["rmse_over_sd"]) < 0.1 for row in rows)
    said = capsys.readouterr()
    assert "skipped stock: nowhere" in said.err
    assert "| boston | 60 | 2 |" in said.out
    run.main(words)
    assert stored(tmp_path / "rows.csv") == rows


def test_a_contestant_that_fails_gives_a_row_that_no_one_envies(table):
    class Failing(Contestant):
        name, tuning = "failing", ""

        def fit(self, question: Question):
            raise ValueError("no\nluck")

    row = run.measure(Failing(), run.split(*table, 0), 0)
    assert row["status"] == "ValueError: no luck"
    assert row["rmse_over_sd"] == "inf"


def test_the_page_compares_on_common_splits_and_marks_the_smallest():
    def row(who, split, error):
        fixed = {"table": "t", "n": "9", "selected": "1", "d": "3", "seconds": "1", "status": "ok"}
        return fixed | {"contestant": who, "split": split, "rmse_over_sd": error, "source": "s"}

    page = report([row("a", "0", "0.5"), row("a", "1", "0.1"), row("b", "0", "0.4")])
    assert "| t | 9 | 1 | 0.500 | **0.400** |" in page


@pytest.mark.parametrize("name", ["boosting_native", "forest_native", "lasso_native"])
def test_each_tool_says_how_it_is_tuned(name):
    assert len(CONTESTANTS[name].tuning) > 10
