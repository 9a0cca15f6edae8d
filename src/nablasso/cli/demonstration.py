"""The bundled example: a generated table whose right answer is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from nablasso.cli.model import Settings
from nablasso.cli.result import Result
from nablasso.data.roles import Data
from nablasso.datasets import make_demo

TARGET = "yield_kg_m2"

INTRODUCTION = (
    "A greenhouse table, generated so that the right answer is known: 12 columns were recorded, "
    "4 of them make the yield, in curves and an interaction. Which ones?"
)

PYTHON = """\
import pandas as pd
from nablasso import NablassoRegressor
from nablasso.datasets import make_demo

demo = make_demo()
X = pd.DataFrame(demo.X, columns=demo.feature_names)
model = NablassoRegressor().fit(X, demo.y)
print(model.summary())"""

NEXT = """\
nablasso select table.csv --target COLUMN --report report.html --save model.skops
nablasso predict model.skops new.csv
nablasso explain model.skops table.csv COLUMN
nablasso --help"""


@dataclass(frozen=True)
class Truth:
    """The columns that the target was made from."""

    columns: tuple[str, ...]

    def missing(self, result: Result) -> list[str]:
        """True columns that were not selected."""
        found = {variable.name for variable in result.selected}
        return [name for name in self.columns if name not in found]

    def extra(self, result: Result) -> list[str]:
        """Selected columns that are not true."""
        return [v.name for v in result.selected if v.name not in self.columns]

    def verdict(self, result: Result) -> str:
        """Whether a result is right, in a sentence."""
        missing, extra = self.missing(result), self.extra(result)
        right = f"The right answer is {', '.join(self.columns)}: "
        if not missing and not extra:
            return right + "found exactly."
        faults = [("missed", missing), ("wrongly selected", extra)]
        return right + "; ".join(f"{what} {', '.join(n)}" for what, n in faults if n) + "."

    def to_json(self, result: Result) -> dict[str, Any]:
        """The comparison for programs."""
        missing, extra = self.missing(result), self.extra(result)
        return {
            "columns": list(self.columns),
            "found": not missing and not extra,
            "missing": missing,
            "extra": extra,
        }


def settings() -> Settings:
    """The call that :data:`PYTHON` shows."""
    return Settings()


def demo_data() -> tuple[Data, Truth]:
    """The table of :func:`~nablasso.datasets.make_demo` and its right answer."""
    demo = make_demo()
    X = pd.DataFrame(demo.X, columns=list(demo.feature_names))
    names = zip(demo.feature_names, demo.support, strict=True)
    truth = Truth(tuple(name for name, relevant in names if relevant))
    return Data(X, pd.Series(demo.y, name=TARGET)), truth
