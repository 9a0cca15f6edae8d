"""The whole algorithm: what it finds, on what it rests, and what an interrupt leaves."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso.estimators.outcome import settled
from nablasso.regression.models import GAUSSIAN, LINEAR, QUADRATIC
from nablasso.regression.noise import Assumption
from nablasso.rules import Rules
from nablasso.search import decide as decide_module
from nablasso.search.check import worth as worth_of
from nablasso.search.decide import decide, misled, search
from nablasso.search.few import Decision
from tests.search.rows import draw, few_rows

FEW = (LINEAR, QUADRATIC, GAUSSIAN)


def found(decision):
    return sorted(decision.model.groups.tolist())


def test_it_finds_what_matters_and_says_by_how_much():
    rows = draw(families=FEW)
    decision = decide(rows)
    assert found(decision) == [0, 1, 2]
    assert decision.model.family.name == "quadratic"
    assert set(decision.clear) == {0, 1, 2}
    assert min(decision.clear.values()) >= rows.rules.clearly
    assert decision.total == pytest.approx(decision.model.price + rows.base)
    assert decision.model.price <= min(model.price for model in decision.tried) + 1e-6
    assert not decision.interrupted


@pytest.mark.parametrize("seed", range(3))
def test_noise_is_silent(seed):
    rng = np.random.default_rng(seed)
    rows = few_rows(rng.normal(size=(60, 8)), rng.normal(size=60), families=FEW)
    decision = decide(rows)
    assert found(decision) == []
    assert decision.model.price == 0.0


def test_more_rows_bring_in_what_few_do_not_show():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    y = X[:, 0] + 0.17 * X[:, 1] + 0.5 * rng.normal(size=400)
    rows = few_rows(X, y, families=FEW[:1], rules=Rules(walked_rows=50))
    assert found(search(rows, 50)) == [0]
    decision = decide(rows)
    assert found(decision) == [0, 1]
    assert len(decision.few.X) == 400


def test_copies_come_along_at_the_end():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    X[:, 3] = X[:, 0] + 0.05 * rng.normal(size=80)
    rows = few_rows(X, X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=80), families=FEW[:1])
    decision = decide(rows)
    assert found(decision) == [0, 1, 3]
    worth = worth_of(decision.few, decision.model)
    assert worth[0] == worth[3] > 10


def test_what_is_kept_is_kept_and_no_more_than_allowed():
    assert found(decide(draw(families=FEW, kept=[4]))) == [0, 1, 2, 4]
    assert len(found(decide(draw(families=FEW, most=2)))) <= 2
    everything = decide(draw(families=FEW, kept=[0, 1, 2, 3, 4]))
    assert found(everything) == [0, 1, 2, 3, 4]


def test_left_out_rows_may_overrule_what_was_assumed():
    rows = draw(families=FEW)
    whole, poor = (Decision(rows, rows, rows.tune(f, np.arange(3))) for f in (QUADRATIC, LINEAR))
    serial = rows.under(Assumption(serial=(0.5, 1.0)))
    assert misled(whole, poor)
    assert not misled(poor, whole)
    assert not misled(whole, replace(poor, few=serial))  # neighbours tell of each other


def test_settled_groups_get_the_best_family():
    rows = draw(families=FEW)
    decision = settled(decide(rows), np.array([0, 1]))
    assert found(decision) == [0, 1]
    assert decision.model.family.name == "quadratic"
    assert found(settled(decision, np.array([], dtype=np.intp))) == []


def test_the_order_of_the_columns_does_not_matter():
    rows = draw(families=FEW)
    columns = np.array([3, 0, 4, 2, 1])
    moved = replace(rows, X=rows.X[:, columns])
    one, other = decide(rows), decide(moved)
    assert sorted(columns[other.model.groups]) == found(one)
    assert other.total == pytest.approx(one.total, abs=0.05)


def test_groups_of_columns_are_one_choice():
    rows = draw(families=FEW, labels=[0, 1, 1, 2, 2])
    decision = decide(rows)
    assert found(decision) == [0, 1]


def test_an_interrupt_gives_the_best_so_far(monkeypatch):
    rows = draw(families=FEW)
    first = search(rows, rows.rules.walked_rows)

    def impatient(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(decide_module, "finished", impatient)
    decision = decide(rows)
    assert decision.interrupted
    assert found(decision) == found(first) == [0, 1, 2]
    monkeypatch.setattr(decide_module, "proposed", impatient)
    with pytest.raises(KeyboardInterrupt):
        decide(rows)


def test_progress_is_told(caplog):
    with caplog.at_level("INFO", logger="nablasso"):
        decide(draw(families=FEW[:1]), verbose=1)
    assert any("searching" in record.getMessage() for record in caplog.records)
