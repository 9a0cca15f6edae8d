r"""What is proven of an automatic selection: a gap, or p-values.

**The certificate** is the derivative lasso in the metric that was learned: (P) on the selected
columns only, in the kernel and the scales of the model that won, with its noise as the ridge: a
model with covariance ``K + r N`` predicts what ridge regression with
``lambda = r / sum_i N_ii^{-1}`` and weights ``p ~ 1 / N_ii`` does. ``alpha`` is a tenth of the
largest of a short grid at which (P) still selects all of them: it agrees with the decision made out
of sample, with room to spare, and shrinks little. It is looked for on at most ``PATH_ROWS`` rows;
its value carries over, since every term of (P) is a mean over rows. A classifier of K > 2 classes
has K problems, "one against the rest".

**Discoveries** have p-values: the whole search without some rows, then a test on these. Each of
five folds is left out of a search of its own, so that the columns its p-values are about were found
on other rows. A column is redrawn given the others; its p-value is the share of redrawn columns
that predict the left-out rows as well (:mod:`nablasso.inference`). Nothing is discovered unless the
searches predict left-out rows clearly better than the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import truediv
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nablasso.data.table import Table
from nablasso.estimators.base import CLEAR_GAIN
from nablasso.estimators.cross_validation import stratified_folds
from nablasso.estimators.fitting import Proof
from nablasso.inference import (
    HeldOut,
    LinearConditional,
    PredictionLoss,
    adjusted_p_values,
    enough_draws,
    randomization_p_values,
)
from nablasso.losses import Loss
from nablasso.penalties import GroupLasso, Partition, Penalty
from nablasso.problems import Problem, SmoothProblem, SquaredProblem
from nablasso.progress import track
from nablasso.regression.evidence import restricted_inverse
from nablasso.regression.ridge import paired
from nablasso.search.check import to_the_end
from nablasso.search.decide import search
from nablasso.search.few import Decision, FewRows
from nablasso.search.grown import Grown
from nablasso.solvers import DualSolver, Newton, Solution, Solver, Status, support_of
from nablasso.spaces import RepresenterSpace
from nablasso.types import Array, Index

FRACTIONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)  # of the largest alpha worth a look
ROOM = 0.1
LEAST_RIDGE = 1e-5  # of the kernel's trace: below it rounding keeps the solver from its gap
SMOOTH_RIDGE = 1e-3  # likewise: separable classes would drive a logistic f to infinity
PATH_ROWS = 300
PATH_TOL, TOL = 1e-3, 1e-5
MAX_ITER = 2000
METRIC = "the derivative lasso on the selected columns, in the learned metric"
SUMS = "the adaptive group lasso over the terms of all columns, on all rows"
BUDGET = 3e9  # rows squared times columns times iterations of the last solve
N_FOLDS = 5


@dataclass(frozen=True)
class Setting:
    """What the problems of a selection share: ``X`` (n, k) standardised, weights adding up to 1."""

    space: RepresenterSpace
    weights: Array
    penalty: Penalty
    loss: Loss
    noise: float

    def first(self, n: int) -> Setting:
        """On the first rows, a fair sample."""
        space, weights = self.space, self.weights[:n]
        few = RepresenterSpace(space.kernel, space.X[:n], space.scales)
        return replace(self, space=few, weights=weights / weights.sum())

    @cached_property
    def ridge(self) -> float:
        """The noise of the model, in the units of (P), at least so much of the kernel's trace."""
        K, p = self.space.gram, self.weights
        trace = float(p @ np.diag(K) - p @ K @ p)
        return max(self.noise, (LEAST_RIDGE if self.loss.translates else SMOOTH_RIDGE) * trace)

    def problems(self, targets: Sequence[Array], ridge: float | None = None) -> list[Problem]:
        """(P) of each target, without a penalty yet."""
        shared: dict[str, Any] = {
            "space": self.space,
            "weights": self.weights,
            "penalty": self.penalty,
            "loss": self.loss,
            "alpha": 0.0,
            "ridge": self.ridge if ridge is None else ridge,
            "fit_intercept": True,
        }
        if not self.loss.translates:
            return [SmoothProblem(**shared, y=y) for y in targets]
        A = self.space.gram.copy()
        A.flat[:: len(A) + 1] += shared["ridge"] / self.weights
        factored = restricted_inverse(A)
        if factored is None:
            raise np.linalg.LinAlgError("The ridge is too small for the certificate's kernel.")
        return [SquaredProblem(**shared, y=y, P=factored[0]) for y in targets]

    def solver(self, tol: float, max_iter: int = MAX_ITER) -> Solver[Any]:
        """For these problems."""
        inner = DualSolver(tol=tol, max_iter=max_iter)
        return inner if self.loss.translates else Newton(inner, tol=tol)


