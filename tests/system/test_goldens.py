"""What the library answered once, it answers still."""

from __future__ import annotations

import json
import warnings

import pytest

import nablasso
from tests.system import goldens

CASES = goldens.cases()


@pytest.fixture(scope="module")
def stored():
    return goldens.load()


def test_there_is_a_golden_of_every_public_estimator_and_of_nothing_else(stored):
    public = {name for name in nablasso.__all__ if hasattr(getattr(nablasso, name), "fit")}
    assert public <= {type(estimator).__name__ for estimator, _ in goldens.estimators().values()}
    assert set(stored) == set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_as_stored(name, stored):
    now = json.loads(json.dumps(CASES[name].take()))
    verdict = goldens.judge(stored[name], now, CASES[name].tolerance)
    if verdict.turned is not None and not verdict.differences:
        warnings.warn(f"{name}: {verdict.turned}", stacklevel=1)
    assert not verdict.differences, str(verdict)


GOLDEN = {
    "support_": {"true": [0, 2], "of": 5},
    "predict": [1.0, -2.0],
    "summary": "2 of 5 matter.\nGap 1e-9.\nR2 0.912.",
    "margin": {"nats": 0.2},
}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, ""),
        ({"predict": [1.001, -2.0]}, ""),
        ({"predict": [1.2, -2.0]}, ".predict: [1.0, -2.0] became [1.2, -2.0]"),
        ({"predict": ["nan", -2.0]}, ".predict: [1.0, -2.0] became"),
        ({"summary": "2 of 5 matter.\nGap 3e-7.\nR2 0.913."}, ""),
        ({"summary": "2 of 5 matter.\nGap 3e-7.\nR2 0.5."}, "became 'R2 0.5.'"),
        ({"summary": "Two matter.\nGap 3e-7.\nR2 0.912."}, "became 'Two matter.'"),
        ({"new": 1}, ".new is new"),
    ],
)
def test_the_comparison_allows_rounding_and_nothing_more(change, told):
    verdict = goldens.judge(GOLDEN, GOLDEN | change, 0.01)
    assert verdict.turned is None
    assert told in str(verdict)
    assert bool(verdict.differences) == bool(told)


@pytest.mark.parametrize(("margin", "excused"), [(0.2, True), (20.0, False)])
def test_a_decision_that_turns_is_told_with_its_margin(margin, excused):
    stored = GOLDEN | {"margin": {"nats": margin}}
    now = stored | {"support_": {"true": [0], "of": 5}, "predict": [3.0, 3.0]}
    verdict = goldens.judge(stored, now, 0.01)
    assert f"decided by {margin:g} (nats" in verdict.turned
    assert bool(verdict.differences) is not excused
