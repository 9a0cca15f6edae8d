"""
A graph of your own: motifs in sequences
========================================

Kernels need not be products on a grid. Here a row is a sequence of letters and a kernel counts how
often a motif occurs in it; a motif lies below the two that are one letter shorter. The search looks
into ``ACG`` only once ``AC`` and ``CG`` are selected, and the certificate covers all 340 motifs.
"""

from itertools import product

import numpy as np
from matplotlib import pyplot as plt

from nablasso import HierarchicalKernelRegressor
from nablasso.hierarchy import ExplicitDag

LETTERS, LONGEST, LENGTH = "ACGT", 4, 30

# %%
# The graph: every motif of up to four letters, below its beginning and its end.
motifs = ["".join(m) for k in range(1, LONGEST + 1) for m in product(LETTERS, repeat=k)]
children = {
    motif: sorted({*(motif + a for a in LETTERS), *(a + motif for a in LETTERS)})
    for motif in motifs
    if len(motif) < LONGEST
}


def occurrences(motif, X):
    """How often a motif occurs in each row of letter codes."""
    codes = np.array([LETTERS.index(a) for a in motif])
    windows = np.lib.stride_tricks.sliding_window_view(X.astype(int), len(motif), axis=1)
    return (windows == codes).all(axis=2).sum(axis=1).astype(float)


def kernel(motif, X, Z):
    """Product of the counts, of the same size for long motifs as for short ones."""
    rare = len(LETTERS) ** len(motif) / LENGTH  # one over the variance of a count
    return rare * np.outer(occurrences(motif, X), occurrences(motif, Z))


dag = ExplicitDag(children, kernel)

# %%
# Sequences whose response counts two motifs. Letter codes are names, not numbers: they are not
# standardised, nor may a Gaussian kernel on them predict.
rng = np.random.default_rng(0)
X = rng.integers(len(LETTERS), size=(300, LENGTH)).astype(float)
y = occurrences("ACG", X) + occurrences("GG", X) + 0.3 * rng.normal(size=300)
model = HierarchicalKernelRegressor(
    alpha=0.01, beta=1.5, dag=dag, standardize=False, prune=True, debias=False
).fit(X, y)
print("motifs:", *model.hull_)
print("longest of their kind:", *model.sinks_)
print(f"certified: {model.certified_}, {len(model.penalised_hull_)} motifs before pruning")

# %%
# The strength of each selected motif: the deviation of its part of the function.
parts = {motif: float(model.partial(X, motif).std()) for motif in model.hull_}
fig, ax = plt.subplots(figsize=(6, 2.6), layout="constrained")
ax.bar(list(parts), list(parts.values()))
_ = ax.set_ylabel("deviation of its part")
