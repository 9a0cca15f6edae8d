"""Time and memory of PSD densities: ``python -m benchmarks.nonnegative.run [QUESTION ...]``.

* tuned: n = 1000, 12 candidates by 5 folds, rank at most 200, within 130 E; held-out
  log-likelihood against the same with rank 400 (asked: within 0.02)
* large: n = 50000, rank 200, within 90 E and 2 GiB
* growth: one fit against n at fixed rank, and against the rank at fixed n

E is one eigendecomposition of a 2000 x 2000 matrix on the same threads (benchmarks/unit.py). Rows
are appended as they come and skipped when present; ``--fresh`` measures them again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.memory import peak_gib
from benchmarks.provenance import digest, record_run
from benchmarks.store import Row, RowStore
from benchmarks.unit import timed
from nablasso.datasets import make_two_modes
from nablasso.datasets.generators import two_modes_log_density
from nablasso.estimators import PSDDensity, PSDDensityCV

RESULTS = Path(__file__).parent / "results"
KEY = ("question", "n", "d", "rank", "seed")
COLUMNS = (
    *KEY,
    "source",
    "threads",
    "seconds",
    "eigh_seconds",
    "in_E",
    "budget",
    "peak_gib",
    "held_out",
    "truth",
    "gap",
    "n_iter",
    "chosen",
)
Case = tuple[int, int, int, int]  # n, d, rank, seed

WIDTHS, WEIGHTS = (0.3, 0.6, 1.2), (1e-4, 1e-3, 1e-2, 1e-1)  # twelve candidates
MODES = {"mode": 2.0, "deviation": (2 * np.pi) ** -0.25}  # variance 1 / sqrt(2 pi)
N_TEST = 10_000

LARGE = """
from benchmarks.nonnegative.run import large_fit
large_fit({n}, {d}, {rank}, {seed})
"""


def cases(question: str) -> list[Case]:
    """What a question measures."""
    if question == "tuned":
        return [(1000, d, r, seed) for seed in range(1) for d in (2, 5, 1) for r in (200, 400)]
    if question == "large":
        return [(50_000, d, 200, 0) for d in (1, 2, 5)]
    rows = [(n, 5, 100, 0) for n in (1000, 3000, 10_000, 30_000)]
    return rows + [(5000, 5, r, 0) for r in (50, 100, 200, 400)]


def data(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows of the mixture of two Gaussians."""
    rng = np.random.default_rng([seed, d, 7])
    return tuple(make_two_modes(m, d, **MODES, random_state=rng).X for m in (n, N_TEST))


def tuned_fit(n: int, d: int, rank: int, seed: int) -> PSDDensityCV:
    """Twelve candidates, five folds."""
    X, _ = data(n, d, seed)
    density = PSDDensityCV(widths=WIDTHS, weights=WEIGHTS, cv=5, rank=rank, random_state=seed)
    return density.fit(X)


def large_fit(n: int, d: int, rank: int, seed: int) -> PSDDensity:
    """One fit with defaults."""
    X, _ = data(n, d, seed)
    return PSDDensity(rank=rank, random_state=seed).fit(X)


def measure(question: str, case: Case, threads: int, size: int) -> Row:
    """One row."""
    n, d, rank, seed = case
    fit: Callable[..., PSDDensity | PSDDensityCV] = tuned_fit if question == "tuned" else large_fit
    found: list[PSDDensity | PSDDensityCV] = []
    with threadpool_limits(threads):
        seconds, unit = timed(lambda: found.append(fit(*case)), size)
    test = data(n, d, seed)[1]
    budget = {"tuned": 130, "large": 90}.get(question, "")
    peak = ""
    if question == "large":
        peak = f"{peak_gib(LARGE.format(n=n, d=d, rank=rank, seed=seed))[0]:.3f}"
    values = (question, *case, digest(), threads, f"{seconds:.4g}", f"{unit:.4g}")
    figures = (f"{seconds / unit:.3f}", budget if rank <= 200 else "", peak)
    truth = float(two_modes_log_density(test, **MODES).mean())
    quality = (f"{found[0].score(test):.5f}", f"{truth:.5f}", f"{found[0].dual_gap_:.2e}")
    chosen = str(getattr(found[0], "best_params_", ""))
    return dict(zip(COLUMNS, (*values, *figures, *quality, found[0].n_iter_, chosen), strict=True))


def summary(store: RowStore) -> Iterator[str]:
    """One line per question against its budget."""
    for question in ("tuned", "large"):
        rows = [r for r in store.rows if r["question"] == question and r["rank"] == "200"]
        for d in sorted({row["d"] for row in rows}, key=int):
            times = [float(row["in_E"]) for row in rows if row["d"] == d]
            peaks = [float(row["peak_gib"]) for row in rows if row["d"] == d and row["peak_gib"]]
            memory = f", peak {max(peaks):.2f} GiB" if peaks else ""
            yield (
                f"{question} d={d}: median {np.median(times):.1f} E, largest {max(times):.1f} E "
                f"of {rows[0]['budget']} E over {len(times)} seeds{memory}"
            )
    scores = {
        (r["d"], r["seed"], r["rank"]): float(r["held_out"])
        for r in store.rows
        if r["question"] == "tuned"
    }
    for d, seed, rank in sorted(scores):
        if rank == "200" and (d, seed, "400") in scores:
            difference = scores[d, seed, "200"] - scores[d, seed, "400"]
            yield f"tuned d={d} seed={seed}: held-out, rank 200 minus rank 400: {difference:+.4f}"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("questions", nargs="*", default=["tuned", "large", "growth"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--size", type=int, default=2000, help="of the matrix that defines E")
    parser.add_argument("--smoke", action="store_true", help="one tiny case per question")
    parser.add_argument("--fresh", action="store_true", help="measure rows present again")
    parser.add_argument("--out", type=Path, default=RESULTS / "rows.csv")
    options = parser.parse_args(arguments)
    store = RowStore(options.out, COLUMNS, KEY)
    record_run(store.path, arguments)
    for question in options.questions:
        for case in [(60, 1, 10, 0)] if options.smoke else cases(question):
            key = (question, *map(str, case))
            if key in store and not options.fresh:
                continue
            row = measure(question, case, options.threads, options.size)
            store.append(row)
            sys.stderr.write(f"{question} {case}: {row['in_E']} E, {row['seconds']} s\n")
    sys.stdout.write("\n".join(summary(store)) + "\n")


if __name__ == "__main__":
    main()
