"""Proximal operators and conjugates of the penalties, against numerical minimisation."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from nablasso.gradients import FORMS, RowPenalty

LABELS = np.array([0, 1, 1, 2, 3])
WEIGHTS = np.array([1.0, 2.0, 1.0, 0.0])  # the last group is always kept


def penalty(form):
    return RowPenalty(form, LABELS, WEIGHTS, 0.4, 0.7)


@pytest.mark.parametrize("form", FORMS)
def test_prox_minimises(form):
    ours, B, step = penalty(form), np.random.default_rng(0).normal(size=(5, 2)), 0.6
    A = ours.prox(B, step)

    def objective(x):
        x = x.reshape(B.shape)
        return step * ours.value(x) + np.sum((x - B) ** 2) / 2

    best = min(objective(A + 1e-5 * d) for d in np.random.default_rng(1).normal(size=(200, 5, 2)))
    assert objective(A) <= best
    assert objective(A) <= minimize(objective, B.ravel(), method="Powell").fun + 1e-8


def test_a_group_leaves_as_a_whole_and_a_kept_one_never_does():
    ours = replace(penalty("lasso"), alpha=100.0)
    A = ours.prox(np.ones((5, 2)), 1.0)
    assert np.all(A[:4] == 0)
    np.testing.assert_allclose(A[4], 1 / 2.4)


@pytest.mark.parametrize("form", FORMS)
def test_conjugate_satisfies_fenchel_and_is_attained(form):
    ours = penalty(form)
    rng = np.random.default_rng(2)
    gaps = []
    for _ in range(300):
        B, G = rng.normal(size=(2, 5, 2))
        norms = ours.norms(G)
        t = ours.dual_scale(norms)
        gaps.append(ours.value(B) + ours.conjugate(t * norms) - t * np.sum(G * B))
    assert min(gaps) >= -1e-12
    # prox: (B - A) / step is a subgradient at A, where the inequality is an equality
    B, step = rng.normal(size=(5, 2)) * 3, 0.6
    A = ours.prox(B, step)
    G = (B - A) / step
    assert ours.dual_scale(ours.norms(G)) == pytest.approx(1.0)
    assert ours.value(A) + ours.conjugate(ours.norms(G)) == pytest.approx(np.sum(G * A), rel=1e-10)


def test_restriction_keeps_whole_groups():
    ours = penalty("lasso").restricted(np.array([1, 2, 4]))
    assert ours.labels.tolist() == [0, 0, 1]
    assert ours.weights.tolist() == [2.0, 0.0]
