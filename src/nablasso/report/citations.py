"""How to cite the library and the paper whose method was used."""

from __future__ import annotations

from typing import Any

from nablasso import __version__
from nablasso.estimators.automatic import AutomaticSelector
from nablasso.estimators.derivative_base import DerivativeEstimator
from nablasso.estimators.hierarchical_base import KernelSelector
from nablasso.estimators.sparse_gradient_base import SparseGradientEstimator
from nablasso.report.content import Citation

SOFTWARE = Citation(
    f"The nablasso developers. nablasso: the lasso for nonlinear functions, version {__version__}.",
    f"""@software{{nablasso,
  title = {{nablasso: the lasso for nonlinear functions}},
  author = {{{{The nablasso developers}}}},
  version = {{{__version__}}}
}}""",
)
ROSASCO = Citation(
    "L. Rosasco, S. Villa, S. Mosci, M. Santoro and A. Verri (2013). Nonparametric sparsity and "
    "regularization. Journal of Machine Learning Research 14, 1665-1714.",
    """@article{rosasco2013nonparametric,
  title = {Nonparametric sparsity and regularization},
  author = {Rosasco, Lorenzo and Villa, Silvia and Mosci, Sofia and Santoro, Matteo and
            Verri, Alessandro},
  journal = {Journal of Machine Learning Research},
  volume = {14},
  pages = {1665--1714},
  year = {2013}
}""",
)
GREGOROVA = Citation(
    "M. Gregorová, A. Kalousis and S. Marchand-Maillet (2018). Structured nonlinear variable "
    "selection. Conference on Uncertainty in Artificial Intelligence.",
    """@inproceedings{gregorova2018structured,
  title = {Structured nonlinear variable selection},
  author = {Gregorov{\\'a}, Magda and Kalousis, Alexandros and Marchand-Maillet, St{\\'e}phane},
  booktitle = {Conference on Uncertainty in Artificial Intelligence},
  year = {2018}
}""",
)
BACH = Citation(
    "F. Bach (2009). High-dimensional non-linear variable selection through hierarchical kernel "
    "learning. arXiv:0909.0844.",
    """@misc{bach2009high,
  title = {High-dimensional non-linear variable selection through hierarchical kernel learning},
  author = {Bach, Francis},
  note = {arXiv:0909.0844},
  year = {2009}
}""",
)
YE = Citation(
    "G.-B. Ye and X. Xie (2012). Learning sparse gradients for variable selection and dimension "
    "reduction. Machine Learning 87, 303-355.",
    """@article{ye2012learning,
  title = {Learning sparse gradients for variable selection and dimension reduction},
  author = {Ye, Gui-Bo and Xie, Xiaohui},
  journal = {Machine Learning},
  volume = {87},
  pages = {303--355},
  year = {2012}
}""",
)


def citations_of(model: Any) -> tuple[Citation, ...]:
    """What to cite for a fitted model."""
    if isinstance(model, AutomaticSelector | DerivativeEstimator):
        return SOFTWARE, ROSASCO, GREGOROVA
    if isinstance(model, SparseGradientEstimator):
        return SOFTWARE, YE
    if isinstance(model, KernelSelector):
        return SOFTWARE, BACH
    return (SOFTWARE,)
