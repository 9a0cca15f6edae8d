"""Candidates judged on folds, whatever the estimator: a path that is known in closed form."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.base import Data, Target
from nablasso.estimators.cross_validation import (
    Candidate,
    Cell,
    CrossValidated,
    draw_folds,
    grid_points,
    judge_fold,
    stratified_folds,
)
from nablasso.estimators.parameters import estimator
from nablasso.losses import Squared

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 2)), RNG.normal(size=20)
CELLS = [Cell(np.array([2.0, 0.5]), {"shift": 1.0}), Cell(np.array([3.0]), {"shift": 0.0})]


@estimator
class Shrunk(CrossValidated, RegressorMixin):
    """Predicts the mean of the training rows over one plus alpha, plus the shift."""

    random_state: object = None
    verbose: int = 0

    def _keep(self, value):
        self._value = value

    def predict(self, X):  # scikit-learn 1.6 asks a method for its name
        return np.full(len(X), self._value)

    def _held_out(self, data):
        return -np.average((data.y - self._value) ** 2, weights=data.weights)

    def _candidates(self, train, held_out, grid):
        for cell in grid:
            for alpha in cell.alphas:
                value = train.y.mean() / (1 + alpha) + cell.fixed["shift"]
                if alpha == 0.5:
                    yield Candidate(None, 2.0, {"steepness": 9.0})
                else:
                    yield Candidate(self._as_fitted(value), alpha, more={"steepness": 1.0})


def fitted(**options):
    model = Shrunk(**options)
    model._target = Target(Squared())
    model.feature_names_in_ = np.array(["a", "b"])
    return model


def choose(params, outcomes, rule="min", scoring=None, **options):
    model = Shrunk(selection_rule=rule, scoring=scoring)
    assert model._choose(params, outcomes, **options) == params[model.best_index_]
    return model.cv_results_, model.best_index_


def table_of(weights):
    return Target(Squared()).table(Data(X, Y, weights), standardize=True)


def test_scores_are_those_of_a_plain_loop():
    weights = np.where(np.arange(20) < 3, 0.0, RNG.uniform(1, 2, size=20))
    folds = list(KFold(4).split(X))
    outcomes = fitted(cv=folds)._judged(Data(X, Y, weights), table_of(weights), None, CELLS)
    assert grid_points(CELLS) == [
        {"alpha": 2.0, "shift": 1.0},
        {"alpha": 0.5, "shift": 1.0},
        {"alpha": 3.0, "shift": 0.0},
    ]
    for k, (train, test) in enumerate(folds):
        for column, alpha, shift in ((0, 2.0, 1.0), (2, 3.0, 0.0)):
            error = (Y[test] - Y[train].mean() / (1 + alpha) - shift) ** 2
            expected = -np.average(error, weights=weights[test])
            assert outcomes["score"][k, column] == pytest.approx(expected)
    assert np.isnan(outcomes["score"][:, 1]).all()
    np.testing.assert_array_equal(outcomes["size"], [[2.0, 2.0, 3.0]] * 4)
    np.testing.assert_array_equal(outcomes["steepness"], [[1.0, 9.0, 1.0]] * 4)


def test_a_scorer_of_scikit_learn_takes_the_place_of_the_loss():
    data, fold = Data(X, Y, np.ones(20)), next(KFold(4).split(X))
    (first, *_) = judge_fold(fitted(scoring="neg_mean_absolute_error"), data, CELLS, fold)
    train, test = fold
    expected = -np.abs(Y[test] - Y[train].mean() / 3 - 1).mean()
    assert first["score"] == pytest.approx(expected)


def test_one_standard_error_takes_the_fewest_variables():
    params = [{"alpha": a} for a in (3.0, 2.0, 1.0)]
    scores = np.array([[-1.2, -1.0, -1.1], [-1.0, -1.1, -1.02]])  # of two folds
    sizes = np.array([[1.0, 3.0, 2.0]] * 2)
    outcomes = {"score": scores, "size": sizes}
    assert choose(params, outcomes, rule="min")[1] == 1
    assert choose(params, outcomes, rule="1se")[1] == 2
    allowed = np.array([True, True, False])
    assert choose(params, outcomes, rule="1se", allowed=allowed)[1] == 1
    results, _ = choose(params, outcomes, rule="min")
    np.testing.assert_allclose(results["mean_test_score"], [-1.1, -1.05, -1.06])
    np.testing.assert_array_equal(results["mean_n_selected"], [1, 3, 2])


def test_folds_without_a_number_do_not_count():
    nothing = {"score": np.array([[np.nan], [np.nan]])}
    with pytest.raises(InvalidParameterError, match="gave no number on any candidate"):
        choose([{"alpha": 1.0}], nothing, scoring="r2")
    one = {"score": np.array([[np.nan], [-2.0]])}
    assert choose([{"alpha": 1.0}], one)[0]["mean_test_score"] == [-2.0]


def test_copies_of_a_row_stay_in_one_fold_and_rows_without_weight_in_none():
    both = np.vstack([X, X])
    weights = np.r_[np.ones(20), np.ones(19), 0.0]
    data = Data(both, np.r_[Y, Y], weights)
    table = Target(Squared()).table(data, standardize=True)
    folds = draw_folds(5, data.X, data.y, None, table, None)
    tests = [set(test.tolist()) for _, test in folds]
    assert sorted(set.union(*tests)) == list(range(39))
    for test in tests:
        assert {i % 20 for i in test} == {i for i in test if i < 20}


def test_folds_that_cannot_be_are_refused():
    table = table_of(np.ones(20))
    with pytest.raises(InvalidParameterError, match="between 2 and the number of distinct rows"):
        draw_folds(21, X, Y, None, table, None)
    with pytest.raises(InvalidDataError, match="Every fold needs at least"):
        draw_folds([(np.arange(2), np.arange(2, 20))], X, Y, None, table, None)


def test_rounds_of_neighbours_in_y_are_dealt_out():
    y = np.sort(Y)[:, None]
    folds = stratified_folds(y, 5, 3)
    fold_of = np.empty(20, dtype=int)
    for k, (train, test) in enumerate(folds):
        fold_of[test] = k
        assert sorted([*train, *test]) == list(range(20))
    for start in range(0, 20, 5):
        assert sorted(fold_of[start : start + 5]) == list(range(5))


class Interrupted(Shrunk):
    """Stops in the second fold."""

    count = 0

    def _candidates(self, train, held_out, grid):
        type(self).count += 1
        if type(self).count > 1:
            raise KeyboardInterrupt
        return super()._candidates(train, held_out, grid)


def test_an_interrupt_keeps_the_folds_that_are_done():
    model = Interrupted(cv=list(KFold(4).split(X)))
    model._target = Target(Squared())
    with pytest.warns(ConvergenceWarning, match="interrupted after 1 of 4 folds"):
        outcomes = model._judged(Data(X, Y, np.ones(20)), table_of(np.ones(20)), None, CELLS)
    assert outcomes["score"].shape == (1, 3)
    assert issubclass(Shrunk, BaseEstimator)
