r"""Decompositions: a kernel of one variable as a sum of kernels of growing complexity.

.. math:: k(x, x') = \sum_{j=0}^{q} k_j(x, x')

Products of such sums over variables are sums over the directed grid ``{0..q}^p`` (section 3.2 of
Bach, 2009). Level 0 must have rank one; for most decompositions it is the constant 1.

A decomposition of your own needs two methods: :meth:`Decomposition.n_levels`, which is ``q + 1``,
and :meth:`Decomposition.kernel`. Levels of finite rank should give :meth:`Decomposition.features`
too: they are then handled exactly and without n x n matrices. Where all but the last do, ``kernel``
follows from them and :meth:`Decomposition.total`.

*Hermite polynomials* are orthonormal for normal data. With ``He_j`` orthogonal for the standard
normal distribution (``H_j(x / sqrt 2) = 2^{j/2} He_j(x)`` for the ``H_j`` of the paper) and ``0 < r
< 1``

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

from abc import ABC, abstractmethod
from math import factorial
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.linalg import eigh
from scipy.special import comb, eval_hermite, eval_hermitenorm
from sklearn.base import BaseEstimator, clone

from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.kernels.base import positive
from nablasso.types import Array

SLACK = 1e-9  # of the range: rounding at its ends is not outside
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

    def is_limited(self) -> bool:
        """Whether new rows outside the range of the data are treated apart."""
        return False

    def fitted(self, x: Array, weights: Array) -> Self:  # noqa: ARG002
        """The decomposition for one column of the data; itself where it does not adapt."""
        return self


def check_degree(degree: object) -> int:
    """Highest level ``q``, a whole number of at least 1."""
    whole = isinstance(degree, Integral) and not isinstance(degree, bool)
    number = int(degree) if isinstance(degree, Integral) else 0
    if not whole or number < 1:
        raise InvalidParameterError(
            f"degree must be a whole number of at least 1; got {degree!r}. With q = 0 every "
            "variable has its constant kernel alone and there is nothing to select."
        )
    return number


class Monomials(Decomposition):
    """Monomials up to degree ``q``.

    Parameters
    ----------
    degree : int, default=3
        ``q``.
    """

    def __init__(self, degree: int = 3) -> None:
        self.degree = degree

    def n_levels(self) -> int:
        """``q + 1``."""
        return check_degree(self.degree) + 1

    def features(self, x: Array, level: int) -> Array:
        """``sqrt(binomial(q, j)) x^j``."""
        return np.asarray(np.sqrt(comb(self.degree, level)) * x[:, None] ** level)


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


class Spline(Decomposition):
    r"""Constant, linear and cubic spline: q = 2.

    .. math::
        k_2(x, x') = \min(|x|, |x'|)^2 (3 \max(|x|, |x'|) - \min(|x|, |x'|)) / 6
        \quad\text{if } x x' \ge 0, \text{ else } 0 .

    Beyond the last knot on either side these splines are straight lines, so that predictions
    outside the range of the data are linear continuations. ``outside`` asks for something else.

    Parameters
    ----------
    outside : {"linear", "clip", "error"}, default="linear"
        What happens to new rows outside the range seen in ``fit``: the function continues as a
        straight line, keeps its value at the border, or the row is refused. With the last two the
        refit is always on the selected kernels, which know the range.
    """

    def __init__(self, outside: str = "linear") -> None:
        self.outside = outside

    def n_levels(self) -> int:
        """3."""
        if self.outside not in ("linear", "clip", "error"):
            raise InvalidParameterError(
                f'outside must be "linear", "clip" or "error"; got {self.outside!r}.'
            )
        return 3

    def is_limited(self) -> bool:
        """Unless straight lines go on."""
        return self.outside != "linear"

    def fitted(self, x: Array, weights: Array) -> Self:  # noqa: ARG002
        """A copy that knows the range of the column."""
        copy = type(self)(self.outside)
        copy.range_ = (float(x.min()), float(x.max()))
        return copy

    def features(self, x: Array, level: int) -> Array | None:
        """1 and ``x``; none for the cubic spline."""
        return None if level == 2 else self._inside(x)[:, None] ** level

    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """The level's kernel."""
        x, z = self._inside(x), self._inside(z)
        if level < 2:
            return np.asarray((x[:, None] * z) ** level)
        low = np.minimum(np.abs(x)[:, None], np.abs(z))
        high = np.maximum(np.abs(x)[:, None], np.abs(z))
        same = x[:, None] * z >= 0
        return np.where(same, low**2 * (3 * high - low) / 6, 0.0)

    def _inside(self, x: Array) -> Array:
        if self.outside == "linear" or not hasattr(self, "range_"):
            return x
        low, high = self.range_
        if self.outside == "clip":
            return np.clip(x, low, high)
        slack = SLACK * (high - low)
        beyond = (x < low - slack) | (x > high + slack)
        if beyond.any():
            raise InvalidDataError(
                f"{int(beyond.sum())} of {len(x)} rows lie outside the range of the spline, "
                f"{low:.4g} to {high:.4g} in standardised units. Drop them, or choose "
                'Spline(outside="linear") or Spline(outside="clip").'
            )
        return x


