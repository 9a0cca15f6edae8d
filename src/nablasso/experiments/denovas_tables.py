"""From rows to the lines of the tables of Rosasco et al. (2013); the paper has curves and bars."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nablasso.experiments.denovas import DEFAULT
from nablasso.experiments.running import Line
from nablasso.experiments.tables import Rows, column, distinct, mean, where

NEEDED = 0.1  # selection error that figure 6 asks for

PUBLISHED_9 = {
    ("additive", "MKL"): "compares favourably with the paper's method",
    ("2-way", "lasso on monomials"): "compares favourably with the paper's method",
    ("3-way", "paper"): "best",
    ("radial", "paper"): "best, near the noise",
    ("radial", "MKL"): "fails",
    ("radial", "lasso on monomials"): "fails",
    ("radial", "HKL"): "fails",
    ("radial", "RLS"): "fails",
}
PUBLISHED_10 = {
    "paper": "near RLS on most tables, with fewer columns (bars)",
    "RLS": "all columns (bars)",
}


def _errors(rows: Rows) -> str:
    """Both errors and the seconds, means over the draws."""
    if not rows:
        return ""
    return f"{mean(rows, 'selection_error', 2)}; {mean(rows, 'rmse')}; {mean(rows, 'seconds', 2)} s"


def _curves(rows: Rows, published: dict[str, str], otherwise: str) -> list[Line]:
    """Every method but the default against n, with the default beside it."""
    found = []
    for n in sorted(distinct(rows, "n"), key=int):
        default = _errors(where(rows, n=n, method=DEFAULT))
        for method in distinct(rows, "method"):
            if method == DEFAULT:
                continue
            words = published.get(method, otherwise)
            ours = _errors(where(rows, n=n, method=method))
            found.append(Line(f"n = {n}, {method}", f"{words} (a curve)", ours, default))
    return found


def figure_4(rows: Rows) -> list[Line]:
    """Selection error; RMSE; seconds."""
    return _curves(rows, {"nu = 0.5": "poor"}, "stable in nu from 1 on, falls with n")


def figure_5(rows: Rows) -> list[Line]:
    """Smallest n with a mean selection error of at most 10 %, and the errors at the largest n."""
    found = []
    for d in sorted(distinct(rows, "d"), key=int):
        for r in sorted(distinct(where(rows, d=d), "relevant"), key=int):
            part = where(rows, d=d, relevant=r)
            words = "grows with the relevant variables, less with d (a curve)"
            ours = [needed(where(part, method=name)) for name in ("paper", DEFAULT)]
            found.append(Line(f"d = {d}, {r} relevant: n needed", words, *ours))
            most = max(distinct(part, "n"), key=int)
            last = [_errors(where(part, n=most, method=name)) for name in ("paper", DEFAULT)]
            found.append(Line(f"d = {d}, {r} relevant, n = {most}", "", *last))
    return [line for line in found if line.paper or line.default]


def needed(rows: Rows) -> str:
    """The smallest n from which on the mean selection error is at most 10 %."""
    sizes = sorted({int(row["n"]) for row in rows})
    if not sizes:
        return ""
    errors = [float(np.mean(column(where(rows, n=n), "selection_error"))) for n in sizes]
    good = len(sizes)
    while good and errors[good - 1] <= NEEDED:
        good -= 1
    return f"over {sizes[-1]}" if good == len(sizes) else f"{sizes[good]}"


def figure_7(rows: Rows) -> list[Line]:
    """Selection error; RMSE; seconds."""
    return _curves(rows, {"p = 1": "chance, 0.5"}, "falls with n, alike for p of 4 to 6")


def figure_8(rows: Rows) -> list[Line]:
    """Selection error; RMSE; seconds."""
    found = []
    for terms in sorted(distinct(rows, "terms"), key=int):
        part = where(rows, terms=terms)
        ours = [_errors(where(part, method=name)) for name in ("paper", DEFAULT)]
        found.append(Line(f"{terms} monomials", "does not depend on them (a curve)", *ours))
        lasso = _errors(where(part, method="lasso on monomials"))
        if lasso:
            words = "fades with their number (a curve)"
            found.append(Line(f"{terms} monomials, lasso on monomials", words, lasso))
    return [line for line in found if line.paper or line.default]


def figure_9(rows: Rows) -> list[Line]:
    """Selection error; RMSE; seconds."""
    found = []
    for problem in distinct(rows, "problem"):
        default = _errors(where(rows, problem=problem, method=DEFAULT))
        for method in distinct(where(rows, problem=problem), "method"):
            words = _errors(where(rows, problem=problem, method=method))
            published = PUBLISHED_9.get((problem, method), "")
            if method == "paper":
                found.append(Line(problem, published, words, default))
            elif method != DEFAULT:
                found.append(Line(f"{problem}, {method}", published, words))
    return found


def real(published: dict[str, str]) -> Callable[[Rows], list[Line]]:
    """Median RMSE / sd(y), share of the columns, seconds."""

    def lines(rows: Rows) -> list[Line]:
        found = []
        for data in distinct(rows, "data"):
            part = where(rows, data=data)
            default = _real_errors(where(part, method=DEFAULT))
            for method in distinct(part, "method"):
                if method == DEFAULT:
                    continue
                words = _real_errors(where(part, method=method))
                first = default if method == "paper" else ""
                line = Line(f"{data}, {method}", published.get(method, ""), words, first)
                found.append(line)
        return found

    return lines


def _real_errors(rows: Rows) -> str:
    if not rows:
        return ""
    error = np.median(column(rows, "rmse_over_sd"))
    return f"{error:.3f}; {mean(rows, 'fraction', 2)} kept; {mean(rows, 'seconds', 2)} s"


figure_10 = real(PUBLISHED_10)
figure_11 = real({"Gaussian": "preferable on most tables (bars)"})
