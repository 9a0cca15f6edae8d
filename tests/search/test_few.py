"""Models on an n x n factor: price, tuning, dropping, joining, checking, copies, functions."""

from dataclasses import replace
from functools import partial
from math import comb, log

import numpy as np
import pytest

from nablasso import NablassoRegressor
from nablasso.data.table import counted
from nablasso.kernels import Matern52
from nablasso.regression.noise import Assumption, Warp
from nablasso.regression.ridge import paired
from nablasso.search.check import _left_out, _without, check, with_copies
from nablasso.search.check import worth as worth_of
from nablasso.search.families import ADDITIVE, FAMILIES, GAUSSIAN, LINEAR, QUADRATIC, Family
from nablasso.search.few import SPREAD, FewRows, Model
from nablasso.search.rules import Rules
from tests.regression.dense_process import best_log_evidence, left_out, noise_matrix
from tests.search.rows import draw, few_rows

N, D = 60, 5


def index(*groups):
    return np.array(groups, dtype=np.intp)


def gram_of(rows, model):
    """The covariance over its unit, by the family's kernel of columns."""
    columns = np.flatnonzero(np.isin(rows.labels, model.groups))
    variance = dict(zip(model.groups.tolist(), model.variances, strict=True))
    v = np.array([variance[g] for g in rows.labels[columns]])
    X = rows.X[:, columns]
    kernel, scales = model.family.fitted(X, rows.weights, v)
    return kernel(X * scales, X * scales), (kernel, columns, scales)


# -------------------------------------------------------------------------- the price


@pytest.mark.parametrize("family", [QUADRATIC, ADDITIVE, GAUSSIAN], ids=lambda f: f.name)
def test_the_price_by_hand(family):
    rows = draw(weights=np.linspace(0.5, 1.5, N))
    model = rows.tune(family, index(2, 0))
    K, _ = gram_of(rows, model)
    noise = np.diag(1 / rows.weights)
    A = K + np.exp(model.noise) * noise
    evidence = best_log_evidence(A, rows.Y[:, 0]) - best_log_evidence(noise, rows.Y[:, 0])
    centre = log(rows.evidence(family).covariance.part(model.groups).start())
    prior = 0.5 * np.sum(((model.logs - centre) / SPREAD) ** 2)
    assert model.value == pytest.approx(prior - evidence, rel=1e-5)
    assert model.price == pytest.approx(model.value + log(N) + log(comb(D, 2)) + log(3))


def test_nothing_selected_is_zero():
    rows = draw()
    for family in FAMILIES:
        model = rows.smallest(family)
        assert (model.value, model.price) == (0.0, 0.0)
        assert not len(model.groups)
    assert rows.cost(0) == 0.0


def test_what_groups_cost():
    rows = draw()
    assert rows.cost(3) == pytest.approx(1.5 * log(N) + log(comb(5, 3)) + log(4))
    kept = replace(rows, kept=index(1, 4))  # paid for by their variances alone
    assert kept.cost(2) == pytest.approx(log(N))
    assert kept.cost(3) == pytest.approx(1.5 * log(N) + log(comb(3, 1)) + log(2))
    picked = replace(rows, looked=1000)
    assert picked.cost(2) == pytest.approx(log(N) + log(comb(1000, 2)) + log(3))


def objective(rows, family, x):
    """Minus the log evidence of the first three groups, and the prior of its variances."""
    part = rows.evidence(family).part(index(0, 1, 2))
    away = (x[:-1] - log(part.covariance.start())) / SPREAD
    return part.value(np.exp(x[:-1]), float(np.exp(x[-1]))) + 0.5 * float(away @ away)


def test_tuning_finds_a_stationary_point():
    rows = draw(noise=0.3)
    for family in (QUADRATIC, GAUSSIAN):
        model = rows.tune(family, index(0, 1, 2), steps=200, tolerance=1e-12)
        for i in range(4):
            for step in (-0.3, 0.3):
                x = model.x
                x[i] += step
                assert objective(rows, family, x) > model.value
        assert objective(rows, family, model.x) == pytest.approx(model.value)


def test_a_plateau_of_no_noise_is_left():
    """Started from almost no noise, the noise of the data is found."""
    rows = draw(noise=1.0)
    start = np.append(np.zeros(3), -17.0)
    model = rows.tune(QUADRATIC, index(0, 1, 2), start, steps=30)
    fresh = rows.tune(QUADRATIC, index(0, 1, 2), steps=30)
    assert model.value == pytest.approx(fresh.value, abs=0.1)


