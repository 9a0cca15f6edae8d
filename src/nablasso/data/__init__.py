"""Tables: rows in canonical order, read from files, encoded."""

from __future__ import annotations

from enum import StrEnum


class Missing(StrEnum):
    """What to do about missing cells."""

    STATE = "state"  # a missing value is a value of its own
    DROP = "drop"  # rows with missing cells are left out
