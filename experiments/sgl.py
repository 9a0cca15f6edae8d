"""Ye and Xie (2012): sparse gradient learning next to the lasso and to gradients without sparsity.

Where the paper fixes the number of selected variables instead of alpha, so do we: the largest alpha
of a path that selects so many, the path refined between two points where it jumps over the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import lars_path

import nablasso
from experiments.running import Row, record_of
from nablasso.data.table import prepare
from nablasso.datasets import KnownSupport, make_rings, make_turlach
from nablasso.estimators import (
    SparseGradientClassifier,
    SparseGradientRegressor,
)
from nablasso.gradients.learner import GradientData, Learner
from nablasso.gradients.problem import GradientProblem
from nablasso.gradients.solvers import ActiveSet
from nablasso.kernels import Polynomial
from nablasso.progress import track
from nablasso.types import Array, Mask

POINTS = 40  # of a path
STRIDE, STEPS, ROUNDS = 0.6, 6, 12  # pieces of a path: factor, points; most pieces and refinements

# Table 1: kernel 1 + x.y, weights (58) of 10 neighbours, half the median distance
TURLACH: Row = {"kernel": Polynomial(degree=1, offset=1.0), "n_neighbors": 10}
COLUMNS = ("centred", "standardised")  # the paper does not say; 1 + x.y sees their units
SPREADS = (0.1, 0.5, 0.7, 1.0, 1.3, 2.0, 3.0)
# Figures 2 and 3: Gaussian kernel and weights (5), half the median distance, columns centred
RINGS: Row = {"standardize": False, "n_components": 2}
RADIAL: Row = {**RINGS, "kernel": "linear"}  # the gradient of a function of the radius is linear
ADAPTIVE: Row = {**RADIAL, "adaptive_weights": True}
FRACTION = 0.3  # of alpha_max, for adaptive weights; picked on draws 1000 to 1009
WITHOUT_SPARSITY: Row = {**RINGS, "penalty": "ridge"}
TEST_ROWS = 200
SHOWN = 10  # inputs and eigenvalues in the panels of the covariance


class Found(NamedTuple):
    """What was found on rings: per input a mask and norms, directions (2, d), eigenvalues.

    ``covariance`` is that of the gradients of the first inputs, ``record`` what the solver says.
    """

    support: Mask
    norms: Array
    directions: Array
    spectrum: Array
    covariance: Array
    record: Row


def figure_1(seed: int = 0) -> list[Row]:
    """Figure 1: norms of the partial derivatives and lasso coefficients along their paths.

    Centred columns. One row per method, point and variable; ``strength`` is -log10 alpha for SGL
    and the share of the full sum of absolute coefficients for the lasso.
    """
    data = make_turlach(random_state=seed)
    path = nablasso.path(
        SparseGradientRegressor(standardize=False, **TURLACH), data.X, data.y, n_alphas=POINTS
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
            support, alpha, record = at_size(data.X, data.y, 5, model)
            row = {"draw": draw, "method": f"SGL, columns {kind}", **_chosen(support)}
            yield row | {"alpha": f"{alpha:.5g}"} | record
        alphas, coefficients = _lars(data)
        step = int(np.argmax(np.count_nonzero(coefficients, axis=0) == 5))
        support = coefficients[:, step] != 0
        alpha = alphas[step]
        yield {"draw": draw, "method": "lasso", **_chosen(support), "alpha": f"{alpha:.5g}"}


def figure_2(repeats: int = 20, seed: int = 0, spreads: Sequence[float] = SPREADS) -> Iterator[Row]:
    """Figures 2 and 3: rings in (x1, x2) among 200 inputs, n = 40, by the others' deviation.

    ``SGL`` (logistic loss, as the paper says), ``SGL, squared loss`` (of labels -1 and 1, the same
    kernel) and ``SGL, x.y`` (its kernel): at the largest alpha that selects two variables.
    ``adaptive`` (section 7): selection at ``FRACTION`` of ``alpha_max`` among the selected, weights
    and kernel measured in them, until all are kept; ``adaptive, two``: while two are left, then at
    the largest alpha that selects two of them. ``GL``: gradient learning without sparsity.
    ``lasso``: the first two variables of its path.

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
                **found.record,
            }


