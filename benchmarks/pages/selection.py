"""The selection suite: ``python -m benchmarks.pages.selection`` writes ``results/selection.md``.

Three tables: the targets next to what was measured, all contestants side by side, and the
contestant against every other over the same seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.judge import Comparison, compare, rate_met, ratio_of_means, wilson
from benchmarks.run import RESULTS, store_of
from benchmarks.store import StoredRow
from benchmarks.suites.selection import SUITE

Cell = tuple[str, int]  # problem, rows
ENOUGH = 50  # seeds for a verdict


class Table:
    """Stored rows by contestant, problem and number of rows; the last row of a seed counts."""

    def __init__(self, rows: Sequence[StoredRow]) -> None:
        self.by_seed: dict[tuple[str, Cell], dict[int, StoredRow]] = {}
        for row in rows:
            key = row["contestant"], (row["problem"], int(row["n"]))
            self.by_seed.setdefault(key, {})[int(row["seed"])] = row

    def cells(self) -> list[Cell]:
        """Problems and rows measured, in the order of the problems."""
        order = list(SUITE.problems())
        return sorted({cell for _, cell in self.by_seed}, key=lambda c: (order.index(c[0]), c[1]))

    def contestants(self) -> list[str]:
        """Names, in the order in which they came."""
        return list(dict.fromkeys(name for name, _ in self.by_seed))

    def seeds(self, name: str, cell: Cell) -> set[int]:
        """Seeds measured."""
        return set(self.by_seed.get((name, cell), {}))

    def values(
        self, name: str, cell: Cell, column: str, seeds: set[int] | None = None
    ) -> NDArray[np.float64]:
        """One column over the seeds, in their order."""
        rows = self.by_seed.get((name, cell), {})
        chosen = sorted(rows) if seeds is None else sorted(seeds)
        return np.array([float(rows[seed][column]) for seed in chosen])

    def ratio(self, name: str, oracle: str, cell: Cell, column: str = "rmse") -> float:
        """Mean error over the oracle's, on the seeds both have; nan when there are none."""
        seeds = self.seeds(name, cell) & self.seeds(oracle, cell)
        if not seeds:
            return float("nan")
        errors = (self.values(who, cell, column, seeds) for who in (name, oracle))
        return ratio_of_means(*errors)

    def comparison(self, name: str, rival: str, cell: Cell) -> Comparison | None:
        """Paired over the common seeds; None below six."""
        seeds = self.seeds(name, cell) & self.seeds(rival, cell)
        if len(seeds) < 6:
            return None
        exact = (self.values(who, cell, "exact", seeds) for who in (name, rival))
        errors = (self.values(who, cell, "rmse", seeds) for who in (name, rival))
        return compare(*exact, *errors)


