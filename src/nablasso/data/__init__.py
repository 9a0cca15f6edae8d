"""Tables: rows in canonical order, read from files, encoded."""

from __future__ import annotations

from enum import StrEnum


class Missing(StrEnum):
    """What to do about missing cells."""

    ERROR = "error"
    DROP = "drop"
    IMPUTE = "impute"
