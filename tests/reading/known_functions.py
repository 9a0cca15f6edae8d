"""Functions of a representer space with known derivatives, and evidence from plain arrays."""

import numpy as np

from nablasso.kernels import Gaussian, Polynomial
from nablasso.reading.doubts import LeftOutFit
from nablasso.spaces import Function, RepresenterSpace


def polynomial(X, y, degree):
    """The polynomial of that degree through y: exact if y is one of the columns of X."""
    space = RepresenterSpace(Polynomial(degree), X)
    u = np.linalg.lstsq(space.gram, y, rcond=1e-12)[0]
    function = Function(0.0, np.arange(X.shape[1]), space, u)
    np.testing.assert_allclose(function.values(X), y, atol=1e-8 * np.abs(y).max())
    return function


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def evidence(X, y, selected, kernel=None, width=None):
    """Equal weights and one width, by default the square root of the number of columns."""
    selected = np.asarray(selected, dtype=np.intp)
    width = max(1.0, np.sqrt(len(selected))) if width is None else width
    return LeftOutFit(
        Gaussian() if kernel is None else kernel,
        standardised(X),
        y - y.mean(),
        np.full(len(y), 1 / len(y)),
        selected,
        np.full(len(selected), 1 / width),
    )


def weights_of(n, rng):
    weights = rng.uniform(0.2, 2.0, size=n)
    return weights / weights.sum()
