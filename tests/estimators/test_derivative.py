"""The three estimators: what they promise about data, units, order, groups and words."""

import pickle
import re
import warnings
from functools import cache, partial

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import ElasticNet, LinearRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import nablasso
from experiments.drawn import make_parabola
from nablasso import DerivativeLasso, spaces
from nablasso.errors import (
    DataTooLargeError,
    DegenerateFitWarning,
    InvalidDataError,
    InvalidParameterError,
    NotTwiceDifferentiableError,
)
from nablasso.estimators import base
from nablasso.estimators.base import Data
from nablasso.kernels import Gaussian, Matern52, Polynomial
from nablasso.paths import DEFAULT_FRACTION, ProblemFamily
from nablasso.solvers import Denovas
from tests.dense_reference import DenseProblem, cvxpy_optimum

elastic_net = partial(DerivativeLasso, l1_ratio=0.5)
ESTIMATORS = [DerivativeLasso, elastic_net]
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=["lasso", "elastic net"])
NAMES = ["age", "size", "rain", "wind", "sun"]


def draw(n=40, d=5, seed=1, noise=0.1):
    """The first two columns matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = 2 * X[:, 0] + 1.5 * X[:, 1] + X[:, 0] * X[:, 1]
    return X, y + noise * rng.normal(size=n)


def cheap(estimator=DerivativeLasso, **changes):
    """A polynomial kernel with fixed weights: quick, and it selects x0 and x1 of :func:`draw`."""
    alpha = 2.0 if estimator is elastic_net else 1.0  # half of it is the lasso's
    settings = {"kernel": "polynomial", "alpha": alpha, "ridge": 0.05, "tol": 1e-5}
    return estimator(**{**settings, **changes})


def fitted(estimator=DerivativeLasso, **changes):
    return cheap(estimator, **changes).fit(*draw())


@cache
def shared(estimator=DerivativeLasso):
    """One fit for tests that only read."""
    return fitted(estimator)


def standardised(X, weights=None):
    p = np.full(len(X), 1 / len(X)) if weights is None else weights / np.sum(weights)
    mean = p @ X
    return (X - mean) / np.sqrt(p @ (X - mean) ** 2)


# -------------------------------------------------------------------------- what is fitted


@each_estimator
def test_the_relevant_variables_are_found(estimator):
    model = shared(estimator)
    np.testing.assert_array_equal(model.support_, [True, True, False, False, False])
    assert model.support_.dtype == bool
    X, y = draw(seed=7)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize(
    ("estimator", "options", "weights", "l1_ratio"),
    [
        (DerivativeLasso, {}, np.ones(3), 1.0),
        (DerivativeLasso, {"group_weights": [3.0, 0.5, 1.0]}, np.array([3, 0.5, 1]), 1.0),
        (elastic_net, {"l1_ratio": 0.3}, np.ones(3), 0.3),
    ],
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_objective_is_that_of_the_problem(estimator, options, weights, l1_ratio, fit_intercept):
    """(P) on standardised X and centred y, by an independent solver."""
    X, y = draw(12, 3)
    sample_weight = np.random.default_rng(1).uniform(0.5, 2, size=12)
    model = estimator(
        alpha=0.2, ridge=0.05, length_scale=1.7, fit_intercept=fit_intercept, tol=1e-8, **options
    ).fit(X, y, sample_weight)
    p = sample_weight / sample_weight.sum()
    naive = DenseProblem(
        kernel=Gaussian(1.7),
        X=standardised(X, sample_weight),
        y=y - p @ y if fit_intercept else y,
        weights=p,
        alpha=0.2,
        ridge=0.05,
        groups=((0,), (1,), (2,)),
        group_weights=weights,
        l1_ratio=l1_ratio,
        fit_intercept=fit_intercept,
    )
    best = cvxpy_optimum(naive)
    assert model.objective_ == pytest.approx(best.objective, rel=1e-6)
    assert 0 <= model.objective_ - best.objective + 1e-8 <= model.dual_gap_ + 2e-8
    norms = naive.derivative_norms(best.gradients)
    sd = np.sqrt(p @ (y - p @ y) ** 2)
    np.testing.assert_allclose(model.feature_importances_, norms / sd, atol=2e-3)
    assert (model.alpha_, model.ridge_, model.length_scale_) == (0.2, 0.05, 1.7)


@each_estimator
def test_importances_are_derivative_norms_over_the_deviation_of_y(estimator):
    X, y = draw()
    weights = np.random.default_rng(2).integers(1, 4, size=len(y))
    model = cheap(estimator, debias=False).fit(X * [1, 10, 1e-3, 1, 1], y, weights)
    p = weights / weights.sum()
    sd = np.sqrt(p @ (y - p @ y) ** 2)
    scaled = X * [1, 10, 1e-3, 1, 1]
    scale = np.sqrt(p @ (scaled - p @ scaled) ** 2)
    norms = np.sqrt(p @ (model.predict_gradient(scaled) * scale) ** 2)
    assert model.support_.sum() == 2
    np.testing.assert_allclose(
        model.feature_importances_[model.support_], norms[model.support_] / sd, rtol=1e-8
    )
    np.testing.assert_array_equal(model.feature_importances_[~model.support_], 0.0)
    assert np.all(model.feature_importances_[model.support_] > 0)


@each_estimator
def test_bounds_hold_and_certify(estimator):
    X, y = draw()
    exact = cheap(estimator, tol=1e-9).fit(X, y)
    for tol in (1e-3, 1e-5):
        model = cheap(estimator, tol=tol, alpha=exact.alpha_).fit(X, y)
        lower, upper = model.importance_bounds_.T
        assert np.all(lower <= exact.feature_importances_ + 1e-4)
        assert np.all(exact.feature_importances_ <= upper + 1e-4)
        assert np.all(lower[model.support_ & model.support_certified_] > 0)
        dropped = ~model.support_ & model.support_certified_
        assert np.all(upper[dropped] <= 0.01 * lower.max() + 1e-15)
        assert model.relative_gap_ <= tol
    assert exact.support_certified_.all()
    loose = cheap(estimator, tol=0.5, alpha=exact.alpha_).fit(X, y)
    assert not loose.support_certified_.all()


def test_gap_attributes():
    _, y = draw()
    model = shared()
    assert 0 <= model.relative_gap_ <= 1e-5
    assert model.dual_gap_ == pytest.approx(model.relative_gap_ * np.var(y), rel=1e-10)
    assert model.n_iter_ >= 1


def test_defaults_of_alpha_and_ridge():
    X, y = draw()
    model = DerivativeLasso().fit(X, y)
    family = ProblemFamily(model._table(model._read(X, y, None)), model._formulation())
    assert model.ridge_ == family.best_ridge()
    scale = family.problem(model.ridge_).alpha_max()[1]
    assert DEFAULT_FRACTION == 0.1
    assert model.alpha_ == pytest.approx(0.1 * scale)
    path = nablasso.path(DerivativeLasso(), X, y, n_alphas=2)
    assert path.ridge == model.ridge_
    assert model.alpha_ == pytest.approx(0.1 * path.alpha_max)  # these data are well-conditioned


@pytest.mark.filterwarnings("ignore::nablasso.errors.DegenerateFitWarning")
@each_estimator
def test_nothing_is_selected_above_alpha_max(estimator):
    X, y = draw(20, 3)
    model = cheap(estimator, kernel="gaussian")
    top = nablasso.path(model, X, y, n_alphas=1).alpha_max
    assert not clone(model).set_params(alpha=1.02 * top).fit(X, y).support_.any()
    assert clone(model).set_params(alpha=0.95 * top).fit(X, y).support_.any()


def test_alpha_zero_is_kernel_ridge_regression():
    X, y = draw()
    model = cheap(alpha=0.0, debias=False).fit(X, y)
    Z, n = standardised(X), len(y)
    K = (Z @ Z.T + 1) ** 2
    centring = np.eye(n) - 1 / n
    Kc = centring @ K @ centring
    u = np.linalg.solve(Kc + n * 0.05 * np.eye(n), y - y.mean())
    np.testing.assert_allclose(model.predict(X), y.mean() + Kc @ u, atol=1e-6)
    assert model.support_.all()


@pytest.mark.parametrize("solver", ["denovas", "admm", Denovas(tol=1e-4)])
def test_solvers_by_name_and_object(solver):
    X, y = draw(20, 3)
    default = cheap(kernel="linear").fit(X, y)
    model = cheap(kernel="linear", solver=solver, tol=1e-4).fit(X, y)
    np.testing.assert_array_equal(model.support_, default.support_)
    assert model.objective_ == pytest.approx(default.objective_, rel=1e-3)


# -------------------------------------------------------------------------- the linear case


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.05, 0.8])
def test_the_linear_kernel_is_scikit_learns_elastic_net(alpha, fit_intercept):
    r"""``f = w.x``: ``|y - Xw|^2/n + alpha |w|_1 + ridge |w|^2`` is twice theirs."""
    X, y = draw(40)
    ridge = 0.03
    theirs = ElasticNet(
        alpha=alpha / 2 + ridge,
        l1_ratio=(alpha / 2) / (alpha / 2 + ridge),
        fit_intercept=fit_intercept,
        tol=1e-12,
        max_iter=100_000,
    ).fit(standardised(X), y)
    model = DerivativeLasso(
        "linear", alpha=alpha, ridge=ridge, debias=False, fit_intercept=fit_intercept, tol=1e-9
    ).fit(X, y)
    np.testing.assert_array_equal(model.support_, theirs.coef_ != 0)
    np.testing.assert_allclose(
        model.feature_importances_, np.abs(theirs.coef_) / y.std(), atol=1e-4
    )
    np.testing.assert_allclose(model.predict(X), theirs.predict(standardised(X)), atol=1e-3)
    np.testing.assert_allclose(
        model.predict_gradient(X), np.tile(theirs.coef_ / X.std(axis=0), (40, 1)), atol=1e-3
    )


def test_the_linear_elastic_net_adds_to_the_ridge():
    """``alpha (mu |w|_1 + (1 - mu) |w|^2) + ridge |w|^2``."""
    X, y = draw(40)
    alpha, mu, ridge = 0.6, 0.4, 0.03
    l1, l2 = alpha * mu / 2, alpha * (1 - mu) + ridge
    theirs = ElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), tol=1e-12, max_iter=100_000)
    theirs.fit(standardised(X), y)
    model = elastic_net("linear", alpha=alpha, ridge=ridge, l1_ratio=mu, tol=1e-9)
    model.fit(X, y)
    np.testing.assert_array_equal(model.support_, theirs.coef_ != 0)
    np.testing.assert_allclose(
        model.feature_importances_, np.abs(theirs.coef_) / y.std(), atol=1e-4
    )


def test_debiasing_the_linear_case_is_nearly_least_squares():
    X, y = draw(60, noise=0.01)
    y = 2 * X[:, 0] - X[:, 1]
    model = cheap(kernel="linear", alpha=1.0).fit(X, y)
    assert model.support_.sum() == 2
    theirs = LinearRegression().fit(X[:, :2], y)
    np.testing.assert_allclose(model.predict(X), theirs.predict(X[:, :2]), atol=1e-3)


# -------------------------------------------------------------------------- order and units


@each_estimator
@pytest.mark.parametrize("debias", [True, False])
def test_permutations_permute_the_result(estimator, debias):
    X, y = draw()
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 4, size=len(y)).astype(float)
    new = rng.normal(size=(7, X.shape[1]))
    model = cheap(estimator, kernel="gaussian", debias=debias).fit(X, y, weights)
    for _ in range(3):
        rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
        other = clone(model).fit(X[rows][:, columns], y[rows], weights[rows])
        np.testing.assert_array_equal(other.support_, model.support_[columns])
        np.testing.assert_array_equal(
            other.feature_importances_, model.feature_importances_[columns]
        )
        np.testing.assert_array_equal(other.importance_bounds_, model.importance_bounds_[columns])
        assert other.dual_gap_ == model.dual_gap_
        np.testing.assert_allclose(other.predict(new[:, columns]), model.predict(new), rtol=1e-12)
        np.testing.assert_allclose(
            other.predict_gradient(new[:, columns]),
            model.predict_gradient(new)[:, columns],
            rtol=1e-9,
            atol=1e-12,
        )


def test_permutations_move_groups_and_kept_columns_along():
    X, y = draw(d=6)
    columns = np.random.default_rng(4).permutation(6)
    place = np.argsort(columns)
    groups, kept = [[0, 3], [1], [2, 4], [5]], [5]
    weights = [2.0, 1.0, 0.7, 1.0]
    model = cheap(DerivativeLasso, feature_groups=groups, always_keep=kept)
    model.set_params(group_weights=weights).fit(X, y)
    moved = [[int(place[a]) for a in group] for group in groups]
    other = clone(model).set_params(feature_groups=moved, always_keep=[int(place[5])])
    other.fit(X[:, columns], y)
    np.testing.assert_array_equal(other.feature_importances_, model.feature_importances_[columns])


@each_estimator
@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_shifting_and_rescaling_inputs_changes_nothing(estimator, kernel):
    X, y = draw()
    scale = np.array([1e-6, 1e6, 1.0, 3e-2, 1e5])  # a ratio of 1e12
    shift = np.array([2.0, -5.0, 10.0, 0.1, 1.0])
    changed = (X + shift) * scale
    model = cheap(estimator, kernel=kernel, tol=1e-6).fit(X, y)
    other = clone(model).fit(changed, y)
    np.testing.assert_array_equal(other.support_, model.support_)
    np.testing.assert_allclose(other.feature_importances_, model.feature_importances_, atol=1e-6)
    np.testing.assert_allclose(other.predict(changed), model.predict(X), atol=1e-6)
    np.testing.assert_allclose(
        other.predict_gradient(changed) * scale, model.predict_gradient(X), atol=1e-6
    )
    assert other.alpha_ == pytest.approx(model.alpha_, rel=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_shifting_and_rescaling_changes_nothing_at_the_default_parameters(kernel):
    """Rounding of the inputs must not grow to the size of the solver's tolerance."""
    X, y = draw(seed=0)
    scale, shift = np.array([1e-6, 1e6, 1.0, 3e-2, 1e5]), np.array([2.0, -5.0, 10.0, 0.1, 1.0])
    changed = (X + shift) * scale
    model = DerivativeLasso(kernel, debias=False).fit(X, y)
    other = clone(model).fit(changed, y)
    np.testing.assert_allclose(other.feature_importances_, model.feature_importances_, atol=1e-6)
    np.testing.assert_allclose(other.predict(changed), model.predict(X), atol=1e-6)


