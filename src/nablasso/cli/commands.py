"""What the commands do: read, fit with progress and notes, write files, tell.

Each takes what was given to it, the options of :mod:`nablasso.cli.app` by name, and returns
whether its answer was cut short.
"""

from __future__ import annotations

import glob
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

import numpy as np
import pandas as pd

from nablasso import NablassoClassifier, NablassoRegressor, __version__
from nablasso.answer import Answer, task_sentence
from nablasso.cli import findings, render
from nablasso.cli.findings import Finding, Saved
from nablasso.cli.render import shown_progress
from nablasso.data.cells import listed
from nablasso.data.files import read_groups, read_table
from nablasso.data.roles import ReadTable, Roles, choose_columns, read_variables
from nablasso.errors import InvalidParameterError, NotNumbersError
from nablasso.persistence import atomic_write, check_place
from nablasso.persistence import save as save_model
from nablasso.progress import stages
from nablasso.streaming import open_table
from nablasso.streaming.blocks import dask
from nablasso.streaming.sample import Sample, encoded, prepared_rows
from nablasso.streaming.sources import Source

FEW_VALUES = 10  # of a target of numbers that may mean classes
TARGET = "yield_kg_m2"

INTRODUCTION = (
    "A greenhouse table, generated so that the right answer is known: 12 columns were recorded, "
    "4 of them make the yield, in curves and an interaction. Which ones?"
)

PYTHON = """\
import pandas as pd
from nablasso import NablassoRegressor
from nablasso.datasets import make_demo

demo = make_demo()
X = pd.DataFrame(demo.X, columns=demo.feature_names)
model = NablassoRegressor().fit(X, demo.y)
print(model.summary())"""

NEXT = """\
nablasso select table.csv --target COLUMN --report report.html --save model.skops
nablasso predict model.skops new.csv
nablasso explain model.skops table.csv COLUMN
nablasso --help"""


# ------------------------------------------------------------------------------------- commands


def select(given: Any) -> bool:
    """Fit, write what was asked for, tell.

    An answer that took time is told even if its files cannot be written.
    """
    check_places(given.report, given.save, reads=(given.file, given.groups))
    roles = Roles(
        given.target, given.ignore or (), given.keep or (), given.category or (), given.classify
    )
    table, written = None, dict[str, str]()
    failure: BaseException | None = None
    with client_at(given.dask) as client:
        if in_blocks(given):
            with shown_progress():
                data, table = read_blocks(given, roles, client)
        else:
            data = choose_columns(read_table(given.file), roles, **_row_choice(given))
        groups = given.groups and read_groups(given.groups, data.variables, data.ignored)
        with shown_progress(), stages(4, 0.1 if given.report is None else 1) as ended:
            kind = NablassoClassifier if data.has_classes else NablassoRegressor
            model = kind(
                given.kernel or "auto",
                cv=given.cv,
                fdr=given.fdr,
                max_features=given.max_features,
                always_keep=list(data.kept) or None,
                feature_groups=groups,
                random_state=given.seed,
            )
            result = fitted(model, data, str(given.file), table)
            ended()
            try:
                result.keep(written, given.report, given.save)
            except BaseException as error:
                failure = error
    result.tell(given, written)
    if isinstance(failure, KeyboardInterrupt):
        render.print_error("interrupted while writing; files not named here are as before.")
        return True
    if failure is not None:
        raise failure
    return result.answer.interrupted


def predict(given: Any) -> None:
    """Predict new rows."""
    check_places(given.out, reads=(given.model, given.file))
    with noted() as notes:
        saved = Saved.read(given.model)
        table = read_table(given.file, min_rows=1, min_columns=1)
        found = saved.predictions(saved.rows(table), given.interval)
    if given.json:
        columns = found.astype(object).where(found.notna(), None).to_dict("list")
        render.print_json({"n_rows": len(found), "predictions": columns, "warnings": notes})
    elif given.out is None:
        sys.stdout.write(found.to_csv(index=False, lineterminator="\n"))
    if given.out is not None:
        with atomic_write(given.out) as place:
            found.to_csv(place, index=False, lineterminator="\n")
    for note in notes if not given.json else ():
        render.print_error(note)


