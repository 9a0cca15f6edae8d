"""
The derivative lasso and its path
=================================

:class:`~nablasso.DerivativeLasso` solves one problem, with a kernel, a sparsity weight ``alpha``
and a ridge::

    min over f, b    mean (y - b - f(x))²  +  alpha · Σ_a ‖∂f/∂x_a‖  +  ridge · ‖f‖²

Partial derivatives of weak variables become exactly zero, as coefficients do in the lasso.
"""

import numpy as np
import pandas as pd

import nablasso
from nablasso import DerivativeLasso, DerivativeLassoCV
from nablasso.datasets import make_two_way
from nablasso.inspection import PathDisplay

# %%
# Products of pairs of the first four variables among twelve, no main effects.
data = make_two_way(100, 12, random_state=0)
X = pd.DataFrame(data.X, columns=data.feature_names)

model = DerivativeLasso("polynomial").fit(X, data.y)
print(model.summary())

# %%
# Every fit carries its duality gap: no function has an objective that is smaller by more than this.
# The gap proves bounds on the strength of each variable in the exact solution.
print(f"objective {model.objective_:.4f}, gap {model.dual_gap_:.1e}")
for a in np.flatnonzero(model.support_):
    low, high = model.importance_bounds_[a]
    print(f"{data.feature_names[a]}: {low:.5f} to {high:.5f}")

# %%
# The whole path from ``alpha_max``, where all derivatives vanish, downwards.
path = nablasso.path(DerivativeLasso("polynomial"), X, data.y, n_alphas=20, eps=1e-2)
_ = PathDisplay(path).plot()

# %%
# :class:`~nablasso.DerivativeLassoCV` chooses alpha and ridge by cross-validation. Its display
# marks the choice on the path.
chosen = DerivativeLassoCV("polynomial", alphas=12, cv=3)
chosen.fit(X, data.y)
print("selected:", chosen.get_feature_names_out())
_ = PathDisplay.from_estimator(chosen, X, data.y, n_alphas=20)
