"""Small tables, in memory and in files; the tests of the command use them too."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path) -> Write:
    """A file with the given content; returns its path."""

    def write(content: str | bytes, name: str = "table.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def table() -> pd.DataFrame:
    """y = curved^2 + straight + noise; the other two columns do not matter."""
    rng = np.random.default_rng(0)
    names = ["curved", "straight", "idle", "other"]
    table = pd.DataFrame(rng.normal(size=(40, 4)), columns=names)
    table["y"] = table.curved**2 + table.straight + 0.1 * rng.normal(size=40)
    return table


@pytest.fixture
def csv(table, tmp_path) -> Path:
    """The table as a file."""
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    return path
