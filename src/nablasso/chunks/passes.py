"""One pass over a source, with checkpoints: a stop of any kind loses a minute at most.

A checkpoint is a file of statistics with notes: the fingerprint of the source and the number of
rows that are in. It is replaced in one step, so a kill while it is written leaves the one before.
Ctrl-C waits for the chunk at hand, writes a checkpoint and stops; a second one stops at once. The
same call again continues where the checkpoint stands and gives the same sums to the last bit.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from nablasso.chunks.base import ChunkSource
from nablasso.errors import InvalidDataError, StatisticsFileError
from nablasso.progress import track
from nablasso.spaces.chunk_checks import check_names
from nablasso.spaces.frozen import FrozenSpace
from nablasso.spaces.statistics import SufficientStatistics

EVERY = 60.0  # seconds between checkpoints


def collect_statistics(
    source: ChunkSource,
    space: FrozenSpace,
    *,
    n_folds: int = 5,
    checkpoint: str | os.PathLike[str] | None = None,
    every: float = EVERY,
    n_threads: int | None = None,
    verbose: int = 0,
) -> SufficientStatistics:
    """Statistics of all rows of a source.

    Parameters
    ----------
    source : ChunkSource
    space : FrozenSpace
    n_folds : int
        Folds of a later cross-validation.
    checkpoint : path-like, optional
        A file to continue from, if it is there, and to write now and then and at the end.
    every : float
        Seconds between checkpoints.
    n_threads : int, optional
        As many as the linear algebra would use by default.
    verbose : int
        Whether to log progress and the time left.

    Returns
    -------
    SufficientStatistics

    Raises
    ------
    InvalidDataError
        If a chunk has other columns than the space, or a value that is not finite; the message
        names file, row and column.
    StatisticsFileError
        If the checkpoint is damaged, or belongs to another space or source.

    Warns
    -----
    DriftWarning
        If means or deviations differ from those of the subsample that froze the space.
    """
    if source.names is not None and space.feature_names is not None:
        check_names(space.names, list(source.names), "The source")
    job = _Pass(source, space, n_folds, checkpoint)
    job.resume()
    with _interrupts_deferred() as interrupted:
        try:
            job.run(every, n_threads, verbose, interrupted)
        finally:
            job.save()
    if not job.statistics.n_samples:
        raise InvalidDataError("The source has no rows of positive weight. Check what it reads.")
    job.statistics.warn_of_drift()
    return job.statistics


class _Pass:
    """Statistics, and how many rows and chunks of the source are in them."""

    def __init__(
        self,
        source: ChunkSource,
        space: FrozenSpace,
        n_folds: int,
        checkpoint: str | os.PathLike[str] | None,
    ) -> None:
        self.source = source
        self.statistics = SufficientStatistics(space, n_folds)
        self.path = None if checkpoint is None else Path(checkpoint)
        self.fingerprint = "" if self.path is None else source.fingerprint()
        self.rows, self.chunks, self.saved = 0, 0, 0

    def resume(self) -> None:
        """Take up a checkpoint, if there is one."""
        if self.path is None or not self.path.exists():
            return
        found, notes = SufficientStatistics.load_with_notes(self.path, self.statistics.space)
        self._check(found, notes)
        self.statistics = found
        self.rows = self.saved = int(notes["rows"])
        self.chunks = int(notes["chunks"])

    def run(
        self, every: float, n_threads: int | None, verbose: int, interrupted: Callable[[], bool]
    ) -> None:
        """Add the chunks that are missing."""
        left = max(1, self.source.n_chunks - self.chunks)
        last = time.monotonic()
        chunks = self.source.chunks(self.rows)
        for X, y, weights, origin, first in track(chunks, left, "Chunks", verbose=verbose):
            self.statistics.partial_fit(
                X, y, weights, origin=origin, first_row=first, n_threads=n_threads
            )
            self.rows += len(X)
            self.chunks += 1
            if time.monotonic() - last >= every:
                self.save()
                last = time.monotonic()
            if interrupted():
                raise KeyboardInterrupt

    def save(self) -> None:
        """Write a checkpoint, unless nothing is new or a chunk is in by half."""
        if self.path is None or self.rows == self.saved or not self.statistics.is_whole:
            return
        notes = {"source": self.fingerprint, "rows": self.rows, "chunks": self.chunks}
        self.statistics.save(self.path, notes=notes)
        self.saved = self.rows

    def _check(self, found: SufficientStatistics, notes: dict[str, Any]) -> None:
        if "rows" not in notes:
            trouble = "holds statistics, but is no checkpoint of a pass"
        elif notes["source"] != self.fingerprint:
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
