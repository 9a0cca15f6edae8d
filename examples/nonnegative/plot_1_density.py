"""
A density that is one
=====================

:class:`~nablasso.PSDDensity` is never negative, integrates to one exactly, and its marginals,
conditionals and probabilities of boxes are closed forms.
"""

import numpy as np
from matplotlib import pyplot as plt

from nablasso import PSDDensity, PSDDensityCV
from nablasso.inspection import DensityDisplay

rng = np.random.default_rng(0)
sample = np.concatenate([rng.normal(-2, 0.6, size=90), rng.normal(1.5, 1.0, size=110)])[:, None]

# %%
# Width and weight by cross-validated likelihood.
model = PSDDensityCV(widths=(0.3, 0.5, 0.8), weights=(1e-1, 1e-2, 1e-3), cv=3, rank=60, tol=1e-3)
model.fit(sample)
print(model.best_params_)
_ = DensityDisplay.from_estimator(model, sample)

# %%
# Probabilities of intervals need no sampling, and sampling is exact.
print(f"integral {model.integrate():.6f}, below zero {model.integrate([[-np.inf, 0]]):.3f}")
draws = model.sample(2000, random_state=1)
print(f"below zero among 2000 draws {np.mean(draws < 0):.3f}")

# %%
# Two variables. The contours show the density, the conditional density of the second given the
# first is a curve again.
angle = rng.uniform(0, np.pi, size=250)
moon = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.12 * rng.normal(size=(250, 2))
plane = PSDDensity(width=0.4, weight=1e-3, rank=80, tol=1e-3).fit(moon)
_ = DensityDisplay.from_estimator(plane, moon)

# %%
fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
heights = np.linspace(-0.6, 1.6, 200)[:, None]
for value in (-1.0, 0.0):
    conditional = plane.conditional([0], [value])
    ax.plot(heights, conditional.values(heights), label=f"first = {value:g}")
ax.set(xlabel="second", ylabel="conditional density")
_ = ax.legend()
