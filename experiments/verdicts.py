"""From rows to one honest sentence per experiment: is what was published there again?

A verdict is a function of rows: its kind is decided by the rule of :mod:`experiments.judging`, and
every number in its sentence is computed.
"""

from __future__ import annotations

import numpy as np

from experiments import derivative_verdicts as derivatives
from experiments import hkl
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
    own_question,
    paired,
    resting_on,
    too_few,
)
from experiments.printed import (
    BASELINES,
    DENSITY_1,
    DENSITY_10,
    GENES,
    LASSO_TABLE_1,
    OURS,
    SGL_TABLE_1,
    TABLE_3,
    TABLE_4,
)
from experiments.rows import Rows, column, distinct, fewest, means, medians, repeats, where

# -------------------------------------------------------------------------------- Bach (2009)


PLAIN, LIGHT, ALL = "HKL hermite", "HKL hermite, weight 1.2", "L2 hermite"


@resting_on(of_methods(PLAIN), ("p",), [(p,) for p in hkl.DIMENSIONS], "plain HKL")
def hkl_figure_8(rows: Rows) -> Verdict:
    """HKL stays low as p grows, L2 does not."""
    low: list[str] = []
    high: list[str] = []
    light: list[str] = []
    for p in map(str, hkl.DIMENSIONS):
        part = where(rows, p=p)
        found = medians(part, "method", "relative_error")
        ahead = clear(paired(part, "relative_error", [ALL], [PLAIN], "method", "draw"))
        (low if ahead else high).append(f"{found[PLAIN]:.2f} at p = {p}")
        if LIGHT in found:
            light.append(
                f"{found[LIGHT]:.2f} at p = {p} ({repeats(where(part, method=LIGHT))} draws)"
            )
    why = "Median error over var(f) of plain HKL, weight 4, clearly below L2: " + ", ".join(low)
    if high:
        why += "; not: " + ", ".join(high)
    if light:
        why += "; with weight 1.2: " + ", ".join(light)
    return Verdict(graded(not high, bool(low)), why + ".")


@resting_on(of_methods(PLAIN), ("data",), [(data,) for data in hkl.PUMADYN], "plain HKL")
def hkl_figure_9(rows: Rows) -> Verdict:
    """Similar on fh; MARS and the Gaussian process beat HKL on 32nh."""
    part = where(rows, data="32nh")
    found = medians(part, "method", "error")
    pruned = "HKL hermite + pruning"  # not in the paper
    splits = {m: len(where(part, method=m)) for m in found if m.startswith("HKL") and m != pruned}
    whole = [
        m for m, n in splits.items() if n == max(splits.values())
    ]  # half a row decides nothing
    best = min(whole, key=found.__getitem__)
    rivals = [m for m in ("MARS", "Gaussian process") if m in found]
    words = ", ".join(f"{m} {found[m]:.3f}" for m in (best, *rivals))
    ahead = [clear(paired(part, "error", [best], [m], "method", "split")) for m in rivals]
    if pruned in found:
        words += f"; pruned, which is ours, {found[pruned]:.3f}"
    return Verdict(graded(all(ahead), any(ahead)), f"Median errors on 32nh: {words}.")


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
    sgl, n = shares["SGL, columns centred"], repeats(rows)
    hits = ["1" in row["selected"].split() for row in where(rows, method="SGL, columns centred")]
    alike = against_print(100 * np.array(hits), SGL_TABLE_1[0], n) == 0
    why = f"x1 in {sgl:.0f} % of {n} draws (print {SGL_TABLE_1[0]}), the lasso in "
    why += f"{shares['lasso']:.0f} % (print {LASSO_TABLE_1[0]})."
    return Verdict(graded(alike and sgl > shares["lasso"], sgl > shares["lasso"]), why)


def sgl_figure_1(rows: Rows) -> Verdict:
    """On the path of SGL the five variables enter before any other."""
    first = {}
    for variable in range(1, 11):
        own = where(rows, method="SGL", variable=variable)
        entered = [float(row["strength"]) for row in own if float(row["size"]) > 0]
        first[variable] = min(entered, default=np.inf)
    good = max(first[v] for v in range(1, 6)) <= min(first[v] for v in range(6, 11))
    before = sum(first[v] < min(first[w] for w in range(6, 11)) for v in range(1, 6))
    why = f"{before} of the five relevant variables enter before all others."
    return Verdict(REPRODUCED if good else DIFFERENT, why)


@resting_on(of_methods("SGL"))
def sgl_figure_2(rows: Rows) -> Verdict:
    """x1 and x2 at every deviation, GL only for small ones."""
    own = where(rows, method="SGL")
    exact = {s: sum(column(where(own, spread=s), "exact")) for s in distinct(own, "spread")}
    words = ", ".join(f"{count:.0f} at {spread}" for spread, count in exact.items())
    n = repeats(own)
    every, some = (end(exact.values()) >= NEARLY_ALL * n for end in (min, max))
    why = f"With the paper's kernel x1, x2 and nothing else in {words} of {n} draws, by the "
    return Verdict(
        graded(every, some), why + "deviation of the other inputs; print has every deviation."
    )


