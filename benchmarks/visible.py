r"""Which variables of a formula show in its rows at all: ``python -m benchmarks.visible``.

To one who knows the formula and the noise, variable ``a`` is worth

.. math:: \tfrac12 \sum_i \log\big(1 + \mathrm{Var}_a f(x_i) / \sigma^2\big)

nats, where ``Var_a`` is over other values of ``x_a`` at row ``i`` and ``sigma`` the deviation of
the noise, at least a millionth of the target's: what rounding and 1000 rows leave. Some formulas of
SRSD have variables that are worth nothing (a rest energy beside a kinetic one), and where one row
holds all the variance noise of one per cent hides the others. ``results/dummies_visible.csv`` has
the nats of the faintest variable of every problem and draw.
"""

from __future__ import annotations

import numpy as np

from benchmarks.pages.rows import stored
from benchmarks.run import RESULTS
from benchmarks.store import RowStore
from benchmarks.suites import SUITES
from benchmarks.suites.feynman import LARGEST, NOISES, ROWS, Formula, dummy_formulas, evaluated

KEY = ("problem", "seed")
RESOLVED = 1e-6
REDRAWN = 10  # values of a variable at a row


def nats_of(formula: Formula, X: np.ndarray, noise: float) -> np.ndarray:
    """Of every variable at these rows."""
    rng, names = np.random.default_rng(0), formula.names
    sigma = max(noise, RESOLVED) * evaluated(formula.text, names, X).std()
    found = []
    for a in range(len(names)):
        values, Z = [], X.copy()
        for _ in range(REDRAWN):
            Z[:, a] = rng.permutation(X[:, a])
            f = evaluated(formula.text, names, Z)
            values.append(np.where(np.abs(f) < LARGEST, f, np.nan))
        spread = np.nan_to_num(np.nanvar(values, axis=0) / sigma**2)
        found.append(0.5 * float(np.log1p(spread).sum()))
    return np.array(found)


def main() -> None:
    """For every problem and draw that has rows."""
    store = RowStore(RESULTS / "dummies_visible.csv", (*KEY, "nats"), KEY)
    rows, posed = stored("dummies"), SUITES["dummies"].problems()
    asked = {(row.problem, int(row.seed)) for row in rows.itertuples()}
    for name, formula in dummy_formulas():
        for noise in NOISES:
            problem = posed[name if noise == 0 else f"{name}+{noise:g}"]
            for seed in sorted(s for p, s in asked if p == problem.name):
                if (problem.name, str(seed)) not in store:
                    nats = nats_of(formula, problem.draw(ROWS, seed).X, noise).min()
                    store.append({"problem": problem.name, "seed": seed, "nats": f"{nats:.6g}"})


if __name__ == "__main__":
    main()
