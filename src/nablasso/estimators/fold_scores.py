"""Scores of all candidates of a grid on one fold.

A candidate is what ``predict`` would use at one width, ridge and alpha: the refits on its supports,
or the penalised functions; one per problem that the estimator solves. Candidates of one support
share their refit.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from nablasso.data.table import Table
from nablasso.estimators.cross_validation import held_out_scorer
from nablasso.estimators.folds import Fold
from nablasso.paths import Family, support_of, walk_path
from nablasso.problems import Problem
from nablasso.solvers import Solver
from nablasso.spaces import Function
from nablasso.types import Array, Mask

Refits = dict[bytes, Function]  # by support

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
    """A fitted function, its support, its steepness at held-out rows, its time."""

    function: Function
    support: Mask
    steepness: float
    fit_time: float


class Outcome(NamedTuple):
    """What one fold says of one candidate."""

    score: float
    size: float
    steepness: float
    fit_time: float
    score_time: float


class Data(NamedTuple):
    """What the folds are cut from: validated arrays."""

    X: Array
    y: Array
    weights: Array
    unlabelled: Array | None


def score_fold(
    selector: Any, solver: Solver[Any], data: Data, cells: list[Cell], fold: Fold
) -> list[Outcome]:
    """Every candidate on one fold."""
    X, y, weights, unlabelled = data
    train, test = fold
    table = selector._prepare(X[train], y[train], weights[train])
    points = selector._points(table, weights[train], unlabelled)
    test = test[weights[test] > 0]
    scorer = held_out_scorer(selector, weights, test)
    held_out = table.scaler.transform(X[test])[:, table.columns], weights[test]
    targets = selector._targets(y[test])
    families: dict[float, list[tuple[Family, Refits]]] = {}
    results = []
    with threadpool_limits(limits=1):  # small matrices: more threads wait for each other
        for cell in cells:
            if cell.width not in families:
                made = selector._families(table, cell.width, points)
                families[cell.width] = [(family, {}) for family in made]
            per_problem = [
                _candidates(selector.debias, family, refits, solver, cell, held_out)
                for family, refits in families[cell.width]
            ]
            for parts in zip(*per_problem, strict=True):
                start = perf_counter()
                model = _model(selector, [part.function for part in parts], table)
                score = scorer(model, X[test], targets)
                results.append(_outcome(parts, score, perf_counter() - start))
    return results


def _outcome(parts: tuple[Candidate, ...], score: float, score_time: float) -> Outcome:
    """One candidate of all problems together."""
    return Outcome(
        score=score,
        size=float(np.any([part.support for part in parts], axis=0).sum()),
        steepness=max(part.steepness for part in parts),
        fit_time=sum(part.fit_time for part in parts),
        score_time=score_time,
    )


def _model(selector: Any, functions: list[Function], table: Table) -> Any:
    """The selector as it would be after fitting these functions on this table."""
    model = copy(selector)
    vars(model).pop("feature_names_in_", None)  # folds are arrays without names
    model._keep(functions, table)
    return model


def _candidates(
    debias: bool,
    family: Family,
    refits: Refits,
    solver: Solver[Any],
    cell: Cell,
    held_out: tuple[Array, Array],
) -> list[Candidate]:
    """The function that ``predict`` would use at each alpha of a cell."""
    free = family.problem(cell.ridge)
    always = _penalty_weights(free) == 0
    alphas = cell.alphas[1:] if cell.null_first else cell.alphas
    found = list(_walk(debias, family, refits, free, solver, alphas, held_out))
    if found:
        last = found[-1]._replace(fit_time=0.0)
        if (last.support & ~always).any():
            last = last._replace(steepness=np.inf)
        found += [last] * (len(alphas) - len(found))
    if cell.null_first:
        found.append(Candidate(family.refit(always).function, always, 1.0, 0.0))
    return found[::-1]


def _walk(
    debias: bool,
    family: Family,
    refits: Refits,
    free: Problem,
    solver: Solver[Any],
    alphas: Array,
    held_out: tuple[Array, Array],
) -> Iterator[Candidate]:
    """Candidates from the smallest alpha up, until nothing new can come."""
    always = _penalty_weights(free) == 0
    start = perf_counter()
    for problem, solution in walk_path(free, alphas[::-1], solver):
        support = support_of(problem, solution)
        key = support.tobytes()
        if debias and key not in refits:
            refits[key] = family.refit(support).function
        function = refits[key] if debias else family.function(solution)
        steepness = family.steepness(solution, *held_out)
        now = perf_counter()
        yield Candidate(function, support, steepness, now - start)
        start = now
        if not (support & ~always).any() or steepness > HOPELESS:
            return  # larger alphas select nothing, or nothing that means anything


def _penalty_weights(problem: Problem) -> Array:
    """Weight of each variable's group; zero where it is always kept."""
    return np.asarray(problem.penalty.partition.spread(problem.penalty.weights))
