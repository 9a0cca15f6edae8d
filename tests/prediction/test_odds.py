"""Log-odds of classes: faint columns, all rows on landmarks, what fresh rows decide."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from nablasso import NablassoClassifier, load, save
from nablasso.prediction.odds import LOGISTIC, _agreed, _newton, odds_of, odds_of_all
from nablasso.prediction.predictor import stacked
from nablasso.prediction.together import AllRows, Contender, Landmarks
from nablasso.regression.models import FAMILIES, GAUSSIAN, FewRows
from nablasso.rules import Rules
from nablasso.search.few import Decision
from nablasso.search.grown import grow
from nablasso.streaming.sources import Arrays

N, N_SEARCHED, N_FRESH, D = 240, 90, 60, 4
ALL = np.arange(D)


def labels(X, rng):
    return np.where(rng.uniform(size=len(X)) < expit(4 * np.sin(2 * X[:, 0]) * X[:, 1]), 1.0, -1.0)


def drawn(seed=0, families=FAMILIES):
    """All rows of a table of labels, and the kernel on the first two columns of some of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    y = labels(X, rng)
    rows = AllRows(
        Z=X,
        y=(y > 0).astype(float),
        weights=np.linspace(0.5, 1.5, N),
        columns=ALL,
        centre=np.zeros(D),
        scale=np.ones(D),
        n_searched=N_SEARCHED,
        n_fresh=N_FRESH,
    )
    few = FewRows(
        X[:N_SEARCHED],
        y[:N_SEARCHED, None],
        np.ones(N_SEARCHED),
        ALL,
        families=families,
        classes=True,
    )
    return rows, y, Decision(few, few, few.tune(GAUSSIAN, np.array([0, 1])))


def test_stacked_log_odds_have_the_least_loss_of_the_simplex():
    rng = np.random.default_rng(0)
    eta, p = rng.normal(size=60), rng.uniform(0.2, 2, size=60)
    y = np.where(rng.uniform(size=60) < expit(3 * eta), 1.0, -1.0)
    L = 3 * eta[:, None] + rng.normal(size=(60, 3)) * np.array([1.0, 2.0, 6.0])
    shares = stacked(L, y, p, LOGISTIC)
    assert shares.sum() == pytest.approx(1)
    grid = np.linspace(0, 1, 101)
    trials = np.array([(a, b, 1 - a - b) for a in grid for b in grid if a + b <= 1])
    losses = np.logaddexp(0, -y[:, None] * (L @ trials.T)).T @ p
    assert p @ np.logaddexp(0, -y * (L @ shares)) <= losses.min() * (1 + 1e-3)
    sure = np.column_stack([100 * y, -100 * y])
    np.testing.assert_allclose(stacked(sure, y, p, LOGISTIC), [1, 0], atol=1e-12)


def test_on_landmarks_of_all_rows_the_odds_are_the_most_likely_ones():
    """The objective written out in the coefficients of the kernel, and minimised by BFGS."""
    rows, y, decision = drawn()
    few, model = decision.few, decision.model
    function, noise = few.function(model), 0.3
    marks = Landmarks.of(function, rows, N)
    everything = np.concatenate([np.arange(N_SEARCHED), rows.others[rows.n_searched :]])
    order = np.concatenate([everything, rows.fresh])
    assert len(marks.space.X) == len(everything)  # fresh rows are no landmarks
    K = marks.space.kernel(
        marks.space.X * marks.space.scales, rows.Z[:, [0, 1]] * marks.space.scales
    )
    base, w = 0.5 * rows.Z[:, 2], rows.weights
    here = rows.__class__(**{**vars(rows), "y": y})
    F = marks.features(rows.Z)
    ridge = np.append(np.full(len(F) - 1, noise), 0.0)
    c = _newton(F, base, ridge, here, order)

    def objective(x):
        u, b = x[:-1], x[-1]
        inner = marks.space.gram @ u
        margin = y * (base + b + u @ K)
        slope = -w * y * expit(-margin)
        value = w @ np.logaddexp(0, -margin) + noise / 2 * u @ inner
        return value, np.append(K @ slope + noise * inner, slope.sum())

    found = marks.function(c)
    ours = objective(np.append(found.u, found.intercept))[0]
    start = np.zeros(len(found.u) + 1)
    theirs = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 3000})
    assert ours <= theirs.fun + 0.01
    np.testing.assert_allclose(found.values(rows.Z), c @ F, atol=1e-5)


def test_left_out_odds_of_terms_are_those_of_a_fit_without_the_rows():
    """Penalised logistic regression on the terms' functions, with the rows and without them."""
    rows, _, _ = drawn()
    eta = 1.5 * rows.Z[:, 0] + rows.Z[:, 1]
    target = (np.random.default_rng(3).uniform(size=N) < expit(eta)).astype(float)
    terms = grow(Arrays(rows.Z, target), label=1.0)
    assert terms.columns == (0, 1)
    F, D = terms.rows(rows.Z), terms.model.D

    def fitted(kept):
        def objective(c):
            z = F[kept] @ c
            slope = F[kept].T @ (expit(z) - target[kept]) + D * c
            return np.sum(np.logaddexp(0, z) - target[kept] * z) + D @ c**2 / 2, slope

        return minimize(objective, terms.state.coefficients, jac=True, method="L-BFGS-B").x

    out = np.arange(40)
    quick = terms.left_out(rows.Z[out], target[out], np.ones(40)) - terms.values(rows.Z[out])
    moved = F[out] @ (fitted(np.arange(40, N)) - fitted(np.arange(N)))
    assert np.corrcoef(quick, moved)[0, 1] > 0.9
    assert np.abs(quick - moved).mean() < 0.4 * np.abs(moved).mean()


