"""KnockoffSelector around other people's estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Lasso, LassoCV, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nablasso.errors import InvalidParameterError
from nablasso.estimators.error_control import KnockoffSelector


def problem(seed=0, n=120, d=24, relevant=10, rho=0.4):
    rng = np.random.default_rng(seed)
    S = rho ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    X = rng.normal(size=(n, d)) @ np.linalg.cholesky(S).T
    true = np.zeros(d, dtype=bool)
    true[rng.choice(d, relevant, replace=False)] = True
    return X, X[:, true].sum(axis=1) + rng.normal(size=n), true


def selector(estimator=None, **options):
    estimator = Lasso(0.05) if estimator is None else estimator
    return KnockoffSelector(estimator, **{"random_state": 0, **options})


def test_false_discoveries_and_power():
    proportions, power = [], []
    for seed in range(20):
        X, y, true = problem(seed)
        found = selector(fdr=0.2, random_state=seed).fit(X, y).support_
        proportions.append((found & ~true).sum() / max(1, found.sum()))
        power.append(found[true].mean())
    error = np.std(proportions) / np.sqrt(len(proportions))
    assert np.mean(proportions) <= 0.2 + 2 * error
    assert np.mean(power) >= 0.9


def test_statistics_of_nulls_have_fair_signs():
    signs = []
    for seed in range(15):
        X, y, true = problem(seed)
        W = selector(Lasso(0.01), fdr=0.2, random_state=seed).fit(X, y).knockoff_statistics_
        signs.append(np.sign(W[~true & (W != 0)]))
    signs = np.concatenate(signs)
    assert abs(signs.mean()) <= 3 / np.sqrt(signs.size)


def test_selection_is_by_the_threshold():
    X, y, _ = problem()
    fitted = selector(fdr=0.2).fit(X, y)
    np.testing.assert_array_equal(fitted.support_, fitted.knockoff_statistics_ >= fitted.threshold_)
    assert fitted.transform(X).shape == (120, fitted.support_.sum())
    assert fitted.estimator_.n_features_in_ == 48


def test_too_few_to_select_is_said_with_numbers():
    X, y, _ = problem(relevant=2)
    with pytest.warns(UserWarning, match=r"fewer than 1 / fdr = 10 selections.* of 24 variables"):
        fitted = selector(fdr=0.1).fit(X, y)
    assert not fitted.support_.any()
    assert fitted.threshold_ == np.inf
    with pytest.warns(UserWarning, match="estimated to be too many"):
        selector(Lasso(100.0), fdr=0.1, offset=0).fit(X, y)


def test_more_columns_than_rows_and_constant_ones():
    X, y, true = problem(n=60, d=90, relevant=8)
    X[:, ~true] = np.where(np.arange((~true).sum()) == 0, 7.0, X[:, ~true])
    fitted = selector(LassoCV(alphas=np.geomspace(1.0, 0.01, 10), cv=3), fdr=0.3).fit(X, y)
    assert fitted.support_[true].mean() >= 0.5
    assert fitted.knockoff_statistics_[np.flatnonzero(~true)[0]] == 0.0


@pytest.mark.parametrize(
    "estimator",
    [RandomForestRegressor(60, max_features=0.3), make_pipeline(StandardScaler(), Lasso(0.05))],
    ids=lambda e: type(e).__name__,
)
def test_importances_and_coefficients(estimator):
    X, y, true = problem(n=150, d=12, relevant=5, rho=0.1)
    fitted = selector(estimator, fdr=0.3).fit(X, y)
    assert fitted.support_[true].mean() >= 0.6


def test_classes_by_name():
    X, y, true = problem(n=200, relevant=8)
    y = np.where(y > 0, "yes", "no")
    fitted = selector(LogisticRegression(C=0.3, l1_ratio=1.0, solver="liblinear"), fdr=0.3)
    assert fitted.fit(X, y).support_[true].mean() >= 0.5


def test_weights_are_copies():
    X, y, _ = problem(n=60)
    counts = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = selector(fdr=0.2).fit(X, y, sample_weight=counts)
    copied = selector(fdr=0.2).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighted.knockoff_statistics_, copied.knockoff_statistics_)


def test_order_of_rows_and_columns_does_not_matter():
    X, y, _ = problem()
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(120), rng.permutation(24)
    tight = Lasso(0.05, tol=1e-12)
    plain = selector(tight, fdr=0.2).fit(X, y).knockoff_statistics_
    permuted = selector(tight, fdr=0.2).fit(X[rows][:, columns], y[rows]).knockoff_statistics_
    np.testing.assert_allclose(permuted, plain[columns], atol=1e-6)


def test_seeds_decide():
    X, y, _ = problem()
    forest = RandomForestRegressor(5)
    one, same, other = (selector(forest, fdr=0.3, random_state=s).fit(X, y) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.knockoff_statistics_, same.knockoff_statistics_)
    assert (one.knockoff_statistics_ != other.knockoff_statistics_).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fdr": 1.0}, "fdr must be a number strictly between 0 and 1"),
        ({"offset": 2}, "offset must be 0 or 1"),
        ({"estimator": SelectKBest(f_regression, k=3)}, "has no coef_ or importances"),
    ],
)
def test_parameters_are_checked(options, message):
    X, y, _ = problem()
    with pytest.raises(InvalidParameterError, match=message):
        selector(**options).fit(X, y)


def test_names():
    X, y, _ = problem()
    frame = pd.DataFrame(X, columns=[f"c{a}" for a in range(24)])
    fitted = selector(fdr=0.2).fit(frame, y)
    assert set(fitted.get_feature_names_out()) == {f"c{a}" for a in np.flatnonzero(fitted.support_)}
