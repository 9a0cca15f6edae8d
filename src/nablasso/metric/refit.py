"""The predictor on chosen groups: kernel and scales by likelihood, ridge by leave-one-out.

Every kernel is tuned with one scale for all groups; the best ``N_EACH`` of them then get a scale
for each group, and the price of :mod:`~nablasso.metric.likelihood` decides. Kernels with a width
are tuned from a narrow and from a wide start, since the likelihood has local optima there.

At most ``TUNED_ROWS`` rows are tuned on: some dozen evaluations of O(n^3) for every kernel. Where
there are more, the best ``N_FINAL`` are tuned again on all of them, since other rows may put
another kernel first. An interrupt ends the tuning with what is known by then, at least one kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nablasso.kernels import AdditivePower, Gaussian, Kernel, Linear, Matern52, Polynomial
from nablasso.metric.likelihood import Tuned, tune_again, tune_each, tune_joined, tune_shared
from nablasso.metric.nested import Fit, mean_fit, ridge_fit
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start
from nablasso.progress import track

Index = NDArray[np.intp]

TUNED_ROWS = 500
N_EACH = 6
N_FINAL = 4
NARROW = 0.35

# Scales take care of widths and, in polynomials, of offsets. Additive powers have an offset of
# their own, since their scales bend the features instead of multiplying them.
KERNELS: tuple[Kernel, ...] = (
    Linear(),
    Polynomial(2, 0.5),
    Polynomial(3, 0.5),
    Polynomial(4, 0.5),
    Polynomial(6, 0.5),
    AdditivePower(1),
    AdditivePower(2, 0.05),
    AdditivePower(2, 0.5),
    AdditivePower(3, 0.3),
    Gaussian(),
    Matern52(),
)


class Refit(NamedTuple):
    """The predictor, and all that was tuned, the best first; ``cut_short`` by an interrupt."""

    fit: Fit
    tuned: list[Tuned]
    cut_short: bool = False


def refit(
    sample: Sample, chosen: Index, kernels: Sequence[Kernel] = KERNELS, *, verbose: int = 0
) -> Refit:
    """Kernel ridge regression on the chosen groups."""
    if not len(chosen):
        return Refit(mean_fit(sample), [])
    inner = sample.groups(chosen)
    tuned, cut_short = tune(inner.first(TUNED_ROWS), kernels, verbose=verbose)
    if len(inner.X) > TUNED_ROWS and not cut_short:
        again = partial(tune_again, inner)
        final, cut_short = _final(tuned, again, "Tuning on all rows", verbose=verbose)
        tuned = final + tuned[len(final) :]
    return Refit(fitted(sample, chosen, tuned[0]), tuned, cut_short)


def refit_joined(
    sample: Sample, chosen: Index, before: Sequence[Tuned], *, verbose: int = 0
) -> Refit:
    """The same for groups of which the last have joined those that ``before`` was tuned on."""
    again = partial(tune_joined, sample.groups(chosen))
    tuned, cut_short = _final(before, again, "Tuning with products", verbose=verbose)
    if not tuned:
        raise KeyboardInterrupt
    return Refit(fitted(sample, chosen, tuned[0]), tuned, cut_short)


def order_of(kernel: Kernel) -> float:
    """How many variables interact in functions of a kernel; of composite ones it is not known."""
    if isinstance(kernel, Linear):
        return 1.0
    return float(getattr(kernel, "degree", getattr(kernel, "order", np.inf)))


def fitted(sample: Sample, chosen: Index, tuned: Tuned) -> Fit:
    """Kernel ridge regression on groups in the metric tuned for them."""
    scales = tuned.scales[sample.groups(chosen).labels]
    return ridge_fit(sample, tuned.kernel, sample.columns(chosen), scales)


def tune(
    sample: Sample, kernels: Sequence[Kernel], *, verbose: int = 0
) -> tuple[list[Tuned], bool]:
    """All kernels with one scale, the best with a scale for each group; by increasing price.

    Also whether an interrupt left some of them out.
    """
    n_each = 0 if sample.n_groups == 1 else min(N_EACH, len(kernels))
    tuned: list[Tuned] = []

    def steps() -> Iterator[Tuned]:
        for kernel in kernels:
            yield _one_scale(sample, kernel)
        for one in sorted(tuned, key=_price)[:n_each]:
            yield tune_each(sample, one)

    total = len(kernels) + n_each
    cut_short = _collect(track(steps(), total, "Tuning the predictor", verbose=verbose), tuned)
    return sorted(tuned or [_one_scale(sample, kernels[0])], key=_price), cut_short


def _final(
    tuned: Sequence[Tuned], again: Callable[[Tuned], Tuned], what: str, *, verbose: int = 0
) -> tuple[list[Tuned], bool]:
    """The best tuned again, by increasing price, and whether an interrupt left some out."""
    best, found = tuned[:N_FINAL], list[Tuned]()
    cut_short = _collect(track(map(again, best), len(best), what, verbose=verbose), found)
    return sorted(found, key=_price), cut_short


def _collect(steps: Iterable[Tuned], tuned: list[Tuned]) -> bool:
    """Append what comes; whether an interrupt ended it."""
    try:
        for one in steps:
            tuned.append(one)
    except KeyboardInterrupt:
        return True
    return False


def _one_scale(sample: Sample, kernel: Kernel) -> Tuned:
    multipliers = (1.0, NARROW) if kernel.has_width else (1.0,)
    return min((tune_shared(sample, Start(kernel, m)) for m in multipliers), key=_price)


def _price(tuned: Tuned) -> float:
    return tuned.price
