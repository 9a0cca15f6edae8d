"""Strengths of interactions against known cross derivatives."""

import numpy as np
import pytest

from nablasso import DerivativeLasso, DerivativeLassoClassifier, NablassoRegressor
from nablasso.inspection import interaction_strengths
from nablasso.inspection.response import inspected_columns

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 4)) * [1.0, 2.0, 0.5, 1.0]


def test_cross_derivatives_of_a_known_function(known):
    fitted = known(lambda Z: Z[:, 0] ** 2 * Z[:, 1] + Z[:, 2]).fit(X)
    pairs = {(a, b): s for a, b, s in interaction_strengths(fitted, X, unit=1.0)}
    sd = X.std(axis=0)
    expected = np.sqrt(np.mean((2 * X[:, 0]) ** 2)) * sd[0] * sd[1]
    assert pairs[0, 1] == pytest.approx(expected, rel=1e-5)
    assert max(s for pair, s in pairs.items() if pair != (0, 1)) < 1e-5


def test_the_unit_is_the_deviation_of_the_prediction(known):
    fitted = known(lambda Z: 10 * Z[:, 0] * Z[:, 1]).fit(X)
    (pair,) = interaction_strengths(fitted, X, [0, 1])
    sd = X.std(axis=0)
    assert pair.strength == pytest.approx(sd[0] * sd[1] / (X[:, 0] * X[:, 1]).std(), rel=1e-5)


def test_discrete_columns_take_differences_of_levels(known):
    Z = X.copy()
    Z[:, 0] = RNG.integers(0, 2, size=60)
    fitted = known(lambda Z: np.where(Z[:, 0] > 0.5, 3 * Z[:, 1], Z[:, 1])).fit(Z)
    (pair,) = interaction_strengths(fitted, Z, [0, 1], unit=1.0)
    assert pair.strength == pytest.approx(2 * Z[:, 0].std() * Z[:, 1].std(), rel=1e-5)


def test_exact_gradients_and_differences_agree(known):
    fitted = DerivativeLasso(alpha=1e-3, ridge=1e-3).fit(X, X[:, 0] * X[:, 1])
    ours = interaction_strengths(fitted, X)
    bare = interaction_strengths(known(fitted.predict).fit(X), X)
    for a, b in zip(ours, bare, strict=True):
        assert a.strength == pytest.approx(b.strength, abs=1e-4)


def test_the_automatic_estimators_list_the_same():
    y = X[:, 0] * X[:, 1] + X[:, 2]
    fitted = NablassoRegressor("polynomial", cv=3).fit(X, y)
    ours = interaction_strengths(fitted, X, unit=float(y.std()))
    assert [(a, b) for a, b, _ in ours] == [(a, b) for a, b, _ in fitted.interactions_]
    np.testing.assert_allclose(
        [s for *_, s in ours], [s for *_, s in fitted.interactions_], atol=1e-6
    )


def test_classes_are_judged_by_their_log_odds(known_odds):
    fitted = known_odds(lambda Z: Z[:, 0] * Z[:, 1]).fit(X)
    (pair,) = interaction_strengths(fitted, X, [0, 1])
    assert pair.strength == pytest.approx(X[:, 0].std() * X[:, 1].std(), rel=1e-5)


def test_of_several_classes_the_strongest_counts():
    y = np.digitize(X[:, 0] * X[:, 1], (-0.4, 0.4))
    fitted = DerivativeLassoClassifier(alpha=1e-2, ridge=1e-1, tol=1e-2).fit(X, y)
    (largest,) = interaction_strengths(fitted, X, [0, 1])
    each = [interaction_strengths(fitted, X, [0, 1], target=k)[0].strength for k in range(3)]
    assert largest.strength == pytest.approx(max(each))


def test_the_selected_columns_are_looked_at_and_one_has_no_pair():
    fitted = DerivativeLasso("linear", alpha=0.3).fit(X, X[:, 0])
    assert inspected_columns(fitted).tolist() == [0]
    assert interaction_strengths(fitted, X) == []
    fitted.support_ = np.ones(4, dtype=bool)
    fitted.feature_importances_ = np.array([0.1, 0.4, 0.3, 0.2])
    assert inspected_columns(fitted, most=2).tolist() == [1, 2]
