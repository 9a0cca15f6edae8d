"""Stored rows as tables: numbers where there are numbers, contestants paired on common draws.

``loss`` is the squared error over the variance of y (1 - R2); where R2 was not stored, or y holds
labels, the squared error itself; paired on the same draw both are in the same unit.
"""

from __future__ import annotations

import csv
from functools import cache

import pandas as pd

from benchmarks.measure import COLUMNS
from benchmarks.run import RESULTS
from benchmarks.suites.srbench import is_friedman

OURS = "nablasso"
CAUSES = RESULTS.parent / "causes.csv"
DRAW = ["problem", "n", "seed"]
CELL = ["problem", "n"]
TEXT = ("contestant", "version", "problem", "source", "status", "columns", "detail")
FEWEST = 10  # common draws for a comparison of rates
ROUNDING = 1e-6  # of 1 - R2: below, predictions are equal
NEAR = 1.1  # RMSE within 10 % of the other's


def table(rows: list[dict[str, str]] | pd.DataFrame) -> pd.DataFrame:
    """Rows with numbers; of rows that were measured twice the last counts."""
    frame = pd.DataFrame(rows, columns=list(COLUMNS)).fillna("")
    for name in COLUMNS:
        if name not in TEXT:
            frame[name] = pd.to_numeric(frame[name], errors="coerce")
    frame = frame.drop_duplicates(["contestant", *DRAW], keep="last")
    labels = frame["r2"].isna()
    loss = (1 - frame["r2"]).clip(lower=ROUNDING)
    return frame.assign(loss=loss.where(~labels, frame["rmse"] ** 2))


def stored(suite: str) -> pd.DataFrame:
    """Rows of a suite; none where nothing was measured."""
    path = RESULTS / f"{suite}.csv"
    if not path.exists():
        return table([])
    return table(pd.read_csv(path, dtype=str, keep_default_na=False))


def friedman_rows() -> pd.DataFrame:
    """SRBench's tables with known columns, of everybody who selects; ours are rows of srbench."""
    rows = stored("srbench")
    rows = rows[rows["problem"].map(is_friedman).astype(bool)]
    selects = rows["selected"].ne(rows["d"]).groupby(rows["contestant"]).any()
    return pd.concat([rows[rows["contestant"].map(selects).astype(bool)], stored("friedman")])


def rivals(rows: pd.DataFrame) -> list[str]:
    """Everybody but us and the oracles, in the order in which they came."""
    names = rows["contestant"].unique()
    return [n for n in names if not n.startswith(("oracle", OURS))]


def paired(rows: pd.DataFrame, rival: str, ours: str = OURS) -> pd.DataFrame:
    """Our rows beside a rival's, one line per common draw."""
    us, them = (rows[rows["contestant"] == name].set_index(DRAW) for name in (ours, rival))
    both = us.merge(them, left_index=True, right_index=True, suffixes=("_ours", "_theirs"))
    one_sided = both["r2_ours"].isna() != both["r2_theirs"].isna()
    for side in ("ours", "theirs"):
        squares = both[f"rmse_{side}"] ** 2
        both[f"loss_{side}"] = both[f"loss_{side}"].where(~one_sided, squares)
    return both


def on_our_draws(rows: pd.DataFrame) -> pd.Series:
    """Which rows are of a draw that we have too, or of a cell in which we have none."""
    ours = rows[rows["contestant"] == OURS]
    draws, cells = (pd.MultiIndex.from_frame(ours[columns]) for columns in (DRAW, CELL))
    shared = pd.MultiIndex.from_frame(rows[DRAW]).isin(draws)
    return pd.Series(shared | ~pd.MultiIndex.from_frame(rows[CELL]).isin(cells), rows.index)


def by_cell(pairs: pd.DataFrame) -> pd.DataFrame:
    """Rates of exact supports, mean errors, their ratio and draws per problem and number of rows.

    The ratio is infinite where they make no error, and not known where nothing was predicted.
    """
    cells = pairs.groupby(level=CELL, sort=False)
    found = cells[["exact_ours", "exact_theirs"]].mean()
    means = cells[["loss_ours", "loss_theirs"]].agg(lambda loss: (loss**0.5).mean())
    found[["error_ours", "error_theirs"]] = means
    ratio = means["loss_ours"] / means["loss_theirs"]
    equal = means["loss_ours"] == means["loss_theirs"]  # both may be zero, or infinite
    return found.assign(ratio=ratio.where(~equal, 1.0), draws=cells.size())


def ahead(rows: pd.DataFrame) -> pd.DataFrame:
    """Cells in which a rival finds the right columns more often, or predicts over 10 % better."""
    found = []
    for rival in rivals(rows):
        cells = by_cell(paired(rows, rival))
        own = rows[rows["contestant"] == rival]
        selects = bool((own["selected"] != own["d"]).any())  # who keeps all columns finds none
        finds = selects & (cells["exact_theirs"] > cells["exact_ours"])
        better = finds | (cells["ratio"] > NEAR)
        found.append(cells[better].assign(rival=rival).reset_index())
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def spurious(rows: pd.DataFrame) -> pd.Series:
    """Selected columns that do not matter, per fit."""
    return rows["selected"] * (1 - rows["precision"])


@cache
def causes() -> dict[str, str]:
    """Why we lose on a table, as far as it was found (``benchmarks/causes.csv``)."""
    with CAUSES.open(newline="") as file:
        return {row["problem"]: row["cause"] for row in csv.DictReader(file)}


def cause(problem: str) -> str:
    """Of one table; empty where nobody looked."""
    return causes().get(problem, "")


def markdown(head: list[str], lines: list[list[str]]) -> list[str]:
    """A table."""
    rows = ["| " + " | ".join(cells).lstrip() + " |" for cells in (head, *lines)]
    return [rows[0], "|---" * len(head) + "|", *rows[1:]]


def share(value: float) -> str:
    """A rate in per cent; a dash where there is none."""
    return "-" if pd.isna(value) else f"{value:.0%}"


def number(value: float, digits: int = 3) -> str:
    """Some digits; a dash where there is none."""
    return "-" if pd.isna(value) else f"{value:.{digits}g}"
