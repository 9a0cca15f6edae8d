"""
Rates that stay positive
========================

:class:`~nablasso.PSDRegressor` predicts a quantity that cannot be negative, such as the rate of
counts: not by the exponential of a function, but by a function that is non-negative itself. The
problem stays convex.
"""

import numpy as np
from matplotlib import pyplot as plt

from nablasso import PSDRegressor

rng = np.random.default_rng(0)
hours = np.sort(rng.uniform(0, 24, size=150))[:, None]
rate = 4 * np.exp(-((hours[:, 0] - 8) ** 2) / 4) + 3 * np.exp(-((hours[:, 0] - 17) ** 2) / 8)
counts = rng.poisson(rate)

model = PSDRegressor(loss="poisson", width=0.4, weight=1e-2, rank=60, tol=1e-3).fit(hours, counts)
grid = np.linspace(-3, 27, 300)[:, None]

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.plot(hours, counts, ".", color="0.6", label="counts")
ax.plot(hours, rate, color="0.4", linestyle="--", label="true rate")
ax.plot(grid, model.predict(grid), color="tab:blue", label="fitted rate")
ax.set(xlabel="hour", ylabel="calls")
ax.legend()
print("smallest prediction, outside of the data too:", model.predict(grid).min().round(6))
