"""Tables in blocks, in the small."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from benchmarks.scale import blocks

pytest.importorskip("pyarrow", reason="needs the extra io")


def test_files_hold_the_rows_in_memory(tmp_path, monkeypatch):
    import pandas as pd

    monkeypatch.setattr(blocks, "FILE_ROWS", 70)
    X, y = blocks.in_memory(160, 5 + 1)
    blocks.write_files(tmp_path, 160, 5 + 1)
    assert len(list(tmp_path.iterdir())) == 3
    table = pd.read_parquet(tmp_path)
    np.testing.assert_array_equal(table.to_numpy(), np.column_stack([X, y]))


@pytest.mark.slow  # six fits, four of them on clusters
def test_all_sources_agree(tmp_path):
    pytest.importorskip("distributed", reason="needs the extra distributed")
    out = tmp_path / "blocks.csv"
    arguments = ["agreement", "--rows", "1600", "--folder", str(tmp_path), "--out", str(out)]
    blocks.main(arguments)
    blocks.main(arguments)
    rows = list(csv.DictReader(out.open()))
    assert [(row["source"], row["workers"], row["killed"]) for row in rows] == [
        ("memory", "0", "0"),
        ("parquet", "0", "0"),
        ("dask", "1", "0"),
        ("dask", "2", "0"),
        ("dask", "4", "0"),
        ("dask", "2", "1"),
    ]
    assert {row["same_support"] for row in rows[1:]} == {"1"}
    assert max(float(row["difference"]) for row in rows[1:]) < 1e-8
