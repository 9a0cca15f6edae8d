"""The bundled table, and the door to the experiments."""

import contextlib
import json
import os
import subprocess
import sys

import pytest

from experiments import EXPERIMENTS
from nablasso import NablassoRegressor
from nablasso.cli import commands
from nablasso.cli.commands import compared


def test_the_demo_finds_the_right_answer_in_a_narrow_window():
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    shown = subprocess.run(
        [sys.executable, "-m", "nablasso", "demo"],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | threads | {"COLUMNS": "60"},
    )
    assert shown.returncode == 0, shown.stderr
    text, lines = " ".join(shown.stdout.split()), shown.stdout.splitlines()
    assert "4 of 12 columns matter for yield_kg_m2 (" in text
    assert (
        "The right answer is temperature_celsius, light_mol_m2_day, water_l_m2_day, "
        "nutrient_ms_cm: found exactly."
    ) in text

    assert max(len(line) for line in lines) <= 60
    assert "\x1b" not in shown.stdout

    for line in commands.PYTHON.splitlines():
        assert f"  {line}".rstrip() in lines
    assert "nablasso select table.csv --target COLUMN --report report.html" in text


def test_the_python_lines_make_the_call_of_the_demo(run, calls):
    run("demo")
    with contextlib.suppress(KeyboardInterrupt):
        exec(commands.PYTHON, {})
    ours, theirs = calls
    assert ours.kind == theirs.kind
    assert repr(ours.params.pop("kernel")) == repr(theirs.params.pop("kernel"))
    assert ours.params == theirs.params
    assert ours.X.equals(theirs.X)
    assert (ours.y == theirs.y).all()


def test_json_compares_with_the_truth(run, monkeypatch):
    monkeypatch.setattr(commands, "NablassoRegressor", lambda: NablassoRegressor("linear", cv=2))
    outcome = run("demo", "--json")
    assert outcome.code == 0
    content = json.loads(outcome.out)
    truth = content["truth"]
    selected = {v["name"] for v in content["selected"]}
    assert len(truth["columns"]) == 4
    assert set(truth["missing"]) == set(truth["columns"]) - selected
    assert set(truth["extra"]) == selected - set(truth["columns"])
    assert truth["found"] == (selected == set(truth["columns"]))
    assert content["source"] == "nablasso.datasets.make_demo()"


@pytest.mark.parametrize(
    ("names", "verdict"),
    [
        (["b", "a"], "The right answer is a, b: found exactly."),
        (["a"], "The right answer is a, b: missed b."),
        (["a", "b", "z"], "The right answer is a, b: wrongly selected z."),
        (["z"], "The right answer is a, b: missed a, b; wrongly selected z."),
    ],
)
def test_the_verdict(names, verdict):
    missing, extra, told = compared(["a", "b"], names)
    assert told == verdict
    assert (set(missing), set(extra)) == ({"a", "b"} - {*names}, {*names} - {"a", "b"})


def test_without_a_name_every_experiment_is_listed(run):
    text = run("reproduce").out
    assert all(name in text for name in EXPERIMENTS)


def test_a_quick_run_prints_the_table_and_writes_it(run, tmp_path):
    outcome = run("reproduce", "sgl_table_1", "--quick", "--out", tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    line = "| SGL, columns centred selects x1, per cent | 78 | 100 [2 draws, all converged] |"
    for table in (outcome.out, (tmp_path / "sgl_table_1.quick.md").read_text()):
        assert line in table
    assert run("reproduce", "sgl_tabel_1", "--out", tmp_path).code == 2


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


def test_without_a_checkout_it_says_where_the_experiments_are(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(commands, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    outcome = run("reproduce")
    assert (outcome.code, outcome.out) == (1, "")
    assert "Clone the repository and call the command there" in outcome.message
