"""``python -m experiments``."""

import pytest

from experiments import EXPERIMENTS, running
from experiments.__main__ import main


def test_without_a_name_every_experiment_is_listed(capsys):
    main([])
    text = capsys.readouterr().out
    assert all(name in text for name in EXPERIMENTS)


def test_a_quick_run_prints_the_table_and_writes_it(capsys, tmp_path):
    main(["sgl_table_1", "--quick", "--out", str(tmp_path)])
    line = "| SGL, columns centred selects x1, per cent | 78 | 100 [2 draws, all converged] |"
    for table in (capsys.readouterr().out, (tmp_path / "sgl_table_1.quick.md").read_text()):
        assert line in table
    with pytest.raises(SystemExit):
        main(["sgl_tabel_1", "--out", str(tmp_path)])


def test_an_interrupt_keeps_the_rows(tmp_path, monkeypatch):
    done = running.Store.append

    def interrupted(self, row):
        if len(self.rows) == 4:
            raise KeyboardInterrupt
        done(self, row)

    monkeypatch.setattr(running.Store, "append", interrupted)
    arguments = ["sgl_table_1", "--quick", "--out", str(tmp_path)]
    with pytest.raises(KeyboardInterrupt):
        main(arguments)
    assert len((tmp_path / "sgl_table_1.quick.csv").read_text().splitlines()) == 5
    monkeypatch.setattr(running.Store, "append", done)
    main(arguments)
    assert len((tmp_path / "sgl_table_1.quick.csv").read_text().splitlines()) == 7
