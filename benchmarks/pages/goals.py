"""What was asked of the one call on public suites, next to what the stored rows show.

Each goal is judged on default settings. "Spread" of a mean over splits is its standard error; a
rival's row counts where it has the same draws.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.pages.rows import CELL, OURS, cause, markdown, rivals, spurious, stored
from benchmarks.pages.srbench import SRBench
from benchmarks.run import RESULTS
from benchmarks.suites import rffnet
from benchmarks.suites.srbench import is_friedman

SOLVED = 0.999  # R2 above which a formula counts as found
SEEN = 10.0  # nats from which on a variable of a formula shows: several times its price
UNKNOWN = "not found yet"
SPREADS = 2.0  # standard errors within which we are level with the best


class Goal(NamedTuple):
    """A line of the table; ``draws`` says on how much the figure stands."""

    suite: str
    asks: str
    asked: str
    found: float
    met: bool
    draws: str
    percent: bool = False

    def cells(self) -> list[str]:
        """As text."""
        found = f"{self.found:.0%}" if self.percent else f"{self.found:.4g}"
        return [self.suite, self.asks, self.asked, found, "yes" if self.met else "no", self.draws]


def at_least(
    suite: str, asks: str, asked: float, found: float, draws: str, *, percent: bool = True
) -> Goal:
    """A goal that is met from ``asked`` on."""
    words = f">= {asked:.0%}" if percent else f">= {asked:g}"
    return Goal(suite, asks, words, found, bool(found >= asked), draws, percent)


def at_most(suite: str, asks: str, asked: float, found: float, draws: str) -> Goal:
    """A goal that is met up to ``asked``."""
    return Goal(suite, asks, f"<= {asked:g}", found, bool(found <= asked), draws)


def ours(suite: str) -> pd.DataFrame:
    """Our rows of a suite."""
    rows = stored(suite)
    return rows[rows["contestant"] == OURS]


def level_with_the_best(rows: pd.DataFrame, cell: list[str], column: str) -> pd.DataFrame:
    """Per cell our mean, its spread and the best rival's mean on the draws that both have."""
    own = rows[rows["contestant"] == OURS].set_index([*cell, "seed"])[column]
    found = []
    for name in rivals(rows):
        other = rows[rows["contestant"] == name].set_index([*cell, "seed"])[column]
        both = pd.concat([own, other], axis=1, keys=["ours", "theirs"], join="inner")
        means = both.groupby(level=cell, sort=False).mean()
        gap = (both["ours"] - both["theirs"]).groupby(level=cell, sort=False)
        found.append(means.assign(spread=gap.sem().fillna(0), draws=gap.size(), rival=name))
    table = pd.concat(found).reset_index() if found else pd.DataFrame(columns=[*cell, "theirs"])
    table = table[np.isfinite(table["theirs"].astype(float))]
    best = table.sort_values("theirs").drop_duplicates(cell).set_index(cell)
    if best.empty:
        return best
    gap = best["ours"] - best["theirs"]
    return best.assign(first=gap <= 0, level=gap <= SPREADS * best["spread"])


def _srbench() -> Iterator[Goal]:
    rows, found = ours("srbench"), SRBench.read()
    if rows.empty:
        return
    draws = f"{rows['problem'].nunique()} tables, {len(rows)} fits"
    own = found.table.loc[OURS]
    for asks, asked, column in (
        ("median R2 over the tables", 0.95, "median"),
        ("Friedman tables", 0.975, "friedman"),
        ("other tables", 0.80, "others"),
    ):
        yield at_least("srbench", asks, asked, own[column], draws, percent=False)
    if found.published:
        words = f"mean rank among {found.ranked} methods"
        yield at_most("srbench", words, 2.5, own["rank"], f"{found.common} tables")
    yield at_most("srbench", "median processor seconds of a table", 2, own["seconds"], draws)
    rows = rows[rows["problem"].map(is_friedman).astype(bool)]
    draws = f"{rows['problem'].nunique()} tables, {len(rows)} fits"
    yield at_least("friedman", "exactly the five columns", 0.95, rows["exact"].mean(), draws)
    yield at_most("friedman", "spurious columns a fit", 0.02, spurious(rows).mean(), draws)


def noise_of(rows: pd.DataFrame) -> pd.Series:
    """Share of noise on the training rows of a formula, from the problem's name."""
    return pd.to_numeric(rows["problem"].str.partition("+")[2].replace("", "0"))


