r"""Losses: ``sum_i p_i l(y_i, z_i)`` with weights ``p`` that add up to one.

A loss has value, gradient, curvature, conjugate and best intercept. Its
conjugate in the prediction is ``l*(y, s) = sup_z s z - l(y, z)``, infinite outside its domain.
Every loss is convex and once differentiable in ``z``; where a second derivative does not exist
``curvature`` is one of its generalised values. Losses are zero where the prediction is perfect.

**A tube** forgives residuals up to ``epsilon``. With the excess ``e = max(0, |y - z| - epsilon)``
and a bound ``b`` on the slope it is ``e^2`` up to ``e = b / 2``, then ``b (e - b / 4)``. Huber's
loss, ``r^2`` for residuals up to ``delta`` and then the line ``2 delta |r| - delta^2``, is a tube
that forgives nothing with ``b = 2 delta``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import expit, xlog1py, xlogy
from sklearn.base import BaseEstimator, clone

from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.kernels.base import positive, weighted_median
from nablasso.types import Array

__all__ = [
    "REGRESSION_LOSSES",
    "Huber",
    "Logistic",
    "Loss",
    "LossSample",
    "Poisson",
    "QuadraticModel",
    "Squared",
    "SquaredEpsilonInsensitive",
    "as_loss",
]

CONSTANT = 1e-24  # a loss this small relative to the size of y is rounding: y is constant
FLOOR = 1e-6  # of the largest curvature: flat pieces of a loss get this much

EPS = float(np.finfo(float).eps)
ROUNDING = 1e-12  # a dual variable may exceed its bound by rounding
INTERCEPT_STEPS = 200  # of the search for the intercept: it ends at rounding, long before
FURTHEST = 2.0**60  # of intercepts
GAUSSIAN = 1.4826  # makes the median absolute deviation of a normal distribution its deviation


class Loss(BaseEstimator, ABC):
    """A convex function of a prediction, per sample."""

    translates: ClassVar[bool] = True  # whether l(y + c, z + c) = l(y, z): y may then be centred

    @abstractmethod
    def value(self, y: Array, z: Array) -> Array:
        """``l(y, z)`` per sample."""

    @abstractmethod
    def gradient(self, y: Array, z: Array) -> Array:
        """``dl/dz`` per sample."""

    @abstractmethod
    def curvature(self, y: Array, z: Array) -> Array:
        """``d^2 l/dz^2`` per sample."""

    @abstractmethod
    def conjugate(self, y: Array, s: Array) -> Array:
        """``l*(y, s)`` per sample; infinite outside its domain."""

    def best_intercept(self, y: Array, z: Array, weights: Array) -> float:
        """``argmin_b sum_i p_i l(y_i, z_i + b)``: Newton steps inside a shrinking bracket."""

        def reach(end: float) -> float:
            """Away from zero until the slope points back."""
            while abs(end) < FURTHEST and end * float(weights @ self.gradient(y, z + end)) < 0:
                end *= 2
            return end

        low, high = reach(-1.0), reach(1.0)
        b = min(max(0.0, low), high)
        for _ in range(INTERCEPT_STEPS):
            slopes = self.gradient(y, z + b)
            here = float(weights @ slopes)
            if abs(here) <= EPS * float(weights @ np.abs(slopes)):
                break
            low, high = (low, b) if here > 0 else (b, high)
            bend = float(weights @ self.curvature(y, z + b))
            new = b - here / bend if bend > 0 else np.inf
            new = new if low < new < high else (low + high) / 2
            if abs(new - b) <= EPS * max(abs(b), 1e-3):
                break
            b = float(new)
        return b

    def fitted(self, y: Array, weights: Array) -> Self:  # noqa: ARG002
        """The loss in the units of ``y``; the loss itself where it has no unit."""
        return self

    def check_target(self, y: Array) -> None:
        """Refuse targets for which the loss makes no sense."""

    def mean(self, z: Array) -> Array:
        """Prediction in the units of ``y``."""
        return z

    def mean_derivative(self, z: Array) -> Array:
        """Derivative of :meth:`mean`."""
        return np.ones_like(z)


class Logistic(Loss):
    """Minus the log-likelihood of a label whose log-odds are the prediction."""

    translates = False

    def value(self, y: Array, z: Array) -> Array:
        """``log(1 + exp(-y z))``."""
        return np.logaddexp(0.0, -y * z)

    def gradient(self, y: Array, z: Array) -> Array:
        """``-y / (1 + exp(y z))``."""
        return np.asarray(-y * expit(-y * z))

    def curvature(self, y: Array, z: Array) -> Array:  # noqa: ARG002
        """``1 / ((1 + exp(z)) (1 + exp(-z)))``."""
        return np.asarray(expit(z) * expit(-z))

    def conjugate(self, y: Array, s: Array) -> Array:
        """Negative entropy of ``-s y``, infinite unless that lies in [0, 1]."""
        a = -s * y
        inside = (a >= 0) & (a <= 1)
        a = np.where(inside, a, 0.0)
        return np.where(inside, xlogy(a, a) + xlog1py(1 - a, -a), np.inf)

    def check_target(self, y: Array) -> None:
        """Labels are -1 and 1, both present."""
        if not np.array_equal(np.unique(y), [-1.0, 1.0]):
            raise InvalidDataError(
                "The logistic loss needs labels -1 and 1, both present; got "
                f"{np.unique(y)[:10].tolist()}. Use a classifier, which takes any labels."
            )

    def mean(self, z: Array) -> Array:
        """Probability of the label 1."""
        return np.asarray(expit(z))

    def mean_derivative(self, z: Array) -> Array:
        """That of a canonical link: the curvature."""
        return self.curvature(z, z)


class Poisson(Loss):
    """For counts and other targets that are not negative; the prediction is the log of the mean."""

    translates = False

    def value(self, y: Array, z: Array) -> Array:
        """``exp(z) - y z + y log y - y``."""
        return self.mean(z) - y * z + xlogy(y, y) - y

    def gradient(self, y: Array, z: Array) -> Array:
        """``exp(z) - y``."""
        return self.mean(z) - y

    def curvature(self, y: Array, z: Array) -> Array:  # noqa: ARG002
        """``exp(z)``."""
        return self.mean(z)

    def conjugate(self, y: Array, s: Array) -> Array:
        """``a log a - a - y log y + y`` with ``a = s + y``, infinite for negative ``a``."""
        a = s + y
        inside = a >= 0
        a = np.where(inside, a, 0.0)
        return np.where(inside, xlogy(a, a) - a - xlogy(y, y) + y, np.inf)

    def best_intercept(self, y: Array, z: Array, weights: Array) -> float:
        """Log of the ratio of the means of ``y`` and ``exp(z)``."""
        top = float(z.max())  # exp of large numbers would overflow
        return float(np.log((weights @ y) / (weights @ np.exp(z - top)))) - top

    def check_target(self, y: Array) -> None:
        """Targets are not negative, and not all zero."""
        if (y < 0).any() or not (y > 0).any():
            raise InvalidDataError(
                f"The Poisson loss needs targets of at least zero, some of them positive; got "
                f"values from {y.min():g} to {y.max():g}."
            )

    def mean(self, z: Array) -> Array:
        """``exp(z)``."""
        with np.errstate(over="ignore"):
            return np.exp(z)

    mean_derivative = mean


class _Tube(Loss):
    """``e^2`` of an excess while its slope is under ``bound``, then a line."""

    epsilon: float = 0.0
    bound: float = np.inf
    corner: ClassVar[bool] = True  # whether something is forgiven, so that curvature begins

    def _excess(self, y: Array, z: Array) -> Array:
        return np.asarray(np.maximum(np.abs(z - y) - self.epsilon, 0.0))

    def value(self, y: Array, z: Array) -> Array:
        """``e^2``, then ``b (e - b / 4)``."""
        excess = self._excess(y, z)
        near = np.minimum(excess, self.bound / 2)
        return np.asarray(near * (2 * excess - near))

    def gradient(self, y: Array, z: Array) -> Array:
        """``min(b, 2 e)`` away from the target."""
        return np.asarray(np.sign(z - y) * np.minimum(2 * self._excess(y, z), self.bound))

    def curvature(self, y: Array, z: Array) -> Array:
        """2 where the loss is neither zero nor a line."""
        excess = self._excess(y, z)
        bent = (excess > 0) | (not self.corner)
        return np.where(bent & (excess <= self.bound / 2), 2.0, 0.0)

    def conjugate(self, y: Array, s: Array) -> Array:
        """``s y + epsilon |s| + s^2 / 4``, infinite beyond the bound."""
        inside = np.abs(s) <= self.bound * (1 + ROUNDING) + ROUNDING
        return np.where(inside, s * y + self.epsilon * np.abs(s) + s**2 / 4, np.inf)

    def fitted(self, y: Array, weights: Array) -> Self:
        """Every threshold times a robust deviation of ``y``."""
        unit = robust_deviation(y, weights)
        own = self.get_params(deep=False)
        return type(self)(**{name: unit * positive(value, name) for name, value in own.items()})


class Squared(_Tube):
    """The loss of least squares ``(y - z)^2``: a tube that forgives nothing, without a bound."""

    corner = False

    def best_intercept(self, y: Array, z: Array, weights: Array) -> float:
        """Weighted mean of the residuals."""
        return float(weights @ (y - z))


class Huber(_Tube):
    """Least squares that a few wild targets cannot dominate.

    Parameters
    ----------
    delta : float
        Residuals beyond it count linearly. Estimators take it in units of a robust deviation of
        ``y`` (1.48 times the median absolute deviation).
    """

    corner = False

    def __init__(self, delta: float = 0.5) -> None:
        self.delta = delta

    @property
    def bound(self) -> float:  # type: ignore[override]
        """The largest slope."""
        return 2 * self.delta


class SquaredEpsilonInsensitive(_Tube):
    """Least squares that forgives residuals up to ``epsilon``.

    Parameters
    ----------
    epsilon : float
        Estimators take it in units of a robust deviation of ``y`` (1.48 times the median absolute
        deviation).
    """

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = epsilon


def robust_deviation(y: Array, weights: Array) -> float:
    """1.48 times the median absolute deviation; the standard deviation where that is zero."""
    centre = weighted_median(y, weights)
    deviation = GAUSSIAN * weighted_median(np.abs(y - centre), weights)
    if deviation == 0.0:
        deviation = float(np.sqrt(weights @ (y - weights @ y) ** 2))
    return deviation or 1.0


REGRESSION_LOSSES: dict[str, type[Loss]] = {
    "squared": Squared,
    "huber": Huber,
    "epsilon_insensitive_squared": SquaredEpsilonInsensitive,
    "poisson": Poisson,
}


def as_loss(loss: str | Loss) -> Loss:
    """Return the loss that a name or an object stands for; an object is copied."""
    if isinstance(loss, Loss):
        made: Loss = clone(loss)
        return made
    if not isinstance(loss, str) or loss not in REGRESSION_LOSSES:
        raise InvalidParameterError(
            f"loss must be one of {', '.join(REGRESSION_LOSSES)} or a nablasso.losses.Loss object; "
            f"got {loss!r}."
        )
    return REGRESSION_LOSSES[loss]()


class QuadraticModel(NamedTuple):
    """``sum_i q_i (target_i - z_i)^2`` plus a constant."""

    weights: Array
    target: Array


@dataclass(frozen=True)
class LossSample:
    """Targets, weights (adding up to one) and loss: what every problem begins with."""

    y: Array
    weights: Array
    loss: Loss
    fit_intercept: bool = True

    def intercept(self, values: Array) -> float:
        """The best intercept of a function with these values; zero where there is none."""
        if not self.fit_intercept:
            return 0.0
        return self.loss.best_intercept(self.y, values, self.weights)

    def mean_loss(self, predictions: Array) -> float:
        """``sum_i p_i l(y_i, z_i)``."""
        return float(self.weights @ self.loss.value(self.y, predictions))

    def conjugate(self, dual: Array) -> float:
        """``sum_i p_i l*(y_i, -dual_i / p_i)``."""
        return float(self.weights @ self.loss.conjugate(self.y, -dual / self.weights))

    @cached_property
    def null(self) -> Array:
        """Predictions at ``f = 0``."""
        return np.full_like(self.y, self.intercept(np.zeros_like(self.y)))

    @cached_property
    def reference(self) -> float:
        """Objective at ``f = 0``, the unit of tolerances; where y is constant its size, or one."""
        at_zero, size = self.mean_loss(self.null), float(self.weights @ self.y**2)
        return at_zero if at_zero > CONSTANT * size else max(size, 1.0)

    def expansion(self, z: Array) -> QuadraticModel:
        """Of second order at predictions; curvatures have a floor, so every target is finite."""
        half = self.loss.curvature(self.y, z) / 2
        top = float(half.max())
        half = np.maximum(half, FLOOR * top if top > 0 else 1.0)
        return QuadraticModel(self.weights * half, z - self.loss.gradient(self.y, z) / (2 * half))
