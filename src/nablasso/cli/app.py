"""The commands and their options as two tables, and how errors leave a command.

Only what the help needs is imported here; :mod:`nablasso.cli.commands` is when a command runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import Parameter, Signature
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from nablasso import __version__
from nablasso.cli import INTERRUPTED, UNEXPECTED
from nablasso.errors import NablassoError

# Those of nablasso.kernels, which a test compares: they take longer to import than help should.
KERNELS = "gaussian, matern, rational_quadratic, rough, linear, polynomial, anova, additive_power"

EXIT_CODES = (
    "Exit codes: 0 done, 1 error in the data, a file or a parameter, 2 wrong usage, 3 a fault of "
    "nablasso, 130 interrupted."
)
# One line per paragraph: typer keeps the line breaks inside a paragraph.
HELP = (
    "Find the columns of a table that y really depends on.\n\n"
    "No straight lines assumed: curves and interactions count. Every selection comes with a "
    "duality gap, the proof of how close it is to the optimum.\n\n"
    "Begin with nablasso demo, then nablasso select table.csv --target COLUMN."
)
PANELS = {  # groups of options
    "Rows": "missing sample dask checkpoint",
    "Model": "fdr max_features kernel cv seed",
    "Output and computing": "report save out out:curve jobs json",
}
TABLE = "A table: .csv or .tsv, perhaps .gz, whose first line names the columns; or .parquet."
KINDS = {  # what a value is, by what the help calls it
    "N": int | None,
    "SHARE": float | None,
    "FILE": Path | None,
    "DIR": Path | None,
    "COLUMN": list[str] | None,
}


def _argument(kind: Any, metavar: str, help: str, default: Any = Parameter.empty) -> Any:
    return kind, default, None, {"metavar": metavar, "help": help}


def _option(
    metavar: str, help: str, flag: str = "", kind: Any = None, default: Any = None, **rules: Any
) -> Any:
    more = {"metavar": metavar or None, "help": help}
    return kind or KINDS.get(metavar, str | None), default, flag, more | rules


def _switch(help: str, flag: str, **rules: Any) -> Any:
    return _option("", help, flag, kind=bool, default=False, **rules)


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"nablasso {__version__}")
        raise typer.Exit


# What may be asked for, by the name of the parameter; after a colon, which of several meanings.
OPTIONS: dict[str, Any] = {
    "version": _switch(
        "Print the version and leave.", "--version", callback=_show_version, is_eager=True
    ),
    "file": _argument(Path, "FILE", TABLE),
    "file:blocks": _argument(
        Path,
        "FILE",
        f"{TABLE} A folder, or a pattern in quotes such as 'folder/*.parquet', is read in blocks.",
    ),
    "file:rows": _argument(
        Path, "FILE", "A table with the columns of the fit, in any order; others are not looked at."
    ),
    "model": _argument(Path, "MODEL", "A model saved with --save or nablasso.save."),
    "columns:explained": _argument(
        list[str], "COLUMN...", "One column, or two for their interplay."
    ),
    "columns:density": _argument(list[str], "COLUMN...", "One column of numbers, or a few."),
    "names": _argument(list[str] | None, "[NAME]...", "Experiments; without any, a list.", None),
    "target": _option(
        "COLUMN",
        "The column to explain: numbers (regression) or a few words (classification).",
        "--target -t",
        default=Parameter.empty,
        kind=str,
    ),
    "classify": _switch("Take the numbers of the target for classes.", "--classify"),
    "ignore": _option("COLUMN", "Leave this column out; may be repeated."),
    "keep": _option("COLUMN", "Always select this column; may be repeated."),
    "category": _option(
        "COLUMN",
        "Take the values of this column for levels of a category even if they are numbers; "
        "columns of words are categories anyway. May be repeated.",
    ),
    "groups": _option("FILE", "Columns to select as a whole: JSON with lists of columns by group."),
    "missing": _option(
        "state|drop",
        "What to do about missing cells: a missing value is a state of its own, or its row is left "
        "out.",
        default="state",
        kind=Literal["state", "drop"],
    ),
    "sample": _option(
        "N",
        "Use N rows drawn at random by --seed (0 if not given); a fit on n rows takes time like n"
        " cubed.",
        min=5,
    ),
    "dask": _option(
        "ADDRESS",
        "Read the files in blocks on the workers of this scheduler, such as tcp://127.0.0.1:8786.",
    ),
    "checkpoint": _option(
        "DIR",
        "Read the files in blocks and keep what was found in this folder: the same command goes on "
        "from there if it was stopped.",
    ),
    "fdr": _option(
        "SHARE",
        "Select by p-values, with this expected share of false discoveries, for example 0.1.",
        min=0.0,
        max=1.0,
    ),
    "max_features": _option(
        "N", "Select at most so many columns or groups, near copies apart.", min=1
    ),
    "kernel": _option(
        "NAME",
        f"What shapes are possible: {KERNELS}. Without it families of functions are compared.",
    ),
    "cv": _option(
        "N", "Folds of cross-validation; of select single rows if not given, else 5.", min=2
    ),
    "seed": _option(
        "N",
        "Draw folds and --sample by this number; without it the data fix the folds.",
        min=0,
        max=2**32 - 1,
    ),
    "levels": _option("LEVELS", "Levels of the quantiles; 0.1,0.5,0.9 if not given."),
    "along": _option(
        "COLUMN", "The variable on the axis of the plot; the first if not given.", kind=str | None
    ),
    "label": _option(
        "LABEL",
        "The class whose probability is explained; by default the second of two.",
        "--class",
    ),
    "interval": _option(
        "SHARE", "Add the ends of intervals that cover a new value this often, for example 0.9."
    ),
    "report": _option("FILE", "Write a report as one HTML file that opens anywhere."),
    "save": _option(
        "FILE",
        "Write the fitted model, for nablasso predict, nablasso explain and nablasso.load. It "
        "holds rows of the table.",
    ),
    "out": _option("FILE", "Write a plot: .png, .svg or .pdf."),
    "out:curve": _option("FILE", "Write a plot (.png, .svg, .pdf), or the curve (.csv)."),
    "out:rows": _option("FILE", "Write the predictions there instead of printing them."),
    "out:folder": _option(
        "DIR",
        "Where rows, figure and table go; rows that are there are not computed again.",
        default=Path("nablasso-results"),
        kind=Path,
    ),
    "jobs": _option("N", "Folds fitted at the same time; -1 uses all cores."),
    "everything": _switch("Every experiment in turn; those without data are skipped.", "--all"),
    "quick": _switch("A few repeats, to see it work; not for conclusions.", "--quick"),
    "json": _switch("Print one JSON object and nothing else.", "--json"),
}

# By name: what it takes, a line for the list of commands, and the rest of its help.
COMMANDS = {
    "select": (
        "file:blocks target classify ignore keep category groups missing sample dask checkpoint "
        "fdr max_features kernel cv seed report save json",
        "Select the columns of a table that the target depends on.",
        "\n\nExample: [bold cyan]nablasso select houses.csv --target price --report houses.html[/]"
        "\nLarger than memory: [bold cyan]nablasso select 'folder/*.parquet' --target price[/]",
    ),
    "predict": (
        "model file:rows interval out:rows json",
        "Predict new rows with a saved model, as CSV.",
        "\n\nExample: [bold cyan]nablasso predict houses.skops new.csv --out prices.csv[/]",
    ),
    "explain": (
        "model file:rows columns:explained label out:curve json",
        "Show how a saved model's prediction depends on columns.",
        " One of them, or two together.\n\n"
        "Averages over the rows of a table, such as the one of the fit. Example:\n"
        "[bold cyan]nablasso explain houses.skops houses.csv rooms --out rooms.png[/]\n"
        "or [bold cyan]--out rooms.csv[/] for the curve with its bands as a table.",
    ),
    "density": (
        "file columns:density missing sample cv seed out save jobs json",
        "Estimate the density of one or a few columns.",
        " It integrates to one and is never negative.\n\n"
        "Example: [bold cyan]nablasso density houses.csv price --out price.png[/]",
    ),
    "quantiles": (
        "file target levels ignore category missing sample along cv seed out save jobs json",
        "Estimate quantiles of the target that never cross.",
        " Given the other columns, several at once.\n\nExample: [bold cyan]"
        "nablasso quantiles houses.csv --target price --along rooms --out q.png[/]",
    ),
    "reproduce": (
        "names everything quick out:folder",
        "Regenerate a table or figure of the papers.",
        " Published figures stand beside ours.\n\nNeeds a checkout of the repository. Rows are "
        "written as they come: run it again to go on where it stopped. Example:\n"
        "[bold cyan]nablasso reproduce nvsd_protocol --quick[/]",
    ),
    "demo": (
        "report json",
        "See it work on a bundled table whose right answer is known.",
        "\n\nTakes a few seconds and needs no file.",
    ),
}


class _PlainGroup(TyperGroup):
    """The list of the commands in plain text: pretty printing would take twice as long to load."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"rich_markup_mode": None})


