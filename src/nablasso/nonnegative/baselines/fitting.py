"""From a task to its functions, with one of the baselines in place of the PSD model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nablasso.errors import InvalidParameterError
from nablasso.nonnegative.base import Fit
from nablasso.nonnegative.baselines import projected
from nablasso.nonnegative.baselines.convex import fit_convex
from nablasso.nonnegative.baselines.functions import Measure
from nablasso.nonnegative.baselines.glm import fit_density, fit_regression
from nablasso.nonnegative.factor import make_factors
from nablasso.nonnegative.task import Task

MODELS = ("pnm", "glm", "ncm")
MAX_ITER = 1000
WIDER = 2.0  # variance of the base measure of an exponential density, over that of the data


def fit(
    task: Task,
    model: str,
    *,
    tol: float,
    max_iter: int | None = None,
    random_state: int = 0,
    solver: str = "auto",
) -> Fit:
    """Functions of the task's blocks, in the units of ``task.X``.

    Parameters
    ----------
    task : Task
        Its ``l1`` is not used: the penalty of a linear model is ``(l2/2) |w|^2``.
    model : {"pnm", "glm", "ncm"}
    tol : float
        Gap to be reached; a gradient norm where there is no gap.
    max_iter : int, optional
        Newton or quasi-Newton steps; by default 1000.
    random_state : int
        For anchors, draws of the base measure and starts.
    solver : {"auto", "projected_gradient"}
        Of "ncm": a barrier method, or the paper's projected gradient.
    """
    if model not in MODELS:
        raise InvalidParameterError(f"model must be one of {('psd', *MODELS)}; got {model!r}.")
    if task.functionals:
        raise InvalidParameterError(
            f"Linear constraints need model='psd'; got {len(task.functionals)} with {model!r}."
        )
    rng = np.random.default_rng(random_state)
    factors = make_factors(task)
    default = projected.MAX_ITER if solver == "projected_gradient" else MAX_ITER
    max_iter = default if max_iter is None else max_iter
    if model != "glm":
        return fit_convex(task, factors, model, tol=tol, max_iter=max_iter, rng=rng, solver=solver)
    if task.normalise:
        own = Measure.of(task) if task.base is not None else _wider(task)
        return fit_density(task, factors[0], own, tol=tol, max_iter=max_iter, rng=rng)
    return fit_regression(task, factors, tol=tol, max_iter=max_iter, rng=rng)


def _wider(task: Task) -> Measure:
    """A Gaussian with the mean of the rows and twice their variance."""
    mean = task.weights @ task.X
    spread = task.weights @ (task.X - mean) ** 2
    return replace(Measure.of(task), mean=mean, variance=np.maximum(WIDER * spread, 1e-12))
