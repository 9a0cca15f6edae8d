"""Saving models in files that are safe to open.

The default format is that of skops: a zip archive of arrays and a description of the object, from
which only types known to be harmless are built. Ours are known, with those of numpy, scipy and
scikit-learn that they use; others are refused by name until the reader trusts them. Beside the
model the archive holds a *stamp* in JSON: the number of the format, the versions that wrote it, and
notes of the writer. It is read before anything is built.

A kernel function is a combination of rows of its table, so a saved model holds rows of that table.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from nablasso.exceptions import (
    InvalidParameterError,
    MissingExtraError,
    ModelFileError,
    VersionMismatchWarning,
)
from nablasso.packing import packed, unpacked
from nablasso.whole_file import written_whole

FORMAT = 1  # raised when older versions could no longer read a file
STAMP = "nablasso.json"  # its name in the archive
FORMATS = ("skops", "pickle")
PICKLE_MAGIC = b"nablasso pickle\n"  # then the stamp in one line, then the pickle

# Whose classes are harmless: they are built from attributes and touch no file, no network.
OUR_PACKAGES = (
    *("preparation", "packing", "kernels", "losses", "penalties", "spaces", "problems", "solvers"),
    *("paths", "regression", "streaming", "search", "hierarchy", "gradients", "nonnegative"),
    *("inference", "reading", "estimators"),
)
OTHERS = ("builtins.frozenset", "builtins.complex", "builtins.range")
OTHER_MODULES = ("scipy.sparse._", "sklearn.model_selection._split", "sklearn.utils._bunch")


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    format: str = "skops",
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    model : estimator
        Usually fitted; pipelines and other containers of estimators too.
    path : path-like
        Where to write; ``.skops`` is the usual suffix.
    format : {"skops", "pickle"}
        ``"pickle"`` also holds functions and classes of your own, but whoever opens such a file
        runs whatever it says.
    notes : mapping, optional
        Anything that JSON can hold; :func:`read_stamp` gives it back without loading the model.

    Raises
    ------
    InvalidParameterError
        If the model holds something that the format cannot, or the file cannot be written.
    """
    stamp = json.dumps(_stamp(model, format, notes))
    if format == "skops":
        with written_whole(path) as place:
            _write_skops(model, place, stamp)
    elif format == "pickle":
        _warn_of_pickle("Whoever loads this file runs whatever it says.")
        try:
            content = pickle.dumps(model)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InvalidParameterError(f"The model cannot be pickled: {error}.") from error
        with written_whole(path) as place:
            place.write_bytes(PICKLE_MAGIC + stamp.encode() + b"\n" + content)
    else:
        raise _unknown_format(format)


def load(
    path: str | os.PathLike[str],
    *,
    trusted: Iterable[str | type] = (),
    format: str = "skops",
) -> Any:
    """Read a model that :func:`save` has written.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : iterable of str or type
        Types, or their full names, that may be built besides those of nablasso, numpy, scipy and
        scikit-learn. Trust only what you know: building an object runs its code.
    format : {"skops", "pickle"}
        A pickle is loaded only if asked for, since it can run anything.

    Returns
    -------
    object
        What was saved.

    Raises
    ------
    ModelFileError
        If the file is none of ours or damaged, has a newer format, or holds types that are not
        trusted; the message names them.
    """
    if format not in FORMATS:
        raise _unknown_format(format)
    stamp = read_stamp(path)
    if stamp["kind"] != format:
        raise ModelFileError(
            f'{path} is a {stamp["kind"]} file; load it with format="{stamp["kind"]}"'
            + (
                " if you trust whoever made it: a pickle can run anything."
                if format != "pickle"
                else "."
            )
        )
    _check_versions(stamp, path)
    if format == "pickle":
        _warn_of_pickle("Loading it runs whatever it says.")
        return _read_pickle(Path(path))
    return _read_skops(Path(path), trusted)


