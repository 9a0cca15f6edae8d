"""The paper's algorithm is right and fairly judged, and the questions return their rows."""

from __future__ import annotations

import csv
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import nablasso
from benchmarks.gradients import reference, run
from benchmarks.gradients.questions import exponent, path_ratio, wide_table
from benchmarks.gradients.reference import Algorithm1
from benchmarks.memory import peak_gib
from nablasso import SparseGradientRegressor


@pytest.fixture
def paper():
    X, y = wide_table(8, 12, 0)
    return Algorithm1((X - X.mean(axis=0)) / X.std(axis=0), y)


def loss(paper, C):
    """(4), pair by pair."""
    n = len(paper.X)
    total = 0.0
    for i in range(n):
        for j in range(n):
            move = (paper.X[j] - paper.X[i]) @ C @ paper.root[i]
            total += paper.weights[i, j] * (paper.d[i, j] + move) ** 2
    return total / n**2


def test_the_paper_s_gradient_is_that_of_its_loss(paper):
    rng = np.random.default_rng(0)
    C, D = (rng.standard_normal((12, 8)) for _ in range(2))
    step = 1e-5
    slope = (loss(paper, C + step * D) - loss(paper, C - step * D)) / (2 * step)
    assert np.sum(paper.gradient(paper.residuals(C)) * D) == pytest.approx(slope, rel=1e-7)
    assert paper.reference == pytest.approx(loss(paper, np.zeros((12, 8))))


def test_the_paper_s_curvature_bounds_its_gradient(paper):
    rng = np.random.default_rng(1)
    for _ in range(20):
        D = rng.standard_normal((12, 8))
        change = paper.gradient(paper.residuals(D)) - paper.gradient(paper.d)
        assert np.linalg.norm(change) <= 1.001 * paper.curvature * np.linalg.norm(D)


def test_both_walk_the_same_path(paper):
    X, y = wide_table(8, 12, 0)
    ours = nablasso.path(SparseGradientRegressor(kernel="linear", tol=1e-7), X, y, n_alphas=4)
    assert paper.alpha_max() == pytest.approx(ours.alpha_max)
    theirs = paper.path(ours.alphas[:3], 1e-6, 20_000)
    assert max(theirs.gaps) <= 1e-6
    np.testing.assert_allclose(theirs.objectives, ours.objectives[:3], atol=2e-6 * paper.reference)


def test_the_paper_s_algorithm_stops_when_its_time_is_up(paper, monkeypatch):
    ticks = itertools.count()
    monkeypatch.setattr(reference, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    found = paper.path(paper.alpha_max() * np.array([0.1, 0.01, 0.001]), -1.0, 20, seconds=3)
    assert found.seconds == [2, 1]  # the first point has all its iterations, the second half
    assert found.iterations == [20, 10]


def test_the_path_s_row_compares_the_points_that_both_have():
    X, y = wide_table(8, 12, 0)
    row = path_ratio(X, y, "made up", points=3, seconds=np.inf, tol=1e-3)
    assert row["paper_points"] == 3
    assert float(row["largest_difference_of_objectives"]) <= 2e-3
    assert float(row["ratio_same_points"]) >= 0
    row = path_ratio(X, y, "made up", points=3, seconds=0.0, tol=1e-3)
    assert row["paper_points"] == 1


def test_exponents_are_slopes_of_logarithms():
    rows = [{"n": n, "in_E": str(1e-3 * n**1.5)} for n in (10, 100, 1000)]
    assert exponent(rows, "n") == pytest.approx(1.5)


def test_peak_memory_is_that_of_the_script_alone():
    held = np.ones(2**24)  # 128 MiB here do not count there
    small, words = peak_gib("print('seen')\n")
    large, _ = peak_gib("x = bytearray(2**26)\n")
    assert words == ["seen"]
    assert held.nbytes / 2**30 > small
    assert 0.05 < large - small < 0.1


def test_rows_are_kept_as_they_come_and_the_page_is_made_from_them(monkeypatch, tmp_path, capsys):
    def fake(n, p, k, repeats, size):
        if n == 90:
            raise KeyboardInterrupt
        return {"n": n, "p": p, "in_E": str(p)}

    monkeypatch.setattr(run, "scaling", fake)
    with pytest.raises(KeyboardInterrupt):
        run.main(["columns", "rows", "--smoke", "--out", str(tmp_path)])
    with (tmp_path / "rows.csv").open(newline="") as file:
        assert [row["n"] for row in csv.DictReader(file)] == ["30"]
    assert "Slope of the logarithms: p^1.00." in run.summary(tmp_path)
    with pytest.raises(SystemExit):
        run.main(["nothing", "--out", str(tmp_path)])
    assert "unknown: nothing" in capsys.readouterr().err
