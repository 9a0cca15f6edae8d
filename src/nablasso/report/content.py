"""What a report says, as plain data: numbers, strings and tuples of them, nothing to compute.

Everything is optional but the answer: a section without data is left out of the page.
"""

from __future__ import annotations

from dataclasses import dataclass

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Alternative:
    """Another column that goes with a variable."""

    name: str
    correlation: float | None
    predicts_as_well: bool


@dataclass(frozen=True)
class Variable:
    """One column of the table, or one category; None is what the method does not tell."""

    name: str
    kind: str
    selected: bool
    strength: float
    bounds: tuple[float, float] | None = None
    certified: bool | None = None
    evidence: float | None = None  # nats that leaving it out would cost
    p_value: float | None = None
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True)
class PathLines:
    """Importance along alpha, largest alpha first; without lines, where each variable enters."""

    alphas: Numbers
    chosen: float | None
    names: tuple[str, ...]
    lines: tuple[Numbers, ...] | None
    entered: Numbers
    about: str


@dataclass(frozen=True)
class Curve:
    """Partial dependence of one output on one variable."""

    output: str
    kind: str
    grid: Numbers
    labels: tuple[str, ...]
    mean: Numbers
    low: Numbers
    high: Numbers
    slope_grid: Numbers
    slope_mean: Numbers
    slope_low: Numbers
    slope_high: Numbers
    quantiles: Numbers
    words: str


@dataclass(frozen=True)
class Effect:
    """All curves of one variable."""

    variable: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Pair:
    """How one variable acts at three values of another."""

    names: tuple[str, str]
    strength: float
    output: str
    grid: Numbers
    at: tuple[float, float, float]
    lines: tuple[Numbers, Numbers, Numbers]


@dataclass(frozen=True)
class InteractionMap:
    """Strengths of the interactions between variables, the strongest first."""

    names: tuple[str, ...]
    strengths: tuple[tuple[int, int, float], ...]
    pairs: tuple[Pair, ...]
    about: str


@dataclass(frozen=True)
class HeldOut:
    """Numbers predicted for rows that the predictor did not see."""

    observed: Numbers
    predicted: Numbers
    how: str
    r2: float
    rmse: float


@dataclass(frozen=True)
class HeldOutClasses:
    """Classes predicted for rows that the predictor did not see; counts[true][predicted]."""

    labels: tuple[str, ...]
    counts: tuple[Numbers, ...]
    how: str
    accuracy: float
    largest_share: float  # of the commonest class: what guessing it would reach


@dataclass(frozen=True)
class Trials:
    """What was tried, as a table of strings, and the rest in a sentence."""

    about: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Certificate:
    """What was proven, in a sentence and as labelled numbers."""

    words: str
    facts: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Citation:
    """A work to cite: in words, and as BibTeX."""

    words: str
    bibtex: str


@dataclass(frozen=True)
class Report:
    """Everything that a report page shows."""

    target: str
    source: str
    task: str
    method: str
    answer: str
    status: str
    status_words: str
    n_rows: int
    variables: tuple[Variable, ...]  # the strongest first
    strength_words: str
    confidence_words: str
    quality: tuple[tuple[str, str], ...] = ()  # labelled numbers under the answer
    cautions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    path: PathLines | None = None
    effects: tuple[Effect, ...] = ()
    interactions: InteractionMap | None = None
    held_out: HeldOut | HeldOutClasses | None = None
    trials: Trials | None = None
    certificate: Certificate | None = None
    citations: tuple[Citation, ...] = ()
    call: str = ""
    version: str = ""
    created: str = ""
    seconds: float | None = None

    @property
    def selected(self) -> tuple[Variable, ...]:
        """Selected variables, the strongest first."""
        return tuple(variable for variable in self.variables if variable.selected)
