"""Progress of long work: steps done, time left. Library code reports; someone else shows.

``track(results, total, label)`` passes the items of an iterable on and reports after each. Reports
go to the reporter set by :func:`reporting` (the command sets one) or, with ``verbose``, to the
``nablasso`` logger.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

Item = TypeVar("Item")

logger = logging.getLogger("nablasso")


class Progress(NamedTuple):
    """How far a piece of work has come."""

    label: str
    done: int
    total: int
    seconds: float

    @property
    def seconds_left(self) -> float:
        """Estimate from the mean time of the steps done."""
        return self.seconds * (self.total - self.done) / max(self.done, 1)


Reporter = Callable[[Progress], None]

_reporter: ContextVar[Reporter | None] = ContextVar("nablasso_reporter", default=None)


@contextmanager
def reporting(reporter: Reporter) -> Iterator[None]:
    """Send all progress inside the ``with`` block to ``reporter``."""
    token = _reporter.set(reporter)
    try:
        yield
    finally:
        _reporter.reset(token)


def track(items: Iterable[Item], total: int, label: str, *, verbose: int = 0) -> Iterator[Item]:
    """Pass ``items`` on; report after each."""
    start = time.monotonic()
    for done, item in enumerate(items, start=1):
        yield item
        progress = Progress(label, done, total, time.monotonic() - start)
        reporter = _reporter.get()
        if reporter is not None:
            reporter(progress)
        elif verbose:
            logger.warning(
                "%s: %d of %d, about %.0f s left", label, done, total, progress.seconds_left
            )
