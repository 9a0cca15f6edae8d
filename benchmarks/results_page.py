"""``benchmarks/RESULTS.md`` from stored rows alone: ``python -m benchmarks.results_page``.

Nothing is measured here. Selection: how often each contestant finds exactly the right columns, its
error over the oracle's, and every cell in which a rival is ahead of us. Prediction: real tables.
Then the papers' experiments with the number of their rows, and where all rows come from.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.judge import ratio_of_means
from benchmarks.pages.selection import Cell, Table
from benchmarks.run import RESULTS, store_of
from nablasso.experiments import EXPERIMENTS

HERE = Path(__file__).parent
EXPERIMENT_ROWS = HERE.parent / "experiments" / "results"
OURS, ORACLE = "nablasso", "oracle"
NEAR = 1.1  # RMSE within 10 % of the best
FEWEST = 10  # common seeds for a comparison


def rivals(table: Table) -> list[str]:
    """Everybody but us and the oracles."""
    return [n for n in table.contestants() if n != OURS and not n.startswith("oracle")]


def summary(table: Table) -> list[str]:
    """Each contestant over the problems it ran on, next to us on the same draws."""
    lines = [
        "| contestant | problems (draws) | exact support | ours, same draws | RMSE within 10 % of "
        "the better | ours | median seconds | median MiB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in (OURS, *rivals(table)):
        cells = cells_with(table, name)
        if not cells:
            continue
        draws = sum(len(common(table, name, c)) for c in cells)
        own, us = (float(np.mean([exact(table, w, name, c) for c in cells])) for w in (name, OURS))
        near = [_near(table, name, c) for c in cells]
        shares = [f"{np.mean([pair[k] for pair in near]):.0%}" for k in (0, 1)]
        seconds = np.median(np.concatenate([table.values(name, c, "seconds") for c in cells]))
        lines.append(
            f"| {name} | {len(cells)} ({draws}) | {own:.0%} | {us:.0%} | {shares[0]} | {shares[1]} "
            f"| {seconds:.2g} | {_memory(table, name, cells)} |"
        )
    return lines


def verdict(table: Table) -> list[str]:
    """Whether we come first, over all problems on which a rival can be compared."""
    shared = {rival: cells for rival in rivals(table) if (cells := cells_with(table, rival))}
    ahead = []
    for rival, cells in shared.items():
        us, them = (
            float(np.mean([exact(table, who, rival, cell) for cell in cells]))
            for who in (OURS, rival)
        )
        if them > us:
            ahead.append(f"{rival} ({them:.0%}, ours {us:.0%})")
    near: dict[Cell, bool] = {}
    for rival, cells in shared.items():
        for cell in cells:
            near[cell] = near.get(cell, True) and error_ratio(table, rival, cell) <= NEAR
    return [
        f"- Mean rate of exact supports on common draws: ahead of us {', '.join(ahead) or 'nobody'}"
        f", of {len(shared)} contestants.",
        f"- RMSE: ours is the smallest of all or within 10 % of it on {sum(near.values())} of "
        f"{len(near)} "
        "problems (a problem with another number of rows counts as another).",
    ]


def cells_with(table: Table, name: str) -> list[Cell]:
    """Problems on which a contestant can be compared with us."""
    return [cell for cell in table.cells() if len(common(table, name, cell)) >= FEWEST]


def common(table: Table, name: str, cell: Cell) -> set[int]:
    """Seeds that a contestant and we have."""
    return table.seeds(name, cell) & table.seeds(OURS, cell)


def exact(table: Table, who: str, rival: str, cell: Cell) -> float:
    """Rate of exact supports on the seeds shared with a rival."""
    return float(table.values(who, cell, "exact", common(table, rival, cell)).mean())


def error_ratio(table: Table, rival: str, cell: Cell) -> float:
    """Our mean RMSE over the rival's, same seeds."""
    seeds = common(table, rival, cell)
    return ratio_of_means(*(table.values(who, cell, "rmse", seeds) for who in (OURS, rival)))


def _near(table: Table, rival: str, cell: Cell) -> tuple[bool, bool]:
    """Whether the rival, and whether we, are within 10 % of the better of the two."""
    ratio = error_ratio(table, rival, cell)
    return ratio >= 1 / NEAR, ratio <= NEAR


def _memory(table: Table, name: str, cells: Sequence[Cell]) -> str:
    found = [
        float(row["peak_mib"])
        for cell in cells
        for row in table.by_seed.get((name, cell), {}).values()
        if row["peak_mib"]
    ]
    return f"{np.median(found):.3g}" if found else "not measured"


