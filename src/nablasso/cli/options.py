"""The options of the commands, each with its line of help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nablasso import __version__
from nablasso.cli.model import Method
from nablasso.kernels import KERNELS

MODEL, OUTPUT = "Model", "Output and computing"


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
        help="A table: .csv or .tsv, perhaps .gz; the first line names the columns.",
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
GroupsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Columns to select as a whole: JSON with lists of columns by group, or CSV with the "
        "first line group,column.",
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
        help="Folds of cross-validation; by default 5, with nablasso 10 under 400 rows.",
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
        help="Draw the folds by this number; without it the data fix them.",
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
