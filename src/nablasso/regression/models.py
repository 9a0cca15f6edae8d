r"""A model of few rows: a family of functions on some groups of columns, tuned, priced, solved.

**Families** are what competes: a kernel and what it sees of a column, the column itself or
(``smooth``) ``RANK`` fixed features of it, centred and of mean square one, so that powers of their
sum, ``(1 + sum_g v_g phi(z_g) . phi(x_g))^m``, are smooth functions of at most ``m`` columns at a
time and linear in ``v`` for ``m = 1``. Both kinds are needed: radial kernels alone find .70 of what
all find together.

**A model** has a variance for each group (or for each tie of copies). Its price, in nats, is

.. math:: -\log \text{evidence} + \tfrac k2 \log n + \log \tbinom{d}{k} + \log(k + 1)

with ``k`` of ``d`` groups that were free to be chosen; ties of copies count once. Nothing selected
is 0 nats. Kernels, supports and copies are all compared by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from nablasso.data.table import Table, counted, mean_one
from nablasso.kernels import (
    AdditivePower,
    Gaussian,
    Kernel,
    Linear,
    Matern52,
    Polynomial,
    RadialKernel,
    Rough,
    Stated,
)
from nablasso.regression.evidence import (
    FAILED,
    Covariance,
    Evidence,
    Solved,
    shaped,
    without_columns,
)
from nablasso.regression.laplace import LogOdds, Tuned
from nablasso.regression.noise import PLAIN, Assumption, Unwarped
from nablasso.regression.spread import Spread
from nablasso.rules import Rules
from nablasso.spaces import Function, RepresenterSpace
from nablasso.types import Array, Index

RANK = 8  # features of a column
STEPS, FEWER_STEPS = 12, 10  # of L-BFGS: at first, from a neighbour
NOISE = 0.05  # to start from
NOISE_LOGS = (-18.0, 15.0)
SPREAD = 4.0  # prior deviation of the log of a variance: it decides nothing, but keeps factors well
REACH = 12.0  # how far the log of a variance may go
NO_GROUPS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Family:
    """A kernel of columns or of their smooth features; ``walks`` if it may propose columns.

    With ``stated`` columns whose values come back have states, each group of columns a variance of
    these besides: group ``n_groups + g`` are the states of group ``g``.
    """

    name: str
    kernel: Kernel
    smooth: bool = False
    walks: bool = True
    stated: bool = False

    def covariance(self, X: Array, labels: Index, weights: Array) -> Covariance:
        """The kernel on all groups of the columns of ``X``."""
        n_groups = int(labels.max(initial=-1)) + 1
        if self.stated:
            told = np.flatnonzero(come_back(X) > 0)
            both = np.append(labels, labels[told] + n_groups)
            return Covariance(self.kernel, X, both, 2 * n_groups, codes_of(X[:, told]))
        if not self.smooth:
            return Covariance(self.kernel, X, labels, n_groups)
        Phi, _ = self._additive(X, weights).features(X)
        return Covariance(self.kernel, Phi, np.repeat(labels, RANK), n_groups)

    def fitted(
        self, X: Array, weights: Array, variances: Array, of_states: Array | None = None
    ) -> tuple[Kernel, Array]:
        """A kernel of the columns of ``X`` and their multipliers, for the variances of each."""
        if self.stated:
            assert isinstance(self.kernel, RadialKernel)
            assert of_states is not None
            told = np.where(come_back(X) > 0, of_states, 0.0)
            return Stated(self.kernel, np.sqrt(told)), np.sqrt(variances)
        if self.smooth:
            return self._additive(X, weights, np.sqrt(variances)), np.ones(X.shape[1])
        return self.kernel, np.sqrt(variances)

    def _additive(self, X: Array, weights: Array, scale: Array | float = 1.0) -> AdditivePower:
        """The kernel of columns that is this one of their features."""
        p = weights / weights.sum()
        raw = AdditivePower(1, rank=RANK, centre=np.zeros((X.shape[1], RANK)))
        B = raw.features(X)[0].reshape(len(X), X.shape[1], RANK)
        centre = np.einsum("i,iak->ak", p, B)
        size = np.sqrt(np.maximum(np.einsum("i,iak->a", p, (B - centre) ** 2), 1e-12))
        order, offset = 1, 0.0
        if isinstance(self.kernel, Polynomial):
            order, offset = self.kernel.degree, self.kernel.offset
        return AdditivePower(order, offset, RANK, centre=centre, scale=scale / size)


def come_back(X: Array) -> Array:
    """Share of the rows that share their value with another, per column; 0 for two values."""
    counts = [np.unique(x, return_counts=True)[1] for x in X.T]
    return np.array([own[own > 1].sum() / len(X) if len(own) > 2 else 0.0 for own in counts])


def codes_of(X: Array) -> Index:
    """A number for each value of each column."""
    codes = [np.unique(x, return_inverse=True)[1] for x in X.T]
    return np.column_stack([np.empty((len(X), 0), dtype=np.intp), *codes])


LINEAR = Family("linear", Linear())
QUADRATIC = Family("quadratic", Polynomial(2))
ADDITIVE = Family("additive", Linear(), smooth=True)
SMOOTH_PAIRS = Family("smooth pairs", Polynomial(2), smooth=True)
GAUSSIAN = Family("Gaussian", Gaussian())
ROUGH = Family("rough", Rough(), walks=False)
STATED = Family("rough, with states", Rough(), walks=False, stated=True)
BENT_PAIRS = Family("bent pairs", AdditivePower(2), walks=False)
FAMILIES = (
    LINEAR,
    QUADRATIC,
    Family("cubic", Polynomial(3)),
    ADDITIVE,
    SMOOTH_PAIRS,
    Family("smooth triples", Polynomial(3), smooth=True),
    GAUSSIAN,
    Family("Matern", Matern52()),
    ROUGH,
    Family("quartic", Polynomial(4), walks=False),
    Family("sextic", Polynomial(6), walks=False),
    BENT_PAIRS,
    Family("bent triples", AdditivePower(3), walks=False),
)


@dataclass(frozen=True, eq=False)
class Model:
    """A family on some groups: logs of a variance per tie and of the noise, value and price."""

    family: Family
    groups: Index
    ties: Index
    logs: Array
    noise: float
    value: float
    price: float

    @property
    def variances(self) -> Array:
        """One for each group."""
        return np.asarray(np.exp(self.logs[self.ties]))

    @property
    def x(self) -> Array:
        """Where tuning starts from."""
        return np.append(self.logs, self.noise)

    @property
    def r(self) -> float:
        """The noise."""
        return float(np.exp(self.noise))


@dataclass(frozen=True, eq=False)
class FewRows:
    """Rows, and the models that are tried on them under an assumption.

    ``X`` (n, d) standardised, ``targets`` (n, q), ``weights`` (n,) whole numbers of copies or of
    mean one, ``labels`` (d,) the group of each column, ``kept`` groups that are in every model,
    ``time`` (n,) the place of each row as it came, None if that means nothing. ``folds`` are rows
    left out together in the check
    (single rows without), scored by ``score`` if given; ``most`` groups at most, ``looked`` the
    number of groups that these were picked from (all by default). With ``classes`` the targets are
    labels -1 and 1, explained by least squares in the search and by log-odds in the check.
    """

    X: Array
    targets: Array
    weights: Array
    labels: Index
    kept: Index = field(default_factory=NO_GROUPS.copy)
    time: Array | None = None
    rules: Rules = field(default_factory=Rules)
    families: Sequence[Family] = FAMILIES
    assumption: Assumption = PLAIN
    folds: Sequence[Index] | None = None
    most: int | None = None
    looked: int | None = None
    classes: bool = False
    score: Callable[[FewRows, Array, Index], float] | None = None

    @classmethod
    def of(
        cls, table: Table, targets: Array, groups: tuple[Index, Index], n: int, **options: Any
    ) -> FewRows:
        """The first ``n`` rows of a table; ``groups`` are labels and what is kept."""
        X = table.X[:n]
        return cls(
            X if (table.deviations == 1).all() else X / table.deviations,
            targets[:n],
            counted(table.weights * table.total, table.X)[:n],
            *groups,
            **options,
        )

    def under(self, assumption: Assumption) -> FewRows:
        """The same rows under another assumption."""
        return replace(self, assumption=assumption)

    def first(self, n: int) -> FewRows:
        """The first rows, a fair sample."""
        return self if n >= len(self.X) else self.only(np.arange(n))

    def only(self, rows: Index) -> FewRows:
        """Some of the rows, in their order."""
        folds = self.folds
        if folds is not None:
            folds = [np.flatnonzero(np.isin(rows, fold)) for fold in folds]
            folds = [fold for fold in folds if 0 < len(fold) < len(rows) - 1] or None
        return replace(
            self,
            X=self.X[rows],
            targets=self.targets[rows],
            weights=self.weights[rows] if self.copied else mean_one(self.weights[rows]),
            time=None if self.time is None else self.time[rows],
            folds=folds,
            score=self.score if folds and np.array_equal(rows, np.arange(len(rows))) else None,
            assumption=self.assumption.only(rows),
        )

    @cached_property
    def copied(self) -> bool:
        """Whether rows stand for several equal ones."""
        return bool(self.weights.max() > 1 and (self.weights == np.rint(self.weights)).all())

    @property
    def copies(self) -> Array | None:
        """How many equal rows each stands for; None for one each, and for serial noise."""
        return self.weights if self.copied and self.assumption.serial is None else None

    @property
    def n_rows(self) -> float:
        """Rows, copies counted."""
        return float(len(self.X) if self.copies is None else self.copies.sum())

    @cached_property
    def unit(self) -> tuple[Array, Array]:
        """Mean and deviation of what is explained, per target."""
        t, p = self.assumption.target(self.targets), self.weights / self.weights.sum()
        mean = p @ t
        deviation = np.sqrt(p @ (t - mean) ** 2)
        return mean, np.where(deviation > 0, deviation, 1.0)

    @cached_property
    def Y(self) -> Array:
        """What is explained, (n, q), standardised."""
        mean, deviation = self.unit
        t = self.assumption.target(self.targets)
        return np.where(np.ptp(t, axis=0) > 0, (t - mean) / deviation, 0.0)

    @cached_property
    def base(self) -> float:
        """What the assumption costs whatever the model: see :mod:`~nablasso.regression.noise`."""
        n = self.n_rows
        scale = float(np.log(self.unit[1]).sum())
        scale -= self.assumption.jacobian(self.targets, self.copies)
        price = self.assumption.price(n, 1.0 if self.copies is None else self.copies)
        return self.empty.value + (n - 1) * scale + price

    def total(self, model: Model) -> float:
        """What compares models under different assumptions."""
        return model.price + self.base

    @property
    def n_groups(self) -> int:
        """Number of groups of columns."""
        return int(self.labels.max(initial=-1)) + 1

    @cached_property
    def shape(self) -> Array:
        """Shape of the noise, weights included."""
        noise = self.assumption.noise(len(self.X), self.time)
        if np.ptp(self.weights) == 0:
            return noise
        root = np.sqrt(self.weights)
        return np.asarray(noise / (self.weights if noise.ndim == 1 else np.outer(root, root)))

    @cached_property
    def empty(self) -> Solved:
        """The model without columns."""
        return without_columns(self.Y, self.shape, copies=self.copies)

    @cached_property
    def _evidence(self) -> dict[str, Evidence]:
        return {}

    def evidence(self, family: Family) -> Evidence:
        """All groups under a family."""
        if family.name not in self._evidence:
            covariance = family.covariance(self.X, self.labels, self.weights)
            self._evidence[family.name] = Evidence(
                covariance, self.Y, self.shape, nothing=self.empty.value, copies=self.copies
            )
        return self._evidence[family.name]

    def cost(self, k: int) -> float:
        """What ``k`` groups, or ties of copies, cost, kept ones included."""
        n_kept = len(self.kept)
        looked = self.n_groups if self.looked is None else self.looked
        free = looked - n_kept
        chosen = min(max(k - n_kept, 0), free)  # states come with their columns
        choice = gammaln(free + 1) - gammaln(chosen + 1) - gammaln(free - chosen + 1)
        return float(0.5 * k * np.log(self.n_rows) + choice + np.log(chosen + 1))

    # -- tuning ------------------------------------------------------------------------------

    def tune(
        self,
        family: Family,
        groups: Index,
        x: Array | None = None,
        *,
        steps: int = STEPS,
        ties: Index | None = None,
        tolerance: float = 1e-5,
    ) -> Model:
        """The most likely variances and noise by L-BFGS, from ``x`` (logs, noise last)."""
        ties = np.arange(len(groups)) if ties is None else ties
        m = int(ties.max(initial=-1)) + 1
        if not m or not self.Y.any():  # a constant target needs no group, not even a kept one
            return Model(family, NO_GROUPS, NO_GROUPS, np.empty(0), 0.0, 0.0, 0.0)
        part = self.evidence(family).part(groups)
        centre = float(np.log(part.covariance.start()))
        if x is None:
            x = np.append(np.full(m, centre), np.log(NOISE))

        def objective(x: Array) -> tuple[float, Array]:
            value, slope = part.value_and_gradient(x, ties)
            away = (x[:-1] - centre) / SPREAD
            return value + 0.5 * float(away @ away), slope + np.append(away / SPREAD, 0.0)

        low = np.append(np.full(m, centre - REACH), NOISE_LOGS[0])
        high = np.append(np.full(m, centre + REACH), NOISE_LOGS[1])
        x = np.clip(x, low, high)
        size = part.covariance.size(np.exp(x[:-1][ties]))
        if x[-1] < np.log(0.01 * size):  # almost no noise is a plateau: look outside it
            louder = np.append(x[:-1], np.log(0.1 * size))
            if objective(louder)[0] < objective(x)[0] + 2.0:
                x = louder
        found = minimize(
            objective,
            x,
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low.tolist(), high.tolist(), strict=True)),
            options={"maxiter": steps, "maxfun": 2 * steps, "ftol": tolerance},
        )
        value, logs, noise = float(found.fun), found.x[:-1], float(found.x[-1])
        return Model(family, groups, ties, logs, noise, value, value + self.cost(m))

    def retune(self, model: Model, **options: Any) -> Model:
        """The same model on these rows."""
        return self.tune(model.family, model.groups, model.x, ties=model.ties, **options)

    def without(self, model: Model, tie: int) -> Model:
        """Tuned again without a group, or a tie of copies."""
        stay = model.ties != tie
        ties = np.unique(model.ties[stay], return_inverse=True)[1].astype(np.intp)
        x = np.append(np.delete(model.logs, tie), model.noise)
        return self.tune(model.family, model.groups[stay], x, ties=ties, steps=FEWER_STEPS)

    def value(self, model: Model, variances: Array) -> float:
        """Minus the log evidence with other variances, nothing tuned again."""
        return self.evidence(model.family).part(model.groups).value(variances, model.r)

    def solved(self, model: Model) -> Solved:
        """Everything at the variances of a model."""
        if not len(model.groups):
            return self.empty
        part = self.evidence(model.family).part(model.groups)
        solved = part.solve(model.variances, model.r)
        if solved is None:
            raise np.linalg.LinAlgError("A model that was tuned cannot be solved.")
        return solved

    def solvable(self, model: Model) -> bool:
        """Whether the rows have a factor at the variances of a model."""
        return self.value(model, model.variances) < FAILED

    @property
    def precisions(self) -> Array:
        """Weights of the rows by their noise: one over its variances."""
        return np.asarray(1 / (self.shape if self.shape.ndim == 1 else np.diag(self.shape)))

    @property
    def influence(self) -> Array:
        """Weights of the rows; what is taken for an outlier counts less."""
        tails = self.assumption.weights
        return self.weights if tails is None else self.weights * tails

    def function(self, model: Model, target: int = 0) -> Function:
        """The fitted function of ``X``, in the units of :attr:`Y`."""
        solved = self.solved(model)
        u = solved.U[:, target]
        noise = solved.r * shaped(self.shape, solved.U)[:, target]
        if not len(model.groups):
            return Function(float(np.mean(self.Y[:, target] - noise)), NO_GROUPS)
        columns, space = self.space(model, model.variances)
        intercept = float(np.mean(self.Y[:, target] - space.gram @ u - noise))
        return Function(intercept, columns, space, u)

    def explained(self, model: Model) -> tuple[Unwarped, Array]:
        """The fitted function in the units of the target, and its predictions of left-out rows."""
        mean, deviation = (float(part[0]) for part in self.unit)
        solved = self.solved(model)
        errors = solved.left_out()[0][:, 0]
        spread = Spread(model.r, self.shape, float(solved.units[0]))
        function, warp = self.function(model), self.assumption.warp
        made = Unwarped(function, spread, mean, deviation, warp, errors, self.precisions)
        return made, made.back(mean + deviation * (self.Y[:, 0] - errors))

    def standardised(self, few: FewRows) -> Array:
        """All targets in the units of fewer of these rows."""
        mean, deviation = few.unit
        return np.asarray((self.assumption.target(self.targets) - mean) / deviation)

    def residuals(self, model: Model, rows: FewRows) -> Array:
        """Left-out residuals at these rows and prediction errors at the rest of ``rows``."""
        own = self.solved(model).left_out()[0]
        n = len(self.X)
        if len(rows.X) == n:
            return own
        Y, X = rows.standardised(self)[n:], rows.X[n:]
        fits = [self.function(model, t).values(X) for t in range(Y.shape[1])]
        return np.vstack([own, Y - np.column_stack(fits)])

    def log_odds(self, model: Model) -> list[Tuned | None]:
        """The same groups as log-odds of each target, tuned; None where that cannot be.

        A class may be absent from these rows.
        """
        covariance = self.evidence(model.family).covariance.part(model.groups)
        start = model.logs, model.noise, model.ties
        return [
            LogOdds(covariance, y, self.weights).tuned(*start) if np.ptp(y) > 0 else None
            for y in self.targets.T
        ]

    def space(self, model: Model, variances: Array) -> tuple[Index, RepresenterSpace]:
        """A model's columns, and where its functions of them live with a variance of each group."""
        columns = np.flatnonzero(np.isin(self.labels, model.groups % self.n_groups))
        of_groups = np.zeros(2 * self.n_groups)  # of their states too
        of_groups[model.groups] = variances
        X, labels = self.X[:, columns], self.labels[columns]
        of_states = of_groups[labels + self.n_groups]
        kernel, scales = model.family.fitted(X, self.weights, of_groups[labels], of_states)
        return columns, RepresenterSpace(kernel, X, scales)