def test_targets_add_up():
    rows = draw()
    twice = few_rows(rows.X, np.column_stack([rows.Y, 3 - rows.Y]), standardise=False)
    one, two = (
        few.evidence(QUADRATIC).part(index(0, 1)).value(np.ones(2), 0.2) for few in (rows, twice)
    )
    assert two == pytest.approx(2 * one)


# -------------------------------------------------------------------------- propose


def test_proposals_are_the_cut_of_least_price():
    rows = draw()
    for price, family, groups, x in rows.proposals():
        assert family.walks
        v, r = np.exp(x[:-1]), float(np.exp(x[-1]))
        part = rows.evidence(family).part(groups)
        assert price == pytest.approx(part.value(v, r) + rows.cost(len(groups)))
        assert len(groups) < 2 or price <= (
            rows.evidence(family).part(groups[:-1]).value(v[:-1], r) + rows.cost(len(groups) - 1)
        )
    found = {family.name: set(groups.tolist()) for _, family, groups, _ in rows.proposals()}
    assert {0, 1, 2} <= found["quadratic"]
    assert set(found) == {family.name for family in FAMILIES if family.walks}


@pytest.mark.parametrize("most", [None, 2])
def test_proposals_have_what_is_kept_and_no_more_than_allowed(most):
    rows = replace(draw(), kept=index(4), most=most)
    for _, _, groups, _ in rows.proposals():
        assert 4 in groups
        assert most is None or len(groups) <= most


# -------------------------------------------------------------------------- price


def test_idle_groups_are_dropped_and_kept_ones_stay():
    rows = draw()
    model = rows.backward(rows.tune(QUADRATIC, np.arange(D)))
    assert sorted(model.groups) == [0, 1, 2]
    kept = replace(rows, kept=index(4))
    model = kept.backward(kept.tune(QUADRATIC, np.arange(D)))
    assert sorted(model.groups) == [0, 1, 2, 4]


def test_backward_goes_down_to_what_is_allowed():
    rows = replace(draw(), most=2)
    model = rows.backward(rows.tune(QUADRATIC, np.arange(D)))
    assert 0 < len(model.groups) <= 2


def test_noise_is_dropped_altogether():
    rng = np.random.default_rng(3)
    rows = few_rows(rng.normal(size=(N, D)), rng.normal(size=N))
    model = rows.backward(rows.tune(QUADRATIC, np.arange(D)))
    assert not len(model.groups)
    assert model.price == 0.0


@pytest.mark.parametrize("family", [QUADRATIC, GAUSSIAN], ids=lambda f: f.name)
def test_what_the_evidence_asks_for_joins(family):
    rows = draw()
    start = rows.tune(family, index(0, 1))
    model = rows.forward(start)
    assert sorted(model.groups) == [0, 1, 2]
    assert model.price < start.price
    assert rows.forward(model) is model
    full = replace(rows, most=2)
    assert full.forward(start) is start
    nothing = rows.smallest(family)
    assert rows.forward(nothing) is nothing


# -------------------------------------------------------------------------- check


def jumps():
    """A step in one column; a Gaussian kernel misfits there, and an idle column gains."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(80, 6))
    return few_rows(X, np.sign(X[:, 0]) + 0.05 * rng.normal(size=80))


def test_the_check_drops_what_only_misfit_wants():
    rows = jumps()
    alone, both = rows.tune(GAUSSIAN, index(0)), rows.tune(GAUSSIAN, index(0, 5))
    assert both.price < alone.price - 3  # the price alone would take it
    model, clear = check(rows, both)
    assert model.groups.tolist() == [0]
    assert set(clear) == {0}
    assert clear[0] > rows.rules.clearly


def test_the_check_in_numbers():
    """Left-out rows really left out, with and without a group."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    rows = few_rows(X, X[:, 0] + 0.45 * X[:, 1] + rng.normal(size=40))
    model = rows.tune(LINEAR, index(0, 1), steps=100)
    found, clear = check(rows, model)

    def errors(one):
        K, _ = gram_of(rows, one)
        A = K + np.exp(one.noise) * np.eye(40)
        solved = rows.solved(one)
        rest = [left_out(A, K, rows.Y[:, 0], float(solved.units[0]), index(i)) for i in range(40)]
        residuals = np.array([float(e[0]) for e, _ in rest])
        variances = np.array([float(v[0, 0]) for _, v in rest])
        return np.abs(residuals), -0.5 * np.log(variances) - 0.5 * residuals**2 / variances

    own, without = errors(model), errors(rows.tune(LINEAR, *model.without(1), steps=10))

    def in_errors(change):
        return change.mean() / (change.std() / np.sqrt(len(change)))

    expected = max(in_errors(without[0] - own[0]), in_errors(own[1] - without[1]))
    if without[0].sum() > (1 + rows.rules.tenth) * own[0].sum():
        expected = max(expected, rows.rules.clearly)
    if expected >= rows.rules.clearly:
        assert clear[1] == pytest.approx(expected, rel=1e-3)
    else:
        assert 1 not in found.groups


