r"""From a decision to fitted attributes: how far it can be trusted, and what is proven of it.

Numbers only; their words are in :mod:`nablasso.answer`.

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

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.utils import check_random_state

from nablasso import answer as words
from nablasso.answer import WEAK
from nablasso.data.table import Table, discrete_columns
from nablasso.estimators.base import CLEAR_GAIN, gap_of, keep_gaps, nothing_status
from nablasso.estimators.cross_validation import stratified_folds
from nablasso.estimators.validation import correlated_pairs, feature_names
from nablasso.inference import HeldOutFold, as_conditional, enough_draws, randomization_p_values
from nablasso.losses import Loss
from nablasso.penalties import Partition, Penalty
from nablasso.prediction.predictor import Predictor
from nablasso.prediction.together import AllRows
from nablasso.problems import Problem, SmoothProblem, SquaredProblem
from nablasso.progress import track
from nablasso.reading.doubts import (
    LeftOutFit,
    all_relevant,
    alternatives,
    sign_only,
    support_gap,
    told_by_others,
)
from nablasso.reading.shares import level_slope
from nablasso.regression.models import GAUSSIAN, FewRows
from nablasso.regression.noise import Warp
from nablasso.regression.ridge import WeightedRidge, paired, saving
from nablasso.search.check import to_the_end
from nablasso.search.check import worth as worth_of
from nablasso.search.decide import search
from nablasso.search.few import Decision
from nablasso.search.grown import Grown
from nablasso.solvers import DualSolver, Newton, Solution, Solver, support_of, walk_path
from nablasso.spaces import Function, RepresenterSpace
from nablasso.types import Array, Index, Mask

MAX_FRESH = 1000  # rows at which slopes are averaged
LOOKED_AT = 12  # columns left out whose evidence is computed, those asked for most
VARIANCES = (1e-3, 1e-2, 0.1, 1.0)  # of such a column, over the median of the selected ones
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


# ------------------------------------------------------------------ what is proven


@dataclass(frozen=True)
class Proof:
    """A problem and its solution; arrays are per column of the table."""

    problem: Problem
    solution: Solution

    @cached_property
    def support(self) -> Mask:
        """Which variables are in."""
        return support_of(self.problem, self.solution)

    @cached_property
    def unit(self) -> Array:
        """What turns derivative norms into importances: here these are the same."""
        return np.ones(self.problem.space.n_features)

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Certified bounds of the exact minimiser's norms, in these units."""
        lower, upper = self.problem.derivative_bounds(self.solution.point)
        return lower * self.unit, upper * self.unit

    @cached_property
    def importances(self) -> Array:
        """Derivative norms in these units, zero where a variable is out.

        A discrete column has no slope between its levels: its norm is that of the difference
        quotients of the penalised function between neighbouring levels.
        """
        g, coef, space = self.solution.point.g, self.solution.coef, self.problem.space
        norms = np.sqrt(np.einsum("ia,ia->a", g, g))
        function = Function(coef.intercept, np.arange(len(norms)), space, coef.u, coef.v)
        for a in np.flatnonzero(discrete_columns(space.X) & self.support):
            norms[a] = level_slope(function.values, space.X, int(a), self.problem.weights)
        return np.where(self.support, norms * self.unit, 0.0)


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
        gram, ridge = self.space.gram, shared["ridge"]
        P = WeightedRidge(gram, self.weights, ridge, fit_intercept=True).matrix()
        return [SquaredProblem(**shared, y=y, P=P) for y in targets]

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
    return [Proof(*next(walk_path(problem, np.array([alpha]), solver))) for problem in problems]


