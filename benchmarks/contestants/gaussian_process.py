"""Gaussian process with one length scale per variable, by maximum marginal likelihood.

Twice: as a ranker (by 1 / length scale) with the shared wrapper, and as it is ("native"), where it
predicts itself and a column is selected when its length scale stays below 30 deviations: of 5 to
999 the best on one split of 16 Friedman tables, with the true columns in view.
"""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from benchmarks.contest import (
    Answer,
    Array,
    Contestant,
    Question,
    normal_interval,
    one_against_rest,
)
from benchmarks.contestants.ranking import Ranker, Scaler

LARGEST = 1e3  # length scale at which a column no longer matters
SELECTED = 30.0  # length scale, in deviations of the column, below which it does


def fitted_process(X: Array, y: Array, restarts: int, seed: int) -> GaussianProcessRegressor:
    """Anisotropic RBF times a constant plus white noise, on standardised columns.

    The first start has all length scales at sqrt d, where the kernel sees all rows; the restarts
    are drawn by scikit-learn, log-uniform in the bounds.
    """
    d = X.shape[1]
    radial = RBF(np.full(d, np.sqrt(d)), (0.1, LARGEST))
    kernel = ConstantKernel(1.0, (1e-3, 1e4)) * radial + WhiteKernel(0.1, (1e-8, 1e1))
    model = GaussianProcessRegressor(
        kernel, normalize_y=True, n_restarts_optimizer=restarts, random_state=seed
    )
    return model.fit(X, y)


def length_scales(model: GaussianProcessRegressor, d: int) -> Array:
    """One length scale per column."""
    return np.broadcast_to(np.asarray(model.kernel_.k1.k2.length_scale, dtype=float), (d,))


class GaussianProcess(Ranker):
    """Ranked by 1 / length scale."""

    name = "gaussian_process"
    tuning = (
        "all hyper-parameters by marginal likelihood (L-BFGS), first start at length scale sqrt d, "
        "2 random restarts; k and refit by the wrapper"
    )
    restarts = 2

    def scores(self, question: Question) -> Array:
        """1 / length scale on standardised columns."""
        Z = Scaler.of(question.X)(question.X)
        model = fitted_process(Z, question.signed, self.restarts, question.seed)
        return np.asarray(1 / length_scales(model, Z.shape[1]))


class NativeGaussianProcess(Contestant):
    """Its own predictions; columns of length scale below 30."""

    name = "gaussian_process_native"
    tuning = (
        "all hyper-parameters by marginal likelihood (L-BFGS), first start at length scale sqrt d, "
        "1 random restart; predicts itself, selects length scales below 30; "
        "classes by regression, more than two by one against the rest"
    )
    version = "3"
    restarts = 1

    def fit(self, question: Question) -> Answer:
        """Maximise the marginal likelihood."""
        if question.many_classes:
            return one_against_rest(self.fit, question)
        scaler = Scaler.of(question.X)
        model = fitted_process(scaler(question.X), question.signed, self.restarts, question.seed)
        scales = length_scales(model, question.X.shape[1])

        def deviation(new: Array) -> Array:
            return np.asarray(model.predict(scaler(new), return_std=True)[1])

        return Answer(
            scales < SELECTED,
            lambda new: question.decode(model.predict(scaler(new))),
            scores=1 / scales,
            interval=normal_interval(lambda new: model.predict(scaler(new)), deviation),
            deviation=deviation,
        )


CONTESTANTS = (GaussianProcess(), NativeGaussianProcess())