def figure_3(spread: float = 3.0, seed: int = 0) -> Iterator[Row]:
    """What the panels of figures 2 and 3 show, for one draw of the rings.

    ``kind`` is "train" or "test" (coordinates of a row in the first two directions), "norm" (of a
    variable's partial derivative), "eigenvalue" (of the gradients' covariance) or "covariance" (of
    the first ten inputs; rows and columns as one index). ``truth`` has the first two inputs, as
    panels (a) and (d) of figure 2 do.
    """
    data = make_rings(spread=spread, random_state=seed)
    test = make_rings(TEST_ROWS, spread=spread, random_state=10_000 + seed)
    plane, d = np.eye(data.X.shape[1])[:2], data.X.shape[1]
    truth = Found(data.support, np.zeros(d), plane, np.zeros(0), np.zeros((0, 0)), {})
    for name, found in (("truth", truth), *_found_on_rings(data)):
        for kind, part in (("train", data), ("test", test)):
            places = (part.X - data.X.mean(axis=0)) @ found.directions.T
            for place, y in zip(places, part.y, strict=True):
                yield _panel(name, kind, int(y), place[0], place[1])
        if name == "truth":
            continue
        for a, norm in enumerate(found.norms):
            yield _panel(name, "norm", a + 1, norm) | found.record
        for a, value in enumerate(found.spectrum[:SHOWN]):
            yield _panel(name, "eigenvalue", a + 1, value) | found.record
        for a, value in enumerate(found.covariance.ravel()):
            yield _panel(name, "covariance", a + 1, value) | found.record


def at_size(X: Array, y: Array, size: int, model: Any) -> tuple[Mask, float, Row]:
    """Support, alpha and record of the largest alpha that selects ``size`` variables.

    Where several enter together (or a ``size`` is jumped over) those with the largest norms count.
    """
    top = nablasso.path(model, X, y, n_alphas=1).alpha_max
    alphas = top * np.geomspace(1, STRIDE, STEPS + 1)
    for _ in range(ROUNDS):
        path = nablasso.path(model, X, y, alphas=alphas)
        counts = path.support.sum(axis=1)
        exact = np.flatnonzero(counts == size)
        if len(exact):
            at = int(exact[0])
            return path.support[at], float(path.alphas[at]), _path_record(path, at)
        more = np.flatnonzero(counts > size)
        if len(more):  # between two points
            last = int(more[0])
            alphas = np.geomspace(path.alphas[max(last - 1, 0)], path.alphas[last], STEPS + 1)
        else:  # further down
            last = len(counts) - 1
            alphas = alphas * STRIDE
    largest = np.isin(np.arange(X.shape[1]), np.argsort(-path.importances[last])[:size])
    return largest, float(path.alphas[last]), _path_record(path, last)


def _path_record(path: Any, at: int) -> Row:
    """What the solver says of one point of a path."""
    gap = f"{path.relative_gaps[at]:.2g}"
    return {"solver": "active_set", "iterations": int(path.n_iter[at]), "gap": gap}


def _lars(data: KnownSupport) -> tuple[Array, Array]:
    """Alphas and coefficients of the lasso on standardised columns."""
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    alphas, _, coefficients = lars_path(X, data.y - data.y.mean(), method="lasso")
    return alphas, coefficients


def _found_on_rings(data: KnownSupport) -> Iterator[tuple[str, Found]]:
    """What each method finds."""
    X, y, every = data.X, data.y, np.arange(data.X.shape[1])
    signs = np.where(y == 1, 1.0, -1.0)
    for name, settings in (("SGL", RINGS), ("SGL, x.y", RADIAL)):
        _, alpha, _ = at_size(X, y, 2, SparseGradientClassifier(**settings))
        yield name, _fitted(X, y, every, SparseGradientClassifier(alpha, **settings))
    _, alpha, _ = at_size(X, signs, 2, SparseGradientRegressor(**RINGS))
    yield "SGL, squared loss", _fitted(X, signs, every, SparseGradientRegressor(alpha, **RINGS))
    adaptive = SparseGradientClassifier(FRACTION * _top(X, y), **ADAPTIVE)
    yield "SGL, x.y, adaptive", _fitted(X, y, every, adaptive)
    columns = _narrowed(X, y, 2)
    _, alpha, _ = at_size(X[:, columns], y, 2, SparseGradientClassifier(**RADIAL))
    yield (
        "SGL, x.y, adaptive, two",
        _fitted(X, y, columns, SparseGradientClassifier(alpha, **RADIAL)),
    )
    yield "GL", _fitted(X, y, every, SparseGradientClassifier(**WITHOUT_SPARSITY))
    yield "lasso", _first_two(X, signs)


