"""Shares and slopes against exact values: Ishigami, Sobol-G, linear functions of normals."""

from itertools import permutations

import numpy as np
import pytest

from nablasso.data.table import discrete_columns
from nablasso.kernels import Gaussian
from nablasso.reading.shares import (
    ALL_SETS,
    law_of_ranges,
    law_of_rows,
    level_slope,
    players_of,
    quotients,
    shapley_shares,
    statistics,
    together,
)
from nablasso.spaces import Function, RepresenterSpace
from tests.reading.known_functions import polynomial, weights_of

N = 4096


def values_of(function):
    return lambda X: function(X)[:, None, None]


def ishigami(X):
    return np.sin(X[:, 0]) * (1 + 0.1 * X[:, 2] ** 4) + 7 * np.sin(X[:, 1]) ** 2


def ishigami_indices():
    """First order of the three, and the pair of the first and the third: Sobol' and Levitan."""
    b, a = 0.1, 7.0
    parts = np.array([0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8, 0.0])
    pair = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    whole = parts.sum() + pair
    return parts / whole, pair / whole


def linear_shares(R, b):
    """Shapley effects of ``b'x``, x normal with covariance R, over all orders."""
    p = len(b)

    def explained(players):
        some = list(players)
        if not some:
            return 0.0
        inner = R[np.ix_(some, some)]
        slope = np.linalg.solve(inner, R[some] @ b)
        return float(slope @ inner @ slope)

    shares = np.zeros(p)
    for order in permutations(range(p)):
        for k, a in enumerate(order):
            shares[a] += explained(order[: k + 1]) - explained(order[:k])
    return shares / shares.sum()


def normal_law(R, n=20_000, seed=0):
    X = np.random.default_rng(seed).multivariate_normal(np.zeros(len(R)), R, size=n)
    players = [np.array([a]) for a in range(len(R))]
    return law_of_rows(X, np.ones(n), players, X.sum(axis=1, keepdims=True)), X


def test_ishigami():
    first, pair = ishigami_indices()
    law = law_of_ranges([(-np.pi, np.pi)] * 3)
    found = statistics(values_of(ishigami), law, N)
    np.testing.assert_allclose(found.first_order[:, 0], first, atol=0.005)
    np.testing.assert_allclose(found.total[:, 0], first + pair * np.array([1, 0, 1]), atol=0.005)
    shares = shapley_shares(values_of(ishigami), law, N)[:, 0]
    np.testing.assert_allclose(shares, first + pair / 2 * np.array([1, 0, 1]), atol=0.005)
    assert shares.sum() == pytest.approx(1, abs=1e-12)


def test_pairs_and_triples():
    _, pair = ishigami_indices()
    law = law_of_ranges([(-np.pi, np.pi)] * 3)
    sets = [(0, 1), (0, 2), (1, 2), (0, 1, 2)]
    for alone in (False, True):
        found = together(values_of(ishigami), law, sets, N, alone=alone)
        np.testing.assert_allclose(np.ravel(found), [0, pair, 0, 0], atol=0.01)
    law = law_of_ranges([(-1.0, 1.0)] * 3)  # x0 x1 x2: nothing but a triple
    for alone, two in ((False, 1), (True, 0)):
        found = together(
            values_of(lambda X: X.prod(axis=1)), law, [(0, 1), (0, 1, 2)], N, alone=alone
        )
        np.testing.assert_allclose(np.ravel(found), [two, 1], atol=0.1)


def test_sobol_g_of_more_columns_than_all_sets():
    a = np.array([0, 1, 4.5, 9, 99, 99, 99, 99])
    assert len(a) > ALL_SETS
    variances = 1 / 3 / (1 + a) ** 2
    whole = np.prod(1 + variances) - 1
    function = values_of(lambda X: np.prod((np.abs(4 * X - 2) + a) / (1 + a), axis=1))
    law = law_of_ranges([(0, 1)] * 8)
    found = statistics(function, law, N)
    np.testing.assert_allclose(found.first_order[:, 0], variances / whole, atol=0.006)
    totals = variances * np.prod(1 + variances) / (1 + variances) / whole
    np.testing.assert_allclose(found.total[:, 0], totals, atol=0.006)
    shares = shapley_shares(function, law, N)[:, 0]
    assert (shares >= found.first_order[:, 0] - 0.01).all()
    assert (shares <= found.total[:, 0] + 0.01).all()


