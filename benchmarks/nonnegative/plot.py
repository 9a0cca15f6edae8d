"""Growth of one fit's time with n and with the rank: ``python -m benchmarks.nonnegative.plot``."""

from __future__ import annotations

import csv

from benchmarks.nonnegative.run import RESULTS


def main() -> None:
    """Draw ``growth.png`` from the stored rows."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ModuleNotFoundError as error:
        raise SystemExit("The plot needs matplotlib: pip install 'nablasso[bench]'.") from error
    with (RESULTS / "rows.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["question"] == "growth"]
    figure, axes = plt.subplots(1, 2, figsize=(7, 2.8))
    for axis, varied, fixed, value in (
        (axes[0], "n", "rank", "100"),
        (axes[1], "rank", "n", "5000"),
    ):
        part = sorted((int(r[varied]), float(r["in_E"])) for r in rows if r[fixed] == value)
        axis.loglog(*zip(*part, strict=True), "o-")
        axis.set_xlabel(f"{varied} ({fixed} = {value})")
        axis.set_ylabel("time in E")
        axis.grid(visible=True, which="both", lw=0.3)
    figure.tight_layout()
    figure.savefig(RESULTS / "growth.png", dpi=70)


if __name__ == "__main__":
    main()
