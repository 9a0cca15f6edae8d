"""The other models of appendix D, for comparison in every task: GLM, NCM, PNM."""

from nablasso.nonnegative.baselines.fitting import MODELS, fit

__all__ = ["MODELS", "fit"]
