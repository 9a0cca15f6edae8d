"""Generated data sets whose relevant variables are known.

Each ``make_*`` function returns a :class:`KnownSupport`. The noiseless function behind it is a
function of the same module, for instance ``nablasso.datasets.smooth.radial_function``. The noise
level is a constant of the population: two draws differ in their rows only.
"""

from nablasso.datasets.demo import make_demo
from nablasso.datasets.friedman import make_friedman1
from nablasso.datasets.known_support import KnownSupport
from nablasso.datasets.pairwise import make_pairwise
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

__all__ = [
    "KnownSupport",
    "make_additive",
    "make_correlated_pairs",
    "make_cubic_groups",
    "make_demo",
    "make_friedman1",
    "make_noisy_copies",
    "make_pairwise",
    "make_parabola",
    "make_product",
    "make_radial",
    "make_rings",
    "make_three_way",
    "make_turlach",
    "make_two_way",
]
