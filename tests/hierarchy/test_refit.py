"""Pruning: the criterion against independent fits, the steps against brute force."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from nablasso.hierarchy import Hermite, Monomials, Spline, refit
from nablasso.hierarchy.grid import Flat, Grid
from nablasso.hierarchy.refit import SHARE, WIDTH, Pruner, _block_loss, leading
from nablasso.losses import Logistic, LossSample, Squared

RNG = np.random.default_rng(41)
N = 80
X = RNG.normal(size=(N, 4))
WEIGHTS = RNG.uniform(0.5, 1.5, size=N)
WEIGHTS /= WEIGHTS.sum()
y = X[:, 0] + X[:, 1] + 1.5 * X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=N)
TRUE = [(), ((0, 1),), ((1, 1),), ((0, 1), (1, 1))]
NOISE = [((2, 1),), ((2, 2),), ((0, 2),), ((3, 1),)]


def sample(target=y, loss=None, weights=WEIGHTS):
    return LossSample(target, weights, loss or Squared())


def grid(decomposition=None, weights=WEIGHTS, rows=X):
    return Grid(rows, weights, decomposition or Monomials(3))


def criterion(pruner, hull):
    return pruner._fit(frozenset(hull)).criterion


def columns(hierarchy, hull):
    """Independent features: centred products, constant ones left out."""
    parts = [hierarchy.block(node).train for node in hull if node != ()]
    return np.column_stack([np.ones(N), *parts])


def by_least_squares(hierarchy, hull, rows):
    A = columns(hierarchy, hull)
    root = np.sqrt(WEIGHTS)
    rest = y - A @ np.linalg.lstsq(A * root[:, None], y * root, rcond=None)[0]
    k = A.shape[1] - 1
    return rows * np.log(WEIGHTS @ rest**2) + k * (np.log(rows) + 2 * np.log(X.shape[1]))


def test_the_criterion_of_least_squares():
    hierarchy = grid()
    pruner = Pruner(hierarchy, sample(), 120.0)
    for hull in (TRUE, TRUE + NOISE, [()]):
        assert criterion(pruner, hull) == pytest.approx(by_least_squares(hierarchy, hull, 120.0))


def test_steps_are_those_of_brute_force():
    hierarchy = grid()
    pruner = Pruner(hierarchy, sample(), N)
    hull = TRUE + NOISE
    here = by_least_squares(hierarchy, hull, N)
    while True:
        smaller = [
            [node for node in hull if node != sink]
            for sink in hull
            if sink != () and not any(sink in hierarchy.parents(node) for node in hull)
        ]
        scores = [by_least_squares(hierarchy, each, N) for each in smaller]
        if min(scores) >= here:
            break
        here, hull = min(scores), smaller[int(np.argmin(scores))]
    pruned = pruner.prune(TRUE + NOISE)
    assert set(pruned.hull) == set(hull) == set(TRUE)
    assert pruned.criterion == pytest.approx(here)


@pytest.mark.parametrize("decomposition", [Spline(), Hermite(3)], ids=str)
def test_the_loss_of_a_block_is_that_of_the_smaller_fit(decomposition):
    hierarchy = grid(decomposition)
    pruner = Pruner(hierarchy, sample(), N)
    thick = ((1, hierarchy.q),)
    hull = {(), ((0, 1),), *(((1, level),) for level in range(1, hierarchy.q + 1))}
    fit = pruner._fit(frozenset(hull))
    assert hierarchy.block(thick).train.shape[1] > pruner._of(thick).shape[1] > 1
    without = pruner._fit(frozenset(hull - {thick}))
    lost = _block_loss(fit.coef, fit.inverse, fit.places[thick])
    change = pruner._rise(lost, fit.unit) - pruner._price(thick)
    assert fit.criterion + change == pytest.approx(without.criterion)


def test_taking_many_at_once_is_taking_one_by_one(monkeypatch):
    """Sixty products of twelve columns on eighty rows: more than half as many."""
    wide = RNG.normal(size=(N, 12))
    hierarchy = grid(rows=wide)
    hull = [(), *(((g, 1),) for g in range(12))]
    hull += [((g, 1), (h, 1)) for g in range(12) for h in range(g + 1, 12)][:48]
    target = wide[:, 0] + wide[:, 1] + 2 * wide[:, 0] * wide[:, 1] + 0.1 * RNG.normal(size=N)
    together = Pruner(hierarchy, sample(target), N).prune(hull)
    monkeypatch.setattr(refit, "AT_ONCE", 0.0)
    single = Pruner(hierarchy, sample(target), N).prune(hull)
    assert together.hull == single.hull
    assert set(TRUE) <= set(single.hull)
    assert together.criterion == pytest.approx(single.criterion)


def test_leading_directions_hold_their_share():
    F = grid(Spline()).block(((0, 2),)).train
    U = leading(F, WEIGHTS)
    np.testing.assert_allclose((U * WEIGHTS[:, None]).T @ U, np.eye(U.shape[1]), atol=1e-10)
    np.testing.assert_allclose(WEIGHTS @ U, 0, atol=1e-12)
    centred = F - WEIGHTS @ F
    share = np.sum(((U * WEIGHTS[:, None]).T @ centred) ** 2)
    assert SHARE - 1e-12 <= share / (WEIGHTS @ centred**2).sum() < 1
    assert leading(np.ones((N, 2)), WEIGHTS).shape == (N, 0)


def test_the_criterion_of_classes():
    flat = np.full(N, 1 / N)
    labels = np.where(y + RNG.logistic(size=N) > 0, 1.0, -1.0)
    hierarchy, hull = grid(weights=flat), [(), ((0, 1),), ((1, 1),)]
    price = 2 * (np.log(N) + 2 * np.log(4))
    A = X[:, :2] / X[:, :2].std(axis=0)
    machine = LogisticRegression(C=WIDTH**2, tol=1e-10).fit(A, labels)
    z, w = machine.decision_function(A), machine.coef_
    likelihood = 2 * np.sum(np.logaddexp(0, -labels * z)) + np.sum(w**2) / WIDTH**2
    ours = criterion(Pruner(hierarchy, sample(labels, Logistic(), flat), N), hull)
    assert ours == pytest.approx(likelihood + price)


def test_separated_classes_are_pruned():
    labels = np.sign(X[:, 0])
    pruned = Pruner(grid(), sample(labels, Logistic()), N).prune([(), ((0, 1),), ((2, 1),)])
    assert pruned.hull == [(), ((0, 1),)]
    assert np.isfinite(pruned.criterion)


def test_weights_are_copies():
    counts = RNG.integers(1, 4, size=N)
    weighted = counts / counts.sum()
    merged = Pruner(grid(weights=weighted), sample(weights=weighted), counts.sum())
    total = int(counts.sum())
    rows, flat = np.repeat(X, counts, axis=0), np.full(total, 1 / total)
    copies = Pruner(
        grid(weights=flat, rows=rows), sample(np.repeat(y, counts), weights=flat), total
    )
    for hull in (TRUE, TRUE + NOISE):
        assert criterion(merged, hull) == pytest.approx(criterion(copies, hull))


def test_kept_nodes_stay_and_what_they_were_not_in_is_not_made_of_them():
    pruner = Pruner(grid(), sample(), N, [((3, 2),)])
    assert ((3, 2),) in pruner.prune([*TRUE, *NOISE, ((3, 2),)]).hull
    assert set(pruner.prune(TRUE).hull) == set(TRUE)


def test_a_noiseless_target_needs_no_more_than_its_hull():
    exact = X[:, 0] * X[:, 1]
    assert set(Pruner(grid(), sample(exact), N).prune(TRUE + NOISE).hull) == set(TRUE)


def test_more_features_than_rows_are_cut_first():
    few = slice(0, 9)
    weights = np.full(9, 1 / 9)
    pruner = Pruner(grid(weights=weights, rows=X[few]), sample(y[few], weights=weights), 9)
    assert len(pruner.prune([*TRUE, *NOISE, ((3, 2),), ((3, 3),)]).hull) <= 5


def test_kernels_without_edges_may_all_go():
    pruner = Pruner(Flat(grid(Spline())), sample(RNG.normal(size=N)), N)
    assert pruner.prune([((0, 1),), ((2, 1),)]).hull == []
