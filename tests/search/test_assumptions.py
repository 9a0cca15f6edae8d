"""What residuals make suspect: each assumption where it holds, none where it does not."""

from dataclasses import replace

import numpy as np
import pytest

from nablasso.regression.models import LINEAR, QUADRATIC
from nablasso.regression.noise import PLAIN, Assumption, Warp
from nablasso.search.assumptions import judged, suspicions
from nablasso.search.decide import assumed, decide, proposed, started
from tests.search.rows import few_rows

N, D = 120, 4


def table(kind, seed=0, n=N):
    """``x0 + x1`` with noise or target of a kind."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D))
    signal, noise = X[:, 0] + X[:, 1], rng.normal(size=n)
    if kind == "tails":
        noise[::12] *= 25
    if kind == "level":
        noise *= np.exp(X[:, 2])
    if kind == "serial":
        noise = autoregressive(rng, n)
    y = signal + 0.4 * noise
    if kind == "warp":
        y = np.exp(1.5 * y)
    return few_rows(X, y, time=np.arange(n, dtype=float), families=(LINEAR, QUADRATIC))


def autoregressive(rng, n, rho=0.9):
    e = rng.normal(size=n)
    for i in range(1, n):
        e[i] = rho * e[i - 1] + np.sqrt(1 - rho**2) * e[i]
    return e


def found(kind):
    rows = table(kind)
    model = rows.tune(LINEAR, np.array([0, 1]))
    promised = list(suspicions(rows, rows, model))
    return rows, model, promised


@pytest.mark.parametrize("kind", ["warp", "tails", "level"])
def test_the_right_suspicion_promises_most(kind):
    rows, model, promised = found(kind)
    least = min(promised, key=lambda suspicion: suspicion.total)
    assert least.kind == kind
    assert least.total < rows.total(model) - 0.5 * np.log(N)


def test_nothing_is_promised_where_noise_is_normal():
    rows, model, promised = found("plain")
    assert min(s.total for s in promised) > rows.total(model) - 0.5 * np.log(N)


def test_rows_in_time_only_where_neighbours_correlate():
    def kinds(rows):
        model = rows.tune(LINEAR, np.array([0, 1]))
        return [suspicion.kind for suspicion in suspicions(rows, rows, model)]

    assert kinds(table("serial")) == ["serial"]
    assert "serial" not in kinds(table("plain"))
    assert "serial" not in kinds(replace(table("serial"), time=None))
    shuffled = np.random.default_rng(1).permutation(N).astype(float)
    assert "serial" not in kinds(replace(table("serial"), time=shuffled))
    order = np.argsort(table("serial").targets[:, 0])
    by_target = replace(table("serial"), time=np.argsort(order).astype(float))
    assert "serial" not in kinds(by_target)  # a table sorted by its target is not in time


@pytest.mark.parametrize(
    "assumption",
    [PLAIN, Assumption(warp=Warp(1.0, -10.0, 1.0)), Assumption(serial=(0.6, 1.0))],
    ids=["plain", "warp", "serial"],
)
def test_judged_is_a_total_at_some_noise(assumption):
    rows = table("plain")
    model = rows.tune(LINEAR, np.array([0, 1]), steps=100)
    under = rows.under(assumption)
    value = judged(rows, model, assumption)
    tuned = under.total(under.retune(model, steps=100))
    assert value > tuned - 1.0  # up to the prior of variances, tuning is better
    assert value <= under.base  # nothing selected is always possible
    if assumption is PLAIN:
        assert value == pytest.approx(rows.total(model), abs=1.0)
    empty = rows.tune(LINEAR, rows.kept)
    assert judged(rows, empty, assumption) == under.base


def test_several_targets_and_labels_have_no_noise_to_suspect():
    rows = table("tails")
    labels = replace(rows, targets=np.sign(rows.targets))
    model = labels.tune(LINEAR, np.array([0]))
    assert list(suspicions(labels, labels, model)) == []
    two = replace(rows, targets=np.column_stack([rows.targets, rows.targets]))
    assert list(suspicions(two, two, two.tune(LINEAR, np.array([0])))) == []


def test_the_level_follows_the_column_that_makes_noise_loud():
    rows, _, promised = found("level")
    (level,) = [s.assumption for s in promised if s.kind == "level"]
    assert abs(np.corrcoef(level.level, rows.X[:, 2])[0, 1]) > 0.8
    assert level.level.mean() == pytest.approx(0.0, abs=1e-9)
    assert level.level_price > 0
    assert level.weights is None


def test_weights_of_outliers_are_small():
    _, _, promised = found("tails")
    tails = min((s for s in promised if s.kind == "tails"), key=lambda s: s.total)
    weights = tails.assumption.weights
    loud = np.arange(N) % 12 == 0
    assert np.median(weights[loud]) < 0.2 < np.median(weights[~loud])


@pytest.mark.parametrize("kind", ["warp", "tails", "level", "serial"])
def test_what_holds_is_assumed_and_pays(kind):
    rows = table(kind)
    before = proposed(started(rows, N))
    after = assumed(before)
    assert after.total < before.total
    held = after.rows.assumption
    assert {
        "warp": held.warp is not None,
        "tails": held.nu > 0,
        "level": held.level is not None,
        "serial": held.serial is not None,
    }[kind]
    assert {0, 1} <= set(after.model.groups.tolist())


def test_rows_are_in_time_only_if_it_gains_so_much_a_row():
    before = proposed(started(table("serial"), N))
    gain = (before.total - assumed(before).total) / N
    for share, taken in ((0.5, True), (2.0, False)):
        rules = replace(before.rows.rules, serial_nats=share * gain)
        held = assumed(proposed(started(replace(before.rows, rules=rules), N))).rows.assumption
        assert (held.serial is not None) is taken


def test_nothing_is_assumed_without_need():
    decision = decide(table("plain"))
    assert decision.rows.assumption is PLAIN
    assert sorted(decision.model.groups) == [0, 1]


def test_all_rows_get_the_assumption_of_few():
    rows = table("tails", n=160)
    few = rows.first(100)
    model = few.tune(LINEAR, np.array([0, 1]))
    held = [suspicion.assumption for suspicion in suspicions(rows, few, model)]
    parts = [part for a in held for part in (a.weights, a.level) if part is not None]
    assert parts
    assert {len(part) for part in parts} == {160}


def test_what_failed_is_not_suspected_again():
    rows = table("serial")
    model = rows.tune(LINEAR, np.array([0, 1]))
    kinds = {suspicion.kind for suspicion in suspicions(rows, rows, model, {"serial", "level"})}
    assert kinds == {"warp", "tails"}
