r"""Decompositions: a kernel of one variable as a sum of kernels of growing complexity.

.. math:: k(x, x') = \sum_{j=0}^{q} k_j(x, x')

Products of such sums over variables are sums over the directed grid ``{0..q}^p`` (section 3.2 of
Bach, 2009). Level 0 must have rank one; for most decompositions it is the constant 1.

A decomposition of your own needs two methods: :meth:`Decomposition.n_levels`, which is ``q + 1``,
and :meth:`Decomposition.kernel`. Levels of finite rank should give :meth:`Decomposition.features`
too: they are then handled exactly and without n x n matrices. Where all but the last do, ``kernel``
follows from them and :meth:`Decomposition.total`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from math import factorial
from numbers import Integral
from typing import Self

import numpy as np
from scipy.linalg import eigh
from scipy.special import comb, eval_hermite, eval_hermitenorm
from sklearn.base import BaseEstimator, clone

from nablasso.errors import InvalidParameterError
from nablasso.kernels.base import positive
from nablasso.types import Array

NEGLIGIBLE = 1e-10  # of the largest eigenvalue: components below are rounding


class Decomposition(BaseEstimator, ABC):
    """A kernel of one variable as a sum over levels."""

    @abstractmethod
    def n_levels(self) -> int:
        """Number of levels, ``q + 1``."""

    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """``k_level(x_i, z_j)``, shape (len(x), len(z)).

        From the level's features, or what the levels below leave of the total.
        """
        left, right = self.features(x, level), self.features(z, level)
        if left is not None and right is not None:
            return np.asarray(left @ right.T)
        rest = self.total(x, z)
        for below in range(level):
            rest -= self.kernel(x, z, below)
        return rest

    def total(self, x: Array, z: Array) -> Array:  # noqa: ARG002
        """The sum over all levels, where the last one has no features."""
        raise InvalidParameterError(
            f"{type(self).__name__} needs a method kernel(x, z, level), or features(x, level) of "
            "all levels but the last and total(x, z), the sum over all."
        )

    def features(self, x: Array, level: int) -> Array | None:  # noqa: ARG002
        """Features (len(x), rank) whose products are the level's kernel; None: use the kernel."""
        return None

    def fitted(self, x: Array, weights: Array) -> Self:  # noqa: ARG002
        """The decomposition for a column of the data; only levels above 0 may depend on it."""
        return self


def check_degree(degree: object) -> int:
    """Highest level ``q``, a whole number of at least 1."""
    if not isinstance(degree, Integral) or isinstance(degree, bool) or degree < 1:
        raise InvalidParameterError(
            f"degree must be a whole number of at least 1; got {degree!r}. With q = 0 every "
            "variable has its constant kernel alone and there is nothing to select."
        )
    return int(degree)


@dataclass(eq=False, repr=False)
class Graded(Decomposition):
    """Levels of rank one up to ``degree`` (q), the last one what they leave of the total."""

    degree: int = 3

    def n_levels(self) -> int:
        """``q + 1``."""
        for name, value in self.get_params().items():
            if name != "degree":
                positive(value, name)
        return check_degree(self.degree) + 1

    def features(self, x: Array, level: int) -> Array | None:
        """One feature; none for the last level."""
        return None if level == self.degree else self.term(x, level)[:, None]

    @abstractmethod
    def term(self, x: Array, level: int) -> Array:
        """The feature of a level, (len(x),)."""


@dataclass(eq=False, repr=False)
class Monomials(Graded):
    """Monomials up to degree ``q``: they add up to ``(1 + x x')^q``."""

    def features(self, x: Array, level: int) -> Array:
        """One feature of every level."""
        return self.term(x, level)[:, None]

    def term(self, x: Array, level: int) -> Array:
        """``sqrt(binomial(q, j)) x^j``."""
        return np.asarray(np.sqrt(comb(self.degree, level)) * x**level)


