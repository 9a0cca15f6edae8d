"""Five readers, one paragraph, one table and one figure each, from stored rows alone.

What has no rows yet is said to be missing. Figures of others that were published, not measured
here, carry "published" in their names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import studentized_range

from benchmarks.pages.rows import (
    CELL,
    FEWEST,
    NEAR,
    OURS,
    by_cell,
    markdown,
    number,
    paired,
    rivals,
    share,
    stored,
)
from benchmarks.suites import srbench

UNMEASURED = "Ours is not measured yet."
MOST_TABLES = 0.8  # share of the tables that a method must have for its median to mean something
SOLVED = 0.999  # R2 above which a formula counts as found


class Section(NamedTuple):
    """What one reader sees; ``draw`` fills the axes of a figure, None where there is nothing."""

    reader: str
    asks: str
    paragraph: str
    table: list[str]
    draw: Callable[[Any], None] | None = None


def told(rows: pd.DataFrame, words: str) -> str:
    """A paragraph, or that we were not measured."""
    told_first = "" if OURS in set(rows["contestant"]) else UNMEASURED
    return " ".join(f"{told_first} {words}".split())


def _if(rows: Any, draw: Callable[[Any], None]) -> Callable[[Any], None] | None:
    """No figure without rows."""
    return draw if len(rows) else None


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Each contestant over the problems it shares with us, next to us on the same draws."""
    found = []
    for name in (OURS, *rivals(rows)):
        cells = by_cell(paired(rows, name))
        cells = cells[cells["draws"] >= FEWEST]
        if cells.empty:
            continue
        own = rows[rows["contestant"] == name]
        found.append(
            {
                "contestant": name,
                "problems": len(cells),
                "draws": int(cells["draws"].sum()),
                "theirs": cells["exact_theirs"].mean(),
                "ours": cells["exact_ours"].mean(),
                "near": (cells["ratio"] >= 1 / NEAR).mean(),
                "ours_near": (cells["ratio"] <= NEAR).mean(),
                "seconds": own["seconds"].median(),
                "mib": own["peak_mib"].median(),
            }
        )
    return pd.DataFrame(found)


def statistician() -> Section:
    """Exactly the right columns."""
    rows = stored("selection")
    found = summary(rows)
    others = found[found["contestant"] != OURS] if len(found) else found
    ahead = [
        f"{r.contestant} ({r.theirs:.0%}, ours {r.ours:.0%})"
        for r in others.itertuples()
        if r.theirs > r.ours
    ]
    words = (
        f"On problems whose relevant columns are known, {len(others)} rivals were asked on the "
        f"same draws as we. Mean rate of exact supports: ahead of us "
        f"{', '.join(ahead) or 'nobody'}. {_silence()} {_control()}"
    )
    lines = [
        [
            r.contestant,
            f"{r.problems} ({r.draws})",
            share(r.theirs),
            share(r.ours),
            share(r.near),
            share(r.ours_near),
            number(r.seconds, 2),
            number(r.mib),
        ]
        for r in found.itertuples()
    ]
    head = ["contestant", "problems (draws)", "exact support", "ours, same draws"]
    head += ["RMSE within 10 % of the better", "ours", "median seconds", "median MiB"]
    return Section(
        "Statistician",
        "which columns matter, and how often is the answer exactly right?",
        told(rows, words),
        [*markdown(head, lines), "", *_supports()],
        lambda axes: heat_map(
            axes, rows.groupby(["contestant", *CELL])["exact"].mean(), "exact support"
        ),
    )


def _silence() -> str:
    rows = stored("noise")
    own = rows[rows["contestant"] == OURS]
    if own.empty:
        return ""
    rates = own.groupby("problem")["exact"].agg(["mean", "size"])
    words = ", ".join(f"{n} {r['mean']:.0%} of {int(r['size'])}" for n, r in rates.iterrows())
    return f"Silent under pure noise: {words}."


def _control() -> str:
    rows = stored("fdr")
    known = rows[(rows["contestant"] == "nablasso_fdr") & (rows["problem"] != "pure_noise")]
    cover = rows[rows["coverage"].notna()]
    words = ""
    if len(known):
        false = 1 - known["precision"]
        words += (
            f"With fdr=0.1 the mean proportion of false discoveries is {false.mean():.3f} "
            f"(standard error {false.sem():.3f}, {len(false)} runs), power "
            f"{known['recall'].mean():.2f}. "
        )
    if len(cover):
        words += f"90 % intervals cover {cover['coverage'].mean():.3f} ({len(cover)} runs)."
    return words


