"""Dictionaries whose keys are not text, in a form that JSON can hold.

A safe file format writes keys as text. The nodes of a graph of kernels are tuples, so a dictionary
by node is packed into its list of pairs on the way out and rebuilt on the way in. Everything
between the model and such a dictionary is copied, nothing is changed in place.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

NOT_OURS = (FunctionType, BuiltinFunctionType, MethodType, ModuleType)  # no data of a model


@dataclass(frozen=True)
class Pairs:
    """A dictionary as the list of its pairs."""

    pairs: list[tuple[Any, Any]]


def packed(item: Any) -> Any:
    """A copy in which dictionaries with keys of other types than text are :class:`Pairs`."""

    def pack(part: Any) -> Any:
        if type(part) is dict and not all(type(key) is str for key in part):
            return Pairs(list(part.items()))
        return part

    return _rebuilt(item, pack, {})


def unpacked(item: Any) -> Any:
    """The inverse of :func:`packed`."""

    def unpack(part: Any) -> Any:
        return dict(part.pairs) if isinstance(part, Pairs) else part

    return _rebuilt(item, unpack, {})


def _rebuilt(item: Any, change: Callable[[Any], Any], seen: dict[int, tuple[Any, Any]]) -> Any:
    """``change`` applied to all parts, the innermost first; what is unchanged stays itself."""
    if id(item) in seen:
        return seen[id(item)][1]
    seen[id(item)] = item, item  # a cycle meets the original
    result = change(_with_new_parts(item, change, seen))
    seen[id(item)] = item, result
    return result


def _with_new_parts(item: Any, change: Callable[[Any], Any], seen: dict[int, Any]) -> Any:
    if isinstance(item, (str, bytes, int, float, np.ndarray, np.generic, type)) or item is None:
        return item
    if type(item) is dict:
        values = [_rebuilt(value, change, seen) for value in item.values()]
        if all(a is b for a, b in zip(item.values(), values, strict=True)):
            return item
        return dict(zip(item, values, strict=True))
    if isinstance(item, (list, tuple)):
        parts = [_rebuilt(part, change, seen) for part in item]
        if all(a is b for a, b in zip(item, parts, strict=True)):
            return item
        return item._make(parts) if hasattr(item, "_make") else type(item)(parts)
    return _with_new_attributes(item, change, seen)


def _with_new_attributes(item: Any, change: Callable[[Any], Any], seen: dict[int, Any]) -> Any:
    before = getattr(item, "__dict__", None)
    if not isinstance(before, dict) or isinstance(item, NOT_OURS):
        return item
    after = {name: _rebuilt(value, change, seen) for name, value in before.items()}
    if all(before[name] is after[name] for name in before):
        return item
    result = copy.copy(item)
    vars(result).update(after)
    return result
