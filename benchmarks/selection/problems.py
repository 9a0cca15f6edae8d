"""The problems: known support, the rows given, and the targets set for each number of rows.

"SNR r:1" is sd(f) / sd(noise) = r. Training rows and test rows of one seed come from two streams,
so that the test set of a seed is the same for every n. H1 draws a new covariance for every seed,
shared by its training and test rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.selection import generators as own
from nablasso.datasets import (
    KnownSupport,
    make_additive,
    make_correlated_pairs,
    make_cubic_groups,
    make_friedman1,
    make_noisy_copies,
    make_pairwise,
    make_product,
    make_radial,
    make_rings,
    make_three_way,
    make_turlach,
    make_two_way,
)

TEST_ROWS = 1000

Make = Callable[[int, np.random.Generator, int], KnownSupport]  # rows, source, seed


@dataclass(frozen=True)
class Target:
    """What must be reached: rate of exact supports, RMSE over the oracle's, mean Tanimoto."""

    exact: float | None = None
    ratio: float | None = None
    tanimoto: float | None = None


@dataclass(frozen=True)
class Problem:
    """A population with known support.

    ``rows`` are the training sizes measured by default, ``targets`` the goals at some of them.
    ``indifferent`` columns are relevant in the formula and invisible in the data: they count
    neither for nor against a contestant.
    """

    name: str
    make: Make
    rows: tuple[int, ...]
    targets: Mapping[int, Target] = field(default_factory=dict)
    task: str = "regression"
    indifferent: tuple[int, ...] = ()
    noiseless_test: bool = False

    def draw(self, n: int, seed: int) -> tuple[KnownSupport, KnownSupport]:
        """Training rows (n) and test rows (1000)."""
        code = crc32(self.name.encode())
        train = self.make(n, np.random.default_rng([code, seed, 0]), seed)
        test = self.make(TEST_ROWS, np.random.default_rng([code, seed, 1]), seed)
        if self.noiseless_test:
            test = KnownSupport(
                test.X, test.noise_free, test.support, test.feature_names, None, test.noise_free
            )
        return train, test


def _library(make: Callable[..., KnownSupport], n_features: int, **options: Any) -> Make:
    return lambda n, rng, _seed: make(n, n_features, random_state=rng, **options)


def _pairwise(n_features: int) -> Make:
    return lambda n, rng, seed: make_pairwise(
        n, n_features, snr=3.0, design_state=seed, random_state=rng
    )


def _own(make: Callable[[int, np.random.Generator], KnownSupport]) -> Make:
    return lambda n, rng, _seed: make(n, rng)


def _function(
    function: own.Function, inputs: own.Inputs, relevant: tuple[int, ...], snr: float
) -> Make:
    return _own(partial(own.drawn, function, inputs, relevant, snr))


_R_EASY = {100: Target(0.95, 1.25), 200: Target(0.98, 1.15)}
_R_HARD = {100: Target(0.85, 1.4), 200: Target(0.98, 1.15)}
_E = Target(0.95, 1.25)
_FRIEDMAN = (0, 1, 2)

_LIST = [
    # Rosasco et al. (2013), figures 2 and 9, SNR 15:1.
    Problem("radial", _library(make_radial, 20), (100, 200), _R_EASY),
    Problem("two_way", _library(make_two_way, 40), (100, 200), _R_EASY),
    Problem("three_way", _library(make_three_way, 40), (100, 200), _R_HARD),
    Problem("additive", _library(make_additive, 40), (100, 200), _R_HARD),
    # Gregorova et al. (2018), section 5.1.
    Problem("E1", _library(make_cubic_groups, 18), (110,), {110: _E}),
    Problem("E2", _library(make_correlated_pairs, 18), (70, 110), {70: _E, 110: _E}),
    Problem(
        "E3", _library(make_noisy_copies, 18), (110,), {110: Target(ratio=1.15, tanimoto=0.15)}
    ),
    # Bach (2009), figure 8.
    *(
        Problem(f"H1_{p}", _pairwise(p), (200,), {200: Target(0.95, 1.15)})
        for p in (8, 16, 32, 64, 128)
    ),
    # Ye and Xie (2012), section 6.2, the widest noise; Table 1.
    Problem(
        "rings", _library(make_rings, 200, spread=3.0), (40,), {40: Target(0.95)}, "classification"
    ),
    Problem("turlach", _library(make_turlach, 10), (100,)),
    Problem("friedman1", _library(make_friedman1, 50), (200,), {200: Target(0.95, 1.25)}),
    # Ours: no target set, each looks at one weakness.
    Problem(
        "friedman2",
        _function(own.friedman2_function, own.friedman_inputs, _FRIEDMAN, 3.0),
        (200,),
        indifferent=(3,),
    ),
    Problem(
        "friedman3",
        _function(own.friedman3_function, own.friedman_inputs, _FRIEDMAN, 3.0),
        (200,),
        indifferent=(3,),
    ),
    Problem("product", _library(make_product, 20), (100,)),
    Problem("xor", _function(own.xor_function, own.small_cube_inputs, (0, 1), 5.0), (200,)),
    Problem("xor_labels", _own(own.make_xor_labels), (200,), task="classification"),
    Problem("sine_ridge", _function(own.sine_ridge_function, own.cube_inputs, (0, 1), 5.0), (100,)),
    Problem("heavy_tails", _own(own.make_heavy_tails), (200,), noiseless_test=True),
    Problem(
        "autoregressive",
        _function(own.autoregressive_function, own.autoregressive_inputs, (0, 4, 9, 14, 19), 5.0),
        (200,),
    ),
    Problem("pure_noise", _own(own.make_pure_noise), (100,)),
    Problem("step", _function(own.step_function, own.cube_inputs, (0,), 5.0), (100,)),
    Problem(
        "linear", _function(own.linear_function, own.normal_inputs, tuple(range(5)), 3.0), (100,)
    ),
    Problem(
        "all_relevant",
        _function(own.all_relevant_function, own.five_inputs, tuple(range(5)), 5.0),
        (100,),
    ),
    Problem("wide", _function(own.wide_function, own.wide_inputs, (0, 1, 2), 5.0), (200,)),
]

PROBLEMS: dict[str, Problem] = {problem.name: problem for problem in _LIST}
TARGETED: tuple[str, ...] = tuple(p.name for p in _LIST if p.targets)
