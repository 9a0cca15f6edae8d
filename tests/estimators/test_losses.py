"""Other losses, penalty points and interrupts, as a user meets them."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_poisson_deviance

import nablasso
import nablasso.problems
from nablasso import DerivativeLasso, DerivativeLassoCV
from nablasso.errors import DegenerateFitWarning, InvalidDataError, InvalidParameterError
from nablasso.losses import Huber, Poisson, SquaredEpsilonInsensitive
from nablasso.progress import reporting

LOSSES = {
    "huber": Huber,
    "epsilon_insensitive_squared": SquaredEpsilonInsensitive,
    "poisson": Poisson,
}
each_loss = pytest.mark.parametrize("loss", LOSSES)


def data(loss, n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = X[:, 0] * X[:, 1]
    y = rng.poisson(np.exp(signal)) if loss == "poisson" else signal + 0.1 * rng.normal(size=n)
    return X, y.astype(float)


# -------------------------------------------------------------------------- losses


@each_loss
@pytest.mark.parametrize("debias", [True, False])
def test_a_fit_finds_the_variables_and_certifies_them(loss, debias):
    X, y = data(loss)
    alpha = {"poisson": 0.6, "huber": 0.05}.get(loss, 0.2)
    make = DerivativeLasso("polynomial", alpha=alpha, ridge=0.1, loss=loss, debias=debias)
    model = make.fit(X, y)
    assert model.support_[:2].all()
    assert model.feature_importances_[:2].min() > 3 * model.feature_importances_[2:].max()
    assert model.relative_gap_ <= 1e-6
    assert model.solver_status_ == "converged"
    assert type(model.loss_) is LOSSES[loss]
    assert "columns matter" in model.summary()


@each_loss
@pytest.mark.parametrize("debias", [True, False])
def test_gradients_are_those_of_the_prediction(loss, debias):
    X, y = data(loss)
    model = DerivativeLasso(alpha=0.02, ridge=0.01, loss=loss, debias=debias).fit(X, y)
    gradient, h = model.predict_gradient(X[:5]), 1e-5
    for a in range(X.shape[1]):
        step = h * np.eye(X.shape[1])[a]
        slope = (model.predict(X[:5] + step) - model.predict(X[:5] - step)) / (2 * h)
        np.testing.assert_allclose(gradient[:, a], slope, rtol=1e-5, atol=1e-7)


def test_wild_targets_do_not_move_a_huber_fit():
    X, y = data("huber", 80)
    wild = y.copy()
    wild[:4] += 100.0
    settings = {"kernel": "polynomial", "alpha": 0.1, "ridge": 0.05}
    robust = DerivativeLasso(**settings, loss="huber").fit(X, wild)
    squared = DerivativeLasso(**settings).fit(X, wild)
    truth = X[:, 0] * X[:, 1]
    error = [np.sqrt(np.mean((m.predict(X) - truth) ** 2)) for m in (robust, squared)]
    assert error[0] < 0.2 * error[1]
    assert robust.support_[:2].all()


def test_thresholds_scale_with_the_target():
    X, y = data("huber")
    model, scaled = (
        DerivativeLasso(alpha=a * 0.1, ridge=0.05, loss=Huber(0.3)).fit(X, a * y)
        for a in (1.0, 10.0)
    )
    assert scaled.loss_.delta == pytest.approx(10 * model.loss_.delta)
    np.testing.assert_allclose(scaled.predict(X), 10 * model.predict(X), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(scaled.feature_importances_, model.feature_importances_, atol=1e-4)


def test_a_huge_threshold_is_the_squared_loss():
    X, y = data("huber")
    fits = [
        DerivativeLasso(l1_ratio=0.5, alpha=0.1, ridge=0.05, debias=debias, loss=loss).fit(X, y)
        for debias in (False, True)
        for loss in ("squared", Huber(1e3))
    ]
    for squared, huber in (fits[:2], fits[2:]):
        assert huber.objective_ == pytest.approx(squared.objective_, rel=1e-8)
    np.testing.assert_allclose(fits[0].predict(X), fits[1].predict(X), atol=1e-4)


@each_loss
def test_weights_are_copies(loss):
    X, y = data(loss, 30)
    weights = np.arange(30) % 3
    copies = np.repeat(np.arange(30), weights)
    make = DerivativeLasso(alpha=0.05, ridge=0.02, loss=loss)
    weighted = make.fit(X, y, weights).predict(X)
    np.testing.assert_allclose(weighted, make.fit(X[copies], y[copies]).predict(X), rtol=1e-9)


def test_defaults_and_cross_validation_with_a_loss():
    X, y = data("poisson", 60, 3)
    model = DerivativeLassoCV("polynomial", loss="poisson", alphas=5, ridges=(0.1,), cv=3).fit(X, y)
    assert model.support_[:2].all()
    assert (model.predict(X) > 0).all()
    scores = model.cv_results_
    assert scores["mean_test_score"].max() > scores["mean_test_score"][0]  # better than the mean
    assert mean_poisson_deviance(y, model.predict(X)) < mean_poisson_deviance(y, 0 * y + y.mean())
    default = DerivativeLasso("polynomial", loss="poisson").fit(X, y)
    assert default.alpha_ > 0
    assert default.ridge_ > 0
    path = nablasso.path(DerivativeLasso(loss="poisson", ridge=0.1), X, y, n_alphas=4)
    assert not path.support[0].any()
    assert path.support[-1].any()


def test_what_a_loss_cannot_take_is_refused():
    X, y = data("huber")
    with pytest.raises(InvalidDataError, match="at least zero"):
        DerivativeLasso(loss="poisson").fit(X, y)
    with pytest.raises(InvalidParameterError, match="loss must be one of"):
        DerivativeLasso(loss="hinge").fit(X, y)
    with pytest.raises(InvalidParameterError, match="smallest usable value"):
        DerivativeLasso(loss="huber", ridge=1e-14).fit(X, y)


# -------------------------------------------------------------------------- penalty points


def narrow(n=30):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.sin(3 * X[:, 0])


NARROW = {"length_scale": 0.4, "alpha": 0.05, "ridge": 1e-6, "debias": False}


def test_more_penalty_points_cure_flat_tops():
    """Flat at the data and steep between them: then the penalty measures nothing."""
    X, y = narrow()
    Z = np.random.default_rng(1).uniform(-1, 1, size=(400, 2))

    def steepness(model):
        at, off = (np.sqrt(np.mean(model.predict_gradient(A) ** 2)) for A in (X, Z))
        return off / at

    with pytest.warns(DegenerateFitWarning):
        plain = DerivativeLasso(**NARROW).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        unlabelled = np.random.default_rng(2).uniform(-1, 1, size=(120, 2))
        cured = DerivativeLasso(**NARROW).fit(X, y, X_unlabeled=unlabelled)
    assert steepness(plain) > 5
    assert steepness(cured) < 0.4 * steepness(plain)


def test_permutations_permute_the_result_with_penalty_points():
    X, y = data("huber", 25)
    Z = np.random.default_rng(5).normal(size=(7, 4))
    rng = np.random.default_rng(6)
    rows, columns, others = rng.permutation(25), rng.permutation(4), rng.permutation(7)
    make = DerivativeLasso(alpha=0.2, ridge=0.01, debias=False)
    first = make.fit(X, y, X_unlabeled=Z).predict(X)
    importances = make.feature_importances_
    second = make.fit(X[rows][:, columns], y[rows], X_unlabeled=Z[others][:, columns])
    np.testing.assert_allclose(second.predict(X[:, columns]), first, atol=1e-9)
    np.testing.assert_allclose(second.feature_importances_, importances[columns], atol=1e-9)


def test_weights_are_copies_with_penalty_points():
    X, y = data("huber", 25)
    Z = np.random.default_rng(5).normal(size=(7, 4))
    weights = 1 + np.arange(25) % 2
    copies = np.repeat(np.arange(25), weights)
    make = DerivativeLasso(alpha=0.2, ridge=0.01, debias=False)
    weighted = make.fit(X, y, weights, X_unlabeled=Z).predict(X)
    copied = make.fit(X[copies], y[copies], X_unlabeled=Z).predict(X)
    np.testing.assert_allclose(weighted, copied, atol=1e-8)
    doubled = make.fit(X, y, 2 * weights, X_unlabeled=np.vstack([Z, Z])).predict(X)
    np.testing.assert_allclose(doubled, weighted, atol=1e-8)


def test_unlabelled_rows_in_cross_validation_and_paths():
    X, y = data("huber", 30)
    Z = np.random.default_rng(5).normal(size=(5, 4))
    model = DerivativeLassoCV(alphas=3, ridges=(0.1,), cv=2).fit(X, y, X_unlabeled=Z)
    assert model.relative_gap_ <= 1e-6
    path = nablasso.path(DerivativeLasso(ridge=0.1), X, y, X_unlabeled=Z, n_alphas=3)
    assert not path.support[0].any()
    with pytest.raises(ValueError, match="3 features"):
        DerivativeLasso().fit(X, y, X_unlabeled=Z[:, :3])


# -------------------------------------------------------------------------- interrupts


def interrupt_after(monkeypatch, products):
    """Raise KeyboardInterrupt in one later product of the squared-loss problem."""
    cls = nablasso.problems.SquaredProblem
    original, count = cls.dual_point, iter(range(10**6))

    def dual_point(self, s):
        if next(count) == products:
            raise KeyboardInterrupt
        return original(self, s)

    monkeypatch.setattr(cls, "dual_point", dual_point)


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_an_interrupt_keeps_the_best_fit_so_far(monkeypatch, loss):
    X, y = data("huber")
    make = DerivativeLasso(alpha=0.3, ridge=1e-3, debias=False, loss=loss)
    exact = make.fit(X, y).objective_
    interrupt_after(monkeypatch, 12)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = make.fit(X, y)
    assert model.solver_status_ == "interrupted"
    assert model.dual_gap_ > 0
    assert model.objective_ - model.dual_gap_ <= exact <= model.objective_
    assert model.predict(X).shape == y.shape


def test_an_interrupt_between_folds_uses_the_folds_done():
    X, y = data("huber", 40)

    def stop(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    make = DerivativeLassoCV(alphas=3, ridges=(0.1,), cv=4)
    with reporting(stop), pytest.warns(ConvergenceWarning, match="after 2 of 4 folds"):
        model = make.fit(X, y)
    assert "split1_test_score" in model.cv_results_
    assert "split2_test_score" not in model.cv_results_
    assert model.relative_gap_ <= 1e-6


def test_an_interrupt_inside_the_first_fold_is_passed_on(monkeypatch):
    X, y = data("huber", 40)
    make = DerivativeLassoCV(alphas=(0.3, 0.1), ridges=(0.1,), cv=4)
    interrupt_after(monkeypatch, 4)
    with pytest.raises(KeyboardInterrupt):
        make.fit(X, y)
