"""A generated greenhouse table with readable columns, for examples and first steps."""

from __future__ import annotations

import numpy as np

from nablasso.datasets.known_support import KnownSupport, add_noise, partial_derivatives
from nablasso.datasets.random_source import RandomSource, RandomStateLike, resolve_random_source
from nablasso.types import Array

DEMO_COLUMNS = (
    "humidity_percent",
    "temperature_celsius",
    "outside_temperature_celsius",
    "light_mol_m2_day",
    "co2_sensor_millivolt",
    "water_l_m2_day",
    "bench_distance_m",
    "nutrient_ms_cm",
    "air_pressure_hpa",
    "door_openings_per_day",
    "wifi_signal_dbm",
    "sensor_id_noise",
)
_TEMPERATURE, _LIGHT, _WATER, _NUTRIENT = (
    DEMO_COLUMNS.index(name)
    for name in ("temperature_celsius", "light_mol_m2_day", "water_l_m2_day", "nutrient_ms_cm")
)


def demo_function(X: Array) -> Array:  # (n_samples, 12) -> (n_samples,)
    """f(x) = 20 - 0.12 (temperature - 22)^2 + 0.1 light (water - 2.5) + 2 nutrient."""
    curved = -0.12 * np.square(X[:, _TEMPERATURE] - 22)
    interaction = 0.1 * X[:, _LIGHT] * (X[:, _WATER] - 2.5)
    values: Array = 20 + curved + interaction + 2 * X[:, _NUTRIENT]
    return values


def demo_gradient(X: Array) -> Array:  # (n_samples, 12) -> (n_samples, 12)
    """-0.24 (temperature - 22), 0.1 (water - 2.5), 0.1 light and 2, in their columns."""
    slopes = (
        -0.24 * (X[:, _TEMPERATURE] - 22),
        0.1 * (X[:, _WATER] - 2.5),
        0.1 * X[:, _LIGHT],
        np.full(len(X), 2.0),
    )
    relevant = (_TEMPERATURE, _LIGHT, _WATER, _NUTRIENT)
    return partial_derivatives(X, relevant, np.column_stack(slopes))


def make_demo(n_samples: int = 200, random_state: RandomStateLike = 0) -> KnownSupport:
    """Draw y = 20 - 0.12 (temperature - 22)^2 + 0.1 light (water - 2.5) + 2 nutrient + noise.

    The yield of a greenhouse crop in kg per square metre, with N(0, 1) noise and twelve recorded
    columns of which four matter. Temperature has an optimum (a curve without a slope on
    average), light and water interact, nutrient is linear. The other eight are irrelevant, among
    them the outside temperature, whose correlation with the relevant one is about 0.5. Nothing
    here was measured.

    Parameters
    ----------
    n_samples : int, default=200
        Number of rows.
    random_state : int, RandomState, Generator or None, default=0
        Source of the rows and of the noise; the default gives everybody the same table.

    Returns
    -------
    KnownSupport
        ``feature_names`` are the columns with their units, ``support`` the right answer.
    """
    rng = resolve_random_source(random_state)
    columns = _relevant_columns(rng, n_samples)
    columns |= _irrelevant_columns(rng, n_samples, columns["temperature_celsius"])
    X = np.column_stack([columns[name] for name in DEMO_COLUMNS])
    relevant = (_TEMPERATURE, _LIGHT, _WATER, _NUTRIENT)
    return add_noise(
        X,
        demo_function(X),
        relevant,
        1.0,
        rng,
        gradient=demo_gradient(X),
        feature_names=DEMO_COLUMNS,
    )


def _relevant_columns(rng: RandomSource, n: int) -> dict[str, Array]:
    """Climate and feeding settings, spread evenly over what a grower would try."""
    return {
        "temperature_celsius": rng.uniform(14.0, 30.0, size=n),
        "light_mol_m2_day": rng.uniform(5.0, 35.0, size=n),
        "water_l_m2_day": rng.uniform(1.0, 7.0, size=n),
        "nutrient_ms_cm": rng.uniform(1.0, 4.0, size=n),
    }


def _irrelevant_columns(rng: RandomSource, n: int, temperature: Array) -> dict[str, Array]:
    """Give records without influence on the yield, on scales from 0.01 to 1000."""
    return {
        "humidity_percent": rng.uniform(50.0, 90.0, size=n),
        "outside_temperature_celsius": 12 + 0.4 * (temperature - 22) + rng.normal(0, 3, size=n),
        "co2_sensor_millivolt": rng.normal(850.0, 120.0, size=n),
        "bench_distance_m": rng.uniform(0.0, 40.0, size=n),
        "air_pressure_hpa": rng.normal(1013.0, 8.0, size=n),
        "door_openings_per_day": np.asarray(rng.poisson(25.0, size=n), dtype=np.float64),
        "wifi_signal_dbm": rng.normal(-60.0, 7.0, size=n),
        "sensor_id_noise": 0.01 * rng.standard_normal(size=n),
    }
