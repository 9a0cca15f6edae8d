"""The suites, one file each."""

from __future__ import annotations

from benchmarks.problem import Suite
from benchmarks.suites import selection

SUITES: dict[str, Suite] = {file.SUITE.name: file.SUITE for file in (selection,)}
