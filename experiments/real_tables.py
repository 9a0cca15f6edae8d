"""Real tables: from a folder, else from OpenML.

A table is looked for in the folder named by the environment variable ``NABLASSO_DATA`` as
``<name>.csv.gz``: a header line, inputs, and the target in the last column. No network is needed
when the file is there; its checksum is verified. Else scikit-learn fetches the copy that OpenML
holds, keeps it in its cache, and shape and target are compared with what is known of the table.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from nablasso.errors import DataUnavailableError, InvalidDataError, InvalidParameterError
from nablasso.types import Array, Mask

FOLDER = "NABLASSO_DATA"
SPLIT = "split"  # a column that says "train" or "test"
CLOSE = 1e-3  # standard deviations that a mean or deviation of another copy may differ by


class Facts(NamedTuple):
    """What is known about a table. ``moments`` are mean and deviation of a target of numbers.

    They are None for classes; ``openml`` is the number of a copy on OpenML, None where no equal
    copy is known; ``digest`` the SHA-256 of the file ``<name>.csv.gz``.
    """

    name: str
    what: str
    n_samples: int
    n_features: int
    moments: tuple[float, float] | None
    openml: int | None
    digest: str


def _facts(row: dict[str, str]) -> Facts:
    moments = (float(row["mean"]), float(row["deviation"])) if row["mean"] else None
    number = int(row["openml"]) if row["openml"] else None
    shape = int(row["rows"]), int(row["inputs"])
    return Facts(row["name"], row["what"], *shape, moments, number, row["digest"])


with Path(__file__).with_name("catalogue.csv").open(encoding="utf-8") as _file:
    CATALOGUE = {row["name"]: _facts(row) for row in csv.DictReader(_file)}


@dataclass(frozen=True, eq=False)
class RealTable:
    """A table of the real world.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Inputs; NaN where the source has no value.
    y : ndarray of shape (n_samples,)
        Numbers, or the names of the classes.
    feature_names : tuple of str
    name, description, source : str
        ``source`` is the file, or the number on OpenML.
    train : ndarray of bool, shape (n_samples,), or None
        Rows to train on, where the source divides them.
    """

    X: Array
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    name: str
    description: str
    source: str
    train: Mask | None = None


def load_table(name: str) -> RealTable:
    """Load a table by its name, one of ``CATALOGUE``.

    Raises
    ------
    DataUnavailableError
        If neither the folder nor OpenML has it; the message says where to put the file.
    InvalidDataError
        If what was found is not the table.
    """
    if name not in CATALOGUE:
        raise InvalidParameterError(f"name must be one of {', '.join(CATALOGUE)}; got {name!r}.")
    facts = CATALOGUE[name]
    file = table_file(name)
    return _fetched(facts) if file is None else _read(facts, file)


def table_file(name: str) -> Path | None:
    """The table's file in the folder of ``NABLASSO_DATA``; None where there is none."""
    folder = os.environ.get(FOLDER)
    file = None if not folder else Path(folder) / f"{name}.csv.gz"
    return file if file is not None and file.is_file() else None


# ------------------------------------------------------------------ a file


def _read(facts: Facts, file: Path) -> RealTable:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataUnavailableError(f"Cannot read {file}: {error.strerror}.") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != facts.digest:
        raise InvalidDataError(
            f"{file} is not the table {facts.name!r}: its SHA-256 is {digest}, expected "
            f"{facts.digest}. Replace the file, or remove it to take OpenML's copy."
        )
    try:
        text = gzip.decompress(content).decode()
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidDataError(f"{file} is not text compressed by gzip: {error}.") from error
    header, *rows = csv.reader(io.StringIO(text))
    columns = dict(zip(header, zip(*rows, strict=True), strict=True))
    target = _target(columns.pop("target"), facts)
    split = columns.pop(SPLIT, None)
    X = np.array([_numbers(column) for column in columns.values()]).T
    train = None if split is None else np.array(split) == "train"
    return RealTable(
        np.ascontiguousarray(X), target, tuple(columns), facts.name, facts.what, str(file), train
    )


def _numbers(cells: Sequence[str]) -> Array:
    return np.array([cell or "nan" for cell in cells], dtype=np.float64)


def _target(cells: Sequence[str], facts: Facts) -> NDArray[Any]:
    return np.array(cells) if facts.moments is None else _numbers(cells)


# ------------------------------------------------------------------ OpenML


def _fetched(facts: Facts) -> RealTable:
    wanted = f"{facts.name}.csv.gz (SHA-256 {facts.digest})"
    cure = f"Put {wanted} into a folder and name it by the environment variable {FOLDER}."
    if facts.openml is None:
        raise DataUnavailableError(
            f"The table {facts.name!r} was not found in a folder, and no equal copy is known on "
            f"OpenML. {cure}"
        )
    try:
        bunch = fetch_openml(data_id=facts.openml, as_frame=False, parser="liac-arff")
    except (URLError, OSError, ValueError) as error:
        raise DataUnavailableError(
            f"The table {facts.name!r} was not found in a folder, and OpenML (number "
            f"{facts.openml}) did not give it: {error}. {cure}"
        ) from error
    X = np.asarray(bunch.data, dtype=np.float64)
    y = np.asarray(bunch.target, dtype=str if facts.moments is None else np.float64)
    _compare(facts, X, y, cure)
    names = tuple(map(str, bunch.feature_names))
    return RealTable(X, y, names, facts.name, facts.what, f"OpenML {facts.openml}")


def _compare(facts: Facts, X: Array, y: NDArray[Any], cure: str) -> None:
    """Refuse a copy of another shape or with another target."""
    expected = (facts.n_samples, facts.n_features)
    found = f"{X.shape[0]} rows and {X.shape[1]} inputs" if X.shape != expected else ""
    if not found and facts.moments is not None:
        mean, deviation = facts.moments
        if max(abs(y.mean() - mean), abs(y.std() - deviation)) > CLOSE * deviation:
            found = f"a target of mean {y.mean():g} and deviation {y.std():g}"
    if found:
        known = "" if facts.moments is None else " (mean and deviation {:g}, {:g})"
        raise InvalidDataError(
            f"OpenML's number {facts.openml} is not the table {facts.name!r}: expected "
            f"{expected[0]} rows and {expected[1]} inputs{known.format(*facts.moments or ())}, "
            f"got {found}. {cure}"
        )
