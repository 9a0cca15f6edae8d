r"""How rows are distributed: rows drawn anew with some of their columns kept.

To ask what a column carries, others must be drawn *given* it. A **player** is a column, or the
columns of one category or group. Every player has a score: the column itself; of several columns
their best linear combination for what is predicted (of a category that is the mean of a level).
The rows sorted by it are its marginal law, and its dependence on the others is that of a **Gaussian
copula**: with ``u`` the place of a score among the scores and ``z = \Phi^{-1}(u)``,

.. math:: z \sim N(0, R), \qquad x_a = \text{columns of the row at place } \Phi(z_a).

Values are always those of rows: a level stays a level, a category a category. With an order
``\pi`` of the players and ``R_\pi = L L'`` a row is ``z_\pi = L e``, and keeping the first ``k``
players while all others are drawn anew, *given these*, means to keep ``e_1, ..., e_k`` and to draw
``e_{k+1}, ..., e_p`` anew. That is exact where columns are independent or jointly normal, in any
monotone units. What it does not see is dependence without a direction (``x_b = x_a^2``).

**The correlations.** A tied score stands for an interval of ``z``; ``m`` is the mean of ``z`` on
it. To first order ``cov(m_a, m_b) = r_{ab} var(m_a) var(m_b)``, which is solved for ``r_ab``:
discrete columns are not taken for weaker dependent than they are. Sampling errors of size
``(1 - r^2)/\sqrt n`` are taken off, :math:`r \leftarrow r\,(1 - (1 - r^2)^2/(n r^2))_+`, so that
columns that are independent are treated as such. Both corrections may go too far together: of the
way from the plain correlations of ``m`` only so much is gone that the smallest eigenvalue stays at
least half of theirs.

Cost: one sort per column; a factor of (p x p) per order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from nablasso.errors import InvalidParameterError
from nablasso.types import Array, Index

LEAST_EIGENVALUE = 1e-6  # of the correlations: copies are told apart from rounding only
STEPS = 21  # of the way from plain to corrected correlations
CLOSEST = 0.9999  # correlation of copies
ATOMS = 4096  # values that stand for a range
EDGE = 1e-9  # places nearer to 0 or 1 are rounding


@dataclass(frozen=True)
class Law:
    """Players, their values in the order of their scores, and the correlations of these.

    ``columns[a]`` are the columns of player ``a`` among ``n_columns``, ``atoms[a]`` (m, k) their
    values by increasing score, ``places[a]`` (m,) cumulative weights, ``correlation`` (p, p).
    ``rank`` orders the players by what does not depend on the order of the columns.
    """

    columns: tuple[Index, ...]
    atoms: tuple[Array, ...]
    places: tuple[Array, ...]
    correlation: Array
    n_columns: int
    rank: Index

    @property
    def n_players(self) -> int:
        """How many players there are."""
        return len(self.columns)

    def rows(self, z: Array) -> Array:
        """Rows (m, n_columns) at normal scores ``z`` (m, p); columns of no player are zero."""
        X = np.zeros((len(z), self.n_columns))
        for a, columns in enumerate(self.columns):
            at = np.searchsorted(self.places[a], ndtr(z[:, a]) * self.places[a][-1])
            X[:, columns] = self.atoms[a][np.minimum(at, len(self.places[a]) - 1)]
        return X

    def scores(self, noise: Array) -> Array:
        """Normal scores (n, p) of independent numbers, players in the order of their rank."""
        z = np.empty_like(noise)
        z[:, self.rank] = noise[:, self.rank] @ self.factor(self.rank).T
        return z

    def others(self, players: Sequence[int]) -> Index:
        """All other players by their rank."""
        return self.rank[~np.isin(self.rank, players)]

    def factor(self, order: Index) -> Array:
        """``L`` of the players in an order."""
        return np.asarray(np.linalg.cholesky(self.correlation[np.ix_(order, order)]), dtype=float)

    def noise(self, n: int, copies: int, seed: int = 0) -> Array:
        """Independent normal numbers (copies, n, p), evenly spread; n is a power of two.

        Which player gets which of them follows :attr:`rank`, so the order of columns is nothing.
        """
        p = self.n_players
        sequence = qmc.Sobol(copies * p, scramble=True, rng=np.random.default_rng([seed, p]))
        spread = np.clip(sequence.random(n), EDGE, 1 - EDGE)
        e = ndtri(spread).reshape(n, copies, p).transpose(1, 0, 2)
        out = np.empty_like(e)
        out[:, :, self.rank] = e
        return out


def law_of_rows(
    Z: Array, weights: Array, players: Sequence[Index], values: Array, *, dependent: bool = True
) -> Law:
    """The law of rows ``Z`` (n, d) with what is predicted at them, ``values`` (n, q)."""
    p = weights / weights.sum()
    centred = values - p @ values
    target = centred[:, int(np.argmax(p @ centred**2))]
    atoms, places, scores, closeness = [], [], [], []
    for columns in players:
        block = Z[:, columns]
        score = block[:, 0] if len(columns) == 1 else _combined(block, target, p)
        order = np.lexsort([*block.T, score])
        atoms.append(block[order])
        places.append(np.cumsum(p[order]))
        scores.append(_normal_scores(score, p))
        closeness.append(abs(float(p @ (scores[-1] * target))))
    R = np.eye(len(players))
    if dependent and len(players) > 1:
        R = _correlations(np.column_stack(scores), p)
    rank = np.argsort(-np.round(closeness, 12), kind="stable")
    return Law(tuple(players), tuple(atoms), tuple(places), R, Z.shape[1], rank)


def law_of_ranges(ranges: Sequence[tuple[float, float]]) -> Law:
    """Independent columns, uniform between the ends given."""
    at = (np.arange(ATOMS) + 0.5) / ATOMS
    for low, high in ranges:
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise InvalidParameterError(
                f"A range is two finite numbers, the lower first; got ({low!r}, {high!r})."
            )
    d = len(ranges)
    return Law(
        tuple(np.array([a], dtype=np.intp) for a in range(d)),
        tuple((low + (high - low) * at)[:, None] for low, high in ranges),
        (np.linspace(1 / ATOMS, 1, ATOMS),) * d,
        np.eye(d),
        d,
        np.arange(d),
    )


def players_of(labels: Index | Sequence[int], columns: Index) -> tuple[Index, ...]:
    """The given columns, those that share a label together, by their first column."""
    members: dict[int, list[int]] = {}
    for a in np.sort(columns):
        members.setdefault(int(labels[a]), []).append(int(a))
    return tuple(np.array(group, dtype=np.intp) for group in members.values())


def _combined(block: Array, target: Array, p: Array) -> Array:
    """The linear combination of columns that is closest to the target; rounded, so levels tie."""
    root = np.sqrt(p)[:, None]
    centred = block - p @ block
    coefficients = np.linalg.lstsq(root * centred, root[:, 0] * target, rcond=1e-10)[0]
    score = centred @ coefficients
    size = float(np.sqrt(p @ score**2)) or 1.0
    return np.asarray(np.round(score / size, 9))


def _normal_scores(score: Array, p: Array) -> Array:
    """The mean of ``z`` on the interval that a score stands for."""
    levels, own = np.unique(score, return_inverse=True)
    mass = np.bincount(own.ravel(), p, minlength=len(levels))
    ends = np.clip(np.concatenate([[0.0], np.cumsum(mass)]), 0.0, 1.0)
    ends[-1] = 1.0
    density = np.exp(-0.5 * np.square(np.clip(ndtri(ends), -40, 40))) / np.sqrt(2 * np.pi)
    return np.asarray((-np.diff(density) / mass)[own.ravel()])


def _correlations(m: Array, p: Array) -> Array:
    covariance = (m * p[:, None]).T @ m
    size = np.maximum(np.diag(covariance), 1e-12)
    plain = np.clip(covariance / np.sqrt(np.outer(size, size)), -CLOSEST, CLOSEST)
    R = np.clip(covariance / np.outer(size, size), -CLOSEST, CLOSEST)
    n = 1 / float(p @ p)
    R *= np.maximum(1 - (1 - R**2) ** 2 / np.maximum(n * R**2, 1e-300), 0.0)
    np.fill_diagonal(plain, 1.0)
    np.fill_diagonal(R, 1.0)
    least = float(np.linalg.eigvalsh(plain)[0]) / 2
    for share in np.linspace(1, 0, STEPS):
        mixed = plain + share * (R - plain)
        if float(np.linalg.eigvalsh(mixed)[0]) >= least:
            break
    mixed[np.diag_indices_from(mixed)] += LEAST_EIGENVALUE
    return np.asarray(mixed / (1 + LEAST_EIGENVALUE))
