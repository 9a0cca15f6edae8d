"""Sparse gradients against an independent solver, built from the paper's sums term by term.

The oracle writes (42) and (62) of Ye and Xie (2012) with one row per pair (i, j) and gives them to
an interior-point solver. It shares no formula with the library: no matrix form of the gradient, no
active set, no dual. Rows of weight w stand for w rows, so 1/n^2 becomes p_i p_j, p_i = w_i / sum w.
"""

from __future__ import annotations

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from nablasso import SparseGradientClassifier, SparseGradientRegressor
from nablasso.kernels import Matern52, Polynomial

KERNELS = {
    "gaussian": ("gaussian", lambda t, r, s: np.exp(-r / (2 * s**2))),
    "linear": ("linear", lambda t, r, s: t),
    "affine": (Polynomial(degree=1, offset=1.0), lambda t, r, s: 1 + t),
    "cubic": (Polynomial(degree=3, offset=1.0), lambda t, r, s: (1 + t) ** 3),
    "matern": (
        Matern52(),
        lambda t, r, s: (1 + np.sqrt(5 * r) / s + 5 * r / (3 * s**2)) * np.exp(-np.sqrt(5 * r) / s),
    ),
}


@dataclass
class Oracle:
    """The finite problem, term by term."""

    X: np.ndarray  # prepared rows
    y: np.ndarray
    p: np.ndarray  # weights of the rows, sum 1
    kernel: str
    width: float
    bandwidth: float
    neighbours: int | None

    def __post_init__(self) -> None:
        n = len(self.X)
        r = np.array([[np.sum((a - b) ** 2) for b in self.X] for a in self.X])
        gram = KERNELS[self.kernel][1](self.X @ self.X.T, r, self.width)
        values, vectors = np.linalg.eigh(gram)
        self.root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
        self.pairs, self.q = [], []
        for i in range(n):
            others = sorted((j for j in range(n) if j != i), key=lambda j: r[i, j])
            for j in range(n):
                if self.neighbours is None:
                    w = np.exp(-r[i, j] / (2 * self.bandwidth**2))  # (5)
                elif i == j or j in others[: self.neighbours]:
                    w = np.exp(-2 * r[i, j] / self.bandwidth**2)  # (58)
                else:
                    continue
                self.pairs.append((i, j))
                self.q.append(w * self.p[i] * self.p[j])
        self.q = np.array(self.q)
        # (x_j - x_i)' C k_i^{1/2} is the inner product of C with an outer product
        self.A = np.array(
            [np.outer(self.X[j] - self.X[i], self.root[i]).ravel() for i, j in self.pairs]
        )
        self.rows = self.root[[i for i, _ in self.pairs]]  # f0(x_i) = (K^{1/2} b)_i

    def squared_loss(self, f):
        """(4) of gradients ``f`` (n, p) at the rows."""
        terms = [
            q * (self.y[i] - self.y[j] + (self.X[j] - self.X[i]) @ f[i]) ** 2
            for q, (i, j) in zip(self.q, self.pairs, strict=True)
        ]
        return float(np.sum(terms))

    def logistic_loss(self, f0, f):
        """(59) of values ``f0`` (n,) and gradients ``f`` (n, p) at the rows; labels are -1, 1."""
        terms = [
            q * np.logaddexp(0, -self.y[j] * (f0[i] + (self.X[j] - self.X[i]) @ f[i]))
            for q, (i, j) in zip(self.q, self.pairs, strict=True)
        ]
        return float(np.sum(terms))

    def regression(self, alpha: float, penalty: str = "lasso") -> float:
        """The minimum of (42) or of its ridge form (17)."""
        d = np.array([self.y[i] - self.y[j] for i, j in self.pairs])
        C = cp.Variable((self.X.shape[1], len(self.X)))
        loss = cp.sum_squares(cp.multiply(np.sqrt(self.q), d + self.A @ cp.vec(C, order="C")))
        regular = {"lasso": cp.sum(cp.norm(C, 2, axis=1)), "ridge": cp.sum_squares(C)}
        return _minimum(loss + alpha * regular[penalty])

    def classification(self, alpha: float, ridge: float) -> float:
        """The minimum of (62)."""
        n, d = self.X.shape
        C, b = cp.Variable((d, n)), cp.Variable(n)
        labels = np.array([self.y[j] for _, j in self.pairs])
        scores = self.rows @ b + self.A @ cp.vec(C, order="C")
        loss = cp.sum(cp.multiply(self.q, cp.logistic(-cp.multiply(labels, scores))))
        return _minimum(loss + ridge * cp.sum_squares(b) + alpha * cp.sum(cp.norm(C, 2, axis=1)))


