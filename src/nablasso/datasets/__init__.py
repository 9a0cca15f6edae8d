"""Data sets whose relevant variables are known, because they are generated.

Each ``make_*`` function returns a :class:`KnownSupport` (:func:`make_two_modes`, which draws a
density, a :class:`KnownDensity`). The noiseless function behind it stands beside it with its
gradient, for instance ``nablasso.datasets.generators.radial_function``; both are evaluated at the
rows. The noise level is a constant of the population: two draws differ in their rows only.
"""

from nablasso.datasets.generators import (
    KnownSupport,
    make_additive,
    make_friedman1,
    make_parabola,
    make_product,
    make_quadratic,
    make_radial,
    make_three_way,
    make_turlach,
    make_two_way,
)
from nablasso.datasets.structured import (
    KnownDensity,
    make_bell,
    make_bow_tie,
    make_correlated_pairs,
    make_cubic_groups,
    make_demo,
    make_noisy_copies,
    make_pairwise,
    make_rings,
    make_two_modes,
    make_wavy_noise,
)

__all__ = [
    "KnownDensity",
    "KnownSupport",
    "make_additive",
    "make_bell",
    "make_bow_tie",
    "make_correlated_pairs",
    "make_cubic_groups",
    "make_demo",
    "make_friedman1",
    "make_noisy_copies",
    "make_pairwise",
    "make_parabola",
    "make_product",
    "make_quadratic",
    "make_radial",
    "make_rings",
    "make_three_way",
    "make_turlach",
    "make_two_modes",
    "make_two_way",
    "make_wavy_noise",
]
