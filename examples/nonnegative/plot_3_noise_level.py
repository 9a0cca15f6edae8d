"""
A noise level that varies
=========================

:class:`~nablasso.HeteroscedasticRegressor` estimates mean and noise level together by a convex
maximum likelihood.
"""

import numpy as np

from nablasso import HeteroscedasticRegressor
from nablasso.inspection import QuantileDisplay

rng = np.random.default_rng(0)
X = rng.uniform(0, 4, size=(200, 1))
level = 0.1 + 0.25 * X[:, 0]
y = np.sin(2 * X[:, 0]) + level * rng.normal(size=200)

model = HeteroscedasticRegressor(weight=1e-3, rank=60, tol=1e-3).fit(X, y)
_ = QuantileDisplay.from_estimator(model, X, y)

# %%
mean, deviation = model.predict([[0.5], [2.0], [3.5]], return_std=True)
print("fitted", deviation.round(2), "true", (0.1 + 0.25 * np.array([0.5, 2.0, 3.5])).round(2))
