"""Words, dates and missing cells in blocks become the numbers of the same table in memory."""

from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from nablasso import NablassoClassifier, NablassoRegressor, load, save
from nablasso.data import encoding
from nablasso.data.cells import read_cells
from nablasso.data.encoding import Encoding
from nablasso.errors import InvalidDataError, TableProblems, UnseenValuesWarning
from nablasso.streaming import fair_sample, open_table
from nablasso.streaming.sample import encoded

pytest.importorskip("pyarrow", reason="needs the extra io")


def mixed(n=800, seed=0):
    """Every kind of column; y depends on num, gap, word and size."""
    rng = np.random.default_rng(seed)
    sizes = ["small", "middle", "large"]
    table = pd.DataFrame(
        {
            "num": rng.normal(size=n),
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "word": rng.choice(["red", "green", "blue"], n),
            "size": pd.Categorical(rng.choice(sizes, n), categories=sizes, ordered=True),
            "truth": rng.random(n) < 0.5,
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1500, n), "D"),
            "clock": [datetime.time(int(h)) for h in rng.integers(0, 24, n)],
            "id": [f"row {k}" for k in range(n)],
            "idle": rng.integers(0, 4, n),
        }
    )
    table.loc[rng.random(n) < 0.1, ["word", "day"]] = None
    effect = {"red": 1.5, "green": 0.0, "blue": -1.0}
    table["y"] = np.sin(2 * table["num"]) + table["word"].map(effect).fillna(2.5)
    table["y"] += 1.5 * table["gap"].isna() + table["size"].cat.codes.astype(float)
    table["y"] += 0.3 * rng.normal(size=n)
    return table


def as_parquet(table, folder, rows=90, **options):
    cut = len(table) // 3
    table[:cut].to_parquet(folder / "p-0.parquet", row_group_size=40, index=False)
    table[cut:].to_parquet(folder / "p-1.parquet", row_group_size=rows, index=False)
    return open_table(str(folder / "p-*.parquet"), "y", part_rows=rows, **options)


def as_csv(table, folder, rows=90):
    cut = len(table) // 3
    table[:cut].to_csv(folder / "c-0.csv", index=False)
    table[cut:].to_csv(folder / "c-1.csv", index=False)
    return open_table(str(folder / "c-*.csv"), "y", part_rows=rows)


def as_dask(table, folder, rows=90):
    dataframe = pytest.importorskip("dask.dataframe", reason="needs the extra distributed")
    return open_table(dataframe.from_pandas(table, chunksize=rows), "y")


def in_memory(table):
    typed, problems = read_cells(table.drop(columns="y"))
    assert not problems
    return Encoding.learn(typed)


def numbers(source):
    blocks = source.fold(lambda rows: [rows.X], lambda a, b: a + b)
    return np.vstack(blocks)


@pytest.mark.parametrize("rows", [90, 10_000])
@pytest.mark.parametrize("make", [as_parquet, as_csv, as_dask])
def test_blocks_become_the_numbers_of_the_table_in_memory(make, rows, tmp_path):
    table = mixed()
    if make is as_csv:  # which knows no ordered categories
        table["size"] = table["size"].astype(str)
    expected, found = in_memory(table), encoded(make(table, tmp_path, rows))
    for one, other in zip(found.reading.encoding.columns, expected.columns, strict=True):
        np.testing.assert_allclose(one.fill, other.fill, rtol=1e-12)  # sums in another order
        assert replace(one, fill=()) == replace(other, fill=())
    assert {"num", "gap: missing", "word=(missing)", "day: year (sin)"} <= set(found.names)
    np.testing.assert_allclose(numbers(found), expected.encode(table), rtol=1e-12)


def test_the_one_call_answers_as_in_memory(tmp_path):
    table = mixed()
    here = NablassoRegressor().fit(table.drop(columns="y"), table["y"])
    as_parquet(table, tmp_path)
    there = NablassoRegressor().fit(str(tmp_path / "p-*.parquet"), "y")
    assert there.feature_names_in_.tolist() == [name for name in table if name != "y"]
    assert there.get_feature_names_out().tolist() == ["num", "gap", "word", "size"]
    assert there.support_.tolist() == here.support_.tolist()
    assert there.table_notes_ == here.table_notes_
    np.testing.assert_allclose(there.predict(table), here.predict(table), atol=1e-8)
    np.testing.assert_allclose(there.feature_importances_, here.feature_importances_, atol=1e-8)
    save(there, tmp_path / "model.skops")
    new = table[:20].assign(word="violet").drop(columns=["idle", "id"])
    with pytest.warns(UnseenValuesWarning, match="word is violet in 20 rows"):
        expected = here.predict(new)
    with pytest.warns(UnseenValuesWarning, match="word is violet in 20 rows"):
        np.testing.assert_allclose(load(tmp_path / "model.skops").predict(new), expected, atol=1e-8)


def test_labels_and_words_and_weights(tmp_path):
    table = mixed(500)[["num", "gap", "word", "y"]].assign(w=np.arange(500) % 3)
    table["y"] = np.where(table["y"] > table["y"].median(), "high", "low")
    table[:200].to_parquet(tmp_path / "0.parquet", index=False)
    table[200:].to_parquet(tmp_path / "1.parquet", index=False)
    here = NablassoClassifier().fit(table, "y", "w")
    there = NablassoClassifier().fit(tmp_path, "y", "w")
    assert there.classes_.tolist() == ["high", "low"]
    assert there.support_.tolist() == here.support_.tolist()
    assert there.support_[[0, 2]].all()
    np.testing.assert_allclose(there.predict_proba(table), here.predict_proba(table), atol=1e-8)


