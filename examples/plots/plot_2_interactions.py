"""
Which pairs interact
====================

:class:`~nablasso.inspection.InteractionDisplay` is a map of pairs: the share of the variance
of the prediction in which two variables act together.
"""

import pandas as pd

from nablasso import NablassoRegressor
from nablasso.datasets import make_demo
from nablasso.inspection import InteractionDisplay, interaction_shares

data = make_demo()
X = pd.DataFrame(data.X, columns=data.feature_names)
model = NablassoRegressor("polynomial").fit(X, data.y)
_ = InteractionDisplay.from_estimator(model, X)

# %%
# The same as numbers, the strongest pair first.
for a, b, share in interaction_shares(model, X)[:3]:
    print(f"{X.columns[a]} x {X.columns[b]}: {share:.1%}")