def test_folds_and_scores_of_the_check():
    folds = [np.arange(0, 30), np.arange(30, 60)]
    rows = replace(draw(), folds=folds)
    full = rows.tune(QUADRATIC, index(0, 1, 2, 3))
    model, _ = check(rows, full)
    assert sorted(model.groups) == [0, 1, 2]
    seen = []

    def blind(few, residuals, fold):
        seen.append((len(residuals), fold.tolist()))
        return 1.0

    nothing, clear = check(replace(rows, score=blind), full)
    assert not len(nothing.groups)
    assert clear == {}
    assert {tuple(fold) for _, fold in seen} == {tuple(fold) for fold in folds}


def test_groups_that_are_kept_or_trusted_are_not_checked():
    rows = replace(draw(), kept=index(4))
    model = rows.tune(QUADRATIC, np.arange(D))
    found, clear = check(rows, model, trusted=index(3))
    assert {3, 4} <= set(found.groups.tolist())
    assert set(clear) == {0, 1, 2}


def test_what_is_spared_one_by_one_may_not_all_go():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 10))
    rows = few_rows(X, 0.16 * X.sum(axis=1) + rng.normal(size=120), families=(LINEAR,))
    full = rows.tune(LINEAR, np.arange(10))
    found, clear = check(rows, full)
    assert 0 < len(found.groups) < 10
    errors = [np.abs(rows.solved(m).left_out()[0][:, 0]) for m in (found, full)]
    lost, error = paired(errors[0] - errors[1], rows.weights)
    assert lost < rows.rules.clearly * error
    assert min(clear.values()) >= rows.rules.clearly


@pytest.mark.parametrize("family", [QUADRATIC, GAUSSIAN], ids=lambda f: f.name)
def test_what_a_group_is_worth_is_what_its_absence_costs(family):
    rows = draw(noise=0.5)
    model = rows.tune(family, index(0, 1, 2))
    worth = worth_of(rows, model)
    for position, group in enumerate(model.groups):
        without = rows.tune(family, *model.without(position), steps=10)
        assert worth[int(group)] == pytest.approx(without.price - model.price)
    assert 0 not in worth_of(replace(rows, kept=index(0)), model)


# -------------------------------------------------------------------------- copies


