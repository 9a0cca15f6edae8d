"""From rows to one honest sentence per experiment: is what was published there again?

A verdict is a function of rows: its kind is decided by named thresholds, and every number in its
sentence is computed. With fewer than ``FEWEST`` draws of what it rests on it is open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import NamedTuple

import numpy as np

from experiments import denovas, hkl
from experiments.printed import (
    BASELINES,
    GENES,
    LASSO_TABLE_1,
    NARROW,
    OURS,
    PUBLISHED,
    ROWS,
    SGL_TABLE_1,
    TABLE_3,
    TABLE_4,
    Table,
)
from experiments.rows import Rows, column, distinct, fewest, means, medians, repeats, where
from experiments.running import DEFAULT

REPRODUCED, DIFFERENT = "reproduced", "reproduced with a difference"
NOT, OPEN, OWN = "not reproduced", "open", "not in the paper"
FEWEST = 3  # draws or splits
ALIKE = 0.15  # relative difference of two errors that count as the same
CLEAR = 0.1  # difference of two selection errors that can be seen in a curve


class Verdict(NamedTuple):
    """One of the kinds above, and why."""

    kind: str
    why: str


Judge = Callable[[Rows], Verdict]


def too_few(rows: Rows, what: str = "what it rests on") -> Verdict:
    """The verdict where rows do not suffice."""
    least = f"fewer than {FEWEST} draws of {what} somewhere"
    return Verdict(OPEN, f"{least}, {repeats(rows)} at most.")


def _papers(rows: Rows) -> Rows:
    return [row for row in rows if row.get("method") != DEFAULT]


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
    part = _papers(rows)
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
    part = _papers(rows)
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
    part = _papers(rows)
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
    part = _papers(rows)
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
    part = _papers(rows)
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


# -------------------------------------------------------------------------------- Bach (2009)


def hkl_figure_8(rows: Rows) -> Verdict:
    """HKL stays low as p grows, L2 does not."""
    low: list[str] = []
    high: list[str] = []
    for p in sorted(distinct(rows, "p"), key=int):
        found = medians(where(rows, p=p), "method", "relative_error")
        if "HKL hermite" in found and "L2 hermite" in found:
            good = found["HKL hermite"] < found["L2 hermite"] / 2
            (low if good else high).append(f"{found['HKL hermite']:.2f} at p = {p}")
    own = where(rows, method="HKL hermite")
    if fewest(own, "p", among=[(p,) for p in hkl.DIMENSIONS]) < FEWEST:
        return too_few(own, "plain HKL")
    why = "Median error over var(f) of plain HKL, less than half that of L2: " + ", ".join(low)
    if high:
        why += "; not: " + ", ".join(high)
    return Verdict(REPRODUCED if not high else DIFFERENT if low else NOT, why + ".")


def hkl_figure_9(rows: Rows) -> Verdict:
    """Similar on fh; MARS and the Gaussian process beat HKL on 32nh."""
    found = {
        data: medians(where(rows, data=data), "method", "error") for data in distinct(rows, "data")
    }
    best = {
        d: min((e for m, e in f.items() if m.startswith("HKL")), default=np.nan)
        for d, f in found.items()
    }
    own = where(rows, method="HKL hermite")
    if fewest(own, "data", among=[(data,) for data in hkl.PUMADYN]) < FEWEST:
        return too_few(own, "plain HKL")
    rivals = {m: e for m, e in found["32nh"].items() if m in ("MARS", "Gaussian process")}
    words = ", ".join(f"{m} {e:.3f}" for m, e in rivals.items())
    kind = REPRODUCED if best["32nh"] > min(rivals.values()) else DIFFERENT
    return Verdict(kind, f"On 32nh the best form of HKL has {best['32nh']:.3f}, {words}.")


def own_question(why: Callable[[Rows], str]) -> Judge:
    """An experiment that no paper has; it too is open with too few draws."""
    return lambda rows: too_few(rows) if repeats(rows) < FEWEST else Verdict(OWN, why(rows))


def hkl_rules(rows: Rows) -> str:
    """Hulls found by each rule."""
    known = [row for row in rows if row["hull_exact"]]
    counts = {
        rule: f"{len(where(known, rule=rule, hull_exact=True))} of {len(where(known, rule=rule))}"
        for rule in distinct(known, "rule")
    }
    words = ", ".join(f"{rule} {count}" for rule, count in counts.items())
    return f"Exact hulls, over problems and {repeats(rows)} draws: {words}."


# ---------------------------------------------------------------------------- Ye and Xie (2012)


def sgl_table_1(rows: Rows) -> Verdict:
    """x1 is found by sparse gradients more often than by the lasso."""
    shares = {}
    for method in distinct(rows, "method"):
        own = where(rows, method=method)
        shares[method] = 100 * float(np.mean(["1" in row["selected"].split() for row in own]))
    sgl = shares["SGL, columns centred"]
    alike = abs(sgl - SGL_TABLE_1[0]) <= 100 * ALIKE
    why = f"x1 in {sgl:.0f} % of {repeats(rows)} draws (print {SGL_TABLE_1[0]}), the lasso in "
    why += f"{shares['lasso']:.0f} % (print {LASSO_TABLE_1[0]})."
    good = alike and shares["lasso"] < sgl / 2
    return Verdict(REPRODUCED if good else DIFFERENT if sgl > shares["lasso"] else NOT, why)


def sgl_figure_1(rows: Rows) -> Verdict:
    """On the path of SGL the five variables enter before any other."""
    first = {}
    for variable in range(1, 11):
        own = where(rows, method="SGL", variable=variable)
        entered = [float(row["strength"]) for row in own if float(row["size"]) > 0]
        first[variable] = min(entered, default=np.inf)
    good = max(first[v] for v in range(1, 6)) <= min(first[v] for v in range(6, 11))
    before = sum(first[v] < min(first[w] for w in range(6, 11)) for v in range(1, 6))
    why = f"{before} of the five relevant variables enter before all others; one draw, as in print."
    return Verdict(REPRODUCED if good else DIFFERENT, why)


def sgl_figure_2(rows: Rows) -> Verdict:
    """x1 and x2 at every deviation, GL only for small ones."""
    own = where(rows, method="SGL")
    if repeats(own) < FEWEST:
        return too_few(own)
    exact = {s: sum(column(where(own, spread=s), "exact")) for s in distinct(own, "spread")}
    words = ", ".join(f"{count:.0f} at {spread}" for spread, count in exact.items())
    n = repeats(own)
    every = min(exact.values()) >= 0.8 * n
    some = max(exact.values()) >= 0.8 * n
    why = f"With the paper's kernel x1, x2 and nothing else in {words} of {n} draws, by the "
    kind = REPRODUCED if every else DIFFERENT if some else NOT
    return Verdict(kind, why + "deviation of the other inputs; print has every deviation.")


def sgl_figure_3(rows: Rows) -> Verdict:
    """Norms of the two relevant variables above all others."""
    good = []
    for method in distinct(rows, "method"):
        norms = column(where(rows, method=method, kind="norm"), "x")
        if norms and min(norms[:2]) > max(norms[2:]):
            good.append(method)
    kind = REPRODUCED if "SGL" in good else DIFFERENT if good else NOT
    words = ", ".join(good) or "no method"
    return Verdict(kind, f"Largest norms at x1 and x2 for: {words}; one draw, as in print.")


def sgl_table_2(rows: Rows) -> Verdict:
    """106 genes without an error."""
    sgl = [row for row in rows if row["method"].startswith("SGL") and row["chosen"]]
    if not sgl:
        return Verdict(OPEN, "Not run.")
    best = min(sgl, key=lambda row: int(row["test_errors"]))
    why = f"At best {best['n_genes']} genes and {best['test_errors']}/34 test errors "
    kind = REPRODUCED if best["test_errors"] == "0" else NOT
    return Verdict(
        kind, why + f"({best['method']}, alpha {best['chosen']}); print has 106 and 0/34."
    )


def sgl_iterates(rows: Rows) -> Verdict:
    """An early iterate of the paper's algorithm has about as many genes as the paper prints."""
    rows = [row for row in rows if row["iteration"].isdigit()]
    genes = [int(row["n_genes"]) for row in rows]
    nearest = min(rows, key=lambda row: abs(int(row["n_genes"]) - GENES))
    why = (
        f"From {max(genes)} genes after {min(int(r['iteration']) for r in rows)} iterations to "
        f"{min(genes)}; nearest to the printed {GENES}: {nearest['n_genes']} after "
        f"{nearest['iteration']} iterations, {nearest['test_C1']} of 34 test errors at C = 1."
    )
    near = abs(int(nearest["n_genes"]) - GENES) <= ALIKE * GENES
    return Verdict(DIFFERENT if near else NOT, why)


