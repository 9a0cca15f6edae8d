"""One function per real table; see :mod:`nablasso.datasets.real` for where they come from."""

from __future__ import annotations

from typing import Literal

from nablasso.datasets.real import RealTable, load_table
from nablasso.errors import InvalidParameterError

PUMADYN = ("8fh", "8fm", "8nh", "32fh", "32fm", "32nh")


def load_airfoil() -> RealTable:
    """NASA airfoil self-noise: sound pressure from 5 settings, 1503 rows."""
    return load_table("airfoil")


def load_bike_hour() -> RealTable:
    """Bicycles rented per hour from 12 inputs, 17379 rows."""
    return load_table("bike_hour")


def load_boston() -> RealTable:
    """Boston housing: 13 inputs, 506 rows. Column ``B`` encodes a contested assumption on race."""
    return load_table("boston")


def load_california() -> RealTable:
    """California housing: 8 inputs, 20640 rows."""
    return load_table("california")


def load_concrete() -> RealTable:
    """Strength of concrete from 8 inputs, 1030 rows."""
    return load_table("concrete")


def load_cpu_act() -> RealTable:
    """Activity of a computer: 21 inputs, 8192 rows."""
    return load_table("cpu_act")


def load_delta_ailerons() -> RealTable:
    """Ailerons of an F16: 5 inputs, 7129 rows."""
    return load_table("delta_ailerons")


def load_elevators() -> RealTable:
    """Elevators of an F16: 18 inputs, 16599 rows."""
    return load_table("elevators")


def load_energy(target: Literal["heating", "cooling"] = "heating") -> RealTable:
    """Energy load of simulated buildings: 8 inputs, 768 rows."""
    return load_table(_variant("energy", "target", target, ("heating", "cooling")))


def load_house_16h() -> RealTable:
    """House prices in the US census of 1990: 16 inputs, 22784 rows."""
    return load_table("house_16H")


def load_kin8nm() -> RealTable:
    """Kinematics of a robot arm: 8 inputs, 8192 rows."""
    return load_table("kin8nm")


def load_leukemia() -> RealTable:
    """Two kinds of leukemia from 7129 genes of 72 patients; ``train`` marks the first 38."""
    return load_table("leukemia")


def load_pole() -> RealTable:
    """Telecommunication problem: 26 inputs, 15000 rows."""
    return load_table("pole")


def load_protein() -> RealTable:
    """Protein structures: 9 inputs, 45730 rows."""
    return load_table("protein")


def load_pumadyn(variant: str = "32nh") -> RealTable:
    """Dynamics of a robot arm, 8192 rows.

    ``variant`` is the number of inputs (8 or 32), then ``f`` (fairly linear) or ``n``, then the
    noise, ``m`` (moderate) or ``h`` (high).
    """
    return load_table(_variant("pumadyn", "variant", variant, PUMADYN))


def load_segment() -> RealTable:
    """Seven kinds of image segments from 19 inputs, one of them constant; 2310 rows."""
    return load_table("segment")


def load_stock() -> RealTable:
    """Price of one aerospace company from nine others, 950 days."""
    return load_table("stock")


def load_wpbc(target: Literal["time", "outcome"] = "time") -> RealTable:
    """Wisconsin prognostic breast cancer: 32 inputs, 198 patients, four missing values."""
    return load_table(_variant("wpbc", "target", target, ("time", "outcome")))


def _variant(stem: str, parameter: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise InvalidParameterError(
            f"{parameter} must be one of {', '.join(allowed)}; got {value!r}."
        )
    return f"{stem}_{value}"
