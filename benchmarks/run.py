"""Run suites: ``python -m benchmarks.run selection --contestants nablasso oracle``.

One CSV row per (contestant, problem, n, seed), appended as it comes to ``results/SUITE.csv``. A
second call does what is missing; ``--fresh`` also what another source of its contestant has made,
row by row: a row goes when the one that replaces it is there. Suites whose tables are absent and
contestants that cannot run here say why and are skipped. Each of the ``--jobs`` processes uses one
thread. Who ran over the ``--limit`` of processor seconds on a problem is not asked again with as
many rows or more. ``all`` names every suite, contestant or problem, ``targeted`` the problems with
targets; ``--list`` shows what there is. ``--quick`` measures a little of each suite, in a folder of
its own.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.contestants import CONTESTANTS
from benchmarks.measure import COLUMNS, KEY, Task
from benchmarks.problem import ALL, Suite
from benchmarks.provenance import record_run
from benchmarks.store import Row, RowStore
from benchmarks.suites import SUITES
from benchmarks.workers import OVER, measured

RESULTS = Path(__file__).parent / "results"
LIMIT, GIB = 1800.0, 8.0
SHOWN = ("exact", "r2", "rmse", "auc", "seconds", "status")


def store_of(suite: str, folder: Path = RESULTS) -> RowStore:
    """Its stored rows."""
    return RowStore(folder / f"{suite}.csv", COLUMNS, KEY)


def tasks(
    suite: Suite,
    contestants: Sequence[str],
    problems: Iterable[str],
    seeds: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
    draws: int | None = None,
) -> list[Task]:
    """All measurements, seeds outermost: an interrupted run has seen every problem."""
    posed = [suite.problems()[name] for name in problems]
    own = [(seeds or problem.seeds or suite.seeds)[:draws] for problem in posed]
    return [
        Task(suite.name, contestant, problem.name, n, numbers[turn])
        for turn in range(max(map(len, own), default=0))
        for problem, numbers in zip(posed, own, strict=True)
        if turn < len(numbers)
        for n in rows or problem.rows
        if n <= problem.most_rows
        for contestant in contestants
    ]


def to_do(wanted: Sequence[Task], store: RowStore, *, fresh: bool = False) -> list[Task]:
    """Tasks without a row; with ``fresh`` also those whose row comes from another source."""
    made = {store.key_of(dict(row)): row["source"] for row in store.rows}

    def missing(task: Task) -> bool:
        stale = fresh and made.get(task.key) != CONTESTANTS[task.contestant].source()
        return task.key not in made or stale

    return [task for task in dict.fromkeys(wanted) if missing(task)]


def within_reach(work: Sequence[Task], store: RowStore) -> Iterator[Task]:
    """Tasks whose contestant has not run over its time on the problem with as many rows."""
    seen, over = 0, dict[tuple[str, str], float]()
    for task in work:
        for row in store.rows[seen:]:
            if row["status"].startswith(OVER):
                asked = row["contestant"], row["problem"]
                over[asked] = min(over.get(asked, float("inf")), _size(int(row["n"])))
        seen = len(store.rows)
        reach = over.get((task.contestant, task.problem))
        if reach is None or _size(task.n) < reach:
            yield task


def _size(n: int) -> float:
    return float("inf") if n == ALL else float(n)


def fill(
    store: RowStore, work: Sequence[Task], jobs: int = 0, limit: float = LIMIT, gib: float = GIB
) -> None:
    """Measure, append, show progress with the time left."""
    start = time.monotonic()
    rows = measured(within_reach(work, store), jobs, limit, gib)
    for done, row in enumerate(rows, start=1):
        store.append(row)
        left = (time.monotonic() - start) / done * (len(work) - done)
        sys.stderr.write(f"{done} of {len(work)}, about {left / 60:.1f} min left: {said(row)}\n")


def said(row: Row) -> str:
    """A row in a line."""
    figures = " ".join(f"{name}={row[name]}" for name in SHOWN if row[name] != "")
    return f"{row['contestant']} {row['problem']} n={row['n']} seed={row['seed']} {figures}"


def able(names: Iterable[str]) -> list[str]:
    """Contestants that can run here; the others are told with their reason."""
    reasons = {name: CONTESTANTS[name].missing() for name in names}
    for name, reason in reasons.items():
        if reason is not None:
            sys.stderr.write(f"skipped {name}: {reason}\n")
    return [name for name, reason in reasons.items() if reason is None]


def seed_range(text: str) -> range:
    """``0:50`` or ``50`` as a range of seeds."""
    first, _, last = text.rpartition(":")
    return range(int(first or 0), int(last))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suites", nargs="*", help="all, or names")
    parser.add_argument("--contestants", nargs="+", help="instead of the suite's own")
    parser.add_argument("--problems", nargs="+", default=["all"])
    parser.add_argument("--rows", nargs="+", type=int, help="instead of each problem's own")
    parser.add_argument("--seeds", type=seed_range, help="FIRST:LAST, instead of the suite's own")
    parser.add_argument("--draws", type=int, help="only so many of each problem's own seeds")
    parser.add_argument("--jobs", type=int, default=1, help="processes; 0 for this one, unlimited")
    parser.add_argument("--limit", type=float, default=LIMIT, help="processor seconds of one fit")
    parser.add_argument("--gib", type=float, default=GIB, help="memory of one process")
    parser.add_argument("--fresh", action="store_true", help="replace rows of another source")
    parser.add_argument("--quick", action="store_true", help="a little of each suite")
    parser.add_argument("--list", action="store_true", help="suites, problems and contestants")
    parser.add_argument("--out", type=Path, help="folder of the rows")
    parser.add_argument("--data", help="folder of real tables (or NABLASSO_DATA)")
    parser.add_argument("--public", help="folder of public suites (or NABLASSO_SUITES)")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    options = parser.parse_args(arguments)
    for variable, folder in (("NABLASSO_DATA", options.data), ("NABLASSO_SUITES", options.public)):
        if folder:
            os.environ[variable] = folder
    if options.list:
        sys.stdout.write(listing())
        return
    out = options.out or (Path(tempfile.mkdtemp(prefix="quick")) if options.quick else RESULTS)
    for name in _named(options.suites, {"all": tuple(SUITES)}, SUITES, parser):
        suite = SUITES[name]
        reason = suite.missing()
        if reason is not None:
            sys.stderr.write(f"skipped the suite {name}: {reason}\n")
            continue
        store = store_of(name, out)
        wanted = _wanted(suite, options, parser)
        work = to_do(wanted, store, fresh=options.fresh)
        sys.stderr.write(f"{name}: {len(wanted)} wanted, {len(work)} to do, rows in {out}\n")
        if work:
            record_run(store.path, arguments)
            fill(store, work, options.jobs, options.limit, options.gib)


def _wanted(
    suite: Suite, options: argparse.Namespace, parser: argparse.ArgumentParser
) -> list[Task]:
    known, quick = suite.problems(), suite.quick
    targeted = tuple(problem.name for problem in known.values() if problem.targets)
    groups = {"all": quick.problems if options.quick else tuple(known), "targeted": targeted}
    problems = _named(options.problems, groups, known, parser)
    usual = quick.contestants if options.quick else suite.contestants
    names = _named(options.contestants or usual, {"all": tuple(CONTESTANTS)}, CONTESTANTS, parser)
    rows = options.rows or (quick.rows if options.quick else None)
    draws = 1 if options.quick else options.draws
    return tasks(suite, able(names), problems, options.seeds, rows, draws)


def listing() -> str:
    """What there is, and how each contestant is tuned."""
    lines = []
    for suite in SUITES.values():
        reason = suite.missing()
        problems = f"skipped: {reason}" if reason else ", ".join(suite.problems())
        lines += [f"{suite.name}: {suite.asks}", f"  problems: {problems}"]
        lines.append(f"  contestants: {', '.join(suite.contestants)}")
    lines += [f"{name}: {contestant.tuning}" for name, contestant in CONTESTANTS.items()]
    return "\n".join([*lines, ""])


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
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that its processes end with it
    main()
