"""How long it takes to start, as ratios: ``python -m benchmarks.starting``.

``import nablasso`` (which imports the estimators when they are asked for) and that of an estimator
against the parts of scikit-learn and scipy that nobody who uses it goes without,
``nablasso --help`` against the package that reads its arguments. Both are started in turn, and the
least processor time of each counts: what else the machine does adds to it and never takes away.
``--write`` puts the figures into ``docs/house.md``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nablasso

PAGE = Path(__file__).parents[1] / "docs" / "house.md"
BEGIN, END = "<!-- starting: made by benchmarks/starting.py -->", "<!-- end of starting -->"


@dataclass(frozen=True)
class Start:
    """What is started, what it is measured by, and the ratio that it should keep."""

    name: str
    against: str
    code: str
    other: str
    most: float


NEEDED = "import sklearn.linear_model, scipy.optimize"
STARTS = (
    Start("import nablasso", NEEDED, "import nablasso", NEEDED, 1.15),
    Start(
        "from nablasso import NablassoRegressor",
        NEEDED,
        "from nablasso import NablassoRegressor",
        NEEDED,
        1.5,
    ),
    Start(
        "nablasso --help",
        "import typer",
        "import sys; sys.argv[1:] = ['--help']; from nablasso.cli import main; main()",
        "import typer",
        2.0,
    ),
)


def seconds(code: str) -> float:
    """Processor time of a fresh interpreter that runs this."""
    source = str(Path(nablasso.__file__).parents[1])
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": source}
    before = os.times()
    subprocess.run(
        [sys.executable, "-c", code], env=os.environ | one, stdout=subprocess.DEVNULL, check=True
    )
    after = os.times()
    return sum(
        getattr(after, part) - getattr(before, part)
        for part in ("children_user", "children_system")
    )


def ratio(start: Start, repeats: int) -> float:
    """Least processor time over that of what it is measured by, after one warm-up of both."""
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(repeats + 1):
        for code, kept in zip((start.code, start.other), times, strict=True):
            taken = seconds(code)
            if repeat:
                kept.append(taken)
    return min(times[0]) / min(times[1])


def table(ratios: list[float]) -> str:
    """One line for each."""
    lines = ["| starts | measured by | ratio | at most |", "|---|---|---|---|"]
    for start, found in zip(STARTS, ratios, strict=True):
        lines.append(f"| `{start.name}` | `{start.against}` | {found:.2f} | {start.most} |")
    return "\n".join(lines)


def replaced(text: str, figures: str) -> str:
    """The page with these figures."""
    head, found, rest = text.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not (found and closed):
        raise ValueError(f"{PAGE} needs the two marks {BEGIN!r} and {END!r}.")
    return f"{head}{BEGIN}\n\n{figures}\n\n{END}{tail}"


def run() -> None:
    """Measure, print, and write if asked."""
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/house.md")
    options = parser.parse_args()
    figures = table([ratio(start, options.repeats) for start in STARTS])
    print(figures)
    if options.write:
        PAGE.write_text(replaced(PAGE.read_text("utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    run()
