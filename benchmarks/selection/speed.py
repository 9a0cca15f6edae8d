"""Time of a default fit in units of E: ``python -m benchmarks.selection.speed``.

E is the time of one ``scipy.linalg.eigh`` of a symmetric 2000 x 2000 matrix in the same run, taken
before and after every fit; a fit counts in units of the mean of its two neighbours. Fit and E use
the same threads (``--threads``). Asked: n = 100, d = 40 at most 10 E; n = 1000, d = 30 at most
90 E.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.provenance import record_run
from benchmarks.selection.contest import Question
from benchmarks.selection.contestants import CONTESTANTS
from benchmarks.selection.run import able
from benchmarks.store import RowStore
from benchmarks.unit import SIZE, timed
from nablasso.datasets import KnownSupport, make_additive, make_friedman1, make_two_way

CASES = ((100, 40, 10.0), (1000, 30, 90.0))  # rows, columns, budget in E
MAKERS: dict[str, Callable[..., KnownSupport]] = {
    "two_way": make_two_way,
    "additive": make_additive,
    "friedman1": make_friedman1,
}
KEY = ("contestant", "n", "d", "problem", "repeat")
COLUMNS = (*KEY, "source", "threads", "seconds", "eigh_seconds", "in_E", "budget")
OUT = Path(__file__).parent / "results" / "speed.csv"


def main(argv: Sequence[str] | None = None) -> None:
    """Time each case, largest in units of E against its budget."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contestants", nargs="+", default=["nablasso"])
    parser.add_argument("--problems", nargs="+", default=list(MAKERS), choices=list(MAKERS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--size", type=int, default=SIZE, help="of the matrix that defines E")
    parser.add_argument("--smoke", action="store_true", help="first case only, one repeat")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args(arguments)
    store = RowStore(options.out, COLUMNS, KEY)
    record_run(store.path, arguments)
    cases, repeats = (CASES[:1], 1) if options.smoke else (CASES, options.repeats)
    for name in able(options.contestants):
        for n, d, budget in cases:
            times = []
            for problem in options.problems:
                for repeat in range(repeats):
                    question = _question(problem, n, d, repeat)
                    with threadpool_limits(options.threads):
                        fit = partial(CONTESTANTS[name].fit, question)
                        seconds, unit = timed(fit, options.size)
                    times.append(seconds / unit)
                    values = (name, n, d, problem, repeat, CONTESTANTS[name].source())
                    figures = (options.threads, f"{seconds:.4g}", f"{unit:.4g}", f"{times[-1]:.3f}")
                    row = dict(zip(COLUMNS, (*values, *figures, budget), strict=True))
                    store.forget({store.key_of(row)})
                    store.append(row)
            met = "met" if np.median(times) <= budget else "NOT met"
            sys.stdout.write(
                f"{name} n={n} d={d}: median {np.median(times):.2f} E, largest {max(times):.2f} E, "
                f"budget {budget:g} E, {met} by the median\n"
            )


def _question(problem: str, n: int, d: int, seed: int) -> Question:
    data = MAKERS[problem](n, d, random_state=seed)
    return Question(data.X, data.y, seed=seed)


if __name__ == "__main__":
    main()
