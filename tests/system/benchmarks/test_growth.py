"""Figures of growth are drawn from the stored rows, with slopes that are slopes."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import growth
from benchmarks.scale import passes


def test_the_sweeps_vary_one_size_each():
    rows = pd.DataFrame([size._asdict() for size in passes.sizes("scaling", 1, 1, 1.0)])
    found = growth.sweeps(rows.assign(cpu_seconds=rows["n"] * rows["d"] ** 2))
    assert {name: len(mine) for name, mine in found.items()} == {"n": 4, "d": 6, "m": 5}
    _, x, y = growth.line(found["d"], "d", "cpu_seconds")
    assert growth.slope(x, y) == pytest.approx(2)


def test_every_file_of_rows_has_panels_with_points():
    found = dict(growth.figures())
    assert {path.parent.parent.name for path in found} == {
        "scale",
        "hierarchy",
        "nonnegative",
        "gradients",
    }
    for panels in found.values():
        assert all(len(x) == len(y) > 0 for panel in panels for _, x, y in panel.lines)


@pytest.mark.slow
def test_a_figure_is_drawn(tmp_path):
    _, panels = next(growth.figures())
    growth.draw(panels, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000
