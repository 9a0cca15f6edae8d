"""Contrast of all colours, light and dark (WCAG 2.1, level AA: text 4.5, graphics 3)."""

import pytest

from nablasso.report.palette import DARK, LIGHT, STRONGEST_CELL, variables

SERIES = [f"s{k}" for k in range(1, 9)]
TEXT = ["ink", "muted", "accent", "good", "slope", *SERIES]


def channels(colour):
    return [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_on_known_pairs():
    assert contrast(channels("#000000"), channels("#ffffff")) == pytest.approx(21)
    assert contrast(channels("#767676"), channels("#ffffff")) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(colours):
    for ground in ("page", "panel"):
        for name in TEXT:
            found = contrast(channels(colours[name]), channels(colours[ground]))
            assert found >= 4.5, f"{name} on {ground}: {found:.2f}"
    for name in ("ink", "warn"):
        assert contrast(channels(colours[name]), channels(colours["warn-panel"])) >= 4.5
    assert contrast(channels(colours["on-accent"]), channels(colours["accent"])) >= 4.5


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_controls_can_be_seen_and_numbers_read_on_the_darkest_cell(colours):
    assert contrast(channels(colours["control"]), channels(colours["page"])) >= 3
    page, accent = channels(colours["page"]), channels(colours["accent"])
    cell = [
        (1 - STRONGEST_CELL) * p + STRONGEST_CELL * a for p, a in zip(page, accent, strict=True)
    ]
    assert contrast(channels(colours["ink"]), cell) >= 4.5


def test_both_have_the_same_names():
    assert LIGHT.keys() == DARK.keys()
    assert "--ink:#1a2027;" in variables(LIGHT)
