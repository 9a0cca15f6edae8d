"""What every penalty promises; adding one to ``ALL_PENALTIES`` is enough."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from nablasso.errors import InvalidParameterError
from nablasso.penalties import Partition, Penalty
from tests.dense_reference import labels_of

N, D = 3, 4
SINGLE = ((0,), (1,), (2,), (3,))
GROUPS = ((1, 3), (0,), (2,))

quick = settings(max_examples=40)
seeds = st.integers(0, 10**6)
steps = st.floats(0.01, 20.0)


class Case:
    """A penalty of the library, and the same written naively."""

    def __init__(self, name, groups, weights, l1_ratio=1.0):
        self.name, self.l1_ratio = name, l1_ratio
        partition = Partition(labels_of(groups))
        order = np.argsort([partition.labels[group[0]] for group in groups])
        self.groups = [groups[g] for g in order]  # in the order of the partition
        self.weights = np.array(weights, dtype=float)[order]
        self.penalty = Penalty(partition, self.weights, l1_ratio)

    def omega(self, g):
        total = 0.0
        for group, weight in zip(self.groups, self.weights, strict=True):
            t = np.sqrt(sum(g[i, a] ** 2 for i in range(N) for a in group))
            total += weight * (self.l1_ratio * t + (1 - self.l1_ratio) * t**2)
        return total

    def conjugate(self, s, alpha):
        """``sup_g <s, g> - alpha Omega(g)``; the best ``g`` of a group is parallel to ``s``."""
        total = 0.0
        for group, weight in zip(self.groups, self.weights, strict=True):
            size = np.sqrt(sum(s[i, a] ** 2 for i in range(N) for a in group))
            total += self.supremum(size, alpha * weight)
        return total

    def supremum(self, size, scale):
        """``sup_{t >= 0} size t - scale (mu t + (1 - mu) t^2)`` by search over ``t``."""
        mu = self.l1_ratio

        def minus(t):
            return scale * (mu * t + (1 - mu) * t**2) - size * t

        if minus(1e12) < 0:  # still growing there
            return np.inf
        end = 1.0
        while minus(2 * end) < minus(end):
            end *= 2
        found = minimize_scalar(minus, bounds=(0, 4 * end), method="bounded").fun
        return max(0.0, -found)

    def __repr__(self):
        return self.name


ALL_PENALTIES = (
    Case("lasso", SINGLE, [1, 1, 1, 1]),
    Case("lasso, unequal, one unpenalised", SINGLE, [0.5, 2, 0, 1]),
    Case("group lasso", GROUPS, [2, 1, 1]),
    Case("group lasso, one group unpenalised", GROUPS, [0, 1, 0.3]),
    Case("elastic net", SINGLE, [1, 1, 1, 1], 0.6),
    Case("elastic net, unequal, one unpenalised", SINGLE, [0.5, 2, 0, 1], 0.2),
    Case("elastic net of groups", GROUPS, [2, 1, 1], 0.9),
)
each = pytest.mark.parametrize("case", ALL_PENALTIES, ids=repr)


def draw(seed, spread=2.0):
    """A read-only (n, d) array, its size on a logarithmic scale, some columns zero."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, D)) * np.exp(spread * rng.normal(size=D))
    x[:, rng.random(D) < 0.15] = 0.0
    x.setflags(write=False)
    return x


def rounding(*values):
    return 1e-10 * (1 + sum(abs(value) for value in values))


def assert_minimises(objective, x, others):
    """``x`` minimises a function that is strongly convex with constant one."""
    best = objective(x)
    for other in others:
        value = objective(other)
        assert value >= best + np.sum((other - x) ** 2) / 2 - rounding(best, value)


def around(x, seed):
    rng = np.random.default_rng(seed + 1)
    yield np.zeros_like(x)
    for size in (1e-4, 1e-2, 0.3, 3.0):
        yield x + size * rng.normal(size=x.shape)
        yield x * (1 + size)
        yield x * (1 - size)


@each
@quick
@given(seed=seeds)
def test_value_is_the_formula(case, seed):
    g = draw(seed)
    norms = case.penalty.partition.norms(g)
    assert case.penalty.value(norms) == pytest.approx(case.omega(g), rel=1e-12)


@each
@quick
@given(seed=seeds, step=steps)
def test_prox_is_the_minimiser(case, seed, step):
    g = draw(seed)
    x = case.penalty.prox(g, step)

    def objective(z):
        return step * case.omega(z) + np.sum((z - g) ** 2) / 2

    assert_minimises(objective, x, [g, *around(x, seed)])


