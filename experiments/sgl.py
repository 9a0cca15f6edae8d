r"""Ye and Xie (2012): sparse gradient learning next to the lasso and to gradients without sparsity.

Where the paper fixes the number of selected variables instead of alpha, so do we: the largest alpha
of a path that selects so many, the path refined between two points where it jumps over the number.

Ye and Xie (2012), table 2: leukemia, 38 rows to learn from, 34 to test, 7129 genes.

Genes have zero mean and unit length on the training rows; the test rows are scaled with the same
numbers. Weights (5), half the median distance, a linear support vector machine on the selected
genes, or on one direction. The kernel is x.y as in the paper, or 1 + x.y: gradients that are
constant, as those of a linear function are, have no place in the first.

Two ways to leave a row out. *Nested*: it is scaled, selected and classified without it; alpha has
the fewest errors, the smallest hinge loss decides ties. *Given*: genes and direction stay those of
all training rows, which is easier; alpha is the largest with the fewest errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import lars_path, lasso_path
from sklearn.svm import SVC

from experiments.running import Row
from nablasso.datasets import KnownSupport, RealTable, load_leukemia, make_rings, make_turlach
from nablasso.estimators import (
    SparseGradientClassifier,
    SparseGradientRegressor,
    sparse_gradient_path,
)
from nablasso.exceptions import InvalidDataError
from nablasso.kernels import Polynomial
from nablasso.progress import track

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

POINTS = 40  # of a path
STRIDE, STEPS, ROUNDS = 0.6, 6, 12  # pieces of a path: factor, points; most pieces and refinements

# Table 1: kernel 1 + x.y, weights (58) of 10 neighbours, half the median distance
TURLACH: Row = {"kernel": Polynomial(degree=1, offset=1.0), "n_neighbors": 10}
COLUMNS = ("centred", "standardised")  # the paper does not say; 1 + x.y sees their units
SPREADS = (0.1, 0.5, 1.0, 2.0, 3.0)
# Figures 2 and 3: Gaussian kernel and weights (5), half the median distance, columns centred
RINGS: Row = {"standardize": False, "n_components": 2}
RADIAL: Row = {**RINGS, "kernel": "linear"}  # the gradient of a function of the radius is linear
ADAPTIVE: Row = {**RADIAL, "adaptive_weights": True}
FRACTION = 0.3  # of alpha_max, for adaptive weights; picked on draws 1000 to 1009
WITHOUT_SPARSITY: Row = {**RINGS, "penalty": "ridge"}
TEST_ROWS = 200


class Found(NamedTuple):
    """What was found on rings: per input a mask and norms, directions (2, d), eigenvalues."""

    support: Mask
    norms: Array
    directions: Array
    spectrum: Array


def figure_1(seed: int = 0) -> list[Row]:
    """Figure 1: norms of the partial derivatives and lasso coefficients along their paths.

    Centred columns. One row per method, point and variable; ``strength`` is -log10 alpha for SGL
    and the share of the full sum of absolute coefficients for the lasso.
    """
    data = make_turlach(random_state=seed)
    path = sparse_gradient_path(
        data.X,
        data.y,
        estimator=SparseGradientRegressor(standardize=False, **TURLACH),
        n_alphas=POINTS,
    )
    _, coefficients = _lars(data)
    sizes = np.abs(coefficients).sum(axis=0)
    curves = {
        "SGL": (-np.log10(path.alphas), path.importances),
        "lasso": (sizes / sizes[-1], coefficients.T),
    }
    return [
        {"method": name, "strength": round(float(x), 5), "variable": a + 1, "size": f"{z:.6g}"}
        for name, (strengths, values) in curves.items()
        for x, row in zip(strengths, values, strict=True)
        for a, z in enumerate(row)
    ]


def table_1(repeats: int = 100, seed: int = 0, columns: Sequence[str] = COLUMNS) -> Iterator[Row]:
    """Table 1: which five variables are selected, n = 100, d = 10, one row per repeat and method.

    The kernel 1 + x.y sees the units of the columns: SGL is run on centred columns in their own
    units and on standardised ones (the library's default).
    """
    for draw in track(range(seed, seed + repeats), repeats, "table 1"):
        data = make_turlach(random_state=draw)
        for kind in columns:
            model = SparseGradientRegressor(standardize=kind == "standardised", **TURLACH)
            support, alpha = at_size(data.X, data.y, 5, model)
            method = f"SGL, columns {kind}"
            yield {"draw": draw, "method": method, **_chosen(support), "alpha": f"{alpha:.5g}"}
        alphas, coefficients = _lars(data)
        step = int(np.argmax(np.count_nonzero(coefficients, axis=0) == 5))
        support = coefficients[:, step] != 0
        alpha = alphas[step]
        yield {"draw": draw, "method": "lasso", **_chosen(support), "alpha": f"{alpha:.5g}"}


def figure_2(repeats: int = 20, seed: int = 0, spreads: Sequence[float] = SPREADS) -> Iterator[Row]:
    """Figures 2 and 3: rings in (x1, x2) among 200 inputs, n = 40, by the others' deviation.

    ``SGL`` and ``SGL, x.y`` (its kernel): at the largest alpha that selects two variables.
    ``adaptive`` (section 7): selection at ``FRACTION`` of ``alpha_max`` among the selected, weights
    and kernel measured in them, until all are kept; ``adaptive, two``: while two are left, then at
    the largest alpha that selects two of them. ``GL``: gradient learning without sparsity.

    ``in_plane``: share of the two directions that lies in the plane of x1 and x2. ``accuracy``:
    200 new rows, told apart by the radius in the two directions at the threshold that is best on
    the training rows.
    """
    plan = [(spread, draw) for draw in range(seed, seed + repeats) for spread in spreads]
    for spread, draw in track(plan, len(plan), "rings"):
        data = make_rings(spread=spread, random_state=draw)
        test = make_rings(TEST_ROWS, spread=spread, random_state=10_000 + draw)
        for name, found in _found_on_rings(data):
            in_plane, accuracy = _rings_seen(found, data, test)
            yield {
                "spread": spread,
                "draw": draw,
                "method": name,
                **_chosen(found.support, most=20),
                "exact": int(np.array_equal(found.support, data.support)),
                "in_plane": round(in_plane, 4),
                "accuracy": round(accuracy, 4),
            }


def figure_3(spread: float = 3.0, seed: int = 0) -> Iterator[Row]:
    """What the panels of figures 2 and 3 show, for one draw of the rings.

    ``kind`` is "train" or "test" (coordinates of a row in the first two directions), "norm" (of a
    variable's partial derivative) or "eigenvalue" (of the gradients' covariance).
    """
    data = make_rings(spread=spread, random_state=seed)
    test = make_rings(TEST_ROWS, spread=spread, random_state=10_000 + seed)
    for name, found in _found_on_rings(data):
        for kind, part in (("train", data), ("test", test)):
            places = (part.X - data.X.mean(axis=0)) @ found.directions.T
            for place, y in zip(places, part.y, strict=True):
                yield _panel(name, kind, int(y), place[0], place[1])
        for a, norm in enumerate(found.norms):
            yield _panel(name, "norm", a + 1, norm)
        for a, value in enumerate(found.spectrum[:10]):
            yield _panel(name, "eigenvalue", a + 1, value)


def at_size(X: Array, y: Array, size: int, model: Any) -> tuple[Mask, float]:
    """Support and alpha of the largest alpha that selects ``size`` variables.

    Where several enter together (or a ``size`` is jumped over) those with the largest norms count.
    """
    top = sparse_gradient_path(X, y, estimator=model, n_alphas=1).alpha_max
    alphas = top * np.geomspace(1, STRIDE, STEPS + 1)
    for _ in range(ROUNDS):
        path = sparse_gradient_path(X, y, estimator=model, alphas=alphas)
        counts = path.support.sum(axis=1)
        exact = np.flatnonzero(counts == size)
        if len(exact):
            return path.support[exact[0]], float(path.alphas[exact[0]])
        more = np.flatnonzero(counts > size)
        if len(more):  # between two points
            last = int(more[0])
            alphas = np.geomspace(path.alphas[max(last - 1, 0)], path.alphas[last], STEPS + 1)
        else:  # further down
            last = len(counts) - 1
            alphas = alphas * STRIDE
    largest = np.argsort(-path.importances[last])[:size]
    return np.isin(np.arange(X.shape[1]), largest), float(path.alphas[last])


def _lars(data: KnownSupport) -> tuple[Array, Array]:
    """Alphas and coefficients of the lasso on standardised columns."""
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    alphas, _, coefficients = lars_path(X, data.y - data.y.mean(), method="lasso")
    return alphas, coefficients


def _found_on_rings(data: KnownSupport) -> Iterator[tuple[str, Found]]:
    """What each method finds."""
    X, y, every = data.X, data.y, np.arange(data.X.shape[1])
    for name, settings in (("SGL", RINGS), ("SGL, x.y", RADIAL)):
        _, alpha = at_size(X, y, 2, SparseGradientClassifier(**settings))
        yield name, _fitted(X, y, every, alpha, settings)
    yield "SGL, x.y, adaptive", _fitted(X, y, every, FRACTION * _top(X, y), ADAPTIVE)
    columns = _narrowed(X, y, 2)
    _, alpha = at_size(X[:, columns], y, 2, SparseGradientClassifier(**RADIAL))
    yield "SGL, x.y, adaptive, two", _fitted(X, y, columns, alpha, RADIAL)
    yield "GL", _fitted(X, y, every, None, WITHOUT_SPARSITY)


def _top(X: Array, y: Array) -> float:
    """``alpha_max`` on rings with the kernel x.y."""
    model = SparseGradientClassifier(**RADIAL)
    return sparse_gradient_path(X, y, estimator=model, n_alphas=1).alpha_max


def _narrowed(X: Array, y: Array, size: int) -> NDArray[np.intp]:
    """Select among the selected while at least ``size`` are left."""
    columns = np.arange(X.shape[1])
    while True:
        alpha = FRACTION * _top(X[:, columns], y)
        support = _fitted(X, y, columns, alpha, RADIAL).support
        if not size <= support.sum() < len(columns):
            return columns
        columns = np.flatnonzero(support)


def _fitted(X: Array, y: Array, columns: NDArray[np.intp], alpha: Any, settings: Row) -> Found:
    """A classifier on some columns, read in terms of all."""
    model = SparseGradientClassifier(alpha, **settings).fit(X[:, columns], y)
    d = X.shape[1]
    support, norms, directions = np.zeros(d, dtype=bool), np.zeros(d), np.zeros((2, d))
    support[columns] = model.support_
    norms[columns] = model.feature_importances_
    directions[: len(model.components_), columns] = model.components_
    return Found(support, norms, directions, model.spectrum_)


def _rings_seen(found: Found, data: KnownSupport, test: KnownSupport) -> tuple[float, float]:
    """Share of the two directions in the plane, and accuracy by the radius in them."""
    in_plane = float(np.sum(found.directions[:, :2] ** 2) / 2)
    centre = data.X.mean(axis=0)
    radii = [np.linalg.norm((X - centre) @ found.directions.T, axis=1) for X in (data.X, test.X)]
    cuts = np.append(np.sort(radii[0]), np.inf)
    correct = [np.mean((radii[0] < cut) == (data.y == 1)) for cut in cuts]
    cut = cuts[int(np.argmax(correct))]
    return in_plane, float(np.mean((radii[1] < cut) == (test.y == 1)))


def _chosen(support: Mask, most: int | None = None) -> Row:
    numbers = np.flatnonzero(support) + 1
    shown = " ".join(map(str, numbers[:most])) + (" ..." if most and len(numbers) > most else "")
    return {"n_selected": len(numbers), "selected": shown}


def _panel(method: str, kind: str, index: int, x: float, y: float = 0.0) -> Row:
    return {"method": method, "kind": kind, "index": index, "x": f"{x:.5g}", "y": f"{y:.5g}"}


FRACTIONS = tuple(float(f) for f in np.geomspace(0.8, 0.1, 6).round(4))  # of alpha_max
LASSO_FRACTIONS = np.geomspace(0.8, 0.02, 12).round(4)
SETTINGS: Row = {"standardize": False, "tol": 1e-4}
AFFINE = Polynomial(degree=1, offset=1.0)
FORMS: dict[str, tuple[Any, Row]] = {  # ridge: lambda_1 of (60); by default the library's choice
    "classification, x.y": (SparseGradientClassifier, {"kernel": "linear"}),
    "classification, x.y, ridge 0.01": (
        SparseGradientClassifier,
        {"kernel": "linear", "ridge": 1e-2},
    ),
    "classification, x.y, ridge 0.0001": (
        SparseGradientClassifier,
        {"kernel": "linear", "ridge": 1e-4},
    ),
    "regression, x.y": (SparseGradientRegressor, {"kernel": "linear"}),
    "regression, 1 + x.y": (SparseGradientRegressor, {"kernel": AFFINE}),
}
LIMIT = 1.0  # C of the support vector machine
GL_FEATURES = 6


def divided(table: RealTable) -> tuple[Array, Array, Array, Array]:
    """X and y (1 for ALL, -1 for AML) of the training rows, then of the test rows."""
    if table.train is None:
        raise InvalidDataError(
            f"The table from {table.source} does not say which rows are for training; the file "
            "leukemia.csv.gz does. Put it into the folder named by NABLASSO_DATA."
        )
    X, y, train = table.X, np.where(table.y == "ALL", 1.0, -1.0), table.train
    return X[train], y[train], X[~train], y[~train]


def table_2(
    data: tuple[Array, Array, Array, Array] | None = None,
    fractions: Iterable[float] = FRACTIONS,
    forms: Iterable[str] = tuple(FORMS),
) -> Iterator[Row]:
    """One row per form and alpha with errors on left-out and on test rows.

    ``chosen`` says which way chooses that alpha. Nested errors of the direction are counted at the
    alpha of the nested way only. Then the lasso, the support vector machine on all genes and
    gradient learning without sparsity with six directions.
    """
    data = divided(load_leukemia()) if data is None else data
    X, y, X_test, y_test = data
    steps = np.sort(np.array(list(fractions)))[::-1]
    for form in forms:
        yield from _sparse_rows(form, steps, data)
    yield from _lasso_rows(data)
    Z, Z_test = unit_length(X, X_test)
    everything = np.ones(X.shape[1], dtype=bool)
    left = [_decision(*unit_length(*_split(X, i)), _rest(y, i), everything) for i in range(len(y))]
    yield {
        **_blank("support vector machine on all genes"),
        "n_genes": X.shape[1],
        "loo_errors": _errors(left, y),
        "test_errors": _errors(_decision(Z, Z_test, y, everything), y_test),
        "chosen": "only",
    }
    model = SparseGradientClassifier(
        kernel="linear", penalty="ridge", n_components=GL_FEATURES, **SETTINGS
    )
    parts = _projected(model, Z, Z_test, y)
    columns = np.ones(GL_FEATURES, dtype=bool)
    left = []
    for i in track(range(len(y)), len(y), "leave one out, GL"):
        inner = _projected(model, *unit_length(*_split(X, i)), _rest(y, i))
        left.append(_decision(*inner, _rest(y, i), columns))
    yield {
        **_blank("GL, six directions"),
        "n_genes": X.shape[1],
        "loo_errors": _errors(left, y),
        "test_errors": _errors(_decision(*parts, y, columns), y_test),
        "chosen": "only",
    }


def _lasso_rows(data: tuple[Array, Array, Array, Array]) -> list[Row]:
    """The support vector machine on the genes of the lasso, along its path."""
    X, y, X_test, y_test = data
    Z, Z_test = unit_length(X, X_test)
    decisions = _nested(_lasso_supports, X, y, LASSO_FRACTIONS, "lasso")
    rows: list[Row] = [
        {
            **_blank("lasso"),
            "fraction": round(float(fraction), 4),
            "n_genes": int(support.sum()),
            "loo_errors": _errors(left, y),
            "loo_hinge": round(_hinge(left, y), 4),
            "loo_given": _given_errors(Z[:, support], y),
            "test_errors": _errors(_decision(Z, Z_test, y, support), y_test),
        }
        for fraction, support, left in zip(
            LASSO_FRACTIONS, _lasso_supports(Z, y, LASSO_FRACTIONS), decisions, strict=True
        )
    ]
    _mark(rows)
    return rows


def _lasso_supports(Z: Array, y: Array, fractions: Array) -> NDArray[np.bool_]:
    """Genes of the lasso of the centred labels, along the fractions of its largest alpha."""
    centred = y - y.mean()
    top = float(np.abs(Z.T @ centred).max()) / len(y)
    _, coefficients, _ = lasso_path(Z, centred, alphas=top * fractions)
    return np.asarray(coefficients.T != 0)


def _nested(
    supports: Callable[[Array, Array, Array], NDArray[np.bool_]],
    X: Array,
    y: Array,
    fractions: Array,
    what: str,
) -> Array:
    """Decisions on each row, scaled and selected without it, (fractions, rows)."""
    decisions = np.zeros((len(fractions), len(y)))
    for i in track(range(len(y)), len(y), f"leave one out, {what}"):
        inner, outer = unit_length(*_split(X, i))
        rest = _rest(y, i)
        for at, support in enumerate(supports(inner, rest, fractions)):
            decisions[at, i] = _decision(inner, outer, rest, support)[0]
    return decisions


def _mark(rows: list[Row]) -> int:
    """Say which alpha each way chooses; the place of the nested one."""
    nested = int(np.lexsort(([r["loo_hinge"] for r in rows], [r["loo_errors"] for r in rows]))[0])
    given = int(np.argmin([row["loo_given"] for row in rows]))
    rows[nested]["chosen"] = "nested"
    rows[given]["chosen"] = "both" if given == nested else "given"
    return nested


def _hinge(decisions: Array, y: Array) -> float:
    return float(np.maximum(0, 1 - decisions * y).mean())


def _sparse_rows(form: str, fractions: Array, data: tuple[Array, Array, Array, Array]) -> list[Row]:
    X, y, X_test, y_test = data
    Z, Z_test = unit_length(X, X_test)
    supports, top = _supports(form, Z, y, fractions)
    decisions = _nested(lambda *given: _supports(form, *given)[0], X, y, fractions, form)
    rows: list[Row] = []
    for at, (fraction, support) in enumerate(zip(fractions, supports, strict=True)):
        model = _model(form, fraction * top)
        parts = _projected(model, Z, Z_test, y)
        one = np.ones(1, dtype=bool)
        rows.append(
            {
                **_blank(f"SGL, {form}"),
                "fraction": round(float(fraction), 4),
                "n_genes": int(support.sum()),
                "loo_errors": _errors(decisions[at], y),
                "loo_hinge": round(_hinge(decisions[at], y), 4),
                "loo_given": _given_errors(Z[:, support], y),
                "test_errors": _errors(_decision(Z, Z_test, y, support), y_test),
                "direction_loo_given": _given_errors(parts[0], y),
                "direction_test_errors": _errors(_decision(*parts, y, one), y_test),
            }
        )
    nested = _mark(rows)
    rows[nested]["direction_loo_errors"] = _direction_errors(form, float(fractions[nested]), X, y)
    return rows


def _given_errors(features: Array, y: Array) -> int:
    """Errors on left-out rows of the support vector machine on features found with them."""
    every = np.ones(features.shape[1], dtype=bool)
    left = [_decision(*_split(features, i), _rest(y, i), every)[0] for i in range(len(y))]
    return _errors(left, y)


def _direction_errors(form: str, fraction: float, X: Array, y: Array) -> int:
    """Errors on left-out rows of one direction."""
    values = []
    for i in track(range(len(y)), len(y), f"leave one out, one direction, {form}"):
        inner, outer = unit_length(*_split(X, i))
        rest = _rest(y, i)
        _, top = _supports(form, inner, rest, np.array([1.0]))
        model = _model(form, fraction * top)
        parts = _projected(model, inner, outer, rest)
        values.append(_decision(*parts, rest, np.ones(1, dtype=bool))[0])
    return _errors(np.array(values), y)


def unit_length(X: Array, new: Array) -> tuple[Array, Array]:
    """Both with the first one's means and lengths of the centred columns; constants are zero."""
    centre = X.mean(axis=0)
    length = np.linalg.norm(X - centre, axis=0)
    length = np.where(length > 0, length, np.inf)
    return (X - centre) / length, (new - centre) / length


def _supports(form: str, Z: Array, y: Array, fractions: Array) -> tuple[NDArray[np.bool_], float]:
    """Supports along the fractions of ``alpha_max``, and ``alpha_max``."""
    kind, own = FORMS[form]
    model = kind(**SETTINGS, **own)
    top = sparse_gradient_path(Z, y, estimator=model, n_alphas=1).alpha_max
    return sparse_gradient_path(Z, y, estimator=model, alphas=top * fractions).support, top


def _model(form: str, alpha: float) -> Any:
    """An estimator with one direction."""
    kind, own = FORMS[form]
    return kind(alpha, n_components=1, **SETTINGS, **own)


def _projected(model: Any, Z: Array, new: Array, y: Array) -> tuple[Array, Array]:
    """Both in the directions of a model fitted to the first, with its deviations as units."""
    model.fit(Z, y)
    old, new = model.transform(Z), model.transform(new)
    size = old.std(axis=0)
    return old / size, new / size


def _decision(Z: Array, new: Array, y: Array, columns: NDArray[np.bool_]) -> Array:
    """Values of the support vector machine on some columns; the larger class without any."""
    if not columns.any():
        return np.full(len(new), np.sign(y.sum()))
    machine = SVC(kernel="linear", C=LIMIT).fit(Z[:, columns], y)
    return np.asarray(machine.decision_function(new[:, columns]))


def _errors(values: Any, y: Array) -> int:
    return int(np.sum(np.where(np.ravel(values) > 0, 1.0, -1.0) != y))


def _split(X: Array, i: int) -> tuple[Array, Array]:
    return np.delete(X, i, axis=0), X[i : i + 1]


def _rest(y: Array, i: int) -> Array:
    return np.delete(y, i)


def _blank(method: str) -> Row:
    names = ("fraction", "n_genes", "loo_errors", "loo_hinge", "loo_given", "test_errors")
    more = ("direction_loo_errors", "direction_loo_given", "direction_test_errors", "chosen")
    return {"method": method, **dict.fromkeys((*names, *more), "")}
