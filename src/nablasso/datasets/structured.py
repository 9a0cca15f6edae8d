"""Inputs or noise with a structure: groups, copies, rings, uneven noise, modes, a greenhouse."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from nablasso.datasets.generators import (
    DESIGN,
    YE_XIE,
    Formula,
    Groups,
    KnownSupport,
    RandomSource,
    Seed,
    add_noise,
    generator,
    noise_level,
    pairwise_function,
    random_source,
    require_features,
)
from nablasso.types import Array

GREGOROVA = (
    "M. Gregorova, A. Kalousis, S. Marchand-Maillet. Structured nonlinear variable selection. UAI "
    "2018. "
)
MARTEAU_FEREY = (
    "U. Marteau-Ferey, F. Bach, A. Rudi. Non-parametric models for non-negative functions. NeurIPS "
    "2020. "
)
RELEVANT = (0, 1, 2, 6, 7, 8)
TRIPLES = "Columns of ``X``, a multiple of 3, at least 9."


# ------------------------------------------------------------------ correlations, groups, copies


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


def _cubic_groups(X: Array) -> Array:
    """By Newton's identity: the ten monomials of a group add up to (p1^3 + 3 p1 p2 + 2 p3) / 6.

    ``p_m`` is the power sum of the x_a^m.
    """
    powers = ([np.sum(X[:, a : a + 3] ** m, axis=1) for m in (1, 2, 3)] for a in (0, 6))
    return np.asarray(sum((p1**3 + 3 * p1 * p2 + 2 * p3) / 6 for p1, p2, p3 in powers))


cubic_groups_function = Formula(RELEVANT, _cubic_groups)


@generator(GREGOROVA + "Experiment E1.", n_features=TRIPLES)
def make_cubic_groups(
    n_samples: int = 110, n_features: int = 18, *, noise: float = 0.01, random_state: Seed = None
) -> KnownSupport:
    """Draw y = sum_{i<=j<=k in 1..3} x_i x_j x_k + sum_{i<=j<=k in 7..9} x_i x_j x_k + noise.

    The inputs are independent N(0, 1), in ``groups`` of three; the first and third group matter.
    """
    groups = _triples(n_features)
    rng = random_source(random_state)
    X = rng.standard_normal(size=(n_samples, n_features))
    return cubic_groups_function.observed(X, noise, rng, groups=groups)


def _triples(n_features: int) -> Groups:
    """Partition of the columns into consecutive groups of three."""
    require_features(n_features, 9)
    if n_features % 3:
        raise ValueError(
            f"Columns come in groups of three; got n_features={n_features}. Use a multiple of 3."
        )
    return tuple((a, a + 1, a + 2) for a in range(0, n_features, 3))


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
    groups = _triples(n_features)
    rng = random_source(random_state)
    Z = rng.standard_normal(size=(n_samples, n_features // 3))
    X = np.repeat(Z, 3, axis=1)
    X += copy_noise * rng.standard_normal(size=X.shape)
    r = np.square(Z[:, 0]) + np.square(Z[:, 2])
    return add_noise(X, 10 * r * np.exp(-2 * r), RELEVANT, noise, rng, groups=groups)


# ------------------------------------------------------------------ classes


@generator(
    YE_XIE + "Section 6.2, Figures 2 and 3.",
    spread="Standard deviation of x3, ..., xd; the paper varies it from 0.1 to 3.",
    random_state="Source of the rows.",
)
def make_rings(
    n_samples: int = 40, n_features: int = 200, *, spread: float = 1.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = 1 on the ring of radius 3 in (x1, x2), y = 0 on the ring of radius 7.5.

    Half of the rows, in random order, lie on each ring, uniformly; an odd row goes to the outer
    one. The other inputs are N(0, spread^2). There is no noise: ``noise_free`` equals ``y``.
    """
    require_features(n_features, 2)
    rng = random_source(random_state)
    inner = rng.permutation(n_samples) < n_samples // 2
    radius = np.where(inner, 3.0, 7.5)
    angle = rng.uniform(0.0, 2 * np.pi, size=n_samples)
    plane = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    X = np.hstack([plane, spread * rng.standard_normal(size=(n_samples, n_features - 2))])
    return add_noise(X, inner.astype(np.float64), range(2), 0.0, rng)


