"""One pass against explicit kernel ridge fits; where the next one goes."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from nablasso.kernels import AdditivePower, Gaussian, Linear, Matern52, Polynomial
from nablasso.metric import Start, Walk
from nablasso.metric.passes import (
    DROP,
    KEPT_SCALE,
    Metric,
    error_in_metric,
    fit_in_metric,
    initial_scales,
    next_scales,
)
from tests.metric.samples import (
    draw_sample,
    left_out_residuals,
    natural_width,
    plain_fit,
)

STARTS = (
    Start(Gaussian(), 0.5),
    Start(Matern52(1.3), 2.0),
    Start(Linear()),
    Start(Polynomial(2, 0.5)),
    Start(Polynomial(3, 0.05), 1.5),
    Start(AdditivePower(2, 0.5)),
)


def metric_of(norms, scales, error=1.0):
    norms, scales = np.asarray(norms, dtype=float), np.asarray(scales, dtype=float)
    return Metric(Gaussian(), 1.0, scales, norms, 0.1, error, np.zeros((1, 1)))


@pytest.mark.parametrize(
    ("start", "weighted"),
    [
        *((start, False) for start in STARTS),
        # the weighted median distance has tests of its own
        *((start, True) for start in STARTS if not start.kernel.has_width),
    ],
    ids=str,
)
@pytest.mark.parametrize("targets", [1, 2])
def test_a_pass_is_a_kernel_ridge_fit(start, weighted, targets):
    sample = draw_sample(d=5, labels=[0, 1, 1, 2, 3], targets=targets, weighted=weighted)
    scales = np.array([1.0, 0.4, 0.0, 0.7])
    metric = fit_in_metric(sample, start, scales)

    per_column = np.array([1.0, 0.4, 0.4, 0.0, 0.7])
    width = natural_width(start, sample.X * per_column, sample.weights)
    assert metric.width == pytest.approx(width)
    arguments = (metric.kernel, sample.X, sample.Y, sample.weights)
    fit = plain_fit(*arguments, per_column / width, metric.ridge)
    gradients = fit.gradients(sample.X)
    norms = np.sqrt(np.einsum("i,ita->a", sample.weights, gradients**2))
    np.testing.assert_allclose(metric.norms, norms, rtol=1e-5, atol=1e-7 * norms.max())
    assert metric.norms[3] == 0.0  # scale zero

    residuals = left_out_residuals(*arguments, per_column / width, metric.ridge)
    np.testing.assert_allclose(metric.residuals, residuals, rtol=1e-5, atol=1e-6)
    assert metric.error == pytest.approx(np.sum(sample.weights @ residuals**2), rel=1e-5)
    np.testing.assert_array_equal(metric.scales, scales)
    assert error_in_metric(sample, start, scales) == pytest.approx(metric.error, rel=1e-9)


def test_the_offset_of_an_additive_power_is_in_units_of_its_additive_part():
    sample = draw_sample(weighted=True)
    metric = fit_in_metric(sample, Start(AdditivePower(2, 0.3)), np.ones(4))
    additive = np.diag(AdditivePower(1, 0.0)(sample.X, sample.X))
    expected = 0.3 * np.average(additive, weights=sample.weights)
    assert metric.kernel.offset == pytest.approx(expected, rel=5e-3)
    assert metric.width == 1.0


def test_the_ridge_has_the_smallest_left_out_error():
    sample = draw_sample(targets=2)
    start = Start(Gaussian())
    metric = fit_in_metric(sample, start, np.ones(4))
    arguments = (metric.kernel, sample.X, sample.Y, sample.weights, np.full(4, 1 / metric.width))
    for factor in (0.1, 0.5, 2.0, 10.0):
        residuals = left_out_residuals(*arguments, factor * metric.ridge)
        assert metric.error <= np.sum(sample.weights @ residuals**2) * (1 + 1e-9)


@pytest.mark.parametrize("power", [1.0, 0.5, 0.3])
def test_next_scales_are_powers_of_relative_norms(power):
    sample = draw_sample()
    scales = next_scales(sample, metric_of([4.0, 1.0, 2.0, 0.5], [1, 1, 0.2, 1]), power)
    np.testing.assert_allclose(scales, np.array([1.0, 0.25, 0.5, 0.125]) ** power)


def test_groups_share_the_root_mean_square():
    sample = draw_sample(d=5, labels=[1, 0, 1, 2, 1])
    scales = next_scales(sample, metric_of([3.0, 2.0, 0.0, 1.0, 4.0], np.ones(3)), 1.0)
    shared = np.sqrt((9 + 0 + 16) / 3)
    np.testing.assert_allclose(scales, np.array([2.0, shared, 1.0]) / shared)


def test_what_is_dropped_stays_dropped_unless_it_is_kept():
    sample = draw_sample(d=5, kept=[3, 4])
    tiny = 0.5 * DROP
    metric = metric_of([1.0, tiny, 0.8, tiny, 0.0], [1.0, 1.0, 0.0, 1.0, 0.0])
    np.testing.assert_allclose(
        next_scales(sample, metric, 1.0), [1.0, 0.0, 0.0, KEPT_SCALE, KEPT_SCALE]
    )
    # the threshold is for the scale, after the power
    assert next_scales(sample, metric, 0.5)[1] == pytest.approx(np.sqrt(tiny))


def test_no_derivatives_drop_everything():
    sample = draw_sample()
    assert not next_scales(sample, metric_of(np.zeros(4), np.ones(4)), 1.0).any()


def test_the_criterion_is_as_written():
    sample = draw_sample(n=24, d=4, labels=[0, 0, 1, 2])
    metric = metric_of([1.0, 3.0, 2.0, 0.0], np.ones(3), error=0.3)
    r = np.array([np.sqrt(5.0), 2.0, 0.0])  # root mean squares; their unit cancels
    k = r.sum() ** 2 / (r**2).sum()
    expected = np.log(0.3) + 2 * k * np.log(3) / 24
    assert metric.criterion(sample) == pytest.approx(expected)
    equal = metric_of(np.ones(4), np.ones(3), error=0.3)  # effective number: all three
    assert equal.criterion(sample) == pytest.approx(np.log(0.3) + 2 * 3 * np.log(3) / 24)


def test_a_perfect_fit_has_a_finite_criterion():
    sample = draw_sample()
    assert np.isfinite(metric_of(np.zeros(4), np.ones(4), error=0.0).criterion(sample))


def test_walks_learn_which_variables_matter():
    sample = draw_sample(n=60, d=6, noise=0.02)
    best = Walk(sample, Start(Gaussian())).advance(8).best
    assert set(np.argsort(-best.ratios(sample))[:2]) == {0, 1}
    assert best.scales[2:].max() < 0.3 * best.scales[:2].min()
    assert best.error < 0.2 * fit_in_metric(sample, Start(Gaussian()), np.ones(6)).error


def test_a_walk_remembers_its_best_pass_and_its_steps():
    sample = draw_sample(n=40, d=5)
    walk = Walk(sample, Start(Gaussian(), power=0.5)).advance(3).advance(2)
    whole = Walk(sample, Start(Gaussian(), power=0.5)).advance(5)
    assert walk.criteria == whole.criteria  # in parts or in one go
    assert walk.best is walk.metrics[int(np.argmin(walk.criteria))]
    np.testing.assert_array_equal(walk.metrics[0].scales, np.ones(5))
    for before, after in pairwise(walk.metrics):
        np.testing.assert_array_equal(after.scales, next_scales(sample, before, 0.5))


def test_a_walk_ends_when_nothing_moves():
    """With one variable the scale is 1 from the start: settled after one pass."""
    sample = draw_sample(d=2, labels=[0, 0])
    walk = Walk(sample, Start(Gaussian())).advance(8)
    assert walk.finished
    assert len(walk.metrics) == 1


def brute_force_forward(sample, start):
    """Greedy choice by left-out error as long as the criterion falls, kept groups first."""
    chosen, reached = list(np.flatnonzero(sample.kept)), np.inf
    for _ in range(min(6, sample.n_groups)):
        options = [g for g in range(sample.n_groups) if g not in chosen]
        if not options:
            break
        fits = {}
        for g in options:
            columns = np.flatnonzero(np.isin(sample.labels, [*chosen, g]))
            smaller = replace(
                sample,
                X=sample.X[:, columns],
                labels=np.searchsorted(sorted([*chosen, g]), sample.labels[columns]),
                kept=np.zeros(len(chosen) + 1, dtype=bool),
            )
            metric = fit_in_metric(smaller, start, np.ones(smaller.n_groups))
            ratios = metric.ratios(smaller)
            k = ratios.sum() ** 2 / (ratios**2).sum()
            price = 2 * k * np.log(sample.n_groups) / len(sample.X)
            fits[g] = metric.error, np.log(metric.error) + price
        best = min(fits, key=lambda g: fits[g][0])
        if fits[best][1] >= reached:
            break
        chosen, reached = [*chosen, best], fits[best][1]
    return sorted(chosen)


@pytest.mark.parametrize("kept", [(), (4,)])
@pytest.mark.parametrize("labels", [None, [0, 1, 2, 2, 3, 4, 4]])
def test_forward_starts_take_in_one_group_after_the_other(kept, labels):
    sample = draw_sample(n=40, d=7, labels=labels, kept=kept)
    X = sample.X
    sample = replace(sample, Y=np.sin(X[:, :1]) + 0.5 * X[:, 1:2] + 0.1 * X[:, 0:1] * X[:, 3:4])
    start = Start(Gaussian(), forward=True)
    scales = initial_scales(sample, start)
    assert set(scales) <= {0.0, 1.0}
    chosen = np.flatnonzero(scales)
    assert {0, 1, *kept} <= set(chosen)
    np.testing.assert_array_equal(chosen, brute_force_forward(sample, start))
    np.testing.assert_array_equal(initial_scales(sample, Start(Gaussian())), 1.0)
