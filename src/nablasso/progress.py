"""Progress of long work: steps done, time left. Library code reports; someone else shows.

``track(results, total, label)`` passes the items of an iterable on and reports after each. Reports
go to the reporter set by :func:`reporting` (the command sets one) or, with ``verbose``, to the
``nablasso`` logger. ``run_jobs`` runs independent jobs with such reports; a :class:`Watch` says on
the logger how far one long solve is.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

PATIENCE = 2.0  # seconds between two lines of a watch, and before the first

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


def run_jobs(
    job: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    *,
    label: str,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Result]:
    """``job(*a)`` for each ``a`` of ``arguments``, with progress.

    In parallel and in a fixed order: the result is the same for any ``n_jobs``. Each job uses one
    thread of linear algebra, so that jobs neither wait for each other nor round differently.
    """
    from joblib import Parallel, delayed  # takes longer to import than a terminal should wait

    calls = (delayed(_on_one_thread)(job, a) for a in arguments)
    results: Iterable[Result] = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    return list(track(results, len(arguments), label, verbose=verbose))


def _on_one_thread(job: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    with _controller().limit(limits=1):
        return job(*arguments)


@cache
def _controller() -> Any:
    """Made once per process: to look for the libraries takes longer than many a job."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


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
