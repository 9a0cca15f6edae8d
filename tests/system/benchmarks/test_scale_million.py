"""A million rows, in the small."""

from __future__ import annotations

import csv

import pytest

from benchmarks.scale import million


@pytest.mark.slow  # two searches
def test_rows_are_stored_once(tmp_path):
    out = tmp_path / "million.csv"
    arguments = ["--rows", "300", "--out", str(out)]
    million.main(arguments)
    million.main(arguments)
    (row,) = csv.DictReader(out.open())
    assert tuple(row) == million.COLUMNS
    assert row["problem"] == "radial"
    assert row["exact"] == "1"
    assert 0.9 < float(row["r2"]) <= float(row["ceiling"]) + 0.01
