"""Files: written whole or not at all, results that survive a stop, models that are safe to open.

**Whole files.** :func:`atomic_write` writes beside the place and moves there when complete: a
reader sees the old file or the new one, and an error, Ctrl-C or a full disk leaves the old one.

**Results that survive a stop.** What is computed is a function of its input and of what is asked of
it, so a :class:`Store` keeps it under the digest of both. A run that was stopped is started again
by the same call: it asks the same questions in the same order, and those that were answered cost
nothing. Nothing in a folder is ever read for another input or another question.

**Models.** The format is that of skops: a zip archive of arrays and a description of the
object, from which only types known to be harmless are built: ours, and those of numpy, scipy and
scikit-learn that they use; others are refused by name until the reader trusts them. A *stamp* in
JSON beside it holds the number of the format, the versions that wrote it, and notes; it is read
before anything is built. Dictionaries by node have tuples as keys, which the format cannot write:
they become lists of pairs on the way out (:func:`pack_keys`) and are rebuilt on the way in.

A kernel function is a combination of rows of its table, so a saved model holds rows of that table.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from nablasso import __version__
from nablasso.errors import (
    InvalidParameterError,
    ModelFileError,
    VersionMismatchWarning,
    optional,
    warn,
)

FORMAT = 10  # raised when the classes of a file are to be found elsewhere
STAMP = "nablasso.json"  # its name in the archive
RESULTS = 1  # format of stored results; raised when a pass means something else

# Whose classes are harmless: they are built from attributes and touch no file, no network.
MODULES = ("nablasso.", "scipy.sparse._", "sklearn.model_selection._split", "sklearn.utils._bunch")
FOR_PEOPLE = ("nablasso.cli", "nablasso.report", "nablasso.inspection", "nablasso.progress")
OTHERS = ("builtins.frozenset", "builtins.complex", "builtins.range")
NOT_OURS = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)  # no data of a model


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path in the same folder, which takes the place of ``path`` at the end."""
    place = Path(path)
    check_place(place)
    try:
        handle, name = tempfile.mkstemp(place.suffix, f".{place.stem[:40]}.", place.parent)
    except OSError as error:
        raise _not_writable(place, error.strerror or str(error)) from error
    os.close(handle)
    try:
        mask = os.umask(0)  # of new files; the temporary one is for nobody else
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
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

    def remembered(
        self, what: Any, compute: Callable[[], dict[str, Any]], kind: str = "pass"
    ) -> dict[str, Any]:
        """Arrays by name, read if they are there and stored if they are not."""
        if self.folder is None:
            return compute()
        path = self.folder / f"{kind}-{digest(what)}.npz"
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
    """A number for a structure of tuples, dataclasses, arrays, kernels, numbers and functions."""
    sha = hashlib.sha256(f"nablasso {RESULTS}".encode())
    _feed(sha, what)
    return sha.hexdigest()


def _feed(sha: Any, what: Any) -> None:
    if isinstance(what, partial):
        what = (what.func, what.args, what.keywords)
    if isinstance(what, np.ndarray) and what.dtype.kind == "O":  # words
        what = what.tolist()
    if isinstance(what, np.ndarray | np.generic):
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
    elif hasattr(what, "get_params"):  # a kernel
        _feed(sha, (type(what).__qualname__, what.get_params(deep=False)))
    elif callable(what):
        sha.update(f"{what.__module__}.{what.__qualname__};".encode())
    elif what is None or isinstance(what, str | bytes | bool | int | float):
        sha.update(f"{type(what).__name__} {what!r};".encode())
    else:
        raise TypeError(f"No digest of {type(what).__name__}.")


