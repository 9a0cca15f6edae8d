"""Benjamini-Hochberg against its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nablasso.inference.multiplicity import adjusted_p_values, benjamini_hochberg

P_VALUES = st.lists(st.integers(1, 50).map(lambda k: k / 50), min_size=1, max_size=12)


def rejections_by_definition(p_values, fdr):
    m = len(p_values)
    ordered = sorted(p_values)
    passing = [k for k in range(1, m + 1) if ordered[k - 1] <= fdr * k / m + 1e-12]
    limit = ordered[max(passing) - 1] if passing else -1.0
    return [p <= limit for p in p_values]


@given(P_VALUES, st.sampled_from([0.01, 0.05, 0.1, 0.2, 0.5]))
def test_rejections_follow_the_definition(p_values, fdr):
    found = benjamini_hochberg(np.array(p_values), fdr)
    assert found.tolist() == rejections_by_definition(p_values, fdr)


@given(P_VALUES)
def test_the_adjusted_value_is_the_smallest_rate_that_rejects(p_values):
    adjusted = adjusted_p_values(np.array(p_values))
    for i, rate in enumerate(adjusted):
        assert rejections_by_definition(p_values, rate)[i]
        if rate > 1e-6:
            assert not rejections_by_definition(p_values, rate * (1 - 1e-6) - 1e-9)[i]


def test_a_worked_example():
    adjusted = adjusted_p_values(np.array([0.01, 0.04, 0.03, 0.5]))
    assert adjusted == pytest.approx([0.04, 4 * 0.04 / 3, 4 * 0.04 / 3, 0.5])
