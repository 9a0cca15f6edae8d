"""The answer: what was found, how sure, why, and what to do next.

Plain data, made once at the end of a fit (``model.answer_``), and every sentence about it.
``summary()``, the command, the report and the notebook only print what stands here; nobody else
puts a finding into words. Numbers that are not known are None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from nablasso.data.cells import LISTED, listed

__all__ = ["Accuracy", "Answer", "Certificate", "Column", "Interaction", "Replacement", "Rival"]

WEAK = 3.0  # nats: odds of about twenty to one
NEGLIGIBLE_SHARE = 0.01  # of interactions that are not worth a sentence
PAIRS = 3  # interactions in a sentence
AGREEMENT = 0.8  # share of a curve on which nearly all rows go the same way
APART = 0.25  # width of a band, relative to the effect, from which on rows differ
INTERRUPTED, CONSTANT = "interrupted", "constant target"
FAINT = "faint"  # why a column is left out that predicts together with others
LONG_NUMBER = re.compile(r"\d+\.\d{4,}(e-?\d+)?")

STATUS = {
    "clear": "Clear: no other columns could stand for a selected one, and left-out rows agree",
    "replaceable": "Something in these columns matters, but others could stand for some of them",
    "too few rows": "Too few rows to be sure: another draw of rows may select other columns",
    INTERRUPTED: "Interrupted: the answer rests on a part of the work",
    "doubtful": "Doubtful: see the cautions",
    CONSTANT: "Nothing to find: the target has the same value in all rows",
    "none found": "Nothing found: either no column matters, or the rows are too few to see it",
}


@dataclass(frozen=True)
class Replacement:
    """Columns that could stand for another one.

    ``kind`` is ``"twin"`` (correlated 0.95 or more), ``"alternative"`` (in its place left-out rows
    are predicted as well; ``ours`` and ``theirs`` are the two scores) or ``"together"`` (``by``
    explain the share ``r2`` of it).
    """

    kind: str
    by: tuple[str, ...]
    r2: float | None = None
    ours: float | None = None
    theirs: float | None = None


@dataclass(frozen=True)
class Column:
    """One column of the table, or one category.

    ``share`` of the variance of the prediction lies between ``low`` and ``high``; ``strength`` is
    the typical slope in deviations, ``slope`` that per unit. ``evidence`` are nats that
    leaving it out would cost, ``clear_by`` standard errors by which left-out rows are worse without
    it. Of a column that was left out ``reason`` says why, ``adds`` the nats that it would bring,
    ``costs`` those that choosing it takes, ``scores`` R2 of left-out rows without and with it.
    """

    name: str
    selected: bool
    kind: str = ""
    strength: float = 0.0
    bounds: tuple[float | None, float | None] | None = None
    share: float | None = None
    low: float | None = None
    high: float | None = None
    first_order: float | None = None
    slope: float | None = None
    direction: str | None = None
    evidence: float | None = None
    clear_by: float | None = None
    p_value: float | None = None
    certified: bool | None = None
    group: str | None = None
    levels: tuple[str, ...] | None = None
    replaceable: tuple[Replacement, ...] = ()
    reason: str = ""
    adds: float | None = None
    costs: float | None = None
    scores: tuple[float, float] | None = None

    @property
    def weak(self) -> bool:
        """Whether odds of twenty to one are not reached."""
        return self.p_value is None and 0 < (self.evidence or 0.0) < WEAK

    @property
    def size(self) -> float:
        """What columns are ordered by: the share, or the strength where it is not known."""
        return self.strength if self.share is None else self.share

    @property
    def detail(self) -> str:
        """How much, and how sure, in a few words."""
        parts = [number(self.strength, 2) if self.share is None else percent(self.share)]
        if self.p_value is not None:
            parts.append(f"p = {self.p_value:.2g}")
        elif self.evidence:
            parts.append(f"{self.evidence:.0f} nats")
        return ", ".join(parts)


@dataclass(frozen=True)
class Interaction:
    """Columns that act together, and the ``share`` of the variance in which they do."""

    columns: tuple[str, ...]
    share: float


@dataclass(frozen=True)
class Accuracy:
    """How well rows are predicted that were left out, and how many of them there are."""

    n_rows: int
    how: str
    r2: float | None = None  # share of the squares, or of the loss, that is saved
    rmse: float | None = None
    rmse_over_sd: float | None = None
    accuracy: float | None = None
    guess: float | None = None  # share of the commonest class
    log_loss: float | None = None
    auc: float | None = None

    def sentence(self, target: str) -> str:
        """The figures and what they rest on."""
        parts = []
        if self.accuracy is not None:
            parts.append(
                f"{self.accuracy:.0%} of left-out rows classified right "
                f"(always the commonest class: {self.guess:.0%})"
            )
        elif self.r2 is not None and self.log_loss is None:
            parts.append(f"R2 {self.r2:.3f}")
        if self.log_loss is not None:
            parts.append(f"log-loss {self.log_loss:.3g}")
        if self.auc is not None:
            parts.append(f"AUC {self.auc:.3f}")
        if self.rmse is not None:
            fraction = "" if self.rmse_over_sd is None else f" ({self.rmse_over_sd:.2f} of its sd)"
            parts.append(f"typical error {number(self.rmse)} in {target}{fraction}")
        return f"{', '.join(parts)}; {self.how}."


@dataclass(frozen=True)
class Rival:
    """Another set of columns, and by how many nats it lost."""

    columns: tuple[str, ...]
    behind: float


@dataclass(frozen=True)
class Certificate:
    """The problem that was solved and how exactly; ``proven`` of ``of`` columns are decided."""

    problem: str
    dual_gap: float
    relative_gap: float
    proven: int | None = None
    of: int | None = None
    state: str = ""
    parameters: dict[str, float | str] = field(default_factory=dict)

    def sentence(self) -> str:
        """What is proven."""
        gap = f"duality gap {self.dual_gap:.1e} ({self.relative_gap:.1e} of the objective at zero)"
        told = f": {self.state}" if self.state else ""
        if self.proven is not None:
            told += f", which proves {self.proven} of {self.of} columns"
        return f"{self.problem}, {gap}{told}."

    def settings(self) -> str:
        """Parameters in one line."""
        each = self.parameters.items()
        return ", ".join(f"{k} {v if isinstance(v, str) else number(v)}" for k, v in each)


@dataclass(frozen=True)
class Answer:
    """Everything that is told of a fit.

    ``n_rows`` rows were given, ``n_searched`` of them decided; ``columns`` are all of the table,
    the selected ones first, the largest of them first; ``noticed`` are sentences about noise and
    target and what was done about them; ``cautions`` what derivatives cannot see; ``notes`` what
    only one method has to say.
    """

    target: str
    method: str
    task: str
    n_rows: int
    n_searched: int
    columns: tuple[Column, ...]
    status: str
    interactions: tuple[Interaction, ...] = ()
    accuracy: Accuracy | None = None
    rivals: tuple[Rival, ...] = ()
    family: str = ""
    noticed: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    certificate: Certificate | None = None
    classes: dict[str, int] = field(default_factory=dict)

    @property
    def selected(self) -> tuple[Column, ...]:
        """Selected columns, the largest first."""
        return tuple(column for column in self.columns if column.selected)

    @property
    def left_out(self) -> tuple[Column, ...]:
        """Columns that could have been selected and were not."""
        return tuple(c for c in self.columns if not c.selected and c.kind != "constant")

    @property
    def constant(self) -> tuple[str, ...]:
        """Columns with the same value in all rows."""
        return tuple(c.name for c in self.columns if c.kind == "constant")

    @property
    def interrupted(self) -> bool:
        """Whether the work was cut short."""
        return self.status == INTERRUPTED

    @property
    def decided(self) -> bool:
        """Whether there was something to decide: not if all columns were to be kept."""
        return not self.selected or any(
            c.evidence is None or c.evidence > 0 or c.p_value is not None for c in self.selected
        )

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)

    # ------------------------------------------------------------------------------- sentences

    def headline(self, *, detailed: bool = False) -> str:
        """What was found, in a sentence or two."""
        chosen, d, target = self.selected, len(self.columns), self.target
        before = "Interrupted, so this is provisional: " if self.interrupted else ""
        if self.status == CONSTANT:
            return f"{target} is constant in all {counted(self.n_rows, 'row')}: nothing to explain."
        if not chosen:
            return (
                f"{before}None of the {counted(d, 'column')} was found to matter for {target} "
                f"({counted(self.n_searched, 'row')})."
            )
        names = [f"{c.name} ({c.detail})" if detailed else c.name for c in chosen]
        told = listed(names, len(names) if detailed else LISTED)
        if not self.decided:
            return f"{before}All are kept as asked: {told}."
        share = f"{before}{len(chosen)} of {counted(d, 'column')}"
        if self.status == "too few rows":
            were, them = ("was", "it") if len(chosen) == 1 else ("were", "them")
            return (
                f"No reliable answer: {share} {were} selected ({told}), but "
                f"{counted(self.n_searched, 'row')} are too few to be sure of {them}."
            )
        matter = "matters" if len(chosen) == 1 else "matter"
        return f"{share} {matter} for {target} ({counted(self.n_searched, 'row')}): {told}."

    def status_sentence(self) -> str:
        """How far to trust it."""
        return STATUS.get(self.status, self.status)

    def weak_sentence(self) -> str:
        """Columns that odds of twenty to one do not support; the others stand."""
        weak = [column.name for column in self.selected if column.weak]
        if not weak or self.status == "too few rows":
            return ""
        rest = len(self.selected) - len(weak)
        others = " The other column stands." if rest == 1 else f" The other {rest} columns stand."
        others = others if rest else ""
        return (
            f"Weakly supported by {counted(self.n_searched, 'row')} (under {WEAK:g} nats): "
            f"{listed(weak)}; other rows may put other columns in their place.{others}"
        )

    def rival_sentences(self) -> list[str]:
        """Other sets of columns that the rows hardly tell from this one."""
        return [
            f"Nearly as good on {counted(self.n_searched, 'row')}: "
            f"{listed(rival.columns) or 'no column at all'} (behind by {rival.behind:.1f} nats)."
            for rival in self.rivals
            if 0 <= rival.behind < WEAK
        ]

    def replacement_sentences(self) -> list[str]:
        """Which selected columns others could stand for."""
        found = []
        for column in self.selected:
            swaps = [one for one in column.replaceable if one.kind != "together"]
            if swaps:
                found.append(swap_sentence(column.name, swaps, self.n_searched, self.task))
            for one in (one for one in column.replaceable if one.kind == "together"):
                tell = "tells" if len(one.by) == 1 else "together tell"
                told = f"{column.name} is replaceable: {listed(one.by)} {tell} {percent(one.r2)}"
                found.append(f"{told} of it ({counted(self.n_searched, 'row')}).")
        return found

    def interaction_sentence(self) -> str:
        """The strongest pairs."""
        pairs = [
            f"{' x '.join(one.columns)} ({percent(one.share)})"
            for one in self.strongest_interactions()[:PAIRS]
        ]
        return f"Strongest: {', '.join(pairs)}." if pairs else ""

    def strongest_interactions(self) -> tuple[Interaction, ...]:
        """Those worth a sentence."""
        return tuple(one for one in self.interactions if one.share >= NEGLIGIBLE_SHARE)

    def interaction_words(self) -> str:
        """What the number of an interaction is."""
        what = "log-odds" if self.task == "classification" else "prediction"
        return f"Numbers are shares of the variance of the {what} in which both act together."

    def certificate_limits(self) -> str:
        """What no gap can prove."""
        if all(column.evidence is None for column in self.columns):
            return ""
        matter = "no other column is selected" if self.faint else "the other columns do not matter"
        return (
            f"That {matter} is a statistical decision, by evidence and left-out rows: no gap can "
            "prove it."
        )

    def left_out_sentence(self) -> str:
        """Which columns were left out, and how many of them are proven to be."""
        out = self.left_out
        if not out:
            return ""
        told = f"{counted(len(out), 'column')}: {listed([column.name for column in out])}"
        if self.certificate is not None and self.certificate.of == len(self.columns):
            told += f" ({sum(bool(c.certified) for c in out)} certified)"
        return f"{told}."

    @property
    def faint(self) -> bool:
        """Whether predictions use columns that are not selected."""
        return any(column.reason == FAINT for column in self.columns)

    def dropped_sentence(self, name: str) -> str:
        """Why a column was left out, and what it would add."""
        column, rows = self.column(name), counted(self.n_searched, "row")
        if column.kind == "constant":
            return f"{name} has one value in all rows: it can explain nothing."
        standing = [
            swap_sentence(other.name, [one], self.n_searched, self.task)
            for other in self.selected
            for one in other.replaceable
            if name in one.by and one.kind != "together"
        ]
        reason = f"{name} was left out"
        if column.reason == "screened":
            return f"{reason} by the screening: alone and in pairs it explains too little ({rows})."
        if column.adds is None:
            reason += f": {self.target} is explained without it ({rows})."
        elif column.adds <= 0:
            reason += f": with the selected columns it adds nothing to the evidence ({rows})."
        else:
            costs = column.costs or 0.0
            than = f"less than the {costs:.1f} that choosing it costs"
            if column.adds > costs:
                than = "but left-out rows did not clearly need it"
            reason += f": it would add {column.adds:.1f} nats of evidence, {than} ({rows})."
        if column.scores is not None:
            without, with_it = column.scores
            reason += f" R2 of left-out rows: {without:.3f} without it, {with_it:.3f} with it."
        if column.reason == FAINT:
            reason += " Predictions use it together with others too faint to be selected."
        return " ".join([reason, *standing[:1]])

    def remedies(self) -> list[str]:
        """What to do next."""
        found = []
        if self.interrupted:
            found.append("Fit again for the whole answer.")
        if self.status in ("too few rows", "none found"):
            found.append(
                "Add rows, or leave out columns that cannot matter: fewer candidates need less "
                "evidence."
            )
        if any(column.replaceable for column in self.selected):
            found.append(
                "To tell columns apart that stand for each other, add rows in which they differ; "
                "to settle on one, keep it (always_keep) or leave the other out."
            )
        if any(column.weak for column in self.selected) and self.status != "too few rows":
            found.append("For p-values instead of nats, fit with fdr=0.1.")
        return found

    def facts(self) -> list[tuple[str, str]]:
        """Sentences with what each of them is about, in the order in which they are asked for."""
        rows = [("Status", self.status_sentence())]
        if self.accuracy is not None and self.selected:
            rows.append(("Accuracy", self.accuracy.sentence(self.target)))
        rows += [("Weak", self.weak_sentence()), ("Interactions", self.interaction_sentence())]
        rows += [("Replaceable", sentence) for sentence in self.replacement_sentences()]
        rows += [("Rival", sentence) for sentence in self.rival_sentences()]
        rows += [("Noticed", sentence) for sentence in self.noticed]
        rows += [("Note", note) for note in self.notes]
        rows.append(("Left out", self.left_out_sentence()))
        if self.constant:
            rows.append(("Constant", f"{listed(self.constant)} (never selectable)."))
        if self.family:
            rows.append(("Functions", self.family))
        if self.certificate is not None:
            rows.append(("Certificate", self.certificate.sentence()))
            rows.append(("Problem", self.certificate.settings()))
        rows += [("Next", remedy) for remedy in self.remedies()]
        return [(label, text) for label, text in rows if text]

    def summary(self) -> str:
        """Everything in words, a line each."""
        lines = [f"{label}: {text}" for label, text in self.facts()]
        cautions = [f"Caution: {sentence}" for sentence in self.cautions]
        return "\n".join([self.headline(detailed=True), *lines, *cautions])

    # ------------------------------------------------------------------------------------ tables

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Headers and cells of the selected columns: what is known about them."""
        cells = {name: [_cell(c, name) for c in self.selected] for name in LEGEND}
        if any(cells["p-value"]):
            cells["Nats"] = [""] * len(self.selected)
        if set(cells["Certified"]) == {"yes"}:  # the certificate says that all are
            cells["Certified"] = [""] * len(self.selected)
        headers = [name for name, column in cells.items() if any(column)]
        rows = [list(row) for row in zip(*(cells[name] for name in headers), strict=True)]
        return headers, rows

    def legend(self) -> str:
        """What the columns of the table mean."""
        unit = "log-odds" if self.task == "classification" else f"deviations of {self.target}"
        solved = "the problem" if self.certificate is None else self.certificate.problem
        words = {name: text.format(unit=unit, solved=solved) for name, text in LEGEND.items()}
        return " ".join(f"{name}: {words[name]}." for name in self.table()[0] if words[name])

    def to_json(self) -> dict[str, Any]:
        """Everything as numbers, strings, lists and dictionaries."""
        content = asdict(self)
        del content["columns"]
        return {
            "answer": self.headline(),
            "selection_status": content.pop("status"),
            **content,
            "n_columns": len(self.columns),
            "selected": [asdict(column) for column in self.selected],
            "left_out": [asdict(c) | {"why": self.dropped_sentence(c.name)} for c in self.left_out],
            "constant": list(self.constant),
            "remedies": self.remedies(),
        }