def _minimum(objective) -> float:
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert problem.status in ("optimal", "optimal_inaccurate")
    return float(problem.value)


def table(n: int = 10, d: int = 3, seed: int = 0):
    """Columns of different location and scale; y bends in the first and is linear in the third."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.array([1.0, 5.0, 0.2]) + 3
    Z = (X - 3) / np.array([1.0, 5.0, 0.2])
    y = 4 * Z[:, 0] ** 2 + 2 * Z[:, 2] + 0.3 * rng.normal(size=n) + 7
    return X, y


def prepared(X, weights):
    """Centred and scaled with the weighted mean and deviation."""
    mean = np.average(X, axis=0, weights=weights)
    return (X - mean) / np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))


def oracle_of(model, X, y, weights, kernel, neighbours) -> Oracle:
    p = weights / weights.sum()
    width = model.length_scale_ if kernel in ("gaussian", "matern") else 1.0
    return Oracle(prepared(X, weights), y, p, kernel, width, model.bandwidth_, neighbours)


SETTINGS = [
    ("gaussian", None, False),
    ("gaussian", 4, True),
    ("linear", None, True),
    ("affine", 5, False),
    ("cubic", None, False),
    ("matern", 3, True),
]


def row_weights(n: int, weighted: bool):
    return np.random.default_rng(5).integers(1, 4, size=n).astype(float) if weighted else np.ones(n)


@pytest.mark.parametrize(("kernel", "neighbours", "weighted"), SETTINGS)
def test_regression_reaches_the_oracles_minimum(kernel, neighbours, weighted):
    X, y = table()
    weights = row_weights(len(y), weighted)
    settings = {"kernel": KERNELS[kernel][0], "n_neighbors": neighbours, "tol": 1e-9}
    given = {"sample_weight": weights} if weighted else {}
    top = SparseGradientRegressor(**settings).fit(X, y, **given).alpha_max_
    model = SparseGradientRegressor(0.2 * top, **settings).fit(X, y, **given)
    oracle = oracle_of(model, X, y, weights, kernel, neighbours)
    least = oracle.regression(model.alpha_)
    scale = oracle.squared_loss(np.zeros_like(X))  # objective of nothing selected
    assert model.objective_ == pytest.approx(least, abs=1e-6 * scale)
    # what is published is the function whose objective is stated
    deviations = np.sqrt(np.cov(X.T, aweights=weights, ddof=0).diagonal())
    spread = np.sqrt(np.average((y - np.average(y, weights=weights)) ** 2, weights=weights))
    loss = oracle.squared_loss(model.predict_gradient(X) * deviations)
    norms = model.feature_importances_.sum() * spread
    assert loss + model.alpha_ * norms == pytest.approx(model.objective_, abs=1e-8 * scale)


def test_the_ridge_reaches_the_oracles_minimum():
    X, y = table(seed=1)
    alpha = 0.05
    model = SparseGradientRegressor(alpha, penalty="ridge", n_neighbors=5, tol=1e-9).fit(X, y)
    oracle = oracle_of(model, X, y, np.ones(len(y)), "gaussian", 5)
    least = oracle.regression(alpha, "ridge")
    scale = oracle.squared_loss(np.zeros_like(X))
    assert model.objective_ == pytest.approx(least, abs=1e-6 * scale)


@pytest.mark.parametrize(("kernel", "neighbours", "weighted"), SETTINGS[:4])
def test_classification_reaches_the_oracles_minimum(kernel, neighbours, weighted):
    X, y = table(seed=2)
    labels = np.where(y > np.median(y), "yes", "no")
    weights = row_weights(len(y), weighted)
    settings = {"kernel": KERNELS[kernel][0], "n_neighbors": neighbours, "tol": 1e-9}
    given = {"sample_weight": weights} if weighted else {}
    top = SparseGradientClassifier(**settings).fit(X, labels, **given).alpha_max_
    model = SparseGradientClassifier(0.2 * top, **settings).fit(X, labels, **given)
    signs = np.where(labels == "yes", 1.0, -1.0)
    oracle = oracle_of(model, X, signs, weights, kernel, neighbours)
    least = oracle.classification(model.alpha_, model.ridge_)
    scale = oracle.logistic_loss(np.zeros(len(y)), np.zeros_like(X))
    assert model.objective_ == pytest.approx(least, abs=1e-6 * scale)


@pytest.mark.parametrize("estimator", [SparseGradientRegressor, SparseGradientClassifier])
def test_the_gap_bounds_the_distance_to_the_minimum(estimator):
    X, y = table(seed=3)
    classify = estimator is SparseGradientClassifier
    target = np.where(y > np.median(y), 1.0, -1.0) if classify else y
    models = {
        tol: estimator(tol=tol, n_neighbors=5, kernel="gaussian").fit(X, target)
        for tol in (1e-1, 1e-2, 1e-4, 1e-7)
    }
    exact = models[1e-7]
    oracle = oracle_of(exact, X, target, np.ones(len(y)), "gaussian", 5)
    if classify:
        least = oracle.classification(exact.alpha_, exact.ridge_)
        scale = oracle.logistic_loss(np.zeros(len(y)), np.zeros_like(X))
    else:
        least = oracle.regression(exact.alpha_)
        scale = oracle.squared_loss(np.zeros_like(X))
    for tol, model in models.items():
        distance = model.objective_ - least
        assert -1e-8 * scale <= distance <= model.dual_gap_ + 1e-8 * scale
        assert model.relative_gap_ <= tol


@pytest.mark.parametrize(("kernel", "neighbours", "weighted"), SETTINGS[1:4])
@pytest.mark.parametrize("estimator", [SparseGradientRegressor, SparseGradientClassifier])
def test_alpha_max_is_exact(estimator, kernel, neighbours, weighted):
    X, y = table(seed=4)
    if estimator is SparseGradientClassifier:
        y = np.where(y > np.median(y), 1.0, -1.0)
    weights = row_weights(len(y), weighted)
    settings = {"kernel": KERNELS[kernel][0], "n_neighbors": neighbours, "tol": 1e-10}
    top = estimator(**settings).fit(X, y, weights).alpha_max_
    above = estimator(top * 1.0001, **settings).fit(X, y, weights)
    below = estimator(top * 0.999, **settings).fit(X, y, weights)
    assert above.support_.sum() == 0
    assert below.support_.sum() >= 1


def test_alpha_max_is_formula_55():
    X, y = table(seed=6)
    model = SparseGradientRegressor(kernel="gaussian", n_neighbors=4).fit(X, y)
    oracle = oracle_of(model, X, y, np.ones(len(y)), "gaussian", 4)
    total = np.zeros_like(X.T)
    for q, (i, j) in zip(oracle.q, oracle.pairs, strict=True):
        total += 2 * q * (y[i] - y[j]) * np.outer(oracle.X[i] - oracle.X[j], oracle.root[i])
    expected = np.linalg.norm(total, axis=1).max()
    assert model.alpha_max_ == pytest.approx(expected, rel=1e-9)


def test_the_bandwidth_is_half_the_median_distance():
    X, y = table(seed=7)
    model = SparseGradientRegressor().fit(X, y)
    Z = prepared(X, np.ones(len(y)))
    distances = [np.linalg.norm(Z[i] - Z[j]) for i in range(len(Z)) for j in range(i)]
    assert model.bandwidth_ == pytest.approx(np.median(distances) / 2)
    assert model.length_scale_ == pytest.approx(np.median(distances) / 2)