@dataclass(eq=False, repr=False)
class Hermite(Graded):
    r"""Hermite polynomials, orthonormal for normal data; the last level has degrees from ``q`` on.

    .. math::
        \sum_{j \ge 0} \frac{r^j}{j!} He_j(x) He_j(x') = (1 - r^2)^{-1/2}
        \exp\Big(-\frac{r (x - x')^2}{2 (1 - r^2)} + \frac{r (x^2 + x'^2)}{2 (1 + r)}\Big) .

    ``ratio`` is ``r``, between 0 and 1: the size of a level's kernel relative to the one before.
    """

    ratio: float = 0.5

    def n_levels(self) -> int:
        """``q + 1``."""
        if not 0 < positive(self.ratio, "ratio") < 1:
            raise InvalidParameterError(f"ratio must lie between 0 and 1; got {self.ratio!r}.")
        return super().n_levels()

    def total(self, x: Array, z: Array) -> Array:
        """The sum over all levels."""
        r = float(self.ratio)
        apart = (x[:, None] - z) ** 2 / (2 * (1 - r**2))
        size = (x[:, None] ** 2 + z**2) / (2 * (1 + r))
        return np.asarray(np.exp(r * (size - apart)) / np.sqrt(1 - r**2))

    def term(self, x: Array, level: int) -> Array:
        """``sqrt(r^j / j!) He_j(x)``."""
        size = np.sqrt(float(self.ratio) ** level / factorial(level))
        return np.asarray(size * eval_hermitenorm(level, x))


@dataclass(eq=False, repr=False)
class GaussHermite(Graded):
    r"""The Gaussian kernel ``exp(-b (x - x')^2)`` by its eigenfunctions; the last level the rest.

    For data of ``variance`` ``1 / 4a``, with ``c^2 = a^2 + 2ab`` and ``A = a + b + c``

    .. math::
        \Big(1 - \frac{b^2}{A^2}\Big)^{1/2} \sum_{j \ge 0} \frac{(b/A)^j}{2^j j!} g(x)
        H_j(\sqrt{2c}\, x)\, g(x') H_j(\sqrt{2c}\, x'), \quad g(x) = e^{-\frac{b}{A}(a + c) x^2} .

    Level 0 is not constant: every node carries the factor ``prod_i g(x_i)``, which shrinks fast
    with the number of variables.
    """

    b: float = 0.1
    variance: float = 1.0

    def total(self, x: Array, z: Array) -> Array:
        """The sum over all levels: the Gaussian kernel."""
        return gaussian(x, z, self.b)

    def term(self, x: Array, level: int) -> Array:
        """Eigenfunction times the root of its eigenvalue."""
        a, b = 1 / (4 * float(self.variance)), float(self.b)
        c = np.sqrt(a**2 + 2 * a * b)
        A = a + b + c
        scale = (1 - (b / A) ** 2) ** 0.25 * np.sqrt(
            (b / A) ** level / (2**level * factorial(level))
        )
        bell = np.exp(-(b / A) * (a + c) * x**2)
        return np.asarray(scale * bell * eval_hermite(level, np.sqrt(2 * c) * x))


class Spline(Decomposition):
    r"""Constant, linear and cubic spline: q = 2.

    .. math::
        k_2(x, x') = \min(|x|, |x'|)^2 (3 \max(|x|, |x'|) - \min(|x|, |x'|)) / 6
        \quad\text{if } x x' \ge 0, \text{ else } 0 .

    Beyond the last knot on either side these splines are straight lines, so that predictions
    outside the range of the data are linear continuations.
    """

    def n_levels(self) -> int:
        """3."""
        return 3

    def features(self, x: Array, level: int) -> Array | None:
        """1 and ``x``; none for the cubic spline."""
        return None if level == 2 else x[:, None] ** level

    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """The level's kernel."""
        if level < 2:
            return np.asarray((x[:, None] * z) ** level)
        low = np.minimum(np.abs(x)[:, None], np.abs(z))
        high = np.maximum(np.abs(x)[:, None], np.abs(z))
        same = x[:, None] * z >= 0
        return np.where(same, low**2 * (3 * high - low) / 6, 0.0)