def certify_selection(setting: Setting, targets: Sequence[Array]) -> list[Proof]:
    """Solve (P) for each target on the selected columns."""
    problems = setting.problems(targets)
    n, d = setting.space.X.shape
    looked = problems
    if n > PATH_ROWS:
        pieces = [target[:PATH_ROWS] for target in targets]
        looked = setting.first(PATH_ROWS).problems(pieces, setting.ridge)
    alpha = ROOM * largest_alpha(looked, setting.solver(PATH_TOL))
    solver = setting.solver(TOL, int(np.clip(BUDGET / (n * n * d), 50, MAX_ITER)))
    solved = [replace(problem, alpha=alpha) for problem in problems]
    return [Proof(problem, _finished(solver.solve(problem))) for problem in solved]


def largest_alpha(problems: Sequence[Problem], solver: Solver[Any]) -> float:
    """Largest alpha of the grid at which the problems together select every variable."""
    alphas = max(map(_worth_a_look, problems)) * np.array(FRACTIONS)
    starts: list[Array | None] = [None] * len(problems)
    reached = alphas[0]
    for alpha in alphas:
        here = [replace(problem, alpha=float(alpha)) for problem in problems]
        found = [_finished(solver.solve(*each)) for each in zip(here, starts, strict=True)]
        if not np.any(list(map(support_of, here, found)), axis=0).all():
            break
        starts, reached = [solution.point.s for solution in found], alpha
    return float(reached)


def _finished(solution: Solution) -> Solution:
    """Half a certificate is none."""
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return solution


def _worth_a_look(problem: Problem) -> float:
    """The alpha at which the penalty of the ridge fit takes back all that it saves over zero."""
    point = problem.dual_point(np.zeros((len(problem.y), problem.space.n_features)))
    penalty = problem.penalty.value(problem.penalty.partition.norms(point.g))
    return (problem.reference - problem.objective(point)) / penalty if penalty > 0 else 0.0


def proofs_of(decision: Decision, space: RepresenterSpace, loss: Loss) -> list[Proof]:
    """(P) on the selected columns in the metric of the model, groups to keep unpenalised."""
    few = decision.few
    columns = np.flatnonzero(np.isin(few.labels, decision.model.groups))
    groups, labels = np.unique(few.labels[columns], return_inverse=True)
    weights = np.where(np.isin(groups, few.kept), 0.0, np.bincount(labels))
    penalty = GroupLasso(Partition(labels.astype(np.intp)), weights)
    total = float(few.precisions.sum())
    noise = float(np.exp(decision.model.noise)) / total
    setting = Setting(space, few.precisions / total, penalty, loss, noise)
    return certify_selection(setting, list((few.Y if loss.translates else few.targets).T))


def read_proofs(selector: Any, table: Table, decision: Decision) -> None:
    """Fitted attributes of the penalised function in the metric of the model."""
    d, function = selector.n_features_in_, decision.few.function(decision.model)
    chosen = table.columns[function.columns]
    selector.support_ = np.isin(np.arange(d), chosen)
    space = function.space
    assert space is None or isinstance(space, RepresenterSpace)
    selector.kernel_ = None if space is None else space.kernel
    selector.scales_ = np.zeros(d)
    proofs: list[Proof] = []
    if space is not None:
        selector.scales_[chosen] = space.scales
        proofs = proofs_of(decision, space, selector._loss())
    gaps = [max(proof.solution.gap, 0.0) for proof in proofs]
    selector.alpha_ = proofs[0].problem.alpha if proofs else 0.0
    selector.ridge_ = proofs[0].problem.ridge if proofs else 0.0
    selector.dual_gap_ = float(sum(gaps))
    selector.objective_ = float(sum(proof.solution.primal for proof in proofs))
    references = [proof.problem.reference for proof in proofs]
    selector.relative_gap_ = max(map(truediv, gaps, references), default=0.0)
    selector.certificate_ = METRIC
    selector.n_iter_ = max((proof.solution.n_iter for proof in proofs), default=1) or 1
    selector.importance_bounds_ = np.zeros((d, 2))
    selector.support_certified_ = np.ones(d, dtype=bool)
    selector.slopes_ = np.zeros(d)
    if proofs:
        bounds = np.max([proof.bounds for proof in proofs], axis=0)
        selector.importance_bounds_[chosen] = bounds.T
        proven = [proof.support & (proof.bounds[0] > 0) for proof in proofs]
        selector.support_certified_[chosen] = np.any(proven, axis=0)
        norms = np.max([proof.importances for proof in proofs], axis=0)
        selector.slopes_[chosen] = norms


