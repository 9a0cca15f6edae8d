"""Moves of a column and the quotients along them."""

import numpy as np

from nablasso.data.table import discrete_columns
from nablasso.reading.function import moves, quotients


def test_ten_values_are_discrete_and_eleven_are_not():
    X = np.column_stack([np.arange(33) % 10, np.arange(33) % 11, np.full(33, 2.0)])
    np.testing.assert_array_equal(discrete_columns(X), [True, False, True])


def test_discrete_moves_go_to_the_observed_levels_next_to_a_row():
    Z = np.array([[0.0], [3.0], [1.0], [0.0]])
    along = moves(Z, 0, discrete=True)
    np.testing.assert_array_equal(along.end, [[0.0, 1.0, 0.0, 0.0], [1.0, 3.0, 3.0, 1.0]])
    np.testing.assert_array_equal(along.share, [[0.0, 1.0, 0.5, 0.0], [1.0, 0.0, 0.5, 1.0]])


def test_a_constant_column_has_no_moves():
    along = moves(np.full((4, 1), 2.0), 0, discrete=True)
    assert not along.share.any()


def test_quotients_of_a_parabola_are_exact():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(7, 2))
    smooth = quotients(lambda points: points**2, Z, moves(Z, 1, discrete=False))
    np.testing.assert_allclose(smooth[0, :, 1], 2 * Z[:, 1], atol=1e-9)
    np.testing.assert_allclose(smooth[0, :, 0], 0, atol=1e-9)
    Z[:, 1] = [0, 1, 3, 3, 0, 1, 0]
    along = moves(Z, 1, discrete=True)
    steps = quotients(lambda points: points[:, 1] ** 2, Z, along)
    expected = np.where(along.end != along.start, along.start + along.end, 0.0)
    np.testing.assert_allclose(steps, expected)


def test_the_rows_stay_as_they_are():
    Z = np.arange(12.0).reshape(6, 2)
    Z.setflags(write=False)
    quotients(lambda points: points.sum(axis=1), Z, moves(Z, 0, discrete=True))
