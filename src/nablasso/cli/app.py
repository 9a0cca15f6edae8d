"""The commands and their options: what each of them does, and how errors leave it.

Only what the help needs is imported here; a command imports the rest when it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from nablasso import __version__
from nablasso.cli import INTERRUPTED, UNEXPECTED, Method, absent_extra
from nablasso.data import Missing
from nablasso.errors import DataUnavailableError, NablassoError

if TYPE_CHECKING:
    from nablasso.cli.commands import Result

# Those of nablasso.kernels, which a test compares: they take longer to import than help should.
KERNELS = (
    "gaussian",
    "matern",
    "rational_quadratic",
    "rough",
    "linear",
    "polynomial",
    "anova",
    "additive_power",
)

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
ROWS, MODEL, OUTPUT = "Rows", "Model", "Output and computing"  # groups of options


def _option(help: str, name: str = "", metavar: str = "", panel: str = "", **rules: Any) -> Any:
    names = (name,) if name else ()
    return typer.Option(
        *names, metavar=metavar or None, help=help, rich_help_panel=panel or None, **rules
    )


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"nablasso {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    _option("Print the version and leave.", "--version", callback=_show_version, is_eager=True),
]
File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A table: .csv or .tsv, perhaps .gz, whose first line names the columns; or .parquet.",
    ),
]
Files = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A table: .csv or .tsv, perhaps .gz, whose first line names the columns; or .parquet. "
        "A folder, or a pattern in quotes such as 'folder/*.parquet', is read in blocks.",
    ),
]
Target = Annotated[
    str,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="The column to explain: numbers (regression) or a few words (classification).",
    ),
]
Classify = Annotated[bool, _option("Take the numbers of the target for classes.", "--classify")]
Ignore = Annotated[
    list[str] | None, _option("Leave this column out; may be repeated.", metavar="COLUMN")
]
Keep = Annotated[
    list[str] | None, _option("Always select this column; may be repeated.", metavar="COLUMN")
]
Category = Annotated[
    list[str] | None,
    _option(
        "Take the values of this column for levels of a category even if they are numbers; "
        "columns of words are categories anyway. May be repeated.",
        metavar="COLUMN",
    ),
]
GroupsFile = Annotated[
    Path | None,
    _option(
        "Columns to select as a whole: JSON with lists of columns by group, or CSV with the first"
        " line group,column.",
        metavar="FILE",
    ),
]
MissingCells = Annotated[
    Missing,
    _option(
        "What to do about missing cells: a missing value is a state of its own, or its row is left "
        "out.",
        "--missing",
        "state|drop",
        panel=ROWS,
    ),
]
SampleSize = Annotated[
    int | None,
    _option(
        "Use N rows drawn at random by --seed (0 if not given); a fit on n rows takes time like n"
        " cubed.",
        "--sample",
        "N",
        panel=ROWS,
        min=5,
    ),
]
MethodName = Annotated[
    Method,
    _option(
        "nablasso chooses everything from the data; lasso or elastic-net penalise the partial "
        "derivatives in one kernel.",
        metavar="NAME",
        panel=MODEL,
    ),
]
KernelName = Annotated[
    str | None,
    _option(
        f"What shapes are possible: {', '.join(KERNELS)}. Without it nablasso compares "
        "families, the other methods take gaussian.",
        metavar="NAME",
        panel=MODEL,
    ),
]
Degree = Annotated[
    int | None, _option("Of --kernel polynomial; 2 if not given.", metavar="N", panel=MODEL)
]
Order = Annotated[
    int | None,
    _option(
        "Of --kernel anova: how many columns may interact; 2 if not given.",
        metavar="N",
        panel=MODEL,
    ),
]
FalseDiscoveries = Annotated[
    float | None,
    _option(
        "Of --method nablasso: select by p-values, with this expected share of false discoveries,"
        " for example 0.1.",
        metavar="SHARE",
        panel=MODEL,
    ),
]
MaxFeatures = Annotated[
    int | None,
    _option(
        "Of --method nablasso: select at most so many columns or groups, near copies apart.",
        metavar="N",
        panel=MODEL,
        min=1,
    ),
]
Folds = Annotated[
    int | None,
    _option(
        "Folds of cross-validation; by default 5, with nablasso single rows.",
        metavar="N",
        panel=MODEL,
        min=2,
    ),
]
Alphas = Annotated[
    int | None,
    _option(
        "Of lasso and elastic-net: sparsity weights to try; 30 if not given.",
        metavar="N",
        panel=MODEL,
        min=1,
    ),
]
Seed = Annotated[
    int | None,
    _option(
        "Draw folds and --sample by this number; without it the data fix the folds.",
        metavar="N",
        panel=MODEL,
    ),
]
Jobs = Annotated[
    int | None,
    _option("Folds fitted at the same time; -1 uses all cores.", metavar="N", panel=OUTPUT),
]
Dask = Annotated[
    str | None,
    _option(
        "Read the files in blocks on the workers of this scheduler, such as tcp://127.0.0.1:8786.",
        "--dask",
        "ADDRESS",
        panel=ROWS,
    ),
]
Checkpoint = Annotated[
    Path | None,
    _option(
        "Read the files in blocks and keep what was found in this folder: the same command goes on "
        "from there if it was stopped.",
        "--checkpoint",
        "DIR",
        panel=ROWS,
    ),
]
Json = Annotated[bool, _option("Print one JSON object and nothing else.", "--json", panel=OUTPUT)]
SaveTo = Annotated[
    Path | None,
    _option(
        "Write the fitted model, for nablasso predict, nablasso explain and nablasso.load. It "
        "holds rows of the table.",
        "--save",
        "FILE",
        panel=OUTPUT,
    ),
]
ReportTo = Annotated[
    Path | None,
    _option(
        "Write a report as one HTML file that opens anywhere.", "--report", "FILE", panel=OUTPUT
    ),
]
PlotTo = Annotated[
    Path | None, _option("Write a plot: .png, .svg or .pdf.", "--out", "FILE", panel=OUTPUT)
]
CurveTo = Annotated[
    Path | None,
    _option("Write a plot (.png, .svg, .pdf), or the curve (.csv).", "--out", "FILE", panel=OUTPUT),
]
TableTo = Annotated[
    Path | None, _option("Write the predictions there instead of printing them.", "--out", "FILE")
]
ModelFile = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model saved with --save or nablasso.save.")
]
NewRows = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A table with the columns of the fit, in any order; others are not looked at.",
    ),
]
ExplainedColumns = Annotated[
    list[str], typer.Argument(metavar="COLUMN...", help="One column, or two for their interplay.")
]
DensityColumns = Annotated[
    list[str], typer.Argument(metavar="COLUMN...", help="One column of numbers, or a few.")
]
ClassLabel = Annotated[
    str | None,
    _option(
        "The class whose probability is explained; by default the second of two.",
        "--class",
        "LABEL",
    ),
]
Interval = Annotated[
    float | None,
    _option(
        "Add the ends of intervals that cover a new value this often, for example 0.9.",
        metavar="SHARE",
    ),
]
Levels = Annotated[
    str | None, _option("Levels of the quantiles; 0.1,0.5,0.9 if not given.", metavar="LEVELS")
]
Along = Annotated[
    str | None,
    _option("The variable on the axis of the plot; the first if not given.", metavar="COLUMN"),
]
ExperimentName = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Of an experiment; --list shows all.")
]
ListAll = Annotated[bool, _option("List the experiments and leave.", "--list")]
Everything = Annotated[
    bool, _option("Every experiment in turn; those without data are skipped.", "--all")
]
Quick = Annotated[bool, _option("A few repeats, to see it work; not for conclusions.", "--quick")]
OutFolder = Annotated[
    Path,
    _option(
        "Where rows, figure and table go; rows that are there are not computed again.",
        "--out",
        "DIR",
    ),
]


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
        if os.environ.get("NABLASSO_TRACEBACK") or absent_extra(error):
            raise
        render.print_error(
            f"a fault of nablasso, {type(error).__name__}: {error}. Please report it with the "
            "lines that NABLASSO_TRACEBACK=1 shows."
        )
        raise typer.Exit(UNEXPECTED) from None


@app.callback(help=HELP)
def nablasso(version: Version = False) -> None:
    """What comes before a command."""


@app.command(epilog=EXIT_CODES)
def select(
    file: Files,
    target: Target,
    classify: Classify = False,
    ignore: Ignore = None,
    keep: Keep = None,
    category: Category = None,
    groups: GroupsFile = None,
    missing: MissingCells = Missing.STATE,
    sample: SampleSize = None,
    dask: Dask = None,
    checkpoint: Checkpoint = None,
    method: MethodName = Method.NABLASSO,
    fdr: FalseDiscoveries = None,
    max_features: MaxFeatures = None,
    kernel: KernelName = None,
    degree: Degree = None,
    order: Order = None,
    cv: Folds = None,
    alphas: Alphas = None,
    seed: Seed = None,
    report: ReportTo = None,
    save: SaveTo = None,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Select the columns of a table that the target depends on.

    Example: [bold cyan]nablasso select houses.csv --target price --report houses.html[/]
    Larger than memory: [bold cyan]nablasso select 'folder/*.parquet' --target price[/]
    """
    with exit_codes():
        from nablasso.cli import commands, render
        from nablasso.cli.blocks import Asked, read_blocks
        from nablasso.cli.models import Settings, choose_kernel
        from nablasso.data.files import read_groups, read_table
        from nablasso.data.roles import Roles, RowChoice, choose_columns

        choice = choose_kernel(kernel, degree, order)
        settings = Settings(method, choice, alphas, cv, fdr, max_features, jobs, seed)
        settings.check()
        commands.check_places(report, save, reads=(file, groups))
        roles = Roles(target, ignore or (), keep or (), category or (), classify)
        rows, asked, table = RowChoice(missing, sample, seed), Asked(file, dask, checkpoint), None
        with asked.client() as client:
            if asked.in_blocks:
                with render.shown_progress():
                    data, table = read_blocks(asked, roles, rows, method, client)
            else:
                data = choose_columns(read_table(file), roles, rows)
            named = None if groups is None else read_groups(groups, data.variables, data.ignored)
            call = commands.Call(data, settings, str(file), named, table)
            cut_short = commands.tell_answer(call, report, save, json=json)
        if cut_short:
            raise typer.Exit(INTERRUPTED)


