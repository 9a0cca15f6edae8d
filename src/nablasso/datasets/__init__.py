"""Data sets whose relevant variables are known, because they are generated.

Each ``make_*`` function returns a :class:`KnownSupport`. The noiseless function behind it stands
beside it with its gradient (``nablasso.datasets.generators.product_function``); both are evaluated
at the rows. The noise level is a constant of the population: two draws differ in their rows only.
"""

from nablasso.datasets.generators import (
    KnownSupport,
    make_additive,
    make_cubic_groups,
    make_demo,
    make_friedman1,
    make_product,
    make_rings,
    make_turlach,
    make_two_way,
)

__all__ = [
    "KnownSupport",
    "make_additive",
    "make_cubic_groups",
    "make_demo",
    "make_friedman1",
    "make_product",
    "make_rings",
    "make_turlach",
    "make_two_way",
]
