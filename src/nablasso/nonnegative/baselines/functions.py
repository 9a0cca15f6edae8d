r"""What the baselines are: ``g(x) = sum_j c_j b_j(x)`` on Gaussian bumps, or ``exp`` of it.

Against a base measure ``nu`` a bump ``exp(-|x - z|^2 / 2)`` has a closed-form integral,
``(2 pi)^{d/2}`` for Lebesgue measure and ``(2 pi)^{d/2} N(z; m, v + 1)`` for ``N(m, v)``, over a
box times a normal probability. The integral of an exponential has none: it is a mean over draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative.base import FittedFunction
from nablasso.nonnegative.gaussians import Bumps
from nablasso.nonnegative.model import LinearModel, check_box
from nablasso.nonnegative.task import Task
from nablasso.types import Array

POOL = 20  # draws of the base measure per draw of an exponential model


@dataclass(frozen=True)
class Measure:
    """``N(mean, diag(variance))``, or ``unit`` times Lebesgue measure if there is no mean."""

    mean: Array | None = None
    variance: Array | None = None
    unit: float = 1.0

    @classmethod
    def of(cls, task: Task) -> Measure:
        """The measure for which a density of the task has integral one, in the units of X."""
        if task.base is not None:
            return cls(task.base.mean, task.base.variance)
        return cls(unit=float(np.prod(task.scales[0])))

    def log_density(self, X: Array) -> Array:
        """Of the measure, with respect to ``unit`` times Lebesgue measure."""
        if self.mean is None or self.variance is None:
            return np.zeros(len(X))
        z = (X - self.mean) ** 2 / self.variance
        logs = -0.5 * (z + np.log(2 * np.pi * self.variance)).sum(axis=1)
        return np.asarray(logs - np.log(self.unit))

    def log_slopes(self, X: Array) -> Array:
        """Gradients of :meth:`log_density`, (n, d)."""
        if self.mean is None or self.variance is None:
            return np.zeros(X.shape)
        return (self.mean - X) / self.variance

    def draws(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Independent draws; Lebesgue measure has none."""
        if self.mean is None or self.variance is None:
            raise InvalidParameterError("Draws of an exponential model need a base measure.")
        noise = rng.standard_normal((n_samples, len(self.mean)))
        return np.asarray(self.mean + np.sqrt(self.variance) * noise)

    def products(self, bumps: Bumps) -> tuple[Array, Array, Array]:
        """Mass, centre and variance of each bump times the measure, itself a Gaussian."""
        if (bumps.precisions <= 0).any():
            raise InvalidParameterError("A function with a constant part has no integral.")
        Z, v = bumps.centres, 1 / bumps.precisions
        whole = 0.5 * np.log(2 * np.pi * v).sum(axis=1)
        if self.mean is None or self.variance is None:
            return self.unit * np.exp(whole), Z, v
        total = self.variance + v
        z = (Z - self.mean) ** 2 / total
        logs = whole - 0.5 * (z + np.log(2 * np.pi * total)).sum(axis=1)
        return np.exp(logs), (self.mean * v + Z * self.variance) / total, self.variance * v / total


@dataclass(frozen=True)
class BumpMixture(LinearModel):
    """``sum_j c_j b_j(x)``, a density with respect to ``base`` if its integral is one."""

    base: Measure = Measure()

    def logs(self, X: Array) -> Array:
        """Logarithms of the values at the rows of X, -inf where they are not positive."""
        values, shift = self.bumps.shifted(X)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(values @ self.coefficients, 0.0)) + shift)

    def integral(self, box: Array | None = None) -> float:
        """Against the base measure, over the space or a box of shape (d, 2)."""
        mass, centre, variance = self.base.products(self.bumps)
        if box is not None:
            low, high = check_box(box, centre.shape[1]).T
            root = np.sqrt(variance)
            mass = mass * (ndtr((high - centre) / root) - ndtr((low - centre) / root)).prod(axis=1)
        return float(mass @ self.coefficients)

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Exact draws, with coefficients that are not negative: a mixture of Gaussians."""
        if (self.coefficients < 0).any():
            raise InvalidParameterError(
                "A partially non-negative model may be negative somewhere, so it is no density to "
                "draw from; use model='psd' or 'ncm'."
            )
        mass, centre, variance = self.base.products(self.bumps)
        mass = mass * self.coefficients
        chosen = rng.choice(len(mass), n_samples, p=mass / mass.sum())
        noise = rng.standard_normal((n_samples, centre.shape[1]))
        return np.asarray(centre[chosen] + np.sqrt(variance[chosen]) * noise)


@dataclass(frozen=True)
class Exponential(FittedFunction):
    """``exp(intercept + g(x))``, times the density of ``tilt`` where one is given.

    ``tilt`` makes a density with respect to Lebesgue measure of one with respect to ``tilt``.
    """

    linear: LinearModel
    intercept: float = 0.0
    base: Measure = Measure()
    tilt: Measure | None = None

    def values(self, X: Array) -> Array:
        """Values at the rows of X."""
        return np.exp(self.logs(X))

    def logs(self, X: Array) -> Array:
        """Logarithms of the values."""
        logs = self.linear.values(X) + self.intercept
        return logs if self.tilt is None else logs + self.tilt.log_density(X)

    def gradients(self, X: Array) -> Array:
        """Partial derivatives at the rows of X, (n, d)."""
        slopes = self.linear.gradients(X)
        if self.tilt is not None:
            slopes = slopes + self.tilt.log_slopes(X)
        return np.asarray(self.values(X)[:, None] * slopes)

    def integral(self, box: Array | None = None) -> float:  # noqa: ARG002
        """Refused: there is no closed form."""
        raise InvalidParameterError(
            "An exponential model has no closed-form integral; use model='psd', 'pnm' or 'ncm', or "
            "count draws of sample()."
        )

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Approximate draws: draws of the base measure, resampled by their weights."""
        pool = (self.tilt or self.base).draws(POOL * n_samples, rng)
        g = self.linear.values(pool)
        p = np.exp(g - g.max())
        return np.asarray(pool[rng.choice(len(pool), n_samples, p=p / p.sum())])
