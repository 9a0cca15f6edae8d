r"""Exact sampling from a PSD density: one coordinate at a time, by inversion.

Given the coordinates before it, coordinate a has the density

.. math:: p(t) \propto \|F_a^\top (u \circ \kappa(t))\|^2, \qquad
          F_a F_a^\top = B \circ W_{>a}, \quad u_i = \prod_{b < a} g_{ib}(x_b)

with ``kappa`` the one-dimensional bumps of variable a and ``W`` integrals over the variables to
come. The density is analytic with the bumps' width, so Gauss-Legendre nodes on panels of half that
width integrate it to rounding; its distribution function is inverted inside the panel where
it passes a uniform number. No panel lies where every bump has vanished.

Cost: O(m q) per sample, variable and node, with some hundred nodes.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre

from nablasso.nonnegative.gaussians import Bumps, sum_of_logs
from nablasso.nonnegative.model import PSDModel, schur_factor
from nablasso.types import Array

REACH = 7.0  # widths of a squared bump beyond the outermost centres; nothing is left there
NODES = 10  # per panel
PANEL = 0.75  # panel length in widths of a bump
CHUNK = 256
HALVINGS = 50

_nodes, _weights = legendre.leggauss(NODES)
# Polynomial through the values at the nodes, integrated from -1: coefficients in Legendre's basis.
_inverse = np.linalg.inv(legendre.legvander(_nodes, NODES - 1))
_primitive = legendre.legint(_inverse, lbnd=-1, axis=0)


def sample(model: PSDModel, n_samples: int, rng: np.random.Generator) -> Array:
    """Draws (n, d) from the density proportional to a model."""
    d = model.n_features
    out = np.empty((n_samples, d))
    uniform = rng.random((n_samples, d))
    heights = np.ones((n_samples, len(model.bumps)))
    for a in range(d):
        rest = range(a + 1, d)
        F = model.factor
        if rest:
            F = schur_factor(F, np.exp(sum_of_logs(model.bumps, rest)))
        bumps = model.bumps.columns(np.array([a]))
        grid = _panels(bumps)
        kappa = bumps.values(grid.reshape(-1, 1))  # (nodes, m)
        same = a == 0
        for start in range(0, n_samples, CHUNK if not same else n_samples):
            rows = slice(start, start + (n_samples if same else CHUNK))
            u = heights[:1] if same else heights[rows]
            out[rows, a] = _invert(_densities(kappa, u, F), grid, uniform[rows, a])
        heights *= bumps.values(out[:, [a]])
        heights /= np.maximum(heights.max(axis=1, keepdims=True), 1e-300)
    return out


def _panels(bumps: Bumps) -> Array:
    """Nodes of the panels, shape (panels, NODES), across all bumps of one variable."""
    widths = 1 / np.sqrt(np.maximum(bumps.precisions[:, 0], 1e-300))
    order = np.argsort(bumps.centres[:, 0])
    centres, reach = bumps.centres[order, 0], REACH * widths[order] / np.sqrt(2)
    highs = np.maximum.accumulate(centres + reach)
    lows = np.minimum.accumulate((centres - reach)[::-1])[::-1]
    breaks = np.flatnonzero(lows[1:] > highs[:-1])  # nothing in between
    starts, ends = lows[np.append(0, breaks + 1)], highs[np.append(breaks, len(highs) - 1)]
    parts = []
    for low, high in zip(starts, ends, strict=True):
        edges = np.linspace(low, high, int(np.ceil((high - low) / (PANEL * widths.min()))) + 1)
        parts.append(edges[:-1, None] + 0.5 * np.diff(edges)[:, None] * (1 + _nodes))
    return np.concatenate(parts)


def _densities(kappa: Array, u: Array, F: Array) -> Array:
    """``|F'(u * kappa(t))|^2`` for each row of ``u`` and node, shape (rows, nodes)."""
    out = np.empty((len(u), len(kappa)))
    for i, heights in enumerate(u):
        H = kappa @ (heights[:, None] * F)
        out[i] = np.einsum("tq,tq->t", H, H)
    return out


def _invert(density: Array, grid: Array, uniform: Array) -> Array:
    """Where the distribution function of each row passes its uniform number."""
    n_panels = len(grid)
    values = density.reshape(-1, n_panels, NODES)
    half = (grid[:, -1] - grid[:, 0]) / (_nodes[-1] - _nodes[0])
    masses = np.cumsum((values @ _weights) * half, axis=1)
    target = uniform * masses[:, -1]
    if len(masses) == 1:
        panel = np.searchsorted(masses[0], target, side="right")
    else:
        panel = np.sum(masses <= target[:, None], axis=1)
    panel = np.minimum(panel, n_panels - 1)
    row = np.zeros(len(target), dtype=np.intp) if len(masses) == 1 else np.arange(len(target))
    before = np.where(panel > 0, masses[row, np.maximum(panel - 1, 0)], 0.0)
    coefficients = _primitive @ values[row, panel].T  # (NODES + 1, samples)
    wanted = (target - before) / half[panel]
    low, high = np.full(len(target), -1.0), np.ones(len(target))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        reached = legendre.legval(middle, coefficients, tensor=False) < wanted
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    return np.asarray(grid[panel, 0] + (0.5 * (low + high) - _nodes[0]) * half[panel])