def explain(given: Any) -> None:
    """Show the dependence on one column or two."""
    findings.check_plot(given.out, tables=len(given.columns) == 1)
    check_places(given.out, reads=(given.model, given.file))
    with noted() as notes:
        saved = Saved.read(given.model)
        rows = saved.rows(read_table(given.file, min_rows=1, min_columns=1))
        found = findings.explain(saved, rows, given.columns, given.label)
    tell(found, notes, given)
    if given.out is not None:
        found.draw(given.out)


def density(given: Any) -> None:
    """Estimate the density of some columns."""
    check_files(given)
    table, names = read_table(given.file, min_columns=1), list(dict.fromkeys(given.columns))
    data = read_variables(table, names, **_row_choice(given))
    estimate(given, data, lambda: findings.density(data, **_computing(given)))


def quantiles(given: Any) -> None:
    """Estimate quantiles of the target."""
    levels = findings.parse_levels(given.levels)
    check_files(given)
    roles = Roles(given.target, given.ignore or (), categories=given.category or ())
    data = choose_columns(read_table(given.file), roles, **_row_choice(given))
    options = {"along": given.along, **_computing(given)}
    estimate(given, data, lambda: findings.quantiles(data, levels, **options))


def reproduce(given: Any) -> None:
    """Hand over to ``python -m experiments``, which a checkout has and the package has not."""
    places = [Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[3]]
    home = next((at for at in places if (at / "experiments" / "denovas.py").is_file()), None)
    if home is None:
        raise InvalidParameterError(
            f"nablasso reproduce runs the experiments of a checkout, and neither {places[0]} nor "
            f"{places[-1]} is one: they are not part of the installed package. Clone the "
            "repository and call the command there."
        )
    sys.path.insert(0, str(home))
    flags = {"--all": given.everything, "--quick": given.quick}
    asked = [*(given.names or ()), *(flag for flag, on in flags.items() if on)]
    with shown_progress():
        import_module("experiments.__main__").main([*asked, "--out", str(given.out)])


def demo(given: Any) -> bool:
    """The table of :func:`~nablasso.datasets.make_demo`, and whether its right answer is found."""
    from nablasso.datasets import make_demo

    check_places(given.report)
    made = make_demo()
    X = pd.DataFrame(made.X, columns=list(made.feature_names))
    named = zip(made.feature_names, made.support, strict=True)
    truth = [name for name, relevant in named if relevant]
    data = ReadTable(X, pd.Series(made.y, name=TARGET))
    if not given.json:
        render.print_text(INTRODUCTION + "\n")
    result = fitted(NablassoRegressor(), data, "nablasso.datasets.make_demo()")
    written: dict[str, str] = {}
    result.keep(written, given.report, None)
    missing, extra, verdict = compared(truth, [column.name for column in result.answer.selected])
    judged = {"found": not missing and not extra, "missing": missing, "extra": extra}
    result.tell(given, written, truth={"columns": truth, **judged})
    if not given.json:
        render.print_text("\n" + verdict, "bold")
        for title, code in (("The same in Python", PYTHON), ("Next", NEXT)):
            render.print_text(f"\n{title}:\n")
            render.print_text(indent(code, "  "), "cyan")
    return result.answer.interrupted


# -------------------------------------------------------------------------------------- answers


