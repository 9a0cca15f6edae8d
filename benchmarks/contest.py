"""What a contestant is: it sees a question and gives an answer; it never sees the truth.

An oracle is a contestant that is shown the truly relevant columns only. Time is taken around
:meth:`Contestant.fit`; predictions are off the clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from nablasso.types import Array

LEVEL = 0.9  # of the intervals asked for


@dataclass(frozen=True, eq=False)
class Question:
    """Training rows. For ``task="classification"`` y holds the labels 0, 1, ...

    ``intervals`` asks those for intervals who must work for them.
    """

    X: Array
    y: Array
    task: str = "regression"
    seed: int = 0
    intervals: bool = False

    @property
    def classifies(self) -> bool:
        """Whether y holds labels."""
        return self.task == "classification"

    @property
    def many_classes(self) -> bool:
        """Whether there are more than two labels."""
        return self.classifies and bool(self.y.max() > 1)

    @property
    def signed(self) -> Array:
        """y itself, or two labels coded -1 and 1 for contestants that only regress."""
        if self.many_classes:
            raise ValueError(f"regresses on two classes; got {int(self.y.max()) + 1}")
        return 2 * self.y - 1 if self.classifies else self.y

    def decode(self, values: Array) -> Array:
        """Predictions of :attr:`signed` turned back into predictions of y."""
        return (values > 0).astype(float) if self.classifies else values


class Answer(NamedTuple):
    """A support and a predictor of new rows; what a contestant does not offer stays None.

    ``scores`` rank the columns, larger for more relevant. ``probability`` gives one column per
    class, ``interval`` the two ends of a 90 % interval, ``deviation`` the standard deviation of
    the predicted distribution, taken as normal; ``totals`` are its own total Sobol' indices.
    """

    support: NDArray[np.bool_]
    predict: Callable[[Array], Array]
    detail: str = ""
    scores: Array | None = None
    probability: Callable[[Array], Array] | None = None
    interval: Callable[[Array], Array] | None = None
    deviation: Callable[[Array], Array] | None = None
    totals: Array | None = None


class Contestant(ABC):
    """A method with its tuning procedure; ``version`` is part of the key of its rows.

    ``package`` is what pip installs.
    """

    name: str
    tuning: str
    version: str = "1"
    package: str = "scikit-learn"
    true_columns_only: ClassVar[bool] = False

    def missing(self) -> str | None:
        """Why it cannot run here; None when it can."""
        return None if self._installed() else f"not installed: pip install {self.package}"

    def source(self) -> str:
        """What produced the rows: package and version."""
        return self._installed()

    def _installed(self) -> str:
        """Package and version, also of its smaller form (xgboost-cpu); empty where it is absent."""
        for name in (self.package, f"{self.package}-cpu", f"{self.package}-core"):
            with suppress(PackageNotFoundError):
                return f"{name} {version(name)}"
        return ""

    @abstractmethod
    def fit(self, question: Question) -> Answer:
        """Select and fit."""


def normal_interval(
    centre: Callable[[Array], Array], deviation: Callable[[Array], Array]
) -> Callable[[Array], Array]:
    """Intervals of a normal distribution."""
    z = float(norm.ppf((1 + LEVEL) / 2))

    def ends(new: Array) -> Array:
        m, s = centre(new), deviation(new)
        return np.column_stack([m - z * s, m + z * s])

    return ends


def one_against_rest(fit: Callable[[Question], Answer], question: Question) -> Answer:
    """More than two classes for a contestant that regresses: one fit each, the largest wins."""
    parts = [
        fit(Question(question.X, (question.y == k).astype(float), seed=question.seed))
        for k in range(int(question.y.max()) + 1)
    ]

    def predict(new: Array) -> Array:
        return np.argmax([part.predict(new) for part in parts], axis=0).astype(float)

    return Answer(np.any([part.support for part in parts], axis=0), predict)


def everything(question: Question) -> NDArray[np.bool_]:
    """The support of a contestant that uses all columns."""
    return np.ones(question.X.shape[1], dtype=bool)
