"""Intervals, curves and contributions of a fitted answer."""

import numpy as np
import pytest
from scipy.linalg import null_space

from nablasso import NablassoClassifier, NablassoRegressor, load, save
from nablasso.kernels import Gaussian, Linear
from nablasso.reading.explanation import Explanation
from nablasso.regression.spread import SIZES, Spread
from nablasso.spaces import Function, RepresenterSpace


def rows(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 4))
    return X, 2 * X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def model():
    X, y = rows()
    return NablassoRegressor("polynomial", cv=3).fit(X, y)


def test_shares_are_the_importances_and_add_up(model):
    shares = model.feature_importances_
    assert shares.sum() == pytest.approx(1)
    assert shares.argmax() == 0
    assert shares[3] == 0
    table = model.importances_
    assert list(table["column"]) == ["x0", *sorted(["x1", "x2"], key=lambda c: -shares[int(c[1])])]
    assert list(table["share"]) == sorted(shares[:3], reverse=True)
    for name in ("share", "first_order", "total"):
        low, high = ("low", "high") if name == "share" else (f"{name}_low", f"{name}_high")
        assert (table[low] <= table[name]).all()
        assert (table[name] <= table[high]).all()
    by = dict(zip(table["column"], table["slope"], strict=True))
    assert by["x0"] == pytest.approx(2, rel=0.05)
    assert table["direction"][0] == "rises"
    assert table["direction"][1] == "bends"
    np.testing.assert_allclose(table["of_y"], table["share"] * model.loo_r2_)


def test_pairs_are_those_that_act_together(model):
    (a, b, share), *others = model.interactions_
    assert (a, b) == (1, 2)
    part = np.var(rows()[0][:, 1] * rows()[0][:, 2])
    assert share == pytest.approx(part / (part + np.var(2 * rows()[0][:, 0])), rel=0.4)
    assert all(other[2] < 0.02 for other in others)
    assert model.triples_ == []


def test_a_triple_acts_together_in_the_share_of_its_product():
    X = np.random.default_rng(3).choice([-1.0, 1.0], size=(120, 4))
    model = NablassoRegressor().fit(X, X[:, :3].prod(axis=1) + X[:, 0])
    ((a, b, c, share),) = model.triples_
    assert (a, b, c) == (0, 1, 2)
    assert share == pytest.approx(0.5, abs=0.05)


def test_contributions_add_up_to_the_prediction(model):
    X, _ = rows(30, seed=1)
    table = model.contributions(X)
    assert next(iter(table)) == "bias"
    np.testing.assert_allclose(sum(np.array(table[c]) for c in table), model.predict(X), rtol=1e-9)
    slope = np.polyfit(X[:, 0], table["x0"], 1)[0]
    assert slope == pytest.approx(2, rel=0.05)


def test_curves_lie_in_their_bands_and_have_mean_zero(model):
    table = model.shapes()
    for name in ("x0", "x1", "x2"):
        own = np.array(table["column"]) == name
        x, value, low, high, lowest, highest = (
            np.array(table[c])[own]
            for c in ("x", "value", "low", "high", "low_simultaneous", "high_simultaneous")
        )
        assert (np.diff(x) > 0).all()
        assert (lowest <= low).all()
        assert (low <= value).all()
        assert (value <= high).all()
        assert (high <= highest).all()
        assert abs(np.interp(rows()[0][:, int(name[1])], x, value).mean()) < 0.02
    own = np.array(table["column"]) == "x0"
    slope = np.polyfit(np.array(table["x"])[own], np.array(table["value"])[own], 1)[0]
    assert slope == pytest.approx(2, rel=0.05)


def test_bands_hold_a_known_function():
    inside, everywhere = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, size=(60, 2))
        y = np.sin(3 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=60)
        table = NablassoRegressor("gaussian", cv=3, always_keep=[0, 1]).fit(X, y).shapes()
        own = np.array(table["column"]) == "x0"
        x = np.array(table["x"])[own]
        truth = np.sin(3 * x) - np.mean(np.sin(3 * X[:, 0]))
        ends = {c: np.array(table[c])[own] for c in table if c != "column"}
        within = (ends["low"] <= truth) & (truth <= ends["high"])
        inside.append(within.mean())
        everywhere.append(
            ((ends["low_simultaneous"] <= truth) & (truth <= ends["high_simultaneous"])).all()
        )
    assert np.mean(inside) > 0.8
    assert np.mean(everywhere) > 0.6


