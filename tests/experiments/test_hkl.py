"""Figures 8 and 9 in miniature: tidy rows, rivals that do what they say."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from experiments import hkl, rivals
from experiments.real_tables import RealTable
from nablasso import HierarchicalKernelRegressorCV


@pytest.fixture(scope="module")
def product():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(80, 3))
    return Z, Z[:, 0] + Z[:, 0] * Z[:, 1] + 0.1 * rng.normal(size=80)


def test_figure_8_has_a_row_per_setting_and_goes_on_where_it_stopped():
    methods = {"mean": lambda Z, y, seed: hkl.Fitted(lambda new: np.full(len(new), y.mean()), ())}
    settings = {"repeats": 2, "dimensions": (4, 8), "n_samples": (30,), "methods": methods}
    rows = list(hkl.figure_8(**settings))
    keys = [tuple(str(row[part]) for part in hkl.KEY_8) for row in rows]
    assert keys == [("30", str(p), str(draw), "mean") for p in (4, 8) for draw in (0, 1)]
    assert all(float(row["relative_error"]) == pytest.approx(1, abs=0.3) for row in rows)
    assert not any(row["exact"] for row in rows)
    assert list(hkl.figure_8(**settings, done=set(keys))) == []


def test_hierarchical_kernels_beat_additive_ones_on_a_product():
    few = {"alphas": 5, "betas": (1.5,)}
    methods = {
        "HKL": hkl.hierarchical("hermite", hkl.PAPER | few),
        "pruned": hkl.hierarchical("hermite", hkl.PRUNED | few),
        "MKL": hkl.multiple("hermite"),
    }
    rows = list(hkl.figure_8(repeats=1, dimensions=(5,), n_samples=(80,), methods=methods))
    errors = {row["method"]: float(row["relative_error"]) for row in rows}
    assert errors["HKL"] < 0.4 < errors["MKL"]
    assert errors["pruned"] < 0.1
    for row in rows:  # every row says how it came about
        assert row["solver"] == "newton"
        assert float(row["gap"]) >= 0
        assert (row["status"] == "converged") == (row["certificate"] == "certified")


def test_the_papers_setting_is_the_documented_one():
    words = " ".join((HierarchicalKernelRegressorCV.__doc__ or "").split())
    for name in ("root_weight", "cv", "selection_rule", "prune", "debias"):
        value = hkl.PAPER[name]
        assert f"{name}={value!r}".replace("'", '"') in words
    assert "betas=[4]" in words
    assert hkl.PAPER["betas"] == (4.0,)


def test_figure_9_splits_a_table(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60, 4))
    real = RealTable(table[:, :3], table[:, 3], ("a", "b", "c"), "pumadyn_8fh", "", "here")
    monkeypatch.setattr(hkl, "load_table", {"pumadyn_8fh": real}.__getitem__)
    methods = {"greedy": rivals.greedy}
    (row,) = hkl.figure_9(splits=1, data=("8fh",), n_samples=30, methods=methods)
    assert [row[part] for part in hkl.KEY_9] == ["8fh", 0, "greedy"]
    split = hkl.pumadyn("8fh", 0, 30)
    assert (len(split.X), len(split.X_test)) == (30, 30)
    both = np.vstack([np.column_stack(split[:2]), np.column_stack(split[2:4])])
    assert np.allclose(np.sort(both, axis=0), np.sort(table, axis=0))


def test_the_tables_name_every_rival():
    names = set(hkl.all_methods())
    kinds = ("HKL {}", "MKL {}", "L2 {}", "generalised lasso {}")
    assert {r.format(k) for r in kinds for k in ("hermite", "spline")} < names
    assert {"greedy hermite", "CART", "boosting", "Gaussian process", "HKL gaussian"} < names
    assert "HKL hermite + pruning" in names


def test_product_kernel_is_the_sum_over_all_nodes(product):
    Z, _ = product
    levels = hkl.level_kernels("spline")
    kernel = rivals.ProductKernel(levels, Z)
    parts = [levels(a, Z[:, a], Z[:, a]) for a in range(3)]
    nodes = np.array(np.meshgrid(*[range(3)] * 3)).reshape(3, -1).T
    listed = sum(np.prod([parts[a][j] for a, j in enumerate(node)], axis=0) for node in nodes)
    assert np.allclose(kernel(Z), listed / np.prod(kernel.units))


@pytest.mark.parametrize("fit", [rivals.single_kernel, rivals.generalised_lasso])
def test_rivals_on_the_same_kernel_predict_a_product(product, fit):
    Z, y = product
    arguments = (Z[:60], y[:60]) if fit is rivals.single_kernel else (Z[:60], y[:60], 0)
    predicted = fit(hkl.level_kernels("spline"), *arguments).predict(Z[60:])
    assert np.mean((predicted - y[60:]) ** 2) < 0.3 * np.var(y[60:])


def test_greedy_takes_a_product_after_its_parts(product):
    Z, y = product
    nodes = rivals.forward(Z, y + Z[:, 1], 2, 4)
    assert nodes[0] == ()
    assert ((0, 1), (1, 1)) in nodes
    for place, node in enumerate(nodes):
        assert set(rivals.parents(node)) <= set(nodes[:place])


def test_log_evidence_is_that_of_scikit_learn(product):
    Z, y = product
    theta = np.array([0.2, 0.3, 0.5, 0.1, -1.0])
    kernel = ConstantKernel(np.exp(0.2)) * RBF(np.exp(theta[1:-1])) + WhiteKernel(np.exp(-1.0))
    model = GaussianProcessRegressor(kernel, optimizer=None, alpha=0).fit(Z, y)
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    ours, slope = rivals.log_evidence(theta, Z, y)
    assert ours == pytest.approx(value)
    assert np.allclose(slope, gradient)


def test_the_process_finds_the_variables(product):
    Z, y = product
    fitted = rivals.gaussian_process(Z[:60], y[:60], 0)
    assert fitted.columns == (0, 1)
    assert np.mean((fitted.predict(Z[60:]) - y[60:]) ** 2) < 0.2 * np.var(y[60:])


def test_pruning_finds_the_product(product):
    Z, y = product
    fit = hkl.hierarchical("hermite", hkl.PRUNED | {"betas": (2.0,), "alphas": 5})
    fitted = fit(Z[:60], y[:60], 0)
    assert fitted.columns == (0, 1)
    assert np.mean((fitted.predict(Z[60:]) - y[60:]) ** 2) < 0.05 * np.var(y[60:])