def _first_two(X: Array, signs: Array) -> Found:
    """The first two variables of the lasso's path, and their axes."""
    d = X.shape[1]
    centred = X - X.mean(axis=0)
    _, _, path = lars_path(centred, signs - signs.mean(), method="lasso")
    step = int(np.argmax(np.count_nonzero(path, axis=0) == 2))
    support = path[:, step] != 0
    blank = np.zeros((0, 0))
    return Found(support, np.abs(path[:, step]), np.eye(d)[support], np.zeros(0), blank, {})


def _top(X: Array, y: Array) -> float:
    """``alpha_max`` on rings with the kernel x.y."""
    model = SparseGradientClassifier(**RADIAL)
    return nablasso.path(model, X, y, n_alphas=1).alpha_max


def _narrowed(X: Array, y: Array, size: int) -> NDArray[np.intp]:
    """Select among the selected while at least ``size`` are left."""
    columns = np.arange(X.shape[1])
    while True:
        alpha = FRACTION * _top(X[:, columns], y)
        support = _fitted(X, y, columns, SparseGradientClassifier(alpha, **RADIAL)).support
        if not size <= support.sum() < len(columns):
            return columns
        columns = np.flatnonzero(support)


def _fitted(X: Array, y: Array, columns: NDArray[np.intp], model: Any) -> Found:
    """A model on some columns, read in terms of all."""
    model.fit(X[:, columns], y)
    d = X.shape[1]
    support, norms, directions = np.zeros(d, dtype=bool), np.zeros(d), np.zeros((2, d))
    support[columns] = model.support_
    norms[columns] = model.feature_importances_
    directions[: len(model.components_), columns] = model.components_
    first = columns[columns < SHOWN]
    covariance = np.zeros((SHOWN, SHOWN))
    inner = np.asarray(model.gradient_covariance_.todense())
    covariance[np.ix_(first, first)] = inner[: len(first), : len(first)]
    return Found(support, norms, directions, model.spectrum_, covariance, record_of(model))


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


# ------------------------------------------------------------------- the symmetry of section 2.3

SYMMETRIC = (0.0, 1.0, 100.0)  # weights, in units of half the largest curvature of the loss
SYMMETRY_STEPS, SYMMETRY_TOL = 20_000, 1e-7


def symmetry(repeats: int = 20, seed: int = 0, n_samples: int = 100) -> Iterator[Row]:
    """Table 1's data with gradients that are nearly, or not at all, those of one function.

    Section 2.3 remarks that ``d f^a / d x_b = d f^b / d x_a`` could be added to the problem. Here
    it is a penalty ``mu / n sum_i sum_ab (d_b f^a(x_i) - d_a f^b(x_i))^2 / 2``: nothing at
    ``mu = 0``, nearly the constraint at the largest. ``asymmetry`` is the root of that mean over
    the root mean square of all second derivatives. At the alpha that selects five variables:
    which they are, and the error of the gradients at the rows.
    """
    for draw in track(range(seed, seed + repeats), repeats, "symmetry"):
        data = make_turlach(n_samples, random_state=draw)
        learner, truth = _affine_learner(data), np.asarray(data.gradient)
        slopes = _second_derivatives(learner.data)
        problem = learner.problems[0]
        unit = problem.largest_curvature(problem.X) / 2
        for mu in SYMMETRIC:
            B, n_iter, status = _five(problem, learner.alpha_max, slopes, mu * unit)
            columns = learner.data.table.columns
            support, gradients = np.zeros(data.X.shape[1], dtype=bool), np.zeros(data.X.shape)
            support[columns] = np.any(B != 0, axis=1)
            at_rows = (learner.data.factor.phi @ B.T)[learner.data.table.rows]
            gradients[:, columns] = at_rows
            hessian = np.einsum("nbr,ar->nab", slopes, B)
            odd = hessian - hessian.swapaxes(1, 2)
            yield {
                "draw": draw,
                "mu": mu,
                **_chosen(support),
                "exact": int(np.array_equal(support, data.support)),
                "gradient_rmse": float(np.sqrt(np.mean((gradients - truth) ** 2))),
                "asymmetry": float(np.sqrt(np.mean(odd**2) / np.mean(hessian**2))),
                "iterations": n_iter,
                "status": status,
            }