# ------------------------------------------------------------------ noise that depends on x


wavy_function = Formula(
    [0], lambda X: 2 * (np.exp(-30 * (X[:, 0] - 0.25) ** 2) + np.sin(np.pi * X[:, 0] ** 2))
)


def wavy_deviation(x: Array) -> Array:
    """``exp(sin(2 pi x) / 2)``."""
    return np.asarray(np.exp(np.sin(2 * np.pi * x) / 2))


@generator(
    "Q. Le, A. Smola, S. Canu. Heteroscedastic Gaussian process regression. ICML 2005, section 5. "
    + MARTEAU_FEREY
    + "Heteroscedastic regression.",
    random_state="Source of the noise; the points are always the same.",
)
def make_wavy_noise(n_samples: int = 80, *, random_state: Seed = None) -> KnownSupport:
    """Draw y ~ N(m(x), s(x)^2) at points evenly on [0, 1]; ``noise_sd`` has one number per row.

    ``m(x) = 2 (exp(-30 (x - 1/4)^2) + sin(pi x^2))`` and ``s(x) = exp(sin(2 pi x) / 2)``.
    """
    rng = random_source(random_state)
    x = np.linspace(0.0, 1.0, n_samples)
    return wavy_function.observed(x[:, None], wavy_deviation(x), rng)


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


# ------------------------------------------------------------------ functions that are not negative


@dataclass(frozen=True, eq=False)
class KnownDensity:
    """Draws ``X`` (n_samples, n_features) of a density, and its logarithm at them (n_samples,)."""

    X: Array
    log_density: Array


def two_modes_log_density(
    X: Array,  # (n_samples, n_features)
    *,
    mode: float = 1.0,
    deviation: float = 0.3,
) -> Array:  # (n_samples,)
    """Logarithm of ``N(-mode e1, deviation^2 I) / 2 + N(mode e1, deviation^2 I) / 2``."""
    near, far = (np.sum(X[:, 1:] ** 2, axis=1) + (X[:, 0] - s * mode) ** 2 for s in (-1.0, 1.0))
    logs = np.logaddexp(-near / (2 * deviation**2), -far / (2 * deviation**2))
    return np.asarray(logs - np.log(2) - X.shape[1] * np.log(np.sqrt(2 * np.pi) * deviation))


@generator(
    MARTEAU_FEREY + "As the authors' own code draws it: the numbers behind N are standard "
    "deviations.",
    n_features="Columns of ``X``.",
    mode="Distance of either centre from zero, along the first column.",
    deviation="Standard deviation of every column around its centre.",
    random_state="Source of the rows.",
)
def make_two_modes(
    n_samples: int = 80,
    n_features: int = 1,
    *,
    mode: float = 1.0,
    deviation: float = 0.3,
    random_state: Seed = None,
) -> KnownDensity:
    """Draw half from N(-mode e1, deviation^2 I) and half from N(mode e1, deviation^2 I).

    The paper's density in one variable by default; that in ten has ``n_samples=1000,
    n_features=10, mode=2`` and ``deviation=1 / sqrt(2 pi)``. Both are learned with respect to the
    base measure N(0, 5^2 I).
    """
    require_features(n_features, 1)
    rng = random_source(random_state)
    X = deviation * np.asarray(rng.standard_normal(size=(n_samples, n_features)))
    X[:, 0] += np.where(rng.uniform(0.0, 1.0, size=n_samples) < 0.5, -mode, mode)
    return KnownDensity(X, two_modes_log_density(X, mode=mode, deviation=deviation))


