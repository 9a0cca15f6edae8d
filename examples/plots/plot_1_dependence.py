"""
One variable, its curve and its slopes
======================================

:class:`~nablasso.inspection.DerivativeDisplay` shows how the prediction changes with one variable,
averaged over the rows, and below it the partial derivative: its mean and the band that holds most
rows. A wide band means that the slope depends on the other variables.
"""

import pandas as pd

from nablasso import NablassoRegressor
from nablasso.datasets import make_demo
from nablasso.inspection import DerivativeDisplay

data = make_demo()
X = pd.DataFrame(data.X, columns=data.feature_names)
model = NablassoRegressor("polynomial").fit(X, data.y)

# %%
# The optimum of the temperature: the slope passes through zero at 22 degrees.
_ = DerivativeDisplay.from_estimator(model, X, "temperature_celsius")

# %%
# The effect of light depends on how much water there is; its band is wide.
_ = DerivativeDisplay.from_estimator(model, X, "light_mol_m2_day")
