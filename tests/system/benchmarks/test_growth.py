"""Figures of growth are drawn from the stored rows, with slopes that are slopes."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import growth


def test_a_slope_is_that_of_the_logarithms():
    rows = pd.DataFrame({"d": [40, 10, 20], "cpu_seconds": [16.0, 1.0, 4.0]})
    _, x, y = growth.line(rows, "d", "cpu_seconds")
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
