"""The benchmark of densities: a tiny run gives rows with all figures, and is not repeated."""

from __future__ import annotations

import pytest

from benchmarks.nonnegative.run import COLUMNS, KEY, cases, main, summary
from benchmarks.store import RowStore


def test_questions_measure_what_is_asked():
    assert {(n, r) for n, _, r, _ in cases("tuned")} == {(1000, 200), (1000, 400)}
    assert {(n, r) for n, _, r, _ in cases("large")} == {(50_000, 200)}
    ranks = [r for n, _, r, _ in cases("growth") if n == 5000]
    sizes = [n for n, _, r, _ in cases("growth") if r == 100 and n != 5000]
    assert len(set(ranks)) == len(ranks) >= 4
    assert sizes == sorted(sizes)


@pytest.mark.slow
def test_a_tiny_run_is_stored_and_not_repeated(tmp_path, capsys):
    out = tmp_path / "rows.csv"
    arguments = ["tuned", "growth", "--smoke", "--size", "100", "--out", str(out)]
    main(arguments)
    store = RowStore(out, COLUMNS, KEY)
    assert [row["question"] for row in store.rows] == ["tuned", "growth"]
    assert all(float(row["held_out"]) < float(row["truth"]) + 0.3 for row in store.rows)
    before = out.read_bytes()
    main(arguments)
    assert out.read_bytes() == before
    assert list(summary(store)) == []
    assert "tuned" in capsys.readouterr().err
