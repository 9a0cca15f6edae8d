"""
Two rings
=========

:class:`~nablasso.NablassoClassifier` finds the two columns that tell the classes apart although
neither does so alone, and no straight line does with both.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nablasso import NablassoClassifier
from nablasso.datasets import make_rings

data = make_rings(40, 20, random_state=0)
labels = np.where(data.y > 0, "inner", "outer")

# %%
# Forty rows, twenty columns. The rings have no noise, so that the evidence is overwhelming.
model = NablassoClassifier().fit(data.X, labels)
print(model.summary())

# %%
# A linear model with a lasso penalty has nothing to hold on to.
linear = make_pipeline(StandardScaler(), LogisticRegression(l1_ratio=1.0, solver="liblinear"))
print(f"accuracy on left-out rows {cross_val_score(linear, data.X, labels).mean():.2f}")

# %%
fig, ax = plt.subplots(figsize=(4.5, 4.5), layout="constrained")
first, second = np.flatnonzero(model.get_support())
side = np.linspace(-8.5, 8.5, 60)
grid = np.zeros((60 * 60, data.X.shape[1]))
grid[:, first], grid[:, second] = (values.ravel() for values in np.meshgrid(side, side))
probability = model.predict_proba(grid)[:, 1].reshape(60, 60)
filled = ax.contourf(side, side, probability, levels=np.linspace(0, 1, 11), cmap="RdBu", alpha=0.5)
for label, marker in (("inner", "o"), ("outer", "s")):
    rows = labels == label
    ax.scatter(data.X[rows, first], data.X[rows, second], marker=marker, label=label, color="0.2")
fig.colorbar(filled, label="probability of the outer ring")
ax.set(xlabel=f"x{first}", ylabel=f"x{second}", aspect="equal")
_ = ax.legend()
