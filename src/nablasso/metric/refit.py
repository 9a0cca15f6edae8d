"""The predictor on chosen groups: kernel and scales by likelihood, ridge by leave-one-out.

Every kernel is tuned with one scale for all groups; the best ``N_EACH`` of them then get a scale
for each group, and the price of :mod:`~nablasso.metric.likelihood` decides. Kernels with a width
are tuned from a narrow and from a wide start, since the likelihood has local optima there.

At most ``TUNED_ROWS`` rows are tuned on: some dozen evaluations of O(n^3) for every kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from nablasso.kernels import AdditivePower, Gaussian, Kernel, Linear, Matern52, Polynomial
from nablasso.metric.likelihood import Tuned, tune_each, tune_shared
from nablasso.metric.nested import Fit, mean_fit, ridge_fit
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start
from nablasso.progress import track

Index = NDArray[np.intp]

TUNED_ROWS = 500
N_EACH = 6
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


def refit(
    sample: Sample, chosen: Index, kernels: Sequence[Kernel] = KERNELS, *, verbose: int = 0
) -> tuple[Fit, list[Tuned]]:
    """Kernel ridge regression on the chosen groups, and all that was tuned, the best first."""
    if not len(chosen):
        return mean_fit(sample), []
    inner = sample.groups(chosen)
    tuned = tune(inner.first(TUNED_ROWS), kernels, verbose=verbose)
    scales = tuned[0].scales[inner.labels]
    return ridge_fit(sample, tuned[0].kernel, sample.columns(chosen), scales), tuned


def tune(sample: Sample, kernels: Sequence[Kernel], *, verbose: int = 0) -> list[Tuned]:
    """All kernels with one scale, the best with a scale for each group; by increasing price."""
    n_each = 0 if sample.n_groups == 1 else min(N_EACH, len(kernels))

    def steps() -> Iterator[Tuned]:
        shared = []
        for kernel in kernels:
            shared.append(_one_scale(sample, kernel))
            yield shared[-1]
        for one in sorted(shared, key=_price)[:n_each]:
            yield tune_each(sample, one)

    total = len(kernels) + n_each
    return sorted(track(steps(), total, "Tuning the predictor", verbose=verbose), key=_price)


def _one_scale(sample: Sample, kernel: Kernel) -> Tuned:
    multipliers = (1.0, NARROW) if kernel.has_width else (1.0,)
    return min((tune_shared(sample, Start(kernel, m)) for m in multipliers), key=_price)


def _price(tuned: Tuned) -> float:
    return tuned.price
