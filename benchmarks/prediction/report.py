"""Markdown from stored rows alone: ``python -m benchmarks.prediction.report``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from benchmarks.prediction.run import COLUMNS, KEY, OUT
from benchmarks.store import RowStore, StoredRow


def report(rows: Sequence[StoredRow]) -> str:
    """Mean RMSE / sd(y), columns kept and median seconds, one table per number of rows."""
    lines = [
        "# Prediction",
        "",
        "RMSE / sd(y) on test rows, mean over the splits (standard error of the mean); the "
        "smallest of a line in bold. Only splits that every contestant of the line has count.",
        "",
    ]
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    lines += ["| table | n | splits | " + " | ".join(names) + " |", "|---" * (len(names) + 3) + "|"]
    kept = [lines[-2], lines[-1]]
    for table, n in dict.fromkeys((row["table"], row["n"]) for row in rows):
        own = [row for row in rows if (row["table"], row["n"]) == (table, n)]
        cells = {name: [r for r in own if r["contestant"] == name] for name in names}
        common = set.intersection(*({r["split"] for r in c} for c in cells.values() if c))
        errors = {
            name: np.array([float(r["rmse_over_sd"]) for r in cell if r["split"] in common])
            for name, cell in cells.items()
        }
        best = min(e.mean() for e in errors.values() if len(e))
        head = f"| {table} | {n} | {len(common)} | "
        lines.append(head + " | ".join(_error(errors[name], best) for name in names) + " |")
        kept.append(head + " | ".join(_kept(cells[name]) for name in names) + " |")
    lines += [
        "",
        "## Columns kept (median seconds)",
        "",
        *kept,
        "",
        "## Where the rows come from",
        "",
    ]
    for name in names:
        sources = dict.fromkeys(row["source"] for row in rows if row["contestant"] == name)
        lines.append(f"- {name}: {', '.join(sources)}")
    failed = sum(row["status"] != "ok" for row in rows)
    return "\n".join([*lines, f"- rows that ended in an error: {failed}", ""])


def _error(errors: np.ndarray, best: float) -> str:
    if not len(errors):
        return "-"
    spread = f" ({errors.std(ddof=1) / np.sqrt(len(errors)):.3f})" if len(errors) > 1 else ""
    mean = f"{errors.mean():.3f}"
    return (f"**{mean}**" if errors.mean() <= best else mean) + spread


def _kept(cell: Sequence[StoredRow]) -> str:
    if not cell:
        return "-"
    columns = np.mean([float(row["selected"]) for row in cell])
    seconds = np.median([float(row["seconds"]) for row in cell])
    return f"{columns:.1f} of {cell[0]['d']} ({seconds:.3g} s)"


def main() -> None:
    """Write the page next to the rows."""
    page = report(RowStore(OUT, COLUMNS, KEY).rows)
    OUT.with_name("results.md").write_text(page)
    sys.stdout.write(page)


if __name__ == "__main__":
    main()
