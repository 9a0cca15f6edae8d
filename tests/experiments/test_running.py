"""Running experiments: rows are kept, runs go on where they stopped, tables stand beside print."""

from __future__ import annotations

import csv
import json
import signal
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from experiments import EXPERIMENTS, Experiment, Line, reproduce, running
from nablasso import DerivativeLasso
from nablasso.errors import DataUnavailableError, InvalidDataError, InvalidParameterError

RESULTS = Path(__file__).parents[2] / "experiments" / "results"


class StoppedError(Exception):
    """Stands for Ctrl-C."""


def counted(stop_at=None):
    """An experiment of two rows per draw that notes what it computes."""
    computed = []

    def run(repeats, seed):
        for draw in range(seed, seed + repeats):
            for method in ("old", "new"):
                if (draw, method) == stop_at:
                    raise StoppedError
                computed.append((draw, method))
                yield {"draw": draw, "method": method, "error": draw / 10}

    def figure(rows):
        from matplotlib import pyplot as plt

        return plt.figure()

    experiment = Experiment(
        "counted",
        "A count",
        run,
        [{"repeats": 1, "seed": draw} for draw in range(3)],
        [{"repeats": 1, "seed": 0}],
        ("draw", "method"),
        lambda rows: [Line("error", "0.2", "", f"{len(rows)} rows")],
        figure,
    )
    return experiment, computed


def stored(path):
    with path.open(newline="") as file:
        return [(int(row["draw"]), row["method"]) for row in csv.DictReader(file)]


def test_rows_table_figure_and_state_are_written(tmp_path):
    experiment, _ = counted()
    done = reproduce(experiment, tmp_path / "new" / "folder")
    stem = tmp_path / "new" / "folder" / "counted"
    assert stored(stem.with_suffix(".csv")) == [(d, m) for d in range(3) for m in ("old", "new")]
    assert stem.with_suffix(".md").read_text() == done.markdown + "\n"
    assert "| | published | the library's default |" in done.markdown
    assert "| error | 0.2 | 6 rows |" in done.markdown
    assert "6 rows, 3 draws; all converged." in done.markdown
    assert stem.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    state = json.loads(stem.with_suffix(".json").read_text())
    assert len(state["done"]) == 3
    assert {"nablasso", "numpy", "machine", "date"} <= set(state["computed_with"])


def test_an_interrupted_run_loses_nothing_and_goes_on(tmp_path):
    cut, first = counted(stop_at=(1, "new"))
    with pytest.raises(StoppedError):
        reproduce(cut, tmp_path)
    assert stored(tmp_path / "counted.csv") == first == [(0, "old"), (0, "new"), (1, "old")]
    whole, second = counted()
    reproduce(whole, tmp_path)
    assert second == [(1, "old"), (1, "new"), (2, "old"), (2, "new")]  # draw 0 was complete
    assert stored(tmp_path / "counted.csv") == [(d, m) for d in range(3) for m in ("old", "new")]
    again, third = counted()
    reproduce(again, tmp_path)
    assert third == []


def test_where_rows_come_from_is_kept_with_the_run_that_made_them(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "computed_with", lambda: {"date": "first"})
    cut, _ = counted(stop_at=(1, "old"))
    with pytest.raises(StoppedError):
        reproduce(cut, tmp_path)
    state = tmp_path / "counted.json"
    assert json.loads(state.read_text())["computed_with"] == {"date": "first"}
    monkeypatch.setattr(running, "computed_with", lambda: {"date": "second"})
    whole, _ = counted()
    reproduce(whole, tmp_path)
    assert json.loads(state.read_text())["computed_with"] == {"date": "second"}
    monkeypatch.setattr(running, "computed_with", lambda: {"date": "third"})
    reproduce(whole, tmp_path)  # nothing is missing
    assert json.loads(state.read_text())["computed_with"] == {"date": "second"}


def test_an_experiment_that_resumes_is_told_the_stored_keys(tmp_path):
    seen = []

    def run(done):
        seen.append(set(done))
        yield {"draw": len(done), "method": "new", "error": 0.0}

    experiment, _ = counted()
    experiment = replace(experiment, run=run, units=[{}])
    for _ in range(2):
        reproduce(experiment, tmp_path)
    assert seen == [set(), {("0", "new")}]
    assert stored(tmp_path / "counted.csv") == [(0, "new"), (1, "new")]


