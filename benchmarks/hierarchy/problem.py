"""Five relevant variables with two interactions, among p: the hull that has to be found."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from nablasso.types import Array

Node = tuple[tuple[int, int], ...]  # (column, level) pairs, levels of at least one, sorted

RELEVANT = 5
PAIRS = ((0, 1), (2, 3))  # of the relevant variables
SNR = 3.0  # sd(f) / sd(noise)
PRODUCT = 1.0  # coefficient of the products; that of the variables themselves is 1


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, and the nodes whose hull is the truth."""

    X: Array
    y: Array
    columns: tuple[int, ...]
    hull: frozenset[Node]


def problem(
    n: int,
    p: int,
    seed: int,
    design: str = "uniform",
    *,
    snr: float = SNR,
    product: float = PRODUCT,
) -> Problem:
    """y = sum of five variables of unit variance and two products of them, plus noise.

    ``design`` is the distribution of the independent inputs, "uniform" or "normal". The five
    columns are drawn, so that nothing depends on the order of the columns.
    """
    rng = np.random.default_rng([5, n, p, seed])
    X = rng.standard_normal((n, p))
    if design == "uniform":
        X = np.sqrt(12) * (ndtr(X) - 0.5)
    columns = tuple(sorted(int(a) for a in rng.choice(p, RELEVANT, replace=False)))
    f = X[:, columns].sum(axis=1)
    for a, b in PAIRS:
        f = f + product * X[:, columns[a]] * X[:, columns[b]]
    deviation = np.sqrt(RELEVANT + len(PAIRS) * product**2)
    y = f + deviation / snr * rng.standard_normal(n)
    single: set[Node] = {((a, 1),) for a in columns}
    pairs: set[Node] = {((columns[a], 1), (columns[b], 1)) for a, b in PAIRS}
    return Problem(X, y, columns, frozenset({()} | single | pairs))