def largest_alpha(problems: Sequence[Problem], solver: Solver[Any]) -> float:
    """Largest alpha of the grid at which the problems together select every variable."""
    tops = []  # where the penalty of the ridge fit takes back all that it saves over zero
    for problem in problems:
        point = problem.dual_point(np.zeros((len(problem.y), problem.space.n_features)))
        penalty = problem.penalty.value(problem.penalty.partition.norms(point.g))
        saved = problem.reference - problem.objective(point)
        tops.append(saved / penalty if penalty > 0 else 0.0)
    alphas = max(tops) * np.array(FRACTIONS)
    reached = alphas[0]
    steps = zip(*(walk_path(problem, alphas, solver) for problem in problems), strict=True)
    for alpha, solved in zip(alphas, steps, strict=True):
        if not np.any([support_of(*one) for one in solved], axis=0).all():
            break
        reached = alpha
    return float(reached)


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
        few, loss = decision.few, selector._target.loss
        groups, labels = np.unique(few.labels[function.columns], return_inverse=True)
        weights = np.where(np.isin(groups, few.kept), 0.0, np.bincount(labels))
        penalty = Penalty(Partition(labels.astype(np.intp)), weights)
        total = float(few.precisions.sum())
        noise = decision.model.r / total
        setting = Setting(space, few.precisions / total, penalty, loss, noise)
        proofs = certify_selection(setting, list((few.Y if loss.translates else few.targets).T))
    selector.alpha_ = proofs[0].problem.alpha if proofs else 0.0
    selector.ridge_ = proofs[0].problem.ridge if proofs else 0.0
    keep_gaps(selector, map(gap_of, proofs), (one.solution.n_iter for one in proofs))
    selector.certificate_ = METRIC
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
    selector.alpha_, selector.ridge_, selector.certificate_ = proofs[0].alpha, 0.0, SUMS
    gaps = [(one.gap, one.objective, one.at_zero or 1.0) for one in proofs]
    keep_gaps(selector, gaps, [selector.n_iter_])


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
        held_out.append(HeldOutFold(test, used, partial(_losses, rows, predict)))
        mean = part.weights @ rows.Y[train] / part.weights.sum()
        before = np.sum((rows.Y[test] - mean) ** 2, axis=1)
        gains[test] = before - np.sum((rows.Y[test] - predict(rows.X[test])) ** 2, axis=1)
    members = [np.flatnonzero(rows.labels == g) for g in range(rows.n_groups)]
    p_values = randomization_p_values(
        held_out,
        rows.X,
        as_conditional("auto", rows.X, rows.weights / rows.weights.sum()),
        groups=members,
        ranks=np.array([columns.min() for columns in members]),
        seed=0 if random_state is None else check_random_state(random_state).randint(2**31 - 1),
        n_draws=enough_draws(rows.n_groups, fdr),
        n_jobs=None,
        verbose=verbose,
    )
    gain = paired(gains, rows.weights)
    convincing = gain.mean > CLEAR_GAIN * gain.error
    discovered = (false_discovery_control(p_values) <= fdr) & convincing
    kept = np.isin(np.arange(rows.n_groups), rows.kept)
    order = np.lexsort((p_values, ~kept))[: rows.n_groups if rows.most is None else rows.most]
    groups = np.sort(order[discovered[order] | kept[order]])
    return settled(decision, groups), p_values


def settled(best: Decision, groups: Index) -> Decision:
    """The best family on given groups, tuned to the end."""
    few = best.few
    tried = tuple(few.tune(family, groups) for family in few.families)
    model = to_the_end(few, min(tried, key=lambda model: model.price))
    return replace(best, model=model, tried=tried, clear={}, faint=False)


def _outputs(found: Decision, rows: FewRows, X: Array) -> Array:
    """Predictions (m, q) in the units of all rows."""
    functions = [found.few.function(found.model, t) for t in range(rows.Y.shape[1])]
    values = np.column_stack([function.values(X) for function in functions])
    (mean, unit), (whole, scale) = found.few.unit, rows.unit
    return np.asarray((mean + unit * values - whole) / scale)


def _losses(rows: FewRows, predict: Callable[[Array], Array], X: Array, numbers: Index) -> Array:
    """Weighted squared errors, added up over targets, of X in the place of some of the rows."""
    errors = np.sum((rows.Y[numbers] - predict(X)) ** 2, axis=1)
    return np.asarray(rows.weights[numbers] * errors)


# ------------------------------------------------------------------ how far it can be trusted