def _supports() -> list[str]:
    """Exact supports and spurious columns on the suites that ask for them."""
    lines = []
    for suite in ("not_ideal", "sorted", "weak", "friedman", "noise"):
        rows = stored(suite)
        if suite == "friedman":
            ours = stored("srbench").query("contestant == @OURS")
            rows = pd.concat([ours[ours["problem"].map(srbench.is_friedman).astype(bool)], rows])
        for name, own in rows.groupby("contestant", sort=False):
            if (own["selected"] == own["d"]).all():
                continue  # it predicts and does not select
            spurious = own["selected"] * (1 - own["precision"])
            figures = [share(own["exact"].mean()), number(own["recall"].mean(), 2)]
            figures += [number(spurious.mean(), 2), number(own["seconds"].median(), 2)]
            lines.append([suite, str(name), str(len(own)), *figures])
    head = ["suite", "contestant", "fits", "exact support", "recall", "spurious a fit", "seconds"]
    return markdown(head, lines) if lines else []


def engineer() -> Section:
    """Real tables."""
    rows = stored("tables")
    means = rows.assign(error=rows["loss"] ** 0.5).groupby([*CELL, "contestant"])["error"]
    table = means.mean().unstack()
    spread = means.sem().unstack()
    words = ""
    if OURS in table:
        shared = table[table[OURS].notna() & (table.notna().sum(axis=1) > 1)]
        best = shared.drop(columns=OURS).min(axis=1)
        allowed = 2 * spread.loc[shared.index, OURS].fillna(0)
        near = (shared[OURS] <= best + allowed).mean()
        words = (
            f"On {share((shared[OURS] <= best).mean())} of {len(shared)} cells (a table with a "
            f"number of training rows) our mean error is the smallest, on {share(near)} the "
            "smallest or within two standard errors of it. "
        )
    lines = [
        [str(cell[0]), _rows(cell[1]), *_bold(values, lambda v: f"{v:.3f}")]
        for cell, values in table.iterrows()
    ]
    return Section(
        "Machine-learning engineer",
        "how well are real tables predicted, and what does it cost?",
        told(rows, words + _costs()),
        [
            "RMSE / sd(y) on test rows (square root of the error rate for classes), mean over "
            "splits; the smallest of a line in bold.",
            "",
            *markdown(["table", "n", *table.columns], lines),
            "",
            *_uci(),
        ],
        _if(stored("cost")["cpu_seconds"].dropna(), growth),
    )


def _rows(n: float) -> str:
    return "all" if n == 0 else str(int(n))


def _bold(values: pd.Series, write: Callable[[float], str]) -> list[str]:
    smallest = values.min()
    texts = ["-" if pd.isna(v) else write(v) for v in values]
    return [
        f"**{text}**" if value == smallest else text
        for text, value in zip(texts, values, strict=True)
    ]


def exponents() -> pd.Series:
    """Slope of log processor seconds against log rows, from 1000 rows on."""
    rows = stored("cost")
    rows = rows[(rows["problem"] == "rows") & (rows["n"] >= 1000) & (rows["status"] == "ok")]
    medians = rows.groupby(["contestant", "n"])["cpu_seconds"].median()
    found = {}
    for name, own in medians.groupby(level=0):
        if len(own) > 1:
            n = own.index.get_level_values("n").to_numpy(float)
            found[name] = float(np.polyfit(np.log(n), np.log(np.maximum(own, 1e-3)), 1)[0])
    return pd.Series(found, dtype=float)


def _costs() -> str:
    found = exponents().sort_values()
    if found.empty:
        return ""
    words = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
    return f"Processor time grows from 1000 rows on with the power {words}."


def growth(axes: Any) -> None:
    """Seconds against rows."""
    rows = stored("cost")
    rows = rows[(rows["problem"] == "rows") & (rows["status"] == "ok")]
    for name, own in rows.groupby("contestant"):
        medians = own.groupby("n")["cpu_seconds"].median()
        axes.loglog(medians.index, medians, marker="o", label=name)
    axes.set_xlabel("rows (10 columns)")
    axes.set_ylabel("processor seconds of a fit")
    axes.legend(fontsize=7)


