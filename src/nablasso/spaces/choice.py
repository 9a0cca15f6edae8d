r"""Which space: by name, or by what memory and time allow.

* ``"exact"``: the representer space. O(n^2) memory, O(n^3) once, O(n^2 d) a product.
* ``"fourier"``: m cosines and sines, one pass over the rows, O(d m^2) a product. It selects where
  frequencies are sparse, that is with ANOVA kernels. Other losses than the squared one make a pass
  at every Newton step.
* ``"nystrom"``: (P) exactly on m landmark rows, the refit on all rows. For the others.

``"auto"`` takes the exact space while its matrices fit into half of the memory at hand and its
floating-point operations stay under ``OPERATIONS`` (a minute or two on one core), and beyond that
the one of the other two that can select with the kernel at hand.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nablasso.errors import DataTooLargeError, InvalidParameterError
from nablasso.kernels.anova import Anova
from nablasso.kernels.base import Kernel
from nablasso.spaces.frequencies import has_frequencies

SPACES = ("exact", "fourier", "nystrom")
OPERATIONS = 2e12
PRODUCTS = 300  # products with the kernel's derivatives that a fit is reckoned at
SQUARE_MATRICES = 9  # K and its two derivatives, P, eigenvectors and what their making needs
EXPONENTIALS = 10  # an ANOVA product evaluates the kernel of every column anew, or reads it


class SpaceChoice(NamedTuple):
    """The name of a space, and why it was taken."""

    name: str
    reason: str


def choose_space(
    space: Any,
    kernel: Kernel,
    n_rows: int,
    n_columns: int,
    n_components: Any,
) -> SpaceChoice:
    """What ``space`` means for a table of this size.

    Parameters
    ----------
    space : {"auto", "exact", "fourier", "nystrom"}
    kernel : Kernel
    n_rows, n_columns : int
        Penalty points besides the rows count as rows.
    n_components : int
    """
    if not isinstance(n_components, int | np.integer) or n_components < 1:
        raise InvalidParameterError(
            f"n_components must be a whole number of at least 1; got {n_components!r}."
        )
    if isinstance(space, str) and space == "auto":
        fourier = isinstance(kernel, Anova) and has_frequencies(kernel)
        return _automatic(kernel, n_rows, n_columns, int(n_components), fourier)
    if isinstance(space, str) and space in SPACES:
        return SpaceChoice(space, "asked for")
    raise InvalidParameterError(f"space must be one of auto, {', '.join(SPACES)}; got {space!r}.")


def _automatic(kernel: Kernel, n: int, d: int, n_components: int, fourier: bool) -> SpaceChoice:
    needed, available = needed_bytes(n, d), available_bytes()
    slow = EXPONENTIALS if isinstance(kernel, Anova) else 1
    operations = 10.0 * n**3 + PRODUCTS * 6.0 * slow * n**2 * d
    if n <= n_components:
        return SpaceChoice("exact", f"{n} rows are few")
    if available is not None and 2 * needed > available:
        why = (
            f"the exact space needs {needed / 2**30:.1f} GiB for {n} rows, more than half of the "
            f"{available / 2**30:.1f} GiB available"
        )
    elif operations > OPERATIONS:
        why = f"the exact space would take about {operations:.0e} operations for {n} rows"
    else:
        return SpaceChoice("exact", f"{n} rows fit into memory and time of the exact space")
    if fourier:
        return SpaceChoice("fourier", f"{why}; features of this kernel touch few variables each")
    return SpaceChoice("nystrom", f"{why}; no Fourier features select with this kernel")


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
