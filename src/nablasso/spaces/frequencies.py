r"""Frequencies of a kernel: what its Fourier transform says they must be.

A *term* ``T`` is a kernel of a few variables with value ``c_T`` at zero and a spectral distribution
``mu_T``: ``k_T(delta) = c_T E cos(omega . delta)`` for ``omega ~ mu_T``. With ``n_T`` draws of
amplitude ``a^2 = c_T / n_T`` the sum of ``a_j^2 cos(omega_j . delta)`` is unbiased.

* A **radial** kernel is one term of all variables. Its spectrum is a Gaussian whose precision is
  random: ``omega = sqrt(tau) g``, ``tau = 1 / s^2`` (Gaussian), ``5 / (s^2 chi^2_5)`` (Matern 5/2),
  ``Gamma(mixture) / (mixture s^2)`` (rational quadratic).
* An **ANOVA** kernel is one term for each set of at most ``order`` variables, a product of
  one-dimensional kernels, each with a ``tau`` of its own. A variable of scale zero contributes the
  factor one, so that a set ``T`` of the others counts once for every way to fill it up with such.

**Shares of the terms.** A set of ``t`` variables gets a share proportional to ``t``, and sets of
one variable at least half of what ``MAIN`` frequencies each would need. Where there are fewer
frequencies than sets of a size, sets are drawn by cutting random permutations of the variables into
pieces: every variable is touched equally often, and ``a^2`` grows so that the sum stays unbiased.

**Sampling.** Drawn frequencies are even: a shifted additive recurrence for sets of a few variables,
scrambled Sobol points for radial kernels of up to ``FEW`` variables, and beyond these blocks of
``d`` frequencies with orthogonal directions. Each point has the right distribution by itself.

**Lattices** replace them for products of one-dimensional kernels (a Gaussian one included) where
they make the better kernel. With spectral density ``p`` and steps ``h``, shifted by half a step so
that ``-omega`` is in it with ``omega``, by Poisson's formula

.. math::
    \prod_a h_a \sum_{\omega} p(\omega) \cos(\omega \cdot \delta)
    = \sum_{l \in \mathbb{Z}^t} (-1)^{l_1 + \dots + l_t}\,
      k\Big(\delta_1 + \frac{2 \pi l_1}{h_1}, \dots, \delta_t + \frac{2 \pi l_t}{h_t}\Big) :

the kernel and its images, far from all differences ``delta`` of the data if the steps ``2 pi /
(reach * D_a + room)``, ``D_a`` the largest difference, are short. Frequencies of least density are
left out; weights add up to one. Of some values of ``reach`` and ``room`` those are taken whose
kernel is nearest at the differences of the data.

The ``AXES`` variables of largest differences, or fewer, span the lattice. For the others
``k(delta) = 1 - delta^2 / 2 + O(delta^4)`` is the mean of ``cos(+-delta)``: each point gets one of
the ``R`` rows of a design of signs of strength three (a Hadamard matrix and its negative), which is
right to third order. Neighbouring points get different rows, ``c = g . i mod R`` for the point with
indices ``i``; ``-omega`` gets the negative row if the ``g_a`` add up to one and row ``R - 1 - c``
is the negative of row ``c``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import combinations, product
from math import comb
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import hadamard
from scipy.special import gammaincinv, kv, ndtri
from scipy.stats import qmc
from sklearn.utils import check_random_state

from nablasso.errors import InvalidParameterError, MissingInteractionsWarning
from nablasso.kernels.base import Kernel, Scaled, Sum, positive
from nablasso.kernels.radial import Anova, Gaussian, Matern52, RadialKernel, RationalQuadratic
from nablasso.types import Array, Index

Generator = np.random.RandomState

MAIN = 8  # frequencies that a function of one variable should have
FEW = 20  # variables up to which quasi-random points of a radial kernel beat orthogonal ones
EDGE = 1e-12  # uniform numbers stay this far from 0 and 1
DIFFERENCES = 400  # between rows, at which lattices are compared
STRETCHED = 1.25  # as new points may lie a little outside

REACHES = (1.0, 0.7, 0.5)
ROOMS = (1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 15.0, 20.0)  # in widths of the kernel
EXACT = 1e-18  # mean squared error at which no more points are wanted
TAIL = 1e-16  # density relative to the largest below which no point is looked at
FURTHEST = 200  # points along a half-axis
AXES = 3  # variables that span a lattice
GENERATORS = 8
COMPARED = 150  # differences at which candidates with signs are compared


class Frequencies(NamedTuple):
    """``columns`` and ``values`` (q, s) of the touched variables, ``amplitudes`` (q,)."""

    columns: Index
    values: Array
    amplitudes: Array


class Drawing(NamedTuple):
    """What all draws share: a generator, scaled differences (k, d) of rows, lattices or not."""

    rng: Generator
    differences: Array
    lattices: bool


def draw_frequencies(
    kernel: Kernel,
    scales: Array,
    n: int,
    random_state: Any,
    points: Array | None = None,
    *,
    lattices: bool = True,
) -> Frequencies:
    """At most ``n`` frequencies of a kernel of the scaled inputs; ``points`` say how far apart."""
    rng = check_random_state(0 if random_state is None else random_state)
    how = Drawing(rng, _differences(points, len(scales)) * scales, lattices)
    drawn = _draw(kernel, scales, n, how)
    return drawn._replace(values=drawn.values * scales[drawn.columns])


def has_frequencies(kernel: Kernel) -> bool:
    """Whether :func:`draw_frequencies` knows the kernel."""
    if isinstance(kernel, Sum | Scaled):
        return all(has_frequencies(part) for _, part in kernel.terms())
    base = kernel._base() if isinstance(kernel, Anova) else kernel
    return isinstance(base, Gaussian | Matern52 | RationalQuadratic)


def _differences(points: Array | None, d: int) -> Array:
    """Differences of some rows, a little stretched; always the same for the same rows."""
    rng = np.random.RandomState(0)
    if points is None or len(points) < 2:
        return np.asarray(STRETCHED * np.sqrt(2) * rng.standard_normal((DIFFERENCES, d)))
    first = rng.randint(len(points), size=DIFFERENCES)
    second = (first + rng.randint(1, len(points), size=DIFFERENCES)) % len(points)
    return np.asarray(STRETCHED * (points[first] - points[second]))


def _draw(kernel: Kernel, scales: Array, n: int, how: Drawing) -> Frequencies:
    if not has_frequencies(kernel):
        raise InvalidParameterError(
            "Fourier features exist for Gaussian, Matern52 and RationalQuadratic kernels, for "
            f"Anova kernels of these, and for sums and multiples; got {kernel!r}. Use one of them, "
            'or space="nystrom".'
        )
    if isinstance(kernel, Sum | Scaled):
        return _combined(kernel, scales, n, how)
    if isinstance(kernel, Anova):
        return _anova(kernel, scales, n, how)
    assert isinstance(kernel, RadialKernel)
    active = np.flatnonzero(scales)
    if not len(active):
        return _constant(1.0, n)
    omega = _radial(kernel, n, len(active), how.rng)
    shares = np.full(n, 1 / n)
    if how.lattices and (len(active) == 1 or isinstance(kernel, Gaussian)):
        omega, shares = _better(kernel, omega, shares, how.differences[:, active])
    return Frequencies(np.tile(active, (len(omega), 1)), omega, np.sqrt(shares))


def _combined(kernel: Sum | Scaled, scales: Array, n: int, how: Drawing) -> Frequencies:
    """All parts, with frequencies in proportion to their size."""
    terms, counts = kernel.terms(), [n]
    if isinstance(kernel, Sum):
        if n < 2:
            raise InvalidParameterError("A sum of kernels needs at least 4 features; got 2.")
        first, second = (float(part.diagonal(scales[None])[0]) for _, part in terms)
        share = min(max(round(n * first / (first + second)), 1), n - 1)
        counts = [share, n - share]
    drawn = [
        (factor, _draw(part, scales, count, how))
        for (factor, part), count in zip(terms, counts, strict=True)
    ]
    return _joined([f._replace(amplitudes=np.sqrt(c) * f.amplitudes) for c, f in drawn])


def _anova(kernel: Anova, scales: Array, n: int, how: Drawing) -> Frequencies:
    active = np.flatnonzero(scales)
    d, zeros, order = len(active), len(scales) - len(active), kernel._order()
    sizes = list(range(1, min(order, d) + 1))
    # how often a set of t variables occurs, filled up with variables of scale zero
    times = {t: sum(comb(zeros, j) for j in range(order - t + 1)) for t in [0, *sizes]}
    drawn = []
    if zeros:
        drawn.append(_constant(times[0] - 1.0, 1))
        n -= 1
    left = 0
    for t, share in zip(sizes, _shares(d, sizes, n), strict=True):
        count = share + left
        if not count:
            continue
        if comb(d, t) <= count:
            sets = np.array(list(combinations(active, t)), dtype=np.intp)
            found = _complete(kernel._base(), sets, count, times[t], how)
        else:
            lacking = comb(d, t) - count
            warnings.warn(
                f"{count} frequencies are left for {comb(d, t)} sets of {t} variables: at least "
                f"{lacking} interactions are not in the space. For all of them raise n_components "
                f"by {2 * lacking} or more, leave columns out, or lower the order of the kernel.",
                MissingInteractionsWarning,
                stacklevel=2,
            )
            found = _some(kernel._base(), active, t, count, times[t], how)
        left = count - len(found.values)
        drawn.append(found)
    if not drawn:
        raise InvalidParameterError("Too few features for this kernel; raise their number.")
    return _joined(drawn)


def _complete(base: RadialKernel, sets: Index, n: int, weight: float, how: Drawing) -> Frequencies:
    """Frequencies of products of ``base`` over all of the ``sets``, each with its share of ``n``.

    On a lattice or evenly drawn, whichever makes the better kernel.
    """
    counts = np.full(len(sets), n // len(sets))
    counts[how.rng.permutation(len(sets))[: n % len(sets)]] += 1
    repeated = np.repeat(sets, counts, axis=0)
    omega = _products(base, repeated, how.rng)
    parts = []
    for T, here in zip(sets, np.split(omega, np.cumsum(counts)[:-1]), strict=True):
        shares = np.full(len(here), 1 / len(here))
        if how.lattices:
            here, shares = _better(base, here, shares, how.differences[:, T], len(sets))
        columns = np.tile(T, (len(here), 1))
        parts.append(Frequencies(columns, here, np.sqrt(weight * shares)))
    return _joined(parts)


def _better(
    base: RadialKernel, omega: Array, shares: Array, delta: Array, n_terms: int = 1
) -> tuple[Array, Array]:
    """Drawn frequencies, or those of a lattice if they make the better kernel.

    Errors of lattices are alike in all terms of a kernel and add up; those of draws average out.
    """
    drawn = kernel_error(omega, shares, delta, exact_kernel(base, delta))
    found = lattice(base, delta, len(omega))
    better = found.error * n_terms < drawn
    return (found.omega, found.weights) if better else (omega, shares)


def _some(
    base: RadialKernel, active: Index, t: int, n: int, weight: float, how: Drawing
) -> Frequencies:
    """One frequency for each of ``n`` sets of ``t`` variables, fewer than there are."""
    d = len(active)
    pieces: list[Index] = []
    while len(pieces) < n:
        order = active[how.rng.permutation(d)]
        pieces += [np.sort(order[i : i + t]) for i in range(0, d - t + 1, t)]
    sets = np.array(pieces[:n], dtype=np.intp)
    sets = sets[np.lexsort(sets.T[::-1])]
    omega = _products(base, sets, how.rng)
    return Frequencies(sets, omega, np.full(n, np.sqrt(weight * comb(d, t) / n)))


def _shares(d: int, sizes: list[int], n: int) -> list[int]:
    """Number of frequencies for the sets of each size."""
    if not sizes:
        return []
    wanted = np.array([comb(d, t) * t for t in sizes], dtype=float)
    shares = n * wanted / wanted.sum()
    main = min(max(shares[0], min(MAIN * d, n / 2)), n)
    rest = wanted[1:].sum()
    shares[0], shares[1:] = main, (n - main) * wanted[1:] / (rest or 1.0)
    counts = np.floor(shares).astype(int)
    counts[-1] += n - counts.sum()
    return [int(count) for count in counts]


def _products(base: RadialKernel, sets: Index, rng: Generator) -> Array:
    """Frequencies of products of one-dimensional kernels, one row for each set: even in each."""
    n, t = sets.shape
    starts = np.flatnonzero(np.any(np.diff(sets, axis=0, prepend=-1) != 0, axis=1))
    counts = np.diff(np.append(starts, n))
    dims = 2 * t if not isinstance(base, Gaussian) else t
    shift = np.repeat(rng.uniform(size=(n, dims))[starts], counts, axis=0)
    place = np.arange(n) - np.repeat(starts, counts)
    u = np.mod(shift + place[:, None] * _recurrence(dims), 1.0)
    g, u = ndtri(np.clip(u[:, :t], EDGE, 1 - EDGE)), u[:, t:]
    return np.asarray(g * np.sqrt(_precisions(base, u)) if u.size else g * _inverse_width(base))


def _radial(kernel: RadialKernel, n: int, d: int, rng: Generator) -> Array:
    """Frequencies of a radial kernel of ``d`` variables."""
    if d > FEW:
        g, u = _orthogonal(n, d, rng), rng.uniform(size=(n, 1))
    else:
        points = qmc.Sobol(d + 1, scramble=True, rng=np.random.default_rng(rng.randint(2**31)))
        drawn = points.random_base2(max(1, int(np.ceil(np.log2(n)))))[:n]
        g, u = ndtri(np.clip(drawn[:, :d], EDGE, 1 - EDGE)), drawn[:, d:]
    return np.asarray(g * np.sqrt(_precisions(kernel, u)))


def _orthogonal(n: int, d: int, rng: Generator) -> Array:
    """Rows ``g ~ N(0, I)`` whose directions are orthogonal within blocks of ``d``."""
    blocks = -(-n // d)
    Q, R = np.linalg.qr(rng.standard_normal((blocks, d, d)))
    Q = Q * np.sign(np.einsum("bii->bi", R))[:, None, :]
    lengths = np.sqrt(rng.chisquare(d, size=(blocks * d, 1)))
    return np.asarray((Q.reshape(-1, d) * lengths)[:n])


def _recurrence(dims: int) -> Array:
    """Steps of the additive recurrence of lowest discrepancy known for few dimensions.

    Powers of the inverse root of ``x^(dims + 1) = x + 1``: the golden ratio for one.
    """
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dims + 1))
    return np.asarray(root ** -np.arange(1.0, dims + 1))


def _precisions(kernel: RadialKernel, u: Array) -> Array:
    """``tau`` of uniform numbers ``u``."""
    u = np.clip(u, EDGE, 1 - EDGE)
    s2 = _inverse_width(kernel) ** 2
    if isinstance(kernel, Matern52):
        return np.asarray(s2 * 2.5 / gammaincinv(2.5, u))
    if isinstance(kernel, RationalQuadratic):
        mixture = positive(kernel.mixture, "mixture")
        return np.asarray(s2 * gammaincinv(mixture, u) / mixture)
    return np.full_like(u, s2)


def _inverse_width(kernel: Any) -> float:
    return 1 / positive(getattr(kernel, "length_scale", 1.0), "length_scale")


def _constant(value: float, n: int) -> Frequencies:
    """Frequency zero: the constant part of a kernel."""
    zero = np.zeros((n, 1))
    return Frequencies(zero.astype(np.intp), zero, np.full(n, np.sqrt(value / n)))


def _joined(drawn: list[Frequencies]) -> Frequencies:
    """One after the other, filled up to the same width."""
    width = max(part.columns.shape[1] for part in drawn)
    filled = []
    for index, values, amplitudes in drawn:
        missing = ((0, 0), (0, width - index.shape[1]))
        filled.append((np.pad(index, missing, mode="edge"), np.pad(values, missing), amplitudes))
    parts = [np.concatenate(arrays) for arrays in zip(*filled, strict=True)]
    return Frequencies(*parts)


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
    few = slice(None) if differences.shape[1] <= AXES else slice(COMPARED)
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
    place, d, width = np.argsort(order), len(order), 1 / _inverse_width(base)
    for t in [d] if d <= AXES else range(1, AXES + 1):
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
    scaled = omega / _inverse_width(base)
    if isinstance(base, Matern52):
        return np.asarray((1 + scaled**2 / 5) ** -3)
    if isinstance(base, RationalQuadratic):
        mixture = positive(base.mixture, "mixture")
        order = mixture - 0.5
        return np.asarray(scaled**order * kv(order, np.sqrt(2 * mixture) * scaled))
    return np.asarray(np.exp(-(scaled**2) / 2))