def lost(table: Table) -> list[str]:
    """Cells in which a rival finds the right columns more often, or predicts over 10 % better."""
    lines = [
        "| problem | n | rival | seeds | exact, ours / theirs | our RMSE / theirs |",
        "|---" * 6 + "|",
    ]
    empty = len(lines)
    for cell in table.cells():
        for rival in rivals(table):
            if len(common(table, rival, cell)) < FEWEST:
                continue
            us, them = (exact(table, who, rival, cell) for who in (OURS, rival))
            ratio = error_ratio(table, rival, cell)
            if them > us or ratio > NEAR:
                lines.append(
                    f"| {cell[0]} | {cell[1]} | {rival} | {len(common(table, rival, cell))} "
                    f"| {us:.0%} / {them:.0%} | {ratio:.2f} |"
                )
    return lines if len(lines) > empty else ["Nowhere among the rows stored."]


def experiments() -> list[str]:
    """What is stored of the papers' experiments."""
    lines = ["| experiment | what | rows | draws or splits |", "|---|---|---|---|"]
    for name, experiment in EXPERIMENTS.items():
        file = EXPERIMENT_ROWS / f"{name}.csv"
        if not file.exists():
            lines.append(f"| {name} | {experiment.title} | none yet | |")
            continue
        with file.open(newline="") as opened:
            rows = list(csv.DictReader(opened))
        label = next((k for k in ("draw", "split") if rows and k in rows[0]), None)
        repeats = str(len({row[label] for row in rows})) if label else ""
        link = f"[{name}](../experiments/results/{name}.md)"
        lines.append(f"| {link} | {experiment.title} | {len(rows)} | {repeats} |")
    return lines


def provenance(files: Sequence[Path]) -> list[str]:
    """Versions, machine and dates of the runs that are noted next to rows."""
    lines = []
    for file in files:
        if not file.exists():
            continue
        runs = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
        if not runs:
            continue
        dates = sorted(str(run["date"])[:10] for run in runs)
        last = {k: v for k, v in runs[-1].items() if k not in ("arguments", "date")}
        words = ", ".join(f"{key} {value}" for key, value in last.items())
        name = file.relative_to(HERE)
        lines.append(
            f"- `{name}`: {len(runs)} runs, {dates[0]} to {dates[-1]}; the last with {words}"
        )
    return lines


def page(table: Table) -> str:
    """The whole page."""
    parts = [
        "# Results",
        "",
        "Made by `python -m benchmarks.results_page` from stored rows; nothing is typed in.",
        "",
        "## Selection: exactly the right columns",
        "",
        "`python -m benchmarks.run selection --contestants all --problems all`. A contestant is "
        f"listed on the problems where it shares at least {FEWEST} draws with us; rates are means "
        "over problems. By problem, with targets: [selection](results/selection.md).",
        "",
        *verdict(table),
        "",
        *summary(table),
        "",
        "![Exact support by problem](results/exact.png)",
        "",
        "### Where a rival is ahead",
        "",
        "It finds exactly the right columns more often, or its RMSE is more than 10 % smaller.",
        "",
        *lost(table),
        "",
        "## The papers' experiments",
        "",
        "`nablasso reproduce NAME`, or `nablasso reproduce --all`; `--quick` to see them work.",
        "",
        *experiments(),
        "",
        "## Where the rows come from",
        "",
        *provenance(sorted(HERE.rglob("results/*.runs.jsonl"))),
        "",
        "Seeds stand in the rows. Versions of the papers' experiments are in "
        "`experiments/results/NAME.json`.",
        "",
    ]
    return "\n".join(parts)


def draw(table: Table, path: Path) -> None:
    """A coloured cell per problem and contestant: the rate of exact supports."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    names, cells = [OURS, *rivals(table)], table.cells()
    rates = np.full((len(names), len(cells)), np.nan)
    for i, name in enumerate(names):
        for j, cell in enumerate(cells):
            found = table.values(name, cell, "exact")
            if len(found) >= FEWEST:
                rates[i, j] = found.mean()
    figure, axis = plt.subplots(figsize=(1 + 0.38 * len(cells), 1.6 + 0.32 * len(names)))
    image = axis.imshow(rates, vmin=0, vmax=1, cmap="RdYlGn", aspect="auto")
    labels = [f"{problem} {n}" for problem, n in cells]
    axis.set_xticks(range(len(cells)), labels, rotation=70, ha="right", fontsize=7)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    figure.colorbar(image, label="exact support")
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> None:
    """Write the page and its plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=HERE / "RESULTS.md")
    options = parser.parse_args(argv)
    table = Table(store_of("selection").rows)
    options.out.write_text(page(table))
    if options.out.parent == HERE:
        draw(table, RESULTS / "exact.png")
    sys.stdout.write(f"written: {options.out}\n")


if __name__ == "__main__":
    main()