def test_without_standardisation_units_matter():
    X, y = draw()
    plain = cheap(standardize=False).fit(X, y)
    other = cheap(standardize=False).fit(X * [1, 1, 1, 1, 20], y)
    assert abs(plain.objective_ - other.objective_) > 1e-3 * plain.objective_


@each_estimator
def test_the_unit_of_y_scales_the_function(estimator):
    """alpha and the elastic net's quadratic part change units; the default alpha follows."""
    X, y = draw()
    model = cheap(estimator, alpha=None, tol=1e-8).fit(X, y)
    other = clone(model).fit(X, 1000 * y + 3)
    np.testing.assert_array_equal(other.support_, model.support_)
    np.testing.assert_allclose(other.predict(X), 1000 * model.predict(X) + 3, rtol=1e-4)
    if estimator is not elastic_net:
        np.testing.assert_allclose(
            other.feature_importances_, model.feature_importances_, atol=1e-5
        )


@each_estimator
def test_a_weight_equals_copies(estimator):
    X, y = draw()
    counts = np.random.default_rng(5).integers(0, 4, size=len(y))
    weighted = cheap(estimator).fit(X, y, counts)
    copied = cheap(estimator).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_array_equal(weighted.feature_importances_, copied.feature_importances_)
    np.testing.assert_array_equal(weighted.predict(X), copied.predict(X))
    assert weighted.dual_gap_ == copied.dual_gap_
    assert weighted.loo_r2_ == copied.loo_r2_


