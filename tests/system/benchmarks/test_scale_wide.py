"""The benchmark of wide tables measures what it says and keeps its rows."""

import numpy as np
import pytest

from benchmarks.scale import wide
from benchmarks.scale.wide import Case, cases, drawn, measured


def test_rows_are_kept_and_not_measured_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(wide, "eigh_seconds", lambda: 0.0)
    monkeypatch.setattr(
        wide, "in_process_of_its_own", lambda case: {**case._asdict(), **measured(case)}
    )
    monkeypatch.setattr(wide, "N_ROWS", 60)
    arguments = ["screening", "--scale", "0.001", "--out", str(tmp_path)]
    monkeypatch.setattr(wide.time, "process_time", iter(np.arange(1e3)).__next__)
    wide.main(arguments)
    content = (tmp_path / "wide.csv").read_text()
    assert content.count("\n") == 9
    assert "screening,HeldOutScreening,two-way,60,100,0" in content
    monkeypatch.setattr(wide, "measured", None)
    wide.main(arguments)
    assert (tmp_path / "wide.csv").read_text() == content


@pytest.mark.parametrize("problem", wide.PROBLEMS)
def test_five_random_columns_matter(problem):
    X, y, relevant = drawn(Case("automatic", "NablassoRegressor", problem, 50, 30, 0))
    assert len(set(relevant)) == wide.RELEVANT
    other, _, _ = drawn(Case("automatic", "NablassoRegressor", problem, 50, 30, 1))
    assert not np.array_equal(X, other)
    signal = wide.PROBLEMS[problem](X[:, relevant].T)
    moved = X.copy()
    moved[:, np.setdiff1d(np.arange(30), relevant)] += 1
    np.testing.assert_array_equal(wide.PROBLEMS[problem](moved[:, relevant].T), signal)
    assert np.corrcoef(signal, y)[0, 1] ** 2 > 0.8


def test_all_problems_on_five_seeds():
    planned = list(cases("automatic", 5, 1.0))
    assert len(planned) == len(set(planned)) == 20
    assert {case.d for case in planned} == {100_000}