def test_numbers_with_gaps_alone_are_encoded_too(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    X[rng.random(300) < 0.3, 1] = np.nan
    y = X[:, 0] + 2 * np.isnan(X[:, 1]) + 0.1 * rng.normal(size=300)
    table = pd.DataFrame(X, columns=[*"abc"])
    as_parquet(table.assign(y=y), tmp_path)
    expected = NablassoRegressor().fit(table, y)
    files = NablassoRegressor().fit(tmp_path, "y")
    array = NablassoRegressor().fit(X, y)
    array_of_dask = pytest.importorskip("dask.array", reason="needs the extra distributed")
    lazy = NablassoRegressor().fit(
        array_of_dask.from_array(X, chunks=70), array_of_dask.from_array(y, chunks=90)
    )
    assert expected.support_.tolist() == [True, True, False]
    for model in (files, array, lazy):
        assert model.support_.tolist() == [True, True, False]
        new = table if model is files else X
        np.testing.assert_allclose(model.predict(new), expected.predict(table), atol=1e-8)
    assert not hasattr(array, "feature_names_in_")
    assert not hasattr(lazy, "feature_names_in_")
    assert array.get_feature_names_out().tolist() == ["x0", "x1"]


def test_dates_in_text_are_read_by_all_files(tmp_path):
    days = pd.date_range("2024-01-01", periods=120)
    table = pd.DataFrame({"when": days.strftime("%d/%m/%Y"), "y": np.arange(120.0)})
    (column,) = encoded(as_csv(table, tmp_path)).reading.encoding.columns
    assert column.kind == "date"
    assert column.day_first  # the first twelve days do not tell
    assert column == in_memory(table).columns[0]


def test_what_cannot_be_read_is_listed_at_once(tmp_path):
    table = pd.DataFrame({"a": ["1,5", "2,5"] * 5, "b": ["x", *"123456789"], "y": range(10)})
    with pytest.raises(TableProblems, match="decimal comma: a") as caught:
        NablassoRegressor().fit(as_parquet(table, tmp_path), "y")
    assert 'b (1 of 10 different cells, such as "x")' in str(caught.value)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_type_that_changes_names_file_and_column(kind, tmp_path):
    table = pd.DataFrame({"a": range(10), "b": ["x"] * 10, "y": range(10)})
    other = table.assign(b=np.arange(10.0))
    for name, part in (("0", table), ("1", other)):
        if kind == "csv":
            part.to_csv(tmp_path / f"{name}.csv", index=False)
        else:
            part.to_parquet(tmp_path / f"{name}.parquet", index=False)
    with pytest.raises(InvalidDataError, match=rf"'b' holds numbers in .*1.{kind}, but words"):
        open_table(tmp_path, "y")


def test_nested_columns_and_cells_are_refused(tmp_path):
    table = pd.DataFrame({"a": [[1, 2]] * 10, "y": range(10)})
    with pytest.raises(InvalidDataError, match=r"p-0.parquet .*column 'a' has type list"):
        as_parquet(table, tmp_path)
    dask = pytest.importorskip("dask", reason="needs the extra distributed")
    with (
        dask.config.set({"dataframe.convert-string": False}),
        pytest.raises(InvalidDataError, match="Partition 0: the cells of column 'a'"),
    ):
        encoded(as_dask(table, tmp_path))
    with pytest.raises(InvalidDataError, match=r"must hold numbers; column 'word' has type"):
        fair_sample(as_parquet(mixed(60)[["num", "word", "y"]], tmp_path), 10)
    with pytest.raises(TableProblems, match="none of the 1 columns varies"):
        encoded(as_parquet(pd.DataFrame({"a": ["x"] * 9, "y": range(9)}), tmp_path))


def test_of_many_different_cells_a_fair_sample_is_kept(tmp_path, monkeypatch):
    n, most = 4000, 500
    monkeypatch.setattr(encoding, "MOST_DISTINCT", most)
    rng = np.random.default_rng(0)
    gap = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n))
    table = pd.DataFrame({"gap": gap, "y": rng.normal(size=n)})
    table["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n), "h")
    one = encoded(as_parquet(table, tmp_path, 200)).reading.encoding
    assert one == encoded(as_parquet(table[::-1], tmp_path, 1000)).reading.encoding
    number, date = one.columns
    below = np.mean(gap[~np.isnan(gap)] <= number.fill[0])
    assert abs(below - 0.5) < 4 * 0.5 / np.sqrt(most)
    assert number.fill[1] == pytest.approx(np.isnan(gap).mean(), rel=1e-12)
    assert date.first == table["when"].min().timestamp()
    assert one == in_memory(table)


def test_decoded_rows_are_encoded_to_the_same_numbers():
    table = mixed(200)
    learned = in_memory(table)
    values = learned.encode(table)
    np.testing.assert_allclose(learned.encode(learned.decode(values)), values, atol=1e-12)
