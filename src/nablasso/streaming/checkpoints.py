"""Results of passes that survive a stop.

A pass is a function of the table and of what is asked of it, so its result is stored under the
digest of both. A run that was stopped is started again by the same call: it asks the same
questions in the same order, and those that were answered cost nothing. Every answer is a file of
its own that appears whole; nothing in a folder is ever read for another table or another question.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.persistence import atomic_write

FORMAT = 1  # of the files; raised when a pass means something else


@dataclass(frozen=True)
class Store:
    """A folder of results; without one nothing is stored."""

    folder: Path | None = None

    def __post_init__(self) -> None:
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InvalidParameterError(
                    f"checkpoint must be a folder; {self.folder} cannot be made: {error.strerror}."
                ) from error

    def remembered(self, what: Any, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Arrays by name, read if they are there and stored if they are not."""
        if self.folder is None:
            return compute()
        path = self.folder / f"pass-{digest(what)[:32]}.npz"
        if path.exists():
            try:
                with np.load(path, allow_pickle=False) as file:
                    return dict(file)
            except (OSError, ValueError, zipfile.BadZipFile):
                path.unlink()  # damaged: computed again
        found = compute()
        with atomic_write(path) as place, place.open("wb") as file:
            np.savez(file, **found)
        return found


def digest(what: Any) -> str:
    """A number for a structure of tuples, dataclasses, arrays, numbers and functions."""
    sha = hashlib.sha256(f"nablasso {FORMAT}".encode())
    _feed(sha, what)
    return sha.hexdigest()


def _feed(sha: Any, what: Any) -> None:
    if isinstance(what, partial):
        what = (what.func, what.args, what.keywords)
    if isinstance(what, np.ndarray | np.generic) and what.dtype.kind != "O":
        array = np.ascontiguousarray(what)
        sha.update(f"array {array.dtype.str} {array.shape};".encode())
        sha.update(array.tobytes())
    elif is_dataclass(what) and not isinstance(what, type):
        sha.update(f"{type(what).__qualname__}(".encode())
        for one in fields(what):
            _feed(sha, (one.name, getattr(what, one.name)))
        sha.update(b");")
    elif isinstance(what, Mapping):
        _feed(sha, list(what.items()))
    elif isinstance(what, Sequence) and not isinstance(what, str | bytes):
        sha.update(f"sequence {len(what)}(".encode())
        for one in what:
            _feed(sha, one)
        sha.update(b");")
    elif callable(what):
        sha.update(f"{what.__module__}.{what.__qualname__};".encode())
    elif what is None or isinstance(what, str | bool | int | float):
        sha.update(f"{type(what).__name__} {what!r};".encode())
    else:
        raise TypeError(f"No digest of {type(what).__name__}.")
