"""Tables in blocks: ``python -m benchmarks.scale.blocks agreement large --gigabytes 20``.

``agreement``: the same table by ``NablassoRegressor`` from memory, from Parquet files, and from
the workers of a cluster of processes (1, 2 and 4 of them; 2 with one killed in the middle), each
against memory: whether the support is the same, and the largest difference of a coefficient.

``large``: a table of generated Parquet files on two workers with 2 GiB each, and the first gigabyte
of it in memory: processor time per row, that of the client and of the workers added up, and the
ratio of both. Processes of a cluster use a few per cent of a processor while they wait
(``idle_share``, measured before the fit), which counts where other work keeps them waiting. The
files are deleted afterwards.

Rows go to ``results/blocks.csv`` one by one; a second call goes on where the first stopped,
``--fresh`` starts anew.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.provenance import digest, record_run
from benchmarks.store import Row, RowStore
from nablasso import NablassoRegressor
from nablasso.progress import Progress, reporting
from nablasso.search.grown import Grown
from nablasso.streaming import open_table
from nablasso.streaming.files import PART_ROWS
from nablasso.types import Array

RESULTS = Path(__file__).parent / "results"
KEY = ("question", "source", "workers", "killed", "n", "d")
MEASURED = (
    *("digest", "exact", "same_support", "difference", "seconds", "cpu_seconds"),
    *("cpu_us_per_row", "ratio_to_memory", "worker_peak_mb", "idle_share", "passes"),
)
N_FEATURES = 50
IN_MEMORY = 2_500_000  # rows of the large table that are fitted in memory: a gigabyte
FILE_ROWS = 1 << 19
PARTS = 16  # of the smaller table, so that there is something to merge
SUPPORT = (0, 1, 2, 3, 4, 5)
LIMIT = "2GiB"


class Case(NamedTuple):
    """What is measured once."""

    question: str
    source: str
    workers: int
    killed: int
    n: int
    d: int = N_FEATURES


def drawn(number: int, rows: int, d: int) -> tuple[Array, Array]:
    """Some rows of the table: curves, a pair without main effects, weak lines, noise."""
    rng = np.random.default_rng((7, number))
    X = rng.standard_normal((rows, d))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.4 * X[:, 3] ** 2
    f += 0.2 * X[:, 4] + 0.1 * np.abs(X[:, 5])
    return X, f + rng.standard_normal(rows)


def files_of(n: int) -> Iterator[tuple[int, int]]:
    """Number and rows of every file."""
    for number, start in enumerate(range(0, n, FILE_ROWS)):
        yield number, min(FILE_ROWS, n - start)


def in_memory(n: int, d: int) -> tuple[Array, Array]:
    """The first rows of the table."""
    parts = [drawn(number, rows, d) for number, rows in files_of(n)]
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    return X, y


def part_rows(n: int) -> int:
    """Rows of a part."""
    return min(PART_ROWS, n // PARTS)


def write_files(folder: Path, n: int, d: int) -> None:
    """The table as Parquet files; those that are there stay."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, rows in files_of(n):
        path = folder / f"part-{number:04d}.parquet"
        if path.exists():
            continue
        X, y = drawn(number, rows, d)
        columns = {f"x{j}": X[:, j] for j in range(d)} | {"y": y}
        beside = path.with_suffix(".new")
        groups = part_rows(n) // 2
        pq.write_table(pa.table(columns), beside, row_group_size=groups, use_dictionary=False)
        beside.rename(path)


@contextmanager
def cluster_of(workers: int, folder: Path) -> Iterator[Any]:
    """A client of processes on this machine."""
    import dask
    import distributed

    quiet = {"distributed.worker.profile.enabled": False}  # it samples the stacks of the workers
    options: dict[str, Any] = {
        "n_workers": workers,
        "threads_per_worker": 1,
        "memory_limit": LIMIT,
        "host": "127.0.0.1",
        "dashboard_address": None,
        "local_directory": str(folder / "workers"),
        "silence_logs": 50,
    }
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _cpu() -> float:
    return time.process_time()


def _peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def killer(client: Any, killed: list[int]) -> Any:
    """A reporter that kills a worker in the second pass over the codes, and keeps its number."""
    seen = {"passes": 0}

    def watch(progress: Progress) -> None:
        seen["passes"] += progress.label == "Sums" and progress.done == 1
        if seen["passes"] == 2 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    return watch


class Cost(NamedTuple):
    """A model, and what it took."""

    model: NablassoRegressor
    seconds: float
    cpu: float  # seconds of all processes
    peak: float = float("nan")  # of a worker, in MB
    idle: float = float("nan")  # processors that waiting processes use


def _idle(client: Any, seconds: float = 5.0) -> float:
    before = sum(client.run(_cpu).values()) + time.process_time()
    time.sleep(seconds)
    return (sum(client.run(_cpu).values()) + time.process_time() - before) / seconds


