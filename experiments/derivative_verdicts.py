"""Verdicts on the experiments of Rosasco et al. (2013) and Gregorova et al. (2018)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np

from experiments import denovas
from experiments.judging import (
    DIFFERENT,
    FEWEST,
    NEARLY_ALL,
    NOT,
    OPEN,
    REPRODUCED,
    Judge,
    Verdict,
    against_print,
    clear,
    graded,
    of_methods,
    of_papers,
    paired,
    resting_on,
)
from experiments.nvsd import LIGHT, NU_LIGHT
from experiments.printed import NARROW, OURS, PUBLISHED, REPEATS, ROWS, Table
from experiments.rows import Rows, column, distinct, means, medians, repeats, where

# ------------------------------------------------------------------------ Rosasco et al. (2013)


@resting_on()
def denovas_figure_3(rows: Rows) -> Verdict:
    """nu = 10 keeps x1 alone, nu = 0 both."""
    part = where(rows, choice="refit")
    alone = len(where(part, nu="10.0", selected="1"))
    both = len(where(part, nu="0.0", selected="12"))
    n = repeats(part)
    kind = REPRODUCED if min(alone, both) >= NEARLY_ALL * n else NOT
    one = len(where(part, nu="0.0", selected="1"))
    why = f"With tau by validation nu = 10 keeps x1 alone in {alone} of {n} draws and nu = 0 in "
    return Verdict(kind, why + f"{one}; both variables at nu = 0 in {both}, where print has both.")


@resting_on(
    of_papers, ("method", "n"), product([f"nu = {nu:g}" for nu in denovas.NUS], denovas.ROWS_4)
)
def denovas_figure_4(rows: Rows) -> Verdict:
    """Poor at nu = 0.5; stable from nu = 1 on, that is: the step to 0.5 exceeds what is between."""
    rows = of_papers(rows)
    errors = means(rows, "method", "selection_error")
    small = errors.pop("nu = 0.5")
    worst, best = (end(errors, key=errors.__getitem__) for end in (max, min))
    over = ("method", "n", "draw")
    step = paired(rows, "selection_error", ["nu = 0.5"], [worst], *over)
    between = paired(rows, "selection_error", [worst], [best], *over)
    stable = clear(step) and np.mean(step) > np.mean(between)
    why = f"Mean selection error {small:.2f} at nu = 0.5 and between {errors[best]:.2f} "
    why += f"and {errors[worst]:.2f} from nu = 1 on (stable in print)."
    return Verdict(graded(stable, clear(step)), why)


@resting_on(
    of_methods("paper"),
    ("d", "relevant", "n"),
    product(denovas.DIMENSIONS, denovas.RELEVANT, denovas.ROWS_5),
)
def denovas_figure_5(rows: Rows) -> Verdict:
    """Errors fall with n and grow with d and the relevant variables, more with the latter."""
    rows = where(rows, method="paper")
    by_n = means(rows, "n", "selection_error")
    first, last = str(denovas.ROWS_5[0]), str(denovas.ROWS_5[-1])
    fall = paired(rows, "selection_error", [first], [last], "n", "d", "relevant", "draw")
    grows = {
        name: paired(rows, "selection_error", [str(ends[-1])], [str(ends[0])], name, *over)
        for name, ends, *over in (
            ("relevant", denovas.RELEVANT, "d", "n", "draw"),
            ("d", denovas.DIMENSIONS, "relevant", "n", "draw"),
        )
    }
    more, less = (float(np.mean(grows[name])) for name in ("relevant", "d"))
    good = all(map(clear, (fall, *grows.values()))) and more > less
    why = f"The selection error falls from {by_n[first]:.2f} to {by_n[last]:.2f} over n; it grows "
    why += f"by {more:.2f} over the relevant variables and by {less:.2f} over d."
    return Verdict(graded(good, clear(fall)), why)


@resting_on(
    of_papers, ("method", "n"), product([f"p = {p}" for p in denovas.DEGREES], denovas.ROWS_7)
)
def denovas_figure_7(rows: Rows) -> Verdict:
    """Degree 1 at chance, higher ones fall with n."""
    rows = of_papers(rows)
    least, most = str(denovas.ROWS_7[0]), str(denovas.ROWS_7[-1])
    higher = [row for row in rows if row["method"] != "p = 1"]
    chance = np.array(column(where(rows, method="p = 1"), "selection_error"))
    fall = paired(higher, "selection_error", [least], [most], "n", "method", "draw")
    start, end = (means(where(higher, n=n), "method", "selection_error") for n in (least, most))
    why = f"Degree 1 has a mean selection error of {chance.mean():.2f} over all n (chance is 0.5); "
    why += f"the others go from {min(start.values()):.2f} to {max(start.values()):.2f} at n = "
    why += f"{least} down to {min(end.values()):.2f} to {max(end.values()):.2f} at n = {most}."
    return Verdict(graded(clear(fall) and not clear(0.5 - chance), clear(fall)), why)


@resting_on(of_papers, ("method", "terms"), product(("paper", "lasso on monomials"), denovas.TERMS))
def denovas_figure_8(rows: Rows) -> Verdict:
    """The paper's method does not feel the number of monomials, the lasso does."""
    few, many = ([str(t) for t in denovas.TERMS if low == (t <= 5)] for low in (True, False))
    growth = {
        method: paired(where(rows, method=method), "rmse", many, few, "terms", "draw")
        for method in ("paper", "lasso on monomials")
    }
    more = np.array(growth["lasso on monomials"]) - np.array(growth["paper"])
    why = "From few monomials to many the RMSE, in units of the noise, grows by "
    why += f"{np.mean(growth['paper']):.2f} for the paper's method and by "
    why += f"{np.mean(growth['lasso on monomials']):.2f} for the lasso, {repeats(rows)} draws."
    return Verdict(graded(clear(more), more.mean() > 0), why)


