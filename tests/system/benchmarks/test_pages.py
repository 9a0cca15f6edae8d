"""The pages of results: from rows alone, honest where a rival is ahead."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.measure import COLUMNS
from benchmarks.pages import goals, readers, results
from benchmarks.pages import rows as stored_rows
from benchmarks.pages.selection import page
from benchmarks.pages.srbench import HINDSIGHT, SRBench, critical_difference, losses, methods


def row(contestant, seed, exact=1, rmse=1.0, problem="radial", n=100, **more):
    values = dict.fromkeys(COLUMNS, "") | {"contestant": contestant, "problem": problem}
    values |= {"n": str(n), "seed": str(seed), "exact": str(exact), "rmse": str(rmse)}
    values |= {"rmse_noise_free": str(rmse), "status": "ok", "source": "test", "seconds": "2"}
    return values | {"tanimoto": "0.1"} | {name: str(value) for name, value in more.items()}


@pytest.fixture
def table():
    rows = [row("nablasso", s, rmse=2.0, peak_mib=7.5) for s in range(12)]
    rows += [row("forest", s, exact=int(s > 4), rmse=1.0) for s in range(10)]
    rows += [row("lasso", s, exact=0, rmse=9.0) for s in range(3)]
    return stored_rows.table(rows)


def test_rates_are_on_common_draws(table):
    found = readers.summary(table).set_index("contestant")
    assert list(found.index) == ["nablasso", "forest"]  # lasso has three draws
    assert found.loc["forest", ["problems", "draws", "theirs", "ours"]].tolist() == [1, 10, 0.5, 1]
    assert found.loc["forest", ["near", "ours_near"]].tolist() == [1, 0]
    assert found.loc["nablasso", ["draws", "mib"]].tolist() == [12, 7.5]


def test_where_a_rival_is_ahead_is_said(table):
    (worse,) = stored_rows.ahead(table).to_dict("records")
    assert (worse["rival"], worse["draws"], worse["ratio"]) == ("forest", 10, 2.0)
    lines = results.where_others_are_ahead(stored_rows.ahead(table).assign(suite="selection"))
    assert "| selection | radial | 100 | forest | 10 | 100% / 50% | 2.00 |  |" in lines
    nowhere = results.where_others_are_ahead(pd.DataFrame())
    assert nowhere == ["Nowhere among the rows stored."]


@pytest.mark.parametrize(("ours", "theirs", "ratio"), [(0, 0, 1), (1, 0, np.inf), (2, 1, 2)])
def test_errors_of_zero_are_equal_and_not_undefined(ours, theirs, ratio):
    rows = [row("nablasso", 0, rmse=ours), row("mars", 0, rmse=theirs)]
    cells = stored_rows.by_cell(stored_rows.paired(stored_rows.table(rows), "mars"))
    assert cells["ratio"].tolist() == [ratio]


def test_nobody_is_ahead_where_nothing_was_predicted():
    rows = [row("nablasso", 0, rmse="", r2=""), row("mars", 0, exact=0, rmse="", r2="")]
    assert stored_rows.ahead(stored_rows.table(rows)).empty
    rows[1] |= {"exact": 1}
    rows[0] |= {"exact": 0}
    found = stored_rows.ahead(stored_rows.table(rows)).assign(suite="epistasis")
    assert "| 0% / 100% | - |" in results.where_others_are_ahead(found)[-1]


def test_who_makes_no_error_stands_beside_ours_not_under_it():
    rows = [row("nablasso", 0, rmse=0.3, r2=""), row("mars", 0, rmse=0, r2="")]
    found = stored_rows.ahead(stored_rows.table(rows)).assign(suite="selection")
    assert "| 0.3 / 0 |" in results.where_others_are_ahead(found)[-1]


def test_of_rows_measured_twice_the_last_counts_and_failing_never_helps():
    rows = [row("nablasso", 0, r2=0.5), row("nablasso", 0, r2=0.9), row("mars", 0, r2="-inf")]
    table = stored_rows.table(rows)
    assert table["loss"].tolist() == pytest.approx([0.1, np.inf])
    assert stored_rows.ahead(table).empty


@pytest.mark.parametrize(("kept", "ahead"), [(5, 0), (3, 1)])
def test_who_keeps_all_columns_has_found_none(kept, ahead):
    rows = [row("nablasso", 0, exact=0), row("mars", 0, exact=1, selected=kept, d=5)]
    assert len(stored_rows.ahead(stored_rows.table(rows))) == ahead


def test_the_selection_page_sets_targets_next_to_measurements():
    rows = [row("oracle", s) for s in range(50)]
    rows += [row("nablasso", s, exact=int(s > 0), rmse=1.1) for s in range(50)]
    rows += [row("forest", s, exact=0, rmse=2.0) for s in range(20)]
    text = page(stored_rows.table(rows))
    assert (
        "| radial | 100 | 50 | 98% (90% to 100%) | 0.95 | yes | 1.10 (1.10) | 1.25 | yes |" in text
    )
    assert "| radial | 100 | 98% (50) 1.10 | 0% (20) 2.00 |" in text
    assert "| radial | 100 | forest | 20 | +0.95 |" in text
    assert "rows that ended in an error: 0" in text


def test_level_with_the_best_is_judged_on_common_draws():
    rows = [row("nablasso", s, rmse=1.0 + 0.01 * s) for s in range(4)]
    rows += [row("forest", s, rmse=1.3) for s in range(4)]
    rows += [row("mars", s, rmse=0.99 + 0.02 * (s % 2)) for s in range(2)]
    rows += [row("lasso", 9, rmse=0.1)]  # on a draw that we do not have
    rows += [row("nablasso", s, problem="step", rmse=2.0) for s in range(2)]
    rows += [row("mars", s, problem="step", rmse=1.0) for s in range(2)]
    table = stored_rows.table(rows).assign(error=lambda t: t["loss"] ** 0.5)
    cells = goals.level_with_the_best(table, stored_rows.CELL, "error")
    assert cells.loc[("radial", 100), ["rival", "draws"]].tolist() == ["mars", 2]
    assert cells["first"].to_dict() == {("radial", 100): False, ("step", 100): False}
    assert cells["level"].to_dict() == {("radial", 100): True, ("step", 100): False}


def test_a_goal_without_rows_is_not_told_and_one_with_rows_is(monkeypatch):
    rows = [row("nablasso", s, problem="gse1", n=10_000, rmse=0.1) for s in range(3)]
    monkeypatch.setattr(
        goals, "stored", lambda suite: stored_rows.table(rows if suite == "rffnet" else [])
    )
    found = [goal.cells() for goal in goals.goals() if goal.suite == "rffnet"]
    assert found == [
        ["rffnet", "error below the published, of four", ">= 4", "1", "no", "3 fits"],
        ["rffnet", "exact columns", ">= 90%", "100%", "yes", "3 fits"],
    ]
    assert {goal.suite for goal in goals.goals()} <= {"rffnet", "srbench", "friedman"}
    monkeypatch.setattr(goals, "cause", {"rffnet: error below the published, of four": "x"}.get)
    lines = goals.goals_table()
    assert "- rffnet, error below the published, of four: x." in lines
    assert not [line for line in lines if line.startswith("- rffnet, exact")]  # met


def test_ranks_are_among_the_published_methods_and_losses_name_the_best():
    names = [f"{k}_fri_c0_100_5" for k in range(20)]
    live = pd.DataFrame({"nablasso": np.full(20, 0.9), "linear": np.full(20, 0.2)}, index=names)
    theirs = pd.DataFrame({"A, published": 0.95, "Linear, published": 0.1}, index=names)
    live.loc[names[0], "nablasso"] = 0.5
    table = methods(live, theirs, stored_rows.table([row("nablasso", 0, cpu_seconds=3)]))
    assert table.loc[HINDSIGHT, "median"] == 0.95
    assert table["rank"].dropna().round(6).to_dict() == {
        "nablasso": 2,
        "linear": 2,
        "A, published": 1,
        "Linear, published": 2,
    }
    assert table.loc["linear", "harness"] == pytest.approx(0.1)
    assert table.loc["nablasso", "seconds"] == 3
    worst = losses(live, theirs)
    assert len(worst) == 1  # the others are behind by no more than .05
    assert worst.iloc[0][["problem", "method", "place"]].tolist() == [names[0], "A", 2]
    assert SRBench(table, worst, True).ranked == 3


def test_critical_differences_are_those_of_demsar():
    # Demsar (2006), section 3.2.4: 4 classifiers on 14 tables, 5 %: 1.25
    assert critical_difference(4, 14) == pytest.approx(1.25, abs=0.01)


def test_the_exponent_of_the_cost_is_the_slope(monkeypatch):
    rows = [row("a", 0, problem="rows", n=n, cpu_seconds=n**1.5) for n in (1000, 10_000, 100_000)]
    monkeypatch.setattr(readers, "stored", lambda suite: stored_rows.table(rows))
    assert readers.exponents()["a"] == pytest.approx(1.5)


def test_the_pages_are_written_from_the_stored_rows(tmp_path):
    results.main(["--out", str(tmp_path)])
    text = (tmp_path / "RESULTS.md").read_text()
    for reader in ("Statistician", "engineer", "Symbolic", "Geneticist", "Simulation"):
        assert reader in text
    assert "| nablasso |" in text
    assert "[sgl_figure_2](../experiments/results/sgl_figure_2.md)" in text
    assert "results/selection.runs.jsonl" in text
    assert (tmp_path / "results" / "statistician.png").stat().st_size > 1000
