"""Where the random numbers of a generator come from."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from sklearn.utils import check_random_state

RandomSource: TypeAlias = np.random.RandomState | np.random.Generator
RandomStateLike: TypeAlias = int | RandomSource | None


def resolve_random_source(random_state: RandomStateLike) -> RandomSource:
    """Turn ``random_state`` into a source of draws.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        As in :func:`sklearn.utils.check_random_state`; a numpy ``Generator`` is used as it is.

    Returns
    -------
    RandomState or Generator
        Both have the methods the generators use (``uniform``, ``normal``, ``permutation``, ...).
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    source: np.random.RandomState = check_random_state(random_state)
    return source
