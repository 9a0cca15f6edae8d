"""What the library answered when the goldens were taken, to be held through every rebuilding.

One fit of every public estimator, every command that answers, and about fifty draws of the stored
selection problems with the one call: support, predictions, main attributes, the summary, and the
margin by which the decision was taken. ``python -m tests.system.goldens`` compares and prints,
``--write [names]`` takes anew the goldens whose names begin so (all without names).

Where several candidates were judged, the margin says by how much the best one led; the machine's
rounding may turn a decision with a margin below ``NEAR``, and what follows from it: that is told,
and is no failure.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import Lasso

import nablasso
from benchmarks.suites import SUITES

STORED = Path(__file__).with_name("goldens.json")
SEED = 2000  # of the draws: none that a stored result looked at
NEAR = {"nats": 0.5, "score": 1e-4}  # margins that rounding may turn
DECISIONS = ("support_", "best_params_", "family_", "screened_", "interactions_", "hull_")
ATTRIBUTES = (
    *DECISIONS,
    *("alpha_", "alpha_max_", "ridge_", "length_scale_", "bandwidth_", "scales_", "objective_"),
    *("feature_importances_", "slopes_", "support_certified_", "loo_r2_", "classes_"),
    *("selection_status_", "solver_status_", "search_status_", "twins_", "sinks_"),
    *("best_score_", "spectrum_", "levels_", "active_set_"),
    *("selection_probabilities_", "threshold_", "expected_false_selections_"),
    *("knockoff_statistics_", "p_values_", "adjusted_p_values_", "scores_", "chance_", "clear_"),
    *("evidence_", "clear_by_", "runner_up_", "assumptions_", "cautions_", "alternatives_"),
)
OF_DRAWS = (
    *("support_", "family_", "evidence_", "clear_by_", "runner_up_", "feature_importances_"),
    *("loo_r2_", "assumptions_", "selection_status_", "predict", "summary", "margin"),
)
METHODS = ("predict", "predict_proba", "decision_function", "predict_gradient", "score_samples")
NEW_ROWS = 4
LEAST = 1e-7  # numbers below are zero


# ---------------------------------------------------------------------------------- what is fitted


@dataclass(frozen=True)
class Case:
    """A golden: how to take it, and how far its numbers may move, relative to the largest."""

    take: Callable[[], dict[str, Any]]
    tolerance: float = 2e-3


@dataclass(frozen=True)
class Data:
    """Rows to fit and new rows."""

    X: np.ndarray
    y: Any
    new: np.ndarray
    more: dict[str, Any] = field(default_factory=dict)


def table(n: int = 80) -> Data:
    """y = sin(2 x1) + x1 x2 + x3^2 / 2 + noise, of six columns."""
    rng = np.random.default_rng(7)
    X = rng.uniform(-1.5, 1.5, (n + NEW_ROWS, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + X[:, 2] ** 2 / 2
    y += 0.1 * rng.standard_normal(len(y))
    return Data(X[:n], y[:n], X[n:])


def numbers() -> Data:
    return table()


def classes() -> Data:
    data = table(120)
    return Data(data.X, np.where(data.y > np.median(data.y), "high", "low"), data.new)


def positive() -> Data:
    data = table(50)
    return Data(data.X[:, :3], np.exp(data.y), data.new[:, :3])


def pairs() -> Data:
    data = table(50)
    y = np.column_stack((np.exp(data.y), np.exp(-data.y)))
    return Data(data.X[:, :3], y, data.new[:, :3])


def cloud() -> Data:
    """Two columns, no target."""
    data = table(60)
    return Data(np.column_stack((data.X[:, 0], data.y)), None, data.new[:, :2])


GROUPS = [[0, 1], [2], [3, 4], [5]]
FIT = {"alpha": 0.1, "ridge": 1e-3, "tol": 1e-8}
FOLDS = {"alphas": 4, "ridges": (1e-3, 1e-2), "cv": 3, "tol": 1e-8}
HULL = {"alpha": 3e-3, "tol": 1e-5}
HULL_FOLDS = {"alphas": 4, "cv": 3, "tol": 1e-5}
GRADIENT_FOLDS = {"alphas": 4, "cv": 3}
PSD = {"weight": 1e-3, "tol": 1e-7}
PSD_FOLDS = {"widths": (0.5, 1.0), "weights": (1e-3, 1e-2), "cv": 3, "tol": 1e-6}


def estimators() -> dict[str, tuple[Any, Callable[[], Data]]]:
    """One instance of every public estimator, with its data."""
    n = nablasso
    return {
        "DerivativeLasso": (n.DerivativeLasso(**FIT), numbers),
        "DerivativeLassoCV": (n.DerivativeLassoCV(**FOLDS), numbers),
        "DerivativeLassoClassifier": (n.DerivativeLassoClassifier(**FIT), classes),
        "DerivativeLassoClassifierCV": (n.DerivativeLassoClassifierCV(**FOLDS), classes),
        "DerivativeGroupLasso": (n.DerivativeLasso(feature_groups=GROUPS, **FIT), numbers),
        "DerivativeGroupLassoCV": (
            n.DerivativeLassoCV(feature_groups=GROUPS, **FOLDS),
            numbers,
        ),
        "DerivativeGroupLassoClassifier": (
            n.DerivativeLassoClassifier(feature_groups=GROUPS, **FIT),
            classes,
        ),
        "DerivativeGroupLassoClassifierCV": (
            n.DerivativeLassoClassifierCV(feature_groups=GROUPS, **FOLDS),
            classes,
        ),
        "DerivativeElasticNet": (n.DerivativeLasso(l1_ratio=0.5, **FIT), numbers),
        "DerivativeElasticNetCV": (n.DerivativeLassoCV(l1_ratio=0.5, **FOLDS), numbers),
        "DerivativeElasticNetClassifier": (
            n.DerivativeLassoClassifier(l1_ratio=0.5, **FIT),
            classes,
        ),
        "DerivativeElasticNetClassifierCV": (
            n.DerivativeLassoClassifierCV(l1_ratio=0.5, **FOLDS),
            classes,
        ),
        "HierarchicalKernelRegressor": (n.HierarchicalKernelRegressor(**HULL), numbers),
        "HierarchicalKernelRegressorCV": (n.HierarchicalKernelRegressorCV(**HULL_FOLDS), numbers),
        "HierarchicalKernelClassifier": (n.HierarchicalKernelClassifier(**HULL), classes),
        "HierarchicalKernelClassifierCV": (
            n.HierarchicalKernelClassifierCV(**HULL_FOLDS),
            classes,
        ),
        "MultipleKernelRegressor": (
            n.HierarchicalKernelRegressor(interactions=False, **HULL),
            numbers,
        ),
        "MultipleKernelRegressorCV": (
            n.HierarchicalKernelRegressorCV(interactions=False, **HULL_FOLDS),
            numbers,
        ),
        "MultipleKernelClassifier": (
            n.HierarchicalKernelClassifier(interactions=False, **HULL),
            classes,
        ),
        "MultipleKernelClassifierCV": (
            n.HierarchicalKernelClassifierCV(interactions=False, **HULL_FOLDS),
            classes,
        ),
        "SparseGradientRegressor": (n.SparseGradientRegressor(), numbers),
        "SparseGradientRegressorCV": (n.SparseGradientRegressorCV(**GRADIENT_FOLDS), numbers),
        "SparseGradientClassifier": (n.SparseGradientClassifier(), classes),
        "SparseGradientClassifierCV": (n.SparseGradientClassifierCV(**GRADIENT_FOLDS), classes),
        "PSDDensity": (n.PSDDensity(**PSD), cloud),
        "PSDDensityCV": (n.PSDDensityCV(**PSD_FOLDS), cloud),
        "PSDRegressor": (n.PSDRegressor(**PSD), positive),
        "PSDRegressorCV": (n.PSDRegressorCV(**PSD_FOLDS), positive),
        "HeteroscedasticRegressor": (n.HeteroscedasticRegressor(**PSD), positive),
        "HeteroscedasticRegressorCV": (n.HeteroscedasticRegressorCV(**PSD_FOLDS), positive),
        "MultiQuantileRegressor": (
            n.MultiQuantileRegressor((0.1, 0.5, 0.9), **PSD | {"tol": 1e-5}),
            positive,
        ),
        "MultiQuantileRegressorCV": (
            n.MultiQuantileRegressorCV((0.1, 0.5, 0.9), **PSD_FOLDS | {"tol": 1e-5}),
            positive,
        ),
        "ConeRegressor": (n.ConeRegressor(**PSD), pairs),
        "ConeRegressorCV": (n.ConeRegressorCV(**PSD_FOLDS), pairs),
        "HeldOutScreening": (n.HeldOutScreening(), numbers),
        "StabilitySelection": (
            n.StabilitySelection(Lasso(0.05), n_pairs=10, random_state=0),
            numbers,
        ),
        "RandomizationTest": (
            n.RandomizationTest(Lasso(0.02), n_draws=39, random_state=0),
            numbers,
        ),
        "KnockoffSelector": (
            n.KnockoffSelector(Lasso(0.02), fdr=0.5, random_state=0),
            numbers,
        ),
        "NablassoRegressor": (n.NablassoRegressor(random_state=0), numbers),
        "NablassoClassifier": (n.NablassoClassifier(random_state=0), classes),
        "NablassoRegressor with fdr": (n.NablassoRegressor(fdr=0.1, random_state=0), numbers),
    }


def of_estimator(name: str) -> dict[str, Any]:
    """Fit one of ``estimators`` and read it."""
    estimator, data = estimators()[name]
    return of_fit(estimator, data())


def of_fit(estimator: Any, data: Data) -> dict[str, Any]:
    """Everything that a golden keeps of a fit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(data.X) if data.y is None else estimator.fit(data.X, data.y)
        taken = {
            name: plain(getattr(estimator, name))
            for name in ATTRIBUTES
            if getattr(estimator, name, None) is not None
        }
        for method in METHODS:
            if hasattr(estimator, method):
                taken[method] = plain(getattr(estimator, method)(data.new))
        if hasattr(estimator, "summary"):
            taken["summary"] = str(estimator.summary())
    return taken | {"margin": margin_of(estimator)}


