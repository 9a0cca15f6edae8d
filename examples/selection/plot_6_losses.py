"""
Outliers and counts
===================

The derivative estimators take other losses: ``"huber"`` and ``"epsilon_insensitive_squared"`` for
targets with outliers, ``"poisson"`` for counts. The duality gap is that of the chosen loss.
"""

import numpy as np
from matplotlib import pyplot as plt

from nablasso import DerivativeLasso

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 6))
f = X[:, 0] * X[:, 1] + X[:, 0]

# %%
# Every tenth value is wrong by a lot. The squared loss follows them with the help of columns
# that do not matter; Huber's loss does not.
y = f + 0.1 * rng.normal(size=80)
y[::10] += 8 * rng.normal(size=8)
fig, axes = plt.subplots(1, 2, sharey=True, figsize=(7, 3.4), layout="constrained")
for ax, loss in zip(axes, ("squared", "huber"), strict=True):
    model = DerivativeLasso("polynomial", 0.4, 1e-2, loss=loss, tol=1e-4).fit(X, y)
    error = np.sqrt(np.mean((model.predict(X) - f) ** 2))
    print(f"{loss:8s} selected {np.flatnonzero(model.support_)}, error {error:.2f}")
    ax.axline((0, 0), slope=1, color="0.8")
    ax.plot(f, model.predict(X), ".")
    ax.set(title=loss, xlabel="true function")
_ = axes[0].set_ylabel("predicted")

# %%
# Counts with mean exp(f): predictions are means, and slopes are those of the mean.
counts = rng.poisson(np.exp(0.7 * f))
model = DerivativeLasso("polynomial", ridge=1e-2, loss="poisson", tol=1e-4).fit(X, counts)
print("selected", np.flatnonzero(model.support_), "gap", f"{model.dual_gap_:.1e}")
print(np.column_stack([np.exp(0.7 * f[:4]), model.predict(X[:4])]).round(2))
