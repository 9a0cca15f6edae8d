"""The options of the commands, each with its line of help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nablasso import __version__
from nablasso.cli.model import Method
from nablasso.data.roles import Missing
from nablasso.kernels import KERNELS

ROWS, MODEL, OUTPUT = "Rows", "Model", "Output and computing"


def _show_version(value: bool) -> None:
    if value:
        typer.echo(f"nablasso {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", callback=_show_version, is_eager=True, help="Print the version and leave."
    ),
]

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="A table: .csv or .tsv, perhaps .gz, whose first line names the columns; or .parquet.",
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
Classify = Annotated[
    bool,
    typer.Option("--classify", help="Take the numbers of the target for classes."),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave this column out; may be repeated."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Always select this column; may be repeated."),
]
Category = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Take the values of this column for levels of a category even if they are numbers; "
        "columns of words are categories anyway. May be repeated.",
    ),
]
GroupsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Columns to select as a whole: JSON with lists of columns by group, or CSV with the "
        "first line group,column.",
    ),
]

MissingCells = Annotated[
    Missing,
    typer.Option(
        "--missing",
        metavar="error|drop|impute",
        help="What to do about missing cells: refuse the table, leave their rows out, or fill "
        "in the column's median or most frequent level.",
        rich_help_panel=ROWS,
    ),
]
MissingInNewRows = Annotated[
    Missing | None,
    typer.Option(
        "--missing",
        metavar="error|drop|impute",
        help="What to do about missing cells: refuse the table, leave the predictions of their "
        "rows empty, or fill in as in the fit. By default fill in if the fit did.",
    ),
]
SampleSize = Annotated[
    int | None,
    typer.Option(
        "--sample",
        min=5,
        metavar="N",
        help="Use N rows drawn at random by --seed (0 if not given); a fit on n rows takes time "
        "like n cubed.",
        rich_help_panel=ROWS,
    ),
]

MethodName = Annotated[
    Method,
    typer.Option(
        metavar="NAME",
        help="nablasso chooses everything from the data; lasso or elastic-net penalise the "
        "partial derivatives in one kernel.",
        rich_help_panel=MODEL,
    ),
]
KernelName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=f"What shapes are possible: {', '.join(KERNELS)}. Without it nablasso compares "
        "families, the other methods take gaussian.",
        rich_help_panel=MODEL,
    ),
]
Degree = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Of --kernel polynomial; 2 if not given.", rich_help_panel=MODEL
    ),
]
Order = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Of --kernel anova: how many columns may interact; 2 if not given.",
        rich_help_panel=MODEL,
    ),
]
FalseDiscoveries = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Of --method nablasso: select by p-values, with this expected share of false "
        "discoveries, for example 0.1.",
        rich_help_panel=MODEL,
    ),
]
MaxFeatures = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Of --method nablasso: select at most so many columns or groups, near copies apart.",
        rich_help_panel=MODEL,
    ),
]
Folds = Annotated[
    int | None,
    typer.Option(
        min=2,
        metavar="N",
        help="Folds of cross-validation; by default 5, with nablasso single rows.",
        rich_help_panel=MODEL,
    ),
]
Alphas = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Of lasso and elastic-net: sparsity weights to try; 30 if not given.",
        rich_help_panel=MODEL,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Draw folds and --sample by this number; without it the data fix the folds.",
        rich_help_panel=MODEL,
    ),
]

Jobs = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Folds fitted at the same time; -1 uses all cores.",
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object and nothing else.", rich_help_panel=OUTPUT),
]

SaveTo = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FILE",
        help="Write the fitted model, for nablasso predict, nablasso explain and nablasso.load. "
        "It holds rows of the table.",
        rich_help_panel=OUTPUT,
    ),
]
ReportTo = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Write a report as one HTML file that opens anywhere.",
        rich_help_panel=OUTPUT,
    ),
]
PlotTo = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write a plot: .png, .svg or .pdf.",
        rich_help_panel=OUTPUT,
    ),
]
TableTo = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="FILE", help="Write the predictions there instead of printing them."
    ),
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
    typer.Option(
        "--class",
        metavar="LABEL",
        help="The class whose probability is explained; by default the second of two.",
    ),
]
Interval = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Add the ends of intervals that cover a new value this often, for example 0.9.",
    ),
]
Levels = Annotated[
    str | None,
    typer.Option(metavar="LEVELS", help="Levels of the quantiles; 0.1,0.5,0.9 if not given."),
]
Along = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The variable on the axis of the plot; the first if not given."
    ),
]
ExperimentName = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="Of an experiment; --list shows all."),
]
ListAll = Annotated[bool, typer.Option("--list", help="List the experiments and leave.")]
Everything = Annotated[
    bool, typer.Option("--all", help="Every experiment in turn; those without data are skipped.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="A few repeats, to see it work; not for conclusions.")
]
OutFolder = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Where rows, figure and table go; rows that are there are not computed again.",
    ),
]
