"""What a report shows besides the answer, as plain data: nothing to compute.

A section without data is left out of the page.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nablasso import __version__
from nablasso.answer import Answer
from nablasso.estimators.derivative import DerivativeEstimator
from nablasso.estimators.hierarchical import KernelSelector
from nablasso.estimators.nablasso import AutomaticSelector
from nablasso.estimators.sparse_gradient import SparseGradientEstimator

Numbers = tuple[float, ...]


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
    band_low: Numbers
    band_high: Numbers
    slope_grid: Numbers
    slope_mean: Numbers
    slope_low: Numbers
    slope_high: Numbers
    quantiles: Numbers
    words: str
    band: str = "80% of rows"  # what the band holds


@dataclass(frozen=True)
class Effect:
    """All curves of one variable."""

    variable: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Pair:
    """How one column acts at three values of another."""

    names: tuple[str, str]
    size: str
    output: str
    grid: Numbers
    at: tuple[float, float, float]
    lines: tuple[Numbers, Numbers, Numbers]


@dataclass(frozen=True)
class HeldOutNumbers:
    """Numbers predicted for rows that the predictor did not see."""

    observed: Numbers
    predicted: Numbers
    how: str


@dataclass(frozen=True)
class HeldOutClasses:
    """Classes predicted for rows that the predictor did not see; counts[true][predicted]."""

    labels: tuple[str, ...]
    counts: tuple[Numbers, ...]
    how: str
    calibration: tuple[Numbers, ...] = ()  # probability told, share observed, rows


@dataclass(frozen=True)
class Swarm:
    """What each column adds to the prediction of each of some rows."""

    names: tuple[str, ...]
    parts: tuple[Numbers, ...]
    output: str
    residue: float  # largest difference between a prediction and the sum of its parts


@dataclass(frozen=True)
class Trials:
    """What was tried, as a table of strings, and the rest in a sentence."""

    about: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Citation:
    """A work to cite: in words, and as BibTeX."""

    words: str
    bibtex: str


@dataclass(frozen=True)
class Report:
    """Everything that a report page shows."""

    answer: Answer
    source: str = ""
    warnings: tuple[str, ...] = ()
    path: PathLines | None = None
    effects: tuple[Effect, ...] = ()
    pairs: tuple[Pair, ...] = ()
    small_shapes: dict[str, str] = field(default_factory=dict)  # drawings by column
    held_out: HeldOutNumbers | HeldOutClasses | None = None
    swarm: Swarm | None = None
    trials: Trials | None = None
    citations: tuple[Citation, ...] = ()
    call: str = ""
    version: str = ""
    created: str = ""
    seconds: float | None = None


SOFTWARE = Citation(
    f"The nablasso developers. nablasso: the lasso for nonlinear functions, version {__version__}.",
    f"""@software{{nablasso,
  title = {{nablasso: the lasso for nonlinear functions}},
  author = {{{{The nablasso developers}}}},
  version = {{{__version__}}}
}}""",
)
ROSASCO = Citation(
    "L. Rosasco, S. Villa, S. Mosci, M. Santoro and A. Verri (2013). Nonparametric sparsity and "
    "regularization. Journal of Machine Learning Research 14, 1665-1714.",
    """@article{rosasco2013nonparametric,
  title = {Nonparametric sparsity and regularization},
  author = {Rosasco, Lorenzo and Villa, Silvia and Mosci, Sofia and Santoro, Matteo and
            Verri, Alessandro},
  journal = {Journal of Machine Learning Research},
  volume = {14},
  pages = {1665--1714},
  year = {2013}
}""",
)
GREGOROVA = Citation(
    "M. Gregorová, A. Kalousis and S. Marchand-Maillet (2018). Structured nonlinear variable "
    "selection. Conference on Uncertainty in Artificial Intelligence.",
    """@inproceedings{gregorova2018structured,
  title = {Structured nonlinear variable selection},
  author = {Gregorov{\\'a}, Magda and Kalousis, Alexandros and Marchand-Maillet, St{\\'e}phane},
  booktitle = {Conference on Uncertainty in Artificial Intelligence},
  year = {2018}
}""",
)
BACH = Citation(
    "F. Bach (2009). High-dimensional non-linear variable selection through hierarchical kernel "
    "learning. arXiv:0909.0844.",
    """@misc{bach2009high,
  title = {High-dimensional non-linear variable selection through hierarchical kernel learning},
  author = {Bach, Francis},
  note = {arXiv:0909.0844},
  year = {2009}
}""",
)
YE = Citation(
    "G.-B. Ye and X. Xie (2012). Learning sparse gradients for variable selection and dimension "
    "reduction. Machine Learning 87, 303-355.",
    """@article{ye2012learning,
  title = {Learning sparse gradients for variable selection and dimension reduction},
  author = {Ye, Gui-Bo and Xie, Xiaohui},
  journal = {Machine Learning},
  volume = {87},
  pages = {303--355},
  year = {2012}
}""",
)


def citations_of(model: Any) -> tuple[Citation, ...]:
    """What to cite for a fitted model."""
    if isinstance(model, AutomaticSelector | DerivativeEstimator):
        return SOFTWARE, ROSASCO, GREGOROVA
    if isinstance(model, SparseGradientEstimator):
        return SOFTWARE, YE
    if isinstance(model, KernelSelector):
        return SOFTWARE, BACH
    return (SOFTWARE,)
