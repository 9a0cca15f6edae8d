"""The tables of results in README.md, made from the stored rows.

``python docs/readme_results.py`` writes them between their two marks; a test says when they are out
of step.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[1]
SELECTION = ROOT / "benchmarks" / "results" / "selection.csv"
ROBOT_ARM = ROOT / "experiments" / "results" / "hkl_figure_9.csv"
BEGIN = "<!-- results: made by docs/readme_results.py -->"
END = "<!-- end of results -->"
WHOLE = 10  # draws of a problem that a rival must have before it is shown


def selection_table(rows: pd.DataFrame) -> list[str]:
    """Share of draws with exactly the right columns, each rival beside ours on the same draws."""
    key = ["problem", "n", "seed"]
    rows = rows.drop_duplicates(["contestant", *key], keep="last")
    ours = rows[rows["contestant"] == "nablasso"].set_index(key)["exact"]
    lines = [
        "| tool | problems (draws) | exactly the right columns | nablasso on the same draws |",
        "|---|---|---|---|",
    ]
    found = []
    for name, theirs in rows.groupby("contestant"):
        if name == "oracle":
            continue
        pairs = theirs.set_index(key)[["exact"]].join(ours.rename("ours"), how="inner")
        draws = pairs.groupby(level=["problem", "n"])["exact"].transform("size")
        pairs = pairs[draws >= WHOLE]
        if pairs.empty:
            continue
        by_problem = pairs.groupby(level=["problem", "n"]).mean().mean()
        n_problems = pairs.reset_index().groupby(["problem", "n"]).ngroups
        row = f"| {name} | {n_problems} ({len(pairs)}) | {by_problem['exact']:.0%} |"
        found.append(
            (name != "nablasso", -by_problem["exact"], f"{row} {by_problem['ours']:.0%} |")
        )
    return lines + [line for *_, line in sorted(found)]


def robot_table(rows: pd.DataFrame) -> list[str]:
    """Mean squared error over the variance of y, on the splits that all methods shown share."""
    tables = sorted(rows["data"].unique(), key=lambda name: (len(name), name))
    errors = rows.pivot_table(index="method", columns=["data", "split"], values="error")
    everywhere = errors.T.groupby(level="data").count().gt(0).all()
    shared = errors[everywhere].dropna(axis=1)
    means = shared.T.groupby(level="data").mean().T
    splits = shared.columns.get_level_values("data").value_counts()
    lines = ["| | " + " | ".join(f"{table} ({splits[table]})" for table in tables) + " |"]
    lines.append("|---" * (len(tables) + 1) + "|")
    for method in means.mean(axis=1).sort_values().index:
        cells = " | ".join(f"{means.loc[method, table]:.3f}" for table in tables)
        name = f"**{method}** (ours)" if method.startswith(("HKL", "Nablasso")) else method
        lines.append(f"| {name} | {cells} |")
    return lines


def block() -> str:
    """What stands between the marks."""
    lines = [BEGIN, "", *selection_table(pd.read_csv(SELECTION)), ""]
    lines += [
        "Prediction on pumadyn (a simulated robot arm, 8 or 32 columns, 1024 rows): mean squared",
        "error over the variance of the target, on the splits (in brackets) that all share.",
        "",
        *robot_table(pd.read_csv(ROBOT_ARM)),
        "",
        END,
    ]
    return "\n".join(lines)


def replaced(text: str) -> str:
    """The README with fresh tables."""
    head, _, rest = text.partition(BEGIN)
    _, found, tail = rest.partition(END)
    if not found:
        raise ValueError(f"README.md needs the two marks {BEGIN!r} and {END!r}.")
    return head + block() + tail


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(replaced(readme.read_text(encoding="utf-8")), encoding="utf-8")
