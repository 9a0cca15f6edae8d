r"""A model of terms on the sums: its posterior, the gain of every term in it or not yet in it.

With ``D = 1 / (v lam)`` the posterior of the coefficients (in units of the noise) is
``P = (C + D)^-1``, ``w = P c``, and ``q = y'y - c'w``. Everything about a term outside is in
``S = C_tt - C_tM P C_Mt`` and ``s = c_t - C_tM w``; about a term inside, in the blocks of ``P``:
``S = (P_tt)^-1 - D_t``, ``s = (P_tt)^-1 w_t``. No refit is needed.

A floor of 1e-9 of the rows on the diagonal of ``C`` keeps copies apart from rounding.
Cost: one inverse of (p x p) for a term that enters or leaves; p^2 k for a new variance.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nablasso.search.terms import Gain, Noise, gain_of
from nablasso.streaming.passes import Design, Sums, Term
from nablasso.types import Array, Index

FLOOR = 1e-9  # of the rows, on the diagonal of C
SETTLED = 0.1  # change of log v below which variances are tuned
SWEEPS = 12  # of the tuning at most


class Posterior:
    """Terms with their variances on the sums of a design.

    Parameters
    ----------
    sums : dict
        Of :func:`nablasso.streaming.passes.model_sums`, at the coefficients ``at``.
    design : Design
    at : array
        Coefficients at which scores and weights were taken.
    priors : dict
        ``lam`` of every term of the design.
    noise : Noise
    variance : dict
        The terms of the model, and ``v`` of each.
    floor : float
    """

    def __init__(
        self,
        sums: Sums,
        design: Design,
        at: Array,
        priors: Mapping[Term, Array],
        noise: Noise,
        variance: Mapping[Term, float],
        floor: float = FLOOR,
    ) -> None:
        self.design, self.priors, self.noise = design, priors, noise
        self.C = sums["C"] + floor * noise.n * np.diag(np.arange(design.width) > 0)
        self.M = sums["M"]
        working = sums["C"] @ at
        self.c = sums["c"] + working
        self.yy = float(sums["score"] + 2 * sums["c"] @ at + at @ working)
        self.variance = dict(variance)
        self.rebuild()

    def rebuild(self) -> None:
        """Posterior of the terms inside."""
        parts = [np.zeros(1, dtype=np.intp)]
        precision = [np.zeros(1)]
        self.place: dict[Term, Index] = {}
        k = 1
        for term, v in self.variance.items():
            at = self.design.at[term]
            parts.append(at)
            precision.append(1 / (v * self.priors[term]))
            self.place[term] = np.arange(k, k + len(at))
            k += len(at)
        self.inside_at, self.D = np.concatenate(parts), np.concatenate(precision)
        W = self.inside_at
        self.P = np.linalg.inv(self.C[np.ix_(W, W)] + np.diag(self.D))
        self.P = (self.P + self.P.T) / 2
        self._solve()

    def _solve(self) -> None:
        c = self.c[self.inside_at]
        self.w = self.P @ c
        self.q = max(self.yy - float(c @ self.w), 1e-12 * self.yy)

    @property
    def effective(self) -> float:
        """Effective number of parameters."""
        return float(len(self.D) - self.P.diagonal() @ self.D)

    def outside(self, term: Term) -> Gain:
        """The gain of a term that is not in the model."""
        t, W = self.design.at[term], self.inside_at
        cross = self.C[np.ix_(t, W)]
        B = cross @ self.P
        shared = B @ self.M[np.ix_(W, t)]
        M = self.M[np.ix_(t, t)] - shared - shared.T + B @ self.M[np.ix_(W, W)] @ B.T
        S = self.C[np.ix_(t, t)] - B @ cross.T
        return gain_of(self.c[t] - cross @ self.w, S, M, self.priors[term], self.q, self.noise)

    def inside(self, term: Term) -> Gain:
        """The gain of a term of the model, given all others."""
        a = self.place[term]
        inverse = np.linalg.inv(self.P[np.ix_(a, a)])
        inverse = (inverse + inverse.T) / 2
        s = inverse @ self.w[a]
        R = inverse @ self.P[a]
        M = R @ self.M[np.ix_(self.inside_at, self.inside_at)] @ R.T
        S = inverse - np.diag(self.D[a])
        q = self.q + float(s @ self.w[a])
        return gain_of(s, S, M, self.priors[term], q, self.noise)

    def enter(self, term: Term, variance: float) -> None:
        """Take a term in."""
        self.variance[term] = variance
        self.rebuild()

    def leave(self, term: Term) -> None:
        """Take a term out."""
        del self.variance[term]
        self.rebuild()

    def tune(self, sweeps: int = SWEEPS) -> None:
        """Every term's variance at the top of its own gain, in turn, until they settle."""
        for _ in range(sweeps):
            moved = 0.0
            for term, old in list(self.variance.items()):
                new = self.inside(term).variance
                step = abs(float(np.log(new / old)))
                moved = max(moved, step)
                self.variance[term] = new
                a = self.place[term]
                D = 1 / (new * self.priors[term])
                change = D - self.D[a]
                if step > 1e-9:
                    Pa = self.P[:, a]
                    self.P -= Pa @ np.linalg.solve(np.diag(1 / change) + Pa[a], Pa.T)
                    self.D[a] = D
                    self._solve()
            if moved < SETTLED:
                break
        self.rebuild()

    @property
    def log_evidence(self) -> float:
        """Restricted log evidence of the model, up to a constant of the rows."""
        prior = float(np.log(self.D[1:]).sum())
        shape = 0.5 * (float(np.linalg.slogdet(self.P)[1]) + prior)
        return shape - 0.5 * (self.noise.n - 1) * float(np.log(self.q))

    def cost_of_leaving(self, terms: list[Term]) -> float:
        """Log evidence lost when terms leave together, the variances of the others kept."""
        a = np.concatenate([self.place[term] for term in terms])
        block = self.P[np.ix_(a, a)]
        explained = float(self.w[a] @ np.linalg.solve(block, self.w[a]))
        half = 0.5 * float(np.linalg.slogdet(block)[1] + np.log(self.D[a]).sum())
        if self.noise.profiled:
            return 0.5 * (self.noise.n - 1) * float(np.log1p(explained / self.q)) + half
        return 0.5 * explained / self.noise.dispersion + half
