"""The adaptive metric against kernel ridge regression by linear systems alone."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from nablasso.kernels import AdditivePower, Gaussian, Linear, Matern52, Polynomial
from nablasso.regression.adaptive import DROP, KEPT_SCALE, adaptive_scales
from tests.dense_reference import plain

N, D = 30, 4
FREE = np.zeros(D, dtype=bool)


def draw(n=N, d=D, seed=0, noise=0.1):
    """``sin(2 x0) + x0 x1`` and idle columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + noise * rng.normal(size=n))[:, None]


def learned(kernel, X, Y, n_passes, *, weights=None, labels=None, kept=None):
    n, d = X.shape
    weights = np.ones(n) if weights is None else weights
    labels = np.arange(d) if labels is None else np.asarray(labels)
    kept = np.zeros(labels.max() + 1, dtype=bool) if kept is None else np.asarray(kept)
    return adaptive_scales(kernel, X, Y, weights / weights.sum(), labels, kept, n_passes)


class Ridge:
    """``min sum_i p_i (y_i - b - f(x_i))^2 + ridge |f|^2`` by a bordered system."""

    def __init__(self, k, X, y, weights, ridge):
        n = len(X)
        A = np.ones((n + 1, n + 1))
        A[:n, :n] = k(X[:, None], X[None]) + ridge * np.diag(1 / weights)
        A[n, n] = 0.0
        solution = np.linalg.solve(A, np.append(y, 0.0))
        self.k, self.X, self.u, self.b = k, X, solution[:n], solution[n]

    def __call__(self, Z):
        return self.b + self.k(Z[:, None], self.X[None]) @ self.u


def left_out_error(k, X, y, p, ridge):
    errors = []
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        errors.append(y[i] - Ridge(k, X[rest], y[rest], p[rest], ridge)(X[[i]])[0])
    return float(p @ np.square(errors))


def natural(kernel, X):
    """A plain function of the columns in the kernel's natural unit."""
    k = plain(kernel)
    if isinstance(kernel, AdditivePower):
        sums = plain(AdditivePower(1, 0.0, kernel.rank))(X[:, None], X[None])
        offset = kernel.offset * np.mean(np.diag(sums))
        return plain(AdditivePower(kernel.order, offset, kernel.rank))
    width = np.median(pdist(X))
    if isinstance(kernel, Linear | Polynomial):
        width = np.sqrt(np.mean(np.sum(X**2, axis=1)))
    return lambda s, r: k(s / width, r / width)


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(2, 0.5), Gaussian(), Matern52(1.3), AdditivePower(2, 0.5)],
    ids=repr,
)
def test_one_pass_is_a_kernel_ridge_fit(kernel):
    """Derivative norms of the fit of smallest leave-one-out error, over the largest."""
    X, Y = draw()
    p, k = np.full(N, 1 / N), natural(kernel, X)
    ridges = np.geomspace(1e-7, 10, 33)
    errors = [left_out_error(k, X, Y[:, 0], p, ridge) for ridge in ridges]
    f, h = Ridge(k, X, Y[:, 0], p, ridges[np.argmin(errors)]), 1e-5
    slopes = [(f(X + e) - f(X - e)) / (2 * h) for e in h * np.eye(D)]
    norms = np.sqrt(np.mean(np.square(slopes), axis=1))
    found = learned(kernel, X, Y, 1)
    # grids of ridges differ, and norms move slowly along them
    np.testing.assert_allclose(found, norms / norms.max(), rtol=0.25, atol=0.02)
    assert found.max() == 1.0


@pytest.mark.parametrize("kernel", [Polynomial(2), Gaussian(), AdditivePower(2)], ids=repr)
def test_idle_columns_leave(kernel):
    X, _ = draw(60)
    scales = learned(kernel, X, (X[:, 0] * X[:, 1] + X[:, 0])[:, None], 8)
    assert (scales[:2] > 0.1).all()
    assert (scales[2:] < 0.05).all()
    assert all(scale == 0 or scale >= DROP for scale in scales)


def test_groups_share_a_scale_and_kept_ones_stay():
    X, Y = draw(60, 5)
    labels, kept = [0, 1, 1, 2, 3], [False, False, False, True]
    scales = learned(Gaussian(), X, Y, 8, labels=labels, kept=kept)
    assert scales.shape == (4,)
    assert scales[3] >= KEPT_SCALE
    assert scales[2] < 0.05 < scales[1]
    linear = learned(Linear(), X, X[:, :1], 1, labels=labels)
    mean = learned(Linear(), X, X[:, :1], 1)
    np.testing.assert_allclose(linear[0], mean[0])


@pytest.mark.parametrize("kernel", [Polynomial(2), AdditivePower(2)], ids=repr)
def test_weights_are_copies(kernel):
    X, Y = draw()
    weights = np.where(np.arange(N) < 10, 2.0, 1.0)
    scaled = learned(kernel, X, Y, 3, weights=7 * weights)
    np.testing.assert_allclose(scaled, learned(kernel, X, Y, 3, weights=weights), rtol=1e-9)
    plain_ = learned(kernel, X, Y, 3)
    assert not np.allclose(scaled, plain_, rtol=1e-3)


def test_several_targets_are_looked_at_together():
    X, Y = draw(60)
    both = learned(Gaussian(), X, np.column_stack([Y, X[:, 2] ** 2]), 6)
    one = learned(Gaussian(), X, Y, 6)
    assert one[2] < 0.05 < 0.2 < both[2]
    assert both[3] < 0.5 * both[:3].min()


def test_units_of_the_target_do_not_matter():
    X, Y = draw()
    np.testing.assert_allclose(
        learned(Gaussian(), X, 1e6 * Y + 3e6, 4), learned(Gaussian(), X, Y, 4), rtol=1e-5
    )
