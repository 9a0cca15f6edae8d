"""Terms on all rows and a sample's kernel as one predictor."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso import NablassoClassifier, NablassoRegressor
from nablasso.prediction.together import (
    AllRows,
    Contender,
    averaged,
    predictor_of_all,
)
from nablasso.regression.evidence import FLOOR
from nablasso.regression.models import FAMILIES, GAUSSIAN, LINEAR, ROUGH
from nablasso.regression.noise import Unwarped, Warp
from nablasso.rules import Rules
from nablasso.search.few import Decision
from nablasso.search.grown import grow
from nablasso.spaces import Function
from nablasso.streaming.sources import Arrays
from tests.search.rows import few_rows

N, N_SEARCHED, N_FRESH, D = 200, 60, 50, 4
ALL = np.arange(D)


def drawn(seed=0, f=lambda X: np.sin(2 * X[:, 0]) * X[:, 1], families=FAMILIES):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    y = f(X) + 0.1 * rng.normal(size=N)
    rows = AllRows(
        Z=X,
        y=y,
        weights=np.linspace(0.5, 1.5, N),
        columns=np.arange(D),
        centre=np.zeros(D),
        scale=np.ones(D),
        n_searched=N_SEARCHED,
        n_fresh=N_FRESH,
    )
    few = replace(few_rows(X[:N_SEARCHED], y[:N_SEARCHED]), families=families)
    return rows, Decision(few, few, few.tune(GAUSSIAN, np.array([0, 1])))


def test_without_terms_it_is_ridge_regression_on_landmarks():
    """``min sum_i w_i (y_i - b - f(x_i))^2 + r |f|^2`` over functions of the landmarks."""
    rows, decision = drawn(families=(GAUSSIAN,))
    made, joined = predictor_of_all(decision, ALL, None, rows)
    assert joined.tolist() == [0, 1]
    (part,) = made.parts
    space, noise = (
        part.function.space,
        part.spread.noise * rows.weights.sum() / len(part.function.u),
    )
    Z = rows.Z[:, [0, 1]] * space.scales
    centres = space.X * space.scales
    gram = space.kernel(centres, centres)
    m = len(centres)
    S, V = np.linalg.eigh(gram + FLOOR * np.trace(gram) / m * np.eye(m))
    features = space.kernel(Z, centres) @ V / np.sqrt(S)
    root = np.sqrt(rows.weights)[:, None]
    left = np.vstack(
        [np.column_stack([features, np.ones(N)]) * root, np.eye(m + 1)[:m] * np.sqrt(noise)]
    )
    mean = np.average(rows.y, weights=rows.weights)
    right = np.concatenate([(rows.y - mean) * root[:, 0], np.zeros(m)])
    solution = np.linalg.lstsq(left, right, rcond=None)[0]
    fitted = mean + features @ solution[:-1] + solution[-1]
    np.testing.assert_allclose(made.values(rows.Z), fitted, atol=1e-5)


def test_the_nearest_kernel_has_twice_the_landmarks_where_it_is_nearer_than_terms():
    """A thousand of 2400 rows are too few centres for waves this short; a line needs none."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(2400, 2))
    waves, line = np.sin(9 * X[:, 0]) * np.sin(9 * X[:, 1]), X[:, 0] + 0.1 * rng.normal(size=2400)
    for y, terms, richer in ((waves, None, True), (line, grow(Arrays(X, line)), False)):
        rows = AllRows(X, y, np.ones(2400), np.arange(2), np.zeros(2), np.ones(2), 600, 300)
        few = replace(few_rows(X[:600], y[:600], standardise=False), families=(ROUGH,))
        decision = Decision(few, few, few.tune(ROUGH, np.array([0, 1])))
        made, _ = predictor_of_all(decision, np.arange(2), terms, rows)
        spaces = [getattr(getattr(part, "function", part), "space", None) for part in made.parts]
        centres = max((len(s.X) for s in spaces if s is not None), default=0)
        assert (centres == 2000) is richer


@pytest.mark.parametrize("seed", [1, 2])
def test_without_terms_the_sample_decides_whatever_the_price(seed):
    rows, decision = drawn(seed, f=lambda X: 0.05 * X[:, 0])
    assert decision.model.price > 0
    assert predictor_of_all(decision, ALL, None, rows)[1].tolist() == [0, 1]


def test_left_out_rows_are_fresh_ones():
    rows, decision = drawn()
    made, _ = predictor_of_all(decision, ALL, None, rows)
    np.testing.assert_array_equal(made.observed, rows.y[rows.fresh])
    np.testing.assert_allclose(made.residuals, made.observed - made.left_out)
    assert np.abs(made.left_out - made.values(rows.Z[rows.fresh])).max() > 1e-4  # not fitted on


