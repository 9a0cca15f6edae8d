"""Markdown of every command and option, from the command itself."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import typer

from nablasso.cli.app import app


def one_line(text: str | None) -> str:
    """Help as one line of a table."""
    return " ".join((text or "").split()).replace("|", "\\|")


def plain(text: str) -> str:
    """Help without the terminal's marks: what was in colour becomes code."""
    return re.sub(r"\[bold cyan\](.*?)\[/\]", r"`\1`", text).replace("\b", "")


def row(parameter: Any) -> str:
    """One line of the table of a command's parameters."""
    if parameter.param_type_name == "argument":
        name = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        value = "" if parameter.is_flag else f" {parameter.metavar or parameter.type.name.upper()}"
        name = ", ".join(f"`{option}{value}`" for option in parameter.opts)
    return f"| {name.replace('|', chr(92) + '|')} | {one_line(parameter.help)} |"


def section(name: str, command: Any) -> str:
    """Heading, description, usage and parameters of a command."""
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(["nablasso", name, *command.collect_usage_pieces(context)])
    shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    paragraphs = plain(inspect.cleandoc(command.help or ""))
    lines = [f"## nablasso {name}", "", paragraphs, "", "```text", usage, "```", ""]
    lines += [
        "| option | what it does |",
        "|---|---|",
        *(row(parameter) for parameter in shown),
        "",
    ]
    return "\n".join(lines)


def write_command_pages(path: Path) -> None:
    """Write the page unless it is there already with the same text."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    text = "\n".join(section(name, command) for name, command in commands.items())
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
