"""Randomisation p-values: the formula, validity under the null, power, and what costs nothing."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from nablasso.errors import InvalidParameterError
from nablasso.inference import (
    TIE,
    HeldOutFold,
    adjusted_p_values,
    as_conditional,
    enough_draws,
    level_probabilities,
    randomization_p_values,
    sequential_p_value,
)


def squares(predict, y):
    return lambda X, rows: (y[rows] - predict(X)) ** 2


def linear_folds(X, y, n_folds=4):
    held_out = []
    for train, test in KFold(n_folds).split(X):
        model = LinearRegression().fit(X[train], y[train])
        used = np.ones(X.shape[1], dtype=bool)
        held_out.append(HeldOutFold(test, used, squares(model.predict, y)))
    return held_out


def randomized(held_out, X, sampler="auto", *, groups=None, **options):
    groups = [np.array([a]) for a in range(X.shape[1])] if groups is None else groups
    conditional = as_conditional(sampler, X, np.ones(len(X)))
    options = {"ranks": np.arange(len(groups)), "seed": 0} | options
    return randomization_p_values(held_out, X, conditional, groups, **options)


def p_values(X, y, **options):
    return randomized(linear_folds(X, y), X, **options)


def test_the_p_value_is_its_formula():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    y = 0.3 * X[:, 0] + rng.normal(size=20)
    copies = rng.normal(size=(30, 20))
    left = iter(copies)

    def sampler(X, columns, rng):
        return next(left)

    held_out = linear_folds(X, y)
    total = sum(fold.loss(X[None, fold.rows])[0] for fold in held_out)
    count = 0
    for copy in copies:
        redrawn = X.copy()
        redrawn[:, 1] = copy
        count += sum(fold.loss(redrawn[None, fold.rows])[0] for fold in held_out) <= total
    found = randomized(held_out, X, sampler, groups=[np.array([1])], n_draws=30, n_exceed=31)
    assert found == pytest.approx([(1 + count) / 31])


def test_loss_of_copies_is_the_sum_over_rows():
    rng = np.random.default_rng(1)
    copies, y = rng.normal(size=(3, 5, 2)), rng.normal(size=9)
    rows, used = np.array([1, 3, 4, 7, 8]), np.ones(2, dtype=bool)
    fold = HeldOutFold(rows, used, squares(lambda X: X @ [1.0, -2.0], y))
    expected = [np.sum((y[rows] - c @ [1.0, -2.0]) ** 2) for c in copies]
    np.testing.assert_allclose(fold.loss(copies), expected)


def test_sequential_p_values_by_hand():
    batches = [np.array([True, False, False]), np.array([False, True, True])]
    assert sequential_p_value(iter(batches), 6, 2) == pytest.approx(2 / 5)
    assert sequential_p_value(iter(batches), 6, 3) == pytest.approx(3 / 6)
    assert sequential_p_value(iter(batches), 6, 4) == pytest.approx(4 / 7)


@pytest.mark.parametrize("n_draws", [19, 99])
def test_sequential_p_values_are_valid(n_draws):
    """Ranks of exchangeable numbers: P(p <= a) <= a, at every a that can occur."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(4000):
        draws = rng.random(n_draws + 1)
        batches = np.split(draws[1:] <= draws[0], range(5, n_draws, 5))
        found.append(sequential_p_value(iter(batches), n_draws, 5))
    for level in np.unique(found):
        share = np.mean(np.array(found) <= level)
        assert share <= level + 3 * np.sqrt(level * (1 - level) / 4000)


def test_pure_noise_gives_valid_p_values():
    pooled = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 8)), rng.normal(size=40)
        pooled.append(p_values(X, y, seed=seed, n_draws=99))
    pooled = np.concatenate(pooled)
    for level in (0.05, 0.1, 0.2, 0.5):
        assert np.sum(pooled <= level) <= binom.ppf(0.999, pooled.size, level)


def test_nulls_next_to_strong_correlated_signals_are_valid():
    pooled = []
    for seed in range(12):
        rng = np.random.default_rng(100 + seed)
        S = 0.8 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8)))
        X = rng.normal(size=(60, 8)) @ np.linalg.cholesky(S).T
        y = 2 * X[:, 0] + 2 * X[:, 4] + rng.normal(size=60)
        pooled.append(p_values(X, y, seed=seed, n_draws=99)[[1, 2, 3, 5, 6, 7]])
    pooled = np.concatenate(pooled)
    for level in (0.05, 0.1, 0.2, 0.5):
        assert np.sum(pooled <= level) <= binom.ppf(0.999, pooled.size, level)


