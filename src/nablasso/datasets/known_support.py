"""Data sets whose right answer is known: what they hold, and what their generators share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any, TypeAlias, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from nablasso.types import Array, Mask

RandomSource: TypeAlias = np.random.RandomState | np.random.Generator
Seed: TypeAlias = int | RandomSource | None
Groups: TypeAlias = tuple[tuple[int, ...], ...]
Generator = TypeVar("Generator", bound=Callable[..., Any])

TYPES = {"Seed": "int, RandomState, Generator or None", "ArrayLike | None": "array-like or None"}
MEANINGS = {
    "n_samples": "Rows of ``X``.",
    "n_features": "Columns of ``X``; the relevant ones come first.",
    "snr": "sd(f) / sd(noise), with sd(f) the population value.",
    "noise": "Standard deviation of the noise.",
    "n_relevant": "r, the number of relevant variables; they come first.",
    "random_state": "Source of the rows and of the noise.",
}


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
    groups: Groups | None
    noise_free: Array
    noise_sd: float | Array = float("nan")
    gradient: Array | None = None


@dataclass(frozen=True, eq=False)
class KnownDensity:
    """Draws ``X`` (n_samples, n_features) of a density, and its logarithm at them (n_samples,)."""

    X: Array
    log_density: Array


@dataclass(frozen=True)
class Formula:
    """A smooth function of some columns: ``rule(X)`` gives its values and its slopes in them."""

    relevant: Sequence[int]
    rule: Callable[[Array], tuple[Array, Array]]  # X to (n_samples,), (n_samples, n_relevant)

    def __call__(self, X: Array) -> Array:  # (n_samples, n_features) -> (n_samples,)
        """Values at the rows."""
        return np.asarray(self.rule(X)[0])

    def gradient(self, X: Array) -> Array:  # (n_samples, n_features) -> the same shape
        """Partial derivatives at the rows: the slopes in the relevant columns, zero elsewhere."""
        gradient = np.zeros_like(X)
        gradient[:, list(self.relevant)] = self.rule(X)[1]
        return gradient

    def observed(
        self, X: Array, noise_sd: float | Array, rng: RandomSource, **names: Any
    ) -> KnownSupport:
        """Its values at the rows with noise, and the right answer; as :func:`add_noise`."""
        gradient = self.gradient(X)
        return add_noise(X, self(X), self.relevant, noise_sd, rng, gradient=gradient, **names)

    def on_cube(
        self,
        shape: tuple[int, int],
        ends: tuple[float, float],
        noise_sd: float,
        random_state: Seed,
    ) -> KnownSupport:
        """Its values with noise at rows that are uniform between two ends in every column."""
        require_features(shape[1], max(self.relevant) + 1)
        rng = random_source(random_state)
        return self.observed(np.asarray(rng.uniform(*ends, size=shape)), noise_sd, rng)


def add_noise(
    X: Array,  # (n_samples, n_features)
    noise_free: Array,  # (n_samples,)
    relevant: Sequence[int],
    noise_sd: float | Array,  # for all rows, or (n_samples,)
    rng: RandomSource,
    *,
    gradient: Array | None = None,  # (n_samples, n_features)
    feature_names: tuple[str, ...] | None = None,
    groups: Groups | None = None,
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


def random_source(random_state: Seed) -> RandomSource:
    """A source of draws: numpy's ``Generator`` as it is, others by scikit-learn's rules.

    Both kinds have the methods that generators use (``uniform``, ``normal``, ``permutation``).
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    source: np.random.RandomState = check_random_state(random_state)
    return source


def generator(source: str = "", **meanings: str) -> Callable[[Generator], Generator]:
    """Complete the docstring of a generator: its parameters, what it returns, where it is from.

    ``meanings`` are those of its own parameters; :data:`MEANINGS` has the common ones.
    """

    def documented(make: Generator) -> Generator:
        signature = inspect.signature(make)
        lines = [inspect.getdoc(make) or "", "", "Parameters", "----------"]
        for name, parameter in signature.parameters.items():
            kind = TYPES.get(parameter.annotation, parameter.annotation)
            lines.append(f"{name} : {kind}, default={parameter.default!r}")
            lines.append(_paragraph({**MEANINGS, **meanings}[name]))
        lines += ["", "Returns", "-------", signature.return_annotation]
        if source:
            lines += ["", "References", "----------", fill(source, 96)]
        make.__doc__ = "\n".join(lines) + "\n"
        return make

    return documented


def _paragraph(text: str) -> str:
    return fill(text, 96, initial_indent=" " * 4, subsequent_indent=" " * 4)
