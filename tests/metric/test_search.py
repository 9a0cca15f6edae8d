"""Successive halving, crossing, and following a trail again."""

import numpy as np
import pytest

from nablasso.kernels import Gaussian, Linear, Polynomial
from nablasso.metric import Start, Trail, Walk, search
from nablasso.metric.passes import DROP, KEPT_SCALE, Metric
from nablasso.metric.search import (
    LAST,
    N_PASSES,
    N_PASSES_CROSSED,
    ROUND,
    best_of_families,
    follow,
    halve,
    handed_on,
    plain,
)
from nablasso.progress import reporting
from tests.metric.samples import draw_sample

STARTS = [
    Start(Gaussian()),
    Start(Gaussian(), 2.0, 0.5),
    Start(Polynomial(2, 0.5)),
    Start(Linear()),
    Start(Gaussian(), forward=True),
]


class StubWalk:
    """A walk whose criterion falls to a known value at a known rate."""

    def __init__(self, name, criteria):
        self.name, self.script, self.criteria = name, criteria, []

    def advance(self, n_passes):
        self.criteria += self.script[len(self.criteria) : len(self.criteria) + n_passes]


def test_halving_keeps_the_best():
    n = 24
    order = np.random.default_rng(0).permutation(n)
    walks = [StubWalk(k, [float(rank)] * 20) for k, rank in enumerate(order)]
    list(halve(walks, n_passes=15))
    passes = {int(rank): len(walk.criteria) for walk, rank in zip(walks, order, strict=True)}
    # 24 -> 12 -> 6, which is LAST: these walk to the end
    assert LAST == 6
    assert ROUND == 3
    for rank, count in passes.items():
        assert count == (15 if rank < 6 else 6 if rank < 12 else 3)
    assert sum(passes.values()) == 6 * 15 + 6 * 6 + 12 * 3
    assert [walk.name for walk in walks] == list(range(n))  # the caller's list is left alone


def test_halving_judges_by_the_best_pass_so_far():
    late = [StubWalk(k, [5.0, 5.0, 5.0]) for k in range(13)]
    early = StubWalk("early", [0.0, 9.0, 9.0, 9.0, 9.0, 9.0])
    list(halve([*late, early], n_passes=6))
    assert len(early.criteria) == 6


def test_few_walks_all_go_to_the_end():
    walks = [StubWalk(k, [float(k)] * 9) for k in range(LAST)]
    list(halve(walks, 8))
    assert [len(walk.criteria) for walk in walks] == [8] * LAST
    list(halve([], 8))


def test_halving_never_walks_too_far():
    walks = [StubWalk(k, [float(k)] * 20) for k in range(20)]
    list(halve(walks, 4))
    assert max(len(walk.criteria) for walk in walks) <= 4 + ROUND


@pytest.mark.parametrize("kept", [(), (2,)])
def test_trails_are_sorted_and_can_be_followed_again(kept):
    sample = draw_sample(n=40, d=5, kept=kept, targets=2)
    trails = search(sample, STARTS)
    criteria = [trail.criterion for trail in trails]
    assert criteria == sorted(criteria)
    lengths = [len(trail.starts) for trail in trails]
    assert lengths.count(1) == len(STARTS)
    assert lengths.count(2) == 2 * len(plain(STARTS))
    for trail in trails:
        assert trail.criterion == pytest.approx(trail.metric.criterion(sample))
        metric = follow(sample, trail.starts)
        np.testing.assert_array_equal(metric.scales, trail.metric.scales)
        np.testing.assert_array_equal(metric.norms, trail.metric.norms)
        assert metric.error == trail.metric.error


def test_progress_is_told_and_ends_at_its_total():
    told = []
    with reporting(told.append):
        search(draw_sample(n=30, d=4), STARTS)
    assert [progress.done for progress in told] == list(range(1, told[0].total + 1))
    assert {progress.label for progress in told} == {"Searching metrics"}


def test_following_is_walking_and_handing_on():
    sample = draw_sample(n=40, d=5)
    first, second = Start(Polynomial(2, 0.5)), Start(Gaussian())
    begun = Walk(sample, first).advance(N_PASSES).best
    ended = Walk(sample, second, handed_on(sample, begun)).advance(N_PASSES_CROSSED).best
    metric = follow(sample, (first, second))
    np.testing.assert_array_equal(metric.scales, ended.scales)
    assert metric.error == ended.error


def test_plain_starts_are_one_per_kernel_and_width():
    assert plain(STARTS) == [STARTS[0], STARTS[2], STARTS[3]]


def metric_of(norms):
    norms = np.asarray(norms, dtype=float)
    return Metric(Gaussian(), 1.0, np.ones(len(norms)), norms, 0.1, 1.0, np.zeros((1, 1)))


def test_families_are_represented_by_their_best():
    metric = metric_of(np.ones(4))
    trails = [
        Trail((Start(Linear()), Start(Gaussian())), metric, 3.0),
        Trail((Start(Gaussian(), 2.0),), metric, 1.0),
        Trail((Start(Linear()),), metric, 2.0),
        Trail((Start(Polynomial(2)),), metric, 4.0),
    ]
    best = best_of_families(trails, 2)
    assert [trail.criterion for trail in best] == [1.0, 2.0]  # Gaussian, linear
    assert [trail.criterion for trail in best_of_families(trails, 9)] == [1.0, 2.0, 4.0]


def test_scales_are_handed_on_as_relative_norms():
    sample = draw_sample(kept=[3])
    metric = metric_of([2.0, 0.5, 2.0 * 0.9 * DROP, 0.0])
    np.testing.assert_allclose(handed_on(sample, metric), [1.0, 0.25, 0.0, KEPT_SCALE])