app = typer.Typer(
    cls=_PlainGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)


def _taking(run: Any, names: str) -> Any:
    """The function with parameters of the table of options."""
    parameters = []
    for key in names.split():
        kind, default, flag, rules = OPTIONS[key]
        name = key.partition(":")[0]
        if flag is None:
            declared = typer.Argument(**rules)
        else:
            flags = flag.split() or [f"--{name.replace('_', '-')}"]
            panel = next((p for p, some in PANELS.items() if key in some.split()), None)
            declared = typer.Option(*flags, rich_help_panel=panel, **rules)
        kind = Annotated[kind, declared]
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    run.__signature__ = Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _running(name: str) -> Any:
    def run(**given: Any) -> None:
        with exit_codes():
            from nablasso.cli import commands

            if getattr(commands, name)(SimpleNamespace(**given)):
                raise typer.Exit(INTERRUPTED)  # scripts see that the answer is provisional

    return run


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn errors and Ctrl-C into a line on standard error and an exit code."""
    from nablasso.cli import render

    try:
        yield
    except NablassoError as error:
        render.print_error(str(error))
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        render.print_error("interrupted; there is no result.")
        raise typer.Exit(INTERRUPTED) from None
    except typer.Exit:
        raise
    except BrokenPipeError:  # whoever reads has enough
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        raise typer.Exit(0) from None
    except OSError as error:
        render.print_error(f"{error.strerror or error} ({error.filename or 'no file'}).")
        raise typer.Exit(1) from None
    except Exception as error:
        if os.environ.get("NABLASSO_TRACEBACK"):
            raise
        render.print_error(
            f"a fault of nablasso, {type(error).__name__}: {error}. Please report it with the "
            "lines that NABLASSO_TRACEBACK=1 shows."
        )
        raise typer.Exit(UNEXPECTED) from None


app.callback(help=HELP)(_taking(lambda **_: None, "version"))
for _name, (_names, _line, _more) in COMMANDS.items():
    app.command(_name, help=_line + _more, short_help=_line, epilog=EXIT_CODES)(
        _taking(_running(_name), _names)
    )
