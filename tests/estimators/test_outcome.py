"""The certificate of an automatic selection: its problem, its alpha, what it proves."""

import numpy as np
import pytest

from nablasso.estimators.outcome import Setting, certify_selection, largest_alpha
from nablasso.losses import Logistic, Squared
from nablasso.penalties import Partition, Penalty
from nablasso.regression.models import GAUSSIAN
from nablasso.solvers import DualSolver, Solution, Status
from tests.search.rows import draw


def setting_of(rows, model, loss=None):
    """As the one call makes it."""
    space = rows.function(model).space
    total = rows.precisions.sum()
    penalty = Penalty(Partition(np.arange(len(model.groups))), np.ones(len(model.groups)))
    noise = float(np.exp(model.noise)) / total
    loss = Squared() if loss is None else loss
    return Setting(space, rows.precisions / total, penalty, loss, noise)


@pytest.mark.parametrize("weighted", [False, True])
def test_without_a_penalty_it_is_the_model_that_won(weighted):
    rows = draw(noise=0.5, weights=np.linspace(0.5, 1.5, 60) if weighted else None)
    model = rows.tune(GAUSSIAN, np.array([0, 1, 2]))
    setting = setting_of(rows, model)
    assert setting.ridge == setting.noise  # far above the least one
    (problem,) = setting.problems([rows.Y[:, 0]])
    point = problem.dual_point(np.zeros((60, 3)))
    np.testing.assert_allclose(point.u, rows.solved(model).U[:, 0], rtol=1e-4, atol=1e-2)
    values = problem.unpack(point).intercept + point.values
    np.testing.assert_allclose(values, rows.function(model).values(rows.X), atol=1e-5)


def test_everything_selected_is_proven():
    rows = draw(noise=0.3)
    setting = setting_of(rows, rows.tune(GAUSSIAN, np.array([0, 1, 2])))
    (proof,) = certify_selection(setting, [rows.Y[:, 0]])
    assert proof.solution.status is Status.CONVERGED
    assert proof.solution.gap <= 1e-5 * proof.problem.reference
    assert proof.support.all()
    lower, upper = proof.bounds
    assert (lower > 0).all()
    assert ((lower <= proof.importances) & (proof.importances <= upper)).all()


def test_the_largest_alpha_is_the_last_that_selects_all():
    rows = draw(noise=0.3)
    setting = setting_of(rows, rows.tune(GAUSSIAN, np.arange(5)))
    problems = setting.problems([rows.Y[:, 0]])
    few = largest_alpha(problems, DualSolver(tol=1e-4))
    setting = setting_of(rows, rows.tune(GAUSSIAN, np.arange(3)))
    all_matter = largest_alpha(setting.problems([rows.Y[:, 0]]), DualSolver(tol=1e-4))
    assert 0 < few < all_matter  # idle columns go first


def test_classes_have_a_ridge_that_holds_them():
    rows = draw(noise=0.0)
    labels = np.sign(rows.Y[:, 0])
    setting = setting_of(rows, rows.tune(GAUSSIAN, np.array([0, 1, 2])), Logistic())
    gram, p = setting.space.gram, setting.weights
    trace = p @ np.diag(gram) - p @ gram @ p
    assert setting.ridge >= 1e-3 * trace
    (proof,) = certify_selection(setting, [labels])
    assert proof.support.all()
    assert 0 <= proof.solution.gap < 1e-2 * proof.problem.reference


def test_an_interrupt_goes_up(monkeypatch):
    rows = draw()
    setting = setting_of(rows, rows.tune(GAUSSIAN, np.array([0, 1, 2])))

    def impatient(self, problem, start=None):
        point = problem.dual_point(np.zeros((60, 3)))
        return Solution(1.0, 0.0, 1, Status.INTERRUPTED, problem.unpack(point), point)

    monkeypatch.setattr(DualSolver, "solve", impatient)
    with pytest.raises(KeyboardInterrupt):
        certify_selection(setting, [rows.Y[:, 0]])
