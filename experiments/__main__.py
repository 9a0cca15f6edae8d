"""``python -m experiments NAME``: compute missing rows, then the table and the figure."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import Any

from experiments.pages import write_pages
from experiments.registry import EXPERIMENTS
from experiments.running import Experiment, Store, Unit, reproduce, written
from nablasso.errors import DataUnavailableError, InvalidParameterError

RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments; without any, a list")
    parser.add_argument("--all", action="store_true", help="every experiment")
    parser.add_argument("--quick", action="store_true", help="small units, in files of their own")
    parser.add_argument("--tables", action="store_true", help="no new rows: only tables, figures")
    parser.add_argument("--pages", action="store_true", help="write the pages of stored rows")
    parser.add_argument("--no-default", action="store_true", help="leave out the default call")
    parser.add_argument("--drop-stale", action="store_true", help="remove rows of other settings")
    parser.add_argument(
        "--only", nargs="+", metavar="METHOD", help="some methods of one experiment"
    )
    parser.add_argument("--repeats", type=int, help="the first draws or splits only")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder; experiments/results")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"no experiment is named {', '.join(unknown)}; without a name all are listed")
    names = list(EXPERIMENTS) if given.all else given.names
    if given.pages:
        print("\n".join(map(str, write_pages(given.out))))
    elif not names:
        for experiment in EXPERIMENTS.values():
            print(f"{experiment.name:28} {experiment.title}")
    for name in names:
        experiment = EXPERIMENTS[name]
        if given.tables:
            stem = given.out / (f"{name}.quick" if given.quick else name)
            store = Store(stem, experiment, quick=given.quick)
            done = written(experiment, stem, store.rows, quick=given.quick)
        else:
            try:
                done = reproduce(
                    experiment,
                    given.out,
                    quick=given.quick,
                    default=not given.no_default,
                    drop_stale=given.drop_stale,
                    units=_some(experiment, given),
                )
            except DataUnavailableError as error:
                if not given.all:
                    raise
                print(f"skipped {name}: {error}")
                continue
        print(done.markdown, end="\n\n")


def _some(experiment: Experiment, given: argparse.Namespace) -> list[Unit]:
    """The units of an experiment that resumes, with the parts that were asked for."""
    units = experiment.quick if given.quick else experiment.units
    if given.only is None and given.repeats is None:
        return list(units)
    arguments = signature(experiment.run).parameters
    chosen: dict[str, Any] = {} if given.only is None else {"only": tuple(given.only)}
    if given.repeats is not None:
        chosen["splits" if "splits" in arguments else "repeats"] = given.repeats
    unknown = [name for name in chosen if name not in arguments]
    if unknown or not experiment.resumes:
        raise InvalidParameterError(
            f"{experiment.name} is computed as a whole; leave out --only and --repeats."
        )
    return [{**unit, **chosen} for unit in units]


if __name__ == "__main__":
    main()
