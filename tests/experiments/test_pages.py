"""The pages say what the rows say, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from experiments import EXPERIMENTS, verdicts
from experiments.pages import PAPERS, pages, write_pages
from nablasso.exceptions import InvalidDataError

RESULTS = Path(__file__).parents[2] / "experiments" / "results"


def test_the_stored_pages_are_made_from_the_stored_rows():
    for name, text in pages(RESULTS).items():
        stored = (RESULTS / name).read_text("utf-8")
        assert stored == text, f"{name} is old: python -m experiments --pages"


def test_a_changed_row_changes_the_pages(tmp_path):
    names = ("sgl_table_1.csv", "psd_crossings.csv")
    for name in names:
        shutil.copy(RESULTS / name, tmp_path)
    before = pages(tmp_path)
    path = tmp_path / "psd_crossings.csv"
    lines = path.read_text("utf-8").split("\n")
    lines[1] = lines[1].replace("joint,0.0,", "joint,0.5,")
    path.write_text("\n".join(lines), "utf-8")
    after = pages(tmp_path)
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"README.md", "psd.md"}
    assert "Crossings in 0 of 50 draws" in before["README.md"]
    assert "Crossings in 1 of 50 draws" in after["README.md"]
    assert "**not reproduced**: Crossings" in after["README.md"]
    write_pages(tmp_path)
    assert (tmp_path / "README.md").read_text("utf-8") == after["README.md"]


def test_pages_refuse_stale_rows(tmp_path):
    text = (RESULTS / "psd_crossings.csv").read_text("utf-8")
    settings = text.split("\n")[1].rsplit(",", 1)[1]
    (tmp_path / "psd_crossings.csv").write_text(text.replace(settings, "0123456789", 1), "utf-8")
    with pytest.raises(InvalidDataError, match=r"1 of 100 rows .* 0 joint"):
        pages(tmp_path)


def test_every_experiment_has_a_verdict_and_a_page(tmp_path):
    assert set(verdicts.JUDGES) == set(EXPERIMENTS)
    found = pages(tmp_path)  # without rows
    for name in EXPERIMENTS:
        assert f"| [{name}](" in found["README.md"]
        assert f"`{name}`: **open**. No rows yet." in found[f"{name.split('_')[0]}.md"]
    assert set(found) == {"README.md", *(f"{paper}.md" for paper in PAPERS)}


def rows_of(**columns):
    count = len(next(iter(columns.values())))
    return [{name: str(values[i]) for name, values in columns.items()} for i in range(count)]


def twins(lasso, net, draws=4):
    return rows_of(
        draw=[d for d in range(draws) for _ in range(2)],
        estimator=["lasso", "elastic net"] * draws,
        pairs_whole=[lasso, net] * draws,
    )


def test_a_verdict_follows_the_rows():
    assert verdicts.nvsd_twins(twins(1, 2)).kind == verdicts.REPRODUCED
    assert verdicts.nvsd_twins(twins(2, 1)).kind == verdicts.NOT
    assert verdicts.nvsd_twins(twins(1, 2, draws=2)).kind == verdicts.OPEN
    kept = rows_of(
        n=[50, 100, 100, 100, 100],
        draw=[0, 0, 1, 2, 2],
        rate=["Theorem"] * 4 + ["other"],
        all_relevant=[0, 1, 1, 1, 0],
        others=[5, 1, 1, 1, 9],
    )
    verdict = verdicts.denovas_safe_filter(kept)
    assert verdict.kind == verdicts.REPRODUCED
    assert "100 % of 3 draws, with 1 others" in verdict.why


def test_the_kernel_of_e3_is_the_one_nearer_to_print():
    def krls(wide, narrow):
        return rows_of(
            problem=["E3", verdicts.NARROW], n=[30, 30], method=["KRLS"] * 2, rmse=[wide, narrow]
        )

    assert "as printed, sigma = 4 is nearer" in verdicts.kernel_of_e3(krls(0.64, 0.7))
    assert "the one narrow is nearer" in verdicts.kernel_of_e3(krls(0.5, 0.66))


def test_figures_are_judged_by_their_distance_to_the_truth():
    judge = verdicts.best_of_points(["paper"], ["MKL"])
    points = rows_of(method=["truth", "paper", "MKL"], value=[1.0, 1.1, 2.0])
    assert judge(points).kind == verdicts.REPRODUCED
    points[1]["value"] = "3.0"
    assert judge(points).kind == verdicts.NOT
    assert judge(points[:2]).kind == verdicts.OPEN