def read_outcome(selector: Any, table: Table, decision: Decision) -> None:
    """Set the attributes that tell how far the answer can be trusted.

    After an interrupt what takes long is left out: someone waits.
    """
    few, model, d = decision.few, decision.model, len(selector.support_)
    residuals = few.solved(model).left_out()[0]
    copied = few.copies is not None and getattr(selector, "class_weight", None) is None
    selector.loo_r2_, gain = _gain(few.Y, residuals, few.weights, copied=copied)
    selector.evidence_, selector.clear_by_ = np.zeros(d), np.full(d, np.nan)
    worth = worth_of(few, model)
    for group in model.groups:
        columns = table.columns[few.labels == group]
        selector.evidence_[columns] = worth.get(int(group), 0.0)
        selector.clear_by_[columns] = decision.clear.get(int(group), np.nan)
    selector.assumptions_ = _noticed(decision, table.y_mean)
    selector.family_ = model.family.name
    selector.tried_ = [
        {
            "family": str(one.family.name),
            "columns": sorted(table.columns[np.isin(few.labels, one.groups)].tolist()),
            "price": one.price,
        }
        for one in sorted(decision.tried, key=lambda one: one.price)
    ]
    selector.runner_up_ = _runner_up(selector)
    chosen = np.flatnonzero(np.isin(few.labels, model.groups))
    selector.twins_ = correlated_pairs(table, chosen)
    evidence = None if decision.interrupted else _evidence(decision)
    selector.alternatives_ = [
        pair._replace(a=int(table.columns[pair.a]), b=int(table.columns[pair.b]))
        for pair in (alternatives(evidence) if evidence is not None and len(chosen) else ())
    ]
    selector.replaceable_ = _told(table.columns, few.X, few.weights, few.labels, chosen)
    selector.cautions_ = _cautions(selector, table, evidence)
    selector._dropped = {} if decision.interrupted else _dropped(table, decision)
    free = [worth.get(int(g), 0.0) for g in model.groups if g not in few.kept]
    unsure = selector.fdr is None and bool(free) and max(free) < WEAK
    selector.selection_status_ = _status(selector, gain, unsure, few.targets)


def read_all_rows(
    selector: Any,
    grown: Sequence[Grown],
    joined: Index,
    predictors: Sequence[Predictor | Function],
    rows: AllRows,
) -> None:
    """What terms on all rows say takes the place of what the sample said.

    ``joined`` columns were found by the sample alone. Slopes are those of the predictor at fresh
    rows. What certifies a column is the group lasso on the sums of all rows; where that took too
    long, the sample's certificate stands for columns that both found.
    """
    d = len(selector.support_)
    found = np.union1d(
        joined, np.concatenate([np.asarray(g.columns, dtype=np.intp) for g in grown])
    )
    sampled = selector.support_.copy()
    selector.support_ = np.isin(np.arange(d), found)
    selector.support_certified_ &= sampled == selector.support_
    proofs = [one.certified for one in grown if one.certified is not None]
    if len(proofs) == len(grown):  # on the sums of all rows, over all columns
        agreed = np.all([np.isin(np.arange(d), sorted(proof)) for proof in proofs], axis=0)
        selector.support_certified_ = agreed & ~np.isin(np.arange(d), joined)
    selector.importance_bounds_[~(sampled & selector.support_)] = 0.0, np.inf
    selector.importance_bounds_[~selector.support_] = 0.0
    evidence = np.where(np.isin(np.arange(d), joined), selector.evidence_, 0.0)
    for one in grown:
        for column, gain in one.gain.items():
            evidence[column] = max(evidence[column], gain)
    selector.evidence_ = evidence
    selector.clear_by_[~selector.support_] = np.nan
    Z, weights = rows.standardised(rows.fresh[:MAX_FRESH]), rows.weights[rows.fresh[:MAX_FRESH]]
    p = weights / weights.sum()
    unit = 1.0
    for predictor in predictors:
        if isinstance(predictor, Predictor) and len(predictor.observed):
            unit = float(predictor.observed.std()) or 1.0
            even, residuals = predictor.even(predictor.observed), predictor.residuals
            selector.loo_r2_, _ = _gain(even[:, None], residuals[:, None], predictor.weights)
    slopes = [np.sqrt(p @ predictor.gradients(Z) ** 2) / unit for predictor in predictors]
    norms = np.max(slopes, axis=0)
    selector.slopes_ = np.where(selector.support_, norms, 0.0)
    selector.family_ = "terms"
    noticed = {g.reason for g in grown if g.loss not in ("squares", "labels")}
    selector.assumptions_ = [
        *(words.said("all rows", reason=reason) for reason in sorted(noticed)),
        *(words.said("warped", warp=warp, share=share) for warp, share in _warped(predictors)),
    ]
    selector.runner_up_, selector._dropped = None, {}
    chosen = np.flatnonzero(selector.support_)
    inside = set(chosen.tolist())
    selector.twins_ = [(a, b) for a, b in selector.twins_ if a in inside]
    selector.alternatives_ = [
        pair for pair in selector.alternatives_ if pair.a in inside and pair.b not in inside
    ]
    labels = np.unique(selector._labels[rows.columns], return_inverse=True)[1]
    place = np.flatnonzero(np.isin(rows.columns, chosen))
    told = rows.fresh if len(rows.fresh) > rows.n_searched else np.arange(rows.n_searched)
    seen = rows.Z[told], rows.weights[told]
    selector.replaceable_ = _told(rows.columns, *seen, labels, place)
    weak = evidence[chosen].max(initial=0.0) < WEAK and not len(joined)
    selector.selection_status_ = _status(selector, CLEAR_GAIN, weak, rows.y)


