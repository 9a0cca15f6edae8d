"""The hierarchy benchmark in miniature."""

from __future__ import annotations

import csv

import numpy as np

from benchmarks.hierarchy import recovery
from benchmarks.hierarchy.problem import problem
from benchmarks.hierarchy.run import main


def test_the_true_hull_is_a_hull_of_eight_nodes():
    posed = problem(50, 20, 0)
    assert len(posed.hull) == 8
    assert posed.hull >= {((a, 1),) for a in posed.columns}
    assert np.allclose(problem(20_000, 6, 0).X.std(axis=0), 1, atol=0.02)


def test_a_path_has_a_row_per_alpha_with_its_gap(tmp_path, monkeypatch):
    monkeypatch.setattr(recovery, "ALPHAS", 3)
    setting = recovery.Setting(8, 80, "uniform", 1.0, 2.0, 0)
    monkeypatch.setattr(recovery, "settings", lambda *_: [setting])
    for _ in range(2):  # the second call finds its rows
        main(["recovery", "--size", "20", "--out", str(tmp_path)])
    with (tmp_path / "recovery.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["alpha_share"]) for row in rows] == [1.0, 0.1, 0.01]
    assert all(float(row["relative_gap"]) >= 0 for row in rows)
    assert rows[-1]["too_few"] == "0"
    assert rows[-1]["pruned_too_few"] == "0"
