"""
Two variables at once
=====================

:class:`~nablasso.inspection.PairDisplay` shows the prediction over two variables, averaged over the
rows. Light helps where there is water, and harms where there is none.
"""

import pandas as pd

from nablasso import NablassoRegressor
from nablasso.datasets import make_demo
from nablasso.inspection import PairDisplay

data = make_demo()
X = pd.DataFrame(data.X, columns=data.feature_names)
model = NablassoRegressor("polynomial").fit(X, data.y)
_ = PairDisplay.from_estimator(model, X, ["light_mol_m2_day", "water_l_m2_day"])
