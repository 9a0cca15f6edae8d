"""From rows to the lines of tables: the published figure, the paper's method, our default.

Published figures that exist only as curves or bars are described in words. Every cell says over how
many draws or splits it is taken, and how many of its rows converged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.stats import wilcoxon

from experiments.nvsd import LIGHT, REFINED
from experiments.printed import (
    BASELINES,
    GENES,
    LASSO_TABLE_1,
    OURS,
    PRINTED_LEUKEMIA,
    PUBLISHED,
    PUBLISHED_9,
    PUBLISHED_10,
    ROWS,
    SGL_TABLE_1,
    Table,
)
from experiments.psd import CALL
from experiments.rows import Rows, cell, column, combinations, distinct, mean, median, where
from experiments.running import DEFAULT, Line, convergence

BEATS_ALL = " *"
LEVEL, FEWEST_TESTED = 0.05, 6  # of Wilcoxon's test; with five pairs it cannot reach 5 %
IMPROPER = 0.05  # distance of an integral from one that draws do not explain


def _share(rows: Rows, name: str) -> str:
    return f"{sum(column(rows, name)):.0f} of {len(rows)}"


def by_model(name: str, measure: str, *, label: str = "model") -> Callable[[Rows], list[Line]]:
    """A line per model with the mean of a measure."""

    def lines(rows: Rows) -> list[Line]:
        found = []
        for model in distinct(rows, label):
            part = where(rows, **{label: model})
            found.append(
                _by_call(f"{name}, {model}", "", cell(mean(part, measure, 4), part), model)
            )
        if "truth" in rows[0]:
            found.append(Line(f"{name} of the truth", "", mean(rows, "truth", 4)))
        return found

    return lines


def points(what: str) -> Callable[[Rows], list[Line]]:
    """Rows that are drawn, not summed up: how many per curve."""

    def lines(rows: Rows) -> list[Line]:
        label = "model" if "model" in rows[0] else "method"
        found = []
        for name in distinct(rows, label):
            part = where(rows, **{label: name})
            words = f"{len(part)} points [1 draw, {convergence(part)}]"
            default = name == DEFAULT
            found.append(
                Line(f"{what}, {name}", "a figure", "" if default else words, words * default)
            )
        return found

    return lines


def denovas_safe_filter(rows: Rows) -> list[Line]:
    """How often all relevant variables are in, and how many others are."""
    found = []
    for n, rate in combinations(rows, "n", "rate"):
        part = where(rows, n=n, rate=rate)
        words = f"all relevant in {sum(column(part, 'all_relevant')):.0f} of {len(part)}"
        words += f", {mean(part, 'others', 2)} others"
        printed = "goes to all as n grows (a theorem)" if "Theorem" in rate else ""
        found.append(Line(f"n = {n}, tau of order {rate}", printed, cell(words, part)))
    return found


def denovas_figure_3(rows: Rows) -> list[Line]:
    """How often x1 alone is selected."""
    printed = {"10.0": "x1 only", "0.0": "x1 and x2"}
    choices = {
        "penalised": "tau by validation",
        "refit": "tau by validation of the refit",
        "matched": "the same tau for all",
    }
    found = []
    for nu, published in printed.items():
        for choice, words in choices.items():
            part = where(rows, nu=nu, choice=choice)
            if not part:
                continue
            share = f"x1 only in {len(where(part, selected='1'))} of {len(part)}"
            found.append(Line(f"nu = {nu}, {words}", published, cell(share, part)))
    return found


def nvsd_protocol(rows: Rows) -> list[Line]:
    """RMSE and Tanimoto distance by method; a mark where the paper's test is passed."""
    found = []
    for problem in distinct(rows, "problem"):
        for n in sorted(distinct(where(rows, problem=problem), "n"), key=int):
            part = where(rows, problem=problem, n=n)
            forms = (name + form for form in (LIGHT, REFINED) for name in OURS)
            for method in (*PUBLISHED[problem], *forms, DEFAULT):
                own = where(part, method=method)
                if not own:
                    continue
                words = f"{mean(own, 'rmse')} ({mean(own, 'tanimoto', 2)})"
                if method in OURS and beats_all(own, part, "draw"):
                    words += BEATS_ALL
                name = method.removesuffix(REFINED).removesuffix(LIGHT)
                printed = printed_pair(problem, name, int(n))
                what = f"{problem}, n = {n}, {method}"
                found.append(_line(what, printed, cell(words, own), method))
    return found


