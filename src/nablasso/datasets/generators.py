r"""Data sets whose right answer is known: smooth functions of a few columns, with their sources.

A data set is a function (:class:`Formula`), inputs, and a level of noise that is a constant of the
population: two draws differ in their rows only. Gradients are those of a complex step,
:math:`\partial_a f(x) = \operatorname{Im} f(x + i h e_a) / h`, exact to rounding for functions that
are analytic, as all of these are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import sqrt
from textwrap import fill
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from nablasso.errors import InvalidParameterError
from nablasso.types import Array, Mask

RandomSource: TypeAlias = np.random.RandomState | np.random.Generator
Seed: TypeAlias = int | RandomSource | None
Groups: TypeAlias = tuple[tuple[int, ...], ...]
Rule: TypeAlias = Callable[[Array], Array]  # (n_samples, n_features), perhaps complex, to values
Generator = TypeVar("Generator", bound=Callable[..., Any])

TYPES = {"Seed": "int, RandomState, Generator or None", "ArrayLike | None": "array-like or None"}
MEANINGS = {
    "n_samples": "Rows of ``X``.",
    "n_features": "Columns of ``X``; the relevant ones come first.",
    "snr": "sd(f) / sd(noise), with sd(f) the population value.",
    "noise": "Standard deviation of the noise.",
    "n_relevant": "r, the number of relevant variables; they come first.",
    "random_state": "Source of the rows and of the noise.",
}
ROSASCO = "L. Rosasco et al. Nonparametric sparsity and regularization. JMLR 14, 2013. "
YE_XIE = (
    "G.-B. Ye and X. Xie. Learning sparse gradients for variable selection and dimension "
    "reduction. Machine Learning, 2012. "
)
STEP = 1e-30  # of complex steps: its square is nothing beside any number
DESIGN = "Give training and test sets the same integer."


@dataclass(frozen=True, eq=False)
class KnownSupport:
    """Rows of ``y = noise_free + noise`` together with the right answer.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Outputs, with noise.
    support : ndarray of bool, shape (n_features,)
        True for the variables the noiseless output depends on.
    feature_names : tuple of str
        ``("x1", ..., "xd")`` unless the data set has names of its own.
    groups : tuple of tuples of int, or None
        A partition of the column indices where the experiment defines one.
    noise_free : ndarray of shape (n_samples,)
        The noiseless output.
    noise_sd : float or ndarray of shape (n_samples,)
        Standard deviation of the noise, one for all rows or one per row; NaN where it has none.
    gradient : ndarray of shape (n_samples, n_features), or None
        Partial derivatives of the noiseless output at the rows; None where it is not a smooth
        function of ``X``.
    """

    X: Array
    y: Array
    support: Mask
    feature_names: tuple[str, ...]
    groups: Groups | None
    noise_free: Array
    noise_sd: float | Array = float("nan")
    gradient: Array | None = None


@dataclass(frozen=True)
class Formula:
    """An analytic function of some columns."""

    relevant: Sequence[int]
    rule: Rule

    def __call__(self, X: Array) -> Array:  # (n_samples, n_features) -> (n_samples,)
        """Values at the rows."""
        return np.asarray(self.rule(X))

    def gradient(self, X: Array) -> Array:  # (n_samples, n_features) -> the same shape
        """Partial derivatives at the rows, zero in the columns that are not relevant."""
        gradient = np.zeros_like(X)
        for a in self.relevant:
            ahead = X.astype(complex)
            ahead[:, a] += 1j * STEP
            gradient[:, a] = self.rule(ahead).imag / STEP
        return gradient

    def observed(
        self, X: Array, noise_sd: float | Array, rng: RandomSource, **names: Any
    ) -> KnownSupport:
        """Its values at the rows with noise, and the right answer; as :func:`add_noise`."""
        gradient = self.gradient(X)
        return add_noise(X, self(X), self.relevant, noise_sd, rng, gradient=gradient, **names)

    def on_cube(
        self, shape: tuple[int, int], ends: tuple[float, float], noise_sd: float, state: Seed
    ) -> KnownSupport:
        """Its values with noise at rows that are uniform between two ends in every column."""
        require_features(shape[1], max(self.relevant) + 1)
        rng = random_source(state)
        return self.observed(np.asarray(rng.uniform(*ends, size=shape)), noise_sd, rng)


def add_noise(
    X: Array,  # (n_samples, n_features)
    noise_free: Array,  # (n_samples,)
    relevant: Sequence[int],
    noise_sd: float | Array,  # for all rows, or (n_samples,)
    rng: RandomSource,
    *,
    gradient: Array | None = None,  # (n_samples, n_features)
    feature_names: tuple[str, ...] | None = None,
    groups: Groups | None = None,
) -> KnownSupport:
    """Set y = noise_free + N(0, noise_sd^2) and pack it with the support ``relevant``."""
    if np.any(np.asarray(noise_sd) < 0):
        raise ValueError(f"The noise is a standard deviation, at least 0; got {noise_sd}.")
    n_samples, n_features = X.shape
    support = np.zeros(n_features, dtype=np.bool_)
    support[list(relevant)] = True
    if feature_names is None:
        feature_names = tuple(f"x{a + 1}" for a in range(n_features))
    y = noise_free + noise_sd * rng.standard_normal(size=n_samples)
    return KnownSupport(X, y, support, feature_names, groups, noise_free, noise_sd, gradient)


def noise_level(signal_sd: float, snr: float) -> float:
    """``signal_sd / snr``, of the population: training and test sets have the same noise."""
    if not snr > 0:
        raise ValueError(f"`snr` is sd(signal) / sd(noise), above 0; got {snr}.")
    return signal_sd / snr


def require_features(n_features: int, at_least: int) -> None:
    """Refuse a table too narrow to hold the relevant variables."""
    if n_features < at_least:
        raise ValueError(
            f"This data set needs at least {at_least} columns; got n_features={n_features}. "
            f"Use n_features={at_least} or more."
        )


def random_source(random_state: Seed) -> RandomSource:
    """A source of draws: numpy's ``Generator`` as it is, others by scikit-learn's rules."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    source: np.random.RandomState = check_random_state(random_state)
    return source


