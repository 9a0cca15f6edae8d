"""Running an experiment so that nothing is lost: rows are appended as they come.

An experiment is a list of *units*, one draw each where it has draws. ``NAME.csv`` holds the rows,
``NAME.json`` the units that are complete and what they were computed with. A second run leaves out
complete units; of a unit that was cut short the stored rows stay and the missing ones are added.
From all rows a Markdown table and a figure are made, whether the run is complete or not.
"""

from __future__ import annotations

import csv
import io
import json
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from nablasso.exceptions import InvalidDataError, InvalidParameterError, MissingExtraError
from nablasso.progress import track
from nablasso.whole_file import written_whole

Row = dict[str, Any]
Unit = Mapping[str, Any]  # arguments of the experiment
TITLES = ("", "published", "the paper's method", "the library's default")


@dataclass(frozen=True)
class Line:
    """One comparison; empty where there is nothing to compare with."""

    what: str
    published: str = ""
    paper: str = ""  # its objective, our solver
    default: str = ""


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper: how to compute its rows, and how to show them.

    Parameters
    ----------
    name, title : str
        For the command line, and for people.
    run : callable
        Arguments of a unit to rows; with ``resumes``, also ``done``: keys of rows to leave out.
    units, quick : sequences of mappings
        All units, and a few small ones to see it work.
    key : tuple of str
        Columns that tell rows apart.
    lines : callable
        Rows as text to the lines of the table.
    figure : callable
        Rows as text to a matplotlib figure.
    note : str
        A sentence below the table.
    """

    name: str
    title: str
    run: Callable[..., Iterable[Row]]
    units: Sequence[Unit]
    quick: Sequence[Unit]
    key: tuple[str, ...]
    lines: Callable[[list[dict[str, str]]], list[Line]]
    figure: Callable[[list[dict[str, str]]], Any]
    note: str = ""
    resumes: bool = False


@dataclass(frozen=True)
class Reproduction:
    """What a run has left behind."""

    experiment: Experiment
    rows: list[dict[str, str]]
    written: dict[str, str] = field(default_factory=dict)

    @property
    def markdown(self) -> str:
        """The title, the table and how many rows it rests on."""
        return as_markdown(self.experiment, self.rows)

    @property
    def remark(self) -> str:
        """How many rows and repeats there are."""
        counts = [
            f"{len({row[name] for row in self.rows})} {name}s"
            for name in ("draw", "split")
            if self.rows and name in self.rows[0]
        ]
        count = ", ".join([f"{len(self.rows)} rows", *counts])
        return f"{count}. {self.experiment.note}".strip()

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Titles and lines, without columns that would be empty."""
        lines = [astuple(line) for line in self.experiment.lines(self.rows)] if self.rows else []
        shown = [k for k in range(4) if k == 0 or any(line[k] for line in lines)]
        return [TITLES[k] for k in shown], [[line[k] for k in shown] for line in lines]

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings and lists."""
        lines = self.experiment.lines(self.rows) if self.rows else []
        return {
            "name": self.experiment.name,
            "title": self.experiment.title,
            "n_rows": len(self.rows),
            "lines": [asdict(line) for line in lines],
            "written": self.written,
        }


def draws(repeats: int, **settings: Any) -> list[Unit]:
    """One unit per draw."""
    return [{"repeats": 1, "seed": draw, **settings} for draw in range(repeats)]


def reproduce(experiment: Experiment, folder: Path, *, quick: bool = False) -> Reproduction:
    """Compute the rows that are missing, then the table and the figure.

    Parameters
    ----------
    experiment : Experiment
        One of :data:`~nablasso.experiments.EXPERIMENTS`.
    folder : Path
        Made if it does not exist.
    quick : bool
        The small units; their files are named apart.

    Returns
    -------
    Reproduction
    """
    _make_folder(folder)
    stem = folder / (f"{experiment.name}.quick" if quick else experiment.name)
    store = Store(stem, experiment.key)
    units = experiment.quick if quick else experiment.units
    todo = [unit for unit in units if experiment.resumes or _name(unit) not in store.done]
    for unit in track(todo, len(todo), experiment.name):
        more = {"done": store.keys} if experiment.resumes else {}
        for row in experiment.run(**unit, **more):
            store.append(row)
        store.finish(_name(unit))
    return written(experiment, stem, store.rows)


def written(experiment: Experiment, stem: Path, rows: list[dict[str, str]]) -> Reproduction:
    """The table and the figure of stored rows."""
    files = {"rows": f"{stem}.csv", "table": f"{stem}.md"}
    with written_whole(files["table"]) as place:
        place.write_text(as_markdown(experiment, rows) + "\n", encoding="utf-8")
    if rows:
        try:
            _draw(experiment.figure, rows, Path(f"{stem}.png"))
            files["figure"] = f"{stem}.png"
        except MissingExtraError as error:
            files["figure"] = f"none: {error}"
    return Reproduction(experiment, rows, files)


def as_markdown(experiment: Experiment, rows: list[dict[str, str]]) -> str:
    """Published figures next to ours."""
    found = Reproduction(experiment, rows)
    parts = [f"# {experiment.title}", ""]
    if rows:
        titles, lines = found.table()
        parts += [f"| {' | '.join(titles)} |".replace("|  |", "| |"), "|---" * len(titles) + "|"]
        parts += [f"| {' | '.join(cells)} |" for cells in lines]
        parts.append("")
    return "\n".join([*parts, found.remark])


class Store:
    """Rows in a file, and which units are complete."""

    def __init__(self, stem: Path, key: tuple[str, ...]) -> None:
        self._file, self._state = Path(f"{stem}.csv"), Path(f"{stem}.json")
        self._key = key
        self._columns: list[str] = []
        self._appended = False
        self.rows = self._stored_rows()
        self.keys = {self._key_of(row) for row in self.rows}
        units = self._stored_state("done", []) if self.rows else []
        self.done: list[str] = [str(unit) for unit in units]

    def append(self, row: Row) -> None:
        """Add a row, unless one with its key is there."""
        text = {name: "" if value is None else str(value) for name, value in row.items()}
        if self._key_of(text) in self.keys:
            return
        if not self._columns:
            self._columns = list(row)
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, self._columns, lineterminator="\n")
        if not self.rows:
            writer.writeheader()
        writer.writerow(text)
        with self._file.open("a", newline="", encoding="utf-8") as file:
            file.write(buffer.getvalue())  # one write, so that a row is there or not
        self.rows.append(text)
        self.keys.add(self._key_of(text))
        if not self._appended:
            self._appended = True
            self._write_state()

    def finish(self, unit: str) -> None:
        """Note that a unit is complete."""
        if unit not in self.done:
            self.done.append(unit)
            self._write_state()

    def _write_state(self) -> None:
        """Complete units, and where the rows of the last run that added some come from."""
        with_what = computed_with() if self._appended else self._stored_state("computed_with", {})
        content = {"done": self.done, "computed_with": with_what}
        with written_whole(self._state) as place:
            place.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def _key_of(self, row: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in self._key)

    def _stored_rows(self) -> list[dict[str, str]]:
        """Rows of earlier runs; half a line, left by a crash, is cut off."""
        if not self._file.exists():
            return []
        text = self._file.read_text(encoding="utf-8")
        if not text.endswith("\n"):
            text = text[: text.rfind("\n") + 1]
            with written_whole(self._file) as place:
                place.write_text(text, encoding="utf-8")
        reader = csv.DictReader(io.StringIO(text))
        self._columns = list(reader.fieldnames or [])
        if text and not set(self._key) <= set(self._columns):
            raise InvalidDataError(
                f"{self._file} holds other rows: expected the columns {', '.join(self._key)}. "
                "Choose another folder with --out, or remove the file."
            )
        return list(reader)

    def _stored_state(self, name: str, default: Any) -> Any:
        if not self._state.exists():
            return default
        try:
            return json.loads(self._state.read_text("utf-8"))[name]
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidDataError(
                f"{self._state} cannot be read. Remove it: the stored rows stay, and what is "
                "missing is computed again."
            ) from error


def computed_with() -> dict[str, str]:
    """Versions, machine and date, to be kept with rows."""
    from nablasso import __version__

    return {
        "nablasso": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "date": datetime.now(UTC).date().isoformat(),
    }


def _name(unit: Unit) -> str:
    return json.dumps(dict(unit), sort_keys=True)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidParameterError(
            f"{folder} cannot be made: {error.strerror}. Give --out another folder."
        ) from error


def _draw(draw: Callable[[list[dict[str, str]]], Any], rows: list[Any], path: Path) -> None:
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            'it needs matplotlib, pip install "nablasso[plot]", and another run'
        ) from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure = draw(rows)
    try:
        with written_whole(path) as place:
            figure.savefig(place, dpi=80, format="png")
    finally:
        pyplot.close(figure)