# -------------------------------------------------------------------------- groups


GROUPS = {
    "index lists": [[0, 2], [1, 4], [3]],
    "mapping": {"one": [0, 2], "two": [1, 4], "three": [3]},
    "names": [["age", "rain"], ["size", "sun"], ["wind"]],
    "names in a mapping": {"one": ["age", "rain"], "two": ["size", "sun"], "three": ["wind"]},
    "labels": ["a", "b", "a", "c", "b"],
    "numbers": np.array([7, 9, 7, 11, 9]),
}


@pytest.mark.parametrize("groups", GROUPS)
@each_estimator
def test_groups_are_kept_whole_however_they_are_given(estimator, groups):
    X, y = draw()
    frame = pd.DataFrame(X, columns=NAMES)
    y = 2 * X[:, 0] + X[:, 0] ** 2  # x0 alone matters
    alpha = 4.0 if estimator is elastic_net else 1.0
    model = cheap(estimator, alpha=alpha, feature_groups=GROUPS[groups]).fit(frame, y)
    np.testing.assert_array_equal(model.support_, [True, False, True, False, False])
    assert model.get_feature_names_out().tolist() == ["age", "rain"]
    expected = cheap(estimator, alpha=alpha, feature_groups=GROUPS["index lists"]).fit(X, y)
    np.testing.assert_array_equal(model.feature_importances_, expected.feature_importances_)