def test_gradients_of_terms_and_landmarks():
    rows, decision = drawn(f=lambda X: np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2])
    grown = grow(Arrays(rows.Z, rows.y, rows.weights))
    made, _ = predictor_of_all(decision, ALL, grown, rows)
    Z, step = rows.Z[:20], 1e-4
    moved = step * np.eye(D)
    quotients = [(made.values(Z + h) - made.values(Z - h)) / (2 * step) for h in moved]
    np.testing.assert_allclose(
        np.median(np.abs(made.gradients(Z) - np.column_stack(quotients))), 0.0, atol=1e-3
    )


def test_a_target_that_its_logarithm_explains_is_explained_so_from_all_rows():
    """A product of powers is a sum of logarithms; terms and kernels of the target miss its tail."""
    rng = np.random.default_rng(3)
    X = rng.uniform(1, 5, size=(1100, 4))
    y = X[:, 0] ** 4 / X[:, 1] ** 3 * np.exp(0.05 * rng.normal(size=1100))
    train, test = slice(800), slice(800, None)
    model = NablassoRegressor().fit(X[train], y[train])
    parts = model._functions[0].parts
    assert any(isinstance(part, Unwarped) and part.warp is not None for part in parts)
    assert np.flatnonzero(model.support_).tolist() == [0, 1]
    assert model.score(X[test], y[test]) > 0.98
    assert any("of the prediction goes through log(" in said for said in model.assumptions_)
    other = NablassoRegressor().fit(X[train], 1000 * y[train] + 5)
    np.testing.assert_allclose(other.loo_r2_, model.loo_r2_, rtol=1e-6)  # in what is explained
    assert 0.9 < model.loo_r2_ < 0.9999
    low, high = model.predict(X[test], return_interval=0.9)[1].T
    assert 0.8 < np.mean((low <= y[test]) & (y[test] <= high)) < 0.98


def test_a_warp_reaches_the_rows_that_the_search_has_not_seen():
    for side, end in ((1.0, -2.0), (-1.0, 5.0)):
        warp = Warp(side, 1.0, 0.5).reaching(np.array([-2.0, 5.0]))
        assert warp == Warp(side, end, 0.5)
        assert Warp(side, 10 * end, 0.5).reaching(np.array([-2.0, 5.0])).end == 10 * end
        np.testing.assert_allclose(warp.back(warp(np.array([-2.0, 5.0]))), [-2.0, 5.0])


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_what_predicts_is_as_near_to_fresh_rows_as_terms(noise):
    rows, decision = drawn(f=lambda X: np.sin(4 * X[:, 0] * X[:, 1]) + noise * X[:, 2])
    grown = grow(Arrays(rows.Z, rows.y, rows.weights))
    made, _ = predictor_of_all(decision, ALL, grown, rows)
    Z, y = rows.standardised(rows.fresh), rows.y[rows.fresh]
    weights = rows.weights[rows.fresh]
    terms = y - grown.left_out(Z, y, weights)
    assert weights @ (y - made.left_out) ** 2 <= weights @ terms**2 * (1 + 1e-12)
    assert any(isinstance(part, Unwarped | Function) for part in made.parts)


def test_candidates_have_the_shares_of_least_error_at_fresh_rows():
    rng = np.random.default_rng(0)
    y, weights = rng.normal(size=50), rng.uniform(0.5, 2, size=50)
    errors = rng.normal(size=(3, 50)) * np.array([[0.2], [0.25], [0.3]])
    parts = [Function(float(k), np.array([k])) for k in range(3)]
    near = Contender((parts[0],), y - errors[0], frozenset({0}))
    far = Contender((parts[0],), y - errors[1], frozenset({0}))
    wide = Contender((parts[0], parts[2]), y - errors[2], frozenset({0, 2}))
    made, named = averaged([near, far, wide], y, weights)
    assert named == {0}  # a column that the nearest has not does not join
    assert [part is parts[0] for part in made.parts] == [True]
    np.testing.assert_allclose(made.shares, [1.0])
    a = np.linspace(0, 1, 1001)[:, None]
    least = np.min((a * errors[0] + (1 - a) * errors[1]) ** 2 @ weights)
    assert weights @ (y - made.left_out) ** 2 == pytest.approx(least, rel=1e-5)
    _, joined = averaged([near, wide._replace(left_out=y - 0.1 * errors[0])], y, weights)
    assert joined == {0, 2}


def test_faint_columns_predict_without_joining_if_fresh_rows_are_clearly_nearer():
    rng = np.random.default_rng(0)
    y, weights = rng.normal(size=50), np.ones(50)
    error = rng.normal(size=50)
    part, other = Function(0.0, np.array([0])), Function(1.0, np.array([1]))
    near = Contender((part,), y - error, frozenset({0}))
    faint = Contender((part, other), y - 0.5 * error, frozenset({0}))
    assert (near.faint, faint.faint) == (False, True)
    made, named = averaged([near, faint], y, weights)
    assert named == {0}
    assert made.columns.tolist() == [0, 1]
    shifted = faint._replace(left_out=y - error - 1e-3 * rng.normal(size=50))
    assert averaged([near, shifted], y, weights)[0].columns.tolist() == [0]