def fitted(case: Case, folder: Path) -> Cost:
    """Fit once."""
    model = NablassoRegressor()
    pattern = str(folder / "part-*.parquet")
    start, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if case.source == "memory":
            X, y = in_memory(case.n, case.d)
            start, cpu = time.perf_counter(), time.process_time()
            model.fit(X, y)
        elif case.source == "parquet":
            model.fit(open_table(pattern, "y", part_rows=part_rows(case.n)), None)
        else:
            with cluster_of(case.workers, folder) as client:
                idle = _idle(client)
                before = sum(client.run(_cpu).values())
                start, cpu = time.perf_counter(), time.process_time()
                killed = list[int]()
                with reporting(killer(client, killed) if case.killed else lambda _: None):
                    size = part_rows(case.n)
                    model.fit(open_table(pattern, "y", client=client, part_rows=size), None)
                if len(killed) != case.killed:
                    raise RuntimeError(f"{case.killed} workers were to be killed, {killed} were")
                seconds, own = time.perf_counter() - start, time.process_time() - cpu
                workers = sum(client.run(_cpu).values()) - before
                peak = max(client.run(_peak).values())
            used = float("nan") if case.killed else own + workers
            return Cost(model, seconds, used, peak, idle)
    return Cost(model, time.perf_counter() - start, time.process_time() - cpu)


def grown(model: Any) -> Grown:
    """The terms that all rows decided."""
    (found,) = [part for part in model._functions[0].parts if isinstance(part, Grown)]
    return found


def measured(case: Case, folder: Path, reference: Any, memory_us: float) -> tuple[Row, Any]:
    """One fit, against the one in memory."""
    model, seconds, cpu, peak, idle = fitted(case, folder)
    same, difference = "", ""
    if reference is not None:
        same = str(int(np.array_equal(model.support_, reference.support_)))
        a, b = (grown(one).state.coefficients for one in (model, reference))
        difference = f"{np.abs(a - b).max():.2e}" if a.shape == b.shape else "inf"
    per_row = 1e6 * cpu / case.n
    expected = np.isin(np.arange(case.d), SUPPORT)
    row: Row = {
        **case._asdict(),
        "digest": digest(),
        "exact": int(np.array_equal(model.support_, expected)),
        "same_support": same,
        "difference": difference,
        "seconds": f"{seconds:.1f}",
        "cpu_seconds": f"{cpu:.1f}",
        "cpu_us_per_row": f"{per_row:.2f}",
        "ratio_to_memory": f"{per_row / memory_us:.2f}" if memory_us > 0 else "",
        "worker_peak_mb": f"{peak:.0f}",
        "idle_share": f"{idle:.3f}",
        "passes": grown(model).passes,
    }
    return row, model


def cases(question: str, rows: int, gigabytes: float) -> list[Case]:
    """What a question asks for, memory first."""
    if question == "agreement":
        found = [("memory", 0, 0), ("parquet", 0, 0), ("dask", 1, 0), ("dask", 2, 0)]
        found += [("dask", 4, 0), ("dask", 2, 1)]
        return [Case(question, *one, rows) for one in found]
    n = int(gigabytes * 1e9 / (8 * (N_FEATURES + 1)))
    return [
        Case(question, "memory", 0, 0, min(n, IN_MEMORY)),
        Case(question, "dask", 2, 0, n),
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="*", default=["agreement"])
    parser.add_argument("--rows", type=int, default=200_000, help="of the agreement")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of the large table")
    parser.add_argument("--folder", type=Path, default=None, help="for the files")
    parser.add_argument("--fresh", action="store_true", help="measure rows present again")
    parser.add_argument("--out", type=Path, default=RESULTS / "blocks.csv")
    options = parser.parse_args(arguments)
    store = RowStore(options.out, (*KEY, *MEASURED), KEY)
    for question in options.questions:
        wanted = cases(question, options.rows, options.gigabytes)
        if options.fresh:
            store.forget({tuple(map(str, case)) for case in wanted})
        if all(tuple(map(str, case)) in store for case in wanted):
            continue
        record_run(store.path, arguments)
        folder = Path(tempfile.mkdtemp(prefix="blocks-", dir=options.folder))
        try:
            write_files(folder, max(case.n for case in wanted), N_FEATURES)
            _ask(wanted, folder, store)
        finally:
            shutil.rmtree(folder)


def _ask(wanted: Sequence[Case], folder: Path, store: RowStore) -> None:
    reference, memory_us = None, 0.0
    for case in wanted:
        done = tuple(map(str, case)) in store
        if done and (case.source != "memory" or case.question == "large"):
            continue
        row, model = measured(case, folder, reference, memory_us)
        if case.source == "memory":
            memory_us = float(str(row["cpu_us_per_row"]))
            reference = model if case.question == "agreement" else None
        if not done:
            store.append(row)
            sys.stderr.write(f"{row}\n")


if __name__ == "__main__":
    main()
