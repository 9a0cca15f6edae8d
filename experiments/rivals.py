r"""What Rosasco et al. (2013) compare with, and the library's default, each on the same rows.

Lasso on monomials ("l1-features"): supports of a path on the training rows, ridge regression on the
selected monomials, both chosen by the validation rows. Multiple kernel learning (MKL): the same
with additive models and powers. Hierarchical kernel learning (HKL) chooses by the validation rows
and is then fitted to both sets, which is more than the paper gave it; it has no refit. COSSO is
run as multiple kernel learning with spline kernels, which has its penalty. HSIC lasso and SpAM,
with which Gregorova et al. (2018) compare, are written anew. The default sees training and
validation rows as one table and divides them as it likes.

What hierarchical kernel learning is compared with in Bach (2009), section 6.1: plain functions.

On the same decomposed kernel ``k(x, s) = prod_i sum_j k_ij(x_i, s_i)``: the single kernel ("L2"),
the generalised lasso (an l1 penalty on the coefficients of that kernel's columns) and constrained
forward selection ("greedy"). Next to them regression trees (CART), boosted trees, and a Gaussian
process with one length scale per variable. Each takes standardised rows, outputs and a seed, and
returns a predictor. Hyper-parameters by five folds, or closed-form leave-one-out (L2), or marginal
likelihood (Gaussian process).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import eval_hermitenorm, factorial
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import lars_path_gram, lasso_path
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor

import nablasso
from benchmarks.contest import Question
from benchmarks.contestants.mars import NativeMars
from benchmarks.contestants.sparse_additive import Splines
from experiments.running import CAPPED, CONVERGED, record_of
from experiments.two_steps import TOL, Chosen, Rows, validated
from nablasso.estimators import (
    HierarchicalKernelRegressor,
    HierarchicalKernelRegressorCV,
    NablassoRegressor,
)
from nablasso.kernels import Kernel, Linear
from nablasso.regression.ridge import Ridge
from nablasso.types import Array

LASSO_FRACTIONS = np.logspace(0, -3, 30)  # of the largest
MKL_ALPHAS, HKL_ALPHAS = 20, 12
SPAM_PENALTIES = np.logspace(0, -2.3, 30)  # of the largest: the range of the R package SAM
SPAM_ROUNDS, SPAM_SWEEPS = 200, 10  # at most so many rounds, the gap after each
BETAS = (1.2, 6.0)
MOST_KERNELS = 100


class Features:
    """Functions of the columns, with mean zero and deviation one on the training rows."""

    def __init__(self, rows: Rows, raw: Callable[[Array], Array]) -> None:
        self._raw = raw
        F = raw(rows.X)
        self._centre, scale = F.mean(axis=0), F.std(axis=0)
        self._scale = np.where(scale > 0, scale, 1.0)
        F, V = self(rows.X), self(rows.X_validation)
        self._mean = float(rows.y.mean())
        self.rows = Rows(F, rows.y, V, rows.y_validation, F[:0], rows.y[:0]).centred()

    def __call__(self, new: Array) -> Array:
        """At new rows."""
        return np.asarray((self._raw(new) - self._centre) / self._scale)

    def validated(self, masks: Iterable[NDArray[np.bool_]]) -> Chosen:
        """Ridge regression on the best of some sets of features, with an intercept.

        The support is of features.
        """
        chosen = validated(self.rows, Linear(), 1.0, masks)
        return Chosen(chosen.support, lambda new: self._mean + chosen.predict(self(new)))


def lasso_on_monomials(rows: Rows, degree: int) -> Chosen:
    """A variable is selected when one of its monomials is."""
    monomials = PolynomialFeatures(degree, include_bias=False).fit(rows.X)
    features = Features(rows, monomials.transform)
    F, y = features.rows.X, rows.y - rows.y.mean()
    alphas = np.abs(F.T @ y).max() / len(y) * LASSO_FRACTIONS
    _, w, _ = lasso_path(F, y, alphas=alphas, tol=1e-3, max_iter=2000)
    chosen = features.validated(list(w.T != 0))
    return Chosen((monomials.powers_[chosen.support] > 0).any(axis=0), chosen.predict)


def multiple_kernels(rows: Rows, degree: int) -> Chosen:
    """MKL, one polynomial kernel per variable; then ridge regression on the selected powers."""
    model = HierarchicalKernelRegressor(
        interactions=False, decomposition="polynomial", degree=degree
    )
    path = nablasso.path(model, rows.X, rows.y, n_alphas=MKL_ALPHAS, eps=1e-3)
    powers = range(1, degree + 1)
    features = Features(rows, lambda X: np.hstack([X**j for j in powers]))
    chosen = features.validated(list(np.tile(path.support, degree)))
    return Chosen(chosen.support[: rows.X.shape[1]], chosen.predict)


def hierarchical_kernels(rows: Rows, degree: int, decomposition: str = "polynomial") -> Chosen:
    """HKL over all products of polynomials (or of Hermite polynomials) up to a degree."""
    model = HierarchicalKernelRegressorCV(
        decomposition=decomposition,
        degree=degree,
        betas=BETAS,
        alphas=HKL_ALPHAS,
        max_kernels=MOST_KERNELS,
        selection_rule="min",
        prune=False,
        debias=False,
        random_state=0,
    )
    X, y = rows.together()
    fold = np.where(np.arange(len(y)) < len(rows.y), -1, 0)
    return _fitted(model.set_params(cv=PredefinedSplit(fold)), X, y)


def cosso(rows: Rows) -> Chosen:
    """COSSO with main effects (Lin and Zhang 2006): a spline per column, the sum of their norms.

    That penalty on an ANOVA of splines is multiple kernel learning with spline kernels, and this is
    what is run; alpha by the validation rows, the fit on both sets.
    """
    model = HierarchicalKernelRegressorCV(
        interactions=False,
        alphas=HKL_ALPHAS,
        selection_rule="min",
        prune=False,
        debias=False,
        random_state=0,
    )
    X, y = rows.together()
    fold = np.where(np.arange(len(y)) < len(rows.y), -1, 0)
    return _fitted(model.set_params(cv=PredefinedSplit(fold)), X, y)


def hsic_lasso(rows: Rows, kernel: Kernel, width: float) -> Chosen:
    r"""HSIC lasso (Yamada et al. 2014), then the refit: supports along its path.

    .. math:: \min_{b \ge 0} \tfrac12 \|L - \sum_a b_a K_a\|_F^2 + \lambda \sum_a b_a

    with centred Gaussian kernels of unit width on standardised columns and outputs, each divided by
    its Frobenius norm. The path is exact (least angles). O(n^2 d^2) once.
    """
    n = len(rows.y)
    columns = np.column_stack([rows.X, rows.y])
    scale = columns.std(axis=0)
    Z = columns / np.where(scale > 0, scale, 1.0)
    centring = np.eye(n) - 1 / n
    kernels = []
    for z in Z.T:
        K = centring @ np.exp(-(np.subtract.outer(z, z) ** 2) / 2) @ centring
        size = float(np.linalg.norm(K))
        kernels.append(K.ravel() / (size or 1.0))
    A, target = np.array(kernels[:-1]), kernels[-1]
    _, _, path = lars_path_gram(
        Xy=A @ target, Gram=A @ A.T, n_samples=n**2, method="lasso", positive=True
    )
    chosen = validated(rows, kernel, width, list(path.T > 0))
    return chosen._replace(record={"solver": "lars"})


def sparse_additive(rows: Rows, kernel: Kernel, width: float) -> Chosen:  # noqa: ARG001 no kernel
    r"""SpAM (Ravikumar et al. 2007): cubic splines, a group lasso over columns; no refit.

    .. math:: \min \tfrac1{2n} \|y - \sum_a Q_a c_a\|^2 + \lambda \sum_a \|c_a\|

    with orthonormal blocks :math:`Q_a' Q_a = n I`. The gap is that to the dual point
    :math:`\theta = r / n` of the residual, shrunk until :math:`\|Q_a' \theta\| \le \lambda`:
    :math:`y'\theta - n \|\theta\|^2 / 2`. The validation rows choose lambda.
    """
    splines, mean = Splines(rows.X), float(rows.y.mean())
    blocks, y = splines.blocks(rows.X), rows.y - mean
    held_out, n = splines.blocks(rows.X_validation), len(y)
    top = max(float(np.linalg.norm(Q.T @ y)) / n for Q in blocks)
    reference, best, chosen = float(y @ y) / (2 * n), np.inf, []
    c, worst, sweeps = [np.zeros(Q.shape[1]) for Q in blocks], 0.0, 0
    for penalty in top * SPAM_PENALTIES:
        gap = np.inf
        for _ in range(SPAM_ROUNDS):
            for _ in range(SPAM_SWEEPS):
                _sweep(blocks, y, penalty, c)
            sweeps += SPAM_SWEEPS
            gap = _additive_gap(blocks, y, penalty, c) / (reference or 1.0)
            if gap <= TOL:
                break
        worst = max(worst, gap)
        values = sum((Q @ part for Q, part in zip(held_out, c, strict=True)), mean)
        error = float(np.mean((rows.y_validation - values) ** 2))
        if error < best:
            best, chosen = error, [part.copy() for part in c]
    support = np.array([bool(part.any()) for part in chosen])

    def predict(new: Array) -> Array:
        parts = zip(splines.blocks(new), chosen, strict=True)
        return np.asarray(sum((Q @ part for Q, part in parts), mean))

    status = CONVERGED if worst <= TOL else CAPPED
    record = {"solver": "blocks", "iterations": sweeps, "gap": f"{worst:.2g}", "status": status}
    return Chosen(support, predict, record)


def _sweep(blocks: list[Array], y: Array, penalty: float, c: list[Array]) -> None:
    """One round of exact block steps; ``c`` is changed."""
    n = len(y)
    residual = y - sum((Q @ part for Q, part in zip(blocks, c, strict=True)), np.zeros(n))
    for a, Q in enumerate(blocks):
        target = Q.T @ residual / n + c[a]
        size = float(np.linalg.norm(target))
        new = target * max(0.0, 1 - penalty / size) if size > 0 else target
        residual -= Q @ (new - c[a])
        c[a] = new


def _additive_gap(blocks: list[Array], y: Array, penalty: float, c: list[Array]) -> float:
    n = len(y)
    residual = y - sum((Q @ part for Q, part in zip(blocks, c, strict=True)), np.zeros(n))
    primal = float(residual @ residual) / (2 * n)
    primal += penalty * sum(float(np.linalg.norm(part)) for part in c)
    steepest = max(float(np.linalg.norm(Q.T @ residual)) / n for Q in blocks)
    theta = residual / n * min(1.0, penalty / max(steepest, 1e-300))
    return primal - float(y @ theta - n * theta @ theta / 2)


def default(rows: Rows, seed: int) -> Chosen:
    """``NablassoRegressor()``."""
    return _fitted(NablassoRegressor(random_state=seed), *rows.together())


def _fitted(model: Any, X: Array, y: Array) -> Chosen:
    model.fit(X, y)
    return Chosen(np.asarray(model.support_), model.predict, record_of(model))


Levels = Callable[[int, Array, Array], Sequence[Array]]  # variable, its values: q + 1 matrices

FOLDS = 5
LASSO_STEPS = 40
GREEDY_MOST = 40
SMALL = 1e-10  # of a candidate's squared norm: nothing new in it
FARTHEST = 1e3  # length scale at which a variable no longer matters
NEAR = 10.0  # length scale below which it is counted as used


class Fitted(NamedTuple):
    """A predictor, and the columns it uses (None: all)."""

    predict: Callable[[Array], Array]
    columns: tuple[int, ...] | None = None
    detail: str = ""
    record: Mapping[str, Any] = MappingProxyType({})


def folds(n: int, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Five folds, the same for every rival of one data set."""
    return list(KFold(min(FOLDS, n), shuffle=True, random_state=seed).split(np.empty(n)))