def targets(table: Table, name: str, oracle: str) -> list[str]:
    """What was set next to what was measured."""
    lines = [
        f"## {name} against its targets",
        "",
        "Exact support with its 95 % Wilson interval; met when the interval reaches the target and "
        f"the estimate is within 3 points. RMSE: ratio of the means to {oracle}'s; in brackets the "
        "same against the noiseless target.",
        "",
        "| problem | n | seeds | exact support | target | met | RMSE / oracle | target | met "
        "| Tanimoto | target | met | median seconds |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in table.cells():
        seeds = table.seeds(name, cell)
        target = SUITE.problems()[cell[0]].targets.get(cell[1])
        if not seeds:
            continue
        exact = table.values(name, cell, "exact")
        hits, runs = int(exact.sum()), len(exact)
        low, high = wilson(hits, runs)
        ratio = table.ratio(name, oracle, cell)
        free = table.ratio(name, oracle, cell, "rmse_noise_free")
        tanimoto = float(table.values(name, cell, "tanimoto").mean())
        goal = (target.exact, target.ratio, target.tanimoto) if target else (None,) * 3
        met = (
            goal[0] is not None and rate_met(hits, runs, goal[0]),
            goal[1] is not None and ratio <= goal[1],
            goal[2] is not None and tanimoto <= goal[2],
        )
        words = [_goal(g, m, runs) for g, m in zip(goal, met, strict=True)]
        seconds = float(np.median(table.values(name, cell, "seconds")))
        lines.append(
            f"| {cell[0]} | {cell[1]} | {runs} | {hits / runs:.0%} ({low:.0%} to {high:.0%}) "
            f"| {words[0]} | {ratio:.2f} ({free:.2f}) | {words[1]} | {tanimoto:.2f} | {words[2]} "
            f"| {seconds:.2g} |"
        )
    return [*lines, ""]


def _goal(goal: float | None, met: bool, runs: int) -> str:
    if goal is None:
        return "- | -"
    few = f" ({runs} seeds)" if runs < ENOUGH else ""
    return f"{goal:g} | {'yes' if met else '**no**'}{few}"


def side_by_side(table: Table, oracle: str) -> list[str]:
    """Exact-support rate and RMSE ratio of everybody."""
    names = [name for name in table.contestants() if not name.startswith("oracle")]
    lines = [
        "## All contestants",
        "",
        f"Exact support (seeds) and RMSE / {oracle}.",
        "",
        "| problem | n | " + " | ".join(names) + " |",
        "|---|---|" + "---|" * len(names),
    ]
    for cell in table.cells():
        words = []
        for name in names:
            exact = table.values(name, cell, "exact")
            ratio = table.ratio(name, oracle, cell)
            words.append(f"{exact.mean():.0%} ({len(exact)}) {ratio:.2f}" if len(exact) else "-")
        lines.append(f"| {cell[0]} | {cell[1]} | " + " | ".join(words) + " |")
    return [*lines, ""]


def duels(table: Table, name: str) -> list[str]:
    """Where the contestant is significantly worse than a rival, and against the strongest."""
    rivals = [r for r in table.contestants() if r != name and not r.startswith("oracle")]
    lines = [
        f"## {name} against each rival, same seeds",
        "",
        "One-sided p-values for being worse: sign test on exact supports, Wilcoxon's signed ranks "
        "on RMSE; not corrected for their number. Strongest: highest exact-support rate, then "
        "smallest RMSE.",
        "",
        "| problem | n | strongest rival | seeds | exact, difference | p | RMSE ratio | p "
        "| significantly worse than |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for cell in table.cells():
        found = {r: c for r in rivals if (c := table.comparison(name, r, cell)) is not None}
        if not found:
            continue
        best = min(found, key=lambda r: (found[r].exact_difference, -found[r].ratio))
        c = found[best]
        worse = ", ".join(r for r, other in found.items() if other.worse()) or "none"
        lines.append(
            f"| {cell[0]} | {cell[1]} | {best} | {c.seeds} | {c.exact_difference:+.2f} "
            f"| {c.exact_p:.3f} | {c.ratio:.3f} | {c.error_p:.3f} | {worse} |"
        )
    return [*lines, ""]


def provenance(rows: Sequence[StoredRow]) -> list[str]:
    """Which sources made the rows; several for one contestant deserve a look."""
    sources: dict[str, dict[str, int]] = {}
    for row in rows:
        counts = sources.setdefault(row["contestant"], {})
        counts[row["source"]] = counts.get(row["source"], 0) + 1
    lines = ["## Where the rows come from", ""]
    for name, counts in sources.items():
        words = "; ".join(f"{source}: {count} rows" for source, count in counts.items())
        mixed = " (**mixed**: measure again with --fresh)" if len(counts) > 1 else ""
        lines.append(f"- {name}: {words}{mixed}")
    failed = [row for row in rows if row["status"] != "ok"]
    lines.append(f"- rows that ended in an error: {len(failed)}")
    return [*lines, ""]


def report(rows: Sequence[StoredRow], name: str, oracle: str) -> str:
    """The whole page."""
    table = Table(rows)
    lines = ["# Selection", ""]
    lines += targets(table, name, oracle) + side_by_side(table, oracle) + duels(table, name)
    return "\n".join(lines + provenance(rows))


def main() -> None:
    """Write the page next to the rows."""
    (RESULTS / "selection.md").write_text(report(store_of("selection").rows, "nablasso", "oracle"))


if __name__ == "__main__":
    main()
