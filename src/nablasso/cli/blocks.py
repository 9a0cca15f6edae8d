"""Tables that are read in blocks: folders, patterns, clusters, runs that can be stopped."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nablasso.cli import Method
from nablasso.data import Missing
from nablasso.data.cells import COMMAND
from nablasso.data.roles import ReadTable, Roles, RowChoice
from nablasso.errors import InvalidParameterError, NotNumbersError
from nablasso.streaming import open_table
from nablasso.streaming.cluster import dask
from nablasso.streaming.encoded import encoded
from nablasso.streaming.sample import Sample, prepared_rows
from nablasso.streaming.sources import Source


@dataclass(frozen=True)
class Asked:
    """What the options say about blocks."""

    file: Path
    dask: str | None = None
    checkpoint: Path | None = None

    @property
    def in_blocks(self) -> bool:
        """Whether the table is read in blocks; one file is read as a whole unless asked for."""
        several = self.file.is_dir() or (glob.has_magic(str(self.file)) and not self.file.exists())
        return several or self.dask is not None or self.checkpoint is not None

    @contextmanager
    def client(self) -> Iterator[Any]:
        """A client of the scheduler, closed at the end; None without one."""
        if self.dask is None:
            yield None
            return
        try:
            client = dask("distributed").Client(self.dask, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise InvalidParameterError(
                f"--dask must be the address of a scheduler, such as tcp://127.0.0.1:8786; nothing "
                f"answers at {self.dask}: {error}."
            ) from error
        with client:
            yield client


def read_blocks(
    asked: Asked, roles: Roles, rows: RowChoice, method: Method, client: Any
) -> tuple[ReadTable, Source]:
    """The table, and a fair sample of it in the place of all its rows."""
    _check(rows, method)
    source = open_table(
        str(asked.file),
        roles.target,
        ignore=roles.ignored,
        client=client,
        checkpoint=asked.checkpoint,
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


def _check(rows: RowChoice, method: Method) -> None:
    """Refuse options that need the whole table in memory."""
    needs: Sequence[tuple[str, bool]] = (
        (f"--method {method}", method is not Method.NABLASSO),
        (f"--missing {rows.missing}", rows.missing is Missing.DROP),
        ("--sample", rows.sample is not None),
    )
    for option, given in needs:
        if given:
            raise InvalidParameterError(
                f"{option} needs the whole table in memory, and this one is read in blocks. Leave "
                f"{option} out, or give one file without --dask and --checkpoint."
            )
