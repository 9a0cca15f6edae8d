"""What a verdict is: a kind, decided by one rule, and a sentence computed from rows.

The rule: a difference of means counts where it is more than ``TWO`` standard errors, of paired
differences where both were run on the same draws; a mean is *as printed* where it is no further
from print than that, the printed mean having the spread of our draws over the paper's repeats.
With fewer than ``FEWEST`` draws of what it rests on a verdict is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from experiments.rows import Rows, fewest, repeats
from experiments.running import DEFAULT

REPRODUCED, DIFFERENT = "reproduced", "reproduced with a difference"
NOT, OPEN, OWN = "not reproduced", "open", "not in the paper"
FEWEST = 3  # draws or splits
TWO = 2.0  # standard errors
NEARLY_ALL = 0.8  # share of draws or cells that stands for "always" in print


class Verdict(NamedTuple):
    """One of the kinds above, and why."""

    kind: str
    why: str


Judge = Callable[[Rows], Verdict]


def clear(differences: ArrayLike) -> bool:
    """Whether a mean is above zero by more than two standard errors."""
    values = np.asarray(differences, dtype=float)
    if len(values) < 2:
        return False
    return bool(values.mean() > TWO * values.std(ddof=1) / np.sqrt(len(values)))


def against_print(values: ArrayLike, printed: float, printed_repeats: int) -> int:
    """0 where a mean is as printed, else the sign of the difference."""
    ours = np.asarray(values, dtype=float)
    error = ours.std(ddof=1) * np.sqrt(1 / len(ours) + 1 / printed_repeats)
    difference = float(ours.mean()) - printed
    return 0 if abs(difference) <= TWO * error else int(np.sign(difference))


def graded(whole: bool, part: bool) -> str:
    """Reproduced where the whole claim holds, with a difference where part of it does."""
    return REPRODUCED if whole else DIFFERENT if part else NOT


def paired(
    rows: Rows, value: str, first: Sequence[str], second: Sequence[str], by: str, *over: str
) -> list[float]:
    """Differences of two means on what both were run on.

    ``first`` and ``second`` are values of the column ``by``, over whose rows is averaged;
    ``over`` are the columns that tell what both were run on.
    """
    found: tuple[dict[tuple[str, ...], list[float]], ...] = ({}, {})
    for row in rows:
        for names, part in zip((first, second), found, strict=True):
            if row[by] in names and row[value] != "":
                part.setdefault(tuple(row[name] for name in over), []).append(float(row[value]))
    a, b = found
    return [float(np.mean(a[key]) - np.mean(b[key])) for key in sorted(a.keys() & b.keys())]


def too_few(rows: Rows, what: str = "what it rests on") -> Verdict:
    """The verdict where rows do not suffice."""
    least = f"fewer than {FEWEST} draws of {what} somewhere"
    return Verdict(OPEN, f"{least}, {repeats(rows)} at most.")


def resting_on(
    part: Callable[[Rows], Rows] = lambda rows: rows,
    by: Sequence[str] = (),
    cells: Iterable[tuple[object, ...]] = (),
    what: str = "what it rests on",
) -> Callable[[Judge], Judge]:
    """Leave a verdict open unless ``part`` of the rows has draws of each of ``cells`` of ``by``."""
    wanted = list(cells)

    def around(judge: Judge) -> Judge:
        def judged(rows: Rows) -> Verdict:
            own = part(rows)
            if fewest(own, *by, among=wanted) < FEWEST:
                return too_few(own, what)
            return judge(rows)

        return judged

    return around


def of_papers(rows: Rows) -> Rows:
    """Rows of other methods than the default call."""
    return [row for row in rows if row.get("method") != DEFAULT]


def of_methods(*methods: str) -> Callable[[Rows], Rows]:
    """Rows of these methods."""
    return lambda rows: [row for row in rows if row["method"] in methods]


def own_question(why: Callable[[Rows], str]) -> Judge:
    """An experiment that no paper has; it too is open with too few draws."""
    return lambda rows: too_few(rows) if repeats(rows) < FEWEST else Verdict(OWN, why(rows))