@each
@quick
@given(seed=seeds, step=steps)
def test_shrink_gives_the_norms_of_the_prox(case, seed, step):
    g = draw(seed)
    partition = case.penalty.partition
    shrunk = case.penalty.shrink(partition.norms(g), step)
    np.testing.assert_allclose(partition.norms(case.penalty.prox(g, step)), shrunk, atol=1e-12)


@each
@quick
@given(seed=seeds, alpha=steps)
def test_conjugate_is_the_supremum(case, seed, alpha):
    s = draw(seed)
    s = s * (case.penalty.partition.spread(case.weights) > 0)
    expected = case.conjugate(s, alpha)
    norms = case.penalty.partition.norms(s)
    assert case.penalty.conjugate(norms, alpha) == pytest.approx(expected, rel=1e-6, abs=1e-8)


@each
def test_conjugate_inside_on_and_outside_the_ball(case):
    alpha = 0.7
    edge = alpha * case.l1_ratio * case.weights
    assert case.penalty.conjugate(np.zeros(len(edge)), alpha) == 0.0
    assert case.penalty.conjugate(0.999 * edge, alpha) == 0.0
    assert case.penalty.conjugate(edge, alpha) == 0.0
    for g, weight in enumerate(case.weights):
        outside = edge.copy()
        outside[g] = 1.5 * edge[g] + 0.001
        expected = case.supremum(outside[g], alpha * weight)
        assert expected > 0
        assert case.penalty.conjugate(outside, alpha) == pytest.approx(expected, rel=1e-6)
        assert (expected == np.inf) == (case.l1_ratio == 1.0 or weight == 0)


@each
@quick
@given(seed=seeds, alpha=steps)
def test_fenchel_inequality_is_tight_at_a_subgradient(case, seed, alpha):
    """``s = slope * g / |g|`` is a subgradient at ``g``."""
    g = draw(seed)
    partition = case.penalty.partition
    norms = partition.norms(g)
    mu = case.l1_ratio
    slope = alpha * case.weights * (mu + 2 * (1 - mu) * norms)
    s = partition.rescale(g, norms, slope)
    conjugate = case.penalty.conjugate(partition.norms(s) * (1 - 1e-12), alpha)
    assert conjugate + alpha * case.omega(g) == pytest.approx(np.sum(s * g), rel=1e-8, abs=1e-8)


@each
@quick
@given(seed=seeds, step=steps, alpha=steps)
def test_prox_conjugate_is_the_minimiser(case, seed, step, alpha):
    s = draw(seed)
    x = case.penalty.prox_conjugate(s, step, alpha)
    norms = case.penalty.partition.norms

    def objective(z):
        return step * case.penalty.conjugate(norms(z), alpha) + np.sum((z - s) ** 2) / 2

    assert np.isfinite(objective(x))
    feasible = [
        case.penalty.partition.rescale(z, norms(z), case.penalty.project_dual(norms(z), alpha))
        for z in [s, *around(x, seed)]
    ]
    assert_minimises(objective, x, feasible)


@each
@quick
@given(seed=seeds, step=steps, alpha=steps)
def test_moreau_identity(case, seed, step, alpha):
    """``s = prox_{step F*}(s) + step prox_{F / step}(s / step)`` with ``F = alpha Omega``."""
    s = draw(seed)
    dual = case.penalty.prox_conjugate(s, step, alpha)
    primal = case.penalty.prox(s / step, alpha / step)
    np.testing.assert_allclose(dual + step * primal, s, rtol=1e-10, atol=1e-10)


@each
@quick
@given(seed=seeds, step=steps, alpha=steps)
def test_proximal_operators_are_firmly_nonexpansive(case, seed, step, alpha):
    x, z = draw(seed), draw(seed + 1)
    for operator in (
        lambda g: case.penalty.prox(g, step),
        lambda g: case.penalty.prox_conjugate(g, step, alpha),
    ):
        difference = operator(x) - operator(z)
        inner = np.sum(difference * (x - z))
        assert np.sum(difference**2) <= inner + rounding(inner)


@each
def test_radius_is_the_slope_at_zero(case):
    alpha, h = 0.7, 1e-7
    slopes = [
        alpha * case.penalty.value(np.where(np.arange(len(case.weights)) == g, h, 0.0)) / h
        for g in range(len(case.weights))
    ]
    np.testing.assert_allclose(case.penalty.radius(alpha), slopes, rtol=1e-5)