def save(
    model: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None
) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        Usually fitted; pipelines and other containers of estimators too.
    path : path-like
        Where to write; ``.skops`` is the usual suffix.
    notes : mapping, optional
        Anything that JSON can hold; :func:`read_stamp` gives it back without loading the model.

    Raises
    ------
    InvalidParameterError
        If the model holds something that the format cannot, or the file cannot be written.
    """
    others = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    versions = {"nablasso": __version__} | others
    about = {"format": FORMAT, "model": type(model).__name__, "versions": versions}
    skops_io, stamp = _skops(), json.dumps(about | {"notes": dict(notes or {})})
    with atomic_write(path) as place:
        try:
            skops_io.dump(rebuilt(model, pack_keys), place, compression=zipfile.ZIP_DEFLATED)
            nameless = [name for name in skops_io.get_untrusted_types(file=place) if "<" in name]
            if nameless:
                raise InvalidParameterError(f"no name leads to {', '.join(nameless)}")
        except OSError:
            raise
        except Exception as error:  # skops has no one type for what it cannot hold
            raise InvalidParameterError(
                f"The model holds something that a skops file cannot ({error}). Functions and "
                "objects of your own need pickle, whose files only you should open."
            ) from error
        with zipfile.ZipFile(place, "a") as archive:
            archive.writestr(STAMP, stamp)


def load(path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Read a model that :func:`save` has written.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : iterable of str or type
        Types, or their full names, that may be built besides those of nablasso, numpy, scipy and
        scikit-learn. Trust only what you know: building an object runs its code.

    Returns
    -------
    object
        What was saved.

    Raises
    ------
    ModelFileError
        If the file is none of ours or damaged, has another format, or holds types that are not
        trusted; the message names them.
    """
    stamp, ours = read_stamp(path), __version__
    wrote = str(stamp["versions"].get("nablasso", "an unknown version"))
    if stamp["format"] != FORMAT:
        newer = stamp["format"] > FORMAT
        raise ModelFileError(
            f"{path} has format {stamp['format']}, written by nablasso {wrote}; this is nablasso "
            f"{ours}, which reads format {FORMAT}. "
            + ("Install a newer nablasso." if newer else "Fit the model again, and save it.")
        )
    if wrote.split(".")[:2] != ours.split(".")[:2]:
        warn(
            f"{path} was saved by nablasso {wrote}; this is {ours}. Predictions may differ: "
            "check them, or fit again.",
            VersionMismatchWarning,
        )
    skops_io = _skops()
    allowed = {name if isinstance(name, str) else _full_name(name) for name in trusted}
    try:
        found = skops_io.get_untrusted_types(file=path)
        unknown = [name for name in found if name not in allowed and not _is_harmless(name)]
        if not unknown:
            return rebuilt(skops_io.load(path, trusted=found), unpack_keys)
    except Exception as error:  # whatever a damaged or forged archive makes of itself
        raise ModelFileError(
            f"{path} is damaged, or needs packages that are not installed "
            f"({type(error).__name__}: {error}). Save it again."
        ) from error
    raise ModelFileError(
        f"{path} holds types that are not trusted: {', '.join(unknown)}. If you know them and "
        f"whoever made the file, load it with trusted={unknown!r}."
    )


def read_stamp(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says of itself: format, versions, model, notes. Builds nothing."""
    place = Path(path)
    try:
        with place.open("rb") as file, zipfile.ZipFile(file) as archive:
            text = archive.read(STAMP).decode()
        stamp = json.loads(text)
        if not isinstance(stamp, dict) or not isinstance(stamp["format"], int):
            raise KeyError("format")
        if not isinstance(stamp.get("versions", {}), dict):
            raise KeyError("versions")
    except OSError as error:
        raise ModelFileError(
            f"{place} cannot be read: {error.strerror or error}. Give the path of a saved model."
        ) from error
    except Exception as error:  # whatever a damaged archive makes of itself
        raise ModelFileError(
            f"{place} is not a model that nablasso has saved, or is damaged "
            f"({type(error).__name__}). Save it again with nablasso.save or nablasso select --save."
        ) from error
    return {"model": "", "versions": {}, "notes": {}, **stamp}


def _skops() -> Any:
    return optional("skops.io", "Saved models need skops", "io")


def _is_harmless(name: str) -> bool:
    """Whether a name is that of a class, or of a method, defined where the name says, and known.

    The prefix alone would not do: modules also hold functions and what they import.
    """
    if name in OTHERS:
        return True
    module, _, attribute = name.rpartition(".")
    if not module.startswith(MODULES) or module.startswith(FOR_PEOPLE):
        return False
    owner, _, holder = module.rpartition(".")
    if holder[:1].isupper():  # a method, bound to an object of this class
        return _is_harmless(module) and callable(getattr(_member(owner, holder), attribute, None))
    found = _member(module, attribute)
    return isinstance(found, type) and _full_name(found) == name


def _member(module: str, attribute: str) -> Any:
    try:
        return getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return None


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


@dataclass(frozen=True)
class Pairs:
    """A dictionary as the list of its pairs."""

    pairs: list[tuple[Any, Any]]


def pack_keys(part: Any) -> Any:
    """:class:`Pairs` in the place of a dictionary with keys of other types than text."""
    packed = type(part) is dict and not all(type(key) is str for key in part)
    return Pairs(list(part.items())) if packed else part


def unpack_keys(part: Any) -> Any:
    """The inverse of :func:`pack_keys`."""
    return dict(part.pairs) if isinstance(part, Pairs) else part


def rebuilt(
    item: Any, change: Callable[[Any], Any], seen: dict[int, tuple[Any, Any]] | None = None
) -> Any:
    """``change`` applied to all parts, the innermost first; what is unchanged stays itself.

    Everything between an item and a part that changes is copied, nothing is changed in place.
    """
    seen = {} if seen is None else seen
    if id(item) in seen:
        return seen[id(item)][1]
    seen[id(item)] = item, item  # a cycle meets the original
    parts, build = _parts(item)
    new = [rebuilt(part, change, seen) for part in parts]
    same = all(a is b for a, b in zip(parts, new, strict=True))
    result = change(item if same else build(new))
    seen[id(item)] = item, result
    return result


def _parts(item: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """What an item holds, and how to make one like it of other parts."""
    if isinstance(item, (list, tuple)):
        return list(item), getattr(item, "_make", type(item))
    if type(item) is dict:
        return list(item.values()), lambda new: dict(zip(item, new, strict=True))
    held = getattr(item, "__dict__", None)
    if not isinstance(held, dict) or isinstance(item, NOT_OURS):
        return [], lambda _: item

    def build(new: list[Any]) -> Any:
        result = copy.copy(item)
        vars(result).update(zip(held, new, strict=True))
        return result

    return list(held.values()), build
