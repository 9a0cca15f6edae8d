"""Smooth functions of a few columns: inputs, function with gradient and support, source of each.

The noise level is a constant of the population: two draws differ in their rows only.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from nablasso.datasets.known_support import (
    Formula,
    KnownSupport,
    RandomSource,
    Seed,
    generator,
    noise_level,
    random_source,
    require_features,
)
from nablasso.errors import InvalidParameterError
from nablasso.types import Array

ROSASCO = "L. Rosasco et al. Nonparametric sparsity and regularization. JMLR 14, 2013. "
YE_XIE = (
    "G.-B. Ye and X. Xie. Learning sparse gradients for variable selection and dimension "
    "reduction. Machine Learning, 2012. "
)
DESIGN = "Give training and test sets the same integer."


def _even_moment(half_width: float, power: int) -> float:
    """E x^power = w^power / (power + 1) for x uniform on [-w, w] and an even power."""
    return half_width**power / (power + 1)


# ------------------------------------------------------------------ smooth, uniform inputs


def _additive(X: Array) -> tuple[Array, Array]:
    return np.sum(np.square(X[:, :4]), axis=1), 2 * X[:, :4]


additive_function = Formula(range(4), _additive)


@generator(ROSASCO + "Table 1.")
def make_additive(
    n_samples: int = 100, n_features: int = 40, *, snr: float = 15.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = x1^2 + x2^2 + x3^2 + x4^2 + noise, with x uniform on [-2, 2]^d."""
    noise_sd = noise_level(sqrt(4 * (_even_moment(2.0, 4) - _even_moment(2.0, 2) ** 2)), snr)
    return additive_function.on_cube((n_samples, n_features), (-2.0, 2.0), noise_sd, random_state)


def _three_way(X: Array) -> tuple[Array, Array]:
    x1, x2, x3 = X[:, :3].T
    others = np.column_stack([x2 * x3, x1 * x3, x1 * x2])
    return np.square(x1 * x2 * x3), 2 * X[:, :3] * others**2


three_way_function = Formula(range(3), _three_way)


