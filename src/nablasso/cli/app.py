"""The commands: what each of them does, and how errors leave it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from nablasso.cli import INTERRUPTED, UNEXPECTED, demonstration, options, render
from nablasso.cli.distributions import (
    density_model,
    parse_levels,
    quantile_model,
    read_density,
    read_quantiles,
)
from nablasso.cli.drawing import check_plot
from nablasso.cli.explanation import explain as explained
from nablasso.cli.model import Method, Settings, choose_kernel
from nablasso.cli.reading import Call
from nablasso.cli.result import Result
from nablasso.cli.saved import Saved, predictions
from nablasso.cli.session import (
    check_places,
    fit_noted,
    fitted,
    keep_result,
    noted,
    print_written,
    show_found,
    tell,
)
from nablasso.cli.waiting import shown_progress
from nablasso.data.files import read_groups, read_table
from nablasso.data.roles import Missing, Roles, Rows, choose_columns, read_variables
from nablasso.errors import DataUnavailableError, NablassoError
from nablasso.persistence import atomic_write

EXIT_CODES = (
    "Exit codes: 0 done, 1 error in the data, a file or a parameter, 2 wrong usage, 3 a fault of "
    "nablasso, 130 interrupted."
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
    """Turn errors and Ctrl-C into a line on standard error and an exit code."""
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
    category: options.Category = None,
    groups: options.GroupsFile = None,
    missing: options.MissingCells = Missing.ERROR,
    sample: options.SampleSize = None,
    method: options.MethodName = Method.NABLASSO,
    fdr: options.FalseDiscoveries = None,
    max_features: options.MaxFeatures = None,
    kernel: options.KernelName = None,
    degree: options.Degree = None,
    order: options.Order = None,
    cv: options.Folds = None,
    alphas: options.Alphas = None,
    seed: options.Seed = None,
    report: options.ReportTo = None,
    save: options.SaveTo = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
) -> None:
    """Select the columns of a table that the target depends on.

    Example: [bold cyan]nablasso select houses.csv --target price --report houses.html[/]
    """
    with exit_codes():
        choice = choose_kernel(kernel, degree, order)
        settings = Settings(method, choice, alphas, cv, fdr, max_features, jobs, seed)
        settings.check()
        check_places(report, save, reads=(file, groups))
        roles = Roles(target, ignore or (), keep or (), category or (), classify)
        data = choose_columns(read_table(file), roles, Rows(missing, sample, seed))
        partition = None if groups is None else read_groups(groups, data.variables, data.ignored)
        call = Call(data, settings, str(file), partition)
        model, result = fitted(call)
        written: dict[str, str] = {}
        try:
            keep_result(written, model, result, call, report, save)
        except KeyboardInterrupt:
            render.print_error("interrupted while writing; files not named below are as before.")
            raise typer.Exit(INTERRUPTED) from None
        finally:  # an answer that took time is told even if its report cannot be written
            if json:
                render.print_json(result.to_json() | {"written": written})
            else:
                render.print_result(result)
                print_written(written)
        _leave(result)


@app.command(epilog=EXIT_CODES)
def predict(
    model: options.ModelFile,
    file: options.NewRows,
    interval: options.Interval = None,
    missing: options.MissingInNewRows = None,
    out: options.TableTo = None,
    json: options.Json = False,
) -> None:
    """Predict new rows with a saved model, as CSV.

    Example: [bold cyan]nablasso predict houses.skops new.csv --out prices.csv[/]
    """
    with exit_codes():
        check_places(out, reads=(model, file))
        with noted() as notes:
            saved = Saved.read(model)
            table = read_table(file, min_rows=1, min_columns=1)
            found = predictions(saved, saved.rows(table, missing), interval)
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


@app.command(epilog=EXIT_CODES)
def explain(
    model: options.ModelFile,
    file: options.NewRows,
    columns: options.ExplainedColumns,
    label: options.ClassLabel = None,
    out: options.PlotTo = None,
    json: options.Json = False,
) -> None:
    """Show how a saved model's prediction depends on one column, or on two together.

    Averages over the rows of a table, such as the one of the fit. Example:
    [bold cyan]nablasso explain houses.skops houses.csv rooms --out rooms.png[/]
    """
    with exit_codes():
        check_plot(out)
        check_places(out, reads=(model, file))
        with noted() as notes:
            saved = Saved.read(model)
            rows = saved.rows(read_table(file, min_rows=1, min_columns=1), _as_fitted(saved))
            found = explained(saved, rows, columns, label)
        show_found(found.sentence, found.headers, found.rows, found.to_json(), notes, json)
        if out is not None:
            found.draw(out)


@app.command(epilog=EXIT_CODES)
def density(
    file: options.File,
    columns: options.DensityColumns,
    missing: options.MissingCells = Missing.ERROR,
    sample: options.SampleSize = None,
    cv: options.Folds = None,
    seed: options.Seed = None,
    out: options.PlotTo = None,
    save: options.SaveTo = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
) -> None:
    """Estimate the density of one or a few columns; it integrates to one and is never negative.

    Example: [bold cyan]nablasso density houses.csv price --out price.png[/]
    """
    with exit_codes():
        check_plot(out)
        check_places(out, save, reads=(file,))
        table = read_table(file, min_columns=1)
        data = read_variables(table, list(dict.fromkeys(columns)), Rows(missing, sample, seed))
        model = density_model(data, n_folds=cv, seed=seed, n_jobs=jobs)
        notes = fit_noted(model, data.X, None)
        tell(read_density(model, data), notes, out, save, json)


@app.command(epilog=EXIT_CODES)
def quantiles(
    file: options.File,
    target: options.Target,
    levels: options.Levels = None,
    ignore: options.Ignore = None,
    category: options.Category = None,
    missing: options.MissingCells = Missing.ERROR,
    sample: options.SampleSize = None,
    along: options.Along = None,
    cv: options.Folds = None,
    seed: options.Seed = None,
    out: options.PlotTo = None,
    save: options.SaveTo = None,
    jobs: options.Jobs = None,
    json: options.Json = False,
) -> None:
    """Estimate several quantiles of the target given the other columns; they never cross.

    Example: [bold cyan]nablasso quantiles houses.csv --target price --along rooms --out q.png[/]
    """
    with exit_codes():
        chosen = parse_levels(levels)
        check_plot(out)
        check_places(out, save, reads=(file,))
        roles = Roles(target, ignore or (), categories=category or ())
        data = choose_columns(read_table(file), roles, Rows(missing, sample, seed))
        model = quantile_model(data, chosen, n_folds=cv, seed=seed, n_jobs=jobs)
        notes = fit_noted(model, data.X, data.y)
        tell(read_quantiles(model, data, along), notes, out, save, json)


@app.command(epilog=EXIT_CODES)
def reproduce(
    name: options.ExperimentName = None,
    show: options.ListAll = False,
    everything: options.Everything = False,
    quick: options.Quick = False,
    out: options.OutFolder = Path("nablasso-results"),
    json: options.Json = False,
) -> None:
    """Regenerate a table or figure of the papers, with the published figures beside ours.

    Needs a checkout of the repository. Rows are written as they come: run it again to go on where
    it stopped. Example:
    [bold cyan]nablasso reproduce nvsd_protocol --quick[/]
    """
    with exit_codes():
        from nablasso.cli.reproduction import chosen, list_experiments, open_door

        experiments = open_door()  # takes a second
        if show or (name is None and not everything):
            entries = list_experiments(experiments)
            if json:
                render.print_json({"experiments": entries})
            else:
                render.print_table(
                    ("Name", "What"), [(e["name"], e["title"]) for e in entries], numbers=False
                )
            return
        results, skipped = [], {}
        for experiment in chosen(experiments, name, everything=everything):
            try:
                with shown_progress():
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
                print_written(done.written)
        if json:
            whole = {"experiments": results, "skipped": skipped}
            render.print_json(whole if everything else results[0])


@app.command(epilog=EXIT_CODES)
def demo(report: options.ReportTo = None, json: options.Json = False) -> None:
    """See it work on a bundled table whose right answer is known.

    Takes a few seconds and needs no file.
    """
    with exit_codes():
        check_places(report)
        settings = demonstration.settings()
        data, truth = demonstration.demo_data()
        if not json:
            render.print_text(demonstration.INTRODUCTION + "\n")
        call = Call(data, settings, "nablasso.datasets.make_demo()")
        model, result = fitted(call)
        written: dict[str, str] = {}
        keep_result(written, model, result, call, report, None)
        if json:
            content = result.to_json() | {"truth": truth.to_json(result), "written": written}
            render.print_json(content)
            _leave(result)
            return
        render.print_result(result)
        render.print_text("\n" + truth.verdict(result), "bold")
        print_written(written)
        render.print_text("\nThe same in Python:\n")
        render.print_code(demonstration.PYTHON)
        render.print_text("\nNext:\n")
        render.print_code(demonstration.NEXT)
        _leave(result)


def _as_fitted(saved: Saved) -> Missing:
    """Rows with missing cells are filled as in the fit, or not looked at."""
    return Missing.IMPUTE if saved.missing is Missing.IMPUTE else Missing.DROP


def _leave(result: Result) -> None:
    """Tell scripts by the exit code if the answer is provisional."""
    if result.is_interrupted:
        raise typer.Exit(INTERRUPTED)
