"""From a saved model to predictions, from several files to a table.

A model knows how the columns of its table became numbers, so that rows can be given as they were
for the fit; the notes in the stamp of a saved file hold the target.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nablasso import NablassoRegressor, load
from nablasso.answer import Answer
from nablasso.data import Missing
from nablasso.data.cells import COMMAND, listed, read_cells
from nablasso.data.roles import ReadTable, Roles
from nablasso.errors import (
    InvalidDataError,
    InvalidParameterError,
    ModelFileError,
    NotNumbersError,
    TableProblems,
)
from nablasso.estimators.display import Answers
from nablasso.persistence import read_stamp
from nablasso.streaming import open_table
from nablasso.streaming.cluster import dask
from nablasso.streaming.sample import Sample, encoded, prepared_rows
from nablasso.streaming.sources import Source


@dataclass(frozen=True)
class Saved:
    """A model, the names of its columns, and what it predicts."""

    model: Any
    names: tuple[str, ...]
    target: str = "y"

    @property
    def has_classes(self) -> bool:
        """Whether it predicts classes."""
        return hasattr(self.model, "classes_")

    @property
    def answer(self) -> Answer | None:
        """What was found by the fit; None where it selects nothing."""
        if not isinstance(self.model, Answers):
            return None
        return replace(self.model.answer_, target=self.target)

    @classmethod
    def read(cls, path: Path) -> Saved:
        """The model of a file, refused where it is damaged or not safe."""
        notes = read_stamp(path)["notes"]
        model = load(path)
        if not any(hasattr(model, method) for method in ("predict", "score_samples")):
            raise ModelFileError(
                f"{path} holds a {type(model).__name__}, which predicts nothing. Give a model."
            )
        names = getattr(model, "feature_names_in_", None)
        if names is None:
            raise ModelFileError(
                f"{path} holds a model without column names. Fit it on a data frame, or save it "
                "with nablasso select --save."
            )
        told = notes.get("target") if isinstance(notes, dict) else None
        target = told or getattr(model, "_target_name", "y")
        return cls(model, tuple(str(name) for name in names), str(target))

    def rows(self, table: pd.DataFrame) -> pd.DataFrame:
        """The inputs of a table; NaN in rows with missing cells where they mean nothing."""
        if hasattr(self.model, "_encoding"):
            return table
        absent = [name for name in self.names if name not in table]
        if absent:
            raise InvalidDataError(
                f"The table lacks {len(absent)} of the {len(self.names)} columns that the model "
                f"needs: {listed(absent)}. Add them; their order does not matter."
            )
        typed, problems = read_cells(table[list(self.names)], (), COMMAND)
        if problems:
            raise TableProblems(problems)
        return typed


def predictions(saved: Saved, X: pd.DataFrame, interval: float | None = None) -> pd.DataFrame:
    """What a model says about rows, a column each; empty for rows with missing cells.

    Classes come with their probabilities, several quantiles with their levels, densities as logs.
    """
    whole = hasattr(saved.model, "_encoding")  # it knows what a missing cell is
    usable = np.ones(len(X), dtype=bool) if whole else X.notna().all(axis=1).to_numpy()
    found = _predicted(saved, X[usable], interval) if usable.any() else {}
    return pd.DataFrame(
        {name: pd.Series(values, index=X.index[usable]) for name, values in found.items()},
        index=X.index,
        columns=list(found) or [f"predicted_{saved.target}"],
    )


def _predicted(saved: Saved, X: pd.DataFrame, interval: float | None) -> dict[str, Any]:
    model, name = saved.model, f"predicted_{saved.target}"
    if interval is not None:
        return _with_interval(model, X, name, interval)
    if not hasattr(model, "predict"):
        return {"log_density": model.score_samples(X)}
    values = np.asarray(model.predict(X))
    if saved.has_classes:
        shares = model.predict_proba(X).T if hasattr(model, "predict_proba") else ()
        named = zip(model.classes_, shares, strict=False)
        return {name: values} | {f"probability_{label}": p for label, p in named}
    if values.ndim == 1:
        return {name: values}
    levels = getattr(model, "levels_", range(1, values.shape[1] + 1))
    return {f"quantile_{level:g}": z for level, z in zip(levels, values.T, strict=True)}


def _with_interval(model: Any, X: pd.DataFrame, name: str, interval: float) -> dict[str, Any]:
    if not 0 < interval < 1:
        raise InvalidDataError(
            f"--interval is a probability between 0 and 1, for example 0.9; got {interval:g}."
        )
    if not isinstance(model, NablassoRegressor):
        raise InvalidDataError(
            "This model has no intervals; those of nablasso select for numbers have. Leave "
            "--interval out."
        )
    values, ends = model.predict(X, return_interval=interval)
    return {name: values, f"lower_{interval:g}": ends[:, 0], f"upper_{interval:g}": ends[:, 1]}


def in_blocks(given: Any) -> bool:
    """Whether the table is read in blocks; one file is read as a whole unless asked for."""
    file = given.file
    several = file.is_dir() or (glob.has_magic(str(file)) and not file.exists())
    return several or given.dask is not None or given.checkpoint is not None


@contextmanager
def client_at(address: str | None) -> Iterator[Any]:
    """A client of a scheduler, closed at the end; None without one."""
    if address is None:
        yield None
        return
    try:
        client = dask("distributed").Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise InvalidParameterError(
            f"--dask must be the address of a scheduler, such as tcp://127.0.0.1:8786; nothing "
            f"answers at {address}: {error}."
        ) from error
    with client:
        yield client


def read_blocks(given: Any, roles: Roles, client: Any) -> tuple[ReadTable, Source]:
    """The table, and a fair sample of it in the place of all its rows."""
    whole = {"--missing drop": given.missing is Missing.DROP, "--sample": given.sample is not None}
    for option in (option for option, asked in whole.items() if asked):
        raise InvalidParameterError(
            f"{option} needs the whole table in memory, and this one is read in blocks. Leave "
            f"{option} out, or give one file without --dask and --checkpoint."
        )
    source = open_table(
        str(given.file),
        roles.target,
        ignore=roles.ignored,
        client=client,
        checkpoint=given.checkpoint,
    )
    roles.check([*source.names, roles.target, *roles.ignored])
    first = next(source.parts[0].targets().blocks())
    has_classes = roles.classify or first.y.dtype.kind in "OUb"

    def sampled(source: Source) -> tuple[Sample, int, Any]:
        labels = None
        if has_classes:
            labels, totals = source.labels()
            source = source.with_classes(labels, np.ones(len(totals)))
        sample = prepared_rows(source)
        assert source.sample is not None
        return sample, source.sample.n_rows, labels

    names = source.names
    try:
        source = encoded(source, roles.categories, COMMAND) if roles.categories else source
        sample, n_read, labels = sampled(source)
    except NotNumbersError:
        source = encoded(source, (), COMMAND)
        sample, n_read, labels = sampled(source)
    y = labels[sample.y.astype(int)].astype(str) if has_classes else sample.y
    encoding, remarks = source.reading.encoding, []
    X = (
        pd.DataFrame(sample.X, columns=list(names))
        if encoding is None
        else encoding.decode(sample.X)
    )
    if n_read > len(y):
        remarks.append(
            f"{n_read} rows were read in blocks; what is drawn or compared row by row shows "
            f"a fair sample of {len(y)} of them."
        )
    remarks += [] if encoding is None else encoding.remarks
    kept, ignored = (tuple(dict.fromkeys(names)) for names in (roles.kept, roles.ignored))
    data = ReadTable(
        X, pd.Series(y, name=roles.target), ignored, kept, has_classes, tuple(remarks), n_read
    )
    return data, source
