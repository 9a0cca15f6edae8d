r"""The restricted evidence of a Gaussian process: how well variances explain the targets.

Rows ``x_i`` (columns, or fixed features of columns) belong to groups, and a group has one variance
``v_g >= 0``: the kernel sees the columns of group ``g`` times ``sqrt(v_g)``. For a target

.. math:: y = b\,1 + f + e, \qquad f + e \sim N\big(0,\; c\,A\big), \qquad A = K_v + r N

with the mean ``b`` integrated out (a flat prior: the *restricted* likelihood), the unit ``c`` at
its best value, ``r`` the noise and ``N`` its shape (identity; ``1 / w_i`` for weighted rows; a
matrix for serial rows). With ``s = 1'A^{-1}1`` and
``P = A^{-1} - A^{-1} 1 1' A^{-1} / s``, minus the log evidence of ``q`` targets that share ``v``
and ``r`` is, up to a constant,

.. math:: \sum_t \tfrac{n-1}{2} \log c_t + \tfrac q2 \big(\log\det A + \log \tfrac sn\big),
          \qquad c_t = \frac{y_t' P y_t}{n-1},

from which the value without columns is taken, so that *nothing selected is 0 nats*. Where the noise
is known (``r c = 1``, the working response of another loss at its mode: Laplace's approximation)
``c_t = 1 / r`` and ``c_t^{-1} y_t' P y_t / 2`` is added instead.

With ``U = P Y`` the derivative in ``A`` is ``G = (q P - sum_t U_t U_t' / c_t) / 2``, and
``d / dv_g = sum_ij G_ij dK_ij / dv_g`` is a product of the kernel's own: for ``K = phi(t)``,
``t = z . x``, one product with ``phi' * G``; for radial kernels the same with squared differences;
for any other kernel :meth:`~nablasso.kernels.base.KernelOperator.slopes`, since both arguments of a
symmetric kernel give the same.

**Left-out rows**, closed form, mean included: for rows ``B`` left out together the residuals are
``P_BB^{-1} U_B`` and their covariance is ``c P_BB^{-1}``.

**Equal rows** are one row: ``w`` copies with noise ``r a`` each are a row with noise ``r a / w``.
Then ``n`` above counts copies, ``log det`` has ``log r`` for each copy more than rows, and one copy
left out has the residual ``u / p`` with ``u = U_i / w``, ``p = (1 - 1/w) / (r a) + P_ii / w^2``.

Cost of an evaluation: one Cholesky factor and one inverse, O(n^3), and O(n^2 m) for m columns.

**Walks.** A kernel of all columns teaches itself which of them it needs. Each pass solves for the
variances at hand and moves them, all at once:

* **kernels of products**, whose ``dK / dv_g`` is positive semidefinite, multiply:
  ``v_g <- v_g (U' dK_g U / c) / tr(P dK_g)``, a fixed point of which is a stationary point of the
  evidence (numerator and denominator are the two parts of its derivative);
* **radial kernels**, whose derivative has no such sign, follow the derivative norms of the fitted
  function, ``v_g ~ ||d_g f||_n^2``, in units of the median distance.

The noise multiplies likewise, ``r <- r (U' N U / c) / tr(P N)``. A variance that fades leaves, so
that passes become cheap. What comes out is a ranking: how much of the fit a group carries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import pdist

from nablasso.kernels import DotProductKernel, Kernel, Linear, RadialKernel
from nablasso.types import Array, Index

FAILED = 1e10  # the value where the matrix is not positive
FLOOR = 1e-9  # of the mean diagonal, added to it: beyond that rounding invents evidence
WIDTH_ROWS = 200  # rows whose distances tell a first width
TINY = 1e-6  # variance, in units of a typical one, at which a column outside is looked at


@dataclass(frozen=True)
class Covariance:
    """A kernel of columns or features ``F`` (n, m), group ``labels[a]`` having one variance.

    A radial kernel may have states besides, ``codes`` (n, k), the last k of the labels: one feature
    for each number that a column of them takes.
    """

    kernel: Kernel
    F: Array
    labels: Index
    n_groups: int
    codes: Index | None = None

    @property
    def radial(self) -> bool:
        """Whether the kernel is one of distances."""
        return isinstance(self.kernel, RadialKernel)

    def part(self, groups: Index) -> Covariance:
        """Some of the groups, renumbered in the order given."""
        new = np.full(self.n_groups, -1)
        new[groups] = np.arange(len(groups))
        inside = new[self.labels] >= 0
        m = self.F.shape[1]
        F = np.ascontiguousarray(self.F[:, inside[:m]])
        codes = None if self.codes is None else self.codes[:, inside[m:]]
        return replace(
            self, F=F, labels=new[self.labels[inside]], n_groups=len(groups), codes=codes
        )

    def start(self) -> float:
        """An equal variance to start from: radial kernels at the median distance, others at one."""
        if not self.radial:
            return 1.0 / max(self.n_groups, 1)
        squares = pdist(self.F[:WIDTH_ROWS], "sqeuclidean")
        if self.codes is not None and self.codes.size:
            k = self.codes.shape[1]
            squares += 2 * k * pdist(self.codes[:WIDTH_ROWS].astype(float), "hamming")
        return float(1.0 / max(np.median(squares), 1e-12))

    def size(self, v: Array) -> float:
        """Mean variance of a row, without the mean."""
        K, _ = self.gram(v)
        return max(float(np.trace(K) - K.sum() / len(K)) / len(K), 1e-12)

    def gram(self, v: Array) -> tuple[Array, Any]:
        """``K_v`` (n, n), a matrix of its own, and what :meth:`pull` reuses."""
        Z = self.F * np.sqrt(v)[self.labels[: self.F.shape[1]]]
        if isinstance(self.kernel, DotProductKernel):
            return self.kernel.first_two(Z @ Z.T)
        if isinstance(self.kernel, RadialKernel):
            T = Z @ Z.T
            squares = np.diag(T).copy()
            T *= -2
            T += squares
            T += squares[:, None]
            np.maximum(T, 0, out=T)
            T.flat[:: len(T) + 1] = 0.0
            T /= 2
            for g, code in self._states():
                T += v[g] * (code[:, None] != code)
            return self.kernel.first_two(T)
        operator = self.kernel.between(Z, Z)
        return operator.gram().copy(), operator

    def pull(self, M: Array, v: Array, carry: Any) -> Array:
        """``sum_ij M_ij dK_ij / dv_g`` for every group; ``M`` symmetric, ``carry`` from gram."""
        if isinstance(carry, np.ndarray):
            W = M * carry
            moved = np.einsum("ia,ia->a", self.F, W @ self.F)
            if self.radial:
                moved = W.sum(axis=1) @ self.F**2 - moved
                apart = [np.vdot(W, code[:, None] != code) for _, code in self._states()]
                moved = np.append(moved, apart)
        else:
            scales = np.sqrt(v)[self.labels]
            moved = np.einsum("ia,ia->a", self.F, carry.slopes(M)) / np.maximum(scales, 1e-150)
        return np.asarray(np.bincount(self.labels, moved, minlength=self.n_groups), dtype=float)

    def _states(self) -> Iterator[tuple[int, Index]]:
        """Group and codes of each column that has states."""
        if self.codes is not None:
            yield from zip(self.labels[self.F.shape[1] :].tolist(), self.codes.T, strict=True)


@dataclass(frozen=True)
class Solved:
    """The evidence at some variances and noise: value, ``P``, ``U = P Y``, units ``c``."""

    value: float
    P: Array
    U: Array
    units: Array
    r: float
    carry: Any
    noise: Array
    copies: Array | None

    def left_out(self, folds: Sequence[Index] | None = None) -> tuple[Array, Array]:
        """Residuals (n, q) of left-out rows, and the log density of each row, or of each fold."""
        if folds is None:
            p, U = np.diag(self.P)[:, None], self.U
            if self.copies is not None:
                w, own = self.copies[:, None], (self.copies * self.noise)[:, None]
                p, U = (1 - 1 / w) / (self.r * own) + p / w**2, U / w
            density = 0.5 * np.log(p / self.units) - 0.5 * U**2 / (p * self.units)
            return U / p, density.sum(axis=1)
        residuals = np.full_like(self.U, np.nan)
        densities = np.empty(len(folds))
        for i, rows in enumerate(folds):
            block = self.P[np.ix_(rows, rows)]
            residuals[rows] = np.linalg.solve(block, self.U[rows])
            quadratic = np.einsum("it,it->t", residuals[rows], self.U[rows]) / self.units
            logs = np.linalg.slogdet(block)[1] - len(rows) * np.log(self.units)
            densities[i] = 0.5 * float(np.sum(logs - quadratic))
        return residuals, densities


@dataclass(frozen=True)
class Evidence:
    """A covariance and the targets it explains.

    ``Y`` (n, q); ``noise`` are (n,) variances or an (n, n) matrix; ``known`` when the noise is
    ``noise`` itself (``r c = 1``). ``nothing`` is the value without columns, see
    :func:`without_columns`. ``copies`` (n,) are the equal rows that each stands for, the noise
    being divided by them.
    """

    covariance: Covariance
    Y: Array
    noise: Array
    known: bool = False
    nothing: float = 0.0
    copies: Array | None = None

    @property
    def repeated(self) -> float:
        """Copies beyond the first of each row."""
        return 0.0 if self.copies is None else float(self.copies.sum()) - len(self.Y)

    @property
    def n_varying(self) -> int:
        """Targets that are not zero throughout: a class may be absent from some rows."""
        return int(np.any(self.Y != 0, axis=0).sum())

    def part(self, groups: Index) -> Evidence:
        """With some of the groups only."""
        return replace(self, covariance=self.covariance.part(groups))

    def value(self, v: Array, r: float) -> float:
        """Minus the log evidence by a Cholesky factor alone; ``FAILED`` where there is none."""
        A, r = with_noise(self.covariance.gram(v)[0], r, self.noise)
        L, info = lapack.dpotrf(A.T, lower=1, clean=0, overwrite_a=1)
        if info:
            return FAILED
        W = lapack.dpotrs(L, np.column_stack([self.Y, np.ones(len(A))]), lower=1)[0]
        s = float(W[:, -1].sum())
        U = W[:, :-1] - np.outer(W[:, -1], W[:, :-1].sum(axis=0) / s)
        return self._total(U, 2 * float(np.log(np.diag(L)).sum()), s, r)[0]

    def solve(self, v: Array, r: float) -> Solved | None:
        """Everything that gradients and left-out rows need; None where there is no factor."""
        K, carry = self.covariance.gram(v)
        A, r = with_noise(K, r, self.noise)
        factored = restricted_inverse(A)
        if factored is None:
            return None
        P, logdet, s = factored
        U = P @ self.Y
        value, units = self._total(U, logdet, s, r)
        if value >= FAILED:
            return None
        return Solved(value, P, U, units, r, carry, self.noise, self.copies)

    def _total(self, U: Array, logdet: float, s: float, r: float) -> tuple[float, Array]:
        """The formula, less the value without columns, and the units."""
        n, q = len(self.Y) + self.repeated, self.n_varying
        logdet += self.repeated * np.log(r)
        quadratic = np.einsum("it,it->t", self.Y, U)
        units = np.full(len(quadratic), 1 / r) if self.known else quadratic / (n - 1)
        units = np.where(np.any(self.Y != 0, axis=0), units, 1.0)
        if not (np.isfinite(quadratic).all() and (units > 0).all()):
            return FAILED, units
        value = 0.5 * (n - 1) * float(np.log(units).sum()) + 0.5 * q * (logdet + np.log(s / n))
        if self.known:
            value += 0.5 * r * float(quadratic.sum())
        return float(value) - self.nothing, units

    def value_and_gradient(self, x: Array, ties: Index | None = None) -> tuple[float, Array]:
        """Value and gradient at ``x``: logs of the variances (of the ties), then of the noise."""
        if ties is not None:
            value, slope = self.value_and_gradient(np.append(x[ties], x[-1]))
            tied = np.bincount(ties, slope[:-1], minlength=len(x) - 1)
            return value, np.append(tied, slope[-1])
        v, r = np.exp(x[:-1]), float(np.exp(x[-1]))
        solved = self.solve(v, r)
        if solved is None:
            return FAILED, np.zeros_like(x)
        n, q = len(self.Y), self.n_varying
        G = 0.5 * (q * solved.P - (solved.U / solved.units) @ solved.U.T)
        by_noise = r * (against(G, self.noise) + 0.5 * q * self.repeated / solved.r)
        if self.known:
            by_noise += 0.5 * r * float(np.sum(self.Y * solved.U)) - 0.5 * q * (n - 1)
        return solved.value, np.append(self.covariance.pull(G, v, solved.carry) * v, by_noise)

    def outside(self, groups: Index, v: Array, r: float) -> Array:
        """Gain asked for by each group: slope of minus the log evidence in its variance.

        ``groups`` are inside with variances ``v``; kernels of products are relative to their part
        of ``P``, so that groups of many columns compare with groups of few. Inside it is infinite.
        """
        solved = self.part(groups).solve(v, r)
        whole = self.covariance
        asked = np.full(whole.n_groups, np.inf)
        if solved is None:
            return asked
        everything = np.zeros(whole.n_groups)
        everything[groups] = v
        if not isinstance(solved.carry, np.ndarray):
            everything[everything == 0] = TINY * float(np.median(v))
        _, carry = whole.gram(everything)
        size = whole.pull(self.n_varying * solved.P, everything, carry)
        slope = size - whole.pull((solved.U / solved.units) @ solved.U.T, everything, carry)
        asked = slope if whole.radial else slope / np.maximum(size, 1e-300)
        asked[groups] = np.inf
        return asked


def without_columns(
    Y: Array, noise: Array, *, known: bool = False, copies: Array | None = None
) -> Solved:
    """The same without any column: ``A = N``."""
    none = Covariance(Linear(), np.empty((len(Y), 0)), np.empty(0, dtype=np.intp), 0)
    solved = Evidence(none, Y, noise, known, copies=copies).solve(np.empty(0), 1.0)
    if solved is None:
        raise np.linalg.LinAlgError("The shape of the noise must be a positive definite matrix.")
    return solved


def with_noise(K: Array, r: float, noise: Array) -> tuple[Array, float]:
    """``A`` in the memory of ``K``, and the noise with the floor under it."""
    n = len(K)
    r = r + FLOOR * float(np.trace(K)) / n
    if noise.ndim == 1:
        K.flat[:: n + 1] += r * noise
    else:
        K += r * noise
    return K, r


def against(M: Array, noise: Array) -> float:
    """Trace of ``M N``."""
    return float(np.diag(M) @ noise if noise.ndim == 1 else np.einsum("ij,ij->", M, noise))


def shaped(noise: Array, U: Array) -> Array:
    """``N U``."""
    return np.asarray(noise @ U if noise.ndim == 2 else noise[:, None] * U)


def restricted_inverse(A: Array) -> tuple[Array, float, float] | None:
    """``P``, ``log det A`` and ``s`` in the memory of ``A``; None without a factor."""
    n = len(A)
    L, info = lapack.dpotrf(A.T, lower=1, clean=1, overwrite_a=1)
    if info:
        return None
    logdet = 2 * float(np.log(np.diag(L)).sum())
    P, info = lapack.dpotri(L, lower=1, overwrite_c=1)
    if info:
        return None
    P = P + P.T
    P.flat[:: n + 1] *= 0.5
    sums = P.sum(axis=1)
    s = float(sums.sum())
    P -= np.outer(sums, sums / s)
    return P, logdet, s


PRODUCT_PASSES, RADIAL_PASSES = 12, 8
FADED, FLAT = 1e-4, 1e-6  # variances, over the largest, that leave: of products, of radial kernels
SETTLED = 0.01
NOISE_STEPS = 2  # of the noise of a radial kernel before each look at the derivatives


Walked = tuple[Index, Array, float]  # groups by decreasing share in the fit, variances, noise


def walk(evidence: Evidence) -> Walked | None:
    """The ranking of the pass of largest evidence; None when no pass could be solved."""
    radial = evidence.covariance.radial
    n_groups = evidence.covariance.n_groups
    alive = np.arange(n_groups)
    v = np.full(n_groups, evidence.covariance.start())
    r, part, best, least = 0.1 if radial else 0.3, evidence, None, np.inf
    for _ in range(RADIAL_PASSES if radial else PRODUCT_PASSES):
        solved, r = _settle_noise(part, v, r, NOISE_STEPS if radial else 1)
        if solved is None:
            r *= 10
            continue
        share, new = _radial_step(part, v, solved) if radial else _product_step(part, v, solved)
        if solved.value < least:
            order = np.argsort(-share, kind="stable")
            least, best = solved.value, (alive[order], v[order], solved.r)
        moved = float(np.max(np.abs(new - v)) / max(new.max(), 1e-300))
        stays = new >= (FLAT if radial else FADED) * new.max()
        if moved < SETTLED and abs(r / solved.r - 1) < SETTLED:
            break
        v = new[stays]
        if not stays.all():
            alive = alive[stays]
            part = evidence.part(alive)
    return best


def _settle_noise(part: Evidence, v: Array, r: float, steps: int) -> tuple[Solved | None, float]:
    """The last solution, and the noise that it asks for."""
    solved = None
    for _ in range(steps):
        solved = part.solve(v, r)
        if solved is None:
            return None, r
        spread = np.sum(solved.U * shaped(part.noise, solved.U) / solved.units)
        free = against(solved.P, part.noise) + part.repeated / r
        asked = float(spread / (part.n_varying * free))
        r = float(np.clip(r * np.clip(asked, 0.1, 10.0), 1e-8, 100.0))
    return solved, r


def _product_step(part: Evidence, v: Array, solved: Solved) -> tuple[Array, Array]:
    """Share of each group in the fit, and its next variance."""
    covariance, carry = part.covariance, solved.carry
    explained = covariance.pull((solved.U / solved.units) @ solved.U.T, v, carry)
    spent = covariance.pull(part.n_varying * solved.P, v, carry)
    ratio = np.clip(explained / np.maximum(spent, 1e-300), 1e-3, 10.0)
    return v * explained, v * ratio


def _radial_step(part: Evidence, v: Array, solved: Solved) -> tuple[Array, Array]:
    """Derivative norm of each group, and variances in their ratio at the median distance."""
    covariance = part.covariance
    F, labels, squares = covariance.F, covariance.labels, np.zeros(covariance.n_groups)
    for u in solved.U.T / np.sqrt(solved.units)[:, None]:
        W = solved.carry * u
        slopes = v[labels] * (F * W.sum(axis=1)[:, None] - W @ F)  # of sum_j u_j k(x_j, .)
        squares += np.bincount(labels, (slopes**2).mean(axis=0), covariance.n_groups)
    squares /= np.bincount(labels, minlength=covariance.n_groups)
    new = squares / max(float(squares.max()), 1e-300)
    scaled = replace(covariance, F=F * np.sqrt(new)[labels])
    return squares, new * scaled.start()
