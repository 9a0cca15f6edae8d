"""Printing a result, as text for people or as JSON for programs.

Names from the table are never read as markup, and everything wraps at the width of the terminal.
During a fit a line on the terminal says how long it will take.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from textwrap import indent
from typing import Any

from rich.console import Console, JustifyMethod
from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.progress import Progress as Bars
from rich.table import Column, Table
from rich.text import Text

from nablasso.cli.result import Result, Variable
from nablasso.data.encoding import listed
from nablasso.progress import Progress, reporting

STATUS = {
    "clear": "clear",
    "twins": "twins: another column could stand for a selected one",
    "too few rows": "too few rows to be sure: another draw of rows may select other columns",
    "interrupted": "interrupted: only a part of the work was done",
    "doubtful": "doubtful: see the cautions below",
    "none found": "none found: predictions do not depend on any column",
}
LONG_NUMBER = re.compile(r"\d+\.\d{4,}(e-?\d+)?")
SHOWN_PAIRS = 3
FEW_VALUES = 10  # of a target of numbers that may mean classes
WEAK_PAIR = 0.01  # pairs under this share are not worth a line


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


def print_code(lines: str) -> None:
    """Indented lines on standard output."""
    Console().print(Text(indent(lines, "  "), "cyan"))


def print_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = True
) -> None:
    """A table on standard output; the first column to the left, numbers to the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="underline")
    for place, name in enumerate(headers):
        justify: JustifyMethod = "right" if place and numbers else "left"
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


def print_result(result: Result) -> None:
    """The answer in a sentence, the selected variables, then how far to trust them."""
    console = Console()
    console.print(Text(result.answer(), "bold"))
    if result.selected:
        console.print(_variable_table(result))
        console.print(Text(_legend(result), "dim"))
    console.print()
    console.print(_details(result))
    print_notes("Caution", result.cautions)
    print_notes("Note", result.warnings)


def _variable_table(result: Result) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="underline")
    columns = _shown_columns(result)
    for name in columns:
        right = name in ("Strength", "Nats", "p-value")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for variable in result.selected:
        table.add_row(*(_cell(variable, name) for name in columns))
    return table


def _shown_columns(result: Result) -> list[str]:
    """What is known about the selected variables."""
    chosen = result.selected
    optional = {
        "Group": any(variable.group for variable in chosen),
        "p-value": any(variable.p_value is not None for variable in chosen),
        "Alternatives": any(variable.alternatives for variable in chosen),
    }
    optional["Nats"] = not optional["p-value"] and any(v.evidence is not None for v in chosen)
    order = ("Column", "Group", "Strength", "Nats", "p-value", "Certified", "Alternatives")
    return [name for name in order if optional.get(name, True)]


def _cell(variable: Variable, name: str) -> Text:
    if name == "Certified":
        return Text("yes", "green") if variable.certified else Text("no", "yellow")
    values = {
        "Column": variable.name,
        "Group": variable.group or "",
        "Strength": _strength(variable.strength),
        "Nats": "" if variable.evidence is None else f"{variable.evidence:.0f}",
        "p-value": "" if variable.p_value is None else f"{variable.p_value:.2g}",
        "Alternatives": ", ".join(variable.alternatives),
    }
    return Text(values[name])


def _strength(value: float) -> str:
    """Two decimals, or the order of magnitude where they would be zero."""
    return f"{value:.2f}" if value >= 0.01 else f"{value:.0e}"


def _legend(result: Result) -> str:
    target = result.data.target
    unit = "log-odds" if result.data.has_classes else f"standard deviations of {target}"
    what = "log-odds" if result.data.has_classes else f"predicted {target}"
    strength = f"typical slope, in {unit} per standard deviation of the column."
    if result.settings.is_automatic:
        strength = f"share of the variance of the {what} that the column carries."
    problem = (
        "the derivative lasso on these columns, in the learned metric (with many rows: a group "
        "lasso over all columns),"
        if result.settings.is_automatic
        else "the exact optimum"
    )
    sentences = {
        "Strength": strength,
        "Nats": "log evidence that leaving the column out would cost.",
        "p-value": "of having no influence given the other columns, on left-out rows.",
        "Certified": f"the duality gap proves that {problem} selects it too.",
        "Alternatives": "columns that predict as well in its place.",
    }
    return " ".join(
        f"{name}: {sentences[name]}" for name in _shown_columns(result) if name in sentences
    )