LEGEND = {  # headers in their order, and what they mean
    "Column": "",
    "Group": "",
    "Share": "of the variance of the prediction that the column carries (90 % interval)",
    "Strength": "typical slope, in {unit} per deviation of the column",
    "Slope": "typical size, per unit of the column",
    "Shape": "",
    "Nats": "log evidence that leaving the column out would cost; 3 are odds of 20 to 1",
    "p-value": "of having no influence given the other columns, on left-out rows",
    "Certified": "the duality gap proves that {solved} selects it too",
    "Replaceable by": "columns that could stand for it",
}


def _cell(column: Column, name: str) -> str:
    if name == "Share":
        if column.share is None:
            return ""
        ends = [percent(end) for end in (column.low, column.high) if end is not None]
        return percent(column.share) + (f" ({' to '.join(ends)})" if ends else "")
    if name == "Certified":
        return "" if column.certified is None else "yes" if column.certified else "no"
    if name == "Replaceable by":
        alone = [listed(one.by, 4) for one in column.replaceable if len(one.by) == 1]
        several = [len(one.by) for one in column.replaceable if len(one.by) > 1]
        return ", ".join(dict.fromkeys([*alone, *(f"{n} others together" for n in several)]))
    cells = {
        "Column": column.name,
        "Group": column.group,
        "Strength": None if column.share is not None else number(column.strength, 2),
        "Slope": None if column.slope is None else number(column.slope),
        "Shape": column.direction,
        "Nats": f"{column.evidence:.0f}" if column.evidence else None,
        "p-value": None if column.p_value is None else f"{column.p_value:.2g}",
    }
    return cells[name] or ""


