"""The experiments return tidy rows; one repeat each."""

from __future__ import annotations

import numpy as np

from nablasso.experiments.denovas import MATCHED_TAU, figure_3
from nablasso.experiments.nvsd import _kept_whole, twins


def test_figure_3_has_a_row_per_nu_and_choice():
    rows = figure_3(repeats=1)
    assert {(row["nu"], row["choice"]) for row in rows} == {
        (nu, choice) for nu in (10.0, 1e-3) for choice in ("matched", "penalised", "refit")
    }
    assert all(row["tau"] == MATCHED_TAU for row in rows if row["choice"] == "matched")
    assert all(set(row["selected"]) <= {"1", "2"} for row in rows)


def test_twins_are_counted_along_a_path():
    supports = np.zeros((3, 18), dtype=bool)
    supports[1, [0, 6, 1]] = True  # one pair whole, one met by half
    supports[2] = True  # everything: left out
    assert _kept_whole(supports) == 0.5


def test_twins_has_a_row_per_estimator():
    rows = twins(repeats=1, n_alphas=4)
    assert [row["estimator"] for row in rows] == ["lasso", "elastic net 0.5", "elastic net 0.1"]
    assert all(np.isnan(row["kept_whole"]) or 0 <= row["kept_whole"] <= 1 for row in rows)
