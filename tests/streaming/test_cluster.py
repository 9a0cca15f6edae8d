"""Tables on a cluster: as in memory for any number of workers, whoever dies."""

from __future__ import annotations

import os
import signal
import threading
import time

import joblib
import numpy as np
import pandas as pd
import pytest

from nablasso import NablassoRegressor
from nablasso.errors import InvalidDataError, NablassoError, WorkersTimeoutError
from nablasso.progress import reporting, run_jobs
from nablasso.search.grown import grow
from nablasso.streaming import fair_sample, open_table
from nablasso.streaming.sample import encoded
from nablasso.streaming.sources import Arrays

distributed = pytest.importorskip("distributed", reason="needs the extra distributed")
array = pytest.importorskip("dask.array", reason="needs the extra distributed")
dataframe = pytest.importorskip("dask.dataframe", reason="needs the extra distributed")

NAMES = ["a", "b", "c", "d"]


def started(n_workers=2, **options):
    cluster = distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        silence_logs=50,
        **options,
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as connected:
        yield connected


@pytest.fixture(scope="module")
def client():
    """Two workers in this process: quick to start."""
    yield from started(processes=False)


@pytest.fixture(scope="module")
def processes():
    """Two workers in processes of their own."""
    yield from started(processes=True, host="127.0.0.1")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=2000)
    return X, y, grow(Arrays(X, y))


def table(data):
    return pd.DataFrame(data[0], columns=NAMES).assign(y=data[1])


def assert_same(found, expected):
    assert found.columns == expected.columns
    np.testing.assert_allclose(
        found.state.coefficients, expected.state.coefficients, rtol=0, atol=1e-8
    )


def worker_pids(client):
    return sorted(client.run(os.getpid).values())


def test_collections_and_files_give_the_answer_in_memory(client, data, tmp_path):
    X, y, expected = data
    lazy = array.from_array(X, chunks=(300, 3)), array.from_array(y, chunks=700)
    assert_same(grow(open_table(*lazy, client=client)), expected)
    lazy = lazy[0], lazy[1].rechunk(300)
    unknown = lazy[0][lazy[1] > -9], lazy[1][lazy[1] > -9]  # chunks of lengths not known yet
    assert_same(grow(open_table(*unknown, client=client)), expected)
    frame = dataframe.from_pandas(table(data), npartitions=5)
    with client.as_current():
        assert_same(grow(open_table(frame, "y")), expected)
        assert_same(grow(open_table(frame[NAMES], frame["y"])), expected)
    hollow = dataframe.concat([frame.partitions[0].query("a > 99"), frame])  # an empty partition
    assert_same(grow(open_table(hollow, "y", client=client)), expected)
    table(data).to_parquet(tmp_path / "t.parquet", row_group_size=300, index=False)
    files = open_table(tmp_path, "y", part_rows=300, client=client)
    assert len(files.parts) == 7
    assert_same(grow(files), expected)


@pytest.mark.slow
def test_the_one_call_uses_the_current_client(client, data):
    rows = table(data)[:900]
    seen = []
    with client.as_current(), reporting(seen.append):
        found = NablassoRegressor().fit(dataframe.from_pandas(rows, npartitions=3), "y")
    assert ("Codes", 3, 3) in {(p.label, p.done, p.total) for p in seen}
    expected = NablassoRegressor().fit(rows[NAMES], rows["y"])
    assert found.support_.tolist() == expected.support_.tolist()
    np.testing.assert_allclose(found.predict(rows[NAMES]), expected.predict(rows[NAMES]), atol=1e-8)


def test_a_table_of_one_part_is_read(client, data):
    X, y, _ = data
    frame = pd.DataFrame(X[:60], columns=NAMES).assign(y=np.where(y[:60] > 0, "high", "low"))
    table = open_table(dataframe.from_pandas(frame, npartitions=1), "y", client=client)
    assert table.labels()[0].tolist() == ["high", "low"]
    numbers = open_table(array.from_array(X[:60], chunks=(60, 4)), y[:60], client=client)
    assert len(fair_sample(numbers, 100).y) == 60


def test_labels_are_read_without_the_inputs(client, data):
    X, y, _ = data
    read = []
    inputs = array.from_array(X[:80], chunks=(20, 4)).map_blocks(
        lambda block: read.append(len(block)) or block, dtype=float, meta=np.empty((0, 4))
    )
    labels = array.from_array((y[:80] > 0).astype(float), chunks=20)
    assert open_table(inputs, labels, client=client).labels()[0].tolist() == [0.0, 1.0]
    assert read == []


