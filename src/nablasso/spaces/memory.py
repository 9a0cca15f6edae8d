"""Memory of the exact space: asked for before it is taken."""

from __future__ import annotations

import os
from pathlib import Path

from nablasso.errors import DataTooLargeError

SQUARE_MATRICES = 9  # K and its two derivatives, P, eigenvectors and what their making needs


def available_bytes() -> int | None:
    """Memory that can be had now, or None where the system does not tell."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        for line in meminfo.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def needed_bytes(n_samples: int, n_features: int) -> int:
    """Memory that a fit in the exact space takes."""
    return 8 * (SQUARE_MATRICES * n_samples**2 + 8 * n_samples * n_features)


def require_memory(n_samples: int, n_features: int) -> None:
    """Refuse sizes whose n x n matrices would not fit."""
    needed = needed_bytes(n_samples, n_features)
    available = available_bytes()
    if available is None or needed <= available:
        return
    fitting = int((available / (8 * SQUARE_MATRICES)) ** 0.5 * 0.9)
    raise DataTooLargeError(
        f"The exact space needs n x n matrices: {needed / 2**30:.1f} GiB for {n_samples} rows, and "
        f"{available / 2**30:.1f} GiB are available. Fit on a random sample of at most {fitting} "
        "rows, for example sklearn.utils.resample(X, y, replace=False, n_samples=...), or on a "
        'derivative estimator use space="auto".'
    )
