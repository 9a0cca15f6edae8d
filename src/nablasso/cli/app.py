"""The commands: what each of them does, and how errors leave it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from nablasso.cli import INTERRUPTED, demonstration, options, render
from nablasso.cli.columns import choose_columns
from nablasso.cli.groups_file import read_groups
from nablasso.cli.model import Method, Settings, choose_kernel
from nablasso.cli.reading import Call, read_result
from nablasso.cli.result import Result
from nablasso.cli.table_file import read_table
from nablasso.cli.waiting import shown_progress
from nablasso.exceptions import NablassoError

EXIT_CODES = (
    "Exit codes: 0 done, 1 error in the data or a parameter, 2 wrong usage, 130 interrupted."
)
# One line per paragraph: typer keeps the line breaks inside a paragraph.
HELP = (
    "Find the columns of a table that y really depends on.\n\n"
    "No straight lines assumed: curves and interactions count. Every selection comes with a "
    "duality gap, the proof of how close it is to the optimum.\n\n"
    "Begin with [bold cyan]nablasso demo[/], then "
    "[bold cyan]nablasso select table.csv --target COLUMN[/]."
)

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EXIT_CODES,
)


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turn the library's errors and Ctrl-C into a line on standard error and an exit code."""
    try:
        yield
    except NablassoError as error:
        render.print_error(str(error))
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        render.print_error("interrupted; there is no result.")
        raise typer.Exit(INTERRUPTED) from None


@app.callback(help=HELP)
def nablasso(version: options.Version = False) -> None:
    """What comes before a command."""


@app.command(epilog=EXIT_CODES)
def select(
    file: options.File,
    target: options.Target,
    classify: options.Classify = False,
    ignore: options.Ignore = None,
    keep: options.Keep = None,
    groups: options.GroupsFile = None,
    method: options.MethodName = Method.NABLASSO,
    fdr: options.FalseDiscoveries = None,
    max_features: options.MaxFeatures = None,
    kernel: options.KernelName = None,
    degree: options.Degree = None,
    order: options.Order = None,
    cv: options.Folds = None,
    alphas: options.Alphas = None,
    seed: options.Seed = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
) -> None:
    """Select the columns of a table that the target depends on.

    Example: [bold cyan]nablasso select houses.csv --target price --ignore id[/]
    """
    with exit_codes():
        choice = choose_kernel(kernel, degree, order)
        settings = Settings(method, choice, alphas, cv, fdr, max_features, jobs, seed)
        settings.check()
        data = choose_columns(read_table(file), target, ignore or (), keep or (), classify=classify)
        partition = None if groups is None else read_groups(groups, data.variables, data.ignored)
        result = _fit(Call(data, settings, str(file), partition))
        if json:
            render.print_json(result.to_json())
        else:
            render.print_result(result)
        _leave(result)


@app.command(epilog=EXIT_CODES)
def demo(jobs: options.Jobs = None, json: options.Json = False) -> None:
    """See it work on a bundled table whose right answer is known.

    Takes a few seconds and needs no file.
    """
    with exit_codes():
        settings = demonstration.settings(jobs)
        data, truth = demonstration.demo_data()
        if not json:
            render.print_text(demonstration.INTRODUCTION + "\n")
        result = _fit(Call(data, settings, "nablasso.datasets.make_demo()"))
        if json:
            render.print_json(result.to_json() | {"truth": truth.to_json(result)})
            _leave(result)
            return
        render.print_result(result)
        render.print_text("\n" + truth.verdict(result), "bold")
        render.print_text("\nThe same in Python:\n")
        render.print_code(demonstration.PYTHON)
        render.print_text("\nNext:\n")
        render.print_code(demonstration.NEXT)
        _leave(result)


def _fit(call: Call) -> Result:
    model = call.settings.model(call.data, call.groups)
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as caught, shown_progress():
        warnings.simplefilter("always")
        model.fit(call.data.X, call.data.y)
    messages = tuple(dict.fromkeys(str(warning.message) for warning in caught))
    return read_result(model, call, seconds=time.monotonic() - start, warnings=messages)


def _leave(result: Result) -> None:
    """Tell scripts by the exit code if the answer is provisional."""
    if result.is_interrupted:
        raise typer.Exit(INTERRUPTED)