def test_half_a_line_is_cut_off(tmp_path):
    experiment, _ = counted()
    reproduce(experiment, tmp_path, quick=True)
    path = tmp_path / "counted.quick.csv"
    path.write_text(path.read_text() + "7,ol")
    reproduce(experiment, tmp_path, quick=True)
    assert stored(path) == [(0, "old"), (0, "new")]


def test_quick_rows_have_files_of_their_own(tmp_path):
    experiment, _ = counted()
    reproduce(experiment, tmp_path, quick=True)
    assert not (tmp_path / "counted.csv").exists()
    assert stored(tmp_path / "counted.quick.csv") == [(0, "old"), (0, "new")]


def test_other_files_in_the_way_are_not_touched(tmp_path):
    experiment, _ = counted()
    path = tmp_path / "counted.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InvalidDataError, match=r"holds other rows: expected the columns draw, me"):
        reproduce(experiment, tmp_path)
    assert path.read_text() == "a,b\n1,2\n"
    path.unlink()
    reproduce(experiment, tmp_path)
    (tmp_path / "counted.json").write_text("{")
    with pytest.raises(InvalidDataError, match=r"cannot be read\. Remove it"):
        reproduce(experiment, tmp_path)
    with pytest.raises(InvalidParameterError, match="cannot be made"):
        reproduce(experiment, path / "folder")


def test_a_missing_data_file_says_where_to_put_it(tmp_path, monkeypatch):
    monkeypatch.setenv("NABLASSO_DATA", str(tmp_path))

    def no_network(**_):
        raise URLError("no network")

    monkeypatch.setattr("experiments.real_tables.fetch_openml", no_network)
    with pytest.raises(DataUnavailableError, match="environment variable NABLASSO_DATA"):
        reproduce(EXPERIMENTS["hkl_figure_9"], tmp_path, quick=True)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_table_from_its_stored_rows(name):
    experiment, path = EXPERIMENTS[name], RESULTS / f"{name}.csv"
    assert experiment.name == name
    assert experiment.title
    assert all(json.loads(running._name(unit)) is not None for unit in experiment.quick)
    if not path.exists():
        pytest.skip(f"no rows of {name} are stored")
    store = running.Store(path.with_suffix(""), experiment)
    assert len(store.keys) == len(store.rows)  # the key tells rows apart
    assert set(running.RECORD) <= set(store.rows[0])
    assert experiment.stale(store.rows) == []
    lines = experiment.lines(store.rows)
    assert lines
    assert all(line.what and (line.paper or line.default) for line in lines)
    assert running.as_markdown(experiment, store.rows).count("\n| ") > len(lines)


def warned(status=None, warning=ConvergenceWarning):
    """An experiment of two draws; a warning comes up in the second."""

    def run(repeats, seed):
        if seed == 1:
            warnings.warn("not there yet", warning, stacklevel=1)
        yield {"draw": seed, "method": "new", "error": 0.1} | (
            {} if status is None else {"status": status, "gap": 0.5, "iterations": 7}
        )

    experiment, _ = counted()
    return replace(experiment, run=run, units=experiment.units[:2])


