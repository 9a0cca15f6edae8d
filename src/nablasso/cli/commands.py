"""What the commands do: fit with progress and notes, write files, tell; demo and reproduce."""

from __future__ import annotations

import difflib
import importlib
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from nablasso import __version__
from nablasso.answer import Answer, task_sentence
from nablasso.cli import render
from nablasso.cli.models import Settings, save_model
from nablasso.cli.render import shown_progress
from nablasso.data.cells import listed
from nablasso.data.encoding import Groups
from nablasso.data.roles import ReadTable
from nablasso.errors import InvalidParameterError
from nablasso.estimators.outcome import answer_of
from nablasso.persistence import check_place
from nablasso.progress import stages

if TYPE_CHECKING:
    from nablasso.cli.findings import Finding

FOLDER = "experiments"  # of a checkout
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


@contextmanager
def noted() -> Iterator[list[str]]:
    """Warnings inside the block, each once, in the list once the block is left."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught, shown_progress():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, about single operations
        yield messages
    messages.extend(dict.fromkeys(str(warning.message) for warning in caught))


@dataclass(frozen=True)
class Call:
    """What was fitted on what."""

    data: ReadTable
    settings: Settings
    source: str  # where the table came from
    groups: Groups | None = None  # selected as a whole
    table: Any = None  # in blocks, where data are a sample of it


@dataclass(frozen=True)
class Result:
    """The answer, and what the command knows besides."""

    answer: Answer
    call: Call
    seconds: float
    warnings: tuple[str, ...] = ()

    def facts(self) -> list[tuple[str, str]]:
        """What was asked for."""
        data, settings = self.call.data, self.call.settings
        few = not data.has_classes and data.y.nunique() <= FEW_VALUES
        method = str(settings.method)
        if settings.fdr is not None:
            method += f", at most {settings.fdr:.0%} of the selected columns expected to be false"
        rows = [
            ("Task", task_sentence(self.answer, few)),
            ("Ignored", listed(data.ignored)),
            ("Always kept", listed(data.kept)),
            *(("Rows", remark) for remark in data.remarks),
            ("Method", method),
            ("Table", f"{data.n_rows} rows, {len(self.answer.columns)} columns and the target"),
            ("Time", f"{self.seconds:.1f} s"),
        ]
        return [(label, text) for label, text in rows if text]

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings, lists and dictionaries."""
        data, settings = self.call.data, self.call.settings
        return {
            "nablasso_version": __version__,
            "source": self.call.source,
            **self.answer.to_json(),
            "ignored": list(data.ignored),
            "always_kept": list(data.kept),
            "rows": list(data.remarks),
            "method": str(settings.method),
            "fdr": settings.fdr,
            "max_features": settings.max_features,
            "seconds": self.seconds,
            "warnings": list(self.warnings),
        }

    def print(self) -> None:
        """For people."""
        render.print_answer(self.answer, self.facts(), self.warnings)


def fitted(call: Call) -> tuple[Any, Result]:
    """The fitted model, and what the command tells of it."""
    model = call.settings.model(call.data, call.groups)
    start = time.monotonic()
    whole = (call.data.X, call.data.y) if call.table is None else (call.table, None)
    notes = fit_noted(model, *whole)
    seconds = round(time.monotonic() - start, 3)
    answer = answer_of(model, model._n_rows, target=call.data.target, groups=call.groups)
    answer = answer.about(classes=call.data.classes)
    said = tuple(note for note in notes if note not in answer.cautions)
    return model, Result(answer, call, seconds, said)


def tell_answer(call: Call, report: Path | None, save: Path | None, *, json: bool) -> bool:
    """Fit, write what was asked for, tell; whether a part of it was cut short.

    An answer that took time is told even if its files cannot be written.
    """
    written: dict[str, str] = {}
    failure: BaseException | None = None
    with shown_progress(), stages(4, 0.1 if report is None else 1) as ended:
        model, result = fitted(call)
        ended()
        try:
            keep_result(written, model, result, call, report, save)
        except BaseException as error:
            failure = error
    if json:
        render.print_json(result.to_json() | {"written": written})
    else:
        result.print()
        print_written(written)
    if isinstance(failure, KeyboardInterrupt):
        render.print_error("interrupted while writing; files not named here are as before.")
        return True
    if failure is not None:
        raise failure
    return result.answer.interrupted


def fit_noted(model: Any, X: Any, y: Any) -> list[str]:
    """Fit, with progress; return what was warned of."""
    with noted() as notes:
        model.fit(X, y)
    return notes


def check_places(*paths: Path | None, reads: Sequence[Path | None] = ()) -> None:
    """Refuse files that could not be written, before anything is computed.

    Nor is a file written over one that the command reads, or over another that it writes.
    """
    taken = {path.resolve(): "is read by this command" for path in reads if path is not None}
    for path in paths:
        if path is None:
            continue
        check_place(path)
        if path.resolve() in taken:
            raise InvalidParameterError(
                f"{path} cannot be written: it {taken[path.resolve()]}. Give another path."
            )
        taken[path.resolve()] = "is to hold another result"


