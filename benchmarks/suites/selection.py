"""The problems: known support, the rows given, and the targets set for each number of rows.

"SNR r:1" is sd(f) / sd(noise) = r. H1 draws a new covariance for every seed, shared by its training
and test rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.problem import Make, Problem, Quick, Suite, Target, population
from benchmarks.suites import generators as own
from experiments.drawn import (
    make_correlated_pairs,
    make_noisy_copies,
    make_pairwise,
    make_radial,
    make_three_way,
)
from nablasso.datasets import (
    KnownSupport,
    make_additive,
    make_cubic_groups,
    make_friedman1,
    make_product,
    make_rings,
    make_turlach,
    make_two_way,
)


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


def _problem(
    name: str, make: Make, rows: tuple[int, ...], *facts: Any, noiseless: bool = False, **more: Any
) -> Problem:
    return Problem(name, population(name, make, noiseless_test=noiseless), rows, *facts, **more)


_R_EASY = {100: Target(0.95, 1.25), 200: Target(0.98, 1.15)}
_R_HARD = {100: Target(0.85, 1.4), 200: Target(0.98, 1.15)}
_E = Target(0.95, 1.25)
_FRIEDMAN = (0, 1, 2)

PROBLEMS = [
    # Rosasco et al. (2013), figures 2 and 9, SNR 15:1.
    _problem("radial", _library(make_radial, 20), (100, 200), _R_EASY),
    _problem("two_way", _library(make_two_way, 40), (100, 200), _R_EASY),
    _problem("three_way", _library(make_three_way, 40), (100, 200), _R_HARD),
    _problem("additive", _library(make_additive, 40), (100, 200), _R_HARD),
    # Gregorova et al. (2018), section 5.1.
    _problem("E1", _library(make_cubic_groups, 18), (30, 70, 110), {110: _E}),
    _problem("E2", _library(make_correlated_pairs, 18), (30, 70, 110), {70: _E, 110: _E}),
    _problem(
        "E3",
        _library(make_noisy_copies, 18),
        (30, 70, 110),
        {110: Target(ratio=1.15, tanimoto=0.15)},
    ),
    # Bach (2009), figure 8.
    *(
        _problem(f"H1_{p}", _pairwise(p), (200,), {200: Target(0.95, 1.15)})
        for p in (8, 16, 32, 64, 128)
    ),
    # Ye and Xie (2012), section 6.2, the widest noise; Table 1.
    _problem(
        "rings", _library(make_rings, 200, spread=3.0), (40,), {40: Target(0.95)}, "classification"
    ),
    _problem("turlach", _library(make_turlach, 10), (100,)),
    _problem("friedman1", _library(make_friedman1, 50), (200,), {200: Target(0.95, 1.25)}),
    # Ours: no target set, each looks at one weakness.
    _problem(
        "friedman2",
        _function(own.friedman2_function, own.friedman_inputs, _FRIEDMAN, 3.0),
        (200,),
        indifferent=(3,),
    ),
    _problem(
        "friedman3",
        _function(own.friedman3_function, own.friedman_inputs, _FRIEDMAN, 3.0),
        (200,),
        indifferent=(3,),
    ),
    _problem("product", _library(make_product, 20), (100,)),
    _problem("xor", _function(own.xor_function, own.small_cube_inputs, (0, 1), 5.0), (200,)),
    _problem("xor_labels", _own(own.make_xor_labels), (200,), task="classification"),
    _problem(
        "sine_ridge", _function(own.sine_ridge_function, own.cube_inputs, (0, 1), 5.0), (100,)
    ),
    _problem("heavy_tails", _own(own.make_heavy_tails), (200,), noiseless=True),
    _problem(
        "autoregressive",
        _function(own.autoregressive_function, own.autoregressive_inputs, (0, 4, 9, 14, 19), 5.0),
        (200,),
    ),
    _problem("pure_noise", _own(own.make_pure_noise), (100,)),
    _problem("step", _function(own.step_function, own.cube_inputs, (0,), 5.0), (100,)),
    _problem(
        "linear", _function(own.linear_function, own.normal_inputs, tuple(range(5)), 3.0), (100,)
    ),
    _problem(
        "all_relevant",
        _function(own.all_relevant_function, own.five_inputs, tuple(range(5)), 5.0),
        (100,),
    ),
    _problem("wide", _function(own.wide_function, own.wide_inputs, (0, 1, 2), 5.0), (200,)),
]

TARGETED: tuple[str, ...] = tuple(problem.name for problem in PROBLEMS if problem.targets)

SUITE = Suite(
    "selection",
    "which contestant finds exactly the right columns, from how many rows?",
    lambda: PROBLEMS,
    ("nablasso", "oracle"),
    Quick(("all_relevant", "step"), (60,), ("nablasso", "dictionary_lasso", "oracle_refit")),
    range(1000, 1050),
)
SUITES = (SUITE,)