METHODS_9 = ("paper", "MKL", "lasso on monomials", "RLS")


@resting_on(of_methods(*METHODS_9), ("problem", "method"), product(denovas.PROBLEMS, METHODS_9))
def denovas_figure_9(rows: Rows) -> Verdict:
    """The paper's method is the best on 3-way and radial; MKL and the lasso on their own."""
    best, words = [], []
    for problem in distinct(rows, "problem"):
        part = of_papers(where(rows, problem=problem))
        errors = means(part, "method", "rmse")
        ours = errors.pop("paper")
        other = min(errors, key=errors.__getitem__)
        words.append(f"{problem} {ours:.3g} and {errors[other]:.3g} ({other})")
        if clear(paired(part, "rmse", [other], ["paper"], "method", "draw")):
            best.append(problem)
    ahead = {"3-way", "radial"} & set(best)
    why = "RMSE in units of the noise, the paper's method and the best other: " + ", ".join(words)
    return Verdict(graded(len(ahead) == 2, bool(ahead)), why + ".")


def best_of_points(own: Iterable[str], others: Iterable[str]) -> Judge:
    """Predictions at points: whose distance to the truth is smallest."""
    own, others = tuple(own), tuple(others)

    def judge(rows: Rows) -> Verdict:
        truth = np.array(column(where(rows, method="truth"), "value"))
        squares = {
            name: (np.array(column(where(rows, method=name), "value")) - truth) ** 2
            for name in distinct(rows, "method")
            if name in own or name in others
        }
        ours, theirs = ([name for name in squares if name in some] for some in (own, others))
        if not ours or not theirs:
            return Verdict(OPEN, "Not all methods have been run.")
        best, rival = (min(some, key=lambda name: squares[name].mean()) for some in (ours, theirs))
        ahead = squares[rival] - squares[best]
        distance = {name: float(np.sqrt(square.mean())) for name, square in squares.items()}
        why = f"Distance to the truth: {best} {distance[best]:.3g}, the nearest other ({rival}) "
        why += f"{distance[rival]:.3g}."
        return Verdict(graded(clear(ahead), ahead.mean() > 0), why)

    return judge


