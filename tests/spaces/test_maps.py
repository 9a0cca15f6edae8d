"""Fourier features against the kernels they stand for and against finite differences."""

import numpy as np
import pytest

from nablasso.errors import InvalidParameterError, MissingInteractionsWarning
from nablasso.kernels import (
    Anova,
    Gaussian,
    Linear,
    Matern52,
    RationalQuadratic,
)
from nablasso.persistence import digest
from nablasso.spaces import draw_fourier, slope_moments

KERNELS = (
    Gaussian(1.3),
    Matern52(1.5),
    RationalQuadratic(1.2, 0.8),
    Anova(1),
    Anova(2),
    Anova(2, Matern52(1.2)),
    Anova(3, RationalQuadratic(1.1, 1.5)),
    0.5 * Gaussian(0.9) + Anova(1),
)
SCALES = np.array([0.5, 0.0, 0.3, 0.8])
each = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def points(seed=5, d=4):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(12, d)), rng.normal(size=(9, d))


def errors(kernel, m, n_draws, scales=SCALES, *, lattices=False):
    """Kernel errors of ``n_draws`` independent maps, relative to the kernel's size."""
    X, Y = points(d=len(scales))
    K = kernel(X * scales, Y * scales)
    maps = [draw_fourier(kernel, scales, m, seed, lattices=lattices) for seed in range(n_draws)]
    found = [f.features(X) @ f.features(Y).T - K for f in maps]
    return np.array(found) / np.sqrt(np.mean(K**2))


@pytest.mark.parametrize("few", [20, 2])  # variables: evenly drawn, and with orthogonal directions
@pytest.mark.parametrize("kernel", [KERNELS[i] for i in (1, 5, 7)], ids=repr)
def test_drawn_features_are_unbiased_for_the_kernel(monkeypatch, kernel, few):
    monkeypatch.setattr("nablasso.spaces.frequencies.FEW", few)
    found = errors(kernel, 32, 80)
    standard_error = found.std(axis=0) / np.sqrt(len(found)) + 1e-12
    z = np.abs(found.mean(axis=0)) / standard_error
    assert np.mean(z > 3) < 0.1, "means over draws leave the kernel by more than chance"
    assert np.sqrt(np.mean(found.mean(axis=0) ** 2)) < 0.05


@each
def test_the_error_falls_faster_than_that_of_independent_points(kernel):
    few, many = (np.sqrt(np.mean(errors(kernel, m, 12) ** 2)) for m in (100, 1600))
    assert few / many > 4  # a quarter for sixteen times as many
    best = np.sqrt(np.mean(errors(kernel, 1600, 3, lattices=True) ** 2))
    assert best < 1.2 * many


@pytest.mark.filterwarnings("ignore::nablasso.errors.MissingInteractionsWarning")
def test_too_few_features_for_all_pairs_stay_unbiased_and_touch_all_variables():
    scales = np.full(12, 0.6)
    with pytest.warns(MissingInteractionsWarning, match="25 frequencies are left for 66 sets"):
        features = draw_fourier(Anova(2), scales, 100)  # 66 pairs, 12 main effects
    pairs = np.count_nonzero(features.values, axis=1) == 2
    counts = np.bincount(features.index[pairs].ravel(), minlength=12)
    assert np.ptp(counts) <= 1
    found = errors(Anova(2), 100, 64, scales)
    assert np.sqrt(np.mean(found.mean(axis=0) ** 2)) < 0.2 * np.sqrt(np.mean(found**2))


@each
def test_slopes_are_derivatives_of_the_features(kernel):
    features = draw_fourier(kernel, SCALES, 60)
    X, _ = points()
    phi = features.features(X)
    psi = features.slopes(phi)
    np.testing.assert_array_equal(phi, features.features(X))
    step = 1e-6
    w = np.random.default_rng(0).normal(size=features.n_components)
    gradients = features.evaluate_gradients(X, w)
    omega = np.tile(features.frequencies, (2, 1))
    for a in range(4):
        shift = step * np.eye(4)[a]
        moved = (features.features(X + shift) - features.features(X - shift)) / (2 * step)
        np.testing.assert_allclose(moved, -omega[:, a] * psi, atol=1e-8)
        np.testing.assert_allclose(moved @ w, gradients[:, a], atol=1e-7)
    np.testing.assert_allclose(features.evaluate(X, w), phi @ w)


