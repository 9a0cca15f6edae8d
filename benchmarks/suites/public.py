"""Files of the public suites, in the folder that ``NABLASSO_SUITES`` names."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.problem import folder_of

VARIABLE = "NABLASSO_SUITES"


def folder(name: str) -> Path:
    """One suite's folder."""
    found = folder_of(VARIABLE)
    if found is None or not (found / name).is_dir():
        raise FileNotFoundError(f"{VARIABLE} names no folder that holds {name}")
    return found / name


def names(suite: str) -> list[str]:
    """Tables of a suite, parts joined, in alphabetical order."""
    files = sorted(path.name.removesuffix(".csv.gz") for path in folder(suite).glob("*.csv.gz"))
    whole = (name.removesuffix("_part1") for name in files if not name.endswith("_part2"))
    return list(whole)


def frame(suite: str, name: str) -> pd.DataFrame:
    """One table; parts are joined."""
    path = folder(suite) / f"{name}.csv.gz"
    parts = (folder(suite) / f"{name}_part{k}.csv.gz" for k in (1, 2))
    return _read((path,) if path.exists() else tuple(parts))


@lru_cache(maxsize=4)  # contestants of one problem follow each other
def _read(paths: tuple[Path, ...]) -> pd.DataFrame:
    return pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)


def columns_and_target(
    table: pd.DataFrame,
) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    """Columns, target and names of the columns; the target is called so, or class, or last."""
    known = [name for name in table.columns if str(name).lower() in ("target", "class")]
    target = known[0] if known else table.columns[-1]
    rest = table.drop(columns=target)
    y = table[target].to_numpy(dtype=float)
    return rest.to_numpy(dtype=float), y, [str(name) for name in rest.columns]
