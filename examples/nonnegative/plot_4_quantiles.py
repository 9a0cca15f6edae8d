"""
Quantiles that never cross
==========================

:class:`~nablasso.MultiQuantileRegressor` fits several quantiles at once; each step from one to the
next is a function that cannot be negative. Fitted one by one they may cross.
"""

import numpy as np
from matplotlib import pyplot as plt

from nablasso import MultiQuantileRegressor
from nablasso.inspection import QuantileDisplay

rng = np.random.default_rng(1)
X = rng.uniform(-1, 1, size=(150, 1))
y = X[:, 0] * rng.normal(size=150) + np.sin(3 * X[:, 0])
levels = (0.1, 0.3, 0.5, 0.7, 0.9)
options = {"weight": 1e-4, "rank": 50, "tol": 1e-2}

# %%
together = MultiQuantileRegressor(levels, **options).fit(X, y)
_ = QuantileDisplay.from_estimator(together, X, y)

# %%
# One by one, with the same width and weight.
grid = np.linspace(-1, 1, 400)[:, None]
alone = [MultiQuantileRegressor(level, **options).fit(X, y).predict(grid) for level in levels]
single = np.column_stack(alone)
joint = together.predict(grid)
for name, curves in (("together", joint), ("one by one", single)):
    crossed = np.mean((np.diff(curves, axis=1) < -1e-9).any(axis=1))
    print(f"{name:10s} crossed on {crossed:.0%} of the grid")

# %%
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.plot(grid, single, color="tab:orange")
ax.set(title="one by one", xlabel="x")
_ = ax.set_xlim(-0.4, 0.4)
