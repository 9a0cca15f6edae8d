"""Automatic estimators on tables that are screened first."""

import numpy as np
import pytest

from nablasso import DerivativeLasso, NablassoClassifier, NablassoRegressor, spaces
from nablasso.errors import DataTooLargeError
from nablasso.rules import Rules
from nablasso.solvers import DualSolver

N, D = 120, 300


WIDE = Rules(wide=1000)  # everything counts as wide


def test_finds_a_product_and_says_what_was_dropped():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = X[:, 20] * X[:, 200] + 0.1 * rng.normal(size=N)
    model = NablassoRegressor("polynomial", rules=WIDE).fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == [20, 200]
    assert 10 < model.screened_.sum() < 40
    assert model.screened_[[20, 200]].all()
    assert f"Screening left {model.screened_.sum()} of {D} columns" in model.summary()


def test_noise_selects_nothing_though_the_best_of_many_columns_were_kept():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 1000)), rng.normal(size=60)
    model = NablassoRegressor("linear", rules=WIDE).fit(X, y)
    assert model.selection_status_ == "none found"
    assert not model.support_.any()


def test_order_groups_and_kept_columns():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 60))
    y = X[:, 3] ** 2 + 0.1 * rng.normal(size=80)
    settings = {"kernel": "polynomial", "rules": WIDE}
    model = NablassoRegressor(**settings, always_keep=[50], feature_groups=np.arange(60) // 2)
    model.fit(X, y)
    assert model.support_[[2, 3, 50, 51]].all()
    columns = rng.permutation(60)
    plain = NablassoRegressor(**settings).fit(X, y)
    moved = NablassoRegressor(**settings).fit(X[:, columns], y)
    np.testing.assert_array_equal(moved.support_, plain.support_[columns])
    np.testing.assert_array_equal(moved.screened_, plain.screened_[columns])


def test_classes():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 100))
    y = np.where(X[:, 7] + 0.2 * rng.normal(size=100) > 0, "yes", "no")
    model = NablassoClassifier("linear", rules=WIDE).fit(X, y)
    assert np.flatnonzero(model.support_).tolist() == [7]
    assert model.screened_.sum() < 40


def test_p_values_of_a_wide_table_are_refused():
    X = np.random.default_rng(4).normal(size=(50, 60))
    with pytest.raises(DataTooLargeError, match="HeldOutScreening"):
        NablassoRegressor("linear", fdr=0.1, rules=WIDE).fit(X, X[:, 0])


def test_a_narrow_table_is_not_screened():
    X = np.random.default_rng(5).normal(size=(40, 5))
    model = NablassoRegressor("linear").fit(X, X[:, 0])
    assert model.screened_.all()
    assert "Screening" not in model.summary()


@pytest.mark.slow
def test_a_hundred_thousand_columns_in_four_gib():
    from benchmarks.memory import peak_gib

    peak, words = peak_gib(
        "import numpy as np\n"
        "from nablasso import NablassoRegressor\n"
        "X = np.random.default_rng(0).standard_normal((500, 100_000))\n"
        "y = X[:, 5] ** 2 + X[:, 7] * X[:, 8] + 0.3 * X[:, 9]\n"
        "print(*np.flatnonzero(NablassoRegressor().fit(X, y).support_))\n"
    )
    assert words == ["5", "7", "8", "9"]
    assert peak < 4


@pytest.mark.slow
def test_one_exact_fit_holds_few_arrays_of_the_size_of_the_table(monkeypatch):
    import tracemalloc

    monkeypatch.setattr(spaces, "CHUNK_BYTES", 1 << 20)
    monkeypatch.setattr(DualSolver, "large", 1_000_000)
    X = np.random.default_rng(0).normal(size=(80, 40_000))
    tracemalloc.start()
    DerivativeLasso(ridge=1e-2).fit(X, X[:, 0] ** 2 + X[:, 1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8.8 * X.nbytes  # at n = 500, d = 100 000: 3.3 GiB besides X itself
