"""The PSD experiments: what they draw is what they say, and tiny runs give tidy rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from experiments.drawn import bow_tie_deviation, make_bow_tie
from experiments.psd import (
    CLOSE,
    MODES,
    absolute_mass,
    densities,
    figure_2,
    figure_3_points,
    solvers,
)
from experiments.psd_regression import (
    LEVELS,
    boosting,
    bow_tie_quantiles,
    crossings,
    heteroscedastic,
    heteroscedastic_curves,
    pinball,
    quantile_curves,
    quantiles,
)
from experiments.real_tables import load_table
from nablasso.datasets.generators import two_modes_log_density
from nablasso.errors import DataUnavailableError


@pytest.mark.parametrize("d", [1, 3])
def test_the_mass_of_a_density_is_one(d):
    def truth(Z):
        return np.exp(two_modes_log_density(Z, **MODES[d == 1]))

    assert absolute_mass(truth, d, np.random.default_rng(1)) == pytest.approx(1, abs=0.01)
    normal = norm(0, 5).pdf  # the base measure
    mass = absolute_mass(lambda Z: normal(Z).prod(axis=1), d, np.random.default_rng(2))
    assert mass == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("task", ["density", "bell"])
def test_the_papers_solvers_find_the_same_objective(task):
    rows = list(solvers(repeats=1, tasks=(task,), n_samples=30))
    assert [row["method"] for row in rows] == ["auto", "fista", "auto", "projected_gradient"]
    assert all(row["status"] == "converged" for row in rows)
    assert all(abs(row["objective"] - row["optimum"]) <= CLOSE for row in rows)


def test_noise_is_what_is_stated():
    rng = np.random.default_rng(2)
    data = make_bow_tie(100_000, random_state=rng)
    X, y = data.X, data.y
    assert not ((X > 1 / 3) & (X < 2 / 3)).any()
    assert np.isclose(bow_tie_deviation(np.array([0.0, 0.5, 1.0])), [1 / 3, 0, 1 / 3]).all()
    below = (y[:, None] < bow_tie_quantiles(X[:, 0])).mean(axis=0)
    assert np.allclose(below, LEVELS, atol=0.01)


def test_pinball_is_the_mean_over_rows_and_levels():
    y, q = np.array([1.0, 2.0]), np.array([[0.0, 3.0], [1.0, 3.0]])
    assert np.isclose(pinball(y, q, (0.1, 0.9)), np.mean([0.1, 0.1, 0.2, 0.1]))


def test_no_mixture_of_wider_bumps_is_the_bell_and_a_mixture_of_narrower_ones_is():
    rows = list(figure_2(n_train=(40,), repeats=1))
    assert len(rows) == 8
    by = {(r["kernel"], r["model"]): r["rmse"] for r in rows if r["tuning"] == "folds"}
    assert by["authors", "ncm"] > 0.05
    assert by["authors", "psd"] < 0.02
    assert by["printed", "ncm"] < 0.02


@pytest.mark.slow
def test_densities_have_a_row_per_model():
    rows = list(densities(n_samples=40, repeats=1, n_test=500))
    names = [row["model"] for row in rows]
    assert names == ["psd", "pnm", "glm", "ncm", "default", "kernel density", "gaussian mixture"]
    by = {row["model"]: row for row in rows}
    assert all(by[m]["negative_box"] == 0 for m in ("psd", "glm", "ncm"))
    assert abs(by["psd"]["mass"] - 1) < 0.02
    assert by["pnm"]["mass"] > 1 - 0.02
    # nothing that is a density beats the truth by more than the test rows' own error
    assert all(row["proper"] < row["truth"] + 0.1 for row in rows if row["model"] != "pnm")


@pytest.mark.slow
def test_figure_3_has_points_of_three_kinds():
    rows = list(figure_3_points(n_samples=40, d=2, n_points=5))
    assert len(rows) == 4 * 3 * 5
    assert {row["kind"] for row in rows} == {"box", "truth", "line"}


@pytest.mark.slow
def test_heteroscedastic_rows_and_curves():
    rows = list(heteroscedastic(n_samples=30, repeats=1, models=("psd",), n_test=200))
    assert rows[0]["held_out"] > rows[0]["truth"] - 0.2
    curves = list(heteroscedastic_curves(n_samples=30, models=("psd",)))
    assert [sum(r["model"] == m for r in curves) for m in ("rows", "truth", "psd")] == [
        30,
        101,
        101,
    ]


@pytest.mark.slow
def test_joint_quantiles_never_cross():
    rows = list(crossings(n_samples=60, repeats=1, n_grid=101))
    assert [row["fit"] for row in rows] == ["joint", "independent"]
    assert rows[0]["crossed"] == 0
    assert rows[0]["deepest"] == 0


@pytest.mark.slow
def test_quantile_rows_and_curves():
    (row,) = quantiles(n_samples=60, repeats=1, models=("psd",))
    assert row["crossed"] == 0
    assert row["pinball"] > row["truth"] - 0.01
    curves = list(quantile_curves(n_samples=60, models=("psd",)))
    assert sum(r["model"] == "psd" for r in curves) == len(LEVELS) * 151


@pytest.mark.slow
def test_boosting_compares_two_methods_on_the_same_rows():
    try:
        load_table("boston")
    except DataUnavailableError as error:
        pytest.skip(str(error))
    rows = list(boosting(names=("boston",), splits=1, n_train=60))
    assert [row["method"] for row in rows] == ["psd", "boosting"]
    assert rows[0]["crossed"] == 0
    assert all(0 < row["pinball"] < 1 for row in rows)
