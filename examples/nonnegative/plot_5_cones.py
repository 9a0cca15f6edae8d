"""
Outputs in order
================

:class:`~nablasso.ConeRegressor` predicts several outputs that satisfy linear inequalities at every
input: non-negative, increasing with their number, convex in it, or any cone of your own.
"""

import numpy as np
from matplotlib import pyplot as plt

from nablasso import ConeRegressor

# %%
# Cumulative doses at three times: the second is never below the first, the third never below the
# second. The noise does not know it.
rng = np.random.default_rng(0)
X = rng.uniform(0, 1, size=(80, 1))
steps = np.column_stack([np.sin(3 * X[:, 0]), 0.4 * (1 - X[:, 0]), 0.1 + 0 * X[:, 0]])
Y = np.cumsum(steps, axis=1) + 0.25 * rng.normal(size=(80, 3))

model = ConeRegressor("monotone", weight=1e-3, rank=50, tol=1e-3).fit(X, Y)
grid = np.linspace(0, 1, 200)[:, None]
curves = model.predict(grid)

fig, ax = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
for k, colour in enumerate(("tab:blue", "tab:green", "tab:red")):
    ax.plot(X, Y[:, k], ".", color=colour, alpha=0.4)
    ax.plot(grid, curves[:, k], color=colour, label=f"time {k + 1}")
ax.set(xlabel="x", ylabel="cumulative dose")
ax.legend()
print("rows out of order in the data:", f"{np.mean((np.diff(Y, axis=1) < 0).any(axis=1)):.0%}")
print("on the grid:", f"{np.mean((np.diff(curves, axis=1) < -1e-9).any(axis=1)):.0%}")
