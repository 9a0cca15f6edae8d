"""The runner of the suites: its judge is right, its rows survive, its contestants answer."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance

from benchmarks import n95, run
from benchmarks.contest import Answer, Contestant, Question
from benchmarks.contestants import CONTESTANTS
from benchmarks.contestants.dictionary import dictionary, largest_coefficient, mcp
from benchmarks.contestants.permutation import importance
from benchmarks.contestants.ranking import KERNELS, RIDGES, Ridge, Scaler, answer_from_order, sizes
from benchmarks.judge import rmse
from benchmarks.measure import COLUMNS, KEY, measure
from benchmarks.measure import Task as AnyTask
from benchmarks.memory import peak_above
from benchmarks.store import RowStore
from benchmarks.suites import generators as own
from benchmarks.suites.selection import SUITE, TARGETED

PROBLEMS = SUITE.problems()
CHEAP = ("oracle_refit", "dictionary_lasso", "dictionary_mcp", "greedy", "lasso")


def Task(*words):
    return AnyTask("selection", *words)


# --- problems ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_a_seed_fixes_the_rows_and_the_test_rows_ignore_n(name):
    problem = PROBLEMS[name]
    n = problem.rows[0]
    one, again, other = problem.draw(n, 3), problem.draw(n, 3), problem.draw(n, 4)
    assert one.X.shape[0] == n
    assert one.X_test.shape == (1000, one.X.shape[1])
    np.testing.assert_array_equal(one.y, again.y)
    np.testing.assert_array_equal(one.y_test, again.y_test)
    np.testing.assert_array_equal(one.X_test, problem.draw(2 * n, 3).X_test)
    assert not np.array_equal(one.X, other.X)
    assert problem.task == "regression" or set(np.unique(one.y)) == {0.0, 1.0}
    assert set(problem.targets) <= set(problem.rows)


def test_the_targets_are_those_that_were_set():
    assert set(TARGETED) >= {"radial", "E3", "H1_128", "rings", "friedman1"}
    assert PROBLEMS["additive"].targets[100].exact == 0.85
    assert PROBLEMS["E3"].targets[110].tanimoto == 0.15


def test_friedman_inputs_and_functions_agree_with_scikit_learn():
    from sklearn.datasets import make_friedman2, make_friedman3

    for make, function in (
        (make_friedman2, own.friedman2_function),
        (make_friedman3, own.friedman3_function),
    ):
        X, y = make(50, noise=0.0, random_state=0)
        np.testing.assert_allclose(function(X), y)
    X = PROBLEMS["friedman2"].draw(500, 0).X
    reference = make_friedman2(500, random_state=0)[0]
    np.testing.assert_allclose(X[:, :4].mean(axis=0), reference.mean(axis=0), rtol=0.15)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("friedman2", own.friedman2_function),
        ("friedman3", own.friedman3_function),
        ("xor", own.xor_function),
        ("sine_ridge", own.sine_ridge_function),
        ("autoregressive", own.autoregressive_function),
        ("step", own.step_function),
        ("linear", own.linear_function),
        ("all_relevant", own.all_relevant_function),
        ("wide", own.wide_function),
    ],
)
def test_the_stated_support_is_what_the_function_depends_on(name, function):
    draw = PROBLEMS[name].draw(100, 0)
    X, truth = draw.X_test, draw.support.copy()
    np.testing.assert_array_equal(function(X), draw.noise_free)
    moved = np.zeros(X.shape[1], dtype=bool)
    for a in range(X.shape[1]):
        other = X.copy()
        other[:, a] = X[::-1, a]
        moved[a] = not np.array_equal(function(other), draw.noise_free)
    truth[list(PROBLEMS[name].indifferent)] = True
    np.testing.assert_array_equal(moved, truth)


# --- wrapper and rankers -----------------------------------------------------------------------


def test_the_closed_form_equals_leaving_rows_out():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 2)), rng.standard_normal(12)
    gram = KERNELS[1](X, X)
    closed = Ridge(gram, y)
    eigenvalues = np.linalg.eigvalsh(gram - gram.mean(0) - gram.mean(1)[:, None] + gram.mean())
    ridges = eigenvalues.sum() * RIDGES
    explicit = np.zeros(len(ridges))
    for j, ridge in enumerate(ridges):
        for i in range(12):
            rest = np.arange(12) != i
            bordered = np.ones((12, 12))
            bordered[:11, :11] = gram[np.ix_(rest, rest)] + ridge * np.eye(11)
            bordered[11, 11] = 0
            u, b = np.split(np.linalg.solve(bordered, np.append(y[rest], 0.0)), [11])
            explicit[j] += (y[i] - gram[i, rest] @ u - b[0]) ** 2 / 12
    np.testing.assert_allclose(closed.errors, explicit, rtol=1e-5)
    best = ridges[np.argmin(closed.errors)]
    np.testing.assert_allclose(closed.predict(gram) + best * closed.u, y, atol=1e-8)


def test_the_wrapper_takes_the_columns_that_predict():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 6))
    question = Question(X, X[:, 2] * X[:, 4] + 0.05 * rng.standard_normal(80))
    answer = answer_from_order(question, np.array([4, 2, 0, 1, 3, 5]))
    assert np.flatnonzero(answer.support).tolist() == [2, 4]
    assert rmse(answer.predict(X), question.y) < 0.2
    assert sizes(40) == [*range(16), 30, 40]
    assert sizes(0) == [0]


def test_cells_without_a_value_stand_at_the_mean():
    X = np.array([[1.0, 4.0], [3.0, np.nan], [5.0, 8.0]])
    np.testing.assert_allclose(Scaler.of(X)(X)[1], [0, 0])
    np.testing.assert_allclose(Scaler.of(X)(X)[:, 1], [-1, 0, 1])


@pytest.mark.parametrize("name", ["kernel_ridge", "gaussian_process_native"])
def test_who_regresses_tells_three_classes_apart(name):
    X = np.random.default_rng(4).uniform(-1, 1, (90, 2))
    y = (X[:, 0] > -0.3).astype(float) + (X[:, 0] > 0.3)
    answer = CONTESTANTS[name].fit(Question(X, y, "classification"))
    assert (answer.predict(X) == y).mean() > 0.9


def test_batched_permutation_importance_agrees_with_scikit_learn():
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(150, 4))
    y = 3 * X[:, 1] + X[:, 3] + rng.standard_normal(150)
    model = RandomForestRegressor(20, max_depth=3, random_state=0).fit(X, y)
    ours = importance(model, X, y, rng)
    theirs = permutation_importance(
        model, X, y, scoring="neg_mean_squared_error", n_repeats=20, random_state=0
    ).importances_mean
    np.testing.assert_allclose(ours, theirs, atol=0.15 * theirs.max())
    assert np.argsort(-ours)[:2].tolist() == [1, 3]


def test_mcp_leaves_large_coefficients_unshrunk():
    rng = np.random.default_rng(3)
    Phi = np.linalg.qr(rng.standard_normal((60, 3)) - 0.0)[0] * np.sqrt(60)
    Phi -= Phi.mean(axis=0)
    b = mcp(Phi, Phi @ np.array([5.0, 0.0, 0.0]), penalty=0.5)
    assert b[0] == pytest.approx(5.0, abs=0.05)  # the lasso would give 4.5
    assert abs(b[1]) + abs(b[2]) < 0.05
    features, touches = dictionary(rng.standard_normal((20, 3)))
    assert features.shape == (20, 9)
    scores = largest_coefficient(np.eye(9)[3], touches)  # x1^2
    assert scores[0] == 1.0
    assert np.isinf(scores[1:]).all()


@pytest.mark.parametrize("name", CHEAP)
def test_cheap_contestants_answer(name):
    row = measure(Task(name, "all_relevant", 40, 0))
    assert row["status"] == "ok"
    assert 0 < float(row["rmse"]) < 2
    assert 0 <= row["selected"] <= 5
    assert set(row) == set(COLUMNS)


def test_every_contestant_has_a_name_a_tuning_and_a_reason_when_absent():
    for name, contestant in CONTESTANTS.items():
        assert contestant.name == name
        assert contestant.tuning
        assert contestant.missing() is None or len(contestant.missing()) > 10
    required = {"nablasso", "oracle", "gaussian_process", "forest", "boosting", "xrfm", "mars"}
    assert required <= set(CONTESTANTS)


def test_the_oracle_sees_the_true_columns_only_and_the_mean_when_there_are_none():
    row = measure(Task("oracle_refit", "step", 60, 0))
    assert (row["exact"], row["columns"]) == ("1", "0")
    noise = measure(Task("oracle_refit", "pure_noise", 30, 0))
    assert (noise["exact"], noise["selected"], noise["status"]) == ("1", 0, "ok")


class Broken(Contestant):
    name, tuning = "broken", "none"

    def fit(self, question):
        raise RuntimeError("no\nanswer")


def test_a_failure_is_a_row_and_never_a_success(monkeypatch):
    monkeypatch.setitem(CONTESTANTS, "broken", Broken())
    row = measure(Task("broken", "pure_noise", 20, 0))
    assert row["status"] == "RuntimeError: no answer"
    assert (row["exact"], row["rmse"]) == (0, "inf")


# --- rows and resuming -------------------------------------------------------------------------


class Counting(Contestant):
    name, tuning, version = "counting", "none", "1"
    calls, made_of = 0, "first"

    def source(self):
        return self.made_of

    def fit(self, question):
        type(self).calls += 1
        if type(self).calls in (3, 7):
            raise KeyboardInterrupt
        d = question.X.shape[1]
        return Answer(np.ones(d, dtype=bool), lambda X: np.zeros(len(X)))


@pytest.fixture
def counting(monkeypatch):
    Counting.calls, Counting.version, Counting.made_of = 0, "1", "first"
    monkeypatch.setitem(CONTESTANTS, "counting", Counting())
    return Counting


def arguments(out, *more):
    words = ["selection", "--contestants", "counting", "--problems", "all_relevant", "--rows", "10"]
    return [*words, "--seeds", "0:4", "--jobs", "0", "--out", str(out.parent), *more]


def stored(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_an_interrupted_run_loses_nothing_and_resumes(counting, tmp_path):
    out = tmp_path / "selection.csv"
    with pytest.raises(KeyboardInterrupt):
        run.main(arguments(out))
    assert [row["seed"] for row in stored(out)] == ["0", "1"]
    with out.open("a") as file:
        file.write("counting,1,all_rel")  # a torn line
    run.main(arguments(out))
    assert [row["seed"] for row in stored(out)] == ["0", "1", "2", "3"]
    assert counting.calls == 5
    run.main(arguments(out))
    assert counting.calls == 5
    run.main(arguments(out, "--fresh"))
    assert counting.calls == 5  # all rows are of this source
    counting.version = "2"
    run.main(arguments(out, "--seeds", "0:1"))
    assert (counting.calls, len(stored(out))) == (6, 5)


def test_rows_of_another_source_stay_until_each_is_replaced(counting, tmp_path):
    out = tmp_path / "selection.csv"
    counting.calls = 7
    run.main(arguments(out))
    counting.calls, counting.made_of = 5, "second"
    with pytest.raises(KeyboardInterrupt):
        run.main(arguments(out, "--fresh"))
    assert sorted(row["source"] for row in stored(out)) == ["first"] * 3 + ["second"]
    run.main(arguments(out, "--fresh"))
    assert [row["source"] for row in stored(out)] == ["second"] * 4
    assert counting.calls == 10


def test_who_ran_over_the_limit_is_not_asked_with_more_rows(tmp_path):
    store = run.store_of("selection", tmp_path)
    over = dict.fromkeys(COLUMNS, "") | {"contestant": "forest", "problem": "step", "n": "200"}
    store.append(over | {"status": "over the limit of 5 processor seconds"})
    asked = [("forest", "step", n, 0) for n in (100, 200, 0)]
    asked += [("forest", "xor", 200, 0), ("lasso", "step", 200, 0)]
    left = run.within_reach([Task(*words) for words in asked], store)
    assert [tuple(task[1:4]) for task in left] == [
        ("forest", "step", 100),
        ("forest", "xor", 200),
        ("lasso", "step", 200),
    ]


@pytest.mark.slow  # processes of their own
def test_a_process_out_of_time_or_memory_gives_a_row_and_the_run_goes_on(tmp_path):
    store = run.store_of("selection", tmp_path)
    run.fill(store, [Task("lasso", "step", n, 0) for n in (3_000_000, 60)], jobs=1, gib=1.0)
    run.fill(store, [Task("lasso", "xor", 60, 0)], jobs=1, limit=0.0)
    memory, answered, time = (row["status"] for row in store.rows)
    assert "MemoryError" in memory
    assert answered == "ok"
    assert time == "over the limit of 0 processor seconds"


def test_columns_that_came_later_are_empty_in_older_rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    store = RowStore(path, ("a", "b", "c"), ("a",))
    assert store.rows == [{"a": "1", "b": "2", "c": ""}]
    store.append({"a": 3, "b": 4, "c": 5})
    assert path.read_text() == "a,b,c\n1,2,\n3,4,5\n"


def test_peak_memory_is_that_of_the_block():
    with peak_above() as peak:
        assert np.ones(40 << 17).sum() > 0  # 40 MiB
    if peak.mib is None:
        pytest.skip("the system does not tell")
    assert 35 < peak.mib < 120
    with peak_above() as peak:
        pass
    assert peak.mib < 20


def test_a_store_with_other_columns_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has the columns a, b; expected"):
        RowStore(path, COLUMNS, KEY)


def test_names_and_seeds_on_the_command_line(tmp_path, capsys):
    assert run.seed_range("3:7") == range(3, 7)
    assert run.seed_range("5") == range(5)
    with pytest.raises(SystemExit):
        run.main(["selection", "--contestants", "nobody", "--out", str(tmp_path)])
    assert "unknown: nobody" in capsys.readouterr().err


# --- rows needed ------------------------------------------------------------------------------


@pytest.mark.parametrize(("needed", "first"), [(73, 80), (73, 20), (300, 80), (20, 80), (21, 80)])
def test_the_search_brackets_the_number_of_rows(needed, first):
    tried = []

    def reached(n):
        tried.append(n)
        return n >= needed

    found, short = n95.search(reached, first, 20, 640)
    assert short < needed <= found
    assert found - short <= max(4, 0.05 * found + 1)
    assert len(set(tried)) == len(tried) < 12


def test_the_search_gives_up_above_the_largest():
    assert n95.search(lambda n: False, 80, 20, 640) == (None, 640)


def test_a_probe_stops_when_its_outcome_is_certain():
    assert n95.probe(lambda seed: True, range(40)) == (38, 38, True)
    assert n95.probe(lambda seed: False, range(40)) == (0, 3, False)
    assert n95.probe(lambda seed: seed > 1, range(40), full=True) == (38, 40, True)


def test_the_page_of_n95_shows_answers_and_curves():
    answers = [
        dict(zip(n95.ANSWER, ("nablasso", "radial", "40", "38", "20", "0.95"), strict=True)),
        dict(zip(n95.ANSWER, ("mars", "E1", "over 320", "320", "20", "0.95"), strict=True)),
    ]
    curves = [
        dict(zip(n95.CURVE, ("nablasso", "radial", "100", "19", "19", "True"), strict=True)),
        dict(zip(n95.CURVE, ("nablasso", "radial", "38", "5", "7", "False"), strict=True)),
    ]
    lines = n95.page(answers, curves).splitlines()
    assert "| radial | **40** (38); 38: 5/7, 100: 19/19 | - |" in lines
    assert "| E1 | - | **over 320** (320);  |" in lines


def test_rows_needed_are_stored_and_never_measured_twice(monkeypatch, tmp_path, capsys):
    calls = []

    def fake(task):
        calls.append(task)
        keys = dict(zip(KEY, task.key, strict=True))
        return dict.fromkeys(COLUMNS, "") | keys | {"exact": int(task.n >= 30)}

    monkeypatch.setattr(n95, "measure", fake)
    words = ["--contestant", "forest", "--problems", "step", "--seeds", "4"]
    words += ["--out", str(tmp_path / "rows.csv")]
    n95.main(words)
    first = len(calls)
    n95.main(words)
    assert len(calls) == first
    (answer,) = stored(tmp_path / "n95.csv")
    assert int(answer["not_enough"]) < 30 <= int(answer["n95"]) <= 34
    curve = [int(row["n"]) for row in stored(tmp_path / "n95_curve.csv")]
    assert curve == sorted(curve)
    assert {20, 80} <= set(curve)
    assert "forest step: n95 =" in capsys.readouterr().out


def test_a_problem_may_have_a_test_set_without_noise():
    draw = PROBLEMS["heavy_tails"].draw(30, 0)
    np.testing.assert_array_equal(draw.y_test, draw.noise_free)
    assert not np.array_equal(PROBLEMS["linear"].draw(30, 0).y_test, draw.noise_free)


class Keeping:
    """Stands for the automatic estimators as the contestants call them."""

    def __init__(self, always_keep=(), random_state=None, fdr=None):
        self.always_keep = list(always_keep)

    def fit(self, X, y):
        self.support_ = np.abs(np.corrcoef(X.T, y)[-1, :-1]) > 0.35
        self.support_[self.always_keep] = True
        self.selection_status_ = "clear" if self.support_.any() else "none found"
        self.mean, self.half = y.mean(), 1.645 * y.std()
        return self

    def predict(self, X, return_interval=None):
        centre = np.full(len(X), self.mean)
        if return_interval is None:
            return centre
        return centre, np.column_stack([centre - self.half, centre + self.half])

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_the_library_and_its_oracle_are_asked_by_the_public_interface(monkeypatch):
    import nablasso

    for kind in ("NablassoRegressor", "NablassoClassifier"):
        monkeypatch.setattr(nablasso, kind, Keeping, raising=False)
    row = measure(Task("nablasso", "linear", 100, 0))
    assert (row["status"], row["detail"]) == ("ok", "clear")
    assert 0.8 < float(row["coverage"]) < 0.97
    assert str(row["source"]).startswith("nablasso ")
    row = measure(Task("oracle", "linear", 100, 0))
    assert (row["status"], row["columns"]) == ("ok", "0 1 2 3 4")
    labels = measure(Task("nablasso", "xor_labels", 40, 0))
    assert (labels["status"], labels["auc"]) == ("ok", "0.5")
    assert float(labels["log_loss"]) == pytest.approx(np.log(2), rel=1e-4)
    assert measure(Task("oracle", "pure_noise", 40, 0))["selected"] == 0
