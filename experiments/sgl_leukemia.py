"""Ye and Xie (2012), table 2: leukemia, 38 rows to learn from, 34 to test, 7129 genes.

Genes have zero mean and unit length on the training rows; the test rows are scaled with the same
numbers. Weights (5), half the median distance, a linear support vector machine on the selected
genes, or on one direction. The kernel is x.y as in the paper, or 1 + x.y: gradients that are
constant, as those of a linear function are, have no place in the first.

Two ways to leave a row out. *Nested*: it is scaled, selected and classified without it; alpha has
the fewest errors, the smallest hinge loss decides ties. *Given*: genes and direction stay those of
all training rows, which is easier; alpha is the largest with the fewest errors.

The paper does not name the C of the support vector machine: every count is made for 1 and for 100.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import lasso_path
from sklearn.svm import SVC

import nablasso
from experiments.real_tables import RealTable, load_table
from experiments.running import CAPPED, CONVERGED, Row, record_of
from nablasso.errors import InvalidDataError
from nablasso.estimators import (
    SparseGradientClassifier,
    SparseGradientRegressor,
)
from nablasso.kernels import Polynomial
from nablasso.progress import track
from nablasso.types import Array

Masks = NDArray[np.bool_]
Data = tuple[Array, Array, Array, Array]
Supports = Callable[[Array, Array, Array], Masks]

FRACTIONS = (
    0.8,
    0.5,
    0.3,
    0.2,
    0.1,
    0.05,
    0.03,
    0.0195,
)  # of alpha_max; about 106 genes at the end
LASSO_FRACTIONS = (0.8, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02)
SETTINGS: Row = {"standardize": False, "tol": 1e-4}
AFFINE = Polynomial(degree=1, offset=1.0)
FORMS: dict[str, tuple[Any, Row]] = {  # ridge: lambda_1 of (60); by default the library's choice
    "regression, x.y": (SparseGradientRegressor, {"kernel": "linear"}),
    "regression, 1 + x.y": (SparseGradientRegressor, {"kernel": AFFINE}),
    "classification, x.y": (SparseGradientClassifier, {"kernel": "linear"}),
    "classification, x.y, ridge 0.01": (
        SparseGradientClassifier,
        {"kernel": "linear", "ridge": 1e-2},
    ),
}
LIMITS = (1.0, 100.0)  # C of the support vector machine
GL_FEATURES = 6
ITERATIONS = (10, 30, 100, 300, 1000, 3000)
ITERATED = ("regression, x.y", "classification, x.y, ridge 0.01")
HALF = 0.5  # of alpha_max, where iterates are looked at
NESTED_UP_TO = 300  # iterations up to which rows are left out before the iterations


def divided(table: RealTable) -> Data:
    """X and y (1 for ALL, -1 for AML) of the training rows, then of the test rows."""
    if table.train is None:
        raise InvalidDataError(
            f"The table from {table.source} does not say which rows are for training; the file "
            "leukemia.csv.gz does. Put it into the folder named by NABLASSO_DATA."
        )
    X, y, train = table.X, np.where(table.y == "ALL", 1.0, -1.0), table.train
    return X[train], y[train], X[~train], y[~train]


# ----------------------------------------------------------------------------------- table 2


def table_2(
    data: Data | None = None,
    fractions: Iterable[float] = FRACTIONS,
    methods: Iterable[str] = (*FORMS, "lasso", "all genes", "GL"),
) -> Iterator[Row]:
    """One row per method, alpha and C with errors on left-out and on test rows.

    ``chosen`` says which way chooses that alpha. Nested errors of the direction are counted at the
    alpha of the nested way only. ``all genes``: the support vector machine without selection;
    ``GL``: gradient learning without sparsity, six directions.
    """
    data = divided(load_table("leukemia")) if data is None else data
    steps = np.sort(np.array(list(fractions)))[::-1]
    for method in methods:
        if method in FORMS:
            yield from _sparse_rows(method, steps, data)
        elif method == "lasso":
            yield from _path_rows("lasso", np.array(LASSO_FRACTIONS), data, _lasso_supports)
        elif method == "GL":
            yield from _gl_rows(data)
        else:
            yield from _path_rows(
                "support vector machine on all genes",
                np.ones(1),
                data,
                lambda Z, _y, _f: np.ones((1, Z.shape[1]), dtype=bool),
            )


def _path_rows(method: str, fractions: Array, data: Data, supports: Supports) -> list[Row]:
    """The support vector machine on the genes of a path, for every C."""
    X, y, X_test, y_test = data
    Z, Z_test = unit_length(X, X_test)
    masks, left_out = supports(Z, y, fractions), _left_out(supports, X, y, fractions, method)
    rows: list[Row] = []
    for limit in LIMITS:
        own = [
            {
                **_blank(method, limit),
                "fraction": round(float(fraction), 4),
                "n_genes": int(mask.sum()),
                **_nested([masks[at] for masks in left_out], X, y, limit),
                "loo_given": _given_errors(Z[:, mask], y, limit),
                "test_errors": _errors(_decision(Z, Z_test, y, mask, limit), y_test),
            }
            for at, (fraction, mask) in enumerate(zip(fractions, masks, strict=True))
        ]
        _mark(own)
        rows += own
    return rows


def _sparse_rows(form: str, fractions: Array, data: Data) -> list[Row]:
    X, y, X_test, y_test = data
    Z, Z_test = unit_length(X, X_test)
    rows = _path_rows(f"SGL, {form}", fractions, data, lambda *given: _supports(form, *given)[0])
    top, one = _supports(form, Z, y, np.ones(1))[1], np.ones(1, dtype=bool)
    for fraction in fractions:
        model = _model(form, float(fraction) * top)
        parts = _projected(model, Z, Z_test, y)
        for row in rows:
            if row["fraction"] == round(float(fraction), 4):
                row |= record_of(model)
                row["direction_loo_given"] = _given_errors(parts[0], y, row["C"])
                decisions = _decision(*parts, y, one, row["C"])
                row["direction_test_errors"] = _errors(decisions, y_test)
    for row in rows:
        if row["chosen"] in ("nested", "both"):
            row["direction_loo_errors"] = _direction_errors(form, row["fraction"], X, y, row["C"])
    return rows


def _gl_rows(data: Data) -> Iterator[Row]:
    X, y, X_test, y_test = data
    model = SparseGradientClassifier(
        kernel="linear", penalty="ridge", n_components=GL_FEATURES, **SETTINGS
    )
    parts = _projected(model, *unit_length(X, X_test), y)
    inner = [
        _projected(model, *unit_length(*_split(X, i)), _rest(y, i))
        for i in track(range(len(y)), len(y), "leave one out, GL")
    ]
    columns = np.ones(GL_FEATURES, dtype=bool)
    for limit in LIMITS:
        left = [_decision(*pair, _rest(y, i), columns, limit)[0] for i, pair in enumerate(inner)]
        yield {
            **_blank("GL, six directions", limit),
            "n_genes": X.shape[1],
            "loo_errors": _errors(left, y),
            "loo_given": _given_errors(parts[0], y, limit),
            "test_errors": _errors(_decision(*parts, y, columns, limit), y_test),
            "chosen": "only",
        }


def _lasso_supports(Z: Array, y: Array, fractions: Array) -> Masks:
    """Genes of the lasso of the centred labels, along the fractions of its largest alpha."""
    centred = y - y.mean()
    top = float(np.abs(Z.T @ centred).max()) / len(y)
    _, coefficients, _ = lasso_path(Z, centred, alphas=top * fractions)
    return np.asarray(coefficients.T != 0)


def _left_out(supports: Supports, X: Array, y: Array, fractions: Array, what: str) -> list[Masks]:
    """Supports along the fractions without each row, which is not seen by the scaling either."""
    return [
        supports(unit_length(*_split(X, i))[0], _rest(y, i), fractions)
        for i in track(range(len(y)), len(y), f"leave one out, {what}")
    ]


def _nested(masks: list[Masks], X: Array, y: Array, limit: float) -> Row:
    """Errors and hinge loss on rows, each with the genes that were found without it."""
    decisions = np.array(
        [
            _decision(*unit_length(*_split(X, i)), _rest(y, i), mask, limit)[0]
            for i, mask in enumerate(masks)
        ]
    )
    hinge = float(np.maximum(0, 1 - decisions * y).mean())
    return {"loo_errors": _errors(decisions, y), "loo_hinge": round(hinge, 4)}


def _mark(rows: list[Row]) -> None:
    """Say which alpha each way chooses."""
    if len(rows) == 1:
        rows[0]["chosen"] = "only"
        return
    nested = int(np.lexsort(([r["loo_hinge"] for r in rows], [r["loo_errors"] for r in rows]))[0])
    given = int(np.argmin([row["loo_given"] for row in rows]))
    rows[nested]["chosen"] = "nested"
    rows[given]["chosen"] = "both" if given == nested else "given"


def _given_errors(features: Array, y: Array, limit: float) -> int:
    """Errors on left-out rows of the support vector machine on features found with them."""
    every = np.ones(features.shape[1], dtype=bool)
    left = [_decision(*_split(features, i), _rest(y, i), every, limit)[0] for i in range(len(y))]
    return _errors(left, y)


def _direction_errors(form: str, fraction: float, X: Array, y: Array, limit: float) -> int:
    """Errors on left-out rows of one direction."""
    values = []
    for i in track(range(len(y)), len(y), f"leave one out, one direction, {form}"):
        inner, outer = unit_length(*_split(X, i))
        rest = _rest(y, i)
        _, top = _supports(form, inner, rest, np.ones(1))
        parts = _projected(_model(form, fraction * top), inner, outer, rest)
        values.append(_decision(*parts, rest, np.ones(1, dtype=bool), limit)[0])
    return _errors(np.array(values), y)


# ---------------------------------------------------------------------------------- iterates


def iterates(
    data: Data | None = None,
    forms: Iterable[str] = ITERATED,
    iterations: Iterable[int] = ITERATIONS,
    fraction: float = HALF,
    nested_up_to: int = NESTED_UP_TO,
) -> Iterator[Row]:
    """Genes and errors of the iterates of Algorithm 1, and of the minimiser, at one alpha.

    Rows are left out before the iterations up to ``nested_up_to`` of them, and before the
    minimisation; with 0 never.
    ``excess`` is the objective above the minimum, in units of the objective at zero.
    """
    data = divided(load_table("leukemia")) if data is None else data
    X, y, X_test, y_test = data
    Z, Z_test = unit_length(X, X_test)
    for form in forms:
        steps = [*iterations, None]
        top = _supports(form, Z, y, np.ones(1))[1]
        optimum = _iterate(form, fraction * top, None).fit(Z, y).objective_
        for n_iter in track(steps, len(steps), f"iterates, {form}"):
            begun = time.process_time()
            model = _iterate(form, fraction * top, n_iter).fit(Z, y)
            seconds = time.process_time() - begun
            zero = model.dual_gap_ / model.relative_gap_ if model.relative_gap_ else 1.0
            row = {
                "method": f"SGL, {form}",
                "fraction": fraction,
                "iteration": "optimum" if n_iter is None else n_iter,
                "n_genes": int(model.support_.sum()),
                "excess": f"{(model.objective_ - optimum) / zero:.3g}",
            }
            masks = None
            if (1 if n_iter is None else n_iter) <= nested_up_to:
                supports = partial(_iterate_support, form, fraction, n_iter)
                masks = _left_out(supports, X, y, np.ones(1), f"iterates, {form}")
            for limit in LIMITS:
                c = f"{limit:g}"
                row[f"loo_C{c}"] = ""
                if masks is not None:
                    row[f"loo_C{c}"] = _nested([m[0] for m in masks], X, y, limit)["loo_errors"]
                row[f"given_C{c}"] = _given_errors(Z[:, model.support_], y, limit)
                decisions = _decision(Z, Z_test, y, model.support_, limit)
                row[f"test_C{c}"] = _errors(decisions, y_test)
            row |= record_of(model)
            row["seconds"] = round(seconds, 3)
            row["status"] = CONVERGED if n_iter is None else CAPPED
            yield row


def _iterate(form: str, alpha: float, n_iter: int | None) -> Any:
    """The estimator that stops after so many steps of Algorithm 1, or at the minimum."""
    kind, own = FORMS[form]
    solver = {} if n_iter is None else {"solver": "forward_backward", "max_iter": n_iter}
    tol = 1e-6 if n_iter is None else 1e-12
    return kind(alpha, **{**SETTINGS, **own, **solver, "tol": tol})


def _iterate_support(
    form: str, fraction: float, n_iter: int | None, Z: Array, y: Array, _fractions: Array
) -> Masks:
    _, top = _supports(form, Z, y, np.ones(1))
    return np.asarray(_iterate(form, fraction * top, n_iter).fit(Z, y).support_[None, :])


# ------------------------------------------------------------------------------------- parts


def unit_length(X: Array, new: Array) -> tuple[Array, Array]:
    """Both with the first one's means and lengths of the centred columns; constants are zero."""
    centre = X.mean(axis=0)
    length = np.linalg.norm(X - centre, axis=0)
    length = np.where(length > 0, length, np.inf)
    return (X - centre) / length, (new - centre) / length