def test_draws_have_the_covariance_of_the_posterior():
    """Against dense formulas, mean integrated out, at rows and at centres."""
    rng = np.random.default_rng(6)
    X, C, n = rng.normal(size=(25, 2)), rng.normal(size=(6, 2)), 25
    kernel, r, unit = Gaussian(), 0.3, 1.7
    function = Function(0.0, np.arange(2), RepresenterSpace(kernel, X), np.zeros(n))
    drawn = Spread(r, np.ones(n), unit).draws(function, C, 40_000, seed=0)
    found = np.cov(drawn(C))
    A = kernel(X, X) + r * np.eye(n)
    one, k = np.ones(n), kernel(X, C)
    inverse = np.linalg.inv(A)
    outside = 1 - one @ inverse @ k
    exact = kernel(C, C) - k.T @ inverse @ k + np.outer(outside, outside) / (one @ inverse @ one)
    np.testing.assert_allclose(found, unit * exact, atol=0.03 * unit)


def test_many_rows_are_read_from_their_terms():
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(900, 5))
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=900)
    model = NablassoRegressor().fit(X, y)
    assert model.family_ == "terms"
    assert model.interactions_[0][:2] == (1, 2)
    expected = np.array([4 / 3, 1 / 18, 1 / 18])
    np.testing.assert_allclose(model.feature_importances_[:3], expected / expected.sum(), atol=0.01)
    table = model.importances_
    assert (table["high"] - table["low"] > 1e-3).all()
    low, high = np.array(model.shapes()["low"]), np.array(model.shapes()["high"])
    assert (high > low).all()
    contributions = model.contributions(X[:5])
    total = sum(np.array(contributions[c]) for c in contributions)
    np.testing.assert_allclose(total, model.predict(X[:5]), rtol=1e-9)


def test_classes_share_the_variance_of_their_log_odds():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(150, 3))
    y = np.where(2 * X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=150) > 0, "b", "a")
    model = NablassoClassifier("linear", cv=3).fit(X, y)
    shares = model.feature_importances_
    assert shares.sum() == pytest.approx(1)
    assert shares[0] == pytest.approx(0.8, abs=0.12)
    table = model.contributions(X[:4])
    total = sum(np.array(table[c]) for c in table)
    np.testing.assert_allclose(total, model.decision_function(X[:4]), rtol=1e-8)
    assert set(np.array(model.shapes()["class"])) == {"b"}


def test_a_group_is_one_row_and_pairs_name_its_first_column():
    rng = np.random.default_rng(9)
    code, z = rng.integers(0, 3, size=90), rng.normal(size=90)
    X = np.column_stack([rng.normal(size=90), np.eye(3)[code], z])
    y = 2.0 * (code == 1) + z + z * (code == 2) + 0.1 * rng.normal(size=90)
    groups = {"noise": [0], "colour": [1, 2, 3], "size": [4]}
    model = NablassoRegressor("polynomial", cv=3, feature_groups=groups).fit(X, y)
    table = model.importances_
    assert set(table["column"]) == {"colour", "size"}
    own = float(np.array(table["share"])[np.array(table["column"]) == "colour"][0])
    assert model.feature_importances_[1:4].sum() == pytest.approx(own)
    assert model.interactions_[0][:2] == (1, 4)
    assert len(model.interactions_) == 1


def test_more_than_fifteen_columns_still_have_their_strongest_pairs():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(200, 18))

    class Sum:
        def values(self, Z):
            return Z.sum(axis=1) + 3 * Z[:, 4] * Z[:, 16]

    players = tuple(np.array([a]) for a in range(18))
    found = Explanation((Sum(),), (None,), X, np.ones(200), np.arange(18), 18, players).pairs
    assert found[0][:2] == (4, 16)
    assert len(found) == 15 * 14 // 2


def test_a_column_that_is_steep_in_few_rows_does_not_lead():
    """Its root mean squared slope is the largest by far; what it moves is little."""
    Z = np.random.default_rng(14).uniform(size=(400, 2))

    class Edge:
        def values(self, Z):
            return Z[:, 0] + 0.5 * np.tanh(40 * (Z[:, 1] - 0.97))

    players = (np.array([0]), np.array([1]))
    found = Explanation((Edge(),), (None,), Z, np.ones(400), np.arange(2), 2, players)
    slopes = 0.5 * 40 / np.cosh(40 * (Z[:, 1] - 0.97)) ** 2
    assert np.sqrt(np.mean(slopes**2)) > 2
    assert found.shares[0] > 2 * found.shares[1]


