"""
In a pipeline of scikit-learn
=============================

Words, missing values, a search over parameters: what scikit-learn does around an estimator it does
around these.
"""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from nablasso import DerivativeLasso

rng = np.random.default_rng(0)
n = 90
table = pd.DataFrame(rng.normal(size=(n, 4)), columns=["wind", "sun", "rain", "dust"])
table["soil"] = rng.choice(["clay", "loam", "sand"], size=n)
y = table["sun"] * table["rain"] + (table["soil"] == "clay") + 0.1 * rng.normal(size=n)
table.loc[::15, "wind"] = np.nan

# %%
# The levels of ``soil`` are one group: they are selected together or not at all.
columns = make_column_transformer(
    (OneHotEncoder(sparse_output=False), ["soil"]),
    remainder=SimpleImputer(),
    verbose_feature_names_out=False,
).set_output(transform="pandas")
groups = [["soil_clay", "soil_loam", "soil_sand"], ["wind"], ["sun"], ["rain"], ["dust"]]
model = DerivativeLasso("polynomial", feature_groups=groups, tol=1e-3)
pipeline = make_pipeline(columns, model)

# %%
# The rows are ordered in time, so that folds only look back.
search = GridSearchCV(
    pipeline,
    {"derivativelasso__alpha": [1.0, 0.3, 0.1], "derivativelasso__ridge": [0.1, 0.01]},
    cv=TimeSeriesSplit(4),
).fit(table, y)
print(search.best_params_)
print(f"R2 on the folds {search.best_score_:.2f}")
print(search.best_estimator_[-1].get_feature_names_out())

# %%
# All candidates: strong penalties lose, and a weaker one than needed costs little.
table = pd.DataFrame(search.cv_results_)
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for ridge, part in table.groupby("param_derivativelasso__ridge"):
    alphas = part["param_derivativelasso__alpha"].astype(float)
    ax.errorbar(alphas, part["mean_test_score"], part["std_test_score"], label=f"ridge {ridge}")
ax.set(xscale="log", xlabel="alpha", ylabel="R2 on later rows")
_ = ax.legend()

# %%
# The parameters of the best score often select a column too many, here the wind.
# :class:`~nablasso.DerivativeLassoCV` prefers fewer variables among all that score nearly as well.