def test_groups_stay_whole_along_the_path():
    X, y = draw()
    groups = [[0, 2], [1, 4], [3]]
    sizes = set()
    for alpha in (0.05, 0.2, 0.5, 1.5):
        support = cheap(alpha=alpha, feature_groups=groups).fit(X, y).support_
        for group in groups:
            assert len(set(support[group])) == 1
        sizes.add(int(support.sum()))
    assert len(sizes) > 1


def test_group_weights():
    X, y = draw()
    groups = [[0, 2, 3], [1], [4]]

    def fit(weights):
        model = cheap(DerivativeLasso, alpha=0.3, feature_groups=groups)
        return model.set_params(group_weights=weights).fit(X, y)

    np.testing.assert_array_equal(
        fit("size").feature_importances_, fit([3.0, 1.0, 1.0]).feature_importances_
    )
    np.testing.assert_array_equal(
        fit("sqrt").feature_importances_, fit([np.sqrt(3), 1.0, 1.0]).feature_importances_
    )
    assert not fit([1e3, 1.0, 1.0]).support_[[0, 2, 3]].any()
    assert not fit([3.0, 1e3, 1.0]).support_[1]
    lasso = cheap(alpha=0.3, feature_groups=groups).fit(X, y)  # weighs groups by size, too
    np.testing.assert_array_equal(lasso.feature_importances_, fit("size").feature_importances_)


@pytest.mark.parametrize("weights", ["cube", [1.0, 2.0], [1.0, 0.0, 1.0], [1.0, -1.0, 1.0]])
def test_group_weights_that_are_refused(weights):
    model = cheap(DerivativeLasso, feature_groups=[[0, 2, 3], [1], [4]], group_weights=weights)
    with pytest.raises(InvalidParameterError, match="group_weights must"):
        model.fit(*draw())


@pytest.mark.parametrize("kept", [[3], ["wind"], "wind", 3, np.array([3])])
@each_estimator
def test_always_keep(estimator, kept):
    X, y = draw()
    frame = pd.DataFrame(X, columns=NAMES)
    model = cheap(estimator, alpha=100.0, always_keep=kept).fit(frame, y)
    np.testing.assert_array_equal(model.support_, [False, False, False, True, False])
    assert model.feature_importances_[3] > 0


@pytest.mark.parametrize("kept", [1, 3])
def test_always_keep_keeps_the_group(kept):
    X, y = draw()
    model = cheap(alpha=100.0, always_keep=[kept], feature_groups=[[0], [1, 3], [2, 4]]).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(model.support_), [1, 3])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[0, 1], [1, 2, 3, 4]], "'size' is in groups 0 and 1. Leave it in one of them"),
        ([[0, 1], [2, 3, 4, 5]], "names column 5"),
        ([0, 0, 1], "3 labels for 5 columns"),
        ([["age"], ["height"]], "names column 'height'; the columns are age, size, rain"),
    ],
)
@each_estimator
def test_groups_that_are_none(estimator, groups, message):
    X, y = draw()
    with pytest.raises(InvalidParameterError, match=message):
        cheap(estimator, feature_groups=groups).fit(pd.DataFrame(X, columns=NAMES), y)


@pytest.mark.parametrize("kept", [["height"], "height", [5], [-1]])
def test_always_keep_that_names_nothing(kept):
    X, y = draw()
    with pytest.raises(InvalidParameterError, match=r"always_keep names column .*0 to 4"):
        cheap(always_keep=kept).fit(pd.DataFrame(X, columns=NAMES), y)


# -------------------------------------------------------------------------- which function


def krr_on(Z, y, weights, kernel, width, new):
    """Kernel ridge regression with intercept; ridge by leave-one-out, refitting every time."""
    p = weights / weights.sum()
    K, k_new = kernel(Z / width, Z / width), kernel(new / width, Z / width)
    root = np.sqrt(p)
    Q = np.eye(len(y)) - np.outer(root, root)
    trace = np.trace(Q @ (K * np.outer(root, root)) @ Q)

    def solve(rows, ridge):
        n = len(rows)
        system = np.zeros((n + 1, n + 1))
        system[:n, :n] = K[np.ix_(rows, rows)] + ridge * np.diag(1 / p[rows])
        system[:n, n] = system[n, :n] = 1
        solution = np.linalg.solve(system, np.append(y[rows], 0))
        return solution[:n], solution[n]

    errors, grid = [], trace * np.logspace(-9, 1, 41)
    for ridge in grid:
        residuals = np.empty(len(y))
        for i in range(len(y)):
            rows = np.delete(np.arange(len(y)), i)
            u, b = solve(rows, ridge)
            residuals[i] = y[i] - b - K[i, rows] @ u
        errors.append(p @ residuals**2)
    best = int(np.argmin(errors))
    u, b = solve(np.arange(len(y)), grid[best])
    return b + k_new @ u, errors[best]


def test_the_debiased_function_is_kernel_ridge_on_the_selected_columns():
    X, y = draw(20)
    weights = np.random.default_rng(6).uniform(0.5, 2.0, size=20)
    model = cheap(DerivativeLasso, kernel="gaussian", group_weights=[1.0, 1.0, 50, 50, 50])
    model.fit(X, y, weights)
    assert model.support_.tolist() == [True, True, False, False, False]
    p = weights / weights.sum()
    mean, scale = p @ X, np.sqrt(p @ (X - p @ X) ** 2)
    new = np.random.default_rng(7).normal(size=(6, 5))
    Z, W = (((A - mean) / scale)[:, model.support_] for A in (X, new))
    i, j = np.triu_indices(20, k=1)
    distances = np.linalg.norm(Z[i] - Z[j], axis=1)
    order = np.argsort(distances)
    below = np.cumsum((p[i] * p[j])[order])
    width = distances[order][np.searchsorted(below, below[-1] / 2)]  # weighted median, anew
    expected, loo = krr_on(Z, y, weights, Gaussian(), width, W)
    np.testing.assert_allclose(model.predict(new), expected, rtol=1e-5)
    assert model.loo_r2_ == pytest.approx(1 - loo / (p @ (y - p @ y) ** 2), rel=1e-5)


