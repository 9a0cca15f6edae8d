"""``benchmarks/RESULTS.md`` and its figures: ``python -m benchmarks.pages.results``.

Made from stored rows; nothing is measured here. Where others are ahead comes first; then five
readers; then the papers' experiments with the number of their rows, and where all rows come from.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.pages import selection
from benchmarks.pages.goals import goals_table
from benchmarks.pages.readers import READERS, Section
from benchmarks.pages.rows import ahead, cause, friedman_rows, markdown, share, stored
from benchmarks.pages.srbench import SRBench
from benchmarks.run import RESULTS
from benchmarks.suites import SUITES
from experiments.registry import EXPERIMENTS

HERE = RESULTS.parent
EXPERIMENT_ROWS = HERE.parent / "experiments" / "results"
MOST_LOSSES = 15  # lines per suite on the page; all of them stand in results/ahead.csv
LONGEST = 90  # letters of a reason


def losses() -> pd.DataFrame:
    """Every cell of every suite in which a rival is ahead."""
    found = [ahead(_rows(suite)).assign(suite=suite) for suite in SUITES]
    found = [part for part in found if len(part)]
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _rows(suite: str) -> pd.DataFrame:
    return friedman_rows() if suite == "friedman" else stored(suite)


def where_others_are_ahead(found: pd.DataFrame) -> list[str]:
    """The worst of each suite."""
    if found.empty:
        return ["Nowhere among the rows stored."]
    lines = []
    for suite, own in found.groupby("suite", sort=False):
        gap = (own["exact_theirs"] - own["exact_ours"]).fillna(0).clip(lower=0)
        gap += own["ratio"].clip(upper=10).fillna(1) - 1
        worst = own.assign(gap=gap).nlargest(MOST_LOSSES, "gap")
        lines += [
            [
                str(suite),
                str(r.problem),
                "all" if r.n == 0 else str(int(r.n)),
                str(r.rival),
                str(int(r.draws)),
                f"{share(r.exact_ours)} / {share(r.exact_theirs)}",
                _errors(r),
                cause(str(r.problem)),
            ]
            for r in worst.sort_values(["problem", "gap"], ascending=[True, False]).itertuples()
        ]
    head = ["suite", "problem", "n", "rival", "draws", "exact, ours / theirs", "our RMSE / theirs"]
    head.append("cause")
    for first, second in zip(lines[-2::-1], lines[:0:-1], strict=True):  # a cause is said once
        if first[:2] == second[:2]:
            second[-1] = ""
    return [
        f"{len(found)} cells in which a rival finds exactly the right columns more often, or its "
        f"RMSE is more than 10 % smaller, on common draws (one draw may be chance); of each suite "
        f"the worst {MOST_LOSSES}, all in [ahead.csv](results/ahead.csv).",
        "",
        *markdown(head, lines),
    ]


def _errors(cell: Any) -> str:
    """Our error over theirs; both where theirs is zero, a dash where nothing was predicted."""
    if pd.isna(cell.ratio):
        return "-"
    if np.isinf(cell.ratio):
        return f"{cell.error_ours:.2g} / {cell.error_theirs:.2g}"
    return f"{cell.ratio:.2f}"


def unanswered() -> list[str]:
    """Who of a suite has no rows yet, and whose fits gave no answer, with the reason."""
    lines = []
    for suite in SUITES.values():
        rows = _rows(suite.name)
        fits = rows.groupby("contestant").size()
        absent = [name for name in suite.contestants if name not in fits.index]
        lines += [[suite.name, name, "0", "", "no rows yet"] for name in absent]
        failed = rows[rows["status"] != "ok"]
        for (name, reason), own in failed.groupby(["contestant", "status"], sort=False):
            words = str(reason).replace("|", "/")[:LONGEST]
            lines.append([suite.name, str(name), str(fits[name]), str(len(own)), words])
    return markdown(["suite", "contestant", "fits", "no answer", "reason"], lines)


def experiments() -> list[str]:
    """What is stored of the papers' experiments."""
    lines = []
    for name, experiment in EXPERIMENTS.items():
        file = EXPERIMENT_ROWS / f"{name}.csv"
        if not file.exists():
            lines.append([name, experiment.title, "none yet", ""])
            continue
        with file.open(newline="") as opened:
            rows = list(csv.DictReader(opened))
        label = next((k for k in ("draw", "split") if rows and k in rows[0]), None)
        repeats = str(len({row[label] for row in rows})) if label else ""
        link = f"[{name}](../experiments/results/{name}.md)"
        lines.append([link, experiment.title, str(len(rows)), repeats])
    return markdown(["experiment", "what", "rows", "draws or splits"], lines)


def provenance() -> list[str]:
    """Versions, machine and dates of the runs that are noted next to rows."""
    lines = []
    for file in sorted(HERE.rglob("results/*.runs.jsonl")):
        runs = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
        if not runs:
            continue
        dates = sorted(str(run["date"])[:10] for run in runs)
        last = {k: v for k, v in runs[-1].items() if k not in ("arguments", "date")}
        words = ", ".join(f"{key} {value}" for key, value in last.items())
        lines.append(
            f"- `{file.relative_to(HERE)}`: {len(runs)} runs, {dates[0]} to {dates[-1]}; the last "
            f"with {words}"
        )
    return lines


def page(sections: Sequence[Section], found: pd.DataFrame) -> str:
    """The whole page."""
    parts = [
        "# Results",
        "",
        "Made by `make results` from stored rows; nothing is typed in. How it is measured: "
        "[README](README.md). The selection suite by problem, with its targets: "
        "[selection](results/selection.md).",
        "",
        "## What was asked, and what was measured",
        "",
        *goals_table(),
        "",
        "## Where others are ahead",
        "",
        *where_others_are_ahead(found),
        "",
    ]
    for section in sections:
        parts += [f"## {section.reader}: {section.asks}", "", section.paragraph, ""]
        parts += [*section.table, ""]
        if section.draw is not None:
            parts += [f"![{section.asks}](results/{_figure(section)})", ""]
    parts += [
        "## Who gave no answer",
        "",
        "A fit over its limit counts as none on SRBench's tables and as an infinite error "
        "elsewhere; how each contestant is tuned: `python -m benchmarks.run --list`.",
        "",
        *unanswered(),
        "",
        "## The papers' experiments",
        "",
        "`nablasso reproduce NAME`, or `nablasso reproduce --all`; `--quick` to see them work.",
        "",
        *experiments(),
        "",
        "## Where the rows come from",
        "",
        *provenance(),
        "",
        "Seeds stand in the rows. Versions of the papers' experiments are in "
        "`experiments/results/NAME.json`.",
        "",
    ]
    return "\n".join(parts)


def _figure(section: Section) -> str:
    return section.reader.lower().replace(" ", "_").replace("-", "_") + ".png"


def draw(fill: Callable[[Any], None], path: Path) -> None:
    """One figure."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 5))
    fill(axes)
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> None:
    """Write the pages, the list of losses and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE, help="folder")
    out = parser.parse_args(argv).out
    (out / "results").mkdir(parents=True, exist_ok=True)
    SRBench.read().write(out / "results")
    sections, found = [read() for read in READERS], losses()
    (out / "RESULTS.md").write_text(page(sections, found))
    (out / "results" / "selection.md").write_text(selection.page(stored("selection")))
    found.to_csv(out / "results" / "ahead.csv", index=False, float_format="%.6g")
    for section in sections:
        if section.draw is not None:
            draw(section.draw, out / "results" / _figure(section))
    sys.stdout.write(f"written: {out / 'RESULTS.md'}\n")


if __name__ == "__main__":
    main()
