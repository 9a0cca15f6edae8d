"""Tables from anywhere: the same rows, sums and answer; errors that name the file."""

from __future__ import annotations

import gzip
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from nablasso import NablassoClassifier, NablassoRegressor
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.search.grown import grow
from nablasso.streaming import fair_sample, open_table
from nablasso.streaming.blocks import Rows
from nablasso.streaming.sources import Arrays

NAMES = ["a", "b", "c", "d"]


def frame(n=900, seed=0, labels=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    table = pd.DataFrame(X, columns=NAMES).assign(y=y, w=np.arange(n) % 3 + 1.0)
    return table if labels is None else table.assign(y=np.array(labels)[(y > 0).astype(int)])


def as_arrays(table, folder):
    return open_table(table[NAMES].to_numpy(), table["y"].to_numpy(), table["w"].to_numpy())


def as_memmap(table, folder):
    np.save(folder / "X.npy", table[NAMES].to_numpy())
    X = np.load(folder / "X.npy", mmap_mode="r")
    return open_table(X, table["y"].to_numpy(), table["w"].to_numpy(), part_rows=70)


def as_parquet(table, folder):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    table[:130].to_parquet(folder / "p-0.parquet", row_group_size=40, index=False)
    other = table[130:][["w", *reversed(NAMES), "y"]]  # in another order
    other.to_parquet(folder / "p-1.parquet", row_group_size=200, index=False)
    return open_table(str(folder / "p-*.parquet"), "y", "w", part_rows=100)


def as_csv(table, folder):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    table[:130].to_csv(folder / "c0.csv", index=False)
    with gzip.open(folder / "c1.csv.gz", "wt") as file:
        table[130:400][["w", *reversed(NAMES), "y"]].to_csv(file, index=False)
    table[400:].to_csv(folder / "c2.csv", index=False)
    return open_table(folder, "y", "w", part_rows=80)


def as_dask_frame(table, folder):
    dataframe = pytest.importorskip("dask.dataframe", reason="needs the extra distributed")
    return open_table(dataframe.from_pandas(table, npartitions=5), "y", "w")


def as_dask_array(table, folder):
    array = pytest.importorskip("dask.array", reason="needs the extra distributed")
    X = array.from_array(table[NAMES].to_numpy(), chunks=(111, 3))
    y = array.from_array(table["y"].to_numpy(), chunks=200)
    return open_table(X, y, array.from_array(table["w"].to_numpy(), chunks=400))


SOURCES = {
    "memmap": as_memmap,
    "parquet": as_parquet,
    "csv": as_csv,
    "dask frame": as_dask_frame,
    "dask array": as_dask_array,
}


def all_rows(rows: Rows):
    return [(rows.part, rows.start, np.column_stack([rows.X, rows.y, rows.weight]))]


@pytest.fixture(params=SOURCES.values(), ids=SOURCES.keys())
def make(request):
    return request.param


def test_all_rows_come_once_and_in_order(make, tmp_path):
    table = frame()
    found = make(table, tmp_path).fold(all_rows, lambda a, b: a + b)
    np.testing.assert_array_equal(
        np.vstack([block for *_, block in found]), table[[*NAMES, "y", "w"]].to_numpy()
    )
    starts = [(part, start) for part, start, _ in found]
    assert starts == sorted(set(starts))


def test_the_sample_and_the_search_are_those_of_the_arrays(make, tmp_path):
    table = frame()
    here, there = as_arrays(table, tmp_path), make(table, tmp_path)
    one, other = fair_sample(here, 200), fair_sample(there, 200)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(table[NAMES].to_numpy()[other.place], other.X)
    found, expected = grow(there), grow(here)
    assert found.columns == expected.columns
    assert {0, 1, 2} <= set(found.columns)
    np.testing.assert_allclose(
        found.state.coefficients, expected.state.coefficients, rtol=0, atol=1e-8
    )


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(as_parquet, id="parquet"),
        pytest.param(as_dask_frame, id="dask frame", marks=pytest.mark.slow),
    ],
)
def test_the_one_call_answers_the_same(make, tmp_path):
    table = frame()
    X = table[NAMES].to_numpy()
    here = NablassoRegressor().fit(X, table["y"], table["w"])
    there = NablassoRegressor().fit(make(table, tmp_path), "y")
    assert there.feature_names_in_.tolist() == NAMES
    assert there.n_rows_searched_ == here.n_rows_searched_ == 900
    assert there.support_.tolist() == here.support_.tolist()
    assert there.support_[:3].all()
    np.testing.assert_allclose(there.predict(table[NAMES]), here.predict(X), atol=1e-8)
    np.testing.assert_allclose(there.feature_importances_, here.feature_importances_, atol=1e-8)
    assert "a" in there.summary()


