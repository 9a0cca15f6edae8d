"""Reading stored rows: which, how many, and what they say on average."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from experiments.running import convergence

Rows = list[dict[str, str]]


def where(rows: Rows, **conditions: object) -> Rows:
    """Rows in which these columns have these values."""
    return [row for row in rows if all(row[k] == str(v) for k, v in conditions.items())]


def column(rows: Rows, name: str) -> list[float]:
    """Numbers of a column, without empty cells."""
    return [float(row[name]) for row in rows if row[name] != ""]


def mean(rows: Rows, name: str, digits: int = 3) -> str:
    """Mean of a column; empty without rows."""
    values = column(rows, name)
    return f"{np.mean(values):.{digits}g}" if values else ""


def cell(words: str, rows: Rows) -> str:
    """A figure with the number of draws or splits behind it and the share that converged."""
    if not rows:
        return ""
    over = next((name for name in ("draw", "split") if name in rows[0]), "row")
    count = len({row[over] for row in rows}) if over in rows[0] else len(rows)
    return f"{words} [{count} {over}{'s' * (count != 1)}, {convergence(rows)}]"


def median(rows: Rows, name: str) -> str:
    """Median of a column; empty without rows."""
    return cell(f"{np.median(column(rows, name)):.3f}", rows) if rows else ""


def distinct(rows: Rows, name: str) -> list[str]:
    """Values of a column in the order in which they come."""
    return list(dict.fromkeys(row[name] for row in rows))


def combinations(rows: Rows, *names: str) -> Iterable[tuple[Any, ...]]:
    return dict.fromkeys(tuple(row[name] for name in names) for row in rows)


def means(rows: Rows, by: str, value: str) -> dict[str, float]:
    """Mean of a column for each value of another."""
    return {
        name: float(np.mean(column(where(rows, **{by: name}), value)))
        for name in distinct(rows, by)
        if column(where(rows, **{by: name}), value)
    }


def medians(rows: Rows, by: str, value: str) -> dict[str, float]:
    """Median of a column for each value of another."""
    return {
        name: float(np.median(column(where(rows, **{by: name}), value)))
        for name in distinct(rows, by)
    }


def repeats(rows: Rows) -> int:
    """Draws or splits behind rows; one where they have none."""
    over = next((name for name in ("draw", "split") if rows and name in rows[0]), None)
    return len({row[over] for row in rows}) if over else min(1, len(rows))


def fewest(rows: Rows, *by: str, among: Iterable[tuple[object, ...]] = ()) -> int:
    """The smallest number of draws or splits of any combination of some columns.

    Combinations ``among`` those that must be there, and are not, have none.
    """
    groups: dict[tuple[str, ...], Rows] = {tuple(map(str, place)): [] for place in among}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return min((repeats(part) for part in groups.values()), default=0)
