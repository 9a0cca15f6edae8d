"""Parameters documented where they are declared, attributes where they are set.

An estimator is a dataclass: every parameter is a field, so that it is declared once and the
``__init__`` lists them all, as scikit-learn expects::

    @estimator
    class Smoother(BaseEstimator):
        width: float | None = parameter(None, "Of the kernel; by default measured.")
        _: KW_ONLY
        verbose: int = parameter(0, "Log progress.")

The section Parameters of the docstring is made from the fields and cannot differ from the
signature; a field may say which values are refused. A subclass inherits both: its parents'
parameters, and the attributes that their docstrings list. It may give an inherited parameter
another default, ``width: float = 2.0``, which keeps its place and its documentation, take it away
(``width: Any = fixed(2.0)``), and describe an inherited attribute anew. Arguments of methods that
mean the same everywhere (``ARGUMENTS``) are documented here, and elsewhere only where they mean
more.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import KW_ONLY, MISSING, Field, dataclass, field, fields
from textwrap import fill, indent
from typing import Any, TypeVar, dataclass_transform

from nablasso.estimators.validation import Check, one_of, takes_names, takes_tables

Class = TypeVar("Class", bound=type)

WIDTH = 95  # of the lines of a built section
REQUIRED = MISSING  # the default of a parameter that has none

ROWS = "array-like, shape (n_samples,)"
ARGUMENTS = {
    "X": ("array-like, shape (n_samples, n_features)", ""),
    "y": (ROWS, ""),
    "sample_weight": (f"{ROWS}, optional", "Weight ``k`` equals ``k`` copies of a row."),
    "groups": (f"{ROWS}, optional", "Groups of rows for the splitter."),
    "X_unlabeled": (
        "array-like, shape (n_unlabeled, n_features), optional",
        "Rows without a target at which derivatives are penalised too.",
    ),
}
RETURNS = {
    "predict": "array, shape (n_samples,)",
    "predict_proba": "array, shape (n_samples, n_classes)",
}

__all__ = ["KW_ONLY", "REQUIRED", "estimator", "fixed", "parameter"]


def parameter(default: Any, text: str = "", check: Check | None = None, *, kind: str = "") -> Any:
    """A parameter of an estimator: its default, what it does, and what it may be.

    Lines of ``text`` are joined and broken anew; an empty line begins a new paragraph. ``check``
    refuses other values when data are read; where ``kind`` is ``{"a", "b"}`` there is one already.
    Without ``kind`` the annotation says it.
    """
    if check is None and re.fullmatch(r"\{\"[^}]*\}", kind):
        check = one_of(*re.findall(r'"(.+?)"', kind))
    return field(default=default, metadata={"kind": kind, "text": text, "check": check})


def fixed(value: Any) -> Any:
    """A parameter of a parent that a subclass does not take: it always has this value."""
    return field(default=value, init=False)


@dataclass_transform(eq_default=False)
def estimator(cls: Class) -> Class:
    """Make a class an estimator: ``__init__`` and its documentation from its parameters.

    Its ``fit`` takes data frames with columns of any kind, its ``score`` names of their columns
    (:mod:`nablasso.estimators.validation`).
    """
    _complete_overridden(cls)
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    made: Class = dataclass(eq=False, repr=False)(cls)  # type: ignore[assignment]
    if text:  # there is none under python -OO
        made.__doc__ = _documented(made, text)
    for name, method in vars(cls).items():
        if inspect.isfunction(method) and method.__doc__ and not name.startswith("_"):
            method.__doc__ = _with_arguments(method)
    if "fit" in vars(cls):
        setattr(made, "fit", takes_tables(vars(cls)["fit"]))  # noqa: B010 - not of every class
    if hasattr(made, "score"):
        setattr(made, "score", takes_names(inspect.unwrap(made.score)))  # noqa: B010
    return made


def _complete_overridden(cls: type) -> None:
    """A new default keeps the documentation and the place of the parameter it stands for."""
    inherited: dict[str, Field[Any]] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= vars(base).get("__dataclass_fields__", {})
    for name in inspect.get_annotations(cls).keys() & inherited.keys():
        old, new = inherited[name], vars(cls).get(name, MISSING)
        if not isinstance(new, Field):
            changed: Any = field(default=new, metadata=old.metadata, kw_only=bool(old.kw_only))
            setattr(cls, name, changed)


def _documented(cls: type, text: str) -> str:
    head, sections = _sections(text)
    if "Parameters" in sections:
        raise TypeError(
            f"{cls.__name__} has a section Parameters in its docstring; it is made from the "
            "fields. Document each with parameter(default, kind, text)."
        )
    attributes = _attributes(cls, sections.pop("Attributes", ""))
    return _joined(head, {"Parameters": _parameters(cls), "Attributes": attributes, **sections})


def _with_arguments(method: Any) -> str:
    """The docstring of a method with the arguments that it does not describe itself."""
    head, sections = _sections(inspect.cleandoc(method.__doc__))
    own = {names[0]: entry for names, entry in _entries(sections.pop("Parameters", "")).items()}
    listed = []
    for name in list(inspect.signature(method).parameters)[1:]:
        if name in own:
            listed.append(own[name])
        elif name in ARGUMENTS:
            kind, text = ARGUMENTS[name]
            listed.append(f"{name} : {kind}" + (f"\n    {text}" if text else ""))
    returned = "self" if method.__name__.startswith("fit") else RETURNS.get(method.__name__)
    if returned:
        sections.setdefault("Returns", returned)
    return _joined(head, {"Parameters": "\n".join(listed), **sections})


def _joined(head: str, sections: dict[str, str]) -> str:
    parts = [f"{name}\n{'-' * len(name)}\n{body}" for name, body in sections.items() if body]
    return "\n\n".join([head, *parts]) + "\n"


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """A docstring's beginning, and its sections by name."""
    head, *rest = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.MULTILINE)
    bodies = [body.strip("\n") for body in rest[1::2]]
    return head.rstrip(), dict(zip(rest[::2], bodies, strict=True))


