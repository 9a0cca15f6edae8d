"""Fresh rows see what the searched ones missed."""

from __future__ import annotations

import numpy as np
import pytest

from nablasso.kernels import Gaussian
from nablasso.metric.enough import nothing_missed
from nablasso.metric.nested import ridge_fit
from tests.metric.samples import as_sample


@pytest.mark.parametrize(
    ("effect", "missed"),
    [
        (lambda X: 0 * X[:, 0], False),
        (lambda X: 0.3 * X[:, 3], True),
        (lambda X: 0.3 * np.abs(X[:, 3]), True),
        (lambda X: 0.3 * X[:, 0] * X[:, 3], True),
        (lambda X: 0.3 * X[:, 3] * X[:, 4], True),
        (lambda X: 0.3 * X[:, 0] * X[:, 3] * X[:, 4], True),
    ],
)
def test_a_dropped_variable_that_matters_is_seen(effect, missed: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2200, 6))
    y = np.sin(X[:, 0]) + X[:, 1] + effect(X) + 0.3 * rng.normal(size=2200)
    sample = as_sample(X, y)
    fit = ridge_fit(sample.first(200), Gaussian(), np.array([0, 1]), np.array([0.7, 0.3]))
    fresh = sample.rows(np.arange(200, 2200))
    assert nothing_missed(fresh, fit) is not missed


def test_nothing_can_be_missed_when_nothing_is_dropped() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    sample = as_sample(X, X[:, 0])
    fit = ridge_fit(sample.first(20), Gaussian(), np.array([0]), np.ones(1))
    assert nothing_missed(sample, fit)