class AllSubsetsGaussian(Decomposition):
    r"""The constant and a Gaussian kernel: q = 1.

    .. math::
        \prod_i \big(1 + s\, e^{-b (x_i - x'_i)^2}\big) = \sum_{J} s^{|J|} e^{-b \|x_J - x'_J\|^2}

    The space of a node contains, in the limit, those of its ancestors; ``whiten=True`` of the
    estimators takes that away.

    Parameters
    ----------
    b : float, default=0.5
        Of ``exp(-b (x - x')^2)``.
    scale : float, default=1.0
        Weight of a variable more.
    """

    def __init__(self, b: float = 0.5, scale: float = 1.0) -> None:
        self.b = b
        self.scale = scale

    def n_levels(self) -> int:
        """2."""
        positive(self.b, "b")
        positive(self.scale, "scale")
        return 2

    def features(self, x: Array, level: int) -> Array | None:
        """1; none for the Gaussian kernel."""
        return np.ones((len(x), 1)) if level == 0 else None

    def kernel(self, x: Array, z: Array, level: int) -> Array:
        """The level's kernel."""
        if level == 0:
            return np.ones((len(x), len(z)))
        return np.asarray(float(self.scale) * np.exp(-float(self.b) * (x[:, None] - z) ** 2))


class KernelPCA(Decomposition):
    r"""Kernel principal components of each column.

    A Gaussian kernel is centred at the data and decomposed,
    ``k~(x, x') = sum_j phi_j(x) phi_j(x')`` with components of decreasing variance on the data
    (weights included). Level 0 is the constant, levels 1 to q - 1 the first components, level q the
    rest by differencing; they add up to ``1 + k~``.

    Parameters
    ----------
    degree : int, default=3
        ``q``.
    b : float, default=0.5
        Of ``exp(-b (x - x')^2)``.
    """

    def __init__(self, degree: int = 3, b: float = 0.5) -> None:
        self.degree = degree
        self.b = b

    def n_levels(self) -> int:
        """``q + 1``."""
        positive(self.b, "b")
        return check_degree(self.degree) + 1

    def fitted(self, x: Array, weights: Array) -> Self:
        """A copy that knows the components of the column."""
        copy = type(self)(self.degree, self.b)
        copy.x_, copy.weights_ = x, weights / weights.sum()
        root = np.sqrt(copy.weights_)
        values, vectors = eigh(root[:, None] * copy._centred(x, x) * root)
        order = np.argsort(-values)[: self.degree - 1]
        order = order[values[order] > NEGLIGIBLE * values.max()]
        # phi_j(x) = sum_i k~(x, x_i) sqrt(p_i) v_ij / sqrt(value_j)
        copy.loadings_ = root[:, None] * vectors[:, order] / np.sqrt(values[order])
        return copy

    def features(self, x: Array, level: int) -> Array | None:
        """1 and the first components; none for the rest."""
        if level == 0:
            return np.ones((len(x), 1))
        if level == self.degree:
            return None
        loadings = self.loadings_[:, level - 1 : level]
        if loadings.shape[1] == 0:  # a column of few values has fewer components
            return np.zeros((len(x), 1))
        return np.asarray(self._centred(x, self.x_) @ loadings)

    def total(self, x: Array, z: Array) -> Array:
        """One plus the centred Gaussian kernel."""
        return 1 + self._centred(x, z)

    def _centred(self, x: Array, z: Array) -> Array:
        p = self.weights_
        K = self._gaussian(x, z)
        left, right = self._gaussian(x, self.x_) @ p, self._gaussian(z, self.x_) @ p
        middle = float(p @ self._gaussian(self.x_, self.x_) @ p)
        return np.asarray(K - left[:, None] - right + middle)

    def _gaussian(self, x: Array, z: Array) -> Array:
        return np.asarray(np.exp(-float(self.b) * (x[:, None] - z) ** 2))


WITH_DEGREE: dict[str, Any] = {
    "hermite": Hermite,
    "polynomial": Monomials,
    "gauss_hermite": GaussHermite,
    "pca": KernelPCA,
}


WITHOUT_DEGREE: dict[str, Any] = {"spline": Spline, "gaussian": AllSubsetsGaussian}


def as_decomposition(decomposition: object, degree: object = 3) -> Decomposition:
    """The decomposition that a name or an object stands for; an object is copied.

    ``degree`` is for names alone; splines have two levels and subsets of variables one.
    """
    degree = check_degree(degree)
    if isinstance(decomposition, Decomposition):
        made: Decomposition = clone(decomposition)
    elif decomposition in WITH_DEGREE:
        made = WITH_DEGREE[str(decomposition)](degree)
    elif decomposition in WITHOUT_DEGREE:
        made = WITHOUT_DEGREE[str(decomposition)]()
    else:
        names = ", ".join([*WITH_DEGREE, *WITHOUT_DEGREE])
        raise InvalidParameterError(
            f"decomposition must be one of {names} or an object of nablasso.hierarchy with the "
            f"methods n_levels and kernel; got {decomposition!r}."
        )
    if made.n_levels() < 2:
        raise InvalidParameterError(
            f"A decomposition needs at least two levels (q of at least 1); {made!r} has "
            f"{made.n_levels()}."
        )
    return made
