r"""Frequencies on a lattice: quadrature of a spectral density of few variables.

For a product of one-dimensional kernels with spectral density ``p`` the sum over all points of a
lattice with steps ``h``, shifted by half a step so that ``-omega`` is in it with ``omega``, is by
Poisson's formula

.. math::
    \prod_a h_a \sum_{\omega} p(\omega) \cos(\omega \cdot \delta)
    = \sum_{l \in \mathbb{Z}^t} (-1)^{l_1 + \dots + l_t}\,
      k\Big(\delta_1 + \frac{2 \pi l_1}{h_1}, \dots, \delta_t + \frac{2 \pi l_t}{h_t}\Big) :

the kernel and its images, which are far from all differences ``delta`` of the data if the steps are
short. What is left out of the sum are the frequencies of least density. Both errors fall faster
than any power of the number of points where the kernel is smooth; drawn frequencies gain a digit
for a hundred times as many. Weights add up to one, so that the kernel is right at ``delta = 0``.

The steps are ``2 pi / (reach * D_a + room)`` with ``D_a`` the largest difference. Of some values of
``reach`` and ``room`` those are taken whose kernel is nearest at the differences of the data.

**Variables that hardly matter**, as a learned metric leaves them, need no axis of the lattice.
Where differences are small ``k(delta) = 1 - delta^2 / 2 + O(delta^4)`` is the mean of
``cos(+-delta)``: the ``MAIN`` variables of largest differences, or fewer, span the lattice, and
each of its points gets one of the ``R`` rows of a design of signs for the others. In a design of
strength three (a Hadamard matrix and its negative) three columns show all combinations of signs
equally often, so that the kernel is right to third order. Neighbouring points get different rows,
``c = g . i mod R`` for the point with indices ``i``: what is not balanced then shows only in images
of the kernel at fractions of ``2 pi / h``, and points to spare keep these away. ``-omega`` gets the
negative row if the ``g_a`` add up to one and row ``R - 1 - c`` is the negative of row ``c``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.linalg import hadamard
from scipy.special import kv

from nablasso.kernels.base import positive
from nablasso.kernels.radial import Matern52, RadialKernel, RationalQuadratic
from nablasso.types import Array, Index

REACHES = (1.0, 0.7, 0.5)
ROOMS = (1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 15.0, 20.0)  # in widths of the kernel
EXACT = 1e-18  # mean squared error at which no more points are wanted
TAIL = 1e-16  # density relative to the largest below which no point is looked at
FURTHEST = 200  # points along a half-axis
MAIN = 3  # variables that span a lattice
GENERATORS = 8
COMPARED = 150  # differences at which candidates with signs are compared


class Quadrature(NamedTuple):
    """Frequencies (n, t), weights (n,) adding up to one, mean squared error of the kernel."""

    omega: Array
    weights: Array
    error: float


class Points(NamedTuple):
    """Points of a lattice: frequencies (n, t), indices (n, t), weights (n,) adding up to one."""

    omega: Array
    indices: Index
    weights: Array


def lattice(base: RadialKernel, differences: Array, n: int) -> Quadrature:
    """At most ``n`` frequencies for the product of ``base`` over the columns of ``differences``."""
    exact = exact_kernel(base, differences)
    few = slice(None) if differences.shape[1] <= MAIN else slice(COMPARED)
    best = Quadrature(np.zeros((0, 0)), np.zeros(0), np.inf)
    for omega, weights in _candidates(base, np.abs(differences).max(axis=0), n):
        error = kernel_error(omega, weights, differences[few], exact[few])
        if error < best.error:
            best = Quadrature(omega, weights, error)
        if error < EXACT:
            break
    return best._replace(error=kernel_error(best.omega, best.weights, differences, exact))


def _candidates(base: RadialKernel, reach: Array, n: int) -> Iterator[tuple[Array, Array]]:
    """Lattices of several steps, and where there are many variables of several numbers of axes."""
    order = np.argsort(-reach, kind="stable")
    place, d, width = np.argsort(order), len(order), _width(base)
    for t in [d] if d <= MAIN else range(1, MAIN + 1):
        for room, share in product(ROOMS, REACHES if t == d else (1.0,)):
            steps = 2 * np.pi / (share * reach[order[:t]] + room * width)
            points = _heaviest(base, steps, n)
            for omega in _with_signs(points, d - t, width):
                yield omega[:, place], points.weights


def kernel_error(omega: Array, weights: Array, differences: Array, exact: Array) -> float:
    """Mean squared error of the kernel that frequencies make, at given differences."""
    return float(np.mean((np.cos(differences @ omega.T) @ weights - exact) ** 2))


def exact_kernel(base: RadialKernel, differences: Array) -> Array:
    """The product of ``base`` over the columns of ``differences``."""
    return np.asarray(np.prod(base.profile(differences**2 / 2)[0], axis=1))


def _heaviest(base: RadialKernel, steps: Array, n: int) -> Points:
    """The ``n`` points of largest density in half of the space."""
    omega, indices, density = np.zeros((1, 0)), np.zeros((1, 0), dtype=np.intp), np.ones(1)
    for axis, step in enumerate(steps):
        index = np.arange(min(FURTHEST, 4 * n))
        height = _density(base, (index + 0.5) * step)
        index, height = (each[height > TAIL * height[0]] for each in (index, height))
        if axis:  # the first axis has one half only
            index, height = np.concatenate([index, -index - 1]), np.tile(height, 2)
        points = len(density), len(index)
        here = np.tile(index, points[0])
        indices = np.column_stack([np.repeat(indices, points[1], axis=0), here])
        omega = np.column_stack([np.repeat(omega, points[1], axis=0), (here + 0.5) * step])
        density = np.repeat(density, points[1]) * np.tile(height, points[0])
        kept = np.argsort(-density, kind="stable")[:n]
        omega, indices, density = omega[kept], indices[kept], density[kept]
    return Points(omega, indices, density / density.sum())


def _with_signs(points: Points, n_rest: int, width: float) -> Iterator[Array]:
    """The frequencies with those of ``n_rest`` further variables, for some generators ``g``."""
    if not n_rest:
        yield points.omega
        return
    half = hadamard(1 << (n_rest - 1).bit_length())[:, :n_rest]
    signs = np.vstack([half, -half[::-1]])
    t = points.indices.shape[1]
    for g in range(1, min(len(signs), GENERATORS) if t > 1 else 2):
        others = np.array([1, g, g * g][:t])
        others[0] += 1 - others.sum()
        rows = (points.indices @ others) % len(signs)
        yield np.column_stack([points.omega, signs[rows] / width])


def _density(base: RadialKernel, omega: Array) -> Array:
    """Spectral density in one variable, up to a constant; ``omega`` is positive."""
    scaled = omega * _width(base)
    if isinstance(base, Matern52):
        return np.asarray((1 + scaled**2 / 5) ** -3)
    if isinstance(base, RationalQuadratic):
        mixture = positive(base.mixture, "mixture")
        order = mixture - 0.5
        return np.asarray(scaled**order * kv(order, np.sqrt(2 * mixture) * scaled))
    return np.asarray(np.exp(-(scaled**2) / 2))


def _width(base: RadialKernel) -> float:
    return positive(getattr(base, "length_scale", 1.0), "length_scale")
