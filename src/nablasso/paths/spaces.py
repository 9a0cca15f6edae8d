"""The family of a table in the space that was asked for, or that suits the table."""

from __future__ import annotations

from typing import Any

from nablasso.data.table import Table
from nablasso.losses import Squared
from nablasso.paths.family import Family, Formulation
from nablasso.paths.feature_family import FeatureFamily
from nablasso.paths.landmark_family import LandmarkFamily
from nablasso.paths.smooth_feature_family import SmoothFeatureFamily
from nablasso.spaces import FourierSpace, NystromSpace, PenaltyPoints, SpaceChoice
from nablasso.types import Array


def family_in(
    choice: SpaceChoice,
    table: Table,
    formulation: Formulation,
    multiplier: float = 1.0,
    points: PenaltyPoints | None = None,
    metric: Array | None = None,
    *,
    n_components: int,
    random_state: Any,
) -> Family:
    """All problems of one formulation on one table, with f in the chosen space."""
    data = (table, formulation, multiplier, points, metric)
    family: Family
    if isinstance(choice.space, FourierSpace):
        kind = FeatureFamily if isinstance(formulation.loss, Squared) else SmoothFeatureFamily
        family = kind(
            *data,
            n_components=n_components,
            sampling=choice.space.sampling,
            random_state=random_state,
        )
    elif isinstance(choice.space, NystromSpace):
        family = LandmarkFamily(
            *data,
            n_components=n_components,
            landmarks=choice.space.landmarks,
            random_state=random_state,
        )
    else:
        family = Family(*data)
    family.choice = choice
    return family
