"""SRBench's tables: live contestants next to the published rows (La Cava et al. 2021).

Published rows are not ours to copy: they are read where ``NABLASSO_SUITES`` names their folder.
What is kept of them is one line a method, in ``results/srbench_methods.csv`` and
``results/srbench_losses.csv``, so that the pages can be made without them.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import studentized_range

from benchmarks.pages.rows import OURS, stored
from benchmarks.run import RESULTS
from benchmarks.suites import srbench
from benchmarks.workers import OVER

METHODS, LOSSES = "srbench_methods.csv", "srbench_losses.csv"
PUBLISHED = ", published"
HINDSIGHT = "the best published for each table, by hindsight"
# Ours and the published one that it repeats: they say whether the harness is SRBench's.
PLAIN = "linear"
PAIRS = {
    PLAIN: "Linear",
    "srbench_forest": "RandomForest",
    "srbench_kernel_ridge": "KernelRidge",
}
BEHIND = 0.05  # of R2 behind the best published method: a loss worth a line
DIGITS = 4  # that are kept
FEWEST_TABLES = 20  # for a median to mean something


class SRBench(NamedTuple):
    """One line per method; ``losses``: tables on which a published method is clearly ahead."""

    table: pd.DataFrame
    losses: pd.DataFrame
    published: bool

    @property
    def ranked(self) -> int:
        """Published methods and one of ours."""
        return 1 + int(self.table.index.str.endswith(PUBLISHED).sum())

    @property
    def common(self) -> int:
        """Our tables."""
        return int(self.table.loc[OURS, "tables"]) if OURS in self.table.index else 0

    @classmethod
    def read(cls) -> SRBench:
        """From the rows, with the published ones where they are at hand or were summed up."""
        rows = stored("srbench")
        rows = rows[~rows["status"].str.startswith(OVER)]  # our limit, not their answer
        live = rows.groupby(["problem", "contestant"])["r2"].median().unstack()
        try:
            given = srbench.published()
        except FileNotFoundError:
            return cls.summed_up(live, rows)
        theirs = given.pivot_table(index="dataset", columns="algorithm", values="r2_test")
        theirs.columns = [f"{str(name).removeprefix('*')}{PUBLISHED}" for name in theirs.columns]
        return cls(methods(live, theirs, rows), losses(live, theirs), published=True)

    @classmethod
    def summed_up(cls, live: pd.DataFrame, rows: pd.DataFrame) -> SRBench:
        """Published lines as they were when the published rows were at hand."""
        if not (RESULTS / METHODS).exists():
            return cls(methods(live, pd.DataFrame(index=live.index), rows), pd.DataFrame(), False)
        table = pd.read_csv(RESULTS / METHODS, index_col="method")
        return cls(table, pd.read_csv(RESULTS / LOSSES), published=True)

    def write(self, folder: Path) -> None:
        """Keep one line a method."""
        if self.published:
            self.table.to_csv(folder / METHODS, float_format=f"%.{DIGITS}g", index_label="method")
            self.losses.to_csv(folder / LOSSES, float_format=f"%.{DIGITS}g", index=False)


def methods(live: pd.DataFrame, theirs: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Medians over the tables of each method; its rank is among the published ones and itself."""
    by_table = rows.groupby(["contestant", "problem"])[["cpu_seconds", "selected"]].median()
    typical = by_table.groupby(level="contestant").median()
    seconds, columns = typical["cpu_seconds"], typical["selected"]
    fits = rows.groupby("contestant").size()
    found = {}
    best = {HINDSIGHT: theirs.max(axis=1)} if len(theirs.columns) else {}
    for name, own in {**live, **theirs, **best}.items():
        own = own.dropna()
        if len(own) < FEWEST_TABLES:
            continue
        friedman = own.index.map(srbench.is_friedman).to_numpy(bool)
        rivals = theirs.reindex(own.index).drop(columns=name, errors="ignore")
        ahead = rivals.gt(own, axis=0).sum(axis=1) + rivals.eq(own, axis=0).sum(axis=1) / 2
        gap, luck = _harness(str(name), own, rows, theirs)
        found[name] = {
            "tables": len(own),
            "fits": fits.get(name, np.nan),
            "median": own.median(),
            "ours": _on(live, own.index),
            "friedman": own[friedman].median(),
            "others": own[~friedman].median(),
            "rank": (1 + ahead).mean() if len(theirs.columns) and name not in best else np.nan,
            "seconds": seconds.get(name, np.nan),
            "columns": columns.get(name, np.nan),
            "harness": gap,
            "splits": luck,
        }
    table = pd.DataFrame(found).T.sort_values("median", ascending=False)
    return table.map(lambda value: float(f"{value:.{DIGITS}g}"))  # as it is written


def _harness(
    name: str, own: pd.Series, rows: pd.DataFrame, theirs: pd.DataFrame
) -> tuple[float, float]:
    """Median difference from the published method, and that of least squares on the same splits.

    The published ones are medians over ten splits: of few splits some are easier than others, and
    least squares, which has no choice to make, says by how much.
    """
    if f"{PAIRS.get(name)}{PUBLISHED}" not in theirs:
        return np.nan, np.nan
    gap = own - theirs[f"{PAIRS[name]}{PUBLISHED}"]
    draws = pd.MultiIndex.from_frame(rows.loc[rows["contestant"] == name, ["problem", "seed"]])
    plain = rows[rows["contestant"] == PLAIN].set_index(["problem", "seed"])["r2"]
    plain = plain.reindex(draws).groupby(level="problem").median()
    return float(gap.median()), float((plain - theirs[f"{PAIRS[PLAIN]}{PUBLISHED}"]).median())


def _on(live: pd.DataFrame, tables: pd.Index) -> float:
    """Our median over these tables, as far as we have them."""
    return float(live[OURS].reindex(tables).median()) if OURS in live else np.nan


def losses(live: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Our tables on which the best published method is ahead by more than ``BEHIND`` of R2."""
    if OURS not in live:
        return pd.DataFrame()
    own = live[OURS].dropna()
    given = theirs.reindex(own.index)
    found = pd.DataFrame(
        {
            "problem": own.index,
            "ours": own.to_numpy(),
            "best": given.max(axis=1).to_numpy(),
            "method": given.idxmax(axis=1).str.removesuffix(PUBLISHED).to_numpy(),
            "place": 1 + given.gt(own, axis=0).sum(axis=1).to_numpy(),
        }
    )
    behind = found["best"] - found["ours"]
    return found[behind > BEHIND].assign(behind=behind).sort_values("behind", ascending=False)


def critical_difference(methods: int, tables: int, level: float = 0.95) -> float:
    """Nemenyi: mean ranks nearer than this are not told apart."""
    q = float(studentized_range.ppf(level, methods, np.inf)) / np.sqrt(2)
    return q * float(np.sqrt(methods * (methods + 1) / (6 * tables)))
