"""Conjugates, dual coordinates and proximal operators against brute force."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from nablasso.nonnegative.losses import (
    GaussianLoss,
    PinballLoss,
    PoissonLoss,
    SquaredLoss,
    density_loss,
)

rng = np.random.default_rng(0)
Y = rng.normal(size=4)
LOSSES = {
    "log": density_loss(4),
    "poisson": PoissonLoss(np.array([0.0, 1.0, 2.5, 7.0])),
    "squared": SquaredLoss(rng.normal(size=(4, 2))),
    "gaussian": GaussianLoss(Y),
    "pinball": PinballLoss(Y, np.array([0.2, 0.7])),
}


def outputs(loss, seed=1):
    Z = np.random.default_rng(seed).normal(size=(4, 1 if isinstance(loss, PoissonLoss) else 2))
    if not isinstance(loss, SquaredLoss | PinballLoss):
        Z[:, 0] = np.exp(Z[:, 0])
    return Z


def row(loss, i):
    return replace(loss, y=loss.y[[i]])


@pytest.mark.parametrize("name", LOSSES)
def test_fenchel_equality_at_the_gradient(name):
    """Coordinates of z give the slope at z, and -l* = l(z) - a.z there."""
    loss = LOSSES[name]
    Z = outputs(loss)
    t = loss.coordinates(Z)
    a = loss.slopes(t)
    if name == "poisson":
        assert np.all(a[0] == 1)
    np.testing.assert_allclose(
        loss.conjugate(t), loss.value(Z) - np.sum(a * Z, axis=1), rtol=1e-9, atol=1e-10
    )


@pytest.mark.parametrize("name", LOSSES)
def test_conjugate_bounds_the_loss_from_below(name):
    """l(z) >= a.z - l*(a) for all z and all coordinates t."""
    loss = LOSSES[name]
    for seed in range(20):
        t = loss.coordinates(outputs(loss, seed))
        Z = outputs(loss, seed + 100)
        bound = np.sum(loss.slopes(t) * Z, axis=1) + loss.conjugate(t)
        assert (loss.value(Z) >= bound - 1e-10).all()


@pytest.mark.parametrize("name", LOSSES)
def test_ascent_matches_differences(name):
    loss = LOSSES[name]
    Z, t = outputs(loss, 2), loss.coordinates(outputs(loss, 3))

    def f(t):
        return loss.conjugate(t) + np.sum(loss.slopes(t) * Z, axis=1)

    h = 1e-6
    for c in range(t.shape[1]):
        step = h * np.eye(t.shape[1])[c]
        difference = (f(t + step) - f(t - step)) / (2 * h)
        np.testing.assert_allclose(loss.ascent(t, Z)[:, c], difference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_matches_differences(name):
    loss, h = LOSSES[name], 1e-6
    Z = outputs(loss)
    for s in range(Z.shape[1]):
        step = h * np.eye(Z.shape[1])[s]
        difference = (loss.value(Z + step) - loss.value(Z - step)) / (2 * h)
        np.testing.assert_allclose(
            loss.slopes(loss.coordinates(Z))[:, s], difference, rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("step", [0.1, 2.0])
def test_prox_minimises(name, step):
    loss, Z = LOSSES[name], outputs(LOSSES[name], 5)
    best = loss.prox(Z, step)
    for i in range(4):
        one = row(loss, i)

        def objective(x, one=one, i=i):
            return step * float(one.value(x[None, :])[0]) + 0.5 * np.sum((x - Z[i]) ** 2)

        found = minimize(objective, best[i] + 1e-3, method="Nelder-Mead", tol=1e-12)
        assert objective(best[i]) <= found.fun + 1e-9