# ------------------------------------------------------------------ the same kernel, not selected


class ProductKernel:
    """``prod_i sum_j k_ij``, every factor divided by its mean on the diagonal of the rows."""

    def __init__(self, levels: Levels, Z: Array) -> None:
        self.levels, self.Z = levels, Z
        self.units = [float(np.trace(self._factor(a, Z))) / len(Z) or 1.0 for a in range(len(Z.T))]

    def __call__(self, new: Array) -> Array:
        """Kernel between new rows and those given first."""
        K = np.ones((len(new), len(self.Z)))
        for a, unit in enumerate(self.units):
            K *= self._factor(a, new) / unit
        return K

    def _factor(self, a: int, new: Array) -> Array:
        return np.asarray(np.sum(self.levels(a, new[:, a], self.Z[:, a]), axis=0))


def single_kernel(levels: Levels, Z: Array, y: Array) -> Fitted:
    """L2: kernel ridge regression with the full kernel, its ridge by leave-one-out."""
    kernel = ProductKernel(levels, Z)
    gram, weights = kernel(Z), np.full(len(y), 1 / len(y))
    inverse = Ridge(gram, weights, fit_intercept=True)
    ridge = inverse.best_ridge(y)
    u = inverse.matrix(ridge) @ y
    b = float(np.mean(y - gram @ u))
    return Fitted(lambda new: np.asarray(kernel(new) @ u + b))


