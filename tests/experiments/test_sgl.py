"""The experiments of Ye and Xie (2012) return tidy rows; tiny runs."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import sgl, sgl_leukemia
from experiments.real_tables import RealTable
from nablasso import SparseGradientRegressor
from nablasso.datasets import make_rings, make_turlach
from nablasso.gradients.solvers import ActiveSet


def test_the_number_of_variables_is_reached():
    data = make_turlach(60, random_state=2)
    model = SparseGradientRegressor(**sgl.TURLACH, tol=1e-4)
    for size in (1, 5):
        support, alpha, record = sgl.at_size(data.X, data.y, size, model)
        assert support.sum() == size
        assert alpha > 0
        assert float(record["gap"]) <= 1e-4


def test_twins_that_enter_together_are_told_apart_by_their_norms():
    data = make_turlach(40, 5, random_state=2)
    X = np.hstack([data.X, data.X[:, [1]]])  # a copy enters with its original
    support, _, _ = sgl.at_size(X, data.y, 1, SparseGradientRegressor(**sgl.TURLACH, tol=1e-4))
    assert support.sum() == 1


def test_table_1_has_a_row_per_method():
    rows = list(sgl.table_1(repeats=1, seed=3, columns=("centred", "standardised")))
    assert [row["method"] for row in rows] == [
        "SGL, columns centred",
        "SGL, columns standardised",
        "lasso",
    ]
    assert all(row["n_selected"] == 5 == len(row["selected"].split()) for row in rows)


@pytest.mark.slow
def test_figure_1_has_a_row_per_point_and_variable():
    rows = sgl.figure_1(seed=3)
    assert {row["method"] for row in rows} == {"SGL", "lasso"}
    assert sum(row["method"] == "SGL" for row in rows) == 10 * sgl.POINTS
    assert all(float(row["size"]) >= 0 for row in rows if row["method"] == "SGL")


@pytest.mark.slow
def test_rings_without_much_noise_are_recovered():
    rows = list(sgl.figure_2(repeats=1, seed=3, spreads=(0.1,)))
    assert [row["method"] for row in rows] == [
        "SGL",
        "SGL, x.y",
        "SGL, squared loss",
        "SGL, x.y, adaptive",
        "SGL, x.y, adaptive, two",
        "GL",
        "lasso",
    ]
    assert all(row["exact"] == 1 and row["accuracy"] > 0.95 for row in rows[:5])
    assert [row["n_selected"] for row in rows[5:]] == [200, 2]


def test_recovery_is_judged_by_the_radius_in_the_plane():
    data, test = (make_rings(n, 6, spread=1.0, random_state=n) for n in (40, 100))

    def found(directions):
        return sgl.Found(
            np.ones(6, dtype=bool), np.ones(6), directions, np.ones(2), np.zeros((0, 0)), {}
        )

    assert sgl._rings_seen(found(np.eye(6)[:2]), data, test) == (1.0, 1.0)
    in_plane, accuracy = sgl._rings_seen(found(np.eye(6)[4:]), data, test)
    assert in_plane == 0
    assert accuracy < 0.75


def test_selection_among_the_selected_ends_with_the_number_asked_for():
    data = make_rings(40, 30, spread=2.0, random_state=1000)
    columns = sgl._narrowed(data.X, data.y, 2)
    assert len(columns) >= 2
    assert {0, 1} <= set(columns.tolist())
    again = sgl._narrowed(data.X[:, columns], data.y, 2)
    assert again.tolist() == list(range(len(columns)))


def tiny_leukemia(n: int = 14, p: int = 12):
    rng = np.random.default_rng(0)
    y = np.where(rng.permutation(2 * n) < n, 1.0, -1.0)
    X = rng.normal(size=(2 * n, p))
    X[:, 0] += 3 * y
    return X[:n], y[:n], X[n:], y[n:]


def test_table_2_chooses_one_alpha_per_form_and_limit_by_left_out_rows():
    form = "regression, 1 + x.y"
    rows = list(
        sgl_leukemia.table_2(
            tiny_leukemia(), fractions=(0.9, 0.4), methods=(form, "lasso", "all genes", "GL")
        )
    )
    sparse = [row for row in rows if row["method"].startswith("SGL")]
    assert [(row["fraction"], row["C"]) for row in sparse] == [
        *((0.9, 1.0), (0.4, 1.0)),
        *((0.9, 100.0), (0.4, 100.0)),
    ]
    for own in (sparse[:2], sparse[2:]):
        (chosen,) = (row for row in own if row["chosen"] in ("nested", "both"))
        (given,) = (row for row in own if row["chosen"] in ("given", "both"))
        assert given["loo_given"] == min(row["loo_given"] for row in own)
        assert chosen["loo_errors"] == min(row["loo_errors"] for row in own)
        assert chosen["loo_errors"] <= 1
        assert chosen["direction_loo_errors"] <= 2
    lasso = [row for row in rows if row["method"] == "lasso" and row["C"] == 1.0]
    assert lasso[0]["n_genes"] == 1
    assert [row["n_genes"] for row in lasso] == sorted(row["n_genes"] for row in lasso)
    assert {row["chosen"] for row in lasso} - {""} in ({"both"}, {"given", "nested"})
    assert min(row["loo_errors"] for row in lasso) <= 1
    alone = [row for row in rows if row["chosen"] == "only"]
    assert [(row["method"], row["n_genes"]) for row in alone] == [
        *[("support vector machine on all genes", 12)] * 2,
        *[("GL, six directions", 12)] * 2,
    ]
    assert {tuple(sgl_leukemia._blank("", 1.0))} == {
        tuple(name for name in row if name in sgl_leukemia._blank("", 1.0)) for row in rows
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # stopped on purpose
def test_iterates_end_at_the_minimiser():
    rows = list(sgl_leukemia.iterates(tiny_leukemia(), ("regression, x.y",), (1, 3, 200)))
    assert [row["iteration"] for row in rows] == [1, 3, 200, "optimum"]
    excess = [float(row["excess"]) for row in rows]
    assert excess[0] > excess[1] > excess[2]
    assert abs(excess[2]) < 1e-4
    assert excess[3] == 0
    assert rows[2]["n_genes"] == rows[3]["n_genes"]
    assert [row["iterations"] for row in rows[:3]] == [1, 3, 200]
    assert all(row["test_C1"] <= 14 for row in rows)


def test_symmetry_makes_second_derivatives_symmetric():
    rows = list(sgl.symmetry(repeats=1, n_samples=40))
    assert [row["mu"] for row in rows] == list(sgl.SYMMETRIC)
    assert all(row["n_selected"] == 5 and row["status"] == "converged" for row in rows)
    odd = [row["asymmetry"] for row in rows]
    assert odd[0] > odd[1] > odd[2]
    assert odd[2] < 0.05


def test_without_a_weight_the_symmetric_problem_is_that_of_the_library():
    data = make_turlach(40, random_state=1)
    learner = sgl._affine_learner(data)
    problem = learner.problems[0].with_alpha(0.3 * learner.alpha_max)
    slopes = sgl._second_derivatives(learner.data)
    B, _, status = sgl._penalised(problem, slopes, 0.0, np.zeros((10, problem.phi.shape[1])))
    best = ActiveSet(1e-9).solve(problem).primal
    z = problem.predictions(problem.X, B, np.zeros(B.shape[1]))
    value = problem.smooth_value(z, np.zeros(B.shape[1])) + problem.penalty.value(B)
    assert status == "converged"
    assert value == pytest.approx(best, rel=1e-6)


def test_genes_have_unit_length_and_test_rows_the_same_scale():
    X, _, new, _ = tiny_leukemia()
    X[:, 3] = 2.0
    Z, Z_new = sgl_leukemia.unit_length(X, new)
    np.testing.assert_allclose(np.linalg.norm(np.delete(Z, 3, axis=1), axis=0), 1)
    assert not Z[:, 3].any()
    assert not Z_new[:, 3].any()
    slope = (Z_new[1, 0] - Z_new[0, 0]) / (new[1, 0] - new[0, 0])
    assert slope == pytest.approx(1 / np.linalg.norm(X[:, 0] - X[:, 0].mean()))


def test_leukemia_is_divided_by_its_split():
    genes = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    kinds, train = np.array(["ALL", "AML", "AML"]), np.array([True, False, True])
    table = RealTable(genes, kinds, ("g1", "g2"), "leukemia", "", "a file", train)
    X, y, X_test, y_test = sgl_leukemia.divided(table)
    assert (X.tolist(), y.tolist()) == ([[1, 2], [5, 6]], [1, -1])
    assert (X_test.tolist(), y_test.tolist()) == ([[3, 4]], [-1])
