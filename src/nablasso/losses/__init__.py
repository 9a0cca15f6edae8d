"""Losses: value, gradient, curvature, conjugate, proximal operator and best intercept."""

from __future__ import annotations

from sklearn.base import clone

from nablasso.errors import InvalidParameterError
from nablasso.losses.base import Loss
from nablasso.losses.epsilon_insensitive import (
    SmoothedEpsilonInsensitive,
    SquaredEpsilonInsensitive,
)
from nablasso.losses.hinge import SmoothedHinge, SquaredHinge
from nablasso.losses.huber import Huber
from nablasso.losses.logistic import Logistic
from nablasso.losses.poisson import Poisson
from nablasso.losses.squared import Squared

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


__all__ = [
    "REGRESSION_LOSSES",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "SmoothedEpsilonInsensitive",
    "SmoothedHinge",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "as_loss",
]
