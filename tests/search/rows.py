"""Small tables for the search."""

import numpy as np

from nablasso.regression.models import FewRows
from nablasso.rules import Rules


def few_rows(
    X, Y, *, weights=None, labels=None, kept=(), standardise=True, counts=False, **options
):
    """Rows as the search gets them: standardised columns, weights of mean one or copies."""
    n, d = X.shape
    weights = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    weights = weights if counts else weights / weights.mean()
    if standardise:
        p = weights / weights.sum()
        X = X - p @ X
        X = X / np.sqrt(p @ X**2)
    return FewRows(
        X=X,
        targets=np.asarray(Y, dtype=float).reshape(n, -1),
        weights=weights,
        labels=np.arange(d) if labels is None else np.asarray(labels),
        kept=np.asarray(kept, dtype=np.intp),
        **{"time": None, "rules": Rules(), **options},
    )


def draw(n=60, d=5, *, seed=0, noise=0.1, **options):
    """``x0 x1 + x2`` and idle columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] * X[:, 1] + X[:, 2] + noise * rng.normal(size=n)
    return few_rows(X, y, **options)


def gram_of(rows, model):
    """The covariance over its unit, by the family's kernel of columns."""
    columns = np.flatnonzero(np.isin(rows.labels, model.groups))
    variance = dict(zip(model.groups.tolist(), model.variances, strict=True))
    v = np.array([variance[g] for g in rows.labels[columns]])
    X = rows.X[:, columns]
    kernel, scales = model.family.fitted(X, rows.weights, v)
    return kernel(X * scales, X * scales), (kernel, columns, scales)


def index(*groups):
    """Numbers of groups."""
    return np.array(groups, dtype=np.intp)