def printed_pair(problem: str, method: str, n: int) -> str:
    """RMSE and Tanimoto distance as printed; empty where they are not."""
    if method not in PUBLISHED[problem]:
        return ""
    rmse, tanimoto = PUBLISHED[problem][method][ROWS.index(n)]
    return f"{'illegible' if rmse is None else format(rmse, '.2f')} ({tanimoto:.2f})"


def beats_all(own: Rows, rows: Rows, over: str) -> bool:
    """Whether a method's errors are below those of every baseline, by the paper's test.

    Wilcoxon's signed-rank test of the differences on common draws or splits, 5 %, and the smaller
    mean; with fewer than six common draws the test cannot reach 5 %, and says nothing.
    """
    errors = {row[over]: float(row["rmse"]) for row in own}
    for baseline in BASELINES:
        other = {row[over]: float(row["rmse"]) for row in where(rows, method=baseline)}
        common = sorted(errors.keys() & other.keys())
        differences = np.array([errors[key] - other[key] for key in common])
        if len(common) < FEWEST_TESTED or differences.mean() >= 0:
            return False
        if wilcoxon(differences).pvalue >= LEVEL:
            return False
    return True


def nvsd_tolerance(rows: Rows) -> list[Line]:
    """RMSE, Tanimoto distance and columns by problem, n, nu and gap."""
    found = []
    for problem, n, method in combinations(rows, "problem", "n", "method"):
        part = where(rows, problem=problem, n=n, method=method)
        words = f"{mean(part, 'rmse')} ({mean(part, 'tanimoto', 2)}), {mean(part, 'n_selected')}"
        printed = printed_pair(problem, "NVSD(L)", int(n))
        found.append(Line(f"{problem}, n = {n}, {method}", printed, cell(words, part)))
    return found


def nvsd_nu(rows: Rows) -> list[Line]:
    """Validation error and columns by problem, n and nu."""
    found = []
    for problem, n, method in combinations(rows, "problem", "n", "method"):
        part = where(rows, problem=problem, n=n, method=method)
        words = f"{mean(part, 'validation_rmse')}, {mean(part, 'n_selected')}"
        found.append(Line(f"{problem}, n = {n}, {method}", "", cell(words, part)))
    return found


def nvsd_algorithms(rows: Rows) -> list[Line]:
    """Median seconds and iterations, and the largest excess of the objective."""
    found = []
    for problem, penalty, n, solver in combinations(rows, "problem", "penalty", "n", "solver"):
        part = where(rows, problem=problem, penalty=penalty, n=n, solver=solver)
        seconds, steps = (np.median(column(part, name)) for name in ("seconds", "iterations"))
        words = f"{seconds:.2g} s, {steps:.0f} iterations, excess {max(column(part, 'excess')):.1g}"
        found.append(Line(f"{problem}, {penalty}, n = {n}, {solver}", "", cell(words, part)))
    return found


def nvsd_twins(rows: Rows) -> list[Line]:
    """Share of relevant pairs of twins that are selected whole."""
    found = []
    for estimator in distinct(rows, "estimator"):
        for fraction in distinct(rows, "fraction"):
            part = where(rows, estimator=estimator, fraction=fraction)
            whole = sum(column(part, "pairs_whole"))
            text = cell(f"{whole:.0f} of {2 * len(part)}", part)
            found.append(Line(f"pairs whole, {estimator}, {fraction} of alpha_max", "", text))
    return found


def sgl_table_1(rows: Rows) -> list[Line]:
    """How often each variable is among the five selected, in per cent of the draws."""
    found = []
    for method in distinct(rows, "method"):
        part = where(rows, method=method)
        printed = LASSO_TABLE_1 if method == "lasso" else SGL_TABLE_1
        for variable, published in enumerate(printed, 1):
            what = f"{method} selects x{variable}, per cent"
            found.append(Line(what, str(published), cell(_selected(part, variable), part)))
    return found


def _selected(rows: Rows, variable: int) -> str:
    hits = [str(variable) in row["selected"].split() for row in rows]
    return f"{100 * np.mean(hits):.0f}" if hits else ""


def sgl_figure_2(rows: Rows) -> list[Line]:
    """Draws with x1, x2 and nothing else, by the deviation of the other inputs."""
    found = []
    for spread in distinct(rows, "spread"):
        for method in distinct(rows, "method"):
            part = where(rows, spread=spread, method=method)
            words = f"{_share(part, 'exact')}, accuracy {mean(part, 'accuracy', 2)}"
            printed = {"GL": "under 0.7", "lasso": "fails"}.get(method, "x1 and x2")
            found.append(Line(f"deviation {spread}, {method}", printed, cell(words, part)))
    return found


