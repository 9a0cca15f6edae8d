"""Sums over blocks against dense computations, whatever the blocks."""

import numpy as np
import pytest

from nablasso.streaming import blocks
from nablasso.streaming.codes import BINS, draft
from nablasso.streaming.passes import Design, State, counted, degrees_of, model_sums, screen
from nablasso.streaming.responses import Response
from nablasso.streaming.sample import fair_sample
from nablasso.streaming.sources import Arrays, CodedSource

TERMS = ((0,), (2,), (0, 1), (1, 2, 3))


def table(n: int = 700, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = X[:, 0] + rng.normal(size=n)
    return X, y, rng.integers(1, 4, size=n).astype(float)


def prepared(source: Arrays, response: Response, h: tuple[float, ...] = ()) -> tuple:
    sample = fair_sample(source, 1 << 16)
    drafts = [draft(sample.X[:, j], sample.weight, BINS) for j in range(4)]
    coded = CodedSource(source, drafts)
    columns, counts = counted(coded, drafts, 10)
    degrees = [degrees_of([10] * len(t), {1: 6, 2: 3, 3: 2}[len(t)]) for t in TERMS]
    design = Design(TERMS, tuple(degrees))
    w = np.random.default_rng(1).normal(size=design.width) * 0.1
    return coded, State(columns, design, w, response, h), counts


def dense(state: State, X: np.ndarray) -> np.ndarray:
    """``Z`` by explicit products."""
    F = [c.table[c.encode(X[:, j])] for j, c in enumerate(state.columns)]
    Z = [np.ones(len(X))]
    for term, degrees in zip(state.design.terms, state.design.degrees, strict=True):
        for row in degrees:
            Z.append(np.prod([F[j][:, k] for j, k in zip(term, row, strict=True)], axis=0))
    return np.stack(Z, axis=1)


@pytest.mark.parametrize("name", ["squares", "huber", "tukey", "labels"])
def test_sums_are_the_dense_ones(name):
    X, y, weight = table()
    y = (y > 0).astype(float) if name == "labels" else y
    response = Response(name)
    coded, state, _ = prepared(Arrays(X, y, weight, rows=100), response)
    sums = model_sums(coded, state, 0)
    Z = dense(state, X)
    g, v, _ = response.work(y, Z @ state.coefficients)
    np.testing.assert_allclose(sums["C"], (Z * (weight * v)[:, None]).T @ Z, atol=1e-8)
    np.testing.assert_allclose(sums["c"], Z.T @ (weight * g), atol=1e-8)
    M = (Z * (weight * g**2)[:, None]).T @ Z
    np.testing.assert_allclose(sums["M"], M, atol=1e-5 * np.abs(M).max())
    assert sums["score"] == pytest.approx(weight @ g**2)


def test_what_is_known_is_not_summed_again():
    X, y, weight = table()
    coded, state, _ = prepared(Arrays(X, y, weight, rows=100), Response("squares"))
    terms, degrees = TERMS[1:3], (state.design.degrees[1][:4], state.design.degrees[2])
    smaller = Design(terms, degrees)
    width = smaller.width
    first = model_sums(coded, State(state.columns, smaller, np.zeros(width), state.response), 0)
    again = model_sums(coded, state, 0, spread=coded, known=(smaller, first["C"]))
    whole = model_sums(coded, state, 0)
    for name in ("C", "c", "M", "score", "independent"):
        np.testing.assert_allclose(again[name], whole[name], atol=1e-8, rtol=1e-9)
    wrong = model_sums(coded, state, 0, known=(smaller, 2 * first["C"]))
    assert np.abs(wrong["C"] - whole["C"]).max() > 100  # it was taken from there


def test_the_predictor_is_that_of_the_functions():
    X, y, _ = table()
    _, state, _ = prepared(Arrays(X, y), Response("squares"))
    codes = np.stack([c.encode(X[:, j]) for j, c in enumerate(state.columns)])
    np.testing.assert_allclose(
        state.predictor(codes), dense(state, X) @ state.coefficients, atol=1e-10
    )


def test_a_serial_filter_knows_no_blocks():
    X, y, _ = table()
    h = (0.6, -0.2)
    results = []
    for rows in (40, 97, 700):
        coded, state, _ = prepared(Arrays(X, y, rows=rows), Response("squares"), h)
        results.append(model_sums(coded, state, 25))
    Z = dense(state, X)
    Zf, r = Z.copy(), y - Z @ state.coefficients
    rf = r.copy()
    for lag, c in enumerate(h, start=1):
        Zf[lag:] -= c * Z[:-lag]
        rf[lag:] -= c * r[:-lag]
    Zf[:2], rf[:2] = 0, 0
    U = np.add.reduceat(Zf * rf[:, None], np.arange(0, 700, 25), axis=0)
    for sums in results:
        np.testing.assert_allclose(sums["C"], Zf.T @ Zf, atol=1e-8)
        np.testing.assert_allclose(sums["c"], Zf.T @ rf, atol=1e-8)
        np.testing.assert_allclose(sums["M"], np.cov(U.T) * len(U), atol=1e-7)
        assert sums["independent"] == 28


def test_blocks_of_a_part_see_their_neighbours(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 7)
    test_a_serial_filter_knows_no_blocks()


@pytest.mark.parametrize("h", [(), (0.6, -0.2)])
def test_the_screen_scores_every_product(h):
    X, y, weight = table()
    weight = np.ones_like(weight) if h else weight
    pairs = [(0, 3), (1, 2), (3, 3)]
    found = []
    for rows in (1, 64, 700):
        coded, state, _ = prepared(Arrays(X, y, weight, rows=rows), Response("squares"), h)
        found.append(screen(coded, state, pairs))
    Z = dense(state, X)
    r = y - Z @ state.coefficients
    F = np.eye(700)
    for lag, c in enumerate(h, start=1):
        F -= c * np.eye(700, k=-lag)
    if h:
        F[:2] = 0
    g = weight * (F.T @ F @ r)
    P = np.column_stack(
        [state.columns[j].table[state.columns[j].encode(X[:, j]), :q] for j, q in pairs]
    )
    for sums in found:
        np.testing.assert_allclose(sums["products"], (P * g[:, None]).T @ P, atol=2e-3)
        at = len(state.columns[0].table)
        by_code = np.bincount(state.columns[0].encode(X[:, 0]), weights=g, minlength=at)
        np.testing.assert_allclose(sums["codes"][:at], by_code, atol=1e-9)
        s = np.sqrt(weight) * r
        np.testing.assert_allclose(sums["lagged"], [s @ s, s[1:] @ s[:-1], s[2:] @ s[:-2]])
        assert sums["sizes"].sum() == pytest.approx(weight.sum())


def test_counts_see_the_order_across_blocks():
    X, y, weight = table()
    order = np.argsort(y)
    for rows in (33, 700):
        *_, counts = prepared(
            Arrays(X[order], y[order], weight[order], rows=rows), Response("squares")
        )
        assert counts["up"][-1] == 699
        assert counts["down"][-1] == 0
        assert counts["rows"] == weight.sum()


def test_the_sample_depends_on_content_alone():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    a = fair_sample(Arrays(X, y, rows=37), 50)
    order = rng.permutation(500)
    b = fair_sample(Arrays(X[order], y[order], rows=500), 50)
    np.testing.assert_array_equal(a.hashes, b.hashes)
    np.testing.assert_array_equal(a.X, b.X)
    np.testing.assert_array_equal(X[a.place], a.X)
    turned = fair_sample(Arrays(X[:, [2, 0, 1]], y), 50)  # the order of columns does not matter
    np.testing.assert_array_equal(turned.X, a.X[:, [2, 0, 1]])
    nothing = fair_sample(Arrays(X, y, np.arange(500) % 2.0), 1000)
    np.testing.assert_array_equal(np.sort(nothing.place), np.arange(1, 500, 2))
    swapped = fair_sample(Arrays(np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros(2)), 50)
    assert len(swapped.y) == 2
    copies = fair_sample(Arrays(np.repeat(X, 2, axis=0), np.repeat(y, 2)), 50)
    np.testing.assert_array_equal(copies.hashes, a.hashes)
    assert (copies.weight == 2).all()
    assert len(fair_sample(Arrays(X, y, rows=7), 1000).y) == 500


def test_gradients_are_those_of_the_predictor():
    X, y, _ = table()
    _, state, _ = prepared(Arrays(X, y), Response("squares"))
    new, h = np.random.default_rng(3).normal(size=(20, 4)) * 0.8, 1e-6

    def f(X: np.ndarray) -> np.ndarray:
        Z = state.design.rows(lambda j, k: state.columns[j].at(X[:, j], k), len(X))
        return Z @ state.coefficients

    for j in range(4):
        step = h * np.eye(4)[j]
        np.testing.assert_allclose(
            state.slopes(new)[:, j], (f(new + step) - f(new - step)) / (2 * h), atol=1e-4
        )


def test_the_sample_is_fair():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = (X[:, 0] > 0).astype(float)
    sample = fair_sample(Arrays(X, y), 4000)
    assert abs(sample.y.mean() - y.mean()) < 4 * 0.5 / np.sqrt(4000)
    assert np.abs(sample.X.mean(axis=0)).max() < 4 / np.sqrt(4000)
