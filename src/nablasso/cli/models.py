"""From the options of the command to an estimator, and from a saved model to predictions.

A model knows how the columns of its table became numbers, so that rows can be given as they were
for the fit; the notes in the stamp of a saved file hold the target.
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
from nablasso.data.cells import COMMAND, listed, read_cells
from nablasso.data.encoding import Groups
from nablasso.data.roles import ReadTable
from nablasso.errors import (
    InvalidDataError,
    InvalidParameterError,
    ModelFileError,
    TableProblems,
)
from nablasso.estimators.display import Answers
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

    def model(self, data: ReadTable, groups: Groups | None = None) -> Any:
        """The estimator, not fitted yet; ``groups`` are of the table's columns."""
        shared: dict[str, Any] = {
            "always_keep": list(data.kept) or None,
            "feature_groups": groups,
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
        return self.model.answer_.about(target=self.target)

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


def save_model(model: Any, data: ReadTable, path: Path, **more: Any) -> None:
    """Write a fitted model with the name of its target."""
    save(model, path, notes={"target": data.target, **more})


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
