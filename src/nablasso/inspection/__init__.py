"""Displays of fitted models."""

from nablasso.inspection.hierarchy_plot import plot_hierarchy

__all__ = ["plot_hierarchy"]