def _told(columns: Index, *data: Any) -> list[tuple[int, list[int], float]]:
    """Selected columns that others tell together, which ones, and how much of them."""
    found = told_by_others(*data)
    return [(int(columns[a]), columns[by].tolist(), r2) for a, by, r2 in found]


def _status(selector: Any, gain: float, unsure: bool, y: Array) -> str:
    if not selector.support_.any():
        return nothing_status(y)
    if gain < CLEAR_GAIN or unsure:
        return "too few rows"
    if selector.cautions_:
        return "doubtful"
    stand_ins = selector.twins_ or selector.alternatives_ or selector.replaceable_
    return "replaceable" if stand_ins else "clear"


def _gain(
    Y: Array, residuals: Array, weights: Array, *, copied: bool = False
) -> tuple[float, float]:
    """R2 of left-out residuals, and the gain over the mean in standard errors."""
    baseline = np.sum((Y - np.average(Y, axis=0, weights=weights)) ** 2, axis=1)
    return saving([(baseline, np.sum(residuals**2, axis=1))], weights, copied=copied)


def _warped(predictors: Sequence[Any]) -> Iterator[tuple[Warp, float]]:
    """Logarithms that a part of the prediction goes through, and the share that does."""
    for predictor in (one for one in predictors if isinstance(one, Predictor)):
        shares: dict[Warp, float] = {}
        for part, share in zip(predictor.parts, predictor.shares, strict=True):
            if (warp := getattr(part, "warp", None)) is not None:
                shares[warp] = shares.get(warp, 0.0) + float(share)
        yield from shares.items()


def _noticed(decision: Decision, mean: float) -> list[str]:
    """Sentences about noise and target, and what they gained; y was searched less its mean."""
    few, assumed = decision.few, decision.few.assumption
    said = []
    if assumed.warp is not None:
        warp = assumed.warp.moved(mean)
        y = few.targets[:, 0] + mean
        counts = bool((y >= 0).all() and np.allclose(y, np.round(y), atol=1e-9))
        said.append(words.said("counts" if counts else "skewed", warp=warp))
    if assumed.weights is not None:
        small = int(np.sum(assumed.weights < 0.5))
        said.append(words.said("tails", degrees=assumed.nu, n_small=small))
    if assumed.level is not None:
        factor = float(np.exp(np.ptp(assumed.level) / 2))
        said.append(words.said("uneven", factor=factor))
    if assumed.serial is not None:
        said.append(words.said("serial", correlation=assumed.serial[0]))
    if said and math.isfinite(decision.gained):
        said.append(words.said("gained", nats=decision.gained))
    return said


