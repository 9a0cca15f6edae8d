"""Candidates judged on folds: what all ``...CV`` estimators share.

Folds run in parallel and report progress; an interrupt keeps those that are done. Then one
candidate is chosen: the best mean score, or ("1se") among those within one standard error of it the
one with the fewest variables. Folds that gave no number for any candidate are not counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer

from nablasso.errors import InvalidParameterError
from nablasso.estimators.folds import Fold
from nablasso.progress import track
from nablasso.types import Array, Index, Mask

Result = TypeVar("Result")

RULES = ("1se", "min")


class Choice(NamedTuple):
    """``cv_results_`` with GridSearchCV's keys, and the chosen candidate."""

    results: dict[str, Any]
    best: int

    @property
    def params(self) -> dict[str, float]:
        """The chosen candidate's parameters."""
        chosen: dict[str, float] = self.results["params"][self.best]
        return chosen

    @property
    def score(self) -> float:
        """Its mean score."""
        return float(self.results["mean_test_score"][self.best])


def check_rule(rule: Any) -> None:
    """Refuse anything but a name of a rule."""
    if rule not in RULES:
        raise InvalidParameterError(f'selection_rule must be "1se" or "min"; got {rule!r}.')


def on_folds(
    estimator: Any, score: Callable[..., Result], folds: Sequence[Fold], *before: Any
) -> list[Result]:
    """``score(*before, fold)`` for every fold, with the estimator's ``n_jobs`` and ``verbose``."""
    jobs = (delayed(score)(*before, fold) for fold in folds)
    results = Parallel(n_jobs=estimator.n_jobs, return_as="generator")(jobs)
    name, done = type(estimator).__name__, []
    try:
        for result in track(results, len(folds), f"{name} folds", verbose=estimator.verbose):
            done.append(result)
    except KeyboardInterrupt:
        if not done:
            raise
        warnings.warn(
            f"{name} was interrupted after {len(done)} of {len(folds)} folds; its parameters are "
            "chosen by these alone.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return done


def by_name(kind: Any, done: Sequence[Sequence[Any]]) -> dict[str, Array]:
    """Fields of the tuples that the folds gave, each (n_folds, n_candidates)."""
    arrays = np.array(done, dtype=float).transpose(2, 0, 1)
    return dict(zip(kind._fields, arrays, strict=True))


def choose(
    params: list[dict[str, float]],
    outcomes: dict[str, Array],
    *,
    rule: str = "min",
    scoring: Any = None,
    allowed: Mask | None = None,
    ties: Array | None = None,
    **means: Array,
) -> Choice:
    """Choose among candidates.

    ``outcomes`` has ``score``, and ``size`` where variables are counted; times are kept. Only
    ``allowed`` candidates are chosen, unless there are none. Among equals the one of smallest
    ``ties`` is taken. ``means`` are more columns of ``cv_results_``.
    """
    scores = outcomes["score"]
    usable = ~np.isnan(scores).all(axis=1)
    if not usable.any():
        raise InvalidParameterError(
            f"scoring={scoring!r} gave no number on any candidate; folds of one row have no R2, "
            "for example. Use larger folds or another score."
        )
    with np.errstate(invalid="ignore"):  # minus infinity minus itself
        mean, std = scores[usable].mean(axis=0), scores[usable].std(axis=0)
    mean = np.where(np.isnan(mean), -np.inf, mean)
    able = mean if allowed is None or not allowed.any() else np.where(allowed, mean, -np.inf)
    best = int(np.argmax(able))
    if rule == "1se":
        within = able >= mean[best] - std[best] / np.sqrt(usable.sum())
        fewest = np.where(within, outcomes["size"].mean(axis=0), np.inf)
        last = np.arange(len(mean)) if ties is None else ties
        best = int(np.lexsort((last, -mean, fewest))[0])
    rank = np.argsort(np.argsort(-mean, kind="stable"), kind="stable") + 1
    times = [key for key in ("fit_time", "score_time") if key in outcomes]
    sizes = {"n_selected": outcomes["size"].mean(axis=0)} if "size" in outcomes else {}
    return Choice(
        {
            "params": params,
            **{f"param_{key}": np.array([p[key] for p in params]) for key in params[0]},
            **{f"split{i}_test_score": row for i, row in enumerate(scores)},
            "mean_test_score": mean,
            "std_test_score": std,
            "rank_test_score": rank.astype(np.int32),
            **{f"mean_{key}": outcomes[key].mean(axis=0) for key in times},
            **{f"std_{key}": outcomes[key].std(axis=0) for key in times},
            **{f"mean_{key}": values for key, values in {**sizes, **means}.items()},
        },
        best,
    )


def held_out_scorer(selector: Any, weights: Array, rows: Index) -> Callable[[Any, Any, Any], float]:
    """``(model, X, y)`` of the held-out ``rows`` to a number: ``scoring``, or the own score.

    Weights that are all the same are not passed on: a user's scorer may not take them.
    """
    scorer = get_scorer(selector.scoring) if selector.scoring else selector._default_score
    weighted = {} if np.ptp(weights) == 0 else {"sample_weight": weights[rows]}

    def score(model: Any, X: Any, y: Any) -> float:
        try:
            return float(scorer(model, X, y, **weighted))
        except TypeError as error:
            if weighted and "sample_weight" in str(error):
                raise InvalidParameterError(
                    f"scoring must take sample_weight when weights are given; {scorer!r} does "
                    "not. Choose another scorer, or leave the weights out."
                ) from error
            raise

    return score


def positive_list(values: Any, name: str) -> Array:
    """A non-empty list of positive numbers."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or array.size == 0 or not (np.isfinite(array) & (array > 0)).all():
        raise InvalidParameterError(f"{name} must be a list of positive numbers; got {values!r}.")
    return array
