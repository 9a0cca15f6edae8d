"""All experiments by name: how often each is repeated, what a quick look is, how it is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from experiments import (
    denovas,
    figures,
    hkl,
    nvsd,
    psd,
    psd_regression,
    rivals,
    sgl,
    sgl_leukemia,
    tables,
    two_steps,
)
from experiments.running import Experiment, Row, draws

ROSASCO, GREGOROVA = "Rosasco et al. (2013)", "Gregorova et al. (2018)"
BACH, YE, MARTEAU = "Bach (2009)", "Ye and Xie (2012)", "Marteau-Ferey, Bach and Rudi (2020)"
NAMED = "A line that names another method than the paper's holds that method's figure."
QUICK_8 = ("HKL hermite + pruning", "L2 hermite", "greedy hermite", "CART", "Gaussian process")
QUICK_9 = ("greedy hermite", "L2 hermite", "Gaussian process")
UNITS = "Selection error; RMSE in units of the noise; processor seconds. Means over the draws."
REAL = "Median RMSE / sd(y); share of the columns kept; processor seconds. Needs the real tables."
RATIO = (
    "RMSE, in brackets over that of KRLS; columns kept. A star: better than all baselines by "
    "Wilcoxon's signed-rank test at 5 %. Needs the real tables."
)


def named(module: Any, *names: str) -> dict[str, Any]:
    """Constants of a module: the settings that are hashed into rows."""
    return {name: getattr(module, name) for name in names}


_PAPER = {"paper": two_steps.DENOVAS_SETTINGS, "RLS": two_steps.RIDGE_SETTINGS}
_RIVALS = {
    name: named(rivals, "HKL_ALPHAS", "BETAS", "MOST_KERNELS") for name in ("HKL", "HKL hermite")
} | {
    "MKL": {**two_steps.RIDGE_SETTINGS, **named(rivals, "MKL_ALPHAS")},
    "COSSO": named(rivals, "HKL_ALPHAS"),
    "lasso on monomials": {**two_steps.RIDGE_SETTINGS, **named(rivals, "LASSO_FRACTIONS")},
    "SpAM": named(rivals, "SPAM_PENALTIES", "SPAM_ROUNDS", "SPAM_SWEEPS"),
}


def every(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The settings of the paper's method for each of some names."""
    return dict.fromkeys(names, two_steps.DENOVAS_SETTINGS)


