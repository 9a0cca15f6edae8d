"""Saved models of the command: an estimator, and how a table becomes its inputs.

The notes in the file's stamp hold the target, its kind and the encoding of each column, so that
rows can be given as they were for the fit. Models saved from Python have no notes: their columns
are numbers under the names they were fitted with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nablasso import NablassoRegressor, load, save
from nablasso.data.encoding import LARGEST, Column, Encoding
from nablasso.data.roles import Data, Missing
from nablasso.errors import InvalidDataError, ModelFileError
from nablasso.persistence import read_stamp


@dataclass(frozen=True)
class Saved:
    """A model and the encoding of its table."""

    model: Any
    encoding: Encoding
    target: str
    missing: Missing = Missing.ERROR

    @property
    def has_classes(self) -> bool:
        """Whether it predicts classes."""
        return hasattr(self.model, "classes_")

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
        try:
            if isinstance(notes, dict) and "columns" in notes:  # others are of the writer
                encoding = Encoding.from_json(notes["columns"])
                if names is None or encoding.names != [str(name) for name in names]:
                    raise ValueError("columns of another model")
                return cls(model, encoding, str(notes["target"]), Missing(notes["missing"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{path} has notes that this version cannot read. Save the model again."
            ) from error
        if names is None:
            raise ModelFileError(
                f"{path} holds a model without column names. Fit it on a data frame, or save it "
                "with nablasso select --save."
            )
        return cls(model, Encoding(tuple(Column(str(name)) for name in names)), "y")

    def rows(self, table: pd.DataFrame, missing: Missing | None = None) -> pd.DataFrame:
        """The inputs of a table; NaN in rows with missing cells, if they may be there.

        Parameters
        ----------
        table : DataFrame
            With the columns of the fit, in any order, among others.
        missing : Missing, optional
            What to do about missing cells; by default as in the fit, where they are filled or an
            error.
        """
        if missing is None:
            missing = Missing.IMPUTE if self.missing is Missing.IMPUTE else Missing.ERROR
        if missing is Missing.IMPUTE and self.missing is not Missing.IMPUTE:
            raise InvalidDataError(
                "The model has not learned what to fill missing cells with. Fit it with --missing "
                "impute, or choose --missing drop."
            )
        self._check_numbers(table)
        X = self.encoding.encode(table, fill=missing is Missing.IMPUTE)
        if missing is Missing.ERROR and X.isna().to_numpy().any():
            row, column = np.argwhere(X.isna().to_numpy())[0]
            count = int(X.isna().any(axis=1).sum())
            raise InvalidDataError(
                f"{count} of {len(X)} rows have missing cells, the first in row {row + 1}, column "
                f"{self.encoding.origin[X.columns[column]]!r}. Fill them, or choose --missing "
                "drop to predict the other rows."
            )
        return X

    def _check_numbers(self, table: pd.DataFrame) -> None:
        """Refuse words and infinities in columns of numbers."""
        for column in self.encoding.columns:
            if column.levels is not None or column.name not in table:
                continue
            cells = table[column.name]
            values = column.encode(cells)[column.name]
            wrong = cells[(cells.notna() & values.isna()) | (values.abs() > LARGEST)]
            if len(wrong):
                example = str(wrong.iloc[0])[:40]
                raise InvalidDataError(
                    f"{column.name!r} must hold numbers under {LARGEST:.0e}; got {example!r} in "
                    f"{len(wrong)} of {len(cells)} rows. Repair these cells."
                )


def save_model(model: Any, data: Data, path: Path, **more: Any) -> None:
    """Write a fitted model with the encoding of its table."""
    notes = {
        "target": data.target,
        "columns": data.encoding.to_json(),
        "missing": str(data.missing),
        **more,
    }
    save(model, path, notes=notes)


def predictions(saved: Saved, X: pd.DataFrame, interval: float | None = None) -> pd.DataFrame:
    """What a model says about rows, a column each; empty for rows with missing cells.

    Classes come with their probabilities, several quantiles with their levels, densities as logs.
    """
    usable = X.notna().all(axis=1).to_numpy()
    found = _predicted(saved, X[usable], interval) if usable.any() else {}
    return pd.DataFrame(
        {name: pd.Series(values, index=X.index[usable]) for name, values in found.items()},
        index=X.index,
        columns=list(found) or [f"predicted_{saved.target}"],
    )


def _predicted(saved: Saved, X: pd.DataFrame, interval: float | None) -> dict[str, Any]:
    model, name = saved.model, f"predicted_{saved.target}"
    if not hasattr(model, "predict"):
        _refuse_interval(interval)
        return {"log_density": model.score_samples(X)}
    if saved.has_classes:
        _refuse_interval(interval)
        shares = (
            model.predict_proba(X) if hasattr(model, "predict_proba") else np.empty((len(X), 0))
        )
        named = zip(model.classes_, np.asarray(shares).T, strict=False)
        return {name: model.predict(X)} | {f"probability_{label}": p for label, p in named}
    if interval is not None:
        return _with_interval(model, X, name, interval)
    values = np.asarray(model.predict(X))
    if values.ndim == 1:
        return {name: values}
    return {
        f"quantile_{level:g}": z for level, z in zip(_levels(model, values), values.T, strict=True)
    }


def _levels(model: Any, values: Any) -> Sequence[float]:
    return getattr(model, "levels_", range(1, values.shape[1] + 1))


def _with_interval(model: Any, X: pd.DataFrame, name: str, interval: float) -> dict[str, Any]:
    if not 0 < interval < 1:
        raise InvalidDataError(
            f"--interval is a probability between 0 and 1, for example 0.9; got {interval:g}."
        )
    if not isinstance(model, NablassoRegressor):
        _refuse_interval(interval)
    values, ends = model.predict(X, return_interval=interval)
    return {name: values, f"lower_{interval:g}": ends[:, 0], f"upper_{interval:g}": ends[:, 1]}


def _refuse_interval(interval: float | None) -> None:
    if interval is not None:
        raise InvalidDataError(
            "This model has no intervals; those of --method nablasso for numbers have. Leave "
            "--interval out."
        )
