"""The benchmark of feature spaces: its data, its table, and that rows are not measured twice."""

import numpy as np
import pytest

from benchmarks.scale import accuracy


def test_draws_repeat_and_have_the_sizes_that_are_promised():
    first, again = (accuracy.draw("pairwise", 5) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert first[0].shape == (60, 4)
    assert len(first[3]) == accuracy.N_TEST


def test_rows_are_stored_once_and_summed_up(tmp_path, monkeypatch, capsys):
    measured = []

    def measure(question, m, seed):
        measured.append((question, m, seed))
        values = dict.fromkeys(accuracy.MEASURED, 1.0)
        return {"question": question, "m": m, "seed": seed, **values, "ratio": 1.0 + seed / 1e5}

    monkeypatch.setattr(accuracy, "measure", measure)
    for _ in range(2):
        accuracy.main(["additive", "landmarks", "--seeds", "2", "--out", str(tmp_path)])
    assert measured == [
        (q, m, s) for s in (1000, 1001) for q, m in (("additive", 1024), ("landmarks", 75))
    ]
    assert "additive   1024      2      1.0100" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        accuracy.main(["additve"])