def sgl_table_2(rows: Rows) -> list[Line]:
    """Genes and errors at the alpha that each way chooses, and where about 106 genes are left."""
    found = []
    for method, limit in combinations(rows, "method", "C"):
        path = where(rows, method=method, C=limit)
        printed = PRINTED_LEUKEMIA[method.split(",")[0]]
        near = min(path, key=lambda row: abs(int(row["n_genes"]) - GENES))
        sparse = method.startswith("SGL")
        for row in path:
            if not row["chosen"] and not (sparse and row is near):
                continue
            left = f"{row['loo_errors']}/38 left out ({row['loo_given']}/38 with given genes)"
            words = f"{row['n_genes']} genes; {left}, {row['test_errors']}/34 test"
            if sparse:
                words += f"; one direction {row['direction_test_errors']}/34 test"
            why = {"": "nearest to 106 genes", "only": ""}.get(row["chosen"], row["chosen"])
            what = f"{method}, C = {float(limit):g}" + (f", alpha {why}" if why else "")
            found.append(Line(what, printed, f"{words} [{convergence([row])}]"))
    return found


def sgl_iterates(rows: Rows) -> list[Line]:
    """Genes and errors after so many iterations, C = 1 and C = 100."""
    found = []
    for row in rows:
        left, given, test = (
            " and ".join(row[f"{kind}_C{c}"] or "not counted" for c in ("1", "100"))
            for kind in ("loo", "given", "test")
        )
        words = f"{row['n_genes']} genes, objective {row['excess']} above; "
        words += f"left out {left} of 38 (given genes {given}), test {test} of 34"
        steps = row["iteration"] if row["iteration"] == "optimum" else f"{row['iteration']} steps"
        found.append(
            Line(f"{row['method']}, {steps}", PRINTED_LEUKEMIA["SGL"], f"{words} [{row['status']}]")
        )
    return found


def sgl_symmetry(rows: Rows) -> list[Line]:
    """Exact supports and errors of the gradient by the weight of the symmetry."""
    found = []
    for mu in distinct(rows, "mu"):
        part = where(rows, mu=mu)
        words = f"{_share(part, 'exact')} exact, gradient error {mean(part, 'gradient_rmse')}"
        words += f", asymmetry {mean(part, 'asymmetry', 2)}"
        found.append(Line(f"weight {mu}", "", cell(words, part)))
    return found


def hkl_figure_8(rows: Rows) -> list[Line]:
    """Median error over the variance of f."""
    found = []
    for n in distinct(rows, "n"):
        for p in sorted(distinct(rows, "p"), key=int):
            part = where(rows, n=n, p=p)
            for method in distinct(part, "method"):
                own = where(part, method=method)
                value = median(own, "relative_error")
                if method.startswith(("HKL", DEFAULT)):
                    hits = sum(row["exact"] == "True" for row in own)
                    value = f"exact {hits} of {len(own)}; error {value}"
                low = method.startswith("HKL") and "+" not in method
                rivals = ("L2", "greedy", "MKL", "generalised lasso")
                high = method.startswith(rivals)
                printed = "stays low as p grows (a curve)" if low else ""
                printed = "grows with p (a curve)" if high else printed
                found.append(_line(f"{method}, n = {n}, p = {p}", printed, value, method))
    return found


def _line(what: str, published: str, words: str, method: str) -> Line:
    """The default call has a column of its own."""
    own = (words, "") if method != DEFAULT else ("", words)
    return Line(what, published, *own)


def hkl_rules(rows: Rows) -> list[Line]:
    """Variables too many and too few, exact hulls, median error over var(f)."""
    found = []
    for problem, rule in combinations(rows, "problem", "rule"):
        part = where(rows, problem=problem, rule=rule)
        wrong = f"{mean(part, 'too_many', 2)} / {mean(part, 'too_few', 2)}"
        known = [row["hull_exact"] == "True" for row in part if row["hull_exact"]]
        hull = f", hull exact in {sum(known)} of {len(known)}" if known else ""
        error = np.median(column(part, "relative_error"))
        words = f"too many / too few {wrong}{hull}, error {error:.3f}"
        found.append(Line(f"{problem}, {rule}", "", cell(words, part)))
    return found


def hkl_figure_9(rows: Rows) -> list[Line]:
    """Median test error over the variance of y."""
    return [
        _line(
            f"pumadyn {data}, {method}",
            "a curve",
            median(where(rows, data=data, method=method), "error"),
            method,
        )
        for data, method in combinations(rows, "data", "method")
    ]