def sgl_symmetry(rows: Rows) -> str:
    """What the constraint of symmetric second derivatives gains."""
    found = means(rows, "mu", "gradient_rmse")
    words = ", ".join(f"{error:.3f} at weight {mu}" for mu, error in found.items())
    return f"Error of the gradient over {repeats(rows)} draws: {words}."


# --------------------------------------------------------- Marteau-Ferey, Bach and Rudi (2020)


def psd_figure_2(rows: Rows) -> Verdict:
    """NCM has a floor, PSD falls with n."""
    part = where(rows, kernel="authors", tuning="0.1 / n")
    sizes = [n for n in distinct(part, "n") if fewest(where(part, n=n), "model") >= FEWEST]
    if len(sizes) < 2:
        return too_few(part)
    first, last = min(sizes, key=int), max(sizes, key=int)
    ends = {
        m: [means(where(part, model=m), "n", "rmse")[n] for n in (first, last)]
        for m in ("psd", "ncm")
    }
    good = ends["psd"][1] < ends["psd"][0] / 2 and ends["ncm"][1] > ends["ncm"][0] / 2
    why = f"With the kernel of the authors' code PSD goes from {ends['psd'][0]:.2g} to "
    why += f"{ends['psd'][1]:.2g} between n = {first} and {last}, NCM from "
    why += f"{ends['ncm'][0]:.2g} to {ends['ncm'][1]:.2g} (a floor in print)."
    return Verdict(REPRODUCED if good else NOT, why)


