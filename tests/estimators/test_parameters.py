"""Parameters documented where they are declared; attributes inherited with the class."""

from __future__ import annotations

import inspect
import pickle
import re
from typing import Any

import pytest
from sklearn.base import BaseEstimator, clone

import nablasso
from nablasso import MultiQuantileRegressorCV
from nablasso.errors import InvalidParameterError
from nablasso.estimators.parameters import KW_ONLY, REQUIRED, estimator, parameter
from nablasso.estimators.validation import check_parameters


@estimator
class Smoother(BaseEstimator):
    """Smooth something.

    Attributes
    ----------
    width_ : float
        What was used.
    low_, high_
        Ends.

    Examples
    --------
    >>> 1 + 1
    2
    """

    kernel: Any = parameter("gaussian", "One of them.", kind="str or Kernel")
    _: KW_ONLY
    width: float | None = parameter(
        None,
        """
        Of the kernel;
        by default measured.

        Another paragraph.
        """,
    )
    scales: Any = parameter((1.0, 2.0), kind="tuple of float")

    def fit(self, X, y=None, sample_weight=None):
        """Smooth.

        Parameters
        ----------
        y : ignored
        """
        return self

    def predict(self, X):
        """Smoothed values.

        Returns
        -------
        array
        """


@estimator
class Narrow(Smoother):
    """Smooth little.

    Attributes
    ----------
    width_ : float
        Small.
    """

    width: float | None = 0.5
    alpha: float = parameter(1.0, "Weight.")


def test_the_docstring_is_built_from_the_fields():
    assert Smoother.__doc__ == (
        "Smooth something.\n\n"
        "Parameters\n----------\n"
        'kernel : str or Kernel, default="gaussian"\n    One of them.\n'
        "width : float, optional\n    Of the kernel; by default measured.\n\n"
        "    Another paragraph.\n"
        "scales : tuple of float, default=(1.0, 2.0)\n\n"
        "Attributes\n----------\n"
        "width_ : float\n    What was used.\nlow_, high_\n    Ends.\n\n"
        "Examples\n--------\n>>> 1 + 1\n2\n"
    )


def test_methods_document_what_is_special_and_the_rest_is_known():
    assert Smoother.fit.__doc__ == (
        "Smooth.\n\nParameters\n----------\n"
        "X : array-like, shape (n_samples, n_features)\n"
        "y : ignored\n"
        "sample_weight : array-like, shape (n_samples,), optional\n"
        "    Weight ``k`` equals ``k`` copies of a row.\n\n"
        "Returns\n-------\nself\n"
    )
    assert (Smoother.predict.__doc__ or "").endswith("n_features)\n\nReturns\n-------\narray\n")
    assert Narrow.fit is Smoother.fit


def test_a_subclass_inherits_parameters_and_attributes():
    text = Narrow.__doc__ or ""
    assert "width : float, default=0.5\n    Of the kernel; by default measured." in text
    assert text.count("width_ : float") == 1
    assert "    Small.\nlow_, high_\n    Ends." in text
    assert "Examples" not in text


def test_a_new_default_keeps_the_place():
    assert str(inspect.signature(Narrow)).startswith("(kernel: 'Any' = 'gaussian', alpha: ")
    assert inspect.signature(Narrow).parameters["width"].kind is inspect.Parameter.KEYWORD_ONLY
    assert Narrow().width == 0.5


def test_scikit_learn_clones_and_pickles_it():
    made = Narrow("linear", width=3.0)
    for copy in (clone(made), pickle.loads(pickle.dumps(made))):
        assert copy.get_params() == {
            "kernel": "linear", "width": 3.0, "scales": (1.0, 2.0), "alpha": 1.0
        }  # fmt: skip
    assert repr(made) == "Narrow(kernel='linear', width=3.0)"


def test_a_required_parameter_has_no_default():
    @estimator
    class Wrapper(BaseEstimator):
        """Wrap."""

        inner: Any = parameter(REQUIRED, "What is wrapped.", kind="estimator")

    assert "inner : estimator\n    What is wrapped." in (Wrapper.__doc__ or "")
    with pytest.raises(TypeError, match="inner"):
        Wrapper()


def test_a_written_section_of_parameters_is_refused():
    with pytest.raises(TypeError, match="made from the fields"):

        @estimator
        class Twice(BaseEstimator):
            """Say it twice.

            Parameters
            ----------
            width : float
            """

            width: float = parameter(1.0, "Here.")


PUBLIC = [name for name in nablasso.__all__ if hasattr(getattr(nablasso, name), "fit")]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_of_every_estimator_is_documented(name):
    kind = getattr(nablasso, name)
    section = re.search(r"Parameters\n-{3,}\n(.*?)\n\n[A-Z]", inspect.getdoc(kind), flags=re.S)
    documented = re.findall(r"^(\w+) : ", section[1], flags=re.M)
    assert sorted(documented) == sorted(inspect.signature(kind).parameters)


TUNED = [name for name in PUBLIC if name.endswith("CV")]
OF_ITS_OWN = {"metric"}  # what tuning changes on purpose


@pytest.mark.parametrize("name", TUNED)
def test_what_is_not_tuned_has_the_default_of_the_single_fit(name):
    tuned, single = (
        inspect.signature(getattr(nablasso, kind)).parameters
        for kind in (name, name.removesuffix("CV"))
    )
    shared = (tuned.keys() & single.keys()) - OF_ITS_OWN
    assert {key: tuned[key].default for key in shared} == {
        key: single[key].default for key in shared
    }


def test_none_is_allowed_where_the_annotation_says_so():
    """Also in a class that has another default."""
    check_parameters(MultiQuantileRegressorCV(metric=None))
    with pytest.raises(InvalidParameterError, match="metric must be one of evidence, or None"):
        check_parameters(MultiQuantileRegressorCV(metric="other"))