@resting_on(
    of_methods("paper", "RLS"), ("data", "method"), product(denovas.TABLES, ("paper", "RLS"))
)
def denovas_figure_10(rows: Rows) -> Verdict:
    """Near RLS on most tables, with fewer columns."""
    near, fewer = 0, 0
    tables = distinct(rows, "data")
    for data in tables:
        part = where(rows, data=data)
        near += not clear(paired(part, "rmse_over_sd", ["paper"], ["RLS"], "method", "split"))
        fewer += means(part, "method", "fraction")["paper"] < 1
    kind = REPRODUCED if 2 * min(near, fewer) > len(tables) else NOT
    why = f"Not clearly behind RLS on {near} of {len(tables)} tables, fewer columns on {fewer}, "
    return Verdict(kind, why + f"{repeats(where(rows, method='paper'))} splits.")


@resting_on(of_papers, ("data", "method"), product(denovas.TABLES, denovas.KERNELS_11))
def denovas_figure_11(rows: Rows) -> Verdict:
    """The Gaussian kernel is the best on most tables."""
    errors = [
        medians(where(rows, data=data), "method", "rmse_over_sd") for data in distinct(rows, "data")
    ]
    best = sum(min(e, key=e.__getitem__) == "Gaussian" for e in errors)
    kind = REPRODUCED if 2 * best > len(errors) else NOT
    return Verdict(kind, f"The Gaussian kernel has the smallest error on {best} of {len(errors)}.")


@resting_on()
def denovas_safe_filter(rows: Rows) -> Verdict:
    """At the largest n every relevant variable is in."""
    most = max(distinct(rows, "n"), key=int)
    part = [row for row in where(rows, n=most) if "Theorem" in row["rate"]]
    kept, others = (means(part, "n", name)[most] for name in ("all_relevant", "others"))
    kind = REPRODUCED if kept == 1 else NOT
    why = f"At n = {most} with the theorem's rate all relevant variables are in {100 * kept:.0f} % "
    return Verdict(kind, why + f"of {repeats(part)} draws, with {others:.2g} others.")


# ---------------------------------------------------------------------- Gregorova et al. (2018)

CELLS = [
    (problem, n, method)
    for problem in ("E1", "E2", "E3")
    for n in ROWS
    for method in PUBLISHED[problem]
    if method in OURS
]


def _printed_cells(rows: Rows) -> Rows:
    return [row for row in of_methods(*OURS)(rows) if row["problem"] != NARROW]


@resting_on(_printed_cells, ("problem", "n", "method"), CELLS)
def nvsd_protocol(rows: Rows) -> Verdict:
    """Errors as printed, structured penalties ahead; the kernel of E3."""
    signs, ahead, behind = [], 0, 0
    for problem, n, method in CELLS:
        part = where(rows, problem=problem, n=n)
        printed = PUBLISHED[problem][method][ROWS.index(n)][0]
        assert printed is not None  # of the paper's own methods all are legible
        signs.append(against_print(column(where(part, method=method), "rmse"), printed, REPEATS))
        if method != "NVSD(L)":
            worse = paired(part, "rmse", ["NVSD(L)"], [method], "method", "draw")
            ahead += clear(worse)
            behind += clear(-np.array(worse))
    alike, lower, count = signs.count(0), signs.count(-1), len(CELLS)
    kind = graded(alike > NEARLY_ALL * count, alike + lower > NEARLY_ALL * count)
    why = f"Of {count} mean errors {alike} are as printed, {lower} lower, {signs.count(1)} higher; "
    why += f"the structured penalty is clearly ahead of the lasso in {ahead} of "
    why += f"{sum(method != 'NVSD(L)' for *_, method in CELLS)}, clearly behind in {behind}. "
    net = paired(
        where(rows, problem="E2"), "rmse", ["NVSD(L)"], ["NVSD(EN)"], "method", "n", "draw"
    )
    why += f"NVSD(EN) has the error of NVSD(L) in {sum(x == 0 for x in net)} of {len(net)} draws: "
    why += "under so heavy a nu the squares of small derivatives count for nothing. "
    return Verdict(kind, why + light_nu(rows) + kernel_of_e3(rows))


