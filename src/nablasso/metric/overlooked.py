r"""Variables that only a product shows: a second look at what a fit leaves over.

A weak product of three columns, next to strong effects of others, is nearly free to describe, one
number, and expensive for a kernel on all these columns, which has to learn a function of more
variables. So the search may well leave such columns out, and then every product

.. math:: h = x_a x_b \quad \text{or} \quad h = x_a x_b x_s, \qquad
          a \text{ left out},\; b \text{ another},\; s \text{ selected, a third}

of standardised columns, clipped as they are, is compared with the residuals ``r`` of the fit. Both
are left-out residuals of the same ridge regression on the selected columns, ``r`` of the target and
``r_h`` of the product, so that what the fit can tell of either is gone, and

.. math:: t = \frac{\sum_i p_i r_i r_{h,i}}{\sqrt{\sum_i p_i^2 r_i^2 r_{h,i}^2}}

is about a standard normal number if the left-out columns tell nothing more (the generalised
covariance measure of Shah and Peters). Its size is compared with Student's quantile at
``SIGNIFICANCE`` over the number of all products. A sum in its own deviations errs on the safe side
when rows are uneven; standard errors of the slope, even those of left-out residuals, do not: they
found a product in up to a quarter of draws without one. With fewer than ``LEAST_ROWS`` rows such a
tail would rest on few of them, and no product is believed.

The columns of a clear product join the selected ones if the left-out error then clearly falls, and
the next look is at what is left over by all of them.

Cost: a matrix product O(n d^2) for 1 and each of the first ``MAX_PARTNERS`` selected columns, in
single precision; the ``JUDGED`` largest sums of each are then tested, with one eigendecomposition.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from nablasso.metric.held_out import clipped
from nablasso.metric.likelihood import Tuned
from nablasso.metric.nested import Fit
from nablasso.metric.paired import paired
from nablasso.metric.products import largest_products
from nablasso.metric.refit import Refit, fitted, order_of, refit_joined
from nablasso.metric.sample import Sample
from nablasso.metric.start import Start
from nablasso.spaces import RepresenterSpace, RidgeInverse

Array = NDArray[np.float64]
Index = NDArray[np.intp]

SIGNIFICANCE = 0.01
LEAST_ROWS = 500
MAX_COLUMNS = 2000
MAX_PARTNERS = 20  # selected columns that products of two are multiplied by
JUDGED = 20  # products, the largest, for each factor and target
ROUNDS = 3
CLEARLY = 1.0  # standard errors of the paired difference


class Product(NamedTuple):
    """A product of columns, and how probable one as clear is by chance, all in all."""

    columns: tuple[int, ...]
    probability: float


class Joined(NamedTuple):
    """Groups, the predictor on them, and the products that brought some of them in."""

    chosen: Index
    refit: Refit
    products: tuple[Product, ...]


def with_products(
    sample: Sample, chosen: Index, refit: Refit, largest: int | None = None, *, verbose: int = 0
) -> Joined:
    """The chosen groups and those that clear products bring in, at most ``largest`` in all.

    An interrupt ends it with what is known by then.
    """
    now = Joined(chosen, refit, ())
    try:
        for _ in range(ROUNDS):
            after = None if now.refit.cut_short else _join(sample, now, largest, verbose)
            if after is None:
                break
            now = after
    except KeyboardInterrupt:
        now = now._replace(refit=now.refit._replace(cut_short=True))
    return now


def _join(sample: Sample, now: Joined, largest: int | None, verbose: int) -> Joined | None:
    """One look: the groups of the clearest product taken in, if that helps."""
    product = overlooked(sample, now.refit.fit)
    if product is None:
        return None
    new = np.setdiff1d(sample.labels[list(product.columns)], now.chosen)
    chosen = np.concatenate([now.chosen, new])
    able: dict[Start, Tuned] = {}  # the best of every kernel that can follow the product
    for one in now.refit.tuned:
        if order_of(one.kernel) >= len(product.columns):
            able.setdefault(one.start, one)
    if not able or (largest is not None and len(chosen) > largest):
        return None
    kernels = list(able.values())
    before = fitted(sample, now.chosen, kernels[0])  # lest another kernel, not the columns, help
    before = min(now.refit.fit, before, key=lambda fit: fit.error)
    after = refit_joined(sample, chosen, kernels, verbose=verbose)
    squares = [np.sum(fit.residuals**2, axis=1) for fit in (before, after.fit)]
    gain = paired(squares[0] - squares[1], sample.weights)
    if gain.mean <= CLEARLY * gain.error:
        if after.cut_short:
            raise KeyboardInterrupt
        return None
    return Joined(chosen, after, (*now.products, product))


def overlooked(sample: Sample, fit: Fit) -> Product | None:
    """The product of left-out columns that what a fit leaves over goes with, if that is clear."""
    if fit.space is None or len(sample.X) < LEAST_ROWS:
        return None
    space = RepresenterSpace(fit.space.kernel, fit.space.X, fit.space.scales)
    inverse = RidgeInverse(space.gram, sample.weights)
    left_out = partial(inverse.loo_residuals, ridge=fit.ridge)
    return clear_product(sample, fit.columns, fit.residuals, left_out)


def clear_product(
    sample: Sample, selected: Index, residuals: Array, left_out: Callable[[Array], Array]
) -> Product | None:
    """The clearest product for residuals (n, q), unless it may be chance.

    ``left_out`` gives what the selected columns do not tell of products (n, k).
    """
    d = sample.X.shape[1]
    dropped = np.setdiff1d(np.arange(d), selected)
    if not len(dropped) or d > MAX_COLUMNS:
        return None
    Z = clipped(sample.X, sample.weights)
    factors = [(), *((int(s),) for s in selected[:MAX_PARTNERS])]
    n_pairs = len(dropped) * (len(dropped) - 1) / 2 + len(dropped) * (d - len(dropped))
    n_tried = n_pairs * len(factors) * residuals.shape[1]
    freedom = 1 / float(sample.weights @ sample.weights) - 1
    best = Product((), np.inf)
    for factor in factors:
        times = Z[:, factor].prod(axis=1)[:, None]
        pairs = largest_products(sample, residuals * times, dropped, JUDGED)
        pairs = pairs[~np.isin(pairs, factor).any(axis=1)]  # no column twice
        if not len(pairs):
            continue
        rest = left_out(clipped(Z[:, pairs].prod(axis=2) * times, sample.weights))
        sizes = studentised(residuals, rest, sample.weights)
        k = int(np.argmax(sizes))
        found = Product((*map(int, pairs[k]), *factor), 2 * float(stdtr(freedom, -sizes[k])))
        best = min(best, found, key=lambda one: one.probability)
    best = best._replace(probability=best.probability * n_tried)
    return best if best.probability <= SIGNIFICANCE else None


def studentised(residuals: Array, products: Array, weights: Array) -> Array:
    """Size of the sum of ``r h`` in its own deviations, the largest over targets, (k,)."""
    sizes = np.zeros(products.shape[1])
    for r in residuals.T:
        terms = (weights * r)[:, None] * products
        deviation = np.linalg.norm(terms, axis=0)
        sums = np.abs(terms.sum(axis=0))
        np.maximum(sizes, np.divide(sums, deviation, out=0 * sums, where=deviation > 0), out=sizes)
    return sizes
