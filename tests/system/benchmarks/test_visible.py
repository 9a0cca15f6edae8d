"""What a variable of a formula is worth to one who knows it."""

import numpy as np
import pytest

from benchmarks.suites.feynman import Formula, uniform
from benchmarks.visible import RESOLVED, nats_of


@pytest.mark.parametrize("noise", [0.1, 0.0])
def test_a_variable_that_adds_is_worth_its_variance_over_that_of_the_noise(noise):
    """Of ``a + b / 3`` in closed form; what is multiplied by nothing is worth nothing."""
    formula = Formula("a + b / 3 + 0 * c", dict.fromkeys("abc", uniform(0, 1)))
    rng = np.random.default_rng(1)
    X, y = formula.rows(3000, rng)
    sigma = max(noise, RESOLVED) * y.std()
    found = nats_of(formula, X, noise)
    for a, slope in enumerate((1, 1 / 3)):
        spread = slope**2 * X[:, a].var()
        log = 1500 * np.log1p(spread / sigma**2)
        assert found[a] == pytest.approx(log, rel=0.1)
    assert found[2] == pytest.approx(0, abs=1e-9)
