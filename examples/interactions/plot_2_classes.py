"""
An interaction that separates classes
=====================================

:class:`~nablasso.HierarchicalKernelClassifier` is the same for classes: here the sign of a product
decides, and neither factor alone says anything.
"""

import numpy as np

from nablasso import HierarchicalKernelClassifier
from nablasso.inspection import DagDisplay

rng = np.random.default_rng(3)
X = rng.normal(size=(150, 6))
labels = np.where(X[:, 1] * X[:, 2] + 0.3 * X[:, 1] > 0, "yes", "no")

model = HierarchicalKernelClassifier(alpha=0.01, decomposition="polynomial", degree=1)
model.fit(X, labels)
print(model.interactions_)
print("accuracy on new rows:", end=" ")
new = rng.normal(size=(500, 6))
print(model.score(new, np.where(new[:, 1] * new[:, 2] + 0.3 * new[:, 1] > 0, "yes", "no")))

# %%
_ = DagDisplay.from_estimator(model)