def test_moments_of_slopes_are_moments_of_features_with_blocks_swapped():
    features = draw_fourier(Anova(2), SCALES, 40)
    X, _ = points()
    phi = features.features(X)
    psi = features.slopes(phi)
    np.testing.assert_allclose(slope_moments(phi.T @ phi), psi.T @ psi, atol=1e-12)


def test_sparse_frequencies_touch_few_variables():
    scales = np.full(6, 0.7)
    features = draw_fourier(Anova(2), scales, 300)
    touched = np.count_nonzero(features.frequencies, axis=1)
    assert set(touched) == {1, 2}
    q = features.n_components // 2
    for a, J in enumerate(features.touching):
        expected = np.flatnonzero(features.frequencies[:, a])
        np.testing.assert_array_equal(J, np.concatenate([expected, expected + q]))
    assert features.selects
    w = np.ones(features.n_components)
    w[features.touching[2]] = 0.0
    X, Y = points(d=6)
    other = X.copy()
    other[:9, 2] = Y[:, 2]
    np.testing.assert_allclose(features.evaluate(X, w), features.evaluate(other, w), atol=1e-12)


def test_dense_features_do_not_select_and_scale_zero_removes():
    assert not draw_fourier(Gaussian(), np.ones(3), 20).selects
    features = draw_fourier(Gaussian(), np.array([0.0, 1.0, 0.0]), 20)
    assert features.selects  # one variable is left
    assert [len(J) for J in features.touching] == [0, 20, 0]
    constant = draw_fourier(Gaussian(), np.zeros(2), 6)
    X, _ = points(d=2)
    np.testing.assert_allclose(constant.features(X) @ constant.features(X).T, 1.0)


def test_gathered_projections_equal_dense_ones(monkeypatch):
    features = draw_fourier(Anova(2), np.full(9, 0.5), 160)
    X, _ = points(d=9)
    expected = features.features(X)
    monkeypatch.setattr("nablasso.spaces.maps.GATHER", 0)
    np.testing.assert_allclose(features.features(X), expected, atol=1e-13)


def test_single_precision_stays_single():
    features = draw_fourier(Anova(2), SCALES, 60)
    X, _ = points()
    phi = features.features(X.astype(np.float32))
    psi = features.slopes(phi)
    assert phi.dtype == psi.dtype == np.float32
    np.testing.assert_allclose(phi, features.features(X), atol=3e-6)


def test_the_same_seed_gives_the_same_map_and_another_does_not():
    first, again, other = (draw_fourier(Anova(2), SCALES, 30, random_state=r) for r in (1, 1, 2))
    assert digest(first) == digest(again) != digest(other)


def test_evaluation_in_chunks_is_the_same(monkeypatch):
    features = draw_fourier(Matern52(), SCALES, 30)
    X, _ = points()
    w = np.linspace(-1, 1, 30)
    whole = features.evaluate(X, w), features.evaluate_gradients(X, w)
    monkeypatch.setattr("nablasso.spaces.maps.CHUNK_BYTES", 8 * 30 * 5)
    np.testing.assert_allclose(features.evaluate(X, w), whole[0], rtol=1e-12)
    np.testing.assert_allclose(features.evaluate_gradients(X, w), whole[1], rtol=1e-12)


def test_errors_name_what_to_do():
    with pytest.raises(InvalidParameterError, match=r"Linear\(\).*nystrom"):
        draw_fourier(Linear(), SCALES)
    with pytest.raises(InvalidParameterError, match="at least 1"):
        draw_fourier(Gaussian(), SCALES, 0)
    assert draw_fourier(Gaussian(), SCALES, 1).n_components == 2  # a cosine and a sine