_DERIVATIVES = (
    Experiment(
        "denovas_figure_3",
        f"{ROSASCO}, figure 3: the norm term and a nearly constant variable",
        denovas.figure_3,
        draws(20),
        draws(1),
        ("draw", "nu", "choice"),
        tables.denovas_figure_3,
        figures.strip("tau", "nu", "choice", "selected"),
        settings={
            **two_steps.SETTINGS,
            **named(denovas, "TAUS_3", "MATCHED_TAU", "NOISE_3", "KERNEL_3", "TOL_3"),
        },
    ),
    Experiment(
        "denovas_figure_4",
        f"{ROSASCO}, figure 4: the weight of the norm",
        denovas.figure_4,
        [{}],
        [{"repeats": 1, "n_train": (50,), "nus": (0.5, 10.0)}],
        denovas.KEY_4,
        tables.denovas_figure_4,
        figures.errors_against("n"),
        note=UNITS,
        resumes=True,
        settings=named(denovas, "TEST_ROWS"),
        by_method=every(f"nu = {nu:g}" for nu in denovas.NUS),
    ),
    Experiment(
        "denovas_figure_5",
        f"{ROSASCO}, figures 5 and 6: rows needed for d variables of which r matter",
        denovas.figure_5,
        [{}],
        [{"repeats": 1, "dimensions": (10,), "relevant": (2, 4), "n_train": (40,)}],
        denovas.KEY_5,
        tables.denovas_figure_5,
        figures.denovas_figure_5,
        note=UNITS,
        resumes=True,
        settings=named(denovas, "TEST_ROWS"),
        by_method=_PAPER,
    ),
    Experiment(
        "denovas_figure_7",
        f"{ROSASCO}, figure 7: the degree of the kernel",
        denovas.figure_7,
        [{}],
        [{"repeats": 1, "n_train": (40,), "degrees": (1, 2)}],
        denovas.KEY_7,
        tables.denovas_figure_7,
        figures.errors_against("n"),
        note=UNITS,
        resumes=True,
        settings=named(denovas, "TEST_ROWS"),
        by_method=every(f"p = {p}" for p in denovas.DEGREES),
    ),
    Experiment(
        "denovas_figure_8",
        f"{ROSASCO}, figure 8: the number of monomials",
        denovas.figure_8,
        [{}],
        [{"repeats": 1, "terms": (3, 9)}],
        denovas.KEY_8,
        tables.denovas_figure_8,
        figures.errors_against("terms"),
        note=UNITS,
        resumes=True,
        settings=named(denovas, "TEST_ROWS"),
        by_method={**_PAPER, **_RIVALS},
    ),
    Experiment(
        "denovas_figure_9",
        f"{ROSASCO}, figure 9: four functions, next to other methods",
        denovas.figure_9,
        [{}],
        [{"repeats": 1, "problems": ("2-way",), "only": ("RLS", "lasso on monomials", "paper")}],
        denovas.KEY_9,
        tables.denovas_figure_9,
        figures.strip("rmse", "problem", "method"),
        note=UNITS,
        resumes=True,
        settings=named(denovas, "TRAIN", "TEST"),
        by_method={**_PAPER, **_RIVALS},
    ),
    Experiment(
        "denovas_figure_2",
        f"{ROSASCO}, figure 2: the radial function of one draw",
        denovas.figure_2,
        [{}],
        [{"only": ("MKL", "RLS")}],
        ("method", "x1", "x2"),
        tables.points("radial function"),
        figures.radial,
        note="Values in units of the noise.",
        settings=named(denovas, "TRAIN"),
        by_method={**_PAPER, **_RIVALS},
    ),
    Experiment(
        "denovas_figure_10",
        f"{ROSASCO}, figure 10: real tables, next to other methods",
        denovas.figure_10,
        [{}],
        [{"splits": 1, "tables": ("wpbc_time",), "only": ("paper", "MKL", "RLS")}],
        denovas.KEY_10,
        tables.denovas_figure_10,
        figures.real_tables,
        note=REAL,
        resumes=True,
        settings=named(denovas, "REAL_TRAIN", "FEW", "BUILT"),
        by_method={**_PAPER, **_RIVALS},
    ),
    Experiment(
        "denovas_figure_11",
        f"{ROSASCO}, figure 11: kernels on real tables",
        denovas.figure_11,
        [{}],
        [{"splits": 1, "tables": ("wpbc_time",), "only": ("p = 1", "Gaussian")}],
        denovas.KEY_10,
        tables.denovas_figure_11,
        figures.real_tables,
        note=REAL,
        resumes=True,
        settings=named(denovas, "REAL_TRAIN", "FEW", "BUILT"),
        by_method=every(denovas.KERNELS_11),
    ),
    Experiment(
        "denovas_safe_filter",
        f"{ROSASCO}, Theorem 11: no relevant variable is left out",
        denovas.safe_filter,
        [{}],
        [{"repeats": 2}],
        denovas.KEY_FILTER,
        tables.denovas_safe_filter,
        figures.strip("others", "n", "rate"),
        resumes=True,
        settings={**two_steps.SETTINGS, **named(denovas, "FILTER_ROWS", "FILTER_SCALE")},
    ),
    Experiment(
        "nvsd_protocol",
        f"{GREGOROVA}, tables 1 and 2: RMSE (Tanimoto distance) of E1 to E3",
        nvsd.protocol,
        [{}],
        [{"repeats": 1, "problems": ("E1",), "n_train": (30,), "only": ("KRLS", "NVSD(L)")}],
        nvsd.KEY,
        tables.nvsd_protocol,
        figures.errors_against_n,
        note="A star: better than all baselines by Wilcoxon's signed-rank test at 5 %, where the "
        "paper underlines. The default call sees the training rows only, and no groups. Gaps are "
        "relative to the gain: see nvsd_tolerance for what that changes.",
        resumes=True,
        settings={**named(nvsd, "HELD_OUT"), "outputs": "centred"},
        by_method={**_RIVALS, **nvsd.METHOD_SETTINGS},
    ),
    Experiment(
        "nvsd_algorithms",
        f"{ROSASCO} and {GREGOROVA}: their own algorithms next to ours",
        nvsd.algorithms,
        [{}],
        [{"repeats": 1, "n_train": (30,)}],
        nvsd.KEY_SOLVERS,
        tables.nvsd_algorithms,
        figures.strip("seconds", "problem", "penalty", "solver"),
        note="Cold starts, a gap of 1e-6 of the objective of zero; excess over the minimum.",
        resumes=True,
        settings={
            **named(nvsd, "SOLVER_TOL", "NU"),
            "algorithms": {name: repr(solver) for name, solver in nvsd.ALGORITHMS.items()},
        },
    ),
    Experiment(
        "nvsd_tolerance",
        "How far one must solve: NVSD(L) of E1 to E3 at two gaps",
        nvsd.tolerance,
        [{}],
        [{"repeats": 1, "n_train": (50,)}],
        nvsd.KEY,
        tables.nvsd_tolerance,
        figures.strip("rmse", "problem", "n", "method"),
        note="Not in the paper. RMSE (Tanimoto distance), columns kept.",
        resumes=True,
        settings={**named(nvsd, "HELD_OUT"), **two_steps.PAPER_SETTINGS, "outputs": "centred"},
    ),
    Experiment(
        "nvsd_twins",
        "Correlated twins kept together, by the lasso and by the elastic net",
        nvsd.twins,
        draws(20),
        draws(2),
        ("draw", "estimator", "fraction"),
        tables.nvsd_twins,
        figures.strip("pairs_whole", "estimator", "fraction"),
        note="Not in the paper: its claim about the elastic net, made into a count.",
        settings=named(nvsd, "TWINS"),
    ),
    Experiment(
        "nvsd_real",
        f"{GREGOROVA}, table 3: real tables",
        nvsd.real,
        [{}],
        [{"splits": 1, "data": ("EN",), "only": ("KRLS", "NVSD(L)")}],
        nvsd.KEY_REAL,
        tables.nvsd_real(nvsd.TABLE_3),
        figures.real_tables,
        note=RATIO,
        resumes=True,
        settings=named(nvsd, "TRAIN", "MOST"),
        by_method={**_RIVALS, **nvsd.REAL_SETTINGS},
    ),
    Experiment(
        "nvsd_real_groups",
        f"{GREGOROVA}, table 4: real tables with groups of columns",
        nvsd.real_groups,
        [{}],
        [{"splits": 1, "data": ("AI",), "only": ("KRLS", "NVSD(GL)")}],
        nvsd.KEY_REAL,
        tables.nvsd_real(nvsd.TABLE_4),
        figures.real_tables,
        note=RATIO,
        resumes=True,
        settings={**named(nvsd, "TRAIN", "MOST"), "groups": list(nvsd.CHOSEN_ON)},
        by_method={**_RIVALS, **nvsd.REAL_SETTINGS},
    ),
    Experiment(
        "nvsd_figure_1",
        f"{GREGOROVA}, figure 1: predictions of E3 at n = 110 in one draw",
        nvsd.figure_1,
        [{}],
        [{"only": ("KRLS", "NVSD(L)")}],
        ("method", "x1", "x2"),
        tables.points("predictions of E3"),
        figures.radial,
        note="Means of the three copies of z1 and of z3 on the axes.",
        settings={**named(nvsd, "HELD_OUT"), "outputs": "centred"},
        by_method={**_RIVALS, **nvsd.METHOD_SETTINGS},
    ),
)


