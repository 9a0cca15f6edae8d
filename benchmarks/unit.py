"""E, the unit of time: one eigendecomposition in the same run.

E is the time of one ``scipy.linalg.eigh`` of a symmetric 2000 x 2000 matrix. It is taken before and
after what is timed, on the same threads; what is timed counts in units of the mean of the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh

SIZE = 2000


def eigh_seconds(size: int = SIZE, clock: Callable[[], float] = time.perf_counter) -> float:
    """One E."""
    G = np.random.default_rng(0).standard_normal((size, size))
    A = (G + G.T) / 2
    start = clock()
    eigh(A)
    return clock() - start


def timed(work: Callable[[], object], size: int = SIZE) -> tuple[float, float]:
    """Seconds of ``work``, and of E around it."""
    before = eigh_seconds(size)
    start = time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    return seconds, (before + eigh_seconds(size)) / 2