def test_debiasing_changes_the_prediction_and_nothing_else():
    X, y = draw()
    biased, debiased = fitted(debias=False), fitted(debias=True)
    np.testing.assert_array_equal(biased.feature_importances_, debiased.feature_importances_)
    assert biased.dual_gap_ == debiased.dual_gap_
    assert biased.loo_r2_ == debiased.loo_r2_
    assert np.abs(biased.predict(X) - debiased.predict(X)).max() > 1e-2
    assert debiased.score(X, y) > biased.score(X, y)  # the penalty shrinks


@each_estimator
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_empty_support_predicts_the_weighted_mean(estimator, fit_intercept):
    X, y = draw()
    weights = np.random.default_rng(8).uniform(size=len(y))
    model = cheap(estimator, alpha=1e3, fit_intercept=fit_intercept).fit(X, y, weights)
    assert not model.support_.any()
    expected = np.average(y, weights=weights) if fit_intercept else 0.0
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict_gradient(X), 0.0)
    np.testing.assert_array_equal(model.feature_importances_, 0.0)


@pytest.mark.parametrize("kernel", ["gaussian", "polynomial", "matern", "anova", "linear"])
@pytest.mark.parametrize("debias", [True, False])
def test_predict_gradient_against_finite_differences(kernel, debias):
    X, y = draw(20, 3)
    scale = np.array([1e-3, 1.0, 1e3])
    X = (X + 1) * scale
    model = cheap(kernel=kernel, debias=debias, alpha=0.2).fit(X, 5 * y)
    new = X[:5] + 0.3 * scale
    gradient = model.predict_gradient(new)
    assert gradient.shape == new.shape
    for a in range(3):
        h = np.zeros(3)
        h[a] = 1e-4 * scale[a]
        numeric = (model.predict(new + h) - model.predict(new - h)) / (2 * h[a])
        np.testing.assert_allclose(gradient[:, a] * scale[a], numeric * scale[a], atol=1e-4)
    assert np.abs(gradient[:, 0]).max() * scale[0] > 0.1
    if debias:
        np.testing.assert_array_equal(gradient[:, ~model.support_], 0.0)


# -------------------------------------------------------------------------- two experiments


def validated(nu, seed):
    """The protocol of figure 3 of Rosasco et al.: tau by a validation set of the same size."""
    train = make_parabola(20, random_state=seed)
    validation = make_parabola(20, random_state=1000 + seed)
    best, best_error = None, np.inf
    for tau in np.logspace(-4, -0.5, 10):
        model = DerivativeLasso(
            alpha=2 * tau,
            ridge=tau * nu,
            standardize=False,
            length_scale=1.0,
            debias=False,
            tol=1e-4,
            max_iter=200,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", DegenerateFitWarning)
            model.fit(train.X, train.y)
        error = np.mean((validation.y - model.predict(validation.X)) ** 2)
        if error < best_error:
            best, best_error = model, error
    return best, best_error


@cache
def figure_3(nu):
    return [validated(nu, seed) for seed in range(8)]


@pytest.mark.parametrize("nu", [10.0, 0.01])
def test_figure_3_x1_is_found_and_the_fit_is_accurate(nu):
    """Noise of variance 0.01; in both panels "the reconstruction accuracy is high"."""
    assert all(model.support_[0] for model, _ in figure_3(nu))
    assert np.mean([error for _, error in figure_3(nu)]) < 0.016
    ratio = [
        model.feature_importances_[1] / model.feature_importances_[0] for model, _ in figure_3(nu)
    ]
    assert np.median(ratio) < 0.2


@pytest.mark.xfail(reason="the exact minimiser at the validated tau keeps a weak x2", strict=True)
def test_figure_3_as_published():
    only = [tuple(model.support_) == (True, False) for model, _ in figure_3(10.0)]
    both = [model.support_.all() for model, _ in figure_3(0.01)]
    assert np.mean(only) > 0.5
    assert np.mean(both) > 0.5


def twin_design(seed, n=40):
    """Three pairs correlated 0.95; the first two pairs matter, both twins alike."""
    rng = np.random.default_rng(seed)
    Z, E = rng.normal(size=(2, n, 3))
    X = np.empty((n, 6))
    X[:, ::2], X[:, 1::2] = Z, 0.95 * Z + np.sqrt(1 - 0.95**2) * E
    a, b = (X[:, 0] + X[:, 1]) / 2, (X[:, 2] + X[:, 3]) / 2
    return X, a * b + a + 0.3 * rng.normal(size=n)


@pytest.mark.slow
def test_the_elastic_net_keeps_twins_together_more_often():
    fractions = np.array([0.7, 0.5])  # of alpha_max

    def pairs_and_sizes(estimator):
        pairs, sizes = np.zeros(2), np.zeros(2)
        for seed in range(10):
            X, y = twin_design(seed)
            top = nablasso.path(estimator, X, y, alphas=[1.0]).alpha_max
            support = nablasso.path(estimator, X, y, alphas=top * fractions).support
            pairs += (support[:, 0] & support[:, 1]) + 1 * (support[:, 2] & support[:, 3])
            sizes += support.sum(axis=1)
        return pairs, sizes

    settings = {"kernel": "polynomial", "ridge": 0.01, "tol": 1e-4, "max_iter": 2000}
    lasso, lasso_sizes = pairs_and_sizes(DerivativeLasso(**settings))
    net, net_sizes = pairs_and_sizes(elastic_net(l1_ratio=0.3, **settings))
    assert np.all(net >= lasso + 4)  # of 20 relevant pairs, at the same fraction of alpha_max
    # and not only because it selects more: the net at its larger alpha against the lasso at its
    # smaller one
    assert net_sizes[0] <= lasso_sizes[1] + 4
    assert net[0] > lasso[1]


# -------------------------------------------------------------------------- a scikit-learn citizen


@each_estimator
def test_clone_and_pickle(estimator, tmp_path):
    X, _ = draw()
    model = shared(estimator)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "support_")
    joblib.dump(model, tmp_path / "model.joblib")
    for restored in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(restored.predict(X), model.predict(X))
        assert restored.summary() == model.summary()


