"""Rules that choose a hull, on problems that none of them was made for.

Seven problems of known variables, sd(f) / sd(noise) = 2, one of them without any signal. Where the
function is a short sum of products its hull is known too. One row per problem, draw and rule.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from nablasso.estimators import HierarchicalKernelRegressorCV
from nablasso.progress import track

Array = NDArray[np.float64]
Row = dict[str, Any]
Node = tuple[tuple[int, int], ...]

TEST_ROWS = 2000
SNR = 2.0
KEY = ("problem", "draw", "rule")
RULES: dict[str, dict[str, Any]] = {
    "ebic": {"selection_rule": "ebic"},
    "1se, pruned": {"selection_rule": "1se", "prune": True},
    "1se": {"selection_rule": "1se", "prune": False},
}


class Posed(NamedTuple):
    """Inputs, noiseless output, relevant columns, and the true hull where there is one."""

    X: Array
    f: Array
    columns: set[int]
    hull: set[Node] | None


def _pair(a: int, b: int) -> set[Node]:
    return {(), ((a, 1),), ((b, 1),), ((a, 1), (b, 1))}


def additive(rng: np.random.Generator, n: int) -> Posed:
    """Six variables, one function each."""
    X = rng.normal(size=(n, 30))
    f = np.sin(2 * X[:, 0]) + X[:, 3] ** 2 / 1.4 + 1.3 * np.abs(X[:, 5]) + X[:, 9]
    f += np.exp(X[:, 12] / 2) + np.tanh(2 * X[:, 20])
    return Posed(X, f, {0, 3, 5, 9, 12, 20}, None)


def three_way(rng: np.random.Generator, n: int) -> Posed:
    """Three variables and their product, without products of two."""
    X = rng.normal(size=(n, 12))
    f = X[:, 0] + X[:, 4] + X[:, 7] + X[:, 0] * X[:, 4] * X[:, 7]
    hull = _pair(0, 4) | _pair(0, 7) | _pair(4, 7) | {((0, 1), (4, 1), (7, 1))}
    return Posed(X, f, {0, 4, 7}, hull)


def noise(rng: np.random.Generator, n: int) -> Posed:
    """Nothing to find."""
    return Posed(rng.normal(size=(n, 20)), np.zeros(n), set(), {()})


def correlated(rng: np.random.Generator, n: int) -> Posed:
    """Neighbouring columns have correlation 0.7."""
    X = rng.normal(size=(n, 20))
    for a in range(1, 20):
        X[:, a] = 0.7 * X[:, a - 1] + np.sqrt(1 - 0.49) * X[:, a]
    return Posed(X, X[:, 0] + X[:, 2] + X[:, 0] * X[:, 2], {0, 2}, _pair(0, 2))


def binary(rng: np.random.Generator, n: int) -> Posed:
    """Columns of zeros and ones."""
    X = rng.integers(0, 2, size=(n, 20)).astype(float)
    return Posed(X, X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1], {0, 1}, _pair(0, 1))


def few_rows(rng: np.random.Generator, n: int) -> Posed:
    """Ten bounded columns."""
    X = rng.uniform(-1.7, 1.7, size=(n, 10))
    return Posed(X, X[:, 0] + X[:, 1] + X[:, 0] * X[:, 1], {0, 1}, _pair(0, 1))


def oscillating(rng: np.random.Generator, n: int) -> Posed:
    """Smooth, but not short in products of polynomials."""
    X = rng.uniform(-1.7, 1.7, size=(n, 8))
    return Posed(X, np.sin(3 * X[:, 0] * X[:, 1]) + np.cos(2 * X[:, 2]), {0, 1, 2}, None)


PROBLEMS: dict[str, tuple[Callable[[np.random.Generator, int], Posed], int]] = {
    "additive": (additive, 150),
    "three_way": (three_way, 200),
    "noise": (noise, 100),
    "correlated": (correlated, 150),
    "binary": (binary, 150),
    "few_rows": (few_rows, 60),
    "oscillating": (oscillating, 200),
}


def rules(
    repeats: int = 10,
    seed: int = 5100,
    problems: Sequence[str] = tuple(PROBLEMS),
    n_alphas: int = 10,
    fits: Mapping[str, dict[str, Any]] | None = None,
    done: Collection[tuple[str, ...]] = (),
) -> Iterator[Row]:
    """Variables and hull selected, and the error against the noiseless function."""
    settings = RULES if fits is None else fits
    plan = [(p, d, r) for d in range(seed, seed + repeats) for p in problems for r in settings]
    todo = [task for task in plan if tuple(map(str, task)) not in done]
    for name, draw, rule in track(todo, len(todo), "rules"):
        make, n = PROBLEMS[name]
        rng = np.random.default_rng([77, draw])
        posed = make(rng, n + TEST_ROWS)
        spread = float(posed.f.std())
        y = posed.f[:n] + (spread / SNR or 1.0) * rng.normal(size=n)
        model = HierarchicalKernelRegressorCV(
            alphas=n_alphas, betas=(1.2, 2.5), random_state=draw, **settings[rule]
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the row says if certified
            model.fit(posed.X[:n], y)
        found = set(np.flatnonzero(model.support_).tolist())
        error = np.mean((model.predict(posed.X[n:]) - posed.f[n:]) ** 2) / (spread**2 or 1.0)
        yield {
            **dict(zip(KEY, (name, draw, rule), strict=True)),
            "too_many": len(found - posed.columns),
            "too_few": len(posed.columns - found),
            "hull_exact": "" if posed.hull is None else set(model.hull_) == posed.hull,
            "relative_error": f"{error:.6f}",
            "certified": bool(model.certified_),
        }
