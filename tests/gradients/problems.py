"""Small problems for the tests of this folder."""

import numpy as np
from scipy.sparse import issparse

from nablasso.data.table import prepare
from nablasso.gradients.learner import GradientData
from nablasso.kernels import Gaussian

N, P = 14, 5


def data_of(
    *,
    classes=False,
    kernel=None,
    n_neighbors=None,
    form="lasso",
    weights=None,
    kept=(),
    labels=None,
    n=N,
    p=P,
    seed=0,
):
    """Random data whose target depends on the first two columns, and the target."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)
    if classes:
        y = np.where(y > np.median(y), 1.0, -1.0)
    row_weights = np.ones(n) if weights is None else weights
    table = prepare(X, y, row_weights, standardize=True, centre_y=not classes)
    column_labels = np.arange(p) if labels is None else np.asarray(labels)
    sizes = np.bincount(column_labels)[column_labels].astype(float)
    sizes[list(kept)] = 0.0
    ours = GradientData(
        table,
        kernel=Gaussian() if kernel is None else kernel,
        length_scale="median",
        bandwidth="half_median",
        n_neighbors=n_neighbors,
        form=form,
        ridge=0.02 if classes or kept else None,
        classes=classes,
        labels=column_labels,
        group_weights=sizes,
    )
    return ours, table.y


def as_dense(pairs, values=None):
    """Weights of pairs, or other values over them, as a matrix (n, n)."""
    dense = pairs.matrix(pairs.weights if values is None else values)
    return dense.toarray() if issparse(dense) else dense


def literal_objective(ours, y, C, alpha, c0=None):
    """(40) or (62) with loops and the kernel matrix; ``C`` (p, N), ``c0`` (N,)."""
    table = ours.table
    X, p = table.X, table.weights
    K = ours.kernel(X / ours.width, X / ours.width)
    total = 0.0
    for i in range(len(X)):
        for j in range(len(X)):
            w = pair_weight(ours, i, j)
            slope = (X[j] - X[i]) @ C @ K[i]
            if c0 is None:
                total += p[i] * p[j] * w * (y[i] - y[j] + slope) ** 2
            else:
                total += p[i] * p[j] * w * np.logaddexp(0, -y[j] * (c0 @ K[i] + slope))
    if c0 is not None:
        total += 0.02 * c0 @ K @ c0
    norms = np.sqrt(np.maximum(np.einsum("ai,ij,aj->a", C, K, C), 0))
    return total + alpha * norms.sum()


def pair_weight(ours, i, j):
    """(5) or (58)."""
    X, s, k = ours.table.X, ours.reach, ours.n_neighbors
    distances = np.linalg.norm(X - X[i], axis=1)
    if k is None:
        return np.exp(-(distances[j] ** 2) / (2 * s**2))
    near = np.argsort(distances, kind="stable")[: k + 1]
    return np.exp(-2 * distances[j] ** 2 / s**2) if j in near else 0.0
