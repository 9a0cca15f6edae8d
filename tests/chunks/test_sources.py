"""Sources of chunks: the same rows from arrays, memory maps, Parquet and CSV, from any row on."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pandas as pd
import pytest

from nablasso.chunks import ArrayChunks, CSVChunks, ParquetChunks, sample_rows
from nablasso.errors import InvalidDataError, InvalidParameterError
from tests.frozen_spaces import rows

NAMES = ("a", "b", "c", "d")


def frame(n=300, dtype=float, seed=0):
    X, y = rows(n, dtype=dtype, seed=seed)
    weights = np.arange(n) % 3 + 1.0
    return pd.DataFrame(X, columns=[*NAMES]).assign(y=y, w=weights)


def memmap_source(folder, table):
    np.save(folder / "X.npy", table[[*NAMES]].to_numpy())
    X = np.load(folder / "X.npy", mmap_mode="r")
    return ArrayChunks(X, table["y"].to_numpy(), table["w"].to_numpy(), names=NAMES, chunk_rows=70)


def parquet_source(folder, table, groups=40, chunk_rows=70):
    pytest.importorskip("pyarrow")
    table[:130].to_parquet(folder / "p0.parquet", row_group_size=groups, index=False)
    reordered = table[["w", *reversed(NAMES), "y"]]
    reordered[130:].to_parquet(folder / "p1.parquet", row_group_size=groups, index=False)
    return ParquetChunks(folder, "y", sample_weight="w", chunk_rows=chunk_rows)


def csv_source(folder, table):
    pytest.importorskip("pyarrow")
    table[:130].to_csv(folder / "c0.csv", index=False)
    with gzip.open(folder / "c1.csv.gz", "wt") as file:
        table[130:][["w", *reversed(NAMES), "y"]].to_csv(file, index=False)
    return CSVChunks(folder, "y", sample_weight="w", block_bytes=4000)


SOURCES = {
    "memmap": memmap_source,
    "parquet": parquet_source,
    "large groups": lambda folder, table: parquet_source(folder, table, groups=200, chunk_rows=30),
    "csv": csv_source,
}


@pytest.mark.parametrize("start", [0, 70, 129, 130, 131, 299, 300])
@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
def test_rows_come_in_order_from_any_row_on(make, start, tmp_path):
    table = frame()
    source = make(tmp_path, table)
    assert source.names == NAMES
    chunks = list(source.chunks(start))
    X = np.vstack([np.empty((0, 4)), *(chunk.X for chunk in chunks)])
    np.testing.assert_array_equal(X, table[[*NAMES]].to_numpy()[start:])
    if chunks:
        found = [np.concatenate(parts) for parts in zip(*(c[1:3] for c in chunks), strict=True)]
        np.testing.assert_array_equal(found, table[["y", "w"]].to_numpy()[start:].T)
    for chunk in chunks:
        whole = table[[*NAMES]].to_numpy()
        offset = 130 if "1." in chunk.origin else 0
        assert chunk.X[0].tolist() == whole[offset + chunk.first_row].tolist()


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
def test_the_number_of_chunks_is_known_and_they_are_small(make, tmp_path):
    source = make(tmp_path, frame())
    chunks = list(source.chunks())
    assert len(chunks) == pytest.approx(source.n_chunks, abs=2)
    assert max(len(chunk.X) for chunk in chunks) <= 130


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
def test_the_fingerprint_knows_the_data(make, tmp_path):
    table = frame()
    prints = []
    for number, content in enumerate((table, table, table + 1e-3, table[:299])):
        folder = tmp_path / str(number)
        folder.mkdir()
        prints.append(make(folder, content).fingerprint())
    assert prints[0] == prints[1]
    assert len(set(prints)) == 3


def test_float32_columns_stay_float32(tmp_path):
    pytest.importorskip("pyarrow")
    table = frame(dtype=np.float32)
    table.to_parquet(tmp_path / "t.parquet", index=False)
    source = ParquetChunks(tmp_path / "t.parquet", "y", columns=["b", "a"])
    (chunk,) = source.chunks()
    assert chunk.X.dtype == np.float32
    assert chunk.weights is None
    np.testing.assert_array_equal(chunk.X, table[["b", "a"]].to_numpy())
    assert next(iter(ParquetChunks(tmp_path, "y").chunks())).X.dtype == np.float64  # w is
    table.to_csv(tmp_path / "t.csv", index=False)
    assert next(iter(CSVChunks(tmp_path, "y", dtype="float32").chunks())).X.dtype == np.float32
    with pytest.raises(InvalidParameterError, match="float64"):
        CSVChunks(tmp_path, "y", dtype="int")


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_with_other_columns_are_named(kind, tmp_path):
    pytest.importorskip("pyarrow")
    table = frame(20)
    source = {"parquet": ParquetChunks, "csv": CSVChunks}[kind]
    write = {"parquet": pd.DataFrame.to_parquet, "csv": pd.DataFrame.to_csv}[kind]
    write(table, tmp_path / f"1.{kind}", index=False)
    write(table.rename(columns={"b": "e"}), tmp_path / f"2.{kind}", index=False)
    with pytest.raises(InvalidDataError, match=rf"2.{kind} lacks 'b' and has 'e' besides"):
        source(tmp_path, "y")
    with pytest.raises(InvalidDataError, match=rf"2.{kind} lacks 'b'\."):
        source(tmp_path, "y", columns=["a", "b"])
    assert source(tmp_path, "y", columns=["a", "c"]).names == ("a", "c")
    with pytest.raises(InvalidDataError, match="lacks 'target'"):
        source(tmp_path, "target")
    with pytest.raises(InvalidParameterError, match="at least one column besides 'y'"):
        source(tmp_path, "y", columns=["y"])


def test_missing_files_are_named(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(InvalidDataError, match=r"none.csv does not exist"):
        CSVChunks(tmp_path / "none.csv", "y")
    with pytest.raises(InvalidDataError, match="No files to read"):
        ParquetChunks(tmp_path, "y")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(InvalidDataError, match="cannot be read as a Parquet file"):
        ParquetChunks(tmp_path, "y")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InvalidDataError, match="cannot be read as a table"):
        CSVChunks(tmp_path / "empty.csv", "y")
    (tmp_path / "twice.csv").write_text("a,a,y\n1,2,3\n")
    with pytest.raises(InvalidDataError, match="more than once: 'a'"):
        CSVChunks(tmp_path / "twice.csv", "y")


def test_text_in_a_file_is_found(tmp_path):
    pytest.importorskip("pyarrow")
    table = frame(400)[["a", "b", "y"]].astype(object)
    table.loc[250, "b"] = "seven"
    table.to_csv(tmp_path / "t.csv", index=False)
    source = CSVChunks(tmp_path / "t.csv", "y", block_bytes=4000)
    with pytest.raises(InvalidDataError, match=r"t.csv .*row 250 .*column 'b' has 'seven'"):
        list(source.chunks())
    table.astype({"b": str}).to_parquet(tmp_path / "t.parquet", index=False)
    with pytest.raises(InvalidDataError, match=r"column 'b' has type .*string"):
        list(ParquetChunks(tmp_path / "t.parquet", "y").chunks())
    (tmp_path / "ragged.csv").write_text("a,y\n1,2\n3\n" * 3)
    with pytest.raises(InvalidDataError, match=r"ragged.csv cannot be read as a table"):
        list(CSVChunks(tmp_path / "ragged.csv", "y").chunks())


def test_arrays_must_belong_together():
    X, y = rows(20)
    with pytest.raises(InvalidDataError, match=r"got shapes \(20, 4\), \(19,\)"):
        ArrayChunks(X, y[:-1])


def test_without_pyarrow_the_extra_is_named(monkeypatch, tmp_path):
    for name in ("pyarrow", "pyarrow.csv"):
        monkeypatch.setitem(sys.modules, name, None)
    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    with pytest.raises(ImportError, match=r"nablasso\[io\]"):
        CSVChunks(tmp_path / "t.csv", "y")


def test_a_sample_depends_on_the_content_alone(tmp_path):
    table = frame(300)
    X, y = table[[*NAMES]].to_numpy(), table["y"].to_numpy()
    first = sample_rows(ArrayChunks(X, y, chunk_rows=50), 40)
    order, columns = np.random.default_rng(0).permutation(300), [3, 1, 0, 2]
    second = sample_rows(ArrayChunks(X[order][:, columns], y[order], chunk_rows=7), 40)
    np.testing.assert_array_equal(second.X, first.X[:, columns])
    np.testing.assert_array_equal(second.y, first.y)
    other = sample_rows(ArrayChunks(X, y), 40, random_state=1)
    assert not np.array_equal(np.sort(other.y), np.sort(first.y))
    weighted = sample_rows(memmap_source(tmp_path, table), 1000)
    assert len(weighted.y) == 300
    lookup = dict(zip(table["y"], table["w"], strict=True))
    assert [lookup[value] for value in weighted.y] == weighted.weights.tolist()
    with pytest.raises(InvalidParameterError, match="n_rows"):
        sample_rows(ArrayChunks(X, y), 0)
    with pytest.raises(InvalidDataError, match="no rows"):
        sample_rows(ArrayChunks(X[:0], y[:0]), 5)


def test_a_sample_is_fair():
    X = np.arange(20000.0)[:, None]
    drawn = sample_rows(ArrayChunks(X, X[:, 0]), 2000).X[:, 0]
    assert abs(drawn.mean() / 20000 - 0.5) < 4 * 12**-0.5 / 2000**0.5
    assert len(np.unique(drawn)) == 2000
