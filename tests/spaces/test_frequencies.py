"""Frequencies on a lattice against the kernels they stand for."""

import numpy as np
import pytest

from nablasso.kernels import Anova, Gaussian, Matern52, RationalQuadratic
from nablasso.spaces import draw_fourier
from nablasso.spaces.frequencies import _heaviest, exact_kernel, kernel_error, lattice

BASES = (Gaussian(1.3), Matern52(0.8), RationalQuadratic(1.1, 1.5))
each = pytest.mark.parametrize("base", BASES, ids=repr)


def differences(d, seed=0):
    return np.random.default_rng(seed).normal(size=(300, d))


def error(kernel, scales, m, *, lattices=True):
    """Of the kernel between fresh points, relative to its size."""
    rng = np.random.default_rng(8)
    X, Y = rng.normal(size=(60, len(scales))), rng.normal(size=(60, len(scales)))
    features = draw_fourier(kernel, scales, m, lattices=lattices)
    K = kernel(X * scales, Y * scales)
    ours = features.features(X) @ features.features(Y).T
    return np.sqrt(np.mean((ours - K) ** 2) / np.mean(K**2))


@each
def test_sums_over_the_lattice_are_the_kernel_and_its_images(base):
    step = np.array([1.9])
    points = _heaviest(base, step, 4000)
    delta = np.linspace(-1.5, 1.5, 7)[:, None]
    ours = np.cos(delta @ points.omega.T) @ points.weights
    shifts = np.arange(-400, 401)
    signs = (-1.0) ** np.abs(shifts)
    # a slow kernel has many images: alternating sums are averaged at their end
    signs[[0, -1]] /= 2
    images = exact_kernel(base, (delta + 2 * np.pi * shifts / step)[:, :, None].reshape(-1, 1))
    expected = images.reshape(7, -1) @ signs
    at_zero = exact_kernel(base, (2 * np.pi * shifts / step)[:, None]) @ signs
    np.testing.assert_allclose(ours, expected / at_zero, atol=2e-5)


@each
def test_the_error_falls_fast_and_is_what_is_reported(base):
    delta = differences(2)
    found = [lattice(base, delta, n) for n in (12, 50, 200)]
    for quadrature in found:
        assert quadrature.weights.sum() == pytest.approx(1.0)
        own = kernel_error(quadrature.omega, quadrature.weights, delta, exact_kernel(base, delta))
        assert own == pytest.approx(quadrature.error, rel=1e-9, abs=1e-20)
    roots = np.sqrt([quadrature.error for quadrature in found])
    factor = 1.5 if isinstance(base, RationalQuadratic) else 3  # its images are large
    assert roots[1] < roots[0] / factor
    assert roots[2] < roots[1] / factor


def test_default_features_are_the_kernel_to_many_digits():
    assert error(Anova(1), np.full(3, 0.7), 200) < 1e-6
    assert error(Anova(2), np.full(4, 0.7), 1024) < 1e-3
    assert error(Gaussian(), np.full(2, 0.5), 512) < 1e-8
    assert error(Anova(2), np.full(4, 0.7), 1024, lattices=False) > 5e-3  # as drawn


def test_variables_that_hardly_matter_cost_little():
    scales = np.array([0.02, 0.7, 0.03, 0.5, 0.01, 0.02])
    assert error(Gaussian(), scales, 1024) < 1e-4
    assert error(Gaussian(), scales, 1024, lattices=False) > 5e-4


def test_where_many_variables_matter_frequencies_are_drawn():
    scales = np.full(9, 0.25)
    features = draw_fourier(Gaussian(), scales, 256)
    np.testing.assert_allclose(features.amplitudes, 128**-0.5)
    assert error(Gaussian(), scales, 256) == error(Gaussian(), scales, 256, lattices=False)


def test_rows_say_how_far_a_lattice_must_reach():
    rng = np.random.default_rng(1)
    far = 40 * rng.normal(size=(100, 1))
    features = draw_fourier(Gaussian(), np.array([0.5]), 400, 0, far)
    K = Gaussian()(0.5 * far, 0.5 * far)
    phi = features.features(far)
    np.testing.assert_allclose(phi @ phi.T, K, atol=1e-3)


def test_what_one_variable_does_not_need_goes_to_the_pairs():
    features = draw_fourier(Anova(2), np.full(3, 0.7), 600)
    touched = np.count_nonzero(features.values, axis=1)
    assert np.sum(touched == 1) < 3 * 30
    assert features.n_components > 500
