r"""The PSD model: a non-negative function that is linear in its parameters.

.. math:: f(x) = v(x)^\top B\, v(x) = \|C^\top v(x)\|^2, \qquad B = C C^\top \succeq 0

where ``v(x)`` are Gaussian bumps :math:`g_i(x) = \exp(-\frac12 \sum_a p_{ia} (x_a - z_{ia})^2)`
(precisions zero: the constant 1). The factor ``C`` (m, q) is stored, so values are sums of squares.
Linear functionals are ``Tr(B W)`` with ``W[i, j] = functional(g_i g_j)``, in closed form, O(m^2 d),
because the product of two bumps is one, times a number (:meth:`Bumps.times`).

**Draws** are exact: one coordinate at a time, by inversion of the distribution function of

.. math:: p(t) \propto \|F_a^\top (u \circ \kappa(t))\|^2, \qquad
          F_a F_a^\top = B \circ W_{>a}, \quad u_i = \prod_{b < a} g_{ib}(x_b)

with ``kappa`` the bumps of variable a and ``W`` integrals over the variables to come.
Gauss-Legendre nodes on panels of half a bump's width integrate it to rounding. Cost: O(m q) per
sample, variable and node, with some hundred nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import eigh, qr
from scipy.special import ndtr

from nablasso.errors import InvalidDataError, InvalidParameterError
from nablasso.kernels.base import row_blocks
from nablasso.types import Array, Index

ROUNDING = float(np.finfo(float).eps)
LOG_ROOT_TWO_PI = 0.5 * float(np.log(2 * np.pi))
LARGEST_LOG = 700.0  # of a number

# of draws
REACH = 7.0  # widths of a squared bump beyond the outermost centres; nothing is left there
NODES = 10  # per panel
PANEL = 0.75  # panel length in widths of a bump
CHUNK = 256
HALVINGS = 50

_nodes, _weights = legendre.leggauss(NODES)
# Polynomial through the values at the nodes, integrated from -1: coefficients in Legendre's basis.
_inverse = np.linalg.inv(legendre.legvander(_nodes, NODES - 1))
_primitive = legendre.legint(_inverse, lbnd=-1, axis=0)


@dataclass(frozen=True)
class Bumps:
    """``m`` Gaussian bumps in ``d`` variables: ``centres`` and ``precisions``, both (m, d)."""

    centres: Array
    precisions: Array

    def __len__(self) -> int:
        return len(self.centres)

    def values(self, X: Array) -> Array:
        """``g_i(x_k)``, shape (k, m)."""
        return np.exp(self.logs(X))

    def logs(self, X: Array) -> Array:
        """Logs of :meth:`values`: one matrix product, no (k, m, d) array."""
        middle = self.centres.mean(axis=0)
        X, Z, P = X - middle, self.centres - middle, self.precisions
        quadratic = (X**2) @ P.T - 2 * X @ (P * Z).T + np.einsum("ia,ia->i", P, Z**2)
        return np.asarray(-0.5 * np.maximum(quadratic, 0.0))

    def shifted(self, X: Array) -> tuple[Array, Array]:
        """Values divided by the largest of each row (k, m), and the log of that one (k,)."""
        logs = self.logs(X)
        top = logs.max(axis=1)
        top = np.where(np.isfinite(top), top, 0.0)
        return np.exp(logs - top[:, None]), top

    def columns(self, chosen: Index) -> Bumps:
        """The factors of some variables."""
        return Bumps(self.centres[:, chosen], self.precisions[:, chosen])

    def composed(
        self, scale: Array, shift: Array | float = 0.0, columns: Index | None = None
    ) -> Bumps:
        """Bumps of ``x`` where they were functions of ``x[columns] * scale + shift``.

        ``columns`` number all variables, by default in their order. Where a scale is zero, no bump
        may depend on that variable but through ``shift = z``.
        """
        safe = np.where(scale != 0, scale, 1.0)
        centres = np.where(scale != 0, (self.centres - shift) / safe, 0.0)
        made = Bumps(centres, self.precisions * scale**2)
        return made if columns is None else made.columns(np.argsort(columns))

    def times(self, other: Bumps) -> tuple[Bumps, Array]:
        """All products ``g_i h_j`` (i slow, j fast) as bumps and the logs of their factors.

        Precisions ``t = p + s``, centres ``(p z + s y) / t``, logs ``- sum_a p s (z - y)^2 / 2t``.
        """
        m, q = len(self), len(other)
        left, right = np.repeat(np.arange(m), q), np.tile(np.arange(q), m)
        p, s = self.precisions[left], other.precisions[right]
        z, y = self.centres[left], other.centres[right]
        total = p + s
        centre = np.where(total > 0, (p * z + s * y) / np.where(total > 0, total, 1.0), 0.0)
        gap = np.where(total > 0, p * s / np.where(total > 0, total, 1.0), 0.0) * (z - y) ** 2
        return Bumps(centre, total), np.asarray(-0.5 * gap.sum(axis=1))

    def times_root(self, mean: Array, variance: Array) -> tuple[Bumps, Array]:
        """Products with the root of the density of a Gaussian, as bumps and their heights."""
        mean, variance = np.reshape(mean, (1, -1)), np.reshape(variance, (1, -1))
        bumps, logs = self.times(Bumps(mean, 0.5 / variance))
        return bumps, np.exp(logs - 0.25 * float(np.sum(np.log(2 * np.pi * variance))))


def pair_integrals(
    bumps: Bumps, box: Array | None = None, variables: Iterable[int] | None = None
) -> Array:
    """``W[i, j]``, the integral of ``g_i g_j`` over the space or a box of shape (d, 2).

    Over some of the ``variables`` where these are given.
    """
    logs = np.zeros((len(bumps), len(bumps)))
    for a in range(bumps.centres.shape[1]) if variables is None else variables:
        interval = None if box is None else (float(box[a, 0]), float(box[a, 1]))
        logs += _log_integral(bumps.columns(np.array([a])), interval)
    return np.exp(logs)


def _log_integral(bumps: Bumps, interval: tuple[float, float] | None) -> Array:
    """Logs of the integrals of all products of two bumps of one variable."""
    products, log_factor = bumps.times(bumps)
    shape = len(bumps), len(bumps)
    centre, total = (v.reshape(shape) for v in (products.centres, products.precisions))
    if (total <= 0).any() and (interval is None or not np.isfinite(interval).all()):
        raise InvalidParameterError(
            "A function with a constant part has no integral over an unbounded region. Give a "
            "bounded box, or a base measure."
        )
    root = np.sqrt(np.where(total > 0, total, 1.0))
    logs = log_factor.reshape(shape) + LOG_ROOT_TWO_PI - np.log(root)
    if interval is None:
        return np.asarray(logs)
    low, high = interval
    flat = np.log(high - low) if high > low else -np.inf
    left, right = (low - centre) * root, (high - centre) * root
    flip = left > 0  # so that digits are left in either tail
    shares = ndtr(np.where(flip, -left, right)) - ndtr(np.where(flip, -right, left))
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(total > 0, logs + np.log(np.maximum(shares, 0.0)), flat))


@dataclass(frozen=True)
class OnBumps:
    """A function of the values ``v(x)`` of Gaussian bumps."""

    bumps: Bumps

    @property
    def n_features(self) -> int:
        """Number of variables."""
        return int(self.bumps.centres.shape[1])

    def composed(
        self, scale: Array, shift: Array | float = 0.0, columns: Index | None = None
    ) -> Self:
        """``x -> f(x[columns] * scale + shift)``: the function in other units and order."""
        return replace(self, bumps=self.bumps.composed(scale, shift, columns))

    def _by_rows(self, rule: Callable[[Array], Array], X: Array) -> Array:
        """``rule`` at the rows of ``X``, in blocks of bounded memory."""
        blocks = row_blocks(len(X), len(self.bumps))
        return np.concatenate([rule(X[:0]), *(rule(X[rows]) for rows in blocks)])

    def _slopes(self, S: Array, X: Array) -> Array:
        """``sum_i S_ki dlog g_i(x_k)``, (k, d)."""
        Z, P = self.bumps.centres, self.bumps.precisions
        return np.asarray(S @ (P * Z) - X * (S @ P))


@dataclass(frozen=True)
class PSDModel(OnBumps):
    """``f(x) = |C' v(x)|^2`` with ``v`` the values of ``bumps`` (m) and ``factor`` C (m, q)."""

    factor: Array

    def values(self, X: Array) -> Array:
        """``f`` at the rows of ``X``."""

        def values(X: Array) -> Array:
            H = self.bumps.values(X) @ self.factor
            return np.asarray(np.einsum("kq,kq->k", H, H))

        return self._by_rows(values, X)

    def logs(self, X: Array) -> Array:
        """``log f`` at the rows of ``X``, also where ``f`` is too small for a number."""

        def logs(X: Array) -> Array:
            values, shift = self.bumps.shifted(X)
            H = values @ self.factor
            with np.errstate(divide="ignore"):
                return np.asarray(np.log(np.einsum("kq,kq->k", H, H)) + 2 * shift)

        return self._by_rows(logs, X)

    def gradients(self, X: Array) -> Array:
        """Gradients of ``f`` at the rows of ``X``: ``2 h . dh`` with ``h = C' v``."""

        def gradients(X: Array) -> Array:
            g = self.bumps.values(X)
            return 2 * self._slopes(g * ((g @ self.factor) @ self.factor.T), X)

        return self._by_rows(gradients, X)

    def integral(self, box: Array | None = None) -> float:
        """Integral over the space, or over a box of shape (d, 2)."""
        box = None if box is None else check_box(box, self.n_features)
        return float(np.sum(self.factor * (pair_integrals(self.bumps, box) @ self.factor)))

    def __mul__(self, factor: float) -> PSDModel:
        """Product with a positive number."""
        return PSDModel(self.bumps, self.factor * np.sqrt(factor))

    def times_gaussian(self, mean: Array, variance: Array) -> PSDModel:
        """``f`` times the density of a Gaussian with independent coordinates.

        Each bump is multiplied by the root of that density.
        """
        bumps, heights = self.bumps.times_root(mean, variance)
        return PSDModel(bumps, heights[:, None] * self.factor)

    def marginal(self, columns: Index) -> PSDModel:
        """The function of ``columns`` left when all other variables are integrated out."""
        rest = np.setdiff1d(np.arange(self.n_features), columns)
        W = pair_integrals(self.bumps, variables=rest.tolist())
        return PSDModel(self.bumps.columns(columns), schur_factor(self.factor, W))

    def given(self, columns: Index, values: Array) -> PSDModel:
        """The function of the other variables when ``columns`` are held at ``values``."""
        rest = np.setdiff1d(np.arange(self.n_features), columns)
        heights = self.bumps.columns(columns).values(np.reshape(values, (1, -1)))[0]
        return PSDModel(self.bumps.columns(rest), heights[:, None] * self.factor)

    def normalised(self, log_height: float, scale: Array, shift: Array, columns: Index) -> PSDModel:
        """The density ``e^log_height f(x * scale + shift)``, made to integrate to one.

        ``x`` are the variables numbered ``columns``.
        """
        model = self.composed(scale, shift, columns)
        mass = model.integral() * np.exp(log_height) if abs(log_height) < LARGEST_LOG else 0.0
        if not 0 < mass < np.inf:
            raise InvalidDataError(
                f"The density in {len(scale)} columns is too large or too small for floating-point "
                "numbers. Use fewer columns, or other units."
            )
        model = model * float(np.exp(log_height))
        return model * (1 / model.integral())

    def sample(self, n_samples: int, rng: np.random.Generator) -> Array:
        """Draws (n, d) from the density proportional to the function."""
        d, out = self.n_features, np.empty((n_samples, self.n_features))
        uniform = rng.random((n_samples, d))
        heights = np.ones((n_samples, len(self.bumps)))
        for a in range(d):
            F, rest = self.factor, range(a + 1, d)
            if rest:
                F = schur_factor(F, pair_integrals(self.bumps, variables=rest))
            bumps = self.bumps.columns(np.array([a]))
            grid = _panels(bumps)
            kappa = bumps.values(grid.reshape(-1, 1))  # (nodes, m)
            for rows in row_blocks(n_samples, 1, CHUNK if a else 64 * CHUNK):
                u = heights[rows] if a else heights[:1]  # at first all rows are the same
                H = [kappa @ (row[:, None] * F) for row in u]
                density = np.array([np.einsum("tq,tq->t", h, h) for h in H])  # (rows, nodes)
                out[rows, a] = _invert(density, grid, uniform[rows, a])
            heights *= bumps.values(out[:, [a]])
            heights /= np.maximum(heights.max(axis=1, keepdims=True), 1e-300)
        return out


