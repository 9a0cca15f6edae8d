"""Objects as plain data: a tree that JSON can hold, and arrays by name. No pickle, no code.

Arrays, numbers, text, tuples and None are kept as they are; frozen dataclasses of this package as
their fields, kernels as their parameters. Reading builds only such classes, found where their names
say, so a file can make nothing else.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nablasso.exceptions import InvalidDataError, InvalidParameterError
from nablasso.kernels.base import Kernel

PACKAGE = "nablasso."


def to_plain(item: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """A tree of ``item`` for JSON; its arrays are put into ``arrays``."""
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if isinstance(item, np.generic):
        return item.item()
    if isinstance(item, np.ndarray) and item.dtype != object:
        name = f"array_{len(arrays)}"
        arrays[name] = item
        return {"array": name}
    if isinstance(item, tuple | list) and not hasattr(item, "_fields"):
        return {"items": [to_plain(part, arrays) for part in item]}
    parts = _parts(item)
    if parts is None or not type(item).__module__.startswith(PACKAGE):
        raise InvalidParameterError(
            f"A {type(item).__name__} cannot be kept as plain data. Use arrays, numbers, text, "
            "tuples, kernels of nablasso and its frozen dataclasses."
        )
    kept = {name: to_plain(part, arrays) for name, part in parts.items()}
    return {"class": f"{type(item).__module__}:{type(item).__qualname__}", "fields": kept}


def from_plain(tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """The inverse of :func:`to_plain`."""
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return np.asarray(arrays[tree["array"]])
    if "items" in tree:
        return tuple(from_plain(part, arrays) for part in tree["items"])
    kept = {name: from_plain(part, arrays) for name, part in tree["fields"].items()}
    return _class(tree["class"])(**kept)


def _parts(item: Any) -> dict[str, Any] | None:
    if isinstance(item, Kernel):
        return dict(item.get_params(deep=False))
    if is_dataclass(item) and not isinstance(item, type):
        return {field.name: getattr(item, field.name) for field in fields(item)}
    return None


def _class(name: str) -> Any:
    module, _, attribute = name.partition(":")
    found = None
    if module.startswith(PACKAGE):
        try:
            found = getattr(importlib.import_module(module), attribute, None)
        except ImportError:
            found = None
    if (
        isinstance(found, type)
        and found.__module__ == module
        and (is_dataclass(found) or issubclass(found, Kernel))
    ):
        return found
    raise InvalidDataError(
        f"The file holds an object of class {name!r}, which this version of nablasso does not "
        "have. Read it with the version that wrote it."
    )
