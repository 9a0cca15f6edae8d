r"""The adaptive metric of one kernel: let the fit teach it which variables matter.

.. math::
    f = \arg\min \sum_i p_i (y_i - b - f(x_i \circ s))^2 + \lambda \|f\|^2, \qquad
    s_g \leftarrow \|\partial_g f\|_n / \max_h \|\partial_h f\|_n

again and again, with derivatives in the units of ``X`` and ``lambda`` of smallest leave-one-out
error. A scale below ``DROP`` becomes zero for good: the variable has left the kernel. Groups share
one scale; groups that must be kept never fall below ``KEPT_SCALE``. Passes are compared by

.. math:: \log e + 2\, k \log(G) / n, \qquad k = (\textstyle\sum_g s_g)^2 / \sum_g s_g^2

with ``e`` the leave-one-out error, ``G`` groups and ``k`` their effective number, since ``e`` is
too small where scales were learned from the same rows. Cost of a pass: one eigendecomposition,
O(n^3), and one product ``D u``, O(n^2 d).
"""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from nablasso.kernels import AdditivePower, DotProductKernel, Kernel
from nablasso.regression.ridge import Ridge
from nablasso.spaces import RepresenterSpace
from nablasso.types import Array, Index, Mask

DROP = 1e-3
KEPT_SCALE = 0.1
SETTLED = 0.01  # largest change of a scale that counts as none
WIDTH_ROWS = 300  # rows that the median distance is taken over


def adaptive_scales(
    kernel: Kernel,
    X: Array,
    Y: Array,
    weights: Array,
    labels: Index,
    kept: Mask,
    n_passes: int,
) -> Array:
    """A multiplier for each group after so many passes, from the best of them.

    ``Y`` (n, q), ``weights`` adding up to one, ``kept`` a flag per group.
    """
    scales, best, least = np.ones(len(kept)), np.ones(len(kept)), np.inf
    for _ in range(n_passes):
        shares, error = _one_pass(kernel, X, Y, weights, labels, scales)
        size = float(shares.sum()) ** 2 / (float(shares @ shares) or 1.0)
        price = np.log(max(error, 1e-300)) + 2 * size * np.log(max(len(kept), 2)) / len(X)
        new = np.where((shares < DROP) | (scales == 0), 0.0, shares)
        new = np.where(kept, np.maximum(new, KEPT_SCALE), new)
        if price < least:
            least, best = price, new if new.any() else scales
        if not new.any() or np.max(np.abs(new - scales)) <= SETTLED:
            break
        scales = new
    return best


def _one_pass(
    kernel: Kernel, X: Array, Y: Array, weights: Array, labels: Index, scales: Array
) -> tuple[Array, float]:
    """Derivative norms of the groups over the largest, and the leave-one-out error."""
    per_column = scales[labels]
    active = per_column > 0
    Z = X[:, active] * per_column[active]
    bound, width = _bound(kernel, Z, weights)
    space = RepresenterSpace(bound, X[:, active], per_column[active] / width)
    inverse = Ridge(space.gram, weights)
    ridge = inverse.best_ridge(Y)
    squares = np.zeros(X.shape[1])
    for u in inverse.coefficients(Y, ridge).T:
        squares[active] += weights @ space.slopes(u) ** 2
    means = np.bincount(labels, squares, len(scales)) / np.bincount(labels, minlength=len(scales))
    norms = np.sqrt(means)
    error = float(np.sum(weights @ inverse.loo_residuals(Y, ridge) ** 2))
    return norms / (float(norms.max(initial=0.0)) or 1.0), error


def _bound(kernel: Kernel, Z: Array, weights: Array) -> tuple[Kernel, float]:
    """The kernel and its natural width: the median distance, or the root mean square length.

    The offset of an additive power is in units of the mean of its additive part.
    """
    if isinstance(kernel, AdditivePower):
        Phi, _ = kernel.features(Z)
        mean = float(weights @ np.einsum("ib,ib->i", Phi, Phi)) or 1.0
        return clone(kernel).set_params(offset=kernel.offset * mean), 1.0
    if isinstance(kernel, DotProductKernel):
        width = float(np.sqrt(weights @ np.einsum("ia,ia->i", Z, Z)))
    else:
        width = kernel.width(Z[:WIDTH_ROWS], weights[:WIDTH_ROWS], "median")
    return kernel, width or 1.0
