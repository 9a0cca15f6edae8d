"""From rows to the lines of tables 3 and 4 of Gregorova et al. (2018)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from nablasso.experiments.denovas import DEFAULT
from nablasso.experiments.nvsd_real import Table
from nablasso.experiments.running import Line
from nablasso.experiments.tables import Rows, column, distinct, mean, where

PLAIN = "KRLS"
NOT_OURS = ("HSIC",)


def real(printed: Mapping[str, Table]) -> Callable[[Rows], list[Line]]:
    """RMSE, that over the RMSE of kernel ridge on all columns, and the number of columns."""

    def lines(rows: Rows) -> list[Line]:
        found = []
        for short in distinct(rows, "data"):
            table, part = printed[short], where(rows, data=short)
            plain = where(part, method=PLAIN)
            default = _errors(where(part, method=DEFAULT), plain)
            for method in table.rmse:
                own = where(part, method=method)
                words = "not in the library" if method in NOT_OURS else _errors(own, plain)
                if words:
                    found.append(Line(f"{short}, {method}", _printed(table, method), words))
            if default:
                found.append(Line(f"{short}, NablassoRegressor", "", "", default))
        return found

    return lines


def _printed(table: Table, method: str) -> str:
    ratio = table.rmse[method] / table.rmse[PLAIN]
    size = f", {table.size[method]:g} columns" if method in table.size else ""
    return f"{table.rmse[method]:.2f} ({ratio:.2f}){size}"


def _errors(rows: Rows, plain: Rows) -> str:
    """Means over the splits; the ratio is that of means over common splits."""
    if not rows:
        return ""
    words = f"{np.mean(column(rows, 'rmse')):.3g}"
    errors = {row["split"]: float(row["rmse"]) for row in plain}
    common = [row for row in rows if row["split"] in errors]
    if common:
        ratio = np.mean(column(common, "rmse")) / np.mean([errors[r["split"]] for r in common])
        words += f" ({ratio:.2f})"
    return f"{words}, {mean(rows, 'n_selected', 3)} columns"
