"""
Sparse additive models
======================

Without interactions the search is multiple kernel learning: a sum of functions of single variables,
most of them zero. That is :class:`~nablasso.HierarchicalKernelRegressor` with
``interactions=False``.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from nablasso import HierarchicalKernelRegressor
from nablasso.datasets import make_additive

data = make_additive(150, 12, random_state=0)
X = pd.DataFrame(data.X, columns=data.feature_names)
model = HierarchicalKernelRegressor(alpha=0.03, interactions=False).fit(X, data.y)
print(model.summary())

# %%
# The fifth one is false, and hardly moves the prediction. Each function is found by moving one
# variable and holding the others at their means.
fig, axes = plt.subplots(1, int(model.support_.sum()), sharey=True, figsize=(9, 2.6))
fig.set_layout_engine("constrained")
base = data.X.mean(axis=0)
for ax, a in zip(np.atleast_1d(axes), np.flatnonzero(model.support_), strict=True):
    values = np.linspace(*np.quantile(data.X[:, a], [0.01, 0.99]), 50)
    moved = np.tile(base, (50, 1))
    moved[:, a] = values
    ax.plot(values, model.predict(pd.DataFrame(moved, columns=X.columns)))
    ax.set_xlabel(data.feature_names[a])
_ = np.atleast_1d(axes)[0].set_ylabel("prediction")
