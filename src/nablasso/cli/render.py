"""Printing a result, as text for people or as JSON for programs.

Names from the table are never read as markup, and everything wraps at the width of the terminal.
"""

from __future__ import annotations

import json
import sys
from textwrap import indent
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from nablasso.cli.columns import listed
from nablasso.cli.result import Result

STATUS = {
    "clear": "clear",
    "twins": "twins: a selected column has a near copy that could stand for it",
    "too few rows": "too few rows: no better than the mean on left-out rows",
    "none found": "none found: predictions are the mean",
}


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on standard output."""
    sys.stdout.write(json.dumps(content, indent=2, allow_nan=False) + "\n")


def print_error(message: str) -> None:
    """Say on standard error what went wrong."""
    console = Console(stderr=True)
    text = Text.assemble(("nablasso: ", "bold red"), message)
    console.print(text, soft_wrap=not console.is_terminal)


def print_text(text: str, style: str = "") -> None:
    """A paragraph on standard output."""
    Console().print(Text(text, style))


def print_code(lines: str) -> None:
    """Indented lines on standard output."""
    Console().print(Text(indent(lines, "  "), "cyan"))


def print_result(result: Result) -> None:
    """The answer in a sentence, the selected variables, then how far to trust them."""
    console = Console()
    console.print(Text(result.answer(), "bold"))
    if result.selected:
        console.print(_variable_table(result))
        console.print(Text(_legend(result), "dim"))
    console.print()
    console.print(_details(result))
    for warning in result.warnings:
        console.print()
        console.print(Text.assemble(("Note: ", "bold yellow"), warning))


def _variable_table(result: Result) -> Table:
    grouped = any(variable.group for variable in result.selected)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="underline")
    table.add_column("Column", overflow="fold")
    if grouped:
        table.add_column("Group", overflow="fold")
    table.add_column("Strength", justify="right")
    table.add_column("Certified")
    for variable in result.selected:
        cells = [variable.name, *([variable.group or ""] if grouped else [])]
        certified = Text("yes", "green") if variable.certified else Text("no", "yellow")
        table.add_row(*(Text(cell) for cell in cells), _strength(variable.strength), certified)
    return table


def _strength(value: float) -> str:
    """Two decimals, or the order of magnitude where they would be zero."""
    return f"{value:.2f}" if value >= 0.01 else f"{value:.0e}"


def _legend(result: Result) -> str:
    return (
        f"Strength: typical slope, in standard deviations of {result.data.target} per standard "
        "deviation of the column. Certified: the duality gap proves that the exact optimum "
        "selects it too."
    )


def _details(result: Result) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for label, value in _detail_rows(result):
        grid.add_row(label, Text(value))
    return grid


def _detail_rows(result: Result) -> list[tuple[str, str]]:
    data, settings = result.data, result.settings
    certified = sum(variable.certified for variable in result.left_out)
    left_out = f"{_columns(len(result.left_out))}, {certified} of them certified"
    rows = [
        ("Status", STATUS.get(result.status, result.status)),
        ("Left out", left_out if result.left_out else "none"),
        (
            "Duality gap",
            f"{result.dual_gap:.1e} ({result.relative_gap:.1e} of the objective at zero)",
        ),
        (
            "Validation error",
            f"RMSE {result.rmse:.3g}, {result.rmse_fraction:.2f} of the standard deviation of "
            f"{data.target} ({settings.n_folds} folds)",
        ),
        ("alpha, ridge", f"{result.alpha:.3g}, {result.ridge:.3g} ({settings.method})"),
        ("Kernel", f"{settings.kernel}, length scale {result.length_scale:.3g}"),
        ("Table", f"{len(data.y)} rows, {_columns(len(result.variables))} and the target"),
    ]
    optional = [
        ("Constant", f"{listed(result.constant)} (never selectable)", result.constant),
        ("Ignored", listed(data.ignored), data.ignored),
        ("Always kept", listed(data.kept), data.kept),
        (
            "Twins",
            "; ".join(f"{a} could be replaced by {b}" for a, b in result.twins),
            result.twins,
        ),
    ]
    rows += [(label, text) for label, text, present in optional if present]
    return [*rows, ("Time", f"{result.seconds:.1f} s")]


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