def test_landmarks_alone_know_how_sure_they_are():
    """They are the posterior mean of the rows that they stand for."""
    rows, decision = drawn(families=(GAUSSIAN,))
    made, _ = predictor_of_all(decision, ALL, None, rows)
    (part,) = made.parts
    function, spread = part.function, part.spread
    gram = function.space.gram
    observed = gram @ function.u + spread.noise * function.u
    again = gram @ np.linalg.solve(gram + spread.noise * np.eye(len(gram)), observed)
    np.testing.assert_allclose(again, gram @ function.u, atol=1e-6)
    error = np.average((made.observed - made.left_out) ** 2, weights=rows.weights[rows.fresh])
    many = rows.weights.sum() / len(gram)
    assert spread.unit * spread.noise * many == pytest.approx(error)


@pytest.mark.parametrize(("signal", "expected"), [(1.0, [0, 1]), (0.0, [])])
def test_columns_of_the_sample_join_where_fresh_rows_agree(signal, expected):
    rows, decision = drawn(f=lambda X: signal * np.sin(2 * X[:, 0]) * X[:, 1])
    nothing = grow(Arrays(rows.Z, np.random.default_rng(1).permutation(rows.y)))
    assert nothing.columns == ()
    _, joined = predictor_of_all(decision, ALL, nothing, rows)
    assert joined.tolist() == expected


def four_way(n, seed=0):
    """A ridge of four columns, of which terms of three see little, and a weak column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    f = np.sin(1.2 * X[:, :4].sum(axis=1)) + 0.15 * X[:, 5]
    return X, f + 0.3 * rng.normal(size=n), f


@pytest.mark.slow
def test_high_orders_come_from_the_sample_and_weak_columns_from_all_rows():
    X, y, f = four_way(4000)
    model = NablassoRegressor().fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == [0, 1, 2, 3, 5]
    assert np.corrcoef(model.predict(X), f)[0, 1] > 0.95


def test_classes_with_more_rows_than_a_factor_holds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400) > 0).astype(int)
    model = NablassoClassifier(rules=Rules(few_rows=120)).fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == [0, 1]
    assert model.score(X, y) > 0.78
    assert model.n_rows_searched_ == 400


FEW = Rules(few_rows=60, walked_rows=60)


def table(n=240, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + X[:, 3] + 0.3 * rng.normal(size=n)


def test_groups_come_whole_from_all_rows():
    X, y = table()
    model = NablassoRegressor(rules=FEW, feature_groups=[[0, 1, 2], [3]]).fit(X, y)
    assert model.support_.all()
    assert model.evidence_[1] == model.evidence_[0] > 0
    one = NablassoRegressor(rules=FEW, feature_groups=[[0, 1, 2], [3]], max_features=1)
    assert one.fit(X, y + X[:, 0]).support_.tolist() == [True, True, True, False]
    assert one.fit(X, y + X[:, 3]).support_.tolist() == [False, False, False, True]


def test_where_groups_of_rows_are_given_their_folds_decide():
    X, y = table()
    model = NablassoRegressor(rules=FEW).fit(X, y, groups=np.arange(240) // 3)
    assert np.flatnonzero(model.support_).tolist() == [0, 3]
    assert model.n_rows_searched_ == 60 < NablassoRegressor(rules=FEW).fit(X, y).n_rows_searched_


def three_classes(X):
    return np.where(X[:, 0] > 0.8, "a", np.where(X[:, 1] > 0, "b", "c"))


def test_importances_are_those_of_all_classes():
    X, _ = table()
    model = NablassoClassifier(rules=FEW).fit(X, three_classes(X))
    assert np.flatnonzero(model.support_).tolist() == [0, 1]
    assert (model.feature_importances_[:2] > 0.1).all()
    limited = NablassoClassifier(rules=FEW, max_features=1).fit(X, three_classes(X))
    assert limited.support_.sum() == 1


def test_a_class_that_is_absent_from_the_searched_rows_does_not_stop_the_search():
    X, _ = table()
    targets = np.column_stack([np.sign(X[:, 0]), -np.sign(X[:, 0]), -np.ones(len(X))])
    both, rare = few_rows(X, targets[:, :2]), few_rows(X, targets)
    assert rare.tune(LINEAR, np.array([0])).value == pytest.approx(
        both.tune(LINEAR, np.array([0])).value
    )


def test_columns_are_certified_on_the_sums_of_all_rows():
    X, y = table(n=400)
    model = NablassoRegressor(rules=FEW).fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == [0, 3]
    assert model.support_certified_.all()
    assert "on all rows" in model.certificate_
    assert model.certificate_ in model.summary()
    proof = grow(Arrays(X, y), rules=FEW, certificate=True).certificate
    assert model.dual_gap_ == pytest.approx(proof.gap, abs=1e-9 * proof.at_zero)
    assert model.relative_gap_ == pytest.approx(model.dual_gap_ / proof.at_zero)
    assert model.objective_ == pytest.approx(proof.objective)
    few = NablassoRegressor().fit(X[:100], y[:100])
    assert "learned metric" in few.certificate_
    assert "sample" not in few.certificate_