def read_sums(selector: Any, grown: Sequence[Grown]) -> None:
    """The gap of the problem on the sums of all rows takes the place of the sample's."""
    proofs = [one.certificate for one in grown if one.certificate is not None]
    if len(proofs) < len(grown):
        selector.certificate_ = f"{METRIC}, on a sample of {selector._n_sampled} rows"
        return
    selector.alpha_, selector.ridge_ = proofs[0].alpha, 0.0
    selector.objective_ = float(sum(proof.objective for proof in proofs))
    gaps = [max(proof.gap, 0.0) for proof in proofs]
    selector.dual_gap_ = float(sum(gaps))
    selector.relative_gap_ = max(map(truediv, gaps, (proof.at_zero or 1.0 for proof in proofs)))
    selector.certificate_ = SUMS


def discoveries(
    decision: Decision, fdr: float, random_state: Any, verbose: int
) -> tuple[Decision, Array]:
    """The decision on the groups discovered, and the p-value of every group."""
    rows = decision.few
    folds = stratified_folds(rows.Y, N_FOLDS, random_state)
    held_out, gains = [], np.zeros(len(rows.X))
    for train, test in track(folds, len(folds), "searching folds", verbose=verbose):
        part = rows.only(train)
        found = search(part, rows.rules.walked_rows)
        predict = partial(_outputs, found, rows)
        used = np.isin(rows.labels, found.model.groups)
        loss = PredictionLoss(
            predict, test.astype(float), rows.weights[test], partial(_distance, rows.Y)
        )
        held_out.append(HeldOut(test, loss, used))
        mean = part.weights @ rows.Y[train] / part.weights.sum()
        before = np.sum((rows.Y[test] - mean) ** 2, axis=1)
        gains[test] = before - _distance(rows.Y, test, predict(rows.X[test]))
    members = [np.flatnonzero(rows.labels == g) for g in range(rows.n_groups)]
    p_values = randomization_p_values(
        held_out,
        rows.X,
        LinearConditional(rows.X, rows.weights / rows.weights.sum()),
        groups=members,
        ranks=np.array([columns.min() for columns in members]),
        seed=0 if random_state is None else check_random_state(random_state).randint(2**31 - 1),
        n_draws=enough_draws(rows.n_groups, fdr),
        n_jobs=None,
        verbose=verbose,
    )
    gain = paired(gains, rows.weights)
    convincing = gain.mean > CLEAR_GAIN * gain.error
    discovered = (adjusted_p_values(p_values) <= fdr) & convincing
    kept = np.isin(np.arange(rows.n_groups), rows.kept)
    order = np.lexsort((p_values, ~kept))[: rows.n_groups if rows.most is None else rows.most]
    groups = np.sort(order[discovered[order] | kept[order]])
    return settled(decision, groups), p_values


def settled(best: Decision, groups: Index) -> Decision:
    """The best family on given groups, tuned to the end."""
    few = best.few
    tried = tuple(few.tune(family, groups) for family in few.families)
    model = to_the_end(few, min(tried, key=lambda model: model.price), tried)
    return replace(best, model=model, tried=tried, clear={}, faint=False)


def _outputs(found: Decision, rows: FewRows, X: Array) -> Array:
    """Predictions (m, q) in the units of all rows."""
    functions = [found.few.function(found.model, t) for t in range(rows.Y.shape[1])]
    values = np.column_stack([function.values(X) for function in functions])
    (mean, unit), (whole, scale) = found.few.unit, rows.unit
    return np.asarray((mean + unit * values - whole) / scale)


def _distance(Y: Array, numbers: NDArray[np.generic], outputs: Array) -> Array:
    """Squared error per row, added up over targets; rows are given by their numbers."""
    rows = np.asarray(numbers, dtype=np.intp)
    return np.asarray(np.sum((Y[rows] - outputs) ** 2, axis=1))
