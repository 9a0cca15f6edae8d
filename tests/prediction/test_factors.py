"""Columns that only scale what others do."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.signal import lfilter

from nablasso import NablassoRegressor, load, save
from nablasso.prediction import factors
from nablasso.prediction.factors import SHARES, Quotient, Scaled, excess
from nablasso.prediction.predictor import Predictor
from nablasso.prediction.together import AllRows
from nablasso.rules import Rules


def drawn(n, seed=0, d=6, *, scaled=True):
    """``5 + x0 x1 x2`` times ``exp(-x3^2) - .2``, or plus ``x3``."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f, s = X[:, 0] * X[:, 1] * X[:, 2], np.exp(-(X[:, 3] ** 2)) - 0.2
    truth = 5 + f * s if scaled else 5 + f + X[:, 3]
    return X, truth + 0.1 * rng.normal(size=n), truth


def all_rows(n=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 1.5, n)
    return AllRows(
        rng.normal(size=(n, d)),
        rng.normal(size=n),
        weights,
        np.arange(d),
        np.zeros(d),
        np.ones(d),
        n_searched=120,
        n_fresh=50,
    )


def test_errors_of_quotients_are_those_of_targets():
    """Over rows where f is large; weights up to a factor are ``w f^2`` without an excess."""
    rows, rng = all_rows(), np.random.default_rng(1)
    f, s = rng.normal(size=200), rng.normal(size=200)
    made = Quotient.by(rows, f, 0.1 * rng.normal(size=200), 0.25)  # even errors: no excess
    used = np.abs(f) > 0.25 * np.sqrt(np.average(f**2, weights=rows.weights))
    np.testing.assert_array_equal(made.used, used)
    squares = made.rows.weights @ (made.rows.y - s[used]) ** 2
    plain = rows.weights[used] @ (rows.y - f * s)[used] ** 2
    unit = (rows.weights * f**2)[used].mean()
    assert squares == pytest.approx(plain / unit, rel=1e-12)
    assert made.rows.n_searched == used[:120].sum()
    assert made.rows.n_fresh == used[rows.fresh].sum()
    np.testing.assert_array_equal(made.rows.Z, rows.Z[used])


@pytest.mark.parametrize("t", [0.0, 0.3, 3.0])
def test_the_excess_is_the_most_likely_one(t):
    """Next to a minimiser over all numbers of the negative log likelihood of normal errors."""
    rng = np.random.default_rng(2)
    f, p = rng.normal(size=4000), np.full(4000, 1 / 4000)
    e = np.sqrt(1 + t * f**2) * rng.normal(size=4000)

    def surprise(log_t):
        v = 1 + np.exp(log_t) * f**2
        scale = np.mean(e**2 / v)
        return np.mean(0.5 * np.log(scale * v) + 0.5 * e**2 / (scale * v))

    best = minimize_scalar(surprise, bounds=(-12, 8), method="bounded").x
    found = excess(e, f, p)
    grid = SHARES[1] / SHARES[0]
    if t == 0:
        assert found <= 0.03
    else:
        assert abs(np.log(found) - best) <= np.log(grid)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_no_excess_where_nothing_varies_or_nothing_errs():
    p, some = np.full(4, 0.25), np.array([1.0, -1.0, 2.0, 0.5])
    assert excess(some, np.zeros(4), p) == 0
    assert excess(np.zeros(4), some, p) == 0


def test_slopes_of_a_product():
    """By differences."""
    rng = np.random.default_rng(3)
    X, y, _ = drawn(100, 3)
    one = NablassoRegressor().fit(X, X[:, 0] ** 2 + y)._functions[0]
    other = NablassoRegressor().fit(X, np.sin(X[:, 3]) + X[:, 0])._functions[0]
    made = Scaled(0.7, one, other, np.array([3]))
    Z, step = rng.normal(size=(5, 6)), 1e-5
    slopes = [
        (made.values(Z + step * e) - made.values(Z - step * e)) / (2 * step) for e in np.eye(6)
    ]
    np.testing.assert_allclose(made.gradients(Z), np.transpose(slopes), rtol=1e-4, atol=1e-6)
    assert set(made.columns) == {*one.columns, *other.columns}


