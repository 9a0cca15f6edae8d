"""Running an experiment so that nothing is lost, and every row says how it came about.

An experiment is a list of *units*, one draw each where it has draws. ``NAME.csv`` holds the rows,
``NAME.json`` the units that are complete and what they were computed with. Rows are appended as
they come; a second run leaves out complete units, and of a unit that was cut short the stored rows
stay and the missing ones are added. From all rows a Markdown table and a figure are made.

Every row carries a *record* (``RECORD``): seconds of the processor, solver, iterations, the largest
relative gap, a status, the library's version, and a hash of the settings that decide the row
besides its key. A :class:`~sklearn.exceptions.ConvergenceWarning` that comes up while a row is
computed is not shown but kept: the row's status is then "capped". Rows whose settings are not those
of today are *stale*; no table is made from them. Ctrl-C ends the run and leaves no half a row.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import platform
import signal
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from datetime import UTC, datetime
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.exceptions import ConvergenceWarning

from nablasso import __version__
from nablasso.errors import InvalidDataError, InvalidParameterError, MissingExtraError
from nablasso.persistence import atomic_write
from nablasso.progress import track

Row = dict[str, Any]
Unit = Mapping[str, Any]  # arguments of the experiment
Done = Collection[tuple[str, ...]]

TITLES = ("", "published", "the paper's method", "the library's default")
RECORD = ("seconds", "solver", "iterations", "gap", "status", "version", "settings")
CONVERGED, CAPPED = "converged", "capped"
DEFAULT = "NablassoRegressor"  # the method that is the library's default call, and nothing else
DEFAULT_SETTINGS = {"call": f"{DEFAULT}(random_state=draw)", "version": __version__.split(".")[:2]}
NAMED = 12  # rows that did not converge and are listed
WHICH = ("seed", "repeats", "splits")  # arguments of a unit that say which rows, not how


@dataclass(frozen=True)
class Line:
    """One comparison; empty where there is nothing to compare with."""

    what: str
    published: str = ""
    paper: str = ""  # its objective and its protocol, our solver unless the line says otherwise
    default: str = ""  # the default call


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper: how to compute its rows, and how to show them.

    Parameters
    ----------
    name, title : str
        For the command line, and for people.
    run : callable
        Arguments of a unit to rows; where it takes ``done``, keys of rows to leave out, too.
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
    settings : mapping
        What decides the rows besides key and unit: numbers, grids, objects with a telling repr.
    by_method : mapping of mappings
        More of it for some values of the column "method".
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
    settings: Mapping[str, Any] = field(default_factory=dict)
    by_method: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def resumes(self) -> bool:
        """Whether a unit that was cut short goes on where it stopped."""
        return "done" in signature(self.run).parameters

    def digest(self, unit: Unit, method: str) -> str:
        """Hash of all that decides a row of a unit besides its key.

        Lists of a unit, its seed and its counts say which rows are computed; its other numbers and
        words say how, and count.
        """
        how = {
            name: value
            for name, value in unit.items()
            if name not in WHICH and isinstance(value, int | float | str)
        }
        own = DEFAULT_SETTINGS if method == DEFAULT else self.by_method.get(method, {})
        text = json.dumps([self.settings, own, how], sort_keys=True, default=_plain)
        return hashlib.sha256(text.encode()).hexdigest()[:10]

    def stale(self, rows: Iterable[Mapping[str, str]], *, quick: bool = False) -> list[str]:
        """Keys of the rows that were computed with other settings, as words."""
        units = self.quick if quick else self.units
        methods: dict[str, set[str]] = {}
        found = []
        for row in rows:
            method = row.get("method", "")
            if method not in methods:
                methods[method] = {self.digest(unit, method) for unit in units}
            if row.get("settings") not in methods[method]:
                found.append(" ".join(row[name] for name in self.key))
        return found


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
        """How many rows and repeats there are, and how many converged."""
        counts = [
            f"{len({row[name] for row in self.rows})} {name}s"
            for name in ("draw", "split")
            if self.rows and name in self.rows[0]
        ]
        count = ", ".join([f"{len(self.rows)} rows", *counts])
        if self.rows:
            count += f"; {convergence(self.rows)}"
        return " ".join(filter(None, (f"{count}.", self.experiment.note, self._short())))

    def _short(self) -> str:
        """Which rows did not converge, with their gaps."""
        short = [
            " ".join(row[name] for name in self.experiment.key) + f" ({row['gap'] or 'no gap'})"
            for row in self.rows
            if row.get("status") == CAPPED
        ]
        more = f"; and {len(short) - NAMED} more" if len(short) > NAMED else ""
        return f"Not converged (gap): {'; '.join(short[:NAMED])}{more}." if short else ""

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Titles and lines, without columns that would be empty."""
        lines = [astuple(line) for line in self.experiment.lines(self.rows)] if self.rows else []
        shown = [k for k in range(4) if k == 0 or any(line[k] for line in lines)]
        return [TITLES[k] for k in shown], [[line[k] for k in shown] for line in lines]


