"""The quick tests at the oldest and newest versions, on 1 and 2 threads, on two instruction sets.

Four cells in which every two of these settings meet once; one line each. The oldest versions are
the lower bounds of pyproject.toml, all at once; "plain" is what every x86-64 processor since 2008
can do: OpenBLAS as on Nehalem, numpy with none of the loops that it chooses by processor.
Arguments go to pytest: ``make matrix TESTS="tests/solvers -k gap"``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
CELLS = (
    ("oldest", 1, "native"),
    ("oldest", 2, "plain"),
    ("newest", 1, "plain"),
    ("newest", 2, "native"),
)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
NAMED = ("numpy", "scipy", "scikit-learn", "pandas")
# What numpy chose for this processor, all of which it can do without.
CHOSEN = "import numpy; print(*numpy.show_config(mode='dicts')['SIMD Extensions']['found'])"
VERSIONS = f"from importlib.metadata import version as v; print(*[v(p) for p in {NAMED}])"


def lower_bounds() -> str:
    """Every ``name>=version`` of pyproject.toml as the constraint ``name==version``."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    bounds = re.findall(r'"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)"', text)
    return "\n".join(sorted({f"{name}=={version}" for name, version in bounds}))


def install(versions: str) -> Path:
    """The Python of an environment with these versions, made or brought up to date."""
    folder = ROOT / f".venv-{versions}"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--quiet"]
    if versions == "oldest":
        constraints = folder / "lower-bounds.txt"
        constraints.write_text(lower_bounds(), "utf-8")
        pip += ["--constraint", constraints]
    else:
        pip += ["--upgrade", "--upgrade-strategy", "eager"]
    subprocess.run([*pip, "--editable", f"{ROOT}[test,cli]"], check=True)
    return python


def said(python: Path, code: str) -> str:
    """What the code prints there."""
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def run(versions: str, threads: int, instructions: str, arguments: list[str]) -> bool:
    """Run one cell and print its line; whether it is green."""
    python = install(versions)
    log = python.parents[1] / f"{threads}-{instructions}.log"
    found = ", ".join(map(" ".join, zip(NAMED, said(python, VERSIONS).split(), strict=True)))
    cell = f"{versions} ({found}), {threads} thread{'s'[: threads - 1]}, {instructions}"
    print(f"{cell}: ", end="", flush=True)
    settings = dict.fromkeys(THREADS, str(threads))
    if instructions == "plain":
        settings["OPENBLAS_CORETYPE"] = "Nehalem"
        settings["NPY_DISABLE_CPU_FEATURES"] = said(python, CHOSEN)
    workers = max(1, int(os.environ.get("WORKERS", "2")) // threads)
    pytest = [python, "-m", "pytest", "-m", "not slow", "-q", "-n", str(workers), *arguments]
    begun = time.monotonic()
    with log.open("w") as file:
        done = subprocess.run(
            pytest, cwd=ROOT, env=os.environ | settings, stdout=file, stderr=subprocess.STDOUT
        )
    last = log.read_text("utf-8").strip().splitlines()[-1].strip("= ")
    minutes = (time.monotonic() - begun) / 60
    green = done.returncode == 0
    colour = "green" if green else f"RED, see {log.relative_to(ROOT)}"
    print(f"{colour}; {last.split(' in ')[0]}; {minutes:.0f} minutes", flush=True)
    return green


if __name__ == "__main__":
    red = [cell for cell in CELLS if not run(*cell, sys.argv[1:])]
    sys.exit(bool(red))