def margin_of(estimator: Any) -> dict[str, float]:
    """By how much the decision was taken: in nats, or in units of the cross-validated score."""
    if getattr(estimator, "evidence_", None) is not None:
        found = [value for value in np.ravel(estimator.evidence_) if value > 0]
        if estimator.runner_up_ is not None:
            found.append(abs(estimator.runner_up_[1]))  # less than zero: cheaper, but refused
        return {"nats": float(f"{min(found):.3g}")} if found else {}
    if hasattr(estimator, "cv_results_"):
        scores = np.unique(np.asarray(estimator.cv_results_["mean_test_score"], dtype=float))
        return {"score": float(f"{scores[-1] - scores[-2]:.3g}") if len(scores) > 1 else math.inf}
    return {}


def paths() -> dict[str, Callable[[], Any]]:
    """The three families of warm-started fits."""
    data = numbers()
    return {
        "derivative": lambda: nablasso.path(nablasso.DerivativeLasso(), data.X, data.y, n_alphas=5),
        "hierarchical": lambda: nablasso.path(
            nablasso.HierarchicalKernelRegressor(), data.X, data.y, n_alphas=5
        ),
        "sparse gradient": lambda: nablasso.path(
            nablasso.SparseGradientRegressor(), data.X, data.y, n_alphas=5
        ),
    }


