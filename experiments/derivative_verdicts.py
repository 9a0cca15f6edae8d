"""Verdicts on the experiments of Rosasco et al. (2013) and Gregorova et al. (2018)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from experiments import denovas
from experiments.judging import (
    ALIKE,
    CLEAR,
    DIFFERENT,
    FEWEST,
    NOT,
    OPEN,
    REPRODUCED,
    Judge,
    Verdict,
    of_papers,
    too_few,
)
from experiments.printed import (
    NARROW,
    OURS,
    PUBLISHED,
    ROWS,
    Table,
)
from experiments.rows import Rows, column, distinct, fewest, means, medians, repeats, where

# ------------------------------------------------------------------------ Rosasco et al. (2013)


def denovas_figure_3(rows: Rows) -> Verdict:
    """nu = 10 keeps x1 alone, nu = 0 both."""
    part = where(rows, choice="refit")
    if repeats(part) < FEWEST:
        return too_few(part)
    alone = len(where(part, nu="10.0", selected="1"))
    both = len(where(part, nu="0.0", selected="12"))
    n = repeats(part)
    kind = REPRODUCED if min(alone, both) >= 0.8 * n else NOT
    one = len(where(part, nu="0.0", selected="1"))
    why = f"With tau by validation nu = 10 keeps x1 alone in {alone} of {n} draws and nu = 0 in "
    return Verdict(kind, why + f"{one}; both variables at nu = 0 in {both}, where print has both.")


def denovas_figure_4(rows: Rows) -> Verdict:
    """Poor at nu = 0.5, stable from nu = 1 on, falling with n."""
    part = of_papers(rows)
    cells = product([f"nu = {nu:g}" for nu in denovas.NUS], denovas.ROWS_4)
    if fewest(part, "method", "n", among=cells) < FEWEST:
        return too_few(part)
    errors = means(part, "method", "selection_error")
    small = errors.pop("nu = 0.5")
    spread = max(errors.values()) - min(errors.values())
    kind = REPRODUCED if spread <= CLEAR and small > max(errors.values()) + CLEAR else DIFFERENT
    why = f"Mean selection error {small:.2f} at nu = 0.5 and between {min(errors.values()):.2f} "
    return Verdict(kind, why + f"and {max(errors.values()):.2f} from nu = 1 on (stable in print).")


def denovas_figure_5(rows: Rows) -> Verdict:
    """Errors fall with n and grow with d and the relevant variables, more with the latter."""
    part = where(rows, method="paper")
    cells = product(denovas.DIMENSIONS, denovas.RELEVANT, denovas.ROWS_5)
    if fewest(part, "d", "relevant", "n", among=cells) < FEWEST:
        return too_few(part)
    by_n = means(part, "n", "selection_error")
    first, last = (by_n[str(f(map(int, by_n)))] for f in (min, max))
    spans = {}
    for name in ("d", "relevant"):
        found = means(part, name, "selection_error")
        spans[name] = found[str(max(map(int, found)))] - found[str(min(map(int, found)))]
    good = last < first - CLEAR and spans["relevant"] > spans["d"] > 0
    why = f"The selection error falls from {first:.2f} to {last:.2f} over n; it grows by "
    why += f"{spans['relevant']:.2f} over the relevant variables and by {spans['d']:.2f} over d."
    return Verdict(REPRODUCED if good else DIFFERENT, why)


def denovas_figure_7(rows: Rows) -> Verdict:
    """Degree 1 at chance, higher ones fall with n."""
    part = of_papers(rows)
    cells = product([f"p = {p}" for p in denovas.DEGREES], denovas.ROWS_7)
    if fewest(part, "method", "n", among=cells) < FEWEST:
        return too_few(part)
    most = max(distinct(part, "n"), key=int)
    least = min(distinct(part, "n"), key=int)
    start, end = (means(where(part, n=n), "method", "selection_error") for n in (least, most))
    chance = end.pop("p = 1")
    fall = [start[name] - end[name] for name in end]
    good = chance >= 0.5 - CLEAR and min(fall) > CLEAR
    why = f"At n = {most} degree 1 is at {chance:.2f} (chance is 0.5), the others at "
    why += f"{min(end.values()):.2f} to {max(end.values()):.2f}, down by at least {min(fall):.2f}."
    return Verdict(REPRODUCED if good else DIFFERENT, why)


def denovas_figure_8(rows: Rows) -> Verdict:
    """The paper's method does not feel the number of monomials, the lasso does."""
    part = of_papers(rows)
    cells = product(("paper", "lasso on monomials"), denovas.TERMS)
    if fewest(part, "method", "terms", among=cells) < FEWEST:
        return too_few(part)
    growth = {}
    for method in ("paper", "lasso on monomials"):
        errors = means(where(part, method=method), "terms", "rmse")
        few = [e for terms, e in errors.items() if int(terms) <= 4]
        many = [e for terms, e in errors.items() if int(terms) >= 7]
        growth[method] = float(np.mean(many) - np.mean(few))
    good = growth["lasso on monomials"] > growth["paper"]
    why = "From few monomials to many the RMSE, in units of the noise, grows by "
    why += f"{growth['paper']:.2f} for the paper's method and by "
    why += f"{growth['lasso on monomials']:.2f} for the lasso."
    return Verdict(REPRODUCED if good else NOT, why)


