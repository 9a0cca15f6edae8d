"""One pass over a source: all rows, progress, checkpoints, and errors that say where."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest

from nablasso.errors import DriftWarning, InvalidDataError, StatisticsFileError
from nablasso.progress import reporting
from nablasso.streaming import SufficientStatistics, collect_statistics, collection, open_table
from nablasso.streaming.sources import Arrays
from tests.frozen_spaces import frozen, rows


class StopError(Exception):
    """Raised by a source that breaks off."""


class Breaking:
    """A part that calls ``event`` before its block, and notes that it was read."""

    def __init__(self, part, number, source):
        self.part, self.number, self.source, self.n_rows = part, number, source, part.n_rows

    def blocks(self):
        self.source.read.append(self.number)
        if self.number == self.source.before:
            self.source.event()
        yield from self.part.blocks()


def breaking(X, y, *, rows=60, before, event):
    source = Arrays(X, y, rows=rows)
    source.before, source.event, source.read = before, event, []
    source.parts = [Breaking(part, k, source) for k, part in enumerate(source.parts)]
    return source


def stop():
    raise StopError


def sums_equal(a, b):
    return all(np.array_equal(x, b.sums.arrays()[name]) for name, x in a.sums.arrays().items())


@pytest.fixture
def data():
    X, y = rows(500)
    return X, y, frozen(X[:200], y[:200])


def test_a_pass_gives_the_statistics_of_all_rows_with_progress(data):
    X, y, space = data
    seen = []
    with reporting(seen.append):
        found = collect_statistics(Arrays(X, y, rows=60), space)
    whole = SufficientStatistics(space).partial_fit(X, y)
    np.testing.assert_allclose(found.total().C, whole.total().C, atol=1e-13)
    assert found.n_samples == 500
    assert [(p.done, p.total) for p in seen] == [(k, 9) for k in range(1, 10)]


def test_a_pass_that_broke_off_continues_to_the_last_bit(data, tmp_path):
    X, y, space = data
    checkpoint = tmp_path / "pass.npz"
    source = breaking(X, y, before=4, event=stop)
    with pytest.raises(StopError):
        collect_statistics(source, space, checkpoint=checkpoint)
    assert SufficientStatistics.load(checkpoint).n_samples == 240
    source.before = -1
    found = collect_statistics(source, space, checkpoint=checkpoint)
    assert source.read == [0, 1, 2, 3, 4, 4, 5, 6, 7, 8]
    assert sums_equal(found, collect_statistics(Arrays(X, y, rows=60), space))
    again = collect_statistics(source, space, checkpoint=checkpoint)
    assert len(source.read) == 10
    assert sums_equal(found, again)


def test_an_interrupt_waits_for_the_chunk_and_loses_nothing(data, tmp_path):
    X, y, space = data
    checkpoint = tmp_path / "pass.npz"
    handler = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        source = breaking(X, y, before=2, event=lambda: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            collect_statistics(source, space, checkpoint=checkpoint)
        assert SufficientStatistics.load(checkpoint).n_samples == 180  # the chunk at hand is in
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)


def test_a_second_interrupt_stops_at_once(data):
    X, y, space = data

    def twice():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            collect_statistics(breaking(X, y, before=0, event=twice), space)
    finally:
        signal.signal(signal.SIGINT, handler)


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs a process to kill"
)
def test_a_killed_pass_continues_from_its_checkpoint(data, tmp_path):
    X, y, space = data
    checkpoint = tmp_path / "pass.npz"
    process = multiprocessing.get_context("fork").Process(
        target=collect_statistics,
        args=(breaking(X, y, rows=5, before=10, event=signal.pause), space),
        kwargs={"checkpoint": checkpoint, "every": 0.0, "n_threads": 1},
    )
    process.start()
    while not checkpoint.exists() and process.is_alive():
        time.sleep(0.005)
    process.kill()
    process.join()
    done = SufficientStatistics.load(checkpoint, space).n_samples
    assert 0 < done <= 50
    found = collect_statistics(Arrays(X, y, rows=5), space, checkpoint=checkpoint)
    assert sums_equal(found, collect_statistics(Arrays(X, y, rows=5), space))


def test_checkpoints_of_other_work_are_refused(data, tmp_path):
    X, y, space = data
    path = tmp_path / "pass.npz"
    collect_statistics(Arrays(X, y), space, checkpoint=path)
    with pytest.raises(StatisticsFileError, match="made from other files"):
        collect_statistics(Arrays(X + 1, y), space, checkpoint=path)
    with pytest.raises(StatisticsFileError, match="has 5 folds, not 3"):
        collect_statistics(Arrays(X, y), space, checkpoint=path, n_folds=3)
    with pytest.raises(StatisticsFileError, match="another space"):
        collect_statistics(Arrays(X, y), frozen(X, y, seed=9), checkpoint=path)
    SufficientStatistics(space).partial_fit(X, y).save(path)
    with pytest.raises(StatisticsFileError, match="no checkpoint of a pass"):
        collect_statistics(Arrays(X, y), space, checkpoint=path)


def test_a_checkpoint_cut_off_is_refused_and_a_failed_write_keeps_the_old_one(
    data, tmp_path, monkeypatch
):
    X, y, space = data
    path = tmp_path / "pass.npz"
    with pytest.raises(StopError):
        collect_statistics(breaking(X, y, before=3, event=stop), space, checkpoint=path)
    content = path.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("nablasso.streaming.statistics.os.fsync", full_disk)
        with pytest.raises(OSError, match="No space left"):
            collect_statistics(Arrays(X, y, rows=60), space, checkpoint=path)
    assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["pass.npz"]
    path.write_bytes(content[: len(content) // 3])
    with pytest.raises(StatisticsFileError, match="cut off or damaged"):
        collect_statistics(Arrays(X, y, rows=60), space, checkpoint=path)


def test_nan_in_chunk_37_is_named_by_file_row_and_column(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = rows(1000)
    names = ("age", "height", "weight", "pulse")
    space = frozen(X, y, feature_names=names)
    table = pd.DataFrame(X, columns=[*names]).assign(y=y)
    table.loc[749, "weight"] = np.nan  # chunks of 20 rows: chunk 37 of the table
    table[:600].to_parquet(tmp_path / "part-0.parquet", index=False)
    table[600:].to_parquet(tmp_path / "part-1.parquet", index=False)
    source = open_table(tmp_path, "y", part_rows=20)
    with pytest.raises(InvalidDataError, match=r"part-1.parquet .*NaN: row 149 .*'weight'"):
        collect_statistics(source, space)


def test_a_chunk_that_was_refused_is_not_counted(data, tmp_path):
    X, y, space = data
    bad = X.copy()
    bad[130, 0] = np.nan
    with pytest.raises(InvalidDataError, match="row 130"):
        collect_statistics(Arrays(bad, y, rows=60), space, checkpoint=tmp_path / "pass.npz")
    found, notes = SufficientStatistics.load_with_notes(tmp_path / "pass.npz")
    assert found.n_samples == notes["rows"] == 120


def test_columns_of_the_source_must_be_those_of_the_space():
    X, y = rows(100)
    space = frozen(X, y, feature_names=("a", "b", "c", "d"))
    with pytest.raises(InvalidDataError, match="The source lacks 'd' and has 'e' besides"):
        collect_statistics(Arrays(X, y, names=[*"abce"]), space)
    with pytest.raises(InvalidDataError, match="no rows of positive weight"):
        collect_statistics(Arrays(X, y, np.zeros(100)), space)


def test_a_pass_warns_of_drift():
    X, y = rows(500)
    with pytest.warns(DriftWarning, match="'x2'"):
        collect_statistics(Arrays(X + np.array([0, 0, 100, 0]), y), frozen(X, y))


def test_interrupts_are_left_alone_where_another_handler_is():
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with collection._interrupts_deferred() as interrupted:
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            assert not interrupted()
    finally:
        signal.signal(signal.SIGINT, handler)