def test_nothing_selected_has_nothing_to_share():
    rng = np.random.default_rng(11)
    model = NablassoRegressor().fit(rng.normal(size=(40, 3)), rng.normal(size=40))
    if not model.support_.any():
        assert not model.feature_importances_.any()
        assert len(model.importances_["share"]) == 0
        assert model.interactions_ == []


def test_a_saved_model_says_the_same(model, tmp_path):
    pytest.importorskip("skops")
    table, curves = model.importances_, model.shapes()
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops")
    for name in ("share", "low", "high", "first_order", "total", "slope"):
        np.testing.assert_array_equal(again.importances_[name], table[name])
    np.testing.assert_array_equal(again.shapes()["low"], curves["low"])
    assert again.interactions_ == model.interactions_


def test_a_rough_function_widens_the_draws_as_dense_formulas_say():
    """Size by the evidence of contrasts, mean and covariance by inverses."""
    rng = np.random.default_rng(13)
    n, r, unit, kernel = 40, 0.2, 0.8, Gaussian()
    X, C = np.sort(rng.normal(size=(n, 1)), axis=0), rng.normal(size=(5, 1))
    y = np.abs(3 * X[:, 0]) + 0.2 * rng.normal(size=n)
    K, one = kernel(X, X), np.ones(n)

    def posterior(size, at):
        both = [kernel(at, b) + size * np.exp(-np.abs(at - b.T)) for b in (X, at)]
        inverse = np.linalg.inv(K + size * np.exp(-np.abs(X - X.T)) + r * np.eye(n))
        level = one @ inverse @ y / (one @ inverse @ one)
        outside = 1 - both[0] @ inverse @ one
        cov = both[1] - both[0] @ inverse @ both[0].T
        cov += np.outer(outside, outside) / (one @ inverse @ one)
        return level + both[0] @ inverse @ (y - level), cov

    contrasts = null_space(one[None])
    logs, squares = [], []
    for t in SIZES:
        A = contrasts.T @ (K + t * r * np.exp(-np.abs(X - X.T)) + r * np.eye(n)) @ contrasts
        squares.append((contrasts.T @ y) @ np.linalg.solve(A, contrasts.T @ y))
        logs.append(-0.5 * np.linalg.slogdet(A)[1] - (n - 1) / 2 * np.log(squares[-1]))
    t = np.average(SIZES, weights=np.exp(np.array(logs) - max(logs)))
    assert t > 0.1  # a kink is there
    inverse = np.linalg.inv(K + r * np.eye(n))
    level = one @ inverse @ y / (one @ inverse @ one)
    function = Function(level, np.arange(1), RepresenterSpace(kernel, X), inverse @ (y - level))
    drawn = Spread(r, np.ones(n), unit).draws(function, C, 40_000, seed=0)(C)
    (mean, cov), (plain, _) = posterior(t * r, C), posterior(0.0, C)
    factor = unit * np.interp(t, SIZES, squares) / squares[0]
    np.testing.assert_allclose(drawn.mean(axis=1), mean - plain, atol=0.02)
    np.testing.assert_allclose(np.cov(drawn), factor * cov, atol=0.03 * factor * cov.max())


def test_degrees_of_freedom_are_those_of_the_hat_matrix():
    """A line has one; a kernel loses with a column what its hat matrix loses in trace."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(30, 2))
    function = Function(0.0, np.arange(2), RepresenterSpace(Gaussian(), X), np.zeros(30))
    spread, one = Spread(0.2, np.ones(30), 1.0), np.ones(30)

    def trace(X):
        A = Gaussian()(X, X) + 0.2 * np.eye(30)
        inverse = np.linalg.inv(A)
        P = inverse - inverse @ np.outer(one, one) @ inverse / (one @ inverse @ one)
        return np.trace(np.eye(30) - 0.2 * P) - 1

    assert spread.degrees(function) == pytest.approx(trace(X), rel=1e-5)
    without = spread.degrees(function, (1,))
    assert without == pytest.approx(trace(X * [1, 0]), rel=1e-5)
    line = Function(0.0, np.arange(2), RepresenterSpace(Linear(), X), np.zeros(30))
    for noise in (1e-3, 1e-12):  # of an exact fit: far below the floor of the diagonal
        sure = Spread(noise, np.ones(30), 1.0)
        assert sure.degrees(line) - sure.degrees(line, (0,)) == pytest.approx(1, abs=0.01)


def test_degrees_of_a_fit_are_told(model):
    table = model.importances_
    assert (table["degrees"] > 0.5).all()
    assert (table["degrees"] < 20).all()
