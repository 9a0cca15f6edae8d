"""The predictor on more rows than a kernel matrix can hold."""

from __future__ import annotations

import numpy as np
import pytest

from nablasso.kernels import Gaussian
from nablasso.metric import more_rows
from nablasso.metric.more_rows import by_landmarks, exactly
from nablasso.metric.nested import mean_fit, ridge_fit
from nablasso.metric.sample import Sample
from tests.metric.samples import as_sample

SCALES = np.array([0.8, 0.5])


def draw(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) * X[:, 2] + 0.3 * rng.normal(size=n)


def fitted(n: int) -> tuple[Sample, object]:
    sample = as_sample(*draw(n))
    return sample, ridge_fit(sample, Gaussian(), np.array([0, 2]), SCALES)


def test_with_all_rows_as_landmarks_it_is_kernel_ridge_regression() -> None:
    sample, fit = fitted(40)
    X, y = draw(25, seed=1)
    weights = np.full(25, 1 / 40)  # in the units of the sample's
    joined = by_landmarks(sample, fit, X[:, [0, 2]], y, weights)
    assert joined.space.n_samples <= 40
    # the same minimiser, by the normal equations of the 40 kernel functions
    Z = np.concatenate([sample.X, X])[:, [0, 2]] * SCALES
    K, L = Gaussian()(Z, Z[:40]), Gaussian()(Z[:40], Z[:40])
    target = np.concatenate([sample.Y[:, 0], y])
    centred = K - K.mean(axis=0)
    system = centred.T @ centred / 65 + joined.ridge * L
    u = np.linalg.lstsq(system, centred.T @ (target - target.mean()) / 65, rcond=1e-15)[0]
    expected = target.mean() + centred @ u
    np.testing.assert_allclose(
        joined.values(np.concatenate([sample.X, X]))[:, 0], expected, atol=1e-3
    )


def test_residuals_are_those_of_the_sample_each_left_out() -> None:
    sample, fit = fitted(30)
    X, y = draw(30, seed=1)
    weights = np.full(30, 1 / 30)
    joined = by_landmarks(sample, fit, X[:, [0, 2]], y, weights)
    assert joined.residuals.shape == (30, 1)
    inside = sample.Y - joined.values(sample.X)
    assert (np.abs(joined.residuals) > np.abs(inside)).all()


def test_more_rows_predict_better() -> None:
    sample, fit = fitted(60)
    X, y = draw(3000, seed=1)
    new, truth = draw(500, seed=2)
    joined = by_landmarks(sample, fit, X[:, [0, 2]], y, np.full(3000, 1 / 60))
    errors = [np.mean((one.values(new)[:, 0] - truth) ** 2) for one in (fit, joined)]
    assert errors[1] < 0.7 * errors[0]


def test_landmarks_are_as_many_as_the_work_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    sample, fit = fitted(50)
    monkeypatch.setattr(more_rows, "LANDMARKS", (5, 40))
    for work, expected in ((0.0, 5), (50 * 20**2, 20), (1e9, 40)):
        monkeypatch.setattr(more_rows, "WORK", work)
        empty = np.empty((0, 2)), np.empty(0), np.empty(0)
        assert by_landmarks(sample, fit, *empty).space.n_samples == expected


def test_exact_on_the_first_rows_and_the_mean_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    sample, fit = fitted(50)
    monkeypatch.setattr(more_rows, "EXACT_ROWS", 20)
    again, rows = exactly(sample, fit)
    assert len(rows.X) == len(again.residuals) == 20
    mean, rows = exactly(sample, mean_fit(sample.first(10)))
    assert len(rows.X) == 50
    assert mean.intercept[0] == pytest.approx(sample.Y.mean())
