"""The paired comparison against copies of rows, and what follows from it."""

import numpy as np
import pytest

from nablasso.regression.paired import Difference, paired, saving


def test_the_mean_and_its_error_are_those_of_the_textbook():
    e = np.random.default_rng(0).normal(size=40)
    found = paired(e, np.full(40, 3.0))
    assert found.mean == pytest.approx(e.mean())
    assert found.error == pytest.approx(e.std() / np.sqrt(40))
    assert found.in_errors == pytest.approx(found.mean / found.error)
    assert Difference(1.0, 0.0).in_errors == 0.0


def test_weights_move_the_mean_and_only_their_shares_count():
    e, weights = np.array([1.0, 2.0, 4.0]), np.array([1.0, 1.0, 2.0])
    found = paired(e, weights)
    assert found.mean == pytest.approx(11 / 4)
    shares = weights / 4
    assert found.error == pytest.approx(np.sqrt(np.sum(shares**2 * (e - 11 / 4) ** 2)))
    assert paired(e, 10 * weights) == pytest.approx(found)


def test_what_is_saved_is_a_share_of_the_losses():
    rng = np.random.default_rng(1)
    null, ours, weights = rng.random(30) + 1, rng.random(30), rng.random(30)
    share, gain = saving(null, ours, weights)
    assert share == pytest.approx(1 - weights @ ours / (weights @ null))
    assert gain == pytest.approx(paired(null - ours, weights).in_errors)
    assert saving(null, null, weights) == (0.0, 0.0)
    assert saving(np.zeros(3), np.zeros(3), np.ones(3)) == (0.0, 0.0)
