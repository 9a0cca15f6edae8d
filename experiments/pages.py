"""Pages made from rows: one for each paper, and the summary of all experiments.

``python -m experiments --pages`` writes ``results/README.md`` (every experiment with its verdict)
and ``results/PAPER.md`` (published figures next to ours). No number is typed: a test builds the
pages again and compares, so a changed row that is not told of turns it red.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments.judging import OPEN, Verdict
from experiments.registry import BACH, EXPERIMENTS, GREGOROVA, MARTEAU, ROSASCO, YE
from experiments.rows import Rows, column, repeats, where
from experiments.running import CAPPED, DEFAULT, Store, as_markdown, convergence, refuse_stale
from experiments.verdicts import JUDGES
from nablasso.persistence import atomic_write

PAPERS = {"denovas": ROSASCO, "nvsd": GREGOROVA, "hkl": BACH, "sgl": YE, "psd": MARTEAU}
ABOUT = {
    "denovas": "Nonparametric sparsity and regularization. JMLR 14.",
    "nvsd": "Structured nonlinear variable selection. UAI.",
    "hkl": "High-dimensional non-linear variable selection through hierarchical kernel learning.",
    "sgl": "Learning sparse gradients for variable selection and dimension reduction.",
    "psd": "Non-parametric models for non-negative functions. NeurIPS.",
}
PICTURES = {  # of one draw in the paper, and the experiments that repeat what they show
    "denovas_figure_2": "denovas_figure_9",
    "nvsd_figure_1": "nvsd_protocol",
    "sgl_figure_1": "sgl_table_1",
    "sgl_figure_3": "sgl_figure_2",
    "psd_figure_2_curves": "psd_figure_2",
    "psd_figure_3": "psd_density_1",
    "psd_heteroscedastic_curves": "psd_heteroscedastic",
    "psd_quantile_curves": "psd_quantiles",
}
PAPER_REPEATS = {  # as printed; experiments with one draw in the paper are left out
    **dict.fromkeys(("denovas_figure_4", "denovas_figure_9"), 20),
    **dict.fromkeys(("nvsd_protocol", "nvsd_real", "nvsd_real_groups"), 50),
    **dict.fromkeys(("hkl_figure_8", "hkl_figure_8_n256", "hkl_figure_9"), 10),
    "sgl_table_1": 100,
}
OTHERS = {  # first words of what a paper compares with, and of forms that it does not have
    "denovas": ("MKL", "lasso on monomials", "HKL", "COSSO", "RLS"),
    "nvsd": ("SpAM", "HSIC", "KRLS"),
    "hkl": (
        *("greedy", "CART", "boosting", "MARS", "Gaussian process", "generalised", "L2", "MKL"),
        *("HKL hermite + pruning", "HKL hermite, weight 1.2"),
    ),
}
ASKED = 1e-5  # a relative gap that is small enough for a table; most rows ask for less
NOT_SAID = "?"
TO_BE_RUN = "to be run"
ERRORS = {  # the column in which smaller is better, and the paper's method
    **dict.fromkeys((f"denovas_figure_{k}" for k in (5, 8, 9)), ("rmse", "paper")),
    "denovas_figure_4": ("rmse", "nu = 10"),
    "denovas_figure_7": ("rmse", "p = 2"),
    "denovas_figure_10": ("rmse_over_sd", "paper"),
    "nvsd_protocol": ("rmse", "NVSD(L)"),
    "nvsd_real": ("rmse_over_sd", "NVSD(L)"),
    "nvsd_real_groups": ("rmse_over_sd", "NVSD(L)"),
    "hkl_figure_8": ("relative_error", "HKL hermite"),
    "hkl_figure_8_n256": ("relative_error", "HKL hermite"),
    "hkl_figure_9": ("error", "HKL hermite"),
}
EXPLAINED = """Five papers, each figure and table by the paper's own method, next to the library's
default call. Every number on these pages is made from the stored rows by `python -m experiments
--pages`; a row says its seconds, solver, iterations, largest relative gap, status, version and a
hash of its settings, and rows of other settings than today's are refused.

* *the paper's method*: its objective and its protocol, solved by our solver unless the line names
  another (the derivative penalties to a gap of 1e-7 of what there is to gain);
* *the library's default*: the default call and nothing else;
* *the verdict*: a difference of means counts from two standard errors on, of paired differences
  where both were run on the same draws; "as printed" is no further from print than that; "so
  far": some cell has fewer draws than the paper's;
* *draws*: the paper's (? where it does not say) / ours, the range over the cells of the table;
* *converged*: the share of rows that reached their tolerance, of the paper's methods and, where it
  differs, of all others; a fit of hierarchical kernels counts where it is certified over all of
  them. "All to 1e-05": what fell short of its own tolerance has a relative gap below that. What did
  not converge is named on the paper's page;
* *the default's gain*: the median, over what both were run on, of the paper's error over the
  default's: above one the default is better."""


def stored(name: str, folder: Path) -> Rows:
    """Rows of an experiment; stale ones are refused."""
    stem = folder / name
    rows = Store(stem, EXPERIMENTS[name]).rows
    refuse_stale(EXPERIMENTS[name], rows, stem)
    return rows


def verdict_of(name: str, rows: Rows) -> Verdict:
    """The experiment's verdict; open without rows."""
    return JUDGES[name](rows) if rows else Verdict(OPEN, "No rows yet.")


