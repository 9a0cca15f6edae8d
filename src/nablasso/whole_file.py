"""Files that are whole: written beside their place and moved there when complete.

A reader sees the old file or the new one, never a part; an error, Ctrl-C or a full disk leaves the
old one. ``os.replace`` moves within a folder in one step.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nablasso.exceptions import InvalidParameterError


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path in the same folder, which takes the place of ``path`` at the end.

    Parameters
    ----------
    path : path-like
        Where the file is to be.

    Yields
    ------
    Path
        Where to write it; its suffix is that of ``path``.

    Raises
    ------
    InvalidParameterError
        If no file can be written there.
    """
    place = Path(path)
    check_place(place)
    try:
        handle, name = tempfile.mkstemp(place.suffix, f".{place.stem[:40]}.", place.parent)
    except OSError as error:
        raise _not_writable(place, error.strerror or str(error)) from error
    os.close(handle)
    try:
        os.chmod(name, 0o666 & ~_umask())
        yield Path(name)
        os.replace(name, place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a place where no file can be written, before the work that is to be written there."""
    place = Path(path)
    if place.is_dir():
        raise InvalidParameterError(f"{place} is a folder. Give the path of a file to write.")
    if not place.parent.is_dir():
        raise _not_writable(place, "its folder does not exist")
    if not os.access(place.parent, os.W_OK):
        raise _not_writable(place, "no permission")


def _not_writable(place: Path, reason: str) -> InvalidParameterError:
    return InvalidParameterError(
        f"{place} cannot be written: {reason}. Give a path in a folder that exists and in which "
        "you may write."
    )


def _umask() -> int:
    """The permissions that new files do not get; the temporary file had none of the others."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
