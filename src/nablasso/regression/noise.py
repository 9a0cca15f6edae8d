r"""What is assumed of noise and target, judged by the same number.

Under an assumption the target is ``t(y)`` and the shape of the noise is ``N``. Its total,

    price of the model + value without columns + Jacobian of t + price of the assumption,

compares with the totals of all others: assumptions are paid for like columns.

* **Warp**: ``t(y) = side log(side (y - end) + c)``, for counts and skewed targets. Its Jacobian is
  ``prod t'(y_i)``; half a log n for ``c``.
* **Tails**: Student noise with ``nu`` degrees of freedom. A Gaussian of variance ``1 / w_i`` bounds
  it from below for any weights, with equality at ``w = (nu + 1) / (nu + z^2)``, so the bound
  is exact evidence paid in full. Weights start from left-out residuals: a fit that follows outliers
  hides them.
* **Level**: ``N_i = exp(h(x_i))``, ``h`` found by the same search on the logs of squared left-out
  residuals; its columns are paid for.
* **Serial**: ``N_ij = share rho^|t_i - t_j|`` off the diagonal, for rows in time. Columns that are
  serial themselves absorb serial noise, so it is assumed *before* columns are believed.

A prediction is in the units of the target again: the mean over the left-out residuals ``e``,
``y(x) = E[t^{-1}(m + s (f(x) + e))]``, without a warp the plain mean.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from nablasso.regression.spread import Spread
from nablasso.spaces import Function
from nablasso.types import Array, Index

DEGREES = (2.0, 5.0)  # of freedom that are tried
OFFSETS = (0.03, 0.1, 0.3, 1.0, 3.0)  # of a warp, over the distance of the median from the end
CORRELATIONS = (0.6, 0.8, 0.9, 0.97)
SHARES = (1.0, 0.7)  # of the noise that is serial
SMEARED = 200  # residuals that a warped prediction is averaged over


@dataclass(frozen=True)
class Warp:
    """``side log(side (y - end) + offset)``."""

    side: float
    end: float
    offset: float

    def __call__(self, y: Array) -> Array:
        """The warped target; its derivative is ``exp(-side t)``."""
        return self.side * np.log(np.maximum(self.side * (y - self.end) + self.offset, 1e-300))

    def back(self, t: Array) -> Array:
        """The target again."""
        grown = np.exp(np.clip(self.side * t, -50, 50))
        return np.asarray(self.end + self.side * (grown - self.offset))

    def moved(self, by: float) -> Warp:
        """The same of targets that are larger by so much."""
        return replace(self, end=self.end + by)

    def reaching(self, y: Array) -> Warp:
        """The same with an end that none of these targets is beyond."""
        return replace(
            self, end=self.side * min(self.side * self.end, float((self.side * y).min()))
        )

    def __str__(self) -> str:
        if self.side < 0:
            return f"-log({self.end:.4g} - y + {self.offset:.3g})"
        return f"log(y {'-' if self.end >= 0 else '+'} {abs(self.end):.4g} + {self.offset:.3g})"


@dataclass(frozen=True)
class Unwarped:
    """A fitted function in the units of the target.

    ``mean`` and ``deviation`` are of what was explained, ``errors`` are left-out ones in its own
    units. They count by ``weights``, the precisions of their rows: what is taken for an outlier
    must not be averaged back through an exponential.
    """

    function: Function
    mean: float
    deviation: float
    warp: Warp | None
    errors: Array
    weights: Array
    spread: Spread  # how sure the function is

    @property
    def columns(self) -> Index:
        """Those of the function."""
        return self.function.columns

    def values(self, Z: Array) -> Array:
        """Predictions."""
        return self.back(self.mean + self.deviation * self.function.values(Z))

    def gradients(self, Z: Array) -> Array:
        """Their slopes."""
        slopes = self.deviation * self.function.gradients(Z)
        if self.warp is None:
            return slopes
        t, step = self.mean + self.deviation * self.function.values(Z), 1e-4 * self.deviation
        bend = (self.back(t + step) - self.back(t - step)) / (2 * step)
        return np.asarray(slopes * bend[:, None])

    def back(self, t: Array) -> Array:
        """The mean of the target where the mean of what was explained is ``t``."""
        if self.warp is None:
            return t
        order = np.argsort(self.errors, kind="stable")
        p = self.weights[order] / self.weights.sum()
        even = (np.arange(SMEARED) + 0.5) / SMEARED
        spread = np.interp(even, np.cumsum(p) - 0.5 * p, self.errors[order])
        back = (self.warp.back(t + self.deviation * e) for e in spread)
        return sum(back, np.zeros_like(t)) / SMEARED


@dataclass(frozen=True)
class Assumption:
    """What is assumed; the default is equal, independent, normal noise on the target itself.

    ``weights`` and ``level`` have an entry for every row of the table, ``level_price`` is what the
    columns of the level cost.
    """

    warp: Warp | None = None
    nu: float = 0.0
    weights: Array | None = None
    level: Array | None = None
    level_price: float = 0.0
    serial: tuple[float, float] | None = None

    def target(self, y: Array) -> Array:
        """What the model explains."""
        return y if self.warp is None else self.warp(y)

    def jacobian(self, y: Array, weights: Array | None = None) -> float:
        """Mean log derivative of the target."""
        if self.warp is None:
            return 0.0
        log_slopes = -self.warp.side * self.warp(y)
        return float(np.average(log_slopes, axis=0, weights=weights).mean())

    def only(self, rows: Index) -> Assumption:
        """For some of the rows."""
        part = {k: v[rows] for k in ("weights", "level") if (v := getattr(self, k)) is not None}
        return replace(self, **part) if part else self

    def noise(self, n: int, time: Array | None) -> Array:
        """Shape of the noise: variances (n,) or a matrix (n, n)."""
        variances = np.ones(n)
        if self.weights is not None:
            variances = variances / self.weights
        if self.level is not None:
            variances = variances * np.exp(self.level)
        if self.serial is None:
            return variances
        assert time is not None
        rho, share = self.serial
        R = share * rho ** np.abs(time[:, None] - time)
        R.flat[:: n + 1] = 1.0
        root = np.sqrt(variances)
        return np.asarray(R * root * root[:, None])

    def price(self, n: float, copies: Array | float = 1.0) -> float:
        """Half a log n for each number, the level's columns, and what the bound of tails costs."""
        numbers = (self.warp is not None) + (self.nu > 0) + 2 * (self.serial is not None)
        price = 0.5 * numbers * np.log(n) + self.level_price
        if self.weights is not None:
            w, nu = self.weights, self.nu
            squares = np.maximum((nu + 1) / w - nu, 0.0)
            normal = 0.5 * np.log(w / (2 * np.pi)) - 0.5 * w * squares
            price -= float(np.sum(copies * (log_student(squares, nu) - normal)))
        return float(price)