@pytest.mark.parametrize("p", [3, 7], ids=["all sets", "chains of orders"])
def test_dependent_normal_columns_have_their_exact_shapley_effects(p):
    rng = np.random.default_rng(p)
    R = np.eye(p)
    R[0, 1] = R[1, 0] = 0.8
    R[1, 2] = R[2, 1] = -0.4
    b = rng.uniform(0.5, 2, size=p)
    law, _ = normal_law(R)
    function = values_of(lambda X: X @ b)
    expected = linear_shares(R, b)
    np.testing.assert_allclose(shapley_shares(function, law, N)[:, 0], expected, atol=0.015)
    found = statistics(function, law, N)
    variance = b @ R @ b
    np.testing.assert_allclose(found.first_order[:, 0], (R @ b) ** 2 / variance, atol=0.02)
    left = b**2 / np.diag(np.linalg.inv(R)) / variance
    np.testing.assert_allclose(found.total[:, 0], left, atol=0.02)


def test_an_additive_function_has_no_pairs_even_where_columns_depend_on_one_another():
    R = np.array([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1.0]])
    law, _ = normal_law(R, 500)
    found = together(values_of(lambda X: X @ [1, 2, 3] + X[:, 0] ** 3), law, [(0, 1), (0, 2)], 256)
    np.testing.assert_allclose(np.ravel(found), 0, atol=1e-20)


def test_copies_have_the_same_share():
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 400))
    X = np.column_stack([x, x, z])
    law = law_of_rows(X, np.ones(400), [np.array([a]) for a in range(3)], x[:, None])
    shares = shapley_shares(values_of(lambda X: X[:, 0] + 0.5 * X[:, 2]), law, N)[:, 0]
    own = np.array([x.var() / 2, x.var() / 2, z.var() / 4])
    np.testing.assert_allclose(shares, own / own.sum(), atol=0.03)


def test_a_category_is_one_player_with_its_own_levels():
    rng = np.random.default_rng(2)
    code, z = rng.integers(0, 3, size=600), rng.normal(size=600)
    X = np.column_stack([np.eye(3)[code], z])
    assert [p.tolist() for p in players_of([0, 0, 0, 1], np.arange(4))] == [[0, 1, 2], [3]]
    players = players_of([0, 0, 0, 1], np.arange(4))

    def function(X):
        return X[:, :3] @ [0.0, 2.0, 1.0] + X[:, 3]

    law = law_of_rows(X, np.ones(600), players, function(X)[:, None])
    drawn = law.rows(law.noise(256, 1)[0])
    np.testing.assert_array_equal(drawn[:, :3].sum(axis=1), 1)  # one level each
    assert set(np.unique(drawn[:, :3])) == {0, 1}
    part = np.var(np.array([0.0, 2.0, 1.0])[code])
    expected = np.array([part, z.var()]) / (part + z.var())
    found = shapley_shares(values_of(function), law, N)[:, 0]
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_weights_are_copies_of_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    times = rng.integers(1, 4, size=40)
    players = [np.array([0]), np.array([1])]
    one = law_of_rows(X, times.astype(float), players, X[:, :1])
    many = law_of_rows(
        np.repeat(X, times, axis=0),
        np.ones(times.sum()),
        players,
        np.repeat(X[:, :1], times, axis=0),
    )
    z = rng.normal(size=(50, 2))
    np.testing.assert_allclose(one.rows(z), many.rows(z))


def test_the_order_of_rows_and_columns_changes_nothing():
    rng = np.random.default_rng(4)
    X = rng.multivariate_normal(np.zeros(4), 0.5 + 0.5 * np.eye(4), size=80)
    b, order, rows = np.array([1.0, -2.0, 0.5, 3.0]), [2, 0, 3, 1], rng.permutation(80)

    def shares(X, b):
        players = [np.array([a]) for a in range(4)]
        law = law_of_rows(X, np.ones(80), players, (X @ b)[:, None])
        return shapley_shares(values_of(lambda X: X @ b), law, 1024)[:, 0]

    np.testing.assert_allclose(shares(X[rows][:, order], b[order]), shares(X, b)[order], rtol=1e-6)


