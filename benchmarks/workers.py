"""Processes that measure one task at a time, within limits of seconds and of memory.

A contestant that runs over its time, or dies of a fault of its own, gives a row that says so, and a
fresh process takes the place of its own. The limit is one of processor time, so that a busy machine
harms nobody; who waits without working is stopped after ``PATIENCE`` times as many seconds.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path

from benchmarks.measure import Task, failed, measure
from benchmarks.store import Row

OVER = "over the limit of"  # how the status of a row begins whose contestant was stopped
PATIENCE = 20
# A fresh interpreter per process: forked thread pools can hang.
_CONTEXT = get_context("spawn")


def _serve(tasks: Connection, gib: float) -> None:
    """Measure what comes; more memory than allowed is an error of the contestant."""
    size = int(gib * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    tasks.send(None)  # imports are done: from here on the time counts
    try:
        while True:
            tasks.send(measure(tasks.recv()))
    except (EOFError, BrokenPipeError):
        return  # nobody asks any more


class Worker:
    """One process and the task that it has."""

    def __init__(self, gib: float) -> None:
        self.here, there = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_serve, args=(there, gib), daemon=True)
        self._process.start()
        there.close()  # so that the death of the process is seen as the end of the pipe

    def begin(self, task: Task) -> None:
        """Hand over a task."""
        self.task = task
        self._start()
        self.here.send(task)

    def _start(self) -> None:
        self._since, self._worked = time.monotonic(), self._processor()

    def _processor(self) -> float:
        """Processor seconds of the process and of those it called; wall where no one tells."""
        path = Path(f"/proc/{self._process.pid}/stat")
        if not path.exists():
            return time.monotonic()
        ticks = path.read_text().rpartition(")")[2].split()[11:15]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def row(self, limit: float) -> Row | None:
        """Its row; None while it works and has time, and when it has just come up."""
        seconds = time.monotonic() - self._since
        if self.here.poll():
            try:
                row = self.here.recv()
                self._start()
                return row
            except EOFError:
                self._process.join()
                return failed(self.task, f"died with code {self._process.exitcode}", seconds)
        if self._processor() - self._worked < limit and seconds < PATIENCE * limit:
            return None
        self.end()
        return failed(self.task, f"{OVER} {limit:g} processor seconds", seconds)

    @property
    def alive(self) -> bool:
        """Whether it can take another task."""
        return self._process.is_alive()

    def end(self) -> None:
        """Stop the process."""
        self._process.kill()
        self._process.join()


def measured(work: Iterator[Task], jobs: int, limit: float, gib: float) -> Iterator[Row]:
    """Rows in the order in which they are ready; with no jobs, in this process without limits."""
    if jobs == 0:
        yield from map(measure, work)
        return
    idle, busy = [Worker(gib) for _ in range(jobs)], list[Worker]()
    try:
        while True:
            while idle and (task := next(work, None)) is not None:
                busy.append(idle.pop())
                busy[-1].begin(task)
            if not busy:
                return
            wait([worker.here for worker in busy], timeout=1.0)
            for worker in list(busy):
                row = worker.row(limit)
                if row is not None:
                    busy.remove(worker)
                    idle.append(worker if worker.alive else Worker(gib))
                    yield row
    finally:
        for worker in (*idle, *busy):
            worker.end()
