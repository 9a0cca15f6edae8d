"""Parameters and attributes of the sparse gradient estimators, documented once."""

from __future__ import annotations

GRADIENTS = {
    "gradient_alpha": """
        alpha : float, optional
            Sparsity weight; by default a tenth of ``alpha_max``, the smallest value that selects
            nothing. The squared and ridge forms have no such value: a tenth of their natural unit
            (:mod:`nablasso.gradients.solvers`).
        """,
    "gradient_cv": """
        alphas : int or array-like, default=30
            Values to try; a number asks for that many from ``alpha_max`` (of the other forms: ten
            times their natural unit) down to a hundredth (thousandth) of it.
        cv : int, splitter or iterable, default=5
            Folds. A number draws them in a canonical order of the rows.
        scoring : str or callable, optional
            A scorer of scikit-learn's; by default the negative mean squared error, for classifiers
            the negative log loss.
        selection_rule : {"1se", "min"}, default="1se"
            Take the candidate that selects the fewest variables among those whose score is within
            one standard error of the best, or the best itself.
        n_jobs : int, optional
            Folds fitted in parallel; each uses one thread of linear algebra.
        """,
    "gradient_common": """
        kernel : str or Kernel, default="gaussian"
            Kernel of the partial derivatives: a name or object of :mod:`nablasso.kernels`
            (``"linear"`` is x.y, ``Polynomial(1)`` is 1 + x.y), or ``Constant`` or ``Delta`` of
            :mod:`nablasso.gradients`.
        length_scale : float or rule, default="half_median"
            Inputs are divided by it before the kernel sees them. Rules: ``"half_median"`` (half
            the median distance between rows), ``"median"``, ``"neighbour20"``, ``"median20"``;
            they mean 1 for kernels of the dot product.
        bandwidth : float or rule, default="half_median"
            The s of the weights of pairs.
        n_neighbors : int, optional
            Without it all pairs have weights ``exp(-|x_i - x_j|^2 / 2 s^2)``, an n x n array; with
            it the given number of nearest rows have ``exp(-2 |x_i - x_j|^2 / s^2)``, the others
            none. Copies of a row count once.
        penalty : {"lasso", "squared", "ridge"}, default="lasso"
            Sum of the norms, its square, or the sum of the squared norms (gradient learning
            without sparsity: everything is selected).
        ridge : float, optional
            Weight of squared norms: of f0 (by default the leave-one-out choice of kernel logistic
            regression), of the second step and of the columns always kept (by default a hundredth
            of half the loss's largest curvature).
        two_step : bool, default=False
            Learn the gradients again with the ridge on the selected variables, where kernel and
            weights are measured in them alone. Directions, gradients and f0 are then these.
        adaptive_weights : bool, default=False
            Solve again on the selected variables alone, weights and kernel measured in them and
            alpha the same fraction of ``alpha_max``, until all of them are selected.
        smoothness : float, default=0.0
            Weight of ``sum_ij w_ij |f(x_i) - f(x_j)|^2`` over the rows and ``X_unlabeled``.
        n_components : int, optional
            Directions; by default as many as explain 95 % of the gradients' covariance.
        """,
    "gradient_predictor": """
        predictor : estimator, optional
            What ``predict`` uses, fitted to directions or selected variables, both standardised;
            by default kernel ridge regression, its ridge by leave-one-out.
        predict_from : {"components", "selected"}, default="components"
        """,
    "gradient_class_weight": """
        class_weight : dict or "balanced", optional
            Factors of the sample weights by class.
        """,
    "gradient_rest": """
        feature_groups : list of lists, mapping or labels, optional
            A partition of the columns; groups are selected as a whole, weighted by their size.
        always_keep : list, optional
            Columns that are always selected (with their group): a ridge takes the place of the
            norm.
        standardize : bool, default=True
            Centre the columns and divide them by their standard deviation; without it they are
            only centred.
        solver : {"active_set", "forward_backward"}, default="active_set"
            Accelerated steps on an active set, or the plain steps of the paper's Algorithm 1 on all
            columns, for reference (:mod:`nablasso.gradients.solvers`).
        tol : float, default=1e-6
            Duality gap to reach, relative to the objective without gradients.
        max_iter : int, optional
            50000 by default.
        random_state : int or RandomState, optional
            Shuffles the folds of cross-validation; nothing else is random.
        verbose : int, default=0
            Log progress on the ``nablasso`` logger.
        """,
    "gradient_attributes": """
        support_ : array of bool, shape (n_features,)
            The selected variables.
        feature_importances_ : array, shape (n_features,)
            RKHS norms of the partial derivatives, for standardised columns and in standard
            deviations of ``y`` (log-odds for classifiers); zero when not selected.
        gradients_ : array, shape (n_samples, n_features)
            At the rows seen in ``fit``, in the units of ``X`` and ``y``; (n_samples, n_classes,
            n_features) for more than two classes.
        representer_coef_ : array, shape (n_features, n_samples)
            ``C`` of ``f^a = sum_i C_ai k(x_i, .)`` in standardised units; more classes come first.
        gradient_covariance_ : sparse array, shape (n_features, n_features)
            Inner products of the partial derivatives (S-EGCM), in standardised units.
        components_ : array, shape (n_components, n_features)
            Its first eigenvectors: directions for standardised columns, zero where not selected.
        spectrum_ : array
            Its positive eigenvalues, largest first.
        alpha_, alpha_max_, ridge_, length_scale_, bandwidth_, kernel_
            What was used; ``alpha_max_`` selects nothing, infinite for the other forms. With
            adaptive weights they are those of the last problem, but for ``alpha_max_``.
        dual_gap_, relative_gap_, objective_ : float
            Bound on the suboptimality over all variables, absolute and relative to the objective
            without gradients; the objective. They belong to the sparse problem, the first step,
            and with adaptive weights to the last one, whose variables are the selected ones.
        n_iter_, solver_status_
            Iterations, and ``"converged"``, ``"max_iter"``, ``"stalled"`` or ``"interrupted"``.
        history_ : list of dict
            With ``solver="forward_backward"``, for each function: ``"objective"`` and
            ``"n_selected"``, arrays that begin at the start and have one entry per iteration. Empty
            with the other.
        loo_r2_ : float
            Leave-one-out R2 of kernel ridge regression on the selected variables (of classes coded
            as plus and minus one).
        selection_status_, twins_
            ``"clear"``, ``"twins"``, ``"too few rows"`` or ``"none found"``; pairs of a selected
            variable and another one correlated 0.95 or more with it.
        feature_kinds_, n_features_in_, feature_names_in_
            As in the other estimators.
        """,
    "gradient_cv_attributes": """
        cv_results_ : dict
            Scores with the keys of :class:`~sklearn.model_selection.GridSearchCV`.
        best_params_, best_score_, best_index_
            ``alpha`` of the refit, its score and its place in ``cv_results_``.
        """,
    "gradient_classes": """
        classes_ : array, shape (n_classes,)
            The labels.
        """,
}