@generator(ROSASCO + "Table 1.")
def make_three_way(
    n_samples: int = 100, n_features: int = 40, *, snr: float = 15.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = (x1 x2 x3)^2 + noise, with x uniform on [-2, 2]^d."""
    noise_sd = noise_level(sqrt(_even_moment(2.0, 4) ** 3 - _even_moment(2.0, 2) ** 6), snr)
    return three_way_function.on_cube((n_samples, n_features), (-2.0, 2.0), noise_sd, random_state)


def _radial(X: Array) -> tuple[Array, Array]:
    r = np.square(X[:, 0]) + np.square(X[:, 1])
    slopes = 2 * X[:, :2] * ((1 - r) * np.exp(-r) / np.pi)[:, None]
    return r * np.exp(-r) / np.pi, slopes


radial_function = Formula(range(2), _radial)


@cache
def radial_signal_sd(half_width: float = 2.0) -> float:
    """sd(f) of :data:`radial_function` over the square, by Gauss-Legendre quadrature.

    64 nodes per axis reach rounding error: the integrand is entire.
    """
    nodes, weights = np.polynomial.legendre.leggauss(64)
    grid = half_width * np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    probability = np.outer(weights, weights).ravel() / 4
    values = radial_function(grid)
    mean = float(probability @ values)
    return sqrt(float(probability @ np.square(values - mean)))


@generator(ROSASCO + "Table 1.")
def make_radial(
    n_samples: int = 100, n_features: int = 20, *, snr: float = 15.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = r exp(-r) / pi + noise, with r = x1^2 + x2^2 and x uniform on [-2, 2]^d."""
    noise_sd = noise_level(radial_signal_sd(), snr)
    return radial_function.on_cube((n_samples, n_features), (-2.0, 2.0), noise_sd, random_state)


product_function = Formula(range(2), lambda X: (X[:, 0] * X[:, 1], X[:, 1::-1]))


@generator(ROSASCO + "Figure 7.")
def make_product(
    n_samples: int = 80, n_features: int = 20, *, snr: float = 3.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = x1 x2 + noise, with x uniform on [-1, 1]^d: no main effect, only an interaction."""
    noise_sd = noise_level(_even_moment(1.0, 2), snr)
    return product_function.on_cube((n_samples, n_features), (-1.0, 1.0), noise_sd, random_state)


parabola_function = Formula(range(1), lambda X: (np.square(X[:, 0]), 2 * X[:, :1]))


@generator(
    ROSASCO + "Figure 3.",
    spread="Standard deviation of x2, ..., xd, which are normal around 0.",
    noise="Standard deviation of the noise. The paper's text calls 0.1 a variance, its caption "
    "writes N(0, 0.1): ``noise=0.1**0.5`` is the other reading.",
)
def make_parabola(
    n_samples: int = 20,
    n_features: int = 2,
    *,
    spread: float = 0.05,
    noise: float = 0.1,
    random_state: Seed = None,
) -> KnownSupport:
    """Draw y = x1^2 + noise, with x1 uniform on [-1, 1] and the other inputs nearly constant."""
    require_features(n_features, 1)
    rng = random_source(random_state)
    x1 = rng.uniform(-1.0, 1.0, size=(n_samples, 1))
    X = np.hstack([x1, spread * rng.standard_normal(size=(n_samples, n_features - 1))])
    return parabola_function.observed(X, noise, rng)


def _friedman1(X: Array) -> tuple[Array, Array]:
    x1, x2, x3, x4, x5 = X[:, :5].T
    values = 10 * np.sin(np.pi * x1 * x2) + 20 * np.square(x3 - 0.5) + 10 * x4 + 5 * x5
    wave, one = 10 * np.pi * np.cos(np.pi * x1 * x2), np.ones(len(X))
    return values, np.column_stack([wave * x2, wave * x1, 40 * (x3 - 0.5), 10 * one, 5 * one])


friedman1_function = Formula(range(5), _friedman1)


@generator("J. Friedman. Multivariate adaptive regression splines. Annals of Statistics 19, 1991.")
def make_friedman1(
    n_samples: int = 100, n_features: int = 10, *, noise: float = 1.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = 10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5 + noise, x uniform on [0, 1]^d."""
    return friedman1_function.on_cube((n_samples, n_features), (0.0, 1.0), noise, random_state)


def _turlach(X: Array) -> tuple[Array, Array]:
    slopes = np.ones((len(X), 5))
    slopes[:, 0] = 4 * (2 * X[:, 0] - 1)
    return np.square(2 * X[:, 0] - 1) + np.sum(X[:, 1:5], axis=1), slopes


turlach_function = Formula(range(5), _turlach)


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
    """Check the coefficients of the r (r - 1) / 2 pairs of r variables; ones by default.

    Raises
    ------
    ValueError
        If there are fewer than two variables, or not one coefficient per pair.
    """
    if n_relevant < 2:
        raise ValueError(f"Pairs need n_relevant of at least 2; got {n_relevant}.")
    n_pairs = n_relevant * (n_relevant - 1) // 2
    if coefficients is None:
        return np.ones(n_pairs)
    c = np.asarray(coefficients, dtype=np.float64)
    if c.shape != (n_pairs,):
        raise ValueError(
            f"`coefficients` needs one number per pair, shape ({n_pairs},) for "
            f"n_relevant={n_relevant}; got shape {c.shape}."
        )
    return c


def pairwise_function(n_relevant: int = 4, coefficients: ArrayLike | None = None) -> Formula:
    """f(x) = sum over i < j <= r of c_ij x_i x_j, with r = ``n_relevant``.

    ``coefficients`` lists c_12, c_13, ..., c_23, ...; all are 1 by default. Variables without a
    pair are not relevant.
    """
    c = pair_coefficients(n_relevant, coefficients)
    left, right = np.triu_indices(n_relevant, k=1)
    C = np.zeros((n_relevant, n_relevant))
    C[left, right] = c
    relevant = np.unique(np.stack([left, right])[:, c != 0])

    def rule(X: Array) -> tuple[Array, Array]:
        values = (X[:, left] * X[:, right]) @ c
        return values, (X[:, :n_relevant] @ (C + C.T))[:, relevant]

    return Formula([int(a) for a in relevant], rule)


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
    signal_sd = _even_moment(half_width, 2) * sqrt(float(c @ c))
    shape, ends = (n_samples, n_features), (-half_width, half_width)
    function, noise_sd = pairwise_function(n_relevant, c), noise_level(signal_sd, snr)
    return function.on_cube(shape, ends, noise_sd, random_state)


def wishart_correlation(n_features: int, random_state: Seed = None) -> Array:
    """C = S / sqrt(diag S diag S'), with S Wishart of dimension p and 2 p degrees of freedom."""
    rng = random_source(random_state)
    G = rng.standard_normal(size=(2 * n_features, n_features))
    S = G.T @ G
    scale = np.sqrt(np.diag(S))
    return np.asarray(S / np.outer(scale, scale))


def pairwise_signal_sd(
    correlation: Array,  # (n_features, n_features)
    n_relevant: int = 4,
) -> float:
    """sd(x'Ax) = sqrt(2 tr(A C A C)) for x ~ N(0, C), where x'Ax is the sum of the pairs."""
    A = (np.ones((n_relevant, n_relevant)) - np.eye(n_relevant)) / 2
    AC = A @ correlation[:n_relevant, :n_relevant]
    return sqrt(2 * float(np.trace(AC @ AC)))


@generator(
    "F. Bach. High-dimensional non-linear variable selection through hierarchical kernel learning. "
    "2009. Section 6.2 and Figure 8. The paper does not state its signal-to-noise ratio.",
    snr="sd(f) / sd(noise), with sd(f) the population value under C.",
    design_state="Source of C. " + DESIGN + " They then share the distribution of the inputs and "
    "the noise level.",
)
def make_pairwise(
    n_samples: int = 100,
    n_features: int = 16,
    *,
    n_relevant: int = 4,
    snr: float = 3.0,
    design_state: Seed = 0,
    random_state: Seed = None,
) -> KnownSupport:
    """Draw y = sum over i < j <= r of x_i x_j + noise, with x ~ N(0, C).

    The correlation matrix C is a Wishart matrix (2 p degrees of freedom) scaled to unit diagonal.
    """
    require_features(n_features, n_relevant)
    correlation = wishart_correlation(n_features, design_state)
    rng = random_source(random_state)
    Z = rng.standard_normal(size=(n_samples, n_features))
    X = Z @ np.linalg.cholesky(correlation).T
    noise_sd = noise_level(pairwise_signal_sd(correlation, n_relevant), snr)
    return pairwise_function(n_relevant).observed(X, noise_sd, rng)


Monomial = tuple[int, ...]  # its variables, one or two of them, perhaps the same twice
LINEAR: tuple[Monomial, ...] = ((0,), (1,), (2,))
MONOMIALS = (*LINEAR, *combinations_with_replacement(range(3), 2))  # of three variables


def quadratic_function(coefficients: dict[Monomial, float]) -> Formula:
    """f(x) = sum of coefficients times monomials of three variables."""

    def monomial(X: Array, which: Monomial) -> Array:
        return np.asarray(np.prod(X[:, list(which)], axis=1))

    def rule(X: Array) -> tuple[Array, Array]:
        values = sum(c * monomial(X, which) for which, c in coefficients.items())
        slopes = np.zeros((len(X), 3))
        for which, c in coefficients.items():
            for place, a in enumerate(which):  # the monomial without one of its factors
                slopes[:, a] += c * monomial(X, which[:place] + which[place + 1 :])
        return np.asarray(values), slopes

    return Formula(range(3), rule)


def quadratic_signal_sd(coefficients: dict[Monomial, float]) -> float:
    """sd(f) for x uniform on [-1, 1]^d: monomials are uncorrelated.

    Their variances are 1/3 (linear), 4/45 (square) and 1/9 (product of two variables).
    """
    variance = {1: 1 / 3, 2: 1 / 9}
    total = sum(
        c**2 * (4 / 45 if which == (which[0],) * 2 else variance[len(which)])
        for which, c in coefficients.items()
    )
    return sqrt(total)


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
