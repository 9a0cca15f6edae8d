"""Files that a call walks through, in the order of entry: ``python -m benchmarks.files_entered``.

A file is entered when one of its functions is called; what runs while a module is imported does
not count. ``--write`` puts the figures into ``docs/house.md``; ``--all`` lists every file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import nablasso
from nablasso import HierarchicalKernelRegressorCV, NablassoRegressor, PSDDensity
from nablasso.cli import main
from nablasso.datasets import make_two_way

PACKAGE = Path(nablasso.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "house.md"
BEGIN, END = "<!-- figures: made by benchmarks/files_entered.py -->", "<!-- end of figures -->"
DATA = make_two_way(60, 6, random_state=0)  # products of pairs of four of six columns


@dataclass
class Walk:
    """Files of the package in the order of entry, each with the functions called in it."""

    functions: dict[str, set[str]] = field(default_factory=dict)
    importing: int = 0

    @property
    def files(self) -> list[str]:
        """Paths below the package."""
        return list(self.functions)

    @property
    def n_functions(self) -> int:
        """Functions called."""
        return sum(map(len, self.functions.values()))

    def look(self, frame: FrameType, event: str, _: Any) -> None:
        """What the interpreter calls at every call and return."""
        code = frame.f_code
        if code.co_name == "<module>":
            self.importing += {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not self.importing and code.co_filename.startswith(str(PACKAGE)):
            name = Path(code.co_filename).relative_to(PACKAGE).as_posix()
            self.functions.setdefault(name, set()).add(code.co_qualname)


def walked(call: Callable[[], object]) -> Walk:
    """The walk of a call."""
    walk = Walk()
    before = sys.getprofile()
    sys.setprofile(walk.look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return walk


def nablasso_regressor() -> None:
    """Which columns."""
    NablassoRegressor().fit(DATA.X, DATA.y)


def hierarchical_cv() -> None:
    """Which interactions; a short path in two folds walks as a long one does."""
    HierarchicalKernelRegressorCV(cv=2, alphas=5, betas=[2.0]).fit(DATA.X, DATA.y)


def psd_density() -> None:
    """Of two columns."""
    PSDDensity().fit(DATA.X[:, :2])


def select_command() -> None:
    """The first walk, from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        names = ",".join([*DATA.feature_names, "y"])
        rows = np.column_stack([DATA.X, DATA.y])
        np.savetxt(path, rows, delimiter=",", header=names, comments="")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main(["select", str(path), "--target", "y"])


CALLS: dict[str, Callable[[], None]] = {
    "NablassoRegressor().fit": nablasso_regressor,
    "HierarchicalKernelRegressorCV().fit": hierarchical_cv,
    "PSDDensity().fit": psd_density,
    "nablasso select": select_command,
}


def table(walks: dict[str, Walk]) -> str:
    """One line for each call."""
    lines = ["| call | files entered | functions called |", "|---|---|---|"]
    for name, walk in walks.items():
        lines.append(f"| `{name}` | {len(walk.files)} | {walk.n_functions} |")
    return "\n".join(lines)


def replaced(text: str, figures: str) -> str:
    """The page with these figures."""
    head, found, rest = text.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not (found and closed):
        raise ValueError(f"{PAGE} needs the two marks {BEGIN!r} and {END!r}.")
    return f"{head}{BEGIN}\n\n{figures}\n\n{END}{tail}"


def run() -> None:
    """Trace all calls, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/house.md")
    parser.add_argument("--all", action="store_true", help="list every file in the order of entry")
    options = parser.parse_args()
    walks = {name: walked(call) for name, call in CALLS.items()}
    print(table(walks))
    for name, walk in walks.items() if options.all else ():
        print(f"\n{name}\n  " + "\n  ".join(walk.files))
    if options.write:
        PAGE.write_text(replaced(PAGE.read_text("utf-8"), table(walks)), encoding="utf-8")


if __name__ == "__main__":
    run()
