"""``nablasso reproduce``: the experiments by name."""

from __future__ import annotations

import difflib

from nablasso.exceptions import InvalidParameterError
from nablasso.experiments import EXPERIMENTS, Experiment


def list_experiments() -> list[dict[str, str]]:
    """Names and titles."""
    return [{"name": e.name, "title": e.title} for e in EXPERIMENTS.values()]


def chosen(name: str | None, *, everything: bool) -> list[Experiment]:
    """The experiment of that name, or all of them."""
    if everything:
        if name is not None:
            raise InvalidParameterError(f"--all means every experiment; leave out {name!r}.")
        return list(EXPERIMENTS.values())
    if name not in EXPERIMENTS:
        near = difflib.get_close_matches(str(name), EXPERIMENTS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidParameterError(
            f"{name!r} is not an experiment.{hint} nablasso reproduce --list shows them."
        )
    return [EXPERIMENTS[name]]
