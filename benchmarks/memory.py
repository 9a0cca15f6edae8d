"""Peak resident memory: of a script in a process of its own, or of a call in this one."""

from __future__ import annotations

import ctypes
import gc
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# VmHWM belongs to the script alone. ru_maxrss, where there is no /proc, may hold the parent's peak.
PEAK = """
def _peak_gib():
    import pathlib, re, resource, sys
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) / 2**20
    unit = 2**30 if sys.platform == "darwin" else 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
print(_peak_gib())
"""


def peak_gib(script: str) -> tuple[float, list[str]]:
    """GiB at the peak, interpreter and imports included, and the words the script printed."""
    done = subprocess.run(
        [sys.executable, "-c", script + PEAK], check=True, capture_output=True, text=True
    )
    *words, peak = done.stdout.split()
    return float(peak), words


class Peak:
    """MiB above what was resident before; None where the system does not tell."""

    mib: float | None = None

    def __str__(self) -> str:
        return "" if self.mib is None else f"{self.mib:.1f}"


@contextmanager
def peak_above() -> Iterator[Peak]:
    """Peak resident memory of the block above what was resident at its start.

    Linux forgets the peak when asked, and the allocator returns first what earlier work freed. What
    it cannot return is used again unseen, and other processes (R) are not counted: a lower bound,
    alike for all contestants.
    """
    peak = Peak()
    _return_freed()
    try:
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
    except OSError:
        yield peak
        return
    try:
        yield peak
    finally:
        peak.mib = max(0.0, _status("VmHWM") - before)


def _return_freed() -> None:
    """Give freed memory back to the system, where the C library (glibc) can."""
    gc.collect()
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _status(name: str) -> float:
    """MiB of a line of this process's status."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    if found is None:
        raise OSError(f"no {name} in /proc/self/status")
    return int(found[1]) / 1024