def denovas_figure_9(rows: Rows) -> Verdict:
    """The paper's method is the best on 3-way and radial; MKL and the lasso on their own."""
    part = of_papers(rows)
    methods = ("paper", "MKL", "lasso on monomials", "RLS")
    own = [row for row in part if row["method"] in methods]
    if fewest(own, "problem", "method", among=product(denovas.PROBLEMS, methods)) < FEWEST:
        return too_few(part)
    found = {
        problem: means(where(part, problem=problem), "method", "rmse")
        for problem in distinct(part, "problem")
    }
    ours = [p for p in ("3-way", "radial") if min(found[p], key=found[p].__getitem__) == "paper"]
    others = {p: min(v for k, v in found[p].items() if k != "paper") for p in found}
    words = ", ".join(f"{p} {found[p]['paper']:.3g} and {others[p]:.3g}" for p in found)
    kind = REPRODUCED if len(ours) == 2 else DIFFERENT if ours else NOT
    return Verdict(
        kind, f"RMSE in units of the noise, the paper's method and the best other: {words}."
    )


def best_of_points(own: Iterable[str], others: Iterable[str]) -> Judge:
    """Predictions at points: whose distance to the truth is smallest."""
    own, others = tuple(own), tuple(others)

    def judge(rows: Rows) -> Verdict:
        truth = np.array(column(where(rows, method="truth"), "value"))
        errors = {}
        for name in distinct(rows, "method"):
            if name in own or name in others:
                gaps = np.array(column(where(rows, method=name), "value")) - truth
                errors[name] = float(np.sqrt(np.mean(gaps**2)))
        ours = {name: e for name, e in errors.items() if name in own}
        theirs = {name: e for name, e in errors.items() if name in others}
        if not ours or not theirs:
            return Verdict(OPEN, "Not all methods have been run.")
        best, rival = min(ours, key=ours.__getitem__), min(theirs, key=theirs.__getitem__)
        why = f"Distance to the truth: {best} {ours[best]:.3g}, the nearest other ({rival}) "
        ahead = ours[best] / theirs[rival]
        kind = REPRODUCED if ahead <= 1 - ALIKE else DIFFERENT if ahead < 1 else NOT
        return Verdict(kind, why + f"{theirs[rival]:.3g}; one draw, as in the paper.")

    return judge