def keep_result(
    written: dict[str, str],
    model: Any,
    result: Result,
    call: Call,
    report: Path | None,
    save: Path | None,
) -> None:
    """Write what was asked for; note in ``written`` what is where."""
    if save is not None:
        save_model(
            model, call.data, save, answer=result.answer.headline(), source=Path(call.source).name
        )
        written["model"] = str(save)
    if report is not None:
        from nablasso.report import build_report, write_report

        found = build_report(
            model,
            call.data.X,
            call.data.y,
            target=call.data.target,
            source=Path(call.source).name,
            seconds=result.seconds,
            warnings=(*call.data.remarks, *result.warnings),
        )
        write_report(found, report)
        written["report"] = str(report)


def print_written(written: dict[str, str]) -> None:
    """Say which files there are now."""
    for what, path in written.items():
        render.print_text(f"{what.capitalize()} written to {path}")


def keep_finding(
    found: Finding, model: Any, data: ReadTable, out: Path | None, save: Path | None
) -> dict[str, str]:
    """Write model and plot where asked for; what is where."""
    written = {}
    if save is not None:
        save_model(model, data, save)
        written["model"] = str(save)
    if out is not None:
        found.draw(out)
        written["plot"] = str(out)
    return written


def tell(
    found: Finding, notes: Sequence[str], *, json: bool, written: dict[str, str] | None = None
) -> None:
    """A sentence and a table for people, or all of it as JSON."""
    if json:
        files = {} if written is None else {"written": written}
        render.print_json(found.to_json() | files | {"warnings": list(notes)})
        return
    render.print_text(found.sentence, "bold")
    if found.rows:
        render.print_table(found.headers, found.rows)
    render.print_notes("Note", notes)
    print_written(written or {})


@dataclass(frozen=True)
class Truth:
    """The columns that the target was made from."""

    columns: tuple[str, ...]

    def missing(self, result: Result) -> list[str]:
        """True columns that were not selected."""
        found = {column.name for column in result.answer.selected}
        return [name for name in self.columns if name not in found]

    def extra(self, result: Result) -> list[str]:
        """Selected columns that are not true."""
        return [c.name for c in result.answer.selected if c.name not in self.columns]

    def verdict(self, result: Result) -> str:
        """Whether a result is right, in a sentence."""
        missing, extra = self.missing(result), self.extra(result)
        right = f"The right answer is {', '.join(self.columns)}: "
        if not missing and not extra:
            return right + "found exactly."
        faults = [("missed", missing), ("wrongly selected", extra)]
        return right + "; ".join(f"{what} {', '.join(n)}" for what, n in faults if n) + "."

    def to_json(self, result: Result) -> dict[str, Any]:
        """The comparison for programs."""
        missing, extra = self.missing(result), self.extra(result)
        return {
            "columns": list(self.columns),
            "found": not missing and not extra,
            "missing": missing,
            "extra": extra,
        }


def demo_settings() -> Settings:
    """The call that :data:`PYTHON` shows."""
    return Settings()


def demo_data() -> tuple[ReadTable, Truth]:
    """The table of :func:`~nablasso.datasets.make_demo` and its right answer."""
    from nablasso.datasets import make_demo

    demo = make_demo()
    X = pd.DataFrame(demo.X, columns=list(demo.feature_names))
    names = zip(demo.feature_names, demo.support, strict=True)
    truth = Truth(tuple(name for name, relevant in names if relevant))
    return ReadTable(X, pd.Series(demo.y, name=TARGET)), truth


def open_door() -> Any:
    """The module ``experiments`` of the checkout, or an error that says where it was looked for.

    The experiments are no part of the package. The door opens where the package is used from a
    checkout, or the command is called in one.
    """
    places = [Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[3]]
    for place in places:
        if (place / FOLDER / "registry.py").exists() and (place / "src" / "nablasso").exists():
            if str(place) not in sys.path:
                sys.path.insert(0, str(place))
            return importlib.import_module(FOLDER)
    raise InvalidParameterError(
        f"nablasso reproduce runs the experiments of a checkout, and neither {places[0]} nor "
        f"{places[-1]} is one: they are not part of the installed package. Clone the repository "
        "and call the command there."
    )


def list_experiments(experiments: Any) -> list[dict[str, str]]:
    """Names and titles."""
    return [{"name": e.name, "title": e.title} for e in experiments.EXPERIMENTS.values()]


def choose_experiments(experiments: Any, name: str | None, *, everything: bool) -> list[Any]:
    """The experiment of that name, or all of them."""
    known = experiments.EXPERIMENTS
    if everything:
        if name is not None:
            raise InvalidParameterError(f"--all means every experiment; leave out {name!r}.")
        return list(known.values())
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidParameterError(
            f"{name!r} is not an experiment.{hint} nablasso reproduce --list shows them."
        )
    return [known[name]]
