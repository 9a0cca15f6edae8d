"""Which groups of variables: search on all rows, judge out of sample, decide how many.

1. :func:`~nablasso.metric.search.search` on all rows; the best trail of each of ``N_TRAILS``
   families becomes a candidate.
2. Every candidate is followed anew in the training folds
   (:mod:`~nablasso.metric.cross_fit`). After the first ``TRIAL_FOLDS`` folds, candidates clearly
   worse than the best one are given up.
3. The candidate of smallest out-of-sample error decides how many groups. Which ones, its ranking on
   all rows says, or that of a fold which is clearly better
   (:mod:`~nablasso.metric.from_folds`). Of these the ones stay that are needed
   (:mod:`~nablasso.metric.needed`), and twins are taken in where they help
   (:mod:`~nablasso.metric.twins`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from nablasso.metric.cross_fit import FoldFits, absolute_errors, fewest, fit_fold
from nablasso.metric.from_folds import Ranked, best_ranked
from nablasso.metric.needed import needed
from nablasso.metric.nested import ranking
from nablasso.metric.paired import paired
from nablasso.metric.sample import Sample
from nablasso.metric.screening import screened
from nablasso.metric.search import Trail, best_of_families, plain, search
from nablasso.metric.start import Start
from nablasso.metric.twins import with_twins
from nablasso.progress import track

Array = NDArray[np.float64]
Index = NDArray[np.intp]
Fold = tuple[Index, Index]
Errors = Callable[[Sample, Sequence[FoldFits]], tuple[Array, Array]]

N_TRAILS = 3
TRIAL_FOLDS = 3
WORSE = 2.0  # standard errors of the paired difference that end a candidate


@dataclass(frozen=True)
class Candidate:
    """A trail and what it gave out of sample.

    ``errors`` (number of sizes, rows) on the test rows of ``folds``, one after the other, with the
    ``weights`` of these rows; with a scorer of the user's, folds stand in the place of rows.
    """

    trail: Trail
    folds: list[FoldFits]
    errors: Array
    weights: Array

    @property
    def sizes(self) -> list[int]:
        """Numbers of groups tried."""
        return self.folds[0].sizes

    @property
    def curve(self) -> Array:
        """Mean error for each size."""
        return np.asarray(self.errors @ (self.weights / self.weights.sum()))


@dataclass(frozen=True)
class Selection:
    """The decision: ``chosen`` groups, of which ``ranked`` by the ranking and the rest twins.

    ``size`` indexes the candidate's sizes. ``interrupted``: not all that was planned was done.
    """

    chosen: Index
    ranked: Index
    best: Candidate
    size: int
    candidates: list[Candidate]
    interrupted: bool = False

    def held_out_residuals(self, sample: Sample) -> Array:
        """Residuals of the chosen size on held-out rows, (n, q)."""
        out = np.full(sample.Y.shape, np.nan)
        for fold in self.best.folds:
            out[fold.test] = sample.Y[fold.test] - fold.predictions[self.size]
        return out


def select(
    sample: Sample,
    starts: Sequence[Start],
    folds: Sequence[Fold],
    largest: int,
    *,
    errors: Errors = absolute_errors,
    max_groups: int | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Selection:
    """Search, cross-fit and decide.

    Nested models go up to ``largest`` groups; with their twins no more than ``max_groups``.

    An interrupt ends the work as soon as one fold of every candidate is done, with what is known
    by then; before that it is passed on.
    """
    trails = best_of_families(search(screened(sample), starts, verbose=verbose), N_TRAILS)
    candidates = [Candidate(trail, [], np.empty((0, 0)), np.empty(0)) for trail in trails]
    given_up: list[Candidate] = []
    interrupted = False
    for part in (folds[:1], folds[1:TRIAL_FOLDS], folds[TRIAL_FOLDS:]):
        try:
            if part:
                candidates = _extend(sample, candidates, part, largest, errors, n_jobs, verbose)
        except KeyboardInterrupt:
            if not candidates[0].folds:
                raise
            interrupted = True
            break
        if len(candidates[0].folds) >= TRIAL_FOLDS:
            candidates, worse = _survivors(candidates)
            given_up += worse
    best = min(candidates, key=lambda candidate: float(candidate.curve.min()))
    size, _ = fewest(best.errors, best.weights)
    metric, start = best.trail.metric, best.trail.starts[-1]
    first = Ranked(ranking(sample, metric)[: best.sizes[size]], metric.scales)
    ranked, scales = best_ranked(sample, start, first, best.folds, size)
    ranked = needed(sample, start, ranked, scales)
    chosen = with_twins(sample, plain(starts), ranked, scales, max_groups)
    judged = [best, *_others(candidates, best), *given_up]
    return Selection(chosen, ranked, best, size, judged, interrupted)


def _extend(
    sample: Sample,
    candidates: list[Candidate],
    folds: Sequence[Fold],
    largest: int,
    errors: Errors,
    n_jobs: int | None,
    verbose: int,
) -> list[Candidate]:
    """Follow every candidate in more folds."""
    tasks = [(c, train, test) for c in candidates for train, test in folds]
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    results = run(
        delayed(fit_fold)(sample, train, test, c.trail.starts, largest) for c, train, test in tasks
    )
    done = list(track(results, len(tasks), "Judging metrics out of sample", verbose=verbose))
    extended = []
    for number, candidate in enumerate(candidates):
        fits = candidate.folds + done[number * len(folds) : (number + 1) * len(folds)]
        extended.append(Candidate(candidate.trail, fits, *errors(sample, fits)))
    return extended


def _survivors(candidates: list[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """Candidates not clearly worse than the best, and the others."""
    best = min(candidates, key=lambda candidate: float(candidate.curve.min()))
    reference = best.errors[int(np.argmin(best.curve))]
    alive: list[Candidate] = []
    worse: list[Candidate] = []
    for candidate in candidates:
        own = candidate.errors[int(np.argmin(candidate.curve))]
        loss = paired(own - reference, best.weights)
        (worse if loss.mean > WORSE * loss.error else alive).append(candidate)
    return alive, worse


def _others(candidates: list[Candidate], best: Candidate) -> list[Candidate]:
    rest = [candidate for candidate in candidates if candidate is not best]
    return sorted(rest, key=lambda candidate: float(candidate.curve.min()))