def of_path(name: str) -> dict[str, Any]:
    """Alphas, importances and objective along a path."""
    path = paths()[name]()
    names = ("alphas", "supports", "support", "importances", "objectives", "objective")
    return {n: plain(getattr(path, n)) for n in names if getattr(path, n, None) is not None}


# ------------------------------------------------------------------------------------ the commands


def commands() -> dict[str, tuple[str, ...]]:
    """What follows ``nablasso``, in the folder of the tables."""
    return {
        "select": ("select", "table.csv", "--target", "y", "--seed", "0"),
        "select classes": ("select", "table.csv", "--target", "level", "--ignore", "y"),
        "predict": ("predict", "model.skops", "new.csv", "--interval", "0.9"),
        "explain": ("explain", "model.skops", "table.csv", "x1"),
        "explain two": ("explain", "model.skops", "table.csv", "x1", "x2"),
        "density": ("density", "table.csv", "x1", "--cv", "3"),
        "quantiles": ("quantiles", "small.csv", "--target", "y", "--along", "x1", "--cv", "3"),
        "demo": ("demo",),
    }


def of_command(name: str) -> dict[str, Any]:
    """The JSON that a command prints, without what names files and versions."""
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        if "model.skops" in commands()[name]:
            run(folder, "select", "table.csv", "--target", "y", "--save", "model.skops")
        printed = json.loads(run(folder, *commands()[name], "--json"))
    for key in ("written", "version", "seconds"):
        printed.pop(key, None)
    return {"json": plain(shortened(printed))}


def run(folder: str, *arguments: str) -> str:
    """Run the command in a folder."""
    source = Path(nablasso.__file__).parents[1]
    code = f"import sys; sys.path.insert(0, {str(source)!r}); from nablasso.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"nablasso {' '.join(arguments)} left with {done.stderr}")
    return done.stdout