def _affine_learner(data: KnownSupport) -> Learner:
    """Table 1's problem, columns centred."""
    n, d = data.X.shape
    table = prepare(data.X, data.y, np.ones(n), standardize=False, centre_y=True, centre_x=True)
    shared = GradientData(
        table,
        kernel=TURLACH["kernel"],
        length_scale=1.0,
        bandwidth="half_median",
        n_neighbors=TURLACH["n_neighbors"],
        form="lasso",
        ridge=None,
        classes=False,
        labels=np.arange(d),
        group_weights=np.ones(d),
    )
    return Learner(shared, table.y[:, None], ActiveSet())


def _second_derivatives(data: GradientData) -> Array:
    """``d phi / d x_b`` at the rows, (n, d, r): central differences, exact for 1 + x.y."""
    X, step = data.table.X, 1e-3
    eye = np.eye(data.factor.phi.shape[1])
    parts = [
        data.factor.evaluate(X + e, eye) - data.factor.evaluate(X - e, eye)
        for e in step * np.eye(X.shape[1])
    ]
    return np.stack(parts, axis=1) / (2 * step)


def _five(problem: GradientProblem, top: float, slopes: Array, mu: float) -> tuple[Array, int, str]:
    """Gradients at the largest alpha of a bisection that selects five variables."""
    low, high, total = 1e-3 * top, top, 0
    B = np.zeros((problem.X.shape[1], problem.phi.shape[1]))
    for _ in range(30):
        alpha = float(np.sqrt(low * high))
        B, n_iter, status = _penalised(problem.with_alpha(alpha), slopes, mu, B)
        total += n_iter
        size = int(np.any(B != 0, axis=1).sum())
        if size == 5:
            break
        low, high = (alpha, high) if size > 5 else (low, alpha)
    return B, total, status


def _penalised(
    problem: GradientProblem, slopes: Array, mu: float, B: Array
) -> tuple[Array, int, str]:
    """Accelerated forward-backward splitting of the problem plus the penalty on asymmetry."""
    n, nothing = len(problem.X), np.zeros(problem.phi.shape[1])
    bend = 4 * float(np.linalg.norm(slopes.reshape(-1, slopes.shape[2]), 2)) ** 2 * mu / n
    step = 1 / (1.02 * problem.largest_curvature(problem.X) + bend)

    def gradient(B: Array) -> Array:
        z = problem.predictions(problem.X, B, nothing)
        g, _ = problem.gradient(problem.slopes(z), problem.X)
        hessian = np.einsum("nbr,ar->nab", slopes, B)
        odd = hessian - hessian.swapaxes(1, 2)
        return np.asarray(g + (2 * mu / n) * np.einsum("nab,nbr->ar", odd, slopes))

    ahead, momentum = B, 1.0
    for n_iter in range(1, SYMMETRY_STEPS + 1):
        new = problem.penalty.prox(ahead - step * gradient(ahead), step)
        moved = float(np.linalg.norm(new - ahead))
        if moved <= SYMMETRY_TOL * max(float(np.linalg.norm(new)), 1e-12):
            return new, n_iter, "converged"
        if np.sum((ahead - new) * (new - B)) > 0:
            momentum = 1.0
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - B)
        B, momentum = new, float(following)
    return B, SYMMETRY_STEPS, "capped"
