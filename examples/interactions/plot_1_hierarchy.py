"""
Variables and their interactions
================================

:class:`~nablasso.HierarchicalKernelRegressor` writes the function as a sum of products of functions
of single variables and searches through all products. A product can be selected only after all
products of its parts, which makes the search possible, and the duality gap is that of the problem
over *all* of them.
"""

import numpy as np

import nablasso
from nablasso import HierarchicalKernelRegressor
from nablasso.inspection import DagDisplay, PathDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 10))
y = X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1] + X[:, 4] ** 2 + 0.1 * rng.normal(size=150)

# %%
# Ten variables with four levels each (constant, and three Hermite polynomials) make 4^10 products.
model = HierarchicalKernelRegressor(alpha=0.02).fit(X, y)
print(model.summary())

# %%
# The hull: circles are kernels with areas proportional to their weights; filled ones have no
# selected children. Depth counts levels from the constant downwards.
_ = DagDisplay.from_estimator(model)

# %%
# Which variables are in along the path.
path = nablasso.path(HierarchicalKernelRegressor(), X, y, n_alphas=12, eps=1e-3)
_ = PathDisplay(path).plot()