PLAIN = Assumption()


def log_student(squares: Array, nu: float) -> Array:
    """Log density of Student's distribution at squared residuals in its own units."""
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * nu)
    return np.asarray(constant - (nu + 1) / 2 * np.log1p(squares / nu))


def tail_weights(residuals: Array, nu: float) -> tuple[Array, float]:
    """Weights of the rows, and the gain in log likelihood over a normal distribution."""
    squares = residuals**2
    unit = float(np.median(squares)) or float(squares.mean()) or 1.0
    for _ in range(30):
        unit = float(np.mean((nu + 1) / (nu + squares / unit) * squares)) or unit
    z = squares / unit
    normal = -0.5 * len(z) * (np.log(2 * np.pi * squares.mean() / unit) + 1)
    return (nu + 1) / (nu + z), float(log_student(z, nu).sum() - normal)


def warps(y: Array, residuals: Array, current: Warp | None) -> list[Warp]:
    """Logarithms that bend the steep side of the residuals down, at a few offsets."""
    side = 1.0 if np.mean((residuals - residuals.mean()) ** 3) > 0 else -1.0
    if current is not None:
        side = current.side
    end = float(y.min() if side > 0 else y.max())
    values = np.unique(y)
    far = abs(float(np.median(y)) - end) or abs(float(y.mean()) - end)
    step = float(np.diff(values).min()) if len(values) < 0.9 * len(y) else 0.0  # of counts
    offsets = sorted({max(share * far, step) for share in OFFSETS})
    found = [Warp(side, end, offset) for offset in offsets]
    return [warp for warp in found if warp != current]


def in_time(y: Array, time: Array) -> bool:
    """Whether rows may be in time: ``y`` turns at least half as often as exchangeable rows do.

    Those turn in two of three places; a table sorted by its target hardly ever.
    """
    signs = np.sign(np.diff(y[np.argsort(time, kind="stable")]))
    signs = signs[signs != 0]
    return len(signs) > 20 and bool(np.mean(signs[1:] != signs[:-1]) > 1 / 3)


def lag_correlation(residuals: Array, time: Array) -> float:
    """Correlation between neighbours in time, in standard errors."""
    e = residuals[np.argsort(time, kind="stable")]
    size = float(e @ e)
    return float(e[1:] @ e[:-1]) / size * np.sqrt(len(e)) if size > 0 else 0.0
