"""From a table to a problem's data: copies, order and scale must not matter."""

import numpy as np
import pytest

from nablasso.data import table
from nablasso.data.table import (
    MIN_ROWS,
    absolute_correlations,
    canonical_order,
    check_weights,
    correlated_columns,
    prepare,
)
from nablasso.errors import InvalidDataError


def make(X, y, weights=None, *, standardize=True, centre_y=True):
    weights = check_weights(weights, len(X))
    return prepare(X, y, weights, standardize=standardize, centre_y=centre_y)


def assert_same(first, second):
    """The same data to the last bit."""
    for name in ("X", "y", "weights"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    assert first.y_mean == second.y_mean


def continuous(rng):
    X = rng.normal(size=(12, 4)) * [1e-6, 1.0, 30.0, 1e6] + [5e-6, 0.0, -2.0, 1e4]
    return X, rng.normal(size=12)


def tied(rng):
    return rng.integers(0, 3, size=(25, 4)).astype(float), rng.integers(0, 4, size=25) * 1.0


def one_hot(rng):
    level = rng.permutation(np.arange(20) % 5)
    X = np.column_stack([np.eye(5)[level], rng.normal(size=20)])
    return X, rng.normal(size=20)


def exchangeable(rng):
    """Two identical columns, and two that only the rest of the table tells apart."""
    first, second = rng.permutation(16) * 1.0, rng.permutation(16) * 1.0
    return np.column_stack([first, second, first, -first]), rng.normal(size=16)


def binary(rng):
    return rng.integers(0, 2, size=(30, 5)).astype(float), rng.integers(0, 2, size=30) * 1.0


def chain(rng, length=6):
    """Neighbours share a column, and y tells one end: the middle is known by hearsay only."""
    X = np.zeros((length, length - 1))
    X[np.arange(length - 1), np.arange(length - 1)] = 1
    X[np.arange(1, length), np.arange(length - 1)] = 1
    return X, 1.0 * (np.arange(length) == 0)


def long_chain(rng):
    return chain(rng, 14)


KINDS = {
    make.__name__: make
    for make in (continuous, tied, one_hot, exchangeable, binary, chain, long_chain)
}
each_kind = pytest.mark.parametrize("kind", KINDS)


# -------------------------------------------------------------------------- weights and copies


@each_kind
@pytest.mark.parametrize("standardize", [True, False])
def test_weight_k_equals_k_copies_bit_for_bit(kind, standardize):
    rng = np.random.default_rng(1)
    X, y = KINDS[kind](rng)
    counts = rng.integers(1, 6, size=len(X))
    weighted = make(X, y, counts, standardize=standardize)
    copied = make(np.repeat(X, counts, axis=0), np.repeat(y, counts), standardize=standardize)
    assert_same(weighted, copied)
    np.testing.assert_array_equal(weighted.columns, copied.columns)
    np.testing.assert_array_equal(np.repeat(weighted.rows, counts), copied.rows)
    np.testing.assert_array_equal(weighted.scaler.centre, copied.scaler.centre)
    np.testing.assert_array_equal(weighted.scaler.scale, copied.scaler.scale)


def test_rows_of_weight_zero_leave_no_trace():
    rng = np.random.default_rng(2)
    X, y = continuous(rng)
    weights = rng.uniform(0.5, 2.0, size=len(X))
    weights[[1, 4, 11]] = 0.0
    kept = weights > 0
    spoilt = X.copy()
    spoilt[~kept] = 1e9  # neither scale nor order may see them
    table, without = make(spoilt, y, weights), make(X[kept], y[kept], weights[kept])
    assert_same(table, without)
    np.testing.assert_array_equal(table.rows[~kept], -1)
    np.testing.assert_array_equal(table.rows[kept], without.rows)


def test_identical_rows_are_merged_only_when_y_agrees():
    X = np.array([[1.0, 2], [3, 4], [1, 2], [5, 7], [1, 2], [8, 9], [6, 1]])
    y = np.array([1.0, 2, 1, 4, 9, 5, 3])  # rows 0 and 2 agree, row 4 does not
    table = make(X, y, standardize=False, centre_y=False)
    assert len(table.y) == 6
    assert table.rows[0] == table.rows[2] != table.rows[4]
    assert table.weights[table.rows[0]] == 2 / 7
    assert table.weights[table.rows[4]] == 1 / 7
    np.testing.assert_array_equal(table.X[table.rows], X[:, table.columns])
    np.testing.assert_array_equal(table.y[table.rows], y)


@each_kind
def test_rows_and_columns_say_where_everything_went(kind):
    X, y = KINDS[kind](np.random.default_rng(3))
    table = make(X, y, standardize=False, centre_y=False)
    np.testing.assert_array_equal(table.X[table.rows], X[:, table.columns])
    np.testing.assert_array_equal(table.y[table.rows], y)
    assert table.weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(np.bincount(table.rows) / len(y), table.weights)
    assert sorted(table.columns) == list(range(X.shape[1]))


# -------------------------------------------------------------------------- canonical order


@each_kind
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("standardize", [True, False])
def test_permutations_give_the_same_table(kind, seed, standardize):
    rng = np.random.default_rng(seed)
    X, y = KINDS[kind](rng)
    weights = np.ones(len(X)) if "chain" in kind else rng.integers(1, 4, size=len(X)) / 4.0
    table = make(X, y, weights, standardize=standardize)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    other = make(X[rows][:, columns], y[rows], weights[rows], standardize=standardize)
    assert_same(table, other)
    # column a of the table is the same data wherever it came from, and so is each row
    np.testing.assert_array_equal(X[:, table.columns], X[:, columns[other.columns]])
    np.testing.assert_array_equal(other.rows, table.rows[rows])
    np.testing.assert_array_equal(other.scaler.centre, table.scaler.centre[columns])
    np.testing.assert_array_equal(other.scaler.scale, table.scaler.scale[columns])


def test_columns_that_differ_come_in_the_same_order():
    rng = np.random.default_rng(4)
    X, y = continuous(rng)
    table = make(X, y)
    for _ in range(5):
        columns = rng.permutation(X.shape[1])
        np.testing.assert_array_equal(columns[make(X[:, columns], y).columns], table.columns)


def test_merging_unequal_weights_does_not_depend_on_the_order():
    X, y = continuous(np.random.default_rng(5))
    X, y = np.vstack([X, X[:1], X[:1]]), np.append(y, [y[0], y[0]])
    weights = np.full(len(y), 0.7)
    weights[[0, -2, -1]] = 0.1, 0.2, 0.3  # (0.1 + 0.2) + 0.3 is not 0.1 + (0.2 + 0.3)
    assert_same(make(X, y, weights), make(X[::-1], y[::-1], weights[::-1]))


def test_weights_take_part_in_the_order():
    """Without y the rows below are told apart by their weights alone."""
    X = np.column_stack([np.arange(6.0), np.arange(6.0)[::-1]])
    y, weights = np.zeros(6), np.array([1.0, 2, 3, 4, 5, 6])
    table = make(X, y, weights)
    order = [3, 0, 5, 1, 4, 2]
    assert_same(table, make(X[order][:, ::-1], y[order], weights[order]))


@each_kind
def test_affine_changes_of_inputs_do_not_change_the_order(kind):
    rng = np.random.default_rng(6)
    X, y = KINDS[kind](rng)
    scale, shift = (
        2.0 ** rng.integers(-30, 30, size=X.shape[1]),
        rng.integers(-9, 9, size=X.shape[1]),
    )
    changed = (X + shift * np.ptp(X, axis=0)) * scale
    weights = np.ones(len(X))
    for before, after in zip(
        canonical_order(X, y, weights), canonical_order(changed, y, weights), strict=True
    ):
        np.testing.assert_array_equal(before, after)
    np.testing.assert_allclose(make(X, y).X, make(changed, y).X, atol=1e-8)


def test_the_order_is_no_order_of_the_values():
    """The first rows must be a fair sample, so neither y nor a column may be sorted."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(400, 2)), rng.normal(size=400)
    table = make(X, y)
    place = np.arange(400)
    for values in (table.y, *table.X.T, np.abs(table.y)):
        assert abs(np.corrcoef(place, values)[0, 1]) < 0.2


# -------------------------------------------------------------------------- scaling


def test_standardisation_with_weights():
    rng = np.random.default_rng(8)
    X, y = continuous(rng)
    weights = rng.uniform(0.1, 3.0, size=len(X))
    table = make(X, y, weights)
    p = weights / weights.sum()
    mean = p @ X
    deviation = np.sqrt(p @ (X - mean) ** 2)
    np.testing.assert_allclose(table.scaler.centre, mean, rtol=1e-12)
    np.testing.assert_allclose(table.scaler.scale, deviation, rtol=1e-10)
    np.testing.assert_allclose(table.weights @ table.X, 0.0, atol=1e-12)
    np.testing.assert_allclose(table.weights @ table.X**2, 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        table.scaler.transform(X)[:, table.columns], table.X[table.rows], atol=1e-12
    )
    assert table.y_mean == pytest.approx(p @ y)
    np.testing.assert_allclose(table.y[table.rows], y - p @ y, atol=1e-14)
    assert table.y_scale == pytest.approx(np.sqrt(p @ (y - p @ y) ** 2))


def test_without_standardisation_nothing_is_changed():
    X, y = continuous(np.random.default_rng(9))
    table = make(X, y, standardize=False, centre_y=False)
    np.testing.assert_array_equal(table.scaler.centre, 0.0)
    np.testing.assert_array_equal(table.scaler.scale, 1.0)
    np.testing.assert_array_equal(table.X[table.rows], X[:, table.columns])
    assert table.y_mean == 0.0
    assert table.y_scale == pytest.approx(y.std())  # of the deviations, centred or not


def test_y_scale_of_constant_y_is_one():
    X, _ = continuous(np.random.default_rng(10))
    assert make(X, np.full(len(X), 3.0)).y_scale == 1.0


@pytest.mark.parametrize("standardize", [True, False])
def test_constant_columns_are_left_out(standardize):
    rng = np.random.default_rng(11)
    n = 12
    nearly = 1e6 * (1 + np.finfo(float).eps * rng.integers(0, 2, size=n))  # the last bit only
    far = 1e6 + 1e-4 * rng.normal(size=n)  # small against its size, but real
    X = np.column_stack([np.full(n, 0.1), rng.normal(size=n), nearly, np.zeros(n), far])
    assert np.ptp(nearly) > 0
    table = make(X, rng.normal(size=n), standardize=standardize)
    assert sorted(table.columns) == [1, 4]
    np.testing.assert_array_equal(table.scaler.scale[[0, 2, 3]], 1.0)
    assert np.isfinite(table.scaler.transform(X)).all()
    if standardize:
        np.testing.assert_allclose(table.weights @ table.X**2, 1.0)


def test_a_column_that_varies_only_where_weights_are_zero_is_constant():
    X, y = continuous(np.random.default_rng(12))
    X[:, 2] = 4.0
    X[0, 2] = 5.0
    weights = np.ones(len(y))
    weights[0] = 0
    assert 2 not in make(X, y, weights).columns
    assert 2 in make(X, y).columns


# -------------------------------------------------------------------------- refused


def test_fewer_than_five_rows():
    assert MIN_ROWS == 5
    X, y = continuous(np.random.default_rng(13))
    make(X[:5], y[:5])
    with pytest.raises(InvalidDataError, match=r"At least 5 rows .*n_samples=4"):
        make(X[:4], y[:4])
    with pytest.raises(InvalidDataError, match=r"non-zero sample weight.*n_samples=4"):
        make(X, y, [1, 1, 1, 1] + [0] * 8)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 11 + [-1.0], "not negative; give rows to be left out weight 0"),
        ([1.0] * 11 + [np.nan], "must be finite"),
        ([1.0] * 11 + [np.inf], "must be finite"),
        ([1.0] * 11, r"one number per row, shape \(12,\); got shape \(11,\)"),
        (np.ones((12, 1)), r"shape \(12,\); got shape \(12, 1\)"),
        (-1.0, "not negative"),
        (np.nan, "must be finite"),
    ],
)
def test_weights_that_are_refused(weights, message):
    with pytest.raises(InvalidDataError, match=message):
        check_weights(weights, 12)


def test_weights_that_are_taken():
    np.testing.assert_array_equal(check_weights(None, 3), [1, 1, 1])
    np.testing.assert_array_equal(check_weights(2, 3), [2, 2, 2])
    np.testing.assert_array_equal(check_weights([0, 1, 2.5], 3), [0, 1, 2.5])


def test_correlated_columns_are_those_of_the_whole_matrix(monkeypatch):
    monkeypatch.setattr(table, "CORRELATED", 3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) @ rng.normal(size=(3, 11)) + 0.1 * rng.normal(size=(20, 11))
    X[:, 4] = 1.0
    weights = rng.uniform(0.5, 2.0, size=20)
    weights /= weights.sum()
    chosen = np.array([1, 4, 5, 9, 10])
    sizes = absolute_correlations(X, weights, chosen)
    found = {(a, b) for a, own in correlated_columns(X, weights, chosen, 0.8) for b in own}
    expected = zip(*np.nonzero(sizes >= 0.8), strict=True)
    assert found == {(chosen[row], column) for row, column in expected}
    assert not any(4 in pair for pair in found)
