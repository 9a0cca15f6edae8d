"""A data set whose relevant variables are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nablasso.datasets.random_source import RandomSource
from nablasso.types import Array, Mask


@dataclass(frozen=True, eq=False)
class KnownSupport:
    """Rows of ``y = noise_free + noise`` together with the right answer.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Inputs.
    y : ndarray of shape (n_samples,)
        Outputs, with noise.
    support : ndarray of bool, shape (n_features,)
        True for the variables the noiseless output depends on.
    feature_names : tuple of str
        ``("x1", ..., "xd")`` unless the data set has names of its own.
    groups : tuple of tuples of int, or None
        A partition of the column indices where the experiment defines one.
    noise_free : ndarray of shape (n_samples,)
        The noiseless output.
    noise_sd : float or ndarray of shape (n_samples,)
        Standard deviation of the noise, one for all rows or one per row; NaN where it has none.
    gradient : ndarray of shape (n_samples, n_features), or None
        Partial derivatives of the noiseless output at the rows; None where it is not a smooth
        function of ``X``.
    """

    X: Array
    y: Array
    support: Mask
    feature_names: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...] | None
    noise_free: Array
    noise_sd: float | Array = float("nan")
    gradient: Array | None = None


def add_noise(
    X: Array,  # (n_samples, n_features)
    noise_free: Array,  # (n_samples,)
    relevant: Sequence[int],
    noise_sd: float | Array,  # for all rows, or (n_samples,)
    rng: RandomSource,
    *,
    gradient: Array | None = None,  # (n_samples, n_features)
    feature_names: tuple[str, ...] | None = None,
    groups: tuple[tuple[int, ...], ...] | None = None,
) -> KnownSupport:
    """Set y = noise_free + N(0, noise_sd^2) and pack it with the support ``relevant``.

    Raises
    ------
    ValueError
        If ``noise_sd`` is negative.
    """
    if np.any(np.asarray(noise_sd) < 0):
        raise ValueError(f"The noise is a standard deviation, at least 0; got {noise_sd}.")
    n_samples, n_features = X.shape
    support = np.zeros(n_features, dtype=np.bool_)
    support[list(relevant)] = True
    if feature_names is None:
        feature_names = tuple(f"x{a + 1}" for a in range(n_features))
    y = noise_free + noise_sd * rng.standard_normal(size=n_samples)
    return KnownSupport(X, y, support, feature_names, groups, noise_free, noise_sd, gradient)


def partial_derivatives(
    X: Array,  # (n_samples, n_features)
    columns: Sequence[int],
    values: Array,  # (n_samples, len(columns))
) -> Array:
    """The gradient with these values in these columns and zero elsewhere."""
    gradient = np.zeros_like(X)
    gradient[:, list(columns)] = values
    return gradient


def noise_level(signal_sd: float, snr: float) -> float:
    """Noise standard deviation ``signal_sd / snr``, where ``snr`` is sd(f) / sd(noise).

    ``signal_sd`` is the population value of sd(f), never one computed from the drawn rows, so
    that training, validation and test sets carry the same noise. ``snr=inf`` means no noise.

    Raises
    ------
    ValueError
        If ``snr`` is not positive.
    """
    if not snr > 0:
        raise ValueError(f"`snr` is sd(signal) / sd(noise), above 0; got {snr}.")
    return signal_sd / snr


def require_features(n_features: int, at_least: int) -> None:
    """Refuse a table too narrow to hold the relevant variables.

    Raises
    ------
    ValueError
        If ``n_features < at_least``.
    """
    if n_features < at_least:
        raise ValueError(
            f"This data set needs at least {at_least} columns; got n_features={n_features}. "
            f"Use n_features={at_least} or more."
        )