def generalised_lasso(levels: Levels, Z: Array, y: Array, seed: int) -> Fitted:
    """Roth (2004): ``b + sum_i a_i k(x, x_i)``, l1 penalty on a, columns of unit deviation."""
    kernel = ProductKernel(levels, Z)
    gram = kernel(Z)
    columns, _ = _unit_columns(gram)
    top = float(np.abs(columns.T @ (y - y.mean())).max()) / len(y)
    alphas = top * np.logspace(0, -4, LASSO_STEPS)
    errors = np.zeros(LASSO_STEPS)
    for train, rest in folds(len(y), seed):
        a, b = _lasso(gram[np.ix_(train, train)], y[train], alphas)
        errors += np.sum((y[rest, None] - b - gram[np.ix_(rest, train)] @ a) ** 2, axis=0)
    a, b = _lasso(gram, y, alphas[: int(np.argmin(errors)) + 1])
    chosen, offset = a[:, -1], b[-1]
    return Fitted(lambda new: np.asarray(kernel(new) @ chosen + offset))


def _unit_columns(gram: Array) -> tuple[Array, Array]:
    """Centred columns of unit deviation, and the deviations."""
    centred = gram - gram.mean(axis=0)
    scale = centred.std(axis=0)
    scale[scale == 0] = 1.0
    return centred / scale, scale