def test_every_row_says_how_it_came_about(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        done = reproduce(warned(), tmp_path)
    assert all(set(running.RECORD) <= set(row) for row in done.rows)
    assert [row["status"] for row in done.rows] == ["converged", "capped"]
    assert all(float(row["seconds"]) >= 0 and row["version"] for row in done.rows)
    assert "2 rows, 2 draws; 50 % converged." in done.markdown
    assert done.markdown.endswith("Not converged (gap): 1 new (no gap).")
    own = reproduce(warned("converged"), tmp_path / "own").rows
    assert [(row["status"], row["gap"], row["iterations"]) for row in own] == [
        ("converged", "0.5", "7")
    ] * 2


def test_other_warnings_are_shown(tmp_path):
    with pytest.warns(UserWarning, match="not there yet"):
        done = reproduce(warned(warning=UserWarning), tmp_path)
    assert [row["status"] for row in done.rows] == ["converged", "converged"]


def test_a_record_is_read_from_fitted_estimators():
    X = np.random.default_rng(0).normal(size=(30, 2))
    good = DerivativeLasso(alpha=0.1).fit(X, X[:, 0])
    with pytest.warns(ConvergenceWarning):
        cut = DerivativeLasso(alpha=0.01, max_iter=1, tol=1e-9).fit(X, X[:, 0] ** 2)
    assert running.record_of(good)["status"] == "converged"
    both = running.record_of(good, cut)
    assert both["status"] == "capped"
    assert both["iterations"] == good.n_iter_ + cut.n_iter_
    assert float(both["gap"]) == pytest.approx(cut.relative_gap_, rel=0.05)
    assert both["solver"] == "dual"


def test_an_interrupt_that_estimators_take_for_their_own_ends_the_run(tmp_path):
    pressed = [1]

    def run(repeats, seed):
        if seed in pressed:
            with suppress(KeyboardInterrupt):  # as solvers do: they return what they have
                signal.raise_signal(signal.SIGINT)
        yield {"draw": seed, "method": "new", "error": 0.1}

    experiment = replace(counted()[0], run=run)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        reproduce(experiment, tmp_path)
    assert signal.getsignal(signal.SIGINT) is before
    assert stored(tmp_path / "counted.csv") == [(0, "new")]
    pressed.clear()
    reproduce(experiment, tmp_path)
    assert stored(tmp_path / "counted.csv") == [(0, "new"), (1, "new"), (2, "new")]


def test_rows_of_other_settings_are_named_and_refused(tmp_path):
    experiment, _ = counted()
    before = replace(experiment, settings={"grid": np.array([1.0, 2.0])})
    reproduce(before, tmp_path)
    same = replace(experiment, settings={"grid": np.array([1.0, 2.0])})
    assert reproduce(same, tmp_path).rows
    today = replace(experiment, settings={"grid": np.array([1.0, 2.5])})
    with pytest.raises(InvalidDataError, match=r"6 of 6 rows .* 0 old; 0 new; .*--drop-stale"):
        reproduce(today, tmp_path)
    rows = running.Store(tmp_path / "counted", before).rows
    with pytest.raises(InvalidDataError, match="other settings"):
        running.written(today, tmp_path / "counted", rows)
    again, computed = counted()
    again = replace(again, settings=today.settings)
    assert not again.stale(reproduce(again, tmp_path, drop_stale=True).rows)
    assert len(computed) == 6


def test_settings_of_one_method_leave_the_others_alone(tmp_path):
    experiment, _ = counted()
    reproduce(experiment, tmp_path)
    changed = replace(experiment, by_method={"new": {"steps": 3}})
    assert changed.stale(running.Store(tmp_path / "counted", changed).rows) == [
        "0 new",
        "1 new",
        "2 new",
    ]


def test_counts_and_lists_of_a_unit_say_which_rows_and_numbers_say_how():
    experiment, _ = counted()
    few, more = {"repeats": 1, "n_train": (30,)}, {"repeats": 9, "seed": 3, "n_train": (30, 50)}
    assert experiment.digest(few, "old") == experiment.digest(more, "old")
    assert experiment.digest({"n_samples": 50}, "old") != experiment.digest({}, "old")
    with pytest.raises(InvalidParameterError, match="print the same in every run"):
        replace(experiment, settings={"solver": object()}).digest({}, "old")


def test_the_default_call_can_be_left_for_later(tmp_path):
    experiment, _ = counted()

    def run(done):
        for method in ("old", running.DEFAULT):
            if ("0", method) not in done:
                yield {"draw": 0, "method": method, "error": 0.0}

    experiment = replace(experiment, run=run, units=[{}])
    reproduce(experiment, tmp_path, default=False)
    assert stored(tmp_path / "counted.csv") == [(0, "old")]
    reproduce(experiment, tmp_path)
    assert stored(tmp_path / "counted.csv") == [(0, "old"), (0, running.DEFAULT)]


@pytest.mark.parametrize("name", ["sgl_table_1"])
def test_a_quick_run(name, tmp_path):
    done = reproduce(EXPERIMENTS[name], tmp_path, quick=True)
    assert done.rows
    assert Path(done.written["figure"]).stat().st_size > 1000
    assert "|---|" in done.markdown


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_quick_run(name, tmp_path):
    try:
        done = reproduce(EXPERIMENTS[name], tmp_path, quick=True)
    except DataUnavailableError as error:
        pytest.skip(str(error))
    assert done.rows


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_part_of_the_rows_has_a_table_and_a_figure(name: str) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="needs nablasso[plot]")
    path = RESULTS / f"{name}.csv"
    if not path.exists():
        pytest.skip(f"no rows of {name} are stored")
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for count in {1, len(rows) // 3 + 1}:
        EXPERIMENTS[name].lines(rows[:count])
    pyplot.close(EXPERIMENTS[name].figure(rows[:1]))