@dataclass(eq=False, repr=False)
class AllSubsetsGaussian(Decomposition):
    r"""The constant and a Gaussian kernel: q = 1.

    .. math::
        \prod_i \big(1 + s\, e^{-b (x_i - x'_i)^2}\big) = \sum_{J} s^{|J|} e^{-b \|x_J - x'_J\|^2}

    ``scale`` is ``s``, the weight of a variable more. The space of a node contains, in the limit,
    those of its ancestors; ``whiten=True`` of the estimators takes that away.
    """

    b: float = 0.5
    scale: float = 1.0

    def n_levels(self) -> int:
        """2."""
        positive(self.b, "b")
        positive(self.scale, "scale")
        return 2

    def features(self, x: Array, level: int) -> Array | None:
        """1; none for the Gaussian kernel."""
        return np.ones((len(x), 1)) if level == 0 else None

    def total(self, x: Array, z: Array) -> Array:
        """The sum over both levels."""
        return 1 + float(self.scale) * gaussian(x, z, self.b)


@dataclass(eq=False, repr=False)
class KernelPCA(Graded):
    r"""Kernel principal components of each column.

    A Gaussian kernel ``exp(-b (x - x')^2)`` is centred at the data and decomposed,
    ``k~(x, x') = sum_j phi_j(x) phi_j(x')`` with components of decreasing variance on the data
    (weights included). Level 0 is the constant, levels 1 to q - 1 the first components, level q the
    rest by differencing; they add up to ``1 + k~``.
    """

    b: float = 0.5

    def fitted(self, x: Array, weights: Array) -> Self:
        """A copy that knows the components of the column."""
        made = copy(self)
        made.x_, made.weights_ = x, weights / weights.sum()
        root = np.sqrt(made.weights_)
        values, vectors = eigh(root[:, None] * made._centred(x, x) * root)
        kept = np.flatnonzero(values > NEGLIGIBLE * values[-1])[::-1][: self.degree - 1]
        # phi_j(x) = sum_i k~(x, x_i) sqrt(p_i) v_ij / sqrt(value_j)
        made.loadings_ = root[:, None] * vectors[:, kept] / np.sqrt(values[kept])
        return made

    def total(self, x: Array, z: Array) -> Array:
        """One plus the centred Gaussian kernel."""
        return 1 + self._centred(x, z)

    def term(self, x: Array, level: int) -> Array:
        """1 and the first components; a column of few values has fewer, the others are zero."""
        if level == 0 or level > self.loadings_.shape[1]:
            return np.full(len(x), float(level == 0))
        return np.asarray(self._centred(x, self.x_) @ self.loadings_[:, level - 1])

    def _centred(self, x: Array, z: Array) -> Array:
        p, own = self.weights_, self.x_
        left, right, middle = (gaussian(v, own, self.b) @ p for v in (x, z, own))
        return np.asarray(gaussian(x, z, self.b) - left[:, None] - right + p @ middle)


def gaussian(x: Array, z: Array, b: float) -> Array:
    """``exp(-b (x_i - z_j)^2)``."""
    return np.asarray(np.exp(-float(b) * (x[:, None] - z) ** 2))


NAMED: dict[str, type[Decomposition]] = {
    "hermite": Hermite,
    "polynomial": Monomials,
    "gauss_hermite": GaussHermite,
    "pca": KernelPCA,
    "spline": Spline,
    "gaussian": AllSubsetsGaussian,
}


def as_decomposition(decomposition: object, degree: object = 3) -> Decomposition:
    """The decomposition that a name or an object stands for; an object is copied.

    ``degree`` is for names alone; splines have two levels and subsets of variables one.
    """
    degree = check_degree(degree)
    if isinstance(decomposition, Decomposition):
        made: Decomposition = clone(decomposition)
    elif isinstance(decomposition, str) and decomposition in NAMED:
        kind = NAMED[decomposition]
        made = kind(degree) if issubclass(kind, Graded) else kind()
    else:
        raise InvalidParameterError(
            f"decomposition must be one of {', '.join(NAMED)} or an object of nablasso.hierarchy "
            f"with the methods n_levels and kernel; got {decomposition!r}."
        )
    if made.n_levels() < 2:
        raise InvalidParameterError(
            f"A decomposition needs at least two levels (q of at least 1); {made!r} has "
            f"{made.n_levels()}."
        )
    return made