def _parameters(cls: Any) -> str:
    by_place = sorted(fields(cls), key=lambda one: bool(one.kw_only))  # as in the signature
    return "\n".join(_described(one) for one in by_place if one.init and one.metadata)


def _described(one: Field[Any]) -> str:
    kind = one.metadata["kind"] or str(one.type).removesuffix(" | None")
    text = one.metadata["text"]
    if one.default is None:
        kind += ", optional"
    elif one.default is not MISSING:
        shown = f'"{one.default}"' if isinstance(one.default, str) else repr(one.default)
        kind += f", default={shown}"
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n") if part]
    body = "\n\n".join(
        indent(fill(part, WIDTH - 4, break_long_words=False, break_on_hyphens=False), "    ")
        for part in paragraphs
    )
    return f"{one.name} : {kind}\n{body}".rstrip()


def _attributes(cls: type, own: str) -> str:
    """The attributes of a class: its own, then those of its parents that it does not describe."""
    entries = _entries(own)
    known = {name for names in entries for name in names}
    for base in cls.__mro__[1:]:
        text = base.__doc__ if "__dataclass_fields__" in vars(base) else None
        inherited = _entries(_sections(inspect.cleandoc(text or ""))[1].get("Attributes", ""))
        new = {names: entry for names, entry in inherited.items() if not known.issuperset(names)}
        entries |= new
        known |= {name for names in new for name in names}
    return "\n".join(entries.values())


def _entries(section: str) -> dict[tuple[str, ...], str]:
    """The entries of a section by the names that they describe."""
    blocks = re.split(r"\n(?=\S)", section) if section else []
    names = (re.split(r"\s*:\s", block.splitlines()[0] + " ")[0] for block in blocks)
    return {tuple(n.split(", ")): block for n, block in zip(names, blocks, strict=True)}
