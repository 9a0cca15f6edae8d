"""The largest products of pairs, against all of them one by one."""

from itertools import combinations

import numpy as np
import pytest

from nablasso.metric import products
from nablasso.metric.held_out import clipped, product_scores
from nablasso.metric.products import best_pairs, largest_products
from tests.metric.samples import as_sample

N, D = 30, 23


@pytest.fixture
def sample(monkeypatch):
    monkeypatch.setattr(products, "BLOCK", 5)
    monkeypatch.setattr(products, "MARGIN", 1e9)  # no threshold from the normal distribution
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, D))
    return as_sample(X, X[:, 3] * X[:, 17], rng.uniform(0.5, 2, size=N))


def sizes(sample, residuals):
    Z = clipped(sample.X, sample.weights)
    r = (residuals[:, 0] - 0) * sample.weights
    return {(a, b): abs(float(r @ (Z[:, a] * Z[:, b]))) for a, b in combinations(range(D), 2)}


def test_largest_of_all_pairs(sample):
    every = sizes(sample, sample.Y)
    expected = set(sorted(every, key=every.get)[-12:])
    found = largest_products(sample, sample.Y, np.arange(D), 12)
    assert set(map(tuple, found)) == expected
    assert (3, 17) in expected


def test_one_of_each_pair_among_the_first(sample):
    first = np.array([2, 17])
    every = {pair: size for pair, size in sizes(sample, sample.Y).items() if set(pair) & {2, 17}}
    expected = set(sorted(every, key=every.get)[-9:])
    assert set(map(tuple, largest_products(sample, sample.Y, first, 9))) == expected


def test_noise_gives_about_as_many_as_wanted(monkeypatch):
    monkeypatch.setattr(products, "BLOCK", 64)
    rng = np.random.default_rng(0)
    noise = as_sample(rng.normal(size=(200, 150)), rng.normal(size=200))
    found = largest_products(noise, noise.Y, np.arange(150), 100)
    assert len(found) == 100
    assert len(np.unique(found, axis=0)) == 100
    assert (found[:, 0] < found[:, 1]).all()


def test_best_pairs_by_held_out_score(sample):
    pairs = np.array(list(combinations(range(D), 2)))
    scores = product_scores(sample.X, sample.Y, sample.weights, pairs)
    order = np.argsort(-scores)[:3]
    found, values = best_pairs(sample, sample.Y, pairs, 20)
    np.testing.assert_array_equal(found[:3], pairs[order])
    np.testing.assert_allclose(values[:3], scores[order])
    nothing, none = best_pairs(sample, sample.Y, pairs[:0], 3)
    assert nothing.shape == (0, 2)
    assert len(none) == 0
