"""Sufficient statistics: equal to their definitions, additive, fold by fold; passes that go on."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import nablasso
from nablasso.errors import DriftWarning, InvalidDataError, InvalidParameterError
from nablasso.kernels import Gaussian
from nablasso.persistence import Store
from nablasso.progress import reporting
from nablasso.spaces import FeatureRows, draw_nystrom
from nablasso.streaming import SufficientStatistics, collect_statistics, open_table
from nablasso.streaming.sources import Arrays
from nablasso.streaming.statistics import fold_numbers
from tests.frozen_spaces import direct, frozen, rows


def cut_small(X, y, weights=None, **settings):
    """A table in blocks of a few rows."""
    return Arrays(X, y, weights, rows=7, missing=False, **settings)


def assert_close(found, expected, tol=1e-12):
    mean, C, c, y_mean, variance = expected
    np.testing.assert_allclose(found.mean, mean, atol=tol)
    np.testing.assert_allclose(found.C, C, atol=tol)
    np.testing.assert_allclose(found.c, c, atol=tol)
    assert found.y_mean == pytest.approx(y_mean, rel=tol)
    assert found.y_variance == pytest.approx(variance, rel=1e3 * tol)


def sums_equal(a, b):
    return all(np.array_equal(x, b.sums[name]) for name, x in a.sums.items())


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_follow_their_definitions(weighted):
    X, y = rows(200)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, 200).astype(float) if weighted else np.ones(200)
    space = frozen(X[:50], y[:50])
    found = SufficientStatistics(space).partial_fit(cut_small(X, y, weights if weighted else None))
    assert_close(found.total(), direct(space, X, y, weights))
    assert found.n_samples == np.count_nonzero(weights)
    assert found.weight == weights.sum()


def test_slopes_are_those_of_the_moments_in_memory():
    X, y = rows(100)
    space = frozen(X, y)
    found = SufficientStatistics(space).partial_fit(X, y).total()
    expected = FeatureRows(space.features, space.standardise(X)).moments(y, np.ones(100))
    np.testing.assert_allclose(found.S, expected.S, atol=1e-12)
    psi = space.features.slopes(space.features.features(space.standardise(X)))
    np.testing.assert_allclose(found.S, psi.T @ psi / 100, atol=1e-12)


def test_folds_split_the_rows_and_score_them():
    X, y = rows(200)
    space = frozen(X[:50], y[:50], seed=3)
    found = SufficientStatistics(space, n_folds=3).partial_fit(cut_small(X, y))
    folds = fold_numbers(X[:, space.columns], y, 3, 3)
    assert np.bincount(folds, minlength=3).min() > 40
    rng = np.random.default_rng(0)
    w, b = rng.standard_normal(space.features.n_components), 99.0
    f = space.features.features(space.standardise(X)) @ w + b
    for k in range(3):
        inside = (folds == k).astype(float)
        assert_close(found.fold(k), direct(space, X, y, inside), 1e-11)
        assert_close(found.without(k), direct(space, X, y, 1 - inside), 1e-11)
        error = np.mean((y - f)[folds == k] ** 2)
        assert found.fold(k).mean_squared_error(w, b) == pytest.approx(error)


def test_a_weight_is_so_many_copies_and_order_does_not_matter():
    X, y = rows(60)
    space = frozen(X, y)
    weights = np.random.default_rng(0).integers(0, 4, 60)
    weighted = SufficientStatistics(space).partial_fit(X, y, weights)
    order = np.random.default_rng(1).permutation(weights.sum())
    copies = SufficientStatistics(space).partial_fit(
        np.repeat(X, weights, axis=0)[order], np.repeat(y, weights)[order]
    )
    for k in range(5):
        np.testing.assert_allclose(weighted.fold(k).C, copies.fold(k).C, atol=1e-13)
        assert weighted.fold(k).y_mean == pytest.approx(copies.fold(k).y_mean, rel=1e-14)


def test_permuted_columns_have_the_same_sums():
    X, y = rows(200)
    order = [2, 0, 3, 1]
    one = SufficientStatistics(frozen(X, y)).partial_fit(X, y)
    other = SufficientStatistics(frozen(X[:, order], y)).partial_fit(X[:, order], y)
    assert sums_equal(one, other)


def test_the_number_of_threads_changes_nothing():
    X, y = rows(300)
    space = frozen(X, y)
    one = SufficientStatistics(space).partial_fit(cut_small(X, y))
    three = SufficientStatistics(space).partial_fit(cut_small(X, y, threads=3))
    assert sums_equal(one, three)


def test_statistics_add_up():
    X, y = rows(300)
    space = frozen(X[:100], y[:100])
    whole = SufficientStatistics(space).partial_fit(X, y)
    first = SufficientStatistics(space).partial_fit(X[:120], y[:120])
    second = SufficientStatistics(space).partial_fit(X[120:], y[120:])
    before = first.total().C
    added = first + second
    assert np.array_equal(first.total().C, before)
    np.testing.assert_allclose(added.total().C, whole.total().C, atol=1e-13)
    first += second
    assert sums_equal(first, added)
    assert first.n_samples == 300


def test_statistics_of_other_spaces_or_folds_do_not_add_up():
    X, y = rows()
    one = SufficientStatistics(frozen(X, y))
    with pytest.raises(InvalidParameterError, match="only in one space"):
        one + SufficientStatistics(frozen(X, y, seed=1))
    with pytest.raises(InvalidParameterError, match="5 and 4 folds"):
        one + SufficientStatistics(frozen(X, y), n_folds=4)
    with pytest.raises(TypeError):
        one + 1


def test_float32_is_computed_in_float32_and_close():
    X, y = rows(3000, dtype=np.float32)
    space = frozen(X[:500], y[:500])
    single = SufficientStatistics(space).partial_fit(X, y)
    double = SufficientStatistics(space).partial_fit(X.astype(float), y)
    assert space.standardise(X).dtype == np.float32
    assert np.array_equal(single.sums["count"], double.sums["count"])  # the same folds
    C = double.total().C
    difference = np.abs(single.total().C - C) / np.sqrt(np.outer(np.diag(C), np.diag(C)))
    assert 0 < difference.max() < 2e-5  # in correlations, of nearly constant features too


def test_an_offset_of_y_costs_no_digits():
    X, y = rows()
    near, far = y - 100, y + 1e6
    one = SufficientStatistics(frozen(X, near)).partial_fit(X, near).total()
    other = SufficientStatistics(frozen(X, far)).partial_fit(X, far).total()
    assert other.y_variance == pytest.approx(one.y_variance, rel=1e-8)


def test_nystrom_features_have_moments_without_slopes():
    X, y = rows(80)
    fourier = frozen(X, y)
    Z = fourier.standardise(X)
    features = draw_nystrom(Gaussian(), np.full(4, 0.5), Z, np.full(80, 1 / 80), 10)
    space = type(fourier)(fourier.scaler, fourier.columns, features)
    found = SufficientStatistics(space).partial_fit(X, y).total()
    phi = features.features(Z)
    np.testing.assert_allclose(found.C, np.cov(phi.T, bias=True), atol=1e-10)
    assert found.S is None


def test_integers_and_data_frames_are_tables_too():
    X, y = rows(100)
    X = np.round(X)
    space = frozen(X, y, feature_names=("a", "b", "c", "d"))
    one = SufficientStatistics(space).partial_fit(X, y)
    two = SufficientStatistics(space).partial_fit(pd.DataFrame(X.astype(int), columns=[*"abcd"]), y)
    assert sums_equal(one, two)


def test_chunks_with_other_columns_are_refused():
    X, y = rows()
    named = SufficientStatistics(frozen(X, y, feature_names=("a", "b", "c", "d")))
    with pytest.raises(InvalidDataError, match=r"4 columns of the space; The table has 3"):
        named.partial_fit(X[:, :3], y)
    with pytest.raises(InvalidDataError, match=r"lacks 'd' and has 'e' besides"):
        named.partial_fit(pd.DataFrame(X, columns=[*"abce"]), y)
    with pytest.raises(InvalidDataError, match="another order"):
        named.partial_fit(pd.DataFrame(X, columns=[*"abdc"]), y)
    with pytest.raises(InvalidDataError, match=r"as many rows; got shapes \(300, 4\), \(2,\)"):
        named.partial_fit(X, y[:2])
    with pytest.raises(InvalidDataError, match="X must be a table"):
        named.partial_fit(X[0], y[:1])
    with pytest.raises(InvalidDataError, match="must hold numbers"):
        named.partial_fit(X.astype(str), y)


@pytest.mark.parametrize(("value", "kind"), [(np.nan, "NaN"), (-np.inf, "infinity")])
def test_what_is_not_finite_is_named_and_nothing_added(value, kind):
    X, y = rows(100)
    space = frozen(X, y)
    found = SufficientStatistics(space).partial_fit(X, y)
    before = found.total().C
    bad = X.copy()
    bad[70, 2] = value
    with pytest.raises(InvalidDataError, match=rf"contains {kind}: row 70 .*column 'x2'"):
        found.partial_fit(cut_small(bad, y))
    target = y.copy()
    target[5] = value
    with pytest.raises(InvalidDataError, match=f"{kind}: row 5 .*the target"):
        found.partial_fit(X, target)
    assert np.array_equal(found.total().C, before)


def test_empty_folds_and_wrong_numbers_are_named():
    X, y = rows(30)
    found = SufficientStatistics(frozen(X, y), n_folds=1)
    with pytest.raises(InvalidDataError, match="No rows were added"):
        found.total()
    found.partial_fit(X, y)
    with pytest.raises(InvalidDataError, match="no rows outside fold 0"):
        found.without(0)
    with pytest.raises(InvalidParameterError, match="0 to 0; got 1"):
        found.fold(1)
    with pytest.raises(InvalidParameterError, match="n_folds"):
        SufficientStatistics(frozen(X, y), n_folds=0)


def test_drift_names_the_columns():
    X, y = rows(2000)
    space = frozen(X[:1000], y[:1000], feature_names=("a", "b", "c", "d"))
    steady = SufficientStatistics(space).partial_fit(X, y)
    assert steady.drifted_columns() == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steady.warn_of_drift()
    moved = X.copy()
    moved[:, 1] += 3 * X[:, 1].std()
    moved[:, 3] *= 4
    moved[:, 3] -= moved[:, 3].mean() - X[:, 3].mean()
    with pytest.warns(DriftWarning, match=r"in 2 column\(s\): 'b', 'd'"):
        SufficientStatistics(space).partial_fit(moved, y).warn_of_drift()


def test_drift_is_against_the_subsample_where_columns_are_not_standardised():
    X, y = rows(500)
    space = frozen(X, y)
    raw = type(space)(
        type(space.scaler)(np.zeros(4), np.ones(4)),
        space.columns,
        space.features,
        usual_mean=X.mean(axis=0)[space.columns],
        usual_deviation=X.std(axis=0)[space.columns],
    )
    assert SufficientStatistics(raw).partial_fit(X, y).drifted_columns() == []
    assert SufficientStatistics(raw).partial_fit(X * [1, 1, 3, 1], y).drifted_columns() == ["x2"]


def test_statistics_come_back_from_a_file(tmp_path):
    X, y = rows()
    names, path = ("a", "b", "c", "d"), tmp_path / "s.skops"
    space = frozen(X, y, feature_names=names, kernel=2.0 * Gaussian(), scales=np.ones(4))
    found = SufficientStatistics(space, n_folds=3).partial_fit(X, y)
    nablasso.save(found, path)
    back = nablasso.load(path)
    assert sums_equal(found, back)
    assert back.space.names == [*names]
    assert repr(back.space.kernel) == repr(space.kernel)
    assert sums_equal(found + back, found.partial_fit(X, y))


def test_features_of_another_table_are_refused():
    X, y = rows()
    space = frozen(X, y)
    with pytest.raises(InvalidParameterError, match="3 columns that are kept; they take 4"):
        type(space)(space.scaler, space.columns[:3], space.features)


# --- passes over a table ---


class StopError(Exception):
    """Raised by a source that breaks off."""


class Breaking:
    """A part that may break off before its block, and notes that it was read."""

    def __init__(self, part, number, source):
        self.part, self.number, self.source, self.n_rows = part, number, source, part.n_rows

    def blocks(self):
        self.source.read.append(self.number)
        if self.number == self.source.before:
            raise StopError
        yield from self.part.blocks()


@pytest.fixture
def data():
    X, y = rows(500)
    return X, y, frozen(X[:200], y[:200])


def test_a_pass_gives_the_statistics_of_all_rows_with_progress(data):
    X, y, space = data
    seen = []
    with reporting(seen.append):
        found = collect_statistics(Arrays(X, y, rows=60), space)
    whole = SufficientStatistics(space).partial_fit(X, y)
    np.testing.assert_allclose(found.total().C, whole.total().C, atol=1e-13)
    assert found.n_samples == 500
    assert [(p.done, p.total) for p in seen] == [(k, 9) for k in range(1, 10)]


def test_a_pass_that_broke_off_continues_to_the_last_bit(data, tmp_path):
    X, y, space = data
    source = Arrays(X, y, rows=60, store=Store(tmp_path))
    source.before, source.read = 4, []
    source.parts = [Breaking(part, k, source) for k, part in enumerate(source.parts)]
    found = SufficientStatistics(space)
    with pytest.raises(StopError):
        found.partial_fit(source, parts_at_once=3)
    assert found.n_samples == 0
    source.before = -1
    found.partial_fit(source, parts_at_once=3)
    assert source.read == [0, 1, 2, 3, 4, 3, 4, 5, 6, 7, 8]
    whole = SufficientStatistics(space).partial_fit(Arrays(X, y, rows=60), parts_at_once=3)
    assert sums_equal(found, whole)
    assert sums_equal(found, SufficientStatistics(space).partial_fit(source, parts_at_once=3))
    assert len(source.read) == 11
    other = SufficientStatistics(frozen(X, y, seed=9)).partial_fit(source, parts_at_once=3)
    assert len(source.read) == 20  # another space asks another question
    assert not sums_equal(found, other)


def test_nan_in_block_37_is_named_by_file_row_and_column(tmp_path):
    pytest.importorskip("pyarrow")
    X, y = rows(1000)
    names = ("age", "height", "weight", "pulse")
    space = frozen(X, y, feature_names=names)
    table = pd.DataFrame(X, columns=[*names]).assign(y=y)
    table.loc[749, "weight"] = np.nan  # parts of 20 rows: part 37 of the table
    table[:600].to_parquet(tmp_path / "part-0.parquet", index=False)
    table[600:].to_parquet(tmp_path / "part-1.parquet", index=False)
    source = open_table(tmp_path, "y", part_rows=20)
    with pytest.raises(InvalidDataError, match=r"part-1.parquet .*NaN: row 149 .*'weight'"):
        collect_statistics(source, space)


def test_columns_of_the_source_must_be_those_of_the_space():
    X, y = rows(100)
    space = frozen(X, y, feature_names=("a", "b", "c", "d"))
    with pytest.raises(InvalidDataError, match="The table lacks 'd' and has 'e' besides"):
        collect_statistics(Arrays(X, y, names=[*"abce"]), space)
    with pytest.raises(InvalidDataError, match="no rows of positive weight"):
        collect_statistics(Arrays(X, y, np.zeros(100)), space)


def test_a_pass_warns_of_drift():
    X, y = rows(500)
    with pytest.warns(DriftWarning, match="'x2'"):
        collect_statistics(Arrays(X + np.array([0, 0, 100, 0]), y), frozen(X, y))


# --- folds ---


def test_equal_numbers_have_equal_folds_in_both_precisions():
    values = np.random.default_rng(0).standard_normal((200, 3)).astype(np.float32)
    values[0] = -0.0
    y = np.arange(200.0)
    single, double = (fold_numbers(v, y, 1, 5) for v in (values, values.astype(float) + 0.0))
    assert np.array_equal(single, double)
    assert not np.array_equal(single, fold_numbers(values, y, 2, 5))
    assert not np.array_equal(single, fold_numbers(values, y[::-1].copy(), 1, 5))


@pytest.mark.parametrize("values", [np.arange(3000.0), np.arange(3000.0) / 8, np.ones(3000)])
def test_folds_are_even_even_for_round_numbers(values):
    folds = fold_numbers(values[:, None], np.arange(3000.0), 0, 5)
    assert np.abs(np.bincount(folds, minlength=5) - 600).max() < 100
