"""From the options of the command to an estimator, and from a saved model to predictions.

The notes in the stamp of a saved file hold the target, its kind and the encoding of each column, so
that rows can be given as they were for the fit. Models saved from Python have no notes: their
columns are numbers under the names they were fitted with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nablasso import (
    DerivativeLassoClassifierCV,
    DerivativeLassoCV,
    NablassoClassifier,
    NablassoRegressor,
    load,
    save,
)
from nablasso.answer import Answer
from nablasso.cli import Method
from nablasso.data import Missing
from nablasso.data.encoding import LARGEST, Encoding, Groups, TableColumn
from nablasso.data.roles import EncodedTable
from nablasso.errors import InvalidDataError, InvalidParameterError, ModelFileError
from nablasso.estimators.outcome import Answers, answer_of, columns_of
from nablasso.kernels import Anova, Kernel, Polynomial, as_kernel
from nablasso.persistence import read_stamp

N_ALPHAS, N_FOLDS = 30, 5  # of the derivative methods, unless said otherwise

ELASTIC = 0.5  # share of the norms in the penalty of the elastic net
LARGEST_SEED = 2**32 - 1


@dataclass(frozen=True)
class KernelChoice:
    """A kernel by name, with the one number that two of them have."""

    name: str
    degree: int | None = None
    order: int | None = None

    def build(self) -> Kernel:
        """The kernel object; refuses a number that the kernel does not have."""
        kernel = as_kernel(self.name)
        for option, value, owner in (
            ("--degree", self.degree, Polynomial),
            ("--order", self.order, Anova),
        ):
            if value is not None and not isinstance(kernel, owner):
                raise InvalidParameterError(
                    f"{option} belongs to --kernel {owner.__name__.lower()}; the kernel is "
                    f"{self.name}. Leave {option} out or change the kernel."
                )
        if isinstance(kernel, Polynomial):
            return Polynomial(degree=kernel.degree if self.degree is None else self.degree)
        if isinstance(kernel, Anova):
            return Anova(order=kernel.order if self.order is None else self.order)
        return kernel

    def __str__(self) -> str:
        kernel = self.build()
        if isinstance(kernel, Polynomial):
            return f"{self.name} of degree {kernel.degree}"
        if isinstance(kernel, Anova):
            return f"{self.name} of order {kernel.order}"
        return self.name


def choose_kernel(name: str | None, degree: int | None, order: int | None) -> KernelChoice | None:
    """The kernel that the options name; None leaves it to the method."""
    if name is None and (degree is not None or order is not None):
        option, owner = ("--order", "anova") if degree is None else ("--degree", "polynomial")
        raise InvalidParameterError(
            f"{option} belongs to --kernel {owner}; no kernel was named. Leave {option} out or add "
            f"--kernel {owner}."
        )
    return None if name is None else KernelChoice(name, degree, order)


@dataclass(frozen=True)
class Settings:
    """What the options ask for, apart from files and columns; None is left to the method."""

    method: Method = Method.NABLASSO
    kernel: KernelChoice | None = None
    n_alphas: int | None = None
    n_folds: int | None = None
    fdr: float | None = None
    max_features: int | None = None
    n_jobs: int | None = None
    seed: int | None = None

    @property
    def is_automatic(self) -> bool:
        """Whether the method chooses kernel and weights by itself."""
        return self.method is Method.NABLASSO

    def check(self) -> None:
        """Refuse what no table could be fitted with, before one is read."""
        if self.kernel is not None:
            self.kernel.build()
        self._check_owner("--alphas", self.n_alphas, (Method.LASSO, Method.ELASTIC_NET))
        self._check_owner("--jobs", self.n_jobs, (Method.LASSO, Method.ELASTIC_NET))
        self._check_owner("--fdr", self.fdr, (Method.NABLASSO,))
        self._check_owner("--max-features", self.max_features, (Method.NABLASSO,))
        if self.fdr is not None and not 0 < self.fdr < 1:
            raise InvalidParameterError(
                "--fdr is the expected share of false discoveries, between 0 and 1, for example "
                f"0.1; got {self.fdr:g}."
            )
        if self.n_jobs == 0:
            raise InvalidParameterError(
                "--jobs must be a number of processes, or -1 for all cores; got 0."
            )
        if self.seed is not None and not 0 <= self.seed <= LARGEST_SEED:
            raise InvalidParameterError(
                f"--seed must be between 0 and {LARGEST_SEED}; got {self.seed}."
            )

    def _check_owner(self, option: str, value: object, owners: tuple[Method, ...]) -> None:
        if value is not None and self.method not in owners:
            raise InvalidParameterError(
                f"{option} belongs to --method {' and '.join(owners)}; the method is "
                f"{self.method}. Leave {option} out or change the method."
            )

    def model(self, data: EncodedTable, groups: Groups | None = None) -> Any:
        """The estimator, not fitted yet; ``groups`` are of the table's columns."""
        partition = data.partition(groups)
        shared: dict[str, Any] = {
            "always_keep": data.encoding.expand(data.kept) or None,
            "feature_groups": partition,
            "random_state": self.seed,
        }
        if self.is_automatic:
            automatic = NablassoClassifier if data.has_classes else NablassoRegressor
            return automatic(
                "auto" if self.kernel is None else self.kernel.build(),
                cv=self.n_folds,
                fdr=self.fdr,
                max_features=self.max_features,
                **shared,
            )
        kind = DerivativeLassoClassifierCV if data.has_classes else DerivativeLassoCV
        return kind(
            (self.kernel or KernelChoice("gaussian")).build(),
            alphas=self.n_alphas or N_ALPHAS,
            cv=self.n_folds or N_FOLDS,
            l1_ratio=ELASTIC if self.method is Method.ELASTIC_NET else 1.0,
            n_jobs=self.n_jobs,
            **shared,
        )


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

    @property
    def answer(self) -> Answer | None:
        """What was found by the fit; None where it selects nothing."""
        if not isinstance(self.model, Answers):
            return None
        return answer_about(self.model, self.encoding, self.target)

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
        return cls(model, Encoding(tuple(TableColumn(str(name)) for name in names)), "y")

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


def answer_about(
    model: Any, encoding: Encoding, target: str, groups: Groups | None = None
) -> Answer:
    """The answer of a model, in columns of the table."""
    columns = columns_of(encoding.names, encoding.categories)
    return answer_of(model, model._n_rows, columns, target=target, groups=groups)


def save_model(model: Any, data: EncodedTable, path: Path, **more: Any) -> None:
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
