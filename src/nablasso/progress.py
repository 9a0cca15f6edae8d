r"""Progress of long work: one fraction of the whole, time left. Code reports; someone else shows.

``track(results, total, label)`` passes the items of an iterable on and reports after each. Work
inside work is a part of it: while item k of n of the outer work is done, inner work that has come
to the fraction f moves the whole towards ``(k - 1 + f) / n``, so there is one overall fraction that
never falls, and the time left is ``seconds (1 - F) / F``, in seconds since the outermost began.
Items that take unequally long have ``shares``. Of several pieces of inner work in a row each takes
four fifths of what is left of the item: nobody knows how many will follow.

Reports go to the reporter set by :func:`reporting` (the command sets one) or, with ``verbose``, to
the ``nablasso`` logger. ``run_jobs`` runs independent jobs with such reports.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

INNER = 0.8  # of what is left of an item that a piece of inner work is taken for

logger = logging.getLogger("nablasso")


class Progress(NamedTuple):
    """How far work has come: steps of the innermost, fraction and seconds of the whole."""

    label: str
    done: int
    total: int
    fraction: float
    seconds: float

    @property
    def seconds_left(self) -> float:
        """Estimate from the fraction that is done; infinite at the start."""
        return self.seconds * (1 / self.fraction - 1) if self.fraction > 0 else float("inf")

    def __str__(self) -> str:
        left = f", about {self.seconds_left:.0f} s left" if 0 < self.fraction < 1 else ""
        return f"{self.label}: {self.done} of {self.total} ({self.fraction:.0%} of all{left})"


Reporter = Callable[[Progress], None]

_reporter: ContextVar[Reporter | None] = ContextVar("nablasso_reporter", default=None)
_works: ContextVar[tuple[_Work, ...]] = ContextVar("nablasso_works", default=())


class _Work:
    """A piece of work inside others: where its item begins, how long it is, what is done of it."""

    def __init__(self, shares: Sequence[float]) -> None:
        self.started = time.monotonic()
        self.ends = [0.0, *accumulate(share / sum(shares) for share in shares)]
        self.done = 0
        self.inside = 0.0  # of the item at hand, by inner work

    @property
    def fraction(self) -> float:
        """Of this work."""
        if self.done >= len(self.ends) - 1:
            return 1.0
        length = self.ends[self.done + 1] - self.ends[self.done]
        return self.ends[self.done] + self.inside * length


def is_reported() -> bool:
    """Whether someone shows the progress already."""
    return _reporter.get() is not None


@contextmanager
def _working(shares: Sequence[float]) -> Iterator[tuple[tuple[_Work, ...], _Work]]:
    """The works around, and one inside of them as long as the block lasts."""
    outer, own = _works.get(), _Work(shares)
    _works.set((*outer, own))
    try:
        yield outer, own
    finally:  # of work that was broken off this may come late, inside other work
        if own in _works.get():
            _works.set(outer)


@contextmanager
def stages(*shares: float) -> Iterator[Callable[[], None]]:
    """Work in stages of expected ``shares``; call what is yielded at the end of each."""
    with _working(shares) as (_, own):

        def ended() -> None:
            own.done, own.inside = own.done + 1, 0.0

        yield ended


@contextmanager
def reporting(reporter: Reporter) -> Iterator[None]:
    """Send all progress inside the ``with`` block to ``reporter``, as one whole that begins here.

    Work that was broken off before, and that a traceback may still hold, is no part of it.
    """
    before, works = _reporter.set(reporter), _works.set(())
    try:
        yield
    finally:
        _works.reset(works)
        _reporter.reset(before)


def track(
    items: Iterable[Item],
    total: int,
    label: str,
    *,
    verbose: int = 0,
    shares: Sequence[float] | None = None,
) -> Iterator[Item]:
    """Pass ``items`` on; report after each. ``shares`` are expected times, in any unit."""
    with _working([1.0] * max(total, 1) if shares is None else shares) as (outer, own):
        began = outer[-1].inside if outer else 0.0
        for done, item in enumerate(items, start=1):
            yield item
            own.done, own.inside = done, 0.0
            fraction = own.fraction
            if outer:
                outer[-1].inside = began + INNER * (1 - began) * fraction
                for above, below in zip(outer[-2::-1], outer[:0:-1], strict=True):
                    above.inside = max(above.inside, INNER * below.fraction)
                fraction = outer[0].fraction
            seconds = time.monotonic() - (outer[0] if outer else own).started
            progress = Progress(label, done, total, fraction, seconds)
            reporter = _reporter.get()
            if reporter is not None:
                reporter(progress)
            elif verbose:
                logger.warning("%s", progress)


def run_jobs(
    job: Callable[..., Result],
    arguments: Sequence[tuple[Any, ...]],
    *,
    label: str,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Iterator[Result]:
    """``job(*a)`` for each ``a`` of ``arguments``, with progress.

    In parallel and in a fixed order: the result is the same for any ``n_jobs``. Each job uses one
    thread of linear algebra, so that jobs neither wait for each other nor round differently.
    """
    from joblib import Parallel, delayed  # takes longer to import than a terminal should wait

    calls = (delayed(_on_one_thread)(job, a) for a in arguments)
    results: Iterable[Result] = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    return track(results, len(arguments), label, verbose=verbose)


def _on_one_thread(job: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    with _controller().limit(limits=1):
        return job(*arguments)


@cache
def _controller() -> Any:
    """Made once per process: to look for the libraries takes longer than many a job."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