def against_truth(value: str, best: str, what: str) -> Judge:
    """Whether a model is nearest to the truth, and by how much: means over draws."""

    def judge(rows: Rows) -> Verdict:
        own = [row for row in rows if row["model"] in ("psd", "pnm", "glm", "ncm")]
        models = distinct(own, "model")
        common = set.intersection(*({r["draw"] for r in where(own, model=m)} for m in models))
        rows = [row for row in own if row["draw"] in common]
        if repeats(rows) < FEWEST:
            return too_few(rows)
        found = means(rows, "model", value)
        truth = float(np.mean(column(rows, "truth")))
        paper = {m: abs(error - truth) for m, error in found.items()}
        paper = {m: d for m, d in paper.items() if np.isfinite(d)}
        nearest = min(paper, key=paper.__getitem__)
        words = ", ".join(f"{m.upper()} {found[m]:.4g}" for m in paper)
        kind = REPRODUCED if nearest == best else DIFFERENT
        return Verdict(kind, f"{what}, {len(common)} draws: {words}, the truth {truth:.4g}.")

    return judge


def psd_curves(value: str) -> Judge:
    """Whether the curve of PSD is about as near to the truth as the nearest."""

    def judge(rows: Rows) -> Verdict:
        rows = where(rows, kernel="authors") if "kernel" in rows[0] else rows
        errors = {}
        for model in ("psd", "pnm", "glm", "ncm"):
            own = where(rows, model=model)
            if own:
                truth = own if "truth" in own[0] else where(rows, model="truth")
                name = "truth" if "truth" in own[0] else value
                gaps = np.array(column(own, value)) - np.array(column(truth, name))
                errors[model] = float(np.sqrt(np.mean(gaps**2)))
        if "psd" not in errors or len(errors) == 1:
            return Verdict(OPEN, "Not all models have been run.")
        words = ", ".join(f"{model.upper()} {error:.3g}" for model, error in errors.items())
        near = errors["psd"] <= (1 + ALIKE) * min(errors.values())
        sizes = f", n of {' and '.join(distinct(rows, 'n'))}" if "n" in rows[0] else ""
        why = f"Distance to the truth{sizes}: {words}; one draw, as in print."
        return Verdict(REPRODUCED if near else NOT, why)

    return judge