def light_nu(rows: Rows) -> str:
    """The elastic net and the lasso at the nu that serves the elastic net."""
    names, words = ("NVSD(EN)", "NVSD(L)"), []
    for (problem, share), n in product(NU_LIGHT.items(), ROWS):
        part = where(rows, problem=problem, n=str(n))
        own = [where(part, method=name + LIGHT) for name in names]
        if min(map(repeats, own)) < FEWEST:
            continue
        ahead = paired(part, "rmse", [names[1] + LIGHT], [names[0] + LIGHT], "method", "draw")
        net, plain = (np.mean(column(rows, "rmse")) for rows in own)
        printed = [PUBLISHED[problem][name][ROWS.index(n)][0] for name in names]
        how = "the elastic net " + ("clearly" if clear(ahead) else "not clearly")
        words.append(
            f"{net:.2f} and {plain:.2f} on {problem} at n = {n} (nu = {share:g} traces, "
            f"{len(ahead)} draws, printed {printed[0]} and {printed[1]}; {how} ahead)"
        )
    if not words:
        return ""
    start = "With the nu that serves the elastic net (nvsd_nu) NVSD(EN) and NVSD(L) have "
    return f"{start}mean errors of {', '.join(words)}. "


def nvsd_nu(rows: Rows) -> str:
    """The nu of the smallest validation error."""
    errors = means(rows, "method", "validation_rmse")
    best = min(errors, key=errors.__getitem__)
    words = ", ".join(f"{error:.2f} at {method}" for method, error in errors.items())
    return f"Smallest mean validation error at {best}: {words}; {repeats(rows)} draws."


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
    cells = [(data, method) for data, table in printed.items() for method in table.rmse]
    cells = [(data, method) for data, method in cells if method in (*OURS, "KRLS")]

    @resting_on(of_methods(*OURS, "KRLS"), ("data", "method"), cells)
    def judge(rows: Rows) -> Verdict:
        signs, better = [], 0
        for data, method in cells:
            part, table = where(rows, data=data), printed[data].rmse
            if method == "KRLS":
                continue
            plain = {row["split"]: float(row["rmse"]) for row in where(part, method="KRLS")}
            own = [row for row in where(part, method=method) if row["split"] in plain]
            ratios = np.array([float(row["rmse"]) / plain[row["split"]] for row in own])
            signs.append(against_print(ratios, table[method] / table["KRLS"], REPEATS))
            better += clear(1 - ratios)
        alike = signs.count(0)
        kind = graded(alike > NEARLY_ALL * len(signs), 2 * better > len(signs))
        why = f"Error over that of KRLS as printed in {alike} of {len(signs)} cells, lower in "
        why += f"{signs.count(-1)}, higher in {signs.count(1)}; clearly ahead of KRLS in {better}."
        return Verdict(kind, why)

    return judge


@resting_on()
def nvsd_twins(rows: Rows) -> Verdict:
    """The elastic net keeps more twins together."""
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


@resting_on()
def nvsd_algorithms(rows: Rows) -> Verdict:
    """All reach the minimum."""
    worst = max(column(rows, "excess"))
    seconds = medians(rows, "solver", "seconds")
    ours = seconds.pop("dual (ours)")
    words = ", ".join(f"{name} {value / ours:.2g}" for name, value in seconds.items())
    capped = sum(row["status"] != "converged" for row in rows)
    why = f"Largest excess over the minimum {worst:.1g}; {capped} of {len(rows)} solves capped. "
    kind = REPRODUCED if capped == 0 else DIFFERENT
    return Verdict(kind, why + f"Median time over that of our solver: {words}.")
