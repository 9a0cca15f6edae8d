"""Tables that the command reads in blocks: folders, patterns, a scheduler, checkpoints."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow", reason="needs the extra io")


@pytest.fixture
def folder(tmp_path):
    """A table in three files, and the same in one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    table = pd.DataFrame(X, columns=[*"abcd"])
    table["y"] = np.sin(2 * table["a"]) + table["b"] ** 2 + 0.1 * rng.normal(size=120)
    table["sign"] = np.where(table["y"] > table["y"].median(), "high", "low")
    folder = tmp_path / "table"
    folder.mkdir()
    for k in range(3):
        table[40 * k : 40 * (k + 1)].to_parquet(folder / f"{k}.parquet", index=False)
    table.to_parquet(tmp_path / "whole.parquet", index=False)
    return folder


def told(outcome):
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_a_pattern_gives_the_answer_of_one_file(run, folder, tmp_path):
    arguments = ("--target", "y", "--ignore", "sign", "--keep", "c", "--json")
    whole = told(run("select", folder.parent / "whole.parquet", *arguments))
    model = tmp_path / "model.skops"
    blocks = told(run("select", folder / "*.parquet", *arguments, "--save", model))
    assert [v["name"] for v in blocks["selected"]] == [v["name"] for v in whole["selected"]]
    assert blocks["n_rows"] == whole["n_rows"] == 120
    assert blocks["ignored"] == ["sign"]
    assert blocks["answer"] == whole["answer"]
    predicted = run("predict", model, folder.parent / "whole.parquet")
    assert len(predicted.out.splitlines()) == 121


def test_words_and_gaps_are_answered_as_in_one_file(run, folder):
    rng = np.random.default_rng(1)
    whole = pd.read_parquet(folder.parent / "whole.parquet").drop(columns="sign")
    whole["word"] = rng.choice(["red", "blue"], 120)
    whole["level"] = rng.integers(0, 3, 120)
    whole.loc[rng.random(120) < 0.3, "c"] = np.nan
    whole["y"] += 2 * (whole["word"] == "red") + 2 * (whole["level"] == 1) + whole["c"].isna()
    whole.to_parquet(folder.parent / "whole.parquet", index=False)
    for k in range(3):
        whole[40 * k : 40 * (k + 1)].to_parquet(folder / f"{k}.parquet", index=False)
    arguments = ("--target", "y", "--category", "level", "--json")
    one = told(run("select", folder.parent / "whole.parquet", *arguments))
    blocks = told(run("select", folder, *arguments))
    assert blocks["selected"] == one["selected"]
    assert {"word", "level"} <= {v["name"] for v in blocks["selected"]}
    assert blocks["answer"] == one["answer"]
    assert blocks["rows"] == one["rows"]


def test_labels_are_found_in_a_folder(run, folder):
    found = told(run("select", folder, "--target", "sign", "--ignore", "y", "--json"))
    assert found["task"] == "classification"
    assert sum(found["classes"].values()) == 120
    assert set(found["classes"]) == {"high", "low"}


def test_a_checkpoint_is_taken_up(run, folder, tmp_path):
    kept = tmp_path / "kept"
    arguments = ("select", folder, "--target", "y", "--ignore", "sign", "--checkpoint", kept)
    first = told(run(*arguments, "--json"))
    assert list(kept.glob("pass-*.npz"))
    assert told(run(*arguments, "--json"))["selected"] == first["selected"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--missing", "drop"], "--missing drop"),
        (["--sample", "50"], "--sample"),
    ],
)
def test_what_needs_the_whole_table_is_refused(run, folder, options, named):
    found = run("select", folder, "--target", "y", "--ignore", "sign", *options)
    assert found.code == 1
    assert f"{named} needs the whole table in memory" in found.message


def test_bad_files_are_named(run, folder):
    (folder / "1.parquet").unlink()
    found = run("select", folder, "--target", "y", "--ignore", "sign")
    assert found.code == 1
    assert "1.parquet is missing" in found.message
    found = run("select", folder / "*.csv", "--target", "y")
    assert "No files to read in" in found.message
    found = run("select", folder, "--target", "y", "--dask", "tcp://127.0.0.1:1")
    assert found.code == 1
    assert "--dask must be the address of a scheduler" in found.message


def test_the_workers_of_a_scheduler_read_the_files(run, folder):
    distributed = pytest.importorskip("distributed", reason="needs the extra distributed")
    arguments = ("select", folder, "--target", "y", "--ignore", "sign", "--json")
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        protocol="tcp",
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    ) as cluster:
        there = told(run(*arguments, "--dask", cluster.scheduler_address))
    here = told(run(*arguments))
    assert there["selected"] == here["selected"]