def generator(source: str = "", **meanings: str) -> Callable[[Generator], Generator]:
    """Complete the docstring of a generator: its parameters, what it returns, where it is from.

    ``meanings`` are those of its own parameters; :data:`MEANINGS` has the common ones.
    """

    def documented(make: Generator) -> Generator:
        signature = inspect.signature(make)
        lines = [inspect.getdoc(make) or "", "", "Parameters", "----------"]
        for name, parameter in signature.parameters.items():
            kind = TYPES.get(parameter.annotation, parameter.annotation)
            lines.append(f"{name} : {kind}, default={parameter.default!r}")
            meaning = {**MEANINGS, **meanings}[name]
            lines.append(fill(meaning, 96, initial_indent=" " * 4, subsequent_indent=" " * 4))
        lines += ["", "Returns", "-------", signature.return_annotation]
        if source:
            lines += ["", "References", "----------", fill(source, 96)]
        make.__doc__ = "\n".join(lines) + "\n"
        return make

    return documented


# ------------------------------------------------------------------ smooth, uniform inputs

# Of x uniform on [-w, w]: E x^2 = w^2 / 3 and E x^4 = w^4 / 5.

additive_function = Formula(range(4), lambda X: np.sum(np.square(X[:, :4]), axis=1))


@generator(ROSASCO + "Table 1.")
def make_additive(
    n_samples: int = 100, n_features: int = 40, *, snr: float = 15.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = x1^2 + x2^2 + x3^2 + x4^2 + noise, with x uniform on [-2, 2]^d."""
    noise_sd = noise_level(sqrt(4 * (16 / 5 - (4 / 3) ** 2)), snr)
    return additive_function.on_cube((n_samples, n_features), (-2.0, 2.0), noise_sd, random_state)


three_way_function = Formula(range(3), lambda X: np.square(X[:, 0] * X[:, 1] * X[:, 2]))


@generator(ROSASCO + "Table 1.")
def make_three_way(
    n_samples: int = 100, n_features: int = 40, *, snr: float = 15.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = (x1 x2 x3)^2 + noise, with x uniform on [-2, 2]^d."""
    noise_sd = noise_level(sqrt((16 / 5) ** 3 - (4 / 3) ** 6), snr)
    return three_way_function.on_cube((n_samples, n_features), (-2.0, 2.0), noise_sd, random_state)


def _radial(X: Array) -> Array:
    r = np.square(X[:, 0]) + np.square(X[:, 1])
    return np.asarray(r * np.exp(-r) / np.pi)


radial_function = Formula(range(2), _radial)
RADIAL_SD = 0.03772449100633202  # sd(f) over [-2, 2]^2, by quadrature


@generator(ROSASCO + "Table 1.")
def make_radial(
    n_samples: int = 100, n_features: int = 20, *, snr: float = 15.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = r exp(-r) / pi + noise, with r = x1^2 + x2^2 and x uniform on [-2, 2]^d."""
    noise_sd = noise_level(RADIAL_SD, snr)
    return radial_function.on_cube((n_samples, n_features), (-2.0, 2.0), noise_sd, random_state)


product_function = Formula(range(2), lambda X: X[:, 0] * X[:, 1])


@generator(ROSASCO + "Figure 7.")
def make_product(
    n_samples: int = 80, n_features: int = 20, *, snr: float = 3.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = x1 x2 + noise, with x uniform on [-1, 1]^d: no main effect, only an interaction."""
    noise_sd = noise_level(1 / 3, snr)
    return product_function.on_cube((n_samples, n_features), (-1.0, 1.0), noise_sd, random_state)


parabola_function = Formula(range(1), lambda X: np.square(X[:, 0]))


@generator(
    ROSASCO + "Figure 3.",
    noise="Standard deviation of the noise. The paper's text calls 0.1 a variance, its caption "
    "writes N(0, 0.1): ``noise=0.1**0.5`` is the other reading.",
)
def make_parabola(
    n_samples: int = 20, n_features: int = 2, *, noise: float = 0.1, random_state: Seed = None
) -> KnownSupport:
    """Draw y = x1^2 + noise, with x1 uniform on [-1, 1] and the other inputs N(0, 0.05^2)."""
    require_features(n_features, 1)
    rng = random_source(random_state)
    x1 = rng.uniform(-1.0, 1.0, size=(n_samples, 1))
    X = np.hstack([x1, 0.05 * rng.standard_normal(size=(n_samples, n_features - 1))])
    return parabola_function.observed(X, noise, rng)


friedman1_function = Formula(
    range(5),
    lambda X: (
        10 * np.sin(np.pi * X[:, 0] * X[:, 1])
        + 20 * np.square(X[:, 2] - 0.5)
        + 10 * X[:, 3]
        + 5 * X[:, 4]
    ),
)


@generator("J. Friedman. Multivariate adaptive regression splines. Annals of Statistics 19, 1991.")
def make_friedman1(
    n_samples: int = 100, n_features: int = 10, *, noise: float = 1.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + noise, x uniform on [0, 1]^d."""
    return friedman1_function.on_cube((n_samples, n_features), (0.0, 1.0), noise, random_state)


turlach_function = Formula(
    range(5), lambda X: np.square(2 * X[:, 0] - 1) + np.sum(X[:, 1:5], axis=1)
)


@generator(
    YE_XIE + "Section 6.1 and Table 1, after B. Turlach (2004).",
    noise="Standard deviation of the noise; the paper states a variance of 0.05.",
)
def make_turlach(
    n_samples: int = 100,
    n_features: int = 10,
    *,
    noise: float = 0.05**0.5,
    random_state: Seed = None,
) -> KnownSupport:
    """Draw y = (2 x1 - 1)^2 + x2 + x3 + x4 + x5 + noise, with x uniform on [0, 1]^d.

    x1 is uncorrelated with y, which hides it from linear methods.
    """
    return turlach_function.on_cube((n_samples, n_features), (0.0, 1.0), noise, random_state)


# ------------------------------------------------------------------ products of pairs, polynomials


def pair_coefficients(n_relevant: int, coefficients: ArrayLike | None) -> Array:
    """Check the coefficients of the r (r - 1) / 2 pairs of r variables; ones by default."""
    if n_relevant < 2:
        raise ValueError(f"Pairs need n_relevant of at least 2; got {n_relevant}.")
    n_pairs = n_relevant * (n_relevant - 1) // 2
    c = np.ones(n_pairs) if coefficients is None else np.asarray(coefficients, dtype=np.float64)
    if c.shape != (n_pairs,):
        raise ValueError(
            f"`coefficients` needs one number per pair, shape ({n_pairs},) for "
            f"n_relevant={n_relevant}; got shape {c.shape}."
        )
    return c


def pairwise_function(n_relevant: int = 4, coefficients: ArrayLike | None = None) -> Formula:
    """f(x) = sum over i < j <= r of c_ij x_i x_j; variables without a pair are not relevant."""
    c = pair_coefficients(n_relevant, coefficients)
    left, right = np.triu_indices(n_relevant, k=1)
    relevant = np.unique(np.stack([left, right])[:, c != 0])
    return Formula(relevant.tolist(), lambda X: (X[:, left] * X[:, right]) @ c)


@generator(
    ROSASCO
    + "Table 1 and Figures 4 and 5, which scale f for unit noise: divide ``y`` by the noise "
    "level for that.",
    half_width="w. The paper uses 2 against other methods and 1 where n, d and r vary.",
    coefficients="c_12, c_13, ..., c_23, ...; ones by default. Draw them once and give them to "
    "training and test sets alike.",
)
def make_two_way(
    n_samples: int = 100,
    n_features: int = 40,
    *,
    n_relevant: int = 4,
    half_width: float = 2.0,
    coefficients: ArrayLike | None = None,
    snr: float = 15.0,
    random_state: Seed = None,
) -> KnownSupport:
    """Draw y = sum over a < b <= r of c_ab x_a x_b + noise, with x uniform on [-w, w]^d."""
    require_features(n_features, n_relevant)
    c = pair_coefficients(n_relevant, coefficients)
    # Distinct products of independent centred inputs are uncorrelated.
    signal_sd = half_width**2 / 3 * sqrt(float(c @ c))
    shape, ends = (n_samples, n_features), (-half_width, half_width)
    function, noise_sd = pairwise_function(n_relevant, c), noise_level(signal_sd, snr)
    return function.on_cube(shape, ends, noise_sd, random_state)


Monomial = tuple[int, ...]  # its variables, one or two of them, perhaps the same twice
MONOMIALS = [w for k in (1, 2) for w in combinations_with_replacement(range(3), k)]


def quadratic_function(coefficients: dict[Monomial, float]) -> Formula:
    """f(x) = sum of coefficients times monomials of three variables."""

    def rule(X: Array) -> Array:
        terms = [c * np.prod(X[:, list(which)], axis=1) for which, c in coefficients.items()]
        return np.asarray(sum(terms))

    return Formula(range(3), rule)


def quadratic_signal_sd(coefficients: dict[Monomial, float]) -> float:
    """sd(f) for x uniform on [-1, 1]^d: monomials are uncorrelated."""
    variances = {(1, 1): 1 / 3, (2, 1): 4 / 45, (2, 2): 1 / 9}  # by factors and variables
    return sqrt(sum(c**2 * variances[len(w), len(set(w))] for w, c in coefficients.items()))


def draw_quadratic(n_terms: int, rng: RandomSource) -> dict[Monomial, float]:
    """Coefficients from N(0, 1) of monomials that have degree two and all three variables."""
    if not 2 <= n_terms <= len(MONOMIALS):
        raise InvalidParameterError(
            f"n_terms must be between 2 and {len(MONOMIALS)}, the monomials of three variables; "
            f"got {n_terms!r}."
        )
    while True:
        chosen = [MONOMIALS[i] for i in rng.permutation(len(MONOMIALS))[:n_terms]]
        variables = {a for which in chosen for a in which}
        if len(variables) == 3 and any(len(which) == 2 for which in chosen):
            return dict(zip(chosen, rng.standard_normal(size=n_terms).tolist(), strict=True))


@generator(
    ROSASCO + "Figure 8.",
    n_terms="Monomials in the polynomial, 2 to 9. They involve all three variables, and one of "
    "them has degree two.",
    design_state="Source of the polynomial. " + DESIGN,
)
def make_quadratic(
    n_samples: int = 30,
    n_features: int = 10,
    *,
    n_terms: int = 3,
    snr: float = 3.0,
    design_state: Seed = 0,
    random_state: Seed = None,
) -> KnownSupport:
    """Draw y = a random polynomial of degree two in x1, x2, x3 + noise, x uniform on [-1, 1]^d."""
    coefficients = draw_quadratic(n_terms, random_source(design_state))
    noise_sd = noise_level(quadratic_signal_sd(coefficients), snr)
    function = quadratic_function(coefficients)
    return function.on_cube((n_samples, n_features), (-1.0, 1.0), noise_sd, random_state)
