"""The suites: the truth that they state is the truth, and files are read as they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks import run
from benchmarks.problem import ALL
from benchmarks.suites import (
    SUITES,
    epistasis,
    feynman,
    not_ideal,
    rffnet,
    simulation,
    srbench,
    tables,
    uci,
)
from benchmarks.suites.weak import signal

GENERATED = ("selection", "noise", "fdr", "not_ideal", "sorted", "weak", "rffnet")


@pytest.fixture
def public(tmp_path, monkeypatch):
    """A folder of public suites that tests fill."""
    monkeypatch.setenv("NABLASSO_SUITES", str(tmp_path))

    def write(folder, table, **columns):
        (tmp_path / folder).mkdir(exist_ok=True)
        pd.DataFrame(columns).to_csv(tmp_path / folder / f"{table}.csv.gz", index=False)

    return write


@pytest.mark.parametrize("name", GENERATED)
def test_generated_draws_have_finite_rows_and_a_mask(name):
    for problem in SUITES[name].problems().values():
        draw = problem.draw(60, 0)
        assert draw.X.shape == (60, len(draw.support))
        assert np.isfinite(draw.X).all()
        assert np.isfinite(draw.y).all()
        np.testing.assert_array_equal(draw.y, problem.draw(60, 0).y)


def test_every_suite_names_contestants_and_quick_problems_that_there_are():
    for suite in SUITES.values():
        assert set(suite.contestants) | set(suite.quick.contestants) <= set(run.CONTESTANTS)
        if suite.missing() is None:
            assert set(suite.quick.problems) <= set(suite.problems())


@pytest.mark.parametrize("name", ["srbench", "tables"])
def test_a_suite_without_its_folder_is_skipped_with_the_reason(name, monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("NABLASSO_SUITES", raising=False)
    monkeypatch.delenv("NABLASSO_DATA", raising=False)
    run.main([name, "--out", str(tmp_path)])
    assert f"skipped the suite {name}: NABLASSO_" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_sorted_rows_are_the_shuffled_ones_in_another_order():
    problems = SUITES["sorted"].problems()
    for ordered, shuffled in (
        ("by_y", "shuffled"),
        ("by_other_column", "shuffled"),
        ("by_group", "groups_shuffled"),
        ("one_class_first", "classes_shuffled"),
    ):
        one, other = problems[ordered].draw(50, 3), problems[shuffled].draw(50, 3)
        np.testing.assert_array_equal(np.sort(one.y), np.sort(other.y))
        np.testing.assert_array_equal(np.sort(one.X, axis=0), np.sort(other.X, axis=0))
    by_y = problems["by_y"].draw(50, 3)
    assert (np.diff(by_y.y) >= 0).all()
    assert (np.diff(problems["one_class_first"].draw(50, 3).y) >= 0).all()
    assert (np.diff(problems["by_other_column"].draw(50, 3).X[:, 9]) >= 0).all()


def test_what_is_not_ideal_is_as_told():
    draws = {p.name: p.draw(4000, 0) for p in SUITES["not_ideal"].problems().values()}
    X = draws["copies"].X
    assert np.corrcoef(X[:, 0], X[:, 4])[0, 1] == pytest.approx(0.95, abs=0.01)
    X = draws["serial"].X
    assert np.corrcoef(X[1:, 3], X[:-1, 3])[0, 1] == pytest.approx(0.9, abs=0.02)
    assert (np.abs(draws["outliers"].y) > 8).mean() == pytest.approx(0.03, abs=0.01)
    assert set(np.unique(draws["classes"].y)) == {0, 1}
    counts = draws["counts"].y
    assert (counts == np.round(counts)).all()
    assert draws["skewed"].y.min() > 0
    assert len(np.unique(draws["discrete"].X)) == 4
    g = not_ideal.function(draws["uneven"].X)
    noise = draws["uneven"].y - g / g.std()
    right = draws["uneven"].X[:, 0] > 0
    assert noise[right].std() > 2 * noise[~right].std()


def test_weak_products_have_no_main_effect_and_effects_decay():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 50))
    base, totals = signal(X), []
    for a in SUITES["weak"].problems()["independent"].draw(10, 0).support.nonzero()[0]:
        other = X.copy()
        other[:, a] = rng.standard_normal(len(X))
        totals.append(np.mean((signal(other) - base) ** 2) / 2)
    assert len(totals) == 12
    assert min(totals) == pytest.approx(0.8 ** (2 * 9), rel=0.1)
    for a in (32, 36, 40, 44):
        assert abs(np.corrcoef(X[:, a], base)[0, 1]) < 0.01
        assert abs(np.corrcoef(X[:, a] ** 2, base)[0, 1]) < 0.01


def test_rffnet_is_judged_on_2000_rows_and_knows_its_columns():
    draw = SUITES["rffnet"].problems()["gse2"].draw(50, 0)
    assert len(draw.y_test) == 2000
    assert draw.support.nonzero()[0].tolist() == [10, 11, 12, 13, 14]
    np.testing.assert_allclose(draw.noise_free, rffnet.gse2(draw.X_test))


def test_formulas_are_evaluated_by_their_names():
    X = np.array([[2.0, 3.0], [1.0, 4.0]])
    np.testing.assert_allclose(
        feynman.evaluated("lambda * sqrt(n) / (2*pi)", ["lambda", "n"], X),
        X[:, 0] * np.sqrt(X[:, 1]) / (2 * np.pi),
    )
    rng = np.random.default_rng(0)
    logs = np.log10(feynman.srsd("DefaultSampling(1e-11, 1e-09, uses_negative=False)")(9000, rng))
    assert (logs.min(), logs.mean(), logs.max()) == pytest.approx((-11, -10, -9), abs=0.02)
    both = feynman.srsd("SimpleSampling(0, np.pi / 2)")(9000, rng)
    assert (both.min(), both.max()) == pytest.approx((-np.pi / 2, np.pi / 2), abs=0.01)
    whole = feynman.srsd("IntegerSampling(-1.0, 2.0)")(9000, rng)
    assert set(whole) == {-1, 0, 1}


def test_dummies_matter_not_and_noise_is_on_training_rows_alone(public):
    formula = {"formula": ["a * b"], "variables": ["x[0] a (float) | x[1] b (float)"]}
    sampling = "DefaultSampling(1, 10, uses_negative=False)"
    public("formulas", "srsd_feynman", name=["f"], sampling=[f"{sampling} | {sampling}"], **formula)
    exact, noisy = (SUITES["dummies"].load()[k].draw(500, 0) for k in (0, 2))
    assert exact.support.tolist() == [True, True, False]
    np.testing.assert_allclose(exact.y, exact.X[:, 0] * exact.X[:, 1])
    np.testing.assert_array_equal(noisy.y_test, exact.y_test)
    share = np.std(noisy.y - exact.y) / exact.y.std()
    assert share == pytest.approx(0.1, rel=0.15)


def test_tables_of_srbench_are_split_standardised_and_know_friedmans_columns(public):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 6))
    columns = {f"oz{a + 1}": X[:, a] for a in range(6)}
    for k, half in ((1, slice(20)), (2, slice(20, 40))):
        part = {name: column[half] for name, column in columns.items()}
        public("srbench_blackbox", f"1_fri_c0_40_6_part{k}", **part, target=(3 * X[:, 0])[half])
    public("srbench_published", "datasets_info", name=["1_fri_c0_40_6"], nsamples=[40])
    (problem,) = srbench.load()
    draw = problem.draw(ALL, problem.seeds[0])
    assert (len(draw.y), len(draw.y_test), len(problem.seeds)) == (30, 10, 10)
    np.testing.assert_allclose([draw.y.mean(), draw.y.std()], [0, 1], atol=1e-12)
    assert draw.support.tolist() == [True] * 5 + [False]


def test_epistasis_keeps_the_order_of_the_file(public):
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, 3, 40) for name in ("N0", "P1", "P2")}
    public("gametes_boolean", "GAMETES_x", **columns, Class=np.repeat([0, 1], 20))
    (problem,) = epistasis.load()
    assert problem.rows == (ALL, 30)
    whole, part = (problem.draw(n, 1) for n in problem.rows)
    assert (len(whole.y), len(whole.y_test)) == (40, 0)
    assert (len(part.y), len(part.y_test)) == (30, 10)
    assert (np.diff(part.y) >= 0).all()
    assert whole.support.tolist() == [False, True, True]


def test_uci_tests_are_the_rows_that_were_fixed(public):
    public("uci_pbp_splits", "yacht", x1=range(5), target=range(5))
    public("uci_pbp_splits", "yacht_test_rows", split=[0, 1], test_rows=["1 3", "0"])
    (problem,) = uci.load()
    assert list(problem.seeds) == [0, 1]
    assert problem.draw(ALL, 0).y_test.tolist() == [1, 3]
    assert problem.draw(ALL, 1).y.tolist() == [1, 2, 3, 4]


def test_a_split_of_a_table_uses_each_row_once_and_depends_on_its_number():
    X, y = np.arange(90.0)[:, None], np.arange(90.0)
    one, again, other = (tables.split(X, y, 60, k) for k in (0, 0, 1))
    np.testing.assert_array_equal(np.sort(np.append(one.y, one.y_test)), y)
    np.testing.assert_array_equal(one.y, again.y)
    assert not np.array_equal(one.y, other.y)
    assert len(tables.split(X, y, ALL, 0).y_test) == 22


def test_no_more_rows_are_asked_of_a_table_than_leave_a_test():
    asked = {task.n for task in run.tasks(SUITES["tables"], ["linear"], ["wpbc_time"])}
    assert asked == {ALL, 100}
    wanted = run.tasks(SUITES["tables"], ["linear"], ["wpbc_time", "airfoil"], rows=[100, 500])
    assert {(task.problem, task.n) for task in wanted} == {
        ("wpbc_time", 100),
        ("airfoil", 100),
        ("airfoil", 500),
    }


def test_inert_is_what_changes_a_simulator_nowhere(monkeypatch):
    monkeypatch.setattr(
        simulation, "function_of", lambda name, d: lambda X: X[:, 0] + 1e-9 * X[:, 2]
    )
    monkeypatch.setattr(simulation, "sample", lambda name, d, n, rng: rng.uniform(size=(n, d + 10)))
    table = pd.DataFrame({"ST": [1.0, 0, 0], "dgsm_times_var_x_over_var_y": [1.0, 0, 0]})
    assert simulation._problem("made_up", table).indifferent == (2,)
