"""Whether importances are right: ``python -m benchmarks.sensitivity indices|bands|...``.

* ``indices``: Sobol' indices of seven functions from 500 rows without noise, against exact ones
  (Ishigami, Sobol-G) or those of the functions themselves from 2^15 points, beside SALib and
  OpenTURNS on the same rows where they are installed.
* ``bands``: how often 90 % bands of curves hold six known functions, pointwise and all at once.
* ``intervals``: how often 90 % intervals of predictions hold new targets, under four noises.
* ``order``: shares against permutation importances of the same model on left-out rows of real
  tables, those of the folder ``NABLASSO_DATA`` and two that other packages carry.

Rows are added to ``benchmarks/results/sensitivity_*.csv``; draws that are there are not made
again. ``--page`` writes ``benchmarks/results/sensitivity.md`` from them.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from nablasso import NablassoClassifier, NablassoRegressor
from nablasso.estimators.explained import table_columns
from nablasso.reading.intervals import interval_half_width
from nablasso.reading.shares import law_of_rows, rows_for, sobol

Array = NDArray[np.float64]
RESULTS = Path(__file__).parent / "results"
ROWS, RELEVANT, LEVEL = 500, 0.01, 0.9
TERMS = 250  # of a polynomial chaos
G = np.array([0, 1, 4.5, 9, 99, 99, 99, 99])


def uniform(*ends: tuple[float, float]) -> tuple[Any, ...]:
    """Uniform laws between ends."""
    return tuple(stats.uniform(low, high - low) for low, high in ends)


def triangle(low: float, high: float, top: float) -> Any:
    """A triangular law."""
    return stats.triang((top - low) / (high - low), low, high - low)


class Within:
    """A law cut off at two ends."""

    def __init__(self, law: Any, low: float, high: float) -> None:
        self.law, self.ends = law, law.cdf([low, high])

    def ppf(self, u: Array) -> Array:
        """Quantiles."""
        return np.asarray(self.law.ppf(self.ends[0] + u * (self.ends[1] - self.ends[0])))


def ishigami(X: Array) -> Array:
    """Of three inputs, the third only together with the first."""
    return np.asarray(np.sin(X[:, 0]) * (1 + 0.1 * X[:, 2] ** 4) + 7 * np.sin(X[:, 1]) ** 2)


def sobol_g(X: Array) -> Array:
    """A product with kinks."""
    return np.asarray(np.prod((np.abs(4 * X - 2) + G) / (1 + G), axis=1))


def borehole(X: Array) -> Array:
    """Water through a borehole."""
    rw, r, tu, hu, tl, hl, length, kw = X.T
    log = np.log(r / rw)
    return np.asarray(
        2 * np.pi * tu * (hu - hl) / (log * (1 + 2 * length * tu / (log * rw**2 * kw) + tu / tl))
    )


def otl(X: Array) -> Array:
    """Midpoint voltage of a push-pull circuit without transformer."""
    rb1, rb2, rf, rc1, rc2, beta = X.T
    vb1, inner = 12 * rb2 / (rb1 + rb2), beta * (rc2 + 9)
    return np.asarray(((vb1 + 0.74) * inner + 11.35 * rf + 0.74 * rf * inner / rc1) / (inner + rf))


def piston(X: Array) -> Array:
    """Cycle time of a piston."""
    m, s, v0, k, p0, ta, t0 = X.T
    a = p0 * s + 19.62 * m - k * v0 / s
    v = s / (2 * k) * (np.sqrt(a**2 + 4 * k * p0 * v0 * ta / t0) - a)
    return np.asarray(2 * np.pi * np.sqrt(m / (k + s**2 * p0 * v0 * ta / (t0 * v**2))))


def wing_weight(X: Array) -> Array:
    """Weight of the wing of a light aeroplane."""
    sw, wfw, a, sweep, q, taper, tc, nz, wdg, wp = X.T
    cosine = np.cos(np.deg2rad(sweep))
    plain = 0.036 * sw**0.758 * wfw**0.0035 * (a / cosine**2) ** 0.6 * q**0.006 * taper**0.04
    return np.asarray(plain * (100 * tc / cosine) ** -0.3 * (nz * wdg) ** 0.49 + sw * wp)


def flood(X: Array) -> Array:
    """How far a river is above its dyke."""
    q, ks, zv, zm, hd, cb, length, b = X.T
    return np.asarray(zv + (q / (b * ks * np.sqrt((zm - zv) / length))) ** 0.6 - hd - cb)


FUNCTIONS: dict[str, tuple[Callable[[Array], Array], tuple[Any, ...]]] = {
    "Ishigami": (ishigami, uniform(*[(-np.pi, np.pi)] * 3)),
    "Sobol-G": (sobol_g, uniform(*[(0.0, 1.0)] * 8)),
    "borehole": (
        borehole,
        (
            stats.norm(0.1, 0.0161812),
            stats.lognorm(1.0056, scale=np.exp(7.71)),
            *uniform((63070, 115600), (990, 1100), (63.1, 116), (700, 820)),
            *uniform((1120, 1680), (9985, 12045)),
        ),
    ),
    "OTL circuit": (
        otl,
        uniform((50, 150), (25, 70), (0.5, 3), (1.2, 2.5), (0.25, 1.2), (50, 300)),
    ),
    "piston": (
        piston,
        uniform(
            *((30, 60), (0.005, 0.02), (0.002, 0.01), (1000, 5000)),
            *((90000, 110000), (290, 296), (340, 360)),
        ),
    ),
    "wing weight": (
        wing_weight,
        uniform(
            *((150, 200), (220, 300), (6, 10), (-10, 10), (16, 45), (0.5, 1)),
            *((0.08, 0.18), (2.5, 6), (1700, 2500), (0.025, 0.08)),
        ),
    ),
    "flood": (
        flood,
        (
            Within(stats.gumbel_r(1013, 558), 500, 3000),
            Within(stats.norm(30, 8), 15, np.inf),
            *(triangle(49, 51, 50), triangle(54, 56, 55)),
            *uniform((7, 9)),
            *(triangle(55, 56, 55.5), triangle(4990, 5010, 5000), triangle(295, 305, 300)),
        ),
    ),
}


@cache
def exact(name: str) -> tuple[Array, Array]:
    """First-order and total indices."""
    function, laws = FUNCTIONS[name]
    if name == "Sobol-G":
        v = 1 / 3 / (1 + G) ** 2
        whole = np.prod(1 + v) - 1
        return v / whole, v * np.prod(1 + v) / (1 + v) / whole
    if name == "Ishigami":
        parts = np.array([0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2, 49 / 8, 0.0])
        pair = 0.01 * np.pi**8 * (1 / 18 - 1 / 50)
        whole = parts.sum() + pair
        return parts / whole, (parts + pair * np.array([1, 0, 1])) / whole
    at = (np.arange(1 << 13) + 0.5) / (1 << 13)
    X = np.column_stack([law.ppf(at) for law in laws])
    players = [np.array([a]) for a in range(len(laws))]
    law = law_of_rows(X, np.ones(len(X)), players, X[:, :1])
    law = replace(law, correlation=np.eye(len(players)))
    first, total = sobol(lambda X: function(X)[:, None, None], law, 1 << 15)
    return first[:, 0], total[:, 0]


def salib(X: Array, y: Array) -> dict[str, Array]:
    """First-order indices by SALib from the same rows."""
    from SALib.analyze import delta, rbd_fast

    ends = [
        [float(low), float(high)] for low, high in zip(X.min(axis=0), X.max(axis=0), strict=True)
    ]
    names = [f"x{a}" for a in range(X.shape[1])]
    problem = {"num_vars": X.shape[1], "names": names, "bounds": ends}
    return {
        "rbd_fast": np.array(rbd_fast.analyze(problem, X, y, seed=0)["S1"]),
        "delta": np.array(delta.analyze(problem, X, y, num_resamples=5, seed=0)["S1"]),
    }


def openturns(X: Array, y: Array) -> dict[str, Array]:
    """Indices of a sparse polynomial chaos by OpenTURNS: histograms of the columns, 250 terms."""
    import openturns as ot

    d = X.shape[1]
    laws = [ot.HistogramFactory().build(ot.Sample(x[:, None])) for x in X.T]
    basis = ot.OrthogonalProductPolynomialFactory(laws, ot.LinearEnumerateFunction(d))
    sparse = ot.LeastSquaresMetaModelSelectionFactory(ot.LARS(), ot.CorrectedLeaveOneOut())
    chaos = ot.FunctionalChaosAlgorithm(
        ot.Sample(X),
        ot.Sample(y[:, None]),
        ot.JointDistribution(laws),
        ot.FixedStrategy(basis, TERMS),
        ot.LeastSquaresStrategy(sparse),
    )
    chaos.run()
    found = ot.FunctionalChaosSobolIndices(chaos.getResult())
    return {
        "chaos_first": np.array([found.getSobolIndex(a) for a in range(d)]),
        "chaos_total": np.array([found.getSobolTotalIndex(a) for a in range(d)]),
    }


OTHERS = {salib: ("rbd_fast", "delta"), openturns: ("chaos_first", "chaos_total")}


def others(X: Array, y: Array) -> dict[str, Array]:
    """What other packages say of the same rows; not a number where one is not installed."""
    found: dict[str, Array] = {}
    for method, names in OTHERS.items():
        try:
            found |= method(X, y)
        except ModuleNotFoundError as error:
            print(f"{method.__name__}: left out ({error})")
            found |= {name: np.full(X.shape[1], np.nan) for name in names}
    return found


def indices(draw: int, name: str) -> Iterator[dict[str, Any]]:
    """One row for each input."""
    function, laws = FUNCTIONS[name]
    rng = np.random.default_rng([draw, len(name)])
    U = rng.uniform(size=(ROWS, len(laws)))
    X = np.column_stack([law.ppf(u) for law, u in zip(laws, U.T, strict=True)])
    y = function(X)
    model = NablassoRegressor(time=False).fit(X, y)
    table = model.importances_.set_index("column").reindex([f"x{a}" for a in range(len(laws))])
    table = table.select_dtypes("number").fillna(0.0)
    first, total = exact(name)
    beside = others(X, y)
    for a in range(len(laws)):
        own = table.iloc[a]
        yield {
            "draw": draw,
            "name": name,
            "input": a,
            "exact_first": first[a],
            "exact_total": total[a],
            "first": own["first_order"],
            "first_low": own["first_order_low"],
            "first_high": own["first_order_high"],
            **{key: own[key] for key in ("total", "total_low", "total_high")},
            **{method: values[a] for method, values in beside.items()},
        }


CURVES: dict[str, Callable[[Array], Array]] = {
    "line": lambda x: 2 * x,
    "wave": lambda x: np.sin(3 * x),
    "bump": lambda x: np.exp(-8 * x**2) * 2,
    "bend": lambda x: np.abs(x) * 2,
    "step": lambda x: 2 / (1 + np.exp(-8 * x)),
    "cubic": lambda x: 3 * x**3 - x,
}
CURVE_ROWS, CURVE_NOISE = 120, 0.5


def bands(draw: int, name: str) -> Iterator[dict[str, Any]]:
    """One row for a known function, beside two others that add up with it."""
    function = CURVES[name]
    rng = np.random.default_rng([draw, 79, len(name)])
    X = rng.uniform(-1, 1, size=(CURVE_ROWS, 4))
    noise = CURVE_NOISE * rng.normal(size=CURVE_ROWS)
    y = function(X[:, 0]) + np.sin(2 * X[:, 1]) + X[:, 2] ** 2 + noise
    table = NablassoRegressor(always_keep=[0], time=False).fit(X, y).shapes(LEVEL)
    own = table[table["column"] == "x0"]
    truth = function(own["x"].to_numpy()) - function(X[:, 0]).mean()
    inside = (own["low"] <= truth) & (truth <= own["high"])
    all_in = (own["low_simultaneous"] <= truth) & (truth <= own["high_simultaneous"])
    yield {"draw": draw, "name": name, "pointwise": inside.mean(), "all": all_in.all()}


NOISES: dict[str, Callable[[Array], Array]] = {  # deviation of the noise by column and signal
    "even": lambda X: np.full(len(X), 0.5),
    "steep in a column": lambda X: 0.5 * np.exp(X[:, 0]),
    "two levels": lambda X: np.where(X[:, 1] > 0, 0.9, 0.2),
    "grows with the signal": lambda X: 0.1 + 0.25 * np.abs(_signal(X) + 2),
}
INTERVAL_ROWS, NEW_ROWS = 200, 2000


def _signal(X: Array) -> Array:
    return np.asarray(np.sin(2 * X[:, 0]) + 1.5 * X[:, 1] + X[:, 0] * X[:, 2])


def intervals(draw: int, name: str) -> Iterator[dict[str, Any]]:
    """One row for a kind of noise: how often intervals hold new targets."""
    rng = np.random.default_rng([draw, 78, len(name)])
    X = rng.uniform(-1.5, 1.5, size=(INTERVAL_ROWS + NEW_ROWS, 6))
    noise = NOISES[name](X)
    y = _signal(X) + noise * rng.normal(size=len(X))
    model = NablassoRegressor(time=False).fit(X[:INTERVAL_ROWS], y[:INTERVAL_ROWS])
    predicted, ends = model.predict(X[INTERVAL_ROWS:], return_interval=LEVEL)
    new, level = y[INTERVAL_ROWS:], noise[INTERVAL_ROWS:]
    one = model._functions[0]
    half = interval_half_width(one.residuals, one.weights, LEVEL)
    t = one.even(predicted - model._y_mean)
    constant = model._y_mean + one.back(np.column_stack([t - half, t + half]))
    found: dict[str, Any] = {"draw": draw, "name": name}
    quiet, loud = level <= np.quantile(level, 0.25), level >= np.quantile(level, 0.75)
    for kind, at in (("ours", ends), ("constant", constant)):
        inside = (at[:, 0] <= new) & (new <= at[:, 1])
        found |= {
            kind: inside.mean(),
            f"{kind}_quiet": inside[quiet].mean(),
            f"{kind}_loud": inside[loud].mean(),
            f"{kind}_width": np.mean(at[:, 1] - at[:, 0]),
        }
    yield found


TABLES = (
    "boston",
    "concrete",
    "bike_hour",
    "airfoil",
    "energy_heating",
    "kin8nm",
    "stock",
    "cpu_act",
)
PACKAGED = {  # tables that other packages carry, and their targets
    "penguins": ("palmerpenguins", "data/penguins.csv", "species"),
    "diamonds": ("plotnine", "data/diamonds.csv", "price"),
}
TABLE_ROWS = 600  # fitted on


def real_table(name: str) -> tuple[pd.DataFrame, str]:
    """A table and its target; a FileNotFoundError says what is missing."""
    if name not in PACKAGED:
        data = pd.read_csv(Path(os.environ.get("NABLASSO_DATA", "data")) / f"{name}.csv.gz")
        return data.astype(float), str(data.columns[-1])
    package, path, target = PACKAGED[name]
    found = find_spec(package)
    if found is None or found.origin is None:
        raise FileNotFoundError(f"{name} comes with the package {package}, which is not installed")
    return pd.read_csv(Path(found.origin).parent / path), target


def order(draw: int, name: str) -> Iterator[dict[str, Any]]:
    """One row for a real table."""
    from sklearn.inspection import permutation_importance

    data, target = real_table(name)
    data = data.sample(frac=1, random_state=draw).reset_index(drop=True)
    n = min(TABLE_ROWS, 2 * len(data) // 3)
    X, y = data.drop(columns=target), data[target]
    classes = y.dtype.kind not in "iuf"
    one = NablassoClassifier if classes else NablassoRegressor
    model = one(time=False).fit(X[:n], y[:n])
    shuffled = permutation_importance(
        model,
        X[n : n + 600],
        y[n : n + 600],
        scoring="neg_log_loss" if classes else "r2",
        n_repeats=3,
        random_state=0,
    ).importances_mean
    share, names = model.feature_importances_, [str(column) for column in X.columns]
    alone = np.zeros(len(names))  # what shuffling sees: each column apart from all others
    read = model._explanation
    law = replace(read.law, correlation=np.eye(len(read.players)))
    _, apart = sobol(read.values, law, rows_for(2 * len(read.players) + 1, read.centres))
    alone[[int(own[0]) for own in table_columns(model)]] = apart[:, 0]
    yield {
        "draw": draw,
        "name": name,
        "rows": n,
        "selected": int(model.support_.sum()),
        "replaceable": len({a for a, *_ in (*model.twins_, *model.replaceable_)}),
        "spearman": stats.spearmanr(share, shuffled).statistic,
        "spearman_alone": stats.spearmanr(alone, shuffled).statistic,
        "leading": " ".join(names[a] for a in np.argsort(-share)[:3]),
    }


QUESTIONS = {
    "indices": (indices, tuple(FUNCTIONS)),
    "bands": (bands, tuple(CURVES)),
    "intervals": (intervals, tuple(NOISES)),
    "order": (order, (*TABLES, *PACKAGED)),
}


def stored(question: str) -> pd.DataFrame:
    """Rows that were made."""
    return pd.read_csv(RESULTS / f"sensitivity_{question}.csv")


def page() -> str:
    """What the stored rows say."""
    parts = (
        "# Importances against what is known",
        "Made by `python -m benchmarks.sensitivity --page`.",
        f"## Sobol' indices from {ROWS} rows",
        "Largest error over the inputs, median over the draws; RBD-FAST and delta of SALib (no "
        "totals from given rows), sparse polynomial chaos of OpenTURNS. Held: how often 90 % "
        "intervals hold the exact value (inputs of a total of at least .01).",
        _index_table(stored("indices")),
        f"## Bands of curves at 90 %, {CURVE_ROWS} rows",
        "How often the band of the curve holds the function: mean over points, and at all of them.",
        _band_table(stored("bands")),
        f"## Intervals of predictions at 90 %, {INTERVAL_ROWS} rows",
        "How often they hold new targets: of all rows, of the quarter with the least noise, of "
        "that with the most; in brackets those of constant width. Width: ours over constant.",
        _interval_table(stored("intervals")),
        "## Real tables: shares against permutation on left-out rows",
        "Spearman's correlation over all columns of shares, and of total indices as if columns "
        "were independent, which is what shuffling a column sees; replaceable: selected ones that "
        "others tell. Near copies share their part, and shuffling one of them costs what it costs "
        "the model, not the rows.",
        _order_table(stored("order")),
    )
    return "\n\n".join(parts) + "\n"


def _table(head: str, rows: list[list[str]]) -> str:
    lines = [head, "|" + "---|" * head.count(" | ") + "---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _index_table(table: pd.DataFrame) -> str:
    measured = {"total": "total", "chaos_total": "total"}
    measured |= dict.fromkeys(("first", "rbd_fast", "delta", "chaos_first"), "first")
    rows = []
    for name, part in table.groupby("name", sort=False):
        errors = [
            (part[key] - part[f"exact_{kind}"]).abs().groupby(part["draw"]).max().median()
            for key, kind in measured.items()
        ]
        real, held = part[part["exact_total"] >= RELEVANT], []
        for k in ("total", "first"):
            inside = real[f"exact_{k}"].between(real[f"{k}_low"], real[f"{k}_high"])
            held.append(f"{inside.mean():.0%}")
        draws = str(part["draw"].nunique())
        rows.append([str(name), draws, *(f"{error:.3f}" for error in errors), *held])
    head = (
        "| function | draws | totals | chaos | first order | RBD-FAST | delta | chaos "
        "| held: total | first |"
    )
    return _table(head, rows)


def _band_table(table: pd.DataFrame) -> str:
    groups = [*table.groupby("name", sort=False), ("all", table)]
    rows = [
        [str(name), str(len(part)), f"{part['pointwise'].mean():.0%}", f"{part['all'].mean():.0%}"]
        for name, part in groups
    ]
    return _table("| function | draws | pointwise | all points |", rows)


def _interval_table(table: pd.DataFrame) -> str:
    rows = []
    for name, part in table.groupby("name", sort=False):
        mean = part.mean(numeric_only=True)
        held = [
            f"{mean[f'ours{k}']:.0%} ({mean[f'constant{k}']:.0%})" for k in ("", "_quiet", "_loud")
        ]
        width = (part["ours_width"] / part["constant_width"]).mean()
        rows.append([str(name), str(len(part)), *held, f"{width:.2f}"])
    return _table("| noise | draws | all | quiet | loud | width |", rows)


def _order_table(table: pd.DataFrame) -> str:
    rows = [
        [
            str(name),
            str(len(part)),
            str(part["rows"].iloc[0]),
            f"{part['replaceable'].mean():.0f} of {part['selected'].mean():.0f}",
            f"{part['spearman'].mean():.2f}",
            f"{part['spearman_alone'].mean():.2f}",
            str(part["leading"].iloc[0]),
        ]
        for name, part in table.groupby("name", sort=False)
    ]
    return _table(
        "| table | draws | rows | replaceable | shares | independent | largest shares |", rows
    )


def main() -> None:
    """Make rows, or the page of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("question", nargs="?", choices=list(QUESTIONS))
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    if given.question:
        ask, names = QUESTIONS[given.question]
        place = RESULTS / f"sensitivity_{given.question}.csv"
        done = set()
        if place.exists():
            done = set(stored(given.question)[["draw", "name"]].itertuples(index=False, name=None))
        for draw, name in product(range(given.draws), names):
            if (draw, name) in done:
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    rows = pd.DataFrame(ask(draw, name))
            except FileNotFoundError as error:
                print(f"{name}: left out ({error})")
                continue
            new = not place.exists()
            rows.to_csv(place, mode="a", header=new, index=False, float_format="%.5g")
    if given.page:
        (RESULTS / "sensitivity.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