def psd_crossings(rows: Rows) -> Verdict:
    """Joint quantiles never cross."""
    if repeats(rows) < FEWEST:
        return too_few(rows)
    crossed = {
        fit: sum(value > 0 for value in column(where(rows, fit=fit), "crossed"))
        for fit in ("joint", "independent")
    }
    why = f"Crossings in {crossed['joint']} of {repeats(rows)} draws together, in "
    kind = REPRODUCED if crossed["joint"] == 0 < crossed["independent"] else NOT
    return Verdict(kind, why + f"{crossed['independent']} one by one.")


def psd_solvers(rows: Rows) -> str:
    """How far the paper's algorithms end from the default's optimum, and in how much time."""
    own = [row for row in rows if row["solver"] != "auto"]
    far = [abs(float(r["objective"]) - float(r["optimum"])) for r in own]
    slower = np.median(column(own, "seconds")) / np.median(
        column(where(rows, solver="auto"), "seconds")
    )
    return (
        f"The paper's algorithms end within {max(far):.1g} of the best objective on {len(own)} "
        f"problems, at {slower:.0f} times the default's time (medians)."
    )


def psd_boosting(rows: Rows) -> str:
    """Tables on which ours has the smaller loss."""
    found = [means(where(rows, data=d), "method", "pinball") for d in distinct(rows, "data")]
    ahead = sum(e["psd"] < e["boosting"] for e in found if len(e) == 2)
    return f"Smaller pinball loss than tuned boosting on {ahead} of {len(found)} tables."


JUDGES: dict[str, Judge] = {
    "denovas_figure_2": best_of_points(["paper"], ["MKL", "lasso on monomials", "HKL", "RLS"]),
    "denovas_figure_3": denovas_figure_3,
    "denovas_figure_4": denovas_figure_4,
    "denovas_figure_5": denovas_figure_5,
    "denovas_figure_7": denovas_figure_7,
    "denovas_figure_8": denovas_figure_8,
    "denovas_figure_9": denovas_figure_9,
    "denovas_figure_10": denovas_figure_10,
    "denovas_figure_11": denovas_figure_11,
    "denovas_safe_filter": denovas_safe_filter,
    "nvsd_protocol": nvsd_protocol,
    "nvsd_figure_1": best_of_points(OURS, BASELINES),
    "nvsd_real": nvsd_real(TABLE_3),
    "nvsd_real_groups": nvsd_real(TABLE_4),
    "nvsd_twins": nvsd_twins,
    "nvsd_algorithms": nvsd_algorithms,
    "nvsd_tolerance": own_question(nvsd_tolerance),
    "hkl_figure_8": hkl_figure_8,
    "hkl_figure_8_n256": hkl_figure_8,
    "hkl_figure_9": hkl_figure_9,
    "hkl_rules": own_question(hkl_rules),
    "sgl_table_1": sgl_table_1,
    "sgl_figure_1": sgl_figure_1,
    "sgl_figure_2": sgl_figure_2,
    "sgl_figure_3": sgl_figure_3,
    "sgl_table_2": sgl_table_2,
    "sgl_iterates": sgl_iterates,
    "sgl_symmetry": own_question(sgl_symmetry),
    "psd_figure_2": psd_figure_2,
    "psd_figure_2_curves": psd_curves("value"),
    "psd_figure_3": psd_curves("density"),
    "psd_density_1": against_truth("proper", "psd", "Held-out log-likelihood"),
    "psd_density_10": against_truth("proper", "psd", "Held-out log-likelihood"),
    "psd_solvers": own_question(psd_solvers),
    "psd_heteroscedastic": against_truth("held_out", "psd", "Held-out negative log-likelihood"),
    "psd_heteroscedastic_curves": psd_curves("deviation"),
    "psd_crossings": psd_crossings,
    "psd_quantiles": against_truth("pinball", "psd", "Held-out pinball loss"),
    "psd_quantile_curves": psd_curves("value"),
    "psd_boosting": own_question(psd_boosting),
}
