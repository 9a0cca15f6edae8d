"""Statistics on a cluster of two worker processes: as in memory, whoever dies."""

from __future__ import annotations

import os
import signal
import threading
import time

import joblib
import numpy as np
import pandas as pd
import pytest

from nablasso import DerivativeLasso
from nablasso.errors import (
    DriftWarning,
    InvalidDataError,
    InvalidParameterError,
    NablassoError,
    WorkersTimeoutError,
)
from nablasso.kernels import Anova
from nablasso.progress import reporting, run_jobs
from nablasso.spaces import SufficientStatistics
from tests.frozen_spaces import frozen, rows

distributed = pytest.importorskip("distributed", reason="needs the extra distributed")
array = pytest.importorskip("dask.array", reason="needs the extra distributed")
dataframe = pytest.importorskip("dask.dataframe", reason="needs the extra distributed")

from nablasso.distributed import distributed_statistics  # noqa: E402

NAMES = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def client():
    """Two workers in this process: quick to start."""
    yield from started(processes=False)


@pytest.fixture(scope="module")
def processes():
    """Two workers in processes of their own."""
    yield from started(processes=True, host="127.0.0.1")


def started(**options):
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        silence_logs=50,
        **options,
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as connected:
        yield connected


@pytest.fixture(scope="module")
def data():
    X, y = rows(2000)
    weights = np.arange(2000) % 3 + 0.5
    return X, y, weights, frozen(X[:300], y[:300], feature_names=NAMES)


def assert_same(found, expected):
    for k in range(5):
        one, other = found.fold(k), expected.fold(k)
        np.testing.assert_allclose(one.C, other.C, rtol=0, atol=1e-10 * np.abs(other.C).max())
        np.testing.assert_allclose(one.c, other.c, rtol=0, atol=1e-10 * np.abs(other.c).max())
        assert one.y_variance == pytest.approx(other.y_variance, rel=1e-10)
    assert found.n_samples == expected.n_samples


def worker_pids(client):
    return sorted(client.run(os.getpid).values())


def test_arrays_give_the_statistics_in_memory(client, data):
    X, y, weights, space = data
    lazy_X, lazy_y, lazy_weights = (array.from_array(part, chunks=300) for part in data[:3])
    seen = []
    with reporting(seen.append):
        found = distributed_statistics(
            lazy_X, lazy_y, space, sample_weight=lazy_weights, client=client
        )
    assert_same(found, SufficientStatistics(space).partial_fit(X, y, weights))
    assert [(p.done, p.total) for p in seen] == [(k, 7) for k in range(1, 8)]
    unknown = lazy_X[lazy_y > 100], lazy_y[lazy_y > 100]  # chunks of lengths not known yet
    with client.as_current(), pytest.warns(DriftWarning, match="'a'"):
        part = distributed_statistics(*unknown, space)
    assert_same(part, SufficientStatistics(space).partial_fit(X[y > 100], y[y > 100]))


def test_data_frames_give_the_same_by_the_name_of_the_target(client, data):
    X, y, weights, space = data
    table = pd.DataFrame(X, columns=[*NAMES]).assign(y=y, w=weights)
    lazy = dataframe.from_pandas(table, npartitions=5)
    expected = SufficientStatistics(space).partial_fit(X, y, weights)
    with client.as_current():
        assert_same(distributed_statistics(lazy, "y", space, sample_weight="w"), expected)
        apart = distributed_statistics(lazy[[*NAMES]], lazy["y"], space, sample_weight=lazy["w"])
        assert_same(apart, expected)
        with pytest.raises(InvalidDataError, match="lacks 'd' and has 'e'"):
            distributed_statistics(lazy.rename(columns={"d": "e"}), "y", space, sample_weight="w")
        with pytest.raises(InvalidDataError, match="no column 'z'"):
            distributed_statistics(lazy, "z", space)


def test_nan_is_named_by_partition_row_and_column(client, data):
    X, y, _, space = data
    bad = X.copy()
    bad[900, 2] = np.nan
    lazy = array.from_array(bad, chunks=(400, 2)), array.from_array(y, chunks=150)
    with pytest.raises(InvalidDataError, match=r"Partition 2 contains NaN: row 100 .*'c'"):
        distributed_statistics(*lazy, space, client=client)