def denovas_figure_10(rows: Rows) -> Verdict:
    """Near RLS on most tables, with fewer columns."""
    part = [row for row in rows if row["method"] in ("paper", "RLS")]
    cells = product(denovas.TABLES, ("paper", "RLS"))
    if fewest(part, "data", "method", among=cells) < FEWEST:
        return too_few(part)
    near, fewer = 0, 0
    for data in distinct(part, "data"):
        errors = medians(where(part, data=data), "method", "rmse_over_sd")
        near += errors["paper"] <= (1 + ALIKE) * errors["RLS"]
        fewer += means(where(part, data=data), "method", "fraction")["paper"] < 1
    count = len(distinct(part, "data"))
    kind = REPRODUCED if 2 * min(near, fewer) > count else NOT
    why = f"At most {100 * ALIKE:.0f} % above the error of RLS on {near} of {count} tables, fewer "
    return Verdict(kind, why + f"columns on {fewer}.")


def denovas_figure_11(rows: Rows) -> Verdict:
    """The Gaussian kernel is the best on most tables."""
    part = of_papers(rows)
    cells = product(denovas.TABLES, denovas.KERNELS_11)
    if fewest(part, "data", "method", among=cells) < FEWEST:
        return too_few(part)
    errors = [
        medians(where(part, data=data), "method", "rmse_over_sd") for data in distinct(part, "data")
    ]
    best = sum(min(e, key=e.__getitem__) == "Gaussian" for e in errors)
    kind = REPRODUCED if 2 * best > len(errors) else NOT
    return Verdict(kind, f"The Gaussian kernel has the smallest error on {best} of {len(errors)}.")


def denovas_safe_filter(rows: Rows) -> Verdict:
    """At the largest n every relevant variable is in."""
    most = max(distinct(rows, "n"), key=int)
    part = [row for row in where(rows, n=most) if "Theorem" in row["rate"]]
    if repeats(part) < FEWEST:
        return too_few(part)
    kept, others = (means(part, "n", name)[most] for name in ("all_relevant", "others"))
    kind = REPRODUCED if kept == 1 else NOT
    why = f"At n = {most} with the theorem's rate all relevant variables are in {100 * kept:.0f} % "
    return Verdict(kind, why + f"of {repeats(part)} draws, with {others:.2g} others.")


# ---------------------------------------------------------------------- Gregorova et al. (2018)


def nvsd_protocol(rows: Rows) -> Verdict:
    """Errors as printed, structured penalties ahead; the kernel of E3."""
    part = [row for row in rows if row["method"] in OURS and row["problem"] != NARROW]
    cells = [
        (problem, n, method)
        for problem in ("E1", "E2", "E3")
        for n in ROWS
        for method in PUBLISHED[problem]
        if method in OURS
    ]
    if fewest(part, "problem", "n", "method", among=cells) < FEWEST:
        return too_few(part)
    alike = lower = ahead = pairs = 0
    for problem in distinct(part, "problem"):
        for n in distinct(where(part, problem=problem), "n"):
            errors = means(where(part, problem=problem, n=n), "method", "rmse")
            for method, error in errors.items():
                printed = PUBLISHED[problem][method][ROWS.index(int(n))][0]
                assert printed is not None  # of the paper's own methods all are legible
                alike += abs(error / printed - 1) <= ALIKE
                lower += error < (1 - ALIKE) * printed
                if method != "NVSD(L)":
                    pairs += 1
                    ahead += error <= errors["NVSD(L)"]
    count = len(cells)
    kind = REPRODUCED if alike > 0.8 * count else DIFFERENT if alike + lower > 0.8 * count else NOT
    why = f"Of {count} errors {alike} are within {100 * ALIKE:.0f} % of print, {lower} are lower; "
    why += f"the structured penalty is at least level with the lasso in {ahead} of {pairs}. "
    return Verdict(kind, why + kernel_of_e3(rows))


