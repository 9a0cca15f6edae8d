"""What y is: read, weighted, turned into functions to fit, scored."""

import string
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.estimators.base import (
    Data,
    PredictsClasses,
    PredictsNumbers,
    Target,
    check_classes,
    read_classes,
    read_numbers,
)
from nablasso.losses import Logistic, Poisson, Squared

X = np.random.default_rng(0).normal(size=(6, 2))
LABELS = np.array(["b", "a", "c", "b", "a", "a"])


def read(y=LABELS, weights=None, class_weight=None):
    return read_classes(BaseEstimator(), X, y, weights, Logistic(), class_weight)


def test_labels_become_codes_and_back():
    data, target = read()
    assert data.y.tolist() == [1, 0, 2, 1, 0, 0]
    assert target.classes.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(target.labels(data.y), LABELS)


def test_many_labels_are_classes_all_the_same():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_classes(np.array(list(string.ascii_lowercase)))


def test_two_classes_need_one_function_and_more_one_each():
    data, target = read(np.where(LABELS == "a", "no", "yes"))
    np.testing.assert_array_equal(target.functions(data.y)[:, 0], 2 * data.y - 1)
    data, target = read()
    signs = target.functions(data.y)
    assert signs.shape == (6, 3)
    np.testing.assert_array_equal(signs.sum(axis=1), -1)  # each row is of one class
    np.testing.assert_array_equal(signs.argmax(axis=1), data.y)


def test_rows_without_weight_have_no_class():
    data, target = read(weights=[1, 1, 0, 1, 1, 1])
    assert target.classes.tolist() == ["a", "b"]
    assert data.y[2] == 0


def test_balanced_classes_have_the_same_total_weight():
    data, target = read(class_weight="balanced", weights=[1.0, 2, 3, 4, 5, 6])
    totals = np.bincount(data.y.astype(int), target.class_factors(data.y, data.weights)[
        data.y.astype(int)] * data.weights)  # fmt: skip
    np.testing.assert_allclose(totals, 7.0)
    table = target.table(data, standardize=True)
    assert table.total == pytest.approx(21.0)


@pytest.mark.parametrize("class_weight", ["even", 3, {"a": -1.0}, {"a": np.inf}])
def test_class_weights_that_are_refused(class_weight):
    data, target = read(class_weight=class_weight)
    with pytest.raises(InvalidParameterError, match="class_weight must"):
        target.table(data, standardize=True)


def test_one_class_is_refused():
    with pytest.raises(InvalidDataError, match="at least two classes; got 1"):
        read(weights=LABELS == "a")


def test_numbers_are_centred_where_the_loss_allows_it():
    y = np.arange(6.0)
    data, target = read_numbers(BaseEstimator(), X, y, None, Squared())
    table = target.table(data, standardize=False)
    assert table.y_mean == pytest.approx(2.5)
    np.testing.assert_array_equal(target.functions(table.y)[:, 0], table.y)
    assert target.labels(data.y) is data.y
    for loss, centred in ((Squared(), False), (Poisson(), True)):
        data, target = read_numbers(BaseEstimator(), X, y, None, loss, centred=centred)
        assert target.table(data, standardize=False).y_mean == 0
    with pytest.raises(InvalidDataError):
        read_numbers(BaseEstimator(), X, -y, None, Poisson())


def test_the_score_is_the_negative_loss():
    class Numbers(PredictsNumbers):
        _target = Target(Squared())

        def _link(self, X):
            return np.zeros(len(X))

    class Classes(PredictsClasses):
        classes_ = np.array(["a", "b"])
        _target = Target(Logistic(), classes_)

        def predict_proba(self, X):
            return np.tile([0.25, 0.75], (len(X), 1))

    y, weights = np.arange(6.0), np.array([1.0, 1, 1, 1, 1, 5])
    found = Numbers()._held_out(Data(X, y, weights))
    assert found == pytest.approx(-np.average(y**2, weights=weights))
    codes = np.array([0.0, 1.0] * 3)
    found = Classes()._held_out(Data(X, codes, np.ones(6)))
    assert found == pytest.approx(np.log([0.25, 0.75]).mean())


def test_some_rows_keep_the_unlabelled_ones():
    data = Data(X, np.arange(6.0), np.ones(6), X[:2])
    part = data.at(np.array([3, 1]))
    assert part.y.tolist() == [3, 1]
    assert part.unlabelled is data.unlabelled