@dataclass(frozen=True)
class LinearModel(OnBumps):
    """``f(x) = c . v(x)``: a function of any sign on the same bumps."""

    coefficients: Array

    def values(self, X: Array) -> Array:
        """``f`` at the rows of ``X``."""
        return self._by_rows(lambda X: self.bumps.values(X) @ self.coefficients, X)

    def gradients(self, X: Array) -> Array:
        """Gradients at the rows of ``X``."""
        weighted = self.coefficients
        return self._by_rows(lambda X: self._slopes(self.bumps.values(X) * weighted, X), X)


def schur_factor(C: Array, W: Array) -> Array:
    """``F`` with ``F F' = (C C') * W`` elementwise, ``W`` positive semidefinite.

    With ``W = R R'`` it is the sum over q, p of squares of ``C[:, q] * R[:, p]``. These columns are
    reduced to m by a QR decomposition: the product itself, whose entries may be huge and cancel, is
    never formed.
    """
    eigenvalues, U = eigh(W)
    kept = eigenvalues > ROUNDING * max(float(eigenvalues[-1]), 0.0)
    R = U[:, kept] * np.sqrt(eigenvalues[kept])
    columns = (C[:, :, None] * R[:, None, :]).reshape(len(C), -1)
    if columns.shape[1] <= len(C):
        return np.asarray(columns)
    return np.asarray(qr(columns.T, mode="r")[0][: len(C)].T)


