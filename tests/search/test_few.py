"""Which groups a model stands on: proposals, dropping, joining, checking, copies."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from nablasso.regression.models import FAMILIES, GAUSSIAN, LINEAR, QUADRATIC, FewRows
from nablasso.regression.ridge import paired
from nablasso.rules import Rules
from nablasso.search.check import _left_out, _without, check, with_copies
from nablasso.search.check import worth as worth_of
from nablasso.search.few import backward, forward, proposals
from tests.regression.dense_process import left_out
from tests.search.rows import draw, few_rows, gram_of, index

N, D = 60, 5


def test_proposals_are_the_cut_of_least_price():
    rows = draw()
    for price, family, groups, x in proposals(rows):
        assert family.walks
        v, r = np.exp(x[:-1]), float(np.exp(x[-1]))
        part = rows.evidence(family).part(groups)
        assert price == pytest.approx(part.value(v, r) + rows.cost(len(groups)))
        assert len(groups) < 2 or price <= (
            rows.evidence(family).part(groups[:-1]).value(v[:-1], r) + rows.cost(len(groups) - 1)
        )
    found = {family.name: set(groups.tolist()) for _, family, groups, _ in proposals(rows)}
    assert {0, 1, 2} <= found["quadratic"]
    assert set(found) == {family.name for family in FAMILIES if family.walks}


@pytest.mark.parametrize("most", [None, 2])
def test_proposals_have_what_is_kept_and_no_more_than_allowed(most):
    rows = replace(draw(), kept=index(4), most=most)
    for _, _, groups, _ in proposals(rows):
        assert 4 in groups
        assert most is None or len(groups) <= most


def test_idle_groups_are_dropped_and_kept_ones_stay():
    rows = draw()
    model = backward(rows, rows.tune(QUADRATIC, np.arange(D)))
    assert sorted(model.groups) == [0, 1, 2]
    kept = replace(rows, kept=index(4))
    model = backward(kept, kept.tune(QUADRATIC, np.arange(D)))
    assert sorted(model.groups) == [0, 1, 2, 4]


def test_backward_goes_down_to_what_is_allowed():
    rows = replace(draw(), most=2)
    model = backward(rows, rows.tune(QUADRATIC, np.arange(D)))
    assert 0 < len(model.groups) <= 2


def test_noise_is_dropped_altogether():
    rng = np.random.default_rng(3)
    rows = few_rows(rng.normal(size=(N, D)), rng.normal(size=N))
    model = backward(rows, rows.tune(QUADRATIC, np.arange(D)))
    assert not len(model.groups)
    assert model.price == 0.0


@pytest.mark.parametrize("family", [QUADRATIC, GAUSSIAN], ids=lambda f: f.name)
def test_what_the_evidence_asks_for_joins(family):
    rows = draw()
    start = rows.tune(family, index(0, 1))
    model = forward(rows, start)
    assert sorted(model.groups) == [0, 1, 2]
    assert model.price < start.price
    assert forward(rows, model) is model
    full = replace(rows, most=2)
    assert forward(full, start) is start
    nothing = rows.tune(family, rows.kept)
    assert forward(rows, nothing) is nothing


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
    assert with_copies(kept, kept.tune(LINEAR, kept.kept)).groups.tolist() == [1]


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
