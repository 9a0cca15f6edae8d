"""Users' graphs: listed, endless, and refused."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from nablasso.errors import CyclicGraphError, InvalidParameterError
from nablasso.hierarchy import ExplicitDag, KernelDag
from nablasso.hierarchy.dag import hull_of, shallow_first
from nablasso.hierarchy.problem import solve
from tests.hierarchy.small import data, search_on

TREE = {"root": ["left", "right"], "left": ["leaf"], "right": []}


def tree_kernel(node, X, Z):
    column = {"root": 0, "left": 1, "right": 2, "leaf": 3}[node]
    return np.outer(X[:, column], Z[:, column])


def test_a_users_tree():
    X, _ = data()
    y = X[:, 0] + X[:, 1] + X[:, 3]
    dag = ExplicitDag(TREE, tree_kernel, {"root": [0], "left": [1], "right": [2], "leaf": [3]})
    n = len(X)
    hierarchy = dag.on(X, np.full(n, 1 / n), beta=1.5)
    assert [hierarchy.depth(v) for v in ("root", "left", "leaf")] == [0, 1, 2]
    found = search_on(hierarchy, y).run(0.01)
    assert found.certified
    assert {"root", "left", "leaf"} <= set(found.hull)
    dual = found.point.dual
    below = hierarchy.size("left", dual) / 1.5**2
    below += hierarchy.size("leaf", dual) / (1.5 + 1.5**2) ** 2
    assert hierarchy.descendant_sum("left", dual) == pytest.approx(below)


class Chain(KernelDag):
    """An endless chain of monomials with kernels that shrink: x^k / k!."""

    def __init__(self, known=True):
        self.known = known

    def sources(self):
        return [1]

    def children(self, node):
        return [node + 1]

    def parents(self, node):
        return [node - 1] if node > 1 else []

    def kernel(self, node, X, Z):
        return np.outer(np.tanh(X[:, 0]) ** node, np.tanh(Z[:, 0]) ** node) / 4.0**node

    def descendant_kernel(self, node, X, weight):
        """At most the sum of all deeper kernels, each divided by the square of its own weight."""
        terms = (self.kernel(k, X, X) / weight(k) ** 2 for k in range(node, node + 60))
        return sum(terms) if self.known else None


def test_an_endless_graph_with_a_bound_of_its_own():
    X, _ = data()
    y = np.tanh(X[:, 0]) + np.tanh(X[:, 0]) ** 2
    weights = np.full(len(X), 1 / len(X))
    found = search_on(Chain().on(X, weights), y, tol=1e-4).run(0.01)
    assert found.certified
    unknown = search_on(Chain(known=False).on(X, weights), y, tol=1e-4).run(0.01)
    assert not unknown.certified
    assert unknown.hull == found.hull


def test_a_cycle_is_named():
    edges = {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}
    with pytest.raises(CyclicGraphError, match="a -> b -> c -> a"):
        ExplicitDag(edges, tree_kernel)
    with pytest.raises(InvalidParameterError, match="at least one node"):
        ExplicitDag({}, tree_kernel)


def test_columns_of_a_graph_must_name_every_node():
    with pytest.raises(InvalidParameterError, match=r"what every node looks at.*'leaf'"):
        ExplicitDag(TREE, lambda _, A, B: A @ B.T, {"root": [0], "left": [1], "right": [2]})


def test_beginnings_of_shallow_nodes_first_are_hulls():
    edges = {"b": ["ab"], "a": ["ab"], "ab": ["abc"], "c": ["abc"]}
    weights = np.full(3, 1 / 3)
    hierarchy = ExplicitDag(edges, lambda _, A, B: A @ B.T).on(np.eye(3), weights)
    order = shallow_first(hierarchy, ["abc", "ab", "c", "b", "a"])
    for k in range(1, 6):
        assert set(order[:k]) == hull_of(hierarchy, order[:k])


EXAMPLE = Path(__file__).parents[2] / "examples" / "interactions" / "plot_4_motifs.py"


def test_the_motifs_of_the_gallery_are_those_of_the_full_problem():
    """A graph that is no grid: the search's optimum is that with all 340 motifs listed."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    made = runpy.run_path(str(EXAMPLE))
    pyplot.close("all")
    model, X, y = made["model"], made["X"], made["y"]
    assert model.certified_
    assert set(model.sinks_) == {"ACG", "GG"}
    hierarchy = made["dag"].on(X, np.full(300, 1 / 300), beta=1.5)
    assert len(made["motifs"]) == 340
    assert set(hierarchy.parents("ACG")) == {"AC", "CG"}
    search = search_on(hierarchy, y - y.mean())
    listed = search.problem(shallow_first(hierarchy, made["motifs"]), model.alpha_)
    solved = solve(listed, np.full(340, 1 / 340), 1e-6)
    assert solved.converged
    excess = model.objective_ - listed.primal(solved.point)
    assert -1e-6 <= excess <= model.dual_gap_ + 1e-6
