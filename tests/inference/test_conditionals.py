"""Redrawn columns: the others keep their place, moments and levels are those of the model."""

import numpy as np
import pytest

from nablasso.errors import InvalidParameterError
from nablasso.inference.conditionals import (
    LinearConditional,
    as_conditional,
    level_probabilities,
)

N = 300


def correlated(rng, rho=0.8, d=4):
    S = rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return rng.normal(size=(N, d)) @ np.linalg.cholesky(S).T


def redraw(X, columns, size=200, weights=None, seed=0):
    weights = np.ones(len(X)) if weights is None else weights
    columns = np.array(columns)
    return LinearConditional(X, weights)(columns)(np.random.default_rng(seed), size)


def test_second_moments_of_a_continuous_column():
    X = correlated(np.random.default_rng(0))
    drawn = redraw(X, [1])[:, :, 0]
    assert drawn.var(axis=1).mean() == pytest.approx(X[:, 1].var(), rel=0.1)
    for other in (0, 2, 3):
        mean = np.mean([np.corrcoef(copy, X[:, other])[0, 1] for copy in drawn])
        assert mean == pytest.approx(np.corrcoef(X[:, 1], X[:, other])[0, 1], abs=0.05)


def test_given_the_others_a_copy_knows_nothing_of_the_original():
    rng = np.random.default_rng(1)
    X = correlated(rng)
    own = X[:, 1] - np.linalg.lstsq(X[:, [0, 2, 3]], X[:, 1], rcond=None)[0] @ X[:, [0, 2, 3]].T
    drawn = redraw(X, [1])[:, :, 0]
    assert np.mean([np.corrcoef(copy, own)[0, 1] for copy in drawn]) == pytest.approx(0, abs=0.05)


def test_groups_keep_their_own_correlation():
    rng = np.random.default_rng(2)
    X = correlated(rng)
    X[:, 2] = X[:, 1] + 0.1 * rng.normal(size=N)
    drawn = redraw(X, [1, 2])
    correlations = [np.corrcoef(copy.T)[0, 1] for copy in drawn]
    assert min(correlations) > 0.95


@pytest.mark.parametrize("n_levels", [2, 3, 6])
def test_discrete_columns_keep_levels_mean_and_spread(n_levels):
    X = correlated(np.random.default_rng(3))
    X[:, 1] = np.floor(np.clip((X[:, 1] + 2) / 4, 0, 0.999) * n_levels)
    drawn = redraw(X, [1])[:, :, 0]
    assert set(np.unique(drawn)) <= set(np.unique(X[:, 1]))
    assert drawn.mean() == pytest.approx(X[:, 1].mean(), abs=0.02 * n_levels)
    mean = np.mean([np.corrcoef(copy, X[:, 0])[0, 1] for copy in drawn])
    assert mean == pytest.approx(np.corrcoef(X[:, 1], X[:, 0])[0, 1], abs=0.05)


def test_indicators_of_a_factor_stay_indicators():
    rng = np.random.default_rng(4)
    Z = rng.normal(size=N)
    level = np.digitize(Z + 0.5 * rng.normal(size=N), [-0.7, 0.7])
    X = np.column_stack([np.eye(3)[level], Z, rng.normal(size=N)])
    drawn = redraw(X, [0, 1, 2])
    np.testing.assert_array_equal(drawn.sum(axis=2), 1.0)
    assert drawn.mean(axis=(0, 1)) == pytest.approx(X[:, :3].mean(axis=0), abs=0.03)
    high = np.mean([np.corrcoef(copy[:, 2], Z)[0, 1] for copy in drawn])
    assert high == pytest.approx(np.corrcoef(X[:, 2], Z)[0, 1], abs=0.07)


@pytest.mark.parametrize("columns", [[0], [0, 1, 2]])
def test_discrete_copies_know_nothing_of_the_original(columns):
    rng = np.random.default_rng(10)
    X = np.column_stack([np.eye(3)[rng.integers(0, 3, size=N)], rng.normal(size=(N, 3))])
    if len(columns) == 1:
        X = X[:, [0, 3, 4, 5]]
    drawn = redraw(X, columns)
    agree = np.mean(drawn[:, :, 0] == X[:, 0])
    assert agree == pytest.approx(5 / 9, abs=0.03)  # as between independent ones


def test_more_columns_than_rows():
    X = np.random.default_rng(5).normal(size=(20, 60))
    drawn = redraw(X, [7])
    assert np.isfinite(drawn).all()
    assert drawn.std() == pytest.approx(X[:, 7].std(), rel=0.2)


def test_residuals_of_heavy_rows_are_drawn_more_often():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 2))
    X[:30, 0] += 10
    drawn = redraw(X, [0], weights=np.r_[np.full(30, 9.0), np.ones(30)])
    assert np.mean(drawn > 5) == pytest.approx(0.9, abs=0.03)


def test_level_probabilities_reproduce_shares_and_covariances():
    rng = np.random.default_rng(9)
    scores = rng.normal(size=(N, 1))
    code = np.digitize(scores[:, 0] + 0.4 * rng.normal(size=N), [-1.0, 0.5])
    weights = rng.uniform(0.5, 2.0, size=N)
    p = level_probabilities(scores, code, weights)
    observed = np.eye(3)[code]
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(weights @ p, weights @ observed, rtol=1e-3)
    moment = (weights * scores[:, 0]) @ observed / weights.sum()
    np.testing.assert_allclose((weights * scores[:, 0]) @ p / weights.sum(), moment, atol=0.01)


def test_a_constant_column_stays():
    X = np.column_stack([np.random.default_rng(7).normal(size=20), np.full(20, 3.0)])
    np.testing.assert_array_equal(redraw(X, [1]), 3.0)


def test_a_sampler_of_the_users():
    X = np.random.default_rng(8).normal(size=(12, 3))

    def sampler(X, columns, rng):
        return rng.permutation(X[:, columns])

    draw = as_conditional(sampler, X, np.ones(12))(np.array([0, 2]))
    drawn = draw(np.random.default_rng(0), 5)
    assert drawn.shape == (5, 12, 2)
    np.testing.assert_array_equal(np.sort(drawn[0], axis=0), np.sort(X[:, [0, 2]], axis=0))
    one = as_conditional(lambda X, columns, rng: X[:, columns[0]], X, np.ones(12))(np.array([1]))
    assert one(np.random.default_rng(0), 2).shape == (2, 12, 1)


def test_what_is_no_sampler_is_refused():
    X = np.ones((6, 2))
    with pytest.raises(InvalidParameterError, match="sampler must be"):
        as_conditional("gaussian", X, np.ones(6))
    bad = as_conditional(lambda X, columns, rng: X, X, np.ones(6))(np.array([0]))
    with pytest.raises(InvalidParameterError, match=r"shape \(6, 1\); got shape \(6, 2\)"):
        bad(np.random.default_rng(0), 1)
