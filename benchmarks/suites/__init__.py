"""The suites, one file each."""

from __future__ import annotations

from benchmarks.problem import Suite
from benchmarks.suites import (
    cost,
    epistasis,
    error_control,
    feynman,
    not_ideal,
    rffnet,
    selection,
    simulation,
    srbench,
    tables,
    uci,
    weak,
)

_FILES = (
    selection,
    error_control,
    not_ideal,
    weak,
    srbench,
    feynman,
    epistasis,
    simulation,
    uci,
    rffnet,
    tables,
    cost,
)

SUITES: dict[str, Suite] = {suite.name: suite for file in _FILES for suite in file.SUITES}
