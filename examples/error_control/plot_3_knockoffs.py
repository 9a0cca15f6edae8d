"""
Knockoffs
=========

:class:`~nablasso.KnockoffSelector` gives every column a rival that is correlated with the others
as the column is, but knows nothing of the target. Columns that beat their rivals by enough are
selected at a false discovery rate. Fewer than 1 / fdr selections are impossible, so this is for
problems with many relevant columns. The rate is a mean over tables like this one: a single table
may have more false ones.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.linear_model import LassoCV

from nablasso import KnockoffSelector

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 60))
X[:, 1:] += 0.4 * X[:, :-1]  # neighbours are correlated
relevant = np.arange(0, 60, 3)
y = X[:, relevant].sum(axis=1) + 2 * rng.normal(size=300)

selector = KnockoffSelector(LassoCV(cv=3), fdr=0.1, random_state=0).fit(X, y)
selected = np.flatnonzero(selector.support_)
print(f"{len(selected)} selected, {len(relevant)} relevant")
print(f"share of false ones {np.mean(~np.isin(selected, relevant)):.0%}")
print("wrong:", np.setdiff1d(selected, relevant), "missed:", np.setdiff1d(relevant, selected))

# %%
# How far each column is ahead of its knockoff. Irrelevant columns win as often as they lose, and
# those that lose by much say where the threshold has to be.
fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
colours = np.where(np.isin(np.arange(60), relevant), "tab:blue", "tab:orange")
ax.bar(np.arange(60), selector.knockoff_statistics_, color=colours)
ax.axhline(selector.threshold_, color="0.3", linestyle="--", label="threshold")
ax.set(xlabel="column (blue: relevant)", ylabel="lead over the knockoff")
_ = ax.legend()
