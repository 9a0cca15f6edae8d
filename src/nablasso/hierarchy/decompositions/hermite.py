r"""Hermite polynomials, orthonormal for normal data, and what follows from Mehler's formula.

With ``He_j`` orthogonal for the standard normal distribution (``H_j(x / sqrt 2) = 2^{j/2} He_j(x)``
for the ``H_j`` of the paper) and ``0 < r < 1``

.. math::
    \sum_{j \ge 0} \frac{r^j}{j!} He_j(x) He_j(x') = (1 - r^2)^{-1/2}
    \exp\Big(-\frac{r (x - x')^2}{2 (1 - r^2)} + \frac{r (x^2 + x'^2)}{2 (1 + r)}\Big) .

:class:`Hermite` takes the first q terms one by one and the rest by differencing. The mean of the
level-j kernel on the diagonal is ``r^j`` for standard normal data.

:class:`GaussHermite` decomposes the Gaussian kernel ``exp(-b (x - x')^2)`` for data of variance
``1 / 4a``. With ``c^2 = a^2 + 2ab`` and ``A = a + b + c``

.. math::
    e^{-b (x - x')^2} = \Big(1 - \frac{b^2}{A^2}\Big)^{1/2} \sum_{j \ge 0} \frac{(b/A)^j}{2^j j!}
    g(x) H_j(\sqrt{2c}\, x)\, g(x') H_j(\sqrt{2c}\, x'), \quad g(x) = e^{-\frac{b}{A}(a + c) x^2} .

Its level 0 is not constant: every node carries the same fixed factor ``prod_i g(x_i)``, which
shrinks fast with the number of variables.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from scipy.special import eval_hermite, eval_hermitenorm

from nablasso.exceptions import InvalidParameterError
from nablasso.hierarchy.decompositions.base import Array, Decomposition, check_degree
from nablasso.kernels.base import positive


class Hermite(Decomposition):
    """Hermite polynomials; the last level holds all degrees from ``q`` on.

    Parameters
    ----------
    degree : int, default=3
        ``q``.
    ratio : float, default=0.5
        ``r``: size of a level's kernel relative to the one before. Between 0 and 1.
    """

    def __init__(self, degree: int = 3, ratio: float = 0.5) -> None:
        self.degree = degree
        self.ratio = ratio

    def n_levels(self) -> int:
        """``q + 1``."""
        if not 0 < positive(self.ratio, "ratio") < 1:
            raise InvalidParameterError(f"ratio must lie between 0 and 1; got {self.ratio!r}.")
        return check_degree(self.degree) + 1

    def features(self, x: Array, level: int) -> Array | None:
        """``sqrt(r^j / j!) He_j(x)``; none for the last level."""
        return None if level == self.degree else self._term(x, level)

    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """Kernel of a level, the last by differencing."""
        if level < self.degree:
            return np.asarray(self._term(x, level) @ self._term(z, level).T)
        rest = self.total(x, z)
        for j in range(self.degree):
            rest -= self._term(x, j) @ self._term(z, j).T
        return rest

    def total(self, x: Array, z: Array) -> Array:
        """The sum over all levels."""
        r = float(self.ratio)
        apart = (x[:, None] - z) ** 2 / (2 * (1 - r**2))
        size = (x[:, None] ** 2 + z**2) / (2 * (1 + r))
        return np.asarray(np.exp(r * (size - apart)) / np.sqrt(1 - r**2))

    def _term(self, x: Array, level: int) -> Array:
        size = np.sqrt(float(self.ratio) ** level / factorial(level))
        return np.asarray(size * eval_hermitenorm(level, x)[:, None])


class GaussHermite(Decomposition):
    """The Gaussian kernel by its eigenfunctions; the last level holds the rest.

    Parameters
    ----------
    degree : int, default=3
        ``q``.
    b : float, default=0.1
        Of ``exp(-b (x - x')^2)``.
    variance : float, default=1.0
        ``1 / 4a``, that of the data.
    """

    def __init__(self, degree: int = 3, b: float = 0.1, variance: float = 1.0) -> None:
        self.degree = degree
        self.b = b
        self.variance = variance

    def n_levels(self) -> int:
        """``q + 1``."""
        positive(self.b, "b")
        positive(self.variance, "variance")
        return check_degree(self.degree) + 1

    def features(self, x: Array, level: int) -> Array | None:
        """Eigenfunction times the root of its eigenvalue; none for the last level."""
        return None if level == self.degree else self._term(x, level)

    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """Kernel of a level, the last by differencing."""
        if level < self.degree:
            return np.asarray(self._term(x, level) @ self._term(z, level).T)
        rest = self.total(x, z)
        for j in range(self.degree):
            rest -= self._term(x, j) @ self._term(z, j).T
        return rest

    def total(self, x: Array, z: Array) -> Array:
        """The sum over all levels: the Gaussian kernel."""
        return np.asarray(np.exp(-float(self.b) * (x[:, None] - z) ** 2))

    def _term(self, x: Array, level: int) -> Array:
        a, b = 1 / (4 * float(self.variance)), float(self.b)
        c = np.sqrt(a**2 + 2 * a * b)
        A = a + b + c
        scale = (1 - (b / A) ** 2) ** 0.25 * np.sqrt(
            (b / A) ** level / (2**level * factorial(level))
        )
        bell = np.exp(-(b / A) * (a + c) * x**2)
        return np.asarray((scale * bell * eval_hermite(level, np.sqrt(2 * c) * x))[:, None])
