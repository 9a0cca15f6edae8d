"""Five readers, one paragraph, one table and one figure each, from stored rows alone.

What has no rows yet is said to be missing. Figures of others that were published, not measured
here, carry "published" in their names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.pages.goals import SOLVED, level_with_the_best, noise_of
from benchmarks.pages.rows import (
    CELL,
    FEWEST,
    NEAR,
    OURS,
    by_cell,
    cause,
    friedman_rows,
    markdown,
    number,
    on_our_draws,
    paired,
    rivals,
    share,
    spurious,
    stored,
)
from benchmarks.pages.srbench import BEHIND, HINDSIGHT, PUBLISHED, SRBench, critical_difference
from benchmarks.suites import rffnet
from benchmarks.suites.feynman import PUBLISHED as PUBLISHED_FORMULAS
from benchmarks.suites.uci import PUBLISHED as PUBLISHED_UCI

FEWEST_FORMULAS = 5  # for a rate in a sentence
MANY = 200  # rows from which on inert inputs are asked for
UNMEASURED = "Ours is not measured yet."


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
        rows = friedman_rows() if suite == "friedman" else stored(suite)
        for name, own in rows.groupby("contestant", sort=False):
            figures = [share(own["exact"].mean()), number(own["recall"].mean(), 2)]
            figures += [number(spurious(own).mean(), 2), number(own["seconds"].median(), 2)]
            lines.append([suite, str(name), str(len(own)), *figures])
    head = ["suite", "contestant", "fits", "exact support", "recall", "spurious a fit", "seconds"]
    return [*markdown(head, lines), "", *_collinear()] if lines else []


def _collinear() -> list[str]:
    """Exact supports by collinearity (c0 to c4) and by the number of columns."""
    rows = friedman_rows()
    if rows.empty:
        return []
    names = list(rows["contestant"].unique())
    kinds = rows["problem"].str.extract(r"_fri_(c\d)_\d+_(\d+)$")
    keys = [*((kind, kinds[0] == kind) for kind in sorted(kinds[0].dropna().unique()))]
    keys += [(f"{d} columns", kinds[1] == d) for d in sorted(kinds[1].dropna().unique(), key=int)]
    lines = []
    for label, chosen in keys:
        part = rows[chosen.to_numpy()].groupby("contestant")["exact"].agg(["mean", "size"])
        cells = [
            f"{part.loc[n, 'mean']:.0%} ({part.loc[n, 'size']:.0f})" if n in part.index else "-"
            for n in names
        ]
        lines.append([label, *cells])
    words = "Friedman's tables by collinearity and by columns: exact support (fits)."
    return [words, "", *markdown(["tables", *names], lines)]


def engineer() -> Section:
    """Real tables."""
    rows = stored("tables")
    rows = rows.assign(error=rows["loss"] ** 0.5)
    shown = rows[on_our_draws(rows)].groupby([*CELL, "contestant"])["error"]
    table, splits = shown.mean().unstack(), shown.size().unstack()
    cells = level_with_the_best(rows, CELL, "error")
    words = ""
    if len(cells):
        words = (
            f"On {share(cells['first'].mean())} of {len(cells)} cells (a table with a number of "
            "training rows) our mean error is below that of every rival on the same splits, on "
            f"{share(cells['level'].mean())} below or within two standard errors of the "
            f"difference ({cells['draws'].min():.0f} to {cells['draws'].max():.0f} splits). "
        )
    lines = [
        [str(cell[0]), _rows(cell[1]), *_bold(values, splits.loc[cell])]
        for cell, values in table.iterrows()
    ]
    return Section(
        "Machine-learning engineer",
        "how well are real tables predicted, and what does it cost?",
        told(rows, words + _costs()),
        [
            "RMSE / sd(y) on test rows (square root of the error rate for classes), mean over "
            "our splits; in brackets of how many, where others have more; the smallest of a line "
            "in bold.",
            "",
            *markdown(["table", "n", *table.columns], lines),
            "",
            *_classes(),
            "",
            *_uci(),
            "",
            *_rffnet(),
        ],
        _if(stored("cost")["cpu_seconds"].dropna(), growth),
    )


def _classes() -> list[str]:
    """Error rates and log-losses, of tables with classes."""
    rows = pd.concat([stored("classes"), stored("tables").dropna(subset="log_loss")])
    rows = rows[on_our_draws(rows) & rows["log_loss"].notna()].assign(rate=rows["rmse"] ** 2)
    ours = rows[rows["contestant"] == OURS]
    rows = rows.merge(ours[["problem", "n"]].drop_duplicates())
    means = rows.groupby([*CELL, "contestant"], sort=False)[["rate", "log_loss"]].mean().unstack()
    splits = rows.groupby([*CELL, "contestant"], sort=False).size().unstack()
    names = list(splits.columns)
    lines = []
    for cell, own in means.iterrows():
        rates = _bold(own["rate"][names], splits.loc[cell])
        losses = _bold(own["log_loss"][names], splits.loc[cell].map(lambda _: 0))
        both = [f"{a}; {b}" for a, b in zip(rates, losses, strict=True)]
        lines.append([cell[0], _rows(cell[1]), *both, f"{splits.loc[cell].max():.0f}"])
    words = "Classes: error rate; log-loss, means over splits (in brackets where fewer)."
    return [words, "", *markdown(["table", "n", *names, "splits"], lines)] if lines else []


def _rows(n: float) -> str:
    return "all" if n == 0 else str(int(n))


def _bold(values: pd.Series, splits: pd.Series) -> list[str]:
    """Means; the smallest in bold, the number of splits where it is not the line's largest."""
    texts = []
    for value, count in zip(values, splits, strict=True):
        text = "-" if pd.isna(value) else f"{value:.3f}"
        text = f"**{text}**" if value == values.min() else text
        texts.append(f"{text} ({count:.0f})" if count < splits.max() else text)
    return texts


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
    rows = stored("uci")
    if rows.empty:
        return []
    names = list(rows["contestant"].unique())
    lines = []
    for problem, own in rows.groupby("problem", sort=False):
        cells = []
        for name in names:
            c = own[own["contestant"] == name]
            error = f"{number(c['rmse'].mean())} ± {number(c['rmse'].sem(), 2)} ({len(c)})"
            rest = f"; {number(c['log_likelihood'].mean())}; {number(c['coverage'].mean(), 2)}"
            cells.append(error + rest if len(c) else "-")
        given = PUBLISHED_UCI.get(str(problem))
        lines.append([str(problem), *cells, "-" if given is None else f"{given[0]:g}"])
    table = markdown(["table", *names, "MC-dropout, published RMSE"], lines)
    words = (
        "UCI splits: RMSE ± standard error (splits); log-likelihood; coverage of 90 % intervals."
    )
    return [words, "", *table]