def _uci() -> list[str]:
    from benchmarks.suites.uci import PUBLISHED

    rows = stored("uci")
    if rows.empty:
        return []
    means = rows.groupby(["problem", "contestant"], sort=False)["rmse"].agg(["mean", "sem", "size"])
    names = list(rows["contestant"].unique())
    lines = []
    for problem in rows["problem"].unique():
        cells = [
            f"{c['mean']:.3g} ± {c['sem']:.2g} ({int(c['size'])})"
            if (c := means.loc[key] if (key := (problem, name)) in means.index else None)
            is not None
            else "-"
            for name in names
        ]
        given = PUBLISHED.get(problem)
        lines.append([problem, *cells, "-" if given is None else f"{given[0]:g}"])
    table = markdown(["table", *names, "MC-dropout, published"], lines)
    return ["RMSE on the UCI splits (in brackets how many):", "", *table]


def srbench_medians() -> pd.DataFrame:
    """Median R2 per table (lines) and method (columns), published ones included."""
    rows = stored("srbench")
    live = rows.groupby(["problem", "contestant"])["r2"].median().unstack()
    try:
        given = srbench.published()
    except FileNotFoundError:
        return live
    theirs = given.pivot_table(index="dataset", columns="algorithm", values="r2_test")
    names = {name: f"{str(name).removeprefix('*')}, published" for name in theirs.columns}
    return theirs.rename(columns=names).join(live, how="outer")


def critical_difference(methods: int, tables: int, level: float = 0.95) -> float:
    """Nemenyi: mean ranks nearer than this are not told apart."""
    q = float(studentized_range.ppf(level, methods, np.inf)) / np.sqrt(2)
    return q * float(np.sqrt(methods * (methods + 1) / (6 * tables)))


def validation() -> pd.DataFrame:
    """Our Linear and forest beside the published ones, median R2 per table."""
    medians = srbench_medians()
    pairs = (("linear", "Linear, published"), ("srbench_forest", "RandomForest, published"))
    found = {
        ours: medians[ours] - medians[theirs]
        for ours, theirs in pairs
        if ours in medians and theirs in medians
    }
    return pd.DataFrame(found)


def symbolic() -> Section:
    """SRBench and formulas."""
    medians = srbench_medians()
    medians = medians.loc[:, medians.notna().mean() > MOST_TABLES]
    friedman = medians.index.map(srbench.is_friedman).to_numpy(bool)
    seconds = stored("srbench").groupby("contestant")["cpu_seconds"].median()
    whole = medians.dropna()
    ranks = whole.rank(axis=1, ascending=False).mean()
    order = medians.median().sort_values(ascending=False)
    lines = [
        [
            str(name),
            str(int(medians[name].notna().sum())),
            f"{value:.3f}",
            number(medians.loc[friedman, name].median()),
            number(medians.loc[~friedman, name].median()),
            number(ranks.get(name, np.nan)),
            number(seconds.get(name, np.nan), 2),
        ]
        for name, value in order.items()
    ]
    checks = [
        f"{name} {gap.median():+.4f} ({int(gap.notna().sum())} tables)"
        for name, gap in validation().items()
    ]
    words = (
        "SRBench's black-box tables with its protocol; published rows (La Cava et al. 2021, "
        "github.com/cavalab/srbench) are medians over ten trials, read where NABLASSO_SUITES names "
        "their folder. The harness against them, median difference of R2: "
        f"{', '.join(checks) or 'not compared'}. "
    )
    if len(ranks) > 1:
        far = critical_difference(len(ranks), len(whole))
        words += (
            f"Mean ranks over {len(whole)} tables; nearer than {far:.1f} are not told apart "
            "(Nemenyi, 5 %). "
        )
    words += " ".join(_formulas(suite) for suite in ("feynman", "dummies"))
    head = ["method", "tables", "median R2", "Friedman", "others", "mean rank"]
    return Section(
        "Symbolic regression",
        "SRBench's tables and Feynman's formulas, next to the published rows?",
        told(stored("srbench"), words),
        markdown([*head, "median processor seconds"], lines),
        lambda axes: bars(axes, order, "median R2 over the tables of SRBench"),
    )


def _formulas(suite: str) -> str:
    rows = stored(suite)
    if rows.empty:
        return ""
    rows = rows.assign(noise=rows["problem"].str.partition("+")[2].replace("", "0"))
    measure = rows["exact"] if suite == "dummies" else rows["r2"] > SOLVED
    rates = measure.groupby([rows["contestant"], rows["noise"]], sort=False).agg(["mean", "size"])
    asked = "exact variables among dummies" if suite == "dummies" else f"R2 > {SOLVED}"
    words = ", ".join(
        f"{name} at noise {noise} {row['mean']:.0%} of {int(row['size'])}"
        for (name, noise), row in rates.iterrows()
    )
    return f"Formulas, {asked}: {words}."