def test_a_kernel_object_is_not_changed_by_fit():
    kernel = Gaussian(2.0)
    model = cheap(kernel=kernel).fit(*draw())
    assert model.kernel is kernel
    assert kernel.get_params() == {"length_scale": 2.0}


@each_estimator
def test_as_a_step_of_a_pipeline(estimator):
    X, y = draw()
    pipeline = make_pipeline(StandardScaler(), cheap(estimator), LinearRegression()).fit(X, y)
    selected = pipeline[:-1].transform(X)
    np.testing.assert_array_equal(selected, StandardScaler().fit_transform(X)[:, :2])
    assert make_pipeline(StandardScaler(), cheap(estimator)).fit(X, y).score(X, y) > 0.9
    np.testing.assert_array_equal(shared(estimator).get_support(indices=True), [0, 1])
    np.testing.assert_array_equal(
        shared(estimator).inverse_transform(X[:, :2])[:, 2:], np.zeros((len(X), 3))
    )


def test_grid_search_and_cross_validation():
    X, y = draw()
    search = GridSearchCV(cheap(), {"alpha": [0.2, 1e3]}, cv=3).fit(X, y)
    assert search.best_params_ == {"alpha": 0.2}
    assert cross_val_score(cheap(), X, y, cv=3).min() > 0.8


def test_names_come_from_the_frame():
    X, y = draw()
    model = cheap().fit(pd.DataFrame(X, columns=NAMES), y)
    assert model.get_feature_names_out().tolist() == ["age", "size"]
    assert model.feature_names_in_.tolist() == NAMES
    assert "age" in model.summary()
    assert shared().get_feature_names_out().tolist() == ["x0", "x1"]
    with pytest.raises(ValueError, match="columns are absent: age"):
        model.predict(pd.DataFrame(X, columns=["Age", *NAMES[1:]]))


def test_before_fit():
    X, _ = draw()
    for method in ("predict", "predict_gradient", "transform"):
        with pytest.raises(NotFittedError):
            getattr(cheap(), method)(X)
    with pytest.raises(NotFittedError):
        cheap().summary()
    with pytest.raises(NotFittedError):
        cheap().get_support()


# -------------------------------------------------------------------------- data that are refused


@each_estimator
def test_several_targets(estimator):
    X, y = draw()
    with pytest.raises(InvalidDataError, match=r"one target; got shape \(40, 2\).*one model per"):
        cheap(estimator).fit(X, np.column_stack([y, y]))


def test_sparse_input():
    X, y = draw()
    with pytest.raises(TypeError, match=r"[Ss]parse.*toarray|dense"):
        cheap().fit(sparse.csr_matrix(X), y)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@each_estimator
def test_values_that_are_not_finite_name_their_columns(estimator, value):
    X, y = draw()
    X[3, 1] = X[5, 3] = value
    message = r"Input X contains NaN or infinity in columns x1, x3\. .*SimpleImputer"
    with pytest.raises(InvalidDataError, match=message):
        cheap(estimator).fit(X, y)
    frame = pd.DataFrame(X, columns=NAMES)
    if np.isnan(value):
        assert np.isfinite(cheap(estimator).fit(frame, y).predict(frame)).all()
    else:
        with pytest.raises(InvalidDataError, match=r"size \(1 infinite\), wind \(1 infinite"):
            cheap(estimator).fit(frame, y)
    with pytest.raises(InvalidDataError, match=r"columns x1, x3\."):
        shared(estimator).predict(X)
    with pytest.raises(InvalidDataError, match=r"columns x1, x3\."):
        shared(estimator).predict_gradient(X)


def test_a_long_list_of_columns_is_cut():
    X = np.full((8, 15), np.nan)
    with pytest.raises(InvalidDataError, match=r"x11 and 3 more") as caught:
        cheap().fit(X, np.arange(8.0))
    assert "x12" not in str(caught.value)


def test_y_that_is_not_finite():
    X, y = draw()
    y[[2, 4]] = np.nan
    with pytest.raises(InvalidDataError, match=r"y contains NaN: 2 of 40 rows.*row 2"):
        cheap().fit(X, y)


@each_estimator
def test_fewer_than_five_rows(estimator):
    X, y = draw(4)
    with pytest.raises(InvalidDataError, match=r"At least 5 rows are needed; got n_samples=4"):
        cheap(estimator).fit(X, y)
    X, y = draw(6)
    with pytest.raises(InvalidDataError, match=r"non-zero sample weight.*n_samples=4"):
        cheap(estimator).fit(X, y, [1, 1, 1, 1, 0, 0])


def test_sample_weights_that_are_refused():
    X, y = draw()
    with pytest.raises(InvalidDataError, match="not negative"):
        cheap().fit(X, y, -np.ones(40))
    with pytest.raises(InvalidDataError, match=r"shape \(40,\)"):
        cheap().fit(X, y, np.ones(39))