def figure_8(only: Iterable[str] = (), repeats: int = 10, **settings: Any) -> Iterable[Row]:
    """Figure 8 of Bach (2009), with some of its methods or all."""
    methods = hkl.methods_8()
    chosen = {name: methods[name] for name in only} or methods
    return hkl.figure_8(methods=chosen, repeats=repeats, **settings)


def figure_9(only: Iterable[str] = (), splits: int = 10, **settings: Any) -> Iterable[Row]:
    """Figure 9 of Bach (2009), with some of its methods or all."""
    methods = hkl.methods_9()
    chosen = {name: methods[name] for name in only} or methods
    return hkl.figure_9(methods=chosen, splits=splits, **settings)


HKL = {
    "HKL hermite": named(hkl, "PAPER", "BUDGET"),
    "HKL hermite + pruning": named(hkl, "PRUNED", "BUDGET"),
    **{f"HKL {kernel}": named(hkl, "PAPER", "BUDGET", "RANK") for kernel in ("gaussian", "spline")},
    **{f"MKL {kernel}": named(hkl, "FLAT") for kernel in ("hermite", "spline")},
}

DENSITY = named(psd, "MODES", "BASE", "FOLDS")
IN_ONE = {**DENSITY, **named(psd, "WEIGHTS_1")}
IN_TEN = {**DENSITY, **named(psd, "GRIDS")}
NOISE = named(psd_regression, "NOISE_WEIGHTS", "RANK", "FOLDS")
OWN_CODE = "Published: what the authors' own code printed, one draw. " + NAMED
RINGS = named(sgl, "RINGS", "RADIAL", "ADAPTIVE", "FRACTION", "WITHOUT_SPARSITY", "TEST_ROWS")
LEUKEMIA = named(sgl_leukemia, "SETTINGS", "FORMS", "LIMITS", "GL_FEATURES")