@each
@quick
@given(seed=seeds, alpha=steps)
def test_project_dual_leads_into_the_domain(case, seed, alpha):
    norms = case.penalty.partition.norms(draw(seed))
    inside = case.penalty.project_dual(norms, alpha)
    assert np.all((inside >= 0) & (inside <= norms))
    assert np.isfinite(case.penalty.conjugate(inside, alpha))
    if np.isfinite(case.penalty.conjugate(norms, alpha)):
        np.testing.assert_allclose(inside, norms, rtol=1e-8)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_a_group_of_weight_zero_is_never_penalised(l1_ratio):
    case = Case("", GROUPS, [0, 1, 1], l1_ratio)
    g = draw(5, spread=0.1)
    kept = np.isin(np.arange(D), GROUPS[0])
    (free,) = np.flatnonzero(case.weights == 0)
    alone = np.eye(3)[free]
    np.testing.assert_array_equal(case.penalty.prox(g, 100.0)[:, kept], g[:, kept])
    np.testing.assert_array_equal(case.penalty.prox_conjugate(g, 0.3, 100.0)[:, kept], 0.0)
    assert case.penalty.conjugate(1e-9 * alone, 100.0) == np.inf
    assert case.penalty.project_dual(3 * alone, 100.0)[free] == 0.0
    assert case.penalty.radius(100.0)[free] == 0.0


@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
def test_the_positive_part_is_a_maximum(l1_ratio):
    """Gregorova et al. 2018 print ``(v)_+ = min(0, v)``, which turns thresholding upside down."""
    penalty = Case("", SINGLE, [1, 1, 1, 1], l1_ratio).penalty
    g = np.zeros((N, D))
    g[0] = [0.2, -0.4, 3.0, -5.0]
    kept = 1 / (1 + 2 * (1 - l1_ratio))
    right = kept * np.array([0.0, 0.0, 3.0 - l1_ratio, -5.0 + l1_ratio])
    printed = kept * g[0] * np.minimum(0, 1 - l1_ratio / np.abs(g[0]))
    np.testing.assert_allclose(penalty.prox(g, 1.0)[0], right)
    assert np.all(np.abs(penalty.prox(g, 1.0)[0] - printed) > 0.01)


def test_an_elastic_net_tends_to_the_lasso():
    g = draw(3)
    lasso = Case("", GROUPS, [2, 1, 1]).penalty
    net = Case("", GROUPS, [2, 1, 1], 1 - 1e-9).penalty
    np.testing.assert_allclose(net.prox(g, 0.5), lasso.prox(g, 0.5), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("l1_ratio", [0.0, -0.1, 1.5, float("nan")])
def test_an_l1_ratio_outside_its_interval_is_refused(l1_ratio):
    message = f"l1_ratio must be above 0 and at most 1; got {l1_ratio}.*nothing is ever"
    with pytest.raises(InvalidParameterError, match=message):
        Penalty(Partition(np.arange(D)), np.ones(D), l1_ratio)


# -------------------------------------------------------------------------- partitions


def test_norms_rescale_and_spread():
    partition = Partition(labels_of(GROUPS))  # in the order of their first columns: 0, 13, 2
    g = draw(11)
    expected = [np.linalg.norm(g[:, columns]) for columns in ([0], [1, 3], [2])]
    np.testing.assert_allclose(partition.norms(g), expected)
    assert partition.n_groups == 3
    np.testing.assert_array_equal(partition.sizes, [1, 2, 1])
    np.testing.assert_array_equal(partition.first, [0, 1, 2])
    np.testing.assert_array_equal(partition.spread(np.array([5, 6, 7])), [5, 6, 7, 6])
    doubled = partition.rescale(g, partition.norms(g), 2 * partition.norms(g))
    np.testing.assert_allclose(doubled, 2 * g)


@pytest.mark.filterwarnings("error")
def test_rescale_leaves_zero_groups_at_zero():
    partition = Partition(np.arange(2))
    g = np.array([[0.0, 3.0], [0.0, 4.0]])
    new = partition.rescale(g, partition.norms(g), np.array([1.0, 10.0]))
    np.testing.assert_allclose(new, [[0.0, 6.0], [0.0, 8.0]])


def test_singletons_are_groups_of_one():
    partition = Partition(np.arange(3))
    np.testing.assert_array_equal(partition.labels, [0, 1, 2])
    np.testing.assert_array_equal(partition.sizes, 1)


def test_labels_may_be_any_integers():
    partition = Partition(np.array([7, -2, 7]))
    np.testing.assert_array_equal(partition.labels, [0, 1, 0])
    assert partition.n_groups == 2
