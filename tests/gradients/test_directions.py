"""Directions are eigenvectors of the covariance of the gradients."""

import numpy as np
import pytest

from nablasso.gradients import find_directions

COLUMNS = np.array([1, 4])
B = np.array([[3.0, 0.0, 1.0], [1.0, 2.0, 0.0]])


def test_covariance_spectrum_and_directions():
    found = find_directions([(COLUMNS, B)], 6, 2)
    dense = np.zeros((6, 6))
    dense[np.ix_(COLUMNS, COLUMNS)] = B @ B.T
    np.testing.assert_allclose(found.covariance.toarray(), dense)
    np.testing.assert_allclose(found.spectrum, np.linalg.eigvalsh(B @ B.T)[::-1])
    assert np.all(found.components[:, [0, 2, 3, 5]] == 0)
    for value, direction in zip(found.spectrum, found.components, strict=True):
        np.testing.assert_allclose(dense @ direction, value * direction, atol=1e-12)
        assert direction[np.argmax(np.abs(direction))] > 0


@pytest.mark.parametrize(("second", "expected"), [(0.2, 1), (0.3, 2)])
def test_as_many_as_explain_95_percent(second, expected):
    found = find_directions([(COLUMNS, np.diag([1.0, second]))], 6, None)
    assert len(found.components) == expected


def test_several_functions_add_up():
    other = (np.array([0]), np.array([[2.0]]))
    found = find_directions([(COLUMNS, B), other], 6, None)
    assert found.covariance.toarray()[0, 0] == 4.0
    assert found.covariance.toarray()[1, 1] == 10.0


def test_no_gradients_give_one_direction_of_zeros():
    found = find_directions([(np.array([], dtype=int), np.zeros((0, 3)))], 4, None)
    assert found.components.tolist() == [[0, 0, 0, 0]]
    assert found.spectrum.size == 0
