"""Screening: what is found alone, in pairs, and once stronger effects are taken out."""

from functools import partial

import numpy as np
import pytest

from nablasso import screening
from nablasso.screening import by_chance, column_scores, group_scores, left_over
from tests.search.rows import few_rows

N, D = 150, 300


screen = partial(screening.screen, n_columns=60, n_pairs=400)
narrowed = partial(screening.narrowed, n_columns=60, n_pairs=400)


def inputs(seed=0):
    return np.random.default_rng(seed).normal(size=(N, D))


def test_alone_in_pairs_and_after_others():
    X = inputs()
    rows = few_rows(X, 2 * X[:, 5] ** 2 + X[:, 7] * X[:, 8] + 0.5 * np.sin(2 * X[:, 9]))
    found = screen(rows)
    assert found.clear[[5, 7, 8, 9]].all()
    assert found.clear.sum() <= 8
    np.testing.assert_array_equal(screen(rows, n_spare=0).open, found.clear)
    more = found.open
    assert (more >= found.clear).all()
    added = more.sum() - found.clear.sum()
    assert screening.SPARE <= added <= screening.SPARE + 2 * screening.SPARE_PAIRS
    assert found.scores.argmax() == 5


def test_without_pairs_a_product_is_not_seen():
    X = inputs(1)
    rows = few_rows(X, X[:, 7] * X[:, 8])
    assert screen(rows).clear[[7, 8]].all()
    assert not screen(rows, n_pairs=0).clear[[7, 8]].any()


def test_pairs_with_what_is_strong_alone_where_all_are_too_many():
    X = inputs(2)
    rows = few_rows(X, 1.5 * X[:, 3] + X[:, 3] * X[:, 4])
    three_with_all = 2 * N * D * 3
    assert screen(rows, pair_work=three_with_all).clear[[3, 4]].all()


def test_groups_open_together_and_kept_ones_always():
    X = inputs(3)
    rows = few_rows(X, X[:, 31] ** 2, labels=np.arange(D) // 3, kept=[99])
    clear = screen(rows).clear
    assert len(clear) == D // 3
    assert clear[10]
    assert clear[99]
    scores = np.arange(D, dtype=float)
    np.testing.assert_array_equal(group_scores(rows.labels, scores), np.arange(2, D, 3))


def test_the_search_gets_the_open_columns_and_pays_for_all():
    X = inputs(4)
    rows = few_rows(X, X[:, 31] ** 2, labels=np.arange(D) // 3, kept=[99])
    inner, columns = narrowed(rows)
    np.testing.assert_array_equal(inner.X, rows.X[:, columns])
    opened = np.unique(rows.labels[columns])
    np.testing.assert_array_equal(opened[inner.labels], rows.labels[columns])
    np.testing.assert_array_equal(opened[inner.kept], [99])
    assert 10 in opened
    assert inner.n_groups == len(opened) < 50
    for k in (1, 2, 5):
        assert inner.cost(k) == pytest.approx(rows.cost(k))


def test_residuals_of_nothing_are_those_of_the_mean():
    X = inputs(6)
    rows = few_rows(X, X[:, 0])
    y = rows.Y[:, 0]
    nothing = left_over(rows, np.zeros(D, dtype=bool))
    np.testing.assert_allclose(nothing[:, 0], (y - y.mean()) * N / (N - 1))


def test_what_is_left_over_is_less_where_something_was_found():
    X = inputs(7)
    rows = few_rows(X, X[:, 0] + 0.1 * X[:, 1])
    found = np.zeros(D, dtype=bool)
    found[0] = True
    left = left_over(rows, found)
    assert left.shape == (N, 1)
    assert 0.05 < left.std() < 0.15
    assert abs(np.corrcoef(left[:, 0], X[:, 1])[0, 1]) > 0.95


def test_chance_is_about_the_largest_score_of_noise():
    rng = np.random.default_rng(0)
    best = []
    for _ in range(5):
        X, y = rng.normal(size=(N, 2000)), rng.normal(size=(N, 1))
        best.append(column_scores(X, y, np.full(N, 1 / N), np.arange(2000)).max())
    assert 0.5 < np.mean(best) / by_chance(N, 2000) < 1.3
