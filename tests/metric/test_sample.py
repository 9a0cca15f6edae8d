"""Parts of a sample."""

import numpy as np

from tests.metric.samples import draw_sample


def test_rows_have_weights_that_add_up_to_one():
    sample = draw_sample(weighted=True)
    chosen = np.array([3, 1, 7])
    part = sample.rows(chosen)
    np.testing.assert_array_equal(part.X, sample.X[chosen])
    np.testing.assert_array_equal(part.Y, sample.Y[chosen])
    assert part.weights.sum() == 1.0
    np.testing.assert_allclose(
        part.weights / part.weights[0], (sample.weights / sample.weights[3])[chosen]
    )
    np.testing.assert_array_equal(sample.rows(np.arange(24) < 5).X, sample.X[:5])


def test_groups_are_renumbered_in_the_order_given():
    sample = draw_sample(d=6, labels=[2, 0, 1, 2, 3, 0], kept=[3])
    part = sample.groups(np.array([2, 0]))
    np.testing.assert_array_equal(part.X, sample.X[:, [0, 1, 3, 5]])  # order of the table
    np.testing.assert_array_equal(part.labels, [0, 1, 0, 1])
    assert part.kept.all()
    np.testing.assert_array_equal(sample.columns(np.array([3, 0])), [1, 4, 5])


def test_mean_square_is_over_the_columns_of_a_group():
    sample = draw_sample(d=4, labels=[1, 0, 1, 1])
    squares = sample.mean_square(np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(squares, [4.0, (1 + 9 + 16) / 3])