bell_function = Formula([0], lambda X: np.exp(-(X[:, 0] ** 2) / 2))


@generator(MARTEAU_FEREY + "Figure 2.", random_state="Source of the rows.")
def make_bell(n_samples: int = 100, *, random_state: Seed = None) -> KnownSupport:
    """Draw y = exp(-x^2 / 2) without noise, with x uniform on [-5, 5].

    A mixture of bumps with coefficients that are not negative is never narrower than the bump: with
    a wider kernel (1.41 in the authors' code) it can not approximate this function.
    """
    rng = random_source(random_state)
    X = np.asarray(rng.uniform(-5.0, 5.0, size=(n_samples, 1)))
    return bell_function.observed(X, 0.0, rng)


# ------------------------------------------------------------------ a greenhouse

DEMO_COLUMNS = (
    *("humidity_percent", "temperature_celsius", "outside_temperature_celsius"),
    *("light_mol_m2_day", "co2_sensor_millivolt", "water_l_m2_day", "bench_distance_m"),
    *("nutrient_ms_cm", "air_pressure_hpa", "door_openings_per_day", "wifi_signal_dbm"),
    "sensor_id_noise",
)
DEMO_RELEVANT = (1, 3, 5, 7)  # temperature, light, water, nutrient


def _crop(X: Array) -> Array:
    temperature, light, water, nutrient = X[:, DEMO_RELEVANT].T
    values = 20 - 0.12 * np.square(temperature - 22) + 0.1 * light * (water - 2.5) + 2 * nutrient
    return np.asarray(values)


demo_function = Formula(DEMO_RELEVANT, _crop)


@generator(
    random_state="Source of the rows and of the noise; the default gives everybody the same table."
)
def make_demo(n_samples: int = 200, random_state: Seed = 0) -> KnownSupport:
    """Draw y = 20 - 0.12 (temperature - 22)^2 + 0.1 light (water - 2.5) + 2 nutrient + noise.

    The yield of a greenhouse crop in kg per square metre, with N(0, 1) noise and twelve recorded
    columns of which four matter. Temperature has an optimum (a curve without a slope on
    average), light and water interact, nutrient is linear. The other eight are irrelevant, among
    them the outside temperature, whose correlation with the relevant one is about 0.5. Nothing
    here was measured. ``feature_names`` are the columns with their units.
    """
    rng = random_source(random_state)
    columns = _greenhouse(rng, n_samples)
    X = np.column_stack([columns[name] for name in DEMO_COLUMNS])
    return demo_function.observed(X, 1.0, rng, feature_names=DEMO_COLUMNS)


def _greenhouse(rng: RandomSource, n: int) -> dict[str, Array]:
    """Settings spread evenly over what a grower would try; records on scales from 0.01 to 1000."""
    temperature = rng.uniform(14.0, 30.0, size=n)
    return {
        "temperature_celsius": temperature,
        "light_mol_m2_day": rng.uniform(5.0, 35.0, size=n),
        "water_l_m2_day": rng.uniform(1.0, 7.0, size=n),
        "nutrient_ms_cm": rng.uniform(1.0, 4.0, size=n),
        "humidity_percent": rng.uniform(50.0, 90.0, size=n),
        "outside_temperature_celsius": 12 + 0.4 * (temperature - 22) + rng.normal(0, 3, size=n),
        "co2_sensor_millivolt": rng.normal(850.0, 120.0, size=n),
        "bench_distance_m": rng.uniform(0.0, 40.0, size=n),
        "air_pressure_hpa": rng.normal(1013.0, 8.0, size=n),
        "door_openings_per_day": np.asarray(rng.poisson(25.0, size=n), dtype=np.float64),
        "wifi_signal_dbm": rng.normal(-60.0, 7.0, size=n),
        "sensor_id_noise": 0.01 * rng.standard_normal(size=n),
    }