# -------------------------------------------------------------------------- sentences about a part


def swap_sentence(name: str, swaps: Sequence[Replacement], n_rows: int, task: str) -> str:
    """Single columns that could stand in the place of another one, with the scores of both."""
    what = "accuracy" if task == "classification" else "R2"
    told, ours = [], next((one.ours for one in swaps if one.ours is not None), None)
    for one in swaps:
        how = "a near copy" if one.theirs is None else f"{one.theirs:.3f}"
        told.append(f"{listed(one.by)} ({how})")
    scores = "" if ours is None else f"; {what} of left-out rows with {name}: {ours:.3f}"
    return f"{name} could be replaced by {' or '.join(told)}{scores} ({counted(n_rows, 'row')})."


def task_sentence(answer: Answer, few_values: bool) -> str:
    """What the target was taken for."""
    if answer.task == "regression":
        few = " (few distinct values: --classify if they are classes)" if few_values else ""
        return f"regression, {answer.target} holds numbers{few}"
    counts = listed([f"{label} ({count})" for label, count in answer.classes.items()])
    return f"classification, {len(answer.classes)} classes with their rows: {counts}"


SAID = {  # what only some fits have to say; {n_rows:row} is 1 row or 2 rows, {n:is|are} a verb
    "skewed": "The target is skewed: {warp} is explained.",
    "counts": "The target holds counts: {warp} is explained.",
    "tails": "There are outliers: noise with {degrees:g} degrees of freedom, in which "
    "{n_small:row} {n_small:counts|count} less than half.",
    "uneven": "The noise is uneven, its level differs by a factor of {factor:.1f}: quiet rows "
    "count more.",
    "serial": "Rows are serially correlated ({correlation:g} from one to the next): their order "
    "was taken for time and their noise for correlated. Set time=False if it means nothing.",
    "gained": "What was noticed explains the rows better by {nats:.0f} nats, its price paid.",
    "all rows": "On all rows: {reason}.",
    "warped": "The target is skewed: {share:.0%} of the prediction goes through {warp}.",
    "faint": "Predictions also use {n_names:column} too faint to be selected"
    "{n_names:| one by one}: {names}.",
    "states": "Predictions also ask whether two values of {names} are equal, not only how far "
    "apart they are. Where they are codes, give them as words.",
    "scales": "{names} {n_names:scales|scale} what other columns do.",
    "screened": "Screening left {n_left} of {n_columns:column} to the search.",
    "directions": "{n_some:direction} {n_some:explains|explain} {share:.0%} of the gradients' "
    "covariance.",
    "products": "Interactions: {products}.",
    "pruned": "{n_kept} of the {n_penalised} nodes that the penalty selects are kept by the "
    "extended Bayes information criterion; the duality gap is that of the penalised problem.",
    "parts": "{names} {n_names:comes|come} in separate parts with different y, and "
    "{n_names:it|they} may matter: derivatives cannot see what changes between the parts only.",
    "step": "y seems to depend only on the side of a threshold on which {name} lies: such a step "
    "changes the left-out error of the smooth fit by {change:+.0%}.",
    "everything": "{n_selected} of {n_columns} columns are in, with no gap between strong and "
    "weak ones: either most columns matter, or the rows are too few to tell which.",
    "stated": "the stated problem, solved",
    "certified": "certified over all kernels",
    "not certified": "not certified ({reason})",
    "left out": "each of {n_rows:row} predicted from the others",
    "judged": "on {n_rows:row} of {n_all} on which the kernel was not tuned",
}