@dataclass(frozen=True)
class Result:
    """The answer, and what the command knows besides."""

    model: Any
    answer: Answer
    data: ReadTable
    source: str  # where the table came from
    seconds: float
    warnings: tuple[str, ...] = ()

    def facts(self) -> list[tuple[str, str]]:
        """What was asked for."""
        data, fdr = self.data, self.model.fdr
        few = not data.has_classes and data.y.nunique() <= FEW_VALUES
        false = "" if fdr is None else f"at most {fdr:.0%} of them are expected to be false"
        rows = [
            ("Task", task_sentence(self.answer, few)),
            ("Ignored", listed(data.ignored)),
            ("Always kept", listed(data.kept)),
            *(("Rows", remark) for remark in data.remarks if remark not in self.answer.notes),
            ("Selected", false),
            ("Table", f"{data.n_rows} rows, {len(self.answer.columns)} columns and the target"),
            ("Time", f"{self.seconds:.1f} s"),
        ]
        return [(label, text) for label, text in rows if text]

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings, lists and dictionaries."""
        return {
            "nablasso_version": __version__,
            "source": self.source,
            **self.answer.to_json(),
            "ignored": list(self.data.ignored),
            "always_kept": list(self.data.kept),
            "rows": list(self.data.remarks),
            "fdr": self.model.fdr,
            "max_features": self.model.max_features,
            "seconds": self.seconds,
            "warnings": list(self.warnings),
        }

    def tell(self, given: Any, written: dict[str, str], **more: Any) -> None:
        """For people, or all of it as JSON."""
        if given.json:
            render.print_json(self.to_json() | more | {"written": written})
            return
        render.print_answer(self.answer, self.facts(), self.warnings)
        print_written(written)

    def keep(self, written: dict[str, str], report: Path | None, save: Path | None) -> None:
        """Write what was asked for; note in ``written`` what is where."""
        target, source = self.data.target, Path(self.source).name
        if save is not None:
            notes = {"target": target, "answer": self.answer.headline(), "source": source}
            save_model(self.model, save, notes=notes)
            written["model"] = str(save)
        if report is not None:
            from nablasso.report import build_report, write_report

            found = build_report(
                self.model,
                self.data.X,
                target=target,
                source=source,
                seconds=self.seconds,
                warnings=(*self.data.remarks, *self.warnings),
            )
            write_report(found, report)
            written["report"] = str(report)


def fitted(model: Any, data: ReadTable, source: str, table: Any = None) -> Result:
    """Fit, to the ``table`` in blocks where the data are a sample of it, and read the answer."""
    start = time.monotonic()
    with noted() as notes:
        model.fit(*((data.X, data.y) if table is None else (table, None)))
    seconds = round(time.monotonic() - start, 3)
    answer = replace(model.answer_, target=data.target, classes=data.classes)
    said = tuple(note for note in notes if note not in answer.cautions)
    return Result(model, answer, data, source, seconds, said)


def compared(truth: Sequence[str], found: Sequence[str]) -> tuple[list[str], list[str], str]:
    """True columns that were not selected, selected ones that are not true, and a sentence."""
    missing = [name for name in truth if name not in found]
    extra = [name for name in found if name not in truth]
    faults = [("missed", missing), ("wrongly selected", extra)]
    told = "; ".join(f"{what} {', '.join(names)}" for what, names in faults if names)
    right = f"The right answer is {', '.join(truth)}: {told or 'found exactly'}."
    return missing, extra, right


# ------------------------------------------------------------------------------- other findings


def estimate(given: Any, data: ReadTable, fit: Callable[[], tuple[Any, Finding]]) -> None:
    """Fit a density or quantiles, write what was asked for, tell."""
    with noted() as notes:
        model, found = fit()
    written = {}
    if given.save is not None:
        save_model(model, given.save, notes={"target": data.target})
        written["model"] = str(given.save)
    if given.out is not None:
        found.draw(given.out)
        written["plot"] = str(given.out)
    tell(found, [*data.remarks, *notes], given, written)


def tell(found: Finding, notes: Sequence[str], given: Any, written: Any = None) -> None:
    """A sentence and a table for people, or all of it as JSON."""
    if given.json:
        files = {} if written is None else {"written": written}
        content = {"sentence": found.sentence, **found.content}
        render.print_json(content | files | {"warnings": list(notes)})
        return
    render.print_text(found.sentence, "bold")
    if found.rows:
        render.print_table(found.headers, found.rows)
    render.print_notes("Note", notes)
    print_written(written or {})


def _row_choice(given: Any) -> dict[str, Any]:
    return {"missing": given.missing, "sample": given.sample, "seed": given.seed}


def _computing(given: Any) -> dict[str, Any]:
    return {"cv": given.cv or 5, "random_state": given.seed, "n_jobs": given.jobs}


# ------------------------------------------------------------------------------ tables in blocks


def in_blocks(given: Any) -> bool:
    """Whether the table is read in blocks; one file is read as a whole unless asked for."""
    file = given.file
    several = file.is_dir() or (glob.has_magic(str(file)) and not file.exists())
    return several or given.dask is not None or given.checkpoint is not None


@contextmanager
def client_at(address: str | None) -> Iterator[Any]:
    """A client of a scheduler, closed at the end; None without one."""
    if address is None:
        yield None
        return
    try:
        client = dask("distributed").Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidParameterError(
            f"--dask must be the address of a scheduler, such as tcp://127.0.0.1:8786; nothing "
            f"answers at {address}: {error}."
        ) from error
    with client:
        yield client


def read_blocks(given: Any, roles: Roles, client: Any) -> tuple[ReadTable, Source]:
    """The table, and a fair sample of it in the place of all its rows."""
    whole = {"--missing drop": given.missing == "drop", "--sample": given.sample is not None}
    for option in (option for option, asked in whole.items() if asked):
        raise InvalidParameterError(
            f"{option} needs the whole table in memory, and this one is read in blocks. Leave "
            f"{option} out, or give one file without --dask and --checkpoint."
        )
    source = open_table(
        str(given.file),
        roles.target,
        ignore=roles.ignored,
        client=client,
        checkpoint=given.checkpoint,
    )
    roles.check([*source.names, roles.target, *roles.ignored])
    first = next(source.parts[0].blocks(inputs=False))
    has_classes = roles.classify or first.y.dtype.kind in "OUb"

    def sampled(source: Source) -> tuple[Sample, Any]:
        labels = None
        if has_classes:
            labels, totals = source.labels()
            source = source.with_classes(labels, np.ones(len(totals)))
        return prepared_rows(source), labels

    names = source.names
    try:
        source = encoded(source, roles.categories) if roles.categories else source
        sample, labels = sampled(source)
    except NotNumbersError:
        source = encoded(source)
        sample, labels = sampled(source)
    n_read = int(sample.n_rows)
    y = labels[sample.y.astype(int)].astype(str) if has_classes else sample.y
    encoding = source.reading.encoding
    if encoding is None:
        X, remarks = pd.DataFrame(sample.X, columns=list(names)), []
    else:
        X, remarks = encoding.decode(sample.X), encoding.remarks
    if n_read > len(y):
        told = f"{n_read} rows were read in blocks; what is drawn or compared row by row shows "
        remarks = [f"{told}a fair sample of {len(y)} of them.", *remarks]
    target = pd.Series(y, name=roles.target)
    found = X, target, roles.ignored, roles.kept, has_classes, tuple(remarks), n_read
    return ReadTable(*found), source


# ----------------------------------------------------------------------------- notes and files


@contextmanager
def noted() -> Iterator[list[str]]:
    """Warnings inside the block, each once, in the list once the block is left."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught, shown_progress():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, about single operations
        yield messages
    messages.extend(dict.fromkeys(str(warning.message) for warning in caught))


def check_files(given: Any) -> None:
    """Refuse a plot or a model that could not be written."""
    findings.check_plot(given.out)
    check_places(given.out, given.save, reads=(given.file,))


def check_places(*paths: Path | None, reads: Sequence[Path | None] = ()) -> None:
    """Refuse files that could not be written, before anything is computed.

    Nor is a file written over one that the command reads, or over another that it writes.
    """
    taken = {path.resolve(): "is read by this command" for path in reads if path is not None}
    for path in filter(None, paths):
        check_place(path)
        if path.resolve() in taken:
            raise InvalidParameterError(
                f"{path} cannot be written: it {taken[path.resolve()]}. Give another path."
            )
        taken[path.resolve()] = "is to hold another result"


def print_written(written: dict[str, str]) -> None:
    """Say which files there are now."""
    for what, path in written.items():
        render.print_text(f"{what.capitalize()} written to {path}")
