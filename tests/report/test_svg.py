"""Ticks, places and numbers of the charts."""

import numpy as np
import pytest

from nablasso.report.svg import Frame, padded, shorten, text, tick_text, ticks
from nablasso.report.words import listed, number


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((0, 10), [0, 2, 4, 6, 8, 10]),
        ((0.1, 0.34), [0.1, 0.15, 0.2, 0.25, 0.3]),
        ((-3e5, 1e5), [-3e5, -2e5, -1e5, 0, 1e5]),
        ((5, 5), [5]),
        ((1e-13, 3e-13), [1e-13, 1.5e-13, 2e-13, 2.5e-13, 3e-13]),
    ],
)
def test_ticks_are_round_numbers_inside(ends, expected):
    assert ticks(*ends) == pytest.approx(expected, abs=0)


def test_many_ranges_have_a_few_ticks_inside():
    rng = np.random.default_rng(0)
    for _ in range(200):
        low = rng.normal() * 10.0 ** rng.integers(-6, 3)
        high = low + abs(rng.normal()) * 10.0 ** rng.integers(-3, 6)
        found = ticks(low, high)
        assert 2 <= len(found) <= 7
        room = 1e-8 * (high - low) + 1e-11 * abs(low)
        assert low - room <= min(found)
        assert max(found) <= high + room


def test_a_frame_maps_the_data_to_the_picture():
    frame = Frame(10, 20, 100, 50, (0, 4), (-1, 1))
    assert (frame.x(0), frame.x(4), frame.y(-1), frame.y(1)) == (10, 110, 70, 20)
    logs = Frame(0, 0, 100, 50, (100, 1), (0, 1), log_x=True)
    assert (logs.x(100), logs.x(10), logs.x(1)) == pytest.approx((0, 50, 100))
    assert frame.line((0, 2), (1, 0), "l") == '<path class="l" d="M10 20 60 45"/>'


def test_ranges_have_room_and_are_never_empty():
    low, high = padded((1.0, 3.0), (2.0,))
    assert low < 1
    assert high > 3
    low, high = padded((5.0, 5.0))
    assert low < 5 < high


def test_words_are_short_and_escaped():
    assert tick_text(-0.5) == "\u22120.5"
    assert tick_text(260000.0) == "3e5"
    assert shorten("a" * 30, 63) == "a" * 9 + "…"
    assert "&lt;b&gt;" in text(0, 0, "<b>", full="<b>")
    assert [number(v) for v in (0.0, 12345.6, 0.123456, 1e-5)] == [
        "0",
        "12346",
        "0.123",
        "1.00e-05",
    ]
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a"]) == "a"
    assert listed([str(k) for k in range(10)], 3) == "0, 1, 2 and 7 more"
