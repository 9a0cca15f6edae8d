"""The problems: one Gaussian kernel, one stated ridge, alpha a stated fraction of alpha_max."""

from __future__ import annotations

from dataclasses import replace

from nablasso import DerivativeLasso
from nablasso.datasets import make_two_way
from nablasso.paths import ProblemFamily
from nablasso.problems import Problem

RIDGE = 1e-4  # of the trace of the weighted centred kernel
FRACTION = 0.3  # of alpha_max


def family(n_samples: int, n_features: int, seed: int = 0) -> ProblemFamily:
    """Two-way interactions among 4 of the variables, as in figure 9 of Rosasco et al. (2013)."""
    data = make_two_way(n_samples, n_features, random_state=seed)
    selector = DerivativeLasso(kernel="gaussian", length_scale="median")
    table = selector._table(selector._read(data.X, data.y, None))
    return ProblemFamily(table, selector._formulation())


def problem(n_samples: int, n_features: int, seed: int = 0) -> Problem:
    """The lasso problem at the stated ridge and alpha."""
    made = family(n_samples, n_features, seed)
    free = made.problem(RIDGE * made.trace)
    return replace(free, alpha=FRACTION * free.alpha_max()[0])
