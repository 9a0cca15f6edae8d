"""The largest products of pairs, against all of them one by one."""

from itertools import combinations

import numpy as np
import pytest

from nablasso.screening import clipped, largest_products, product_scores

N, D = 30, 23
SMALL = {"block": 5}


@pytest.fixture
def table():
    """Columns, weights that add up to one, and a target that is a product."""
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(N, D)), rng.uniform(0.5, 2, size=N)
    return X, weights / weights.sum(), (X[:, 3] * X[:, 17])[:, None]


def sizes(X, weights, residuals):
    Z, r = clipped(X, weights), residuals[:, 0] * weights
    return {(a, b): abs(float(r @ (Z[:, a] * Z[:, b]))) for a, b in combinations(range(D), 2)}


def test_largest_of_all_pairs(table):
    every = sizes(*table)
    expected = set(sorted(every, key=every.get)[-12:])
    found = largest_products(*table, np.arange(D), 12, **SMALL)
    assert set(map(tuple, found)) == expected
    assert (3, 17) in expected


def test_one_of_each_pair_among_the_first(table):
    first = np.array([2, 17])
    every = {pair: size for pair, size in sizes(*table).items() if set(pair) & {2, 17}}
    expected = set(sorted(every, key=every.get)[-9:])
    assert set(map(tuple, largest_products(*table, first, 9, **SMALL))) == expected


def test_noise_gives_as_many_as_wanted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 150)), rng.normal(size=(200, 1))
    found = largest_products(X, np.full(200, 1 / 200), y, np.arange(150), 100, block=64)
    assert len(found) == 100
    assert len(np.unique(found, axis=0)) == 100
    assert (found[:, 0] < found[:, 1]).all()


def test_of_several_targets_the_one_of_the_largest_product_counts(table):
    X, weights, Y = table
    both = np.column_stack([Y, (X[:, 5] * X[:, 9])[:, None]])
    found = largest_products(X, weights, both, np.arange(D), 6, **SMALL)
    assert {(3, 17), (5, 9)} <= set(map(tuple, found))


def test_scores_of_products_are_those_of_one_at_a_time(table):
    X, weights, Y = table
    pairs = np.array(list(combinations(range(D), 2)))
    scores = product_scores(X, Y, weights, pairs)
    assert tuple(pairs[scores.argmax()]) == (3, 17)
    alone = [product_scores(X, Y, weights, pair[None])[0] for pair in pairs]
    np.testing.assert_allclose(scores, alone)
    assert len(product_scores(X, Y, weights, pairs[:0])) == 0
