"""Parameters and attributes that several estimators share, documented once."""

from __future__ import annotations

from textwrap import dedent, indent
from typing import TypeVar

Class = TypeVar("Class", bound=type)

_SECTIONS = {
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
}


def document(cls: Class) -> Class:
    """Fill the ``{section}`` lines of a class docstring."""
    if cls.__doc__:
        for name, text in _SECTIONS.items():
            body = indent(dedent(text).strip(), "    ")
            cls.__doc__ = cls.__doc__.replace(f"    {{{name}}}", body)
    return cls
