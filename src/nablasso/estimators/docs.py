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
            Weight of ``||f||^2``; by default chosen by leave-one-out (closed form for the squared
            loss, to second order for others). Zero means the limit, 1e-7 of the kernel's trace:
            without any, f may be flat at the data and free between them.
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
            A scorer of scikit-learn's; by default the negative mean loss, for
            classifiers the negative log loss.
        selection_rule : {"1se", "min"}, default="1se"
            Take the candidate that selects the fewest variables among those whose score is within
            one standard error of the best, or the best itself.
        n_jobs : int, optional
            Folds fitted in parallel; each uses one thread of linear algebra.
        """,
    "loss": """
        loss : str or Loss, default="squared"
            ``"squared"``, ``"huber"``, ``"epsilon_insensitive_squared"``, ``"poisson"`` (counts;
            predictions are ``exp(f)``), or an object of :mod:`nablasso.losses`, whose thresholds
            are in units of a robust deviation of ``y``.
        """,
    "class_weight": """
        class_weight : dict or "balanced", optional
            Factors of the sample weights by class; ``"balanced"`` gives every class the same
            total weight.
        """,
    "classes": """
        classes_ : array, shape (n_classes,)
            The labels.
        class_importances_ : array, shape (n_classes, n_features)
            ``feature_importances_`` of each class against the rest; one row, that of the second
            class, where there are two.
        """,
    "common": """
        length_scale : float or {"median","half_median","neighbour20","median20"}, default="median"
            Inputs are divided by it before the kernel sees them: a number, or a rule measured on
            the data. Kernels of the dot product have no distance; a rule means 1 for them.
        feature_groups : list of lists, mapping or labels, optional
            A partition of the columns, by name or index, or one label per column. Groups are
            selected as a whole.
        always_keep : list, optional
            Columns, by name, index or mask, that are not penalised and always selected (with their
            group), unless they are constant.
        n_passes : int, default=1
            With more than one, kernel ridge fits first teach the kernel a scale per column (or
            group): the derivative norms of the fit before, relative to the largest. The last pass
            is the penalised fit, and the certificate is for it, in the metric ``scales_``.
        n_jitter : int, default=0
            Copies of each row, moved part of the way to another row, at which derivatives are
            penalised too. They keep f from being flat at the data and steep between them.
        space : {"auto", "exact", "fourier", "nystrom"}, default="auto"
            Where f lives. ``"exact"`` is the representer space: n x n matrices. ``"fourier"``:
            cosines and sines, one pass over the rows (with other losses than the squared one, one
            pass a Newton step); selects with ANOVA kernels.
            ``"nystrom"``: the exact problem on ``n_components`` rows, the refit on all rows.
            ``"auto"`` is exact while memory and time allow, then the one of the others that can
            select with the kernel.
        n_components : int, default=512
            Number of features, or of landmark rows.
        standardize : bool, default=True
            Centre the columns and divide them by their standard deviation.
        fit_intercept : bool, default=True
        debias : bool, default=True
            Predict by a kernel machine with the same loss on the selected columns (kernel ridge
            regression for the squared loss; same kernel, length scale measured anew, ridge by
            leave-one-out) instead of the penalised function.
        solver : {"dual", "denovas", "admm"} or Solver, default="dual"
        tol : float, default=1e-6
            Duality gap to reach, relative to the objective at ``f = 0``.
        max_iter : int, optional
            By default the solver's own.
        random_state : int or RandomState, optional
            Draws the jittered points (0 by default) and, where folds are drawn for a number
            ``cv``, shuffles them; without it folds are fixed by the data.
        verbose : int, default=0
            Log progress on the ``nablasso`` logger.
        """,
    "attributes": """
        support_ : array of bool, shape (n_features,)
            The selected variables.
        feature_importances_ : array, shape (n_features,)
            Norms of the partial derivatives of the penalised function in units of standard
            deviations of ``y`` (log-odds for classifiers, logs for the Poisson loss) per standard
            deviation of the column; zero when not selected.
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
        scales_ : array, shape (n_features,)
            Multiplier of each column inside the kernel; one over the length scale for one pass.
        alpha_, ridge_, length_scale_, kernel_, loss_
            What was used.
        space_, space_reason_ : str
            The space, and why it was taken.
        approximation_error_ : float
            How far that space is from the exact one: root mean squared difference of predictions
            in deviations of ``y``, both fitted to the same few rows. Zero in the exact space, nan
            where no rows were seen.
        solver_status_ : str
            ``"converged"``, ``"max_iter"``, ``"stalled"`` or, after a keyboard interrupt that kept
            the best fit so far, ``"interrupted"``.
        n_iter_ : int
            Iterations of the solver.
        loo_r2_ : float
            Leave-one-out R2 of the kernel machine on the selected variables; for losses other than
            the squared one the share of the null model's loss that it saves.
        feature_kinds_ : array of str, shape (n_features,)
            ``"continuous"``, ``"discrete"`` (at most 10 values) or ``"constant"``.
        selection_status_ : str
            ``"clear"``, ``"twins"``, ``"too few rows"`` or ``"none found"``.
        twins_ : list of (int, int)
            Selected variables and others correlated 0.95 or more with them.
        n_features_in_, feature_names_in_
            As in scikit-learn.
        """,
    "automatic": """
        kernel : "auto", str or Kernel, default="auto"
            ``"auto"`` compares linear, polynomial, additive, Gaussian and Matern families; a kernel
            restricts the search to it.
        feature_groups : lists of columns, mapping or labels, optional
            Columns that are selected together, such as those of one category.
        always_keep : columns, optional
            Columns that stay in, by name or number.
        max_features : int, optional
            Largest number of variables or groups.
        fdr : float, optional
            Select by p-values instead: the expected share of false discoveries among the selected.
        cv : int, splitter or iterable, optional
            Rows that are left out together when the selected variables are checked; single rows
            without it, groups of rows with ``groups``.
        scoring : str or callable, optional
            What left-out predictions are checked by, instead of absolute errors and log densities.
        time : bool, default=True
            Whether the order of the rows may mean time. Where residuals then follow one another,
            that is taken into account and said; otherwise the order of the rows changes nothing.
        rules : Rules, optional
            The numbers that decide, see :class:`nablasso.search.rules.Rules`.
        random_state : int or RandomState, optional
            Draws the folds and the randomisation; without it the draw is fixed.
        verbose : int, default=0
            Log progress on the ``nablasso`` logger.
        """,
    "automatic_attributes": """
        support_ : array of bool, shape (n_features,)
            The selected variables.
        feature_importances_ : array, shape (n_features,)
            Norms of the partial derivatives (difference quotients for discrete columns) of the
            penalised function, in deviations of the target (for classes: in log-odds) per deviation
            of the column.
        importance_bounds_ : array, shape (n_features, 2)
            The duality gap proves that the exact minimiser's derivative norms lie between these;
            the difference quotients of a discrete column need not.
        support_certified_ : array of bool, shape (n_features,)
            Where the gap proves what the exact minimiser of (P) in the learned metric does.
        evidence_ : array, shape (n_features,)
            What leaving the variable out (with its copies) would cost, in nats: 3 are odds of about
            20 to 1. Zero where it is not selected, or was to be kept.
        clear_by_ : array, shape (n_features,)
            Standard errors by which left-out rows are worse without it; not a number where that
            was not looked at.
        p_values_ : array, shape (n_features,), or None
            With ``fdr``: by conditional randomisation on held-out rows.
        selection_status_ : str
            ``"clear"``, ``"twins"`` (others could stand in), ``"too few rows"``, ``"doubtful"``
            (see ``cautions_``), ``"interrupted"`` or ``"none found"``.
        n_rows_searched_ : int
            Rows that decided: all of them, unless ``fdr``, ``cv``, ``scoring``, a kernel of
            one's own or a wide table leave the decision to the first 600.
        family_ : str
            The family of functions that won; ``"terms"`` where more rows than 650 were searched.
        assumptions_ : list of str
            What was found about noise and target and taken into account: heavy tails, uneven or
            serial noise, a skewed target.
        runner_up_ : (list of int, float) or None
            The best other set of columns that was tried, and by how many nats it lost.
        cautions_ : list of str
            What derivatives cannot see in these data.
        screened_ : array of bool, shape (n_features,)
            The variables that the search began from: all of them, unless the table is wide (more
            than 4 000 000 numbers in the rows searched).
        twins_, alternatives_ : lists of (int, int)
            Selected variables and others correlated 0.95 or more with them; selected variables and
            others that predict as well in their place.
        interactions_ : list of (int, int, float)
            Pairs of selected variables by decreasing root mean squared cross derivative.
        tried_ : list of dict
            The models that were tuned, by price: family, columns, price in nats.
        kernel_, scales_, alpha_, ridge_
            The kernel, the multiplier of every standardised column inside it (zero: dropped), and
            the weights of (P).
        dual_gap_, relative_gap_, objective_, n_iter_
            The certificate of (P).
        loo_r2_ : float
            Leave-one-out R2 on the selected variables, in what is explained.
        feature_kinds_ : array of str, shape (n_features,)
            ``"continuous"``, ``"discrete"`` (at most 10 values) or ``"constant"``.
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
