"""Features, anchors and ranks; paths of weights."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso.nonnegative.fitting import PSDFitter, choose_anchors, make_factor
from nablasso.nonnegative.model import pair_integrals
from tests.nonnegative.test_dual import fit, make_task


def gram(X, height=1.0, constant=0.0):
    square = np.sum((X[:, None] - X) ** 2, axis=2)
    return height**2 * (np.exp(-square / 2) + constant)


@pytest.mark.parametrize("constant", [0.0, 2.0])
def test_features_reproduce_the_kernel(constant):
    X = np.random.default_rng(0).normal(size=(12, 2))
    weights = np.full(12, 1 / 12)
    factor = make_factor(
        X, weights, len(X), np.random.default_rng(0), height=0.7, constant=constant
    )
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
    factor = make_factor(X, np.full(8, 1 / 8), 8, rng)
    F = rng.normal(size=(factor.rank, 2))
    W = factor.in_features(pair_integrals(factor.bumps))
    assert np.sum(F * (W @ F)) == pytest.approx(factor.psd_model(F).integral(), rel=1e-6)


def test_repeated_points_are_no_new_anchors():
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 2)), 25, axis=0)
    factor = make_factor(X, np.full(100, 0.01), 100, np.random.default_rng(0))
    assert factor.rank == 4


def test_a_wide_kernel_has_a_small_rank():
    X = np.linspace(-1, 1, 300)[:, None]
    factor = make_factor(X, np.full(300, 1 / 300), 300, np.random.default_rng(0))
    V = factor.features(X)
    assert factor.rank < 15
    np.testing.assert_allclose(V @ V.T, gram(X), atol=1e-8)


def test_anchors_are_fixed_by_the_seed():
    X = np.random.default_rng(0).normal(size=(50, 3))
    weights = np.full(50, 0.02)
    first, second = (choose_anchors(X, weights, 7, np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert len(set(first.tolist())) == 7


def test_a_path_ends_where_a_single_fit_does():
    task = make_task("density")
    weights = [(w * task.l1, w * task.l2) for w in (10.0, 1.0, 0.1)]
    *_, last = PSDFitter(task).path(weights, tol=1e-7)
    single = fit(replace(task, l1=weights[-1][0], l2=weights[-1][1]), tol=1e-7)
    assert last.primal == pytest.approx(single.primal, abs=3e-7)


def test_blocks_of_the_same_rank_share_their_features():
    fitter = PSDFitter(make_task("gaussian"))
    assert fitter.features[0] is fitter.features[1]