def check_box(box: Array, n_features: int) -> Array:
    """A box as an array (d, 2) of lower and upper ends."""
    array = np.asarray(box, dtype=float)
    if array.shape == (2,) and n_features == 1:
        array = array[None, :]
    if array.shape != (n_features, 2) or np.isnan(array).any():
        raise InvalidParameterError(
            f"A box has a lower and an upper end for each of the {n_features} variables, shape "
            f"({n_features}, 2); got shape {array.shape}."
        )
    if (array[:, 0] > array[:, 1]).any():
        a = int(np.flatnonzero(array[:, 0] > array[:, 1])[0])
        raise InvalidParameterError(
            f"The lower end of a box must not exceed the upper one; variable {a} has {array[a]}."
        )
    return array


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


def _invert(density: Array, grid: Array, uniform: Array) -> Array:
    """Where the distribution function of each row passes its uniform number."""
    n_panels = len(grid)
    values = density.reshape(-1, n_panels, NODES)
    half = (grid[:, -1] - grid[:, 0]) / (_nodes[-1] - _nodes[0])
    masses = np.cumsum((values @ _weights) * half, axis=1)
    target = uniform * masses[:, -1]
    panel = np.minimum(np.sum(masses <= target[:, None], axis=1), n_panels - 1)
    row = np.arange(len(target)) % len(masses)  # one density of all, or one of each
    before = np.where(panel > 0, masses[row, np.maximum(panel - 1, 0)], 0.0)
    coefficients = _primitive @ values[row, panel].T  # (NODES + 1, samples)
    wanted = (target - before) / half[panel]
    low, high = np.full(len(target), -1.0), np.ones(len(target))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        reached = legendre.legval(middle, coefficients, tensor=False) < wanted
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    return np.asarray(grid[panel, 0] + (0.5 * (low + high) - _nodes[0]) * half[panel])
