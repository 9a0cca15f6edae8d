"""The benchmark of the path after the pass: sizes, rows, and that copies do not change it."""

import csv

import pytest

from benchmarks.scale import path_time


def test_copies_of_rows_walk_the_same_path_and_rows_are_stored_once(tmp_path, monkeypatch):
    monkeypatch.setattr(path_time, "CHUNK", 400)
    monkeypatch.setattr(path_time, "N_ALPHAS", 3)
    monkeypatch.setattr(path_time, "SUBSAMPLE", 200)
    cases = [path_time.Size("copies", n, 6, 24, 1) for n in (400, 1200)]
    monkeypatch.setattr(path_time, "sizes", lambda *_: iter(cases))
    for _ in range(2):
        path_time.main(["copies", "--repeats", "1", "--out", str(tmp_path)])
    with (tmp_path / "path_time.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["n"] for row in rows] == ["400", "1200"]
    assert rows[0]["iterations"] == rows[1]["iterations"]
    with pytest.raises(SystemExit):
        path_time.main(["row"])


def test_sizes():
    assert [size.n for size in path_time.sizes("rows", 1, 1.0)] == [10_000, 100_000, 1_000_000]
    assert [size.d for size in path_time.sizes("columns", 1, 1.0)] == [10, 25, 100, 200]
    assert [size.m for size in path_time.sizes("features", 1, 0.1)] == [128, 256, 1024, 2048]
