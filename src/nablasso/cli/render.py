"""Printing a result, as text for people or as JSON for programs.

Names from the table are never read as markup, and everything wraps at the width of the terminal.
During a fit a line on the terminal says how long it will take.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from rich.console import Console, JustifyMethod
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from nablasso.answer import Answer
from nablasso.progress import Progress, is_reported, reporting

EVERY = 10.0  # seconds between two lines of progress where there is no terminal


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


def print_error(message: str) -> None:
    """Say on standard error what went wrong."""
    console = Console(stderr=True)
    line = "".join(c if c.isprintable() else " " for c in message)
    text = Text.assemble(("nablasso: ", "bold red"), line)
    console.print(text, soft_wrap=not console.is_terminal)


def print_text(text: str, style: str = "") -> None:
    """A paragraph on standard output."""
    Console().print(Text(text, style))


def print_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[bool] | None = None
) -> None:
    """A table on standard output; the first column to the left, numbers (or all) to the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="underline")
    for place, name in enumerate(headers):
        justify: JustifyMethod = (
            "right" if place and (numbers is None or numbers[place]) else "left"
        )
        table.add_column(Text(name), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def print_notes(word: str, sentences: Sequence[str]) -> None:
    """Sentences after what they are about."""
    console = Console()
    for sentence in sentences:
        console.print()
        console.print(Text.assemble((f"{word}: ", "bold yellow"), sentence))


def print_answer(answer: Answer, more: Sequence[tuple[str, str]], notes: Sequence[str]) -> None:
    """The answer in a sentence, the selected columns, then how far to trust them, and why."""
    console = Console()
    console.print(Text(answer.headline(), "bold"))
    if answer.selected:
        headers, rows = answer.table()
        left = ("Column", "Group", "Shape", "Certified", "Replaceable by")
        print_table(headers, rows, numbers=[name not in left for name in headers])
        console.print(Text(answer.legend(), "dim"))
    console.print()
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for label, sentence in (*answer.facts(), *more):
        grid.add_row(label, Text(sentence))
    console.print(grid)
    print_notes("Caution", answer.cautions)
    print_notes("Note", notes)


@contextmanager
def shown_progress() -> Iterator[None]:
    """Show the progress of library calls on standard error.

    One line that moves on a terminal; elsewhere a line of its own now and then, at most one in 10
    seconds (or what NABLASSO_PROGRESS says), so that short work leaves none. Inside another one it
    does nothing.
    """
    if is_reported():
        yield
        return
    if sys.stderr.isatty():
        console, look = Console(stderr=True), partial(Spinner, "dots")
        with (
            Live(look("fitting"), console=console, transient=True) as line,
            reporting(lambda progress: line.update(look(str(progress)), refresh=True)),
        ):
            yield
        return
    every, said = float(os.environ.get("NABLASSO_PROGRESS", EVERY)), [time.monotonic()]

    def told(progress: Progress) -> None:
        if time.monotonic() - said[-1] >= every:
            said.append(time.monotonic())
            print_error(str(progress))

    with reporting(told):
        yield
