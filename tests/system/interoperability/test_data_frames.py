"""pandas and polars tables go in by column name and come out of ``transform``."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Lasso

from nablasso import (
    DerivativeLasso,
    DerivativeLassoClassifier,
    HierarchicalKernelRegressor,
    MultiQuantileRegressor,
    NablassoRegressor,
    PSDDensity,
    SparseGradientRegressor,
    StabilitySelection,
)
from nablasso.errors import InvalidDataError
from nablasso.kernels import Polynomial

NAMES = ["ash", "birch", "cedar", "elm", "fir"]
CHEAP = {"alpha": 0.2, "ridge": 1e-2, "tol": 1e-5}


def table() -> tuple[np.ndarray, np.ndarray]:
    """y = birch * elm + birch, little noise."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 5))
    return X, X[:, 1] * X[:, 3] + X[:, 1] + 0.05 * rng.normal(size=60)


def frame_of(kind: str, X: np.ndarray):
    if kind == "pandas":
        return pd.DataFrame(X, columns=NAMES)
    return pl.DataFrame(X, schema=NAMES)


def series_of(kind: str, y: np.ndarray):
    return pd.Series(y, name="y") if kind == "pandas" else pl.Series("y", y)


SELECTORS = [
    DerivativeLasso("polynomial", **CHEAP),
    HierarchicalKernelRegressor(alpha=0.05, decomposition="polynomial", degree=1),
    NablassoRegressor("polynomial", cv=3),
    SparseGradientRegressor(kernel=Polynomial(1), max_iter=50),
    StabilitySelection(Lasso(0.1), n_pairs=3, random_state=0),
]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("selector", SELECTORS, ids=lambda selector: type(selector).__name__)
def test_a_frame_gives_what_the_array_gives_with_names(selector, kind):
    X, y = table()
    plain = clone(selector).fit(X, y)
    named = clone(selector).fit(frame_of(kind, X), series_of(kind, y))
    assert named.feature_names_in_.tolist() == NAMES
    assert_array_equal(named.get_support(), plain.get_support())
    selected = [NAMES[a] for a in np.flatnonzero(plain.get_support())]
    if not isinstance(selector, SparseGradientRegressor):  # its transform gives directions
        assert named.get_feature_names_out().tolist() == selected
    if hasattr(selector, "predict"):
        assert_allclose(named.predict(frame_of(kind, X)), plain.predict(X), rtol=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("selector", SELECTORS, ids=lambda selector: type(selector).__name__)
def test_set_output_gives_the_wanted_frame(selector, kind):
    X, y = table()
    model = clone(selector).set_output(transform=kind).fit(frame_of(kind, X), y)
    out = model.transform(frame_of(kind, X))
    assert isinstance(out, pd.DataFrame if kind == "pandas" else pl.DataFrame)
    assert list(out.columns) == model.get_feature_names_out().tolist()
    plain = clone(selector).fit(X, y).transform(X)
    assert_allclose(np.asarray(out), plain, rtol=1e-6, atol=1e-12)


def test_set_output_keeps_the_index_of_pandas():
    X, y = table()
    frame = pd.DataFrame(X, columns=NAMES, index=np.arange(1000, 1060))
    model = DerivativeLasso("polynomial", **CHEAP).set_output(transform="pandas").fit(frame, y)
    assert_array_equal(model.transform(frame).index, frame.index)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_may_come_in_another_order(kind):
    X, y = table()
    frame = frame_of(kind, X)
    model = DerivativeLasso("polynomial", **CHEAP).fit(frame, y)
    assert_array_equal(model.predict(frame[NAMES[::-1]]), model.predict(frame))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_groups_and_kept_columns_are_given_by_name(kind):
    X, y = table()
    groups = [["birch", "fir"], ["ash"], ["cedar"], ["elm"]]
    model = DerivativeLasso("polynomial", feature_groups=groups, always_keep=["ash"], **CHEAP)
    model.fit(frame_of(kind, X), y)
    assert {"ash", "birch", "fir"} <= set(model.get_feature_names_out())


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_text_labels_come_back(kind):
    X, y = table()
    words = np.where(y > 0, "much", "little")
    model = DerivativeLassoClassifier("polynomial", **CHEAP)
    model.fit(frame_of(kind, X), series_of(kind, words))
    assert model.classes_.tolist() == ["little", "much"]
    assert set(model.predict(frame_of(kind, X))) == {"little", "much"}


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_missing_value_is_a_state_of_its_column_and_an_array_must_be_whole(kind):
    X, y = table()
    X[4, 2] = np.nan
    model = DerivativeLasso("polynomial", **CHEAP).fit(frame_of(kind, X), y)
    assert np.isfinite(model.predict(frame_of(kind, X))).all()
    with pytest.raises(InvalidDataError, match="column"):
        DerivativeLasso().fit(X, y)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("dtype", ["Int64", "boolean", "float32"])
def test_other_column_types_are_numbers_too(kind, dtype):
    X, y = table()
    counts = np.round(3 * X).astype(int)
    counts[:, 0] = counts[:, 0] > 0
    frame = frame_of(kind, counts)
    if kind == "pandas":
        frame = frame.astype({"ash": dtype})
    else:
        types = {"Int64": pl.Int64, "boolean": pl.Boolean, "float32": pl.Float32}
        frame = frame.with_columns(pl.col("ash").cast(types[dtype]))
    plain = DerivativeLasso("polynomial", **CHEAP).fit(counts, y)
    model = DerivativeLasso("polynomial", **CHEAP).fit(frame, y)
    assert_allclose(model.predict(frame), plain.predict(counts))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_density_and_quantiles_take_frames(kind):
    X, y = table()
    frame = frame_of(kind, X)[NAMES[:2]]
    named = PSDDensity(rank=20, tol=0.1).fit(frame)
    plain = PSDDensity(rank=20, tol=0.1).fit(X[:, :2])
    assert_allclose(named.score_samples(frame), plain.score_samples(X[:, :2]))
    quantiles = MultiQuantileRegressor((0.2, 0.8), rank=20, tol=0.1).fit(frame, series_of(kind, y))
    assert quantiles.predict(frame).shape == (60, 2)