@app.command(epilog=EXIT_CODES)
def predict(
    model: ModelFile,
    file: NewRows,
    interval: Interval = None,
    out: TableTo = None,
    json: Json = False,
) -> None:
    """Predict new rows with a saved model, as CSV.

    Example: [bold cyan]nablasso predict houses.skops new.csv --out prices.csv[/]
    """
    with exit_codes():
        from nablasso.cli import commands, render
        from nablasso.cli.models import Saved, predictions
        from nablasso.data.files import read_table
        from nablasso.persistence import atomic_write

        commands.check_places(out, reads=(model, file))
        with commands.noted() as notes:
            saved = Saved.read(model)
            table = read_table(file, min_rows=1, min_columns=1)
            found = predictions(saved, saved.rows(table), interval)
        if json:
            columns = found.astype(object).where(found.notna(), None).to_dict("list")
            render.print_json({"n_rows": len(found), "predictions": columns, "warnings": notes})
        elif out is None:
            sys.stdout.write(found.to_csv(index=False, lineterminator="\n"))
        if out is not None:
            with atomic_write(out) as place:
                found.to_csv(place, index=False, lineterminator="\n")
        for note in notes if not json else ():
            render.print_error(note)


@app.command(
    epilog=EXIT_CODES, short_help="Show how a saved model's prediction depends on columns."
)
def explain(
    model: ModelFile,
    file: NewRows,
    columns: ExplainedColumns,
    label: ClassLabel = None,
    out: CurveTo = None,
    json: Json = False,
) -> None:
    """Show how a saved model's prediction depends on one column, or on two together.

    Averages over the rows of a table, such as the one of the fit. Example:
    [bold cyan]nablasso explain houses.skops houses.csv rooms --out rooms.png[/]
    or [bold cyan]--out rooms.csv[/] for the curve with its bands as a table.
    """
    with exit_codes():
        from nablasso.cli import commands, findings
        from nablasso.cli.models import Saved
        from nablasso.data.files import read_table

        findings.check_plot(out, tables=len(columns) == 1)
        commands.check_places(out, reads=(model, file))
        with commands.noted() as notes:
            saved = Saved.read(model)
            rows = saved.rows(read_table(file, min_rows=1, min_columns=1))
            found = findings.explain(saved, rows, columns, label)
        commands.tell(found, notes, json=json)
        if out is not None:
            found.draw(out)


