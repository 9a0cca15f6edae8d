"""``nablasso reproduce``: a thin command over the experiments."""

import json
from dataclasses import replace

from experiments import EXPERIMENTS


def test_the_list_has_every_experiment(run):
    text = run("reproduce", "--list").out
    assert all(name in text for name in EXPERIMENTS)
    content = json.loads(run("reproduce", "--list", "--json").out)
    assert [entry["name"] for entry in content["experiments"]] == list(EXPERIMENTS)
    assert run("reproduce").out == text


def test_a_quick_run_prints_the_table_and_names_the_files(run, tmp_path):
    outcome = run("reproduce", "sgl_table_1", "--quick", "--out", tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    assert "SGL, columns centred" in outcome.out
    assert max(len(line) for line in outcome.out.splitlines()) <= 80
    table = (tmp_path / "sgl_table_1.quick.md").read_text()
    line = "| SGL, columns centred selects x1, per cent | 78 | 100 [2 draws, all converged] |"
    assert line in table
    content = json.loads(
        run("reproduce", "sgl_table_1", "--quick", "--out", tmp_path, "--json").out
    )
    assert content["lines"][0]["published"] == "78"
    assert content["n_rows"] == 6


def test_an_unknown_name_suggests_the_nearest(run, tmp_path):
    outcome = run("reproduce", "sgl_tabel_1", "--out", tmp_path)
    assert (outcome.code, outcome.out) == (1, "")
    assert "Did you mean 'sgl_table_1'? nablasso reproduce --list shows them." in outcome.message


def test_an_interrupt_keeps_the_rows(run, tmp_path, monkeypatch):
    from experiments import running

    done = running.Store.append

    def interrupted(self, row):
        if len(self.rows) == 4:
            raise KeyboardInterrupt
        done(self, row)

    monkeypatch.setattr(running.Store, "append", interrupted)
    arguments = ("reproduce", "sgl_table_1", "--quick", "--out", tmp_path)
    assert run(*arguments).code == 130
    assert len((tmp_path / "sgl_table_1.quick.csv").read_text().splitlines()) == 5
    monkeypatch.setattr(running.Store, "append", done)
    assert run(*arguments).code == 0
    assert len((tmp_path / "sgl_table_1.quick.csv").read_text().splitlines()) == 7


def test_all_goes_on_where_data_are_missing(run, tmp_path, monkeypatch):
    import experiments
    from nablasso.errors import DataUnavailableError

    def no_data():
        raise DataUnavailableError("put the table there")

    without = replace(EXPERIMENTS["sgl_table_1"], name="without", run=no_data, quick=[{}])
    some = {"without": without, "sgl_table_1": EXPERIMENTS["sgl_table_1"]}
    monkeypatch.setattr(experiments, "EXPERIMENTS", some)
    outcome = run("reproduce", "--all", "--quick", "--out", tmp_path)
    assert outcome.code == 0
    assert "skipped without: put the table there" in outcome.message
    assert "SGL, columns centred" in outcome.out
    content = json.loads(run("reproduce", "--all", "--quick", "--out", tmp_path, "--json").out)
    assert [found["name"] for found in content["experiments"]] == ["sgl_table_1"]
    assert content["skipped"] == {"without": "put the table there"}
    assert run("reproduce", "without", "--quick", "--out", tmp_path).code == 1
    assert run("reproduce", "sgl_table_1", "--all", "--out", tmp_path).code == 1


def test_without_a_checkout_it_says_where_the_experiments_are(run, tmp_path, monkeypatch):
    from nablasso.cli import reproduction

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reproduction, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    outcome = run("reproduce", "--list")
    assert (outcome.code, outcome.out) == (1, "")
    assert "Clone the repository and call the command there" in outcome.message