def psd_figure_2(rows: Rows) -> list[Line]:
    """Root mean square errors of the approximations."""
    printed = {"psd": "goes to the target as n grows", "ncm": "does not"}
    found = []
    for kernel, model, tuning, n in combinations(rows, "kernel", "model", "tuning", "n"):
        part = where(rows, kernel=kernel, model=model, tuning=tuning, n=n)
        what = f"{model}, kernel {kernel}, weight {tuning}, n = {n}"
        found.append(Line(what, printed[model], cell(mean(part, "rmse", 2), part)))
    return found


def psd_densities(printed: Mapping[str, str]) -> Callable[[Rows], list[Line]]:
    """Log-likelihood and its deviation between draws; what is no density says by how much."""

    def lines(rows: Rows) -> list[Line]:
        found = []
        for model in distinct(rows, "model"):
            part = where(rows, model=model)
            words = mean(part, "held_out", 4)
            if len(part) > 1:
                words += f" ({np.std(column(part, 'held_out'), ddof=1):.2g})"
            mass = float(np.mean(column(part, "mass")))
            if abs(mass - 1) > IMPROPER:
                words += f"; integral of abs(f) {mass:.3g}, with that {mean(part, 'proper', 4)}"
            if sum(column(part, "negative_box")):
                words += (
                    f"; negative at {100 * np.mean(column(part, 'negative_box')):.2g} % of a box"
                )
            found.append(_by_call(model, printed.get(model, ""), cell(words, part), model))
        return [*found, Line("the truth", "", f"{mean(rows, 'truth', 4)}")]

    return lines


def psd_solvers(rows: Rows) -> list[Line]:
    """Steps, seconds and the distance from the optimum, paper's solver next to the default's."""
    found = []
    for task, model in combinations(rows, "task", "model"):
        words = {}
        for method in distinct(where(rows, task=task, model=model), "method"):
            part = where(rows, task=task, model=model, method=method)
            far = max(abs(float(row["objective"]) - float(row["optimum"])) for row in part)
            steps, seconds = mean(part, "iterations"), mean(part, "seconds", 2)
            words[method] = cell(f"{steps} steps, {seconds} s, within {far:.0e}", part)
        paper = next((name for name in words if name != "auto"), "")
        found.append(
            Line(f"{task}, {model}: {paper}", "", words.get(paper, ""), words.get("auto", ""))
        )
    return found


def _by_call(what: str, published: str, words: str, model: str) -> Line:
    """The library's class with nothing set has a column of its own."""
    own = ("", words) if model == CALL else (words, "")
    return Line(what, published, *own)


def psd_crossings(rows: Rows) -> list[Line]:
    """How often quantiles cross, learned together and one by one."""
    found = []
    for fit, printed in (("joint", "never"), ("independent", "may cross")):
        part = where(rows, fit=fit)
        crossed = sum(value > 0 for value in column(part, "crossed"))
        words = f"{crossed} of {len(part)}; pinball loss {mean(part, 'pinball')}"
        found.append(Line(f"crossings, {fit}", printed, cell(words, part)))
    return found


def psd_boosting(rows: Rows) -> list[Line]:
    """Held-out pinball loss on real tables, ours and boosting."""
    found = []
    for data, method in combinations(rows, "data", "method"):
        part = where(rows, data=data, method=method)
        words = f"{mean(part, 'pinball')}, {mean(part, 'crossed', 2)} crossed"
        found.append(Line(f"pinball loss, {data}, {method}", "", cell(words, part)))
    return found


NEEDED = 0.1  # selection error that figure 6 asks for


def _denovas_errors(rows: Rows) -> str:
    """Both errors and the seconds, means over the draws."""
    if not rows:
        return ""
    words = f"{mean(rows, 'selection_error', 2)}; {mean(rows, 'rmse')}"
    return cell(f"{words}; {mean(rows, 'seconds', 2)} s", rows)


def _curves(rows: Rows, published: dict[str, str], otherwise: str) -> list[Line]:
    """Every method but the default against n, with the default beside it."""
    found = []
    for n in sorted(distinct(rows, "n"), key=int):
        default = _denovas_errors(where(rows, n=n, method=DEFAULT))
        for method in distinct(rows, "method"):
            if method == DEFAULT:
                continue
            words = published.get(method, otherwise)
            ours = _denovas_errors(where(rows, n=n, method=method))
            found.append(Line(f"n = {n}, {method}", f"{words} (a curve)", ours, default))
    return found


def denovas_figure_4(rows: Rows) -> list[Line]:
    """Selection error; RMSE; seconds."""
    return _curves(rows, {"nu = 0.5": "poor"}, "stable in nu from 1 on, falls with n")


