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
from math import sqrt
from textwrap import fill
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

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
GREGOROVA = (
    "M. Gregorova, A. Kalousis, S. Marchand-Maillet. Structured nonlinear variable selection. UAI "
    "2018. "
)
MARTEAU_FEREY = (
    "U. Marteau-Ferey, F. Bach, A. Rudi. Non-parametric models for non-negative functions. NeurIPS "
    "2020. "
)
STEP = 1e-30  # of complex steps: its square is nothing beside any number
TRIPLES = "Columns of ``X``, a multiple of 3, at least 9."
RELEVANT = (0, 1, 2, 6, 7, 8)  # of triples


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


product_function = Formula(range(2), lambda X: X[:, 0] * X[:, 1])


@generator(ROSASCO + "Figure 7.")
def make_product(
    n_samples: int = 80, n_features: int = 20, *, snr: float = 3.0, random_state: Seed = None
) -> KnownSupport:
    """Draw y = x1 x2 + noise, with x uniform on [-1, 1]^d: no main effect, only an interaction."""
    noise_sd = noise_level(1 / 3, snr)
    return product_function.on_cube((n_samples, n_features), (-1.0, 1.0), noise_sd, random_state)


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


# ------------------------------------------------------------------ products of pairs


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


# ------------------------------------------------------------------ groups


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
    groups = triples(n_features)
    rng = random_source(random_state)
    X = rng.standard_normal(size=(n_samples, n_features))
    return cubic_groups_function.observed(X, noise, rng, groups=groups)


def triples(n_features: int) -> Groups:
    """Partition of the columns into consecutive groups of three."""
    require_features(n_features, 9)
    if n_features % 3:
        raise ValueError(
            f"Columns come in groups of three; got n_features={n_features}. Use a multiple of 3."
        )
    return tuple((a, a + 1, a + 2) for a in range(0, n_features, 3))


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


# ------------------------------------------------------------------ uneven noise; not negative


wavy_function = Formula(
    [0], lambda X: 2 * (np.exp(-30 * (X[:, 0] - 0.25) ** 2) + np.sin(np.pi * X[:, 0] ** 2))
)
wavy_deviation = Formula([0], lambda X: np.exp(np.sin(2 * np.pi * X[:, 0]) / 2))


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
    X = np.linspace(0.0, 1.0, n_samples)[:, None]
    return wavy_function.observed(X, wavy_deviation(X), random_source(random_state))


bell_function = Formula([0], lambda X: np.exp(-(X[:, 0] ** 2) / 2))


@generator(MARTEAU_FEREY + "Figure 2.", random_state="Source of the rows.")
def make_bell(n_samples: int = 100, *, random_state: Seed = None) -> KnownSupport:
    """Draw y = exp(-x^2 / 2) without noise, with x uniform on [-5, 5].

    A mixture of bumps with coefficients that are not negative is never narrower than the bump: with
    a wider kernel (1.41 in the authors' code) it can not approximate this function.
    """
    return bell_function.on_cube((n_samples, 1), (-5.0, 5.0), 0.0, random_state)


@dataclass(frozen=True, eq=False)
class KnownDensity:
    """Draws ``X`` (n_samples, n_features) of a density, and its logarithm at them (n_samples,)."""

    X: Array
    log_density: Array


def two_modes_log_density(X: Array, *, mode: float = 1.0, deviation: float = 0.3) -> Array:
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
