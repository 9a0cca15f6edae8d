"""The search on many rows: what it finds, and what must not change it."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from nablasso.errors import InvalidDataError
from nablasso.rules import Rules
from nablasso.search import growth
from nablasso.search.grown import grow
from nablasso.streaming.sources import Arrays


def smooth(n: int = 600, d: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """y of columns 1 (bent), 4 and 7 (a product, 4 also alone)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(1.5 * X[:, 1]) + 0.8 * X[:, 4] * X[:, 7] + 0.5 * X[:, 4]
    return X, f / f.std(), rng.normal(size=n)


def test_columns_and_their_pair_are_found_and_predict():
    X, f, noise = smooth()
    found = grow(Arrays(X, f + 0.4 * noise))
    assert found.columns == (1, 4, 7)
    assert (4, 7) in found.terms
    assert min(found.gain.values()) > 5
    assert found.loss == "squares"
    deviation = np.sqrt(found.model.noise.dispersion) * found.state.response.scale
    assert deviation == pytest.approx(0.4, rel=0.15)
    new, truth, _ = smooth(seed=1)
    assert np.std(found.predict(new) - truth) < 0.25
    G = found.gradients(new)
    assert np.corrcoef(G[:, 1], np.cos(1.5 * new[:, 1]))[0, 1] > 0.9
    assert (G[:, [0, 2, 3]] == 0).all()


def test_predictions_stay_near_what_was_seen():
    X, f, noise = smooth()
    y = f + 0.4 * noise
    far = grow(Arrays(X, y)).predict(np.random.default_rng(1).normal(size=(200, 12)) * 1e6)
    assert np.ptp(far) < 1.5 * np.ptp(y)


@pytest.mark.parametrize("kind", ["normal", "t3", "skewed", "uneven"])
def test_noise_is_silent(kind):
    silent = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, e = rng.normal(size=(400, 10)), rng.normal(size=400)
        y = {
            "normal": e,
            "t3": rng.standard_t(3, size=400),
            "skewed": np.exp(e),
            "uneven": e * np.exp(0.8 * X[:, 0]),
        }[kind]
        silent += not grow(Arrays(X, y)).columns
    assert silent == 5


def test_blocks_threads_and_the_order_of_rows_change_nothing():
    X, f, noise = smooth()
    y = f + noise
    first = grow(Arrays(X, y))
    order = np.random.default_rng(1).permutation(len(y))
    for other in (
        grow(Arrays(X, y, rows=61)),
        grow(Arrays(X, y, rows=250)),
        grow(Arrays(X[order], y[order])),
    ):
        assert other.terms.keys() == first.terms.keys()
        np.testing.assert_allclose(other.predict(X[:50]), first.predict(X[:50]), atol=1e-7)


@pytest.mark.parametrize("key", ["y", "column", "idle column", "label"])
def test_sorted_tables_give_the_answer_of_shuffled_ones(key):
    X, f, noise = smooth()
    y = f + 0.4 * noise
    label = 1.0 if key == "label" else None
    if key == "label":
        y = (f + 0.2 * noise > 0).astype(float)
    by = {"column": X[:, 1], "idle column": X[:, 0]}.get(key, y)
    order = np.argsort(by, kind="stable")
    a, b = grow(Arrays(X, y), label=label), grow(Arrays(X[order], y[order]), label=label)
    assert a.columns == b.columns == (1, 4, 7)
    assert not b.state.filter
    np.testing.assert_allclose(a.predict(X[:50]), b.predict(X[:50]), atol=1e-6)


def test_a_weight_is_as_many_copies():
    X, f, noise = smooth(300)
    y = f + 0.3 * noise
    times = 1 + (np.arange(300) % 8 == 0)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(300), times))
    a = grow(Arrays(X, y, times.astype(float)))
    b = grow(Arrays(X[rows], y[rows]))
    assert a.terms.keys() == b.terms.keys()
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=1e-6)
    dropped = grow(Arrays(np.vstack([X, X + 9]), np.append(y, y - 9), np.repeat([1.0, 0.0], 300)))
    np.testing.assert_allclose(dropped.predict(X), grow(Arrays(X, y)).predict(X), atol=1e-6)


