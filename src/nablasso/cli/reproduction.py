"""``nablasso reproduce``: a door to the experiments of a checkout.

The experiments are no part of the package: they live beside it, in the folder ``experiments`` of
the repository. The door opens where the package is used from a checkout, or the command is called
in one.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from pathlib import Path
from typing import Any

from nablasso.errors import InvalidParameterError

FOLDER = "experiments"


def open_door() -> Any:
    """The module ``experiments`` of the checkout, or an error that says where it was looked for."""
    places = [Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[3]]
    for place in places:
        if (place / FOLDER / "registry.py").exists() and (place / "src" / "nablasso").exists():
            if str(place) not in sys.path:
                sys.path.insert(0, str(place))
            return importlib.import_module(FOLDER)
    raise InvalidParameterError(
        f"nablasso reproduce runs the experiments of a checkout, and neither {places[0]} nor "
        f"{places[-1]} is one: they are not part of the installed package. Clone the repository "
        "and call the command there."
    )


def list_experiments(experiments: Any) -> list[dict[str, str]]:
    """Names and titles."""
    return [{"name": e.name, "title": e.title} for e in experiments.EXPERIMENTS.values()]


def chosen(experiments: Any, name: str | None, *, everything: bool) -> list[Any]:
    """The experiment of that name, or all of them."""
    known = experiments.EXPERIMENTS
    if everything:
        if name is not None:
            raise InvalidParameterError(f"--all means every experiment; leave out {name!r}.")
        return list(known.values())
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidParameterError(
            f"{name!r} is not an experiment.{hint} nablasso reproduce --list shows them."
        )
    return [known[name]]
