"""Displays show the numbers they are made from."""

import sys

import numpy as np
import pytest
from scipy.integrate import trapezoid

import nablasso
from nablasso import (
    DerivativeLasso,
    HeteroscedasticRegressor,
    HierarchicalKernelRegressor,
    MultiQuantileRegressor,
    PSDDensity,
    SparseGradientClassifier,
    SparseGradientRegressor,
)
from nablasso.errors import InvalidParameterError, MissingExtraError
from nablasso.estimators.cross_validation import Path
from nablasso.hierarchy import ExplicitDag
from nablasso.inspection import (
    DagDisplay,
    DensityDisplay,
    Dependence,
    DerivativeDisplay,
    EdrDisplay,
    InteractionDisplay,
    PairDisplay,
    PathDisplay,
    QuantileDisplay,
)

RNG = np.random.default_rng(2)
X = RNG.normal(size=(90, 6))
y = X[:, 0] * X[:, 3] + 0.05 * RNG.normal(size=90)


@pytest.fixture(scope="module")
def hull():
    return HierarchicalKernelRegressor(alpha=0.02).fit(X, y)


@pytest.fixture(scope="module")
def model():
    return DerivativeLasso("polynomial", alpha=1e-2, ridge=1e-3, tol=1e-3).fit(X, y)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_path_has_a_line_and_a_name_per_strong_variable(pyplot):
    alphas, strength = np.array([1.0, 0.1, 0.01]), np.zeros((3, 12))
    strength[1:, :10] = np.arange(10, 0, -1)
    path = Path(alphas, strength > 0, strength, [f"v${a}" for a in range(12)], 1.0, 0.1)
    display = PathDisplay(path).plot()
    named = [line for line in display.ax_.lines if not line.get_label().startswith("_")]
    np.testing.assert_array_equal(named[0].get_ydata(), strength[:, 0])
    assert len(named) == 8
    assert "2 weaker" in display.ax_.get_title(loc="left")
    assert legend(display.ax_)[0] == r"v\$0"  # not read as mathematics
    assert texts(display.ax_) == ["chosen"]
    display.figure_.canvas.draw()


def test_a_path_without_importances_is_drawn_as_bars(pyplot, hull):
    display = PathDisplay.from_estimator(hull, X, y, n_alphas=4)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert set(labels[:2]) == {"x0", "x3"}
    support = display.path.support
    lines = display.ax_.lines[: int(support.any(axis=0).sum())]
    assert sum(len(line.get_xdata()) for line in lines) == support.sum()


def test_a_computed_path_can_be_drawn_on_given_axes(pyplot):
    path = nablasso.path(SparseGradientRegressor(), X[:40], y[:40], n_alphas=3)
    ax = pyplot.figure().add_subplot()
    display = PathDisplay(path).plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure


def test_numbers_are_computed_without_a_drawing(pyplot, model):
    display = DerivativeDisplay.of(model, X, "x0", grid_size=6)
    assert len(display.dependence.grid) == 6
    assert display.figure_ is None
    assert not pyplot.get_fignums()
    ax = pyplot.figure().add_subplot()
    assert display.plot(ax) is display
    assert display.figure_ is ax.figure


def test_a_dependence_has_its_curve_above_and_its_slope_below(pyplot, model):
    display = DerivativeDisplay.from_estimator(model, X, "x0", grid_size=6)
    above, below = display.axes_
    np.testing.assert_array_equal(above.lines[0].get_ydata(), display.dependence.mean)
    np.testing.assert_array_equal(below.lines[0].get_ydata(), display.dependence.slope_mean)
    assert below.get_xlabel() == "x0"
    assert above.get_ylabel() == "prediction"
    assert display.ax_ is above


def test_levels_of_a_discrete_variable_are_points(pyplot, known):
    Z = X.copy()
    Z[:, 1] = RNG.integers(0, 3, size=90)
    fitted = known(lambda Z: Z[:, 1] * Z[:, 0]).fit(Z)
    display = DerivativeDisplay.from_estimator(fitted, Z, 1, ax=pyplot.figure().add_subplot())
    assert display.axes_[0].get_xticks().tolist() == [0, 1, 2]


