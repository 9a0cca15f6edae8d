"""Random polynomials of degree two in three variables."""

import numpy as np
import pytest

from nablasso.datasets import make_quadratic
from nablasso.datasets.quadratic import MONOMIALS, draw_quadratic, quadratic_signal_sd
from nablasso.errors import InvalidParameterError


@pytest.mark.parametrize("n_terms", range(2, 10))
def test_all_three_variables_and_degree_two(n_terms):
    for seed in range(20):
        drawn = draw_quadratic(n_terms, np.random.default_rng(seed))
        assert len(drawn) == n_terms
        assert {a for which in drawn for a in which} == {0, 1, 2}
        assert max(map(len, drawn)) == 2


def test_the_deviation_of_every_monomial():
    X = np.random.default_rng(0).uniform(-1, 1, size=(200_000, 3))
    for which in MONOMIALS:
        values = np.prod(X[:, list(which)], axis=1)
        assert values.std() == pytest.approx(quadratic_signal_sd({which: 1.0}), rel=0.01)


def test_training_and_test_rows_share_the_polynomial():
    one = make_quadratic(5000, n_terms=9, design_state=3, random_state=1)
    two = make_quadratic(5000, n_terms=9, design_state=3, random_state=2)
    other = make_quadratic(5000, n_terms=9, design_state=4, random_state=2)
    assert one.noise_sd == two.noise_sd != other.noise_sd


@pytest.mark.parametrize("n_terms", [1, 10])
def test_a_number_of_terms_that_is_not_there_is_refused(n_terms):
    with pytest.raises(InvalidParameterError, match="between 2 and 9"):
        make_quadratic(n_terms=n_terms)
