"""Nested models against explicit fits."""

from itertools import pairwise

import numpy as np
import pytest

from nablasso.kernels import AdditivePower, Gaussian, Polynomial
from nablasso.metric import Start, mean_fit, ridge_fit
from nablasso.metric.nested import fit_groups, ranking, sizes
from nablasso.metric.passes import DROP, Metric
from tests.metric.samples import draw_sample, left_out_residuals, plain_fit


def metric_of(norms):
    norms = np.asarray(norms, dtype=float)
    return Metric(Gaussian(), 1.0, np.ones(len(norms)), norms, 0.1, 1.0, np.zeros((1, 1)))


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("targets", [1, 2])
def test_the_mean_is_left_out_too(weighted, targets):
    sample = draw_sample(weighted=weighted, targets=targets)
    fit = mean_fit(sample)
    for i in range(len(sample.X)):
        rest = np.arange(len(sample.X)) != i
        mean = np.average(sample.Y[rest], axis=0, weights=sample.weights[rest])
        np.testing.assert_allclose(fit.residuals[i], sample.Y[i] - mean)
    mean = np.average(sample.Y, axis=0, weights=sample.weights)
    np.testing.assert_allclose(fit.values(sample.X[:3]), np.tile(mean, (3, 1)))
    assert fit.error == pytest.approx(np.sum(sample.weights @ fit.residuals**2))
    assert not len(fit.columns)


@pytest.mark.parametrize("kernel", [Gaussian(1.2), Polynomial(3), AdditivePower(2)], ids=repr)
@pytest.mark.parametrize("targets", [1, 2])
def test_ridge_fits_are_those_of_the_linear_system(kernel, targets):
    sample = draw_sample(weighted=True, targets=targets)
    columns, scales = np.array([1, 3]), np.array([0.7, 0.3])
    fit = ridge_fit(sample, kernel, columns, scales)
    X = sample.X[:, columns]
    arguments = (kernel, X, sample.Y, sample.weights, scales, fit.ridge)
    expected = plain_fit(*arguments)
    Z = np.random.default_rng(1).normal(size=(5, 4))
    np.testing.assert_allclose(fit.values(Z), expected.values(Z[:, columns]), atol=1e-6)
    np.testing.assert_allclose(fit.residuals, left_out_residuals(*arguments), atol=1e-6)
    gradients = np.zeros((5, 4))
    for t in range(targets):
        gradients[:, columns] = expected.gradients(Z[:, columns])[:, t]
        np.testing.assert_allclose(fit.function(t).gradients(Z), gradients, atol=1e-5)


def test_rankings_begin_with_what_is_kept_and_leave_out_what_is_dropped():
    sample = draw_sample(d=6, kept=[4, 1])
    order = ranking(sample, metric_of([0.5, 0.1, 1.0, 0.5 * DROP, 0.0, 0.2]))
    np.testing.assert_array_equal(order, [1, 4, 2, 0, 5])


def test_sizes_are_all_small_ones_and_then_steps_of_a_quarter():
    assert sizes(4) == [0, 1, 2, 3, 4]
    assert sizes(10) == list(range(11))
    assert sizes(30) == [*range(11), 12, 15, 18, 22, 27, 30]
    assert sizes(5, 3) == [3, 4, 5]
    assert sizes(14, 12) == [12, 14]
    assert sizes(3, 3) == [3]
    for n, smallest in ((1, 0), (11, 0), (97, 5), (40, 33)):
        tried = sizes(n, smallest)
        assert tried[0] == smallest
        assert tried[-1] == n
        assert (np.diff(tried) >= 1).all()
        assert all(b - a <= max(1, a // 4) for a, b in pairwise(tried))


def test_groups_are_fitted_with_learned_or_equal_scales_whichever_is_better():
    sample = draw_sample(n=40, d=5, labels=[0, 1, 1, 2, 3])
    start, groups = Start(Gaussian()), np.array([0, 1, 2])
    scales = np.array([0.5, 0.1, 1e-9, 1.0])
    fit = fit_groups(sample, start, groups, scales)
    np.testing.assert_array_equal(fit.columns, [0, 1, 2, 3])
    errors = []
    for relative in (np.array([1.0, 0.2, 0.2, DROP]), np.ones(4)):
        _, width = start.bind(sample.X[:, :4] * relative, sample.weights)
        errors.append(ridge_fit(sample, Gaussian(), fit.columns, relative / width).error)
    assert fit.error == min(errors)
    assert errors[0] != errors[1]


def test_no_groups_give_the_mean():
    sample = draw_sample()
    none = np.empty(0, dtype=np.intp)
    fit = fit_groups(sample, Start(Gaussian()), none, np.ones(4))
    np.testing.assert_array_equal(fit.residuals, mean_fit(sample).residuals)


def test_a_fit_holds_no_matrix_of_rows_by_rows():
    sample = draw_sample(n=40, d=3)
    fit = ridge_fit(sample, Gaussian(), np.arange(3), np.ones(3))
    held = [part for part in vars(fit.space).values() if isinstance(part, np.ndarray)]
    assert max(array.size for array in held) <= 40 * 3
    assert not {"operator", "gram"} & set(vars(fit.space))
