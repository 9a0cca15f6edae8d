"""The page of results: from rows alone, honest where a rival is ahead."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import results_page
from benchmarks.measure import COLUMNS
from benchmarks.pages.selection import Table

RADIAL = ("radial", 100)


def row(contestant, seed, *, exact, rmse, mib=""):
    values = {
        "contestant": contestant,
        "problem": "radial",
        "n": "100",
        "seed": str(seed),
        "exact": str(exact),
        "rmse": str(rmse),
        "seconds": "2",
        "peak_mib": mib,
    }
    return dict.fromkeys(COLUMNS, "") | values


@pytest.fixture
def table():
    """A forest that predicts better with fewer exact supports, on 10 of our 12 seeds."""
    rows = [row("nablasso", s, exact=1, rmse=2.0, mib="7.5") for s in range(12)]
    rows += [row("forest", s, exact=int(s > 4), rmse=1.0) for s in range(10)]
    rows += [row("lasso", s, exact=0, rmse=9.0) for s in range(3)]
    return Table(rows)


def test_rates_are_on_common_draws(table):
    lines = results_page.summary(table)
    assert "| forest | 1 (10) | 50% | 100% | 100% | 0% | 2 | not measured |" in lines
    assert "| nablasso | 1 (12) | 100% | 100% | 100% | 100% | 2 | 7.5 |" in lines
    assert not any("lasso |" in line and "nablasso" not in line for line in lines)  # three draws


def test_where_a_rival_is_ahead_is_said(table):
    assert "| radial | 100 | forest | 10 | 100% / 50% | 2.00 |" in results_page.lost(table)
    alone = Table([row("nablasso", s, exact=1, rmse=2.0) for s in range(12)])
    assert results_page.lost(alone) == ["Nowhere among the rows stored."]


def test_the_verdict_counts_every_problem_and_rival(table):
    exact, error = results_page.verdict(table)
    assert "ahead of us nobody, of 1 contestants" in exact
    assert "on 0 of 1 problems" in error
    rows = [row("nablasso", s, exact=0, rmse=1.0) for s in range(10)]
    rows += [row("forest", s, exact=int(s < 4), rmse=1.0) for s in range(10)]
    exact, error = results_page.verdict(Table(rows))
    assert "ahead of us forest (40%, ours 0%)" in exact
    assert "on 1 of 1 problems" in error


def test_errors_of_zero_are_equal_and_not_undefined():
    rows = [row(who, s, exact=1, rmse=0.0) for who in ("nablasso", "mars") for s in range(10)]
    assert results_page.error_ratio(Table(rows), "mars", RADIAL) == 1
    rows = [row("nablasso", s, exact=1, rmse=1.0) for s in range(10)] + rows[10:]
    assert results_page.error_ratio(Table(rows), "mars", RADIAL) == np.inf


def test_the_page_is_written_from_the_stored_rows(tmp_path):
    out = tmp_path / "page.md"
    results_page.main(["--out", str(out)])
    text = out.read_text()
    assert "| nablasso |" in text
    assert "[sgl_table_1](../experiments/results/sgl_table_1.md)" in text
    assert "results/selection.runs.jsonl" in text
