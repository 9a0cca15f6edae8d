"""Run the benchmark: ``python -m benchmarks.selection.run --contestants nablasso oracle``.

One CSV row per (contestant, problem, n, seed), appended as it comes. A second call skips the rows
present; ``--fresh`` measures them again. Contestants that cannot run here say why and are skipped.
Each process uses one BLAS thread; ``--jobs`` processes share the tasks. ``--contestants all`` and
``--problems all`` name everything, ``--problems targeted`` those with targets.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from benchmarks.provenance import record_run
from benchmarks.selection.contestants import CONTESTANTS
from benchmarks.selection.measure import COLUMNS, KEY, Task, measure
from benchmarks.selection.problems import PROBLEMS, TARGETED
from benchmarks.store import Row, RowStore

ROWS = Path(__file__).parent / "results" / "rows.csv"


def tasks(
    contestants: Iterable[str],
    problems: Iterable[str],
    seeds: Iterable[int],
    rows: Sequence[int] | None = None,
) -> list[Task]:
    """All measurements, seeds outermost: an interrupted run has seen every problem."""
    names, posed = list(contestants), list(problems)
    return [
        Task(contestant, problem, n, seed)
        for seed in seeds
        for problem in posed
        for n in (rows or PROBLEMS[problem].rows)
        for contestant in names
    ]


def to_do(wanted: Sequence[Task], store: RowStore, *, fresh: bool = False) -> list[Task]:
    """Tasks without a row; with ``fresh`` their rows are forgotten first."""
    if fresh:
        store.forget({task.key for task in wanted})
    present = store.keys()
    return [task for task in dict.fromkeys(wanted) if task.key not in present]


def measured(work: Sequence[Task], jobs: int) -> Iterator[Row]:
    """Rows in the order in which they are ready."""
    if jobs == 1:
        yield from map(measure, work)
        return
    # a fresh interpreter per worker: forked thread pools can hang
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = iter(work)
        running = {pool.submit(measure, task) for task in islice(waiting, 2 * jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(measure, task) for task in islice(waiting, len(done))}
            for future in done:
                yield future.result()


def fill(store: RowStore, work: Sequence[Task], jobs: int) -> None:
    """Measure, append, show progress with the time left."""
    start = time.monotonic()
    for done, row in enumerate(measured(work, jobs), start=1):
        store.append(row)
        left = (time.monotonic() - start) / done * (len(work) - done)
        sys.stderr.write(
            f"{done} of {len(work)}, about {left / 60:.1f} min left: {row['contestant']} "
            f"{row['problem']} n={row['n']} seed={row['seed']} exact={row['exact']} "
            f"rmse={row['rmse']} {row['seconds']} s {row['status']}\n"
        )


def able(names: Iterable[str]) -> list[str]:
    """Those that can run here; the others are told with their reason."""
    found = []
    for name in names:
        reason = CONTESTANTS[name].missing()
        if reason is None:
            found.append(name)
        else:
            sys.stderr.write(f"skipped {name}: {reason}\n")
    return found


def seed_range(text: str) -> range:
    """``0:50`` or ``50`` as a range of seeds."""
    first, _, last = text.rpartition(":")
    return range(int(first or 0), int(last))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contestants", nargs="+", default=["nablasso", "oracle"])
    parser.add_argument("--problems", nargs="+", default=["targeted"])
    parser.add_argument("--rows", nargs="+", type=int, help="instead of each problem's own")
    parser.add_argument("--seeds", type=seed_range, default=range(50), help="FIRST:LAST, as 0:50")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="measure rows present again")
    parser.add_argument("--out", type=Path, default=ROWS)
    options = parser.parse_args(arguments)
    names = _named(options.contestants, {"all": tuple(CONTESTANTS)}, CONTESTANTS, parser)
    groups = {"all": tuple(PROBLEMS), "targeted": TARGETED}
    problems = _named(options.problems, groups, PROBLEMS, parser)
    store = RowStore(options.out, COLUMNS, KEY)
    wanted = tasks(able(names), problems, options.seeds, options.rows)
    work = to_do(wanted, store, fresh=options.fresh)
    sys.stderr.write(f"{len(wanted)} wanted, {len(work)} to do\n")
    if work:
        record_run(store.path, arguments)
        fill(store, work, options.jobs)


def _named(
    given: Sequence[str],
    groups: dict[str, tuple[str, ...]],
    known: Iterable[str],
    parser: argparse.ArgumentParser,
) -> list[str]:
    """Expand group names; an unknown name lists the known ones."""
    names = [name for word in given for name in groups.get(word, (word,))]
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(known)}")
    return list(dict.fromkeys(names))


if __name__ == "__main__":
    main()
