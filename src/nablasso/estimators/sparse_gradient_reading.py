"""Reading a fitted sparse gradient estimator: status, and the answer in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from nablasso.data.table import Table
from nablasso.estimators.reading import selection_status
from nablasso.estimators.validation import feature_names

LISTED = 20  # variables named in a summary
TWINS_UP_TO = 1000  # selected variables up to which twins are looked for


def gradient_status(selector: Any, table: Table) -> tuple[str, list[tuple[int, int]]]:
    """As for the other selectors; without sparsity there is nothing to judge."""
    if selector.penalty == "ridge":
        return "clear", []
    if selector.support_.sum() > TWINS_UP_TO:
        return "too few rows", []
    return selection_status(selector, table)


def gradient_summary(selector: Any) -> str:
    """The answer in a sentence first, then directions and the certificate."""
    names = feature_names(selector)
    order = np.argsort(-selector.feature_importances_, kind="stable")
    chosen = [a for a in order if selector.support_[a]]
    d = len(names)
    if not chosen:
        lines = [f"None of the {d} variables was selected."]
    else:
        listed = ", ".join(
            f"{names[a]} ({selector.feature_importances_[a]:.2f})" for a in chosen[:LISTED]
        )
        more = " ..." if len(chosen) > LISTED else ""
        lines = [f"{len(chosen)} of {d} variables matter: {listed}{more}."]
        spectrum = selector.spectrum_
        q = len(selector.components_)
        share = spectrum[:q].sum() / spectrum.sum() if spectrum.sum() > 0 else 1.0
        some = "1 direction explains" if q == 1 else f"{q} directions explain"
        lines.append(f"{some} {share:.0%} of the gradients' covariance.")
        lines.append(f"Leave-one-out R2 on the selected variables: {selector.loo_r2_:.3f}.")
    lines.append(
        f"Duality gap {selector.dual_gap_:.1e} ({selector.relative_gap_:.1e} of the objective at "
        f"zero), over {'the selected' if selector.adaptive_weights else 'all'} variables."
    )
    top = f" (alpha_max {selector.alpha_max_:.3g})" if np.isfinite(selector.alpha_max_) else ""
    lines.append(
        f"alpha {selector.alpha_:.3g}{'' if selector.adaptive_weights else top}, kernel "
        f"{selector.kernel_!r}, length scale {selector.length_scale_:.3g}, bandwidth "
        f"{selector.bandwidth_:.3g}."
    )
    if selector.selection_status_ == "too few rows":
        lines.append(
            "Too few rows: the selected variables predict left-out rows not clearly better than "
            "the mean."
        )
    lines += [f"{names[a]} could be replaced by {names[b]}." for a, b in selector.twins_[:LISTED]]
    return "\n".join(lines)