@each_estimator
def test_constant_columns_are_kept_and_reported(estimator):
    X, y = draw()
    with_constants = np.insert(X, [1, 3], [7.0, 0.0], axis=1)  # columns 1 and 4
    model = cheap(estimator).fit(with_constants, y)
    varying = [0, 2, 3, 5, 6]
    np.testing.assert_array_equal(model.support_[varying], shared(estimator).support_)
    np.testing.assert_allclose(
        model.feature_importances_[varying], shared(estimator).feature_importances_, atol=1e-4
    )
    assert not model.support_[[1, 4]].any()
    np.testing.assert_array_equal(model.feature_importances_[[1, 4]], 0.0)
    np.testing.assert_array_equal(model.importance_bounds_[[1, 4]], 0.0)
    assert model.support_certified_[[1, 4]].all()
    assert model.feature_kinds_.tolist().count("constant") == 2
    assert "Constant: x1, x4 (never selectable)." in model.summary()
    np.testing.assert_allclose(model.predict(with_constants), shared(estimator).predict(X))
    np.testing.assert_array_equal(model.predict_gradient(with_constants)[:, [1, 4]], 0.0)


def test_only_constant_columns():
    _, y = draw()
    model = cheap().fit(np.ones((40, 2)), y)
    assert not model.support_.any()
    np.testing.assert_allclose(model.predict(np.ones((3, 2))), y.mean())
    assert model.selection_status_ == "none found"


@pytest.mark.parametrize("alpha", [None, 1.0])
@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
@pytest.mark.parametrize("constant", [0.0, 4.0, 0.1])
def test_constant_y_depends_on_nothing(kernel, alpha, constant):
    X, _ = draw()
    model = DerivativeLasso(kernel, alpha=alpha).fit(X, np.full(40, constant))
    assert not model.support_.any()
    np.testing.assert_allclose(model.predict(X), constant, atol=1e-12)
    assert model.selection_status_ == "constant target"


def test_data_too_large(monkeypatch):
    monkeypatch.setattr(spaces, "available_bytes", lambda: 90_000)
    with pytest.raises(DataTooLargeError, match=r"40 rows.*random sample of at most \d+ rows"):
        cheap().fit(*draw())


# -------------------------------------------------------------------------- parameters


@each_estimator
@pytest.mark.parametrize("alpha", [-0.1, np.nan, np.inf])
def test_alpha_that_is_refused(estimator, alpha):
    with pytest.raises(
        InvalidParameterError, match=r"alpha must be zero or positive, or None; got"
    ):
        cheap(estimator, alpha=alpha).fit(*draw())


@each_estimator
@pytest.mark.parametrize("ridge", [1e-30, -1.0, np.nan])
def test_ridge_that_is_refused_gives_the_smallest_usable_value(estimator, ridge):
    with pytest.raises(InvalidParameterError, match=r"ridge must be positive") as caught:
        cheap(estimator, ridge=ridge).fit(*draw())
    smallest = float(re.search(r"smallest usable value here is (\S+),", str(caught.value))[1])
    assert 0 < smallest < 1e-6
    assert "ridge=None" in str(caught.value)


@each_estimator
def test_a_ridge_of_zero_is_the_limit(estimator):
    """Solutions at small ridges go to the one at zero."""
    X, y = draw(20, 2)
    limit = cheap(estimator, kernel="polynomial", alpha=0.05, ridge=0).fit(X, y)
    gram = (1 + X @ X.T) ** 2
    centring = np.eye(len(X)) - 1 / len(X)
    assert limit.solver_status_ == "converged"
    assert 0 < limit.ridge_ < 1e-5 * np.trace(centring @ gram @ centring)
    objectives = [
        cheap(estimator, kernel="polynomial", alpha=0.05, ridge=factor * limit.ridge_)
        .fit(X, y)
        .objective_
        for factor in (1e4, 1e2)
    ]
    far, near = (objective - limit.objective_ for objective in objectives)
    assert 0 <= near < 0.2 * far


