"""Parameters and attributes of the estimators over a hierarchy of kernels, documented once."""

from __future__ import annotations

HIERARCHICAL = {
    "hierarchical_alpha": """
        alpha : float, optional
            Weight of half the squared norm; by default a tenth of ``alpha_max_``.
        """,
    "beta": """
        beta : float, default=2.0
            Weight of a node relative to its parents', above 1: the larger, the more are shallow
            nodes (main effects, low degrees) preferred, and the easier is the certificate.
        """,
    "hierarchical": """
        root_weight : float, default=1.0
            Weight of the root, in (0, 1].
        decomposition : str or Decomposition, default="hermite"
            ``"hermite"``, ``"polynomial"``, ``"gauss_hermite"``, ``"spline"``, ``"gaussian"``,
            ``"pca"``, or an object of :mod:`nablasso.hierarchy`.
        degree : int, default=3
            Highest level ``q`` of a variable; splines have two and ``"gaussian"`` one.
        whiten : bool, default=False
            Project every node's features on the complement of its ancestors'.
        dag : KernelDag, optional
            A graph of kernels of your own in place of products of a decomposition.
        """,
    "flat": """
        decomposition : str or Decomposition, default="spline"
            As in :class:`HierarchicalKernelRegressor`; its constant level is left out.
        degree : int, default=3
            Highest level ``q`` of a variable.
        per_variable : {"one", "levels"}, default="one"
            All levels of a variable as one kernel, or one kernel per level.
        l1_ratio : float, default=1.0
            Below one, the elastic-net form.
        """,
    "hierarchical_loss": """
        loss : str or Loss, default="squared"
            ``"squared"``, ``"huber"``, ``"epsilon_insensitive_squared"``,
            ``"epsilon_insensitive"`` (smoothed), ``"poisson"``, or an object of
            :mod:`nablasso.losses`, whose thresholds are in units of a robust deviation of ``y``.
        """,
    "hierarchical_class_loss": """
        loss : str or Loss, default="logistic"
            ``"logistic"``, ``"squared_hinge"`` or ``"hinge"`` (smoothed). Probabilities need the
            logistic loss.
        """,
    "kernel_selection": """
        max_kernels : int, optional
            Nodes that a search may look into; by default as many as the next two allow.
        max_memory, max_work : float, default=1e9, 1e12
            Bytes that the features and matrices of a search may take, and multiplications of the
            problems solved along one path of alphas (one to two minutes of one processor): a budget
            that ends at the same place on every machine. A fiftieth of the work may go to kernels
            that only the certificate asks for. Where it ends a search while kernels are
            known to be missing there is a warning, and ``search_status_`` names the parameter. A
            cross-validation leaves out the alphas that some path could not solve.
        rank : int, optional
            Largest rank of a node's kernel: bounds memory and time. By default as many as the
            kernel needs for ten digits.
        prune : bool, optional
            Take sinks from the hull that the penalty selects while the extended Bayes information
            criterion of a fit without penalty falls (:mod:`nablasso.hierarchy.refit`): the
            penalty takes in noise before the last true node. What is selected and what
            predicts then belong to the pruned hull, the certificate to the penalised problem. A
            cross-validation prunes in every fold. Needs a likelihood: the squared, logistic or
            Poisson loss. The sum of the sample weights counts as the number of rows. By default
            cross-validation prunes where it can, and a fit at one ``alpha`` does not.
        debias : bool, default=True
            Predict by a kernel machine with the same loss on what was selected: with the sum of the
            selected kernels, or with a Gaussian kernel on the selected columns, whichever has the
            smaller leave-one-out loss (``refit_kind_``). The Gaussian kernel is not offered where
            the decomposition treats rows outside the range of the data apart
            (``Spline(outside="clip")`` and ``"error"``). Without it predict by the penalised
            function; where the hull was pruned, by the one on what is left, at the same ``alpha``.
        solver : {"newton", "alternating", "projected_gradient"}, default="newton"
            Of the problem on the selected nodes.
        standardize : bool, default=True
            Centre the columns and divide them by their standard deviation.
        fit_intercept : bool, default=True
        feature_groups : list of lists, mapping or labels, optional
            Groups of columns that are one variable: the kernel of a group at a level is the mean of
            its columns' kernels.
        always_keep : list, optional
            Columns that are in ``support_`` and in the refit whatever the search finds. With a
            ``dag`` they are in the refit where it is the Gaussian one.
        tol : float, default=1e-3
            Duality gap over all kernels to reach, relative to the objective at ``f = 0``.
        max_iter : int, optional
            Steps of the solver; by default its own limit.
        random_state : int or RandomState, optional
            Shuffles folds; nothing else is random.
        verbose : int, default=0
            Log progress on the ``nablasso`` logger.
        """,
    "betas": """
        betas : array-like, optional
            Values of ``beta`` to try, the weight of a node relative to its parents'; by default
            1.2, 2.5 and 6.
        """,
    "hierarchical_cv": """
        alphas : int or array-like, default=30
            Values to try; a number asks for that many from ``alpha_max_`` down to 1e-5 of it (the
            norm is squared).
        cv : int, splitter or iterable, default=5
            Folds. A number draws them in a canonical order of the rows.
        scoring : str or callable, optional
            A scorer of scikit-learn's; by default the negative mean loss, for classifiers the
            negative log loss (accuracy where there are no probabilities).
        selection_rule : {"1se", "min", "ebic"}, default="1se"
            Take the candidate that selects the fewest variables among those whose score is within
            one standard error of the best, or the best itself. ``"ebic"`` prunes the hulls of all
            candidates on all rows and takes the one of smallest criterion (see ``prune``): no
            folds are drawn, ``cv``, ``scoring`` and ``n_jobs`` are not used, ``cv_results_`` has
            ``"ebic"`` and ``"rank_ebic"`` in place of scores, and ``best_score_`` is minus the
            criterion. It selects better and costs less; among equals it takes the largest
            ``beta``, then the largest ``alpha``.
        n_jobs : int, optional
            Folds fitted in parallel; each uses one thread of linear algebra.
        """,
    "hierarchical_attributes": """
        support_ : array of bool, shape (n_features,)
            Columns that some selected node depends on; after pruning, some node that was left.
        feature_importances_ : array, shape (n_features,)
            Deviation over the data of the part of the penalised function on the selected nodes
            that involves the column, in deviations of ``y`` (log-odds for classifiers).
        active_set_ : dict of node to float
            Selected nodes and the weights ``zeta`` of their kernels. A node is the sorted tuple of
            its (column, level) pairs, ``()`` the constant; of a group the first column stands.
        hull_, sinks_ : list of nodes
            The same nodes (they contain all their ancestors), and those without selected children.
        penalised_hull_ : list of nodes
            What the penalty alone selects: ``hull_`` and what pruning took away. The certificate
            (``dual_gap_`` to ``search_status_``) and ``objective_`` belong to it.
        interactions_ : list of str
            Products of two or more variables, strongest first: ``"x3 * x7 (order 2)"``; a group of
            columns is listed in brackets.
        n_kernels_ : int
            Number of selected kernels; a root without a kernel does not count.
        dual_gap_, relative_gap_ : float
            Bound on the suboptimality over all kernels, absolute and relative to the objective at
            ``f = 0``.
        gap_parts_ : (float, float)
            Its two parts: of the kernel machine, and of the weights of the kernels. Their sum can
            exceed ``dual_gap_``, which also uses the best multiple of the dual variable.
        certified_ : bool
            Whether the gap is within ``tol``: then no kernel of the whole hierarchy was missed.
        certificate_, search_status_ : str
            Which bound was used (``"largest"``, ``"sum"``, ``"exact"``), and how the search ended
            (``"certified"``, ``"max_kernels"``, ``"max_memory"``, ``"max_work"``, ``"max_iter"``,
            ``"stalled"``, ``"bound"`` or ``"violators"``).
        alpha_, alpha_max_ : float
            What was used, and the value above which one source alone is selected.
        objective_, n_iter_, loss_, refit_kind_, loo_r2_, feature_kinds_, twins_
            As in the other selectors.
        selection_status_ : str
            ``"clear"``, ``"twins"``, ``"too few rows"`` or ``"none found"``.
        n_features_in_, feature_names_in_
            As in scikit-learn.
        """,
}
