"""Jobs: results in order, progress after each, the same for any number of workers."""

import pytest
from joblib import parallel_config

from nablasso.inference.jobs import run_jobs
from nablasso.progress import reporting


def power(base, exponent):
    return base**exponent


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_results_come_in_order(n_jobs):
    arguments = [(k, 2) for k in range(6)]
    with parallel_config(backend="threading"):  # processes: tests/estimators/test_stability.py
        assert run_jobs(power, arguments, label="squares", n_jobs=n_jobs) == [0, 1, 4, 9, 16, 25]


def test_progress_is_reported():
    seen = []
    with reporting(seen.append):
        run_jobs(power, [(1, 1), (2, 2)], label="powers")
    assert [(p.label, p.done, p.total) for p in seen] == [("powers", 1, 2), ("powers", 2, 2)]


def test_no_jobs():
    assert run_jobs(power, [], label="none") == []