def test_serial_rows_are_filtered():
    rng = np.random.default_rng(0)
    n = 800
    X, noise = rng.normal(size=(n, 10)), rng.normal(size=n)
    for t in range(1, n):
        X[t] = 0.9 * X[t - 1] + np.sqrt(0.19) * X[t]
        noise[t] = 0.9 * noise[t - 1] + np.sqrt(0.19) * noise[t]
    y = np.sin(1.5 * X[:, 2]) + 0.6 * X[:, 5] + 0.7 * noise
    found = grow(Arrays(X, y))
    assert found.columns == (2, 5)
    assert found.state.filter
    assert len(grow(Arrays(X, y), time=False).columns) > 4
    cut = grow(Arrays(X, y, rows=77))
    np.testing.assert_allclose(cut.predict(X), found.predict(X), atol=1e-6)


def test_what_is_asked_for():
    X, f, noise = smooth()
    y = f + 0.4 * noise
    assert 0 in grow(Arrays(X, y), keep=[0]).columns
    assert len(grow(Arrays(X, y), max_columns=2).columns) == 2


def test_bad_tables_are_refused_or_answered():
    X, f, noise = smooth(60)
    with pytest.raises(InvalidDataError, match=r"NaN: row 3 .*the target"):
        grow(Arrays(X, np.where(np.arange(60) == 3, np.nan, f)))
    with pytest.raises(InvalidDataError, match="5 distinct rows"):
        grow(Arrays(X[:2], f[:2]))
    with pytest.raises(InvalidDataError, match="as many rows"):
        Arrays(X, f[:-1])
    assert grow(Arrays(X, np.ones(60))).columns == ()
    assert grow(Arrays(np.ones((60, 3)), f)).columns == ()
    copies = np.repeat(X[:, :1], 5, axis=1)
    assert len(grow(Arrays(copies, X[:, 0] + 0.1 * noise[:60])).columns) == 1
    wild = np.where(np.arange(60) == 3, 1e12, f)
    assert np.isfinite(grow(Arrays(X, wild)).predict(X)).all()


def response_of(kind: str, f: np.ndarray, noise: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(3)
    if kind == "outliers":
        return f + 0.4 * noise + 20 * rng.normal(size=len(f)) * (rng.random(len(f)) < 0.03)
    if kind == "counts":
        return rng.poisson(np.exp(0.5 + 0.7 * f)).astype(float)
    if kind == "positive":
        return np.exp(f + 0.5 * noise)
    return (rng.random(len(f)) < 1 / (1 + np.exp(-3 * f))).astype(float)


@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        ("outliers", "tukey"),
        ("counts", "counts"),
        ("positive", "log squares"),
        ("labels", "labels"),
    ],
)
def test_each_loss_finds_its_columns(kind, loss):
    X, f, noise = smooth(1000)
    y = response_of(kind, f, noise)
    found = grow(Arrays(X, y), label=1.0 if kind == "labels" else None)
    assert found.columns == (1, 4, 7)
    assert found.loss == loss
    assert found.reason
    truth = {
        "outliers": f,
        "counts": np.exp(0.5 + 0.7 * f),
        "positive": np.exp(f + 0.125),
        "labels": 1 / (1 + np.exp(-3 * f)),
    }[kind]
    assert np.std(found.predict(X) - truth) < 0.4 * np.std(truth)
    assert found.predict(X).mean() == pytest.approx(truth.mean(), rel=0.1, abs=0.1)


def test_labels_need_two_classes():
    X, _, _ = smooth(1000)
    with pytest.raises(InvalidDataError, match="two classes"):
        grow(Arrays(X, np.zeros(1000)), label=1.0)


def test_a_pure_triple_is_found():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(800, 9)).astype(float)
    y = np.where(rng.random(800) < 0.15, 1.0, 0.0)
    y = np.abs(y - X[:, [2, 5, 6]].sum(axis=1) % 2)
    found = grow(Arrays(X, y), label=1.0)
    assert found.columns == (2, 5, 6)
    assert (2, 5, 6) in found.terms


SUITE = Path(os.environ.get("NABLASSO_SUITES", "suites")) / "gametes_boolean"


