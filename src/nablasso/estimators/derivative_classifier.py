r"""Lasso, group lasso and elastic net on the partial derivatives of the log-odds.

The problems of :mod:`nablasso.estimators.derivative` with the logistic loss
``log(1 + exp(-y f(x)))``; several classes one against the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from nablasso.estimators.classification import DerivativeClassifierBase
from nablasso.estimators.derivative import SingleFit
from nablasso.estimators.derivative_cv import CrossValidated
from nablasso.estimators.docs import document
from nablasso.estimators.forms import ElasticNetForm, GroupLassoForm, LassoForm


@dataclass(eq=False, repr=False)
class _SingleClassifier(SingleFit, DerivativeClassifierBase):
    """A classifier at one ``alpha`` and ``ridge``."""


@dataclass(eq=False, repr=False)
class _CrossValidatedClassifier(CrossValidated, DerivativeClassifierBase):
    """A classifier with its parameters chosen by cross-validation."""


@document
@dataclass(eq=False, repr=False)
class DerivativeLassoClassifier(LassoForm, _SingleClassifier):
    """Lasso on the partial derivatives of the log-odds.

    Parameters
    ----------
    {single}
    {class_weight}
    {common}

    Attributes
    ----------
    {classes}
    {attributes}

    Examples
    --------
    >>> import numpy as np
    >>> from nablasso import DerivativeLassoClassifier
    >>> X = np.random.default_rng(0).normal(size=(80, 4))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
    >>> model = DerivativeLassoClassifier(kernel="polynomial", alpha=0.1).fit(X, y)
    >>> model.get_feature_names_out().tolist()
    ['x0', 'x1']
    """


@document
@dataclass(eq=False, repr=False)
class DerivativeLassoClassifierCV(LassoForm, _CrossValidatedClassifier):
    """:class:`DerivativeLassoClassifier` with its parameters by cross-validation.

    Parameters
    ----------
    {cv}
    {class_weight}
    {common}

    Attributes
    ----------
    {cv_attributes}
    {classes}
    {attributes}
    """


@document
@dataclass(eq=False, repr=False)
class DerivativeGroupLassoClassifier(GroupLassoForm, _SingleClassifier):
    """Group lasso on the partial derivatives of the log-odds.

    Parameters
    ----------
    {single}
    group_weights : {"size", "sqrt"} or array-like, default="size"
        As in :class:`DerivativeGroupLasso`.
    {class_weight}
    {common}

    Attributes
    ----------
    {classes}
    {attributes}
    """


@document
@dataclass(eq=False, repr=False)
class DerivativeGroupLassoClassifierCV(GroupLassoForm, _CrossValidatedClassifier):
    """:class:`DerivativeGroupLassoClassifier` with its parameters by cross-validation.

    Parameters
    ----------
    {cv}
    group_weights : {"size", "sqrt"} or array-like, default="size"
        As in :class:`DerivativeGroupLasso`.
    {class_weight}
    {common}

    Attributes
    ----------
    {cv_attributes}
    {classes}
    {attributes}
    """


@document
@dataclass(eq=False, repr=False)
class DerivativeElasticNetClassifier(ElasticNetForm, _SingleClassifier):
    """Elastic net on the partial derivatives of the log-odds.

    Parameters
    ----------
    {single}
    l1_ratio : float, default=0.5
        Strictly between 0 and 1.
    {class_weight}
    {common}

    Attributes
    ----------
    {classes}
    {attributes}
    """


@document
@dataclass(eq=False, repr=False)
class DerivativeElasticNetClassifierCV(ElasticNetForm, _CrossValidatedClassifier):
    """:class:`DerivativeElasticNetClassifier` with its parameters by cross-validation.

    Parameters
    ----------
    {cv}
    l1_ratio : float, default=0.5
        Strictly between 0 and 1.
    {class_weight}
    {common}

    Attributes
    ----------
    {cv_attributes}
    {classes}
    {attributes}
    """