def read_stamp(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file says of itself: format, versions, kind of model, notes. Builds nothing.

    Parameters
    ----------
    path : path-like
        A file that :func:`save` has written.

    Returns
    -------
    dict
        ``format``, ``kind``, ``model``, ``versions`` and ``notes``.
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            if file.read(len(PICKLE_MAGIC)) == PICKLE_MAGIC:
                text = file.readline().decode()
            else:
                with zipfile.ZipFile(file) as archive:
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
    return {"kind": None, "model": "", "versions": {}, "notes": {}, **stamp}


def _stamp(model: Any, kind: str, notes: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "kind": kind,
        "model": type(model).__name__,
        "versions": {
            "nablasso": _version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "notes": dict(notes or {}),
    }


def _check_versions(stamp: dict[str, Any], path: str | os.PathLike[str]) -> None:
    wrote = str(stamp["versions"].get("nablasso", "an unknown version"))
    ours = _version()
    if stamp["format"] > FORMAT:
        raise ModelFileError(
            f"{path} has format {stamp['format']}, written by nablasso {wrote}; this is nablasso "
            f"{ours}, which reads formats up to {FORMAT}. Install a newer nablasso."
        )
    if wrote.split(".")[:2] != ours.split(".")[:2]:
        warnings.warn(
            f"{path} was saved by nablasso {wrote}; this is {ours}. Predictions may differ: "
            "check them, or fit again.",
            VersionMismatchWarning,
            stacklevel=3,
        )


def _version() -> str:
    from nablasso import __version__  # the package imports this module before it has a version

    return __version__


def _skops() -> Any:
    try:
        import skops.io as skops_io
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            'Saved models need skops, which is not installed; pip install "nablasso[io]"'
        ) from error
    return skops_io


def _write_skops(model: Any, place: Path, stamp: str) -> None:
    skops_io = _skops()
    try:
        skops_io.dump(packed(model), place, compression=zipfile.ZIP_DEFLATED)
        nameless = [name for name in skops_io.get_untrusted_types(file=place) if "<" in name]
        if nameless:
            raise InvalidParameterError(f"no name leads to {', '.join(nameless)}")
    except OSError:
        raise
    except Exception as error:  # skops has no one type for what it cannot hold
        raise InvalidParameterError(
            f"The model holds something that a skops file cannot ({error}). Functions and objects "
            'of your own need format="pickle".'
        ) from error
    with zipfile.ZipFile(place, "a") as archive:
        archive.writestr(STAMP, stamp)


def _read_skops(path: Path, trusted: Iterable[str | type]) -> Any:
    skops_io = _skops()
    allowed = {name if isinstance(name, str) else _full_name(name) for name in trusted}
    try:
        found = skops_io.get_untrusted_types(file=path)
        unknown = [name for name in found if name not in allowed and not _is_harmless(name)]
        if not unknown:
            return unpacked(skops_io.load(path, trusted=found))
    except Exception as error:  # whatever a damaged or forged archive makes of itself
        raise ModelFileError(
            f"{path} is damaged, or needs packages that are not installed "
            f"({type(error).__name__}: {error}). Save it again."
        ) from error
    raise ModelFileError(
        f"{path} holds types that are not trusted: {', '.join(unknown)}. If you know them and "
        f"whoever made the file, load it with trusted={unknown!r}."
    )


def _read_pickle(path: Path) -> Any:
    with path.open("rb") as file:
        file.read(len(PICKLE_MAGIC))
        file.readline()
        try:
            return pickle.load(file)
        except Exception as error:  # a pickle may raise anything
            raise ModelFileError(
                f"{path} cannot be unpickled ({type(error).__name__}: {error}). Save it again."
            ) from error


def _is_harmless(name: str) -> bool:
    """Whether a name is that of a class, or of a method, defined where the name says, and known.

    The prefix alone would not do: modules also hold functions and what they import.
    """
    if name in OTHERS:
        return True
    module, _, attribute = name.rpartition(".")
    if not _is_known(module):
        return False
    owner, _, holder = module.rpartition(".")
    if holder[:1].isupper():  # a method, bound to an object of this class
        return _is_harmless(module) and callable(getattr(_member(owner, holder), attribute, None))
    found = _member(module, attribute)
    return isinstance(found, type) and _full_name(found) == name


def _is_known(module: str) -> bool:
    return module.startswith(OTHER_MODULES) or any(
        module == f"nablasso.{package}" or module.startswith(f"nablasso.{package}.")
        for package in OUR_PACKAGES
    )


def _member(module: str, attribute: str) -> Any:
    try:
        return getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return None


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _warn_of_pickle(sentence: str) -> None:
    warnings.warn(f"A pickle is not a safe format. {sentence}", UserWarning, stacklevel=3)


def _unknown_format(name: str) -> InvalidParameterError:
    return InvalidParameterError(f"format must be one of {', '.join(FORMATS)}; got {name!r}.")
