"""Rows needed for 95 % exact support: ``python -m benchmarks.n95 --contestant nablasso``.

The rate is assumed to grow with n. From the first guess n is doubled until the rate is reached (or
halved until it is not), then the bracket is bisected until its ends are within 5 % (at least 4
rows). A probe is a number of seeds; unless ``--full`` is given it stops once its outcome is
certain, and its rate on the curve is then that of the seeds tried. Every fit is a row of the store
and is not repeated, but with ``--fresh`` where another source of its contestant made it; curve and
answer are kept in ``n95_curve.csv`` and ``n95.csv`` next to it, and ``n95.md`` shows them. Where
the rate is not monotone the answer is one crossing. Two calls at once need two ``--out`` folders.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple

from benchmarks.judge import wilson
from benchmarks.measure import COLUMNS, KEY, Task, measure
from benchmarks.provenance import record_run
from benchmarks.run import RESULTS, able, seed_range, to_do
from benchmarks.store import RowStore, StoredRow
from benchmarks.suites.selection import TARGETED

LEVEL = 0.95
STORE = RESULTS / "n95_rows.csv"
CURVE = ("contestant", "problem", "n", "hits", "seeds", "reached")
ANSWER = ("contestant", "problem", "n95", "not_enough", "seeds", "level")


class Probe(NamedTuple):
    """Hits among the seeds tried at one n, and whether the level is reached."""

    hits: int
    seeds: int
    reached: bool


def probe(hit: Callable[[int], bool], seeds: Sequence[int], *, full: bool = False) -> Probe:
    """Try the seeds, or as many as make the outcome of all certain."""
    needed = ceil(LEVEL * len(seeds) - 1e-9)
    hits = 0
    for tried, seed in enumerate(seeds, start=1):
        hits += hit(seed)
        certain = hits >= needed or hits + len(seeds) - tried < needed
        if certain and not full:
            return Probe(hits, tried, hits >= needed)
    return Probe(hits, len(seeds), hits >= needed)


def search(
    reached: Callable[[int], bool], first: int, smallest: int, largest: int
) -> tuple[int | None, int]:
    """Smallest n found to reach the level (None above ``largest``), and the largest too small."""
    low, high = smallest - 1, first
    while not reached(high):
        low = high
        if high >= largest:
            return None, low
        high = min(2 * high, largest)
    while low < smallest and high > smallest:  # the first guess was enough: go down
        half = max(high // 2, smallest)
        low, high = (low, half) if reached(half) else (half, high)
    while high - low > max(4, ceil(0.05 * high)) and low >= smallest:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high, low


def needed_rows(
    contestant: str,
    problem: str,
    store: RowStore,
    seeds: Sequence[int],
    bounds: tuple[int, int, int],
    *,
    full: bool = False,
    fresh: bool = False,
) -> tuple[int | None, int, dict[int, Probe]]:
    """The answer, the largest n that was not enough, and the curve."""
    present = {store.key_of(dict(row)): row for row in store.rows}
    curve: dict[int, Probe] = {}

    def hit(n: int, seed: int) -> bool:
        task = Task("selection", contestant, problem, n, seed)
        if to_do([task], store, fresh=fresh):
            store.append(measure(task))
            present[task.key] = store.rows[-1]
        return present[task.key]["exact"] == "1"

    def reached(n: int) -> bool:
        if n not in curve:
            curve[n] = probe(lambda seed: hit(n, seed), seeds, full=full)
            low, high = wilson(curve[n].hits, curve[n].seeds)
            sys.stderr.write(
                f"{contestant} {problem} n={n}: {curve[n].hits} of {curve[n].seeds} "
                f"({low:.2f} to {high:.2f})\n"
            )
        return curve[n].reached

    answer, not_enough = search(reached, *bounds)
    return answer, not_enough, dict(sorted(curve.items()))


def page(answers: Sequence[StoredRow], curves: Sequence[StoredRow]) -> str:
    """A line per problem, a column per contestant: n95, and hits of seeds at each n tried."""
    names = list(dict.fromkeys(row["contestant"] for row in answers))
    level = f"{LEVEL:.0%}".replace("%", " %")
    lines = [
        f"# Rows needed for {level} exact support",
        "",
        "In brackets the largest number found too small, then hits / seeds tried at each n; a "
        "probe ends once its outcome is certain.",
        "",
        f"| problem | {' | '.join(names)} |",
        "|---" * (len(names) + 1) + "|",
    ]
    for problem in dict.fromkeys(row["problem"] for row in answers):
        cells = []
        for name in names:
            found = [r for r in answers if _asked(r) == (name, problem)]
            probes = [r for r in curves if _asked(r) == (name, problem)]
            curve = ", ".join(
                f"{r['n']}: {r['hits']}/{r['seeds']}" for r in sorted(probes, key=_rows_of)
            )
            cells += [f"**{r['n95']}** ({r['not_enough']}); {curve}" for r in found] or ["-"]
        lines.append(f"| {problem} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _asked(row: StoredRow) -> tuple[str, str]:
    return row["contestant"], row["problem"]


def _rows_of(row: StoredRow) -> int:
    return int(row["n"])


def main(argv: Sequence[str] | None = None) -> None:
    """Find n95 for each contestant and problem."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contestant", nargs="+", default=["nablasso", "gaussian_process"])
    parser.add_argument("--problems", nargs="+", default=[p for p in TARGETED if p != "E3"])
    parser.add_argument("--seeds", type=seed_range, default=range(1000, 1040), help="per probe")
    parser.add_argument("--first", type=int, default=80)
    parser.add_argument("--smallest", type=int, default=20)
    parser.add_argument("--largest", type=int, default=640)
    parser.add_argument("--full", action="store_true", help="all seeds at every n")
    parser.add_argument("--fresh", action="store_true", help="replace rows of another source")
    parser.add_argument("--out", type=Path, default=STORE, help="rows; the curve goes next to it")
    options = parser.parse_args(arguments)
    store = RowStore(options.out, COLUMNS, KEY)
    folder = options.out.parent
    curves = RowStore(folder / "n95_curve.csv", CURVE, CURVE[:3])
    answers = RowStore(folder / "n95.csv", ANSWER, ANSWER[:2])
    record_run(store.path, arguments)
    for name in able(options.contestant):
        for problem in options.problems:
            bounds = (options.first, options.smallest, options.largest)
            found, short, curve = needed_rows(
                name,
                problem,
                store,
                options.seeds,
                bounds,
                full=options.full,
                fresh=options.fresh,
            )
            curves.forget(
                {curves.key_of(dict(row)) for row in curves.rows if _asked(row) == (name, problem)}
            )
            for n, point in curve.items():
                curves.append(dict(zip(CURVE, (name, problem, n, *point), strict=True)))
            text = f"over {options.largest}" if found is None else found
            values = (name, problem, text, short, len(options.seeds), LEVEL)
            answers.append(dict(zip(ANSWER, values, strict=True)))
            sys.stdout.write(f"{name} {problem}: n95 = {text}, {short} is not enough\n")
            (folder / "n95.md").write_text(page(answers.rows, curves.rows))


if __name__ == "__main__":
    main()
