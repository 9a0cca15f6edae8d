"""All experiments by name: how often each is repeated, what a quick look is, how it is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nablasso.experiments import (
    general_figures,
    hkl,
    hkl_figures,
    hkl_rules,
    psd,
    psd_figures,
    psd_regression,
    sgl,
    sgl_figures,
    sgl_leukemia,
    tables,
)
from nablasso.experiments.registry_derivatives import DERIVATIVES
from nablasso.experiments.running import Experiment, Row, draws

BACH, YE, MARTEAU = "Bach (2009)", "Ye and Xie (2012)", "Marteau-Ferey, Bach and Rudi (2020)"
NAMED = "A line that names another method than the paper's holds that method's figure."
QUICK_8 = ("HKL hermite + pruning", "L2 hermite", "greedy hermite", "CART", "Gaussian process")
QUICK_9 = ("greedy hermite", "L2 hermite", "Gaussian process")


def figure_8(only: Iterable[str] = (), **settings: Any) -> Iterable[Row]:
    """Figure 8 of Bach (2009), with some of its methods or all."""
    methods = hkl.methods_8()
    chosen = {name: methods[name] for name in only} or methods
    return hkl.figure_8(methods=chosen, **settings)


def figure_9(only: Iterable[str] = (), **settings: Any) -> Iterable[Row]:
    """Figure 9 of Bach (2009), with some of its methods or all."""
    methods = hkl.methods_9()
    chosen = {name: methods[name] for name in only} or methods
    return hkl.figure_9(methods=chosen, **settings)


_ALL = (
    *DERIVATIVES,
    Experiment(
        "hkl_figure_8",
        f"{BACH}, figure 8: median error over var(f) against p (number of draws), n = 100",
        figure_8,
        [{}],
        [{"repeats": 1, "dimensions": (8, 16), "only": QUICK_8}],
        hkl.KEY_8,
        tables.hkl_figure_8,
        hkl_figures.figure_8,
        note=NAMED,
        resumes=True,
    ),
    Experiment(
        "hkl_figure_8_n256",
        f"{BACH}, figure 8 at n = 256",
        figure_8,
        [{"repeats": 3, "n_samples": (256,)}],
        [{"repeats": 1, "dimensions": (8,), "n_samples": (256,), "only": QUICK_8}],
        hkl.KEY_8,
        tables.hkl_figure_8,
        hkl_figures.figure_8,
        note=NAMED,
        resumes=True,
    ),
    Experiment(
        "hkl_figure_9",
        f"{BACH}, figure 9: median error over var(y) on pumadyn (number of splits)",
        figure_9,
        [{}],
        [{"splits": 1, "data": ("8nh",), "n_samples": 256, "only": QUICK_9}],
        hkl.KEY_9,
        tables.hkl_figure_9,
        hkl_figures.figure_9,
        note=f"Needs the pumadyn tables. {NAMED}",
        resumes=True,
    ),
    Experiment(
        "hkl_rules",
        "Hierarchical kernels: rules that choose the hull, on problems they were not made for",
        hkl_rules.rules,
        [{}],
        [{"repeats": 1, "problems": ("few_rows",), "n_alphas": 6}],
        hkl_rules.KEY,
        tables.hkl_rules,
        general_figures.strip("relative_error", "problem", "rule"),
        note="Not in the paper.",
        resumes=True,
    ),
    Experiment(
        "sgl_table_1",
        f"{YE}, table 1: which five of ten variables are selected",
        sgl.table_1,
        draws(100),
        draws(2),
        ("draw", "method"),
        tables.sgl_table_1,
        general_figures.selected,
        note=NAMED,
    ),
    Experiment(
        "sgl_figure_1",
        f"{YE}, figure 1: paths of sparse gradients and of the lasso",
        sgl.figure_1,
        [{}],
        [{}],
        ("method", "strength", "variable"),
        tables.points("path"),
        sgl_figures.figure_1,
    ),
    Experiment(
        "sgl_figure_2",
        f"{YE}, figures 2 and 3: rings among 200 inputs",
        sgl.figure_2,
        draws(20),
        draws(1, spreads=(0.5, 2.0)),
        ("spread", "draw", "method"),
        tables.sgl_figure_2,
        sgl_figures.figure_2,
        note=NAMED,
    ),
    Experiment(
        "sgl_figure_3",
        f"{YE}, panels of figures 2 and 3 for one draw",
        sgl.figure_3,
        [{}],
        [{"spread": 1.0}],
        ("method", "kind", "index", "x", "y"),
        tables.points("panels"),
        sgl_figures.figure_3,
    ),
    Experiment(
        "sgl_table_2",
        f"{YE}, table 2: leukemia, genes and errors",
        sgl_leukemia.table_2,
        [{}],
        [{"fractions": (0.5,), "forms": ("regression, x.y",)}],
        ("method", "fraction"),
        tables.sgl_table_2,
        general_figures.strip("test_errors", "method", "chosen"),
        note=f"Needs the leukemia table. {NAMED}",
    ),
    Experiment(
        "psd_figure_2",
        f"{MARTEAU}, figure 2: error of the best approximation",
        psd.figure_2,
        draws(3),
        draws(1, n_train=(100,)),
        ("kernel", "n", "draw", "model", "tuning"),
        tables.psd_figure_2,
        general_figures.strip("rmse", "kernel", "model", "tuning", "n"),
    ),
    Experiment(
        "psd_figure_2_curves",
        f"{MARTEAU}, figure 2: the curves",
        psd.figure_2_curves,
        [{}],
        [{"n_train": (100, 300)}],
        ("kernel", "n", "model", "x"),
        tables.points("approximation"),
        psd_figures.figure_2,
    ),
    Experiment(
        "psd_figure_3",
        f"{MARTEAU}, figure 3: densities in ten variables, seen along one",
        psd.figure_3_points,
        [{}],
        [{"n_samples": 150, "d": 3}],
        ("model", "kind", "x1"),
        tables.points("density"),
        psd_figures.figure_3,
    ),
    Experiment(
        "psd_density_1",
        f"{MARTEAU}: held-out log-likelihood of densities in one variable, n = 50",
        psd.densities,
        draws(10),
        draws(1),
        ("d", "draw", "model"),
        tables.by_model("log-likelihood", "held_out"),
        general_figures.strip("proper", "model"),
        note=NAMED,
    ),
    Experiment(
        "psd_density_10",
        f"{MARTEAU}: held-out log-likelihood of densities in ten variables, n = 1000",
        psd.densities,
        draws(5, d=10, n_samples=1000),
        draws(1, d=10, n_samples=100, models=("psd", "ncm")),
        ("d", "draw", "model"),
        tables.by_model("log-likelihood", "held_out"),
        general_figures.strip("proper", "model"),
        note=NAMED,
    ),
    Experiment(
        "psd_ranks",
        f"{MARTEAU}: densities in ten variables by the number of anchors",
        psd.density_ranks,
        draws(5),
        draws(1, n_samples=100, ranks=(20, 40)),
        ("d", "draw", "rank"),
        tables.by_model("log-likelihood", "held_out", ours="200", label="rank"),
        general_figures.strip("held_out", "rank"),
        note="Not in the paper.",
    ),
    Experiment(
        "psd_heteroscedastic",
        f"{MARTEAU}: mean and noise level, held-out negative log-likelihood",
        psd_regression.heteroscedastic,
        draws(20),
        draws(1),
        ("draw", "model"),
        tables.by_model("negative log-likelihood", "held_out"),
        general_figures.strip("held_out", "model"),
        note=NAMED,
    ),
    Experiment(
        "psd_heteroscedastic_curves",
        f"{MARTEAU}: mean and noise level, the curves",
        psd_regression.heteroscedastic_curves,
        [{}],
        [{}],
        ("model", "x"),
        tables.points("mean and deviation"),
        psd_figures.heteroscedastic,
    ),
    Experiment(
        "psd_crossings",
        f"{MARTEAU}: how often quantiles cross",
        psd_regression.crossings,
        draws(50),
        draws(2),
        ("draw", "fit"),
        tables.psd_crossings,
        general_figures.strip("crossed", "fit"),
    ),
    Experiment(
        "psd_quantiles",
        f"{MARTEAU}: held-out pinball loss of several quantiles",
        psd_regression.quantiles,
        draws(2),
        draws(1, n_samples=100, models=("psd", "glm")),
        ("draw", "model"),
        tables.by_model("pinball loss", "pinball"),
        general_figures.strip("pinball", "model"),
        note=NAMED,
    ),
    Experiment(
        "psd_quantile_curves",
        f"{MARTEAU}: several quantiles, the curves",
        psd_regression.quantile_curves,
        [{}],
        [{"n_samples": 150}],
        ("model", "level", "x"),
        tables.points("quantiles"),
        psd_figures.quantile_curves,
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
        general_figures.strip("pinball", "data", "method"),
        note=f"Needs the real tables. {NAMED}",
    ),
)

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in _ALL}
