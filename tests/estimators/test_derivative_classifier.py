"""The derivative classifiers: two classes, several, weights, cross-validation."""

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import log_loss

import nablasso
from nablasso import (
    DerivativeLassoClassifier,
    DerivativeLassoClassifierCV,
    DerivativeLassoCV,
)
from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.kernels import Polynomial
from nablasso.losses import Logistic
from tests.dense_reference import DenseProblem, cvxpy_optimum

CLASSIFIERS = (DerivativeLassoClassifier, partial(DerivativeLassoClassifier, l1_ratio=0.5))
FIT = {"kernel": "polynomial", "alpha": 0.08, "ridge": 0.05}


def two(n=80, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, "yes", "no")


def three(n=60, d=4, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, np.array([10, 20, 30])[(X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0)]


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_two_classes(classifier):
    X, y = two()
    model = classifier(**FIT).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.support_[:2].all()
    assert model.feature_importances_[:2].min() > 2 * model.feature_importances_[2:].max()
    assert model.score(X, y) > 0.85
    odds, p = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), odds)
    assert ((odds > 0) == (model.predict(X) == "yes")).all()
    assert model.relative_gap_ <= 1e-6
    np.testing.assert_array_equal(model.class_importances_, [model.feature_importances_])
    assert isinstance(model.loss_, Logistic)


def test_the_objective_is_that_of_an_interior_point_method():
    X, y = two(16, 3)
    model = DerivativeLassoClassifier(
        Polynomial(2), alpha=0.02, ridge=0.05, length_scale=1.0, standardize=False, debias=False
    ).fit(X, y)
    naive = DenseProblem(
        kernel=Polynomial(2),
        X=X,
        y=np.where(y == "yes", 1.0, -1.0),
        weights=np.full(16, 1 / 16),
        alpha=0.02,
        ridge=0.05,
        groups=((0,), (1,), (2,)),
        group_weights=np.ones(3),
        loss="logistic",
    )
    optimum = cvxpy_optimum(naive)
    assert model.objective_ == pytest.approx(optimum.objective, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), optimum.values, atol=2e-3)


@pytest.mark.parametrize("debias", [True, False])
def test_gradients_are_those_of_the_decision_function(debias):
    for X, y in (two(), three()):
        model = DerivativeLassoClassifier(alpha=0.01, ridge=0.01, debias=debias).fit(X, y)
        gradient, h = model.predict_gradient(X[:3]), 1e-5
        for a in range(4):
            step = h * np.eye(4)[a]
            ahead, behind = (model.decision_function(X[:3] + t * step) for t in (1, -1))
            np.testing.assert_allclose(gradient[..., a], (ahead - behind) / (2 * h), atol=1e-5)


def test_several_classes_are_one_against_the_rest():
    X, y = three()
    settings = {"alpha": 0.03, "ridge": 0.01}
    model = DerivativeLassoClassifier(**settings).fit(X, y)
    ones = [DerivativeLassoClassifier(**settings).fit(X, y == label) for label in model.classes_]
    np.testing.assert_array_equal(model.support_, np.any([m.support_ for m in ones], axis=0))
    importances = np.array([m.feature_importances_ for m in ones])
    np.testing.assert_allclose(model.class_importances_, importances, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.feature_importances_, model.class_importances_.max(axis=0))
    odds = np.column_stack([m.decision_function(X) for m in ones])
    np.testing.assert_allclose(model.decision_function(X), odds, atol=1e-2)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(X)).all()
    assert model.score(X, y) > 0.9


def test_class_weights_are_sample_weights():
    X, y = two(50)
    weighted = DerivativeLassoClassifier(**FIT, class_weight={"yes": 3.0}).fit(X, y)
    by_hand = DerivativeLassoClassifier(**FIT).fit(X, y, np.where(y == "yes", 3.0, 1.0))
    np.testing.assert_allclose(weighted.predict_proba(X), by_hand.predict_proba(X))
    rare = np.flatnonzero((y == "no") | (np.arange(50) % 4 == 0))
    X, y = X[rare], y[rare]
    balanced = DerivativeLassoClassifier(**FIT, class_weight="balanced").fit(X, y)
    counts = {label: np.sum(y == label) for label in ("yes", "no")}
    by_hand = DerivativeLassoClassifier(**FIT).fit(X, y, [1 / counts[label] for label in y])
    np.testing.assert_allclose(balanced.predict_proba(X), by_hand.predict_proba(X))
    for wrong in ("even", {"yes": -1.0}):
        with pytest.raises(InvalidParameterError, match="class_weight must"):
            DerivativeLassoClassifier(class_weight=wrong).fit(X, y)


def test_cross_validation_scores_by_log_loss_with_all_classes_in_every_fold():
    X, y = two(60, 3)
    model = DerivativeLassoClassifierCV("polynomial", alphas=5, ridges=(0.1,), cv=3).fit(X, y)
    assert model.support_[:2].all()
    assert -1 < model.best_score_ < -0.1
    null = -log_loss(y, np.full((60, 2), 0.5))
    assert model.best_score_ > null
    by_name = DerivativeLassoClassifierCV(
        "polynomial", alphas=5, ridges=(0.1,), cv=3, scoring="neg_log_loss"
    ).fit(X, y)
    key = "mean_test_score"
    np.testing.assert_allclose(by_name.cv_results_[key], model.cv_results_[key])
    accuracy = DerivativeLassoClassifierCV(
        "polynomial", alphas=(0.05,), ridges=(0.1,), cv=3, scoring="accuracy"
    ).fit(X, y)
    assert 0.5 < accuracy.best_score_ <= 1


def test_paths_of_two_classes():
    X, y = two(40)
    path = nablasso.path(DerivativeLassoClassifier(ridge=0.1), X, y, n_alphas=4)
    assert not path.support[0].any()
    assert path.support[-1].any()
    with pytest.raises(InvalidParameterError, match="one class against the rest"):
        nablasso.path(DerivativeLassoClassifier(), *three())


def test_what_cannot_be_classified_is_refused():
    X, y = two(30)
    with pytest.raises(InvalidDataError, match="at least two classes"):
        DerivativeLassoClassifier().fit(X, np.ones(30))
    labels = np.where(np.arange(30) == 0, "one", y)
    model = DerivativeLassoClassifierCV(alphas=(0.1,), ridges=(0.1,), cv=3)
    with (
        pytest.warns(UserWarning, match="least populated class"),
        pytest.raises(InvalidDataError, match="rows of every class"),
    ):
        model.fit(X, labels)


def test_no_estimator_derives_from_another_concrete_one():
    for classifier in (DerivativeLassoClassifier, DerivativeLassoClassifierCV, DerivativeLassoCV):
        assert not {base.__name__ for base in classifier.__mro__[1:]} & set(nablasso.__all__)
