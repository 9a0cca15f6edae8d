"""Scores of all candidates of a grid on one fold.

A candidate is what ``predict`` would use at one width, ridge and alpha: the refit on its support,
or the penalised function. Candidates of one support share their refit.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import get_scorer
from threadpoolctl import threadpool_limits

from nablasso.estimators.folds import Fold
from nablasso.exceptions import InvalidParameterError
from nablasso.paths import Family, Formulation, support_of, walk_path
from nablasso.preparation import Table
from nablasso.problems import Problem
from nablasso.solvers import Solver
from nablasso.spaces import Function

Array = NDArray[np.float64]

HOPELESS = 5.0  # steepness from which larger alphas are not tried


class Cell(NamedTuple):
    """One width and ridge of the grid, with its alphas from the largest down.

    With ``null_first`` the first alpha is ``alpha_max`` on all rows and selects nothing there. A
    fold has another ``alpha_max``, so the null model stands for this candidate in every fold.
    """

    width: float
    ridge: float
    alphas: Array
    null_first: bool


class Candidate(NamedTuple):
    """A fitted function, the size of its support, its steepness at held-out rows, its time."""

    function: Function
    size: int
    steepness: float
    fit_time: float


class Outcome(NamedTuple):
    """What one fold says of one candidate."""

    score: float
    size: float
    steepness: float
    fit_time: float
    score_time: float


class _FoldModel(RegressorMixin, BaseEstimator):
    """A fitted function in the shape that scikit-learn's scorers expect."""

    def __init__(self, function: Function | None = None, table: Table | None = None) -> None:
        self.function = function
        self.table = table

    def fit(self, X: Any, y: Any) -> Self:
        """Nothing to do: the function is fitted."""
        return self

    def predict(self, X: Array) -> Array:
        """Values of the function."""
        assert self.function is not None
        assert self.table is not None
        return self.table.y_mean + self.function.values(self.table.scaler.transform(X))

    def __sklearn_is_fitted__(self) -> bool:
        return True


def score_fold(
    selector: Any,
    formulation: Formulation,
    solver: Solver,
    X: Array,
    y: Array,
    weights: Array,
    cells: list[Cell],
    fold: Fold,
) -> list[Outcome]:
    """Every candidate on one fold."""
    train, test = fold
    table = selector._prepare(X[train], y[train], weights[train])
    scorer = get_scorer(selector.scoring or "neg_mean_squared_error")
    test = test[weights[test] > 0]
    uniform = np.ptp(weights) == 0  # a scorer of the user's own may not take weights
    weighted = {} if uniform else {"sample_weight": weights[test]}
    held_out = table.scaler.transform(X[test])[:, table.columns], weights[test]
    results = []
    with threadpool_limits(limits=1):  # small matrices: more threads wait for each other
        for candidate in _candidates(selector.debias, formulation, solver, table, cells, held_out):
            start = perf_counter()
            model = _FoldModel(candidate.function, table)
            score = _score(scorer, model, X[test], y[test], weighted)
            results.append(Outcome(score, *candidate[1:], perf_counter() - start))
    return results


def _score(scorer: Any, model: _FoldModel, X: Array, y: Array, weighted: dict[str, Array]) -> float:
    try:
        return float(scorer(model, X, y, **weighted))
    except TypeError as error:
        if weighted and "sample_weight" in str(error):
            raise InvalidParameterError(
                f"scoring must take sample_weight when weights are given; {scorer!r} does not. "
                "Choose another scorer, or leave the weights out."
            ) from error
        raise


def _candidates(
    debias: bool,
    formulation: Formulation,
    solver: Solver,
    table: Table,
    cells: list[Cell],
    held_out: tuple[Array, Array],
) -> Iterator[Candidate]:
    """The function that ``predict`` would use at each point of the grid."""
    families: dict[float, Family] = {}
    refits: dict[tuple[float, bytes], Function] = {}
    for cell in cells:
        if cell.width not in families:
            families[cell.width] = Family(table, formulation, cell.width)
        family = families[cell.width]
        found: list[Candidate] = []
        start = perf_counter()
        free = family.problem(cell.ridge)
        always = _penalty_weights(free) == 0
        alphas = cell.alphas[1:] if cell.null_first else cell.alphas
        for problem, solution in walk_path(free, alphas[::-1], solver):
            support = support_of(problem, solution)
            key = (cell.width, support.tobytes())
            if not debias:
                function = family.function(solution)
            elif key in refits:
                function = refits[key]
            else:
                function = refits[key] = family.refit(support).function
            steepness = family.steepness(solution, *held_out)
            now = perf_counter()
            found.append(Candidate(function, int(support.sum()), steepness, now - start))
            start = now
            chosen = support & ~always
            if not chosen.any() or steepness > HOPELESS:
                break  # larger alphas select nothing, or nothing that means anything
        if found:
            untried = found[-1]._replace(fit_time=0.0)
            if chosen.any():
                untried = untried._replace(steepness=np.inf)
            found += [untried] * (len(alphas) - len(found))
        if cell.null_first:
            found.append(Candidate(family.refit(always).function, int(always.sum()), 1.0, 0.0))
        yield from reversed(found)


def _penalty_weights(problem: Problem) -> Array:
    """Weight of each variable's group; zero where it is always kept."""
    return np.asarray(problem.penalty.partition.spread(problem.penalty.weights))
