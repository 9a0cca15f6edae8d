"""The pages say what the rows say, and nothing else."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from experiments import EXPERIMENTS, denovas, derivative_verdicts, judging, nvsd, verdicts
from experiments.pages import (
    PAPERS,
    convergence_of,
    draws_of,
    kind_of,
    pages,
    stored,
    write_pages,
)
from nablasso.errors import InvalidDataError

RESULTS = Path(__file__).parents[2] / "experiments" / "results"


def test_the_stored_pages_are_made_from_the_stored_rows():
    for name, text in pages(RESULTS).items():
        stored = (RESULTS / name).read_text("utf-8")
        assert stored == text, f"{name} is old: python -m experiments --pages"


def test_a_changed_row_changes_the_pages(tmp_path):
    path = tmp_path / "denovas_safe_filter.csv"
    shutil.copy(RESULTS / path.name, path)
    shutil.copy(RESULTS / "sgl_figure_2.csv", tmp_path)
    before = pages(tmp_path)
    text = path.read_text("utf-8")
    changed, count = re.subn(r'^(200,\d+,"[^"]*Theorem 11",[^,]*),1,', r"\1,0,", text, flags=re.M)
    assert count == 20
    path.write_text(changed, "utf-8")
    after = pages(tmp_path)
    assert {name for name in before if before[name] != after[name]} == {"README.md", "denovas.md"}
    assert "are in 100 % of 20 draws" in before["README.md"]
    assert "are in 0 % of 20 draws" in after["README.md"]
    write_pages(tmp_path)
    assert (tmp_path / "README.md").read_text("utf-8") == after["README.md"]


def test_a_verdict_on_fewer_draws_than_the_papers_says_so():
    def rows(draws):
        return [
            {"n": str(n), "draw": str(draw), "method": f"nu = {nu:g}", "selection_error": "0.1"}
            for nu in denovas.NUS
            for n in denovas.ROWS_4
            for draw in range(draws)
        ]

    assert kind_of("denovas_figure_4", rows(20)) == judging.NOT
    assert kind_of("denovas_figure_4", rows(19)) == f"{judging.NOT}, so far"
    assert kind_of("denovas_figure_4", rows(2)) == judging.OPEN
    assert draws_of("denovas_figure_4", [*rows(20), rows(1)[0] | {"n": "10"}]) == "20 / 1 to 20"


def test_convergence_is_told_of_the_papers_methods_apart():
    def row(method, status):
        return {"method": method, "status": status}

    own = [row("paper", "converged"), row("HKL", "capped"), row("RLS", "converged")]
    assert convergence_of("denovas_figure_9", own) == "all converged; others: 50 % converged"
    assert convergence_of("denovas_figure_9", own[:1] + own[2:]) == "all converged"
    hkl = [row("HKL hermite", "capped"), row("HKL hermite + pruning", "converged")]
    expected = "0 % converged; others: all converged"
    assert convergence_of("hkl_figure_8", hkl) == expected
    assert convergence_of("sgl_figure_1", [{"status": "converged"}]) == "all converged"
    short = [row("NVSD(L)", "converged"), row("NVSD(L)", "capped") | {"gap": "4e-07"}]
    assert convergence_of("nvsd_real", short) == "50 % converged, all to 1e-05"
    assert convergence_of("nvsd_real", [*short, row("NVSD(L)", "capped")]) == "33.3 % converged"


def test_pages_refuse_stale_rows(tmp_path):
    text = (RESULTS / "denovas_safe_filter.csv").read_text("utf-8")
    settings = text.split("\n")[1].rsplit(",", 1)[1].strip()
    stale = tmp_path / "denovas_safe_filter.csv"
    stale.write_text(text.replace(settings, "0123456789", 1), "utf-8")
    with pytest.raises(InvalidDataError, match=r"1 of 160 rows"):
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
    assert derivative_verdicts.nvsd_twins(twins(1, 2)).kind == judging.REPRODUCED
    assert derivative_verdicts.nvsd_twins(twins(2, 1)).kind == judging.NOT
    assert derivative_verdicts.nvsd_twins(twins(1, 2, draws=2)).kind == judging.OPEN
    kept = rows_of(
        n=[50, 100, 100, 100, 100],
        draw=[0, 0, 1, 2, 2],
        rate=["Theorem"] * 4 + ["other"],
        all_relevant=[0, 1, 1, 1, 0],
        others=[5, 1, 1, 1, 9],
    )
    verdict = derivative_verdicts.denovas_safe_filter(kept)
    assert verdict.kind == judging.REPRODUCED
    assert "100 % of 3 draws, with 1 others" in verdict.why


def test_the_kernel_of_e3_is_the_one_nearer_to_print():
    def krls(wide, narrow):
        return rows_of(
            problem=["E3", derivative_verdicts.NARROW],
            n=[30, 30],
            method=["KRLS"] * 2,
            rmse=[wide, narrow],
        )

    assert "as printed, sigma = 4 is nearer" in derivative_verdicts.kernel_of_e3(krls(0.64, 0.7))
    assert "the one narrow is nearer" in derivative_verdicts.kernel_of_e3(krls(0.5, 0.66))


def test_figures_are_judged_by_their_distance_to_the_truth():
    judge = derivative_verdicts.best_of_points(["paper"], ["MKL"])
    points = rows_of(method=["truth", "paper", "MKL"] * 2, value=[1.0, 1.1, 2.0, 1.0, 1.2, 2.1])
    assert judge(points).kind == judging.REPRODUCED
    points[1]["value"] = "1.99"
    assert judge(points).kind == judging.DIFFERENT
    points[1]["value"] = "3.0"
    assert judge(points).kind == judging.NOT
    assert judge([points[0], points[1]]).kind == judging.OPEN


def test_a_difference_counts_from_two_standard_errors_on():
    values = np.array([0.5, 1.0, 1.5, 3.0])
    error = values.std(ddof=1) / 2
    assert judging.clear(values - values.mean() + 2.01 * error)
    assert not judging.clear(values - values.mean() + 1.99 * error)
    assert not judging.clear([5.0])
    both = error * np.sqrt(1 + 4 / 12)  # of our mean of 4, and of a printed one of 12
    for distance, sign in ((1.99, 0), (2.01, -1), (-1.99, 0), (-2.01, 1)):
        printed = values.mean() + distance * both
        assert judging.against_print(values, printed, 12) == sign


def test_pairs_are_of_what_both_were_run_on():
    rows = rows_of(
        method=["a", "a", "b", "b", "a", "b"],
        n=[1, 1, 1, 1, 1, 2],
        draw=[0, 1, 1, 0, 2, 0],
        error=[5, 7, 3, 2, 9, 9],
    )
    assert judging.paired(rows, "error", ["a"], ["b"], "method", "n", "draw") == [3.0, 4.0]


def test_what_was_not_run_leaves_a_verdict_open():
    places = [(p, draw) for p in verdicts.hkl.DIMENSIONS for draw in range(3)]
    rows = [
        {"p": str(p), "draw": str(draw), "method": method, "relative_error": error}
        for p, draw in places
        for method, error in (("HKL hermite", "0.1"), ("L2 hermite", "0.9"))
    ]
    assert verdicts.hkl_figure_8(rows).kind == judging.REPRODUCED
    short = [row for row in rows if row["p"] != "128" or row["method"] != "HKL hermite"]
    assert verdicts.hkl_figure_8(short).kind == judging.OPEN


def test_the_light_nu_is_the_one_of_the_smallest_validation_error():
    rows = stored("nvsd_nu", RESULTS)
    assert {row["draw"] for row in rows} == {"7001", "7002", "7003"}
    assert f"error at nu {nvsd.NU_LIGHT['E2']:g}:" in derivative_verdicts.nvsd_nu(rows)


def test_the_elastic_net_at_its_own_nu_is_told_where_it_was_run():
    def rows(method, error, draws=3):
        return [
            {"problem": "E2", "n": "30", "draw": str(draw), "method": method, "rmse": str(error)}
            for draw in range(draws)
        ]

    net = "NVSD(EN)" + nvsd.LIGHT
    words = derivative_verdicts.light_nu([*rows(net, 5), *rows("NVSD(L)" + nvsd.LIGHT, 6)])
    assert "5.00 and 6.00 on E2 at n = 30" in words
    assert "3 draws, printed 17.53 and 21.24" in words
    assert derivative_verdicts.light_nu(rows(net, 5)) == ""
