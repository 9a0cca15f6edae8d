r"""The judge: compares an answer with the truth, and many answers with a target or a rival.

With the true support A and the selected one B: precision |A n B| / |B|, recall |A n B| / |A|,
Tanimoto distance 1 - |A n B| / |A u B|, exact support A = B. Empty over empty counts as right:
precision and recall 1, distance 0. The test error is the root mean squared error; for labels that
is the square root of the error rate.

Of classes are judged the area under the curve (of class 1 against 0; two classes only) and the mean
log-loss, of predicted distributions the coverage and mean width of 90 % intervals and the mean
log-likelihood. ``last_rank`` is the place of the last relevant column in the contestant's order
(the last place for ties); at best the number of relevant columns. Total Sobol' indices and slopes
of a predictor are those of its predictions over the population's inputs, by Jansen's formula and by
differences; their errors are the largest over the inputs.

A rate is met when its 95 % Wilson interval reaches the target and the estimate is at most three
points below it. The ratio to the oracle is the mean RMSE over the seeds divided by the oracle's
mean RMSE over the same seeds; an error ratio is met when it is at most its target.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest, norm, rankdata, wilcoxon
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.contest import Answer, Array
from benchmarks.problem import Draw, Inputs

SLACK = 0.03
LEVEL = 0.95
SOBOL_POINTS = 2000
SOBOL_BLOCK = 10  # changed copies of these points predicted in one call
STEP = 1e-3  # of a difference, in deviations of the input
SMALLEST_PROBABILITY = 1e-6  # one certain mistake must not be the whole log-loss


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
    """Root mean squared error."""
    p, truth = np.asarray(prediction, dtype=float), np.asarray(y, dtype=float)
    return float(np.sqrt(np.mean((p - truth) ** 2)))


def label_error(prediction: ArrayLike, y: ArrayLike) -> float:
    """Square root of the error rate: the RMSE of two labels; numbers of more have no distance."""
    return float(np.sqrt(np.mean(np.asarray(prediction) != np.asarray(y))))


def judge_prediction(answer: Answer, draw: Draw, *, classes: bool) -> dict[str, float]:
    """Everything that can be said of the test rows; nothing where there are none."""
    if not len(draw.y_test):
        return {}
    predicted = np.asarray(answer.predict(draw.X_test), dtype=float)
    measured = label_error if classes else rmse
    error = measured(predicted, draw.y_test)
    found = {"rmse": error}
    if draw.noise_free is not None:
        found["rmse_noise_free"] = measured(predicted, draw.noise_free)
    if classes:
        return found | _judge_classes(answer, draw)
    spread = float(np.std(draw.y_test))
    found["r2"] = 1 - (error / spread) ** 2 if spread > 0 else float("nan")
    if answer.interval is not None:
        low, high = np.asarray(answer.interval(draw.X_test), dtype=float).T
        found["coverage"] = float(np.mean((low <= draw.y_test) & (draw.y_test <= high)))
        found["width"] = float(np.mean(high - low))
    if answer.deviation is not None:
        scale = np.asarray(answer.deviation(draw.X_test), dtype=float)
        found["log_likelihood"] = float(np.mean(norm.logpdf(draw.y_test, predicted, scale)))
    return found


def _judge_classes(answer: Answer, draw: Draw) -> dict[str, float]:
    if answer.probability is None:
        return {}
    P = np.clip(answer.probability(draw.X_test), SMALLEST_PROBABILITY, 1)
    P /= P.sum(axis=1, keepdims=True)
    found = {"log_loss": float(log_loss(draw.y_test, P, labels=range(P.shape[1])))}
    if P.shape[1] == 2 and len(np.unique(draw.y_test)) == 2:
        found["auc"] = float(roc_auc_score(draw.y_test, P[:, 1]))
    return found


def last_rank(answer: Answer, truth: NDArray[np.bool_]) -> float:
    """Place of the last relevant column, 1 the first; ties share their last place."""
    scores = answer.support.astype(float) if answer.scores is None else answer.scores
    return float(rankdata(-np.asarray(scores, dtype=float), "max")[truth].max())


def judge_indices(answer: Answer, inputs: Inputs, seed: int) -> dict[str, float]:
    """Largest error of total indices and of slopes."""
    totals, slopes = indices(answer, inputs, np.random.default_rng(seed))
    given = totals if answer.totals is None else answer.totals
    return {
        "total_error": float(np.max(np.abs(given - inputs.totals))),
        "slope_error": float(np.max(np.abs(slopes - inputs.slopes))),
    }


def indices(answer: Answer, inputs: Inputs, rng: np.random.Generator) -> tuple[Array, Array]:
    """E (f(A) - f(A with B's column))^2 / 2 var f, and E (df/dx)^2 var x / var f."""
    A, B = (inputs.sample(SOBOL_POINTS, rng) for _ in range(2))
    d, sd = A.shape[1], A.std(axis=0)
    changed = np.repeat(A[None], 1 + 2 * d, axis=0)  # A, then a column of B, then a step
    for a in range(d):
        changed[1 + a, :, a] = B[:, a]
        changed[1 + d + a, :, a] += STEP * sd[a]
    cuts = range(SOBOL_BLOCK, len(changed), SOBOL_BLOCK)
    blocks = (answer.predict(np.vstack(part)) for part in np.array_split(changed, cuts))
    values = np.concatenate([np.asarray(block, float) for block in blocks]).reshape(1 + 2 * d, -1)
    variance = float(values[0].var()) or 1.0
    squares = np.mean((values[1:] - values[0]) ** 2, axis=1) / variance
    totals, slopes = squares[:d] / 2, squares[d:] / STEP**2
    return totals, slopes


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
