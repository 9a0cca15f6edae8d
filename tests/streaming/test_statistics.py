"""Sufficient statistics: equal to their definitions, additive, fold by fold, kept in files."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from nablasso.errors import (
    DriftWarning,
    InvalidDataError,
    InvalidParameterError,
    StatisticsFileError,
)
from nablasso.kernels import Gaussian
from nablasso.spaces import draw_nystrom, row_moments
from nablasso.streaming import SufficientStatistics, statistics, sums
from nablasso.streaming.sums import fold_numbers, row_hashes
from tests.frozen_spaces import direct, frozen, rows


@pytest.fixture
def small_blocks(monkeypatch):
    """Slabs and blocks of a few rows, so that small tables have many."""
    monkeypatch.setattr(sums, "SLAB_ROWS", 64)
    monkeypatch.setattr(sums, "BLOCK_ROWS", 7)


def assert_close(found, expected, tol=1e-12):
    mean, C, c, y_mean, variance = expected
    np.testing.assert_allclose(found.mean, mean, atol=tol)
    np.testing.assert_allclose(found.C, C, atol=tol)
    np.testing.assert_allclose(found.c, c, atol=tol)
    assert found.y_mean == pytest.approx(y_mean, rel=tol)
    assert found.y_variance == pytest.approx(variance, rel=1e3 * tol)


def sums_equal(a, b):
    return all(np.array_equal(x, b.sums.arrays()[name]) for name, x in a.sums.arrays().items())


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_follow_their_definitions(weighted):
    X, y = rows(200)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 4, 200).astype(float) if weighted else np.ones(200)
    space = frozen(X[:50], y[:50])
    found = SufficientStatistics(space).partial_fit(X, y, weights if weighted else None)
    assert_close(found.total(), direct(space, X, y, weights))
    assert found.n_samples == np.count_nonzero(weights)
    assert found.weight == weights.sum()


def test_slopes_are_those_of_the_moments_in_memory():
    X, y = rows(100)
    space = frozen(X, y)
    found = SufficientStatistics(space).partial_fit(X, y).total()
    expected = row_moments(space.features, space.standardise(X), y, np.ones(100))
    np.testing.assert_allclose(found.S, expected.S, atol=1e-12)
    _, psi = space.features.features_and_slopes(space.standardise(X))
    np.testing.assert_allclose(found.S, psi.T @ psi / 100, atol=1e-12)


@pytest.mark.usefixtures("small_blocks")
def test_folds_split_the_rows_and_score_them():
    X, y = rows(200)
    space = frozen(X[:50], y[:50], seed=3)
    found = SufficientStatistics(space, n_folds=3).partial_fit(X, y)
    folds = fold_numbers(row_hashes(X[:, space.columns], y, 3), 3)
    assert np.bincount(folds, minlength=3).min() > 40
    rng = np.random.default_rng(0)
    w, b = rng.standard_normal(space.n_components), 99.0
    f = space.features.features(space.standardise(X)) @ w + b
    for k in range(3):
        inside = (folds == k).astype(float)
        assert_close(found.fold(k), direct(space, X, y, inside), 1e-11)
        assert_close(found.without(k), direct(space, X, y, 1 - inside), 1e-11)
        error = np.mean((y - f)[folds == k] ** 2)
        assert found.fold(k).mean_squared_error(w, b) == pytest.approx(error)


@pytest.mark.usefixtures("small_blocks")
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


@pytest.mark.usefixtures("small_blocks")
def test_the_number_of_threads_changes_nothing():
    X, y = rows(300)
    space = frozen(X, y)
    one = SufficientStatistics(space).partial_fit(X, y, n_threads=1)
    three = SufficientStatistics(space).partial_fit(X, y, n_threads=3)
    assert sums_equal(one, three)


@pytest.mark.usefixtures("small_blocks")
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
    assert np.array_equal(single.sums.count, double.sums.count)  # the same folds
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
    with pytest.raises(InvalidDataError, match=r"4 columns of the space; part 2 has 3"):
        named.partial_fit(X[:, :3], y, origin="part 2")
    with pytest.raises(InvalidDataError, match=r"lacks 'd' and has 'e' besides"):
        named.partial_fit(pd.DataFrame(X, columns=[*"abce"]), y)
    with pytest.raises(InvalidDataError, match="another order"):
        named.partial_fit(pd.DataFrame(X, columns=[*"abdc"]), y)
    with pytest.raises(InvalidDataError, match=r"target of shape \(2,\)"):
        named.partial_fit(X, y[:2])
    with pytest.raises(InvalidDataError, match="got 1 dimensions"):
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
    with pytest.raises(InvalidDataError, match=rf"f.csv contains {kind}: row 1070 .*column 'x2'"):
        found.partial_fit(bad, y, origin="f.csv", first_row=1000)
    target = y.copy()
    target[5] = value
    with pytest.raises(InvalidDataError, match=f"{kind}: row 5 .*the target"):
        found.partial_fit(X, target)
    assert np.array_equal(found.total().C, before)


def test_an_interrupted_chunk_is_noticed(monkeypatch, tmp_path):
    X, y = rows()
    found = SufficientStatistics(frozen(X, y))
    calls = []

    def products(*arguments):
        if calls:
            raise KeyboardInterrupt
        calls.append(1)
        return sums.block_products(*arguments)

    monkeypatch.setattr("nablasso.streaming.statistics.block_products", products)
    with pytest.raises(KeyboardInterrupt):
        found.partial_fit(X, y, n_threads=1)
    assert not found.is_whole
    for use in (found.total, found.drifted_columns, lambda: found.save(tmp_path / "s.npz")):
        with pytest.raises(InvalidDataError, match="in the middle of a chunk"):
            use()


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


@pytest.mark.parametrize("given", [False, True])
def test_statistics_come_back_from_a_file(tmp_path, given):
    X, y = rows()
    names = ("a", "b", "c", "d")
    space = frozen(X, y, feature_names=names, kernel=2.0 * Gaussian(), scales=np.ones(4))
    found = SufficientStatistics(space, n_folds=3).partial_fit(X, y)
    found.save(tmp_path / "s.npz")
    back = SufficientStatistics.load(tmp_path / "s.npz", space if given else None)
    assert sums_equal(found, back)
    assert back.space.names == [*names]
    assert repr(back.space.kernel) == repr(space.kernel)
    found.partial_fit(X, y)
    back.partial_fit(X, y)
    assert sums_equal(found, back)
    assert [path.name for path in tmp_path.iterdir()] == ["s.npz"]


def test_files_of_another_space_or_version_are_refused(tmp_path, monkeypatch):
    X, y = rows()
    path = tmp_path / "s.npz"
    SufficientStatistics(frozen(X, y)).partial_fit(X, y).save(path)
    with pytest.raises(StatisticsFileError, match="another space"):
        SufficientStatistics.load(path, frozen(X, y, seed=1))
    monkeypatch.setattr(statistics, "FORMAT", statistics.FORMAT + 1)
    with pytest.raises(StatisticsFileError, match=r"has format \d+, .* reads format \d+"):
        SufficientStatistics.load(path)


def test_damaged_and_foreign_files_are_refused(tmp_path):
    X, y = rows()
    path = tmp_path / "s.npz"
    SufficientStatistics(frozen(X, y)).partial_fit(X, y).save(path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"no archive", content[:-10]):
        path.write_bytes(damaged)
        with pytest.raises(StatisticsFileError, match="cut off or damaged"):
            SufficientStatistics.load(path)
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    path.write_bytes(flipped)
    with pytest.raises(StatisticsFileError, match="damaged"):
        SufficientStatistics.load(path)
    np.savez(path, X=X)
    with pytest.raises(StatisticsFileError, match="not a file of statistics"):
        SufficientStatistics.load(path)
    with pytest.raises(StatisticsFileError, match="does not exist"):
        SufficientStatistics.load(tmp_path / "none.npz")


def test_a_file_builds_only_plain_classes_of_the_package(tmp_path):
    X, y = rows()
    path = tmp_path / "s.npz"
    SufficientStatistics(frozen(X, y)).partial_fit(X, y).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(bytes(arrays["header"]))
    for name in ("os:system", "nablasso.persistence:importlib", "nablasso.nothing:Kernel"):
        header["space"]["fields"]["features"]["class"] = name
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(path, **arrays)
        with pytest.raises(InvalidDataError, match=f"class '{name}'"):
            SufficientStatistics.load(path)


def test_what_is_not_plain_cannot_be_saved(tmp_path):
    X, y = rows()
    space = frozen(X, y, kinds=({"a": 1},))
    with pytest.raises(InvalidParameterError, match="dict cannot be kept"):
        SufficientStatistics(space).partial_fit(X, y).save(tmp_path / "s.npz")


def test_features_of_another_table_are_refused():
    X, y = rows()
    space = frozen(X, y)
    with pytest.raises(InvalidParameterError, match="3 columns that are kept; they take 4"):
        type(space)(space.scaler, space.columns[:3], space.features)
