"""The results in README.md, between their two marks: ``python -m benchmarks.pages.readme``.

A test says when they are out of step with the stored rows.
"""

from __future__ import annotations

import pandas as pd

from benchmarks.pages.readers import READERS, UNMEASURED, summary
from benchmarks.pages.rows import OURS, markdown, share, stored
from benchmarks.run import RESULTS

ROOT = RESULTS.parents[1]
ROBOT_ARM = ROOT / "experiments" / "results" / "hkl_figure_9.csv"
BEGIN = "<!-- results: made by benchmarks/pages/readme.py -->"
END = "<!-- end of results -->"


def selection_table() -> list[str]:
    """Share of draws with exactly the right columns, each rival beside ours on the same draws."""
    found = summary(stored("selection"))
    first = found["contestant"] != OURS
    found = found.assign(first=first, least=-found["theirs"]).sort_values(
        ["first", "least", "contestant"]
    )
    lines = [
        [r.contestant, f"{r.problems} ({r.draws})", share(r.theirs), share(r.ours)]
        for r in found.itertuples()
    ]
    head = ["tool", "problems (draws)", "exactly the right columns", "nablasso on the same draws"]
    return markdown(head, lines)


def robot_table(rows: pd.DataFrame) -> list[str]:
    """Mean squared error over the variance of y, on the splits that all methods shown share."""
    tables = sorted(rows["data"].unique(), key=lambda name: (len(name), name))
    errors = rows.pivot_table(index="method", columns=["data", "split"], values="error")
    everywhere = errors.T.groupby(level="data").count().gt(0).all()
    shared = errors[everywhere].dropna(axis=1)
    means = shared.T.groupby(level="data").mean().T
    splits = shared.columns.get_level_values("data").value_counts()
    lines = []
    for method in means.mean(axis=1).sort_values().index:
        name = f"**{method}** (ours)" if method.startswith(("HKL", "Nablasso")) else method
        lines.append([name, *(f"{means.loc[method, table]:.3f}" for table in tables)])
    return markdown(["", *(f"{table} ({splits[table]})" for table in tables)], lines)


def paragraphs() -> list[str]:
    """What each reader is told, of the suites on which we were measured."""
    sections = (read() for read in READERS)
    told = [s for s in sections if not s.paragraph.startswith(UNMEASURED)]
    return [line for s in told for line in (f"**{s.reader}.** {s.paragraph}", "")]


def block() -> str:
    """What stands between the marks."""
    lines = [BEGIN, "", *selection_table(), ""]
    lines += [
        "Prediction on pumadyn (a simulated robot arm, 8 or 32 columns, 1024 rows): mean squared",
        "error over the variance of the target, on the splits (in brackets) that all share.",
        "",
        *robot_table(pd.read_csv(ROBOT_ARM)),
        "",
        *paragraphs(),
        END,
    ]
    return "\n".join(lines)


def replaced(text: str) -> str:
    """The README with fresh results."""
    head, found, rest = text.partition("<!-- results: made by")
    _, closed, tail = rest.partition(END)
    if not (found and closed):
        raise ValueError(f"README.md needs the two marks {BEGIN!r} and {END!r}.")
    return head + block() + tail


if __name__ == "__main__":
    readme = ROOT / "README.md"
    readme.write_text(replaced(readme.read_text(encoding="utf-8")), encoding="utf-8")