def sgl_figure_3(rows: Rows) -> Verdict:
    """Norms of the two relevant variables above all others."""
    good = []
    for method in distinct(rows, "method"):
        norms = column(where(rows, method=method, kind="norm"), "x")
        if norms and min(norms[:2]) > max(norms[2:]):
            good.append(method)
    words = ", ".join(good) or "no method"
    kind = graded("SGL" in good, bool(good))
    return Verdict(kind, f"Largest norms at x1 and x2 for: {words}.")


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
    """Early iterates of the paper's algorithm pass the printed number of genes, without errors."""
    rows = [row for row in rows if row["iteration"].isdigit()]
    genes = [int(row["n_genes"]) for row in rows]
    nearest = min(rows, key=lambda row: abs(int(row["n_genes"]) - GENES))
    why = (
        f"From {max(genes)} genes after {min(int(r['iteration']) for r in rows)} iterations to "
        f"{min(genes)}; nearest to the printed {GENES}: {nearest['n_genes']} after "
        f"{nearest['iteration']} iterations, {nearest['test_C1']} of 34 test errors at C = 1."
    )
    passed = min(genes) <= GENES <= max(genes)
    return Verdict(graded(passed and nearest["test_C1"] == "0", passed), why)


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


def against_truth(value: str, what: str, printed: dict[str, str] | None = None) -> Judge:
    """Whether PSD is nearest to the truth, means over draws, and print (one draw) is among them."""

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
        words = ", ".join(f"{m.upper()} {found[m]:.4g}" for m in paper)
        why = f"{what}, {len(common)} draws: {words}, the truth {truth:.4g}."
        far = [
            f"{m.upper()} ({text})"
            for m, text in (printed or {}).items()
            if against_print(column(where(rows, model=m), "held_out"), float(text), 1)
        ]
        if printed:
            why += f" Further than two standard errors from print: {', '.join(far) or 'none'}."
        nearest = min(paper, key=paper.__getitem__) == "psd"
        return Verdict(REPRODUCED if nearest and not far else DIFFERENT, why)

    return judge


def psd_curves(value: str) -> Judge:
    """Whether the curve of PSD is the nearest to the truth, or nearer than most."""

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
        nearer = sum(error < errors["psd"] for error in errors.values())
        sizes = f", n of {' and '.join(distinct(rows, 'n'))}" if "n" in rows[0] else ""
        why = f"Distance to the truth{sizes}: {words}."
        return Verdict(graded(nearer == 0, 2 * nearer < len(errors)), why)

    return judge


@resting_on()
def psd_crossings(rows: Rows) -> Verdict:
    """Joint quantiles never cross."""
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
    "denovas_figure_2": derivatives.best_of_points(
        ["paper"], ["MKL", "lasso on monomials", "HKL", "RLS"]
    ),
    "denovas_figure_3": derivatives.denovas_figure_3,
    "denovas_figure_4": derivatives.denovas_figure_4,
    "denovas_figure_5": derivatives.denovas_figure_5,
    "denovas_figure_7": derivatives.denovas_figure_7,
    "denovas_figure_8": derivatives.denovas_figure_8,
    "denovas_figure_9": derivatives.denovas_figure_9,
    "denovas_figure_10": derivatives.denovas_figure_10,
    "denovas_figure_11": derivatives.denovas_figure_11,
    "denovas_safe_filter": derivatives.denovas_safe_filter,
    "nvsd_protocol": derivatives.nvsd_protocol,
    "nvsd_figure_1": derivatives.best_of_points(OURS, BASELINES),
    "nvsd_real": derivatives.nvsd_real(TABLE_3),
    "nvsd_real_groups": derivatives.nvsd_real(TABLE_4),
    "nvsd_twins": derivatives.nvsd_twins,
    "nvsd_algorithms": derivatives.nvsd_algorithms,
    "nvsd_nu": own_question(derivatives.nvsd_nu),
    "nvsd_tolerance": own_question(derivatives.nvsd_tolerance),
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
    "psd_density_1": against_truth("proper", "Held-out log-likelihood", DENSITY_1),
    "psd_density_10": against_truth("proper", "Held-out log-likelihood", DENSITY_10),
    "psd_solvers": own_question(psd_solvers),
    "psd_heteroscedastic": against_truth("held_out", "Held-out negative log-likelihood"),
    "psd_heteroscedastic_curves": psd_curves("deviation"),
    "psd_crossings": psd_crossings,
    "psd_quantiles": against_truth("pinball", "Held-out pinball loss"),
    "psd_quantile_curves": psd_curves("value"),
    "psd_boosting": own_question(psd_boosting),
}
