"""A run that was stopped goes on from what it stored, and gives the answer of one that was not."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest

from nablasso import NablassoRegressor
from nablasso.errors import InvalidParameterError
from nablasso.persistence import Store, digest
from nablasso.progress import reporting
from nablasso.search.grown import grow
from nablasso.streaming import open_table
from nablasso.streaming.responses import Response

NAMES = ["a", "b", "c", "d"]


class StopError(Exception):
    """Raised in the middle of a pass."""


@pytest.fixture
def files(tmp_path):
    pytest.importorskip("pyarrow", reason="needs the extra io")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=900)
    folder = tmp_path / "table"
    folder.mkdir()
    table = pd.DataFrame(X, columns=NAMES).assign(y=y)
    for k in range(3):
        table[300 * k : 300 * (k + 1)].to_parquet(folder / f"{k}.parquet", index=False)
    return folder


def passes(search, stop_at=None):
    """Passes that were made, by label; the one of this number is stopped in the middle."""
    seen = []

    def watch(progress):
        if progress.done == 2:
            seen.append(progress.label)
            if len(seen) == stop_at:
                raise StopError

    with reporting(watch):
        result = None
        with contextlib.suppress(StopError):
            result = search()
    return seen, result


def test_a_stopped_search_goes_on(files, tmp_path):
    whole, expected = passes(lambda: grow(open_table(files, "y")))
    assert whole[:2] == ["Sampling", "Codes"]
    kept = tmp_path / "kept"
    made = []
    for stop_at in (1, 1, 2, 4):
        opened = open_table(files, "y", checkpoint=kept)
        seen, result = passes(partial(grow, opened), stop_at)
        assert result is None
        made.append(seen)
    assert made[0] == made[1] == ["Sampling"]  # nothing was done yet
    assert made[2] == ["Sampling", "Codes"]
    assert made[3] == ["Codes", "Sums", "Sums", "Sums"]  # the sample was stored
    seen, found = passes(lambda: grow(open_table(files, "y", checkpoint=kept)))
    assert 0 < len(seen) < len(whole)
    np.testing.assert_array_equal(found.state.coefficients, expected.state.coefficients)
    again, _ = passes(lambda: grow(open_table(files, "y", checkpoint=kept)))
    assert again == []


def test_codes_that_were_made_are_not_made_again(files, tmp_path):
    kept = tmp_path / "kept"
    passes(lambda: grow(open_table(files, "y", checkpoint=kept)), stop_at=2)
    before = {path.name: path.stat().st_mtime_ns for path in kept.glob("codes-*")}
    assert len(before) == 2
    time.sleep(0.01)
    grow(open_table(files, "y", checkpoint=kept))
    after = {path.name: path.stat().st_mtime_ns for path in kept.glob("codes-*")}
    assert len(after) == 3
    assert after.items() >= before.items()


def test_other_parts_have_other_codes(files, tmp_path):
    kept = tmp_path / "kept"
    grow(open_table(files, "y", checkpoint=kept, part_rows=100))
    for path in kept.glob("pass-*"):
        path.unlink()
    found = grow(open_table(files, "y", checkpoint=kept, part_rows=150))
    expected = grow(open_table(files, "y"))
    np.testing.assert_allclose(found.state.coefficients, expected.state.coefficients, atol=1e-10)


@pytest.mark.slow
def test_the_one_call_takes_a_table_with_a_checkpoint(files, tmp_path):
    kept = tmp_path / "kept"
    expected = NablassoRegressor().fit(files, "y")
    X = np.zeros((1, 4))
    for _ in range(2):
        found = NablassoRegressor().fit(open_table(files, "y", checkpoint=kept), None)
        assert found.support_.tolist() == expected.support_.tolist()
        assert found.predict(X) == pytest.approx(expected.predict(X), abs=1e-10)


def test_other_tables_and_damaged_files_are_computed_anew(files, tmp_path):
    kept = tmp_path / "kept"
    first = grow(open_table(files, "y", checkpoint=kept))
    table = pd.read_parquet(files / "1.parquet")
    (2 * table).to_parquet(files / "1.parquet", index=False)
    other = grow(open_table(files, "y", checkpoint=kept))
    assert not np.array_equal(first.state.coefficients, other.state.coefficients)
    for path in kept.glob("pass-*.npz"):
        path.write_bytes(path.read_bytes()[:100])
    again = grow(open_table(files, "y", checkpoint=kept))
    np.testing.assert_array_equal(again.state.coefficients, other.state.coefficients)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidParameterError, match="checkpoint must be a folder"):
        Store(tmp_path / "file")


def test_digests_know_what_is_asked():
    asked = [
        ("a", 1, 2.5, None, True),
        ("a", 1, 2.5, None, False),
        np.arange(3),
        np.arange(3.0),
        np.arange(3)[:, None],
        {"a": 1},
        Response("squares"),
        Response("squares", scale=2.0),
        partial(pow, exp=1),
        partial(pow, exp=2),
    ]
    assert len({digest(one) for one in asked}) == len(asked)
    assert digest(Response("squares", scale=2.0)) == digest(Response("squares", scale=2.0))
    with pytest.raises(TypeError, match="No digest of set"):  # whose order differs by process
        digest({"a", "b"})


def test_a_table_of_words_is_known_in_another_process(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,y\n" + "red,north,x,1\nblue,south,z,2\n" * 20, "utf-8")
    code = "from nablasso.streaming import open_table; "
    code += f"print(open_table({str(path)!r}, 'y').fingerprint)"
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1]
