"""
The first answer
================

:class:`~nablasso.NablassoRegressor` takes a table and a target, and says which columns matter.
Nothing has to be chosen.
"""

import pandas as pd
from matplotlib import pyplot as plt

from nablasso import NablassoRegressor
from nablasso.datasets import make_demo

# %%
# A greenhouse, twelve recorded columns. Four of them make the yield: temperature has an optimum,
# light and water interact, nutrient is linear. The outside temperature is correlated with the
# temperature but has no effect of its own.
data = make_demo()
X = pd.DataFrame(data.X, columns=data.feature_names)
X.head(3)

# %%
model = NablassoRegressor().fit(X, data.y)
print(model.summary())

# %%
# The strength of a variable is its share of the variance of the prediction. It is exactly zero for
# what is left out. The second column is the evidence: what leaving the variable out would cost,
# in nats (3 are odds of about 20 to 1).
strengths = pd.DataFrame(
    {
        "strength": model.feature_importances_,
        "evidence": model.evidence_,
        "matters": data.support,
    },
    index=data.feature_names,
)
strengths.sort_values("strength", ascending=False).round(2)

# %%
# The linear correlation (dots) does not see the optimum of the temperature.
table = strengths.assign(correlation=X.corrwith(pd.Series(data.y)).abs()).sort_values("strength")
fig, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.barh(table.index, table["strength"], color="tab:blue", height=0.6, label="strength")
ax.plot(table["correlation"], table.index, "o", color="tab:orange", label="linear correlation")
_ = ax.legend(loc="lower right")

# %%
# Predictions come with intervals and with slopes in the units of the table.
new = X.iloc[:3]
y, interval = model.predict(new, return_interval=0.9)
slopes = model.predict_gradient(new)
pd.DataFrame(
    {
        "predicted": y,
        "from": interval[:, 0],
        "to": interval[:, 1],
        "slope in temperature": slopes[:, data.feature_names.index("temperature_celsius")],
    }
).round(2)