def write_tables(folder: Path) -> None:
    """The table with names, its new rows, and a small one."""
    data = table()
    names = [f"x{j}" for j in range(1, 7)]

    def write(name: str, columns: dict[str, Any]) -> None:
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        (folder / name).write_text("\n".join(lines) + "\n")

    columns = dict(zip(names, data.X.round(6).T.tolist(), strict=True))
    y = data.y.round(6).tolist()
    level = np.where(data.y > np.median(data.y), "high", "low").tolist()
    write("table.csv", columns | {"y": y, "level": level})
    write("small.csv", {"x1": columns["x1"], "x3": columns["x3"], "y": y})
    fresh = dict(zip(names, data.new.round(6).T.tolist(), strict=True))
    write("new.csv", fresh | {"level": ["high"] * NEW_ROWS})


# ------------------------------------------------------------------------------------- the one call


def draws() -> Iterator[tuple[str, str, int, Any]]:
    """The stored selection problems: suite, name, rows, problem."""
    for suite, rows in (("selection", None), ("not_ideal", (300,)), ("sorted", (300,))):
        for name, problem in SUITES[suite].problems().items():
            if suite == "sorted" and name not in ("by_y", "one_class_first"):
                continue
            for n in rows or problem.rows:
                yield suite, name, n, problem
    yield "not_ideal", "copies", 1000, SUITES["not_ideal"].problems()["copies"]
    yield "not_ideal", "classes", 1000, SUITES["not_ideal"].problems()["classes"]


def of_draw(problem: Any, n: int) -> dict[str, Any]:
    """The one call, as anybody makes it."""
    drawn = problem.draw(n, SEED)
    kind = nablasso.NablassoRegressor
    if problem.task == "classification" or len(np.unique(drawn.y)) == 2:
        kind = nablasso.NablassoClassifier
    taken = of_fit(kind(random_state=0), Data(drawn.X, drawn.y, drawn.X_test[:NEW_ROWS]))
    return {name: taken[name] for name in OF_DRAWS if name in taken}


def cases() -> dict[str, Case]:
    """All goldens by name; those of the one call may move further, since it learns a metric."""
    found = {}
    for name in estimators():
        loose = "Nablasso" in name
        found[f"estimator {name}"] = Case(
            lambda name=name: of_estimator(name), 0.03 if loose else 2e-3
        )
    for name in paths():
        found[f"path {name}"] = Case(lambda name=name: of_path(name))
    for name in commands():
        found[f"command {name}"] = Case(lambda name=name: of_command(name), 0.03)
    for suite, name, n, problem in draws():
        found[f"draw {suite} {name} {n}"] = Case(
            lambda problem=problem, n=n: of_draw(problem, n), 0.03
        )
    return found


# --------------------------------------------------------------------------------- plain and alike


