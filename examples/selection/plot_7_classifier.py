"""
Classes by the derivative lasso
===============================

:class:`~nablasso.DerivativeLassoClassifier` penalises the derivatives of the log-odds. Labels may
be words, there may be more than two, and probabilities come with them.
"""

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss

from nablasso import DerivativeLassoClassifier

rng = np.random.default_rng(2)
X = pd.DataFrame(rng.normal(size=(120, 5)), columns=["height", "width", "age", "noise", "colour"])
size = X["height"] * X["width"] + 0.2 * rng.normal(size=120)
labels = np.select([X["height"] ** 2 > 2, size > 0], ["tall", "large"], "small")

# %%
train, test = X[:90], X[90:]
model = DerivativeLassoClassifier("polynomial", alpha=0.1, ridge=1e-3, tol=1e-3).fit(
    train, labels[:90]
)
print(model.get_feature_names_out())

# %%
probabilities = pd.DataFrame(model.predict_proba(test), columns=model.classes_)
probabilities.assign(truth=labels[90:]).head().round(2)

# %%
# Probabilities at the new rows, in the order of their largest one.
order = np.argsort(probabilities.max(axis=1).to_numpy())
ax = (
    probabilities.iloc[order]
    .reset_index(drop=True)
    .plot.bar(stacked=True, width=1, figsize=(7, 3), xticks=[], ylabel="probability")
)
_ = ax.legend(loc="lower right")

# %%
shares = pd.Series(labels[:90]).value_counts(normalize=True)[list(model.classes_)]
print(f"log loss on new rows {log_loss(labels[90:], probabilities):.2f}")
print(f"by the shares alone  {log_loss(labels[90:], np.tile(shares, (30, 1))):.2f}")
