"""Run the benchmark: ``python -m benchmarks.hierarchy.run recovery memory cost``.

Rows go to ``results/`` one by one; a second call goes on where the first stopped, ``--fresh``
starts anew. All on one thread. Plot: ``python -m benchmarks.growth``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from threadpoolctl import threadpool_limits

from benchmarks.hierarchy import cost, recovery
from benchmarks.provenance import record_run
from benchmarks.store import RowStore
from benchmarks.unit import SIZE

RESULTS = Path(__file__).parent / "results"
QUESTIONS = ("recovery", "memory", "cost")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="*", default=list(QUESTIONS))
    parser.add_argument("--p", type=int, default=256)
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--size", type=int, default=SIZE, help="of the matrix that defines E")
    parser.add_argument("--fresh", action="store_true", help="measure rows present again")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    with threadpool_limits(1):
        for question in options.questions:
            path = options.out / f"{question}.csv"
            if options.fresh:
                path.unlink(missing_ok=True)
            ASK[question](path, options)
            record_run(path, arguments)


def ask_recovery(path: Path, options: argparse.Namespace) -> None:
    """Paths that are not there yet."""
    store = RowStore(path, recovery.COLUMNS, recovery.KEY)
    present = {store.key_of(dict(row))[:-1] for row in store.rows}
    for setting in recovery.settings(options.p, options.n, range(options.seeds)):
        if tuple(map(str, setting)) in present:
            continue
        for row in recovery.rows(setting, options.size):
            store.append(row)
        sys.stderr.write(f"{setting}: {row['path_in_E']} E\n")


def ask_memory(path: Path, options: argparse.Namespace) -> None:
    """One peak per design."""
    store = RowStore(path, recovery.MEMORY_COLUMNS, recovery.MEMORY_KEY)
    for setting in recovery.settings(options.p, options.n, range(1)):
        if setting.product == 1.0 and tuple(map(str, setting)) not in store:
            store.append(recovery.memory(setting))


def ask_cost(path: Path, options: argparse.Namespace) -> None:
    """The sweeps."""
    store = RowStore(path, cost.COLUMNS, cost.KEY)
    for setting in cost.settings(range(options.seeds)):
        if tuple(map(str, setting)) not in store:
            store.append(cost.measured(setting))


ASK = {"recovery": ask_recovery, "memory": ask_memory, "cost": ask_cost}

if __name__ == "__main__":
    main()