def _counts(name: str, rows: Rows) -> list[int]:
    """Draws of every cell of the table, the default call's apart."""
    key = [column for column in EXPERIMENTS[name].key if column not in ("draw", "split")]
    cells: dict[tuple[str, ...], Rows] = {}
    for row in rows:
        if row.get("method") != DEFAULT:
            cells.setdefault(tuple(row[column] for column in key), []).append(row)
    return [repeats(part) for part in cells.values()]


def draws_of(name: str, rows: Rows) -> str:
    """The paper's number of repeats and the range of ours over the cells."""
    if rows and not {"draw", "split"} & set(rows[0]):
        return "1 / 1"
    counts = _counts(name, rows) or [0]
    span = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    return f"{PAPER_REPEATS.get(name, NOT_SAID)} / {span}"


def why_of(name: str, rows: Rows, folder: Path) -> str:
    """The sentence of the verdict; of a picture also what repeats it, and how often."""
    why = verdict_of(name, rows).why
    if name not in PICTURES:
        return why
    counts = _counts(PICTURES[name], stored(PICTURES[name], folder)) or [0]
    return f"{why} A picture of one draw in print; {PICTURES[name]} has {min(counts)} draws of it."


def kind_of(name: str, rows: Rows) -> str:
    """The kind of the verdict, and whether fewer draws than the paper's stand behind it."""
    kind = verdict_of(name, rows).kind
    short = min(_counts(name, rows), default=0) < PAPER_REPEATS.get(name, 0)
    return f"{kind}, so far" if short and kind != OPEN else kind


def convergence_of(name: str, rows: Rows) -> str:
    """The share of rows that converged, of the paper's methods and of others."""
    others = OTHERS.get(name.split("_")[0], (DEFAULT,))

    def own(row: dict[str, str]) -> bool:
        return row.get("method") != DEFAULT and not row.get("method", "").startswith(others)

    theirs = [row for row in rows if own(row)]
    rest = [row for row in rows if not own(row) and row.get("status")]
    words = convergence(theirs) if theirs else ""
    capped = [row.get("gap") for row in theirs if row.get("status") == CAPPED]
    if capped and all(gap and float(gap) <= ASKED for gap in capped):
        words += f", all to {ASKED:g}"
    same = not rest or not theirs or convergence(rest) == words
    return (words or convergence(rows)) if same else f"{words}; others: {convergence(rest)}"


def gain_of(name: str, rows: Rows) -> str:
    """Median of the paper's error over the default's on common draws."""
    if name not in ERRORS:
        return ""
    value, paper = ERRORS[name]
    key = [column for column in EXPERIMENTS[name].key if column != "method"]

    def errors(method: str) -> dict[tuple[str, ...], float]:
        own = where(rows, method=method) if rows else []
        return {tuple(row[column] for column in key): float(row[value]) for row in own}

    default, theirs = errors(DEFAULT), errors(paper)
    common = default.keys() & theirs.keys()
    if not common:
        return TO_BE_RUN
    ratio = float(np.median([theirs[k] / default[k] for k in common]))
    return f"{ratio:.2g} ({len(common)} pairs)"


def summary(folder: Path) -> str:
    """The page of all experiments."""
    lines = ["# The papers' experiments", "", EXPLAINED, ""]
    lines += ["| experiment | verdict | draws | rows | converged | the default's gain |"]
    lines += ["|---|---|---|---|---|---|"]
    for name in EXPERIMENTS:
        rows = stored(name, folder)
        share = convergence_of(name, rows) if rows else ""
        page = name.split("_")[0]
        lines.append(
            f"| [{name}]({page}.md) | **{kind_of(name, rows)}**: "
            f"{why_of(name, rows, folder)} "
            f"| {draws_of(name, rows)} | {len(rows)} | {share} | {gain_of(name, rows)} |"
        )
    seconds = sum(
        sum(column(rows, "seconds"))
        for rows in (stored(name, folder) for name in EXPERIMENTS)
        if rows and "seconds" in rows[0]
    )
    lines += ["", f"{seconds / 3600:.1f} processor-hours are recorded in the rows.", ""]
    lines += ["| paper | page |", "|---|---|"]
    lines += [
        f"| {title} {ABOUT[page]} | [{page}.md]({page}.md) |" for page, title in PAPERS.items()
    ]
    return "\n".join(lines) + "\n"


def page(paper: str, folder: Path) -> str:
    """One paper: every figure and table with its verdict, published next to ours."""
    lines = [f"# {PAPERS[paper]}", "", ABOUT[paper]]
    for name, experiment in EXPERIMENTS.items():
        if name.split("_")[0] != paper:
            continue
        rows = stored(name, folder)
        lines += ["", f"## {experiment.title}", ""]
        lines += [f"`{name}`: **{kind_of(name, rows)}**. {why_of(name, rows, folder)} "]
        lines[-1] += f"Draws, the paper's / ours: {draws_of(name, rows)}."
        if rows:
            table = as_markdown(experiment, rows).split("\n", 2)[2]
            lines += ["", f"![{name}]({name}.png)", "", table]
    return "\n".join(lines) + "\n"


def pages(folder: Path) -> dict[str, str]:
    """All pages by file name."""
    return {"README.md": summary(folder)} | {f"{p}.md": page(p, folder) for p in PAPERS}


def write_pages(folder: Path) -> list[Path]:
    """Write all pages."""
    found = []
    for name, text in pages(folder).items():
        with atomic_write(folder / name) as place:
            place.write_text(text, encoding="utf-8")
        found.append(folder / name)
    return found
