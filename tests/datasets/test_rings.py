import numpy as np
import pytest

from nablasso.datasets import make_rings


def test_classes_are_rings():
    problem = make_rings(random_state=0)
    radius = np.sqrt(problem.X[:, 0] ** 2 + problem.X[:, 1] ** 2)
    np.testing.assert_allclose(radius[problem.y == 1], 3.0)
    np.testing.assert_allclose(radius[problem.y == 0], 7.5)


def test_labels_are_zero_and_one_without_noise():
    problem = make_rings(random_state=0)
    assert set(problem.y.tolist()) == {0.0, 1.0}
    np.testing.assert_array_equal(problem.y, problem.noise_free)


@pytest.mark.parametrize(("n_samples", "inner"), [(40, 20), (41, 20)])
def test_half_of_the_rows_lie_on_each_ring(n_samples, inner):
    assert make_rings(n_samples, random_state=0).y.sum() == inner


def test_rows_come_in_random_order():
    y = make_rings(random_state=0).y
    assert 5 < np.abs(np.diff(y)).sum() < 35


def test_points_are_uniform_on_their_ring():
    X = make_rings(n_samples=20_000, n_features=2, random_state=0).X
    angle = np.arctan2(X[:, 1], X[:, 0])
    counts, _ = np.histogram(angle, bins=8, range=(-np.pi, np.pi))
    np.testing.assert_allclose(counts / 2500, 1.0, atol=0.1)


@pytest.mark.parametrize("spread", [0.1, 3.0])
def test_other_inputs_have_the_stated_spread(spread):
    X = make_rings(n_samples=5000, n_features=10, spread=spread, random_state=0).X
    np.testing.assert_allclose(X[:, 2:].std(axis=0), spread, rtol=0.05)
    np.testing.assert_allclose(X[:, 2:].mean(axis=0), 0.0, atol=0.08 * spread)