def visible(rows: pd.DataFrame) -> pd.Series:
    """Whether the faintest variable is worth ``SEEN`` nats (:mod:`benchmarks.visible`)."""
    nats = pd.read_csv(RESULTS / "dummies_visible.csv").set_index(["problem", "seed"])["nats"]
    keys = pd.MultiIndex.from_frame(rows[["problem", "seed"]].astype({"seed": int}))
    return pd.Series(nats.reindex(keys).to_numpy() > SEEN, rows.index)


def _formulas() -> Iterator[Goal]:
    rows = ours("feynman")
    rows = rows[noise_of(rows) == 0] if len(rows) else rows
    if len(rows):
        share = (rows["r2"] > SOLVED).mean()
        yield at_least("feynman", f"R2 > {SOLVED}, no noise", 0.90, share, f"{len(rows)} fits")
    rows = ours("dummies")
    rows = rows[noise_of(rows) <= 0.01] if len(rows) else rows
    if len(rows):
        words = "exact variables, noise up to 1 %"
        yield at_least("dummies", words, 0.95, rows["exact"].mean(), f"{len(rows)} fits")
        rows = rows[visible(rows)]
        words = f"{words}, where one who knows the formula sees all of them"
        yield at_least("dummies", words, 0.95, rows["exact"].mean(), f"{len(rows)} fits")


def _epistasis() -> Iterator[Goal]:
    rows = ours("epistasis")
    if rows.empty:
        return
    name = rows["problem"]
    three = name.str.contains("3_Way")
    two = name.str.contains("GAMETES|skrebate") & ~three
    for asks, chosen in (("pairs and heterogeneity exact", two), ("three-way triple", three)):
        own = rows[chosen]
        draws = f"{own['problem'].nunique()} tables, {len(own)} fits"
        yield at_least("epistasis", asks, 1.0, own["exact"].mean(), draws)


def _simulation() -> Iterator[Goal]:
    rows = ours("simulation")
    if rows.empty:
        return
    many = rows[rows["n"] >= 200]
    share = (spurious(many) < 0.5).mean()
    yield at_least("simulation", "no inert input kept, n >= 200", 0.95, share, f"{len(many)} fits")
    most = rows[(rows["n"] == 500) & rows["total_error"].notna()]
    if len(most):
        error, words = most["total_error"].median(), "error of totals at n = 500, median"
        yield at_most("simulation", words, 0.03, error, f"{len(most)} fits")


def _uci() -> Iterator[Goal]:
    from benchmarks.suites.uci import PUBLISHED

    rows = stored("uci")
    rows = rows[rows["problem"].isin(PUBLISHED)]
    own = rows[rows["contestant"] == OURS]
    if own.empty:
        return
    cells = level_with_the_best(rows, ["problem"], "rmse")
    draws = f"{len(cells)} tables, {len(own)} fits"
    if len(cells):
        words = "tables level with the best live rival"
        yield at_least("uci", words, 5, float(cells["level"].sum()), draws, percent=False)
    cover = own["coverage"].mean()
    met = bool(0.87 <= cover <= 0.93)
    yield Goal("uci", "coverage of 90 % intervals", ".87 to .93", cover, met, draws)


def _rffnet() -> Iterator[Goal]:
    rows = ours("rffnet")
    rows = rows[rows["n"] == 10_000]
    if rows.empty:
        return
    errors = (rows["rmse"] ** 2).groupby(rows["problem"]).mean()
    better = sum(error < rffnet.PUBLISHED[str(name)][0] for name, error in errors.items())
    draws, words = f"{len(rows)} fits", "error below the published, of four"
    yield at_least("rffnet", words, 4, float(better), draws, percent=False)
    yield at_least("rffnet", "exact columns", 0.9, rows["exact"].mean(), draws)


def _tables() -> Iterator[Goal]:
    rows = stored("tables")
    cells = level_with_the_best(rows.assign(error=rows["loss"] ** 0.5), CELL, "error")
    if len(cells):
        words = "cells with the smallest error, or level with it"
        draws = f"{len(cells)} cells, {int(cells['draws'].sum())} fits"
        yield at_least("tables", words, 0.8, cells["level"].mean(), draws)


def goals() -> list[Goal]:
    """All that have rows."""
    parts = (_srbench, _formulas, _epistasis, _simulation, _uci, _rffnet, _tables)
    return [goal for part in parts for goal in part()]


def goals_table() -> list[str]:
    """As a table, and below it why some are not met, as far as it was found."""
    head = ["suite", "asked of the one call, default settings", "goal", "measured", "met", "on"]
    found = goals()
    missed = [goal for goal in found if not goal.met]
    why = [f"- {g.suite}, {g.asks}: {cause(f'{g.suite}: {g.asks}') or UNKNOWN}." for g in missed]
    return [*markdown(head, [goal.cells() for goal in found]), "", *why]
