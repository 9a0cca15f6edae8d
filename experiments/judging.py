"""What a verdict is: a kind, decided by named thresholds, and a sentence computed from rows.

With fewer than ``FEWEST`` draws of what it rests on a verdict is open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from experiments.rows import Rows, repeats
from experiments.running import DEFAULT

REPRODUCED, DIFFERENT = "reproduced", "reproduced with a difference"
NOT, OPEN, OWN = "not reproduced", "open", "not in the paper"
FEWEST = 3  # draws or splits
ALIKE = 0.15  # relative difference of two errors that count as the same
CLEAR = 0.1  # difference of two selection errors that can be seen in a curve


class Verdict(NamedTuple):
    """One of the kinds above, and why."""

    kind: str
    why: str


Judge = Callable[[Rows], Verdict]


def too_few(rows: Rows, what: str = "what it rests on") -> Verdict:
    """The verdict where rows do not suffice."""
    least = f"fewer than {FEWEST} draws of {what} somewhere"
    return Verdict(OPEN, f"{least}, {repeats(rows)} at most.")


def of_papers(rows: Rows) -> Rows:
    """Rows of other methods than the default call."""
    return [row for row in rows if row.get("method") != DEFAULT]


def own_question(why: Callable[[Rows], str]) -> Judge:
    """An experiment that no paper has; it too is open with too few draws."""
    return lambda rows: too_few(rows) if repeats(rows) < FEWEST else Verdict(OWN, why(rows))
