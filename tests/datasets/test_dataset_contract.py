"""What every generator promises, checked for all of them, those of the experiments too."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from experiments import drawn
from experiments.drawn import (
    correlated_pairs_function,
    draw_quadratic,
    parabola_function,
    quadratic_function,
    radial_function,
    three_way_function,
)
from nablasso import datasets
from nablasso.datasets.generators import (
    DEMO_COLUMNS,
    additive_function,
    bell_function,
    cubic_groups_function,
    demo_function,
    friedman1_function,
    pairwise_function,
    product_function,
    turlach_function,
)


def rings_function(X):
    """1 where sqrt(x1^2 + x2^2) is nearer to 3 than to 7.5, else 0."""
    return (np.hypot(X[:, 0], X[:, 1]) < 5.25).astype(float)


@dataclass(frozen=True)
class Case:
    """A generator, its default shape, its relevant columns (from 1), and its function of X."""

    make: Callable[..., datasets.KnownSupport]
    shape: tuple[int, int]
    relevant: tuple[int, ...]
    function: Callable[[Any], Any] | None
    narrow: dict[str, int] = field(default_factory=dict)  # a cheap width for large samples
    noise_parameter: str = "snr"
    noise: float = 15.0


SIX = (1, 2, 3, 7, 8, 9)
CASES = (
    Case(datasets.make_additive, (100, 40), (1, 2, 3, 4), additive_function, {"n_features": 5}),
    Case(datasets.make_two_way, (100, 40), (1, 2, 3, 4), pairwise_function(), {"n_features": 5}),
    Case(drawn.make_three_way, (100, 40), (1, 2, 3), three_way_function, {"n_features": 4}),
    Case(drawn.make_radial, (100, 20), (1, 2), radial_function, {"n_features": 3}),
    Case(datasets.make_product, (80, 20), (1, 2), product_function, {"n_features": 3}, "snr", 3.0),
    Case(drawn.make_parabola, (20, 2), (1,), parabola_function, {}, "noise", 0.1),
    Case(datasets.make_cubic_groups, (110, 18), SIX, cubic_groups_function, {}, "noise", 0.01),
    Case(drawn.make_correlated_pairs, (110, 18), SIX, correlated_pairs_function, {}, "noise", 0.01),
    # A function of latent variables: see tests/experiments/test_drawn.py.
    Case(drawn.make_noisy_copies, (110, 18), SIX, None, {}, "noise", 0.01),
    Case(
        drawn.make_pairwise,
        (100, 16),
        (1, 2, 3, 4),
        pairwise_function(),
        {"n_features": 6},
        "snr",
        3.0,
    ),
    Case(
        datasets.make_turlach, (100, 10), (1, 2, 3, 4, 5), turlach_function, {}, "noise", 0.05**0.5
    ),
    Case(datasets.make_friedman1, (100, 10), (1, 2, 3, 4, 5), friedman1_function, {}, "noise", 1.0),
    Case(datasets.make_rings, (40, 200), (1, 2), rings_function, {"n_features": 3}, "none", 0.0),
    Case(datasets.make_demo, (200, 12), (2, 4, 6, 8), demo_function, {}, "fixed", 1.0),
    Case(
        drawn.make_quadratic,
        (30, 10),
        (1, 2, 3),
        quadratic_function(draw_quadratic(3, np.random.RandomState(0))),
        {"n_features": 4},
        "snr",
        3.0,
    ),
    # Noise that depends on x: see test_generators.py and tests/experiments/test_drawn.py.
    Case(datasets.make_wavy_noise, (80, 1), (1,), None, {}, "uneven", 0.0),
    Case(drawn.make_bow_tie, (500, 1), (1,), None, {}, "uneven", 0.0),
    Case(datasets.make_bell, (100, 1), (1,), bell_function, {}, "none", 0.0),
)


def for_each(cases: Iterable[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", list(cases), ids=lambda case: case.make.__name__)


each = for_each(CASES)
each_function_of_x = for_each(case for case in CASES if case.function is not None)
each_with_snr = for_each(case for case in CASES if case.noise_parameter == "snr")
each_with_noise = for_each(case for case in CASES if case.noise_parameter == "noise")
each_with_a_noise_sd = for_each(
    case for case in CASES if case.noise_parameter in ("noise", "fixed")
)
FIXED_WIDTH = (
    datasets.make_demo,
    datasets.make_wavy_noise,
    drawn.make_bow_tie,
    datasets.make_bell,
)
each_with_a_width = for_each(case for case in CASES if case.make not in FIXED_WIDTH)
each_smooth = for_each(
    case for case in CASES if case.function is not None and case.make is not datasets.make_rings
)


def same(first: datasets.KnownSupport, second: datasets.KnownSupport) -> bool:
    return np.array_equal(first.X, second.X) and np.array_equal(first.y, second.y)


def test_the_table_holds_every_exported_generator():
    made = {*datasets.__all__, *(name for name in vars(drawn) if name.startswith("make_"))}
    others = {"KnownDensity", "KnownSupport", "make_two_modes"}  # a density has no target
    assert {case.make.__name__ for case in CASES} == made - others


@each
def test_default_shapes(case):
    problem = case.make(random_state=0)
    n_samples, n_features = case.shape
    assert problem.X.shape == case.shape
    assert problem.y.shape == problem.noise_free.shape == (n_samples,)
    assert problem.X.dtype == problem.y.dtype == problem.noise_free.dtype == np.float64
    assert problem.support.shape == (n_features,)
    assert problem.support.dtype == np.bool_
    assert np.isfinite(problem.X).all()
    assert np.isfinite(problem.y).all()


@each
def test_support_is_the_one_of_the_paper(case):
    problem = case.make(random_state=0)
    assert tuple(np.flatnonzero(problem.support) + 1) == case.relevant


@each
def test_names_number_the_columns(case):
    names = case.make(random_state=0).feature_names
    if case.make is datasets.make_demo:
        assert names == DEMO_COLUMNS
    else:
        assert names == tuple(f"x{a}" for a in range(1, case.shape[1] + 1))


@each
def test_groups_partition_the_columns(case):
    groups = case.make(random_state=0).groups
    if case.make in (datasets.make_cubic_groups, drawn.make_noisy_copies):
        assert groups is not None
        assert sorted(a for group in groups for a in group) == list(range(case.shape[1]))
    else:
        assert groups is None


@each
def test_same_state_gives_the_same_data_and_another_one_does_not(case):
    first = case.make(random_state=3)
    assert same(first, case.make(random_state=3))
    other = case.make(random_state=4)
    fixed = case.make is datasets.make_wavy_noise  # only its noise is random
    assert fixed == np.isclose(first.X, other.X).all(axis=0).any()
    assert not np.array_equal(first.y, other.y)


@each
@pytest.mark.parametrize("source", [np.random.RandomState, np.random.default_rng])
def test_a_source_of_draws_is_used_and_advanced(case, source):
    rng = source(3)
    first, second = case.make(random_state=rng), case.make(random_state=rng)
    assert not same(first, second)
    assert same(first, case.make(random_state=source(3)))


@each
def test_an_integer_is_a_random_state(case):
    assert same(case.make(random_state=3), case.make(random_state=np.random.RandomState(3)))


@each
def test_the_number_of_rows_is_respected(case):
    problem = case.make(n_samples=7, random_state=0)
    assert problem.X.shape[0] == len(problem.y) == len(problem.noise_free) == 7


@each_function_of_x
def test_noise_free_is_the_stated_function(case):
    problem = case.make(random_state=0)
    np.testing.assert_allclose(problem.noise_free, case.function(problem.X), rtol=1e-13)


@each_function_of_x
def test_irrelevant_columns_do_not_enter_the_function(case):
    problem = case.make(random_state=0)
    changed = problem.X.copy()
    changed[:, ~problem.support] += 1.0 + np.abs(changed[:, ~problem.support])
    np.testing.assert_array_equal(case.function(changed), case.function(problem.X))


@each_function_of_x
def test_each_relevant_column_enters_the_function(case):
    problem = case.make(random_state=0)
    for a in np.flatnonzero(problem.support):
        changed = problem.X.copy()
        changed[:, a] = changed[::-1, a]
        assert not np.allclose(case.function(changed), problem.noise_free), f"column {a}"


@each_smooth
def test_the_gradient_is_that_of_the_function(case):
    problem = case.make(n_samples=20, random_state=0)
    step = 1e-5
    for a in range(case.shape[1]):
        ahead, behind = problem.X.copy(), problem.X.copy()
        ahead[:, a] += step
        behind[:, a] -= step
        slope = (case.function(ahead) - case.function(behind)) / (2 * step)
        np.testing.assert_allclose(problem.gradient[:, a], slope, rtol=1e-6, atol=1e-7)


def test_there_is_no_gradient_where_the_output_is_no_smooth_function_of_x():
    assert datasets.make_rings(random_state=0).gradient is None
    assert drawn.make_noisy_copies(random_state=0).gradient is None


@each
def test_the_noise_level_is_kept(case):
    problem = case.make(n_samples=50_000, random_state=0, **case.narrow)
    noise = problem.y - problem.noise_free
    level = np.sqrt(np.mean(np.square(problem.noise_sd)))
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(level, rel=0.02)


@each_with_snr
def test_signal_to_noise_ratio_of_a_large_sample(case):
    problem = case.make(n_samples=200_000, random_state=0, **case.narrow)
    noise = problem.y - problem.noise_free
    assert problem.noise_free.std() / noise.std() == pytest.approx(case.noise, rel=0.02)


@each_with_snr
def test_signal_to_noise_ratio_is_a_parameter(case):
    clean, noisy = (case.make(snr=snr, random_state=0) for snr in (10.0, 1.0))
    np.testing.assert_array_equal(clean.X, noisy.X)
    np.testing.assert_allclose(
        noisy.y - noisy.noise_free, 10 * (clean.y - clean.noise_free), atol=1e-9
    )
    noiseless = case.make(snr=np.inf, random_state=0)
    np.testing.assert_array_equal(noiseless.y, noiseless.noise_free)


@each_with_snr
def test_the_noise_level_does_not_depend_on_the_sample(case):
    """A level computed from the drawn rows would be zero for one row."""
    rng = np.random.default_rng(0)
    draws = [case.make(n_samples=1, random_state=rng, **case.narrow) for _ in range(2000)]
    noise = np.array([draw.y[0] - draw.noise_free[0] for draw in draws])
    large = case.make(n_samples=100_000, random_state=1, **case.narrow)
    expected = (large.y - large.noise_free).std()
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(expected, rel=0.05)


@each_with_a_noise_sd
def test_noise_is_centred_with_the_stated_standard_deviation(case):
    problem = case.make(n_samples=100_000, random_state=0)
    noise = problem.y - problem.noise_free
    assert noise.std() == pytest.approx(case.noise, rel=0.02)
    assert abs(noise.mean()) < 0.02 * case.noise


@each_with_noise
def test_noise_is_a_parameter(case):
    problem = case.make(noise=0.0, random_state=0)
    np.testing.assert_array_equal(problem.y, problem.noise_free)
    with pytest.raises(ValueError, match="standard deviation, at least 0; got -1"):
        case.make(noise=-1.0, random_state=0)


@pytest.mark.parametrize("snr", [0.0, -1.0, float("nan")])
@each_with_snr
def test_a_ratio_that_is_not_positive_is_refused(case, snr):
    with pytest.raises(ValueError, match="`snr` is"):
        case.make(snr=snr, random_state=0)


@each_with_a_width
def test_a_table_without_room_for_the_relevant_columns_is_refused(case):
    too_few = max(case.relevant) - 1
    with pytest.raises(ValueError, match=f"at least .* columns; got n_features={too_few}"):
        case.make(n_features=too_few, random_state=0)
