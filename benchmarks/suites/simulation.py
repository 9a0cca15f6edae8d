"""Computer experiments: 22 functions of uqtestfuns, each with ten inert inputs more.

No noise. Inputs with a total Sobol' index of at least .01 are relevant; inert are those that do not
change the function at all; those between count neither way. ``LinkletterInert`` is constant: its y
is pure noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.problem import TEST_ROWS, Array, Draw, Inputs, Problem, Quick, Suite
from benchmarks.suites import public

INERT = 10
RELEVANT, TRIALS = 0.01, 200  # points at which an input is changed
ROWS = (100, 200, 500)


@cache
def function_of(name: str, d: int) -> Any:
    """The test function, of the dimension that its reference has."""
    import uqtestfuns

    make = getattr(uqtestfuns, name)
    try:
        return make()
    except ValueError:  # how a function of any dimension says so
        return make(input_dimension=d)


def sample(name: str, d: int, n: int, rng: np.random.Generator) -> Array:
    """Independent inputs, the inert ones uniform on [0, 1]."""
    U = rng.uniform(size=(n, d + INERT))
    for a, marginal in enumerate(function_of(name, d).prob_input.marginals):
        U[:, a] = marginal.icdf(U[:, a])
    return U


def draw(name: str, totals: Array, slopes: Array, n: int, seed: int) -> Draw:
    """Training and test rows, both without noise."""
    d = len(totals)
    rng = np.random.default_rng([crc32(name.encode()), seed])
    X, X_test = sample(name, d, n, rng), sample(name, d, TEST_ROWS, rng)
    y, y_test = (np.asarray(function_of(name, d)(part[:, :d]), float) for part in (X, X_test))
    more = np.zeros(INERT)
    if np.ptp(y) == 0:
        y, y_test = rng.standard_normal(n), rng.standard_normal(TEST_ROWS)
        return Draw(X, y, X_test, y_test, np.zeros(d + INERT, dtype=bool))
    inputs = Inputs(partial(sample, name, d), np.append(totals, more), np.append(slopes, more))
    return Draw(X, y, X_test, y_test, inputs.totals >= RELEVANT, y_test, inputs)


def load() -> Sequence[Problem]:
    """All functions that have reference indices."""
    table = public.frame("formulas", "uq_reference_indices")
    return [_problem(str(name), rows) for name, rows in table.groupby("function", sort=False)]


def _problem(name: str, rows: pd.DataFrame) -> Problem:
    totals = rows["ST"].fillna(0).to_numpy(float)
    slopes = rows["dgsm_times_var_x_over_var_y"].fillna(0).to_numpy(float)
    between = np.flatnonzero(changing(name, len(totals)) & (totals < RELEVANT))
    make = partial(draw, name, totals, slopes)
    return Problem(name, make, ROWS, indifferent=tuple(int(a) for a in between))


def changing(name: str, d: int) -> NDArray[np.bool_]:
    """Which of the function's own inputs change it at some point."""
    A, B = (sample(name, d, TRIALS, np.random.default_rng(k))[:, :d] for k in (0, 1))
    function = function_of(name, d)
    base, found = np.asarray(function(A)), np.zeros(d, dtype=bool)
    for a in range(d):
        C = A.copy()
        C[:, a] = B[:, a]
        found[a] = bool((np.asarray(function(C)) != base).any())
    return found


SUITES = (
    Suite(
        "simulation",
        "which inputs of a simulator are inert, and how large are the indices of the others?",
        load,
        ("nablasso", "gaussian_process_native", "mars_native", "salib_delta", "gam"),
        Quick(("Ishigami", "Borehole"), (100,), ("nablasso", "lasso_native", "salib_delta")),
        range(10),
        public.VARIABLE,
        "uqtestfuns",
    ),
)
