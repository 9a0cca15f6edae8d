"""Run the experiments and store their rows: ``python experiments/run.py [NAME ...]``."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from nablasso.experiments.denovas import figure_3
from nablasso.experiments.nvsd import protocol, twins

RESULTS = Path(__file__).parent / "results"
EXPERIMENTS = {"denovas_figure_3": figure_3, "nvsd_protocol": protocol, "nvsd_twins": twins}


def main() -> None:
    """Run those named, or all."""
    for name in sys.argv[1:] or EXPERIMENTS:
        rows = EXPERIMENTS[name]()
        RESULTS.mkdir(exist_ok=True)
        with (RESULTS / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        sys.stderr.write(f"{name}: {len(rows)} rows\n")


if __name__ == "__main__":
    main()
