"""``nablasso density`` and ``nablasso quantiles``."""

import json

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.model_selection import KFold

from nablasso import MultiQuantileRegressorCV, PSDDensityCV, load
from nablasso.cli import findings

CHEAP = {"widths": (1.0,), "weights": (1e-3,), "rank": 30, "tol": 1e-2}


@pytest.fixture(autouse=True)
def cheap(monkeypatch):
    """One candidate instead of the grid."""
    for name, kind in (
        ("PSDDensityCV", PSDDensityCV),
        ("MultiQuantileRegressorCV", MultiQuantileRegressorCV),
    ):

        class Cheap(kind):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, **{**CHEAP, **kwargs})

        Cheap.__name__, Cheap.__module__, Cheap.__qualname__ = name, kind.__module__, name
        monkeypatch.setattr(findings, name, Cheap)


def test_a_density_of_one_column(run, csv, tmp_path):
    out = tmp_path / "density.png"
    outcome = run("density", csv, "curved", "--cv", "2", "--out", out)
    assert (outcome.code, outcome.err) == (0, "")
    assert "The density of curved predicts left-out rows " in " ".join(outcome.out.split())
    assert out.read_bytes().startswith(b"\x89PNG")
    path = tmp_path / "density.skops"
    content = json.loads(run("density", csv, "curved", "--cv", "2", "--json", "--save", path).out)
    shares = [float(share) for share in content["quantiles"]]
    places = list(content["quantiles"].values())
    model = load(path)  # not a fit of our own: two fits agree to their tolerance only
    below = [model.integrate([[-np.inf, x]]) for x in places]
    np.testing.assert_allclose(below, shares, atol=1e-4)  # the closed form cancels ten digits
    assert content["held_out_log_likelihood"] == pytest.approx(model.best_score_)


def test_each_left_out_row_of_a_normal_counts_once(run, tmp_path, monkeypatch):
    monkeypatch.setattr(findings, "NORMAL_FOLDS", 5)
    x = np.random.default_rng(0).standard_t(2, size=23)  # folds of five and of four
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "\n".join(map(repr, x.tolist())), encoding="utf-8")
    content = json.loads(run("density", path, "x", "--cv", "2", "--json").out)
    folds = KFold(5, shuffle=True, random_state=0)
    logs = [norm(x[train].mean(), x[train].std()).logpdf(x[test]) for train, test in folds.split(x)]
    assert len({len(fold) for fold in logs}) == 2
    assert content["normal_log_likelihood"] == pytest.approx(np.concatenate(logs).mean())


def test_a_density_of_two_columns_has_no_table(run, csv):
    content = json.loads(run("density", csv, "curved", "straight", "--cv", "2", "--json").out)
    assert content["columns"] == ["curved", "straight"]
    assert "quantiles" not in content


def test_quantiles_are_told_drawn_and_saved(run, csv, table, tmp_path):
    out, path = tmp_path / "quantiles.svg", tmp_path / "model.skops"
    options = ("--levels", "0.2,0.8", "--cv", "2", "--along", "straight")
    outcome = run("quantiles", csv, "-t", "y", *options, "--out", out, "--save", path)
    assert (outcome.code, outcome.err) == (0, "")
    assert "2 quantiles of y, never crossing" in " ".join(outcome.out.split())
    assert b"<svg" in out.read_bytes()
    table.head(3).drop(columns="y").to_csv(csv, index=False)
    predicted = run("predict", path, csv).out.splitlines()
    assert predicted[0] == "quantile_0.2,quantile_0.8"
    assert all(float(a) < float(b) for a, b in (line.split(",") for line in predicted[1:]))
    assert "nablasso quantiles draws them" in run("explain", path, csv, "idle").message
    assert load(path).levels == (0.2, 0.8)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["density", "TABLE", "curvd"], "Column 'curvd' is not a column. Did you mean 'curved'?"),
        (["density", "TABLE", "city"], "A density is one of numbers; city"),
        (["density", "TABLE", "fixed"], "Columns fixed are constant"),
        (["density", "TABLE", "idle", "--out", "x.txt"], "A plot is written as"),
        (["quantiles", "TABLE", "-t", "y", "--levels", "many"], "--levels are numbers"),
        (["quantiles", "TABLE", "-t", "city"], "Quantiles are of numbers; 'city' holds classes"),
        (
            ["quantiles", "TABLE", "-t", "y", "--along", "y", "--cv", "2", "--ignore", "city"],
            "--along 'y' is not a column",
        ),
    ],
)
def test_what_has_no_distribution(run, csv, table, arguments, message):
    table.assign(city=["a", "b"] * 20, fixed=1.0).to_csv(csv, index=False)
    outcome = run(*(csv if part == "TABLE" else part for part in arguments))
    assert (outcome.code, outcome.out) == (1, "")
    assert message in outcome.message
