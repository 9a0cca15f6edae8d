"""Run the experiments and store their rows: ``python experiments/run.py [NAME ...]``.

Rows are written as they come. The ``hkl`` experiments go on where they stopped: stored rows
stay and are not computed again. MARS is the one of ``benchmarks`` and needs R's package earth.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from nablasso.experiments import hkl, sgl, sgl_leukemia
from nablasso.experiments.denovas import figure_3
from nablasso.experiments.nvsd import protocol, twins
from nablasso.experiments.psd import densities, figure_2, figure_2_curves, figure_3_points
from nablasso.experiments.psd_regression import (
    boosting,
    crossings,
    heteroscedastic,
    heteroscedastic_curves,
    quantile_curves,
    quantiles,
)

Row = dict[str, Any]

RESULTS = Path(__file__).parent / "results"


def resumed(
    name: str, key: tuple[str, ...], experiment: Callable[..., Iterable[Row]]
) -> Iterable[Row]:
    """Rows that are stored, then those that are missing."""
    path = RESULTS / f"{name}.csv"
    stored: list[Row] = []
    if path.exists():
        with path.open(newline="") as file:
            stored = list(csv.DictReader(file))
    done = {tuple(str(row[part]) for part in key) for row in stored}
    return chain(stored, experiment(done=done))


def figure_9(done: set[tuple[str, ...]]) -> Iterable[Row]:
    """Figure 9 of Bach (2009), with MARS."""
    return hkl.figure_9(methods=hkl.methods_9() | mars(), done=done)


def mars() -> dict[str, hkl.Fit]:
    """MARS as the selection benchmark runs it; empty without R or its package earth."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from benchmarks.selection.contest import Question
    from benchmarks.selection.contestants.mars import NativeMars

    contestant = NativeMars()
    reason = contestant.missing()
    if reason is not None:
        sys.stderr.write(f"MARS skipped: {reason}\n")
        return {}

    def fit(Z: hkl.Array, y: hkl.Array, seed: int) -> hkl.Fitted:
        answer = contestant.fit(Question(Z, y, seed=seed))
        return hkl.Fitted(answer.predict, tuple(answer.support.nonzero()[0].tolist()))

    return {"MARS": fit}


EXPERIMENTS: dict[str, Callable[[], Iterable[Row]]] = {
    "denovas_figure_3": figure_3,
    "hkl_figure_8": partial(resumed, "hkl_figure_8", hkl.KEY_8, hkl.figure_8),
    "hkl_figure_8_n256": partial(
        resumed,
        "hkl_figure_8_n256",
        hkl.KEY_8,
        partial(hkl.figure_8, repeats=3, n_samples=(256,)),
    ),
    "hkl_figure_9": partial(resumed, "hkl_figure_9", hkl.KEY_9, figure_9),
    "nvsd_protocol": protocol,
    "nvsd_twins": twins,
    "psd_boosting": boosting,
    "psd_crossings": crossings,
    "psd_density_1": densities,
    "psd_density_10": partial(densities, d=10, n_samples=1000, repeats=2),
    "psd_figure_2": figure_2,
    "psd_figure_2_curves": figure_2_curves,
    "psd_figure_3": figure_3_points,
    "psd_heteroscedastic": heteroscedastic,
    "psd_heteroscedastic_curves": heteroscedastic_curves,
    "psd_quantile_curves": quantile_curves,
    "psd_quantiles": quantiles,
    "sgl_figure_1": sgl.figure_1,
    "sgl_figure_2": sgl.figure_2,
    "sgl_figure_3": sgl.figure_3,
    "sgl_table_1": sgl.table_1,
    "sgl_table_2": sgl_leukemia.table_2,
}


def main() -> None:
    """Run those named, or all."""
    for name in sys.argv[1:] or EXPERIMENTS:
        RESULTS.mkdir(exist_ok=True)
        count = store(EXPERIMENTS[name](), RESULTS / f"{name}.csv")
        sys.stderr.write(f"{name}: {count} rows\n")


def store(rows: Iterable[Row], path: Path) -> int:
    """Write rows as they come; return how many there were."""
    count = 0
    with path.open("w", newline="") as file:
        for row in rows:
            writer = csv.DictWriter(file, fieldnames=list(row))
            if not count:
                writer.writeheader()
            writer.writerow(row)
            file.flush()
            count += 1
    return count


if __name__ == "__main__":
    main()
