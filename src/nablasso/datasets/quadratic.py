"""Random polynomials of degree two in three variables (Rosasco et al. 2013, figure 8)."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import sqrt

import numpy as np

from nablasso.datasets.known_support import (
    KnownSupport,
    add_noise,
    noise_level,
    partial_derivatives,
    require_features,
)
from nablasso.datasets.random_source import RandomSource, RandomStateLike, resolve_random_source
from nablasso.errors import InvalidParameterError
from nablasso.types import Array

Monomial = tuple[int, ...]  # its variables, one or two of them, perhaps the same twice

N_RELEVANT = 3
LINEAR: tuple[Monomial, ...] = tuple((a,) for a in range(N_RELEVANT))
SQUARE: tuple[Monomial, ...] = tuple(combinations_with_replacement(range(N_RELEVANT), 2))
MONOMIALS = (*LINEAR, *SQUARE)  # nine of the 66 features that ten variables have


def monomial(X: Array, which: Monomial) -> Array:  # (n_samples, n_features) -> (n_samples,)
    """The product of some columns."""
    return np.asarray(np.prod(X[:, list(which)], axis=1))


def quadratic_function(X: Array, coefficients: dict[Monomial, float]) -> Array:
    """f(x) = sum of coefficients times monomials."""
    return np.asarray(sum(c * monomial(X, which) for which, c in coefficients.items()))


def quadratic_gradient(X: Array, coefficients: dict[Monomial, float]) -> Array:
    """Each monomial without one of its factors, in that factor's column."""
    slopes = np.zeros((len(X), N_RELEVANT))
    for which, c in coefficients.items():
        for place, a in enumerate(which):
            slopes[:, a] += c * monomial(X, which[:place] + which[place + 1 :])
    return partial_derivatives(X, range(N_RELEVANT), slopes)


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
        if len(variables) == N_RELEVANT and any(len(which) == 2 for which in chosen):
            return dict(zip(chosen, rng.standard_normal(size=n_terms).tolist(), strict=True))


def make_quadratic(
    n_samples: int = 30,
    n_features: int = 10,
    *,
    n_terms: int = 3,
    snr: float = 3.0,
    design_state: RandomStateLike = 0,
    random_state: RandomStateLike = None,
) -> KnownSupport:
    """Draw y = a random polynomial of degree two in x1, x2, x3 + noise, x uniform on [-1, 1]^d.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of ``X``; at least 3 columns.
    n_terms : int, default=3
        Monomials in the polynomial, 2 to 9. They involve all three variables, and one of them has
        degree two.
    snr : float, default=3.0
        sd(f) / sd(noise), with sd(f) the population value.
    design_state : int, RandomState, Generator or None, default=0
        Source of the polynomial. Give training and test sets the same integer.
    random_state : int, RandomState, Generator or None
        Source of the rows and of the noise.

    Returns
    -------
    KnownSupport

    References
    ----------
    L. Rosasco et al. Nonparametric sparsity and regularization. JMLR 14, 2013. Figure 8.
    """
    require_features(n_features, N_RELEVANT)
    coefficients = draw_quadratic(n_terms, resolve_random_source(design_state))
    rng = resolve_random_source(random_state)
    X: Array = rng.uniform(-1.0, 1.0, size=(n_samples, n_features))
    noise_sd = noise_level(quadratic_signal_sd(coefficients), snr)
    values, gradient = quadratic_function(X, coefficients), quadratic_gradient(X, coefficients)
    return add_noise(X, values, range(N_RELEVANT), noise_sd, rng, gradient=gradient)