def _lasso(gram: Array, y: Array, alphas: Array) -> tuple[Array, Array]:
    """Coefficients and intercepts of the path."""
    columns, scale = _unit_columns(gram)
    _, a, _ = lasso_path(
        columns, y - y.mean(), alphas=alphas, tol=1e-3, max_iter=3000, precompute=True
    )
    a = a / scale[:, None]
    return a, np.asarray(y.mean() - gram.mean(axis=0) @ a)


# ------------------------------------------------------------------------- greedy, rank-one nodes

Node = tuple[tuple[int, int], ...]  # (variable, level) pairs, levels of at least one


def hermite_feature(Z: Array, node: Node) -> Array:
    """prod_i He_j(x_i) / sqrt(j!), of unit variance when the variables are standard normal."""
    columns = [eval_hermitenorm(j, Z[:, i]) / np.sqrt(factorial(j)) for i, j in node]
    return np.asarray(np.prod(columns, axis=0)) if columns else np.ones(len(Z))


def children(node: Node, p: int, degree: int) -> list[Node]:
    """One level more in one variable."""
    level = dict(node)
    raised = [{**level, i: level.get(i, 0) + 1} for i in range(p) if level.get(i, 0) < degree]
    return [tuple(sorted(child.items())) for child in raised]


def parents(node: Node) -> list[Node]:
    """One level less in one variable."""
    level = dict(node)
    lowered = [{**level, i: level[i] - 1} for i in level]
    return [tuple(sorted((i, j) for i, j in parent.items() if j)) for parent in lowered]


