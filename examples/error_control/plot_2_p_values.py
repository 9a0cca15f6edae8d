"""
P-values for any model
======================

:class:`~nablasso.RandomizationTest` redraws a column given all others, many times, and asks how
often the held-out error is as small as with the real one. The estimator inside may be anything
that predicts; the false discovery rate is controlled by the rule of Benjamini and Hochberg.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.kernel_ridge import KernelRidge

from nablasso import RandomizationTest
from nablasso.datasets import make_demo

data = make_demo()
X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
inner = KernelRidge(kernel="poly", degree=2, alpha=1.0, coef0=1.0)

test = RandomizationTest(inner, fdr=0.1, random_state=0).fit(X, data.y - data.y.mean())
print("selected:", [data.feature_names[a] for a in np.flatnonzero(test.support_)])

# %%
# The outside temperature is correlated with the temperature and gets a large p-value all the same:
# given the temperature it says nothing more.
table = pd.Series(test.p_values_, index=data.feature_names).sort_values(ascending=False)
fig, ax = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
matters = pd.Series(data.support, index=data.feature_names)[table.index]
colours = np.where(matters, "tab:blue", "tab:orange")
ax.scatter(table, table.index, color=colours)
_ = ax.set(xscale="log", xlabel="p-value; blue: the column matters")

# %%
# ``NablassoRegressor(fdr=0.1)`` does this with its own predictor inside.