@app.command(epilog=EXIT_CODES, short_help="Estimate the density of one or a few columns.")
def density(
    file: File,
    columns: DensityColumns,
    missing: MissingCells = Missing.STATE,
    sample: SampleSize = None,
    cv: Folds = None,
    seed: Seed = None,
    out: PlotTo = None,
    save: SaveTo = None,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Estimate the density of one or a few columns; it integrates to one and is never negative.

    Example: [bold cyan]nablasso density houses.csv price --out price.png[/]
    """
    with exit_codes():
        from nablasso.cli import commands, findings
        from nablasso.data.files import read_table
        from nablasso.data.roles import RowChoice, read_variables

        findings.check_plot(out)
        commands.check_places(out, save, reads=(file,))
        table = read_table(file, min_columns=1)
        data = read_variables(table, list(dict.fromkeys(columns)), RowChoice(missing, sample, seed))
        model = findings.density_model(data, n_folds=cv, seed=seed, n_jobs=jobs)
        notes = [*data.remarks, *commands.fit_noted(model, data.X, None)]
        found = findings.read_density(model, data)
        written = commands.keep_finding(found, model, data, out, save)
        commands.tell(found, notes, json=json, written=written)


@app.command(epilog=EXIT_CODES, short_help="Estimate quantiles of the target that never cross.")
def quantiles(
    file: File,
    target: Target,
    levels: Levels = None,
    ignore: Ignore = None,
    category: Category = None,
    missing: MissingCells = Missing.STATE,
    sample: SampleSize = None,
    along: Along = None,
    cv: Folds = None,
    seed: Seed = None,
    out: PlotTo = None,
    save: SaveTo = None,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Estimate several quantiles of the target given the other columns; they never cross.

    Example: [bold cyan]nablasso quantiles houses.csv --target price --along rooms --out q.png[/]
    """
    with exit_codes():
        from nablasso.cli import commands, findings
        from nablasso.data.files import read_table
        from nablasso.data.roles import Roles, RowChoice, choose_columns

        chosen = findings.parse_levels(levels)
        findings.check_plot(out)
        commands.check_places(out, save, reads=(file,))
        roles = Roles(target, ignore or (), categories=category or ())
        data = choose_columns(read_table(file), roles, RowChoice(missing, sample, seed))
        model = findings.quantile_model(data, chosen, n_folds=cv, seed=seed, n_jobs=jobs)
        notes = [*data.remarks, *commands.fit_noted(model, data.X, data.y)]
        found = findings.read_quantiles(model, data, along)
        written = commands.keep_finding(found, model, data, out, save)
        commands.tell(found, notes, json=json, written=written)


@app.command(epilog=EXIT_CODES, short_help="Regenerate a table or figure of the papers.")
def reproduce(
    name: ExperimentName = None,
    show: ListAll = False,
    everything: Everything = False,
    quick: Quick = False,
    out: OutFolder = Path("nablasso-results"),
    json: Json = False,
) -> None:
    """Regenerate a table or figure of the papers, with the published figures beside ours.

    Needs a checkout of the repository. Rows are written as they come: run it again to go on where
    it stopped. Example:
    [bold cyan]nablasso reproduce nvsd_protocol --quick[/]
    """
    with exit_codes():
        from nablasso.cli import commands, render

        experiments = commands.open_door()  # takes a second
        if show or (name is None and not everything):
            entries = commands.list_experiments(experiments)
            if json:
                render.print_json({"experiments": entries})
            else:
                render.print_table(
                    ("Name", "What"), [(e["name"], e["title"]) for e in entries], numbers=False
                )
            return
        results, skipped = [], {}
        for experiment in commands.choose_experiments(experiments, name, everything=everything):
            try:
                with render.shown_progress():
                    done = experiments.reproduce(experiment, out, quick=quick)
            except DataUnavailableError as error:
                if not everything:
                    raise
                skipped[experiment.name] = str(error)
                render.print_error(f"skipped {experiment.name}: {error}")
                continue
            results.append(done.to_json())
            if not json:
                render.print_text(done.experiment.title, "bold")
                render.print_table(*done.table(), numbers=False)
                render.print_text(done.remark)
                commands.print_written(done.written)
        if json:
            whole = {"experiments": results, "skipped": skipped}
            render.print_json(whole if everything else results[0])


@app.command(epilog=EXIT_CODES)
def demo(report: ReportTo = None, json: Json = False) -> None:
    """See it work on a bundled table whose right answer is known.

    Takes a few seconds and needs no file.
    """
    with exit_codes():
        from nablasso.cli import commands, render

        commands.check_places(report)
        settings = commands.demo_settings()
        data, truth = commands.demo_data()
        if not json:
            render.print_text(commands.INTRODUCTION + "\n")
        call = commands.Call(data, settings, "nablasso.datasets.make_demo()")
        model, result = commands.fitted(call)
        written: dict[str, str] = {}
        commands.keep_result(written, model, result, call, report, None)
        if json:
            content = result.to_json() | {"truth": truth.to_json(result), "written": written}
            render.print_json(content)
            _leave(result)
            return
        result.print()
        render.print_text("\n" + truth.verdict(result), "bold")
        commands.print_written(written)
        render.print_text("\nThe same in Python:\n")
        render.print_code(commands.PYTHON)
        render.print_text("\nNext:\n")
        render.print_code(commands.NEXT)
        _leave(result)


def _leave(result: Result) -> None:
    """Tell scripts by the exit code if the answer is provisional."""
    if result.answer.interrupted:
        raise typer.Exit(INTERRUPTED)
