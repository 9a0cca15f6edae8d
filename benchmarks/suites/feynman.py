"""Physics: Feynman's formulas, with noise, and with dummy inputs over 66 orders of magnitude.

``feynman``: inputs uniform in the ranges of PMLB; ``NAME+noise``: normal noise of 1 or 10 % of
sd(y) on the training rows (tests have none, as in SRBench, whose tables are larger). ``dummies``:
formulas and sampling of SRSD; one to three extra inputs (the number depends on the formula) are
log-uniform over 1e-33 to 1e33 and matter not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.problem import Array, Draw, Problem, Quick, Suite
from benchmarks.suites import public

ROWS = 1000
# Share of formulas with test R2 > .999 at noise 0, published by cavalab/srbench (larger tables).
PUBLISHED = {"MRGP": 0.93, "Operon": 0.86, "AIFeynman": 0.79, "SBP-GP": 0.74, "gplearn": 0.33}
NOISES = (0.0, 0.01, 0.1)
DUMMY = (1e-33, 1e33)
LARGEST = 1e100
_FUNCTIONS: dict[str, Any] = {
    name: getattr(np, name) for name in ("sqrt", "exp", "sin", "cos", "tanh", "arcsin", "arccos")
} | {"ln": np.log, "log": np.log, "cot": lambda x: 1 / np.tan(x), "pi": np.pi, "np": np}
_CONSTANTS = {"c": 2.99792458e8, "alpha": 7.2973525693e-3}  # of light, of fine structure

Sampler = Callable[[int, np.random.Generator], Array]


def evaluated(formula: str, names: Sequence[str], X: Array) -> Array:
    """Values of a formula of the suite's own files at the rows of X."""
    text = formula
    for a, name in enumerate(names):  # names such as lambda are no names in Python
        text = re.sub(rf"\b{re.escape(name)}\b", f"_{a}_", text)
    values = {f"_{a}_": X[:, a] for a in range(len(names))}
    with np.errstate(all="ignore"):
        found = eval(text, {"__builtins__": {}}, _FUNCTIONS | _CONSTANTS | values)
    return np.broadcast_to(np.asarray(found, dtype=float), len(X)).copy()


def uniform(low: float, high: float) -> Sampler:
    """Uniform on an interval."""
    return lambda n, rng: rng.uniform(low, high, n)


def srsd(words: str) -> Sampler:
    """SRSD's sampling: log-uniform, uniform (Simple) or whole; of both signs unless one is off."""
    kind, inside = words.strip().removesuffix(")").split("Sampling(")
    parts = [part.strip() for part in inside.split(",")]
    low, high = (float(eval(part, {"np": np})) for part in parts if "=" not in part)
    signs = [
        sign
        for sign, word in ((1.0, "positive"), (-1.0, "negative"))
        if f"uses_{word}=False" not in parts
    ]

    def sample(n: int, rng: np.random.Generator) -> Array:
        if kind == "Integer":
            x = rng.integers(int(low), int(high), n).astype(float)
        else:
            x = rng.uniform(low, high, n) if kind == "Simple" else log_uniform(low, high, n, rng)
        return x * rng.choice(signs, n) if low >= 0 else x

    return sample


def log_uniform(low: float, high: float, n: int, rng: np.random.Generator) -> Array:
    """Its logarithm is uniform."""
    return np.exp(rng.uniform(np.log(low), np.log(high), n))


class Formula:
    """A formula with its inputs; rows where it has no finite value are drawn again."""

    def __init__(self, text: str, inputs: dict[str, Sampler], dummies: int = 0) -> None:
        self.text, self.names = text, list(inputs)
        more = [lambda n, rng: log_uniform(*DUMMY, n, rng)] * dummies
        self.samplers = [*inputs.values(), *more]

    def rows(self, n: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """n rows and the values there."""
        X, y = np.zeros((0, len(self.samplers))), np.zeros(0)
        while len(y) < n:
            more = np.column_stack([sample(n, rng) for sample in self.samplers])
            values = evaluated(self.text, self.names, more)
            kept = np.abs(values) < LARGEST  # neither nan nor infinite, its square neither
            X, y = np.vstack([X, more[kept]]), np.append(y, values[kept])
        return X[:n], y[:n]

    def draw(self, code: int, noise: float, n: int, seed: int) -> Draw:
        """Training rows with noise, test rows without."""
        rng = np.random.default_rng([code, seed])
        X, y = self.rows(n, rng)
        X_test, y_test = self.rows(ROWS, rng)
        y = y + noise * y.std() * rng.standard_normal(n)
        support = np.arange(X.shape[1]) < len(self.names)
        return Draw(X, y, X_test, y_test, support, y_test)


def _problems(name: str, formula: Formula) -> list[Problem]:
    code = crc32(name.encode())
    return [
        Problem(
            name if noise == 0 else f"{name}+{noise:g}",
            partial(formula.draw, code, noise),
            (ROWS,),
        )
        for noise in NOISES
    ]


def feynman() -> Sequence[Problem]:
    """PMLB's formulas."""
    table = public.frame("formulas", "pmlb_feynman_strogatz").dropna(subset=["ranges"])
    found = []
    for row in table.itertuples():
        ranges = re.findall(r"(\w+) in \[([^,]+),([^\]]+)\]", row.ranges)
        inputs = {name: uniform(float(low), float(high)) for name, low, high in ranges}
        found += _problems(row.dataset, Formula(row.formula.split("=", 1)[1].strip(), inputs))
    return found


def dummy_formulas() -> Iterator[tuple[str, Formula]]:
    """SRSD's formulas by their names, with one to three dummies."""
    for k, row in enumerate(public.frame("formulas", "srsd_feynman").itertuples()):
        names = re.findall(r"x\[\d+\] (\S+) \(", row.variables)
        inputs = {n: srsd(words) for n, words in zip(names, row.sampling.split(" | "), strict=True)}
        yield row.name, Formula(row.formula, inputs, 1 + k % 3)


def dummies() -> Sequence[Problem]:
    """The same as problems."""
    return [one for name, formula in dummy_formulas() for one in _problems(name, formula)]


_RIVALS = ("nablasso", "gplearn", "operon", "lightgbm", "gaussian_process_native")
SUITES = (
    Suite(
        "feynman",
        "how many of Feynman's formulas are predicted with R2 > .999 from 1000 rows?",
        feynman,
        _RIVALS,
        Quick(("feynman_I_12_1",), (200,)),
        range(3),
        public.VARIABLE,
    ),
    Suite(
        "dummies",
        "are the variables of a formula found among dummy inputs of any scale?",
        dummies,
        _RIVALS,
        Quick(("feynman-i.30.5", "feynman-ii.11.3"), (200,)),
        range(3),
        public.VARIABLE,
    ),
)
