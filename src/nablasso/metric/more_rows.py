r"""The same kernel, metric and columns on more rows than a matrix of them can hold.

Up to ``EXACT_ROWS`` rows the predictor is exact. Beyond, it is a function of landmarks,

.. math:: f = b + \sum_{l \le m} u_l\, k(x_l, \cdot),

by ridge regression of all rows on the m Nystrom features (:mod:`nablasso.spaces.nystrom`): one pass
over the rows, O(n m^2). There are as many landmarks as ``WORK`` operations allow, from
``LANDMARKS[0]`` to ``LANDMARKS[1]``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from nablasso.metric.nested import Fit, mean_fit, ridge_fit
from nablasso.metric.sample import Sample
from nablasso.spaces import RepresenterSpace
from nablasso.spaces.feature_ridge import FeatureRidge
from nablasso.spaces.nystrom import nystrom_features

Array = NDArray[np.float64]

EXACT_ROWS = 4000
WORK = 3e11
LANDMARKS = (512, 2000)


def exactly(sample: Sample, fit: Fit) -> tuple[Fit, Sample]:
    """On the first ``EXACT_ROWS`` rows, which come back; on all of them where it is the mean."""
    if fit.space is None:
        return mean_fit(sample), sample
    sample = sample.first(EXACT_ROWS)
    return ridge_fit(sample, fit.space.kernel, fit.columns, fit.space.scales), sample


def by_landmarks(sample: Sample, fit: Fit, Z: Array, y: Array, weights: Array) -> Fit:
    """On the sample and on further rows: ``Z`` of the fit's columns, ``y`` and ``weights``.

    The weights are in the units of those of the sample. Residuals are those of the sample's rows,
    each left out.
    """
    assert fit.space is not None
    inner = sample.X[:, fit.columns]
    n = len(inner) + len(Z)
    m = int(np.clip(np.sqrt(WORK / n), *LANDMARKS))
    features = nystrom_features(fit.space.kernel, fit.space.scales, inner[:m])
    p = np.concatenate([sample.weights, weights])
    ridge = FeatureRidge(
        features,
        np.concatenate([inner, Z]),
        np.concatenate([sample.Y[:, 0], y]),
        p / p.sum(),
        fit_intercept=True,
    )
    best = ridge.best_ridge()
    w, intercept = ridge.coefficients(best)
    u = solve_triangular(features.factor, w, lower=True, trans="T", check_finite=False)
    space = RepresenterSpace(features.kernel, features.landmarks, features.scales)
    left_out = ridge.loo_residuals(np.array([best]), len(inner))
    residuals = np.concatenate(list(left_out))
    return replace(
        fit,
        intercept=np.array([intercept]),
        residuals=residuals,
        error=float(np.sum(sample.weights @ residuals**2)),
        space=space,
        u=u[:, None],
        ridge=best,
    )
