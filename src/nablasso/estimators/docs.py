"""Parameters and attributes that several estimators share, documented once."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_SECTIONS = {
    "single": """
        kernel : str or Kernel, default="gaussian"
            ``"gaussian"``, ``"matern"``, ``"rational_quadratic"``, ``"linear"``, ``"polynomial"``,
            ``"anova"``, or an object of :mod:`nablasso.kernels`.
        alpha : float, optional
            Sparsity weight; by default a tenth of ``alpha_max``, the smallest value that selects
            nothing (of ``Problem.alpha_scale`` where that is blown up).
        ridge : float, optional
            Weight of ``||f||^2``, positive; by default chosen by closed-form leave-one-out.
        """,
    "cv": """
        kernel : str or Kernel, default="gaussian"
            As in the estimator without cross-validation.
        alphas : int or array-like, default=30
            Sparsity weights to try; a number asks for that many from ``Problem.alpha_scale`` of
            each ridge and width down to a thousandth of it.
        ridges : array-like, optional
            Weights of ``||f||^2`` to try; by default the leave-one-out choice of each width (at
            least 1e-4 of the kernel's trace) times 1, 10 and 100.
        widths : array-like, optional
            Multipliers of the length scale to try; by default 1.
        cv : int, splitter or iterable, default=5
            Folds. A number draws them in a canonical order of the rows; a splitter of
            scikit-learn's or an iterable of (train, test) is used as it is.
        scoring : str or callable, optional
            A scorer of scikit-learn's; by default the negative mean squared error.
        selection_rule : {"1se", "min"}, default="1se"
            Take the candidate that selects the fewest variables among those whose score is within
            one standard error of the best, or the best itself.
        n_jobs : int, optional
            Folds fitted in parallel; each uses one thread of linear algebra.
        random_state : int or RandomState, optional
            Shuffles the folds drawn for a number ``cv``; without it they are fixed by the data.
        """,
    "common": """
        length_scale : float or {"median", "neighbour20", "median20"}, default="median"
            Inputs are divided by it before the kernel sees them: a number, or a rule measured on
            the data. Kernels of the dot product have no distance; a rule means 1 for them.
        feature_groups : list of lists, mapping or labels, optional
            A partition of the columns, by name or index, or one label per column. Groups are
            selected as a whole.
        always_keep : list, optional
            Columns, by name, index or mask, that are not penalised and always selected (with their
            group), unless they are constant.
        standardize : bool, default=True
            Centre the columns and divide them by their standard deviation.
        fit_intercept : bool, default=True
        debias : bool, default=True
            Predict by kernel ridge regression on the selected columns (same kernel, length scale
            measured anew, ridge by leave-one-out) instead of the penalised function.
        solver : {"dual", "denovas", "admm"} or Solver, default="dual"
        tol : float, default=1e-6
            Duality gap to reach, relative to the objective at ``f = 0``.
        max_iter : int, optional
            By default the solver's own.
        verbose : int, default=0
            Log progress on the ``nablasso`` logger.
        """,
    "attributes": """
        support_ : array of bool, shape (n_features,)
            The selected variables.
        feature_importances_ : array, shape (n_features,)
            Norms of the partial derivatives of the penalised function in units of standard
            deviations of ``y`` per standard deviation of the column; zero when not selected.
        importance_bounds_ : array, shape (n_features, 2)
            The duality gap proves that the exact minimiser's norms lie between these.
        support_certified_ : array of bool, shape (n_features,)
            Where the problem is solved exactly enough to decide: selected with a lower bound above
            zero, or left out with an upper bound under one per cent of the strongest variable. It
            says what the exact minimiser does, not whether the variable matters in nature.
        dual_gap_, relative_gap_ : float
            Bound on the suboptimality, absolute and relative to the objective at ``f = 0``.
        objective_ : float
            Objective of the penalised function.
        alpha_, ridge_, length_scale_, kernel_
            What was used.
        n_iter_ : int
            Iterations of the solver.
        loo_r2_ : float
            Leave-one-out R2 of kernel ridge regression on the selected variables.
        feature_kinds_ : array of str, shape (n_features,)
            ``"continuous"``, ``"discrete"`` (at most 10 values) or ``"constant"``.
        selection_status_ : str
            ``"clear"``, ``"twins"``, ``"too few rows"`` or ``"none found"``.
        twins_ : list of (int, int)
            Selected variables and others correlated 0.95 or more with them.
        n_features_in_, feature_names_in_
            As in scikit-learn.
        """,
    "cv_attributes": """
        cv_results_ : dict
            Scores with the keys of :class:`~sklearn.model_selection.GridSearchCV`.
        best_params_ : dict
            ``alpha``, ``ridge`` and ``width`` of the refit.
        best_score_, best_index_
            Score of the refit's parameters and their place in ``cv_results_``.
        """,
}


def document(cls: Class) -> Class:
    """Fill the ``{section}`` lines of a class docstring."""
    if cls.__doc__:
        for name, text in _SECTIONS.items():
            body = indent(dedent(text).strip(), "    ")
            cls.__doc__ = cls.__doc__.replace(f"    {{{name}}}", body)
    return cls
