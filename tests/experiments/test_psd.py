"""The PSD experiments: what they draw is what they say, and tiny runs give tidy rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from experiments.psd import (
    LEVELS,
    absolute_mass,
    boosting,
    bow_tie_quantiles,
    crossings,
    densities,
    figure_2,
    figure_3_points,
    heteroscedastic,
    heteroscedastic_curves,
    make_two_bumps,
    pinball,
    quantile_curves,
    quantiles,
    two_bumps_log_density,
)
from nablasso.datasets import load_boston, make_bow_tie
from nablasso.datasets.uneven_noise import bow_tie_deviation
from nablasso.exceptions import DataUnavailableError


def test_two_bumps_have_the_density_that_is_stated():
    mass = quad(lambda x: float(np.exp(two_bumps_log_density(np.array([[x]]))[0])), -8, 8)[0]
    assert np.isclose(mass, 1)
    X = make_two_bumps(100_000, 2, np.random.default_rng(0))
    assert np.allclose(X.var(axis=0), [4 + 0.3989, 0.3989], rtol=0.02)
    assert abs(X.mean()) < 0.02
    mass = absolute_mass(lambda Z: np.exp(two_bumps_log_density(Z)), 3, np.random.default_rng(1))
    assert abs(mass - 1) < 0.01


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
    assert by["wide", "ncm"] > 0.1
    assert by["wide", "psd"] < 0.02
    assert by["printed", "ncm"] < 0.02


@pytest.mark.slow
def test_densities_have_a_row_per_model():
    rows = list(densities(n_samples=40, repeats=1, n_test=500))
    names = [row["model"] for row in rows]
    assert names == ["psd", "pnm", "glm", "ncm", "kernel density", "gaussian mixture"]
    by = {row["model"]: row for row in rows}
    assert all(by[m]["negative_box"] == 0 for m in ("psd", "glm", "ncm"))
    assert abs(by["psd"]["mass"] - 1) < 0.02
    assert by["pnm"]["mass"] > 1 - 0.02
    # nothing that is a density beats the truth by more than the test rows' own error
    assert all(row["proper"] < row["truth"] + 0.1 for row in rows)


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
        load_boston()
    except DataUnavailableError as error:
        pytest.skip(str(error))
    rows = list(boosting(names=("boston",), splits=1, n_train=60))
    assert [row["method"] for row in rows] == ["psd", "boosting"]
    assert rows[0]["crossed"] == 0
    assert all(0 < row["pinball"] < 1 for row in rows)
