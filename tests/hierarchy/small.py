"""A small problem and searches on it."""

import numpy as np

from nablasso.hierarchy import Hermite
from nablasso.hierarchy.grid import Grid
from nablasso.hierarchy.search import Search
from nablasso.losses import LossSample, Squared


def data(n=60, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = X[:, 0] + X[:, 1] + 1.5 * X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=n)
    return X, (y - y.mean()) / y.std()


def search_on(hierarchy, y, tol=1e-6, certify=True, **budget):
    n = len(y)
    sample = LossSample(y, np.full(n, 1 / n), Squared())
    return Search(hierarchy, sample, tol, certify=certify, **budget)


def walk(search, alphas):
    """Solutions at decreasing alphas, each started from the one before."""
    found = None
    for alpha in alphas:
        found = search.run(float(alpha), found)
        yield found


def grid_on(X, decomposition=None, **options):
    n = len(X)
    return Grid(X, np.full(n, 1 / n), decomposition or Hermite(3), **options)
