"""
Correlated twins
================

Where two columns say nearly the same, a lasso takes one of them by chance.
With ``l1_ratio`` below one :class:`~nablasso.DerivativeLasso` is an elastic net, which takes both.
"""

import numpy as np
from matplotlib import pyplot as plt

from nablasso import DerivativeLasso

# %%
# Three pairs of columns with correlation 0.95. The target depends on the first two pairs: for
# each, on the mean of the two.
rng = np.random.default_rng(4)
shared = rng.normal(size=(60, 3))
X = np.repeat(shared, 2, axis=1) + np.sqrt(0.05) * rng.normal(size=(60, 6))
first, second = X[:, :2].mean(axis=1), X[:, 2:4].mean(axis=1)
y = first * second + first + 0.1 * rng.normal(size=60)

# %%
# Both at five times their default alpha, which is a tenth of the largest sensible one.
fig, ax = plt.subplots(figsize=(6.5, 3), layout="constrained")
for name, l1_ratio, shift in (("lasso", 1.0, -0.2), ("elastic net", 0.3, 0.2)):
    model = DerivativeLasso("polynomial", ridge=0.01, l1_ratio=l1_ratio)
    top = model.set_params(tol=1e-4).fit(X, y).alpha_
    model.set_params(alpha=5 * top).fit(X, y)
    shares = model.feature_importances_ / model.feature_importances_.max()
    ax.bar(np.arange(6) + shift, shares, width=0.38, label=name)
ax.set_xticks(range(6), ["first a", "first b", "second a", "second b", "third a", "third b"])
ax.set_ylabel("strength / largest")
_ = ax.legend()

# %%
# The status says that other columns could stand for the selected ones, and ``twins_`` lists them.
print(model.selection_status_, model.twins_)