def test_tables_in_memory_are_sent_elsewhere(client, data):
    X, y, _, space = data
    with pytest.raises(InvalidParameterError, match="partial_fit"):
        distributed_statistics(X, y, space, client=client)


def test_other_errors_of_a_worker_are_told(client, data):
    X, y, _, space = data

    def fail(block):
        raise RuntimeError("the disk is gone")

    lazy = array.from_array(X, chunks=(500, 4)).map_blocks(fail, dtype=float)
    with pytest.raises(NablassoError, match="RuntimeError: the disk is gone"):
        distributed_statistics(lazy, array.from_array(y, chunks=500), space, client=client)


FREE = threading.Event()


def stuck(block, block_info=None):
    if block_info[0]["chunk-location"][0] == 3:
        FREE.wait(60)
    return block


def test_a_worker_that_never_comes_back_runs_into_the_timeout(client, data):
    X, y, _, space = data
    FREE.clear()
    lazy = array.from_array(X, chunks=(500, 4)).map_blocks(stuck, dtype=float)
    try:
        with pytest.raises(WorkersTimeoutError, match=r"for 2 seconds; [0-3] of 4 .* 2 workers"):
            distributed_statistics(
                lazy, array.from_array(y, chunks=500), space, client=client, timeout=2
            )
    finally:
        FREE.set()


def test_jobs_run_on_the_cluster_through_joblib(client):
    with joblib.parallel_config(backend="dask", client=client):
        assert run_jobs(pow, [(2, 3), (3, 2), (5, 1)], label="powers") == [8, 9, 5]


def slowly(block):
    time.sleep(0.1)
    return block


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_the_pass_changes_nothing(processes, data):
    X, y, _, space = data
    lazy = array.from_array(X, chunks=(100, 4)).map_blocks(slowly, dtype=float)
    lazy_y = array.from_array(y, chunks=100)
    undisturbed = distributed_statistics(lazy, lazy_y, space, client=processes)
    assert_same(undisturbed, SufficientStatistics(space).partial_fit(X, y))
    before = worker_pids(processes)
    assert len(before) == 2
    assert os.getpid() not in before

    def kill(progress):
        if progress.done == 6:
            os.kill(before[0], signal.SIGKILL)

    with reporting(kill):
        found = distributed_statistics(lazy, lazy_y, space, client=processes, timeout=120)
    expected = undisturbed.sums.arrays()
    for name, sums in found.sums.arrays().items():
        np.testing.assert_array_equal(sums, expected[name])  # to the last bit
    processes.wait_for_workers(2, timeout=120)
    assert worker_pids(processes) != before


@pytest.mark.slow
def test_the_support_is_that_of_the_rows_in_memory(processes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(3000)
    model = DerivativeLasso(kernel=Anova(1), n_components=96)
    space = model.freeze(X[:500], y[:500])
    lazy = array.from_array(X, chunks=(700, 3)), array.from_array(y, chunks=700)
    found = distributed_statistics(*lazy, space, client=processes)
    here = SufficientStatistics(space).partial_fit(X, y)
    assert_same(found, here)
    support = model.fit_statistics(found).support_
    assert support.tolist() == [True, True, False, False, False, False]
    assert support.tolist() == model.fit_statistics(here).support_.tolist()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs SIGSTOP")
def test_processes_that_stand_still_run_into_the_timeout(processes, data):
    X, y, _, space = data
    pids = worker_pids(processes)
    lazy = array.from_array(X, chunks=(100, 4)).map_blocks(slowly, dtype=float)
    lazy_y = array.from_array(y, chunks=100)

    def freeze(progress):
        if progress.done == 4:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)

    try:
        with (
            reporting(freeze),
            pytest.raises(WorkersTimeoutError, match=r"nothing for 3 seconds; .* of 20 "),
        ):
            distributed_statistics(lazy, lazy_y, space, client=processes, timeout=3)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
