"""A second look finds what only a product shows, and nothing in noise."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t as student

import nablasso.metric.overlooked as overlooked_module
from nablasso.kernels import AdditivePower, Gaussian, Linear, Matern52, Polynomial
from nablasso.metric.likelihood import tune_joined
from nablasso.metric.nested import ridge_fit
from nablasso.metric.overlooked import clear_product, overlooked, studentised, with_products
from nablasso.metric.refit import order_of, refit
from tests.metric.samples import as_sample, left_out_residuals

N = 300


@pytest.fixture(autouse=True)
def _few_rows_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlooked_module, "LEAST_ROWS", N)


def draw(strength: float = 0.4, *, d: int = 8, seed: int = 0, **options):
    """``sin(2 x0) x1`` and a product of x0, x2, x3; the other columns do nothing."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, d))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + strength * X[:, 0] * X[:, 2] * X[:, 3]
    return as_sample(X, y + 0.4 * rng.standard_normal(N), **options)


def fitted(sample):
    return ridge_fit(sample, Gaussian(), np.array([0, 1]), np.array([0.7, 0.4]))


def in_deviations(r, h, p) -> float:
    return abs(sum(p * r * h)) / np.sqrt(sum((p * r * h) ** 2)) if np.any(h) else 0.0


def test_the_sum_is_measured_in_its_own_deviations() -> None:
    rng = np.random.default_rng(0)
    R, H, p = rng.normal(size=(9, 2)), rng.normal(size=(9, 3)), rng.uniform(0.05, 0.2, 9)
    H[:, 2] = 0
    expected = [max(in_deviations(r, h, p) for r in R.T) for h in H.T]
    np.testing.assert_allclose(studentised(R, H, p), expected)


def test_the_clearest_product_is_that_of_all_products_one_by_one(monkeypatch) -> None:
    monkeypatch.setattr(overlooked_module, "LEAST_ROWS", 60)
    monkeypatch.setattr(overlooked_module, "SIGNIFICANCE", np.inf)
    rng = np.random.default_rng(3)
    X = rng.uniform(-1.7, 1.7, (60, 5))
    weights = rng.uniform(0.5, 2.0, 60)
    sample = as_sample(X, np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 3], weights)
    fit = ridge_fit(sample, Gaussian(), np.array([0]), np.array([0.7]))
    found = overlooked(sample, fit)
    p = sample.weights
    Z = (X - p @ X) / np.sqrt(p @ (X - p @ X) ** 2)
    assert np.abs(Z).max() < 3  # nothing is clipped
    pairs = list(combinations(range(5), 2))
    products = pairs + [(a, b, 0) for a, b in pairs if a]
    H = np.column_stack([np.prod(Z[:, list(one)], axis=1) for one in products])
    H = (H - p @ H) / np.sqrt(p @ (H - p @ H) ** 2)
    H = np.clip(H, -3, 3)
    both = np.column_stack([sample.Y, H])
    rest = left_out_residuals(Gaussian(), X[:, :1], both, p, np.array([0.7]), fit.ridge)
    sizes = [in_deviations(rest[:, 0], h, p) for h in rest.T[1:]]
    k = int(np.argmax(sizes))
    assert sorted(found.columns) == sorted(products[k])
    assert sorted(found.columns) == [1, 3]
    alone = 2 * student.sf(sizes[k], 1 / (p @ p) - 1)
    assert found.probability == pytest.approx(alone * 2 * len(pairs), rel=1e-6)


@pytest.mark.parametrize(("strength", "found"), [(0.4, True), (0.0, False)])
def test_a_product_is_found_and_noise_is_not(strength: float, found: bool) -> None:
    sample = draw(strength)
    product = overlooked(sample, fitted(sample))
    assert (product is not None) is found
    if product is not None:
        assert sorted(product.columns) == [0, 2, 3]
        assert product.probability < 1e-3


def test_what_selected_columns_tell_of_a_product_is_no_discovery() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, 6))
    X[:, 2] = X[:, 0] + 0.2 * X[:, 2]
    sample = as_sample(X, X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(N))
    fit = ridge_fit(sample, Gaussian(), np.array([0, 1]), np.array([0.4, 0.4]))
    assert overlooked(sample, fit) is None
    raw = sample.Y - sample.weights @ sample.Y  # x1 x2 goes with x0 x1
    found = clear_product(sample, fit.columns, raw, lambda H: H)
    assert sorted(found.columns) == [1, 2]