def _runner_up(selector: Any) -> tuple[list[int], float] | None:
    """The best other set of columns, and by how many nats it lost.

    One of those tried, or the selected ones without the one that is worth least.
    """
    own = sorted(np.flatnonzero(selector.support_).tolist())
    worth = {a: float(selector.evidence_[a]) for a in own if selector.evidence_[a] > 0}
    same = [one["price"] for one in selector.tried_ if one["columns"] == own]
    found = [
        (one["columns"], float(one["price"] - min(same)))
        for one in selector.tried_
        if same and one["columns"] != own
    ]
    if worth:
        least = min(worth.values())
        found.append(([a for a in own if worth.get(a) != least], least))
    return min(found, key=lambda one: one[1], default=None)


Dropped = tuple[float, float, tuple[float, float] | None]


def _dropped(table: Table, decision: Decision) -> dict[int, Dropped]:
    """For columns left out: nats that they add and cost, R2 of left-out rows without and with them.

    The slope of the evidence in its variance says of every group whether it asks for it at all;
    those that ask most are put in, with the best of a few variances and all else as it is, on the
    rows that a walk takes.
    """
    model = decision.model
    few = decision.few.first(decision.few.rules.walked_rows)
    if not len(model.groups) or few.n_groups == len(model.groups):
        return {}
    evidence, r = few.evidence(model.family), model.r
    asked = evidence.outside(model.groups, model.variances, r)
    outside = np.setdiff1d(np.arange(few.n_groups), model.groups)
    if not np.isfinite(asked[outside]).all():
        return {}
    costs = few.cost(len(model.logs) + 1) - few.cost(len(model.logs))
    own = evidence.part(model.groups).solve(model.variances, r)
    if own is None:
        return {}
    before = _gain(few.Y, own.left_out()[0], few.weights)[0]
    best = sorted(outside, key=lambda g: asked[g])[:LOOKED_AT]
    found: dict[int, Dropped] = {}
    for g in outside:
        gain, scores = 0.0, None
        if g in best and asked[g] < 0:
            part = evidence.part(np.append(model.groups, g))
            tried = [
                np.append(model.variances, share * np.median(model.variances))
                for share in VARIANCES
            ]
            values = [part.value(v, r) for v in tried]
            gain = max(own.value - min(values), 0.0)
            solved = part.solve(tried[int(np.argmin(values))], r) if gain > 0 else None
            if solved is not None and not few.classes and few.assumption.warp is None:
                scores = before, _gain(few.Y, solved.left_out()[0], few.weights)[0]
        for a in table.columns[few.labels == g]:
            found[int(a)] = (float(gain), float(costs), scores)
    return found


def _evidence(decision: Decision) -> LeftOutFit | None:
    """What left-out rows are compared by."""
    few, model = decision.few, decision.model
    if not few.X.shape[1]:
        return None
    function = few.function(model)
    p = few.weights / few.weights.sum()
    y = few.Y[:, 0] if few.Y.shape[1] == 1 else few.Y
    columns, space = function.columns, function.space
    if isinstance(space, RepresenterSpace) and not model.family.smooth:
        return LeftOutFit(space.kernel, few.X, y, p, columns, space.scales, few.classes)
    # the kernel of features knows its own columns only: distances stand for it
    scales = np.full(len(columns), 1 / np.sqrt(max(2 * len(columns), 1)))
    return LeftOutFit(GAUSSIAN.kernel, few.X, y, p, columns, scales, few.classes)


def _cautions(selector: Any, table: Table, evidence: LeftOutFit | None) -> list[str]:
    """Sentences about what derivatives cannot see here."""
    names = [feature_names(selector)[a] for a in table.columns]
    found = []
    if evidence is not None and evidence.y.ndim == 1:
        parts, step = support_gap(evidence), sign_only(evidence)
        if parts:
            told = ", ".join(names[a] for a in parts)
            found.append(words.said("parts", names=told, n_names=len(parts)))
        if step is not None:
            found.append(words.said("step", name=names[step[0]], change=step[1]))
    inside = selector.evidence_[selector.support_]
    unsure = 2 * np.sum(inside < WEAK) > len(inside)  # one weak column says nothing of the others
    everything = all_relevant(selector.slopes_, selector.support_)
    if selector.always_keep is None and unsure and everything:
        found.append(
            words.said("everything", n_selected=len(inside), n_columns=len(selector.support_))
        )
    return found