def test_the_smallest_usable_ridge_is_usable():
    X, y = draw(12, 2)
    with pytest.raises(InvalidParameterError) as caught:
        cheap(kernel="linear", ridge=1e-30).fit(X, y)
    smallest = float(re.search(r"smallest usable value here is (\S+),", str(caught.value))[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = cheap(kernel="linear", ridge=2 * smallest, alpha=0.1, debias=False).fit(X, y)
    assert np.isfinite(model.dual_gap_)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("kernel", ["laplacian", "matern12", "matern32", "exponential"])
def test_kernels_that_are_too_rough(kernel):
    with pytest.raises(
        NotTwiceDifferentiableError, match=f"twice differentiable; '{kernel}' is not.*matern"
    ):
        cheap(kernel=kernel).fit(*draw())


@pytest.mark.parametrize("kernel", ["rbf", 3, None, Gaussian])
def test_unknown_kernels(kernel):
    with pytest.raises(InvalidParameterError, match="kernel must be one of gaussian, matern"):
        cheap(kernel=kernel).fit(*draw())


@pytest.mark.parametrize("solver", ["lbfgs", None])
def test_unknown_solvers(solver):
    with pytest.raises(InvalidParameterError, match="solver must be one of dual, denovas, admm"):
        cheap(solver=solver).fit(*draw())


@pytest.mark.parametrize("length_scale", [0, -1.0, np.nan, np.inf, "mean", None])
@pytest.mark.parametrize("kernel", ["gaussian", "polynomial"])
def test_length_scales_that_are_refused(kernel, length_scale):
    with pytest.raises(InvalidParameterError, match="length_scale must be a positive number or"):
        cheap(kernel=kernel, length_scale=length_scale).fit(*draw())


@pytest.mark.parametrize("l1_ratio", [0.0, -0.5, 2.0, "half"])
def test_l1_ratios_that_are_refused(l1_ratio):
    with pytest.raises(InvalidParameterError, match="l1_ratio must be above 0 and at most 1"):
        cheap(elastic_net, l1_ratio=l1_ratio).fit(*draw())


def test_length_scale_divides_the_inputs():
    X, y = draw(20, 3)
    settings = {"alpha": 0.2, "ridge": 0.05, "debias": False}
    by_number = DerivativeLasso(Gaussian(1.0), length_scale=2.5, **settings).fit(X, y)
    by_kernel = DerivativeLasso(Gaussian(2.5), length_scale=1.0, **settings).fit(X, y)
    np.testing.assert_allclose(by_number.predict(X), by_kernel.predict(X), rtol=1e-6)
    assert by_number.length_scale_ == 2.5
    median = DerivativeLasso(length_scale="median", **settings).fit(X, y).length_scale_
    Z = standardised(X)
    i, j = np.triu_indices(20, k=1)
    assert median == pytest.approx(np.median(np.linalg.norm(Z[i] - Z[j], axis=1)))


# -------------------------------------------------------------------------- warnings


@each_estimator
def test_a_fit_that_does_not_converge_says_so(estimator):
    X, y = draw()
    with pytest.warns(ConvergenceWarning) as caught:
        model = cheap(estimator, tol=1e-12, max_iter=2).fit(X, y)
    text = str(caught[0].message)
    assert text.startswith("DerivativeLasso stopped after 2 iterations (max_iter)")
    assert f"duality gap {model.dual_gap_:.1e} (tolerance {1e-12 * np.var(y):.1e})" in text
    for remedy in ("max_iter", "tol", "ridge", "alpha"):
        assert remedy in text
    assert caught[0].filename == __file__
    assert model.relative_gap_ > 1e-12


def test_a_fit_that_converges_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted()


def test_a_degenerate_fit_says_so():
    """A narrow kernel and a small ridge: flat tops at every y, anything in between."""
    X, y = draw(15, 2)
    settings = {"length_scale": 0.3, "ridge": 1e-3, "alpha": 0.5, "max_iter": 300, "tol": 1e-3}
    model = DerivativeLasso(**settings, debias=False)
    with pytest.warns(DegenerateFitWarning, match=r"times steeper between.*Raise ridge, widen"):
        model.fit(X, y)


# -------------------------------------------------------------------------- in words


def test_kinds_of_columns():
    rng = np.random.default_rng(9)
    X = np.column_stack(
        [
            rng.normal(size=30),
            np.arange(30) % 10,
            np.arange(30) % 11,
            np.ones(30),
            np.arange(30) % 2,
        ]
    )
    model = cheap().fit(X, X[:, 0] + 0.1 * rng.normal(size=30))
    assert model.feature_kinds_.tolist() == [
        "continuous",
        "discrete",
        "continuous",
        "constant",
        "discrete",
    ]


def test_status_clear():
    model = shared()
    assert model.selection_status_ == "clear"
    assert model.twins_ == []
    assert model.loo_r2_ > 0.9
    lines = model.summary().splitlines()
    order = np.argsort(-model.feature_importances_)[:2]
    listed = ", ".join(f"x{a} ({model.feature_importances_[a]:.2f})" for a in order)
    assert lines[0] == f"2 of 5 columns matter for y (40 rows): {listed}."
    text = model.summary()
    assert f"duality gap {model.dual_gap_:.1e}" in text
    assert f"proves {model.support_certified_.sum()} of 5 columns" in text
    assert f"alpha {model.alpha_:.3g}, ridge 0.05, length scale 1, kernel Polynomial()" in text
    assert f"R2 {model.loo_r2_:.3f}; each of 40 rows predicted from the others." in text


def test_status_none_found():
    model = fitted(alpha=1e3)
    assert model.selection_status_ == "none found"
    assert model.summary().startswith("None of the 5 columns was found to matter")
    assert "R2" not in model.summary()


def test_status_twins():
    X, y = draw()
    rng = np.random.default_rng(10)
    X = np.column_stack([X, -X[:, 0] + 0.01 * rng.normal(size=40)])
    model = cheap(alpha=0.3).fit(pd.DataFrame(X, columns=[*NAMES, "negative"]), y)
    assert model.selection_status_ == "replaceable"
    (pair,) = model.twins_
    assert set(pair) == {0, 5}
    assert model.support_[pair[0]]
    names = [*NAMES, "negative"]
    assert f"{names[pair[0]]} could be replaced by {names[pair[1]]} (a near" in model.summary()


def test_status_too_few_rows():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 8)), rng.normal(size=10)
    model = cheap(alpha=0.05).fit(X, y)
    assert model.support_.any()
    assert model.loo_r2_ <= 0
    assert model.selection_status_ == "too few rows"
    assert model.summary().startswith("No reliable answer: ")
    assert "10 rows are too few" in model.summary()


def test_status_follows_the_leave_one_out_score():
    """ "clear" needs a score above zero by more than its error; above zero alone is too little."""
    few, noisy, precise = (
        cheap().fit(*draw(15, 3, seed=seed, noise=noise))
        for seed, noise in ((101, 10.0), (105, 10.0), (101, 0.1))
    )
    assert all(model.support_.any() for model in (few, noisy, precise))
    assert few.loo_r2_ < -0.1 < 0.1 < noisy.loo_r2_ < 0.9 < precise.loo_r2_
    statuses = [model.selection_status_ for model in (few, noisy, precise)]
    assert statuses == ["too few rows", "too few rows", "clear"]


def test_kernel_objects_show_in_the_summary():
    assert "Matern52(" in fitted(kernel=Matern52()).summary()
    assert "Polynomial(degree=3)" in fitted(kernel=Polynomial(3), alpha=0.5).summary()


def test_twins_of_the_most_important_columns_where_many_are_selected(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    X = np.column_stack([X, X[:, 0], X[:, 3]])
    model = DerivativeLasso(alpha=1e-6).fit(X, 5 * X[:, 0] + X[:, 1] + X[:, 2] + 0.5 * X[:, 3])
    assert model.twins_ == [(0, 4), (3, 5)]
    monkeypatch.setattr(base, "MANY", 2)
    data = Data(X, X[:, 0], np.ones(len(X)))
    model._keep_status(data, model._table(data), (0.9, 10.0))
    assert (model.selection_status_, model.twins_) == ("replaceable", [(0, 4)])
