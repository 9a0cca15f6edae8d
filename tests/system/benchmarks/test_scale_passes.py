"""The benchmark of the pass measures what it says and keeps its rows."""

from __future__ import annotations

import pytest

from benchmarks.scale import passes


@pytest.fixture
def in_this_process(monkeypatch):
    def row(size):
        return {**size._asdict(), **passes.measured(size)}

    monkeypatch.setattr(passes, "in_process_of_its_own", row)


@pytest.mark.usefixtures("in_this_process")
def test_rows_are_kept_and_not_measured_twice(tmp_path, monkeypatch):
    arguments = [
        "headline",
        "float64",
        "--scale",
        "0.002",
        "--repeats",
        "1",
        "--out",
        str(tmp_path),
    ]
    passes.main(arguments)
    content = (tmp_path / "passes.csv").read_text()
    assert "headline,2000,50,512,float32" in content
    assert "float64,2000,50,512,float64" in content
    monkeypatch.setattr(passes, "measured", None)
    passes.main(arguments)
    assert (tmp_path / "passes.csv").read_text() == content


def test_a_row_holds_ratios_of_its_own_times():
    row = passes.measured(passes.Size("headline", 3000, 5, 16, "float32", 1, 0))
    assert row["ratio"] == row["seconds"] / row["bare_seconds"]
    assert row["input_mb"] == pytest.approx(3000 * 6 * 4 / 1e6)
    assert set(row) == set(passes.MEASURED)
