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


# Name and what; rows, inputs, mean and deviation of the target, number on OpenML, digest.
TABLES = """
airfoil: NASA airfoil self-noise, sound pressure in decibels
1503 5 124.836 6.89636 44957 f969266c9f734b78f30e48bfe0cf86d1da6e6db3a55fae8dff101ab7e3a7ce0c
bike_hour: Capital bike sharing, rentals per hour
17379 12 189.463 181.382 - 0b603a6081967bb12b420ab71d616a0627907a33d6ce2c5f401f30736d2fdc36
boston: Boston housing, median value in 1000 dollars; holds the contested column B
506 13 22.5328 9.18801 531 70588e31c8b2da7f914d4e17acab0ac5484d3aa881415e647ec73689cd9520b5
california: California housing, median value in dollars
20640 8 206856 115393 537 5e1aa4849dd1a4b94c3b417ec0653d3e5bd593503e20d6dc2ec481f8f3068ef7
concrete: compressive strength of concrete in MPa
1030 8 35.818 16.6976 4353 c67f799cea6dd814e346ddfcc353b48818a105592f815dbe6de96e549a790c55
cpu_act: share of time a processor spends in user mode
8192 21 83.9689 18.4008 197 1728c49449edfa1ab7c72cf6273861e0a89ac53c521f9d882ab21afe22cfbf34
delta_ailerons: change of an F16's ailerons
7129 5 -7.06972e-06 0.000302828 198 cf0dc2d655bae7efcfff377b6c650fe3a6512b4b723c13456238f02284bbfeef
elevators: action on an F16's elevators
16599 18 0.021625 0.00671687 216 9489be55c9cd622a7c0313df596c12bf1c93aed86c639df2c2abc0e12986ad85
energy_cooling: cooling load of simulated buildings
768 8 24.5878 9.50711 - 9706fbf17b33f83e57ddf1964bb0a6b8f82e784b52c692428e58b20d92d03c48
energy_heating: heating load of simulated buildings
768 8 22.3072 10.0836 - 99781b26d2f9a4ef73cb38fb6ec3969925932e3768f6bc6b1e237809089f655d
house_16H: US census of 1990, median house price in dollars
22784 16 50074.4 52842.3 574 48dd6c2f537479b3a0af627dcd4a8066bf134f21bac792badbd16ceac8754d65
kin8nm: forward kinematics of a robot arm of eight links
8192 8 0.714283 0.263591 189 f9eac11869e48e7b4eab068cb26f28d031d05672a3f9e3f064ae07eaa216abfb
leukemia: gene expression of 72 patients (Golub et al. 1999), ALL or AML
72 7129 - - 1104 7a4d6606a8f910f5a08616534a19ad032c9798b905fc7aa87d80255da762028c
pole: telecommunication problem of Torgo, constant columns dropped
15000 26 28.9453 41.7244 44133 4f1be9dcf43abb1474fc9868e98d2b54fa7b9b6002e806fe6b9899b8b20765e7
protein: physicochemical properties of protein structures, RMSD
45730 9 7.74853 6.11824 44963 3f247b4d7d04abb1c03bcae8c65b5478874d8878e754d5eede08c5899df7ae89
pumadyn_32fh: dynamics of a Puma 560 arm, 32 inputs, fairly linear, high noise
8192 32 -0.000411874 0.0270142 - d9dc578d3b12b56f456f528e3f535d8e3068dd5acd580115d6033f9ffe94bfef
pumadyn_32fm: dynamics of a Puma 560 arm, 32 inputs, fairly linear, moderate noise
8192 32 -4.78664e-05 0.0182816 - 4dcc422bb4716f8a1144bf48c303037f10d89c032ed54289bc0103b380303f71
pumadyn_32nh: dynamics of a Puma 560 arm, 32 inputs, non-linear, high noise
8192 32 -4.15862e-4 0.0359536 44981 495213a2cc91ef0dc0ca619d8a38afc47d82287c67e808b199b29f3b2a859044
pumadyn_8fh: dynamics of a Puma 560 arm, 8 inputs, fairly linear, high noise
8192 8 2.32833 5.08503 - 5eff224f5d2fb5fbc578d40f4983422f997e2ffe02c6bc520ab80c6544a88b0f
pumadyn_8fm: dynamics of a Puma 560 arm, 8 inputs, fairly linear, moderate noise
8192 8 2.49673 4.63557 - 24af3d4fbd23c7a8c3c7e68e3571e2d5a7b411b2b3a40d2cf3a5ba6b55fc7285
pumadyn_8nh: dynamics of a Puma 560 arm, 8 inputs, non-linear, high noise
8192 8 1.16205 5.62199 225 3e00cfad192012d3bf125d91f5c266c35436e731cb4d317cc720a2f00bf937c7
segment: seven kinds of outdoor image segments
2310 19 - - 36 59d26eb16f24cde33040f4bf3f64258b1a4d0f0e9efa73c912562e6b9c36b521
stock: daily price of one aerospace company from nine others
950 9 46.9941 6.53598 223 70fb84f53888aa5bbf827860f7bb8c1ed4d29f54604277106f2f59d22acaf40b
wpbc_outcome: Wisconsin prognostic breast cancer, recurrence (R) or not (N)
198 32 - - - 645ce393b9f1cfd2d2eb8f084d148fbbefccab8eb2ac82b69d7e6cfcf6e0bbf2
wpbc_time: Wisconsin prognostic breast cancer, months to recurrence or last visit
198 32 46.7323 34.3757 - 183984394f7e69cf15013336fa08db0b6d84715dbcfea14910806ee78ce8d87e
"""


def _facts(first: str, second: str) -> Facts:
    name, what = first.split(": ", 1)
    rows, inputs, mean, deviation, openml, digest = second.split()
    moments = None if mean == "-" else (float(mean), float(deviation))
    number = None if openml == "-" else int(openml)
    return Facts(name, what, int(rows), int(inputs), moments, number, digest)


_LINES = TABLES.split("\n")[1:-1]
CATALOGUE = {facts.name: facts for facts in map(_facts, _LINES[::2], _LINES[1::2])}


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
    """Load a table by its name, one of ``nablasso.datasets.CATALOGUE``.

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
