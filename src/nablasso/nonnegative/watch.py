"""Words on the logger during a fit that takes longer than a moment."""

from __future__ import annotations

import time

from nablasso.progress import logger

PATIENCE = 2.0  # seconds between two lines, and before the first


class Watch:
    """Called after every evaluation of the dual; says how far it is now and then."""

    def __init__(self, verbose: int) -> None:
        self._verbose = verbose
        self._started = self._said = time.monotonic()

    def __call__(self, n_evaluations: int, gap: float) -> None:
        """Log the gap if nothing was said for a while."""
        now = time.monotonic()
        if self._verbose and now - self._said >= PATIENCE:
            self._said = now
            logger.info(
                "non-negative functions: %d evaluations, duality gap %.1e, %.0f s",
                n_evaluations,
                gap,
                now - self._started,
            )