_ALL = (
    *_DERIVATIVES,
    Experiment(
        "hkl_figure_8",
        f"{BACH}, figure 8: median error over var(f) against p (number of draws), n = 100",
        figure_8,
        [{}],
        [{"repeats": 1, "dimensions": (8, 16), "only": QUICK_8}],
        hkl.KEY_8,
        tables.hkl_figure_8,
        figures.hkl_figure_8,
        note=NAMED,
        resumes=True,
        settings=named(hkl, "TEST_ROWS", "SNR"),
        by_method=HKL,
    ),
    Experiment(
        "hkl_figure_8_n256",
        f"{BACH}, figure 8 at n = 256",
        figure_8,
        [{"n_samples": (256,)}],
        [{"repeats": 1, "dimensions": (8,), "n_samples": (256,), "only": QUICK_8}],
        hkl.KEY_8,
        tables.hkl_figure_8,
        figures.hkl_figure_8,
        note=NAMED,
        resumes=True,
        settings=named(hkl, "TEST_ROWS", "SNR"),
        by_method=HKL,
    ),
    Experiment(
        "hkl_figure_9",
        f"{BACH}, figure 9: median error over var(y) on pumadyn (number of splits)",
        figure_9,
        [{}],
        [{"splits": 1, "data": ("8nh",), "n_samples": 256, "only": QUICK_9}],
        hkl.KEY_9,
        tables.hkl_figure_9,
        figures.hkl_figure_9,
        note=f"Needs the pumadyn tables. {NAMED}",
        resumes=True,
        settings=named(hkl, "PUMADYN_ROWS"),
        by_method=HKL,
    ),
    Experiment(
        "hkl_rules",
        "Hierarchical kernels: rules that choose the hull, on problems they were not made for",
        hkl.rules,
        [{}],
        [{"repeats": 1, "problems": ("few_rows",), "n_alphas": 6}],
        hkl.KEY_RULES,
        tables.hkl_rules,
        figures.strip("relative_error", "problem", "rule"),
        note="Not in the paper.",
        resumes=True,
        settings=named(hkl, "RULES_TEST", "RULES_SNR", "RULES", "BUDGET"),
    ),
    Experiment(
        "sgl_table_1",
        f"{YE}, table 1: which five of ten variables are selected",
        sgl.table_1,
        draws(100),
        draws(2),
        ("draw", "method"),
        tables.sgl_table_1,
        figures.selected,
        note=NAMED,
        settings=named(sgl, "TURLACH"),
    ),
    Experiment(
        "sgl_figure_1",
        f"{YE}, figure 1: paths of sparse gradients and of the lasso",
        sgl.figure_1,
        [{}],
        [{}],
        ("method", "strength", "variable"),
        tables.points("path"),
        figures.sgl_figure_1,
        settings=named(sgl, "TURLACH", "POINTS"),
    ),
    Experiment(
        "sgl_figure_2",
        f"{YE}, figures 2 and 3: rings among 200 inputs",
        sgl.figure_2,
        draws(20),
        draws(1, spreads=(0.5, 2.0)),
        ("spread", "draw", "method"),
        tables.sgl_figure_2,
        figures.sgl_figure_2,
        note=NAMED,
        settings=RINGS,
    ),
    Experiment(
        "sgl_figure_3",
        f"{YE}, panels of figures 2 and 3 for one draw",
        sgl.figure_3,
        [{}],
        [{"spread": 1.0}],
        ("method", "kind", "index", "x", "y"),
        tables.points("panels"),
        figures.sgl_figure_3,
        settings=RINGS,
    ),
    Experiment(
        "sgl_symmetry",
        f"{YE}, section 2.3: gradients that are those of one function",
        sgl.symmetry,
        draws(20),
        draws(1, n_samples=40),
        ("draw", "mu"),
        tables.sgl_symmetry,
        figures.strip("gradient_rmse", "mu"),
        note="The paper remarks that the constraint can be added and does not try it.",
        settings=named(sgl, "TURLACH", "SYMMETRIC", "SYMMETRY_STEPS", "SYMMETRY_TOL"),
    ),
    Experiment(
        "sgl_iterates",
        f"{YE}, table 2: genes and errors of the iterates of Algorithm 1 at half of alpha_max",
        sgl_leukemia.iterates,
        [{"forms": (form,)} for form in sgl_leukemia.ITERATED],
        [{"forms": ("regression, x.y",), "iterations": (10, 100), "nested_up_to": 0}],
        ("method", "fraction", "iteration"),
        tables.sgl_iterates,
        figures.sgl_iterates,
        note="Needs the leukemia table. Iterates are stopped on purpose: capped.",
        settings={**LEUKEMIA, **named(sgl_leukemia, "NESTED_UP_TO")},
    ),
    Experiment(
        "sgl_table_2",
        f"{YE}, table 2: leukemia, genes and errors",
        sgl_leukemia.table_2,
        [{"methods": (name,)} for name in (*sgl_leukemia.FORMS, "lasso", "all genes", "GL")],
        [{"fractions": (0.5,), "methods": ("all genes", "lasso")}],
        ("method", "fraction", "C"),
        tables.sgl_table_2,
        figures.strip("test_errors", "method", "C", "chosen"),
        note=f"Needs the leukemia table. {NAMED}",
        settings=LEUKEMIA,
    ),
    Experiment(
        "psd_figure_2",
        f"{MARTEAU}, figure 2: error of the best approximation",
        psd.figure_2,
        [
            {"repeats": 1, "seed": draw, "n_train": (n,), "kernels": (kernel,)}
            for n, most in ((100, 10), (1000, 10), (10_000, 1))
            for kernel in psd.KERNELS
            for draw in range(most)
        ],
        draws(1, n_train=(100,)),
        ("kernel", "n", "draw", "model", "tuning"),
        tables.psd_figure_2,
        figures.strip("rmse", "kernel", "model", "tuning", "n"),
        settings=named(psd, "KERNELS", "FOLDS", "BELL_WEIGHTS", "BELL_TOL", "DENSE"),
    ),
    Experiment(
        "psd_figure_2_curves",
        f"{MARTEAU}, figure 2: the curves",
        psd.figure_2_curves,
        [{"n_train": (100,)}, {"n_train": (1000,)}, {"n_train": (10_000,)}],
        [{"n_train": (100, 300)}],
        ("kernel", "n", "model", "x"),
        tables.points("approximation"),
        figures.psd_figure_2,
        settings=named(psd, "KERNELS", "BELL_TOL", "DENSE"),
    ),
    Experiment(
        "psd_figure_3",
        f"{MARTEAU}, figure 3: densities in ten variables, seen along one",
        psd.figure_3_points,
        [{}],
        [{"n_samples": 150, "d": 3, "n_points": 60}],
        ("model", "kind", "x1"),
        tables.points("density"),
        figures.psd_figure_3,
        settings=IN_TEN,
    ),
    Experiment(
        "psd_density_1",
        f"{MARTEAU}: held-out log-likelihood of densities in one variable, n = 80",
        psd.densities,
        draws(50),
        draws(1),
        ("d", "draw", "model"),
        tables.psd_densities({"psd": "-0.9125", "glm": "-0.935", "ncm": "-1.458"}),
        figures.strip("proper", "model"),
        note=OWN_CODE,
        settings=IN_ONE,
    ),
    Experiment(
        "psd_density_10",
        f"{MARTEAU}: held-out log-likelihood of densities in ten variables, n = 1000",
        psd.densities,
        draws(10, d=10, n_samples=1000),
        draws(1, d=10, n_samples=100, models=("psd", "ncm")),
        ("d", "draw", "model"),
        tables.psd_densities({"pnm": "-6.50", "ncm": "-7.35", "glm": "-7.36"}),
        figures.strip("proper", "model"),
        note=OWN_CODE,
        settings=IN_TEN,
    ),
    Experiment(
        "psd_solvers",
        f"{MARTEAU}: FISTA and projected gradient next to the default's solvers",
        psd.solvers,
        draws(10),
        draws(1, n_samples=40, tasks=("density", "bell")),
        ("draw", "task", "model", "method"),
        tables.psd_solvers,
        figures.strip("seconds", "task", "model", "method"),
        note="The same problem to a gap of 1e-4; processor seconds.",
        settings={"tasks": {name: repr(task[0]) for name, task in psd.TASKS.items()}},
    ),
    Experiment(
        "psd_heteroscedastic",
        f"{MARTEAU}: mean and noise level, held-out negative log-likelihood",
        psd_regression.heteroscedastic,
        draws(10),
        draws(1, models=("psd", "ncm")),
        ("draw", "model"),
        tables.by_model("negative log-likelihood", "held_out"),
        figures.strip("held_out", "model"),
        note=NAMED,
        settings=NOISE,
    ),
    Experiment(
        "psd_heteroscedastic_curves",
        f"{MARTEAU}: mean and noise level, the curves",
        psd_regression.heteroscedastic_curves,
        [{}],
        [{"models": ("psd", "ncm")}],
        ("model", "x"),
        tables.points("mean and deviation"),
        figures.heteroscedastic,
        settings=NOISE,
    ),
    Experiment(
        "psd_crossings",
        f"{MARTEAU}: how often quantiles cross",
        psd_regression.crossings,
        draws(50),
        draws(2),
        ("draw", "fit"),
        tables.psd_crossings,
        figures.strip("crossed", "fit"),
        settings=named(psd_regression, "LEVELS", "CROSSING"),
    ),
    Experiment(
        "psd_quantiles",
        f"{MARTEAU}: held-out pinball loss of several quantiles",
        psd_regression.quantiles,
        draws(10),
        draws(1, n_samples=100, models=("psd", "pnm")),
        ("draw", "model"),
        tables.by_model("pinball loss", "pinball"),
        figures.strip("pinball", "model"),
        note=NAMED,
        settings=named(psd_regression, "LEVELS", "WIDTHS", "WEIGHTS", "RANK", "FOLDS"),
    ),
    Experiment(
        "psd_quantile_curves",
        f"{MARTEAU}: several quantiles, the curves",
        psd_regression.quantile_curves,
        [{}],
        [{"n_samples": 150}],
        ("model", "level", "x"),
        tables.points("quantiles"),
        figures.quantile_curves,
        settings=named(psd_regression, "LEVELS", "CROSSING"),
    ),
    Experiment(
        "psd_boosting",
        f"{MARTEAU}: quantiles of real tables, next to gradient boosting",
        psd_regression.boosting,
        [
            {"names": (name,), "seed": split}
            for split in range(5)
            for name in ("boston", "airfoil", "concrete", "energy_heating")
        ],
        [{"names": ("energy_heating",), "n_train": 60, "levels": (0.5,)}],
        ("data", "split", "method"),
        tables.psd_boosting,
        figures.strip("pinball", "data", "method"),
        note=f"Needs the real tables. {NAMED}",
        settings=named(psd_regression, "RANK", "FOLDS"),
    ),
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
