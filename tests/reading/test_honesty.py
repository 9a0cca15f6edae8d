"""Each doubt is raised where it is due, and seldom elsewhere."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from experiments.drawn import make_noisy_copies, make_radial
from nablasso.datasets import make_cubic_groups, make_friedman1, make_two_way
from nablasso.kernels import Gaussian, Polynomial
from nablasso.reading.doubts import (
    _best_step,
    _difference,
    _gaps,
    all_relevant,
    sign_only,
    support_gap,
)
from tests.reading.known_functions import evidence


def in_parts(rng, n, d):
    """Uniform on [-2, -1] and [1, 2]."""
    return rng.uniform(1, 2, size=(n, d)) * rng.choice([-1, 1], size=(n, d))


def test_a_function_constant_on_each_part_is_noticed():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = in_parts(rng, 60, 6)
        y = np.sin(2 * X[:, 0]) + np.sign(X[:, 3]) + 0.3 * rng.normal(size=60)
        assert support_gap(evidence(X, y, [0])) == [3]
        assert support_gap(evidence(X, y, [0, 3])) == []


def test_a_selected_column_in_parts_was_seen():
    rng = np.random.default_rng(0)
    X = in_parts(rng, 60, 2)
    case = evidence(X, np.sign(X[:, 1]) + 0.1 * rng.normal(size=60), [0, 1])
    blind = replace(case, scales=np.zeros(2))  # so that the residuals still differ
    assert support_gap(blind) == []


def test_parts_that_do_not_matter_raise_no_doubt():
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = in_parts(rng, 60, 6)
        y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60)
        alarms += bool(support_gap(evidence(X, y, [0])))
    assert alarms <= 3


def test_several_columns_in_parts_are_listed_by_evidence():
    rng = np.random.default_rng(0)
    X = in_parts(rng, 100, 4)
    y = np.sign(X[:, 1]) + 3 * np.sign(X[:, 2]) + 0.1 * rng.normal(size=100)
    assert support_gap(evidence(X, y, [])) == [2, 1]


def test_every_gap_of_a_column_counts():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(90, 2))
    X[:, 1] += 3 * rng.integers(-1, 2, size=90)
    y = (np.abs(X[:, 1]) < 1.5) + 0.2 * rng.normal(size=90)  # the middle of three parts
    assert support_gap(evidence(X, y, [])) == [1]


@pytest.mark.parametrize("draw", ["normal", "uniform", "standard_cauchy", "exponential"])
def test_a_connected_density_has_no_gap(draw):
    rng = np.random.default_rng(0)
    for n in (20, 100):
        drawn = [getattr(rng, draw)(size=n) for _ in range(200)]
        assert sum(bool(_gaps(x, np.full(n, 1 / n), 1e-4)) for x in drawn) <= 2


def test_discrete_columns_and_few_outlying_rows_are_no_parts():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    X[:, 0] = rng.integers(0, 2, size=60)
    X[:3, 1] = 50.0
    y = 5 * X[:, 0] + X[:, 1]
    assert support_gap(evidence(X, y, [])) == []


def test_the_comparison_of_two_sides_is_welchs():
    rng = np.random.default_rng(0)
    residuals, below = rng.normal(size=50), np.arange(50) < 20
    residuals[below] = 0.5 + 2 * residuals[below]
    expected = stats.ttest_ind(residuals[below], residuals[~below], equal_var=False).pvalue
    assert _difference(residuals, np.full(50, 0.02), below) == pytest.approx(expected)
    assert _difference(np.zeros(50), np.full(50, 0.02), below) == 1.0
    assert _difference(below.astype(float), np.full(50, 0.02), below) == pytest.approx(0.0)


def step_data(seed, n=100, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 6))
    return X, noise * rng.normal(size=n)


@pytest.mark.parametrize("kernel", [Gaussian(), Polynomial(3)], ids=repr)
@pytest.mark.parametrize(
    ("step", "selected"),
    [
        (lambda X: np.sign(X[:, 0]), [0]),
        (lambda X: np.sign(X[:, 0]) + np.sin(3 * X[:, 1]), [0, 1]),
        (lambda X: np.sign(X[:, 0] - 0.3) * X[:, 1], [0, 1]),
        (lambda X: np.sign(X[:, 0]), []),
    ],
    ids=["alone", "added", "multiplied", "not selected"],
)
def test_a_step_is_noticed(kernel, step, selected):
    noticed = 0
    for seed in range(5):
        X, noise = step_data(seed)
        found = sign_only(evidence(X, step(X) + noise, selected, kernel))
        noticed += found is not None and found[0] == 0 and found[1] < 0
    assert noticed >= 4


@pytest.mark.parametrize(
    "smooth",
    [lambda X: 2 * X[:, 0], lambda X: np.tanh(5 * X[:, 0]), lambda X: np.sign(X[:, 0]) + X[:, 0]],
    ids=["line", "sigmoid", "step on a slope"],
)
@pytest.mark.parametrize("selected", [[0], []], ids=["selected", "not selected"])
def test_more_than_a_side_is_not_only_a_side(smooth, selected):
    for seed in range(5):
        X, noise = step_data(seed)
        assert sign_only(evidence(X, smooth(X) + noise, selected)) is None


def test_a_step_must_not_make_up_for_a_stiff_kernel():
    for seed in range(3):
        X, noise = step_data(seed, n=200)
        y = np.sign(X[:, 0]) + X[:, 0] + noise
        assert sign_only(evidence(X, y, [0], Polynomial(3), width=1.0)) is None


def test_a_step_in_a_column_that_only_does_harm_is_none():
    """Here a step in an irrelevant column beats that column, but not the fit without it."""
    made = make_cubic_groups(100, 18, random_state=3)
    selected = np.flatnonzero(made.support)
    assert sign_only(evidence(made.X, made.y, selected, Polynomial(3), width=1.0)) is None


def test_the_score_of_a_step_against_a_rank_one_update():
    """(s'Py)^2 / (s'Ps) is what the ridge objective falls by when s is added without penalty."""
    X, noise = step_data(0, n=40)
    case = evidence(X[:, :2], np.sign(X[:, 0]) + noise, [0, 1])
    probability, a, threshold = _best_step(case)
    side = (case.X[:, a] <= threshold).astype(float)
    n, ridge = 40, case.inverse.best_ridge(case.y)
    K = Gaussian()(case.X * case.scales, case.X * case.scales) + n * ridge * np.eye(n)

    def objective(columns):
        solved = np.linalg.solve(K, np.column_stack([columns, case.y]))
        gram = columns.T @ solved[:, :-1]
        right = columns.T @ solved[:, -1]
        return case.y @ solved[:, -1] - right @ np.linalg.solve(gram, right)

    before = objective(np.ones((n, 1)))
    after = objective(np.column_stack([np.ones(n), side]))
    p = stats.f.sf((n - 2) * (before - after) / after, 1, n - 2)
    n_tried = 4 * (n - 9)  # two columns, each alone and times the other; five rows on either side
    assert probability == pytest.approx(p * n_tried, rel=1e-4)


@pytest.mark.parametrize(
    ("make", "kernel"),
    [
        (make_radial, Gaussian()),
        (make_two_way, Gaussian()),
        (make_friedman1, Gaussian()),
        (make_noisy_copies, Gaussian()),
        (make_cubic_groups, Gaussian()),
        (make_cubic_groups, Polynomial(3)),
    ],
    ids=lambda value: getattr(value, "__name__", repr(value)),
)
def test_smooth_problems_raise_few_doubts(make, kernel):
    alarms = []
    for seed in range(20):
        made = make(100, 18, random_state=seed)
        width = None if kernel.has_width else 1.0
        case = evidence(made.X, made.y, np.flatnonzero(made.support), kernel, width)
        alarms += [found for found in (support_gap(case), sign_only(case)) if found]
    assert len(alarms) <= 1, alarms


def test_rows_of_hardly_any_weight_have_no_say():
    X, noise = step_data(0, n=200)
    first = np.arange(200) < 100
    y = np.where(first, np.sign(X[:, 0]), X[:, 0]) + noise
    case = evidence(X, y, [0])
    on_step, on_line = (
        replace(case, weights=weights / weights.sum())
        for weights in (np.where(first, 1.0, 1e-7), np.where(first, 1e-7, 1.0))
    )
    assert sign_only(on_step)[0] == 0
    assert sign_only(on_line) is None


@pytest.mark.parametrize(
    ("importances", "expected"),
    [
        ([1.0, 0.9, 0.5, 0.4, 0.3], True),
        ([1.0, 0.9, 0.5, 0.4, 0.0], True),
        ([1.0, 0.9, 0.5, 0.0, 0.0], False),
        ([1.0, 0.9, 0.1, 0.1, 0.1], False),
        ([1.0, 1.0, 1.0], False),
    ],
)
def test_most_columns_matter(importances, expected):
    importances = np.array(importances)
    assert all_relevant(importances, importances > 0) is expected
