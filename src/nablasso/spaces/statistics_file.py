"""Files of statistics: arrays, and a header in JSON that says whose they are.

The format is numpy's ``.npz`` (a zip archive of arrays with checksums), read without pickle. The
header holds the number of the format, the fingerprint of the space, the space itself as plain data
and notes. A file is written beside its place, through to the disk, and moved there in one step.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.errors import StatisticsFileError
from nablasso.persistence import atomic_write, from_plain, to_plain
from nablasso.spaces.frozen import FrozenSpace

KIND = "nablasso statistics"
FORMAT = 2  # raised whenever the meaning of the sums changes, or the place of a class
HEADER = "header"
PREFIX = "sum_"


def write_statistics(
    path: str | os.PathLike[str],
    space: FrozenSpace,
    sums: Mapping[str, NDArray[Any]],
    notes: dict[str, Any],
) -> None:
    """Write ``sums`` by name, with their space."""
    arrays: dict[str, NDArray[Any]] = {}
    header = {
        "kind": KIND,
        "format": FORMAT,
        "nablasso": _version(),
        "fingerprint": space.fingerprint(),
        "space": to_plain(space, arrays),
        "notes": notes,
    }
    arrays |= {PREFIX + name: array for name, array in sums.items()}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with atomic_write(path) as place, place.open("wb") as file:
        np.savez(file, **{HEADER: text}, **arrays)  # type: ignore[arg-type]
        file.flush()
        os.fsync(file.fileno())


def read_statistics(
    path: str | os.PathLike[str], space: FrozenSpace | None
) -> tuple[FrozenSpace, dict[str, NDArray[Any]], dict[str, Any]]:
    """The space, the sums by name and the notes; refuses files of another version or space."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(bytes(file[HEADER]))
            _check_header(header, path)
            arrays = {name: file[name] for name in file.files if name != HEADER}
    except FileNotFoundError as error:
        raise StatisticsFileError(
            f"{path} does not exist. Give the path of a file of statistics."
        ) from error
    except (KeyError, ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        if isinstance(error, StatisticsFileError):
            raise
        raise StatisticsFileError(
            f"{path} is not a file of statistics, or was cut off or damaged ({error}). Take an "
            "older copy, or delete it and repeat the pass."
        ) from error
    _check_space(header, space, path)
    if space is None:
        space = from_plain(header["space"], arrays)
        if space.fingerprint() != header["fingerprint"]:
            raise StatisticsFileError(
                f"{path} holds a space that nablasso {_version()} builds differently than "
                f"{header['nablasso']}, which wrote it. Read it with that version."
            )
    sums = {name.removeprefix(PREFIX): a for name, a in arrays.items() if name.startswith(PREFIX)}
    return space, sums, header["notes"]


def _check_header(header: Any, path: str | os.PathLike[str]) -> None:
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise StatisticsFileError(
            f"{path} is not a file of statistics. Give a file that SufficientStatistics.save wrote."
        )
    if header["format"] != FORMAT:
        raise StatisticsFileError(
            f"{path} has format {header['format']}, written by nablasso {header['nablasso']}; "
            f"nablasso {_version()} reads format {FORMAT} only. Repeat the pass, or read the file "
            "with that version."
        )


def _check_space(
    header: dict[str, Any], space: FrozenSpace | None, path: str | os.PathLike[str]
) -> None:
    if space is not None and space.fingerprint() != header["fingerprint"]:
        raise StatisticsFileError(
            f"{path} belongs to another space: its scaling, features, names or seed differ from "
            "those given. Load it without a space to use its own, or repeat the pass."
        )


def _version() -> str:
    from nablasso import __version__  # the package imports this module before it has a version

    return __version__