def kernel_of_e3(rows: Rows) -> str:
    """Which kernel's KRLS has the printed errors."""
    distances = {}
    for problem in ("E3", NARROW):
        own = where(rows, problem=problem, method="KRLS")
        gaps = [
            abs(means(own, "n", "rmse")[str(n)] - pair[0])
            for n, pair in zip(ROWS, PUBLISHED["E3"]["KRLS"], strict=True)
            if pair[0] is not None and str(n) in distinct(own, "n")
        ]
        if not gaps:
            return ""
        distances[problem] = float(np.mean(gaps))
    near = min(distances, key=distances.__getitem__)
    words = "as printed, sigma = 4" if near == "E3" else "narrow"
    return (
        f"Of E3's two kernels the one {words} is nearer to the printed KRLS: mean distance "
        f"{distances['E3']:.3f}, the narrow one's {distances[NARROW]:.3f}."
    )


def nvsd_real(printed: dict[str, Table]) -> Judge:
    """Errors over those of KRLS, next to the printed ratios."""

    def judge(rows: Rows) -> Verdict:
        part = [row for row in rows if row["method"] in (*OURS, "KRLS")]
        whole = [(d, m) for d, t in printed.items() for m in t.rmse if m in (*OURS, "KRLS")]
        if fewest(part, "data", "method", among=whole) < FEWEST:
            return too_few(part)
        alike = better = cells = 0
        for data in distinct(part, "data"):
            errors, table = means(where(part, data=data), "method", "rmse"), printed[data].rmse
            for method in (name for name in errors if name in OURS):
                ours, theirs = errors[method] / errors["KRLS"], table[method] / table["KRLS"]
                cells += 1
                alike += abs(ours / theirs - 1) <= ALIKE
                better += ours < 1
        kind = REPRODUCED if alike > 0.8 * cells else DIFFERENT if better > cells / 2 else NOT
        why = f"Error over that of KRLS within {100 * ALIKE:.0f} % of the printed ratio in {alike} "
        return Verdict(kind, why + f"of {cells} cells, below one in {better}.")

    return judge


def nvsd_twins(rows: Rows) -> Verdict:
    """The elastic net keeps more twins together."""
    if repeats(rows) < FEWEST:
        return too_few(rows)
    whole = means(rows, "estimator", "pairs_whole")
    kind = REPRODUCED if whole["elastic net"] > whole["lasso"] else NOT
    why = f"Of two pairs the elastic net keeps {whole['elastic net']:.2f} whole, the lasso "
    return Verdict(kind, why + f"{whole['lasso']:.2f}.")


def nvsd_tolerance(rows: Rows) -> str:
    """How much the columns that validation chooses depend on the gap."""
    selected: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        share, unit = row["method"].split(", ")
        place = (row["problem"], row["n"], row["draw"], share)
        selected.setdefault(place, {})[unit] = f"{row['n_selected']} {row['rmse']}"
    pairs = [found for found in selected.values() if len(found) > 1]
    moved = sum(len(set(found.values())) > 1 for found in pairs)
    errors = medians(rows, "method", "tanimoto")
    words = ", ".join(f"{method}: {error:.2f}" for method, error in errors.items())
    return (
        f"Between a gap of 1e-5 of zero's objective and 1e-7 of the gain the choice changes in "
        f"{moved} of {len(pairs)} problems; median Tanimoto distance {words}."
    )


def nvsd_algorithms(rows: Rows) -> Verdict:
    """All reach the minimum."""
    if repeats(rows) < FEWEST:
        return too_few(rows)
    worst = max(column(rows, "excess"))
    seconds = medians(rows, "solver", "seconds")
    ours = seconds.pop("dual (ours)")
    words = ", ".join(f"{name} {value / ours:.2g}" for name, value in seconds.items())
    capped = sum(row["status"] != "converged" for row in rows)
    why = f"Largest excess over the minimum {worst:.1g}; {capped} of {len(rows)} solves capped. "
    kind = REPRODUCED if capped <= 0.05 * len(rows) else DIFFERENT
    return Verdict(kind, why + f"Median time over that of our solver: {words}.")
