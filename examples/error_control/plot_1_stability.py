"""
Stability selection
===================

:class:`~nablasso.StabilitySelection` fits a selector on many halves of the data and keeps what most
of them select, with a bound on the expected number of false selections.
"""

import numpy as np
from matplotlib import pyplot as plt

from nablasso import DerivativeLasso, StabilitySelection
from nablasso.datasets import make_two_way

data = make_two_way(200, 30, random_state=3)
lasso = DerivativeLasso("polynomial", alpha=2.0, ridge=0.05, debias=False, tol=1e-2)

selector = StabilitySelection(lasso, n_pairs=20, random_state=0).fit(data.X, data.y)
print("selected:", [data.feature_names[a] for a in np.flatnonzero(selector.support_)])
print(f"expected false selections at most {selector.expected_false_selections_:.2f}")

# %%
# Relevant columns in blue.
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
colours = np.where(data.support, "tab:blue", "tab:orange")
ax.bar(np.arange(30), selector.selection_probabilities_, color=colours)
ax.axhline(selector.threshold_, color="0.3", linestyle="--", label="threshold")
ax.set_xticks(np.arange(30), data.feature_names, fontsize=7, rotation=90)
ax.set_ylabel("share of the halves")
_ = ax.legend()