def copied(correlation, seed=0, n=80):
    """``x0`` matters, ``x3`` is like it, ``x4`` like the idle ``x1``."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    other = np.sqrt(1 - correlation**2)
    for a, b in ((0, 3), (1, 4)):
        X[:, b] = correlation * X[:, a] + other * X[:, b]
    return X, X[:, 0] + X[:, 2] + 0.3 * rng.normal(size=n)


def test_copies_share_a_variance_and_pay_nothing():
    rows = few_rows(*copied(1.0))
    model = rows.tune(LINEAR, index(0, 2), steps=100, tolerance=1e-10)
    tied = with_copies(rows, model)
    assert tied.groups.tolist() == [0, 2, 3]
    assert tied.variances[0] == tied.variances[2]
    assert len(tied.logs) == 2
    alone = with_copies(rows, rows.tune(LINEAR, index(0)))
    assert alone.groups.tolist() == [0, 3]
    worth = worth_of(rows, alone)  # of leaving out both
    assert worth[0] == worth[3] == pytest.approx(-alone.price)
    # K = v x x' is that of two copies at v / 2; only the prior of log v tells them apart
    assert tied.price == pytest.approx(model.price, abs=0.2)


def test_relatives_are_no_copies_and_copies_must_not_cost_much():
    rows = few_rows(*copied(0.8, n=150, seed=1))
    model = rows.tune(LINEAR, index(0, 2))
    assert with_copies(rows, model) is model
    dear, free = (replace(rows, rules=Rules(copy=0.7, copy_nats=nats)) for nats in (0.0, 10.0))
    assert with_copies(dear, model) is model  # the evidence speaks against it
    assert with_copies(free, model).groups.tolist() == [0, 2, 3]
    alike = np.corrcoef(rows.X[:, 0], rows.X[:, 3])[0, 1]
    barely = replace(rows, rules=Rules(copy=alike - 1e-3, copy_nats=10.0))
    assert with_copies(barely, model) is model  # what is barely a copy may cost hardly anything


def test_no_more_copies_than_allowed_and_none_of_what_is_kept():
    X, y = copied(0.99)
    rows = few_rows(X, y, most=2)
    model = rows.tune(LINEAR, index(0, 2))
    assert with_copies(rows, model) is model
    kept = few_rows(X, y, kept=[1])
    tied = with_copies(kept, kept.tune(LINEAR, index(0, 1, 2)))
    assert tied.groups.tolist() == [0, 1, 2, 3]
    assert with_copies(kept, kept.smallest(LINEAR)).groups.tolist() == [1]


# -------------------------------------------------------------------------- functions


def posterior_mean(rows, model, Z):
    """``b + k(z, X) A^{-1} (y - b)``, ``b`` by generalised least squares, all dense."""
    K, (kernel, columns, scales) = gram_of(rows, model)
    A = K + np.exp(model.noise) * noise_matrix(rows.shape, len(K))
    y, inverse = rows.Y[:, 0], np.linalg.inv(A)
    b = np.sum(inverse @ y) / np.sum(inverse)
    across = kernel(Z[:, columns] * scales, rows.X[:, columns] * scales)
    return b + across @ inverse @ (y - b)


ASSUMPTIONS = {
    "plain": Assumption(),
    "level": Assumption(level=np.linspace(-1, 1, N)),
    "tails": Assumption(nu=2.0, weights=np.linspace(0.2, 1.4, N)),
    "serial": Assumption(serial=(0.8, 0.7)),
}


@pytest.mark.parametrize("name", list(ASSUMPTIONS))
@pytest.mark.parametrize("weighted", [False, True])
def test_the_function_is_the_posterior_mean(name, weighted):
    weights = np.linspace(0.5, 1.5, N) if weighted else None
    time = np.random.default_rng(0).permutation(N).astype(float)
    rows = draw(weights=weights, time=time, assumption=ASSUMPTIONS[name])
    model = rows.tune(GAUSSIAN, index(2, 0, 1))
    Z = np.random.default_rng(1).normal(size=(9, D))
    found = rows.function(model).values(Z)
    np.testing.assert_allclose(found, posterior_mean(rows, model, Z), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_the_function_of_every_family_with_groups_and_ties(family):
    rows = draw(labels=[0, 0, 1, 2, 3])
    ties = index(0, 1, 0)
    model = rows.tune(family, index(3, 0, 1), ties=ties, steps=3)
    Z = np.random.default_rng(1).normal(size=(9, D))
    expected = posterior_mean(rows, model, Z)
    np.testing.assert_allclose(rows.function(model).values(Z), expected, rtol=1e-4, atol=1e-4)


def test_the_function_of_nothing_is_the_mean():
    rows = draw(weights=np.linspace(0.5, 1.5, N))
    function = rows.function(rows.smallest(LINEAR))
    np.testing.assert_allclose(function.values(rows.X), 0.0, atol=1e-9)  # standardised


# -------------------------------------------------------------------------- rows


def test_some_of_the_rows():
    folds = [np.arange(0, 20), np.arange(20, 25), np.arange(25, 60)]
    rows = draw(
        weights=np.linspace(1, 2, N),
        time=np.arange(N)[::-1].astype(float),
        folds=folds,
        assumption=Assumption(level=np.arange(N, dtype=float)),
    )
    part = rows.only(np.arange(0, 60, 2))
    np.testing.assert_array_equal(part.X, rows.X[::2])
    assert part.weights.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(part.weights / part.weights[0], rows.weights[::2] / rows.weights[0])
    np.testing.assert_array_equal(part.time, rows.time[::2])
    np.testing.assert_array_equal(part.assumption.level, np.arange(0, 60, 2))
    expected = [np.arange(0, 10), np.arange(10, 13), np.arange(13, 30)]
    for fold, rest in zip(part.folds, expected, strict=True):
        np.testing.assert_array_equal(fold, rest)
    assert rows.first(N) is rows
    np.testing.assert_array_equal(rows.first(10).X, rows.X[:10])


def test_the_order_of_rows_and_groups_does_not_matter():
    rows = draw()
    order = np.random.default_rng(4).permutation(N)
    moved = few_rows(rows.X[order], rows.targets[order], standardise=False)
    one, other = rows.tune(QUADRATIC, index(0, 1, 2)), moved.tune(QUADRATIC, index(2, 0, 1))
    assert other.price == pytest.approx(one.price, rel=1e-4)
    np.testing.assert_allclose(other.variances, one.variances[[2, 0, 1]], rtol=0.05)


def test_a_constant_target_is_explained_by_nothing():
    rng = np.random.default_rng(0)
    rows = few_rows(rng.normal(size=(N, D)), np.zeros(N), kept=[1])
    model = rows.tune(QUADRATIC, index(0, 1))
    assert not len(model.groups)
    np.testing.assert_array_equal(rows.function(model).values(rows.X), 0.0)


def test_an_own_kernel_is_a_family():
    rows = draw(families=(Family("mine", Matern52(2.0)),))
    (proposal,) = rows.proposals()
    model = rows.backward(rows.tune(*proposal[1:]))
    assert isinstance(model, Model)
    assert sorted(model.groups) == [0, 1, 2]


# -------------------------------------------------------------------------- equal rows


def repeated(n=25, seed=3):
    """Rows as copies, and one by one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] + rng.normal(size=n)
    w = rng.integers(1, 5, size=n)
    w[0] = 1
    merged = few_rows(X, y, weights=w, counts=True)
    each = np.repeat(np.arange(n), w)
    return merged, few_rows(merged.X[each], y[each], standardise=False), each


