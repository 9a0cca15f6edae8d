"""
Two hundred columns, forty rows
===============================

:class:`~nablasso.SparseGradientClassifier` works where columns outnumber rows by far: one product
with the table per iteration is all that depends on their number.
"""

import numpy as np

import nablasso
from nablasso import SparseGradientClassifier
from nablasso.datasets import make_rings
from nablasso.inspection import EdrDisplay, PathDisplay

# %%
# Two rings in the first two of two hundred columns.
data = make_rings(40, 200, spread=0.5, random_state=0)
model = SparseGradientClassifier(kernel="linear", standardize=False, tol=1e-3)

# %%
# The path says how many columns stand out.
path = nablasso.path(model, data.X, data.y, n_alphas=10, eps=0.2)
_ = PathDisplay(path).plot()

# %%
model.set_params(alpha=0.5 * path.alpha_max, n_components=2).fit(data.X, data.y)
print("selected:", [data.feature_names[a] for a in np.flatnonzero(model.support_)])
_ = EdrDisplay.from_estimator(model, data.X, data.y)