@pytest.mark.parametrize("labels", [("no", "yes"), (3, 7), (False, True)])
@pytest.mark.parametrize(
    "make",
    [as_arrays, as_parquet, as_csv, as_dask_frame],
    ids=["arrays", "parquet", "csv", "dask frame"],
)
def test_labels_are_read_from_a_column(make, labels, tmp_path):
    table = frame(500, labels=labels)
    source = make(table, tmp_path)
    classes, totals = source.labels()
    assert classes.tolist() == list(labels)
    assert totals.tolist() == [table["w"][table["y"] == label].sum() for label in labels]
    coded = source.with_classes(classes, np.array([1.0, 2.0])).fold(all_rows, lambda a, b: a + b)
    values = np.vstack([block for *_, block in coded])
    np.testing.assert_array_equal(values[:, -2], table["y"] == labels[1])
    np.testing.assert_array_equal(values[:, -1], table["w"] * (1 + (table["y"] == labels[1])))


@pytest.mark.slow
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_classifier_answers_the_same(class_weight, tmp_path):
    table = frame(labels=("no", "yes"))
    here = NablassoClassifier(class_weight=class_weight)
    there = NablassoClassifier(class_weight=class_weight)
    here.fit(table[NAMES], table["y"], table["w"])
    there.fit(as_parquet(table, tmp_path), None)
    assert there.classes_.tolist() == ["no", "yes"]
    assert there.support_.tolist() == here.support_.tolist()
    proba = here.predict_proba(table[NAMES])
    np.testing.assert_allclose(there.predict_proba(table[NAMES]), proba, atol=1e-8)