def test_a_strong_signal_gets_the_smallest_p_value():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    found = p_values(X, X[:, 2] + 0.1 * rng.normal(size=60), n_draws=199)
    assert found[2] == pytest.approx(1 / 200)


def test_groups_are_redrawn_together():
    """Two copies of one signal: alone each can be replaced by the other, together not."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 4))
    X[:, 1] = X[:, 0]
    y = X[:, 0] + 0.1 * rng.normal(size=80)
    alone = p_values(X, y, n_draws=99)
    together = p_values(X, y, n_draws=99, groups=[np.array([0, 1]), np.array([2]), np.array([3])])
    assert alone[:2].min() > 0.05
    assert together[0] == pytest.approx(0.01)
    assert together.shape == (3,)


def test_unused_variables_get_one_without_draws():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    used = np.array([False, True, False])
    held_out = [replace(fold, used=used) for fold in linear_folds(X, y)]
    drawn = []

    def sampler(X, columns, rng):
        drawn.append(columns.tolist())
        return rng.permutation(X[:, columns])

    found = randomized(held_out, X, sampler, n_draws=19)
    assert found[[0, 2]].tolist() == [1.0, 1.0]
    assert {tuple(c) for c in drawn} == {(1,)}


def test_a_predictor_that_ignores_a_variable_gives_one():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    used = np.ones(3, dtype=bool)
    fold = HeldOutFold(np.arange(30), used, squares(lambda X: X @ [1.0, 1.0, 0.0], y))
    assert randomized([fold], X, n_draws=99)[2] == 1.0


def test_streams_follow_ranks_and_batches_do_not_matter():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 4))
    y = 0.5 * X[:, 0] + rng.normal(size=30)
    plain = p_values(X, y, seed=3, n_draws=199)
    order = np.array([2, 0, 3, 1])
    permuted = p_values(X[:, order], y, seed=3, n_draws=199, ranks=order)
    np.testing.assert_allclose(permuted, plain[order])
    small = p_values(X, y, seed=3, n_draws=199, max_cells=7 * X.size)
    np.testing.assert_allclose(small, plain)


def test_enough_draws_let_one_variable_pass():
    assert 1 / (1 + enough_draws(200, 0.1)) <= 0.1 / 200
    assert enough_draws(3, 0.1) == 199


P_VALUES = st.lists(st.integers(1, 50).map(lambda k: k / 50), min_size=1, max_size=12)


def rejections_by_definition(p_values, fdr):
    m = len(p_values)
    ordered = sorted(p_values)
    passing = [k for k in range(1, m + 1) if ordered[k - 1] <= fdr * k / m + 1e-12]
    limit = ordered[max(passing) - 1] if passing else -1.0
    return [p <= limit for p in p_values]


@given(P_VALUES, st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.5]))
def test_rejections_follow_the_definition(p_values, fdr):
    found = adjusted_p_values(np.array(p_values)) <= fdr * (1 + TIE)
    assert found.tolist() == rejections_by_definition(p_values, fdr)


@given(P_VALUES)
def test_the_adjusted_value_is_the_smallest_rate_that_rejects(p_values):
    adjusted = adjusted_p_values(np.array(p_values))
    for i, rate in enumerate(adjusted):
        assert rejections_by_definition(p_values, rate)[i]
        if rate > 1e-6:
            assert not rejections_by_definition(p_values, rate * (1 - 1e-6) - 1e-9)[i]


def test_a_worked_example():
    adjusted = adjusted_p_values(np.array([0.01, 0.04, 0.03, 0.5]))
    assert adjusted == pytest.approx([0.04, 4 * 0.04 / 3, 4 * 0.04 / 3, 0.5])


# ------------------------------------------------------------------ redrawn columns

N = 300


def correlated(rng, rho=0.8, d=4):
    S = rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return rng.normal(size=(N, d)) @ np.linalg.cholesky(S).T


def redraw(X, columns, size=200, weights=None, seed=0):
    weights = np.ones(len(X)) if weights is None else weights
    columns = np.array(columns)
    return as_conditional("auto", X, weights)(columns)(np.random.default_rng(seed), size)


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