def missing(
    key: Sequence[str],
    done: Done,
    keep: Callable[[Row], bool] = lambda _: True,
    **columns: Iterable[Any],
) -> Iterable[Row]:
    """Rows to be computed, by their keys: all combinations of columns that are not done.

    The first column changes slowest; ``keep`` leaves out combinations that have no row.
    """
    every = (dict(zip(columns, values, strict=True)) for values in product(*columns.values()))
    rows = ({name: row[name] for name in key} for row in every)
    todo = [row for row in rows if tuple(map(str, row.values())) not in done and keep(row)]
    return track(todo, len(todo), "rows")


def draws(repeats: int, **settings: Any) -> list[Unit]:
    """One unit per draw."""
    return [{"repeats": 1, "seed": draw, **settings} for draw in range(repeats)]


def convergence(rows: Sequence[Mapping[str, str]]) -> str:
    """The share of rows that converged, in words."""
    known = [row["status"] for row in rows if row.get("status")]
    if not known:
        return "convergence not recorded"
    share = known.count(CONVERGED) / len(known)
    words = "all converged" if share == 1 else f"{100 * share:.3g} % converged"
    return words if len(known) == len(rows) else f"{words} of {len(known)} recorded"


# ------------------------------------------------------------------------------------- running


def reproduce(
    experiment: Experiment,
    folder: Path,
    *,
    quick: bool = False,
    default: bool = True,
    drop_stale: bool = False,
    units: Sequence[Unit] | None = None,
) -> Reproduction:
    """Compute the rows that are missing, then the table and the figure.

    Parameters
    ----------
    experiment : Experiment
        One of :data:`~experiments.EXPERIMENTS`.
    folder : Path
        Made if it does not exist.
    quick : bool
        The small units; their files are named apart.
    default : bool
        Whether rows of the library's default call are computed too.
    drop_stale : bool
        Remove stored rows of other settings instead of refusing to go on.
    units : sequence, optional
        Some units instead of all; their settings must be those of one of the experiment's.

    Returns
    -------
    Reproduction
    """
    _make_folder(folder)
    stem = folder / (f"{experiment.name}.quick" if quick else experiment.name)
    store = Store(stem, experiment, quick=quick)
    store.tidy(drop_stale=drop_stale)
    if units is None:
        units = experiment.quick if quick else experiment.units
    todo = [unit for unit in units if experiment.resumes or _name(unit) not in store.done]
    for unit in track(todo, len(todo), experiment.name):
        done = store.keys if default else _AlsoDefault(store.keys, experiment.key)
        with _past_estimators():
            rows = experiment.run(**unit, **({"done": done} if experiment.resumes else {}))
            for row in recorded(rows):
                row["settings"] = experiment.digest(unit, str(row.get("method", "")))
                if default or row.get("method") != DEFAULT:
                    store.append(row)
        if default:
            store.finish(_name(unit))
    return written(experiment, stem, store.rows, quick=quick)


