"""Features, anchors and ranks."""

import numpy as np
import pytest

from nablasso.nonnegative import natural_height
from nablasso.nonnegative.factor import choose_anchors, make_factor
from nablasso.nonnegative.gaussians import pair_integrals
from nablasso.nonnegative.task import Base


def gram(X, height=1.0, constant=0.0):
    square = np.sum((X[:, None] - X) ** 2, axis=2)
    return height**2 * (np.exp(-square / 2) + constant)


@pytest.mark.parametrize("constant", [0.0, 2.0])
def test_features_reproduce_the_kernel(constant):
    X = np.random.default_rng(0).normal(size=(12, 2))
    weights = np.full(12, 1 / 12)
    factor = make_factor(X, weights, None, np.random.default_rng(0), height=0.7, constant=constant)
    V = factor.features(X)
    np.testing.assert_allclose(V @ V.T, gram(X, 0.7, constant), atol=1e-9)


def test_models_evaluate_through_features():
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(10, 2)), rng.normal(size=(6, 2))
    factor = make_factor(X, np.full(10, 0.1), 5, rng, height=0.7, constant=1.0)
    F, w = rng.normal(size=(factor.rank, 3)), rng.normal(size=factor.rank)
    V = factor.features(new)
    np.testing.assert_allclose(
        factor.psd_model(F).values(new), np.sum((V @ F) ** 2, axis=1), rtol=1e-8
    )
    np.testing.assert_allclose(factor.linear_model(w).values(new), V @ w, rtol=1e-8)


def test_functionals_in_features():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(8, 1))
    factor = make_factor(X, np.full(8, 1 / 8), None, rng)
    F = rng.normal(size=(factor.rank, 2))
    W = factor.in_features(pair_integrals(factor.bumps))
    assert np.sum(F * (W @ F)) == pytest.approx(factor.psd_model(F).integral(), rel=1e-6)


def test_repeated_points_are_no_new_anchors():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 25, axis=0)
    factor = make_factor(X, np.full(100, 0.01), None, np.random.default_rng(0))
    assert factor.rank == 4


def test_a_wide_kernel_has_a_small_rank():
    X = np.linspace(-1, 1, 300)[:, None]
    factor = make_factor(X, np.full(300, 1 / 300), None, np.random.default_rng(0))
    V = factor.features(X)
    assert factor.rank < 15
    np.testing.assert_allclose(V @ V.T, gram(X), atol=1e-8)


def test_anchors_are_fixed_by_the_seed():
    X = np.random.default_rng(0).normal(size=(50, 3))
    weights = np.full(50, 0.02)
    first, second = (choose_anchors(X, weights, 7, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert len(set(first.tolist())) == 7


@pytest.mark.parametrize("base", [None, Base(np.array([0.5, 0.0]), np.array([2.0, 3.0]))])
def test_height_makes_squared_kernels_integrate_to_one(base):
    X, scales = np.random.default_rng(3).normal(size=(5, 2)), np.array([1.5, 0.8])
    height = natural_height(X, scales, base)
    factor = make_factor(X * scales, np.full(5, 0.2), None, np.random.default_rng(0))
    bumps = factor.bumps.composed(scales, np.zeros(2))
    if base is None:
        masses = np.diag(pair_integrals(bumps)) * scales.prod()
    else:
        unit = [np.eye(5)[:, [i]] for i in range(5)]
        from nablasso.nonnegative import PSDModel

        masses = [
            PSDModel(bumps, e).times_gaussian(base.mean, base.variance).integral() for e in unit
        ]
    assert height**2 * np.mean(masses) == pytest.approx(1.0)