def test_bad_partitions_are_named(client, data):
    X, y, _ = data
    bad = X.copy()
    bad[900, 2] = np.nan
    lazy = array.from_array(bad, chunks=(400, 2)), array.from_array(y, chunks=150)
    with pytest.raises(InvalidDataError, match=r"Partition 2 contains NaN: row 100 .*'x2'"):
        fair_sample(open_table(*lazy, client=client), 10)
    text = table(data).assign(c="seven")
    frame = dataframe.from_pandas(text, npartitions=2)
    with pytest.raises(InvalidDataError, match=r"Partition \d must hold numbers; column 'c'"):
        fair_sample(open_table(frame, "y", client=client), 10)
    assert encoded(open_table(frame, "y", client=client)).names == ("a", "b", "d")
    with pytest.raises(InvalidDataError, match="no column 'z'"):
        open_table(frame, "z", client=client)
    with pytest.raises(InvalidDataError, match="the same partitions; got 2, 3"):
        open_table(frame[NAMES], dataframe.from_pandas(text, npartitions=3)["y"], client=client)
    none = frame.query("a > 99")
    with pytest.raises(InvalidDataError, match="has no rows"):
        fair_sample(open_table(none, "y", ignore=["b", "c"], client=client), 10)


def test_a_file_that_a_worker_does_not_find_is_named(client, data, tmp_path):
    for k in range(3):
        table(data).to_parquet(tmp_path / f"{k}.parquet", index=False)
    frame = dataframe.read_parquet(tmp_path)
    files = open_table(tmp_path, "y", client=client)
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(InvalidDataError, match=r"1.parquet cannot be read"):
        fair_sample(files, 10)
    with pytest.raises(NablassoError, match=r"could not be computed: .*1.parquet"):
        fair_sample(open_table(frame, "y", client=client), 10)


def test_other_errors_of_a_worker_are_told(client, data):
    def fail(block):
        raise RuntimeError("the disk is gone")

    X, y, _ = data
    lazy = array.from_array(X, chunks=(500, 4)).map_blocks(fail, dtype=float)
    with pytest.raises(NablassoError, match="RuntimeError: the disk is gone"):
        fair_sample(open_table(lazy, array.from_array(y, chunks=500), client=client), 10)


FREE = threading.Event()


def stuck(block, block_info=None):
    if block_info[0]["chunk-location"][0] == 3:
        FREE.wait(60)
    return block


def test_a_worker_that_never_comes_back_runs_into_the_timeout(client, data):
    X, y, _ = data
    FREE.clear()
    lazy = array.from_array(X, chunks=(500, 4)).map_blocks(stuck, dtype=float)
    source = open_table(lazy, array.from_array(y, chunks=500), client=client, timeout=2)
    try:
        with pytest.raises(WorkersTimeoutError, match=r"for 2 seconds; [0-3] of 4 .* 2 workers"):
            fair_sample(source, 10)
    finally:
        FREE.set()


def test_jobs_run_on_the_cluster_through_joblib(client):
    with joblib.parallel_config(backend="dask", client=client):
        assert list(run_jobs(pow, [(2, 3), (3, 2), (5, 1)], label="powers")) == [8, 9, 5]


def slowly(block):
    time.sleep(0.05)
    return block


@pytest.mark.slow
@pytest.mark.parametrize("when", ["Sampling", "Codes", "Sums"])
def test_a_worker_killed_in_the_middle_changes_nothing(processes, data, when):
    X, y, expected = data
    lazy = array.from_array(X, chunks=(100, 4)).map_blocks(slowly, dtype=float)
    lazy_y = array.from_array(y, chunks=100)
    undisturbed = grow(open_table(lazy, lazy_y, client=processes))
    assert_same(undisturbed, expected)
    processes.wait_for_workers(2, timeout=120)
    before = worker_pids(processes)
    assert len(before) == 2
    assert os.getpid() not in before
    killed = []

    def kill(progress):
        if progress.label == when and progress.done == 6 and not killed:
            killed.append(before[0])
            os.kill(before[0], signal.SIGKILL)

    with reporting(kill):
        found = grow(open_table(lazy, lazy_y, client=processes, timeout=120))
    assert killed
    assert found.columns == undisturbed.columns
    np.testing.assert_array_equal(  # to the last bit
        found.state.coefficients, undisturbed.state.coefficients
    )
    processes.wait_for_workers(2, timeout=120)
    assert worker_pids(processes) != before


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_processes_that_stand_still_run_into_the_timeout(processes, data):
    X, y, _ = data
    pids = worker_pids(processes)
    lazy = array.from_array(X, chunks=(100, 4)).map_blocks(slowly, dtype=float)
    source = open_table(lazy, array.from_array(y, chunks=100), client=processes, timeout=3)

    def freeze(progress):
        if progress.done == 4:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)

    try:
        with (
            reporting(freeze),
            pytest.raises(WorkersTimeoutError, match=r"nothing for 3 seconds; .* of 20 "),
        ):
            fair_sample(source, 10)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