def test_fresh_rows_decide_whether_the_kernel_predicts_and_its_columns_join():
    rows, y, decision = drawn()
    idle = Arrays(rows.Z, np.random.default_rng(1).integers(0, 2, N).astype(float))
    nothing = grow(idle, label=1.0)
    assert nothing.columns == ()
    (odds,), joined = odds_of_all(decision, ALL, [nothing], rows, y[:, None])
    assert joined.tolist() == [0, 1]
    assert set(odds.columns) >= {0, 1}
    shuffled = np.random.default_rng(2).permutation(y)
    (odds,), joined = odds_of_all(decision, ALL, [nothing], rows, shuffled[:, None])
    assert joined.tolist() == []
    assert odds.columns.tolist() == []


@pytest.mark.parametrize(("gain", "joins"), [(0.05, False), (2.0, True)])
def test_columns_of_the_sample_join_only_if_fresh_rows_are_clearly_nearer(gain, joins):
    rng = np.random.default_rng(0)
    y, p = np.where(rng.uniform(size=80) < 0.5, 1.0, -1.0), np.ones(80)
    terms = Contender((), 0.5 * rng.normal(size=80), frozenset([0]), LOGISTIC)
    more = Contender(
        (), terms.left_out + gain * y + rng.normal(size=80) * 0.2, frozenset([0, 1]), LOGISTIC
    )
    assert more.error(y, p) < terms.error(y, p)
    agreed = _agreed([terms, more], frozenset([0]), Rules().clearly, y, p)
    assert any(one is more for one in agreed) == joins


def with_many_faint(n, seed, d=24):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    eta = 3 * X[:, 0] + 0.6 * X[:, 1:].sum(axis=1)
    return X, (rng.uniform(size=n) < expit(eta)).astype(int)


def test_faint_columns_predict_classes_and_are_named(tmp_path):
    X, y = with_many_faint(120, 1)
    model = NablassoClassifier().fit(X, y)
    limited = NablassoClassifier(max_features=int(model.support_.sum())).fit(X, y)
    np.testing.assert_array_equal(limited.support_, model.support_)
    assert model.faint_.any()
    assert not (model.faint_ & model.support_).any()
    assert not limited.faint_.any()
    new, truth = with_many_faint(1000, 2)
    losses = [
        -np.mean(np.log(one.predict_proba(new)[np.arange(1000), truth])) for one in (model, limited)
    ]
    assert losses[0] < 0.9 * losses[1]
    table = model.contributions(new)
    assert list(table)[-1] == "(others)"
    assert "too faint to be selected" in model.summary()
    save(model, tmp_path / "model.skops")
    again = load(tmp_path / "model.skops").predict_proba(new)
    np.testing.assert_array_equal(again, model.predict_proba(new))


def test_faint_columns_predict_classes_from_all_rows():
    """The kernels that compete are priced on the same rows, though faint ones are tuned on few."""
    X, y = with_many_faint(420, 1)
    model = NablassoClassifier(rules=Rules(few_rows=240, walked_rows=120)).fit(X, y)
    assert model.faint_.sum() + model.support_.sum() == X.shape[1]
    new, truth = with_many_faint(1000, 2)
    plain = NablassoClassifier(
        rules=Rules(few_rows=240, walked_rows=120), max_features=int(model.support_.sum())
    ).fit(X, y)
    losses = [
        -np.mean(np.log(one.predict_proba(new)[np.arange(1000), truth])) for one in (model, plain)
    ]
    assert losses[0] < 0.9 * losses[1]


def test_kernels_do_not_ask_for_the_unit_of_weights():
    rows, y, _ = drawn()
    light = NablassoClassifier(rules=Rules(few_rows=90, walked_rows=90))
    first, again = (
        light.fit(rows.Z, y, sample_weight=np.full(N, unit)).predict_proba(rows.Z)[:, 1]
        for unit in (1e-2, 1e-4)
    )
    assert np.mean((first > 0.5) == (y > 0)) > 0.75
    np.testing.assert_allclose(first, again, atol=0.1)


def test_pure_noise_has_no_faint_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 10))
    model = NablassoClassifier().fit(X, rng.integers(0, 2, 100))
    assert not model.faint_.any()


def test_left_out_odds_are_those_of_what_predicts():
    _, _, decision = drawn()
    ((odds, left_out),) = odds_of(decision, ALL)
    assert odds.shares.sum() == pytest.approx(1)
    few = decision.few
    assert np.corrcoef(left_out, odds.values(few.X))[0, 1] > 0.9
    own, others = (
        np.logaddexp(0, -few.targets[:, 0] * e).mean() for e in (odds.values(few.X), left_out)
    )
    assert own < others < np.log(2)


def test_three_classes_predict_from_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    angle = np.sin(1.5 * X[:, 0]) * X[:, 1] + 0.2 * rng.normal(size=500)
    y = np.digitize(angle, [-0.3, 0.3])
    model = NablassoClassifier(rules=Rules(few_rows=120)).fit(X[:300], y[:300])
    assert np.flatnonzero(model.support_).tolist() == [0, 1]
    assert model.score(X[300:], y[300:]) > 0.75
