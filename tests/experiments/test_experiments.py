"""The experiments return tidy rows; one repeat each."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.denovas import MATCHED_TAU, RATES, figure_3, safe_filter
from experiments.nvsd import (
    ALGORITHMS,
    FRACTIONS,
    REFINED,
    SOLVER_TOL,
    _twin_table,
    algorithms,
    names_of,
    protocol,
    twins,
)
from experiments.printed import PUBLISHED, ROWS
from experiments.running import DEFAULT


def test_figure_3_has_a_row_per_nu_and_choice():
    rows = list(figure_3(repeats=1))
    assert {(row["nu"], row["choice"]) for row in rows} == {
        (nu, choice) for nu in (10.0, 0.0) for choice in ("matched", "penalised", "refit")
    }
    assert all(row["tau"] == str(MATCHED_TAU) for row in rows if row["choice"] == "matched")
    assert all(set(row["selected"]) <= {"1", "2"} for row in rows)


def test_twins_has_a_row_per_estimator_and_fraction():
    rows = twins(repeats=1)
    assert [(row["estimator"], row["fraction"]) for row in rows] == [
        (name, fraction) for name in ("lasso", "elastic net") for fraction in FRACTIONS
    ]
    assert all(2 * row["pairs_whole"] <= row["n_selected"] <= 6 for row in rows)


def test_twins_are_correlated():
    X, _ = _twin_table(0, 20_000)
    correlation = np.corrcoef(X.T)
    assert np.allclose([correlation[a, a + 1] for a in (0, 2, 4)], 0.95, atol=0.01)
    assert abs(correlation[0, 2]) < 0.03


@pytest.mark.slow
def test_protocol_has_a_row_per_way_and_beats_the_mean():
    no_default = {("E1", "30", "0", DEFAULT)}
    tasks = protocol(repeats=1, problems=("E1",), n_train=(30,), done=no_default)
    rows = {row["method"]: row for row in tasks}
    assert set(rows) == {*PUBLISHED["E1"], *(name + REFINED for name in ("NVSD(L)", "NVSD(GL)"))}
    assert all(row["status"] == "converged" for row in rows.values() if "gap" in row)
    deviation = 14.5  # of y, from 100000 rows
    for row in rows.values():
        assert 0 < row["rmse"] < deviation
        assert 0 <= row["tanimoto"] <= 1
    assert rows["KRLS"]["n_selected"] == 18
    assert rows["NVSD(GL)"]["n_selected"] % 3 == 0


def test_protocol_leaves_out_what_is_done():
    done = {("E1", "30", "0", method) for method in names_of("E1")}
    done.remove(("E1", "30", "0", "KRLS"))
    rows = list(protocol(repeats=1, problems=("E1",), n_train=(30,), done=done))
    assert [row["method"] for row in rows] == ["KRLS"]


def test_published_tables_have_a_pair_per_number_of_rows():
    assert all(len(row) == len(ROWS) for table in PUBLISHED.values() for row in table.values())


def test_the_papers_algorithms_reach_the_same_minimum():
    rows = list(algorithms(repeats=1, n_train=(30,)))
    assert {row["status"] for row in rows} == {"converged"}
    assert all(abs(float(row["excess"])) <= SOLVER_TOL for row in rows)
    assert all(row["selected"] + row["irrelevant"] <= 18 for row in rows)
    assert {row["solver"] for row in rows} == set(ALGORITHMS)


def test_the_safe_filter_keeps_what_matters():
    rows = list(safe_filter(repeats=2, n_train=(25, 100)))
    assert all(row["all_relevant"] for row in rows if row["n"] == 100)
    taus = {(row["n"], row["rate"]): float(row["tau"]) for row in rows}
    slow, fast = RATES
    assert taus[25, slow] == taus[25, fast] > taus[100, slow] > taus[100, fast]
