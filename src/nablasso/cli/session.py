"""What the commands share: fitting with progress and warnings noted, writing files, telling."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nablasso.cli import render
from nablasso.cli.distributions import Distribution
from nablasso.cli.reading import Call, read_result
from nablasso.cli.result import Result
from nablasso.cli.saved import save_model
from nablasso.cli.waiting import shown_progress
from nablasso.errors import InvalidParameterError
from nablasso.persistence import check_place


@contextmanager
def noted() -> Iterator[list[str]]:
    """Warnings inside the block, each once, in the list once the block is left."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught, shown_progress():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RuntimeWarning)  # numpy's, about single operations
        yield messages
    messages.extend(dict.fromkeys(str(warning.message) for warning in caught))


def fitted(call: Call) -> tuple[Any, Result]:
    """The fitted model, and what the command tells of it."""
    model = call.settings.model(call.data, call.groups)
    start = time.monotonic()
    with noted() as notes:
        model.fit(call.data.X, call.data.y)
    seconds = time.monotonic() - start
    return model, read_result(model, call, seconds=seconds, warnings=tuple(notes))


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
        save_model(model, call.data, save, answer=result.answer(), source=Path(call.source).name)
        written["model"] = str(save)
    if report is not None:
        from nablasso.report import build_report, write_report

        found = build_report(
            model,
            call.data.X,
            call.data.y,
            names=list(call.data.X.columns),
            target=call.data.target,
            source=Path(call.source).name,
            categories=call.data.encoding.categories,
            seconds=result.seconds,
            warnings=(*call.data.remarks, *result.warnings),
            answer=result.answer(),
        )
        write_report(found, report)
        written["report"] = str(report)


def print_written(written: dict[str, str]) -> None:
    """Say which files there are now."""
    for what, path in written.items():
        render.print_text(f"{what.capitalize()} written to {path}")


def fit_noted(model: Any, X: Any, y: Any) -> list[str]:
    """Fit, with progress; return what was warned of."""
    with noted() as notes:
        model.fit(X, y)
    return notes


def tell(
    found: Distribution, notes: list[str], out: Path | None, save: Path | None, json: bool
) -> None:
    """Write what was asked for, then print what was found."""
    written = {}
    if save is not None:
        save_model(found.model, found.data, save)
        written["model"] = str(save)
    if out is not None:
        found.draw(out)
        written["plot"] = str(out)
    remarks = [*found.data.remarks, *notes]
    show_found(
        found.sentence,
        found.headers,
        found.rows,
        found.to_json() | {"written": written},
        remarks,
        json,
    )
    if not json:
        print_written(written)


def show_found(
    sentence: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    content: dict[str, Any],
    notes: Sequence[str],
    json: bool,
) -> None:
    """A sentence and a table for people, or all of it as JSON."""
    if json:
        render.print_json(content | {"warnings": list(notes)})
        return
    render.print_text(sentence, "bold")
    if rows:
        render.print_table(headers, rows)
    render.print_notes("Note", notes)