def test_columns_that_only_scale_are_found_and_named(tmp_path):
    X, y, _ = drawn(2000)
    new, _, truth = drawn(1000, 4)
    model = NablassoRegressor().fit(X, y)
    assert model.support_.tolist() == [True] * 4 + [False] * 2
    assert model.scaling_.tolist() == [False] * 3 + [True, False, False]
    assert model.evidence_[3] > 20
    assert np.mean((model.predict(new) - truth) ** 2) < 0.1 * truth.var()
    assert "x3 scales what other columns do." in model.summary()
    mean, ends = model.predict(new, return_interval=0.9)
    noisy = truth + 0.1 * np.random.default_rng(5).normal(size=1000)
    assert np.mean((ends[:, 0] <= noisy) & (noisy <= ends[:, 1])) > 0.8
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(new), mean)
    other = np.where(model.support_ | model.faint_, new, 7.0)
    np.testing.assert_array_equal(model.predict(other), mean)


@pytest.mark.slow
def test_the_order_of_rows_and_columns_changes_nothing():
    X, y, _ = drawn(2000)
    order = np.random.default_rng(6).permutation(2000)
    model = NablassoRegressor(time=False).fit(X, y)
    again = NablassoRegressor(time=False).fit(X[order][:, ::-1], y[order])
    np.testing.assert_array_equal(again.scaling_[::-1], model.scaling_)
    np.testing.assert_allclose(again.predict(X[:, ::-1]), model.predict(X), rtol=1e-5)


@pytest.mark.slow
def test_what_adds_beside_a_product_is_not_lost():
    (X, y, _), (new, _, truth) = drawn(2000, 0, 8), drawn(2000, 99, 8)
    y, truth = (t + 0.3 * Z[:, 4] + 0.05 * np.sin(3 * Z[:, 6]) for t, Z in ((y, X), (truth, new)))
    plain = NablassoRegressor(time=False, rules=Rules(factor=np.inf)).fit(X, y)
    model = NablassoRegressor(time=False).fit(X, y)
    assert model.scaling_[3]
    assert not (plain.support_ & ~model.support_).any()
    slopes = np.sqrt(np.mean(model.predict_gradient(new) ** 2, axis=0))
    assert (slopes[[0, 1, 2, 3, 4, 6]] > 0.05).all(), slopes
    errors = [np.mean((one.predict(new) - truth) ** 2) for one in (plain, model)]
    assert errors[1] < 0.8 * errors[0]


@pytest.mark.slow
def test_rows_in_time_have_no_factors():
    """Slow columns take slow noise for their own, and fresh rows are neighbours of the others."""
    rng = np.random.default_rng(0)

    def slow(rho):
        e = rng.normal(size=2000)
        e[0] /= np.sqrt(1 - rho**2)
        return lfilter([np.sqrt(1 - rho**2)], [1, -rho], e)

    X = np.column_stack([slow(rho) for rho in (0.995, 0.995, 0.995, 0.9, 0.9, 0)])
    model = NablassoRegressor().fit(X, 3 * X[:, 5] + slow(0.98))
    assert model.support_.tolist() == [False] * 5 + [True]


@pytest.mark.slow
def test_an_interrupt_ends_the_search_for_factors(monkeypatch):
    X, y, _ = drawn(2000)
    decided = factors.decide
    monkeypatch.setattr(factors, "decide", lambda few: replace(decided(few), interrupted=True))
    with pytest.raises(KeyboardInterrupt):
        NablassoRegressor().fit(X, y)


@pytest.mark.parametrize("factor", [0.25, np.inf])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_adds_does_not_scale(factor):
    X, y, _ = drawn(800, scaled=False)
    model = NablassoRegressor(rules=Rules(factor=factor)).fit(X, y)
    assert model.support_.tolist() == [True] * 4 + [False] * 2
    assert not model.scaling_.any()


def test_a_factor_must_be_nearer_in_squares_and_clearly_in_size():
    rng = np.random.default_rng(7)
    y, p = rng.standard_t(3, size=400), np.full(400, 1 / 400)
    far = Predictor((), np.ones(0), left_out=np.zeros(400), observed=y, weights=p)
    assert factors._clearly_nearer(replace(far, left_out=0.5 * y), far, Rules())
    assert not factors._clearly_nearer(
        replace(far, left_out=0.001 * rng.normal(size=400)), far, Rules()
    )
    worst = replace(far, left_out=np.where(np.arange(400) == np.argmax(y), -9 * y, 0.5 * y))
    assert not factors._clearly_nearer(worst, far, Rules())
