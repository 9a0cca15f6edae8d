r"""Labels: the evidence of a Gaussian process of log-odds, by Laplace's approximation.

For labels ``y = -1, 1`` with weights ``w``, log-odds ``b + f`` and ``f ~ N(0, K_v / r)`` (so that
``r`` is the noise of a working response of unit variance), ``b`` with a flat prior:

.. math:: \psi(f, b) = \sum_i w_i \log(1 + e^{-y_i (b + f_i)}) + \tfrac r2 f' K_v^{-1} f .

Newton's step at ``eta = b + f`` is a regression of the working response
``z = eta - loss' / loss''`` with noise variances ``1 / W``, ``W = w loss''``: with
``P`` of ``A = K_v / r + W^{-1}`` the next ``eta`` is ``z - W^{-1} P z``. At the mode, minus the log
evidence is about

.. math:: \psi + \tfrac12 \log\det A + \tfrac12 \sum_i \log W_i + \tfrac12 \log \tfrac sn ,

less the same without columns: nothing selected is 0 nats. Variances are tuned on the evidence of
the working response (:mod:`nablasso.regression.evidence`, noise known), again and again.

**Left out.** At the mode the working response is a Gaussian regression, in which row i is predicted
from the others by ``z_i - (P z)_i / P_ii``: one Newton step from the mode without the row. One of
``c`` copies of a row is predicted by ``z_i - (P z)_i / ((1 - 1/c) W_i + P_ii / c)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from nablasso.regression.evidence import Covariance, Evidence, restricted_inverse
from nablasso.types import Array, Index

NEWTON_STEPS, HALVINGS = 30, 6
SETTLED = 1e-6  # change of psi a row
LEAST_WEIGHT = 1e-6  # of a row in the working response: labels that are certain
ROUNDS, STEPS, REACH = 3, 6, 4.0  # modes; steps of tuning at each, and how far they lead in logs
NOISES = (0.02, 0.3)  # between which a least-squares fit of labels hands over its noise


class Mode(NamedTuple):
    """The most probable log-odds ``eta``: coefficients of the kernel, intercept, value in nats.

    ``noise`` are the variances of the working response there.
    """

    u: Array
    intercept: float
    eta: Array
    value: float
    noise: Array


class Tuned(NamedTuple):
    """Logs of the variances and of the noise, and the mode there."""

    logs: Array
    noise: float
    mode: Mode


class LogOdds(NamedTuple):
    """A covariance and the labels it explains: ``y`` (n,) of -1 and 1, ``w`` their weights."""

    covariance: Covariance
    y: Array
    w: Array

    def nothing(self) -> float:
        """The value without columns."""
        total, positive = float(self.w.sum()), float(self.w @ (self.y > 0))
        share = positive / total
        loss = float(self.w @ np.logaddexp(0, -self.y * np.log(share / (1 - share))))
        return loss + 0.5 * float(np.log(total * share * (1 - share) / len(self.y)))

    def mode(self, v: Array, r: float, eta: Array | None = None) -> Mode | None:
        """Newton's method from ``eta``; None where a matrix has no factor."""
        n = len(self.y)
        K = self.covariance.gram(v)[0] / r
        eta, u = np.zeros(n) if eta is None else eta, np.zeros(n)
        psi, volume = np.inf, 0.0
        for _ in range(NEWTON_STEPS):
            z, W = self.working(eta, self.y, self.w)
            A = K.copy()
            A.flat[:: n + 1] += 1 / W
            factored = restricted_inverse(A)
            if factored is None:
                return None
            P, logdet, s = factored
            volume = 0.5 * (logdet + float(np.log(W).sum()) + np.log(s / n))
            new_u = P @ z
            step_u, step = new_u - u, z - new_u / W - eta
            share, value = 1.0, self._psi(K, u + step_u, eta + step)
            while value > psi + SETTLED * n and share > 0.5**HALVINGS:
                share /= 2
                value = self._psi(K, u + share * step_u, eta + share * step)
            u, eta = u + share * step_u, eta + share * step
            moved, psi = psi - value, value
            if abs(moved) < SETTLED * n:
                break
        value = psi + volume - self.nothing()
        return Mode(
            u / r, float(np.mean(eta - K @ u)), eta, value, 1 / self.working(eta, self.y, self.w)[1]
        )

    def tuned(self, logs: Array, noise: float, ties: Index | None = None) -> Tuned | None:
        """The variances and the noise that the working response asks for, from a start.

        One for each group, or for each of the ties of groups.
        A fit of labels without an error has no noise and a kernel of any size: where steps do not
        reach that, the noise is handed over as a share of it.
        """
        ties = np.arange(len(logs)) if ties is None else ties
        size = float(np.log(self.covariance.size(np.exp(logs[ties]))))
        size = 0.0 if abs(size) <= REACH else size
        noise = size + float(np.clip(noise - size, *np.log(NOISES)))
        mode = self.mode(np.exp(logs[ties]), float(np.exp(noise)))
        best = None if mode is None else Tuned(logs, noise, mode)
        for _ in range(ROUNDS):
            if best is None:
                return None
            z, W = self.working(best.mode.eta, self.y, self.w)
            x = np.append(best.logs, best.noise)
            found = minimize(
                Evidence(self.covariance, z[:, None], 1 / W, known=True).value_and_gradient,
                x,
                (ties,),
                jac=True,
                method="L-BFGS-B",
                bounds=[(float(a) - REACH, float(a) + REACH) for a in x],
                options={"maxiter": STEPS},
            ).x
            mode = self.mode(np.exp(found[ties]), float(np.exp(found[-1])), best.mode.eta)
            if mode is None or mode.value >= best.mode.value:
                break
            best = Tuned(found[:-1], float(found[-1]), mode)
        return None if best is None else best._replace(logs=best.logs[ties])

    def _psi(self, K: Array, u: Array, eta: Array) -> float:
        return float(self.w @ np.logaddexp(0, -self.y * eta)) + 0.5 * float(u @ (K @ u))

    @staticmethod
    def working(eta: Array, y: Array, w: Array) -> tuple[Array, Array]:
        """The working response and its weights."""
        p = expit(eta)
        bend = np.maximum(p * (1 - p), LEAST_WEIGHT)
        return eta + ((y > 0) - p) / bend, w * bend


def left_out_odds(
    K: Array, u: Array, intercept: float, y: Array, w: Array, copies: Array | None = None
) -> Array:
    """Log-odds of each row, or of one of its copies, from the others, at ``intercept + K u``.

    ``K`` are the kernel's values, (n, n). The mode itself says which ``r`` it belongs to:
    ``K_v^{-1} f = u`` there, so ``r u`` are the slopes of the loss.
    """
    eta = intercept + K @ u
    slopes = w * ((y > 0) - expit(eta))
    r = max(float(slopes @ u) / max(float(u @ u), 1e-300), 1e-12)
    z, W = LogOdds.working(eta, y, w)
    A = K / r
    A.flat[:: len(y) + 1] += 1 / W
    factored = restricted_inverse(A)
    if factored is None:
        return eta
    P, c = factored[0], 1.0 if copies is None else copies
    return np.asarray(z - (P @ z) / ((1 - 1 / c) * W + np.diag(P) / c))
