"""Data sets of the papers that nobody draws but these experiments, the benchmarks and tests.

They keep what :mod:`nablasso.datasets` promises of its own: the right answer beside the rows, the
noise level a constant of the population.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import sqrt

import numpy as np

from nablasso.datasets import KnownSupport
from nablasso.datasets.generators import (
    GREGOROVA,
    MARTEAU_FEREY,
    RELEVANT,
    ROSASCO,
    TRIPLES,
    Formula,
    RandomSource,
    Seed,
    add_noise,
    generator,
    noise_level,
    pairwise_function,
    random_source,
    require_features,
    triples,
)
from nablasso.errors import InvalidParameterError
from nablasso.types import Array

DESIGN = "Give training and test sets the same integer."


# ------------------------------------------------------------------ functions of a few columns


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


# ------------------------------------------------------------------ correlated inputs, copies


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


correlated_pairs_function = Formula(
    RELEVANT, lambda X: np.sum(X[:, 0:3], axis=1) ** 3 + np.sum(X[:, 6:9], axis=1) ** 3
)


def pairs_of_columns(n_features: int = 18) -> tuple[tuple[int, int], ...]:
    """Correlated pairs: (x1, x7), (x2, x8), (x3, x9), then the other columns two by two.

    How the irrelevant columns are paired changes only their order.
    """
    others = [a for a in range(n_features) if a not in RELEVANT]
    relevant_pairs = ((0, 6), (1, 7), (2, 8))
    return relevant_pairs + tuple(zip(others[0::2], others[1::2], strict=True))


@generator(
    GREGOROVA + "Experiment E2.",
    n_features="Columns of ``X``, an even number, at least 10.",
)
def make_correlated_pairs(
    n_samples: int = 110, n_features: int = 18, *, noise: float = 0.01, random_state: Seed = None
) -> KnownSupport:
    """Draw y = (x1 + x2 + x3)^3 + (x7 + x8 + x9)^3 + noise, with inputs correlated in pairs.

    The inputs are N(0, 1), the correlation is 0.95; :func:`pairs_of_columns` lists the pairs.
    """
    require_features(n_features, 10)
    if n_features % 2:
        raise ValueError(f"Columns come in pairs; got n_features={n_features}. Use an even number.")
    rng = random_source(random_state)
    X = rng.standard_normal(size=(n_samples, n_features))
    for first, second in pairs_of_columns(n_features):
        X[:, second] = 0.95 * X[:, first] + sqrt(1 - 0.95**2) * X[:, second]
    return correlated_pairs_function.observed(X, noise, rng)


@generator(
    GREGOROVA + "Experiment E3.",
    n_features=TRIPLES,
    copy_noise="Standard deviation of the error of each copy.",
    noise="Standard deviation of the noise of ``y``.",
)
def make_noisy_copies(
    n_samples: int = 110,
    n_features: int = 18,
    *,
    copy_noise: float = 0.1,
    noise: float = 0.01,
    random_state: Seed = None,
) -> KnownSupport:
    """Draw y = 10 r exp(-2 r) + noise, with r = z1^2 + z3^2 and three noisy copies of each z in X.

    The latent z are independent N(0, 1) and unobserved; columns 1 to 3 of ``X`` measure z1,
    columns 4 to 6 measure z2, and so on: these are the ``groups``. ``noise_free`` is the function
    of z: no function of ``X`` attains it, and the support holds the columns that measure z1 and z3.
    """
    groups = triples(n_features)
    rng = random_source(random_state)
    Z = rng.standard_normal(size=(n_samples, n_features // 3))
    X = np.repeat(Z, 3, axis=1)
    X += copy_noise * rng.standard_normal(size=X.shape)
    r = np.square(Z[:, 0]) + np.square(Z[:, 2])
    return add_noise(X, 10 * r * np.exp(-2 * r), RELEVANT, noise, rng, groups=groups)


# ------------------------------------------------------------------ noise that depends on x


def bow_tie_deviation(x: Array) -> Array:
    """``1/3 - x``, then ``x - 2/3``, zero between."""
    return np.maximum(0.0, np.maximum(1 / 3 - x, x - 2 / 3))


@generator(MARTEAU_FEREY + "Multiple quantile regression.")
def make_bow_tie(n_samples: int = 500, *, random_state: Seed = None) -> KnownSupport:
    """Draw y ~ N(0, s(x)^2), with x uniform on [0, 1/3] and [2/3, 1] and s going to 0 between.

    Only the spread of y depends on x: ``support`` is True, ``noise_free`` is zero, and
    ``noise_sd`` has one number per row: 1/3 - x, then x - 2/3.
    """
    rng = random_source(random_state)
    x: Array = rng.uniform(0.0, 1.0, size=n_samples) / 3
    x = np.where(rng.uniform(0.0, 1.0, size=n_samples) < 0.5, x, x + 2 / 3)
    zero = np.zeros(n_samples)
    return add_noise(x[:, None], zero, (0,), bow_tie_deviation(x), rng, gradient=zero[:, None])