def test_a_category_has_a_row_per_level(pyplot):
    mean, ends = np.array([1.0, 3.0, 2.0]), {"band_low": np.zeros(3), "band_high": np.full(3, 4.0)}
    labels = ("red", "green", "blue")
    args = ("c", 0, "category", "prediction", np.arange(3.0), mean)
    curve = Dependence(*args, labels=labels, **ends)
    display = DerivativeDisplay(curve).plot()
    found = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert found == ["green", "blue", "red"]  # the highest first
    assert len(display.axes_) == 1


def test_a_map_shows_every_pair_twice(pyplot, model):
    display = InteractionDisplay.from_estimator(model, X, columns=["x0", "x3", "x1"])
    matrix = display.matrix
    np.testing.assert_array_equal(matrix, matrix.T)
    a, b, share = display.pairs[0]
    assert (a, b) == (0, 3)
    assert np.nanmax(matrix) == matrix[0, 1] == share
    assert texts(display.ax_).count(f"{share:.0%}") == 2


def test_a_pair_is_drawn_with_its_rows(pyplot, model):
    display = PairDisplay.from_estimator(model, X, ("x0", "x3"), grid_size=5, max_rows=20)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("x0", "x3")
    np.testing.assert_array_equal(display.points, X[:, [0, 3]])


def test_columns_of_words_are_no_hindrance(pyplot):
    pandas = pytest.importorskip("pandas")
    words = np.where(X[:40, 2] > 0, "b", "a")
    table = pandas.DataFrame({"word": words, "a": X[:40, 0], "b": X[:40, 1]})
    fitted = DerivativeLasso("linear", alpha=1e-2).fit(table, X[:40, 0] + (words == "b"))
    pair = PairDisplay.from_estimator(fitted, table, ("a", "b"), grid_size=4)
    np.testing.assert_array_equal(pair.points, table[["a", "b"]])
    fitted = MultiQuantileRegressor((0.25, 0.75), rank=10, tol=0.1).fit(table, X[:40, 0])
    display = QuantileDisplay.from_estimator(fitted, table, feature="b", grid_size=5)
    assert (display.name, display.others) == ("b", 2)


def test_the_drawing_of_a_hull(pyplot, hull):
    display = DagDisplay.from_estimator(hull)
    assert set(texts(display.ax_)) == {"1", "x0", "x3", "x0 x3"}
    assert len(display.ax_.lines) == 4
    places = display.places
    assert places[()] == (0.0, 0.0)
    assert {y for _, y in places.values()} == {0.0, -1.0, -2.0}


def test_a_drawing_of_a_dag_of_ones_own_uses_its_edges(pyplot):
    def kernel(node, A, B):
        return np.outer(A[:, "abcd".index(node[-1])], B[:, "abcd".index(node[-1])])

    dag = ExplicitDag({"a": ["ad"], "d": ["ad"]}, kernel)
    fitted = HierarchicalKernelRegressor(alpha=0.02, dag=dag).fit(X, y)
    display = DagDisplay.from_estimator(fitted)
    assert set(texts(display.ax_)) == set(fitted.hull_)
    assert len(display.ax_.lines) == (2 if "ad" in fitted.hull_ else 0)


def test_a_large_hull_is_cut_to_its_heaviest_nodes_and_those_above(pyplot, hull):
    from copy import copy

    large = copy(hull)
    leaves = [((a, 1), (a + 1, 1)) for a in range(0, 400, 2)]
    singles = [((a, 1),) for a in range(400)]
    large.active_set_ = {(): 1.0, **dict.fromkeys(singles, 1e-3), **dict.fromkeys(leaves, 0.5)}
    large._parents = {
        (): [],
        **{s: [()] for s in singles},
        **{leaf: [(leaf[0],), (leaf[1],)] for leaf in leaves},
    }
    large._depths = {node: len(node) for node in large.active_set_}
    large.sinks_, large.n_features_in_ = leaves, 400
    display = DagDisplay.from_estimator(large)
    assert len(display.weights) <= 60
    for node, parents in display.parents.items():
        assert len(parents) == len(large._parents[node]), node