class _Count(int):
    """How many: with a noun after it, or the verb that goes with it."""

    def __format__(self, word: str) -> str:
        one, _, several = word.partition("|")
        if several:
            return one if self == 1 else several
        return counted(int(self), word) if word else str(int(self))


def said(what: str, **facts: Any) -> str:
    """A sentence of :data:`SAID`; facts that begin with ``n_`` are counts."""
    counts = {name: _Count(n) for name, n in facts.items() if name.startswith("n_")}
    return SAID[what].format(**facts | counts)


def output_words(unit: str, target: str) -> str:
    """What is predicted, by name."""
    return f"predicted {target}" if unit == "prediction" else unit


def curve_sentence(curve: Any, target: str) -> str:
    """The shape of a dependence, and whether the rows agree on it."""
    mean = [float(value) for value in curve.mean]
    low, high, name = min(mean), max(mean), curve.name
    told = f"On average the {output_words(curve.unit, target)}"
    if curve.labels:
        last, first = (curve.labels[mean.index(value)] for value in (low, high))
        return (
            f"{told} is highest for {name} = {first} ({number(high)}) and lowest for {last} "
            f"({number(low)})."
        )
    if curve.direction == "flat":
        return f"{told} does not depend on {name}."
    shapes = {
        "rises": f"rises with {name}",
        "falls": f"falls as {name} grows",
        "bends": f"rises and falls with {name}",
    }
    told += f" {shapes[curve.direction]}, between {number(low)} and {number(high)}."
    pairs = zip(curve.slope_low, curve.slope_high, strict=True)
    one_way = sum(a > 0 or b < 0 for a, b in pairs) / max(len(curve.slope_low), 1)
    spread = sum(curve.band_high) - sum(curve.band_low)
    apart = curve.unit == "prediction" and spread > APART * curve.effect * len(mean)
    if one_way >= AGREEMENT and curve.direction != "bends":
        steep = ", though not equally steeply" if apart else ""
        return f"{told} Nearly all rows go the same way{steep}."
    return f"{told} The rows differ: it acts together with other columns." if apart else told


# ------------------------------------------------------------------------------------- small words


def short_kernel(text: str) -> str:
    """A kernel with its numbers in three digits; only its name where it holds tables of them."""
    if "array(" in text:
        return text.partition("(")[0]
    return LONG_NUMBER.sub(lambda found: f"{float(found[0]):.3g}", text)


def counted(count: int, noun: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def percent(share: float | None) -> str:
    """A share in per cent."""
    if share is None:
        return ""
    return f"{share:.1%}" if abs(share) < 0.095 else f"{share:.0%}"


def number(value: float, decimals: int | None = None) -> str:
    """A number in at most four digits, or with so many decimals where they are not all zero."""
    if value == 0 or value != value or abs(value) == float("inf"):
        return f"{value:g}"
    if decimals is not None and abs(value) >= 10.0**-decimals:
        return f"{value:.{decimals}f}"
    if abs(value) >= 1e5 or abs(value) < 1e-3:
        return f"{value:.2e}"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
