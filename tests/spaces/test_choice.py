"""Which space a table gets, and what is said about it."""

import pytest

from nablasso.errors import InvalidParameterError
from nablasso.kernels import Anova, Gaussian
from nablasso.spaces import choose_space

GIB = 2**30


@pytest.mark.parametrize(
    ("kernel", "n", "available", "expected", "reason"),
    [
        (Gaussian(), 400, 100 * GIB, "exact", "400 rows are few"),
        (Gaussian(), 400, 1000, "exact", "400 rows are few"),  # no space is smaller
        (Gaussian(), 2000, 100 * GIB, "exact", "fit into memory and time"),
        (Gaussian(), 2000, GIB // 4, "nystrom", "0.3 GiB for 2000 rows"),
        (Gaussian(), 20000, 1000 * GIB, "nystrom", "operations for 20000 rows"),
        (Anova(2), 20000, 1000 * GIB, "fourier", "touch few variables"),
        (Anova(2), 20000, None, "fourier", "operations"),
    ],
)
def test_what_auto_takes_and_why(monkeypatch, kernel, n, available, expected, reason):
    monkeypatch.setattr("nablasso.spaces.exact.available_bytes", lambda: available)
    choice = choose_space("auto", kernel, n, 10, 512)
    assert choice.name == expected
    assert reason in choice.reason


@pytest.mark.parametrize("name", ["exact", "fourier", "nystrom"])
def test_a_name_is_taken_at_its_word(name):
    assert choose_space(name, Gaussian(), 9, 2, 4) == (name, "asked for")


def test_errors_name_what_to_do():
    with pytest.raises(InvalidParameterError, match="space must be one of auto, exact"):
        choose_space("random", Gaussian(), 9, 2, 4)
    with pytest.raises(InvalidParameterError, match="n_components must be a whole number"):
        choose_space("auto", Gaussian(), 9, 2, 1.5)