def test_directions_show_loadings_and_projections(pyplot):
    fitted = SparseGradientRegressor(n_components=2).fit(X[:50], y[:50])
    display = EdrDisplay.from_estimator(fitted, X[:50], y[:50])
    np.testing.assert_allclose(display.projections, fitted.transform(X[:50]))
    np.testing.assert_allclose(display.ax_.collections[0].get_offsets(), display.projections)
    left = display.axes_[0]
    labels = [label.get_text() for label in left.get_yticklabels()]
    assert set(labels[:2]) == {"x0", "x3"}
    widths = {round(float(bar.get_width()), 9) for bar in left.patches}
    assert {round(float(fitted.components_[0, 0]), 9)} <= widths
    one = SparseGradientRegressor(n_components=1).fit(X[:50], y[:50])
    display = EdrDisplay.from_estimator(one, X[:50], y[:50])
    np.testing.assert_array_equal(display.ax_.collections[0].get_offsets()[:, 1], y[:50])


def test_classes_get_a_colour_each(pyplot):
    labels = np.where(X[:40, 0] + X[:40, 1] > 0, "up", "down")
    fitted = SparseGradientClassifier(n_components=2, tol=0.3).fit(X[:40], labels)
    assert len(fitted.components_) == 2
    display = EdrDisplay.from_estimator(fitted, X[:40], labels)
    assert legend(display.ax_) == ["down", "up"]


def test_a_density_is_drawn_in_one_and_two_variables(pyplot):
    Z = X[:80, :2] * [1.0, 2.0]
    fitted = PSDDensity(rank=20, tol=1e-2).fit(Z)
    both = DensityDisplay.from_estimator(fitted, Z, grid_size=60)
    np.testing.assert_allclose(
        both.density[3, 7], fitted.density([[both.grids[0][3], both.grids[1][7]]])[0]
    )
    one = DensityDisplay.from_estimator(fitted, Z, features=["x1"])
    over_x0 = trapezoid(both.density, both.grids[0], axis=0)
    np.testing.assert_allclose(
        np.interp(both.grids[1], one.grids[0], one.density), over_x0, atol=0.02 * over_x0.max()
    )
    with pytest.raises(InvalidParameterError, match="one or two variables"):
        DensityDisplay.from_estimator(fitted, Z, features=[])


def test_lines_of_a_density_hold_the_probability_they_say(pyplot):
    from nablasso.inspection.function_displays import _mass_levels

    axis = np.linspace(-6, 6, 400)
    density = np.exp(-0.5 * (axis[:, None] ** 2 + axis**2)) / (2 * np.pi)
    levels = _mass_levels(density)
    # above height h of a standard normal in the plane: probability 1 - 2 pi h
    np.testing.assert_allclose(
        1 - 2 * np.pi * np.array(levels), [0.95, 0.9, 0.75, 0.5, 0.25], atol=5e-3
    )


def test_quantiles_are_drawn_with_the_others_at_their_medians(pyplot):
    Z, target = X[:40, :2], X[:40, 0]
    fitted = MultiQuantileRegressor((0.25, 0.5, 0.75), rank=10, tol=0.1).fit(Z, target)
    display = QuantileDisplay.from_estimator(fitted, Z, target, feature="x1", grid_size=5)
    middle = np.sort(Z[:, 0])[19]  # the smallest value with half of the rows up to it
    rows = np.column_stack([np.full(5, middle), display.grid])
    np.testing.assert_allclose(display.quantiles, fitted.predict(rows))
    assert legend(display.ax_) == ["75 %", "50 %", "25 %"]
    assert "1 variable at the median" in display.ax_.get_title(loc="left")


def test_mean_and_noise_are_drawn_as_gaussian_quantiles(pyplot):
    from scipy.stats import norm

    Z, target = X[:40, :1], X[:40, 1]
    fitted = HeteroscedasticRegressor(rank=10, tol=0.1).fit(Z, target)
    display = QuantileDisplay.from_estimator(fitted, Z, grid_size=4)
    mean, deviation = fitted.predict(display.grid[:, None], return_std=True)
    for level, curve in zip(display.levels, display.quantiles.T, strict=True):
        np.testing.assert_allclose(curve, norm.ppf(level, mean, deviation))


@pytest.mark.parametrize(
    "call",
    [
        lambda m: DagDisplay.from_estimator(m),
        lambda m: EdrDisplay.from_estimator(m, X, y),
        lambda m: DensityDisplay.from_estimator(m, X),
        lambda m: QuantileDisplay.from_estimator(m, X),
    ],
)
def test_another_model_is_refused_by_name(call, model):
    with pytest.raises(InvalidParameterError, match=r"Display needs a fitted"):
        call(model)


def test_without_matplotlib_the_extra_is_named(monkeypatch, hull):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"nablasso\[plot\]"):
        DagDisplay.from_estimator(hull)
