"""The papers' figures and tables as functions that return rows, one file per paper.

:data:`EXPERIMENTS` lists them; :func:`reproduce` runs one, keeps its rows and shows them next to
what was published. The command is ``python -m experiments NAME``, or ``nablasso reproduce NAME``.
"""

from experiments.registry import EXPERIMENTS
from experiments.running import Experiment, Line, Reproduction, reproduce

__all__ = ["EXPERIMENTS", "Experiment", "Line", "Reproduction", "reproduce"]
