"""Losses: value, gradient, conjugate and proximal operator."""

from nablasso.losses.base import Loss
from nablasso.losses.squared import Squared

__all__ = ["Loss", "Squared"]