def _rffnet() -> list[str]:
    rows = stored("rffnet")
    if rows.empty:
        return []
    rows = rows.assign(mse=rows["rmse"] ** 2)
    names = list(rows["contestant"].unique())
    lines = []
    for (problem, n), own in rows.groupby(CELL, sort=False):
        groups = own.groupby("contestant")
        mse, exact, fits = groups["mse"].mean(), groups["exact"].mean(), groups.size()
        cells = [
            f"{number(mse[name])} {share(exact[name])} ({fits[name]})" if name in mse else "-"
            for name in names
        ]
        given = rffnet.PUBLISHED[str(problem)] if n == 10_000 else ()
        published = " / ".join(f"{value:g}" for value in given) or "-"
        lines.append([str(problem), _rows(n), *cells, published])
    head = ["problem", "n", *names, "published: RFFNet / GPR / KRR"]
    words = "RFFNet's simulations (noise variance .01): test MSE, exact support (fits)."
    return [words, "", *markdown(head, lines)]


def symbolic() -> Section:
    """SRBench and formulas."""
    found = SRBench.read()
    lines = [
        [
            str(name),
            f"{r.tables:.0f}" + ("" if np.isnan(r.fits) else f" ({r.fits:.0f})"),
            f"{r.median:.3f}",
            number(r.ours),
            number(r.friedman),
            number(r.others),
            number(r.rank),
            number(r.seconds, 2),
            number(r.columns, 2),
        ]
        for name, r in zip(found.table.index, found.table.itertuples(), strict=True)
    ]
    checks = [
        f"{name} {r.harness:+.4f} (least squares on the same splits {r.splits:+.4f}, "
        f"{r.tables:.0f} tables)"
        for name, r in found.table[found.table["harness"].notna()].iterrows()
    ]
    words = _places(found) + (
        "SRBench's black-box tables with its protocol; published rows (La Cava et al. 2021, "
        "github.com/cavalab/srbench) are medians over ten trials. The harness against them, median "
        f"difference of R2: {', '.join(checks) or 'not compared'}. "
    )
    if found.published and found.common:
        far = critical_difference(found.ranked, found.common)
        words += (
            "A rank is the place among the published methods, mean over tables; nearer than "
            f"{far:.1f} are not told apart (Nemenyi, 5 %). "
        )
    words += " ".join(_formulas(suite) for suite in ("feynman", "dummies"))
    head = ["method", "tables (fits)", "median R2", "ours, same tables", "Friedman", "others"]
    head += ["mean rank"]
    head += ["median processor seconds", "median columns used"]
    return Section(
        "Symbolic regression",
        "SRBench's tables and Feynman's formulas, next to the published rows?",
        told(stored("srbench"), words),
        [*markdown(head, lines), "", *_losses(found.losses)],
        lambda axes: bars(axes, found.table["median"], "median R2 over the tables of SRBench"),
    )


