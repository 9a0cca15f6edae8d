"""Data sets whose relevant variables are known, because they are generated.

Each ``make_*`` function returns a :class:`KnownSupport` (:func:`make_two_modes`, which draws a
density, a :class:`KnownDensity`). The noiseless function behind it stands beside it with its
gradient (``nablasso.datasets.generators.product_function``); both are evaluated at the rows. The
noise level is a constant of the population: two draws differ in their rows only.
"""

from nablasso.datasets.generators import (
    KnownDensity,
    KnownSupport,
    make_additive,
    make_bell,
    make_cubic_groups,
    make_demo,
    make_friedman1,
    make_product,
    make_rings,
    make_turlach,
    make_two_modes,
    make_two_way,
    make_wavy_noise,
)

__all__ = [
    "KnownDensity",
    "KnownSupport",
    "make_additive",
    "make_bell",
    "make_cubic_groups",
    "make_demo",
    "make_friedman1",
    "make_product",
    "make_rings",
    "make_turlach",
    "make_two_modes",
    "make_two_way",
    "make_wavy_noise",
]
