"""The pass over the rows: ``python -m benchmarks.scale.passes headline float64 scaling``.

Time of ``SufficientStatistics.partial_fit`` as a multiple of the bare matrix products of the same
sizes, measured before and after it in the same process, and the peak of memory above the input. The
bare products are those that the pass must make: projections n x d x m/2 and one symmetric product
n x m^2, in blocks that fit a cache. ``general`` is what the problem asks for on paper: projections
n x d x m and the two matrices C and S by general products.

Rows go to ``results/passes.csv`` one by one, each from a process of its own; a second call goes on
where the first stopped, ``--fresh`` starts anew. Set OMP_NUM_THREADS for the number of threads. On
a machine that others use, look at the columns ``cpu_``: time of the processor, not of the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.provenance import linear_algebra_threads, record_run
from benchmarks.store import Row, RowStore
from nablasso.data.table import prepare
from nablasso.kernels import Gaussian
from nablasso.spaces import draw_fourier
from nablasso.streaming import FrozenSpace, SufficientStatistics

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[2]
QUESTIONS = ("headline", "float64", "scaling")
KEY = ("question", "n", "d", "m", "dtype", "threads", "repeat")
MEASURED = (
    *("seconds", "bare_seconds", "general_seconds", "cpu_seconds", "bare_cpu_seconds"),
    *("ratio", "cpu_ratio", "ratio_to_general", "input_mb", "memory_above_input_mb"),
)
BLOCK = 4096  # rows of the bare products
SUBSAMPLE = 1000


class Size(NamedTuple):
    """What is measured once."""

    question: str
    n: int
    d: int
    m: int
    dtype: str
    threads: int
    repeat: int


def sizes(question: str, threads: int, repeats: int, scale: float) -> Iterator[Size]:
    """The sizes of a question; ``scale`` makes all numbers of rows smaller."""
    if question in ("headline", "float64"):
        dtype = "float32" if question == "headline" else "float64"
        for repeat in range(repeats):
            yield Size(question, int(1e6 * scale), 50, 512, dtype, threads, repeat)
        return
    base = int(1e5 * scale)
    cases = [(int(n * scale), 50, 512) for n in (30_000, 100_000, 300_000, 1_000_000)]
    cases += [(base, d, 512) for d in (10, 25, 100, 200, 400)]
    cases += [(base, 50, m) for m in (128, 256, 1024, 2048)]
    for n, d, m in cases:
        yield Size(question, n, d, m, "float32", threads, 0)


def measured(size: Size) -> dict[str, float]:
    """One row; runs in a process of its own."""
    rng = np.random.default_rng(size.repeat)
    X = rng.standard_normal((size.n, size.d), dtype=np.float32).astype(size.dtype, copy=False)
    y = X[:, 0] ** 2 + X[:, 1]
    space = frozen(X[:SUBSAMPLE], y[:SUBSAMPLE], size.m)
    before = memory_mb("VmRSS")
    seconds, cpu = clocked(
        lambda: SufficientStatistics(space).partial_fit(X, y, threads=size.threads)
    )
    above = memory_mb("VmHWM") - before
    bare, general = bare_products(size)
    first = clocked(bare)
    again = clocked(lambda: SufficientStatistics(space).partial_fit(X, y, threads=size.threads))
    seconds, cpu = min(seconds, again[0]), min(cpu, again[1])
    second = clocked(bare)
    bare_seconds, bare_cpu = (min(pair) for pair in zip(first, second, strict=True))
    general_seconds = float("nan") if size.question == "scaling" else clocked(general)[0]
    return {
        "seconds": seconds,
        "bare_seconds": bare_seconds,
        "general_seconds": general_seconds,
        "cpu_seconds": cpu,
        "bare_cpu_seconds": bare_cpu,
        "ratio": seconds / bare_seconds,
        "cpu_ratio": cpu / bare_cpu,
        "ratio_to_general": seconds / general_seconds,
        "input_mb": (X.nbytes + y.nbytes) / 1e6,
        "memory_above_input_mb": above,
    }


def frozen(X: np.ndarray, y: np.ndarray, m: int) -> FrozenSpace:
    """A space of Gaussian features with the median width, about sqrt(2 d)."""
    table = prepare(
        X.astype(float), y.astype(float), np.ones(len(X)), standardize=True, centre_y=True
    )
    d = len(table.columns)
    return FrozenSpace.from_table(table, draw_fourier(Gaussian(), np.full(d, (2 * d) ** -0.5), m))


def bare_products(size: Size) -> tuple[Callable[[], None], Callable[[], None]]:
    """The products that the pass makes, and those of C and S without symmetry and pairs."""
    rng = np.random.default_rng(0)
    block = min(BLOCK, size.n)
    Z = rng.standard_normal((block, size.d)).astype(size.dtype)
    W = rng.standard_normal((size.d, size.m)).astype(size.dtype)
    phi, psi = (rng.standard_normal((block, size.m)).astype(size.dtype) for _ in "ab")
    half = np.ascontiguousarray(W[:, : size.m // 2])
    times = range(-(-size.n // block))

    def bare() -> None:
        for _ in times:
            Z @ half
            phi.T @ phi  # numpy takes syrk

    def general() -> None:
        for _ in times:
            Z @ W
            phi.T @ psi
            psi.T @ phi

    return bare, general


def clocked(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def memory_mb(field: str) -> float:
    """A field of this process's status; NaN where the system has none."""
    status = Path("/proc/self/status")
    if not status.exists():
        return float("nan")
    found = re.search(rf"{field}:\s+(\d+) kB", status.read_text())
    return int(found[1]) * 1024 / 1e6 if found else float("nan")


def in_process_of_its_own(size: Size) -> Row:
    """A row for the store."""
    script = (
        "import json; from benchmarks.scale.passes import Size, measured;"
        f"print(json.dumps(measured({size!r})))"
    )
    folders = [str(ROOT), *filter(None, sys.path)]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(folders))
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, env=environment
    )
    found = {name: f"{value:.4g}" for name, value in json.loads(done.stdout).items()}
    return {**size._asdict(), **found}


def main(argv: Sequence[str] | None = None) -> None:
    """Measure what is missing."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", nargs="*", default=list(QUESTIONS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1.0, help="of the numbers of rows")
    parser.add_argument("--fresh", action="store_true", help="measure rows present again")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    path = options.out / "passes.csv"
    if options.fresh:
        path.unlink(missing_ok=True)
    store = RowStore(path, (*KEY, *MEASURED), KEY)
    for question in options.questions:
        for size in sizes(question, linear_algebra_threads(), options.repeats, options.scale):
            if tuple(map(str, size)) in store:
                continue
            row = in_process_of_its_own(size)
            store.append(row)
            sys.stderr.write(
                f"{' '.join(map(str, size))}: ratio {row['ratio']} (processor {row['cpu_ratio']}), "
                f"{row['memory_above_input_mb']} MB above the input\n"
            )
    record_run(path, arguments)


if __name__ == "__main__":
    main()
