"""The selection suite by problem: targets, everybody side by side, and duels on the same draws."""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.judge import Comparison, compare, rate_met, ratio_of_means, wilson
from benchmarks.pages.rows import CELL, OURS, markdown, paired, rivals
from benchmarks.suites.selection import SUITE

ORACLE = "oracle"
ENOUGH = 50  # seeds for a verdict
FEWEST = 6  # seeds for a test


def ratio_to(rows: pd.DataFrame, name: str, oracle: str, column: str = "rmse") -> pd.Series:
    """Mean error over the oracle's on the seeds both have, by problem and rows."""
    pairs = paired(rows, oracle, name)
    return pairs.groupby(level=CELL).apply(
        lambda cell: ratio_of_means(cell[f"{column}_ours"], cell[f"{column}_theirs"])
    )


def cells_of(rows: pd.DataFrame) -> list[tuple[str, int]]:
    """Problems and rows measured, in the order of the problems."""
    order = {name: k for k, name in enumerate(SUITE.problems())}
    found = rows[CELL].drop_duplicates().itertuples(index=False)
    return sorted(((c.problem, int(c.n)) for c in found), key=lambda c: (order[c[0]], c[1]))


def targets(rows: pd.DataFrame, name: str = OURS, oracle: str = ORACLE) -> list[str]:
    """What was set next to what was measured."""
    ratios = {
        column: ratio_to(rows, name, oracle, column) for column in ("rmse", "rmse_noise_free")
    }
    own = rows[rows["contestant"] == name].groupby(CELL)
    lines = []
    for cell in cells_of(rows[rows["contestant"] == name]):
        group = own.get_group(cell)
        hits, runs = int(group["exact"].sum()), len(group)
        low, high = wilson(hits, runs)
        ratio, free = (found.get(cell, np.nan) for found in ratios.values())
        tanimoto = float(group["tanimoto"].mean())
        goal = SUITE.problems()[cell[0]].targets.get(cell[1])
        asked = (goal.exact, goal.ratio, goal.tanimoto) if goal else (None,) * 3
        met = (
            asked[0] is not None and rate_met(hits, runs, asked[0]),
            asked[1] is not None and ratio <= asked[1],
            asked[2] is not None and tanimoto <= asked[2],
        )
        words = [_goal(g, m, runs) for g, m in zip(asked, met, strict=True)]
        rate = f"{hits / runs:.0%} ({low:.0%} to {high:.0%})"
        seconds = f"{group['seconds'].median():.2g}"
        figures = [rate, *words[0], f"{ratio:.2f} ({free:.2f})", *words[1], f"{tanimoto:.2f}"]
        lines.append([cell[0], str(cell[1]), str(runs), *figures, *words[2], seconds])
    met_of = ["target", "met"]
    head = ["problem", "n", "seeds", "exact support", *met_of, "RMSE / oracle", *met_of]
    return [
        f"## {name} against its targets",
        "",
        "Exact support with its 95 % Wilson interval; met when the interval reaches the target and "
        f"the estimate is within 3 points. RMSE: ratio of the means to {oracle}'s; in brackets the "
        "same against the noiseless target.",
        "",
        *markdown([*head, "Tanimoto", *met_of, "median seconds"], lines),
        "",
    ]


def _goal(goal: float | None, met: bool, runs: int) -> list[str]:
    if goal is None:
        return ["-", "-"]
    few = f" ({runs} seeds)" if runs < ENOUGH else ""
    return [f"{goal:g}", f"{'yes' if met else '**no**'}{few}"]


def side_by_side(rows: pd.DataFrame, oracle: str = ORACLE) -> list[str]:
    """Exact-support rate and RMSE ratio of everybody."""
    names = [name for name in rows["contestant"].unique() if not name.startswith("oracle")]
    rates = rows.groupby(["contestant", *CELL])["exact"].agg(["mean", "size"])
    ratios = {name: ratio_to(rows, name, oracle) for name in names}
    lines = []
    for cell in cells_of(rows):
        words = [
            f"{rates.loc[key, 'mean']:.0%} ({rates.loc[key, 'size']}) "
            f"{ratios[name].get(cell, np.nan):.2f}"
            if (key := (name, *cell)) in rates.index
            else "-"
            for name in names
        ]
        lines.append([cell[0], str(cell[1]), *words])
    return [
        "## All contestants",
        "",
        f"Exact support (seeds) and RMSE / {oracle}.",
        "",
        *markdown(["problem", "n", *names], lines),
        "",
    ]


def duels(rows: pd.DataFrame, name: str = OURS) -> list[str]:
    """Where the contestant is significantly worse than a rival, and against the strongest."""
    found: dict[tuple[str, int], dict[str, Comparison]] = {}
    for rival in rivals(rows):
        for cell, pairs in paired(rows, rival, name).groupby(level=CELL):
            if len(pairs) >= FEWEST:
                columns = ("exact_ours", "exact_theirs", "rmse_ours", "rmse_theirs")
                duel = compare(*(pairs[column] for column in columns))
                found.setdefault((str(cell[0]), int(cell[1])), {})[rival] = duel
    lines = []
    for cell in cells_of(rows):
        if not (own := found.get(cell)):
            continue
        best = min(own, key=lambda r: (own[r].exact_difference, -own[r].ratio))
        c = own[best]
        worse = ", ".join(r for r, other in own.items() if other.worse()) or "none"
        exact = [f"{c.exact_difference:+.2f}", f"{c.exact_p:.3f}"]
        error = [f"{c.ratio:.3f}", f"{c.error_p:.3f}"]
        lines.append([cell[0], str(cell[1]), best, str(c.seeds), *exact, *error, worse])
    head = ["problem", "n", "strongest rival", "seeds", "exact, difference", "p", "RMSE ratio", "p"]
    return [
        f"## {name} against each rival, same seeds",
        "",
        "One-sided p-values for being worse: sign test on exact supports, Wilcoxon's signed ranks "
        "on RMSE; not corrected for their number. Strongest: highest exact-support rate, then "
        "smallest RMSE.",
        "",
        *markdown([*head, "significantly worse than"], lines),
        "",
    ]


def provenance(rows: pd.DataFrame) -> list[str]:
    """Which sources made the rows; several for one contestant deserve a look."""
    lines = ["## Where the rows come from", ""]
    for name, own in rows.groupby("contestant", sort=False):
        counts = own["source"].value_counts(sort=False)
        words = "; ".join(f"{source}: {count} rows" for source, count in counts.items())
        mixed = " (**mixed**: measure again with --fresh)" if len(counts) > 1 else ""
        lines.append(f"- {name}: {words}{mixed}")
    return [*lines, f"- rows that ended in an error: {int((rows['status'] != 'ok').sum())}", ""]


def page(rows: pd.DataFrame) -> str:
    """The whole page."""
    parts = (targets(rows), side_by_side(rows), duels(rows), provenance(rows))
    return "\n".join(["# Selection", "", *(line for part in parts for line in part)])
