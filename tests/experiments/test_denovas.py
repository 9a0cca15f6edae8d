"""Rosasco et al. (2013) and Gregorova et al. (2018) next to others: tidy rows, right columns."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from experiments import denovas, nvsd, printed, rivals, tables, two_steps
from experiments.denovas import divided, judged, selection_error
from experiments.real_tables import RealTable
from experiments.rivals import (
    cosso,
    hierarchical_kernels,
    hsic_lasso,
    lasso_on_monomials,
    multiple_kernels,
    sparse_additive,
)
from experiments.running import DEFAULT
from nablasso.datasets import make_additive, make_two_way
from nablasso.kernels import Gaussian


def test_the_selection_error_is_the_mean_of_two_rates():
    true = np.array([True, True, False, False, False, False])
    assert selection_error(np.array([True, False, True, False, False, False]), true) == 0.375
    assert selection_error(true, true) == 0
    assert selection_error(~true, true) == 1
    assert selection_error(np.zeros(6, dtype=bool), true) == 0.5


def test_rows_are_divided_and_in_units_of_the_noise():
    data = make_two_way(100, 6, random_state=0)
    rows = divided(data, 30)
    assert [len(part) for part in (rows.y, rows.y_validation, rows.y_test)] == [30, 30, 40]
    np.testing.assert_allclose(rows.y * data.noise_sd, data.y[:30])


def test_rivals_find_what_they_are_made_for():
    additive = divided(make_additive(1200, 8, random_state=1), 100)
    pairs = divided(make_two_way(1200, 8, random_state=1), 100)
    for rows, fit in (
        (additive, partial(multiple_kernels, degree=2)),
        (pairs, partial(lasso_on_monomials, degree=2)),
        (pairs, partial(hierarchical_kernels, degree=2)),
    ):
        chosen = fit(rows)
        assert chosen.support[:4].all()
        assert np.sqrt(np.mean((chosen.predict(rows.X_test) - rows.y_test) ** 2)) < 2
    wrong = multiple_kernels(pairs, degree=2)
    assert np.sqrt(np.mean((wrong.predict(pairs.X_test) - pairs.y_test) ** 2)) > 10


def test_hsic_lasso_ranks_what_depends_on_y_first():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(160, 6))
    y = np.cos(4 * X[:, 2]) + 0.05 * rng.normal(size=160)
    rows = two_steps.Rows(X[:60], y[:60], X[60:110], y[60:110], X[110:], y[110:])
    chosen = hsic_lasso(rows, Gaussian(), 0.5)
    assert np.flatnonzero(chosen.support).tolist() == [2]
    assert np.mean((chosen.predict(rows.X_test) - rows.y_test) ** 2) < 0.1 * np.var(rows.y_test)


def test_sparse_additive_reaches_its_minimum():
    """Against a general solver, at the penalty in the middle of the path."""
    cvxpy = pytest.importorskip("cvxpy")
    rows = divided(make_additive(240, 5, random_state=1), 60)
    chosen = sparse_additive(rows, Gaussian(), 1.0)
    assert chosen.record["status"] == "converged"
    assert chosen.support[:4].all()
    splines = rivals.Splines(rows.X)
    blocks, y = splines.blocks(rows.X), rows.y - rows.y.mean()
    n, penalty = len(y), 0.2 * max(np.linalg.norm(Q.T @ y) / len(y) for Q in blocks)
    c = [np.zeros(Q.shape[1]) for Q in blocks]
    for _ in range(300):
        rivals._sweep(blocks, y, penalty, c)
    parts = [cvxpy.Variable(Q.shape[1]) for Q in blocks]
    fit = y - sum(Q @ part for Q, part in zip(blocks, parts, strict=True))
    norms = sum(cvxpy.norm(part) for part in parts)
    best = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(fit) / (2 * n) + penalty * norms))
    best.solve(solver="CLARABEL")
    residual = y - sum(Q @ part for Q, part in zip(blocks, c, strict=True))
    reached = residual @ residual / (2 * n) + penalty * sum(map(np.linalg.norm, c))
    assert reached == pytest.approx(best.value, rel=1e-6)
    assert 0 <= rivals._additive_gap(blocks, y, penalty, c) < 1e-6 * (y @ y / (2 * n))


def test_cosso_is_additive():
    additive = divided(make_additive(400, 6, random_state=1), 80)
    chosen = cosso(additive)
    assert chosen.support[:4].all()
    assert np.sqrt(np.mean((chosen.predict(additive.X_test) - additive.y_test) ** 2)) < 4


@pytest.fixture
def without_default(monkeypatch):
    """The default costs seconds: here it is a lasso, and paths are short."""
    monkeypatch.setattr(two_steps, "TAUS", np.array([0.03, 0.3]))
    monkeypatch.setattr(two_steps, "REFINED", 2)
    monkeypatch.setattr(two_steps, "SHARES", (2.0,))
    monkeypatch.setattr(two_steps, "ALPHAS", 3)
    monkeypatch.setattr(two_steps, "RIDGES", np.array([1e-3]))

    def cheap(rows, _):
        return lasso_on_monomials(rows, 1)

    monkeypatch.setattr(denovas, "default", cheap)
    monkeypatch.setattr(nvsd, "default", cheap)


def as_text(rows):
    return [{name: str(value) for name, value in row.items()} for row in rows]


@pytest.mark.usefixtures("without_default")
@pytest.mark.parametrize(
    ("run", "key", "lines"),
    [
        (
            partial(denovas.figure_4, n_train=(30,), nus=(10.0,)),
            denovas.KEY_4,
            tables.denovas_figure_4,
        ),
        (
            partial(denovas.figure_5, dimensions=(10,), relevant=(2,), n_train=(30,)),
            denovas.KEY_5,
            tables.denovas_figure_5,
        ),
        (
            partial(denovas.figure_7, n_train=(20,), degrees=(1,)),
            denovas.KEY_7,
            tables.denovas_figure_7,
        ),
        (partial(denovas.figure_8, terms=(4,)), denovas.KEY_8, tables.denovas_figure_8),
        (
            partial(denovas.figure_9, problems=("2-way",), only=("RLS", DEFAULT)),
            denovas.KEY_9,
            tables.denovas_figure_9,
        ),
    ],
)
def test_figures_have_keyed_rows_and_do_not_repeat_them(run, key, lines):
    rows = as_text(run(repeats=1))
    keys = [tuple(row[name] for name in key) for row in rows]
    assert len(set(keys)) == len(keys) >= 2
    assert [row["method"] for row in rows][-1] == DEFAULT
    again = as_text(run(repeats=1, done=set(keys[1:])))
    assert [{**row, "seconds": ""} for row in again] == [{**rows[0], "seconds": ""}]
    assert all(line.paper or line.default for line in lines(rows))


def test_the_rows_needed_are_those_from_which_on_the_error_stays_low():
    errors = {20: 0.05, 40: 0.3, 60: 0.1, 80: 0.02}
    rows = as_text([{"n": n, "selection_error": e} for n, e in errors.items()])
    assert tables.needed(rows) == "60"
    assert tables.needed(rows[:2]) == "over 40"
    assert tables.needed([]) == ""


@pytest.fixture
def made_table(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=400)
    X[7, 5] = np.nan
    table = RealTable(X, y, tuple("abcdef"), "made", "", "here")
    for module in (denovas, nvsd):
        monkeypatch.setattr(module, "loaded", lambda _: table)
    return table


@pytest.mark.usefixtures("without_default", "made_table")
def test_real_tables_have_a_row_per_method():
    few = ("RLS", "MKL", DEFAULT)
    rows = as_text(denovas.figure_10(1, tables=("stock",), only=few))
    assert [row["method"] for row in rows] == list(few)
    lines = tables.denovas_figure_10(rows)
    assert [line.what for line in lines] == ["stock, RLS", "stock, MKL"]
    rows = as_text(nvsd.real(1, data=("BH",), only=("KRLS", "NVSD(L)", DEFAULT)))
    lines = {line.what: line for line in tables.nvsd_real(printed.TABLE_3)(rows)}
    assert lines["BH, KRLS"].published == "4.00 (1.00)"
    assert lines["BH, NVSD(L)"].published == "3.96 (0.99), 8.2 columns"
    assert "BH, HSIC" not in lines  # not run
    assert "(1.00), 5 columns" in lines["BH, KRLS"].paper
    assert lines["BH, NablassoRegressor"].default


def test_columns_with_missing_values_go_and_classes_become_numbers(made_table):
    rows = denovas.split_table(made_table, 0, 50)
    assert rows.X.shape == (50, 5)
    assert [len(rows.y_validation), len(rows.y_test)] == [50, 300]
    np.testing.assert_allclose(rows.X.mean(axis=0), 0, atol=1e-12)
    kinds = RealTable(made_table.X, np.where(made_table.y > 1, "sky", "path"), (), "", "", "")
    assert set(denovas.split_table(kinds, 0, 50).y) == {-1.0, 1.0}


def test_copies_are_permuted_columns(made_table):
    rows = nvsd.drawn(printed.TABLE_3["EL"], 3)
    y = 1000 * denovas.split_table(made_table, 3, 100).y
    np.testing.assert_allclose(rows.y, y - y.mean())
    both = nvsd.with_copies(rows, 3)
    assert both.X.shape == (100, 10)
    np.testing.assert_array_equal(both.X[:, :5], rows.X)
    np.testing.assert_array_equal(np.sort(both.X[:, 5:], axis=0), np.sort(rows.X, axis=0))
    assert not np.isclose(both.X[:, 5:], rows.X).all(axis=0).any()


def test_judged_rows_name_the_columns_from_one():
    data = make_two_way(560, 5, n_relevant=2, half_width=1.0, random_state=0)
    row = judged(data, 30, lambda rows, _: lasso_on_monomials(rows, 2), 0)
    assert row["selected"].split()[:2] == ["1", "2"]
    assert row["n_selected"] == len(row["selected"].split())
    assert 0.8 < row["rmse"] < 2