def forward(Z: Array, y: Array, degree: int, most: int) -> list[Node]:
    """Add the node that lowers the squared error most, after all its parents."""
    n, p = Z.shape
    chosen: list[Node] = [()]
    Q = np.full((n, 1), 1 / np.sqrt(n))
    residual = y - y.mean()
    open_nodes = children((), p, degree)
    pool = _orthogonal(np.column_stack([hermite_feature(Z, node) for node in open_nodes]), Q)
    while open_nodes and len(chosen) <= most:
        lengths = np.sum(pool**2, axis=0)
        gains = np.where(
            lengths > SMALL * n, (residual @ pool) ** 2 / np.maximum(lengths, SMALL), -np.inf
        )
        best = int(np.argmax(gains))
        if not np.isfinite(gains[best]):
            break
        taken, q = open_nodes[best], pool[:, best] / np.sqrt(lengths[best])
        chosen.append(taken)
        residual = residual - q * (q @ residual)
        Q = np.column_stack([Q, q])
        fresh = [c for c in children(taken, p, degree) if set(parents(c)) <= set(chosen)]
        kept = np.arange(len(open_nodes)) != best
        open_nodes = [node for node, keep in zip(open_nodes, kept, strict=True) if keep] + fresh
        pool = pool[:, kept] - np.outer(q, q @ pool[:, kept])
        if fresh:
            new = np.column_stack([hermite_feature(Z, node) for node in fresh])
            pool = np.column_stack([pool, _orthogonal(new, Q)])
    return chosen


def _orthogonal(columns: Array, Q: Array) -> Array:
    """Part orthogonal to Q."""
    return np.asarray(columns - Q @ (Q.T @ columns))


