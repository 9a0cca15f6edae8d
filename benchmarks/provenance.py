"""Where rows come from: versions, machine, date, and a digest of the library's source."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info

import nablasso

PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "xrfm")
NOT_NUMERICAL = {"cli", "datasets"}


@cache
def digest() -> str:
    """First ten hexadecimal digits of the SHA-256 of the library's numerical modules."""
    root = Path(nablasso.__file__).parent
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        relative = path.relative_to(root)
        if relative.parts[0] not in NOT_NUMERICAL:
            total.update(relative.as_posix().encode())
            total.update(path.read_bytes())
    return total.hexdigest()[:10]


def environment() -> dict[str, str]:
    """What to keep next to rows."""
    found = {"nablasso": f"{nablasso.__version__} {digest()}", "python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    found["machine"] = machine
    found["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    return found


def record_run(rows: Path, arguments: Sequence[str]) -> None:
    """Append versions, machine and date of this run next to the file of rows.

    Of a path that belongs to one machine the last part is kept.
    """
    words = [Path(word).name if Path(word).is_absolute() else word for word in arguments]
    line = json.dumps({"arguments": words, **environment()})
    with rows.with_suffix(".runs.jsonl").open("a") as file:
        file.write(line + "\n")


def linear_algebra_threads() -> int:
    """As many as products of matrices would use now."""
    found = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]
    return max(found, default=1)