class _Stop(BaseException):
    """Ctrl-C under a name that no estimator knows."""


@contextmanager
def _past_estimators() -> Iterator[None]:
    """Let Ctrl-C end the run: estimators take a KeyboardInterrupt for their own and go on."""

    def stop(*_: Any) -> None:
        raise _Stop

    if threading.current_thread() is not threading.main_thread():  # signals go elsewhere
        yield
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    except _Stop:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)


def recorded(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows with their records; what a row says of itself goes before what is seen from outside."""
    source = iter(rows)
    while True:
        begun = time.process_time()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", ConvergenceWarning)
            row = next(source, None)
        seconds = time.process_time() - begun
        capped = False
        for warning in seen:
            if issubclass(warning.category, ConvergenceWarning):
                capped = True
            else:
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
        if row is None:
            return
        outside = {
            "seconds": round(seconds, 3),
            "solver": "",
            "iterations": "",
            "gap": "",
            "status": CAPPED if capped else CONVERGED,
            "version": __version__,
        }
        yield row | {name: row.get(name, value) for name, value in outside.items()}


def record_of(*models: Any) -> Row:
    """What fitted estimators say of their solver: its name, steps, largest gap, worst status."""
    statuses = [model.solver_status_ for model in models if hasattr(model, "solver_status_")]
    gaps = [model.relative_gap_ for model in models if hasattr(model, "relative_gap_")]
    steps = [int(np.max(model.n_iter_)) for model in models if hasattr(model, "n_iter_")]
    own = (
        "newton" if models and hasattr(models[0], "search_status_") else ""
    )  # hierarchies have one
    found: Row = {
        "solver": getattr(models[0], "solver", own) if models else "",
        "iterations": sum(steps) if steps else "",
        "gap": f"{max(gaps):.2g}" if gaps else "",
    }
    if any(statuses):
        found["status"] = CAPPED if set(statuses) - {"", CONVERGED} else CONVERGED
    return found


class _AlsoDefault:
    """Keys that count as done: the stored ones, and all of the default call."""

    def __init__(self, keys: Done, names: tuple[str, ...]) -> None:
        self._keys = keys
        self._at = names.index("method") if "method" in names else None

    def __contains__(self, key: tuple[str, ...]) -> bool:
        return key in self._keys or (self._at is not None and key[self._at] == DEFAULT)


def written(
    experiment: Experiment, stem: Path, rows: list[dict[str, str]], *, quick: bool = False
) -> Reproduction:
    """The table and the figure of stored rows; stale ones are refused."""
    refuse_stale(experiment, rows, stem, quick=quick)
    files = {"rows": f"{stem}.csv", "table": f"{stem}.md"}
    with atomic_write(files["table"]) as place:
        place.write_text(as_markdown(experiment, rows) + "\n", encoding="utf-8")
    if rows:
        try:
            _draw(experiment.figure, rows, Path(f"{stem}.png"))
            files["figure"] = f"{stem}.png"
        except MissingExtraError as error:
            files["figure"] = f"none: {error}"
    return Reproduction(experiment, rows, files)


def refuse_stale(
    experiment: Experiment, rows: list[dict[str, str]], stem: Path, *, quick: bool = False
) -> None:
    """Say which rows have other settings than today's, if any has."""
    stale = experiment.stale(rows, quick=quick)
    if stale:
        shown = "; ".join(stale[:5]) + ("; ..." if len(stale) > 5 else "")
        raise InvalidDataError(
            f"{len(stale)} of {len(rows)} rows of {stem}.csv were computed with other settings "
            f"than today's: {shown}. Run with --drop-stale to compute them anew, or choose another "
            "folder with --out."
        )


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


# ------------------------------------------------------------------------------------- storing


class Store:
    """Rows in a file, and which units are complete."""

    def __init__(self, stem: Path, experiment: Experiment, *, quick: bool = False) -> None:
        self._file, self._state = Path(f"{stem}.csv"), Path(f"{stem}.json")
        self._stem, self._experiment, self._quick = stem, experiment, quick
        self._columns: list[str] = []
        self._appended = False
        self.rows = self._stored_rows()
        self.keys = {self._key_of(row) for row in self.rows}
        units = self._stored_state("done", []) if self.rows else []
        self.done: list[str] = [str(unit) for unit in units]

    def tidy(self, *, drop_stale: bool = False) -> None:
        """Refuse stale rows, or take them out if asked to."""
        if not drop_stale:
            refuse_stale(self._experiment, self.rows, self._stem, quick=self._quick)
            return
        stale = set(self._experiment.stale(self.rows, quick=self._quick))
        kept = [row for row in self.rows if " ".join(self._key_of(row)) not in stale]
        if len(kept) < len(self.rows):
            self.rows, self.done = kept, []
            self.keys = {self._key_of(row) for row in kept}
            self._rewrite()

    def append(self, row: Row) -> None:
        """Add a row, unless one with its key is there."""
        text = {name: "" if value is None else str(value) for name, value in row.items()}
        if self._key_of(text) in self.keys:
            return
        fresh = [name for name in text if name not in self._columns]
        if fresh:
            before = [name for name in self._columns if name not in RECORD]
            own = [name for name in fresh if name not in RECORD]
            self._columns = [*before, *own, *RECORD]
            self._rewrite()
        with self._file.open("a", newline="", encoding="utf-8") as file:
            file.write(self._as_csv([text]))  # one write, so that a row is there or not
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

    def _rewrite(self) -> None:
        """The whole file anew: columns were added, or rows taken out."""
        head = self._as_csv([dict(zip(self._columns, self._columns, strict=True))])
        with atomic_write(self._file) as place:
            place.write_text(head + self._as_csv(self.rows), encoding="utf-8")
        self._write_state()

    def _as_csv(self, rows: Iterable[Mapping[str, str]]) -> str:
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, self._columns, restval="", lineterminator="\n")
        writer.writerows(rows)
        return buffer.getvalue()

    def _write_state(self) -> None:
        """Complete units, and where the rows of the last run that added some come from."""
        with_what = computed_with() if self._appended else self._stored_state("computed_with", {})
        content = {"done": self.done, "computed_with": with_what}
        with atomic_write(self._state) as place:
            place.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")

    def _key_of(self, row: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(str(row[name]) for name in self._experiment.key)

    def _stored_rows(self) -> list[dict[str, str]]:
        """Rows of earlier runs; half a line, left by a crash, is cut off."""
        if not self._file.exists():
            return []
        text = self._file.read_text(encoding="utf-8")
        if not text.endswith("\n"):
            text = text[: text.rfind("\n") + 1]
            with atomic_write(self._file) as place:
                place.write_text(text, encoding="utf-8")
        reader = csv.DictReader(io.StringIO(text))
        self._columns = list(reader.fieldnames or [])
        key = self._experiment.key
        if text and not set(key) <= set(self._columns):
            raise InvalidDataError(
                f"{self._file} holds other rows: expected the columns {', '.join(key)}. "
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


def _plain(value: Any) -> Any:
    """A setting as JSON: arrays as lists, objects by what they print."""
    if isinstance(value, np.ndarray):
        return [float(f"{number:.12g}") for number in value.ravel()]
    words = repr(value)
    if " at 0x" in words:
        raise InvalidParameterError(
            f"A setting must print the same in every run; {words} does not. Give its numbers."
        )
    return words


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
        with atomic_write(path) as place:
            figure.savefig(place, dpi=80, format="png")
    finally:
        pyplot.close(figure)
