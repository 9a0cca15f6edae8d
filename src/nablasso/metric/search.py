"""Search for the metric: many starts, pruned by successive halving, then crossed.

A single walk can collapse onto one variable, or be blind where its kernel is the wrong one. So:

1. every start takes ``ROUND`` passes; the better half (by their criterion) goes on, until
   ``LAST`` are left, which walk to the end;
2. the best metrics of different families are handed to every family as initial scales: a low-order
   kernel finds the variables, another one the shape.

The record of what was followed, :class:`Trail`, can be followed again on other rows: that is how
folds relearn the metric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nablasso.metric.passes import DROP, KEPT_SCALE, Metric, Walk
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start
from nablasso.progress import track

Array = NDArray[np.float64]

N_PASSES = 8
N_PASSES_CROSSED = 4
ROUND = 3
LAST = 6
N_CROSSED = 2  # metrics handed on


@dataclass(frozen=True)
class Trail:
    """The starts followed one after the other, and the metric they led to."""

    starts: tuple[Start, ...]
    metric: Metric
    criterion: float

    def __str__(self) -> str:
        return " -> ".join(str(start) for start in self.starts)


def search(sample: Sample, starts: Sequence[Start], *, verbose: int = 0) -> list[Trail]:
    """All trails, by increasing criterion."""
    families = len({start.family for start in starts})
    crossed = min(N_CROSSED, families) * sum(rounds(len(plain(starts)), N_PASSES_CROSSED))
    total = len(starts) + sum(rounds(len(starts), N_PASSES)) + crossed
    trails: list[Trail] = []
    for _ in track(_steps(sample, starts, trails), total, "Searching metrics", verbose=verbose):
        pass
    return sorted(trails, key=lambda trail: trail.criterion)


def _steps(sample: Sample, starts: Sequence[Start], trails: list[Trail]) -> Iterator[None]:
    """Walk, cross and note the trails, stopping for a moment after every piece of work."""
    first = []
    for start in starts:
        first.append(Walk(sample, start))
        yield
    yield from halve(first, N_PASSES)
    trails += [Trail((walk.start,), walk.best, min(walk.criteria)) for walk in first]
    for trail in best_of_families(trails, N_CROSSED):
        scales = handed_on(sample, trail.metric)
        crossed = [Walk(sample, start, scales) for start in plain(starts)]
        yield from halve(crossed, N_PASSES_CROSSED)
        trails += [
            Trail((*trail.starts, walk.start), walk.best, min(walk.criteria)) for walk in crossed
        ]


def plain(starts: Sequence[Start]) -> list[Start]:
    """One start per kernel and width."""
    return [start for start in starts if start.power == 1.0 and not start.forward]


def follow(sample: Sample, starts: Iterable[Start]) -> Metric:
    """The metric that the same starts lead to on these rows."""
    metric: Metric | None = None
    for start in starts:
        if metric is None:
            metric = Walk(sample, start).advance(N_PASSES).best
        else:
            scales = handed_on(sample, metric)
            metric = Walk(sample, start, scales).advance(N_PASSES_CROSSED).best
    assert metric is not None
    return metric


def halve(walks: Sequence[Walk], n_passes: int) -> Iterator[None]:
    """Advance all walks by ``ROUND`` passes, the better half by as many again, and so on."""
    running, left = list(walks), n_passes
    for count in rounds(len(walks), n_passes):
        running = sorted(running, key=_reached)[:count]
        step = min(ROUND, left) if count > LAST else left
        for walk in running:
            walk.advance(step)
            yield
        left -= step


def rounds(n_walks: int, n_passes: int) -> list[int]:
    """How many walks go on in each round."""
    counts, left = [], n_passes
    while n_walks and left > 0:
        counts.append(n_walks)
        left -= min(ROUND, left) if n_walks > LAST else left
        n_walks = max(LAST, n_walks // 2)
    return counts


def _reached(walk: Walk) -> float:
    return min(walk.criteria, default=np.inf)


def best_of_families(trails: Sequence[Trail], n: int) -> list[Trail]:
    """The best trail of each of the ``n`` best families, by the kernel they end with."""
    best: dict[str, Trail] = {}
    for trail in sorted(trails, key=lambda trail: trail.criterion):
        best.setdefault(trail.starts[-1].family, trail)
    return list(best.values())[:n]


def handed_on(sample: Sample, metric: Metric) -> Array:
    """Initial scales for another kernel: the derivative norms of this one's fit."""
    ratios = metric.ratios(sample)
    scales = np.where(ratios < DROP, 0.0, ratios)
    return np.where(sample.kept, np.maximum(scales, KEPT_SCALE), scales)
