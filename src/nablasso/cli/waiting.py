"""A line on the terminal that says how long it will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress import Progress as Bars
from rich.table import Column
from rich.text import Text

from nablasso.progress import Progress, reporting


class TimeLeft(ProgressColumn):
    """Counts down to the time estimated at the last report; before the first, counts up."""

    def render(self, task: Task) -> Text:
        """The column's text."""
        deadline = task.fields.get("deadline")
        if deadline is None:
            return Text(f"{task.elapsed or 0.0:.0f} s so far")
        return Text(f"about {max(deadline - time.monotonic(), 0.0):.0f} s left")


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show the progress of library calls on standard error, if that is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    label = TextColumn("{task.description}", table_column=Column())  # gives way in narrow windows
    columns = (SpinnerColumn(), label, BarColumn(10), TimeLeft(Column(no_wrap=True)))
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("fitting", total=None)

        def show(progress: Progress) -> None:
            nonlocal task
            bars.update(
                task,
                description=f"{progress.label}: {progress.done} of {progress.total}",
                completed=progress.done,
                total=progress.total,
                deadline=time.monotonic() + progress.seconds_left,
                refresh=True,
            )
            if progress.done == progress.total:  # what follows may report again, or be the end
                bars.update(task, visible=False)
                task = bars.add_task("fitting", total=None)

        with reporting(show):
            yield