def denovas_figure_5(rows: Rows) -> list[Line]:
    """Smallest n with a mean selection error of at most 10 %, and the errors at the largest n."""
    found = []
    for d in sorted(distinct(rows, "d"), key=int):
        for r in sorted(distinct(where(rows, d=d), "relevant"), key=int):
            part = where(rows, d=d, relevant=r)
            words = "grows with the relevant variables, less with d (a curve)"
            ours = [needed(where(part, method=name)) for name in ("paper", DEFAULT)]
            found.append(Line(f"d = {d}, {r} relevant: n needed", words, *ours))
            most = max(distinct(part, "n"), key=int)
            last = [
                _denovas_errors(where(part, n=most, method=name)) for name in ("paper", DEFAULT)
            ]
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


def denovas_figure_7(rows: Rows) -> list[Line]:
    """Selection error; RMSE; seconds."""
    return _curves(rows, {"p = 1": "chance, 0.5"}, "falls with n, alike for p of 4 to 6")


def denovas_figure_8(rows: Rows) -> list[Line]:
    """Selection error; RMSE; seconds."""
    found = []
    for terms in sorted(distinct(rows, "terms"), key=int):
        part = where(rows, terms=terms)
        ours = [_denovas_errors(where(part, method=name)) for name in ("paper", DEFAULT)]
        found.append(Line(f"{terms} monomials", "does not depend on them (a curve)", *ours))
        lasso = _denovas_errors(where(part, method="lasso on monomials"))
        if lasso:
            words = "fades with their number (a curve)"
            found.append(Line(f"{terms} monomials, lasso on monomials", words, lasso))
    return [line for line in found if line.paper or line.default]


def denovas_figure_9(rows: Rows) -> list[Line]:
    """Selection error; RMSE; seconds."""
    found = []
    for problem in distinct(rows, "problem"):
        default = _denovas_errors(where(rows, problem=problem, method=DEFAULT))
        for method in distinct(where(rows, problem=problem), "method"):
            words = _denovas_errors(where(rows, problem=problem, method=method))
            published = PUBLISHED_9.get((problem, method), "")
            if method == "paper":
                found.append(Line(problem, published, words, default))
            elif method != DEFAULT:
                found.append(Line(f"{problem}, {method}", published, words))
    return found


def denovas_real(published: dict[str, str]) -> Callable[[Rows], list[Line]]:
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
    words = f"{error:.3f}; {mean(rows, 'fraction', 2)} kept; {mean(rows, 'seconds', 2)} s"
    return cell(words, rows)


denovas_figure_10 = denovas_real(PUBLISHED_10)
denovas_figure_11 = denovas_real({"Gaussian": "preferable on most tables (bars)"})


PLAIN = "KRLS"


def nvsd_real(printed: Mapping[str, Table]) -> Callable[[Rows], list[Line]]:
    """RMSE, that over the RMSE of kernel ridge on all columns, and the number of columns."""

    def lines(rows: Rows) -> list[Line]:
        found = []
        for short in distinct(rows, "data"):
            table, part = printed[short], where(rows, data=short)
            plain = where(part, method=PLAIN)
            default = _nvsd_errors(where(part, method=DEFAULT), plain)
            for method in table.rmse:
                own = where(part, method=method)
                if own:
                    better = method in OURS and beats_all(own, part, "split")
                    words = _nvsd_errors(own, plain, BEATS_ALL if better else "")
                    found.append(Line(f"{short}, {method}", _printed(table, method), words))
            if default:
                found.append(Line(f"{short}, {DEFAULT}", "", "", default))
        return found

    return lines


def _printed(table: Table, method: str) -> str:
    ratio = table.rmse[method] / table.rmse[PLAIN]
    size = f", {table.size[method]:g} columns" if method in table.size else ""
    return f"{table.rmse[method]:.2f} ({ratio:.2f}){size}"


def _nvsd_errors(rows: Rows, plain: Rows, mark: str = "") -> str:
    """Means over the splits; the ratio is that of means over common splits."""
    if not rows:
        return ""
    words = f"{np.mean(column(rows, 'rmse')):.3g}"
    errors = {row["split"]: float(row["rmse"]) for row in plain}
    common = [row for row in rows if row["split"] in errors]
    if common:
        ratio = np.mean(column(common, "rmse")) / np.mean([errors[r["split"]] for r in common])
        words += f" ({ratio:.2f})"
    return cell(f"{words}, {mean(rows, 'n_selected', 3)} columns{mark}", rows)
