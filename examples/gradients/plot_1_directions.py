"""
Selection and directions together
=================================

:class:`~nablasso.SparseGradientRegressor` learns the gradient of the regression function from pairs
of rows, most of its components exactly zero. The others span the directions in which the target
changes: ``transform`` projects on them.
"""

import numpy as np

from nablasso import SparseGradientRegressor
from nablasso.inspection import EdrDisplay
from nablasso.kernels import Polynomial

# %%
# Ten variables; the target depends on two directions in the first four.
rng = np.random.default_rng(0)
X = rng.normal(size=(150, 10))
first, second = X[:, 0] + X[:, 1], X[:, 2] - X[:, 3]
y = first + 0.5 * second**2 + 0.1 * rng.normal(size=150)

model = SparseGradientRegressor(0.002, kernel=Polynomial(1), n_neighbors=10, n_components=2)
model.fit(X, y)
print(model.summary())

# %%
# On the left what the directions are made of, on the right the rows seen along them.
_ = EdrDisplay.from_estimator(model, X, y)