def _details(result: Result) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for label, value in _detail_rows(result):
        grid.add_row(label, Text(value))
    return grid


def _detail_rows(result: Result) -> list[tuple[str, str]]:
    data = result.data
    rows = [("Status", STATUS.get(result.status, result.status)), ("Task", _task(result))]
    rows.append(("Left out", _left_out(result)))
    rows += _validation_rows(result)
    pairs = [
        f"{a} x {b} ({share:.0%})"
        for a, b, share in result.interactions[:SHOWN_PAIRS]
        if share >= WEAK_PAIR
    ]
    optional = [
        ("Interactions", ", ".join(pairs)),
        ("Twins", _twins(result)),
        ("Constant", f"{listed(result.constant)} (never selectable)" if result.constant else ""),
        ("Ignored", listed(data.ignored)),
        ("Always kept", listed(data.kept)),
    ]
    rows += [(label, text) for label, text in optional if text]
    rows += [("Assumption", sentence) for sentence in result.assumptions]
    rows += [("Rows", remark) for remark in data.remarks]
    table = f"{data.n_rows} rows, {_columns(len(result.variables))} and the target"
    return [*rows, *_problem_rows(result), ("Table", table), ("Time", f"{result.seconds:.1f} s")]


def _task(result: Result) -> str:
    data = result.data
    if not data.has_classes:
        few = " (few distinct values: --classify if they are classes)"
        return f"regression, {data.target} holds numbers" + (
            few if data.y.nunique() <= FEW_VALUES else ""
        )
    classes = listed([f"{label} ({count})" for label, count in data.classes.items()])
    return f"classification, {len(data.classes)} classes with their rows: {classes}"


def _twins(result: Result) -> str:
    stand_ins: dict[str, list[str]] = {}
    for one, other in result.twins:
        stand_ins.setdefault(one, []).append(other)
    return "; ".join(f"{a} could be replaced by {listed(b)}" for a, b in stand_ins.items())


def _left_out(result: Result) -> str:
    if not result.left_out:
        return "none"
    if result.settings.is_automatic:  # the certificate is about the selected columns alone
        names = listed([variable.name for variable in result.left_out])
        return f"{_columns(len(result.left_out))}: {names}"
    certified = sum(variable.certified for variable in result.left_out)
    return f"{_columns(len(result.left_out))}, {certified} of them certified"


def _validation_rows(result: Result) -> list[tuple[str, str]]:
    validation, data = result.validation, result.data
    if validation is None:
        return []
    parts = []
    if validation.rmse is not None:
        fraction = f"{result.rmse_fraction:.2f} of the standard deviation of {data.target}"
        parts.append(f"RMSE {validation.rmse:.3g}, {fraction}")
    if validation.log_loss is not None:
        parts.append(f"log loss {validation.log_loss:.3g}")
    if validation.r2 is not None:
        parts.append(f"R2 {validation.r2:.3f}" + (" of the classes" if data.has_classes else ""))
    how = "each row left out" if validation.n_folds is None else f"{validation.n_folds} folds"
    return [("Validation error", f"{'; '.join(parts)} ({how})")]


def _problem_rows(result: Result) -> list[tuple[str, str]]:
    solved, settings = result.certificate, result.settings
    rows = [("Method", str(settings.method))]
    if settings.fdr is not None:
        share = f"{settings.fdr:.0%} of the selected columns expected to be false discoveries"
        rows = [("Method", f"{settings.method}, at most {share}")]
    if solved is None:
        return rows
    metric = ", in a learned metric"
    if solved.length_scale is not None:
        metric = f", length scale {solved.length_scale:.3g}"
    gap = f"{solved.dual_gap:.1e} ({solved.relative_gap:.1e} of the objective at zero)"
    return [
        *rows,
        ("Kernel", LONG_NUMBER.sub(_shortened, solved.kernel) + metric),
        ("alpha, ridge", f"{solved.alpha:.3g}, {solved.ridge:.3g}"),
        ("Duality gap", gap),
    ]


def _shortened(number: re.Match[str]) -> str:
    return f"{float(number[0]):.3g}"


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


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
