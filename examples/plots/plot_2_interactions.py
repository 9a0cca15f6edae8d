"""
Which pairs interact
====================

:class:`~nablasso.inspection.InteractionDisplay` is a map of the cross derivatives: how much the
slope in one variable changes with another.
"""

import pandas as pd

from nablasso import NablassoRegressor
from nablasso.datasets import make_demo
from nablasso.inspection import InteractionDisplay, interaction_strengths

data = make_demo()
X = pd.DataFrame(data.X, columns=data.feature_names)
model = NablassoRegressor("polynomial").fit(X, data.y)
_ = InteractionDisplay.from_estimator(model, X)

# %%
# The same as numbers, the strongest pair first.
for pair in interaction_strengths(model, X)[:3]:
    a, b = X.columns[pair.a], X.columns[pair.b]
    print(f"{a} x {b}: {pair.strength:.2f}")