def greedy(Z: Array, y: Array, seed: int, degree: int = 3) -> Fitted:
    """Constrained forward selection of Hermite features, their number by five folds."""
    most = min(GREEDY_MOST, len(y) // 3)
    errors = np.zeros(most + 1)
    for train, rest in folds(len(y), seed):
        nodes = forward(Z[train], y[train], degree, most)
        for k in range(most + 1):
            predict = _least_squares(Z[train], y[train], nodes[: k + 1])
            errors[k] += np.sum((y[rest] - predict(Z[rest])) ** 2)
    nodes = forward(Z, y, degree, int(np.argmin(errors)))
    used = tuple(sorted({i for node in nodes for i, _ in node}))
    return Fitted(_least_squares(Z, y, nodes), used, f"{len(nodes) - 1} nodes")


def _least_squares(Z: Array, y: Array, nodes: Sequence[Node]) -> Callable[[Array], Array]:
    def features(rows: Array) -> Array:
        return np.column_stack([hermite_feature(rows, node) for node in nodes])

    w = np.linalg.lstsq(features(Z), y, rcond=None)[0]
    return lambda new: np.asarray(features(new) @ w)


# ----------------------------------------------------------------------------- other kernels, trees


def tree(Z: Array, y: Array, seed: int) -> Fitted:
    """CART: leaf size and depth by five folds."""
    grid = {"min_samples_leaf": [2, 5, 10, 20], "max_depth": [2, 4, 8, None]}
    model = DecisionTreeRegressor(random_state=seed)
    return Fitted(GridSearchCV(model, grid, cv=folds(len(y), seed)).fit(Z, y).predict)


def boosting(Z: Array, y: Array, seed: int) -> Fitted:
    """Histogram boosting: leaf size and number of trees by five folds."""
    grid = {"min_samples_leaf": [5, 20], "max_iter": [50, 200]}
    model = HistGradientBoostingRegressor(early_stopping=False, random_state=seed)
    return Fitted(GridSearchCV(model, grid, cv=folds(len(y), seed)).fit(Z, y).predict)


def log_evidence(theta: Array, Z: Array, y: Array) -> tuple[float, Array]:
    r"""Log marginal likelihood of ``N(0, c exp(-|(x - s) / l|^2 / 2) + v I)`` and its gradient.

    theta holds the logarithms of c, l and v. With ``A = a a' - C^{-1}``, ``a = C^{-1} y`` and
    ``B = A * K``, the derivative in log l_i is ``sum_st B_st (x_si - x_ti)^2 / (2 l_i^2)``, for all
    variables by one product ``B X``: O(n^3 + n^2 p).
    """
    n = len(y)
    c, scales, v = np.exp(theta[0]), np.exp(theta[1:-1]), np.exp(theta[-1])
    S = Z / scales
    lengths = np.sum(S**2, axis=1)
    K = c * np.exp(-np.maximum(lengths[:, None] + lengths - 2 * S @ S.T, 0) / 2)
    factor = cholesky(K + v * np.eye(n), lower=True, check_finite=False)
    a = cho_solve((factor, True), y, check_finite=False)
    half = solve_triangular(factor, np.eye(n), lower=True, check_finite=False)
    A = np.outer(a, a) - half.T @ half
    B = A * K
    value = -y @ a / 2 - np.sum(np.log(np.diag(factor))) - n / 2 * np.log(2 * np.pi)
    by_scale = B.sum(axis=1) @ S**2 - np.sum(S * (B @ S), axis=0)
    gradient = np.concatenate([[B.sum() / 2], by_scale, [v * np.trace(A) / 2]])
    return float(value), gradient


def gaussian_process(Z: Array, y: Array, seed: int, restarts: int = 1) -> Fitted:
    """Length scales by marginal likelihood: first start at sqrt p, others drawn around it."""
    p, mean, scale = Z.shape[1], float(y.mean()), float(y.std()) or 1.0
    t = (y - mean) / scale
    bounds = [(np.log(1e-3), np.log(1e4))]
    bounds += [(np.log(0.1), np.log(FARTHEST))] * p + [(np.log(1e-6), np.log(1e1))]
    first = np.concatenate([[0.0], np.full(p, np.log(p) / 2), [np.log(0.1)]])
    rng = np.random.default_rng(seed)
    shifts = [np.zeros(p + 2), *rng.normal(size=(restarts, p + 2))]

    def objective(theta: Array) -> tuple[float, Array]:
        value, gradient = log_evidence(theta, Z, t)
        return -value, -gradient

    runs = [
        minimize(objective, first + shift, jac=True, method="L-BFGS-B", bounds=bounds)
        for shift in shifts
    ]
    theta = min(runs, key=lambda run: float(run.fun)).x
    c, scales, v = np.exp(theta[0]), np.exp(theta[1:-1]), np.exp(theta[-1])

    def kernel(new: Array) -> Array:
        R, S = new / scales, Z / scales
        squares = np.sum(R**2, axis=1)[:, None] + np.sum(S**2, axis=1) - 2 * R @ S.T
        return np.asarray(c * np.exp(-np.maximum(squares, 0) / 2))

    a = np.linalg.solve(kernel(Z) + v * np.eye(len(t)), t)
    used = tuple(int(i) for i in np.flatnonzero(scales < NEAR))
    return Fitted(lambda new: np.asarray(mean + scale * (kernel(new) @ a)), used)


def mars(Z: Array, y: Array, seed: int) -> Fitted:
    """Multivariate adaptive splines as the selection benchmark runs them: R's package earth."""
    answer = NativeMars().fit(Question(Z, y, seed=seed))
    return Fitted(answer.predict, tuple(answer.support.nonzero()[0].tolist()))
