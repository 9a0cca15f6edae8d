"""The refit: the kernel that made the data wins, and predicts."""

from __future__ import annotations

import numpy as np
import pytest

import nablasso.metric.refit as refit_module
from nablasso.kernels import Gaussian, Linear
from nablasso.metric.likelihood import Likelihood, Tuned, tune_again
from nablasso.metric.refit import KERNELS, TUNED_ROWS, refit, tune
from nablasso.metric.sample import Sample


def sample_of(X: np.ndarray, y: np.ndarray) -> Sample:
    n, d = X.shape
    y = (y - y.mean()) / y.std()
    return Sample(X, y[:, None], np.full(n, 1 / n), np.arange(d), np.zeros(d, dtype=bool))


@pytest.mark.parametrize(
    ("function", "kernel"),
    [
        (lambda X: X @ [1.0, -2.0, 0.5], "Linear()"),
        (lambda X: X[:, 0] * X[:, 1] + X[:, 2] ** 2, "Polynomial(offset=0.5)"),
        (lambda X: (X[:, 0] * X[:, 1] * X[:, 2]) ** 2, "Polynomial(degree=6, offset=0.5)"),
    ],
)
def test_the_likely_kernel_wins(function, kernel: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.7, 1.7, (70, 3))
    y = function(X)
    tuned, _ = tune(sample_of(X, y + 0.05 * y.std() * rng.standard_normal(70)), KERNELS)
    assert repr(tuned[0].kernel) == kernel
    assert [one.price for one in tuned] == sorted(one.price for one in tuned)


def test_it_predicts_from_the_chosen_groups_alone() -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.7, 1.7, (120, 6))
    sample = sample_of(X, np.sin(2 * X[:, 1]) * X[:, 4])
    fit, tuned, cut_short = refit(sample, np.array([1, 4]))
    assert not cut_short
    assert fit.columns.tolist() == [1, 4]
    assert fit.error < 0.02  # of a variance of one
    assert len(tuned) > len(KERNELS)


def test_no_groups_give_the_mean_and_one_group_has_one_scale() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 2))
    sample = sample_of(X, X[:, 0] ** 2)
    fit, tuned, _ = refit(sample, np.array([], dtype=int))
    assert fit.space is None
    assert tuned == []
    assert all(one.shared for one in refit(sample, np.array([0])).tuned)


def test_a_kernel_of_ones_own_is_the_only_one() -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 2))
    tuned = refit(sample_of(X, X[:, 0] * X[:, 1]), np.array([0, 1]), [Gaussian()]).tuned
    assert {repr(one.kernel) for one in tuned} == {"Gaussian()"}


def test_many_rows_are_tuned_on_some_and_fitted_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert TUNED_ROWS >= 300
    monkeypatch.setattr("nablasso.metric.refit.TUNED_ROWS", 40)
    rng = np.random.default_rng(4)
    X = rng.standard_normal((90, 2))
    sample = sample_of(X, np.sin(X[:, 0]) + X[:, 1])
    fit, tuned, _ = refit(sample, np.array([0, 1]), [Gaussian()])
    assert fit.residuals.shape == (90, 1)
    few, _ = tune(sample.first(40), [Gaussian()])
    again = tune_again(sample, few[0])
    assert tuned[0].price in {again.price, tune_again(sample, few[1]).price}
    assert {one.n_rows for one in tuned} == {90}
    likelihood = Likelihood(sample, again.start)
    objective = likelihood.shared if again.shared else likelihood

    def value(one: Tuned) -> float:
        return objective(np.append(one.logs[:1] if one.shared else one.logs, one.noise))[0]

    assert value(again) < value(few[0])  # scales of 40 rows are not the best of 90


def test_rows_beyond_those_tuned_on_may_put_another_kernel_first(monkeypatch) -> None:
    monkeypatch.setattr(refit_module, "TUNED_ROWS", 20)
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 1))
    y = np.where(np.arange(120) < 20, X[:, 0], np.sin(3 * X[:, 0]))
    sample = sample_of(X, y + 0.1 * rng.standard_normal(120))
    kernels = [Linear(), Gaussian()]
    assert repr(tune(sample.first(20), kernels)[0][0].kernel) == "Linear()"
    assert repr(refit(sample, np.array([0]), kernels).tuned[0].kernel) == "Gaussian()"


@pytest.mark.parametrize(("after", "left"), [(0, 1), (3, 3), (12, 12)])
def test_an_interrupt_keeps_the_kernels_tuned_so_far(monkeypatch, after: int, left: int) -> None:
    calls = []

    def interrupted(tuner):
        def once(*arguments):
            calls.append(tuner)
            if len(calls) == after + 1:
                raise KeyboardInterrupt
            return tuner(*arguments)

        return once

    for name in ("_one_scale", "tune_each"):
        monkeypatch.setattr(refit_module, name, interrupted(getattr(refit_module, name)))
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 2))
    fit, tuned, cut_short = refit(sample_of(X, X[:, 0] * X[:, 1]), np.array([0, 1]))
    assert cut_short
    assert len(tuned) == left
    assert fit.columns.tolist() == [0, 1]
