"""What a contestant is: it sees a question and gives an answer; it never sees the truth.

An oracle is a contestant that is shown the truly relevant columns only. Time is taken around
:meth:`Contestant.fit`; predictions are off the clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Question:
    """Training rows. For ``task="classification"`` y holds the labels 0 and 1."""

    X: Array
    y: Array
    task: str = "regression"
    seed: int = 0

    @property
    def signed(self) -> Array:
        """y itself, or labels coded -1 and 1 for contestants that only regress."""
        return 2 * self.y - 1 if self.task == "classification" else self.y

    def decode(self, values: Array) -> Array:
        """Predictions of :attr:`signed` turned back into predictions of y."""
        return (values > 0).astype(float) if self.task == "classification" else values


class Answer(NamedTuple):
    """A support and a predictor of new rows."""

    support: NDArray[np.bool_]
    predict: Callable[[Array], Array]
    detail: str = ""


class Contestant(ABC):
    """A method with its tuning procedure; ``version`` is part of the key of its rows."""

    name: ClassVar[str]
    tuning: ClassVar[str]
    version: ClassVar[str] = "1"
    true_columns_only: ClassVar[bool] = False

    def missing(self) -> str | None:
        """Why it cannot run here; None when it can."""
        return None

    def source(self) -> str:
        """What produced the rows: package and version."""
        import sklearn

        return f"scikit-learn {sklearn.__version__}"

    @abstractmethod
    def fit(self, question: Question) -> Answer:
        """Select and fit."""


def installed(*packages: str) -> str | None:
    """Reason to skip when one of the packages cannot be imported."""
    from importlib.util import find_spec

    absent = [name for name in packages if find_spec(name) is None]
    return f"not installed: {', '.join(absent)}; pip install {' '.join(absent)}" if absent else None