def test_paths_patterns_and_frames_go_to_fit_as_they_are(tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    table = frame(60).drop(columns="w")
    table.to_parquet(tmp_path / "t.parquet", index=False)
    expected = NablassoRegressor().fit(table[NAMES], table["y"]).predict(table[NAMES])
    for X in (tmp_path, str(tmp_path / "*.parquet"), [tmp_path / "t.parquet"], table):
        found = NablassoRegressor().fit(X, "y").predict(table[NAMES])
        np.testing.assert_allclose(found, expected, atol=1e-8)
    with pytest.raises(InvalidDataError, match="y='z' is not a column"):
        NablassoRegressor().fit(table, "z")
    with pytest.raises(InvalidParameterError, match="X must be a data frame"):
        NablassoRegressor().fit(table[NAMES].to_numpy(), "y")
    with pytest.raises(InvalidParameterError, match="y and sample_weight must be names"):
        NablassoRegressor().fit(tmp_path, table["y"])
    with pytest.raises(InvalidParameterError, match="opened with the target 'y'"):
        NablassoRegressor().fit(open_table(tmp_path, "y"), "a")
    with pytest.raises(InvalidParameterError, match="groups are for rows in memory"):
        NablassoRegressor().fit(tmp_path, "y", groups=np.arange(60))


# --- bad input ---


def written(table, path):
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        table.to_parquet(path, index=False)
    return path


@pytest.fixture(params=["parquet", "csv"])
def kind(request):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    return request.param


def test_files_with_other_columns_are_named(kind, tmp_path):
    table = frame(20)
    written(table, tmp_path / f"1.{kind}")
    written(table.rename(columns={"b": "e"}), tmp_path / f"2.{kind}")
    with pytest.raises(InvalidDataError, match=rf"2.{kind} lacks 'b' and has 'e' besides"):
        open_table(tmp_path, "y")
    with pytest.raises(InvalidDataError, match=rf"2.{kind} lacks 'b'\."):
        open_table(tmp_path, "y", ignore=["e"])
    assert open_table(tmp_path, "y", ignore=["b", "e"]).names == ("a", "c", "d", "w")
    with pytest.raises(InvalidDataError, match="lacks 'target'"):
        open_table(tmp_path, "target")
    with pytest.raises(InvalidParameterError, match="At least one column besides 'y'"):
        open_table(tmp_path, "y", ignore=["y"])


def test_a_type_that_changes_in_one_file_is_named(kind, tmp_path):
    table = frame(20)
    written(table, tmp_path / f"1.{kind}")
    written(table.astype({"c": int}), tmp_path / f"2.{kind}")
    open_table(tmp_path, "y")  # whole numbers are numbers
    written(table.assign(c="seven"), tmp_path / f"3.{kind}")
    with pytest.raises(InvalidDataError, match=rf"'c' holds words in .*3.{kind}, but numbers"):
        open_table(tmp_path, "y")
    assert "c" not in open_table(tmp_path, "y", ignore=["c"]).names
    text = frame(20, labels=("no", "yes"))
    written(text, tmp_path / f"3.{kind}")
    with pytest.raises(InvalidDataError, match=rf"'y' holds words in .*3.{kind}, but numbers"):
        open_table(tmp_path, "y")
    with pytest.raises(InvalidDataError, match="Use a classifier for labels"):
        NablassoRegressor().fit(tmp_path / f"3.{kind}", "y")


def test_an_empty_file_is_named(kind, tmp_path):
    table = frame(20)
    written(table, tmp_path / f"1.{kind}")
    written(table[:0], tmp_path / f"2.{kind}")
    with pytest.raises(InvalidDataError, match=rf"2.{kind} has no rows"):
        open_table(tmp_path, "y")


def test_a_missing_part_is_named(kind, tmp_path):
    table = frame(20)
    paths = [written(table, tmp_path / f"part-{k:03d}-x7.{kind}") for k in (0, 1, 3, 4)]
    with pytest.raises(InvalidDataError, match=rf"part-002-x7.{kind} is missing"):
        open_table(tmp_path, "y")
    with pytest.raises(InvalidDataError, match="is missing"):
        open_table(str(tmp_path / f"part*.{kind}"), "y")
    assert len(open_table(paths, "y").parts) == 4
    years = tmp_path / "years"
    for year in (1990, 2001, 2020):
        written(table, years / f"{year}.{kind}")
    assert len(open_table(years, "y").parts) == 3


def test_a_file_that_vanishes_after_it_was_opened_is_named(kind, tmp_path):
    for k in (1, 2):
        written(frame(20), tmp_path / f"{k}.{kind}")
    source = open_table(tmp_path, "y")
    (tmp_path / f"2.{kind}").unlink()
    with pytest.raises(InvalidDataError, match=rf"2.{kind} cannot be read"):
        fair_sample(source, 10)


def test_values_that_are_not_finite_are_named(kind, tmp_path):
    table = frame(300)
    table.loc[250, "c"] = np.nan
    written(table[:200], tmp_path / f"1.{kind}")
    written(table[200:], tmp_path / f"2.{kind}")
    with pytest.raises(InvalidDataError, match=rf"2.{kind} contains NaN: row 50 .*column 'c'"):
        fair_sample(open_table(tmp_path, "y"), 10)
    table.loc[250, ["c", "y"]] = 0.0, np.inf
    written(table[200:], tmp_path / f"2.{kind}")
    with pytest.raises(InvalidDataError, match=rf"2.{kind} .*infinity: row 50 .*the target"):
        NablassoRegressor().fit(tmp_path, "y")
    table.loc[250, ["y", "w"]] = 0.0, -1.0
    written(table[200:], tmp_path / f"2.{kind}")
    with pytest.raises(InvalidDataError, match=rf"2.{kind}, row 50 .* the weight is -1"):
        NablassoRegressor().fit(tmp_path, "y", "w")


def test_text_in_a_csv_file_is_found(tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    table = frame(40_000)[["a", "b", "y"]].astype(object)
    table.loc[30_250, "b"] = "seven"
    table.to_csv(tmp_path / "t.csv", index=False)
    source = open_table(tmp_path / "t.csv", "y", part_rows=1500)
    with pytest.raises(InvalidDataError, match=r"t.csv .*row 30250 .*column 'b' has 'seven'"):
        fair_sample(source, 10)
    table.loc[30_250, "b"] = "1_2"  # to Python it is twelve
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InvalidDataError, match=r"t.csv .*row 30250 .*column 'b' has '1_2'"):
        fair_sample(open_table(tmp_path / "t.csv", "y", part_rows=1500), 10)
    (tmp_path / "ragged.csv").write_text("a,y\n1,2\n3\n" * 3)
    with pytest.raises(InvalidDataError, match=r"ragged.csv must have 2 fields .*line 3 has 1"):
        open_table(tmp_path / "ragged.csv", "y")


def test_a_label_that_is_missing_is_found(kind, tmp_path):
    table = frame(40, labels=(False, True)).astype({"y": object})
    table.loc[30, "y"] = None
    written(table, tmp_path / f"t.{kind}")
    with pytest.raises(InvalidDataError, match=rf"t.{kind} contains NaN: row 30 .*the target"):
        open_table(tmp_path, "y").labels()


def test_quoted_line_breaks_do_not_cut_a_row(tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    table = frame(500).assign(note='a "b"\n\nand, c\n')
    table.to_csv(tmp_path / "t.csv", index=False)
    source = open_table(tmp_path / "t.csv", "y", ignore=["note", "w"], part_rows=15)
    assert len(source.parts) > 50
    found = source.fold(all_rows, lambda a, b: a + b)
    rows = np.vstack([block for *_, block in found])
    np.testing.assert_array_equal(rows[:, :5], table[[*NAMES, "y"]].to_numpy())


def test_missing_and_damaged_files_are_named(tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    with pytest.raises(InvalidDataError, match=r"none.csv does not exist"):
        open_table(tmp_path / "none.csv", "y")
    with pytest.raises(InvalidDataError, match="No files to read in"):
        open_table(tmp_path, "y")
    with pytest.raises(InvalidDataError, match="No files to read in"):
        open_table(str(tmp_path / "*.parquet"), "y")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(InvalidDataError, match=r"bad.parquet cannot be read as a Parquet file"):
        open_table(tmp_path, "y")
    (tmp_path / "twice.csv").write_text("a,a,y\n1,2,3\n")
    with pytest.raises(InvalidDataError, match="more than once: 'a'"):
        open_table(tmp_path / "twice.csv", "y")
    with pytest.raises(InvalidDataError, match="must be of one kind"):
        open_table(tmp_path, "y")


def test_float32_columns_stay_float32(tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    table = frame(40).astype(np.float32)
    table.to_parquet(tmp_path / "t.parquet", index=False)
    (part,) = open_table(tmp_path, "y", ignore=["c", "d", "w"]).parts
    (raw,) = part.blocks()
    assert raw.X.dtype == np.float32
    np.testing.assert_array_equal(raw.X, table[["a", "b"]].to_numpy())


def test_decimals_and_truth_with_gaps_are_numbers(tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    cells = {"a": [Decimal("1.5"), Decimal("2.5")], "b": [True, None], "c": [7, None]}
    pd.DataFrame(cells).assign(y=0.0).to_parquet(tmp_path / "t.parquet", index=False)
    (part,) = open_table(tmp_path, "y").parts
    (raw,) = part.blocks()
    np.testing.assert_array_equal(raw.X, [[1.5, 1.0, 7.0], [2.5, np.nan, np.nan]])


@pytest.mark.parametrize(
    ("package", "kind", "extra"), [("pyarrow.parquet", "parquet", "io"), ("pandas", "csv", "cli")]
)
def test_without_a_package_the_extra_is_named(monkeypatch, tmp_path, package, kind, extra):
    written(frame(20), tmp_path / f"t.{kind}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"nablasso\[{extra}\]"):
        open_table(tmp_path / f"t.{kind}", "y")


def test_rows_without_weight_do_not_count(tmp_path):
    table = frame()
    table.loc[::4, "w"] = 0.0
    kept = table[table["w"] > 0]
    found, expected = (grow(as_parquet(table, tmp_path)), grow(as_arrays(kept, tmp_path)))
    np.testing.assert_allclose(
        found.state.coefficients, expected.state.coefficients, rtol=0, atol=1e-8
    )


def test_a_sample_of_few_values_is_fair():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(40_000, 14)).astype(float)
    y = rng.integers(0, 2, size=40_000).astype(float)
    sample = fair_sample(Arrays(X, y), 3000)
    assert len(np.unique(np.column_stack([sample.X, sample.y]), axis=0)) == 3000
    assert abs(sample.X.mean(axis=0) - 0.5).max() < 4 * 0.5 / np.sqrt(3000)
    assert abs(sample.X.sum(axis=1).var() - 3.5) < 1.0  # not whole families of rows


@pytest.mark.parametrize(
    "X",
    [
        np.array([["1"], ["2"]]),
        np.array([["2020-01-01"]] * 2, dtype="datetime64[D]"),
        np.eye(2) * 1j,
    ],
    ids=["text", "dates", "complex"],
)
def test_arrays_that_hold_no_numbers_are_refused(X):
    with pytest.raises(InvalidDataError, match="must hold numbers"):
        fair_sample(open_table(X, np.arange(2.0)), 2)


def test_a_frame_in_memory_belongs_to_fit():
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": [0.0, 1.0]})
    with pytest.raises(InvalidParameterError, match=r"fit\(frame, \"target\"\)"):
        open_table(frame, "y")


def test_labels_in_a_column_of_their_own_are_labels():
    dask_array = pytest.importorskip("dask.array", reason="needs the extra distributed")
    labels = np.array([["u"], ["v"]] * 3, dtype=object)
    table = open_table(dask_array.zeros((6, 2)), dask_array.from_array(labels, chunks=3))
    assert table.labels()[0].tolist() == ["u", "v"]


def test_a_missing_word_is_a_missing_label():
    dataframe = pytest.importorskip("dask.dataframe", reason="needs the extra distributed")
    frame = pd.DataFrame({"a": [1.0, 2.0], "y": pd.array(["u", pd.NA], dtype="string")})
    with pytest.raises(InvalidDataError, match="the target"):
        open_table(dataframe.from_pandas(frame, npartitions=1), "y").labels()