def plain(value: Any) -> Any:
    """As JSON holds it: supports as indices, numbers with six digits, zeros of many left out."""
    if isinstance(value, np.ndarray):
        if value.dtype == bool and value.ndim == 1:
            return {"true": np.flatnonzero(value).tolist(), "of": len(value)}
        if value.ndim == 1 and len(value) > 6 and value.dtype == float:  # what is not zero
            kept = np.flatnonzero(np.nan_to_num(value))
            return {"at": kept.tolist(), "values": plain(value[kept].tolist()), "of": len(value)}
        return plain(value.tolist())
    if isinstance(value, dict):
        return {key if isinstance(key, str) else repr(key): plain(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            return str(float(value))
        return 0.0 if abs(value) < LEAST else float(f"{value:.6g}")
    return value if isinstance(value, str) or value is None else repr(value)


def shortened(value: Any) -> Any:
    """Lists of JSON to their first eight entries."""
    if isinstance(value, dict):
        return {key: shortened(part) for key, part in value.items()}
    if isinstance(value, list):
        return [shortened(part) for part in value[:8]]
    return value


NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")
ROUNDING = re.compile(r"gap|iteration|n_iter|seconds|certifi|relative_gap", re.IGNORECASE)


def compare(stored: Any, now: Any, tolerance: float, place: str = "") -> list[str]:
    """Where two goldens differ by more than the tolerance; duality gaps are only rounding."""
    if isinstance(stored, dict) and isinstance(now, dict):
        found = [f"{place}.{key} is gone" for key in stored if key not in now]
        found += [f"{place}.{key} is new" for key in now if key not in stored]
        for key in stored:
            if key in now and not ROUNDING.search(key):
                found += compare(stored[key], now[key], tolerance, f"{place}.{key}")
        return found
    if isinstance(stored, list) and isinstance(now, list):
        if _numbers(stored) and _numbers(now):
            one, other = np.array(_flat(stored)), np.array(_flat(now))
            if one.shape == other.shape:
                allowed = tolerance * max(np.nanmax(np.abs(one), initial=0.0), 1e-3)
                moved = np.abs(one - other)
                if np.array_equal(np.isnan(one), np.isnan(other)) and not (moved > allowed).any():
                    return []
            return [f"{place}: {_brief(stored)} became {_brief(now)}"]
        if len(stored) != len(now):
            return [f"{place}: {_brief(stored)} became {_brief(now)}"]
        pairs = enumerate(zip(stored, now, strict=True))
        return [d for i, (a, b) in pairs for d in compare(a, b, tolerance, f"{place}[{i}]")]
    if _number(stored) and _number(now):
        return compare([stored], [now], tolerance, place)
    if isinstance(stored, str) and isinstance(now, str):
        return _compare_texts(stored, now, place)
    return [] if stored == now else [f"{place}: {_brief(stored)} became {_brief(now)}"]


def _compare_texts(stored: str, now: str, place: str) -> list[str]:
    """Sentences must be the same, the numbers in them within a tenth."""
    found = []
    lines, others = stored.splitlines(), now.splitlines()
    if len(lines) != len(others):
        return [f"{place}: {len(lines)} lines became {len(others)}: {_brief(now)}"]
    for line, other in zip(lines, others, strict=True):
        if line == other:
            continue
        same = " ".join(NUMBER.sub("#", line).split()) == " ".join(NUMBER.sub("#", other).split())
        if not same:
            found.append(f"{place}: {line!r} became {other!r}")
        elif not ROUNDING.search(line):
            one, two = (np.array([float(x) for x in NUMBER.findall(t)]) for t in (line, other))
            if not np.allclose(one, two, rtol=0.1, atol=0.02):
                found.append(f"{place}: {line!r} became {other!r}")
    return found


def _number(value: Any) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)) or value == "nan"


def _numbers(value: Any) -> bool:
    return all(_numbers(part) if isinstance(part, list) else _number(part) for part in value)


def _flat(value: Any) -> list[float]:
    return [x for part in value for x in (_flat(part) if isinstance(part, list) else [float(part)])]


def _brief(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 160 else text[:157] + "..."


@dataclass(frozen=True)
class Verdict:
    """What differs, and whether a near tie may explain it."""

    differences: list[str]
    turned: str | None = None

    def __str__(self) -> str:
        lines = [] if self.turned is None else [self.turned]
        return "\n".join(lines + self.differences)


NEW = Verdict(["there is no golden"])


def judge(stored: dict[str, Any], now: dict[str, Any], tolerance: float) -> Verdict:
    """Compare, and say by which margin a decision that turned had been taken."""
    margins = stored.get("margin", {})
    parts = [{k: v for k, v in golden.items() if k != "margin"} for golden in (stored, now)]
    differences = compare(*parts, tolerance)
    turned = [d for d in differences if d.lstrip(".").split(".")[0].split(":")[0] in DECISIONS]
    if not turned or not margins:
        return Verdict(differences)
    ((unit, margin),) = margins.items()
    margin = float(margin)
    near = margin < NEAR[unit]
    words = f"decided by {margin:g} ({unit}; now {now.get('margin', {}).get(unit)})"
    if near:
        return Verdict([], f"a near tie turned, {words}: {'; '.join(turned)}")
    return Verdict(differences, f"a decision turned, {words}")


def load() -> dict[str, Any]:
    """The stored goldens."""
    return json.loads(STORED.read_text(encoding="utf-8"))


def main(arguments: list[str] | None = None) -> int:
    """Compare, or take anew."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true", help="take the goldens anew")
    parser.add_argument("names", nargs="*", help="beginnings of names; all without")
    asked = parser.parse_args(arguments)
    known = cases()
    chosen = [name for name in known if name.startswith(tuple(asked.names) or "")]
    stored = load() if STORED.exists() else {}
    failures = 0
    for name in chosen:
        now = json.loads(json.dumps(known[name].take()))
        verdict = judge(stored[name], now, known[name].tolerance) if name in stored else NEW
        if str(verdict):
            failures += bool(verdict.differences)
            print(f"{name}\n{verdict}\n", flush=True)
        if asked.write:
            stored[name] = now
    if asked.write:
        lines = (
            f"{json.dumps(name)}: {json.dumps(stored[name])}" for name in known if name in stored
        )
        STORED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(chosen)} goldens, {failures} differ")
    return 0 if asked.write else min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
