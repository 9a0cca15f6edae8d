r"""The judge: compares an answer with the truth, and many answers with a target or a rival.

With the true support A and the selected one B: precision |A n B| / |B|, recall |A n B| / |A|,
Tanimoto distance 1 - |A n B| / |A u B|, exact support A = B. Empty over empty counts as right:
precision and recall 1, distance 0. The test error is the root mean squared error; for labels that
is the square root of the error rate.

A rate is met when its 95 % Wilson interval reaches the target and the estimate is at most three
points below it. The ratio to the oracle is the mean RMSE over the seeds divided by the oracle's
mean RMSE over the same seeds; an error ratio is met when it is at most its target.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest, norm, wilcoxon

SLACK = 0.03
LEVEL = 0.95


class Support(NamedTuple):
    """How a selected support compares with the true one."""

    exact: bool
    precision: float
    recall: float
    tanimoto: float


def judge_support(
    selected: NDArray[np.bool_], truth: NDArray[np.bool_], indifferent: tuple[int, ...] = ()
) -> Support:
    """Compare two masks; ``indifferent`` columns are left out of both."""
    counted = np.ones(len(truth), dtype=bool)
    counted[list(indifferent)] = False
    B, A = np.asarray(selected, dtype=bool)[counted], truth[counted]
    both, either = int((A & B).sum()), int((A | B).sum())
    return Support(
        exact=both == either,
        precision=_share(both, int(B.sum())),
        recall=_share(both, int(A.sum())),
        tanimoto=1 - _share(both, either),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def rmse(prediction: ArrayLike, y: ArrayLike) -> float:
    """Root mean squared error; of labels, the square root of the error rate."""
    p, truth = np.asarray(prediction, dtype=float), np.asarray(y, dtype=float)
    return float(np.sqrt(np.mean((p - truth) ** 2)))


def wilson(successes: int, runs: int, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's interval of a rate: (p + z^2/2n -+ z sqrt(p q/n + z^2/4n^2)) / (1 + z^2/n)."""
    if runs == 0:
        return 0.0, 1.0
    z = float(norm.ppf((1 + level) / 2))
    p = successes / runs
    centre = p + z**2 / (2 * runs)
    half = z * np.sqrt(p * (1 - p) / runs + z**2 / (4 * runs**2))
    scale = 1 + z**2 / runs
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def rate_met(successes: int, runs: int, target: float) -> bool:
    """The interval reaches the target and the estimate is within three points of it."""
    if runs == 0:
        return False
    rounding = 1e-12
    near = successes / runs >= target - SLACK - rounding
    return near and wilson(successes, runs)[1] >= target


def ratio_of_means(errors: ArrayLike, oracle: ArrayLike) -> float:
    """Mean error over the oracle's mean error, seeds paired; 1 where they are equal, even zero."""
    ours, theirs = (float(np.mean(np.asarray(part, float))) for part in (errors, oracle))
    if ours == theirs:
        return 1.0
    return ours / theirs if theirs > 0 else float("inf")


class Comparison(NamedTuple):
    """Contestant a against b over the same seeds; the p-values are one-sided, for "a is worse"."""

    seeds: int
    exact_difference: float
    exact_p: float
    ratio: float
    error_p: float

    def worse(self, level: float = 0.05) -> bool:
        """Significantly worse in exact support or in test error."""
        return min(self.exact_p, self.error_p) < level


def compare(
    exact_a: ArrayLike, exact_b: ArrayLike, errors_a: ArrayLike, errors_b: ArrayLike
) -> Comparison:
    """Sign test on the seeds where one support is exact; Wilcoxon's signed ranks on the RMSE."""
    hit_a, hit_b = np.asarray(exact_a, dtype=bool), np.asarray(exact_b, dtype=bool)
    a, b = np.asarray(errors_a, dtype=float), np.asarray(errors_b, dtype=float)
    lost, won = int((hit_b & ~hit_a).sum()), int((hit_a & ~hit_b).sum())
    exact_p = 1.0 if lost + won == 0 else float(binomtest(lost, lost + won, 0.5, "greater").pvalue)
    # differences at the level of rounding are ties, not wins
    difference = np.where(np.isclose(a, b, rtol=1e-9, atol=0), 0.0, a - b)
    if not difference.any():
        error_p = 1.0
    else:
        error_p = float(wilcoxon(difference, zero_method="zsplit", alternative="greater").pvalue)
    difference_of_rates = float(hit_a.mean() - hit_b.mean())
    return Comparison(len(a), difference_of_rates, exact_p, ratio_of_means(a, b), error_p)
