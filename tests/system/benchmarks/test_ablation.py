"""The ablation compares each variant with the rules as they are, on the same draws only."""

from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.ablation import AS_IT_IS, COLUMNS, FIGURES, KEY, measured, page, questions
from benchmarks.problem import Draw, Problem
from benchmarks.store import RowStore
from nablasso.rules import Rules


def linear(n, seed, relevant=(0,)):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = X[:, 0] + 0.2 * rng.normal(size=n)
    return Draw(X, y, X, y, support=np.isin(np.arange(4), relevant))


def unknown(n, seed):
    return replace(linear(n, seed), support=None)


def test_a_fit_is_judged_by_its_columns():
    row = measured(Problem("linear", linear), 60, 0, Rules())
    assert (row["exact"], row["spurious"], row["missed"]) == (1, 0, 0)
    row = measured(Problem("two", partial(linear, relevant=(0, 1))), 60, 0, Rules())
    assert (row["exact"], row["spurious"], row["missed"]) == (0, 0, 1)
    row = measured(Problem("none", partial(linear, relevant=())), 60, 0, Rules())
    assert (row["exact"], row["spurious"], row["missed"]) == (0, 1, 0)
    other = measured(
        Problem("none", partial(linear, relevant=()), indifferent=(0,)), 60, 0, Rules()
    )
    assert other["exact"] == 1


def test_the_page_counts_shared_draws(tmp_path):
    store = RowStore(tmp_path / "ablation.csv", COLUMNS, KEY)
    judged = {"spurious": 0, "missed": 0, "cpu_seconds": "0.5", "error": ""}
    for variant, seed, exact, source in (
        (AS_IT_IS, 3, 1, "older"),
        ("walks on 100 rows", 3, 1, "older"),
        (AS_IT_IS, 1, 1, "newest"),
        ("walks on 100 rows", 1, 0, "newest"),
        ("walks on 100 rows", 2, 1, "newest"),
    ):
        key = dict(zip(KEY, (variant, "selection", "linear", 60, seed), strict=True))
        store.append({**key, "exact": exact, **judged, "source": source})
    lines = page(store).split("\n")
    assert "| walks on 100 rows | 1 | 0.000 | 1.000 | 0.000 | 0.000 | 0.50 |" in lines
    assert "| no copies | 0 | | | | | |" in lines


def test_the_page_compares_errors_on_shared_draws(tmp_path):
    store = RowStore(tmp_path / "ablation.csv", COLUMNS, KEY)
    judged = dict.fromkeys(FIGURES[:3], "") | {"cpu_seconds": "2", "source": "newest"}
    for variant, n, seed, error in (
        (AS_IT_IS, 0, 1, 2.0),
        ("values are never states", 0, 1, 2.0),
        (AS_IT_IS, 0, 2, 1.0),
        ("values are never states", 0, 2, 4.0),
        ("values are never states", 0, 3, 9.0),
    ):
        key = dict(zip(KEY, (variant, "uci", "energy", n, seed), strict=True))
        store.append({**key, **judged, "error": error})
    lines = page(store).split("\n")
    assert "| values are never states | energy | all | 2 | 2.000 | 1.000, 4.000 | 2.00 |" in lines


def test_predictions_are_judged_where_no_columns_are_known():
    row = measured(Problem("unknown", unknown), 60, 0, Rules())
    assert row["exact"] == ""
    assert 0 < float(row["error"]) < 0.5


def test_every_rule_is_asked_about_problems_with_a_known_answer():
    asked = list(questions())
    assert {suite for _, _, suite, _, _ in asked} >= {"selection", "not_ideal", "weak"}
    for _, changes, _, _, _ in asked:
        Rules(**changes)
