"""Ye and Xie (2012), table 2: leukemia, 38 rows to learn from, 34 to test, 7129 genes.

Genes have zero mean and unit length on the training rows; the test rows are scaled with the same
numbers. Weights (5), half the median distance, a linear support vector machine on the selected
genes, or on one direction. The kernel is x.y as in the paper, or 1 + x.y: gradients that are
constant, as those of a linear function are, have no place in the first.

Two ways to leave a row out. *Nested*: it is scaled, selected and classified without it; alpha has
the fewest errors, the smallest hinge loss decides ties. *Given*: genes and direction stay those of
all training rows, which is easier; alpha is the largest with the fewest errors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path
from sklearn.svm import SVC

from nablasso.datasets import RealTable, load_leukemia
from nablasso.estimators import (
    SparseGradientClassifier,
    SparseGradientRegressor,
    sparse_gradient_path,
)
from nablasso.exceptions import InvalidDataError
from nablasso.kernels import Polynomial
from nablasso.progress import track

Array = NDArray[np.float64]
Row = dict[str, Any]

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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        top = sparse_gradient_path(Z, y, estimator=model, n_alphas=1).alpha_max
        return sparse_gradient_path(Z, y, estimator=model, alphas=top * fractions).support, top


def _model(form: str, alpha: float) -> Any:
    """An estimator with one direction."""
    kind, own = FORMS[form]
    return kind(alpha, n_components=1, **SETTINGS, **own)


def _projected(model: Any, Z: Array, new: Array, y: Array) -> tuple[Array, Array]:
    """Both in the directions of a model fitted to the first, with its deviations as units."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
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
