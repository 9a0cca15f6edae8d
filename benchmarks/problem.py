"""What a problem is: rows to learn from, rows to be judged on, and what is known of the truth."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from nablasso.datasets import KnownSupport
from nablasso.types import Array

ALL = 0  # "n" of a problem whose protocol fixes the training rows
TEST_ROWS = 1000
SEEDS = range(1000, 1010)


class Inputs(NamedTuple):
    """Independent inputs whose total Sobol' indices and mean squared slopes are known.

    ``slopes`` are mean squared derivatives times var(x) / var(y).
    """

    sample: Callable[[int, np.random.Generator], Array]
    totals: Array
    slopes: Array


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw or split. What is not known of the truth is None; there may be no test rows."""

    X: Array
    y: Array
    X_test: Array
    y_test: Array
    support: NDArray[np.bool_] | None = None
    noise_free: Array | None = None  # of the test rows
    inputs: Inputs | None = None


@dataclass(frozen=True)
class Target:
    """What must be reached: rate of exact supports, RMSE over the oracle's, mean Tanimoto."""

    exact: float | None = None
    ratio: float | None = None
    tanimoto: float | None = None


@dataclass(frozen=True)
class Problem:
    """A population or a table; ``draw(n, seed)`` depends on n and the seed alone.

    ``rows`` are the training sizes measured by default, ``seeds`` the draws or splits where they
    are not the suite's, ``targets`` the goals at some sizes. ``indifferent`` columns are relevant
    in the formula and invisible in the data: they count neither for nor against a contestant.
    """

    name: str
    draw: Callable[[int, int], Draw]
    rows: tuple[int, ...] = (ALL,)
    targets: Mapping[int, Target] = field(default_factory=dict)
    task: str = "regression"
    indifferent: tuple[int, ...] = ()
    seeds: Sequence[int] | None = None
    intervals: bool = False  # whether everybody is asked for intervals
    most_rows: float = float("inf")  # for training; more would leave too few for the test


class Quick(NamedTuple):
    """What ``--quick`` measures of a suite."""

    problems: tuple[str, ...]
    rows: tuple[int, ...] | None = None
    contestants: tuple[str, ...] = ("nablasso", "lightgbm", "linear")


@dataclass(frozen=True)
class Suite:
    """Problems that ask one question; ``load`` may read names of files, not their rows."""

    name: str
    asks: str
    load: Callable[[], Sequence[Problem]]
    contestants: tuple[str, ...]
    quick: Quick
    seeds: Sequence[int] = SEEDS
    folder: str | None = None  # environment variable that names the folder of its tables
    package: str = "nablasso"  # whose functions it draws from

    def missing(self) -> str | None:
        """Why it cannot run here; None when it can."""
        if self.folder is not None and folder_of(self.folder) is None:
            return f"{self.folder} must name the folder of its tables (benchmarks/README.md)"
        if find_spec(self.package) is None:
            return f"not installed: pip install {self.package}"
        return None

    def problems(self) -> dict[str, Problem]:
        """By name, in order."""
        if self.name not in _LOADED:
            _LOADED[self.name] = {problem.name: problem for problem in self.load()}
        return _LOADED[self.name]


def folder_of(variable: str) -> Path | None:
    """The folder that an environment variable names, if it is there."""
    path = Path(os.environ.get(variable, ""))
    return path if variable in os.environ and path.is_dir() else None


_LOADED: dict[str, dict[str, Problem]] = {}

Make = Callable[[int, np.random.Generator, int], KnownSupport]  # rows, source, seed


def population(
    name: str, make: Make, *, noiseless_test: bool = False, test_rows: int = TEST_ROWS
) -> Callable[[int, int], Draw]:
    """Training and test rows of one seed from two streams: the test set is the same for every n."""
    code = crc32(name.encode())

    def draw(n: int, seed: int) -> Draw:
        train = make(n, np.random.default_rng([code, seed, 0]), seed)
        test = make(test_rows, np.random.default_rng([code, seed, 1]), seed)
        y_test = test.noise_free if noiseless_test else test.y
        return Draw(train.X, train.y, test.X, y_test, train.support, test.noise_free)

    return draw