def _places(found: SRBench) -> str:
    """Our median and mean rank, next to the best published and to the best of them by hindsight."""
    table = found.table
    theirs = table[table.index.str.endswith(PUBLISHED)]
    if not (found.common and len(theirs)):
        return ""
    own, best = table.loc[OURS], theirs.loc[theirs["median"].idxmax()]
    return (
        f"Over {own.tables:.0f} tables ({own.fits:.0f} fits) our median R2 is {own['median']:.3f}, "
        f"our mean rank among {found.ranked} methods {own['rank']:.2f}; of the published methods "
        f"{str(best.name).removesuffix(PUBLISHED)} has the highest median, {best['median']:.3f}, "
        f"and a mean rank of {best['rank']:.2f}; the best published for each table, by hindsight, "
        f"{table.loc[HINDSIGHT, 'median']:.3f}. "
    )


def _losses(found: pd.DataFrame) -> list[str]:
    """Tables on which a published method is clearly ahead."""
    if found.empty:
        return []
    lines = [
        [r.problem, f"{r.ours:.3f}", f"{r.best:.3f}", r.method, str(r.place), cause(r.problem)]
        for r in found.itertuples()
    ]
    head = ["table", "our R2", "best published", "by", "our place", "cause"]
    words = f"Behind the best published method by more than {BEHIND:g} on {len(found)} tables:"
    return [words, "", *markdown(head, lines)]


def _formulas(suite: str) -> str:
    rows = stored(suite)
    if rows.empty:
        return ""
    measure = rows["exact"] if suite == "dummies" else rows["r2"] > SOLVED
    rates = measure.groupby([rows["contestant"], noise_of(rows)], sort=False).agg(["mean", "size"])
    rates = rates[rates["size"] >= FEWEST_FORMULAS]
    if rates.empty:
        return ""
    asked = "exact variables among dummies" if suite == "dummies" else f"R2 > {SOLVED}"
    words = ", ".join(
        f"{name} at noise {noise:g} {row['mean']:.0%} of {int(row['size'])}"
        for (name, noise), row in rates.iterrows()
    )
    if suite == "feynman":
        given = ", ".join(f"{name} {rate:.0%}" for name, rate in PUBLISHED_FORMULAS.items())
        words += f" (published, on larger tables, no noise: {given})"
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
    words = (
        "Tables of GAMETES, whose columns matter together only, and Boolean functions, as they "
        "come, sorted by their target. Tables with exactly the right columns in every fit, and "
        f"with the right ones before all others: {', '.join(_found(rows))}. In a cell: exact "
        "supports, place of the last relevant column, area under the curve."
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


def _found(rows: pd.DataFrame) -> list[str]:
    """Of each contestant the tables that it answers rightly, and those that it ranks rightly."""
    rows = rows.assign(first=rows["last_rank"] == rows["relevant"])
    tables = rows.groupby(["contestant", "problem"], sort=False)[["exact", "first"]].min()
    return [
        f"{name} {own['exact'].sum():.0f} and {own['first'].sum():.0f} of {len(own)}"
        for name, own in tables.groupby(level=0, sort=False)
    ]


def simulation() -> Section:
    """Sensitivity analysis."""
    rows = stored("simulation")
    rows = rows.assign(kept=spurious(rows))
    lines = []
    for (name, n), own in rows.groupby(["contestant", "n"], sort=False):
        figures = [share((own["kept"] < 0.5).mean()), number(own["recall"].mean(), 2)]
        figures += [number(own[c].median()) for c in ("r2", "total_error", "slope_error")]
        lines.append([str(name), str(int(n)), str(len(own)), *figures])
    many = rows[rows["n"] >= MANY].groupby("contestant", sort=False)["kept"]
    shares = [f"{name} {share((kept < 0.5).mean())} of {len(kept)}" for name, kept in many]
    words = (
        "22 functions of computer experiments, each with ten inert inputs more, without noise. "
        f"No inert input kept, from {MANY} rows on: {', '.join(shares)}. "
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