def _supports(form: str, Z: Array, y: Array, fractions: Array) -> tuple[Masks, float]:
    """Supports along the fractions of ``alpha_max``, and ``alpha_max``."""
    kind, own = FORMS[form]
    model = kind(**SETTINGS, **own)
    top = nablasso.path(model, Z, y, n_alphas=1).alpha_max
    if len(fractions) == 1 and fractions[0] == 1:
        return np.zeros((1, Z.shape[1]), dtype=bool), top
    return nablasso.path(model, Z, y, alphas=top * fractions).support, top


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


def _decision(Z: Array, new: Array, y: Array, columns: Masks, limit: float) -> Array:
    """Values of the support vector machine on some columns; the larger class without any."""
    if not columns.any():
        return np.full(len(new), np.sign(y.sum()))
    machine = SVC(kernel="linear", C=limit).fit(Z[:, columns], y)
    return np.asarray(machine.decision_function(new[:, columns]))


def _errors(values: Any, y: Array) -> int:
    return int(np.sum(np.where(np.ravel(values) > 0, 1.0, -1.0) != y))


def _split(X: Array, i: int) -> tuple[Array, Array]:
    return np.delete(X, i, axis=0), X[i : i + 1]


def _rest(y: Array, i: int) -> Array:
    return np.delete(y, i)


def _blank(method: str, limit: float) -> Row:
    names = ("fraction", "n_genes", "loo_errors", "loo_hinge", "loo_given", "test_errors")
    more = ("direction_loo_errors", "direction_loo_given", "direction_test_errors", "chosen")
    return {"method": method, "C": limit, **dict.fromkeys((*names, *more), "")}
