"""Screening: what is found alone, in pairs, and once stronger effects are taken out."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso.kernels import Linear
from nablasso.metric import screening
from nablasso.metric.passes import Walk, initial_scales
from nablasso.metric.screening import by_chance, group_scores, left_over, screened, shortlisted
from nablasso.metric.start import Start, default_starts
from tests.metric.samples import as_sample

N, D = 150, 300


@pytest.fixture(autouse=True)
def small_lists(monkeypatch):
    monkeypatch.setattr(screening, "SHORTLISTED_COLUMNS", 60)
    monkeypatch.setattr(screening, "SHORTLISTED_PAIRS", 400)


def inputs(seed=0):
    return np.random.default_rng(seed).normal(size=(N, D))


def test_alone_in_pairs_and_after_others():
    X = inputs()
    y = 2 * X[:, 5] ** 2 + X[:, 7] * X[:, 8] + 0.5 * np.sin(2 * X[:, 9])
    sample = shortlisted(as_sample(X, y))
    clear = screened(sample, 0).open
    assert clear[[5, 7, 8, 9]].all()
    assert clear.sum() <= 8
    more = screened(sample).open
    assert (more >= clear).all()
    assert (
        screening.SPARE <= more.sum() - clear.sum() <= screening.SPARE + 2 * screening.SPARE_PAIRS
    )


def test_without_pairs_a_product_is_not_seen():
    X = inputs(1)
    sample = as_sample(X, X[:, 7] * X[:, 8])
    assert screened(shortlisted(sample), 0).open[[7, 8]].all()
    assert not screened(shortlisted(sample, pairs=False), 0).open[[7, 8]].any()


def test_pairs_with_what_is_strong_alone_where_all_are_too_many(monkeypatch):
    monkeypatch.setattr(screening, "PAIR_WORK", 2 * N * D * 3)  # three columns with all
    X = inputs(2)
    sample = shortlisted(as_sample(X, 1.5 * X[:, 3] + X[:, 3] * X[:, 4]))
    assert screened(sample, 0).open[[3, 4]].all()
    assert len(np.unique(sample.shortlist.pairs[:, 0])) <= D


def test_groups_open_together_and_kept_ones_always():
    X = inputs(3)
    labels = np.arange(D) // 3
    sample = shortlisted(as_sample(X, X[:, 31] ** 2, labels=labels, kept=[99]))
    found = screened(sample, 0).open
    assert len(found) == D // 3
    assert found[10]
    assert found[99]
    scores = np.arange(D, dtype=float)
    np.testing.assert_array_equal(group_scores(sample, scores), np.arange(2, D, 3))


def test_rows_forget_what_was_open_and_screen_again():
    X = inputs(4)
    sample = screened(shortlisted(as_sample(X, X[:, 0] ** 2)))
    part = sample.rows(np.arange(100))
    assert part.open is None
    assert part.shortlist is sample.shortlist
    again = screened(part)
    direct = screened(replace(as_sample(X[:100], X[:100, 0] ** 2), shortlist=sample.shortlist))
    np.testing.assert_array_equal(again.open, direct.open)
    assert sample.groups(np.array([0, 1])).shortlist is None


def test_walks_begin_from_the_open_groups():
    X = inputs(5)
    sample = as_sample(X, X[:, 0])
    start = Start(Linear())
    np.testing.assert_array_equal(initial_scales(sample, start), 1)
    mask = np.zeros(D, dtype=bool)
    mask[:4] = True
    narrow = replace(sample, open=mask)
    np.testing.assert_array_equal(initial_scales(narrow, start), mask)
    assert Walk(narrow, start).advance(2).best.norms[4:].max() == 0
    assert not any(start.forward for start in default_starts(N, screening.WIDE // N))


def test_without_a_shortlist_nothing_is_screened():
    sample = as_sample(inputs(), inputs()[:, 0])
    assert screened(sample) is sample
    assert not screening.is_wide(sample)


def test_residuals_of_nothing_are_those_of_the_mean():
    X = inputs(6)
    sample = as_sample(X, X[:, 0])
    y = X[:, 0]
    expected = (y - y.mean()) * N / (N - 1)
    none = np.zeros(D, dtype=bool)
    np.testing.assert_allclose(left_over(sample, none)[:, 0], expected)


def test_chance_is_about_the_largest_score_of_noise():
    rng = np.random.default_rng(0)
    best = []
    for _ in range(5):
        X, y = rng.normal(size=(N, 2000)), rng.normal(size=(N, 1))
        scores = screening.column_scores(X, y, np.full(N, 1 / N), np.arange(2000))
        best.append(scores.max())
    assert 0.5 < np.mean(best) / by_chance(N, 2000) < 1.3
