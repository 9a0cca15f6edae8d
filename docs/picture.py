"""Draw docs/_static/picture.svg: the answer for the demonstration table at a glance.

Run it by ``python docs/picture.py`` when the look of the answer changes; the result is stored.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from nablasso import NablassoRegressor
from nablasso.datasets import make_demo
from nablasso.inspection import pair_dependence, partial_dependence

BLUE, GREY, ORANGE = "#1f5fa8", "#9aa5b1", "#d9822b"


def words(name: str) -> str:
    """temperature_celsius becomes temperature."""
    units = ("celsius", "percent", "mol", "m2", "day", "l", "ms", "cm", "millivolt", "m", "hpa")
    kept = [word for word in name.split("_") if word not in {*units, "dbm", "per", "noise"}]
    return " ".join(kept)


def strengths(ax: plt.Axes, model: NablassoRegressor, X: pd.DataFrame, y: np.ndarray) -> None:
    """Bars of shares of the variance beside marks of linear correlations."""
    correlations = np.abs(X.corrwith(pd.Series(y)).to_numpy())
    order = np.lexsort((correlations, model.feature_importances_))
    places = np.arange(len(order))
    ax.barh(places, model.feature_importances_[order], color=BLUE, height=0.62)
    ax.plot(correlations[order], places, "o", color=ORANGE, markersize=4)
    ax.set_yticks(places, [words(X.columns[a]) for a in order])
    for label, a in zip(ax.get_yticklabels(), order, strict=True):
        label.set_color("#222" if model.support_[a] else GREY)
    ax.set_title("4 of 12 columns matter", loc="left", fontweight="bold")
    ax.text(
        0.97,
        0.07,
        "bars: strength\ndots: linear correlation",
        color="#555",
        fontsize=8,
        ha="right",
        transform=ax.transAxes,
    )


def curve(ax: plt.Axes, model: NablassoRegressor, X: pd.DataFrame) -> None:
    """The curve of the strongest variable with the band of the rows."""
    found = partial_dependence(model, X, "temperature_celsius")
    ax.fill_between(found.grid, found.band_low, found.band_high, color=BLUE, alpha=0.15, lw=0)
    ax.plot(found.grid, found.mean, color=BLUE, lw=2)
    ax.set_title("in what shape", loc="left", fontweight="bold")
    ax.set(xlabel="temperature (°C)", ylabel="yield")


def surface(fig: plt.Figure, ax: plt.Axes, model: NablassoRegressor, X: pd.DataFrame) -> None:
    """The two that interact."""
    found = pair_dependence(model, X, ("light_mol_m2_day", "water_l_m2_day"), grid_size=16)
    filled = ax.contourf(found.grid_a, found.grid_b, found.mean.T, levels=9, cmap="viridis")
    fig.colorbar(filled, ax=ax, label="yield", shrink=0.9)
    ax.set_title("with which interactions", loc="left", fontweight="bold")
    ax.set(xlabel="light", ylabel="water")


def main() -> None:
    data = make_demo()
    X = pd.DataFrame(data.X, columns=data.feature_names)
    model = NablassoRegressor().fit(X, data.y)
    mpl.rcParams.update({"svg.hashsalt": "nablasso", "font.size": 9, "axes.titlesize": 10})
    fig, axes = plt.subplots(
        1, 3, figsize=(11, 3.1), layout="constrained", width_ratios=(1.1, 1, 1)
    )
    strengths(axes[0], model, X, data.y)
    curve(axes[1], model, X)
    surface(fig, axes[2], model, X)
    for ax in axes[:2]:
        ax.spines[["top", "right"]].set_visible(False)
    place = Path(__file__).parent / "_static" / "picture.svg"
    fig.savefig(place, metadata={"Date": None}, facecolor="white")


if __name__ == "__main__":
    main()
