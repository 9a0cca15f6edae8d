"""Data sets: generated ones whose relevant variables are known, and tables of the real world.

Each ``make_*`` function returns a :class:`KnownSupport` (:func:`make_two_modes`, which draws a
density, a :class:`KnownDensity`). The noiseless function behind it is a
function of the same module, for instance ``nablasso.datasets.smooth.radial_function``, its gradient
stands beside it, and both are evaluated at the rows. The noise level is a constant of the
population: two draws differ in their rows only.

Each ``load_*`` function returns a :class:`RealTable`, from a folder or from OpenML
(:mod:`nablasso.datasets.real`).
"""

from nablasso.datasets.catalogue import CATALOGUE
from nablasso.datasets.demo import make_demo
from nablasso.datasets.friedman import make_friedman1
from nablasso.datasets.known_support import KnownSupport
from nablasso.datasets.loaders import (
    load_airfoil,
    load_bike_hour,
    load_boston,
    load_california,
    load_concrete,
    load_cpu_act,
    load_delta_ailerons,
    load_elevators,
    load_energy,
    load_house_16h,
    load_kin8nm,
    load_leukemia,
    load_pole,
    load_protein,
    load_pumadyn,
    load_segment,
    load_stock,
    load_wpbc,
)
from nablasso.datasets.nonnegative import KnownDensity, make_bell, make_two_modes
from nablasso.datasets.pairwise import make_pairwise
from nablasso.datasets.quadratic import make_quadratic
from nablasso.datasets.real import RealTable, load_table
from nablasso.datasets.rings import make_rings
from nablasso.datasets.smooth import (
    make_additive,
    make_parabola,
    make_product,
    make_radial,
    make_three_way,
    make_two_way,
)
from nablasso.datasets.structured import (
    make_correlated_pairs,
    make_cubic_groups,
    make_noisy_copies,
)
from nablasso.datasets.turlach import make_turlach
from nablasso.datasets.uneven_noise import make_bow_tie, make_wavy_noise

__all__ = [
    "CATALOGUE",
    "KnownDensity",
    "KnownSupport",
    "RealTable",
    "load_airfoil",
    "load_bike_hour",
    "load_boston",
    "load_california",
    "load_concrete",
    "load_cpu_act",
    "load_delta_ailerons",
    "load_elevators",
    "load_energy",
    "load_house_16h",
    "load_kin8nm",
    "load_leukemia",
    "load_pole",
    "load_protein",
    "load_pumadyn",
    "load_segment",
    "load_stock",
    "load_table",
    "load_wpbc",
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
