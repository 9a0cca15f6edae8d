"""What can go wrong, by name. Every message says what was expected, what came and what to do."""

from __future__ import annotations

import importlib
import inspect
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

PACKAGE = str(Path(__file__).parent)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of the package from which it was called."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def warn_of_gap(name: str, solved: Any, tolerance: float, cure: str) -> None:
    """Say where a solver stopped: ``solved`` has ``n_iter``, ``status`` and ``gap``."""
    from sklearn.exceptions import ConvergenceWarning  # a terminal should not wait for it

    bound = (
        f" with duality gap {solved.gap:.1e} (tolerance {tolerance:.1e}). The gap still bounds the "
        "error."
        if math.isfinite(solved.gap)
        else ". Nothing bounds the error of this model."
    )
    stopped = f"{name} stopped after {solved.n_iter} iterations ({solved.status.value})"
    warn(f"{stopped}{bound} {cure}", ConvergenceWarning)


class NablassoError(Exception):
    """Base of all errors raised on purpose by the library."""


class InvalidDataError(NablassoError, ValueError):
    """The table cannot be used as it is."""


class NotNumbersError(InvalidDataError):
    """A table in blocks that was to hold numbers alone has words, dates or missing cells."""


class TableProblem(NamedTuple):
    """Something in a table that cannot be used, and what to do about it."""

    columns: tuple[str, ...]
    what: str
    remedy: str


class TableProblems(InvalidDataError):  # noqa: N818 - it is what it says, all of them
    """All that is wrong with a table, each with its remedy.

    Attributes
    ----------
    problems : tuple of TableProblem
    """

    def __init__(self, problems: Sequence[TableProblem]) -> None:
        self.problems = tuple(problems)
        count = "a problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        lines = [f"- {one.what}. {one.remedy}." for one in self.problems]
        super().__init__("\n".join([f"The table has {count}:", *lines]))

    def __reduce__(self) -> tuple[type, tuple[tuple[TableProblem, ...]]]:
        return type(self), (self.problems,)


class InvalidParameterError(NablassoError, ValueError):
    """A parameter has a value that the mathematics does not allow."""


class CyclicGraphError(InvalidParameterError):
    """A graph of kernels that was to be acyclic has a cycle; the message names its nodes."""


class NotTwiceDifferentiableError(InvalidParameterError):
    """The kernel has no second derivative, so derivatives of f are not in its space."""


class DataTooLargeError(NablassoError, MemoryError):
    """The n x n matrices of the exact space would not fit in memory."""


class DataUnavailableError(NablassoError, OSError):
    """A data set is neither in the folder nor to be had from elsewhere."""


class MissingExtraError(NablassoError, ImportError):
    """An optional dependency is needed; the message names the extra that installs it."""


class ModelFileError(NablassoError, ValueError):
    """A saved model cannot be loaded, or not safely."""


class WorkersTimeoutError(NablassoError, TimeoutError):
    """The workers of a cluster have finished nothing for too long."""


class VersionMismatchWarning(UserWarning):
    """A model was saved by another version of the library."""


class DegenerateFitWarning(UserWarning):
    """The fitted function is flat at the data and steep between them."""


class UnseenValuesWarning(UserWarning):
    """New rows hold values that the fit has not seen; they are predicted as others."""


def optional(module: str, who: str, extra: str) -> Any:
    """An optional module, or an error that says who needs it and names the extra."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f'{who}, which is not installed; pip install "nablasso[{extra}]"'
        ) from error
