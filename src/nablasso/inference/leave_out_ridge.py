r"""Ridge regressions on all columns but some, from one decomposition.

Columns are centred and standardised, rows scaled by the square root of their weight p_i (adding up
to one), so that ``Z`` has columns of unit length orthogonal to ``s = sqrt p``. For the ridge lambda
let :math:`M = (Z Z^\top + \lambda I)^{-1} - s s^\top / \lambda`; the last term is the intercept.
Without the columns g

.. math::
    M_{-g} = M + M Z_g (I - Z_g^\top M Z_g)^{-1} Z_g^\top M,

and the residual of row i of a target t, left out of its own fit, is
:math:`(M_{-g} S t)_i / ((M_{-g})_{ii} \sqrt{p_i})` with :math:`S = \mathrm{diag}(s)`. The ridge of
smallest leave-one-out error is taken for each g. Works for d >= n.

The mean of the other rows tells the left-out target exactly (it falls where the target is high). So
predictions are made around the means of *all* rows, with the slopes of the others, into which the
row's own target does not enter. That multiplies the residual by 1 - p_i.

Cost: one SVD of the n x d table, then O(n min(n, d) (|g| + number of targets)) per ridge.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve, svd

from nablasso.types import Array, Index

RIDGES = np.logspace(-4, 2, 19)  # the columns have unit length


class LeaveOutRidge:
    """Leave-one-out predictions of any targets from all columns but some.

    Parameters
    ----------
    X : array, shape (n, d)
    weights : array, shape (n,)
        Positive.
    """

    def __init__(self, X: Array, weights: Array) -> None:
        self.root = np.sqrt(weights / weights.sum())
        centred = X - self.root**2 @ X
        size = np.sqrt(self.root**2 @ centred**2)
        rounding = 1e-12 * np.abs(X).max(axis=0, initial=0.0)
        self.Z = np.where(size > rounding, centred / np.where(size > rounding, size, 1.0), 0.0)
        self.Z *= self.root[:, None]
        self.left, values, self.right = svd(self.Z, full_matrices=False, check_finite=False)
        self.squares = values**2

    def predict(self, columns: Index, targets: Array) -> Array:
        """Each row's ``targets``, (n, m), from the other rows and the columns not in ``columns``.

        The targets share one ridge: that of the smallest squared leave-one-out error, added up
        over them. Overall means take the place of the means of the other rows.
        """
        T = targets * self.root[:, None]
        best, smallest = T, np.inf
        for ridge in RIDGES[::-1]:  # the smoothest among ties
            residuals = self._residuals(columns, T, ridge)
            error = float(np.sum(residuals**2))
            if error < smallest * (1 - 1e-10):
                best, smallest = residuals, error
        return np.asarray(targets - best * ((1 - self.root**2) / self.root)[:, None])

    def _residuals(self, columns: Index, T: Array, ridge: float) -> Array:
        shrink = self.squares / (self.squares + ridge)
        Zg = self.Z[:, columns]
        MZ = (Zg - self.left @ (shrink[:, None] * (self.left.T @ Zg))) / ridge
        MT = T - np.outer(self.root, self.root @ T)
        MT = (MT - self.left @ (shrink[:, None] * (self.left.T @ MT))) / ridge
        core = np.eye(len(columns)) - Zg.T @ MZ
        MZC = solve(core, MZ.T, assume_a="pos", check_finite=False).T
        diagonal = (1 - self.left**2 @ shrink - self.root**2) / ridge + np.sum(MZC * MZ, axis=1)
        return np.asarray((MT + MZC @ (Zg.T @ MT)) / diagonal[:, None])
