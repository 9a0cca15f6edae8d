"""Seconds of one certified fit against p, n and the number of active kernels R.

One of the three varies, the others stay; the problem is that of :mod:`problem`; beta = 3 keeps
the certificate. R varies through alpha. The paper's cost is O(R n^3 + n^2 R^2 p).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._testing import ignore_warnings

import nablasso
from benchmarks.hierarchy.problem import problem
from benchmarks.store import Row
from nablasso import HierarchicalKernelRegressor

BETA = 3.0
SHARE = 0.03  # of alpha_max, where p and n vary
KEY = ("varied", "p", "n", "alpha_share", "seed")
COLUMNS = (*KEY, "active", "certified", "seconds", "paper")


class Setting(NamedTuple):
    """One fit."""

    varied: str
    p: int
    n: int
    alpha_share: float
    seed: int


def settings(seeds: range) -> list[Setting]:
    """Three sweeps."""
    sweep = [Setting("p", p, 200, SHARE, s) for s in seeds for p in (16, 32, 64, 128, 256, 512)]
    sweep += [Setting("n", 64, n, SHARE, s) for s in seeds for n in (64, 128, 256, 512, 1024)]
    shares = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
    return sweep + [Setting("R", 64, 200, share, s) for s in seeds for share in shares]


@ignore_warnings(category=ConvergenceWarning)
def measured(setting: Setting) -> Row:
    """Seconds of the fit, active kernels, and the paper's count of operations."""
    _, p, n, share, seed = setting
    posed = problem(n, p, seed)
    estimator = HierarchicalKernelRegressor(beta=BETA, debias=False)
    top = nablasso.path(estimator, posed.X, posed.y, n_alphas=1).alpha_max
    model = HierarchicalKernelRegressor(alpha=share * top, beta=BETA, debias=False)
    start = time.perf_counter()
    model.fit(posed.X, posed.y)
    seconds = time.perf_counter() - start
    R = int(model.n_kernels_)
    return {
        **setting._asdict(),
        "active": R,
        "certified": bool(model.certified_),
        "seconds": f"{seconds:.4g}",
        "paper": f"{R * n**3 + n**2 * R**2 * p:.4g}",
    }


def rows(seeds: range) -> Iterator[Row]:
    """All sweeps."""
    yield from (measured(setting) for setting in settings(seeds))