def test_discrete_columns_are_not_taken_for_weaker_dependent():
    rng = np.random.default_rng(5)
    z = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], size=20_000)
    X = np.column_stack([z[:, 0] > 0, np.digitize(z[:, 1], [-1, 0, 1])]).astype(float)
    law = law_of_rows(X, np.ones(len(X)), [np.array([0]), np.array([1])], X[:, :1])
    assert law.correlation[0, 1] == pytest.approx(0.7, abs=0.12)
    assert abs(np.corrcoef(X.T)[0, 1]) < 0.55


def flat_at_zero_and_one():
    """f(0) = 0, f(1) = 1, f'(0) = f'(1) = 0, by Hermite interpolation."""
    space = RepresenterSpace(Gaussian(0.5), np.array([[0.0], [1.0]]))
    D, L = space.dense()
    coef = np.linalg.solve(np.block([[space.gram, D.T], [D, L]]), [0.0, 1.0, 0.0, 0.0])
    return Function(0.0, np.array([0]), space, coef[:2], coef[2:].reshape(2, 1))


def test_a_function_flat_at_both_levels_gets_its_due():
    function = flat_at_zero_and_one()
    Z = np.array([[0.0], [1.0], [1.0], [0.0], [1.0]])
    weights = np.full(5, 0.2)
    np.testing.assert_allclose(function.gradients(Z), 0, atol=1e-12)
    assert level_slope(function.values, Z, 0, weights) == pytest.approx(1.0)


def test_discrete_columns_against_a_loop_over_rows_and_levels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    levels = np.array([-1.0, 0.5, 2.0])
    X[:, 1] = rng.choice(levels, size=40)
    weights = weights_of(40, rng)
    function = polynomial(X, X[:, 0] * X[:, 1] ** 2, 3)
    total = 0.0
    for weight, (x, z) in zip(weights, X, strict=True):
        place = list(levels).index(z)
        near = [levels[k] for k in (place - 1, place + 1) if 0 <= k < len(levels)]
        total += weight * np.mean([(x * (z**2 - t**2) / (z - t)) ** 2 for t in near])
    assert level_slope(function.values, X, 1, weights) == pytest.approx(np.sqrt(total), rel=1e-6)


def test_a_column_that_the_function_does_not_use_has_none():
    X = np.column_stack([np.linspace(-1, 1, 12), np.arange(12) % 2, np.full(12, 3.0)])
    for column in (1, 2):
        slope = level_slope(lambda points: points[:, 0], X, column, np.full(12, 1 / 12))
        assert slope == pytest.approx(0.0)


def test_ten_values_are_discrete_and_eleven_are_not():
    X = np.column_stack([np.arange(33) % 10, np.arange(33) % 11, np.full(33, 2.0)])
    np.testing.assert_array_equal(discrete_columns(X), [True, False, True])


def test_discrete_moves_go_to_the_observed_levels_next_to_a_row():
    Z = np.array([[0.0], [3.0], [1.0], [0.0]])
    slopes, share = quotients(lambda points: points[:, 0] ** 2, Z, 0, discrete=True)
    np.testing.assert_array_equal(share, [[0.0, 1.0, 0.5, 0.0], [1.0, 0.0, 0.5, 1.0]])
    np.testing.assert_allclose(slopes, [[0.0, 4.0, 1.0, 0.0], [1.0, 0.0, 4.0, 1.0]])


def test_a_constant_column_has_no_moves():
    _, share = quotients(lambda points: points[:, 0], np.full((4, 1), 2.0), 0, discrete=True)
    assert not share.any()


def test_quotients_of_a_parabola_are_exact():
    Z = np.random.default_rng(0).normal(size=(7, 2))
    smooth, share = quotients(lambda points: points**2, Z, 1, discrete=False)
    np.testing.assert_allclose(smooth[0, :, 1], 2 * Z[:, 1], atol=1e-9)
    np.testing.assert_allclose(smooth[0, :, 0], 0, atol=1e-9)
    assert (share == 1).all()


def test_the_rows_stay_as_they_are():
    Z = np.arange(12.0).reshape(6, 2)
    Z.setflags(write=False)
    quotients(lambda points: points.sum(axis=1), Z, 0, discrete=True)
