"""Sentences of a report: the answer first, then how far to trust it, then shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from nablasso.estimators.answer import WEAK
from nablasso.estimators.hierarchical_base import KernelSelector
from nablasso.estimators.nablasso import AutomaticSelector
from nablasso.inspection import Dependence
from nablasso.report.content import HeldOutClasses, HeldOutNumbers, Variable

LISTED = 8  # names in a sentence
AGREEMENT = 0.8  # share of the grid on which nearly all rows go the same way
APART = 0.25  # width of the band, relative to the effect, from which rows differ

STATUS = {
    "clear": "Clear: no other column could stand for a selected one, and left-out rows agree.",
    "twins": "Clear that something in these columns matters, but other columns could stand for "
    "some of them: see the alternatives.",
    "too few rows": "Too few rows to be sure: another draw of rows may select other columns.",
    "interrupted": "Interrupted: the answer rests on a part of the work.",
    "doubtful": "Doubtful: see the cautions.",
    "none found": "Nothing found: either no column matters, or the rows are too few to see it.",
}


def listed(names: Sequence[str], most: int = LISTED) -> str:
    """Names with commas and an "and"; of many the first ones."""
    names = list(names)
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def number(value: float) -> str:
    """A number in at most four digits."""
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1e5 or abs(value) < 1e-3:
        return f"{value:.2e}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def value_of(output: str, value: float) -> str:
    """A predicted value: a probability in hundredths, else a number in at most four digits."""
    return f"{value:.2f}" if output.startswith("probability") else number(value)


def answer_of(
    target: str,
    variables: Sequence[Variable],
    status: str,
    left_out: HeldOutNumbers | HeldOutClasses | None,
) -> str:
    """The result in a sentence or two."""
    chosen = [variable for variable in variables if variable.selected]
    if not chosen:
        return f"No column was found that helps to predict {target}."
    names = listed([variable.name for variable in chosen])
    verb = "matters" if len(chosen) == 1 else "matter"
    first = f"{len(chosen)} of {len(variables)} columns {verb} for {target}: {names}."
    if status == "interrupted":
        first = f"Interrupted, so this is provisional: {first}"
    weak = [v.name for v in chosen if v.p_value is None and 0 < (v.evidence or 0.0) < WEAK]
    if status == "too few rows":
        first = f"{first[:-1]}; but the rows are too few to be sure."
    elif weak:
        first = f"{first[:-1]}; {listed(weak)} weakly."
    return f"{first} {_quality(len(chosen), left_out)}".strip()


def _quality(n_chosen: int, left_out: HeldOutNumbers | HeldOutClasses | None) -> str:
    if isinstance(left_out, HeldOutNumbers):
        if left_out.r2 <= 0:
            return "In left-out rows that predicts no better than the mean does."
        verb = "It explains" if n_chosen == 1 else "Together they explain"
        return f"{verb} {left_out.r2:.0%} of its variation in left-out rows."
    if isinstance(left_out, HeldOutClasses):
        these = "it" if n_chosen == 1 else "them"
        return (
            f"With {these} {left_out.accuracy:.0%} of left-out rows are classified right; always "
            f"guessing the commonest class gets {left_out.largest_share:.0%}."
        )
    return ""


def strength_words(model: Any, target: str) -> str:
    """What the number called strength is."""
    if isinstance(model, KernelSelector):
        return (
            "Strength is the standard deviation of the part of the prediction that involves the "
            f"variable, in standard deviations of {target}."
        )
    if isinstance(model, AutomaticSelector):
        what = "log-odds" if is_classifier(model) else "prediction"
        return (
            f"Strength is the share of the variance of the {what} that the variable carries; "
            "shares add up to one."
        )
    unit = "in log-odds" if is_classifier(model) else f"in standard deviations of {target}"
    between = " Where a column has few values, differences between them are taken."
    return (
        "Strength is the typical size of the slope: how much the fitted function changes, "
        f"{unit}, per standard deviation of the variable." + between
    )


def confidence_words(model: Any) -> str:
    """What the column called confidence holds."""
    if isinstance(model, AutomaticSelector):
        if getattr(model, "p_values_", None) is not None:
            return (
                "The p-value tests, on held-out rows, whether the variable tells anything that the "
                f"others do not; at most {model.fdr:.0%} of the selected are expected to be false."
            )
        if np.any(model.evidence_ > 0):
            return (
                "Nats: what leaving the variable (and its copies) out would cost in log evidence, "
                "the price of the choice included; 3 nats are odds of about 20 to 1."
            )
        return "All columns were to be kept, so there was nothing to decide."
    return (
        "Certified: the duality gap proves that the exact solution of the stated problem selects, "
        "or leaves out, the variable."
    )


def output_words(unit: str, target: str) -> str:
    """What is predicted, by name."""
    return f"predicted {target}" if unit == "prediction" else unit


def curve_words(curve: Dependence, target: str) -> str:
    """The shape of a dependence, and whether the rows agree on it."""
    what = output_words(curve.unit, target)
    top, bottom = int(np.argmax(curve.mean)), int(np.argmin(curve.mean))
    low, high = (value_of(curve.unit, float(curve.mean[k])) for k in (bottom, top))
    values = f"{low} and {high}"
    if curve.direction == "flat":
        return f"On average the {what} does not change with it."
    if curve.labels:
        return (
            f"On average the {what} is highest for {curve.labels[top]} and lowest for "
            f"{curve.labels[bottom]}, between {values}."
        )
    if curve.direction != "bends":
        text = f"On average the {what} {curve.direction}, between {values}"
    else:
        text = (
            f"On average the {what} bends, highest near {number(float(curve.grid[top]))} and "
            f"lowest near {number(float(curve.grid[bottom]))}, between {values}"
        )
    return f"{text}. {_agreement(curve)}".strip()


def _agreement(curve: Dependence) -> str:
    one_way = np.mean((curve.slope_low > 0) | (curve.slope_high < 0))
    width = float(np.mean(curve.band_high - curve.band_low))
    apart = curve.unit == "prediction" and width > APART * curve.effect
    if one_way >= AGREEMENT and curve.direction != "bends":
        return "Nearly all rows go the same way" + (
            ", though not equally steeply." if apart else "."
        )
    if apart:
        return "The rows differ: it acts together with other variables."
    return ""
