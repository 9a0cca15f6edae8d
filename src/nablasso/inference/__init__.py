"""Error control for any selector: stability, randomisation p-values, knockoffs.

Functions of arrays; the scikit-learn classes are in :mod:`nablasso.estimators`.
"""
