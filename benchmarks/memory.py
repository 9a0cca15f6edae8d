"""Peak resident memory of a script in a process of its own."""

from __future__ import annotations

import subprocess
import sys

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
