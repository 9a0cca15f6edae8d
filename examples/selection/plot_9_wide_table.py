"""
Thousands of columns: screen, then select
=========================================

Three of 4000 columns matter, two of them only as a product. A kernel of all columns sees nothing;
screening looks at each column alone and at each pair, on left-out rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline

from nablasso import DerivativeLasso, HeldOutScreening

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 4000))
y = X[:, 7] ** 2 + X[:, 11] * X[:, 12] + 0.3 * rng.normal(size=200)

model = make_pipeline(HeldOutScreening(n_spare=0), DerivativeLasso("polynomial")).fit(X, y)
screening, lasso = model[0], model[-1]
print(screening.summary())

# %%
# The derivative lasso decides among the columns that are left; its certificate is for these.

kept = screening.get_feature_names_out()
print(", ".join(kept[lasso.support_]))

# %%
# Alone, the columns of the product score no better than noise: they were found as a pair.

fig, ax = plt.subplots(figsize=(6, 3))
ax.plot(screening.scores_, ".", ms=3, color="0.6")
chosen = np.flatnonzero(screening.clear_)
ax.plot(chosen, screening.scores_[chosen], "o")
ax.axhline(screening.chance_, lw=0.8, ls="--")
ax.set(xlabel="column", ylabel="held-out score")
plt.tight_layout()
