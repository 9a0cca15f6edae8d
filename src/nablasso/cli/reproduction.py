"""``nablasso reproduce``: the experiments by name."""

from __future__ import annotations

import difflib
from pathlib import Path

from nablasso.exceptions import InvalidParameterError
from nablasso.experiments import EXPERIMENTS, Reproduction, reproduce


def list_experiments() -> list[dict[str, str]]:
    """Names and titles."""
    return [{"name": e.name, "title": e.title} for e in EXPERIMENTS.values()]


def reproduced(name: str, folder: Path, *, quick: bool) -> Reproduction:
    """Run what is missing of an experiment."""
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(name, EXPERIMENTS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidParameterError(
            f"{name!r} is not an experiment.{hint} nablasso reproduce --list shows them."
        )
    return reproduce(EXPERIMENTS[name], folder, quick=quick)
