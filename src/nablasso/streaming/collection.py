"""Sufficient statistics of a table in blocks: one pass, with checkpoints, or on a cluster.

Without a cluster a checkpoint is a file of statistics with notes: the fingerprint of the table and
the number of rows that are in. It is replaced in one step, so a kill while it is written leaves the
one before. Ctrl-C waits for the block at hand, writes a checkpoint and stops; a second one stops at
once. The same call again continues where the checkpoint stands and gives the same sums to the last
bit.
"""

from __future__ import annotations

import operator
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from nablasso.errors import InvalidDataError, StatisticsFileError
from nablasso.progress import track
from nablasso.streaming.cluster import Cluster
from nablasso.streaming.frozen import FrozenSpace, check_names
from nablasso.streaming.reading import Raw, Rows
from nablasso.streaming.sources import Source
from nablasso.streaming.statistics import SufficientStatistics

EVERY = 60.0  # seconds between checkpoints


def collect_statistics(
    source: Source,
    space: FrozenSpace,
    *,
    n_folds: int = 5,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = EVERY,
    n_threads: int | None = None,
    verbose: int = 0,
) -> SufficientStatistics:
    """Statistics of all rows of a table.

    Parameters
    ----------
    source : Source
        Of :func:`nablasso.streaming.open_table`. With a client its workers add up their parts; the
        sums are the same to the last bit for any number of them.
    space : FrozenSpace
    n_folds : int
        Folds of a later cross-validation.
    checkpoint : path-like, optional
        A file to continue from, if it is there, and to write now and then and at the end; not on a
        cluster.
    every : float
        Seconds between checkpoints.
    n_threads : int, optional
        As many as the linear algebra would use by default.
    verbose : int
        Whether to log progress and the time left.

    Returns
    -------
    SufficientStatistics
        Solve with ``fit_statistics``.

    Raises
    ------
    InvalidDataError
        If a block has other columns than the space, or a value that is not finite; the message
        names file, row and column.
    StatisticsFileError
        If the checkpoint is damaged, or belongs to another space or table.
    WorkersTimeoutError
        If the workers of a cluster finish nothing for too long.

    Warns
    -----
    DriftWarning
        If means or deviations differ from those of the subsample that froze the space.
    """
    if source.named and space.feature_names is not None:
        check_names(space.names, list(source.names), "The source")
    if isinstance(source.runner, Cluster):
        task = partial(_statistics_of, space=space, n_folds=n_folds)
        found = source.fold(task, operator.add, "Partitions")
        statistics = found or SufficientStatistics(space, n_folds)
    else:
        job = _Pass(source, space, n_folds, checkpoint)
        job.resume()
        with _interrupts_deferred() as interrupted:
            try:
                job.run(every, n_threads, verbose, interrupted)
            finally:
                job.save()
        statistics = job.statistics
    if not statistics.n_samples:
        raise InvalidDataError("The source has no rows of positive weight. Check what it reads.")
    statistics.warn_of_drift()
    return statistics


def _statistics_of(rows: Rows, space: FrozenSpace, n_folds: int) -> SufficientStatistics:
    """Sums over a block; runs on a worker."""
    return SufficientStatistics(space, n_folds).partial_fit(
        rows.X, rows.y, rows.weight, n_threads=1
    )


class _Pass:
    """Statistics, and how many rows of the table are in them."""

    def __init__(
        self,
        source: Source,
        space: FrozenSpace,
        n_folds: int,
        checkpoint: str | os.PathLike[str] | None,
    ) -> None:
        self.source = source
        self.statistics = SufficientStatistics(space, n_folds)
        self.path = None if checkpoint is None else Path(checkpoint)
        self.rows, self.saved = 0, 0

    def resume(self) -> None:
        """Take up a checkpoint, if there is one."""
        if self.path is None or not self.path.exists():
            return
        found, notes = SufficientStatistics.load_with_notes(self.path, self.statistics.space)
        self._check(found, notes)
        self.statistics = found
        self.rows = self.saved = int(notes["rows"])

    def run(
        self, every: float, n_threads: int | None, verbose: int, interrupted: Callable[[], bool]
    ) -> None:
        """Add the blocks that are missing."""
        last, skipped = time.monotonic(), self.rows
        parts = self.source.parts
        for part in track(parts, len(parts), "Parts", verbose=verbose):
            if part.n_rows is not None and part.n_rows <= skipped:
                skipped -= part.n_rows
                continue
            for raw in part.blocks():
                done = min(skipped, len(raw.y))
                skipped -= done
                if done == len(raw.y):
                    continue
                self._add(raw, done, n_threads)
                if time.monotonic() - last >= every:
                    self.save()
                    last = time.monotonic()
                if interrupted():
                    raise KeyboardInterrupt

    def _add(self, raw: Raw, done: int, n_threads: int | None) -> None:
        assert raw.X is not None
        weight = None if raw.weight is None else raw.weight[done:]
        self.statistics.partial_fit(
            raw.X[done:],
            raw.y[done:],
            weight,
            origin=raw.origin,
            first_row=raw.first_row + done,
            n_threads=n_threads,
        )
        self.rows += len(raw.y) - done

    def save(self) -> None:
        """Write a checkpoint, unless nothing is new or a block is in by half."""
        if self.path is None or self.rows == self.saved or not self.statistics.is_whole:
            return
        notes = {"source": self.source.fingerprint, "rows": self.rows}
        self.statistics.save(self.path, notes=notes)
        self.saved = self.rows

    def _check(self, found: SufficientStatistics, notes: dict[str, Any]) -> None:
        if "rows" not in notes:
            trouble = "holds statistics, but is no checkpoint of a pass"
        elif notes["source"] != self.source.fingerprint:
            trouble = "was made from other files, other columns or other weights"
        elif found.n_folds != self.statistics.n_folds:
            trouble = f"has {found.n_folds} folds, not {self.statistics.n_folds}"
        else:
            return
        raise StatisticsFileError(
            f"{self.path} {trouble}, so the pass cannot continue from it. Name another checkpoint, "
            "or delete this one to begin again."
        )


@contextmanager
def _interrupts_deferred() -> Iterator[Callable[[], bool]]:
    """Note the first Ctrl-C instead of raising; the function says whether there was one."""
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not ours or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if asked:
            signal.default_int_handler(number, frame)
        asked.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(asked)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