def test_no_column_is_in_a_product_twice() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 5))
    X[:, 0] = rng.choice([-1.0, 1.0], N)  # its square is constant
    sample = as_sample(X, np.sin(X[:, 1]) + 0.5 * X[:, 2] + 0.2 * rng.standard_normal(N))
    fit = ridge_fit(sample, Gaussian(), np.array([0, 1]), np.array([0.5, 0.5]))
    assert overlooked(sample, fit) is None


def test_few_rows_and_no_left_out_columns_show_nothing() -> None:
    sample = draw(2.0)
    few = sample.first(N - 1)
    assert overlooked(few, fitted(few)) is None
    every = ridge_fit(sample, Gaussian(), np.arange(8), np.full(8, 0.3))
    assert overlooked(sample, every) is None


def test_the_columns_of_a_clear_product_join_and_predict() -> None:
    sample = draw()
    sample = replace(sample, X=sample.X[:, ::-1])  # 7 and 6 are selected, 5 and 4 are to join
    before = refit(sample, np.array([7, 6]), [Linear(), Gaussian()])
    joined = with_products(sample, np.array([7, 6]), before)
    assert joined.chosen.tolist() == [7, 6, 4, 5]
    assert [sorted(one.columns) for one in joined.products] == [[4, 5, 7]]
    scales = dict(zip(joined.chosen, joined.refit.tuned[0].scales, strict=True))
    assert min(scales[7], scales[6]) > max(scales[4], scales[5])
    assert joined.refit.fit.error < 0.8 * before.fit.error
    assert {repr(one.kernel) for one in joined.refit.tuned} == {"Gaussian()"}
    assert min(joined.refit.tuned[0].scales) > 0.05


def test_groups_join_whole() -> None:
    sample = draw(labels=[0, 1, 2, 3, 3, 4, 5, 6])
    before = refit(sample, np.array([0, 1]), [Gaussian()])
    joined = with_products(sample, np.array([0, 1]), before)
    assert joined.chosen.tolist() == [0, 1, 2, 3]
    assert joined.refit.fit.columns.tolist() == [0, 1, 2, 3, 4]


def test_nothing_joins_without_room_or_a_kernel_that_can_follow() -> None:
    sample = draw()
    chosen = np.array([0, 1])
    before = refit(sample, chosen, [Gaussian()])
    assert with_products(sample, chosen, before, 3).chosen.tolist() == [0, 1]
    pairs_only = before._replace(tuned=refit(sample, chosen, [Polynomial(2)]).tuned)
    assert with_products(sample, chosen, pairs_only).refit is pairs_only


@pytest.mark.parametrize("after", [0, 1])
def test_an_interrupt_keeps_what_is_known(monkeypatch, after: int) -> None:
    sample = draw()
    before = refit(sample, np.array([0, 1]), [Gaussian(), Matern52()])
    calls = []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) > after:
            raise KeyboardInterrupt
        return tune_joined(*arguments)

    monkeypatch.setattr("nablasso.metric.refit.tune_joined", interrupted)
    monkeypatch.setattr(overlooked_module, "CLEARLY", 1e9)  # nothing joins
    joined = with_products(sample, np.array([0, 1]), before)
    assert joined.refit.fit is before.fit
    assert joined.refit.cut_short


def test_the_best_of_every_kernel_is_tuned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sample, chosen, tried = draw(), np.array([0, 1]), []
    before = refit(sample, chosen, [Gaussian(), Matern52()])
    first, second = (
        before.tuned[0],
        next(one for one in before.tuned if one.start != before.tuned[0].start),
    )
    worse = replace(first, price=second.price + 1)
    before = before._replace(tuned=[first, second, worse])

    def noted(sample, chosen, tuned, **_):
        tried.extend(tuned)
        raise KeyboardInterrupt

    monkeypatch.setattr(overlooked_module, "refit_joined", noted)
    with_products(sample, chosen, before)
    assert tried == [first, second]


@pytest.mark.parametrize(
    ("kernel", "order"),
    [(Linear(), 1), (Polynomial(4), 4), (AdditivePower(3), 3), (Gaussian(), np.inf)],
)
def test_how_many_variables_interact(kernel, order: float) -> None:
    assert order_of(kernel) == order