def geneticist() -> Section:
    """Epistasis."""
    rows = stored("epistasis")
    names = list(rows["contestant"].unique())
    lines = []
    for problem, own in rows.groupby("problem", sort=False):
        cells = []
        for name in names:
            mine = own[own["contestant"] == name]
            auc = mine["auc"].mean()
            rate, last = mine["exact"].mean(), mine["last_rank"].median()
            cells.append(f"{share(rate)} {number(last)} {number(auc)}" if len(mine) else "-")
        lines.append([str(problem), number(own["relevant"].max()), *cells])
    own = rows[rows["contestant"] == OURS]
    exact = int(own.groupby("problem")["exact"].mean().ge(1).sum())
    words = (
        "Tables of GAMETES, whose columns matter together only, and Boolean functions, as they "
        "come, sorted by their target. "
        + (f"Exactly the right columns in every fit: {exact} tables. " if len(own) else "")
        + "In a cell: exact supports, place of the last relevant column, area under the curve."
    )
    return Section(
        "Geneticist",
        "are columns found that matter together only?",
        told(rows, words),
        markdown(["table", "relevant", *names], lines),
        _if(
            rows,
            lambda axes: heat_map(
                axes, rows.groupby(["contestant", "problem"])["exact"].mean(), "exact support"
            ),
        ),
    )


def simulation() -> Section:
    """Sensitivity analysis."""
    rows = stored("simulation")
    rows = rows.assign(kept=rows["selected"] * (1 - rows["precision"]))
    lines = []
    for (name, n), own in rows.groupby(["contestant", "n"], sort=False):
        figures = [share((own["kept"] < 0.5).mean()), number(own["recall"].mean(), 2)]
        figures += [number(own[c].median()) for c in ("r2", "total_error", "slope_error")]
        lines.append([str(name), str(int(n)), str(len(own)), *figures])
    words = (
        "22 functions of computer experiments, each with ten inert inputs more, without noise. "
        "Errors of total Sobol' indices and of mean squared derivatives are the largest over the "
        "inputs of a function, medians over functions and draws."
    )
    head = ["contestant", "n", "fits", "no inert input kept", "recall", "Q2", "error of totals"]
    return Section(
        "Simulation",
        "which inputs are inert, and how large are the indices of the others?",
        told(rows, words),
        markdown([*head, "error of squared derivatives"], lines),
        _if(rows, lambda axes: lines_by_rows(axes, rows, "total_error", "error of totals")),
    )


def lines_by_rows(axes: Any, rows: pd.DataFrame, column: str, label: str) -> None:
    """A median against n, one line per contestant."""
    for name, own in rows.groupby("contestant"):
        medians = own.groupby("n")[column].median()
        axes.loglog(medians.index, medians, marker="o", label=name)
    axes.set_xlabel("rows")
    axes.set_ylabel(label)
    axes.legend(fontsize=7)


def bars(axes: Any, values: pd.Series, label: str) -> None:
    """One bar per method, the largest on top."""
    values = values[::-1].clip(lower=0)
    colours = ["C0" if "published" in str(name) else "C1" for name in values.index]
    axes.barh([str(name) for name in values.index], values, color=colours)
    axes.tick_params(axis="y", labelsize=6)
    axes.set_xlabel(label)


def heat_map(axes: Any, rates: pd.Series, label: str) -> None:
    """A coloured cell per problem and contestant."""
    table = rates.unstack(level=0).T
    image = axes.imshow(table, vmin=0, vmax=1, cmap="RdYlGn", aspect="auto")
    problems = [
        " ".join(map(_short, c)) if isinstance(c, tuple) else _short(c) for c in table.columns
    ]
    axes.set_xticks(range(len(problems)), problems, rotation=70, ha="right", fontsize=6)
    axes.set_yticks(range(len(table)), list(table.index), fontsize=7)
    axes.figure.colorbar(image, label=label)


def _short(word: Any) -> str:
    return str(int(word)) if isinstance(word, float) else str(word)[:32]


READERS: tuple[Callable[[], Section], ...] = (
    statistician,
    engineer,
    symbolic,
    geneticist,
    simulation,
)
