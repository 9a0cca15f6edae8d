"""Run the benchmark: ``python -m benchmarks.gradients.run [QUESTION ...] [--smoke] [--out DIR]``.

Questions: ``path``, ``budgets``, ``columns``, ``rows`` (all by default). One CSV per question;
``results.md`` is made from the rows alone, plots by ``python -m benchmarks.growth``. One thread of
linear algebra.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.gradients.questions import (
    budget,
    exponent,
    leukemia,
    path_ratio,
    scaling,
    wide_table,
)
from benchmarks.provenance import record_run
from benchmarks.store import Row
from benchmarks.unit import SIZE

OUT = Path(__file__).parent / "results"
QUESTIONS = ("path", "budgets", "columns", "rows")
PAPER_SECONDS = 400.0  # for the paper's algorithm
NEIGHBOURS = 10
SIZES = {
    "columns": [(100, p) for p in (100, 1000, 10_000, 100_000)],
    "rows": [(n, 50) for n in (100, 300, 1000, 3000)],
}
SMOKE_SIZES = {"columns": [(30, 20), (30, 80)], "rows": [(30, 20), (90, 20)]}
BUDGETS = (
    ("fit", 100, 100_000, "gaussian", None),
    ("gradients", 5000, 50, "linear", NEIGHBOURS),
    ("gradients", 5000, 50, "gaussian", NEIGHBOURS),
    ("fit", 5000, 50, "linear", NEIGHBOURS),
)
SMOKE_BUDGETS = (("fit", 60, 20, "linear", 5, 200),)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, store, draw, summarise."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="*", default=[], metavar="QUESTION")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, under a minute")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.questions) - set(QUESTIONS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(QUESTIONS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.questions or QUESTIONS:
        record_run(options.out / f"{name}.csv", arguments)
        count = stored(options.out / f"{name}.csv", measured(name, options.smoke))
        sys.stderr.write(f"{name}: {count} rows\n")
    text = summary(options.out)
    (options.out / "results.md").write_text(text)
    sys.stdout.write(text)


def measured(name: str, smoke: bool) -> Iterator[Row]:
    """The rows of one question, as they come."""
    if name == "path":
        posed = (*wide_table(12, 60, 0), "made up") if smoke else leukemia()
        yield path_ratio(*posed, points=5 if smoke else 40, seconds=5 if smoke else PAPER_SECONDS)
    elif name == "budgets":
        for case in SMOKE_BUDGETS if smoke else BUDGETS:
            yield budget(*case)
    else:
        for n, p in (SMOKE_SIZES if smoke else SIZES)[name]:
            yield scaling(n, p, NEIGHBOURS, *((1, 200) if smoke else (3, SIZE)))


def stored(path: Path, rows: Iterator[Row]) -> int:
    """Write the rows of one question as they come; return how many there were."""
    count = 0
    with path.open("w", newline="") as file:
        for row in rows:
            writer = csv.DictWriter(file, fieldnames=list(row), lineterminator="\n")
            if not count:
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            count += 1
    return count


def read(path: Path) -> list[Row]:
    """Rows of a question, none when it was not asked."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def summary(out: Path) -> str:
    """A page made from the rows alone."""
    lines = ["# Sparse gradients", "", "Made by `python -m benchmarks.gradients.run`.", ""]
    titles = {
        "path": "A path against the paper's algorithm, same gap, one thread",
        "budgets": "Time in E and peak memory in a process of its own",
        "columns": "Time against the number of columns",
        "rows": "Time against the number of rows",
    }
    for name, title in titles.items():
        rows = read(out / f"{name}.csv")
        if not rows:
            continue
        lines += [f"## {title}", ""]
        if name == "path":
            lines += [f"- {key.replace('_', ' ')}: {value}" for key, value in rows[0].items()]
        else:
            lines += ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
            lines += ["| " + " | ".join(map(str, row.values())) + " |" for row in rows]
        if name in SIZES and len(rows) > 1:
            over = "p" if name == "columns" else "n"
            lines += ["", f"Slope of the logarithms: {over}^{exponent(rows, over):.2f}."]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
