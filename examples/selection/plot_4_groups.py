"""
Columns that belong together
============================

With ``feature_groups`` :class:`~nablasso.DerivativeLasso` is a group lasso and selects whole groups
of columns: the levels of one category, the powers of one quantity, the channels of one sensor.
"""

import numpy as np
from matplotlib import pyplot as plt

from nablasso import DerivativeLasso
from nablasso.datasets import make_cubic_groups
from nablasso.kernels import Polynomial

# %%
# Eighteen columns in groups of three; the target is a cubic function of two of the groups.
data = make_cubic_groups(60, random_state=1)
print(data.groups)

# %%
# Both at three times their default alpha, with a kernel that holds all cubic polynomials.
lasso = DerivativeLasso(Polynomial(3), tol=1e-3)
group = DerivativeLasso(Polynomial(3), feature_groups=data.groups, tol=1e-3)
for model in (lasso, group):
    default = model.fit(data.X, data.y).alpha_
    model.set_params(alpha=3 * default).fit(data.X, data.y)

fig, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4), layout="constrained")
colours = np.where(data.support, "tab:blue", "tab:orange")
for ax, model, name in zip(axes, (lasso, group), ("column by column", "by groups"), strict=True):
    ax.bar(np.arange(18), model.feature_importances_, color=colours)
    ax.set(title=name, ylabel="strength")
    for edge in range(3, 18, 3):
        ax.axvline(edge - 0.5, color="0.8", linewidth=1)
axes[1].set_xticks(np.arange(18), data.feature_names, fontsize=8)
_ = axes[0].legend(
    [plt.Rectangle((0, 0), 1, 1, color=c) for c in ("tab:blue", "tab:orange")],
    ["relevant", "irrelevant"],
)

# %%
# All selectors take ``feature_groups``: lists of columns, a mapping of names to lists, or one label
# per column. The weight of a group in the penalty is its size unless ``group_weights`` says
# otherwise.
print("selected groups:", sorted({int(a) // 3 for a in np.flatnonzero(group.support_)}))