@pytest.mark.skipif(not SUITE.is_dir(), reason="NABLASSO_SUITES names no folder of public suites")
@pytest.mark.parametrize(
    ("name", "relevant"),
    [
        ("GAMETES_Epistasis_3_Way_20atts_0.2H_EDM_1_1", {"P1", "P2", "P3"}),
        ("GAMETES_Epistasis_2_Way_20atts_0.1H_EDM_1_1", {"P1", "P2"}),
        (
            "GAMETES_Heterogeneity_20atts_1600_Het_0.4_0.2_50_EDM_2_001",
            {"M0P0", "M0P1", "M1P0", "M1P1"},
        ),
    ],
)
def test_public_epistasis_tables_as_they_come_sorted_by_the_target(name, relevant):
    with gzip.open(SUITE / f"{name}.csv.gz", "rt") as file:
        header, *rows = csv.reader(file)
    values = np.array(rows, dtype=float)
    at = header.index("target")
    names = [h for h in header if h != "target"]
    found = grow(Arrays(np.delete(values, at, axis=1), values[:, at]), label=1.0)
    assert {names[j] for j in found.columns} == relevant


def test_the_certificate_confirms_columns_one_by_one():
    X, f, noise = smooth(3000)
    found = grow(Arrays(X, f + 0.3 * noise), certificate=True)
    assert found.certificate.holds
    assert found.certified == frozenset(range(X.shape[1]))
    wide = grow(Arrays(X[:, :1], noise), certificate=True)
    assert wide.certificate.closed
    assert grow(Arrays(X, noise)).certified is None


def neighbours(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """y of columns 2, 5, 7 and 10, each correlated .9 with the next."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 12))
    for j in range(1, 12):
        X[:, j] = 0.9 * X[:, j - 1] + np.sqrt(0.19) * X[:, j]
    f = X[:, 2] + np.sin(2 * X[:, 5]) + X[:, 7] * X[:, 10]
    return X, f + 0.7 * f.std() * rng.normal(size=600)


@pytest.mark.parametrize("seed", [2, 8])
def test_a_column_takes_the_place_of_its_neighbour(seed):
    source = Arrays(*neighbours(seed))
    assert grow(source).columns == (2, 5, 7, 10)
    assert grow(source, rules=Rules(relative=np.inf)).columns != (2, 5, 7, 10)


@pytest.mark.parametrize("seed", [4, 6, 27])  # of forty: those in which trials let one in
def test_weights_that_follow_a_term_do_not_judge_it(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1000, 10))
    for j in range(1, 10):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    y = X[:, 0] ** 3 + X[:, 1] ** 3 + 0.1 * rng.standard_normal(1000)
    found = grow(Arrays(X, y))
    assert found.state.response.bounded  # what few functions miss of the cubes looks like outliers
    assert found.columns == (0, 1)


def test_rows_left_out_are_those_of_a_fit_without_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=300)
    weights = rng.uniform(0.5, 2.0, 300)
    found = grow(Arrays(X, y, weights))
    some = np.arange(40)
    Z, response = found.rows(X[some]), found.state.response
    inverse = np.linalg.inv(found.model.P)
    C = inverse - (Z * weights[some, None]).T @ Z
    c = inverse @ found.state.coefficients - Z.T @ (weights[some] * response.target(y[some]))
    expected = response.prediction(Z @ np.linalg.solve(C, c))
    found_out = found.left_out(X[some], y[some], weights[some])
    np.testing.assert_allclose(found_out, expected)
    seen = np.mean((y[some] - found.predict(X[some])) ** 2)
    assert np.mean((y[some] - found_out) ** 2) > seen


def test_a_wide_model_takes_in_columns_but_no_more_functions_of_those_it_has(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 6))
    y = X[:, 0] * X[:, 1] + np.sin(6 * X[:, 2]) + 0.5 * X[:, 3]
    y += 0.2 * rng.normal(size=len(y))
    whole = grow(Arrays(X, y))
    monkeypatch.setattr(growth, "WIDEST", 40)
    narrow = grow(Arrays(X, y))
    assert narrow.columns == whole.columns == (0, 1, 2, 3)
    assert narrow.state.design.width < whole.state.design.width
