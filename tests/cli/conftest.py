"""Running the command inside the test, and small tables for it."""

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
import pytest

from nablasso.cli import main
from tests.data.conftest import csv, table, write

__all__ = ["csv", "table", "write"]  # fixtures


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """Standard error as one line."""
        return " ".join(self.err.split())


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys, monkeypatch) -> Run:
    """The command with its arguments, as if typed."""
    monkeypatch.setenv("COLUMNS", "80")
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("NABLASSO_PROGRESS", "inf")  # a slow machine must not change what is told

    def run(*arguments) -> Outcome:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(caught.value.code or 0, captured.out, captured.err)

    return run


@pytest.fixture
def terminal(monkeypatch) -> Callable[[], Terminal]:
    """Makes standard error a terminal of 60 columns.

    To be called inside the test: pytest sets standard error between fixtures and tests.
    """

    def terminal() -> Terminal:
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("COLUMNS", "60")
        monkeypatch.delenv("NO_COLOR", raising=False)
        return stream

    return terminal


@dataclass
class Call:
    """What a fit was asked to do."""

    kind: str
    params: dict
    X: pd.DataFrame
    y: pd.Series


@pytest.fixture
def calls(monkeypatch) -> list[Call]:
    """Every fit is noted here and ends as if the user had pressed Ctrl-C."""
    noted = []

    def fit(self, X, y):
        noted.append(Call(type(self).__name__, self.get_params(), X, y))
        raise KeyboardInterrupt

    for name in ("DerivativeLassoCV", "NablassoRegressor", "NablassoClassifier"):
        lineage = getattr(sys.modules["nablasso"], name).__mro__
        owner = next(cls for cls in lineage if "fit" in vars(cls))
        monkeypatch.setattr(owner, "fit", fit)
    return noted