def test_equal_rows_are_one_row_of_so_many_copies():
    merged, single, each = repeated()
    x = np.array([-0.3, 0.4, -1.0])
    for family in (LINEAR, GAUSSIAN):
        ours = merged.evidence(family).part(index(0, 1))
        plain = single.evidence(family).part(index(0, 1))
        value, slope = ours.value_and_gradient(x)
        expected, slopes = plain.value_and_gradient(x)
        assert value == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(slope, slopes, rtol=1e-5)
        a, b = ours.solve(np.exp(x[:2]), np.exp(x[2])), plain.solve(np.exp(x[:2]), np.exp(x[2]))
        for one, all_of_them in zip(a.left_out(), b.left_out(), strict=True):
            np.testing.assert_allclose(one[each], all_of_them, rtol=1e-5, atol=1e-7)
    assert merged.cost(2) == single.cost(2)
    warp = Assumption(warp=Warp(1.0, float(merged.targets.min()), 1.0))
    assert merged.under(warp).base - merged.base == pytest.approx(
        single.under(warp).base - single.base, rel=1e-9
    )


def test_whole_weights_count_in_units_of_their_divisor():
    levels = np.array([[0.0], [1.0], [2.0]])
    assert counted(np.array([2.0, 4.0, 2.0]), levels).tolist() == [1, 2, 1]
    assert counted(np.array([0.5, 1.5]), levels[:2]).tolist() == [0.5, 1.5]
    assert counted(np.array([7.0, 7.0]), levels[:2]).tolist() == [1, 1]


def test_a_repeated_measurement_is_no_sign_of_little_noise():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + rng.normal(size=120)
    w = rng.integers(1, 3, size=120)
    assert counted(w.astype(float), X).mean() == pytest.approx(1)
    for rows in (np.repeat(np.arange(120), w), rng.integers(0, 120, 200)):  # a bootstrap too
        assert NablassoRegressor().fit(X[rows], y[rows]).loo_r2_ < 0.7


def test_the_log_odds_are_asked_only_where_labels_are_not_clearly_mistaken():
    X = np.random.default_rng(0).standard_normal((120, 2))
    y = np.sign(X[:, 0] + 0.1 * X[:, 1])
    few = FewRows(X, y[:, None], np.ones(120), np.arange(2), classes=True)
    model = few.tune(LINEAR, np.arange(2))
    fit = y - few.unit[1] * few.solved(model).left_out()[0][:, 0]
    np.testing.assert_array_equal(_left_out(few, model)[2], np.sign(fit) != y)
    asked = []

    def objecting(some):  # always for the smaller model
        asked.append(some)
        return 100.0 * len(some.groups)

    def never_mistaken(some):
        losses, densities, wrong, weights = _left_out(few, some)
        return losses, densities, np.zeros_like(wrong), weights

    _, clear = _without(few, model, 0, model, partial(_left_out, few), objecting)
    assert clear >= few.rules.clearly  # without the first column half of the labels are mistaken
    assert not asked
    _, clear = _without(few, model, 0, model, never_mistaken, objecting)
    assert clear == 0.0
    assert len(asked) == 2


def test_residuals_at_further_rows_are_prediction_errors():
    rows = draw()
    few = rows.first(40)
    model = few.tune(QUADRATIC, index(0, 1, 2))
    found = few.residuals(model, rows)
    assert found.shape == (N, 1)
    np.testing.assert_allclose(found[:40], few.solved(model).left_out()[0])
    mean, deviation = few.unit
    y = (rows.targets[40:] - mean) / deviation
    np.testing.assert_allclose(found[40:, 0], y[:, 0] - few.function(model).values(rows.X[40:]))
